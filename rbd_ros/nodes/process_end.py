# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How a process ends: on a signal or an error, and after the controller that depends on it."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import gc
import math
import os
import select
import signal
import socket
import sys
import time
from types import FrameType
from typing import NoReturn
import weakref

__all__ = ['leave', 'ProcessEnd', 'SignalEvent']

#: s without a command after which no controller drives the robot any more
QUIET_TIME = 0.3
#: s to wait at most for a controller that stops: launch escalates after 5 s
MAX_WAIT = 4.3


#: all events
_events: weakref.WeakSet[SignalEvent] = weakref.WeakSet()


def _leave_parent() -> None:
    for event in list(_events):
        event.leave_parent()


os.register_at_fork(after_in_child=_leave_parent)


class SignalEvent:
    """
    An event that handlers of signals set, and for which the main thread waits.

    That of ``threading`` is not made for handlers: while it is set it holds a lock, and a second
    signal, whose handler interrupts the first one, then waits for this lock for ever. A terminal
    that closes sends two. A byte in a pipe needs no lock. The system's handler writes one, too,
    in whichever thread the signal came, so that none is lost between a look and a wait. Nobody
    takes these bytes out: another thread looks at them, too, and needs no Python for that. It is
    a pair of sockets, so that it can. The child of a fork gets a pair of its own: its signals are
    not those of its parent.
    """

    def __init__(self) -> None:
        """Make the pipe."""
        self._set = False
        self._make_pipe()
        _events.add(self)

    def _make_pipe(self) -> None:
        self._ends = socket.socketpair()
        self._read, self._write = (end.fileno() for end in self._ends)
        for end in self._ends:
            end.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)

    def take(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        """
        Have a signal handled; only in the main thread.

        :param number: of the signal.
        :param handler: runs in the main thread, and may be interrupted by another one.
        """
        signal.signal(number, handler)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def leave_parent(self) -> None:
        """Stop sharing the pipe, in the child of a fork."""
        shared, before = self._ends, self._write
        self._make_pipe()
        used = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(self._write if used == before else used, warn_on_full_buffer=False)
        for end in shared:
            end.close()

    def fileno(self) -> int:
        """Return where the numbers of signals wait to be read; other bytes are zeros."""
        return self._read

    def is_set(self) -> bool:
        """Return whether it was set."""
        return self._set

    def set(self) -> None:
        """Set it, from any thread or handler; never waits."""
        self._set = True
        with contextlib.suppress(BlockingIOError):  # full of bytes that nobody has read yet
            os.write(self._write, b'\0')

    def wait(self, seconds: float | None = None) -> bool:
        """
        Wait until it is set.

        :param seconds: at most; None: for ever.
        :returns: whether it is set.
        """
        end = math.inf if seconds is None else time.monotonic() + seconds
        while not self._set:
            left = end - time.monotonic()
            if left <= 0.0:
                break
            # Once there is a byte the event is set, or a handler is about to set it.
            self._poll.poll(None if left == math.inf else math.ceil(1e3 * left))
        return self._set


class ProcessEnd:
    """Why and when the process ends; the main thread waits for it."""

    def __init__(self) -> None:
        self._starting = False
        self.failure = ''
        self._closing = False
        self._event = SignalEvent()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._event.take(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        """End the wait; during the start raise, once: launch repeats the signal of Ctrl-C."""
        first = not self._event.is_set()
        self._event.set()
        if first and self._starting:
            raise KeyboardInterrupt

    def start(self) -> None:
        """
        Begin what may take long: until the first wait, a signal raises.

        :raises KeyboardInterrupt: also for one that has come before.
        """
        self._starting = True
        if self._event.is_set():
            raise KeyboardInterrupt

    def fail(self, text: str) -> None:
        """End because of an error in the control thread."""
        if not self._closing:
            self.failure = text
            self._event.set()

    def close(self) -> None:
        """
        Take no more failures: the control thread is about to be shut down from outside.

        An executor of rclpy that is shut down while its thread waits may raise there, because
        handles have just been destroyed. Ctrl-C arrives twice, from the terminal and from launch:
        once Python has removed our handlers, the second signal would kill the process.
        """
        self._closing = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait(self, seconds: float | None = None) -> bool:
        """
        Wait for a signal or an error.

        :param seconds: at most; None: for ever.
        :returns: whether the process is to end.
        """
        self._starting = False
        return self._event.wait(seconds)

    def wait_for_controller(self, last_command: Callable[[], float],
                            log: Callable[[str], None]) -> None:
        """
        Wait until commands cease: one Ctrl-C reaches controller and driver alike.

        :param last_command: gives the steady time of the last command, s.
        :param log: takes a text for the log.
        """
        end = time.monotonic() + MAX_WAIT
        if not self.failure and time.monotonic() - last_command() < QUIET_TIME:
            log(f'waiting up to {MAX_WAIT:g} s for commands to cease, so that the controller '
                'can stop the robot first')
        while not self.failure and time.monotonic() < min(last_command() + QUIET_TIME, end):
            time.sleep(0.02)


def leave(code: int) -> NoReturn:
    """
    End the process at once, after all nodes have been destroyed.

    The end of the interpreter waits for threads, those of the middleware among them, at times for
    seconds. Nodes that nobody destroyed would look alive to others until their lease expires: what
    a start that was given up has left is collected here.

    :param code: exit code.
    """
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
