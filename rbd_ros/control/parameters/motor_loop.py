# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether a law and the gains of a motor are stable together: a slow loop around a fast one.

A joint with inertia h under a motor with gains Kp and Kd moves as

    h q'' = -Kp q - Kd q' + u

at the rate of the motor, which counts as continuous. The law, K and D, reaches it with each
command as u = (Kp - K) q_k + (Kd - D) q'_k, a delay after q_k was measured. This is linear: what
it does in one period is a matrix, and the loop is stable if no eigenvalue is outside the unit
circle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.sentences import effort_unit, unit_of

__all__ = ['motor_loop_reason', 'MotorLoop', 'spectral_radius']

Array = npt.NDArray[np.float64]

#: eigenvalues by which rounding misses the unit circle: a joint without a spring stays anywhere
_ROUNDING = 1e-7

#: factors by which the inertia of a joint exceeds the least one, as other joints move
_FACTORS = tuple(2.0 ** k for k in range(12))


class MotorLoop(NamedTuple):
    """
    A law and a motor at one joint.

    :param stiffness: K of the law, N.m/rad.
    :param damping: D of the law, N.m.s/rad.
    :param motor_stiffness: Kp, N.m/rad.
    :param motor_damping: Kd, N.m.s/rad.
    :param inertia: the least that the joint has, kg.m^2.
    :param scaled: whether the law has its gains per inertia, as ``computed_torque`` has.
    """

    stiffness: float
    damping: float
    motor_stiffness: float
    motor_damping: float
    inertia: float
    scaled: bool = False

    def is_stable(self, period: float, delay: float) -> bool:
        """
        Return whether the joint is stable with any inertia from the least one on.

        :param period: of the commands, s.
        :param delay: from measuring to torque, s.
        """
        for factor in _FACTORS:
            inertia = factor * self.inertia
            law = factor if self.scaled else 1.0
            if spectral_radius(inertia, law * self.stiffness, law * self.damping,
                               self.motor_stiffness, self.motor_damping, period,
                               delay) > 1.0 + _ROUNDING:
                return False
        return True


def spectral_radius(inertia: float, stiffness: float, damping: float, motor_stiffness: float,
                    motor_damping: float, period: float, delay: float) -> float:
    """
    Return the largest absolute eigenvalue of what happens in one period.

    :param inertia: of the joint, kg.m^2.
    :param stiffness: K of the law, N.m/rad.
    :param damping: D of the law, N.m.s/rad.
    :param motor_stiffness: Kp, N.m/rad.
    :param motor_damping: Kd, N.m.s/rad.
    :param period: of the commands, s.
    :param delay: from measuring to torque, s.
    """
    whole = math.floor(delay / period + 1e-9)
    late = max(delay - whole * period, 0.0)
    before = _motion(inertia, motor_stiffness, motor_damping, late)
    after = _motion(inertia, motor_stiffness, motor_damping, period - late)
    law = np.array([motor_stiffness - stiffness, motor_damping - damping])
    # q, q', and the commands that have been computed and not yet replaced, newest first
    M = np.zeros((whole + 3, whole + 3))
    M[:2, :2] = after[:2, :2] @ before[:2, :2]
    older, newer = after[:2, :2] @ before[:2, 2], after[:2, 2]
    M[:2, 2 + whole] += older
    if whole:
        M[:2, 1 + whole] += newer
    else:
        M[:2, :2] += np.outer(newer, law)
    M[2, :2] = law
    for k in range(whole):
        M[3 + k, 2 + k] = 1.0
    return float(np.abs(np.linalg.eigvals(M)).max())


def _motion(inertia: float, stiffness: float, damping: float, time: float) -> Array:
    """Return q, q' and u after a time, as a matrix: the exponential of what moves the joint."""
    A = np.array([[0.0, 1.0, 0.0], [-stiffness, -damping, 1.0], [0.0, 0.0, 0.0]])
    A[1] /= inertia
    A *= time
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(A).sum(axis=1).max()), 1e-9))) + 3)
    A /= 2.0 ** halvings
    result, term = np.eye(3), np.eye(3)
    for k in range(1, 15):
        term = term @ A / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result


def _largest(holds: Callable[[float], bool], most: float) -> float:
    """
    Return the largest number that holds, between 0 and one that does not.

    :param holds: whether a number does.
    :param most: one that does not.
    """
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def motor_loop_reason(case: MotorLoop, joint: str, names: Sequence[str], period: float,
                      delay: float, loop: str) -> str:
    """
    Return what is said of a law and a motor that are not stable together.

    :param case: law and motor.
    :param joint: its name.
    :param names: parameters of stiffness and damping of the law.
    :param period: of the commands, s.
    :param delay: from measuring to torque, s.
    :param loop: what is said of the loop.
    """
    most = _largest(lambda share: case._replace(
        stiffness=share * case.stiffness, motor_stiffness=share * case.motor_stiffness,
        ).is_stable(period, delay), 1.0)
    unit = unit_of(joint)
    effort = effort_unit(unit)
    motor = (f'motor.stiffness {case.motor_stiffness:g} {effort}/{unit}', f'motor.damping '
             f'{case.motor_damping:g} {effort}.s/{unit}')
    if most > 0.0:
        return (f'{names[0]} and {motor[0]} of {joint} with {names[1]} and {motor[1]} cannot be '
                f'stable {loop}: with this damping give at most {most:.3g} of both')
    alone = case._replace(stiffness=0.0, motor_stiffness=0.0)
    damping = _largest(lambda damping: alone._replace(damping=damping).is_stable(period, delay),
                       case.damping)
    said = '1/s (per least inertia)' if case.scaled else f'{effort}.s/{unit}'
    damping /= case.inertia if case.scaled else 1.0
    return (f'{names[1]} of {joint} with {motor[1]} cannot be stable {loop}: give {names[1]} at '
            f'most {damping:.4g} {said}')
