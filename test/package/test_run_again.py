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

"""A test of nodes is run again, alone, only if it failed while the machine stalled."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time
import unittest

import pytest
from rbd_env.pace import patient
from stalls import Failures, NEAR, StallMeter, Turns

pytestmark = pytest.mark.slow

TEST = """
from pathlib import Path

def test_it(pytestconfig):
    seen = Path(__file__).with_name('runs')
    runs = len(seen.read_text()) if seen.exists() else 0
    seen.write_text('x' * (runs + 1))
    assert runs >= {passes_from}
"""

CONFTEST = """
import sys
sys.path.insert(0, {folder!r})
from seed_marks import *
import stalls

class Meter(stalls.StallMeter):
    def during(self, start, failure):
        return {stall}

stalls.StallMeter = Meter

def pytest_runtest_protocol(item):
    return stalls.run_again_after_a_stall(item)
"""


def own_room(folder: Path) -> dict[str, str]:
    """Return variables with which a run takes no turns with the launch tests beside us."""
    return {**os.environ, 'TMPDIR': str(folder), 'RBD_ROS_RESULTS': str(folder / 'results.json')}


@pytest.mark.parametrize(('stall', 'passes_from', 'runs', 'code', 'workers'), [
    (0.0, 0, 1, 0, ()), (9.0, 0, 1, 0, ()), (9.0, 1, 2, 0, ()), (9.0, 1, 2, 0, ('-n', '1')),
    (0.04, 1, 1, 1, ()), (9.0, 5, 2, 1, ())])
def test_run_again_after_a_stall(tmp_path: Path, stall: float, passes_from: int, runs: int,
                                 code: int, workers: tuple[str, ...]) -> None:
    """A failure without a stall counts, as does the second one; one after a stall does not."""
    (tmp_path / 'test_it.py').write_text(TEST.format(passes_from=passes_from))
    (tmp_path / 'conftest.py').write_text(
        CONFTEST.format(folder=str(Path(__file__).parents[1] / 'harness'), stall=stall))
    ended = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'xdist', *workers,
         '--rootdir', str(tmp_path), str(tmp_path / 'test_it.py')],
        cwd=tmp_path, capture_output=True, text=True, timeout=patient(120), check=False,
        env={**own_room(tmp_path), 'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1'})
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert len((tmp_path / 'runs').read_text()) == runs
    assert ('run again' in ended.stderr) == (runs == 2)
    assert ('failed (assert 0 >= ' in ended.stderr) == (runs == 2)
    assert ('1 failed' in ended.stdout) == (code == 1)
    kept, = json.loads((tmp_path / 'results.json').read_text()).values()
    assert kept['outcome'] == ('failed' if code else 'repeated' if runs == 2 else 'passed')
    assert ('stood still for 9.00 s' in kept.get('repeated', '')) == (runs == 2)


def test_a_stall_of_the_machine_is_seen() -> None:
    """A meter that could not run says when; a test long after it has nothing to do with it."""
    begin = time.monotonic()
    patience = begin + patient(30.0)
    with StallMeter() as meter:
        seen = 0.0
        while seen < 0.4:  # its interpreter may not have begun, and tells nothing of that time
            assert time.monotonic() < patience
            meter.process.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            meter.process.send_signal(signal.SIGCONT)
            now = time.monotonic()
            seen = meter.during(now, now)
    ended = max(end for _, end in meter.stalls)
    assert 0.4 < meter.during(begin, ended + 2 * NEAR), 'a test that waited long for its failure'
    late = ended + NEAR + 0.01
    assert meter.during(late, late) == meter.during(begin - 2.0, begin - 1.0) == 0.0


def test_holding_the_interpreter_is_no_stall() -> None:
    """What a test does to its own process is no excuse for it."""
    held = ctypes.PyDLL(None).usleep  # does not let other threads run
    for _ in range(50):  # the machine may really stall meanwhile
        with StallMeter() as meter:
            time.sleep(0.1)
            held(400_000)
            now = time.monotonic()
            if not meter.during(now, now):
                return
    pytest.fail('the meter takes the interpreter for the machine')


def test_failures_are_noted_when_they_happen() -> None:
    """Also those of a part of a test; what passes is none. The test is known by its start."""
    class Case(unittest.TestCase):

        def test_nothing(self) -> None:
            pass

        def test_part(self) -> None:
            with self.subTest():
                pass
            with self.subTest():
                self.fail()

    with Failures() as none:
        unittest.TestResult().addSubTest(Case('test_part'), Case('test_part'), None)
    assert none.first == float('inf')
    with Failures() as noted:
        Case('test_nothing').run(unittest.TestResult())
        begin = time.monotonic()
        Case('test_part').run(unittest.TestResult())
        end = time.monotonic()
        Case('test_nothing').run(unittest.TestResult())
    assert begin <= noted.start <= noted.first <= end


LAUNCH_TEST = """
from pathlib import Path
import unittest

from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch_testing.actions import ReadyToTest
import neighbour
import pytest

@pytest.mark.launch_test
def generate_test_description():
    return LaunchDescription([ExecuteProcess(cmd=['sleep', '60']), ReadyToTest()])

class TestIt(unittest.TestCase):
    kept = []

    def test_it(self):
        runs = Path(__file__).with_name('runs')
        self.kept.append(1)
        neighbour.KEPT.append(1)
        self.assertEqual((self.kept, neighbour.KEPT), ([1], [1]))
        first = not runs.exists()
        runs.touch()
        self.assertFalse(first)
"""


def test_second_run_has_nothing_of_the_first(tmp_path: Path) -> None:
    """What the classes and modules of a launch description kept is gone when it runs again."""
    pytest.importorskip('launch_testing', reason='ROS is not sourced')
    (tmp_path / 'test_it.py').write_text(LAUNCH_TEST)
    (tmp_path / 'neighbour.py').write_text('KEPT = []\n')
    (tmp_path / 'conftest.py').write_text(
        CONFTEST.format(folder=str(Path(__file__).parents[1] / 'harness'), stall=9.0))
    ended = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir',
         str(tmp_path), str(tmp_path / 'test_it.py')],
        cwd=tmp_path, capture_output=True, text=True, timeout=patient(120), check=False,
        env={**own_room(tmp_path), 'ROS_LOG_DIR': str(tmp_path)})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert 'run again' in ended.stderr


def is_free(file: Path) -> bool:
    """Return whether nobody has locked a file."""
    with file.open('a') as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_one_alone_waits_for_all_others_and_they_for_it(tmp_path: Path) -> None:
    """Tests share the room; who wants it alone comes in when it is empty, before later ones."""
    turns, order = Turns(tmp_path), []
    inside, leave, wants = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with turns.beside():
            inside.set()
            leave.wait()
            order.append('first')

    def alone() -> None:
        wants.set()
        with turns.alone():
            order.append('alone')

    def later() -> None:
        with turns.beside():
            order.append('later')

    threads = [threading.Thread(target=each, daemon=True) for each in (first, alone, later)]
    threads[0].start()
    inside.wait()
    with Turns(tmp_path).beside():  # beside the first one
        assert not order
    threads[1].start()
    wants.wait()
    door, = tmp_path.glob('*.door')
    end = time.monotonic() + patient(10.0)
    while is_free(door):  # until it waits in there
        assert time.monotonic() < end
        time.sleep(0.01)
    threads[2].start()
    threads[2].join(0.2)
    assert not order
    leave.set()
    for thread in threads:
        thread.join(patient(10.0))
    assert order == ['first', 'alone', 'later']
