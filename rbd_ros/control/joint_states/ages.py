# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How old a received state is, by two independent measures.

The first measure is the reception on a steady clock. It cannot see a message that waited
in a queue while this process stood still: such a message is old and looks fresh. The second
measure is the stamp of the message: it must advance, and its offset to the reception must
not grow. This needs no synchronised clocks, only a constant offset. A stamp that is ahead by
more than the timeout comes from a clock that was set: the stream is checked anew. The smallest
offset is remembered across gaps: a stream that returns with a larger delay is not trusted until
the controller is reset, because a lag and a clock set back look the same.

A burst out of a queue is detected because its stamps advance much faster than its receptions;
without stamps, because receptions are much closer than the nominal period.
"""

from __future__ import annotations

import enum

from rbd_ros.control.interface.events import NONE
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.sources import (
    AgeLimits, bounded, is_stamped, refuse, set_reason, Sources, span, timeout_of)
from rbd_ros.control.parameters.settings import Settings

__all__ = ['Freshness', 'gravity_age', 'observe', 'StreamAge']

#: s/s by which two clocks may run apart (a slewed clock: 5e-4)
_DRIFT = 1e-3

#: directions of gravity after the first one that prove their stream
_DIRECTIONS = 3


class Freshness(enum.IntEnum):
    """How far one received message can be used."""

    PROBE = 0  # not proven yet: check it, derive nothing from it
    FRESH = 1  # proven: its age is below the timeout
    OLD = 2  # it has just arrived, but it is older than the timeout
    REPEATED = 3  # the stamp did not advance: the same state again, or an earlier one
    AHEAD = 4  # the stamp is later than the clock by more than the timeout


def observe(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float) -> int:
    """
    Check the age of one message; the first ones after any gap are only probes.

    A limit that is no number makes every message a probe.

    :param k: kind of this one.
    :param now: control time of reception, s.
    :param s: its stamp, whole seconds.
    :param ns: the rest of it; both 0 mean that the publisher does not stamp.
    :returns: see :class:`Freshness`.
    """
    if x.probed[k] < 0.0:
        set_reason(x, k, ArrivalWord.NOT_PROVEN, 0.0, 0.0)
        return _begin(x, p, k, now, s, ns)
    since, timeout = now - x.received[k], timeout_of(x, p, k)
    if not 0.0 <= since <= timeout:
        return _begin_again(x, p, k, now, s, ns)
    if not is_stamped(s, ns):
        x.unstamped[k], x.excess[k] = 1.0, 0.0
    else:
        if x.unstamped[k] > 0.0:
            set_reason(x, k, ArrivalWord.STAMPS_APPEARED, 0.0, 0.0)
            return _begin(x, p, k, now, s, ns)
        step = span(s, ns, x.stamp_s[k], x.stamp_ns[k])
        if not step > 0.0:
            refuse(x, k, now, ArrivalWord.STAMP_BACK if step < 0.0 else ArrivalWord.STAMP_STANDS,
                   -step)
            return Freshness.REPEATED
        lead = _lead(x, p, k, now, s, ns)
        if lead > timeout:
            return _leap(x, p, k, now, s, ns, lead)
        _measure(x, p, k, now, s, ns)
        if not x.excess[k] <= timeout:
            refuse(x, k, now, ArrivalWord.LAG, x.excess[k])
            return Freshness.OLD
    x.received[k], x.stamp_s[k], x.stamp_ns[k] = now, s, ns
    if x.proven[k] == 0.0 and not _prove(x, p, k, now, s, ns):
        return Freshness.PROBE
    x.until[k] = bounded(now + timeout - x.excess[k])
    set_reason(x, k, 0, 0.0, 0.0)
    return Freshness.FRESH


def _begin_again(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float) -> int:
    """Begin to check a stream anew, and say why."""
    since = now - x.received[k]
    if since < 0.0:
        set_reason(x, k, ArrivalWord.CLOCK_BACK, -since, 0.0)
    elif not now - x.refused[k] <= timeout_of(x, p, k):  # else some were of no use
        set_reason(x, k, ArrivalWord.GAP, since, 0.0)
    return _begin(x, p, k, now, s, ns)


def _measure(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float) -> None:
    """Compare the offset with the smallest one, which may creep up by the drift."""
    offset = now - s - 1e-9 * ns
    since = now - x.measured[k]
    x.measured[k] = now
    if p.same_clock > 0.0:
        excess = 0.0 if offset <= p.clock_offset else offset - p.clock_offset
    else:
        smallest = x.offset[k] + _DRIFT * since if since > 0.0 else x.offset[k]
        smallest = offset if offset < smallest else smallest
        x.offset[k] = smallest
        excess = offset - smallest
    x.excess[k] = excess if excess <= NONE else NONE  # a clock that is no number makes all old


def _lead(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float) -> float:
    """Return by how much a stamp is ahead of all that came before, or of its clock."""
    offset = now - s - 1e-9 * ns
    if p.same_clock > 0.0:
        return p.clock_offset - offset
    return x.offset[k] - offset if x.offset[k] < NONE else 0.0


def _leap(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float, lead: float) -> int:
    """
    Handle a stamp that is ahead by more than the timeout.

    Where clocks are synchronised it is wrong. Else the clock of the stamps was set, or all
    states before were old: the stream must prove again that it is fresh, by its new clock.
    """
    if p.same_clock > 0.0:
        _note_lead(x, k, lead)
        x.excess[k] = 0.0
        refuse(x, k, now, ArrivalWord.LEAD, lead)
        return Freshness.AHEAD
    return _begin(x, p, k, now, s, ns)


def _note_lead(x: Sources, k: int, lead: float) -> None:
    x.ahead[k] += 1.0
    x.lead[k] = bounded(lead)


def _begin(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float) -> int:
    """Take a message as the first probe."""
    if not is_stamped(s, ns):
        x.excess[k] = 0.0
    else:
        lead = _lead(x, p, k, now, s, ns)
        if not p.same_clock > 0.0 and lead > timeout_of(x, p, k):
            _note_lead(x, k, lead)
            set_reason(x, k, ArrivalWord.LEAP, lead, 0.0)
        _measure(x, p, k, now, s, ns)
    x.proven[k], x.unstamped[k] = 0.0, 0.0 if is_stamped(s, ns) else 1.0
    x.probed[k] = 0.0
    x.received[k], x.stamp_s[k], x.stamp_ns[k] = now, s, ns
    x.first[k], x.first_s[k], x.first_ns[k] = now, s, ns
    return Freshness.PROBE


def _prove(x: Sources, p: AgeLimits, k: int, now: float, s: float, ns: float) -> bool:
    """Accept the stream once enough messages arrived at the rate of their stamps."""
    x.probed[k] += 1.0
    count = x.probed[k]
    driven = x.driven_by[k] > 0.0  # of others one probe is enough, at any rate
    if not count >= (p.probes if driven else 1.0):
        return False
    took = now - x.first[k]
    made = span(s, ns, x.first_s[k], x.first_ns[k])
    if driven and not took >= 0.5 * count * p.period:
        set_reason(x, k, ArrivalWord.BURST, 0.0, 0.0)
        _begin(x, p, k, now, s, ns)
        return False
    if x.unstamped[k] == 0.0 and not 0.5 * made <= took <= 2.0 * made:
        set_reason(x, k, ArrivalWord.STAMP_RATE, made, took)
        _begin(x, p, k, now, s, ns)
        return False
    if driven and not count >= p.minimum_rate * took * (1.0 - 1e-9):
        set_reason(x, k, ArrivalWord.LOW_RATE, count / max(took, 1e-9), p.minimum_rate)
        _begin(x, p, k, now, s, ns)
        return False
    x.proven[k] = 1.0
    set_reason(x, k, 0, 0.0, 0.0)
    return True


class StreamAge:
    """
    The age of messages that are no joint states, by the same measures; ordinary Python.

    :param timeout: age in s from which on a message must not be used.
    :param probes: messages after the first one that prove the stream.
    :param clock_offset: reception minus stamp of a message without delay, s, if the clock of the
        stamps is ours; None: take the smallest offset seen.
    """

    def __init__(self, timeout: float, probes: int, clock_offset: float | None = None) -> None:
        sizes = {'n': 1, 'm': 1, 's': 1}
        self._x, self._p = Sources(sizes).plain(), AgeLimits(sizes).plain()
        self._x.driven_by[0] = 1.0  # asks for all probes, as that of a controlled joint does
        self._p.state_timeout, self._p.probes = timeout, probes
        if clock_offset is not None:
            self._p.same_clock, self._p.clock_offset = 1.0, clock_offset

    def is_fresh(self, now: float, s: int, ns: int) -> bool:
        """
        Take a message; return whether it may be used.

        :param now: control time of reception, s.
        :param s: its stamp, whole seconds.
        :param ns: the rest of it.
        """
        return observe(self._x, self._p, 0, now, s, ns) == Freshness.FRESH

    @property
    def records(self) -> tuple[Sources, AgeLimits]:
        """Return what was received, of one kind, and the limits."""
        return self._x, self._p

    @property
    def excess(self) -> float:
        """Return the delay of the last message above the smallest one, s."""
        return self._x.excess[0]

    @property
    def reason(self) -> str:
        """Return why the last message may not be used; empty if it may."""
        word = int(self._x.word[0])
        return ArrivalWord(word).text('', self._x.word_a[0], self._x.word_b[0]) if word else ''


def gravity_age(settings: Settings) -> StreamAge:
    """
    Return what judges the age of measured directions of gravity.

    :param settings: valid set.
    """
    return StreamAge(settings.number('gravity_timeout'), _DIRECTIONS,
                     0.0 if settings.simulated else None)
