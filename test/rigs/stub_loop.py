# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The control loop in Python, on a clock and a middleware of the test, around a step that it scripts.

Nothing here waits: time passes where the loop waits for something, up to the next thing that the
test has planned. So the source of the machine code says in no time, and always the same, what it
does when; that machine code does what its source says is proved of the language.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import ctypes
import math
from typing import NamedTuple

import numpy as np
from rbd_ros.compiler.language.octets import get_i64, get_u32, put_i64
from rbd_ros.compiler.language.shared import load_acquire, store_release
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.snapshots import Noted
from rbd_ros.control.step import seen as session_seen
from rbd_ros.control.step.exchange import Mail, Notes
from rbd_ros.control.step.requests import Session
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.loop.endpoints import Endpoints, entities
from rbd_ros.loop.handover import lost_rows, pop_row, post, WORDS
from rbd_ros.loop.rcl import zeros
from rbd_ros.loop.records import (
    Ask, Box, Handle, Library, Limits, Loop, Responder, Run, Said, STATES_KEPT, Times)
from rbd_ros.loop.responder import respond
from rbd_ros.loop.serve import serve, wake_dead_man, wake_states, wake_stop
from rbd_ros.loop.words import ENDED, SIZE, Word
from rbd_ros.wire.command import Slots

SIZES = {'n': 1, 'm': 1, 's': SOURCES}
NAMES = ('a',)
BEGIN = 1e6  # s, steady time at which a loop begins
MOST = 20_000  # calls of the middleware after which something goes on for ever
LATE = 1e-6  # s by which the system wakes later than it was asked to
NO_MESSAGE, NO_REQUEST, BROKEN = 401, 601, 1
#: a message that the step cannot read
UNREADABLE = b'no joint state'


class Seen(NamedTuple):
    """What the step was told."""

    kind: int
    now: float
    steady: float
    cause: int
    pressed: bool
    message: bytes


