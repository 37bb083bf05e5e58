# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Constraints of closed loops: Jacobian, bias and error, and the steps that solve them (RBDA 8).

K has a row for each constraint of each loop joint and a column for each independent velocity.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.loops import loop_joints
from rbd_ros.algorithms.loops.loop_coordinates import map_of, SMALLEST_PIVOT
from rbd_ros.compiler import Array, less, Scalar, sqrt, where
from rbd_ros.dynamics.families.joint_space import bias_3d
from rbd_ros.dynamics.families.tree import GRAVITY, Q, QD, Results
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.quantity import OnLoops, Quantity
from rbd_ros.dynamics.state import State

# --- rules ----------------------------------------------------------------------------------


def loop_jacobian(s: State) -> Results:
    """Return K (8.19)."""
    K = loop_joints.jacobian(s.model, s.q, s.conditions.t)
    return {'K': [list(s.reduce(row)) for row in K]}


def loop_bias(s: State) -> Results:
    """Return k with K qdd = k, not stabilised (8.47)."""
    return {'k': loop_joints.constraints(s.model, s.q, s.qd, s.g, s.conditions.t).k}


def loop_velocity(s: State) -> Results:
    """Return T^T (v_J - sigma) of the loop joints (8.7)."""
    return {'velocity': loop_joints.constraints(s.model, s.q, s.qd, s.g, s.conditions.t).velocity}


def loop_error(s: State) -> Results:
    """Return delta (RBDA 8.3)."""
    return {'delta': loop_joints.position_error(s.model, s.q, s.conditions.t)}


def loop_drive(s: State) -> Results:
    """Return tau^a of forces at loop joints (8.31)."""
    tau_a = loop_joints.drive_forces(s.model, s.q, s.inputs['loop_tau'], s.conditions.t)
    return {'tau_a': s.reduce(tau_a)}


def bias_with_drives(s: State) -> Results:
    """Return C - tau^a in one recursion (RBDA Table 8.3)."""
    if s.g is not None:         # what gears of changing ratio add is not in that recursion
        return bias_less_drives(s)
    C = loop_joints.bias_with_drives(s.model, s.q, s.qd, s.inputs['loop_tau'], s.conditions)
    return {'C': s.reduce(C)}


def bias_less_drives(s: State) -> Results:
    """Return C - tau^a as the difference of the two."""
    C = bias_3d(on_tree(s))['tau']
    return {'C': dense.subtract(C, loop_drive(s)['tau_a'])}


def loop_map(s: State) -> Results:
    """Return G and g, by steps of elimination that were chosen once; NaN where they do not do."""
    found = loop_joints.constraints(s.model, s.q, s.qd, s.g, s.conditions.t)
    K = [list(s.reduce(row)) for row in found.K]
    solved = map_of(K, found.k, s.surroundings.pivots(s.target))
    doubt = doubt_of(less(SMALLEST_PIVOT, solved.pivot))
    return {'G': [[x + doubt for x in row] for row in solved.G],
            'g': [x + doubt for x in solved.g]}


def loop_step(s: State) -> Results:
    """Return Newton's step that closes the loops with some joints at rest, and its pivots."""
    K = [list(s.reduce(row)) for row in loop_joints.jacobian(s.model, s.q, s.conditions.t)]
    delta = loop_joints.position_error(s.model, s.q, s.conditions.t)
    steps = s.surroundings.pivots(s.target)
    solved = map_of(K, [-x for x in delta], steps)
    pivots: list[Scalar] = [1.0] * len(K)           # of constraints that follow from others
    for step, share in zip(steps, solved.shares, strict=True):
        pivots[step.row] = share
    return {'step': solved.g, 'pivots': pivots}


def doubt_of(sure: Scalar) -> Scalar:
    """Return zero where a condition holds, else NaN."""
    return sqrt(where(sure, 1.0, -1.0)) - 1.0


