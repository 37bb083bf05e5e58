# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What motors that close their own loop can add to a torque is bounded before they get one.

Between two commands a motor adds -Kp (q(t) - q) - Kd (qd(t) - qd) to the torque of the controller.
In the time for which it keeps a command, and in the delay before, a joint at its velocity limit v
moves by v (T + delay), and no farther than its range; its velocity changes by 2 v at most. What
this adds must not pass the torque limit: the limits in N.m and N.m/s hold where commands are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

from rbd_ros.control.interface.sentences import effort_unit, unit_of

__all__ = ['MotorCase', 'motor_reasons']

#: share by which a sum may miss its bound
_ROUNDING = 1e-9


class MotorCase(NamedTuple):
    """
    A motor and its joint.

    :param joint: its name.
    :param stiffness: Kp, N.m/rad.
    :param damping: Kd with states, N.m.s/rad.
    :param blind_damping: Kd without states, N.m.s/rad.
    :param torque: limit, N.m.
    :param speed: limit, rad/s.
    :param span: range of the joint, rad; infinite: it has none.
    """

    joint: str
    stiffness: float
    damping: float
    blind_damping: float
    torque: float
    speed: float
    span: float

    def way(self, timeout: float, delay: float) -> float:
        """
        Return how far the joint can move while a command acts.

        :param timeout: s for which the motor keeps it; 0: for ever.
        :param delay: s from measuring to torque.
        """
        return min(self.speed * (timeout + delay) if timeout > 0.0 else math.inf, self.span)

    def added(self, timeout: float, delay: float) -> float:
        """
        Return what the motor can add to the torque, N.m.

        :param timeout: s for which the motor keeps a command; 0: for ever.
        :param delay: s from measuring to torque.
        """
        spring = self.stiffness * self.way(timeout, delay) if self.stiffness > 0.0 else 0.0
        return spring + (2.0 * self.damping * self.speed if self.damping > 0.0 else 0.0)


def motor_reasons(cases: Sequence[MotorCase], *, timeout: float, delay: float, rate: float,
                  ) -> list[str]:
    """
    Return which gains of motors could add too much, with the largest that are accepted.

    :param cases: motors.
    :param timeout: s for which they keep a command; 0: for ever.
    :param delay: s from measuring to torque.
    :param rate: nominal, Hz.
    """
    if 0.0 < timeout < 1.0 / rate:
        return [f'motor.timeout {timeout:g} s is less than the period of nominal_rate {rate:g} '
                f'Hz: motors would give up between two commands; give at least {2.0 / rate:g} s']
    kept = f'in motor.timeout {timeout:g} s' if timeout > 0.0 else (
        'without a time-out (motor.timeout 0)')
    reasons = []
    for each in cases:
        if not (each.stiffness or each.damping or each.blind_damping) or each.torque <= 0.0:
            continue
        if not math.isfinite(each.speed):
            reasons.append(f'{each.joint} has no velocity limit, so that nothing bounds what its '
                           'motor adds: give velocity_limits, or motor.stiffness and '
                           'motor.damping 0')
            continue
        reasons += _judged(each, timeout, delay, kept)
    return reasons


def _judged(each: MotorCase, timeout: float, delay: float, kept: str) -> list[str]:
    """Return what is too much of one motor."""
    limit, reasons, unit = each.torque * (1.0 + _ROUNDING), [], unit_of(each.joint)
    effort = effort_unit(unit)
    torque = f'torque limit {each.torque:g} {effort}'
    if each.blind_damping * each.speed > limit:
        reasons.append(
            f'motor.blind_damping {each.blind_damping:g} {effort}.s/{unit} of {each.joint} is '
            f'{each.blind_damping * each.speed:.4g} {effort} at its velocity limit, more than its '
            f'{torque}: give at most {each.torque / each.speed:.4g} {effort}.s/{unit}')
    if 2.0 * each.damping * each.speed > limit:
        reasons.append(
            f'motor.damping {each.damping:g} {effort}.s/{unit} of {each.joint} could add '
            f'{2.0 * each.damping * each.speed:.4g} {effort} when its velocity changes by twice '
            f'its limit {each.speed:g} {unit}/s, more than its {torque}: give at most '
            f'{0.5 * each.torque / each.speed:.4g} {effort}.s/{unit}')
    elif each.added(timeout, delay) > limit:
        left = each.torque - 2.0 * each.damping * each.speed
        reasons.append(
            f'motor.stiffness {each.stiffness:g} {effort}/{unit} of {each.joint} with '
            f'motor.damping {each.damping:g} {effort}.s/{unit} could add '
            f'{each.added(timeout, delay):.4g} {effort} {kept} at its velocity limit '
            f'{each.speed:g} {unit}/s, more than its {torque}: give at most '
            f'{left / each.way(timeout, delay):.4g} {effort}/{unit}, or a shorter time-out')
    return reasons
