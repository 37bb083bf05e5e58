# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Threads that work on the shares of a batch, and never longer than the call that gave them work.

Shares write into arrays of the caller. Whatever happens to the caller, an error or Ctrl-C at any
moment, no share may run when the call has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import os
from queue import Empty, SimpleQueue
import threading

#: s after which a wait looks again; nothing needs it but a wake-up lost to an interruption
_AGAIN = 0.1


class Batch:
    """
    Tasks of one call, taken by whoever is free.

    :param tasks: what to do.
    """

    def __init__(self, tasks: Sequence[Callable[[], None]]) -> None:
        self._waiting = deque(tasks)
        self._lock = threading.Lock()
        self._running = 0           # helpers that have, or are taking, a task
        self._ended: SimpleQueue[None] = SimpleQueue()
        self.error: BaseException | None = None

    def help(self) -> None:
        """Do tasks until none is left; for the threads of the pool, which nothing interrupts."""
        with self._lock:
            self._running += 1      # first: the caller must never see a task in nobody's hands
        try:
            self.work()
        except BaseException as error:      # for the caller: a helper lives on
            self.error = self.error or error
            self._waiting.clear()
        with self._lock:
            self._running -= 1
        self._ended.put(None)

    def work(self) -> None:
        """Do tasks until none is left."""
        while self._waiting:
            try:
                task = self._waiting.popleft()
            except IndexError:      # another was faster
                return
            task()

    def join(self) -> None:
        """
        Give up tasks that nobody has begun, and wait for the others whatever comes.

        Takes no lock that a helper needs: an interruption could leave it taken.
        """
        interruption: BaseException | None = None
        while self._waiting or self._running:
            try:
                self._waiting.clear()
                self._ended.get(timeout=_AGAIN)
            except Empty:
                continue
            except BaseException as error:      # Ctrl-C again: later
                interruption = error
        if interruption is not None:
            raise interruption


class Pool:
    """Threads that wait for work; the caller does its own share."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Batch] = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()

    def run(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Run all tasks at once and return when the last one has ended."""
        batch = Batch(tasks)
        try:
            self._call_helpers(batch, len(tasks) - 1)
            batch.work()
        finally:
            # A second attempt, for an interruption that arrives just outside of the first.
            try:
                batch.join()
            finally:
                batch.join()
        if batch.error is not None:
            raise batch.error

    def _call_helpers(self, batch: Batch, count: int) -> None:
        with self._lock:
            while self._threads < count:
                try:
                    threading.Thread(target=self._serve, name='rbd_ros batch',
                                     daemon=True).start()
                except RuntimeError:    # no more threads: fewer hands do the same work
                    break
                self._threads += 1
        for _ in range(count):
            self._work.put(batch)

    def _serve(self) -> None:
        while True:
            self._work.get().help()


_pool = Pool()


def run_together(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks at once, one of them in this thread; return when the last one has ended."""
    _pool.run(tasks)


def _forget_threads() -> None:
    """Forget the threads of the parent, which a forked child has not."""
    global _pool
    _pool = Pool()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget_threads)
