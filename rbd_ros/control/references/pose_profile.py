# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Steps of a reference pose: turns as quaternions x, y, z, w, and bounded changes of its velocity.

A goal that can be met within the limits at the end of a step is met exactly; one that cannot is
approached along the time-optimal profile, which ends as a decay.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import finite
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.references.joint_profile import clamped, positive, stopping_speed

__all__ = ['advance_pose', 'PoseProfile', 'quaternion_of', 'rotate', 'set_axes', 'TaskLimits',
           'turn_between']

#: a length below which a direction is not defined
_TINY = 1e-150

#: s, time constant of the last part of a motion, so that small corrections make no jerks
_SETTLE = 0.05

#: rad; a turn beyond which sine and cosine mean nothing
_MOST_TURN = 1e9


class PoseProfile(Record):
    """A reference pose and what it moves towards; base frame, angular part first."""

    moving: bool = field('', '', 'whether it follows the twist, else it goes to the goal')
    most: float = field('', 'm/s', 'that the frame may have for the energy of a contact', NONE)
    orientation: Vector = field('4', '', 'unit quaternion x, y, z, w')
    position: Vector = field('3', 'm', 'of the frame')
    velocity: Vector = field('6', 'rad/s, m/s', 'of the frame, at its origin')
    acceleration: Vector = field('6', 'rad/s^2, m/s^2', 'of the frame')
    R: Matrix = field('3 3', '', 'axes of the frame as columns')
    goal: Vector = field('7', '', 'quaternion and position to go to')
    drift: Vector = field('6', 'rad/s, m/s', 'velocity of the goal itself')
    twist: Vector = field('6', 'rad/s, m/s', 'wanted velocity')
    lead: Vector = field('6', 'rad, m', 'from the robot to the reference')
    turned: Vector = field('4', '', 'orientation of the goal, which has moved on; then the next '
                                    'one of the reference')
    way: Vector = field('6', 'rad, m', 'from the reference to the goal')
    change: Vector = field('6', 'rad/s, m/s', 'of the velocity in the last step')
    wanted: Vector = field('3', 'rad/s or m/s', 'velocity, within its limits')


class TaskLimits(Record):
    """Limits of the reference pose, angular and linear."""

    timeout: float = field('', 's', 'after which a twist or wrench that is not repeated ends')
    velocity: Vector = field('2', 'rad/s, m/s', 'largest velocity', 1.0)
    acceleration: Vector = field('2', 'rad/s^2, m/s^2', 'largest acceleration', 1.0)
    lead: Vector = field('2', 'rad, m', 'by which the reference may be away from the robot', NONE)
    wrench: Vector = field('2', 'N.m, N', 'largest moment and force')
    reach: float = field('', 'm', 'distance from the base that no posture takes the tip beyond; '
                                  'NONE: any', NONE)


def _norm(x: float, y: float, z: float) -> float:
    return math.sqrt(x * x + y * y + z * z)


def quaternion_of(R: Matrix, q: Vector) -> None:
    """
    Find the unit quaternion x, y, z, w of a rotation matrix.

    :param R: axes of the frame as columns.
    :param q: receives it.
    """
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    k, largest = 0, R[0, 0]  # the largest entry divides best
    for i in range(1, 3):
        if R[i, i] > largest:
            k, largest = i, R[i, i]
    if trace > largest:
        q[0], q[1] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0]
        q[2], q[3] = R[1, 0] - R[0, 1], 1.0 + trace
    else:
        i, j = 1 if k == 0 else (2 if k == 1 else 0), 2 if k == 0 else (0 if k == 1 else 1)
        q[3] = R[j, i] - R[i, j]
        q[k] = 1.0 + 2.0 * R[k, k] - trace
        q[i], q[j] = R[i, k] + R[k, i], R[j, k] + R[k, j]
    size = positive(math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]))
    q[:] = q / size


def set_axes(q: Vector, R: Matrix) -> None:
    """
    Find the rotation matrix of a unit quaternion.

    :param q: x, y, z, w.
    :param R: receives the axes of the frame as columns.
    """
    x, y, z, w = q[0], q[1], q[2], q[3]
    R[0, 0], R[0, 1] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w)
    R[0, 2], R[1, 0] = 2.0 * (x * z + y * w), 2.0 * (x * y + z * w)
    R[1, 1], R[1, 2] = 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)
    R[2, 0], R[2, 1] = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w)
    R[2, 2] = 1.0 - 2.0 * (x * x + y * y)


def rotate(q: Vector, vx: float, vy: float, vz: float, turned: Vector) -> None:
    """
    Turn an orientation about an axis of the base; it is of unit length again.

    :param q: unit quaternion x, y, z, w.
    :param vx: axis times angle, x.
    :param vy: y.
    :param vz: z.
    :param turned: receives the quaternion; may be the same vector.
    """
    angle = _norm(vx, vy, vz)
    if not angle < _MOST_TURN:
        vx, vy, vz, angle = 0.0, 0.0, 0.0, 0.0
    half = 0.5 * angle
    factor = 0.5 if angle < _TINY else math.sin(half) / angle
    ax, ay, az, aw = factor * vx, factor * vy, factor * vz, math.cos(half)
    bx, by, bz, bw = q[0], q[1], q[2], q[3]
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    w = aw * bw - ax * bx - ay * by - az * bz
    size = positive(math.sqrt(x * x + y * y + z * z + w * w))
    turned[0], turned[1], turned[2], turned[3] = x / size, y / size, z / size, w / size


