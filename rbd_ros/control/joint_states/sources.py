# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Kinds of messages with joint states: what was received of each, and how old it may become."""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Event, Joints, NEVER, NOBODY, NONE, Structure
from rbd_ros.control.parameters.given import Inputs

__all__ = ['AgeLimits', 'bounded', 'fill_ages', 'forget_ages', 'gather', 'give_reason',
           'is_moment', 'is_stamped', 'is_time', 'last_arrival', 'Reason', 'refuse', 'reject',
           'restart_source', 'set_reason', 'SOURCES', 'Sources', 'span', 'timeout_of']

#: kinds of messages that have joints of the robot; one more is refused
SOURCES = 8

#: s; what is farther away is no time. Differences of times are finite, and so are their products
_LONGEST = 1e15


class AgeLimits(Record):
    """How old joints may become, and how a stream proves that it is fresh."""

    state_timeout: float = field('', 's', 'of controlled joints')
    prescribed_timeout: float = field('', 's', 'of all others')
    minimum_rate: float = field('', 'Hz', 'of complete states; 0: any')
    period: float = field('', 's', 'of a message at least; probes that are closer are a burst')
    probes: float = field('', '', 'messages after the first one that prove a stream', 1.0)
    same_clock: float = field('', '', '1 if the clock of the stamps is known to be ours')
    asked: float = field('', '', '1 if torque begins only where the age of states is known')
    clock_offset: float = field('', 's', 'reception minus stamp of a message without delay, if '
                                         'the clock of the stamps is ours')
    velocity_filter: float = field('', 's', 'time constant of velocities that are differenced')
    late: float = field('', 's', 'of delay, or left before the last expiry: more is not in time')


class Reason(Record):
    """Why something is not used: a word, and what its sentence needs."""

    word: float = field('', '', 'which sentence; 0: it is used')
    joint: float = field('', '', 'joint of the model that it is about', NOBODY)
    a: float = field('', '', 'first number of the sentence')
    b: float = field('', '', 'second number')
    c: float = field('', '', 'third number')


class Sources(Record):
    """What was received of each kind of message."""

    now: float = field('', 's', 'control time of the last message whose age was checked', NEVER)
    last: float = field('', '', 'kind of the last message; -1: none of those', NOBODY)
    driven: float = field('', '', '1 if the last message has controlled joints')
    rejected: float = field('', '', 'messages that were not')
    unreadable: float = field('', '', 'messages that are no joint state')
    unreadable_at: float = field('', 's', 'control time of the last of them', NEVER)
    others_at: float = field('', 's', 'control time of the last message without our joints', NEVER)
    leaps: float = field('', '', 'stamps that were ahead of reception')
    told_unstamped: float = field('', '', '1 if it was said that stamps are missing')
    told_ahead: float = field('', '', '1 if it was said that stamps are ahead of the clock')
    told_doubled: float = field('', '', '1 if it was said that joints have two sources')
    told_unreadable: float = field('', '', '1 if it was said that a message cannot be read')
    told_too_many: float = field('', '', '1 if it was said that there are too many kinds')

    driven_by: Vector = field('s', '', '1 for kinds that have controlled joints')
    alone: Vector = field('s', '', '1 for kinds that have every joint that must be measured')
    proven: Vector = field('s', '', '1 where the stream has proved that it is fresh')
    unstamped: Vector = field('s', '', '1 where messages have no stamp')
    excess: Vector = field('s', 's', 'delay of the last message above the smallest one')
    late: Vector = field('s', 's', 'by which it and the time before it make torques late')
    ahead: Vector = field('s', '', 'stamps that were ahead since this was looked at')
    lead: Vector = field('s', 's', 'by which the last of them was')
    probed: Vector = field('s', '', 'probes after the first one; -1: nothing was received', -1.0)
    refused: Vector = field('s', 's', 'time of the last message that could not be used', NEVER)
    received: Vector = field('s', 's', 'time of the last message that was')
    first: Vector = field('s', 's', 'time of the first probe')
    stamp_s: Vector = field('s', 's', 'stamp of the last message that was used, whole seconds')
    stamp_ns: Vector = field('s', 'ns', 'the rest of it')
    first_s: Vector = field('s', 's', 'stamp of the first probe, whole seconds')
    first_ns: Vector = field('s', 'ns', 'the rest of it')
    offset: Vector = field('s', 's', 'smallest reception minus stamp; NONE: unknown', NONE)
    measured: Vector = field('s', 's', 'time of the last such measurement, of an old state too')
    until: Vector = field('s', 's', 'control time until which the last state may be used', NEVER)
    moved: Vector = field('s', '', '1 if a message was compared with the one before')
    moved_s: Vector = field('s', 's', 'time of that message by its stamp, else by reception')
    moved_ns: Vector = field('s', 'ns', 'the rest of it')
    word: Vector = field('s', '', 'why the last message was not fresh; 0: it was')
    word_joint: Vector = field('s', '', 'joint of the model that it is about', NOBODY)
    word_a: Vector = field('s', '', 'first number of its sentence')
    word_b: Vector = field('s', '', 'second number')
    word_c: Vector = field('s', '', 'third number')
    seen: Vector = field('n', '', '1 for controlled joints that came since the last whole state')
    told_velocity: Vector = field('m', '', '1 for joints whose missing velocity was named')
    carries: Matrix = field('s m', '', '1 for joints that a kind of message has')
    last_q: Matrix = field('s m', 'rad or m', 'positions that were accepted last')
    last_qd: Matrix = field('s m', 'rad/s or m/s', 'velocities that were accepted last')
    reason: Reason = group(Reason)  # why the last message was not used


