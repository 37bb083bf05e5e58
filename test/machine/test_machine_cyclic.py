# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A thread that wakes up at even times: what it notes, that it needs no Python, what it means."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import ctypes
from itertools import product
import math
import os
import random
import threading
import time

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, bind_free, Foreign
from rbd_ros.compiler.shared_words import Words
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.machine import cyclic
from rbd_ros.machine.cyclic import Clock, cycle, run_cycles
from rbd_ros.machine.findings import Verdict
from rbd_ros.machine.lateness import ENOUGH, histogram, judge_rate, LOST, Spread, spread_of
from rbd_ros.machine.requests import request_cores

CALL = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)


class Script:
    """A clock of C that wakes its caller up as late as it is told, and interrupts it at times."""

    def __init__(self, start: int, delays: list[int]) -> None:
        self.now, self.delays, self.wakes = start, list(delays), []
        self.interrupted = False
        self.calls = CALL(self.read), CALL(self.sleep)

    def read(self, which: int, at: int, *_: int) -> int:
        """Write the time."""
        assert which == 1
        (ctypes.c_int64 * 2).from_address(at)[:] = divmod(self.now, 10**9)
        return 0

    def sleep(self, which: int, flags: int, at: int, *_: int) -> int:
        """Sleep until a time; every other time a signal comes first."""
        assert (which, flags) == (1, 1)
        self.interrupted = not self.interrupted
        if self.interrupted:
            return 4
        seconds, nanoseconds = (ctypes.c_int64 * 2).from_address(at)
        assert 0 <= nanoseconds < 10**9     # else C refuses it
        self.wakes.append(10**9 * seconds + nanoseconds)
        self.now = max(self.now, self.wakes[-1]) + self.delays.pop(0)
        return 0


