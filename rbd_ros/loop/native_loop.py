# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The loop of one configured robot, as Python sees it: begin, ask, read what was said, end.

All memory that the machine code works on belongs to an object that stays until its thread has
ended. It ends in this order: the thread is joined, which needs its states for as long as it stops
the robot; callbacks of the middleware are cleared; and only then may handles and memory go.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Iterator
from functools import partial
import os
import queue
import threading

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import procedure
from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.native.native_procedure import FreeProcedure
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.shared_words import Words
from rbd_ros.control.controller import Controller, Outdated
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.joint_states.forms import ROOM
from rbd_ros.control.snapshots import Noted, Snapshot
from rbd_ros.control.step.requests import Session, Starting
from rbd_ros.control.step.seen import Seen
from rbd_ros.errors import RbdError
from rbd_ros.loop import rcl
from rbd_ros.loop.endpoints import Endpoints, entities
from rbd_ros.loop.engine import Engine
from rbd_ros.loop.handover import look_for_answer, lost_rows, pop_row, post, WORDS
from rbd_ros.loop.records import (
    Ask, Limits, Loop, NOTHING, Responder, Run, Said, STATES_KEPT, Times)
from rbd_ros.loop.responder import respond
from rbd_ros.loop.serve import serve, wake_dead_man, wake_states, wake_stop
from rbd_ros.loop.words import ENDED, RUN, SIZE, STOP_AND_END, Word
from rbd_ros.machine.requests import name_thread

__all__ = ['LoopSilent', 'NativeLoop', 'running', 'WORDS_KEPT']

Array = npt.NDArray[np.generic]

#: rows of the rings of words and of snapshots
WORDS_KEPT, SNAPSHOTS_KEPT = 1024, 64

#: s that Python waits for an answer
_ANSWER_LIMIT = 5.0

#: of the threads, as top -H and other tools of the system show them
_NAME, _NAME_OF_ANSWERS = 'rbd_loop', 'rbd_answers'

#: loops that have begun and not ended: what machine code works on must not be collected
running: set[NativeLoop] = set()


class LoopSilent(RbdError):
    """The loop gives no answer."""