def fill_ages(p: AgeLimits, g: Inputs) -> None:
    """
    Take the limits, when the controller is configured: they stay as they are from then on.

    :param p: gets them.
    :param g: what was given.
    """
    period = 1.0 / g.values.nominal_rate
    p.state_timeout, p.prescribed_timeout = g.values.state_timeout, g.values.prescribed_timeout
    p.minimum_rate = g.values.minimum_rate
    p.period = 0.5 * period  # a driver somewhat faster than configured is no burst
    p.probes = g.values.probe_count
    p.same_clock = 1.0 if g.simulated or g.values.synchronised_stamps else 0.0
    p.clock_offset = g.clock_offset
    p.asked = 1.0 if g.values.delay == 0.0 else 0.0
    p.velocity_filter = g.values.velocity_filter
    p.late = 0.5 * max(p.state_timeout - period, 0.0)


def bounded(value: float) -> float:
    """
    Return a number that the state can keep: inside of +-NONE, 0 for what is none.

    :param value: any.
    """
    if abs(value) <= NONE:
        return value
    if value > 0.0:
        return NONE
    return -NONE if value < 0.0 else 0.0


def is_moment(now: float) -> bool:
    """
    Return whether a time can be used.

    :param now: time, s.
    """
    return abs(now) < _LONGEST


def is_time(u: Event) -> bool:
    """Return whether an event has times that can be used."""
    return is_moment(u.now) and is_moment(u.stamp_s) and is_moment(u.stamp_ns)


def is_stamped(s: float, ns: float) -> bool:
    """
    Return whether a stamp is one.

    :param s: whole seconds.
    :param ns: the rest of it.
    """
    return s != 0.0 or ns != 0.0


def span(s: float, ns: float, before_s: float, before_ns: float) -> float:
    """
    Return the time between two stamps, s; nothing is lost, however long ago their clock began.

    :param s: of the later one, whole seconds.
    :param ns: the rest of it.
    :param before_s: of the earlier one, whole seconds.
    :param before_ns: the rest of it.
    """
    return (s - before_s) + 1e-9 * (ns - before_ns)


