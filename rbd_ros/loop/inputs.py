# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the middleware brings: joint states, the dead-man switch, the clock, requests to stop."""

from __future__ import annotations

from rbd_ros.compiler.language.octets import Bytes, get_i64, get_u32, get_u8
from rbd_ros.compiler.language.shared import add_acq_rel, load_acquire, store_release
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.words import SessionWord
from rbd_ros.control.step.requests import answer_stop, ask_stop
from rbd_ros.control.supervisor.states import SupervisorState
from rbd_ros.loop.happenings import control_time, happen, read_steady, stop_for, tell_python
from rbd_ros.loop.records import Handle, Loop, STATES_KEPT
from rbd_ros.loop.responder import keep_answer
from rbd_ros.loop.words import Word
from rbd_ros.wire.joint_state import HEAD, seconds_at
from rbd_ros.wire.wrench import read_wrench

__all__ = ['take_clock', 'take_dead_man', 'take_readings', 'take_signals', 'take_states',
           'take_stops', 'TEXTS']

#: messages of each kind that are taken before the loop looks at everything else
MOST_STATES, MOST_PRESSES, MOST_STOPS, MOST_READINGS = 32, 100, 4, 32

#: texts of responses of ~/stop: one for each state of the supervisor, then those without one
TEXTS = (*(SessionWord.DONE.text(state=state.value) for state in SupervisorState),
         *(word.text() for word in (SessionWord.NOTHING_TO_STOP, SessionWord.ACTIVATION_CANCELLED,
                                    SessionWord.START_CANCELLED)))
_STATES = len(SupervisorState)

#: RCL_RET_SUBSCRIPTION_TAKE_FAILED, RCL_RET_SERVICE_TAKE_FAILED: nothing is there
_NO_MESSAGE, _NO_REQUEST = 401, 601

#: flags of recv: MSG_PEEK | MSG_DONTWAIT of Linux
_PEEK = 0x42


def _take(loop: Loop, handle: int) -> int:
    """Take a message of a subscription; return its size, -1: there is none."""
    result = loop.c.take(get_i64(loop.io.handles, handle), loop.io.message, 0, 0)
    if result != 0:
        if result != _NO_MESSAGE:
            loop.c.reset_error()
            add_acq_rel(loop.words, Word.FAILED, 1)
        return -1
    return get_i64(loop.io.message, 8)


def _take_short(loop: Loop, handle: int) -> int:
    """Take a short message into ``small``; return its size, -1: there is none."""
    size = _take(loop, handle)
    if size > 0:
        loop.c.copy(loop.io.small, get_i64(loop.io.message, 0), min(size, len(loop.io.small)))
    return size


def _stamp(data: Bytes) -> float:
    """Return the time at the beginning of a message, s."""
    big = 1 if get_u8(data, 1) == 0 else 0
    return float(seconds_at(data, HEAD, big)) + 1e-9 * float(get_u32(data, HEAD + 4, big))


def take_clock(loop: Loop) -> None:
    """
    Read the simulated time, if there is one.

    :param loop: what the loop works on.
    """
    if get_i64(loop.io.handles, Handle.CLOCK) == 0:
        return
    for _ in range(MOST_PRESSES):
        size = _take_short(loop, Handle.CLOCK)
        if size < 0:
            return
        if size >= 12:
            loop.run.clock = _stamp(loop.io.small)


def take_readings(loop: Loop) -> None:
    """
    Take readings of the force-torque sensor, if there is one; what cannot be read is none.

    :param loop: what the loop works on.
    """
    if get_i64(loop.io.handles, Handle.SENSOR) == 0:
        return
    for _ in range(MOST_READINGS):
        size = _take_short(loop, Handle.SENSOR)
        if size < 0:
            return
        if read_wrench(loop.io.small, size, loop.u.numbers):
            steady = read_steady(loop)
            happen(loop, Kind.READING, control_time(loop, steady, 0.0), steady)
            tell_python(loop)


def take_states(loop: Loop) -> None:
    """
    Take joint states, and send the torques that they give.

    :param loop: what the loop works on.
    """
    arrived = float(load_acquire(loop.words, Word.STATES_ARRIVED))
    if arrived == loop.run.states and loop.run.more == 0.0:
        return
    loop.run.states, loop.run.more = arrived, 1.0
    for _ in range(MOST_STATES):
        size = _take(loop, Handle.STATES)
        if size < 0:
            loop.run.more = 0.0
            return
        _take_state(loop, size)


