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
Launch tests judge reaction times, which say nothing while their own process cannot run.

A thread sleeps for a short time over and over and notes when it woke late. A launch test that
failed while this process was held up is run again, once, with no other launch test beside it, and
the terminal says so. Its modules are imported anew for it: what its classes kept of the first run
is gone. A test that fails without a stall, or fails again, has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
import fcntl
import os
from pathlib import Path
import sys
import tempfile
import threading
import time

from _pytest.runner import runtestprotocol
import pytest

#: s of sleep by which stalls are measured
NAP = 0.01

#: s of one stall from which on a reaction time proves nothing: below every timeout of the tests
LONG = 0.15


class StallMeter:
    """Measures for how long this process could not run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.longest = 0.0
        self._clock = clock
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)

    def _measure(self) -> None:
        before = self._clock()
        while not self._ended.wait(NAP):
            now = self._clock()
            self.longest = max(self.longest, now - before - NAP)
            before = now

    def __enter__(self) -> StallMeter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


class Turns:
    """
    Lets launch tests of this machine run beside each other, or one alone.

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


def run_again_after_a_stall(item: pytest.Item) -> bool:
    """Run a test and report it; run it once more, alone, if it failed in a stall."""
    hook, turns = item.ihook, Turns()
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    turn = turns.alone() if item.get_closest_marker('alone') else turns.beside()
    with turn, StallMeter() as meter:
        reports = runtestprotocol(item, log=False)
    failed = [report for report in reports if report.failed]
    if meter.longest > LONG and failed:
        print_line(item, f'failed ({last_line(failed[0])}), and this process was held up for '
                   f'{meter.longest:.2f} s: run again\n{last_output(failed[0])}')
        with turns.alone():
            import_anew(item)
            reports = runtestprotocol(item, log=False)
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
