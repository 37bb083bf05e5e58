# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Terms of a robot with closed loops, projected on its driven joints (RBDA 8.11, 8.12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import absolute, less_equal, sqrt, where
from rbd_ros.control.kernels.terms import Terms
from rbd_ros.dynamics.state import tree_state

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.control.robot import Robot
    from rbd_ros.dynamics.state import State

    Matrix = list[list[Scalar]]

__all__ = ['LoopTerms']

#: steps of Newton in each evaluation of a kernel: from one state to the next, two are enough
_STEPS = 2

#: rad or m that loops may be open where passive joints are solved
_CLOSED = 1e-6

#: rad or m by which a passive joint may move in one evaluation: a longer way is gone in pieces
_REACH = 0.2


class _Motion(NamedTuple):
    """qd = G yd and qdd = G ydd + g, y of the driven joints in the order of the commands."""

    columns: Matrix  # G, by columns
    g: Sequence[Scalar]
    qd: list[Scalar]


class LoopTerms(Terms):
    """
    What the laws need of a robot whose driven joints move all others through its loops.

    The positions of passive joints are measured, or found by Newton's method from those of the
    state before. Their velocities follow from those of the driven ones: what the loops do not
    allow is noise. Results are NaN near positions where the driven joints do not determine the
    others, and where solved positions do not close the loops.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Take the robot.

        :param robot: model and driven joints.
        """
        super().__init__(robot)
        self._known: tuple[State, _Motion] | None = None

    def closed(self, s: State) -> State:
        """Return the state with the passive joints where the loops put them, or NaN."""
        robot = self.robot
        if not robot.assembly:
            return s
        start, q = s.inputs['q'], self.closed_unchecked(s).inputs['q']
        sure: Scalar = 1.0
        for gap in s.compute('loop_error', q=q):
            sure = sure * less_equal(absolute(gap), _CLOSED)
        for i, (x, before) in enumerate(zip(q, start, strict=True)):
            if i not in robot.index:
                sure = sure * less_equal(absolute(x - before), _REACH)
        doubt = sqrt(where(sure, 1.0, -1.0)) - 1.0
        return self._moved(s, [x if i in robot.index else x + doubt for i, x in enumerate(q)])

    def closed_unchecked(self, s: State) -> State:
        """Return the same, whether that closes the loops or not."""
        q = list(s.inputs['q'])
        for _ in range(_STEPS if self.robot.assembly else 0):
            step = s.compute('loop_step', self.robot.joints, q=q)['step']
            q = [x + dx for x, dx in zip(q, step, strict=True)]
        return self._moved(s, q)

    @staticmethod
    def _moved(s: State, q: Sequence[Scalar]) -> State:
        return tree_state(s.model, {**s.inputs, 'q': q}, s.target, s.surroundings)

    def gravity(self, s: State, **changed: Any) -> list[Scalar]:
        """Return G^T g(q), at a state with other inputs where some are given."""
        return self._projected(self._motion(s), s.compute('gravity', **changed))

    def bias(self, s: State, **changed: Any) -> list[Scalar]:
        """Return the torques without acceleration of the driven joints: G^T (C + H g)."""
        at = self._motion(s)
        return self._projected(at, s.compute(
            'inverse_dynamics', method='3d', qd=at.qd, qdd=at.g, **changed))

    def torque(self, s: State, qdd: Sequence[Scalar]) -> list[Scalar]:
        """Return the torques that accelerate the driven joints as given."""
        at, damping = self._motion(s), self.robot.model.damping
        tree = [x + y for x, y in zip(self._spanned(at, qdd), at.g, strict=True)]
        tau = s.compute('inverse_dynamics', method='3d', qd=at.qd, qdd=tree)
        rubbing = [0.0 if i in self.robot.index else d * v
                   for i, (d, v) in enumerate(zip(damping, at.qd, strict=True))]
        return self._projected(at, [t + f for t, f in zip(tau, rubbing, strict=True)])

    def inertia(self, s: State) -> Matrix:
        """Return G^T H G."""
        at = self._motion(s)
        return [[dense.dot(row, column) for column in at.columns] for row in self.momentum(s)]

    def momentum(self, s: State) -> Matrix:
        """Return G^T H, whose product with the velocities is the momentum."""
        H = s.compute('mass_matrix')
        return [[dense.dot(column, [row[j] for row in H]) for j in range(len(H))]
                for column in self._motion(s).columns]

    def momentum_bias(self, s: State) -> list[Scalar]:
        """Return G^T C, by which the momentum changes."""
        return self._projected(self._motion(s), s.compute('bias', method='3d'))

    def jacobian(self, s: State, frame: str) -> Matrix:
        """Return J G of a frame."""
        at = self._motion(s)
        return [[dense.dot(row, column) for column in at.columns]
                for row in s.compute('jacobian', frame)]

    def jacobian_rate(self, s: State, frame: str) -> list[Scalar]:
        """Return the acceleration of a frame without acceleration of the driven joints."""
        at = self._motion(s)
        rate = s.compute('jacobian_rate', frame, qd=at.qd)
        return [x + dense.dot(row, at.g)
                for x, row in zip(rate, s.compute('jacobian', frame), strict=True)]

    def velocity(self, s: State, frame: str) -> Sequence[Scalar]:
        """Return the velocity of a frame."""
        return s.compute('velocity', frame, qd=self._motion(s).qd)

    def gaps(self, s: State) -> list[Scalar]:
        """Return by how much the positions leave the loops open, rad or m."""
        return list(s.compute('loop_error'))

    def pivots(self, s: State) -> list[Scalar]:
        """Return the pivots of the loops over their usual sizes: zero at a singularity."""
        return list(s.compute('loop_step', self.robot.joints)['pivots'])

    def whole_velocity(self, s: State) -> list[Scalar]:
        """Return the velocities of all joints."""
        return self._motion(s).qd

    def _motion(self, s: State) -> _Motion:
        """Return the map of a state; each kernel asks for it many times."""
        if self._known is None or self._known[0] is not s:
            self._known = s, self._found_motion(s)
        return self._known[1]

    def _found_motion(self, s: State) -> _Motion:
        robot = self.robot
        found = s.compute('loop_map', robot.joints)
        kept = sorted(robot.index)
        columns = [[row[kept.index(i)] for row in found['G']] for i in robot.index]
        qd = [self._sum(x) for x in zip(*(
            [value * s.inputs['qd'][i] for value in column]
            for i, column in zip(robot.index, columns, strict=True)), strict=True)]
        g = s.compute('loop_map', robot.joints, qd=qd)['g']
        return _Motion(columns, g, qd)

    @staticmethod
    def _sum(values: Sequence[Scalar]) -> Scalar:
        total: Scalar = 0.0
        for value in values:
            total = total + value
        return total

    @staticmethod
    def _projected(at: _Motion, force: Sequence[Scalar]) -> list[Scalar]:
        """Return G^T times a force."""
        return [dense.dot(column, force) for column in at.columns]

    def _spanned(self, at: _Motion, values: Sequence[Scalar]) -> list[Scalar]:
        """Return G times accelerations of the driven joints."""
        return [self._sum([x * y for x, y in zip(row, values, strict=True)])
                for row in zip(*at.columns, strict=True)]
