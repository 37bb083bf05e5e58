# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether a message is plausible, compared with the one before.

A position must be reachable from the last one that was accepted, from whatever source: this finds
a sensor that fails, and two sources of one joint that disagree. A joint that is faster than it may
be is no failing sensor: what its velocities say of the way counts as reachable, and so does the
way that it made before, in positions that were accepted. Positions and velocities must describe
the same motion: their difference is collected in a leaky sum, which divided by its time is the
velocity by which the two disagree. Beyond the velocity limit, velocities that follow the positions
as a filter does agree with them.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import minimum
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Event, Joints, NOBODY, NONE, Result, Structure
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.sources import (
    AgeLimits, bounded, give_reason, is_stamped, Reason, Sources, span)
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.numerics.patience import Patience
from rbd_ros.control.numerics.places import place_of

from rbd_ros.control.parameters.given import Inputs, STRAY, velocity_limits, WINDOW

__all__ = ['accuse_implausible', 'change', 'collect_mismatch', 'fill_motion', 'is_refused',
           'JointMotion', 'MotionLimits', 'REACH', 'restart_motion']

#: velocity in units of its limit with which a joint can reach another position, in addition to
#: the velocity that it had and has
REACH = 1.5

#: s of the slowest filter of velocities that still follow the positions
_SLOWEST = 0.05

#: s by which messages of two publishers may be late against each other
_LATE = 0.02

#: bound of the sum, relative to its limit: one absurd velocity is forgotten within 10 ms
_MEMORY = 1.1

#: messages that may always disagree, however low the rate is
_LEAST = 5.0

#: messages that may disagree at once, and how many are forgotten per second: a second publisher
#: that is much slower than the first must not pass for a sensor with occasional errors
_ERRORS, _FORGOTTEN = 10.0, 1.0


class MotionLimits(Record):
    """What is plausible."""

    message_time: float = field('', 's', 'that a message stands for', 1e-3)
    patience: float = field('', 's', 'for which implausible messages are just ignored')
    speed: Vector = field('n', 'rad/s or m/s', 'velocity limits; NONE: none')
    tolerance: Vector = field('n', 'rad or m', 'noise and quantisation of a position')
    mismatch: Vector = field('n', 'rad or m', 'by which positions may run away from velocities; '
                                              'farther where both are beyond the velocity limit')


class JointMotion(Record):
    """The messages before, as far as they tell what is plausible."""

    wrong: float = field('', '', '1 if the messages are no longer believed')
    messages: float = field('', '', 'of controlled joints')
    errors: float = field('', '', 'implausible ones that are not forgotten')
    erred: float = field('', 's', 'control time of the last of them')
    swaps: float = field('', '', 'times that a joint came in another kind of message')
    carrier: float = field('', '', 'kind of message that brought controlled joints last', NOBODY)
    paced: float = field('', '', 'kind of the last message that was accepted', NOBODY)
    source: Vector = field('n', '', 'kind of message that brought a joint last', NOBODY)
    moved: Vector = field('n', '', '1 where the present message is compared with the last one')
    step: Vector = field('n', 'rad or m', 'change of the position there')
    elapsed: Vector = field('n', 's', 'in this time')
    pace: Vector = field('n', 'rad/s or m/s', 'velocity of the last step that was accepted')
    late: Vector = field('n', 'rad or m', 'by which filters explain a mismatch')
    fast: Vector = field('n', 's', 'for which a joint still counts as too fast')
    marked: Vector = field('m', '', '1 for joints that a sentence names')
    qd: Vector = field('m', 'rad/s or m/s', 'velocities of the present message')
    patience: Patience = group(Patience)
    reason: Reason = group(Reason)  # why the last implausible message was so


def fill_motion(p: MotionLimits, g: Inputs) -> None:
    """
    Take limits.

    :param p: gets them.
    :param g: what was given.
    """
    p.message_time = 1.0 / g.values.nominal_rate
    p.patience = max(g.values.velocity_patience, _LEAST * p.message_time)
    p.speed[:] = minimum(velocity_limits(g), NONE)
    p.tolerance[:] = minimum(g.values.state_tolerance, NONE)
    p.mismatch[:] = minimum(
        g.values.state_tolerance + STRAY * WINDOW * velocity_limits(g), NONE)