def on_tree(s: State) -> State:
    """Return the state of the spanning tree, for algorithms that know trees."""
    return s._replace(model=s.model.spanning_tree)


# --- rows of the table ----------------------------------------------------------------------

LOOP_JACOBIAN = Quantity(
    'loop_jacobian', Q, inertial=False, rules={}, loops=OnLoops({'walk': loop_jacobian}),
    meaning='K, n_c x nv: K qd = 0 for velocities that the loops allow (RBDA 8.19)')
LOOP_BIAS = Quantity(
    'loop_bias', QD, inertial=False, rules={}, loops=OnLoops({'walk': loop_bias}),
    meaning='k with K qdd = k (RBDA 8.47)')
LOOP_VELOCITY = Quantity(
    'loop_velocity', QD, inertial=False, rules={}, loops=OnLoops({'walk': loop_velocity}),
    meaning='T^T (v_J - sigma) of the loop joints, zero where velocities are consistent')
LOOP_ERROR = Quantity(
    'loop_error', Q, inertial=False, rules={}, loops=OnLoops({'walk': loop_error}),
    meaning='delta, by how much the loops are open (RBDA 8.3)')
LOOP_MAP = Quantity(
    'loop_map', QD, inertial=False, rules={}, target='joints',
    loops=OnLoops({'elimination': loop_map}, regular=True),
    meaning='G and g: qd = G yd and qdd = G ydd + g, y of some joints (RBDA 8.8)')
LOOP_STEP = Quantity(
    'loop_step', Q, inertial=False, rules={}, target='joints',
    loops=OnLoops({'elimination': loop_step}, regular=True),
    meaning='the step of Newton that closes the loops with some joints at rest, and for each '
            'constraint its pivot over the usual size of it')
LOOP_DRIVE = Quantity(
    'loop_drive', (*Q, 'loop_tau'), inertial=False, rules={},
    loops=OnLoops({'jacobian': loop_drive}),
    meaning='tau^a: forces at loop joints as joint forces (RBDA 8.31)')
BIAS_WITH_DRIVES = Quantity(
    'bias_with_drives', (*QD, 'loop_tau'), environment=GRAVITY, rules={},
    loops=OnLoops({'recursion': bias_with_drives, 'jacobian': bias_less_drives}),
    meaning='C - tau^a (RBDA Table 8.3)')

# --- methods --------------------------------------------------------------------------------


class ConstraintMethods(Family):
    """Constraints of loops; for a robot without any, each method raises a ModelError."""

    def loop_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return K: K qd = 0 for velocities that the loops allow (RBDA 8.19), (n_c, nv)."""
        return self._calls[LOOP_JACOBIAN](q, out=out)

    def loop_bias(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return k: K qdd = k for accelerations that the loops allow (RBDA 8.47), (n_c,)."""
        return self._calls[LOOP_BIAS](q, qd, out=out)

    def loop_error(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return delta, by how much the loops are open, rad and m (RBDA 8.3), (n_c,)."""
        return self._calls[LOOP_ERROR](q, out=out)

    def loop_velocity(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return how fast the loops open: K qd, less what moves with time by itself, (n_c,)."""
        return self._calls[LOOP_VELOCITY](q, qd, out=out)

    def loop_drive(self, q: ArrayLike, loop_tau: ArrayLike, *, out: Array | None = None) -> Array:
        """
        Return tau^a, what drives or springs in loop joints do as joint forces (RBDA 8.31), (nv,).

        Add it to tau.

        :param loop_tau: generalised forces of all loop joints, one after the other.
        """
        return self._calls[LOOP_DRIVE](q, loop_tau, out=out)

    def bias_with_drives(
        self, q: ArrayLike, qd: ArrayLike, loop_tau: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return C - tau^a in one recursion (RBDA Table 8.3), (nv,)."""
        return self._calls[BIAS_WITH_DRIVES](q, qd, loop_tau, out=out)
