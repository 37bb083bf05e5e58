# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Coulomb friction at rigid contacts. Beyond the book, whose rigid contact is frictionless.

Three numbers per contact: two tangential ones and the normal one. The force lies in the friction
cone, the normal part obeys the complementarity of RBDA 11.42, and a contact that slides has the
full friction, against its sliding. Unlike a convex program, these conditions do not lift a sliding
contact off its surface.

How the forces are found is described in :mod:`rbd_ros.algorithms.contact.friction_cones`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.contact import friction_cones
from rbd_ros.algorithms.contact.rigid import normal
from rbd_ros.compiler import Array, procedure
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError


class Sliding(NamedTuple):
    """
    Forces, or impulses, at contacts with friction.

    :param force: two tangential and one normal component of each contact, (n_c, 3).
    :param motion: acceleration, or velocity, of each contact in the same directions.
    :param residual: by how much the motions miss the conditions, over the largest motion without
        forces: zero for a solution. What is above the asked tolerance was not solved.
    """

    force: Array
    motion: Array
    residual: float


def tangents(direction: ArrayLike) -> tuple[Array, Array]:
    """Return two unit vectors that make a right-handed frame with a unit normal."""
    n = np.asarray(direction, float)
    first = np.eye(3)[int(np.argmin(np.abs(n)))]
    x = np.cross(first, n)
    x /= np.linalg.norm(x)
    return x, np.cross(n, x)


def contact_frame(point: ArrayLike, direction: ArrayLike) -> Array:
    """Return the lines of action through a contact: two tangential, one normal, (6, 3)."""
    return np.column_stack([normal(point, axis) for axis in (*tangents(direction), direction)])


def coulomb(
    M: ArrayLike, d: ArrayLike, mu: ArrayLike, *, start: ArrayLike | None = None,
    tolerance: float = 1e-12, sweeps: int = 500,
) -> Sliding:
    """
    Return the forces of contacts with Coulomb friction.

    :param M: how the contacts answer to forces, symmetric, (3 n_c, 3 n_c), tangential rows
        before the normal one of each contact.
    :param d: their motion without forces, (3 n_c,).
    :param mu: coefficient of friction of each contact, or one for all.
    :param start: forces to begin with, such as those of the last step.
    :param tolerance: residual at which to stop.
    :param sweeps: most of them.
    """
    M, d = np.asarray(M, float), np.asarray(d, float)
    count = d.size // 3
    if d.ndim != 1 or d.size != 3 * count or M.shape != (d.size, d.size):
        raise ShapeError(f'M has shape {M.shape} and d {d.shape}; needed are three rows for each '
                         'contact')
    if not (np.isfinite(M).all() and np.isfinite(d).all()):
        raise NonFiniteError('M or d of contacts with friction is not finite: check positions, '
                             'velocities and joint forces')
    limits: list[float] = np.broadcast_to(np.asarray(mu, float), (count,)).tolist()
    if not all(0.0 <= each < math.inf for each in limits):
        raise SettingError(f'mu is {limits}; a coefficient of friction is zero or more')
    problem, residual = friction_cones.cones(count), np.zeros(1)
    problem.M[:], problem.d[:], problem.mu[:] = M, d, limits
    if start is not None:
        problem.force[:] = np.ravel(start)
    procedure.bind(friction_cones.solve_contacts, problem,
                   np.array([tolerance, sweeps], float), residual)()
    force = problem.force
    return Sliding(force.reshape(-1, 3), (M @ force + d).reshape(-1, 3), float(residual[0]))
