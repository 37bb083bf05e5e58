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

"""What the dashboard hears, and the words and colours in which it tells that."""

import re
import time

from control_msgs.msg import JointTrajectoryControllerState
from dashboard_page import MODEL, page
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.dashboard.status import status_of
from rbd_ros.nodes.dashboard.telemetry import Telemetry
from rbd_ros.nodes.diagnostic_names import JOINT_STATES, LATENCY, RATE, SUPERVISOR
from sensor_msgs.msg import JointState


def supervisor(level=DiagnosticStatus.OK, text='running', name='controller'):
    """Return what the controller reports once per second; test_nodes_diagnostics has its own."""
    measured = [KeyValue(key=LATENCY, value='0.42'), KeyValue(key=RATE, value='499.8')]
    return DiagnosticArray(status=[
        DiagnosticStatus(level=level, name=f'{name}: {SUPERVISOR}', message=text),
        DiagnosticStatus(level=DiagnosticStatus.OK, name=f'{name}: {JOINT_STATES}',
                         values=measured)])


def told(telemetry, commands=True):
    """Return level and words of the status, as they are read."""
    status = status_of(telemetry, commands=commands)
    assert f'class="status {status.level}"' in status.html()
    return status.level, re.sub('<[^>]*>', ' ', status.html()).replace('  ', ' ')


def test_words_follow_what_is_heard(node, monkeypatch):
    """No states, no controller, a controller, a fault, a vanished controller: each is named."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    level, words = told(telemetry)
    assert level == 'fault' and 'No joint states' in words
    names = list(MODEL.joint_names)
    telemetry.on_states(JointState(name=names, position=[0.1] * 7, effort=[1.0] * 7))
    level, words = told(telemetry)
    assert level == 'waiting' and 'No controller yet' in words and 'Fault' not in words
    telemetry.on_diagnostics(supervisor(DiagnosticStatus.ERROR, 'holding'))
    telemetry.state, telemetry.mode, telemetry.fault = 'holding', 'hold', 'a <joint> is fast'
    level, words = told(telemetry)
    assert level == 'fault' and 'State holding , mode hold' in words
    assert 'Fault: a &lt;joint&gt; is fast' in words and 'press Reset' in words
    assert 'Error: controller: supervisor: holding' in words
    assert telemetry.latency.arrays()[1].tolist() == [0.42]
    assert telemetry.rate.arrays()[1].tolist() == [499.8]
    late = time.monotonic() + 4.0
    monkeypatch.setattr(time, 'monotonic', lambda: late)
    assert 'No joint states' in told(telemetry)[1]
    telemetry.on_states(JointState(name=names, position=[0.1] * 7))
    assert 'The controller has vanished' in told(telemetry)[1]
    assert '4 s' in told(telemetry)[1]
    telemetry.on_diagnostics(supervisor(name='left/controller'))  # of another robot
    assert 'The controller has vanished' in told(telemetry)[1]
    assert telemetry.latency.arrays()[1].tolist() == [0.42]


def test_a_controller_without_diagnostics(node, monkeypatch):
    """The plugin of ros2_control is heard by its reports: what it does is told all the same."""
    telemetry = Telemetry(node, 'rbd_controller', 'simulator')
    states = JointState(name=list(MODEL.joint_names), position=[0.1] * 7, effort=[1.0] * 7)
    telemetry.on_states(states)
    telemetry.state, telemetry.mode = 'running', 'hold'
    assert 'No controller yet' in told(telemetry)[1]
    telemetry.on_reference(JointTrajectoryControllerState())
    level, words = told(telemetry)
    assert level == 'good' and 'State running , mode hold' in words
    late = time.monotonic() + 4.0
    monkeypatch.setattr(time, 'monotonic', lambda: late)
    telemetry.on_states(states)
    assert 'The controller has vanished' in told(telemetry)[1]


def test_a_robot_on_its_feet(node):
    """Where no controller is, the node that holds the robot is named, and its troubles are."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))

    def balance(level, text, name='stand: balance'):
        telemetry.on_diagnostics(DiagnosticArray(status=[
            DiagnosticStatus(level=level, name=name, message=text)]))
    balance(DiagnosticStatus.OK, 'stands', 'other/stand: balance')
    assert 'No controller yet' in told(telemetry)[1]
    balance(DiagnosticStatus.OK, 'stands')
    assert told(telemetry) == ('good', told(telemetry)[1]) and 'on its feet' in told(telemetry)[1]
    balance(DiagnosticStatus.ERROR, 'the robot has fallen')
    level, words = told(telemetry)
    assert level == 'fault' and 'Error: stand: balance: the robot has fallen' in words