class StubLoop:
    """
    A loop that has not begun.

    :param simulated: whether there is a clock of its own; time passes there as the test says.
    :param sensor: whether there is a force-torque sensor.
    :param rows: that the rings of what is said have.
    """

    def __init__(self, *, simulated: bool = False, sensor: bool = False, rows: int = 4) -> None:
        self.steady, self.plans = BEGIN, []
        #: what the middleware has: messages by handle, or codes that it answers with
        self.inbox: dict[int, deque[bytes | int]] = {handle: deque() for handle in Handle}
        self.signals = b''
        self._content, self._taken = ctypes.create_string_buffer(1), 0
        #: what was sent, with its time: torques, numbers of heartbeats, signs of life, answers
        self.torques, self.beats, self.lively, self.answers = [], [], [], []
        self.publishing, self.responding, self.errors_reset, self._calls = 0, 0, 0, 0
        self.seen: list[Seen] = []
        #: what the step does besides, by the test
        self.step: Callable[[Seen], object] = lambda seen: None
        command = np.zeros(8, np.uint8)
        io = entities(Endpoints(101, 102, 103, 104, 105, 106 if simulated else 0, 107,
                                108 if sensor else 0), command)
        self.words = zeros(SIZE)
        self.x, self.u, self.y = State(SIZES), Event(SIZES), Result(SIZES)
        self.p = Parameters(SIZES)
        self.x.design.held = 1e18  # s: no torque of these states begins to fade
        self.noted, intake = Noted(SIZES), Intake(NAMES, NAMES)
        self.mail = Mail(intake.message, intake.parts, intake.letters, command, Slots(SIZES),
                         Notes(SIZES))
        self.limits = Limits({})
        self.limits.period, self.limits.watch, self.limits.beat = 0.01, 0.05, 0.2
        self.limits.state_timeout, self.limits.end, self.limits.idle = 0.1, 1.0, 0.001
        self.limits.simulated = float(simulated)
        u, p, x, y, noted = (each.memory for each in (
            self.u, self.p, self.x, self.y, self.noted))
        self.box = Box(zeros(8 * WORDS), np.zeros(len(Ask)), u, p, np.zeros(3), x, y, u.copy(),
                       p.copy(), np.zeros(3), np.zeros_like(x), np.zeros_like(y),
                       np.array([[0.0, 2.0], [5.0, 7.0]]))
        self.said = Said(np.zeros((rows, 5)), zeros(8 * WORDS), np.zeros(5),
                         np.zeros((rows, noted.size)), zeros(8 * WORDS), noted, zeros(64),
                         np.zeros(5))
        self.c = Library(self._wait, self.wake, self._clock, self._copy, self._peek, self._take,
                         self._publish, self._lively, self._request, self._respond, self._reset,
                         self._try_wait)
        self.loop = Loop(self.c, io, self.words, Run({}), self.limits,
                         Times(*np.zeros((3, STATES_KEPT))), self.box, self.said, self.mail,
                         self.x, self.u, self.p, self.y, self.noted, Session({}),
                         session_seen.Seen({}), self._exchange)
        self.io = io
        self.responder = Responder(self.c, io.handles, self.words, io.respond, io.answers,
                                   zeros(16), zeros(24), zeros(32), io.text_at, io.text_size)

    # -- what tests say and ask ---------------------------------------------------------------

    def at(self, seconds: float, what: Callable[[], object]) -> None:
        """Plan something, so many seconds after the loop begins."""
        self.plans.append((BEGIN + seconds, len(self.plans), what))

    def run(self, seconds: float) -> None:
        """Serve for so long, unless it ends before."""
        self.at(seconds, lambda: self.put(Word.END, ENDED))
        serve(self.loop)

    def respond(self) -> None:
        """Answer requests as the other thread does."""
        respond(self.responder)

    def be(self, state: StateCode) -> None:
        """Put the supervisor into a state."""
        self.x.command.supervisor.state = float(state)

    def word(self, word: Word) -> int:
        """Return a word."""
        return load_acquire(self.words, word)

    def put(self, word: Word, value: int) -> None:
        """Write a word, and wake the loop."""
        store_release(self.words, word, value)
        self.wake(self.io.wake)

    def send(self, handle: Handle, *messages: bytes | int) -> None:
        """Have messages come, or failures of the middleware, of which it tells the loop once."""
        self.inbox[handle].extend(messages)
        wake = {Handle.STATES: wake_states, Handle.DEAD_MAN: wake_dead_man,
                Handle.STOP: wake_stop}.get(handle)
        if wake is not None:
            wake(self.words, self.wake, self.io.wake)

    def ask(self, kind: int, **parts: float) -> None:
        """Post a request, whose other letters the test has filled."""
        self.box.kind[:] = 0.0
        self.box.kind[Ask.KIND] = kind
        for name, value in parts.items():
            self.box.kind[Ask[name.upper()]] = value
        post(self.box.words)
        self.wake(self.io.wake)

    def events(self, *kinds: Kind) -> list[tuple[float, int]]:
        """Return when which of some kinds of things happened, since the loop began."""
        return [(round(each.steady - BEGIN, 4), each.kind) for each in self.seen
                if not kinds or each.kind in kinds]

    def causes(self) -> list[tuple[float, int]]:
        """Return when the robot was stopped for which cause."""
        return [(round(each.steady - BEGIN, 4), each.cause) for each in self.seen
                if each.kind == Kind.FAULT]

    def sentences(self) -> tuple[list[list[float]], int]:
        """Take out what was said; return that, and how many sentences found no room, ever."""
        found, row, lost, all_ = np.ones(1), np.zeros(5), np.zeros(1), []
        while found[0]:
            pop_row(self.said.words_at, self.said.words, row, found)
            all_ += [row.tolist()] if found[0] else []
        lost_rows(self.said.words_at, lost)
        return all_, int(lost[0])

    def posted(self, semaphore: np.ndarray) -> int:
        """Return how often a semaphore was posted that nobody has waited for."""
        return get_i64(semaphore, 0)

    # -- the step -----------------------------------------------------------------------------

    def _exchange(self) -> None:
        u, notes = self.u, self.mail.notes
        self.y.send, self.y.told, notes.cycle = 0.0, 0.0, 0.0
        arrived, notes.arrived = notes.arrived, 0.0
        message = bytes(self.mail.message[:int(self.mail.parts.size)]) if arrived else b''
        seen = Seen(int(u.kind), u.now, u.steady, int(u.cause), u.pressed > 0.0, message)
        self.seen.append(seen)
        if arrived and message.startswith(UNREADABLE):
            u.kind = Kind.UNREADABLE
            return
        self.x.now = u.now
        if u.kind == Kind.STATE:
            self.y.send, notes.cycle = 1.0, 1.0
            self.x.taken += 1.0
        self.step(seen)

    # -- functions of C -----------------------------------------------------------------------

    def _wait(self, semaphore: np.ndarray, clock: int, until: np.ndarray) -> int:
        self._count()
        assert clock == 1, 'CLOCK_MONOTONIC'
        end = get_i64(until, 0) + 1e-9 * get_i64(until, 8) + LATE
        while self.posted(semaphore) == 0:
            due = min(self.plans, default=None)
            if due is None or due[0] > end:
                self.steady = max(self.steady, end)
                return -1
            self.plans.remove(due)
            self.steady = max(self.steady, due[0])
            due[2]()
        return self._try_wait(semaphore)

    def _count(self) -> None:
        self._calls += 1
        assert self._calls < MOST, 'it goes on for ever'

    def _try_wait(self, semaphore: np.ndarray) -> int:
        self._count()
        count = get_i64(semaphore, 0)
        put_i64(semaphore, 0, max(count - 1, 0))
        return 0 if count else -1

    def wake(self, semaphore: np.ndarray) -> int:
        """Post a semaphore."""
        put_i64(semaphore, 0, get_i64(semaphore, 0) + 1)
        return 0

    def _clock(self, clock: int, time: np.ndarray) -> int:
        self._count()
        assert clock == 1, 'CLOCK_MONOTONIC'
        seconds = math.floor(self.steady)
        put_i64(time, 0, seconds)
        put_i64(time, 8, round(1e9 * (self.steady - seconds)))
        return 0

    def _copy(self, to: np.ndarray, address: int, size: int) -> int:
        assert size <= len(to), 'written behind the end'
        assert (address, size <= self._taken) == (ctypes.addressof(self._content), True), (
            'read behind the end')
        ctypes.memmove(to.ctypes.data, address, size)
        return 0

    def _peek(self, socket: int, to: np.ndarray, room: int, flags: int) -> int:
        assert (socket, room, flags) == (107, len(to), 0x42), 'MSG_PEEK | MSG_DONTWAIT'
        to[:len(self.signals)] = np.frombuffer(self.signals, np.uint8)
        return len(self.signals) or -1

    def _handle(self, address: int) -> Handle:
        found = [each for each in Handle if get_i64(self.io.handles, each) == address]
        assert len(found) == 1 and address, f'{address} is no handle'
        return found[0]

    def _take(self, address: int, message: np.ndarray, *nothing: int) -> int:
        assert nothing == (0, 0), 'neither information about a message nor an allocation'
        self._count()
        inbox = self.inbox[self._handle(address)]
        content = inbox.popleft() if inbox else NO_MESSAGE
        if isinstance(content, int):
            return content
        self._content = ctypes.create_string_buffer(content, len(content) or 1)
        put_i64(message, 0, ctypes.addressof(self._content))
        put_i64(message, 8, len(content))
        self._taken = len(content)
        return 0

    def _publish(self, address: int, content: np.ndarray, allocation: int) -> int:
        assert allocation == 0
        if self._handle(address) == Handle.HEARTBEAT:
            assert content is self.io.beat
            self.beats.append((round(self.steady - BEGIN, 4),
                               get_u32(self.io.beat_content, 4, 0)))
        else:
            assert (self._handle(address), content is self.io.command) == (Handle.OUTPUT, True)
            self.torques.append(round(self.steady - BEGIN, 4))
        return self.publishing

    def _lively(self, address: int) -> int:
        self.lively.append(self._handle(address))
        return 0

    def _request(self, address: int, request: np.ndarray, wanted: np.ndarray) -> int:
        inbox = self.inbox[self._handle(address)]
        content = inbox.popleft() if inbox else NO_REQUEST
        if isinstance(content, int):
            return content
        assert wanted is self.io.wanted
        request[:] = np.frombuffer(content.ljust(24, b'.'), np.uint8)
        return 0

    def _respond(self, address: int, request: np.ndarray, response: np.ndarray) -> int:
        assert self._handle(address) == Handle.STOP
        size, room = get_i64(response, 16), get_i64(response, 24)
        text = ctypes.string_at(get_i64(response, 8), room)
        assert room == size + 1 and text[size:] == b'\0' and b'\0' not in text[:size]
        self.answers.append((bytes(request).rstrip(b'.'), response[0] == 1, text[:size].decode()))
        return self.responding

    def _reset(self) -> int:
        self._count()
        self.errors_reset += 1
        return 0
