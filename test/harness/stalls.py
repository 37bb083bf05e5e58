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

"""
Tests of nodes judge reaction times, which say nothing while the machine stands still.

A small process sleeps for a short time over and over and tells when it woke late. It is not the
test's own: a test that holds its interpreter, or waits for a lock, holds nobody else up. A test
that failed with such a stall since its beginning, or just before, is run again, once, with no
other of its kind beside it; it counts as "repeated", and the terminal and the summary say why.
Since its beginning: a state that came late changes what a controller says, and who waits for
other words fails when patience ends. Its modules are imported anew: what its classes kept of the
first run is gone. A test that fails without a stall, or again, has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
import fcntl
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from _pytest.runner import runtestprotocol
import pytest

#: s of sleep by which stalls are measured
NAP = 0.01

#: s of one stall from which on a reaction proves nothing: below every timeout of the tests, and
#: twenty-five states of the driver
LONG = 0.05

#: s between the end of a stall and the beginning of a test that it may still disturb
NEAR = 3.0

#: What the process runs. The steady clock is one for all processes; it ends with its parent.
_WATCH = f"""
import os, sys, time
parent, before = os.getppid(), time.monotonic()
while os.getppid() == parent:
    time.sleep({NAP})
    now = time.monotonic()
    if now - before - {NAP} > {LONG}:
        print(before, now, flush=True)
    before = now
"""


class StallMeter:
    """Knows when this machine stood still, from a process of its own."""

    def __init__(self) -> None:
        self.stalls: list[tuple[float, float]] = []  # begin and end, s, on the steady clock

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            begin, end = line.split()
            self.stalls.append((float(begin), float(end)))

    def __enter__(self) -> StallMeter:
        self.process = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', _WATCH], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join()

    def during(self, start: float, failure: float) -> float:
        """Return the longest stall of a test, or that ended shortly before it, 0 for none."""
        time.sleep(LONG + 2 * NAP)  # one that stands now is told at its end
        return max((end - begin for begin, end in self.stalls
                    if begin <= failure and start <= end + NEAR), default=0.0)


class Failures:
    """Notes what fails, and when: launch_testing tells only at the end of the whole file."""

    def __init__(self) -> None:
        self.start = time.monotonic()  # of the first test that failed
        self.first = float('inf')
        self._kept: dict[str, Callable[..., None]] = {}

    def _failing(self, method: Callable[..., None]) -> Callable[..., None]:
        def noted(*words: object) -> None:
            if words[-1] is not None:  # a part of a test that passed
                self.first = min(self.first, time.monotonic())
            method(*words)
        return noted

    def _starting(self, method: Callable[..., None]) -> Callable[..., None]:
        def noted(*words: object) -> None:
            if self.first == float('inf'):
                self.start = time.monotonic()
            method(*words)
        return noted

    def __enter__(self) -> Failures:
        for name in ('addError', 'addFailure', 'addSubTest', 'startTest'):
            self._kept[name] = method = getattr(unittest.TestResult, name)
            note = self._starting if name == 'startTest' else self._failing
            setattr(unittest.TestResult, name, note(method))
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self._kept.items():
            setattr(unittest.TestResult, name, method)


class Turns:
    """
    Lets tests of nodes on this machine run beside each other, or one alone.

    Locks on two files: tests share the room, who wants it alone waits in the door until it is
    empty, and nobody passes meanwhile. The system frees them with the process, however it ends.
    """

    def __init__(self, folder: Path | None = None) -> None:
        name = f'rbd_ros_launch_tests_{os.getuid()}'
        self._door, self._room = (
            (folder or Path(tempfile.gettempdir())) / f'{name}.{each}'
            for each in ('door', 'room'))

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Run with others."""
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run when all others have ended, and let none begin before the end."""
        with self._locked(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        with open(self._room, 'a') as room:
            with open(self._door, 'a') as door:
                fcntl.flock(door, fcntl.LOCK_EX)
                fcntl.flock(room, kind)
            yield


def run_again_after_a_stall(item: pytest.Item, following: pytest.Item | None = None) -> bool:
    """
    Run a test and report it; run it once more, alone, if it failed with a stall.

    :param item: the test.
    :param following: the next one, which keeps the fixtures that both share.
    """
    begin = time.monotonic(), time.time()
    hook, turns = item.ihook, Turns()
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    turn = turns.alone() if item.get_closest_marker('alone') else turns.beside()
    with turn, StallMeter() as meter, Failures() as failures:
        reports = runtestprotocol(item, log=False, nextitem=following)
        failed = [report for report in reports if report.failed]
        stall = 0.0
        if failed:  # a plain function fails when its phase ends
            ended = begin[0] + failed[0].stop - begin[1]
            stall = meter.during(failures.start, min(failures.first, ended))
    if stall > LONG:
        reason = f'failed ({last_line(failed[0])}) when the machine stood still for {stall:.2f} s'
        print_line(item, f'{reason}: run again\n{last_output(failed[0])}')
        with turns.alone():
            import_anew(item)
            reports = runtestprotocol(item, log=False, nextitem=following)
        for report in reports:
            report.user_properties.append(('repeated', reason))
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def last_line(report: pytest.TestReport) -> str:
    """Return the line of a failure that says most about it."""
    crash = getattr(report.longrepr, 'reprcrash', None)
    lines = (crash.message if crash else report.longreprtext).strip().splitlines()
    return lines[0][:200] if lines else 'no reason'


def last_output(report: pytest.TestReport, count: int = 40) -> str:
    """Return the failure and the end of what was printed: nothing else is left of this run."""
    rows = (part.splitlines()[-count:] for part in (report.longreprtext, report.capstdout))
    return '\n'.join(f'    {line}' for part in rows for line in part)


def import_anew(item: pytest.Item) -> None:
    """Import the module of a launch description, and its neighbours, as if for the first time."""
    if not hasattr(item, 'test_runs'):  # a plain function: what it needs it gets from fixtures
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, '__file__', None)
        if file and name != 'conftest' and Path(file).parent == item.path.parent:
            del sys.modules[name]
    item.test_runs = next(iter(item.parent.collect())).test_runs


def print_line(item: pytest.Item, text: str) -> None:
    """Write a line to the terminal, whatever is captured; a worker has standard error alone."""
    capture = item.config.pluginmanager.get_plugin('capturemanager')
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        print(f'\n{item.nodeid} {text}', file=sys.stderr, flush=True)
