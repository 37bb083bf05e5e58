# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One thing happens: the step runs, its torque leaves, and what it says is left for Python."""

from __future__ import annotations

from rbd_ros.compiler.language.octets import get_i64, get_u8, put_u8
from rbd_ros.compiler.language.shared import add_acq_rel, load_acquire, store_release
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.words import FlowWord
from rbd_ros.control.snapshots import note_state
from rbd_ros.control.step.requests import blame
from rbd_ros.control.step.seen import gather_words
from rbd_ros.loop.handover import push
from rbd_ros.loop.records import Handle, Loop
from rbd_ros.loop.words import Word

__all__ = ['control_time', 'happen', 'read_steady', 'stop_for', 'tell_python']

#: CLOCK_MONOTONIC of Linux
STEADY = 1


def read_steady(loop: Loop) -> float:
    """
    Return the steady time, s.

    :param loop: what the loop works on.
    """
    loop.c.clock(STEADY, loop.io.time)
    return float(get_i64(loop.io.time, 0)) + 1e-9 * float(get_i64(loop.io.time, 8))


def control_time(loop: Loop, steady: float, stamp: float) -> float:
    """
    Return the control time, s; a simulated state is never ahead of its clock.

    :param loop: what the loop works on.
    :param steady: steady time, s.
    :param stamp: of the state, s; 0: it is something else.
    """
    if loop.limits.simulated == 0.0:
        return steady
    now = loop.run.clock
    if 0.0 < stamp - now < loop.limits.state_timeout:
        now = stamp  # the state has overtaken the message of the clock
    if 0.0 < loop.x.now - now < loop.limits.state_timeout:
        now = loop.x.now  # an earlier state did; a clock further behind has jumped back
    return now


def happen(loop: Loop, kind: int, now: float, steady: float) -> None:
    """
    Let one thing happen.

    :param loop: what the loop works on.
    :param kind: what, see ``Kind``; its numbers are in the event.
    :param now: control time, s.
    :param steady: steady time, s.
    """
    loop.u.kind, loop.u.now, loop.u.steady = float(kind), now, steady
    loop.exchange()
    if loop.y.send > 0.0:
        _send(loop)
    note_state(loop.noted, loop.x, loop.p)
    if loop.noted.fresh:
        push(loop.said.snapshots_at, loop.said.snapshots, loop.said.noted)
        loop.c.post(loop.io.heed)


def _send(loop: Loop) -> None:
    """Send the torque that the step has written."""
    if loop.c.publish(get_i64(loop.io.handles, Handle.OUTPUT), loop.io.command, 0) != 0:
        loop.c.reset_error()
        add_acq_rel(loop.words, Word.UNSENT, 1)
        loop.c.post(loop.io.heed)  # Python stops the robot for it


def stop_for(loop: Loop, cause: int, steady: float) -> None:
    """
    Stop for a cause that the loop itself has seen.

    :param loop: what the loop works on.
    :param cause: why.
    :param steady: steady time, s.
    """
    blame(loop.u, cause, FlowWord.OUTSIDE)
    happen(loop, Kind.FAULT, loop.x.now, steady)


def tell_python(loop: Loop) -> None:
    """
    Leave what the last step has said, and the names of a message if they may be new.

    :param loop: what the loop works on.
    """
    gather_words(loop.seen, loop.x, loop.y)
    for k in range(int(loop.seen.told)):
        loop.said.word[:] = loop.seen.words[k]
        push(loop.said.words_at, loop.said.words, loop.said.word)
    news = load_acquire(loop.words, Word.NEWS)
    if loop.mail.letters.forms.news > 0.0 and load_acquire(loop.words, Word.NEWS_READ) == news:
        _leave_names(loop, news + 1)
    if loop.seen.news:
        loop.c.post(loop.io.heed)


def _leave_names(loop: Loop, number: int) -> None:
    """Leave the names of the last message."""
    begin, place = int(loop.mail.parts.names_at), int(loop.u.source)
    size = int(loop.mail.parts.names_end) - begin
    if size > len(loop.said.names):
        return
    if place >= 0:
        loop.mail.letters.forms.told[place] = 1.0
    for k in range(size):
        put_u8(loop.said.names, k, get_u8(loop.mail.message, begin + k))
    loop.said.names_of[0], loop.said.names_of[1] = loop.u.source, loop.u.defect
    loop.said.names_of[2], loop.said.names_of[3] = loop.mail.parts.names, loop.mail.parts.big
    loop.said.names_of[4] = float(size)
    store_release(loop.words, Word.NEWS, number)
