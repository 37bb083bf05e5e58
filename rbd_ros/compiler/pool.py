# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Threads that wait for the shares of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import os
from queue import SimpleQueue
import threading


class _Pool:
    """Threads that wait for work; the caller does its own share."""

    def __init__(self) -> None:
        self._work: SimpleQueue = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()

    def run(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Run all tasks at once and return when the last one has ended."""
        with self._lock:
            while self._threads < len(tasks) - 1:
                threading.Thread(target=self._serve, name='rbd_ros batch', daemon=True).start()
                self._threads += 1
        ends = []
        for task in tasks[1:]:
            ended = threading.Lock()
            ended.acquire()
            ends.append(ended)
            self._work.put((task, ended))
        tasks[0]()
        for ended in ends:
            ended.acquire()

    def _serve(self) -> None:
        while True:
            task, ended = self._work.get()
            try:
                task()
            finally:
                ended.release()


_pool = _Pool()


def run_together(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks at once, one of them in this thread; return when the last one has ended."""
    _pool.run(tasks)


def _forget_threads() -> None:
    """Forget the threads of the parent, which a forked child has not."""
    global _pool
    _pool = _Pool()


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget_threads)