def timeout_of(x: Sources, p: AgeLimits, k: int) -> float:
    """Return the age from which on messages of a kind must not be used, s."""
    return p.state_timeout if x.driven_by[k] > 0.0 else p.prescribed_timeout


def last_arrival(x: Sources, k: int) -> float:
    """Return the time of the last message of a kind, used or not; NEVER: none."""
    return max(x.received[k], x.refused[k]) if x.probed[k] >= 0.0 else x.refused[k]


def give_reason(x: Reason, word: int, joint: int, a: float, b: float, c: float) -> None:
    """
    Say why something is not used.

    :param x: gets it; positions of any size are told as they are.
    :param word: which sentence; 0: it is used.
    :param joint: of the model, that it is about.
    """
    x.word, x.joint = word, joint
    x.a, x.b, x.c = _finite(a), _finite(b), _finite(c)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def set_reason(x: Sources, k: int, word: int, a: float, b: float) -> None:
    """
    Say why the last message of a kind was not fresh.

    :param word: why; 0: it was.
    """
    x.word[k], x.word_joint[k] = word, NOBODY
    x.word_a[k], x.word_b[k], x.word_c[k] = bounded(a), bounded(b), 0.0


def refuse(x: Sources, k: int, now: float, word: int, a: float) -> None:
    """
    Record a message that cannot be used, so that its time does not count as silence.

    :param now: control time of reception, s.
    :param word: why not.
    :param a: number of the sentence.
    """
    x.refused[k] = now
    set_reason(x, k, word, a, 0.0)


def reject(x: Sources, u: Event, word: int, joint: int, a: float, b: float, c: float) -> None:
    """
    Count a message that cannot be used, and keep why.

    :param x: kinds of messages; ``last`` is its kind.
    :param word: why not.
    :param joint: of the model, that it is about.
    """
    x.rejected += 1.0
    give_reason(x.reason, word, joint, a, b, c)
    if x.last >= 0.0:
        k = int(x.last)
        x.refused[k], x.word[k], x.word_joint[k] = u.now, word, joint
        x.word_a[k], x.word_b[k], x.word_c[k] = x.reason.a, x.reason.b, x.reason.c


def gather(x: Sources, joints: Joints, structure: Structure) -> None:
    """
    Find until when each joint may be used; the youngest message that has it counts.

    :param joints: get these times.
    """
    for k in range(len(x.until)):
        for j in range(len(joints.until)):
            if x.carries[k, j] > 0.0:
                joints.until[j] = max(joints.until[j], x.until[k])
    joints.controlled_expiry = NONE
    for j in range(len(joints.until)):
        if structure.controlled[j] > 0.0:
            joints.controlled_expiry = min(joints.controlled_expiry, joints.until[j])


def forget_ages(x: Sources, joints: Joints) -> None:
    """
    Let every state expire: the times belong to the clock before it jumped back.

    :param joints: which expire.
    """
    joints.expiry, joints.controlled_expiry = NEVER, NEVER
    joints.until[:] = x.until[:] = NEVER


def restart_source(x: Sources, k: int) -> None:
    """Forget every message of a kind: the next one is the first probe."""
    x.driven_by[k], x.alone[k], x.proven[k], x.unstamped[k] = 0.0, 0.0, 0.0, 0.0
    x.excess[k], x.late[k], x.ahead[k], x.lead[k] = 0.0, 0.0, 0.0, 0.0
    x.probed[k], x.refused[k], x.received[k], x.first[k] = -1.0, NEVER, 0.0, 0.0
    x.stamp_s[k], x.stamp_ns[k], x.first_s[k], x.first_ns[k] = 0.0, 0.0, 0.0, 0.0
    x.offset[k], x.measured[k], x.until[k] = NONE, 0.0, NEVER
    x.moved[k], x.moved_s[k], x.moved_ns[k] = 0.0, 0.0, 0.0
    set_reason(x, k, 0, 0.0, 0.0)
    x.carries[k] = x.last_q[k] = x.last_qd[k] = 0.0