def heard(node, state, fault='', warning=''):
    """Return what a page hears of a controller in a state."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    telemetry.on_states(JointState(name=['a'], position=[0.1]))
    text = f'{state}: {fault}' if fault else state
    telemetry.on_diagnostics(supervisor(
        DiagnosticStatus.ERROR if fault else DiagnosticStatus.OK, text))
    if warning:
        telemetry.on_diagnostics(DiagnosticArray(status=[DiagnosticStatus(
            level=DiagnosticStatus.WARN, name='controller: torque', message=warning)]))
    telemetry.state, telemetry.mode, telemetry.fault = state, 'hold', fault
    return telemetry


@pytest.mark.parametrize(('state', 'fault', 'level', 'advice'), [
    ('running', '', 'good', ''), ('ramping in', '', 'waiting', 'wait'),
    ('inactive', '', 'waiting', 'activate'),
    ('braking', f'{Cause.OPERATOR_STOP.text}: ~/stop', 'warning', 'being stopped'),
    ('holding', f'{Cause.OPERATOR_STOP.text}: ~/stop', 'warning', 'press Reset to go on'),
    ('holding', Cause.DEAD_MAN.text, 'warning', 'press Reset to go on'),
    ('holding', f'{Cause.OVER_SPEED.text}: joint_2', 'fault', 'cause, then press Reset'),
    ('braking', f'{Cause.OVER_SPEED.text}: joint_2', 'fault', 'being stopped'),
    ('fault', f'{Cause.OPERATOR_STOP.text}: ~/stop; {Cause.STATE_STALE.text}', 'fault', 'Reset')])
def test_a_colour_and_what_to_press_next(node, state, fault, level, advice):
    """A stop that was asked for is no fault, and is not called one; with another cause it is."""
    found, words = told(heard(node, state, fault))
    assert found == level and advice in words and ('Next:' in words) == bool(advice)
    assert ('Fault:' in words) == (level == 'fault')
    assert 'Error' not in words  # said already
    assert 'press' not in told(heard(node, state, fault), commands=False)[1]


def test_a_warning_has_its_colour(node):
    """The controller runs, but something is not as it should be."""
    level, words = told(heard(node, 'running', warning='at the torque limit: joint_4'))
    assert level == 'warning' and 'Warning: controller: torque: at the torque limit' in words


def test_a_joint_that_nobody_publishes_is_where_the_controller_has_it(node):
    """It is read from the parameters; what is published after all counts."""
    shown, telemetry = page(node, 'tool0')
    *names, last = MODEL.joint_names
    telemetry.on_states(JointState(name=names, position=[0.1] * 6))
    shown.update()
    assert telemetry.position(MODEL) is None
    shown._settings.values = {'fixed_positions.joints': [last], 'fixed_positions.values': [0.02]}
    shown._next_slow = 0.0
    shown.update()
    assert telemetry.position(MODEL).tolist() == [0.1] * 6 + [0.02]
    telemetry.on_states(JointState(name=[last], position=[0.3]))
    assert telemetry.position(MODEL).tolist() == [0.1] * 6 + [0.3]


def test_positions_come_by_name(node):
    """Names, not places, decide; one unknown joint and there is no position."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    names = list(reversed(MODEL.joint_names))
    telemetry.on_states(JointState(name=names[1:], position=[float(k) for k in range(1, 7)]))
    assert telemetry.position(MODEL) is None
    telemetry.on_states(JointState(name=names[:1], position=[0.0], velocity=[0.5]))
    assert telemetry.position(MODEL).tolist() == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    assert telemetry.velocity(MODEL).tolist() == [0.0] * 6 + [0.5]
    telemetry.on_states(JointState(name=names[:2], position=[float('nan'), 9.0],
                                   velocity=[float('inf'), 0.0], effort=[float('nan'), 0.0]))
    assert telemetry.position(MODEL).tolist() == [6.0, 5.0, 4.0, 3.0, 2.0, 9.0, 0.0]
    assert telemetry.velocity(MODEL).tolist() == [0.0] * 6 + [0.5]
    assert telemetry.efforts == {names[1]: 0.0}
