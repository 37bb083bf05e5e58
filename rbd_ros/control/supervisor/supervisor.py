# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The supervisor as procedures: an explicit state machine that decides what kind of torque is due.

It knows no robot and no control law, and its transitions stand in
:mod:`rbd_ros.control.supervisor.transitions`. Two clocks enter: ``now`` is the control clock, on
which states age and gains ramp (steady time, or the simulated time under sim time); ``steady``
never stops and times every stop sequence, so that a stop ends even when the simulator that feeds
the other clock is dead. Without sim time they are the same number. A control time that is no
number counts as a clock that jumped back; a steady time that is none, as no time that passed.
"""

from __future__ import annotations

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause, CAUSES, is_cause, is_final, is_good
from rbd_ros.control.interface.events import Event, NEVER, NOBODY, NONE, Result
from rbd_ros.control.interface.words import SupervisorWord
from rbd_ros.control.supervisor.answers import (
    answer, moment, Supervisor, SupervisorParameters)
from rbd_ros.control.supervisor.due import (
    due_now, is_finished, is_frozen, is_live, is_silent, is_stopping, uses_states)
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.supervisor.transitions import Trigger

__all__ = ['activate', 'advance', 'computed', 'Diagnosis', 'fault', 'fresh', 'hear', 'published',
           'renewed', 'reset', 'take_cause']

#: larger numbers are no words and no joints
_MOST = 1e6

#: s after the end of a live ramp from which on it is finished without the state
_SETTLE = 0.2

#: s of that ramp at most where the motion of a joint is not known
_HURRY = 0.1


class Diagnosis(Record):
    """Why the state has become too old, as far as the messages say."""

    cause: float = field('', '', 'see Cause')
    word: float = field('', '', 'what exactly; 0: nothing but that there was none')
    joint: float = field('', '', 'that it is about', NOBODY)
    a: float = field('', '', 'first number of the sentence')
    b: float = field('', '', 'second number')
    c: float = field('', '', 'third number')


# -- requests -------------------------------------------------------------------------------------

def activate(x: Supervisor, p: SupervisorParameters, y: Result, now: float, steady: float) -> bool:
    """
    Begin to check states; clears every latched fault.

    :param y: takes the word of a refusal, whose first number is the state.
    :returns: whether it is allowed now.
    """
    x.now = moment(now, NEVER)
    if answer(x, p, Trigger.ACTIVATE, moment(steady, x.steady)):
        return True
    y.answer = SupervisorWord.CANNOT_ACTIVATE
    return False


def reset(x: Supervisor, p: SupervisorParameters, y: Result, now: float, steady: float) -> bool:
    """
    Clear the latched faults and ramp in again.

    :param y: takes the word of a refusal, whose first number is the state.
    :returns: whether it is allowed now.
    """
    x.now = moment(now, NEVER)
    if answer(x, p, Trigger.RESET, moment(steady, x.steady)):
        return True
    y.answer = SupervisorWord.NOTHING_TO_RESET
    if is_stopping(x) or x.state == StateCode.HOLDING or x.state == StateCode.RETRACTING:
        y.answer = SupervisorWord.STOP_NOT_ENDED
    elif x.state == StateCode.FAULT:
        y.answer = SupervisorWord.OUTPUT_NOT_FREE
    return False


def fault(x: Supervisor, p: SupervisorParameters, steady: float, cause: int, word: int,
          a: float = 0.0, b: float = 0.0) -> bool:
    """
    Report a cause; starts its sequence unless one is under way.

    A second request never restarts or shortens a sequence; a final one turns a hold into a
    release.

    :param cause: what happened, see ``Cause``.
    :param word: what was seen, for the log; 0: nothing more.
    :returns: whether it is kept, as the first of its kind.
    """
    if not is_cause(cause):
        return False
    before = int(x.state)
    x.cause = cause
    if is_final(cause):
        x.final = True
    if x.final and is_good(cause) and (
            before == StateCode.RAMPING_DOWN or before == StateCode.RELEASING):
        return False  # a robot that is released on request may move: that is no fault
    time = moment(steady, x.steady)
    taken = answer(x, p, Trigger.FAULT, time)
    if is_silent(before) and not (taken and x.state == StateCode.FAULT):
        return False  # nothing was sent, and nothing is refused
    return x.faults.add(time, cause, word, a, b)


def hear(x: Supervisor, p: SupervisorParameters, y: Result, steady: float) -> None:
    """
    Answer the accusations of a check, first one first.

    :param y: has them; none remains.
    """
    for k in range(int(y.accused)):
        cause = int(y.accusations[k, 0])
        if not is_finished(x) and fault(x, p, steady, cause, int(y.accusations[k, 1]),
                                        y.accusations[k, 3], y.accusations[k, 4]):
            x.faults.point_at(cause, int(y.accusations[k, 2]), y.accusations[k, 5])
    y.accused = 0.0


def take_cause(x: Supervisor, p: SupervisorParameters, u: Event) -> None:
    """
    Take a cause from outside; one that ends the activation counts in every state.

    :param u: has the cause; its numbers are word, joint and three numbers of the sentence.
    """
    if not 0.0 <= u.cause < CAUSES:
        return
    cause = int(u.cause)
    word = int(u.numbers[0]) if 0.0 <= u.numbers[0] < _MOST else 0
    joint = int(u.numbers[1]) if 0.0 <= u.numbers[1] < _MOST else NOBODY
    if (is_final(cause) or not is_finished(x)) and fault(
            x, p, u.steady, cause, word, u.numbers[2], u.numbers[3]):
        x.faults.point_at(cause, joint, u.numbers[4])


# -- events of the controller ---------------------------------------------------------------------

def fresh(x: Supervisor, p: SupervisorParameters, d: Diagnosis, now: float, steady: float,
          expiry: float, ready: bool) -> None:
    """
    Report a proven fresh state, before ``advance``.

    :param d: why the state before it was too old, if ``is_late`` says that it is.
    :param expiry: control time until which everything in the state may be used.
    :param ready: whether every joint is known, so that torque may begin.
    """
    if uses_states(x) and not x.clock <= now <= x.expiry:
        advance(x, p, d, now, steady)  # detect the gap before the state that ends it
    time = moment(steady, x.steady)
    x.expiry = moment(min(expiry, NONE), NEVER)
    x.last_fresh = time
    x.paused = False
    x.now = moment(now, NEVER)
    x.ready = ready and x.now <= x.expiry
    answer(x, p, Trigger.FRESH, time)


def renewed(x: Supervisor, p: SupervisorParameters, d: Diagnosis, now: float, steady: float,
            expiry: float) -> None:
    """
    Report a message of joints that are not controlled: the state expires later.

    :param d: why the state before it was too old, if ``is_late`` says that it is.
    :param expiry: control time until which everything in the state may be used.
    """
    if not is_live(x):
        return
    if now > x.expiry:
        advance(x, p, d, now, steady)  # it came too late for the previous state
    x.expiry = moment(min(expiry, NONE), NEVER)


def computed(x: Supervisor) -> None:
    """Report that the gravity torque of the present state is known."""
    x.gravity_until = x.expiry


def published(x: Supervisor, p: SupervisorParameters, steady: float, reached: bool) -> None:
    """
    Report that a torque was sent.

    :param reached: whether it was the wanted torque, not one on the way to it.
    """
    x.reached = reached
    answer(x, p, Trigger.SENT, moment(steady, x.steady))


def advance(x: Supervisor, p: SupervisorParameters, d: Diagnosis, now: float, steady: float,
            ) -> int:
    """
    Advance to the present.

    :param d: why the state is too old, if ``is_late`` says that it is.
    :returns: what is due, see ``Due``.
    """
    clock, time = moment(now, NEVER), moment(steady, x.steady)
    if is_live(x) or x.paused:
        _watch(x, p, d, clock, time)
    x.clock = clock
    if x.state == StateCode.RAMPING_IN:
        x.gain = _ramped(clock - x.ramp_start, p.ramp_time)
    if x.state != StateCode.RAMPING_DOWN:
        answer(x, p, Trigger.TIME, time)
    if x.state == StateCode.RAMPING_DOWN:  # it may have begun in the past
        spent = time - x.since
        # the brakes of the driver have to close before what nobody sees is too fast
        ramp = min(p.release_time, _HURRY) if is_frozen(x) else p.release_time
        x.blend = max(min(spent / max(1e-9, ramp), 1.0), 0.0)
        if spent > ramp + _SETTLE:
            x.blind = True
        answer(x, p, Trigger.TIME, time)
    return due_now(x)


def _ramped(spent: float, ramp: float) -> float:
    """Return the gain after some time; full without a ramp."""
    return max(min(spent / ramp, 1.0), 0.0) if ramp > 0.0 else 1.0


def _watch(x: Supervisor, p: SupervisorParameters, d: Diagnosis, now: float, steady: float,
           ) -> None:
    """Detect that the state has become too old, or that a clock jumped or stands still."""
    silent, before = steady - x.last_fresh, x.clock
    x.clock = now
    if now < before:
        fault(x, p, steady, Cause.CLOCK_JUMP, SupervisorWord.CLOCK_BACKWARDS, before - now)
    elif now > x.expiry and now - before > p.state_timeout > silent:  # the states are not late
        fault(x, p, steady, Cause.CLOCK_JUMP, SupervisorWord.CLOCK_AHEAD, now - before,
              silent)
    elif now > x.expiry and d.word > 0.0:
        if fault(x, p, steady, int(d.cause), int(d.word), d.a, d.b):
            x.faults.point_at(int(d.cause), int(d.joint), d.c)
    elif now > x.expiry:
        fault(x, p, steady, int(d.cause), SupervisorWord.SILENT, silent)
    elif p.simulated and silent > p.state_timeout:
        if is_stopping(x):  # a stop must end even if the clock stands still
            fault(x, p, steady, Cause.STATE_STALE, SupervisorWord.SIMULATOR_AT_REST, silent)
        elif silent > p.pause_limit:
            fault(x, p, steady, Cause.PAUSE_TOO_LONG, SupervisorWord.PAUSED, silent)
        else:
            x.paused = True
