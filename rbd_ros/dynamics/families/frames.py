# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Frames of a robot: where they are, and how they move."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.handles import opspace
from rbd_ros.compiler import Array, Matrix
from rbd_ros.dynamics.families.tree import Q, QD, Results, tree
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import AS_TREE, FINITE, Quantity
from rbd_ros.dynamics.state import State

# --- rules ----------------------------------------------------------------------------------


def pose(s: State) -> Results:
    """Return the transform along the path to a frame as a homogeneous matrix."""
    X = kinematics.pose(s.model, tree(s), s.target)
    rows = zip(X.E.T.rows, X.r, strict=True)
    return {'T': [*([*row, r] for row, r in rows), [0.0, 0.0, 0.0, 1.0]]}


def velocity(s: State) -> Results:
    """Return the velocity of a frame's body at the frame."""
    v, _ = kinematics.velocities(s.model, tree(s), s.q, s.qd, s.conditions.t)
    return {'v': (s.target.placement @ v[s.target.body]).to_list()}


def jacobian(s: State) -> Results:
    """Return the Jacobian of a frame, along its path."""
    return {'J': task_jacobian(s, (opspace.Handle(s.target),))}


def jacobian_rate(s: State) -> Results:
    """Return the velocity-product acceleration of a frame."""
    return {'a': opspace.task_bias(
        s.model, s.q, s.qd, (opspace.Handle(s.target),), s.conditions.t, s.g)}


def task_jacobian(s: State, handles: Sequence[opspace.Handle]) -> Matrix:
    """Return the stacked Jacobian of handles over the independent coordinates."""
    J = opspace.task_jacobian(s.model, s.q, handles, s.conditions.t)
    return [list(s.reduce(row)) for row in J]                                   # J G: rows by G^T


# --- rows of the table ----------------------------------------------------------------------

POSE = Quantity(
    'pose', Q, target='frame', inertial=False, rules={'path': pose}, loops=AS_TREE, traits=FINITE,
    meaning='homogeneous matrix that takes points of a frame to base coordinates')
JACOBIAN = Quantity(
    'jacobian', Q, target='frame', inertial=False, rules={'path': jacobian}, loops=AS_TREE,
    traits=FINITE, meaning='6 x nv Jacobian of a frame in its own coordinates, angular rows first')
VELOCITY = Quantity(
    'velocity', QD, target='frame', inertial=False, rules={'path': velocity}, loops=AS_TREE,
    traits=FINITE, meaning='spatial velocity of a frame in its own coordinates')
JACOBIAN_RATE = Quantity(
    'jacobian_rate', QD, target='frame', inertial=False, rules={'path': jacobian_rate},
    loops=AS_TREE, traits=FINITE,
    meaning='J-dot q-dot: spatial acceleration of a frame without joint accelerations')

# --- methods --------------------------------------------------------------------------------


class FrameMethods(Family):
    """Poses, velocities and Jacobians of frames."""

    def pose(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the homogeneous matrix from frame to base coordinates, (4, 4)."""
        return self._store.call(POSE, frame)(q, out=out)

    def jacobian(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the Jacobian of a frame in its own coordinates, angular rows first, (6, nv)."""
        return self._store.call(JACOBIAN, frame)(q, out=out)

    def velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None,
    ) -> Array:
        """Return the spatial velocity of a frame in its own coordinates, (6,)."""
        return self._store.call(VELOCITY, frame)(q, qd, out=out)

    def jacobian_rate(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None,
    ) -> Array:
        """Return J-dot q-dot, the spatial acceleration of a frame at zero qdd, (6,)."""
        return self._store.call(JACOBIAN_RATE, frame)(q, qd, out=out)
