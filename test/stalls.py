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
failed while this process was held up is run again, once, and the terminal says so. A test that
fails without a stall, or fails again, has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
import sys
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


def run_again_after_a_stall(item: pytest.Item) -> bool:
    """Run a test and report it; run it once more if it failed while the machine stalled."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with StallMeter() as meter:
        reports = runtestprotocol(item, log=False)
    if meter.longest > LONG and any(report.failed for report in reports):
        say(item, f'failed, and this process was held up for {meter.longest:.2f} s: run again')
        reports = runtestprotocol(item, log=False)
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def say(item: pytest.Item, text: str) -> None:
    """Write a line to the terminal, whatever is captured; a worker has standard error alone."""
    capture = item.config.pluginmanager.get_plugin('capturemanager')
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        print(f'\n{item.nodeid} {text}', file=sys.stderr, flush=True)
