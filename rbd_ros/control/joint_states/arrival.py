# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Joint states: from messages to one state that is fresh and plausible.

Messages may carry some joints each. Each kind of message has its own place and its own measures of
age. A message with an error in a field that is needed counts as not received; if that goes on, the
state becomes too old.
"""

from __future__ import annotations

import enum
import math

from rbd_ros.compiler.records import group, Record
from rbd_ros.control.interface.events import Event, Joints, NEVER, NOBODY, Result, Structure, tell
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.acceptance import (
    accept, count_repeats, find_velocities, Repeats, restart_repeats, store, tell_accepted)
from rbd_ros.control.joint_states.ages import Freshness, observe
from rbd_ros.control.joint_states.motion import (
    collect_mismatch, fill_motion, is_refused, JointMotion, MotionLimits, restart_motion)
from rbd_ros.control.joint_states.sources import (
    AgeLimits, bounded, fill_ages, forget_ages, gather, give_reason, is_moment, is_time, reject,
    restart_source, Sources)
from rbd_ros.control.joint_states.timeliness import (
    comes_in_time, count_state, Delays, Punctual, Rate, restart_delays, restart_rate)
from rbd_ros.control.joint_states.words import mask
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.given import Inputs

__all__ = ['Arrival', 'arrive', 'fill_states', 'is_in_time', 'is_overdue', 'is_ready',
           'refuse_unreadable', 'restart_states', 'StateLimits', 'States', 'time_left']


class Arrival(enum.IntEnum):
    """What one message brought."""

    IGNORED = 0  # no joint of ours
    REJECTED = 1  # a field that we need is wrong; ``reason`` says why
    PROBE = 2  # age not proven yet
    PRESCRIBED = 3  # only joints that are not controlled
    STATE = 4  # controlled joints, fresh


class States(Record):
    """What is remembered of joint states."""

    sources: Sources = group(Sources)
    motion: JointMotion = group(JointMotion)
    repeats: Repeats = group(Repeats)
    rate: Rate = group(Rate)
    punctual: Punctual = group(Punctual)
    delays: Delays = group(Delays)


class StateLimits(Record):
    """What is asked of joint states."""

    ages: AgeLimits = group(AgeLimits)
    motion: MotionLimits = group(MotionLimits)


def fill_states(p: StateLimits, g: Inputs) -> None:
    """
    Take all limits, when the controller is configured; later only those of motion may change.

    :param p: gets them.
    :param g: what was given.
    """
    fill_ages(p.ages, g)
    fill_motion(p.motion, g)


def restart_states(x: States, joints: Joints, p: StateLimits) -> None:
    """
    Forget every message, at activation and reset: each stream is checked anew.

    :param x: what is remembered; messages are still counted.
    :param joints: which expire; their positions stay.
    """
    for k in range(len(x.sources.probed)):
        restart_source(x.sources, k)
    x.sources.now, x.sources.last, x.sources.driven = NEVER, NOBODY, 0.0
    x.sources.unreadable_at, x.sources.others_at = NEVER, NEVER
    give_reason(x.sources.reason, 0, NOBODY, 0.0, 0.0, 0.0)
    x.sources.told_unstamped, x.sources.told_ahead, x.sources.told_doubled = 0.0, 0.0, 0.0
    x.sources.told_unreadable, x.sources.told_too_many = 0.0, 0.0
    x.sources.told_velocity[:] = x.sources.seen[:] = 0.0
    forget_ages(x.sources, joints)
    joints.effort_known = 0.0
    restart_rate(x.rate, joints)
    restart_motion(x.motion, joints)
    restart_repeats(x.repeats, joints)
    x.punctual.reset()
    restart_delays(x.delays, p.ages.state_timeout)


# -- one message ----------------------------------------------------------------------------------

def time_left(x: States, joints: Joints, structure: Structure, now: float) -> float:
    """
    Return for how long the controlled joints may still be used, s; asked before a message.

    :param joints: get the times until which they may be used.
    """
    gather(x.sources, joints, structure)
    return joints.controlled_expiry - now


def arrive(x: States, joints: Joints, u: Event, structure: Structure, p: StateLimits,
           y: Result) -> int:
    """
    Take one message.

    :param joints: get the state, if it is fresh.
    :param y: result, for words.
    :returns: see :class:`Arrival`.
    """
    x.sources.last, x.sources.driven = NOBODY, 0.0
    if not is_time(u):
        reject(x.sources, u, ArrivalWord.BAD_TIME, NOBODY, 0.0, 0.0, 0.0)
        return Arrival.REJECTED
    if not 0.0 <= u.source < len(x.sources.probed):
        return _pass_by(x.sources, u, y)
    k = int(u.source)
    _meet(x, u, structure, k)
    if u.defect > 0.0:
        reject(x.sources, u, _defect(u), NOBODY, u.defect_a, u.defect_b, 0.0)
        return Arrival.REJECTED
    if not _is_finite(x.motion, u):
        reject(x.sources, u, ArrivalWord.NOT_FINITE, NOBODY, mask(x.motion.marked, 0),
               mask(x.motion.marked, 1), mask(x.motion.marked, 2))
        return Arrival.REJECTED
    if is_refused(x.motion, x.sources, joints, u, structure, p.ages, p.motion, k):
        reject(x.sources, u, int(x.motion.reason.word), int(x.motion.reason.joint),
               x.motion.reason.a, x.motion.reason.b, x.motion.reason.c)
        return Arrival.REJECTED
    arrival = _check_age(x, joints, u, structure, p.ages, y, k)
    if arrival != Arrival.REJECTED:
        _accept(x, joints, u, structure, p, k)
        tell_accepted(x.sources, x.motion, y)
    if arrival > Arrival.PROBE:
        store(x.sources, x.motion, joints, u, structure)
    return arrival


def refuse_unreadable(x: Sources, u: Event, y: Result) -> None:
    """
    Take a message that cannot be read: it counts as not received, and is announced once.

    :param y: result, for words.
    """
    x.last = NOBODY
    x.unreadable += 1.0
    reject(x, u, ArrivalWord.UNREADABLE, NOBODY, 0.0, 0.0, 0.0)
    if is_moment(u.now):
        x.unreadable_at = u.now
    if x.told_unreadable == 0.0:
        x.told_unreadable = 1.0
        tell(y, ArrivalWord.UNREADABLE_IGNORED, NOBODY, 0.0, 0.0, 0.0)


def is_in_time(x: States, p: StateLimits, u: Event, left: float, arrival: int) -> bool:
    """
    Follow the ages of states before torque begins; after a late one the start waits.

    :param u: the message, which has arrived.
    :param left: what :func:`time_left` said before.
    :param arrival: what :func:`arrive` said.
    :returns: whether it was in time; a message without controlled joints is.
    """
    if x.sources.driven == 0.0:
        return True
    return comes_in_time(x.punctual, p.ages, u.now, left, x.sources.excess[int(x.sources.last)],
                         1 if arrival == Arrival.STATE else 0)


def is_ready(joints: Joints, now: float) -> bool:
    """Return whether every joint is known and young enough, and no position is in doubt."""
    return now <= joints.expiry and joints.calm > 0.0


def is_overdue(joints: Joints, now: float, before: float) -> bool:
    """
    Return whether a message that gave no state must not wait for the timer.

    :param before: control time of the last state or timer, s.
    """
    return now > joints.expiry or now < before


# -- inside ---------------------------------------------------------------------------------------

def _pass_by(x: Sources, u: Event, y: Result) -> int:
    """Take a message without our joints, or of a kind too many."""
    if not u.defect > 0.0:
        x.others_at = u.now
        return Arrival.IGNORED
    reject(x, u, _defect(u), NOBODY, u.defect_a, u.defect_b, 0.0)
    if x.told_too_many == 0.0:
        x.told_too_many = 1.0
        tell(y, ArrivalWord.TOO_MANY_KINDS, NOBODY, bounded(u.defect_a), 0.0, 0.0)
    return Arrival.REJECTED


def _defect(u: Event) -> int:
    """Return the word for what is wrong with a message."""
    if ArrivalWord.TWICE <= u.defect <= ArrivalWord.TOO_MANY_KINDS:
        return int(u.defect)
    return ArrivalWord.UNREADABLE


def _meet(x: States, u: Event, structure: Structure, k: int) -> None:
    """Record which joints a kind of message has."""
    if u.renewed > 0.0:
        restart_source(x.sources, k)
        for c in range(len(x.motion.source)):
            if x.motion.source[c] == k:
                x.motion.source[c] = NOBODY
        if x.motion.carrier == k:
            x.motion.carrier = NOBODY
        if x.motion.paced == k:
            x.motion.paced = NOBODY
    alone, driven = 1.0, 0.0
    for j in range(len(u.present)):
        has = 1.0 if u.present[j] > 0.0 else 0.0
        x.sources.carries[k, j] = has
        if has == 0.0 and structure.measured[j] > 0.0:
            alone = 0.0
        if has > 0.0 and structure.controlled[j] > 0.0:
            driven = 1.0
    x.sources.alone[k], x.sources.driven_by[k] = alone, driven
    x.sources.last, x.sources.driven = k, driven


def _is_finite(x: JointMotion, u: Event) -> bool:
    """Return whether all positions are numbers; a sum that overflows counts as infinite."""
    total = 0.0
    for j in range(len(u.present)):
        x.marked[j] = 0.0
        if u.present[j] > 0.0:
            total += u.q[j]
            x.marked[j] = 0.0 if math.isfinite(u.q[j]) else 1.0
    return math.isfinite(total)


def _check_age(x: States, joints: Joints, u: Event, structure: Structure, p: AgeLimits, y: Result,
               k: int) -> int:
    """Check the age of a message; return what it brought."""
    if u.now < x.sources.now - p.state_timeout:  # the clock went back
        forget_ages(x.sources, joints)
    x.sources.now = u.now
    freshness = observe(x.sources, p, k, u.now, u.stamp_s, u.stamp_ns)
    if x.sources.unstamped[k] > 0.0 and x.sources.told_unstamped == 0.0:
        x.sources.told_unstamped = 1.0
        tell(y, ArrivalWord.UNSTAMPED, NOBODY, 0.0, 0.0, 0.0)
    give_reason(x.sources.reason, int(x.sources.word[k]), int(x.sources.word_joint[k]),
                x.sources.word_a[k], x.sources.word_b[k], x.sources.word_c[k])
    if freshness != Freshness.FRESH:
        _tell_leaps(x.sources, p, y, k)
        return Arrival.PROBE if freshness == Freshness.PROBE else Arrival.REJECTED
    joints.expiry = x.sources.until[k]
    if x.sources.alone[k] == 0.0:
        gather(x.sources, joints, structure)
        joints.expiry = joints.controlled_expiry
        for j in range(len(joints.until)):
            if structure.measured[j] > 0.0:
                joints.expiry = min(joints.expiry, joints.until[j])
    if x.sources.driven == 0.0:
        return Arrival.PRESCRIBED
    _count_state(x, joints, u, structure, p)
    return Arrival.STATE


def _accept(x: States, joints: Joints, u: Event, structure: Structure, p: StateLimits,
            k: int) -> None:
    """Take what a plausible message says of the motion."""
    silent = find_velocities(x.sources, x.motion, u, structure, p.ages, k)
    collect_mismatch(x.motion, x.sources, joints, structure, p.motion, k)
    if x.sources.driven > 0.0:
        joints.differenced = 1.0 if silent else 0.0
        count_repeats(x.repeats, joints, x.motion.moved, x.motion.step, x.motion.elapsed)
    accept(x.sources, x.motion, joints, u, structure, k)


def _tell_leaps(x: Sources, p: AgeLimits, y: Result, k: int) -> None:
    """Announce stamps that are ahead: each time that a clock was set, else once."""
    if x.ahead[k] == 0.0:
        return
    x.leaps += x.ahead[k]
    x.ahead[k] = 0.0
    if not p.same_clock > 0.0:
        tell(y, ArrivalWord.AHEAD_ANEW, NOBODY, x.lead[k], 0.0, 0.0)
    elif x.told_ahead == 0.0:
        x.told_ahead = 1.0
        tell(y, ArrivalWord.AHEAD, NOBODY, x.lead[k], 0.0, 0.0)


def _count_state(x: States, joints: Joints, u: Event, structure: Structure, p: AgeLimits) -> None:
    """Count a complete state: every controlled joint has come since the last one."""
    complete = 1
    for c in range(len(x.sources.seen)):
        if u.present[place_of(structure, c)] > 0.0:
            x.sources.seen[c] = 1.0
        if x.sources.seen[c] == 0.0:
            complete = 0
    if complete > 0:
        for c in range(len(x.sources.seen)):
            x.sources.seen[c] = 0.0
        count_state(x.rate, joints, p.minimum_rate, u.now)
