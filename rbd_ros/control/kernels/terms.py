# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Terms of the equation of motion for the controlled joints, traced as parts of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from rbd_ros.dynamics.state import tree_state

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.control.robot import Entry, Robot
    from rbd_ros.dynamics.state import State

__all__ = ['Terms']


class Terms:
    """
    What the laws need of the dynamics.

    Joints that are not controlled move with their measured velocity and without acceleration,
    passive ones as their known force and the torques of the others make them.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Take the robot.

        :param robot: model and controlled joints.
        """
        self.robot = robot

    def gravity(self, s: State, **changed: Any) -> list[Scalar]:
        """Return g(q), at a state with other inputs where some are given."""
        return self.pick(s.compute('gravity', **changed))

    def bias(self, s: State, **changed: Any) -> list[Scalar]:
        """Return C(q, qd), gravity included."""
        return self.pick(s.compute('bias', method='3d', **changed))

    def coriolis(self, s: State, qd: Sequence[Scalar]) -> list[Scalar]:
        """
        Return C(q, qd) times another velocity of the controlled joints, without gravity.

        C(q, v) v is quadratic in v. The symmetric form behind it, by polarisation, is that of the
        Christoffel symbols, with which H' - 2 C is skew. Joints that are not controlled count with
        their measured velocity.
        """
        measured = s.inputs['qd']
        other = list(measured)
        for i, v in zip(self.robot.index, qd, strict=True):
            other[i] = v
        both, between = (self.bias(tree_state(
            s.model, {**s.inputs, 'qd': velocity}, s.target, s.surroundings),
            gravity=[0.0, 0.0, 0.0]) for velocity in (
                [a + b for a, b in zip(measured, other)],
                [a - b for a, b in zip(measured, other)]))
        return [0.25 * (a - b) for a, b in zip(both, between)]

    def torque(self, s: State, qdd: Sequence[Scalar]) -> list[Scalar]:
        """Return the torques that accelerate the controlled joints as given."""
        robot, known = self.robot, self._spread(qdd)
        if not robot.passive:
            return self.pick(s.compute('inverse_dynamics', method='3d', qdd=known))
        for i, force in zip(robot.passive_index, self.passive_force(s), strict=True):
            known[i] = force
        moved = [name for name in robot.model.independent_joint_names if name not in robot.passive]
        return self.pick(s.compute('hybrid_dynamics', moved, known=known)['tau'])

    def inertia(self, s: State) -> list[list[Scalar]]:
        """Return the inertia matrix of the controlled joints."""
        return [self.pick(row) for row in self.momentum(s)]

    def momentum(self, s: State) -> list[list[Scalar]]:
        """Return the rows of H, whose product with all velocities is the momentum."""
        return self.pick(s.compute('mass_matrix'))

    def momentum_bias(self, s: State) -> list[Scalar]:
        """Return C(q, qd), by which the momentum changes."""
        return self.bias(s)

    def jacobian(self, s: State, frame: str) -> list[list[Scalar]]:
        """Return the controlled joints' columns of the Jacobian of a frame."""
        return [self.pick(row) for row in s.compute('jacobian', frame)]

    def jacobian_rate(self, s: State, frame: str) -> Sequence[Scalar]:
        """Return the acceleration of a frame without acceleration of any joint."""
        return s.compute('jacobian_rate', frame)

    def velocity(self, s: State, frame: str) -> Sequence[Scalar]:
        """Return the velocity of a frame."""
        return s.compute('velocity', frame)

    def gaps(self, s: State) -> list[Scalar]:
        """Return by how much closed loops are open: a tree has none."""
        return []

    def pivots(self, s: State) -> list[Scalar]:
        """Return how far closed loops are from a singularity: a tree has none."""
        return []

    def closed(self, s: State) -> State:
        """Return the state with all joints known: in a tree they are measured."""
        return s

    def closed_unchecked(self, s: State) -> State:
        """Return the same, where that can fail."""
        return s

    def whole_velocity(self, s: State) -> Sequence[Scalar]:
        """Return the velocities of all joints."""
        return s.inputs['qd']

    def passive_force(self, s: State) -> list[Scalar]:
        """Return the force on the passive joints: the damping that the description gives them."""
        return [-self.robot.model.damping[i] * s.inputs['qd'][i] for i in self.robot.passive_index]

    def pick(self, values: Sequence[Entry]) -> list[Entry]:
        """Return the controlled joints' part of a vector of the model."""
        return self.robot.pick(values)

    def _spread(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Return a vector of the model that is zero but for the controlled joints."""
        whole: list[Scalar] = [0.0] * self.robot.model.nv
        for i, value in zip(self.robot.index, values, strict=True):
            whole[i] = value
        return whole