def run_script(backend: str, start: int, period: int, delays: list[int],
               ) -> tuple[list[float], int, list[int]]:
    """Return latenesses, cycles left out and times that were slept until."""
    script, shared, late = Script(start, delays), Words(cyclic.WORDS), np.zeros(len(delays))
    shared.store(0, period)
    times = np.zeros((3, 2), np.int64).view(np.uint8)
    clock = Clock(*map(Foreign.of, script.calls), *times)
    call = (bind_free(cycle, clock, shared.memory, late) if backend == 'free' else
            bind(cycle, clock, shared.memory, late, backend=backend))
    call()
    assert shared.load(cyclic.DONE // 8) == len(delays)
    return late.tolist(), shared.load(cyclic.MISSED // 8), script.wakes


@pytest.mark.parametrize('backend', ['python', 'llvm', 'free'])
def test_what_is_noted(backend: str) -> None:
    """Times stay on one grid whatever the delays; a time that is over is left out and counted."""
    rng = random.Random(5)
    for rate, part in product((1.0, 3.0, 997.0, 10000.0), (0, 1, 10**9 - 1)):
        period = round(10**9 / rate)
        start = rng.randrange(10**6) * 10**9 + part
        delays = [rng.choice([0, 1, period // 3, period - 1, period, 7 * period + 5])
                  for _ in range(40)]
        late, missed, wakes = run_script(backend, start, period, delays)
        # the same by whole numbers: each time is the first on the grid after the last wake-up
        times, now, left_out = [start], start, 0
        for delay in delays:
            steps = max(1, (now - times[-1]) // period + 1)
            times.append(times[-1] + period * steps)
            left_out += steps - 1
            now = times[-1] + delay
        left_out += (now - times[-1]) // period     # noted with the last cycle
        assert wakes == times[1:]
        assert missed == left_out > 0
        assert late == [delay * 1e-9 for delay in delays]


def test_it_runs_without_the_lock_of_python() -> None:
    """While another thread keeps the interpreter for itself, the cycles go on."""
    shared, late = Words(cyclic.WORDS), np.zeros(100_000)
    shared.store(0, 10**6)
    library = ctypes.CDLL(None)
    times = np.zeros((3, 2), np.int64).view(np.uint8)
    clock = Clock(Foreign.of(library.clock_gettime), Foreign.of(library.clock_nanosleep), *times)
    thread = threading.Thread(target=bind_free(cycle, clock, shared.memory, late))
    thread.start()
    try:
        while not shared.load(cyclic.DONE // 8):
            time.sleep(0.001)
        before = shared.load(cyclic.DONE // 8)
        ctypes.PyDLL(None).usleep(500_000)      # keeps the lock
        after = shared.load(cyclic.DONE // 8)
    finally:
        shared.store(cyclic.STOP // 8, 1)
        thread.join()
    assert after > before + 10      # of 500
    assert shared.load(cyclic.DONE // 8) < len(late)        # it was told to stop


def test_short_run_on_this_machine() -> None:
    """As many cycles as fit, none woken up early, and what was refused is named."""
    shares: list[float] = []
    begin = time.monotonic()
    found = run_cycles(0.3, 1000.0, priority=40, cores=(), progress=shares.append)
    assert time.monotonic() - begin >= 0.3
    assert len(found.late) == 300 and found.native
    assert (found.late >= 0.0).all() and found.late.max() > 0.0
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert set(found.refused) <= {'priority', 'memory'}


def test_cores_and_priorities_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs all the same, and says what it did not get."""
    monkeypatch.setattr(cyclic, 'request_priority', lambda _: 'Operation not permitted')
    found = run_cycles(0.02, 1000.0, priority=40, cores=(4095,))
    assert len(found.late) == 20 and found.refused == {
        'priority': 'Operation not permitted',
        'cores': 'core 4095 is not there, or not for this process'}


def test_a_thread_stays_where_it_was_or_goes_to_all_cores_that_are_asked_for() -> None:
    """A core that is not there changes nothing, for the thread alone that asks."""
    def ask() -> None:
        for core in before:
            assert request_cores([core]) == '' and os.sched_getaffinity(0) == {core}
            assert request_cores([*before, 4095]).startswith('core 4095 is not there')
            assert os.sched_getaffinity(0) == {core}
        assert request_cores([*before]) == '' and os.sched_getaffinity(0) == before
    before = os.sched_getaffinity(0)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(ask).result()
    assert os.sched_getaffinity(0) == before


def test_without_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python does the same, and it is said."""
    def refused(*_: object) -> None:
        raise OSError('no llvmlite')
    monkeypatch.setattr(cyclic, 'bind_free', refused)
    found = run_cycles(0.02, 1000.0)
    assert not found.native and len(found.late) == 20 and (found.late >= 0.0).all()


def test_it_ends_with_whoever_waits_for_it() -> None:
    """An exception, such as Ctrl-C, in the thread that waits leaves no thread behind."""
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        run_cycles(60.0, 1000.0, progress=interrupt)
    assert not any(thread.name == 'cycles' for thread in threading.enumerate())


def test_spread() -> None:
    """Quantiles are values that were seen: so many of a thousand are not larger."""
    late = np.random.default_rng(2).permutation(np.arange(1.0, 2001.0))
    found = spread_of(late)
    assert found == Spread(2000, 1001.0, 1981.0, 1999.0, 2000.0)
    assert np.count_nonzero(late <= found.p999) >= 0.999 * len(late)
    assert spread_of(np.array([3.0])) == Spread(1, 3.0, 3.0, 3.0, 3.0)


@pytest.mark.parametrize('p99, p999, largest, verdict', [
    (1e-5, 0.25e-3, 1e-3, Verdict.OK), (1e-5, 0.251e-3, 1e-3, Verdict.BETTER),
    (1e-5, 1e-4, 1.01e-3, Verdict.BETTER), (0.25e-3, 1e-2, 5e-2, Verdict.BETTER),
    (0.251e-3, 0.3e-3, 0.3e-3, Verdict.BAD), (1e-5, 1e-5, 0.101, Verdict.BAD)])
def test_rates(p99: float, p999: float, largest: float, verdict: Verdict) -> None:
    """At 1 kHz: a quarter of a period in 99.9 % and a period at most; else gaps; else not."""
    assert judge_rate(Spread(ENOUGH, 1e-6, p99, p999, largest), 1000.0).verdict is verdict
    assert judge_rate(Spread(ENOUGH - 1, 1e-6, p99, p999, largest), 1000.0).verdict is (
        Verdict.UNKNOWN)
    # the same latenesses in units of the period, at any rate
    if largest < LOST / 4:
        times = [4.0 * x for x in (1e-6, p99, p999, largest)]
        assert judge_rate(Spread(ENOUGH, *times), 250.0).verdict is verdict


def test_a_stall_is_as_long_as_the_controller_bears() -> None:
    """What is called lost here is what the controller calls lost by default."""
    assert PARAMETERS['state_timeout'].default == LOST


def test_histogram() -> None:
    """Every cycle is in one row; the largest has the longest bar; nothing is after the last."""
    rng = np.random.default_rng(4)
    late = 1e-9 * np.rint(10.0 ** rng.uniform(2.0, 9.0, 5000))
    rows = histogram(late)
    assert sum(count for _, count, _ in rows) == len(late)
    low = -math.inf
    for words, count, bar in rows[:-1]:
        high = 1e-6 * float(words.removeprefix('up to '))
        assert count == sum(low + 1e-12 < each <= high + 1e-12 for each in late.tolist())
        assert bool(count) == bool(bar) and set(bar) <= {'#'}
        low = high
    assert rows[-1][0] == 'over 50000' and rows[-1][1] == sum(each > 0.05 for each in late)
    assert max(rows, key=lambda row: row[1])[2] == '#' * 40
    assert [row[:2] for row in histogram(np.array([3e-6]))] == [
        ('up to 1', 0), ('up to 2', 0), ('up to 5', 1)]
    assert histogram(np.array([])) == []
