# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How states keep time: how often they come, how old they are by their stamps, since when in time.

Torque must not begin on states that are nearly too old. A state is in time if neither its delay
nor the silence before it has used up more than half of what ``state_timeout`` leaves beyond one
nominal period. After a start on such a state, the other half is left before the state can be
lost, whatever comes next.

A constant delay shows in nothing but the stamps, whose clock need not be ours. An age beyond the
timeout is none, nor is one that is clearly negative; any other one is believed, because damping
that is made for a longer delay is only weaker. Where the age is not known and no delay is given,
no torque begins.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Event, Joints, NEVER, NOBODY, NONE
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.sources import (
    AgeLimits, bounded, give_reason, is_stamped, is_time, Reason, Sources)
from rbd_ros.control.numerics.medians import select

__all__ = ['age_of', 'ages_known', 'AGREES', 'comes_in_time', 'count_state', 'Delays',
           'in_time_for', 'lateness', 'Punctual', 'Rate', 'restart_delays', 'restart_rate']

#: s in which states are counted; a hair less, so that a state that is due at the end closes it
_COUNTED = 0.5 * (1.0 - 1e-9)

#: s over which ages are compared, once the first ones are known
_WINDOW = 1.0

#: shares of the ages that are below the middle and the high one
_MIDDLE, _HIGH = 0.5, 0.9

#: s by which clocks that agree may differ: a stamp that is as much ahead counts as that late
AGREES = 0.004

#: periods between two states that are none too many
_USUAL = 2.0

#: states in a window below which nothing is said
_LEAST = 5

#: ages that there is room for: those of a window at the highest rate that can be configured
_ROOM = 4096


# -- how often ------------------------------------------------------------------------------------

class Rate(Record):
    """The window in which states are counted."""

    start: float = field('', 's', 'begin of the window; NONE: none has begun', NONE)
    end: float = field('', 's', 'end of the window', NEVER)
    states: float = field('', '', 'in it')


def restart_rate(x: Rate, joints: Joints) -> None:
    """
    Begin a new window with the next state.

    :param joints: whose rate becomes unknown.
    """
    x.reset()
    joints.rate, joints.rate_low = 0.0, 0.0


def count_state(x: Rate, joints: Joints, minimum: float, now: float) -> None:
    """
    Count one complete state; one that closes a window renews the rate.

    :param joints: get the rate, and whether it is low.
    :param minimum: Hz below which it is low; 0: never.
    """
    if now < x.start:  # the first one, or the clock went back
        _begin(x, now)
        return
    x.states += 1.0
    if now < x.end:
        return
    joints.rate = x.states / max(now - x.start, 1e-9)
    joints.rate_low = 0.0 if joints.rate >= minimum * (1.0 - 1e-9) else 1.0
    _begin(x, now)


def _begin(x: Rate, now: float) -> None:
    x.start, x.end, x.states = now, now + _COUNTED, 0.0


# -- how old --------------------------------------------------------------------------------------

class Delays(Record):
    """The ages of the states in a window, and what they had in common."""

    window: float = field('', 's', 'over which ages are compared', _WINDOW)
    begun: float = field('', 's', 'begin of the window', NEVER)
    last: float = field('', 's', 'control time of the last state', NEVER)
    taken: float = field('', '', 'number of ages')
    age: float = field('', 's', 'of the last state, or the delay that is given')
    known: float = field('', '', '1 if a window has been complete')
    strange: float = field('', 's', 'last age that cannot be one; 0: none, or no stamp')
    middle: float = field('', 's', 'of the last window: half of its states were younger; a halt '
                                   'of the machine makes fewer old')
    high: float = field('', 's', 'of the last window: 90 % were younger')
    ages: Vector = field(str(_ROOM), 's', 'of the states in the window')


def restart_delays(x: Delays, first: float) -> None:
    """
    Forget every state.

    :param first: s over which the next ages are compared; a second from then on.
    """
    x.window = first if 0.0 <= first <= _WINDOW else _WINDOW
    x.begun, x.last, x.taken, x.known, x.strange = NEVER, NEVER, 0.0, 0.0, 0.0


