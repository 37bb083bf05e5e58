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

"""What the system and Python do for the loop, in a process of its own, with and without rights."""

from pathlib import Path
import subprocess
import sys

import pytest
from rbd_env.pace import patient

pytest.importorskip('rclpy', reason='ROS is not sourced')
ROOT = Path(__file__).parents[2]


def run(code):
    """Return what a fresh process prints; what it changes ends with it."""
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=patient(60))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_garbage_is_frozen():
    """What is alive when freezing is in no later collection."""
    assert run('import gc\nfrom rbd_ros.nodes.controller.realtime import freeze_garbage\n'
               'freeze_garbage()\nprint(gc.get_freeze_count() > 1000)') == 'True'


def test_switch_interval():
    """A busy thread gives way sooner; zero changes nothing."""
    assert run('import sys\nfrom rbd_ros.nodes.controller.realtime import switch_interval\n'
               'switch_interval(0.0)\nbefore = sys.getswitchinterval()\n'
               'found = switch_interval(0.0007)\n'
               'print(before, sys.getswitchinterval(), found)') == (
        "0.005 0.0007 {'realtime.switch_interval': '0.0007 s'}")


def test_refusals_warn_and_go_on():
    """A processor that is not there is refused with a warning that says so."""
    said = run('from rbd_ros.nodes.controller.realtime import prepare_thread\n'
               'print(prepare_thread(0, 4095, print))').splitlines()
    assert said[0].startswith('realtime.cpu: CPU 4095 refused')
    assert said[0].endswith('continuing without it')
    assert "'realtime.cpu': 'refused" in said[1]


THAW = """
import gc, weakref
from rbd_ros.nodes.controller.realtime import freeze_garbage, thaw_garbage

class Robot:
    pass

robot = Robot()
robot.itself = robot
watched = weakref.ref(robot)
freeze_garbage()
del robot
gc.collect()
before = watched() is not None
thaw_garbage()
print(before, watched() is None)
"""


def test_thawed_garbage_is_released():
    """What was frozen and then forgotten goes when it is thawed, and not before."""
    assert run(THAW) == 'True True'
