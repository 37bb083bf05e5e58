# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
References of the joint-space laws: hold, streamed set-points, trajectories.

Whatever the source, it only sets a target: the reference itself moves through a limiter.
"""

from __future__ import annotations

import enum
import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Joints, NEVER, NOBODY, NONE, Result, Structure, tell
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.references.goal_watch import Goal
from rbd_ros.control.references.joint_profile import (
    advance_profile, arrived, clamped, JointLimits, JointProfile, positive)
from rbd_ros.control.references.pieces import (
    Halt, make_stop, Path, PathKind, Ring, sample, Sampled)

__all__ = ['advance_joint_reference', 'distance', 'give_way', 'hold_joint_reference',
           'JointReference', 'leave_path', 'rest_joint_reference', 'Source',
           'start_joint_reference']

_PI, _TAU = math.pi, math.tau

#: share of its speed at which a trajectory goes on, whatever slows it down
_SLOWEST = 0.01

#: s in which a trajectory that was slowed down comes back to its speed
_RECOVERY = 0.2

#: share of the acceleration limits that slowing down takes, and that it takes together with the
#: acceleration of the trajectory
_SLOWING, _ON_PATH = 0.5, 0.98


class Source(enum.IntEnum):
    """Where the reference comes from."""

    HOLD = 0
    STREAM = 1
    TRAJECTORY = 2


class JointReference(Record):
    """The reference of joint-space laws and the goal that comes with it."""

    source: float = field('', '', 'where it comes from, see Source')
    resting: bool = field('', '', 'whether it holds, has arrived, and need not be computed')
    timed_out: bool = field('', '', 'whether the last stream of set-points ceased')
    share: float = field('', '', 'of its speed that a trajectory may have for the energy of a '
                                 'contact', 1.0)
    received: float = field('', 's', 'control time of the last set-point of a stream', NEVER)
    streamed: float = field('', 's', 'control time of the last numbers of a stream', NEVER)
    gap: float = field('', 's', 'between these, the longest one of late')
    time: float = field('', 's', 'control time of the last step; NEVER: none since the start',
                        NEVER)
    profile: JointProfile = group(JointProfile)
    path: Path = group(Path)
    goal: Goal = group(Goal)


def _may_rest_at(x: JointReference, p: JointLimits, j: int, end: float) -> float:
    """Return where the reference may come to rest: not beyond a limit if it was inside."""
    q = x.profile.state[0, j]
    if not math.isfinite(end):
        return q
    return end if p.continuous[j] > 0.0 else clamped(end, min(q, p.lower[j]), max(q, p.upper[j]))


def leave_path(x: JointReference) -> None:
    """Leave trajectory and stream, at no pace but that of the limits."""
    x.path.kind, x.source, x.resting = PathKind.NONE, Source.HOLD, False
    x.path.late, x.path.rate, x.path.bend, x.path.halt = 0.0, 1.0, 0.0, Halt.NONE
    x.profile.pace[:] = NONE
    x.path.held[:] = 0.0
    x.path.given[:] = x.profile.target[1:3]


def hold_joint_reference(x: JointReference, p: JointLimits) -> None:
    """Come to rest as fast as the limits allow and stay there; a goal stays active."""
    for j in range(len(x.profile.pace)):
        q, qd = x.profile.state[0, j], x.profile.state[1, j]
        x.profile.target[0, j] = _may_rest_at(
            x, p, j, q + qd * abs(qd) / positive(2.0 * p.acceleration[j]))
        x.profile.target[1, j], x.profile.target[2, j] = 0.0, 0.0
    leave_path(x)


def start_joint_reference(x: JointReference, p: JointLimits, joints: Joints, structure: Structure,
                          speed: Vector) -> None:
    """
    Begin at the present state and come to rest; a goal is aborted.

    :param speed: velocities of these, from which the reference comes to rest.
    """
    for j in range(len(x.profile.pace)):
        q = joints.q[place_of(structure, j)]
        if math.isfinite(q):
            x.profile.state[0, j] = q
        v = clamped(speed[j], -p.velocity[j], p.velocity[j])
        x.profile.state[1, j] = v if math.isfinite(v) else 0.0
        x.profile.state[2, j] = 0.0
    x.time = NEVER
    x.goal.abort(ReferenceWord.RESTARTED)
    hold_joint_reference(x, p)


def _stop_time(x: JointReference, p: JointLimits, duration: float) -> float:
    """Return in what time to stop: less where a joint limit is near, more to spare the limits."""
    fits, least = NONE, 0.0
    for j in range(len(x.profile.pace)):
        q, qd = x.profile.state[0, j], x.profile.state[1, j]
        if not p.continuous[j] > 0.0:
            room = q - p.lower[j] if qd < 0.0 else p.upper[j] - q
            fits = min(fits, 2.0 * max(room, 0.0) / max(abs(qd), 1e-9))
        least = max(least, 2.0 * abs(qd) / positive(p.acceleration[j]))
    return max(max(min(duration, fits), least), 1e-3)


def rest_joint_reference(x: JointReference, p: JointLimits, now: float, duration: float) -> None:
    """
    Come to rest from the present reference without a step of the acceleration.

    :param x: the reference; its goal is aborted.
    :param duration: s in which to stop; less where a joint limit is near, more where the
        acceleration would exceed its limit.
    """
    x.goal.abort(ReferenceWord.HELD)
    hold_joint_reference(x, p)
    time = _stop_time(x, p, duration)
    h = (time + now) - now  # as long as the clock can tell
    if not (h > 0.0 and math.isfinite(h)):
        return
    for j in range(len(x.profile.pace)):
        q, qd, qdd = x.profile.state[0, j], x.profile.state[1, j], x.profile.state[2, j]
        end = _may_rest_at(x, p, j, q + qd * (time / 2.0) + qdd * (time * time / 12.0))
        if not make_stop(x.path, j, h, q, qd, qdd, end):
            return
    x.path.kind, x.path.begin, x.path.end = PathKind.STOP, now, time + now


def distance(p: JointLimits, j: int, target: float, q: float) -> float:
    """
    Return the difference from a measured position to a target, the short way round.

    :param p: limits, which say whether the joint is continuous.
    :param j: number of the joint.
    :param target: position.
    :param q: measured position.
    """
    way = target - q
    if not p.continuous[j] > 0.0:
        return way
    whole = way + _PI
    if not math.isfinite(whole):
        return way
    if not 0.0 <= whole < _TAU:
        whole -= _TAU * math.floor(whole / _TAU)
    return whole - _PI


def give_way(x: JointReference, p: JointLimits, joints: Joints, structure: Structure, most: Vector,
             moved: Vector) -> bool:
    """
    Let a held reference follow a robot that was pushed too far away from it.

    :param most: distance per joint up to which the reference stays where it is.
    :param moved: receives by how much it moved, per joint.
    :returns: whether any joint of it moved.
    """
    n, any_moved = len(x.profile.pace), False
    for j in range(n):
        error = distance(p, j, x.profile.state[0, j], joints.q[place_of(structure, j)])
        moved[j] = clamped(error, -most[j], most[j]) - error
        if not math.isfinite(moved[j]):
            moved[j] = 0.0
        if moved[j] != 0.0:
            any_moved = True
    if not any_moved:
        return False
    for j in range(n):
        x.profile.state[0, j] += moved[j]
        x.profile.state[1, j], x.profile.state[2, j] = 0.0, 0.0
    hold_joint_reference(x, p)
    return True


def _run_dry(x: JointReference, p: JointLimits, ring: Ring, y: Result, before: float,
             now: float) -> int:
    """Come to rest because the next piece has not come; return what the stop gives."""
    gone, pieces = x.path.piece - x.path.first, x.path.last - x.path.first
    tell(y, ReferenceWord.DRY, NOBODY, gone, pieces, x.path.end - now)
    x.goal.abort(ReferenceWord.DRIED, gone)
    rest_joint_reference(x, p, before, p.rest_time)  # from where the last step has left it
    if x.path.kind == PathKind.NONE:
        return Sampled.MOVING
    found = sample(x.path, ring, now, x.profile.target)
    if found == Sampled.DRY:
        hold_joint_reference(x, p)
    return found


def _kept_on_path(x: JointReference, p: JointLimits, change: float, dt: float) -> float:
    """Bound a change of the rate so that no joint leaves its path: acceleration r^2 a + r' v."""
    rate = x.path.rate
    for j in range(len(x.profile.pace)):
        v, a = x.path.given[0, j], x.path.given[1, j]
        room, bent = _ON_PATH * p.acceleration[j], rate * rate * (a if v > 0.0 else -a)
        least = dt / positive(abs(v))
        change = clamped(change, -least * max(room + bent, 0.0), least * max(room - bent, 0.0))
    return change