def restart_motion(x: JointMotion, joints: Joints) -> None:
    """
    Forget every message.

    :param joints: whose mismatch begins anew.
    """
    x.reset()
    joints.mismatch[:] = joints.doubted[:] = 0.0
    joints.calm = 1.0


def change(structure: Structure, j: int, before: float, now: float) -> float:
    """
    Return by how much a position has changed, the shorter way round where it may wrap.

    :param structure: which joints are continuous.
    :param j: joint of the model.
    :param before: position before.
    :param now: position now.
    """
    step = now - before
    return bounded(turn(step) if structure.continuous[j] > 0.0 else step)


def is_refused(x: JointMotion, sources: Sources, joints: Joints, u: Event, structure: Structure,
               ages: AgeLimits, p: MotionLimits, k: int) -> bool:
    """
    Return whether the positions of a message are implausible; the reason is in the record.

    :param sources: kinds of messages.
    :param joints: get whether all is calm.
    :param ages: limits of ages.
    :param k: kind of the message.
    """
    bad, first = 0, 0.0
    for c in range(len(x.source)):
        x.moved[c] = 0.0
        j = place_of(structure, c)
        if u.present[j] > 0.0 and x.source[c] >= 0.0:
            i = int(x.source[c])
            since = u.now - sources.received[i]
            if not 0.0 <= since <= ages.state_timeout:  # too old to be compared
                joints.mismatch[c] = 0.0
                continue
            reach = _compare(x, sources, u, structure, ages, p, k, c)
            if joints.doubted[c] > 0.0:  # what it shows is no news
                continue
            if not abs(x.step[c]) <= reach and (bad == 0 or u.rank[j] < first):
                if not abs(x.step[c]) <= reach + x.elapsed[c] * max(
                        _travel(sources, u, i, j, x.step[c]), _gone_on(x, c)):
                    bad, first = 1, u.rank[j]
                    _disagree(x, sources, u, k, i, j)
    if sources.driven > 0.0:
        _judge(x, joints, p, u.now, bad)
    return bad > 0


def _compare(x: JointMotion, sources: Sources, u: Event, structure: Structure, ages: AgeLimits,
             p: MotionLimits, k: int, c: int) -> float:
    """Compare a joint with the last message that had it; return how far it can have moved."""
    i, j = int(x.source[c]), place_of(structure, c)
    since = u.now - sources.received[i]
    elapsed, late = since, _LATE
    if i == k and is_stamped(u.stamp_s, u.stamp_ns) and is_stamped(
            sources.stamp_s[i], sources.stamp_ns[i]):
        elapsed = abs(span(u.stamp_s, u.stamp_ns, sources.stamp_s[i], sources.stamp_ns[i]))
        late = min(0.0, since + 0.5 * ages.state_timeout - elapsed)
    x.moved[c], x.elapsed[c] = 1.0, elapsed
    x.step[c] = change(structure, j, sources.last_q[i, j], u.q[j])
    if p.speed[c] >= NONE:
        return NONE
    return p.tolerance[c] + REACH * p.speed[c] * (elapsed + late)


def _travel(sources: Sources, u: Event, i: int, j: int, step: float) -> float:
    """
    Return the speed in the direction of a step that a joint had before and has now.

    One message alone proves nothing: a driver that differences the positions of a failing
    sensor reports velocities that agree with every jump.
    """
    sign = math.copysign(1.0, step)
    speed = sign * sources.last_qd[i, j]
    if u.velocities > 0.0 and math.isfinite(u.qd[j]):  # else it will be the difference
        speed = min(speed, sign * u.qd[j])
    return max(speed, 0.0)


def _gone_on(x: JointMotion, c: int) -> float:
    """
    Return the speed in the direction of a step that the positions before have shown.

    A sensor that jumps has none: its first jump is not accepted.
    """
    if x.paced != x.source[c]:
        return 0.0
    return max(math.copysign(1.0, x.step[c]) * x.pace[c], 0.0)