def age_of(p: AgeLimits, u: Event) -> float:
    """
    Return the age of a state by its stamp, s; NONE if it cannot be one.

    :param p: offset of the clocks, and the age from which on it cannot be one.
    :param u: the message, whose times can be used.
    """
    if not is_stamped(u.stamp_s, u.stamp_ns):
        return NONE
    age = u.now - u.stamp_s - 1e-9 * u.stamp_ns - p.clock_offset
    if -AGREES <= age < 0.0:
        return -age
    return age if 0.0 <= age < p.state_timeout else NONE


def lateness(x: Delays, sources: Sources, p: AgeLimits, u: Event, given: float) -> float:
    """
    Return how late torques act on the states that are there: their age, and gaps between them.

    What arrives rarely is held for long. Of joints with several sources the latest counts.

    :param x: ages, before they take the message.
    :param sources: kinds of messages, which have taken it.
    :param p: offset of the clocks.
    :param u: the message, with a state.
    :param given: delay that is given, s; it counts where no age is known, or what the state was
        later than the freshest one.
    """
    k = int(sources.last)
    age = age_of(p, u)
    if age >= NONE:
        age = given if sources.excess[k] < given < NONE else sources.excess[k]
    x.age = age
    gap = u.now - x.last - _USUAL * 2.0 * p.period  # that is half of the nominal one
    sources.late[k] = age + (gap if 0.0 < gap < p.state_timeout else 0.0)
    latest = 0.0
    for i in range(len(sources.late)):
        if sources.driven_by[i] > 0.0:
            latest = max(latest, sources.late[i])
    return latest


def ages_known(x: Delays, p: AgeLimits, u: Event) -> bool:
    """
    Take a message of controlled joints.

    :param p: offset of the clocks, and the age from which on it cannot be one.
    :returns: whether it has completed a window, whose ages are in the record.
    """
    if not is_time(u):
        return False
    age = age_of(p, u)
    goes_on = 0.0 <= u.now - x.last < p.state_timeout
    x.last = u.now
    if age >= NONE:
        x.strange = 0.0
        if is_stamped(u.stamp_s, u.stamp_ns):
            x.strange = bounded(u.now - u.stamp_s - 1e-9 * u.stamp_ns - p.clock_offset)
    if not (goes_on and age < NONE):
        x.taken, x.begun = 0.0, u.now
        return False
    taken = int(x.taken) if math.isfinite(x.taken) else 0
    count = taken if 0 <= taken < _ROOM else 0
    x.ages[count] = age
    count += 1
    x.taken = count
    if count < _ROOM and (u.now - x.begun < x.window or count < _LEAST):
        return False
    x.middle = select(x.ages, count, int(_MIDDLE * count))
    x.high = select(x.ages, count, int(_HIGH * count))
    x.window, x.begun, x.taken, x.known = _WINDOW, u.now, 0.0, 1.0
    return True


# -- in time --------------------------------------------------------------------------------------

class Punctual(Record):
    """A run of states that came in time."""

    runs: float = field('', '', '1 if the last state came in time')
    since: float = field('', 's', 'control time of the first state of the run')
    late: Reason = group(Reason)  # what was late last


def comes_in_time(x: Punctual, p: AgeLimits, now: float, left: float, excess: float,
                  fresh: int) -> bool:
    """
    Take one message of controlled joints.

    :param now: control time of reception, s.
    :param left: s for which the states before this one could still have been used.
    :param excess: delay of the message above the smallest one, s.
    :param fresh: 1 if it is a state that may be used.
    :returns: whether it was in time; if not, the next one begins anew.
    """
    if x.runs > 0.0 and (not left >= p.late or now < x.since):
        x.runs = 0.0
        give_reason(x.late, ArrivalWord.LATE_BEFORE, NOBODY, bounded(p.state_timeout - left),
                    bounded(p.state_timeout - p.late), 0.0)
        return False
    if not excess <= p.late:
        x.runs = 0.0
        give_reason(x.late, ArrivalWord.LATE_STATE, NOBODY, bounded(excess), bounded(p.late), 0.0)
        return False
    if fresh > 0 and x.runs == 0.0:
        x.runs, x.since = 1.0, now
    return x.runs > 0.0


def in_time_for(x: Punctual, now: float) -> float:
    """Return for how long every state has come in time, s."""
    return now - x.since if x.runs > 0.0 else 0.0
