# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Dynamics through singular positions, by singular values of the constraint (thesis chapter 3).

Where K loses rank, multipliers grow without bound and charts end. The singular value
decomposition K = U diag(s) V^T still gives a basis of permitted velocities and, with small
singular values left out, a bounded g = K^+ k. What happens at the singular position itself is a
choice, not a consequence: motions branch there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.rank import decompose, Decomposition, Rank, TOLERANCE
from rbd_ros.compiler import Array
from rbd_ros.manifold.nullspace import NullSpace, reduced_dynamics
from rbd_ros.manifold.system import ConstrainedSystem
from rbd_ros.manifold.underlying import Baumgarte, NONE, stabilised_bias

#: Neighbours of a position at which the rank is looked for, their distance, rad or m, the steps
#: that close them, and the error at which they count as closed.
_SAMPLES, _APART, _CLOSING, _CLOSED = 6, 0.1, 20, 1e-12


class Options(NamedTuple):
    """
    How a robust solution treats small singular values; one set for motion and projection.

    :param tolerance: share of the largest singular value below which one is left out. A larger
        one is softer: it bounds g by |k| / (tolerance s_1), and lets the constraint drift there.
    :param damping: damped least squares instead: s / (s^2 + damping^2) in place of 1 / s.
    :param nominal: rank of K at a position that is not singular; rows beyond it are redundant
        everywhere. None for that of the system; where only matrices are given, for all rows.
    :param release: whether a direction that the constraint loses becomes a freedom; otherwise
        the number of freedoms stays nv - nominal.
    :param weighted: decide on L^-T K^T instead of K, and take g of least kinetic energy.
    :param scale: factor of each row, see :func:`rbd_ros.algorithms.linear.rank.decompose`.
    """

    tolerance: float = TOLERANCE
    damping: float = 0.0
    nominal: int | None = None
    release: bool = False
    weighted: bool = False
    scale: tuple[float, ...] | None = None

    def decompose(
        self, K: Array, H: Array | None = None, previous: int | None = None,
    ) -> Decomposition:
        """Return the decomposition of the constraint on which motion and projection rest."""
        return decompose(K, H if self.weighted else None, scale=self.scale,
                         tolerance=self.tolerance, previous=previous)


DEFAULT = Options()


class Robust(NamedTuple):
    """
    Motion by singular values.

    :param qdd: accelerations, finite at every position.
    :param multipliers: the shortest lambda, over the singular values that count.
    :param space: G and g.
    :param condition: s_1 / s_m of K: infinite at a singular position.
    :param spike: |u_m . k| / s_m, the part of g along the direction about to be lost: it stays
        small where the motion passes through the singularity as the constraint permits.
    :param decision: rank and consistency of k.
    :param singular: whether the rank is less than nominal.
    """

    qdd: Array
    multipliers: Array
    space: NullSpace
    condition: float
    spike: float
    decision: Rank
    singular: bool


def modes(rows: Decomposition, k: ArrayLike) -> Array:
    """Return v_i (u_i . k) / s_i for each singular value as a column; their sum is g (3.6)."""
    parts = rows.U.T @ (rows.scale * np.asarray(k, float))
    with np.errstate(divide='ignore', invalid='ignore'):
        sizes = np.where(rows.s > 0.0, parts / rows.s, 0.0)
    columns = rows.Vt[:rows.s.size].T * sizes
    return columns if rows.back is None else rows.back @ columns


def robust_dynamics(
    H: ArrayLike, C: ArrayLike, tau: ArrayLike, K: ArrayLike, k: ArrayLike,
    options: Options = DEFAULT, previous: int | None = None,
) -> Robust:
    """
    Return the motion of a constrained system by singular values (3.1 to 3.7).

    :param k: right-hand side of K qdd = k, stabilised or not (3.9).
    :param previous: rank of the step before.
    """
    H, K, k = (np.asarray(x, float) for x in (H, K, k))
    rows = options.decompose(K, H, previous)
    nominal = rows.s.size if options.nominal is None else options.nominal
    G = rows.Vt[min(rows.rank, nominal) if options.release else nominal:].T
    if rows.back is not None:
        G = rows.back @ G
    counted = rows._replace(rank=min(rows.rank, nominal))
    space = NullSpace(G, counted.solve(k, options.damping))
    qdd = reduced_dynamics(H, C, tau, space).qdd
    # lambda of K^T lambda = H qdd + C - tau, by the transpose of the same inverse
    force = H @ qdd + np.asarray(C, float) - np.asarray(tau, float)
    force = force if rows.back is None else rows.back.T @ force
    inverse = counted.inverses(options.damping)
    multipliers = rows.scale * (rows.U @ (inverse * (rows.Vt[:rows.s.size] @ force)))
    last = rows.s[nominal - 1] if nominal else 1.0
    condition = float(rows.s[0] / last) if nominal and last > 0.0 else float('inf')
    lost = abs(rows.U[:, nominal - 1] @ (rows.scale * k)) if nominal else 0.0
    spike = float(lost / last) if last > 0.0 else (float('inf') if lost > 0.0 else 0.0)
    return Robust(qdd, multipliers, space, condition, spike, counted.decision(k),
                  counted.rank < nominal)


def robust_acceleration(
    system: ConstrainedSystem, q: Array, qd: Array, tau: ArrayLike,
    options: Options = DEFAULT, pull: Baumgarte = NONE, previous: int | None = None,
) -> Robust:
    """Return the motion of a system by singular values: the robust underlying equation (3.5)."""
    K = system.jacobian(q)
    if options.nominal is None:
        options = options._replace(nominal=_nominal(system, q, K))
    return robust_dynamics(system.mass_matrix(q), system.bias(q, qd), tau, K,
                           stabilised_bias(system, q, qd, pull, K), options, previous)


def nominal_rank(system: ConstrainedSystem, samples: Iterable[Array]) -> int:
    """Return the largest rank of K among positions: that of the mechanism, not of a pose."""
    return max(decompose(system.jacobian(q)).rank for q in samples)


def _nominal(system: ConstrainedSystem, q: Array, K: Array) -> int:
    """Return the rank of K at closed positions near to q that are not singular."""
    if system.nominal_rank is not None:
        return system.nominal_rank
    here = decompose(K)
    if here.rank == min(K.shape):
        return here.rank
    return max(here.rank, nominal_rank(system, _neighbours(system, q, here)))


def _neighbours(system: ConstrainedSystem, q: Array, here: Decomposition) -> Iterable[Array]:
    """Return closed positions in directions that the constraint permits to first order."""
    directions = here.Vt[here.rank:]
    rng = np.random.default_rng(0)
    for _ in range(_SAMPLES if len(directions) else 0):
        step = rng.normal(size=len(directions)) @ directions
        near = system.integrate(q, step * (_APART / np.linalg.norm(step)))
        for _ in range(_CLOSING):
            phi = system.constraint(near)
            if np.linalg.norm(phi) < _CLOSED:
                yield near
                break
            near = system.integrate(near, -decompose(system.jacobian(near)).solve(phi))