def _take_state(loop: Loop, size: int) -> None:
    """Take one joint state."""
    begin = read_steady(loop)
    stamp = 0.0
    if size <= len(loop.mail.message):
        loop.c.copy(loop.mail.message, get_i64(loop.io.message, 0), size)
        loop.mail.parts.size, loop.mail.notes.arrived = float(size), 1.0
        if loop.limits.simulated > 0.0:
            take_clock(loop)
            stamp = _stamp(loop.mail.message) if size >= 12 else 0.0
        happen(loop, Kind.STATE, control_time(loop, begin, stamp), begin)
        if loop.u.kind == Kind.STATE:
            _keep_times(loop, begin)
            tell_python(loop)
            return
    store_release(loop.words, Word.UNREADABLE_SIZE, size)
    add_acq_rel(loop.words, Word.UNREADABLE, 1)
    loop.mail.notes.arrived = 0.0
    happen(loop, Kind.UNREADABLE, control_time(loop, begin, 0.0), begin)
    tell_python(loop)


def _keep_times(loop: Loop, begin: float) -> None:
    """Note when a state came and when it was done."""
    end, number = read_steady(loop), load_acquire(loop.words, Word.STATES)
    k = number & (STATES_KEPT - 1)
    loop.times.begin[k], loop.times.end[k] = begin, end
    loop.times.stamp[k] = loop.mail.notes.stamp
    if begin - loop.run.last < loop.limits.idle:
        add_acq_rel(loop.words, Word.WAITING, 1)
    loop.run.last = end
    store_release(loop.words, Word.STATES, number + 1)


def take_dead_man(loop: Loop) -> None:
    """
    Take what the dead-man switch says.

    :param loop: what the loop works on.
    """
    arrived = float(load_acquire(loop.words, Word.DEAD_MAN_ARRIVED))
    if arrived == loop.run.dead_man:
        return
    loop.run.dead_man = arrived
    for k in range(MOST_PRESSES):
        size = _take_short(loop, Handle.DEAD_MAN)
        if size < 0:
            return
        pressed = size >= 5 and get_u8(loop.io.small, 4) != 0
        # So many at once that one may have been lost: the button may have been released.
        loop.u.pressed = 1.0 if pressed and k < MOST_PRESSES - 1 else 0.0
        happen(loop, Kind.DEAD_MAN, loop.x.now, read_steady(loop))
        tell_python(loop)


def take_stops(loop: Loop) -> None:
    """
    Take requests on ~/stop, stop and answer.

    :param loop: what the loop works on.
    """
    arrived = float(load_acquire(loop.words, Word.STOPS_ARRIVED))
    if arrived == loop.run.stops:
        return
    loop.run.stops = arrived
    service = get_i64(loop.io.handles, Handle.STOP)
    for _ in range(MOST_STOPS):
        result = loop.c.take_request(service, loop.io.request, loop.io.wanted)
        if result == _NO_REQUEST:
            return
        if result != 0:  # what cannot be read may have been meant as a stop
            loop.c.reset_error()
            add_acq_rel(loop.words, Word.FAILED, 1)
            _stop(loop)
        elif keep_answer(loop.io.answers, loop.io.request, _stop(loop)):
            loop.c.post(loop.io.respond)
        else:
            add_acq_rel(loop.words, Word.FAILED, 1)
    loop.run.stops = -1.0  # there may be more


def _stop(loop: Loop) -> int:
    """Stop; return the number of the text that says what has happened."""
    add_acq_rel(loop.words, Word.STOPS, 1)
    ask_stop(loop.session, loop.x, loop.u)
    if loop.session.due:
        happen(loop, Kind.FAULT, loop.x.now, read_steady(loop))
        tell_python(loop)
    loop.session.starting = load_acquire(loop.words, Word.STARTING)
    answer_stop(loop.session, loop.x)
    loop.c.post(loop.io.heed)  # a start may just have begun: Python looks at once
    word = int(loop.session.answer.words[0, 0])
    if word == SessionWord.DONE:
        return int(loop.session.answer.words[0, 2])
    return _STATES + word - SessionWord.NOTHING_TO_STOP


def take_signals(loop: Loop, steady: float) -> None:
    """
    Stop at a signal that ends the process; Python sees it, too, if it can.

    :param loop: what the loop works on.
    :param steady: steady time, s.
    """
    if loop.run.signalled > 0.0:
        return
    size = loop.c.peek(get_i64(loop.io.handles, Handle.SIGNALS), loop.io.small,
                       len(loop.io.small), _PEEK)
    for k in range(size):
        if get_u8(loop.io.small, k) != 0:
            loop.run.signalled = 1.0
            stop_for(loop, Cause.SIGNAL, steady)
            tell_python(loop)
            return
