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

"""Buttons of the dashboard that move the robot: modes, a target, a push, the way home."""

import time
from unittest.mock import MagicMock

from dashboard_page import MODEL, page
import numpy as np
from rbd_ros.nodes.dashboard.simulated import PUSH_DURATION
from rbd_ros.view.scene import link_poses
from sensor_msgs.msg import JointState


def test_a_target_appears_where_the_robot_is(node):
    """Without a position there is no handle: at the origin of the base it would mislead."""
    shown, telemetry = page(node, 'tool0')
    handle = shown._drive._target
    handle.show()
    assert handle._gizmo.visible is False
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    handle.show()
    assert handle._gizmo.visible is True
    expected, _ = link_poses(MODEL, [0.1] * 7)['tool0']
    np.testing.assert_allclose(handle._gizmo.position, expected, atol=1e-12)


def test_a_mode_is_shown_when_it_changes_and_not_before_a_choice_is_read(node, monkeypatch):
    """The page does not undo a choice that nobody has read yet; a refused one it does."""
    shown, telemetry = page(node, 'tool0')
    clock = [time.monotonic()]
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])

    def later(seconds):
        clock[0] += seconds
        shown.update()
        return shown._drive._mode.value
    telemetry.mode = 'hold'
    assert later(1.0) == 'hold'
    shown._drive._mode.value = 'damping'  # chosen in the browser, its callback waits for a thread
    assert later(1.0) == 'damping'
    shown._drive.choose_mode()
    assert later(1.0) == 'damping'
    telemetry.mode = 'damping'
    assert later(1.0) == 'damping'
    telemetry.mode = 'hold'  # set by somebody else
    assert later(1.0) == 'hold'
    shown._drive._mode.value = 'operational_space'
    shown._drive.choose_mode()  # refused
    assert later(1.0) == 'operational_space' and later(1.5) == 'hold'


def test_a_push_lasts_its_time(node, monkeypatch):
    """While it lasts, each picture sends the force that the page shows."""
    shown, _ = page(node, 'link_7')
    simulated, clock = shown._drive._simulated, [float(round(time.monotonic()))]
    simulated._operator = operator = MagicMock()
    simulated._force.value = (15.0, 0.0, 0.0)
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])
    shown.update()
    assert not operator.push.called
    simulated.start_push()
    for _ in range(10):
        shown.update()
        clock[0] += 0.25 * PUSH_DURATION  # no rounding: these are powers of two
    operator.push.assert_called_with('link_7', (15.0, 0.0, 0.0))
    assert operator.push.call_count == 4


def test_the_way_home(node, monkeypatch):
    """The simulator is reset, and the controller as soon as the jump has become its fault."""
    shown, telemetry = page(node, 'tool0')
    simulated, clock = shown._drive._simulated, [float(round(time.monotonic()))]
    simulated._operator = operator = MagicMock(simulated=True)
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])

    def look(state, seconds, fault='it jumped'):
        telemetry.state, telemetry.fault = state, fault
        clock[0] += seconds
        shown.update()
        return operator.reset.call_count
    simulated.start_home()
    assert operator.home.call_count == 1
    assert look('running', 0.25, '') == look('state lost', 0.75) == look('ramping down', 0.5) == 0
    assert look('fault', 0.25) == look('fault', 1.0) == 1
    simulated.start_home()  # a jump so small that it is no fault
    assert look('running', 1.0, '') == look('running', 5.0, '') == look('fault', 1.0) == 1
    simulated.start_home()  # it was stopped, and did not notice
    assert look('holding', 1.0) == 1 and look('holding', 5.0) == 2
    assert simulated._folder.visible is True
    operator.simulated = False  # a twin of a real robot: neither of them is touched
    simulated.start_home()
    assert operator.home.call_count == 3 and look('fault', 1.0) == 2
    operator.simulated = True
    simulated.start_home()
    operator.simulated = False  # the real one appears on the way
    assert look('fault', 1.0) == 2
