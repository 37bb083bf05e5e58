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
"""What the dashboard says and sends: shapes of numbers, words, and nothing without permission."""

import time
from types import SimpleNamespace
from unittest.mock import MagicMock

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from isolation import own_domain
import numpy as np
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.operator import Operator, outcome
from rbd_ros.nodes.dashboard.page import by_hand, Page
from rbd_ros.nodes.dashboard.telemetry import Telemetry
from rbd_ros.view.figures import bars, ellipsoid, quaternion
from rbd_ros.view.scene import link_poses
import rclpy
from rclpy.task import Future
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

MODEL = rbd_ros.load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))


@pytest.fixture(scope='module')
def node():
    """Give a node in a domain of its own."""
    with own_domain():
        rclpy.init()
        node = rclpy.create_node('test')
        yield node
        node.destroy_node()
        rclpy.shutdown()


def supervisor(level=DiagnosticStatus.OK, text='running'):
    """Return what the controller reports once per second."""
    latency = KeyValue(key='latency median [ms]', value='0.42')
    return DiagnosticArray(status=[
        DiagnosticStatus(level=level, name='controller: supervisor', message=text),
        DiagnosticStatus(level=DiagnosticStatus.OK, name='controller: joint states',
                         values=[latency])])


def test_words_follow_what_is_heard(node, monkeypatch):
    """No states, no controller, a controller, a fault, a vanished controller: each is named."""
    telemetry = Telemetry(node, 'controller')
    assert 'No joint states' in telemetry.words()
    names = list(MODEL.joint_names)
    telemetry.on_states(JointState(name=names, position=[0.1] * 7, effort=[1.0] * 7))
    assert 'No controller yet' in telemetry.words()
    telemetry.on_diagnostics(supervisor(DiagnosticStatus.ERROR, 'holding'))
    telemetry.state, telemetry.mode, telemetry.fault = 'holding', 'hold', 'stop requested'
    words = telemetry.words()
    assert 'State **holding**, mode **hold**' in words
    assert 'Fault: stop requested' in words
    assert 'Error: controller: supervisor: holding' in words
    assert telemetry.latency.arrays()[1].tolist() == [0.42]
    late = time.monotonic() + 4.0
    monkeypatch.setattr(time, 'monotonic', lambda: late)
    assert 'No joint states' in telemetry.words()
    telemetry.on_states(JointState(name=names, position=[0.1] * 7))
    assert 'The controller has vanished' in telemetry.words()
    assert '4 s' in telemetry.words()


def test_positions_come_by_name(node):
    """Names, not places, decide; one unknown joint and there is no position."""
    telemetry = Telemetry(node, 'controller')
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


def page(node, frame):
    """Return a page without a server, and what it hears."""
    telemetry = Telemetry(node, 'controller')
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    urdf = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()
    return Page(MagicMock(), MODEL, urdf, frame, MODEL.joint_names, telemetry, operator), telemetry


def test_a_target_appears_where_the_robot_is(node):
    """Without a position there is no handle: at the origin of the base it would mislead."""
    shown, telemetry = page(node, 'tool0')
    shown._show_gizmo()
    assert shown._gizmo.visible is False
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    shown._show_gizmo()
    assert shown._gizmo.visible is True
    expected, _ = link_poses(MODEL, [0.1] * 7)['tool0']
    np.testing.assert_allclose(shown._gizmo.position, expected, atol=1e-12)


def test_a_frame_that_cannot_move_is_shown_without_an_inertia(node):
    """What has no operational space does not end the page."""
    shown, telemetry = page(node, MODEL.body_names[0])
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    shown.update()
    assert shown._inertia.visible is False and shown._reach.visible is False


