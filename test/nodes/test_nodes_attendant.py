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

"""When the thread beside the loop says that there is something to announce."""

from types import SimpleNamespace
from unittest.mock import Mock

import controller_rig
import pytest

pytest.importorskip('rclpy', reason='ROS is not sourced')
from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.controller.attendant import Attendant


@pytest.fixture
def rig():
    """Return an attendant whose thread has ended, so that the test looks, and its arm."""
    made = SimpleNamespace(said=Mock(), arm=controller_rig.Arm(ramp_time=0.02), guard=Mock())
    made.attendant = Attendant(made.guard, lambda: (made.arm.time, made.arm.time), Mock(), Mock(),
                               Mock(), made.said)
    assert made.attendant.end(60.0)
    made.attendant.attach(made.arm.controller, Mock(count=lambda _: 0))
    made.arm.controller.events.clear()
    return made


def looked(rig):
    """Look; return how often it was said that there is something."""
    rig.said.reset_mock()
    rig.attendant._look()
    rig.guard.report_exception.assert_not_called()
    return rig.said.call_count


def test_what_comes_up_is_said(rig):
    """A state of the supervisor, and what a request leads to in the same look."""
    assert looked(rig) == 0
    rig.arm.activate()
    rig.arm.run(0.1)
    assert rig.arm.state == 'running'
    assert looked(rig) == 1
    rig.arm.controller.events.clear()
    assert looked(rig) == 0
    rig.arm.controller.post(
        lambda now, steady: rig.arm.controller.events.append(('info', 'done')))
    assert looked(rig) == 1


def test_latched_causes_are_said_once(rig):
    """A further cause changes the text of the fault, whatever else there is to say."""
    rig.arm.activate()
    rig.arm.run(0.1)
    for cause in (Cause.TRACKING, Cause.OVER_SPEED):
        rig.arm.stop(cause, 'too much')
        rig.arm.controller.events.clear()
        assert [looked(rig), looked(rig)] == [1, 0]
