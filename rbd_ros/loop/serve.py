# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The loop: wait, take, step, send, until it is told to end."""

from __future__ import annotations

import math

from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.octets import Bytes, get_i64, put_i64, put_u32
from rbd_ros.compiler.language.shared import add_acq_rel, load_acquire, store_release
from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.step.requests import check_request
from rbd_ros.control.step.seen import beat
from rbd_ros.control.supervisor.due import is_blind, is_finished, is_live
from rbd_ros.control.torque.torque import relaxes_at
from rbd_ros.loop.handover import answer, is_posted
from rbd_ros.loop.happenings import (
    control_time, happen, read_steady, STEADY, stop_for, tell_python)
from rbd_ros.loop.inputs import (
    take_clock, take_dead_man, take_readings, take_signals, take_states, take_stops)
from rbd_ros.loop.records import Ask, Box, Handle, Loop, NOTHING
from rbd_ros.loop.words import RUN, STOP_AND_END, Word

__all__ = ['serve', 'serve_python', 'wake_dead_man', 'wake_states', 'wake_stop']


# -- run by the middleware's threads ------------------------------------------------------------

def wake_states(words: Bytes, post: Foreign, semaphore: Bytes) -> None:
    """
    Say that a joint state has come.

    :param words: shared ones.
    :param post: sem_post.
    :param semaphore: for which the loop waits.
    """
    add_acq_rel(words, Word.STATES_ARRIVED, 1)
    post(semaphore)


def wake_dead_man(words: Bytes, post: Foreign, semaphore: Bytes) -> None:
    """
    Say that a message of the dead-man switch has come.

    :param words: shared ones.
    :param post: sem_post.
    :param semaphore: for which the loop waits.
    """
    add_acq_rel(words, Word.DEAD_MAN_ARRIVED, 1)
    post(semaphore)


def wake_stop(words: Bytes, post: Foreign, semaphore: Bytes) -> None:
    """
    Say that a request on ~/stop has come.

    :param words: shared ones.
    :param post: sem_post.
    :param semaphore: for which the loop waits.
    """
    add_acq_rel(words, Word.STOPS_ARRIVED, 1)
    post(semaphore)


# -- run by the thread of the loop --------------------------------------------------------------

def serve(loop: Loop) -> None:
    """
    Serve the robot until Python says that it is enough, or has stopped it at the end.

    :param loop: what the loop works on.
    """
    steady = read_steady(loop)
    loop.run.timer, loop.seen.due, loop.run.alive_at = steady, steady, steady
    loop.seen.period = loop.limits.beat
    loop.run.states, loop.run.dead_man, loop.run.stops = -1.0, -1.0, -1.0
    while not _is_over(loop):
        _wait(loop)
        add_acq_rel(loop.words, Word.PASSES, 1)
        take_clock(loop)
        _obey(loop)
        take_stops(loop)
        take_dead_man(loop)
        take_readings(loop)
        take_states(loop)
        serve_python(loop)
        steady = read_steady(loop)
        if steady >= loop.run.timer:
            _fire(loop, steady)
        elif is_blind(loop.x.command.supervisor):  # nobody but the timer sends torques
            loop.run.timer = min(loop.run.timer, steady + loop.limits.period)
    store_release(loop.words, Word.FINISHED, 1)
    loop.c.post(loop.io.answer)
    loop.c.post(loop.io.heed)


def _is_over(loop: Loop) -> bool:
    """Return whether the loop ends; it stops the robot first if that is asked for."""
    end = load_acquire(loop.words, Word.END)
    if end == RUN:
        return False
    if end != STOP_AND_END or is_finished(loop.x.command.supervisor):
        return True
    steady = read_steady(loop)
    if loop.run.ending == 0.0:
        loop.run.ending = steady + loop.limits.end
        stop_for(loop, Cause.SIGNAL, steady)
        tell_python(loop)
    return steady > loop.run.ending


def _obey(loop: Loop) -> None:
    """Stop because the process ends; nobody has to ask through the mailbox."""
    if loop.run.signalled == 0.0 and load_acquire(loop.words, Word.STOP) != 0:
        loop.run.signalled = 1.0
        stop_for(loop, Cause.SIGNAL, read_steady(loop))
        tell_python(loop)


def _wait(loop: Loop) -> None:
    """Wait for something to come, or for the timer."""
    if loop.run.more > 0.0:
        return
    seconds = math.floor(loop.run.timer)
    put_i64(loop.io.time, 0, seconds)
    put_i64(loop.io.time, 8, int(1e9 * (loop.run.timer - float(seconds))))
    loop.c.wait(loop.io.wake, STEADY, loop.io.time)
    while loop.c.try_wait(loop.io.wake) == 0:
        pass  # one pass is enough for all that has come


