# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A thread that sleeps until absolute times and notes how late it wakes up.

It is what a control loop does between two states, without the middleware. Like that loop it is
machine code that runs without the lock of Python: what is measured is the machine.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.language.octets import get_i64, put_i64
from rbd_ros.compiler.language.shared import load_acquire, store_release
from rbd_ros.compiler.procedure import bind, bind_free, Bytes, Foreign, Vector
from rbd_ros.compiler.shared_words import Words
from rbd_ros.machine.requests import (
    request_arrays, request_cores, request_heap, request_priority, request_stack)

__all__ = ['Cycles', 'run_cycles']

#: Of the C library and of Linux.
MONOTONIC, ABSOLUTE, INTERRUPTED = 1, 1, 4
SECOND = 1_000_000_000      # ns
#: Places of what both threads look at: period in ns, whether to stop, cycles done and left out.
PERIOD, STOP, DONE, MISSED = 0, 8, 16, 24
WORDS = 4
#: Places in a time of C.
SECONDS, NANOSECONDS = 0, 8
_POLL = 0.1                 # s between two looks at how far it is


class Clock(NamedTuple):
    """Functions of the C library, and the memory that they are given."""

    read: Foreign
    sleep: Foreign
    now: Bytes
    wake: Bytes
    rest: Bytes


def cycle(clock: Clock, shared: Bytes, late: Vector) -> None:
    """
    Wake up at even times, and note the lateness of each.

    A time that is over before the thread is awake is left out, as in a loop that goes on with the
    newest state.

    :param clock: of the system.
    :param shared: words, see above.
    :param late: s; as many cycles are run as it has places.
    """
    period = load_acquire(shared, PERIOD)
    clock.read(MONOTONIC, clock.now)
    second, nano = get_i64(clock.now, SECONDS), get_i64(clock.now, NANOSECONDS)
    done, missed = 0, 0
    while done < len(late) and load_acquire(shared, STOP) == 0:
        nano += period
        while nano >= SECOND:
            second, nano = second + 1, nano - SECOND
        put_i64(clock.wake, SECONDS, second)
        put_i64(clock.wake, NANOSECONDS, nano)
        while clock.sleep(MONOTONIC, ABSOLUTE, clock.wake, clock.rest) == INTERRUPTED:
            pass
        clock.read(MONOTONIC, clock.now)
        behind = (get_i64(clock.now, SECONDS) - second) * SECOND + (
            get_i64(clock.now, NANOSECONDS) - nano)
        late[done] = behind * 1e-9
        done += 1
        while behind >= period:
            behind -= period
            nano += period
            missed += 1
        store_release(shared, MISSED, missed)
        store_release(shared, DONE, done)


class Cycles(NamedTuple):
    """
    What a run has shown.

    :param late: s, one per cycle.
    :param missed: cycles that were over before the thread was awake.
    :param refused: what the system refused, by name, with its reason.
    :param native: whether it was machine code.
    """

    late: NDArray[np.float64]
    missed: int
    refused: dict[str, str]
    native: bool


def run_cycles(seconds: float, rate: float, *, priority: int = 0, cores: tuple[int, ...] = (),
               progress: Callable[[float], None] = lambda _: None) -> Cycles:
    """
    Run cycles in a thread of their own.

    :param seconds: how long.
    :param rate: Hz, at least 1.
    :param priority: of SCHED_FIFO; 0: none.
    :param cores: that the thread may run on; none given: any.
    :param progress: called now and then with the share that is done, 0 to 1.
    """
    late = np.zeros(max(1, round(seconds * rate)))
    shared = Words(WORDS)
    shared.store(PERIOD // 8, round(SECOND / rate))
    library = ctypes.CDLL(None)
    times = np.zeros((3, 2), np.int64).view(np.uint8)
    clock = Clock(Foreign.of(library.clock_gettime), Foreign.of(library.clock_nanosleep), *times)
    run, native = _bound(clock, shared.memory, late)
    refused: dict[str, str] = {}

    def prepare_and_run() -> None:
        wishes = {'memory': request_stack() or request_heap() or request_arrays([late]),
                  'cores': request_cores(cores) if cores else '',
                  'priority': request_priority(priority) if priority else ''}
        refused.update({name: reason for name, reason in wishes.items() if reason})
        run()
    thread = threading.Thread(target=prepare_and_run, name='cycles', daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL)
            progress(shared.load(DONE // 8) / len(late))
    finally:
        shared.store(STOP // 8, 1)
        thread.join()
    return Cycles(late[:shared.load(DONE // 8)], shared.load(MISSED // 8), refused, native)


def _bound(clock: Clock, shared: Bytes, late: NDArray[np.float64],
           ) -> tuple[Callable[[], None], bool]:
    """Return the loop as machine code, or else as Python; and whether it is machine code."""
    try:
        return bind_free(cycle, clock, shared, late), True
    except OSError:
        return bind(cycle, clock, shared, late, backend='python'), False
