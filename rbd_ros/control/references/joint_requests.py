# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Requests to the joint reference: set-points, trajectories, goals, streams.

The messages are checked outside, where there are texts; here only what is no number is refused. A
servoing node sends a stream of positions or velocities, without a word about time, at an even
rate, which is found from when they come. Each message is good for a while: without the next one
the reference comes to rest by itself.
"""

from __future__ import annotations

import enum
import math

from rbd_ros.control.interface.events import Event, Joints, NONE, Result, Structure
from rbd_ros.control.interface.results import ResultCode
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.references.goal_watch import GoalStatus
from rbd_ros.control.references.joint_profile import clamped, JointLimits, positive
from rbd_ros.control.references.joint_reference import (
    distance, hold_joint_reference, JointReference, leave_path, Source)
from rbd_ros.control.references.pieces import Halt, join_late, PathKind, Ring, valid_header
from rbd_ros.control.references.points import LATENESS, STREAM_HORIZON

__all__ = ['cancel_goal', 'check_goal', 'keep_even_speed', 'pause_path', 'Streamed', 'take_pieces',
           'take_set_point', 'take_stream']

#: share of its longest gap that a stream keeps with each message
_KEPT = 0.9


class Streamed(enum.IntEnum):
    """What the numbers of a stream are."""

    POSITIONS = 0
    VELOCITIES = 1


def take_stream(x: JointReference, p: JointLimits, u: Event, y: Result) -> None:
    """
    Take a message of a stream; a goal is aborted.

    :param u: ``numbers[0]`` says what the numbers are, see ``Streamed``; they are in the row of
        ``joints`` for positions or velocities.
    :param y: says if it is refused: it has numbers that are none.
    """
    row = 1 if u.numbers[0] == Streamed.VELOCITIES else 0
    if not (all(abs(u.joints[row]) <= NONE) and math.isfinite(u.now)):
        y.answer = ReferenceWord.NO_SET_POINT
        return
    x.goal.abort(ReferenceWord.SET_POINT)
    leave_path(x)
    _note_gap(x, u.now)
    x.profile.target[1] = x.profile.target[2] = 0.0
    if row == 1:
        _run_on(x, p, u, min(p.timeout, STREAM_HORIZON))
    else:
        for j in range(len(x.profile.pace)):
            q, before = u.joints[0, j], x.profile.state[0, j]
            x.profile.target[0, j] = before + turn(q - before) if p.continuous[j] > 0.0 else q
        keep_even_speed(x, p, (1.0 + LATENESS) * x.gap)
    x.source, x.timed_out = Source.STREAM, False
    x.received = NONE  # it comes to rest by itself


def _note_gap(x: JointReference, now: float) -> None:
    """Note the time between messages: the longest one, slowly forgotten."""
    gap = now - x.streamed
    if 0.0 <= gap <= STREAM_HORIZON:
        x.gap = max(gap, _KEPT * x.gap)
    else:  # a stream begins, or the clock has jumped
        x.gap = STREAM_HORIZON
    x.streamed = now


def _run_on(x: JointReference, p: JointLimits, u: Event, seconds: float) -> None:
    """Move at a velocity for some time, then come to rest."""
    for j in range(len(x.profile.pace)):
        a, q, qd = positive(p.acceleration[j]), x.profile.state[0, j], x.profile.state[1, j]
        v = clamped(u.joints[1, j], -p.velocity[j], p.velocity[j])
        slower = 0.0  # the way until it is as slow as wanted
        if qd * v <= 0.0:
            slower = qd * abs(qd) / (2.0 * a)
        elif abs(qd) > abs(v):
            slower = (qd * abs(qd) - v * abs(v)) / (2.0 * a)
        end = q + slower + v * seconds + v * abs(v) / (2.0 * a)
        if not p.continuous[j] > 0.0:
            end = clamped(end, min(q, p.lower[j]), max(q, p.upper[j]))
        x.profile.target[0, j] = end if math.isfinite(end) else q
        x.profile.pace[j] = abs(v) if abs(v) > 0.0 else NONE


#: share of a velocity limit at which a joint of a stream that hardly moves goes to its point
_CREEP = 0.001

#: s of motion at an even speed that nobody means
_MOST_WITHIN = 1e6

#: in the place of a number that is none: beyond every tolerance
_LOST = 1e300


def keep_even_speed(x: JointReference, p: JointLimits, within: float) -> None:
    """
    Set the speeds of which v t + v^2/2a is the way: braking begins after that time.

    :param within: that time, s.
    """
    for j in range(len(x.profile.pace)):
        q, qd, a = x.profile.state[0, j], x.profile.state[1, j], positive(p.acceleration[j])
        end = x.profile.target[0, j]
        stop = q + qd * abs(qd) / (2.0 * a)  # a reference that moves away comes back from there
        way = max(abs(end - q), abs(end - stop))
        speed = a * (math.sqrt(within * within + 2.0 * way / a) - within)
        pace = max(speed, _CREEP * p.velocity[j])
        x.profile.pace[j] = pace if pace < NONE else NONE


def take_set_point(x: JointReference, p: JointLimits, u: Event, y: Result) -> None:
    """
    Take a streamed set-point, held until the next one or the timeout; a goal is aborted.

    :param u: ``joints`` has position, velocity and acceleration, ``numbers[0]`` the s of motion
        at an even speed before it brakes, or 0: as fast as the limits allow.
    :param y: says if it is refused: it has numbers that are none.
    """
    n, within = len(x.profile.pace), u.numbers[0]
    for j in range(n):
        for k in range(3):
            if not abs(u.joints[k, j]) <= NONE:
                y.answer = ReferenceWord.NO_SET_POINT
                return
    if not (within <= _MOST_WITHIN and math.isfinite(u.now)):
        y.answer = ReferenceWord.NO_SET_POINT
        return
    x.goal.abort(ReferenceWord.SET_POINT)
    leave_path(x)
    for j in range(n):
        q, before = u.joints[0, j], x.profile.state[0, j]
        x.profile.target[0, j] = before + turn(q - before) if p.continuous[j] > 0.0 else q
        x.profile.target[1, j], x.profile.target[2, j] = u.joints[1, j], u.joints[2, j]
    x.source, x.timed_out = Source.STREAM, False
    x.received = u.now
    if within > 0.0:
        keep_even_speed(x, p, within)
        x.received = NONE  # a point that was due at some time stays the target


def take_pieces(x: JointReference, ring: Ring, u: Event, y: Result) -> None:
    """
    Follow the trajectory whose pieces are in the ring; the goal before is aborted.

    :param u: ``numbers[0]`` is the number of the trajectory, ``numbers[1]`` that of its goal or 0.
    :param y: says if it is refused: a newer one is in the ring already, or it has no numbers.
    """
    goal = u.numbers[1] if math.isfinite(u.numbers[1]) else 0.0
    if not ring.number == u.numbers[0] or not ring.goal == goal or not valid_header(ring):
        y.answer = (ReferenceWord.REPLACED if ring.number > u.numbers[0]
                    else ReferenceWord.NO_TRAJECTORY)
        return
    x.goal.abort(ReferenceWord.NEW_TRAJECTORY)
    leave_path(x)
    x.path.kind, x.path.number, x.path.end = PathKind.RING, ring.number, ring.end
    x.path.first, x.path.piece, x.path.last = ring.first, ring.first, ring.first + ring.pieces
    x.path.final[:] = ring.final
    x.path.held[:] = ring.held > 0.0
    join_late(x.path, ring, x.profile.state, x.time, u.now)
    x.source, x.timed_out = Source.TRAJECTORY, False
    if goal != 0.0:
        x.goal.accept(ring)


def cancel_goal(x: JointReference, p: JointLimits, u: Event, y: Result) -> None:
    """
    Cancel the goal and come to rest.

    :param u: ``numbers[0]`` is the number of the goal; ``numbers[1]`` 1 to rest on its path;
        ``numbers[2]`` 1 because its client is silent.
    :param y: says if that is not the active one: nothing happens.
    """
    if x.goal.active == 0.0 or not x.goal.active == u.numbers[0]:
        y.answer = ReferenceWord.NO_GOAL
        return
    if u.numbers[2] == 1.0:
        x.goal.abort(ReferenceWord.SILENT)
    else:
        x.goal.finish(GoalStatus.CANCELED, ResultCode.SUCCESSFUL, ReferenceWord.CANCELED)
    if u.numbers[1] == 1.0 and x.path.kind == PathKind.RING:
        x.path.halt = Halt.END
    else:
        hold_joint_reference(x, p)


def pause_path(x: JointReference, u: Event, y: Result) -> None:
    """
    Let a trajectory come to rest on its way, or go on.

    :param u: ``numbers[0]`` is 1 to pause, 0 to go on; ``numbers[1]`` 1 to end it at rest.
    :param y: says if there is no trajectory, or one that ends already.
    """
    if x.path.kind != PathKind.RING or x.path.halt == Halt.END:
        y.answer = ReferenceWord.NO_PATH
    elif u.numbers[1] == 1.0:
        x.goal.abort(ReferenceWord.HELD)
        x.path.halt = Halt.END
    else:
        x.path.halt = Halt.PAUSE if u.numbers[0] == 1.0 else Halt.NONE


def _finite(x: float) -> float:
    return x if math.isfinite(x) else _LOST


def check_goal(x: JointReference, p: JointLimits, joints: Joints, structure: Structure,
               now: float) -> None:
    """Check the tolerances of the active goal; the reference holds if the goal fails."""
    n = len(x.profile.pace)
    if x.goal.active == 0.0 or not math.isfinite(now):
        return
    x.goal.time = now
    for j in range(n):
        q, qd = joints.q[place_of(structure, j)], joints.qd[place_of(structure, j)]
        x.goal.actual[0, j], x.goal.actual[1, j] = _finite(q), _finite(qd)
        x.goal.error[0, j] = _finite(distance(p, j, x.profile.target[0, j], q))
        x.goal.error[1, j] = _finite(x.profile.target[1, j] - qd)
    if x.goal.judge(now - x.path.late, n):
        hold_joint_reference(x, p)
