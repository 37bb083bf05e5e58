# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a law function may know of the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TYPE_CHECKING

from rbd_ros.control.kernels import joint_space
from rbd_ros.errors import SettingError

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.control.modes import Mode
    from rbd_ros.control.kernels.terms import Terms
    from rbd_ros.dynamics.state import State

    Shapes = dict[str, tuple[int, ...]]

__all__ = ['law_of', 'LawTerms', 'own_shapes']


class LawTerms:
    """
    The robot at one state, over traced numbers; vectors are lists over the controlled joints.

    Gravity and payload are those of the moment. Joints that are not controlled, passive joints and
    closed loops are accounted for.
    """

    def __init__(self, terms: Terms, s: State) -> None:
        """
        Take the state.

        :param terms: of the equation of motion.
        :param s: the state of the kernel.
        """
        self._terms, self._s = terms, s
        self.tip = terms.robot.tip  # name of the frame that task.frame chooses
        self.q: list[Scalar] = terms.pick(s.inputs['q'])
        self.qd: list[Scalar] = terms.pick(s.inputs['qd'])
        self.limit: Sequence[Scalar] = s.inputs['limit']  # largest torques, N.m

    @cached_property
    def gravity(self) -> list[Scalar]:
        """g(q), N.m."""
        return self._terms.gravity(self._s)

    @cached_property
    def bias(self) -> list[Scalar]:
        """C(q, qd), gravity included, N.m."""
        return self._terms.bias(self._s)

    @cached_property
    def inertia(self) -> list[list[Scalar]]:
        """H(q) of the controlled joints."""
        return self._terms.inertia(self._s)

    def torque(self, qdd: Sequence[Scalar]) -> list[Scalar]:
        """
        Return the torques that accelerate the controlled joints: H qdd + C.

        :param qdd: accelerations.
        """
        return self._terms.torque(self._s, qdd)

    def coriolis(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """
        Return C(q, qd) times another velocity, without gravity; C of Christoffel symbols.

        :param qd: the other velocity of the controlled joints.
        """
        return self._terms.coriolis(self._s, qd)

    def jacobian(self, frame: str) -> list[list[Scalar]]:
        """
        Return the six rows of a frame's Jacobian, angular ones first, in its own axes.

        :param frame: its name.
        """
        return self._terms.jacobian(self._s, frame)

    def pose(self, frame: str) -> Sequence[Sequence[Scalar]]:
        """
        Return the 4 x 4 matrix of a frame in the base.

        :param frame: its name.
        """
        return self._s.compute('pose', frame)

    @property
    def reference(self) -> Sequence[Sequence[Scalar]]:
        """Position, velocity and acceleration to follow, of a law that follows the joints."""
        return self._s.inputs['reference']

    @property
    def integral(self) -> Sequence[Scalar]:
        """Integral of the error by the gain ``integral``, of a law that follows the joints."""
        return self._s.inputs['integral']

    @property
    def friction(self) -> list[Scalar]:
        """Torque against friction at the reference velocity, of a law that follows the joints."""
        return joint_space.friction_torque(
            self.reference[1], joint_space.Friction.of(self._s.inputs))

    @cached_property
    def error(self) -> list[Scalar]:
        """Reference minus position, the short way round, of a law that follows the joints."""
        return joint_space.tracking_error(
            self.q, self.reference[0], self._terms.robot.continuous)


def own_shapes(mode: Mode, n: int) -> Shapes:
    """
    Return the inputs of the kernel of a mode that are its parameters.

    :param mode: with a law function.
    :param n: number of controlled joints.
    """
    return {f'own_{row.name}': (n,) if row.each_joint else (1,) for row in mode.own}


def law_of(mode: Mode, terms: LawTerms, x: Mapping[str, Sequence[Any]]) -> list[Scalar]:
    """
    Return the torques of a law function.

    :param mode: with a law function.
    :param terms: of the robot.
    :param x: inputs of the kernel.
    :raises SettingError: if the function fails, or returns something else.
    """
    inputs = {row.name: x[f'own_{row.name}'] if row.each_joint else x[f'own_{row.name}'][0]
              for row in mode.own}
    where = f'mode {mode.name}' + (f' of {mode.file}' if mode.file else '')
    if mode.law is None:
        raise SettingError(f'{where} has no law function')
    try:
        law = list(mode.law(terms, inputs))
    except Exception as error:
        raise SettingError(f'{where}: its law fails with {type(error).__name__}: {error}'
                           ) from error
    if len(law) != len(terms.q):
        raise SettingError(f'{where}: its law gives {len(law)} torques for {len(terms.q)} joints')
    return law