def _slow_down(x: JointReference, p: JointLimits, dt: float) -> None:
    """Let the trajectory fall behind its times where it may not have its speed."""
    rate, wanted, slowest = x.path.rate, 1.0, _SLOWEST
    if x.share < 1.0:
        wanted = max(x.share, _SLOWEST)
    if x.path.halt != Halt.NONE:
        wanted, slowest = 0.0, 0.0
    x.path.bend = 0.0
    if x.path.kind != PathKind.RING or not dt > 0.0 or (wanted >= 1.0 and rate >= 1.0):
        return
    change = wanted - rate
    if change > 0.0:
        change = change * min(dt / _RECOVERY, 1.0)
    for j in range(len(x.profile.pace)):
        speed = abs(x.path.given[0, j])
        most = _SLOWING * p.acceleration[j] * dt / positive(speed)
        change = clamped(change, -most, most)
    change = _kept_on_path(x, p, change, dt)
    reached = clamped(rate + change, min(slowest, rate), 1.0)
    late = x.path.late + (1.0 - reached) * dt
    if math.isfinite(reached) and math.isfinite(late):
        x.path.rate, x.path.late, x.path.bend = reached, late, (reached - rate) / dt


def _follow_slowly(x: JointReference) -> None:
    """Give the target the speed at which the trajectory is followed."""
    rate, bend = x.path.rate, x.path.bend
    if x.path.kind != PathKind.RING:
        return
    for j in range(len(x.profile.pace)):
        v, a = x.profile.target[1, j], x.profile.target[2, j]
        x.path.given[0, j], x.path.given[1, j] = v, a
        if rate < 1.0 or bend != 0.0:
            x.profile.target[1, j] = rate * v
            x.profile.target[2, j] = rate * rate * a + bend * v


def advance_joint_reference(x: JointReference, p: JointLimits, ring: Ring, y: Result,
                            now: float) -> None:
    """
    Advance to now; ``x.profile.state`` is the reference.

    :param ring: pieces of its trajectory.
    :param y: is told of a ring that runs dry.
    """
    if not math.isfinite(now):
        return
    before = now if x.time <= NEVER else x.time
    x.time = now
    if x.resting:
        return
    held = x.source == Source.HOLD
    if x.path.kind != PathKind.NONE:
        _slow_down(x, p, now - before)
        found = sample(x.path, ring, now - x.path.late, x.profile.target)
        if found == Sampled.DRY:
            found = _run_dry(x, p, ring, y, before, now)
        _follow_slowly(x)
        if x.path.halt == Halt.END and x.path.rate == 0.0:
            hold_joint_reference(x, p)
        held = found == Sampled.ENDED
    elif x.source == Source.STREAM and now - x.received > p.timeout:
        x.timed_out = True
        hold_joint_reference(x, p)
    advance_profile(x.profile, p, now - before)
    x.resting = held and arrived(x.profile)
