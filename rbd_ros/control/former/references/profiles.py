# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Steps of bounded references over generic scalars, compiled once for the control loop.

A target that can be met within the limits at the end of a step is met exactly; one that
cannot is approached along the time-optimal profile that stops in whole steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rbd_ros import compiler
from rbd_ros.compiler import (
    absolute, atan2, clamp, cos, Kernel, less, less_equal, maximum, minimum, Scalar, sin, sqrt,
    where)

__all__ = ['joint_kernel', 'joint_step', 'polynomial_kernel', 'pose_kernel', 'pose_step',
           'quaternion_product', 'rotated', 'rotation_between']

Vector = Sequence[Scalar]

#: a length below which a direction is not defined
_TINY = 1e-150

#: fraction of the acceleration limit with which a far target is approached: steps of the whole
#: limit need torques that the torque rate limit applies too late and removes too late
_APPROACH_SHARE = 0.25

#: s, time constant of the last part of a motion, so that small corrections make no jerks
_SETTLE = 0.05


def _sign(x: Scalar) -> Scalar:
    return where(less(x, 0.0), -1.0, where(less(0.0, x), 1.0, 0.0))


def _norm(v: Vector) -> Scalar:
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def _stopping_speed(way: Scalar, slope: Scalar, dt: Scalar) -> Scalar:
    """Return the speed from which whole steps of braking end exactly after the way."""
    return slope * dt * (sqrt(0.25 + 2.0 * way / (slope * dt * dt)) - 0.5)


def _settling_speed(way: Scalar, slope: Scalar, dt: Scalar) -> Scalar:
    """Return the speed of braking that ends as a decay, without a step of the acceleration."""
    settle = maximum(_SETTLE, dt)
    tail = 0.5 * slope * settle * settle
    far = less(2.0 * tail, way)
    return where(far, _stopping_speed(maximum(way - tail, 0.0), slope, dt), way / settle)