class NativeLoop:
    """
    A thread of machine code that serves one controller.

    :param controller: configured, not yet active; it works through the loop from now on.
    :param endpoints: of the middleware.
    :param limits: of the loop.
    :param clock: simulated time until the first message tells it, s.
    """

    def __init__(self, controller: Controller, endpoints: Endpoints, limits: Limits,
                 clock: float = 0.0) -> None:
        self._controller = controller
        self._pid, self._ending = os.getpid(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._answering: threading.Thread | None = None
        self.words = Words(SIZE // 8)
        engine = Engine(controller)
        self._box, noted = engine.box, engine.noted
        self._noted = Noted(noted.sizes)
        self._said = Said(
            np.zeros((WORDS_KEPT, 5)), Words(WORDS).memory, np.zeros(5),
            np.zeros((SNAPSHOTS_KEPT, noted.memory.size)), Words(WORDS).memory, noted.memory,
            rcl.zeros(ROOM), np.zeros(5))
        self.times = Times(*np.zeros((3, STATES_KEPT)))
        self._io, self._c = entities(endpoints, engine.mail.command), rcl.library()
        run = Run({})
        run.clock = clock
        #: what the loop works on
        self.given = given = Loop(
            self._c, self._io, self.words.memory, run, limits, self.times, engine.box,
            self._said, engine.mail, engine.x, engine.u, engine.p, engine.y, noted,
            Session({}), Seen({}), engine.run)
        #: the arrays in it
        self.arrays = list(_arrays(given))
        self._serve = procedure.bind_free(serve, given)
        io = self._io
        self._respond = procedure.bind_free(respond, Responder(
            self._c, io.handles, self.words.memory, io.respond, io.answers, rcl.zeros(16),
            rcl.zeros(24), rcl.zeros(32), io.text_at, io.text_size))
        self._callbacks = [
            ('subscription', endpoints.states, self._wake(wake_states)),
            ('subscription', endpoints.dead_man, self._wake(wake_dead_man)),
            ('service', endpoints.stop, self._wake(wake_stop))]
        self._found = np.zeros(1)
        self._post = procedure.bind(post, self._box.words)
        self._look_for_answer = procedure.bind(look_for_answer, self._box.words, self._found)
        self._word = _Rows(self._said.words_at, self._said.words)
        self._snapshot = _Rows(self._said.snapshots_at, self._said.snapshots)
        self._lost = 0  # rows of words whose loss was told

    def _wake(self, function: Callable[[Bytes, Foreign, Bytes], None]) -> FreeProcedure:
        return procedure.bind_free(function, self.words.memory, self._c.post, self._io.wake)

    # -- begin and end ------------------------------------------------------------------------

    def start(self, prepare: Callable[[Iterable[Array]], object] = lambda _: None) -> None:
        """
        Begin to serve.

        :param prepare: run first in the new thread, with the arrays that the loop works on; what
            it raises is raised here.
        :raises LoopUnavailable: if the middleware calls nobody when messages come.
        """
        prepared: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def run() -> None:
            try:
                name_thread(_NAME)
                prepare(self.arrays)
            except BaseException as error:
                prepared.put(error)
            else:
                prepared.put(None)
                self._serve()

        def respond() -> None:
            name_thread(_NAME_OF_ANSWERS)
            self._respond()
        running.add(self)
        atexit.unregister(_stop_all)
        atexit.register(_stop_all)  # first of all: what is registered last runs first
        begun = 0
        try:
            for kind, handle, wake in self._callbacks:
                rcl.set_callback(kind, handle, *wake.place)
                begun += 1
            self._thread = threading.Thread(target=run, name='loop', daemon=True)
            self._thread.start()
            if (error := prepared.get()) is not None:
                raise error
            self._answering = threading.Thread(target=respond, name='answers', daemon=True)
            self._answering.start()
        except BaseException:
            self._end_thread(ENDED)
            self._release(begun)
            raise
        self._controller.run = self.ask
        self._controller.count_stops = partial(self._load, Word.STOPS)

    def close(self, *, stop: bool = False, limit: float = 5.0) -> bool:
        """
        End serving; return whether the thread has ended. Nothing is released before it has.

        :param stop: the robot is stopped first, unless nothing is sent any more.
        :param limit: s to wait at most.
        """
        if os.getpid() != self._pid:  # the thread is not here, and what it uses is not ours
            return False
        if not self._end_thread(STOP_AND_END if stop else ENDED, limit):
            return False
        with self._ending:  # another thread may end it, too
            if self in running:
                self._release(len(self._callbacks))
        return True

    def _end_thread(self, how: int, limit: float | None = None) -> bool:
        """Have the thread end; return whether it has. Who says first how it ends is right."""
        with self._ending:
            if self._load(Word.END) == RUN:
                self._store(Word.END, how)
        rcl.post_to(self._io.wake)
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join(limit)
            if self._thread.is_alive():
                return False
        if self._answering is not None:
            rcl.post_to(self._io.respond)
            self._answering.join(limit)
            return not self._answering.is_alive()
        return True

    def _release(self, count: int) -> None:
        """Clear the first callbacks, and give up what nobody uses any more."""
        for kind, handle, _ in self._callbacks[:count]:
            rcl.set_callback(kind, handle, 0, 0)
        running.discard(self)
        rcl.release(self._io.message)

    @property
    def ended(self) -> bool:
        """Return whether the loop serves nobody any more."""
        return self._load(Word.FINISHED) != 0

    # -- requests -----------------------------------------------------------------------------

    def ask(self) -> None:
        """
        Have the event of the controller happen, and wait until it has.

        :raises LoopSilent: if no answer comes.
        :raises Outdated: if it is a trajectory that begins where the reference was some time ago.
        """
        self._request(int(self._controller.u.kind))

    def look(self) -> None:
        """
        Let the controller see its present state.

        :raises LoopSilent: if no answer comes.
        """
        self._request(NOTHING)

    def _request(self, kind: int) -> None:
        controller, box = self._controller, self._box
        ask = box.kind
        self._await_answer()  # of a request that was given up
        ask[Ask.KIND], ask[Ask.MADE] = kind, controller.u.now
        ask[Ask.STOPS], ask[Ask.LATE] = controller.stops_before, controller.may_be_late
        ask[Ask.PARAMETERS], ask[Ask.PIECES] = kind == Kind.PARAMETERS, controller.feeder.changed
        snapshots = controller.snapshots
        ask[Ask.DIVIDER] = snapshots.divider if snapshots.wanted else 0.0
        box.given_u[:] = controller.u.memory
        if ask[Ask.PARAMETERS]:
            box.given_p[:] = controller.p.memory
        if ask[Ask.PIECES]:
            box.given_ring[:] = controller.ring.memory
        self._post()
        rcl.post_to(self._io.wake)
        self._await_answer()
        controller.u.now, controller.u.steady = ask[Ask.NOW], ask[Ask.STEADY]
        controller.y.memory[:] = box.seen_y
        # Memoryviews are copied under the interpreter's lock: no thread sees half of it.
        to, seen = memoryview(controller.x.memory), memoryview(box.seen_x)
        for begin, end in box.parts.astype(int).tolist():
            to[begin:end] = seen[begin:end]
        if ask[Ask.OUTDATED]:  # it is made anew of the state that was seen just now
            raise Outdated
        if ask[Ask.PIECES]:
            controller.feeder.changed = False

    def _await_answer(self) -> None:
        while True:
            self._look_for_answer()
            if self._found[0]:
                return
            if self.ended or not rcl.wait_for(self._io.answer, _ANSWER_LIMIT):
                raise LoopSilent('the control loop does not answer' if not self.ended else
                                 'the control loop has ended')

    # -- what the loop says -------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """
        Wait until the loop has something to say, or somebody calls ``wake``.

        :param seconds: at most.
        """
        rcl.wait_for(self._io.heed, seconds)
        rcl.drain(self._io.heed)  # one look is enough for all that was said

    def wake(self) -> None:
        """End a wait; from any thread."""
        rcl.post_to(self._io.heed)

    def stop(self) -> None:
        """Stop the robot because the process ends, without a request; from any thread."""
        self._store(Word.STOP, 1)
        rcl.post_to(self._io.wake)

    def beat(self) -> None:
        """Say that the program around the loop works."""
        self.words.add(Word.ALIVE // 8, 1)

    def set_starting(self, starting: Starting) -> None:
        """
        Say what ~/stop would cancel.

        :param starting: a start that waits.
        """
        self._store(Word.STARTING, starting)

    def count(self, word: Word) -> int:
        """
        Return one of the loop's counts.

        :param word: which one.
        """
        return self._load(word)

    def read(self) -> None:
        """Hand over to the controller what was said since the last time."""
        controller = self._controller
        if self._load(Word.UNREADABLE):
            controller.intake.unreadable = (
                f'{self._load(Word.UNREADABLE_SIZE)} bytes that are not a sensor_msgs/JointState')
        rows = [row.tolist() for row in self._word]
        if rows:
            controller.events.extend(controller.speaker.sentences(rows))
        if (lost := self._word.lost()) > self._lost:
            controller.events.append(('warning', (
                f'{lost - self._lost} sentences of the control loop were lost: the program around '
                'it has not listened for too long; faults are kept in any case')))
            self._lost = lost
        for row in self._snapshot:
            self._noted.memory[:] = row
            controller.snapshots.kept.append(Snapshot.of(self._noted))
        number = self._load(Word.NEWS)
        if number != self._load(Word.NEWS_READ):
            source, defect, names, big, size = self._said.names_of
            controller.intake.learn(int(source), defect, int(names), big,
                                    bytes(self._said.names[:int(size)]))
            self._store(Word.NEWS_READ, number)

    def _load(self, word: Word) -> int:
        return self.words.load(word // 8)

    def _store(self, word: Word, value: int) -> None:
        self.words.store(word // 8, value)


class _Rows:
    """
    The rows that wait in a ring.

    :param words: of the ring.
    :param rows: its memory.
    """

    def __init__(self, words: Bytes, rows: Matrix) -> None:
        self._row, self._found = np.zeros(rows.shape[1]), np.zeros(1)
        self._pop = procedure.bind(pop_row, words, rows, self._row, self._found)
        self._count_lost = procedure.bind(lost_rows, words, self._found)

    def lost(self) -> int:
        """Return how many found no room."""
        self._count_lost()
        return int(self._found[0])

    def __iter__(self) -> Iterator[Vector]:
        """Take them out."""
        while True:
            self._pop()
            if not self._found[0]:
                return
            yield self._row.copy()


def _arrays(given: object) -> Iterator[Array]:
    """Find the arrays of what a procedure works on."""
    if isinstance(given, np.ndarray):
        yield given
    elif isinstance(given, Record):
        yield given.memory
    elif isinstance(given, tuple):
        for each in given:
            yield from _arrays(each)


def _stop_all() -> None:
    """Stop every robot before the interpreter ends, and what machine code uses with it."""
    for loop in list(running):
        loop.close(stop=True)


def _forget_all() -> None:
    """Forget the loops of the parent in the child of a fork: their threads are not there."""
    running.clear()


os.register_at_fork(after_in_child=_forget_all)
