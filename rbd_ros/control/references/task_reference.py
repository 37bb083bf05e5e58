# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
References of the operational-space law: pose, twist and wrench of a frame.

A pose far away is approached with bounded velocity and acceleration, along a straight line and
about a fixed axis. Streamed poses are followed with their own velocity, which ``targets``
estimates; between them the goal moves on. A twist moves the reference pose as long as it is
repeated; a wrench acts as long as it is repeated. The reference waits for a robot that cannot
follow (a reference governor as in Garone, Di Cairano and Kolmanovsky 2017, in its simplest form: a
bounded lead). Everything is in the base frame, angular part first.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import dot, finite, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Event, NEVER, NONE, Result
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.references.joint_profile import positive
from rbd_ros.control.references.pose_profile import (
    advance_pose, PoseProfile, quaternion_of, rotate, set_axes, TaskLimits)

__all__ = ['advance_task_reference', 'fill_task_limits', 'hold_task_reference', 'is_asked',
           'LARGE', 'set_lead', 'start_task_reference', 'take_pose', 'take_twist', 'take_wrench',
           'TaskReference']

#: SI units of a twist or wrench that nobody means; their squares overflow
LARGE = 1e9

#: rad/s or m/s below which a reference that follows no twist any more stands
_STANDS = 1e-9

#: s; a step is never longer: its square and what it is multiplied by stay finite
_LONGEST = 1e12


class TaskReference(Record):
    """Wanted pose, velocity and acceleration of the frame, and the wrench to exert."""

    time: float = field('', 's', 'control time of the last step; NEVER: none since the start',
                        NEVER)
    pose_time: float = field('', 's', 'control time of the last pose; NEVER: none to go on from',
                             NEVER)
    horizon: float = field('', 's', 'for which the goal moves on by itself')
    twist_time: float = field('', 's', 'control time of the last twist', NEVER)
    wrench_time: float = field('', 's', 'control time of the last wrench', NEVER)
    stops: float = field('', '', 'how often it was held; poses before and after are no stream')
    rest_duration: float = field('', 's', 'in which it comes to rest; 0: it does not')
    rest_since: float = field('', 's', 'for which it has been coming to rest')
    wrench: Vector = field('6', 'N.m, N', 'to exert')
    rest_orientation: Vector = field('4', '', 'from which it comes to rest')
    rest_position: Vector = field('3', 'm', 'from which it comes to rest')
    rest_velocity: Vector = field('6', 'rad/s, m/s', 'from which it comes to rest')
    pose: PoseProfile = group(PoseProfile)


def fill_task_limits(p: TaskLimits, g: Inputs) -> None:
    """
    Take the limits from the parameters.

    :param p: gets them.
    :param g: what was given.
    """
    p.timeout = g.values.task.timeout
    p.velocity[0], p.velocity[1] = g.values.task.angular_velocity, g.values.task.linear_velocity
    p.acceleration[0] = g.values.task.angular_acceleration
    p.acceleration[1] = g.values.task.linear_acceleration
    p.lead[0], p.lead[1] = g.values.task.angular_lead, g.values.task.linear_lead
    p.wrench[0], p.wrench[1] = g.values.task.moment_limit, g.values.task.force_limit
    p.reach = min(g.robot.reach, NONE)


def hold_task_reference(x: TaskReference, p: TaskLimits) -> None:
    """Come to rest as fast as the limits allow and stay there."""
    x.rest_duration, x.pose.moving, x.pose_time = 0.0, False, NEVER
    x.stops += 1.0
    turn = _brake_time(x, p, 0)
    rotate(x.pose.orientation, x.pose.velocity[0] * turn, x.pose.velocity[1] * turn,
           x.pose.velocity[2] * turn, x.pose.goal)
    way = _brake_time(x, p, 1)
    x.pose.goal[4:7] = x.pose.position + x.pose.velocity[3:6] * way
    x.pose.goal[4:7] = where(finite(x.pose.goal[4:7]), x.pose.goal[4:7], x.pose.position)
    x.pose.drift[:] = 0.0


def _brake_time(x: TaskReference, p: TaskLimits, k: int) -> float:
    """Return half of the time in which one half of the velocity is braked."""
    i = 3 * k
    vx, vy, vz = x.pose.velocity[i], x.pose.velocity[i + 1], x.pose.velocity[i + 2]
    return math.sqrt(vx * vx + vy * vy + vz * vz) / positive(2.0 * p.acceleration[k])


def start_task_reference(x: TaskReference, p: TaskLimits, R: Matrix, position: Vector,
                         velocity: Vector, duration: float) -> None:
    """
    Begin at the present pose, come to rest, without wrench.

    :param R: axes of the frame as columns, in the base.
    :param position: origin of the frame in the base, m.
    :param velocity: angular, linear; base axes, at the origin of the frame.
    :param duration: s in which to stop without a step of the acceleration; 0: it rests at once.
    """
    known = all(finite(position)) and _is_turn(R)
    x.pose.velocity[:] = x.pose.acceleration[:] = x.wrench[:] = x.pose.lead[:] = 0.0
    if known:
        x.pose.position[:] = position
        x.pose.R[:] = R
        quaternion_of(x.pose.R, x.pose.orientation)
    x.time = NEVER
    hold_task_reference(x, p)
    if known and all(abs(velocity) <= LARGE) and 0.0 < duration <= LARGE:
        _begin_rest(x, velocity, duration)


def _is_turn(R: Matrix) -> bool:
    """Return whether a matrix may have axes as columns."""
    return all(abs(R[0]) <= 2.0) and all(abs(R[1]) <= 2.0) and all(abs(R[2]) <= 2.0)