def _can_stop(q: Scalar, v: Scalar, slope: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Return 1 where a joint is inside its limits and can brake before them, else 0."""
    way = v * absolute(v) / (2.0 * slope)
    slack = 1e-6
    return (less_equal(maximum(q, q + way), upper + slack)
            * less_equal(lower - slack, minimum(q, q + way)))


def joint_step(state: Sequence[Vector], target: Sequence[Vector], velocity: Vector,
               acceleration: Vector, lower: Vector, upper: Vector,
               dt: Scalar) -> list[list[Scalar]]:
    """
    Return position, velocity and acceleration of a joint-space reference after one step.

    It comes to rest before a joint limit, whatever the target is; from outside it only moves back.

    :param state: position, velocity and acceleration before.
    :param target: wanted position, velocity and acceleration.
    :param velocity: largest velocity per joint.
    :param acceleration: largest acceleration per joint.
    :param lower: lower joint limits; minus infinity: none.
    :param upper: upper joint limits.
    :param dt: s, positive.
    """
    rows: list[list[Scalar]] = [[], [], []]
    for q, v, before, qt, vt, at, most, a, low, high in zip(
            *state, *target, velocity, acceleration, lower, upper):
        near = (less_equal(absolute(qt - q), 1.001 * most * dt)
                * less_equal(absolute(vt - v), 1.001 * a * dt)
                * less_equal(absolute(vt), most)
                * _can_stop(qt, vt, a, low, high))
        onward = clamp(vt, -_stopping_speed(maximum(qt - low, 0.0), a, dt),
                       _stopping_speed(maximum(high - qt, 0.0), a, dt))
        wanted = onward + _sign(qt - q) * _stopping_speed(absolute(qt - q), a, dt)
        up = minimum(most, _stopping_speed(maximum(high - q, 0.0), a, dt))
        down = minimum(most, _stopping_speed(maximum(q - low, 0.0), a, dt))
        faster = _APPROACH_SHARE * a  # slower is always possible with all of it
        change = clamp((clamp(wanted, -down, up) - v) / dt, where(less(0.0, v), -a, -faster),
                       where(less(v, 0.0), a, faster))
        free = q + (v + change * dt) * dt
        there = clamp(free, minimum(q, low), maximum(q, high))  # acts where dt has grown
        speed = where(less(0.0, absolute(there - free)), (there - q) / dt, v + change * dt)
        rows[0].append(where(near, qt, there))
        rows[1].append(where(near, vt, speed))
        smooth = before + (change - before) * (dt / (dt + _SETTLE))
        rows[2].append(where(near, clamp(at, -a, a), smooth))
    return rows


@cache
def joint_kernel(n: int) -> Kernel:
    """
    Return ``joint_step`` for n joints as a kernel.

    :param n: number of joints.
    """
    def step(state: Sequence[Vector], target: Sequence[Vector], velocity: Vector,
             acceleration: Vector, lower: Vector, upper: Vector,
             dt: Scalar) -> dict[str, list[list[Scalar]]]:
        return {'next': joint_step(state, target, velocity, acceleration, lower, upper, dt)}

    shapes: dict[str, tuple[int, ...]] = {
        'state': (3, n), 'target': (3, n),
        **dict.fromkeys(('velocity', 'acceleration', 'lower', 'upper'), (n,)), 'dt': ()}
    return compiler.compile(compiler.trace(step, shapes, name=f'joint_reference_{n}'),
                            call=False)


@cache
def polynomial_kernel(n: int) -> Kernel:
    """
    Return value, slope and curvature of n polynomials of fifth degree as a kernel.

    :param n: number of polynomials.
    """
    def evaluate(c: Sequence[Vector], s: Scalar) -> dict[str, list[list[Scalar]]]:
        rows: list[list[Scalar]] = [[], [], []]
        for c0, c1, c2, c3, c4, c5 in zip(*c):
            rows[0].append(c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5)))))
            rows[1].append(c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5))))
            rows[2].append(2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5)))
        return {'values': rows}

    return compiler.compile(compiler.trace(evaluate, {'c': (6, n), 's': ()},
                                           name=f'quintics_{n}'), call=False)


def quaternion_product(a: Vector, b: Vector) -> list[Scalar]:
    """
    Return the product of two quaternions x, y, z, w.

    :param a: left factor.
    :param b: right factor.
    """
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return [aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz]


def rotation_between(start: Vector, end: Vector) -> list[Scalar]:
    """
    Return axis times angle, in the base, of the short turn from one orientation to another.

    :param start: unit quaternion x, y, z, w.
    :param end: unit quaternion.
    """
    x, y, z, w = quaternion_product(end, [-start[0], -start[1], -start[2], start[3]])
    side = where(less(w, 0.0), -1.0, 1.0)
    sine = _norm([x, y, z])
    small = less(sine, _TINY)
    factor = where(small, 2.0, 2.0 * atan2(sine, side * w) / where(small, 1.0, sine)) * side
    return [factor * x, factor * y, factor * z]


def rotated(orientation: Vector, vector: Vector) -> list[Scalar]:
    """
    Return an orientation turned about an axis of the base, of unit length again.

    :param orientation: unit quaternion x, y, z, w.
    :param vector: axis times angle.
    """
    angle = _norm(vector)
    half = 0.5 * angle
    small = less(angle, _TINY)
    factor = where(small, 0.5, sin(half) / where(small, 1.0, angle))
    x, y, z, w = quaternion_product([factor * x for x in vector] + [cos(half)], orientation)
    size = sqrt(x * x + y * y + z * z + w * w)
    return [x / size, y / size, z / size, w / size]


def _matrix(orientation: Vector) -> list[list[Scalar]]:
    x, y, z, w = orientation
    return [[1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]]


def _within_lead(wanted: Vector, lead: Vector, longest: Scalar, most: Scalar) -> list[Scalar]:
    """Return a velocity that does not lead further away from a robot that lags behind."""
    length = _norm(lead)
    away = [x / maximum(length, _TINY) for x in lead]
    # Full speed up to half of the lead; beyond it evenly braked, to rest at the whole lead.
    speed = most * sqrt(clamp(2.0 - 2.0 * length / longest, 0.0, 1.0))
    along = wanted[0] * away[0] + wanted[1] * away[1] + wanted[2] * away[2]
    excess = maximum(along - speed, 0.0)
    return [v - excess * x for v, x in zip(wanted, away)]


def _velocity_change(way: Vector, velocity: Vector, drift: Vector, twist: Vector, moving: Scalar,
                     lead: Vector, limits: Vector, dt: Scalar) -> list[Scalar]:
    """Return the bounded change of one half of the velocity of a pose."""
    most, slope, longest = limits
    direct = [x / dt for x in way]
    reach = slope * dt
    near = (less_equal(_norm([a - b for a, b in zip(direct, drift)]), reach)
            * less_equal(_norm([a - b for a, b in zip(direct, velocity)]), reach))
    left = [x - d * dt for x, d in zip(way, drift)]  # beyond what moving along brings
    length = _norm(left)
    share = minimum(_settling_speed(length, slope, dt), most) / maximum(length, _TINY)
    wanted = [where(moving, t, where(near, d, v + share * x))
              for t, d, v, x in zip(twist, direct, drift, left)]
    fit = minimum(1.0, most / maximum(_norm(wanted), _TINY))
    wanted = _within_lead([fit * x for x in wanted], lead, longest, most)
    change = [x - v for x, v in zip(wanted, velocity)]
    bound = minimum(1.0, reach / maximum(_norm(change), _TINY))
    return [bound * x for x in change]


def pose_step(orientation: Vector, position: Vector, velocity: Vector, goal: Vector,
              drift: Vector, ahead: Scalar, twist: Vector, moving: Scalar, lead: Vector,
              limits: Sequence[Vector], dt: Scalar) -> dict[str, list[Any]]:
    """
    Return the reference pose after one step.

    :param orientation: unit quaternion x, y, z, w.
    :param position: m.
    :param velocity: angular, linear; base axes.
    :param goal: quaternion and position to go to.
    :param drift: velocity of the goal itself, angular and linear.
    :param ahead: s for which the goal has moved on since it was received.
    :param twist: wanted velocity where ``moving`` is 1.
    :param moving: 1: follow the twist, 0: go to the goal.
    :param lead: from the robot to the reference, angular and linear; base axes.
    :param limits: angular and linear: largest velocities, accelerations and leads.
    :param dt: s, positive.
    """
    turn = rotated(goal[:4], [ahead * w for w in drift[:3]])
    there = [x + ahead * v for x, v in zip(goal[4:], drift[3:])]
    ways = (rotation_between(orientation, turn), [a - b for a, b in zip(there, position)])
    change: list[Scalar] = []
    for k, way in enumerate(ways):
        part = slice(3 * k, 3 * k + 3)
        change += _velocity_change(way, velocity[part], drift[part], twist[part], moving,
                                   lead[part], [row[k] for row in limits], dt)
    speed = [v + c for v, c in zip(velocity, change)]
    after = rotated(orientation, [v * dt for v in speed[:3]])
    return {'orientation': after, 'position': [p + v * dt for p, v in zip(position, speed[3:])],
            'velocity': speed, 'acceleration': [c / dt for c in change], 'R': _matrix(after)}


@cache
def pose_kernel() -> Kernel:
    """Return ``pose_step`` as a kernel."""
    shapes: dict[str, tuple[int, ...]] = {
        'orientation': (4,), 'position': (3,), 'velocity': (6,), 'goal': (7,), 'drift': (6,),
        'ahead': (), 'twist': (6,), 'moving': (), 'lead': (6,), 'limits': (3, 2), 'dt': ()}

    def step(orientation: Vector, position: Vector, velocity: Vector, goal: Vector,
             drift: Vector, ahead: Scalar, twist: Vector, moving: Scalar, lead: Vector,
             limits: Sequence[Vector], dt: Scalar) -> dict[str, list[Any]]:
        found = pose_step(orientation, position, velocity, goal, drift, ahead, twist, moving,
                          lead, limits, dt)
        return {f'next_{name}': value for name, value in found.items()}

    return compiler.compile(compiler.trace(step, shapes, name='pose_reference'), call=False)
