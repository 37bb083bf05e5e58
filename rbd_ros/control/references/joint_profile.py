# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Steps of a joint reference: bounded velocity and acceleration, inside the joint limits.

A target that can be met within the limits at the end of a step is met exactly; one that
cannot is approached along the time-optimal profile that stops in whole steps. The reference comes
to rest before a joint limit, whatever the target is; from outside it only moves back.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import maximum, minimum, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.parameters.given import Inputs, reference_velocity

__all__ = ['advance_profile', 'arrived', 'clamped', 'fill_joint_limits', 'JointLimits',
           'JointProfile', 'positive', 'stopping_speed']

#: the least number to divide by
_TINY = 1e-300

#: s; a step is never longer: its square and what it is multiplied by stay finite
_LONGEST = 1e12

#: fraction of the acceleration limit with which a far target is approached: steps of the whole
#: limit need torques that the torque rate limit applies too late and removes too late
_APPROACH_SHARE = 0.25

#: s, time constant of the last part of a motion, so that small corrections make no jerks
_SETTLE = 0.05

#: rad or m by which rounding may take a reference beyond a joint limit
_SLACK = 1e-6


class JointProfile(Record):
    """A joint reference and what it moves towards."""

    state: Matrix = field('3 n', 'rad or m, /s, /s^2', 'reference position, velocity and '
                                                       'acceleration now')
    target: Matrix = field('3 n', 'rad or m, /s, /s^2', 'wanted position, velocity and '
                                                        'acceleration')
    pace: Vector = field('n', 'rad/s or m/s', 'speed to keep, however far the target is', NONE)


class JointLimits(Record):
    """Limits of the joint references."""

    timeout: float = field('', 's', 'after which a stream of set-points that ceased is held')
    rest_time: float = field('', 's', 'in which a reference without pieces stops')
    velocity: Vector = field('n', 'rad/s or m/s', 'largest reference velocity', 1.0)
    acceleration: Vector = field('n', 'rad/s^2 or m/s^2', 'largest reference acceleration', 1.0)
    lower: Vector = field('n', 'rad or m', 'lower joint limit; continuous joints: none', -NONE)
    upper: Vector = field('n', 'rad or m', 'upper joint limit; continuous joints: none', NONE)
    continuous: Vector = field('n', '', '1 for joints that take the short way')


def fill_joint_limits(p: JointLimits, g: Inputs) -> None:
    """
    Take the limits from the parameters.

    :param p: gets them.
    :param g: what was given.
    """
    p.timeout, p.rest_time = g.values.reference.timeout, g.values.switch_time
    p.velocity[:] = minimum(reference_velocity(g), NONE)
    p.acceleration[:] = minimum(g.values.reference.acceleration, NONE)
    p.continuous[:] = g.robot.continuous
    p.lower[:] = where(g.robot.continuous > 0.0, -NONE, maximum(g.robot.lower, -NONE))
    p.upper[:] = where(g.robot.continuous > 0.0, NONE, minimum(g.robot.upper, NONE))


def positive(x: float) -> float:
    """Return a number by which one can divide; what is not positive, or NaN, becomes tiny."""
    return x if x > _TINY else _TINY


def clamped(x: float, lower: float, upper: float) -> float:
    """Return what lies inside two bounds; the upper one wins."""
    return min(max(x, lower), upper)


def stopping_speed(way: float, slope: float, dt: float) -> float:
    """
    Return the speed from which whole steps of braking end exactly after the way.

    :param way: not negative.
    :param slope: deceleration.
    :param dt: s, length of a step.
    """
    return slope * dt * (math.sqrt(0.25 + 2.0 * way / positive(slope * dt * dt)) - 0.5)


def _can_stop(p: JointLimits, j: int, q: float, v: float) -> bool:
    """Return whether a joint is inside its limits and can brake before them."""
    way = v * abs(v) / positive(2.0 * p.acceleration[j])
    return (max(q, q + way) <= p.upper[j] + _SLACK
            and p.lower[j] - _SLACK <= min(q, q + way))


def _can_be_met(x: JointProfile, p: JointLimits, j: int, most: float, dt: float) -> bool:
    """Return whether the target can be met at the end of a step."""
    q, v = x.target[0, j], x.target[1, j]
    return (abs(q - x.state[0, j]) <= 1.001 * most * dt
            and abs(v - x.state[1, j]) <= 1.001 * p.acceleration[j] * dt
            and abs(v) <= most
            and _can_stop(p, j, q, v))


def _wanted_speed(x: JointProfile, p: JointLimits, j: int, dt: float) -> float:
    """Return the speed that leads to the target, and on with its velocity as far as it may."""
    a, qt = p.acceleration[j], x.target[0, j]
    onward = clamped(x.target[1, j], -stopping_speed(max(qt - p.lower[j], 0.0), a, dt),
                     stopping_speed(max(p.upper[j] - qt, 0.0), a, dt))
    way = qt - x.state[0, j]
    side = -1.0 if way < 0.0 else (1.0 if way > 0.0 else 0.0)
    return onward + side * stopping_speed(abs(way), a, dt)


def _approach(x: JointProfile, p: JointLimits, j: int, most: float, dt: float) -> None:
    """Move one joint of the reference towards a target that is out of reach of this step."""
    q, v, before, a = x.state[0, j], x.state[1, j], x.state[2, j], p.acceleration[j]
    low, high = p.lower[j], p.upper[j]
    up = min(most, stopping_speed(max(high - q, 0.0), a, dt))
    down = min(most, stopping_speed(max(q - low, 0.0), a, dt))
    faster = _APPROACH_SHARE * a  # slower is always possible with all of it
    wanted = clamped(_wanted_speed(x, p, j, dt), -down, up)
    change = clamped((wanted - v) / dt, -a if v > 0.0 else -faster, a if v < 0.0 else faster)
    free = q + (v + change * dt) * dt
    there = clamped(free, min(q, low), max(q, high))  # acts where dt has grown
    x.state[0, j] = there
    x.state[1, j] = (there - q) / dt if abs(there - free) > 0.0 else v + change * dt
    x.state[2, j] = before + (change - before) * (dt / (dt + _SETTLE))


def advance_profile(x: JointProfile, p: JointLimits, dt: float) -> None:
    """
    Move the reference towards the target.

    :param dt: s since the last step; nothing moves unless it is positive.
    """
    if not dt > 0.0:
        return
    step = min(dt, _LONGEST)
    for j in range(len(x.pace)):
        most, q = min(p.velocity[j], x.pace[j]), x.state[0, j]
        if _can_be_met(x, p, j, most, step):
            a = p.acceleration[j]
            x.state[0, j], x.state[1, j] = x.target[0, j], x.target[1, j]
            x.state[2, j] = clamped(x.target[2, j], -a, a)
        else:
            _approach(x, p, j, most, step)
        if not (math.isfinite(x.state[0, j]) and math.isfinite(x.state[1, j])
                and math.isfinite(x.state[2, j])):  # limits that are no numbers
            x.state[0, j], x.state[1, j], x.state[2, j] = q, 0.0, 0.0


def arrived(x: JointProfile) -> bool:
    """Return whether the reference is the target: steps to the same target change nothing."""
    for j in range(len(x.pace)):
        for k in range(3):
            if x.state[k, j] != x.target[k, j]:
                return False
    return True