def test_numbers_are_those_of_the_controller_before_they_can_be_changed(node):
    """What was not read cannot be changed; what differs by joint is left alone."""
    shown, _ = page(node, 'tool0')
    shown._numbers = {name: SimpleNamespace(value=None, disabled=True, hint='')
                      for name in shown._numbers}
    shown._take({'payload.mass': 1.5, 'stiffness': [400.0, 400.0], 'damping': [10.0, 20.0],
                 'gravity': [0.0, 0.0, 9.81]})
    fields = shown._numbers
    assert (fields['payload.mass'].value, fields['payload.mass'].disabled) == (1.5, False)
    assert (fields['stiffness'].value, fields['stiffness'].disabled) == (400.0, False)
    assert fields['gravity'].value == (0.0, 0.0, 9.81)
    assert fields['damping'].disabled and 'by joint' in fields['damping'].hint


def test_only_a_person_changes_a_value():
    """A value that the program shows is not sent back as a command."""
    done = []
    react = by_hand(lambda: done.append(1))
    react(SimpleNamespace(client=None))
    assert not done
    react(SimpleNamespace(client=object()))
    assert done


def test_a_page_that_only_watches_has_nothing_to_send_with(node):
    """Without permission there is no publisher and no client, and every request is dropped."""
    def endpoints():
        name, space = node.get_name(), node.get_namespace()
        return (len(node.get_publisher_names_and_types_by_node(name, space)),
                len(node.get_client_names_and_types_by_node(name, space)))
    before = endpoints()
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    operator.set('mode', 'hold')
    operator.stop()
    operator.reset()
    operator.pause(True)
    operator.push('tool0', [1.0, 0.0, 0.0])
    operator.target([0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    operator.payload(1.0)
    assert endpoints() == before
    assert 'only watches' in operator.answer


def test_a_service_that_is_not_there_is_named(node):
    """A command that could not be sent is not passed over."""
    operator = Operator(node, 'nobody', 'simulator', allowed=True)
    operator.stop()
    assert operator.answer == 'stop: not sent, nobody/stop does not answer'


def test_what_a_service_answered_is_told():
    """Success, refusal and failure have words of their own."""
    def answered(**fields):
        future = Future()
        future.set_result(Trigger.Response(**fields))
        return outcome(future)
    assert answered(success=True) == 'done'
    assert answered(success=False, message='there is no fault') == 'there is no fault'
    failed = Future()
    failed.set_exception(RuntimeError('gone'))
    assert outcome(failed) == 'gone'


def test_an_ellipsoid_has_the_principal_axes_of_its_matrix():
    """Turned back, the half-axes are the principal values in proportion."""
    R = Rotation.from_euler('zyx', [0.4, 1.2, -0.6]).as_matrix()
    figure = ellipsoid(R @ np.diag([4.0, 2.0, 1.0]) @ R.T, 0.2)
    w, x, y, z = figure.wxyz
    found = Rotation.from_quat([x, y, z, w]).as_matrix()
    assert np.allclose(found @ np.diag(figure.axes) @ found.T,
                       R @ np.diag([0.2, 0.1, 0.05]) @ R.T)
    assert ellipsoid(np.diag([1.0, 0.0, 0.0]), 0.5).axes.count(0.01) == 2
    assert max(ellipsoid(np.zeros((3, 3)), 0.5).axes) == 0.01


def test_quaternions_are_scalar_first_and_turn_child_to_parent():
    """A quarter turn about z takes the child's x axis to the parent's y axis."""
    R = Rotation.from_euler('z', 90, degrees=True).as_matrix()
    assert np.allclose(quaternion(R), [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])


def test_bars_show_sign_share_and_saturation():
    """A negative torque grows to the left; a limit that is reached has its colour."""
    text = bars(['a<b', 'c'], [5.0, -20.0], [10.0, 10.0], [0, 2])
    assert 'a&lt;b' in text
    assert 'left:50.0%;width:25.0%' in text
    assert 'left:0.0%;width:50.0%' in text
    assert text.count('#d6336c') == 1
    assert 'width:0.0%' in bars(['x'], [3.0], [np.inf])
