# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The thread of Python beside the control loop: it runs requests, and hears what the loop says.

The loop goes on without it, whatever it does. While no robot is configured there is no loop, and
it answers ~/stop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import threading
import time

from rbd_ros.control.controller import Controller
from rbd_ros.control.step.requests import Starting
from rbd_ros.loop.native_loop import LoopSilent, NativeLoop
from rbd_ros.loop.words import Word
from rbd_ros.nodes.callback_guard import Guard

__all__ = ['Attendant', 'REFRESH']

#: s between two looks: at the loop, which says by itself when something has happened; at a
#: trajectory that has more pieces than the loop keeps; and at requests while there is no loop
_PERIOD, _FEEDING, _IDLE = 0.2, 0.02, 0.05

#: s to wait at most for the present state
REFRESH = 1.0

#: s without a look after which the attendant is taken for dead
_LATE = 5.0


class Attendant:
    """
    Serve one loop after another.

    :param guard: handles exceptions.
    :param times: gives control and steady time.
    :param starting: returns what ~/stop would cancel.
    :param stopped: called after requests on ~/stop.
    :param idle: called now and then while there is no loop.
    :param said: called when there is something to announce.
    """

    def __init__(self, guard: Guard, times: Callable[[], tuple[float, float]],
                 starting: Callable[[], Starting], stopped: Callable[[], object],
                 idle: Callable[[], object],
                 said: Callable[[], object] = lambda: None) -> None:
        self._guard, self._times, self._idle = guard, times, idle
        self._starting, self._stopped, self._said = starting, stopped, said
        self._causes = 0.0  # latched, as far as they were announced
        self._served: tuple[Controller, NativeLoop] | None = None
        self._stops = self._unsent = 0
        self._lock = threading.Lock()  # held during a look
        self._ending = threading.Event()
        self._seen = time.monotonic()
        self._thread = threading.Thread(target=self._run, name='attendant', daemon=True)
        self._thread.start()

    def attach(self, controller: Controller, loop: NativeLoop) -> None:
        """
        Begin to serve a loop.

        :param controller: that the loop has taken over.
        :param loop: has started.
        """
        with self._lock:
            self._served, self._stops, self._unsent = (controller, loop), 0, 0
            self._causes = 0.0
            controller.wake, controller.refresh = loop.wake, partial(self._refresh, controller)

    def note_start(self) -> None:
        """Tell the loop at once what ~/stop would cancel; from any thread."""
        with self._lock:  # or a look that has begun before would undo it
            if self._served is not None:
                self._served[1].set_starting(self._starting())

    def detach(self) -> None:
        """Serve it no more; once this returns it is not touched."""
        with self._lock:
            try:
                self._look()
            except Exception:
                self._guard.report_exception('the thread beside the loop')
            finally:
                self._served = None

    def end(self, limit: float) -> bool:
        """
        End the thread; return whether it has ended.

        :param limit: s to wait at most.
        """
        self._ending.set()
        if (served := self._served) is not None:
            served[1].wake()
        self._thread.join(limit)
        return not self._thread.is_alive()

    def _refresh(self, controller: Controller) -> None:
        """
        Wait until a request has run: before it the state is read.

        :raises LoopSilent: if it does not run.
        """
        if threading.current_thread() is not self._thread:
            done = threading.Event()
            controller.post(lambda now, steady: done.set())
            if not done.wait(REFRESH):
                raise LoopSilent('the control loop has not told its present state within '
                                 f'{REFRESH:g} s: what was asked depends on it; try again')

    @property
    def alive(self) -> bool:
        """Return whether it has looked lately."""
        return self._thread.is_alive() and time.monotonic() - self._seen < _LATE

    def _run(self) -> None:
        while not self._ending.is_set():
            served = self._served
            if served is None:
                self._ending.wait(_IDLE)
            else:
                served[1].wait(_FEEDING if served[0].feeder.left else _PERIOD)
            self._seen = time.monotonic()
            with self._lock:
                try:
                    self._look()
                except Exception:
                    self._guard.report_exception('the thread beside the loop')

    def _look(self) -> None:
        """Look once."""
        served = self._served
        if served is None:
            self._idle()
            return
        controller, loop = served
        unsent, self._unsent = self._unsent, loop.count(Word.UNSENT)
        stops = loop.count(Word.STOPS)
        if stops != self._stops:
            self._stops = stops
            self._stopped()
        loop.set_starting(self._starting())
        loop.look()
        loop.read()
        controller.attend()
        _hand_over(controller, loop)
        if controller.requests:
            controller.serve(*self._times())
            _hand_over(controller, loop)  # a trajectory that begins need not wait
        causes = controller.x.command.supervisor.faults.causes
        if controller.events or causes != self._causes:
            self._causes = causes
            self._said()
        if self._unsent != unsent:  # last: the stop for the one before must not wait
            raise RuntimeError('the middleware has not taken a torque')


def _hand_over(controller: Controller, loop: NativeLoop) -> None:
    """Give the loop the pieces of a trajectory for which it has room."""
    if controller.feeder.left:
        controller.feeder.catch_up(controller.u.now)
        while controller.feeder.feed():
            pass
    if controller.feeder.changed:
        loop.look()