def _fire(loop: Loop, steady: float) -> None:
    """Do what the timer is for."""
    take_signals(loop, steady)
    loop.run.stops, loop.run.dead_man = -1.0, -1.0  # look there, whatever the middleware says
    _watch_python(loop, steady)
    happen(loop, Kind.TIMER, control_time(loop, steady, 0.0), steady)
    tell_python(loop)
    beat(loop.seen, loop.u)
    if loop.seen.beating:
        _beat(loop)
    # While states arrive, the timer only watches, and that no torque is held for too long.
    blind = is_blind(loop.x.command.supervisor)
    loop.run.timer = max(loop.run.timer, steady - loop.limits.period) + (
        loop.limits.period if blind else loop.limits.watch)
    if is_live(loop.x.command.supervisor):
        loop.run.timer = min(loop.run.timer, max(
            relaxes_at(loop.x.command.torque, loop.x.design.held), steady + loop.limits.period))


def _beat(loop: Loop) -> None:
    """Say that the loop is alive."""
    put_u32(loop.io.beat_content, 4, int(loop.seen.beats), 0)
    if loop.c.publish(get_i64(loop.io.handles, Handle.HEARTBEAT), loop.io.beat, 0) != 0:
        loop.c.reset_error()
    if loop.limits.lease > 0.0:
        loop.c.assert_liveliness(get_i64(loop.io.handles, Handle.OUTPUT))


def _watch_python(loop: Loop, steady: float) -> None:
    """Stop if the program around the loop gives no sign of life."""
    alive = float(load_acquire(loop.words, Word.ALIVE))
    if alive != loop.run.alive:
        loop.run.alive, loop.run.alive_at, loop.run.deserted = alive, steady, 0.0
    elif (loop.limits.supervision > 0.0 and loop.run.deserted == 0.0
          and steady - loop.run.alive_at > loop.limits.supervision):
        loop.run.deserted = 1.0
        stop_for(loop, Cause.SUPERVISION, steady)
        tell_python(loop)


# -- requests of Python -------------------------------------------------------------------------

def serve_python(loop: Loop) -> None:
    """
    Do what Python asks for, and let it see the state.

    :param loop: what the loop works on.
    """
    if not is_posted(loop.box.words):
        return
    kind, steady = int(loop.box.kind[Ask.KIND]), read_steady(loop)
    now = control_time(loop, steady, 0.0)
    loop.box.kind[Ask.NOW], loop.box.kind[Ask.STEADY] = now, steady
    loop.noted.divider = loop.box.kind[Ask.DIVIDER]
    loop.y.send, loop.y.told, loop.y.answer = 0.0, 0.0, 0.0
    outdated = kind == Kind.PIECES and (
        now - loop.box.kind[Ask.MADE] > loop.box.kind[Ask.LATE])
    loop.session.kind, loop.session.before = kind, loop.box.kind[Ask.STOPS]
    loop.session.stops = float(load_acquire(loop.words, Word.STOPS))
    check_request(loop.session)
    outdated = outdated or not loop.session.due
    loop.box.kind[Ask.OUTDATED] = 1.0 if outdated else 0.0
    if not outdated:
        _do(loop, kind, now, steady)
    _show(loop.box)
    answer(loop.box.words)
    loop.c.post(loop.io.answer)


def _do(loop: Loop, kind: int, now: float, steady: float) -> None:
    """Take what Python has given, and let happen what it asks for."""
    if loop.box.kind[Ask.PARAMETERS] > 0.0:
        _copy(loop.box.given_p, loop.box.p)
    if loop.box.kind[Ask.PIECES] > 0.0:
        _copy(loop.box.given_ring, loop.box.ring)
    if kind == NOTHING:
        return
    _copy(loop.box.given_u, loop.box.u)
    happen(loop, kind, now, steady)
    if loop.y.answer == 0.0 and (kind == Kind.ACTIVATE or kind == Kind.RESET):
        for k in range(len(loop.mail.letters.forms.told)):
            loop.mail.letters.forms.told[k] = 0.0  # everything is announced once more


def _copy(given: Vector, to: Vector) -> None:
    """Copy all numbers."""
    for k in range(len(to)):
        to[k] = given[k]


def _show(box: Box) -> None:
    """Let Python see the state, as far as it wants to, and what the step has given."""
    for part in range(len(box.parts)):
        for k in range(int(box.parts[part, 0]), int(box.parts[part, 1])):
            box.seen_x[k] = box.x[k]
    _copy(box.y, box.seen_y)
