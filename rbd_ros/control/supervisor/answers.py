# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How the supervisor answers an event: it takes the first row of the table whose conditions hold.

The rows stand in :mod:`rbd_ros.control.supervisor.transitions`. Conditions are evaluated into a
vector in the order of their codes there.
"""

from __future__ import annotations

import numpy as np
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import (
    Cause, is_by_operator, is_final, is_good, is_lost)
from rbd_ros.control.interface.events import NEVER, NONE
from rbd_ros.control.supervisor.latch import Latch
from rbd_ros.control.supervisor.transitions import (
    AFTER, BEFORE, COLUMNS, Condition, encoded_rows, EVENT, HOLDS, ROWS, Sets, SETS, STATES,
    Trigger)

__all__ = ['answer', 'fill_table', 'moment', 'Supervisor', 'SupervisorParameters']

#: s for which a robot is braked at most by what the model predicts of a joint
_UNSEEN = 0.3


class Supervisor(Record):
    """State machine of one activation."""

    state: float = field('', '', 'where it is, see StateCode')
    gain: float = field('', '', 'of the law, 0 to 1')
    blend: float = field('', '', 'from the start of the ramp (0) to the release torque (1)')
    paused: bool = field('', '', 'whether the simulated clock stands still')
    final: bool = field('', '', 'whether it ends in RELEASED, whatever happens')
    ramp_until: float = field('', 's', 'steady time at which a ramp ends, whatever it has '
                                       'reached', NONE)
    repeats: float = field('', '', 'of the release torque')
    blind: bool = field('', '', 'whether the ramp uses no state')
    since: float = field('', 's', 'steady time of entering the state')
    left: float = field('', 's', 'the same of the state before')
    ramp_start: float = field('', 's', 'control time at which the gains began to ramp')
    expiry: float = field('', 's', 'control time until which the state may be used', NEVER)
    gravity_until: float = field('', 's', 'control time at which the last gravity torque expires',
                                 NEVER)
    last_fresh: float = field('', 's', 'steady time of the last fresh state', NEVER)
    clock: float = field('', 's', 'control time of the last look', NEVER)
    now: float = field('', 's', 'control time of the event that is answered')
    steady: float = field('', 's', 'steady time of the event that is answered')
    cause: float = field('', '', 'of the event that is answered')
    doubted: bool = field('', '', 'whether a contact may be a sensor that stands still')
    returned: bool = field('', '', 'whether the way back has come to its end')
    ready: bool = field('', '', 'whether the state that arrives is usable, and torque may begin')
    reached: bool = field('', '', 'whether the torque that was sent is the wanted one')
    free_until: float = field('', 's', 'steady time until which nobody else is known to have the '
                                       'output', NONE)
    held: Vector = field(f'{len(Condition)}', '', '1 for each condition that held')
    faults: Latch = group(Latch)  # since activation or reset
    recovered: Latch = group(Latch)  # those that the last ramp-in has ended by itself


class SupervisorParameters(Record):
    """Times and choices of the supervisor, and its table."""

    state_timeout: float = field('', 's', 'age at which a state is lost')
    hold_time: float = field('', 's', 'of the last gravity torque')
    brake_time: float = field('', 's', 'of braking')
    release_time: float = field('', 's', 'of the ramp to the release torque')
    ramp_time: float = field('', 's', 'of the gains')
    release_repeats: float = field('', '', 'how often the release torque is sent')
    pause_limit: float = field('', 's', 'for which the simulated clock may stand still')
    simulated: bool = field('', '', 'whether the control clock is that of a simulator')
    recover: bool = field('', '', 'whether a lost state may end its own fault')
    fault_holds: bool = field('', '', 'whether a fault ends in a hold, else in release')
    stop_holds: float = field('', '', 'the same where an operator stopped')
    contact_floats: bool = field('', '', 'whether a robot floats after a contact')
    contact_complies: bool = field('', '', 'whether it is held by springs then')
    contact_retracts: bool = field('', '', 'whether it goes back then')
    retract_time: float = field('', 's', 'of the way back at most')
    longest_ramp: float = field('', 's', 'when a ramp ends at the latest')
    longest_release: float = field('', 's', 'for which the release torque is sent at most')
    table: Matrix = field(f'{len(ROWS)} {COLUMNS}', '', 'transitions, see transitions')
    first: Matrix = field(f'{len(Trigger)} {STATES}', '', 'first row of an event in a state; as '
                                                          'many as there are: none')


def fill_table(p: SupervisorParameters) -> None:
    """
    Take the table; ordinary Python.

    :param p: takes it.
    """
    p.table[...] = encoded_rows()
    counts = p.table[:, EVENT, None, None] == np.arange(len(Trigger))[:, None]
    counts = counts & (p.table[:, None, BEFORE:HOLDS] > 0.0)
    p.first[...] = np.where(counts.any(0), counts.argmax(0), len(ROWS))


def moment(time: float, otherwise: float) -> float:
    """
    Return a time, which is finite in the state of the controller.

    :param time: may be anything.
    :param otherwise: what it is if it is no time.
    """
    return time if NEVER <= time <= NONE else otherwise


def answer(x: Supervisor, p: SupervisorParameters, event: int, steady: float) -> bool:
    """
    Take the first row of an event whose conditions hold.

    :param event: see ``Trigger``.
    :param steady: steady time, s, finite.
    :returns: whether there is one.
    """
    x.steady = steady
    if steady < x.since:  # a time before it was wrong: a stop ends none the less
        x.since = steady
        x.ramp_until = min(x.ramp_until, moment(steady + p.longest_ramp, steady))
    state = int(x.state)
    first = p.first[event, state]
    if not 0.0 <= first < len(p.table):
        return False
    _look(x, p)
    for k in range(int(first), len(p.table)):
        if p.table[k, EVENT] == event and p.table[k, BEFORE + state] > 0.0 and _holds(x, p, k):
            _take(x, p, k)
            return True
    return False


def _look(x: Supervisor, p: SupervisorParameters) -> None:
    """Evaluate every condition."""
    cause, spent = int(x.cause), x.steady - x.since
    x.held[Condition.FINAL_CAUSE] = is_final(cause)
    x.held[Condition.LOST_CAUSE] = is_lost(cause)
    x.held[Condition.GOOD_CAUSE] = is_good(cause)
    x.held[Condition.OPERATOR_CAUSE] = is_by_operator(cause)
    x.held[Condition.DEAD_MAN_CAUSE] = cause == Cause.DEAD_MAN
    x.held[Condition.CONTACT_CAUSE] = cause == Cause.CONTACT
    x.held[Condition.DOUBTED] = x.doubted
    x.held[Condition.FINAL] = x.final
    x.held[Condition.ONLY_LOST] = x.faults.only_lost()
    x.held[Condition.ONLY_OPERATOR] = x.faults.only_operator()
    frozen = x.faults.has(Cause.FROZEN)
    x.held[Condition.HOLD_BARRED] = (
        frozen or x.faults.has(Cause.WRONG_MODEL)
        or x.faults.has(Cause.SECOND_SENDER))
    x.held[Condition.RECOVER] = p.recover
    x.held[Condition.STOP_HOLDS] = p.stop_holds > 0.0
    x.held[Condition.FAULT_HOLDS] = p.fault_holds
    x.held[Condition.CONTACT_FLOATS] = p.contact_floats
    x.held[Condition.CONTACT_COMPLIES] = p.contact_complies
    x.held[Condition.CONTACT_RETRACTS] = p.contact_retracts
    x.held[Condition.READY] = x.ready
    x.held[Condition.OUTPUT_FREE] = x.steady <= x.free_until
    x.held[Condition.GAINS_FULL] = x.gain >= 1.0
    longest = min(p.brake_time, _UNSEEN) if frozen else p.brake_time
    x.held[Condition.BRAKE_TIME_OVER] = spent >= longest
    x.held[Condition.HOLD_TIME_OVER] = spent >= p.hold_time
    x.held[Condition.RETRACTED] = x.returned or not spent < p.retract_time
    x.held[Condition.RAMP_REACHED] = x.reached and x.blend >= 1.0
    x.held[Condition.RAMP_OVERDUE] = x.steady > x.ramp_until
    x.held[Condition.RELEASE_SENT] = (
        x.repeats >= p.release_repeats or spent > p.longest_release)


def _holds(x: Supervisor, p: SupervisorParameters, row: int) -> bool:
    """Return whether all conditions of a row hold."""
    for k in range(len(x.held)):
        wanted = p.table[row, HOLDS + k]
        if wanted > 0.0 and x.held[k] <= 0.0:
            return False
        if wanted < 0.0 and x.held[k] > 0.0:
            return False
    return True


def _take(x: Supervisor, p: SupervisorParameters, row: int) -> None:
    """Go on to the next state, and set what else is to be set."""
    x.left = x.since
    after = p.table[row, AFTER]
    if 0.0 <= after < STATES:
        x.state = float(int(after))
        x.since = x.steady
        x.paused = False
        x.returned = False
    sets = p.table[row, SETS]
    if sets == Sets.BEGIN:
        _begin(x)
    elif sets == Sets.START:
        x.clock = x.now
        _ramp_in(x)
    elif sets == Sets.RESET:
        x.faults.clear()
        _ramp_in(x)
    elif sets == Sets.RAMP_IN:
        _ramp_in(x)
    elif sets == Sets.RAMP_DOWN:
        _ramp_down(x, p)
    elif sets == Sets.RAMP_DOWN_BLIND:
        _ramp_down(x, p)
        x.blind = True
        x.since = moment(x.left + p.hold_time, x.steady)
    elif sets == Sets.GO_BLIND:
        x.blind = True
    elif sets == Sets.COUNT_FROM_LAST_GRAVITY:
        _count_from_last_gravity(x, p)
    elif sets == Sets.COUNT_RELEASE:
        x.repeats += 1.0
    elif sets == Sets.FORGET_STATE:
        x.expiry = NEVER


def _begin(x: Supervisor) -> None:
    x.faults.clear()
    x.final = False
    x.expiry = NEVER
    x.clock = x.now


def _ramp_in(x: Supervisor) -> None:
    x.recovered.copy(x.faults)
    x.faults.clear()
    x.ramp_start = x.now
    x.gain = 0.0


def _count_from_last_gravity(x: Supervisor, p: SupervisorParameters) -> None:
    """Count the hold of the last gravity torque from when that torque expired."""
    now = x.clock if p.simulated else x.steady
    x.since = moment(x.steady - max(now - x.gravity_until, 0.0), NEVER)


def _ramp_down(x: Supervisor, p: SupervisorParameters) -> None:
    x.blind = False
    x.repeats = 0.0
    x.blend = 0.0
    # a stall does not shorten it
    x.ramp_until = moment(x.steady + p.longest_ramp, x.steady)