def _disagree(x: JointMotion, sources: Sources, u: Event, k: int, i: int, j: int) -> None:
    """Keep why a message is implausible."""
    before, now = sources.last_q[i, j], u.q[j]
    if i == k:
        give_reason(x.reason, ArrivalWord.JUMP, j, before, now, u.now - sources.received[i])
    else:
        give_reason(x.reason, ArrivalWord.DISAGREE, j, before, now, 64 * i + k)


def _judge(x: JointMotion, joints: Joints, p: MotionLimits, now: float, bad: int) -> None:
    """Count messages, not time: one that disagrees may come right before one that does not."""
    x.messages += 1.0
    late = x.patience.runs_out(p.patience, bounded(x.messages * p.message_time), bad)
    if bad > 0:
        forgotten = _FORGOTTEN * max(now - x.erred, 0.0)
        x.errors, x.erred = max(x.errors - forgotten, 0.0) + 1.0, now
        late = late or x.errors > _ERRORS
    x.wrong = 1.0 if late else 0.0
    joints.calm = 1.0 if x.patience.is_calm() else 0.0


def accuse_implausible(x: JointMotion, y: Result) -> None:
    """Say so if the messages are no longer believed."""
    if x.wrong > 0.0:
        accuse(y, Cause.IMPLAUSIBLE, int(x.reason.word), int(x.reason.joint), x.reason.a,
               x.reason.b, x.reason.c)


def collect_mismatch(x: JointMotion, sources: Sources, joints: Joints, structure: Structure,
                     p: MotionLimits, k: int) -> None:
    """
    Collect by how much the positions of a message run away from its velocities.

    :param x: messages before, with the changes of the positions and the velocities.
    :param sources: kinds of messages, with the velocities before.
    :param joints: get the mismatch, and how far it may go.
    :param k: kind of the message.
    """
    for c in range(len(x.moved)):
        joints.allowed[c] = bounded(p.mismatch[c])
        if joints.doubted[c] > 0.0:
            joints.mismatch[c] = 0.0
        elif x.moved[c] > 0.0:
            j = place_of(structure, c)
            _collect(x, joints, p, c, sources.last_qd[k, j], x.qd[j])


def _collect(x: JointMotion, joints: Joints, p: MotionLimits, c: int, before: float,
             speed: float) -> None:
    """Collect the mismatch of one joint, with its velocities before and now."""
    step, elapsed, most = x.step[c], x.elapsed[c], bounded(p.mismatch[c])
    way, limit = bounded(speed * elapsed), bounded(p.speed[c]) * elapsed
    fade = WINDOW / (WINDOW + elapsed)
    total = (joints.mismatch[c] + step - way) * fade
    limited = p.speed[c] < NONE
    beyond = min(abs(step), abs(way)) - limit
    allowed = most
    if limited and beyond > 0.0 and step * way > 0.0:  # too fast, on which both agree
        allowed += STRAY * WINDOW * beyond / elapsed
    late = abs(total) - most
    x.late[c] = x.late[c] * fade if late > 0.0 else 0.0
    if limited and max(abs(step), abs(way)) > limit:
        x.fast[c] = WINDOW
    else:
        x.fast[c] = bounded(x.fast[c] - elapsed)
    if late > 0.0 and x.fast[c] > 0.0 and _follows(step, bounded(before * elapsed), way, elapsed):
        x.late[c] = max(x.late[c], late)
    allowed = bounded(max(allowed, most + x.late[c]))
    farthest = _MEMORY * allowed
    joints.allowed[c], joints.mismatch[c] = allowed, min(max(total, -farthest), farthest)


def _follows(step: float, before: float, way: float, elapsed: float) -> bool:
    """
    Return whether a velocity follows that of the positions at least as a slow filter does.

    :param step: change of the position.
    :param before: velocity in the message before, times the time between them.
    :param way: velocity in this one, times that time.
    :param elapsed: that time, s.
    """
    least = before + (step - before) * elapsed / (_SLOWEST + elapsed)
    return min(least, step) <= way <= max(least, step)