def turn_between(start: Vector, end: Vector, way: Vector) -> None:
    """
    Find axis times angle, in the base, of the short turn between two orientations.

    :param start: unit quaternion x, y, z, w.
    :param end: unit quaternion.
    :param way: its first three entries receive it.
    """
    ax, ay, az, aw = end[0], end[1], end[2], end[3]
    bx, by, bz, bw = -start[0], -start[1], -start[2], start[3]
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    w = aw * bw - ax * bx - ay * by - az * bz
    side = -1.0 if w < 0.0 else 1.0
    sine = _norm(x, y, z)
    factor = (2.0 if sine < _TINY else 2.0 * math.atan2(sine, side * w) / positive(sine)) * side
    way[0], way[1], way[2] = factor * x, factor * y, factor * z


def _settling_speed(way: float, slope: float, dt: float) -> float:
    """Return the speed of braking that ends as a decay, without a step of the acceleration."""
    settle = max(_SETTLE, dt)
    tail = 0.5 * slope * settle * settle
    if 2.0 * tail < way:
        return stopping_speed(max(way - tail, 0.0), slope, dt)
    return way / settle


def _want(x: PoseProfile, k: int, most: float, slope: float, dt: float) -> None:
    """Find the wanted velocity of one half of the pose, before its limits."""
    i, reach = 3 * k, slope * dt
    gx, gy, gz = x.way[i] / dt, x.way[i + 1] / dt, x.way[i + 2] / dt
    dx, dy, dz = x.drift[i], x.drift[i + 1], x.drift[i + 2]
    if x.moving:
        x.wanted[0], x.wanted[1], x.wanted[2] = x.twist[i], x.twist[i + 1], x.twist[i + 2]
    elif (_norm(gx - dx, gy - dy, gz - dz) <= reach
          and _norm(gx - x.velocity[i], gy - x.velocity[i + 1], gz - x.velocity[i + 2]) <= reach):
        x.wanted[0], x.wanted[1], x.wanted[2] = gx, gy, gz
    else:  # what is left beyond what moving along brings
        lx, ly, lz = x.way[i] - dx * dt, x.way[i + 1] - dy * dt, x.way[i + 2] - dz * dt
        length = _norm(lx, ly, lz)
        share = min(_settling_speed(length, slope, dt), most) / max(length, _TINY)
        x.wanted[0], x.wanted[1], x.wanted[2] = dx + share * lx, dy + share * ly, dz + share * lz
    fit = min(1.0, most / max(_norm(x.wanted[0], x.wanted[1], x.wanted[2]), _TINY))
    x.wanted[:] = fit * x.wanted


def _keep_lead(x: PoseProfile, k: int, longest: float, most: float) -> None:
    """Take away the velocity that leads further away from a robot that lags behind."""
    i = 3 * k
    length = _norm(x.lead[i], x.lead[i + 1], x.lead[i + 2])
    size = max(length, _TINY)
    ax, ay, az = x.lead[i] / size, x.lead[i + 1] / size, x.lead[i + 2] / size
    # Full speed up to half of the lead; beyond it evenly braked, to rest at the whole lead.
    speed = most * math.sqrt(clamped(2.0 - 2.0 * length / positive(longest), 0.0, 1.0))
    along = x.wanted[0] * ax + x.wanted[1] * ay + x.wanted[2] * az
    excess = max(along - speed, 0.0)
    x.wanted[0] -= excess * ax
    x.wanted[1] -= excess * ay
    x.wanted[2] -= excess * az


def _change(x: PoseProfile, p: TaskLimits, k: int, dt: float) -> None:
    """Find the bounded change of one half of the velocity of the pose."""
    i, most, slope = 3 * k, p.velocity[k], p.acceleration[k]
    if k == 1:
        most = min(most, x.most)
    _want(x, k, most, slope, dt)
    _keep_lead(x, k, p.lead[k], most)
    x.change[i:i + 3] = x.wanted - x.velocity[i:i + 3]
    size = _norm(x.change[i], x.change[i + 1], x.change[i + 2])
    bound = min(1.0, slope * dt / max(size, _TINY))
    x.change[i:i + 3] = bound * x.change[i:i + 3]


def advance_pose(x: PoseProfile, p: TaskLimits, ahead: float, dt: float) -> None:
    """
    Move the reference towards its goal, or along its twist.

    :param ahead: s for which the goal has moved on since it was received.
    :param dt: s, positive.
    """
    rotate(x.goal, ahead * x.drift[0], ahead * x.drift[1], ahead * x.drift[2], x.turned)
    turn_between(x.orientation, x.turned, x.way)
    x.way[3:6] = x.goal[4:7] + ahead * x.drift[3:6] - x.position
    for k in range(2):
        _change(x, p, k, dt)
    x.velocity[:] += x.change
    x.acceleration[:] = x.change / dt
    if not (all(finite(x.velocity) & finite(x.acceleration) & finite(x.way))
            and all(finite(x.position + x.velocity[3:6] * dt))):  # limits that are no numbers
        _freeze(x)
        return
    rotate(x.orientation, x.velocity[0] * dt, x.velocity[1] * dt, x.velocity[2] * dt,
           x.orientation)
    x.position[:] += x.velocity[3:6] * dt
    set_axes(x.orientation, x.R)


def _freeze(x: PoseProfile) -> None:
    """Stay where the reference is."""
    x.velocity[:] = x.acceleration[:] = x.way[:] = x.change[:] = 0.0
    x.wanted[:] = 0.0
    x.turned[:] = x.orientation