def _begin_rest(x: TaskReference, velocity: Vector, duration: float) -> None:
    """Remember from where and at which velocity the reference comes to rest."""
    x.rest_duration, x.rest_since = duration, 0.0
    x.pose.velocity[:] = x.rest_velocity[:] = velocity
    x.rest_orientation[:] = x.pose.orientation
    x.rest_position[:] = x.pose.position


def set_lead(x: TaskReference, lead: Vector) -> None:
    """
    Set how far the reference leads the robot, before the next step.

    :param lead: from the robot to the reference along controlled directions; angular, linear;
        base axes.
    """
    x.pose.lead[:] = where(abs(lead) <= NONE, lead, 0.0)


def take_pose(x: TaskReference, u: Event, y: Result) -> None:
    """
    Take a pose to go to.

    :param u: ``numbers`` has its unit quaternion, its position, its velocity (6) and for how many
        s it goes on with that.
    :param y: says if it is refused: it has numbers that are none, or no unit quaternion.
    """
    size = dot(u.numbers[:4], u.numbers[:4])
    if not (0.81 < size < 1.21 and math.isfinite(u.now) and all(abs(u.numbers[:14]) <= LARGE)):
        y.answer = ReferenceWord.NO_POSE
        return
    x.rest_duration, x.pose.moving = 0.0, False
    x.pose.goal[:] = u.numbers[:7]
    x.pose.drift[:] = u.numbers[7:13]
    x.horizon, x.pose_time = u.numbers[13], u.now


def _has_six(u: Event) -> bool:
    """Return whether the event has six numbers that somebody can mean, and a time."""
    return all(abs(u.numbers[:6]) <= LARGE) and math.isfinite(u.now)


def take_twist(x: TaskReference, u: Event, y: Result) -> None:
    """
    Take a velocity, to be repeated within the timeout.

    :param u: ``numbers`` has it: angular, linear; base axes, at the origin of the frame.
    :param y: says if it is refused: it has numbers that are none.
    """
    if not _has_six(u):
        y.answer = ReferenceWord.NO_TWIST
        return
    x.pose.twist[:] = u.numbers[:6]
    x.rest_duration, x.twist_time, x.pose.moving = 0.0, u.now, True


def take_wrench(x: TaskReference, p: TaskLimits, u: Event, y: Result) -> None:
    """
    Take a wrench to be exerted, to be repeated within the timeout.

    Moment and force that are too large are shortened; their directions stay.

    :param u: ``numbers`` has it: moment, force; base axes, at the origin of the frame.
    :param y: says if it is refused: it has numbers that are none.
    """
    if not _has_six(u):
        y.answer = ReferenceWord.NO_WRENCH
        return
    for k in range(2):
        a, b, c = u.numbers[3 * k], u.numbers[3 * k + 1], u.numbers[3 * k + 2]
        size, most = math.sqrt(a * a + b * b + c * c), p.wrench[k]
        share = 1.0 if size <= most else (most / positive(size) if most >= 0.0 else 0.0)
        x.wrench[3 * k], x.wrench[3 * k + 1], x.wrench[3 * k + 2] = share * a, share * b, share * c
    x.wrench_time = u.now


def is_asked(x: TaskReference, p: TaskLimits, now: float) -> int:
    """Return 1 if somebody asks for a wrench, be it zero; else 0."""
    return 1 if now - x.wrench_time <= p.timeout else 0


def advance_task_reference(x: TaskReference, p: TaskLimits, now: float) -> None:
    """Advance to now; ``x.pose`` is the reference, ``x.wrench`` what is to be exerted."""
    if not math.isfinite(now):
        return
    dt = 0.0 if x.time <= NEVER else now - x.time
    x.time = now
    if not now - x.wrench_time <= p.timeout:
        x.wrench[:] = 0.0
    if x.pose.moving and not now - x.twist_time <= p.timeout:
        _end_twist(x, p)
    ahead = now - x.pose_time if x.pose_time > NEVER else 0.0
    if not ahead <= x.horizon:
        ahead = 0.0
        x.pose.drift[:] = 0.0
    if not dt > 0.0:
        return
    step = min(dt, _LONGEST)
    if x.rest_duration > 0.0:
        _come_to_rest(x, p, step)
        return
    advance_pose(x.pose, p, ahead, step)
    if x.pose.moving:
        x.pose.goal[:4] = x.pose.orientation
        x.pose.goal[4:7] = x.pose.position


def _end_twist(x: TaskReference, p: TaskLimits) -> None:
    """Brake after a twist that was not repeated, and hold once the reference stands."""
    x.pose.twist[:] = 0.0
    if not any(abs(x.pose.velocity) >= _STANDS):
        x.pose.velocity[:] = 0.0
        hold_task_reference(x, p)


def _come_to_rest(x: TaskReference, p: TaskLimits, dt: float) -> None:
    """Continue a motion whose velocity falls smoothly to zero."""
    x.rest_since += dt
    s = min(x.rest_since / x.rest_duration, 1.0)
    # The integral of the smooth step, its value and its slope.
    gone = x.rest_duration * (s - s * s * (s * s) * (2.5 + s * (s - 3.0)))
    share = 1.0 - s * s * s * (10.0 + s * (6.0 * s - 15.0))
    bend = s * (1.0 - s)
    slope = -30.0 * (bend * bend) / x.rest_duration
    rotate(x.rest_orientation, gone * x.rest_velocity[0], gone * x.rest_velocity[1],
           gone * x.rest_velocity[2], x.pose.orientation)
    x.pose.position[:] = x.rest_position + gone * x.rest_velocity[3:6]
    x.pose.velocity[:] = share * x.rest_velocity
    x.pose.acceleration[:] = slope * x.rest_velocity
    set_axes(x.pose.orientation, x.pose.R)
    if s == 1.0:
        hold_task_reference(x, p)
