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

import contextlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from unittest.mock import MagicMock
import urllib.request

from control_msgs.msg import JointTrajectoryControllerState
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from isolation import own_domain
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.control.interface.causes import Cause
from rbd_ros.model.collision_shapes import Box
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.arrows import PER_NEWTON
from rbd_ros.nodes.dashboard import node as process, operator as operators
from rbd_ros.nodes.dashboard.adjust import by_hand
from rbd_ros.nodes.dashboard.drawings import MAX_HALF_AXIS
from rbd_ros.nodes.dashboard.operator import Operator, outcome
from rbd_ros.nodes.dashboard.page import Page, problems_text
from rbd_ros.nodes.dashboard.robot_tab import DESCRIPTION_TIMEOUT
from rbd_ros.nodes.dashboard.settings import Settings
from rbd_ros.nodes.dashboard.simulated import PUSH_DURATION
from rbd_ros.nodes.dashboard.status import status_of
from rbd_ros.nodes.dashboard.telemetry import STALE_AFTER, Telemetry
from rbd_ros.nodes.diagnostic_names import JOINT_STATES, LATENCY, RATE, SUPERVISOR
from rbd_ros.nodes.process_end import ProcessEnd
from rbd_ros.nodes.simulator.contacts import arrows, scene_marker
from rbd_ros.sim import ContactForce
from rbd_ros.view.figures import bars, ellipsoid, quaternion
from rbd_ros.view.scene import link_poses, viewpoint
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter
from rclpy.task import Future
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

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


def test_a_floating_base_is_where_its_odometry_says(node):
    """The robot is drawn there, and what belongs to it with it; without, it is at the origin."""
    shown, telemetry = page(node, 'tool0')
    root = shown._drawn._base
    shown.update()
    message = Odometry(child_frame_id='link_1')
    at, turn = message.pose.pose.position, message.pose.pose.orientation
    at.x, at.y, at.z, turn.w = 0.3, -0.2, 0.5, 0.0
    telemetry.on_odometry(message)
    assert telemetry.base is None  # a quaternion of zeros is no orientation
    turn.w = turn.z = np.sqrt(0.5)
    telemetry.on_odometry(message)
    shown._drawn.links['link_1'].position = np.array([0.1, 0.0, 0.15])
    shown._drawn.links['link_1'].wxyz = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    shown.update()
    # the link is turned in the robot as it is in the world: the robot is not turned
    np.testing.assert_allclose(root.position, [0.2, -0.2, 0.35], atol=1e-12)
    np.testing.assert_allclose(root.wxyz, [1.0, 0.0, 0.0, 0.0], atol=1e-12)
    shown._drawn.links['link_1'].wxyz = np.array([1.0, 0.0, 0.0, 0.0])
    telemetry.on_odometry(message)
    shown.update()
    np.testing.assert_allclose(root.position, [0.3, -0.3, 0.35], atol=1e-12)
    np.testing.assert_allclose(root.wxyz, [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], atol=1e-12)


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


def page(node, frame):
    """Return a page without a server, and what it hears."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    urdf = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()
    server = MagicMock()
    for made in (server.scene.add_arrows, server.scene.add_icosphere, server.scene.add_box,
                 server.scene.add_frame, server.scene.add_label, server.gui.add_checkbox):
        made.side_effect = lambda *_, **__: MagicMock()  # one handle for each
    server.gui.add_dropdown.side_effect = lambda label, options, **_: MagicMock(value=options[0])
    settings = Settings(node, 'controller')
    return Page(server, MODEL, urdf, frame, MODEL.joint_names, telemetry, operator,
                settings), telemetry


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


def test_a_frame_that_cannot_move_is_shown_without_an_inertia(node):
    """What has no operational space does not end the page."""
    shown, telemetry = page(node, MODEL.body_names[0])
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    shown.update()
    assert shown._figures.inertia.visible is False and shown._figures.reach.visible is False


def test_ellipsoids_are_those_of_the_position(node):
    """Inertia felt at the frame and reach of J J^T, where the robot is; a condition per look."""
    shown, telemetry = page(node, 'tool0')
    q = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=q.tolist(),
                                   velocity=[0.7] * 7))
    shown._figures._inertia_on.value = shown._figures._reach_on.value = True
    shown.update()
    robot = rbd_ros.Dynamics(MODEL)
    J, H = robot.jacobian(q, 'tool0'), robot.pose(q, 'tool0')
    felt = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.T))
    R = H[:3, :3]
    for found, A in ((shown._figures.inertia, felt[3:, 3:]),
                     (shown._figures.reach, J[3:] @ J[3:].T)):
        expected = ellipsoid(R @ A @ R.T, MAX_HALF_AXIS)
        np.testing.assert_allclose(found.scale, expected.axes, rtol=1e-9)
        np.testing.assert_allclose(found.position, H[:3, 3], atol=1e-12)
        assert abs(np.dot(found.wxyz, expected.wxyz)) == pytest.approx(1.0, abs=1e-9)
        assert found.visible is True
    shown._figures._reach_on.value = False
    shown._figures.show_ellipsoids(q)
    assert shown._figures.inertia.visible is True and shown._figures.reach.visible is False
    conditions = shown._figures.condition.arrays()[1]
    assert len(conditions) == 1 and conditions[0] > 1.0
    shown._figures._frame = MODEL.body_names[0]           # cannot move: nothing to plot
    shown._figures.show_ellipsoids(q)
    shown._figures.record_condition()
    assert len(shown._figures.condition.arrays()[1]) == 1


def test_nothing_is_drawn_before_the_robot_is_somewhere(node):
    """Ellipsoids and arrows wait for a position: at the base they would hide the robot."""
    shown, _ = page(node, 'tool0')
    scene = shown._server.scene
    for made, count in ((scene.add_icosphere, 3), (scene.add_arrows, 3), (scene.add_label, 3)):
        assert made.call_count == count
        assert all(call.kwargs['visible'] is False for call in made.call_args_list)


def test_nothing_is_drawn_for_nobody(node):
    """Without a browser the robot is not posed; it is as soon as one comes."""
    shown, telemetry = page(node, 'tool0')
    shown._server.get_clients.return_value = {}
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.3] * 7))
    shown._drawn = MagicMock(links={})
    shown.update()
    assert shown._drawn.show.call_count == 0
    shown._server.get_clients.return_value = {0: 'a browser'}
    shown.update()
    np.testing.assert_array_equal(shown._drawn.show.call_args.args[0], [0.3] * 7)


def test_a_pivot_is_shown_without_an_inertia(node):
    """The origin of the first link turns and does not move: nothing can be felt there."""
    shown, telemetry = page(node, MODEL.body_names[1])
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    shown.update()
    assert shown._figures.inertia.visible is False and shown._figures.reach.visible is False


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


def test_contact_forces_are_arrows_where_they_act(node, monkeypatch):
    """What the simulator publishes is drawn at its points, as long as the force, until it ends."""
    shown, telemetry = page(node, 'tool0')
    figures = shown._figures
    figures._contacts_on.value = True
    states = JointState(name=list(MODEL.joint_names), position=[0.1] * 7)
    telemetry.on_states(states)
    shown.update()
    assert figures.contacts.visible is False
    forces = [ContactForce(7, 'table', np.array([0.3, 0.1, 0.2]), np.array([0.0, 3.0, 40.0])),
              ContactForce(6, 'table', np.array([0.2, 0.0, 0.2]), np.array([0.0, 0.0, -8.0]))]
    telemetry.on_contacts(arrows(forces, 'base'))
    shown.update()
    assert figures.contacts.visible is True
    np.testing.assert_allclose(figures.contacts.points[:, 0], [f.point for f in forces])
    np.testing.assert_allclose(np.diff(figures.contacts.points, axis=1)[:, 0] / PER_NEWTON,
                               [f.force for f in forces])
    figures._contacts_on.value = False
    shown.update()
    assert figures.contacts.visible is False
    figures._contacts_on.value = True
    late = time.monotonic() + STALE_AFTER + 1.0
    monkeypatch.setattr(time, 'monotonic', lambda: late)
    shown.update()  # the robot stands still: a simulator that pauses, say
    assert figures.contacts.visible is True
    telemetry.on_states(states)  # it moves, and nothing is heard of contacts
    shown.update()
    assert figures.contacts.visible is False
    telemetry.on_contacts(arrows(forces, 'base'))
    telemetry.on_contacts(arrows([], 'base'))
    shown.update()
    assert figures.contacts.visible is False


def test_the_external_force_is_an_arrow_of_the_same_scale(node):
    """It begins at the controlled frame and is turned from its axes to those of the base."""
    shown, telemetry = page(node, 'tool0')
    q = np.linspace(0.1, 0.7, 7)
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=q.tolist()))
    message = WrenchStamped()
    message.wrench.force.y = 20.0
    telemetry.on_wrench(message)
    shown.update()
    p, (w, x, y, z) = link_poses(MODEL, q)['tool0']
    begin, end = shown._figures.force.points[0]
    np.testing.assert_allclose(begin, p, atol=1e-12)
    np.testing.assert_allclose((end - begin) / PER_NEWTON, Rotation.from_quat(
        [x, y, z, w]).apply([0.0, 20.0, 0.0]), atol=1e-9)
    assert shown._figures.force.visible


def test_obstacles_are_drawn_and_replaced(node):
    """A scene that is published anew takes the place of the one before."""
    shown, telemetry = page(node, 'tool0')
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    R = Rotation.from_euler('z', 90, degrees=True).as_matrix()
    table = SimpleNamespace(placed=(Box((0.3, 0.2, 0.1)), R, np.array([0.4, 0.0, 0.2])))
    telemetry.on_scene(MarkerArray(markers=[scene_marker(table, 'base', 0)]))
    shown.update()
    boxes = shown._server.scene.add_box.call_args_list
    [call] = [each for each in boxes if 'obstacle' in each.args[0]]
    assert call.args[2] == (0.3, 0.2, 0.1) and call.kwargs['position'] == (0.4, 0.0, 0.2)
    np.testing.assert_allclose(call.kwargs['wxyz'], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    [handle] = shown._figures._obstacles
    shown.update()
    assert shown._figures._obstacles == [handle] and not handle.remove.called
    telemetry.on_scene(MarkerArray())
    shown.update()
    assert handle.remove.called and shown._figures._obstacles == []


def test_a_robot_of_any_size_fills_the_picture():
    """The camera stands twice as far from a robot that is twice as large."""
    place = viewpoint(MODEL)
    points = np.array([p for p, _ in link_poses(MODEL, np.zeros(7)).values()])
    away = np.linalg.norm(np.subtract(place.eye, place.look))
    assert np.linalg.norm(points - place.look, axis=1).max() < 0.5 * away
    assert place.floor >= 1.0


def adjusted(shown):
    """Return the numbers of a page, with fields that keep what they are given."""
    adjust = shown._adjust
    adjust.fields = {name: SimpleNamespace(value=0.0, disabled=True, hint='', visible=None)
                     for name in adjust.fields}
    adjust._operator = MagicMock()
    return adjust, adjust.fields


def test_numbers_are_those_of_the_controller_before_they_can_be_changed(node):
    """What was not read cannot be changed; what differs by joint is left alone."""
    adjust, fields = adjusted(page(node, 'tool0')[0])
    adjust.take({'payload.mass': 1.5, 'stiffness': [400.0, 400.0], 'damping': [10.0, 20.0],
                 'gravity': [0.0, 0.0, 9.81], 'cartesian_impedance.linear_stiffness': [500.0],
                 'friction.viscous': [1.0]})
    assert (fields['payload.mass'].value, fields['payload.mass'].disabled) == (1.5, False)
    assert (fields['stiffness'].value, fields['stiffness'].disabled) == (400.0, False)
    assert fields['gravity'].value == (0.0, 0.0, 9.81)
    assert fields['cartesian_impedance.linear_stiffness'].value == (500.0, 500.0, 500.0)
    assert fields['damping'].disabled and 'by joint' in fields['damping'].hint
    assert fields['joint_impedance.stiffness'].disabled
    adjust.take({'joint_impedance.stiffness': []})  # made by the controller: it may be given
    spring = fields['joint_impedance.stiffness']
    assert not spring.disabled and spring.value == 0.0 and 'not given' in spring.hint


def test_numbers_are_sent_by_a_button_and_not_by_every_key(node):
    """400 on the way over 4 and 40 sends 400 only; what is being edited is not overwritten."""
    adjust, fields = adjusted(page(node, 'tool0')[0])
    for typed in (4.0, 40.0, 400.0):
        fields['stiffness'].value = typed
        adjust.edit('stiffness')
    fields['gravity'].value = (0.0, 0.0, -1.6)
    adjust.edit('gravity')
    adjust.take({'stiffness': [100.0], 'damping': [10.0], 'gravity': [0.0, 0.0, -9.81]})
    assert fields['stiffness'].value == 400.0 and fields['damping'].value == 10.0
    assert not adjust._operator.set.called
    adjust.send()
    adjust._operator.set.assert_called_once_with(
        {'gravity': [0.0, 0.0, -1.6], 'stiffness': [400.0]})
    adjust.take({'stiffness': [100.0]})  # it was refused: the page shows what holds
    assert fields['stiffness'].value == 100.0
    adjust.send()
    assert adjust._operator.set.call_count == 1


def test_a_mode_with_springs_has_its_numbers_in_their_units(node):
    """Each mode shows its own; what was typed for another one is not sent with them."""
    adjust, fields = adjusted(page(node, 'tool0')[0])

    def shown(mode):
        adjust.show(mode)
        return {name for name, field in fields.items() if field.visible}
    always = {'payload.mass', 'gravity'}
    assert shown('hold') == always | {'stiffness', 'damping'}
    fields['stiffness'].value = 7.0
    adjust.edit('stiffness')
    assert shown('joint_impedance') == always | {'joint_impedance.stiffness',
                                                 'joint_impedance.damping'}
    fields['joint_impedance.damping'].value = 2.0
    adjust.edit('joint_impedance.damping')
    adjust.send()
    adjust._operator.set.assert_called_once_with({'joint_impedance.damping': [2.0]})
    assert shown('cartesian_impedance') == always | {
        f'cartesian_impedance.{name}' for name in
        ('linear_stiffness', 'angular_stiffness', 'damping_ratio', 'linear_damping',
         'angular_damping')}
    fields['cartesian_impedance.linear_stiffness'].value = (800, 800, 200)
    fields['cartesian_impedance.damping_ratio'].value = 1
    adjust.edit('cartesian_impedance.linear_stiffness')
    adjust.edit('cartesian_impedance.damping_ratio')
    adjust.send()
    adjust._operator.set.assert_called_with({
        'cartesian_impedance.damping_ratio': 1.0,
        'cartesian_impedance.linear_stiffness': [800.0, 800.0, 200.0]})


def test_only_a_person_changes_a_value():
    """A value that the program shows is not sent back as a command."""
    done = []
    react = by_hand(lambda: done.append(1))
    react(SimpleNamespace(client=None))
    assert not done
    react(SimpleNamespace(client=object()))
    assert done


def test_a_page_that_only_watches_has_nothing_to_send_with(dashboard):
    """It has no publisher; its only client asks for parameters, and every request is dropped."""
    node = dashboard()

    def endpoints():
        return ([each.topic_name for each in node.publishers],
                sorted(each.srv_name for each in node.clients))
    quiet, _ = endpoints()
    node.tabs[0]._on_description(String(data=find_resource(
        'package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()))
    node.update()
    assert node.tabs[0].page is not None
    before = endpoints()
    assert before == (quiet, ['controller/get_parameters'])
    assert {topic.rsplit('/')[-1] for topic in quiet} <= {'rosout', 'parameter_events'}
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    operator.set({'mode': 'hold'})
    operator.stop()
    operator.reset()
    operator.pause(True)
    operator.push('tool0', [1.0, 0.0, 0.0])
    operator.target([0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    assert endpoints() == before
    assert 'only watches' in operator.answer


def test_a_service_that_is_not_there_is_named(node):
    """A command that could not be sent is not passed over."""
    operator = Operator(node, 'nobody', 'simulator', allowed=True)
    operator.stop()
    assert operator.answer == 'stop: not sent, nobody/stop does not answer'


def test_answers_that_never_come_are_given_up(node, monkeypatch):
    """Requests that nobody answers do not pile up, and the page says what became of them."""
    service = node.create_service(Trigger, 'deaf/stop', lambda request, response: response)
    operator = Operator(node, 'deaf', 'simulator', allowed=True)
    client = operator._stop
    assert client.wait_for_service(20.0)  # nobody spins: nothing is answered
    for _ in range(2 * operators.MAX_PENDING):
        operator.stop()
    assert len(client._pending_requests) == len(operator._sent) == operators.MAX_PENDING
    assert operator.answer == 'stop: sent'
    late = time.monotonic() + operators.ANSWER_TIMEOUT + 1.0
    monkeypatch.setattr(time, 'monotonic', lambda: late)
    operator.expire()
    assert not client._pending_requests and not operator._sent
    assert operator.answer == 'stop: no answer from deaf/stop'
    node.destroy_service(service)


class Client:
    """A service that answers when it is told to."""

    def __init__(self, name):
        self.srv_name, self.asked = name, []

    def service_is_ready(self):
        """Return that it is there."""
        return True

    def call_async(self, request):
        """Keep the request; return what will hold the answer."""
        self.asked.append((request, Future()))
        return self.asked[-1][1]


def test_what_an_operator_sends():
    """Each button asks its own service; the words say what was asked, and the answer."""
    sent, made = {}, {}
    node = SimpleNamespace(
        create_publisher=lambda kind, topic, qos: SimpleNamespace(
            publish=lambda message: sent.setdefault(topic, []).append(message)),
        create_client=lambda kind, name: made.setdefault(name, Client(name)))
    operator = Operator(node, '/arm', '/sim', allowed=True)

    def asked(name, words):
        assert operator.answer == f'{words}: sent'
        request, future = made[name].asked[-1]
        return request, future
    operator.stop()
    asked('/arm/stop', 'stop')[1].set_result(Trigger.Response(success=True, message='braking'))
    assert operator.answer == 'stop: braking'
    operator.reset()
    asked('/arm/reset', 'reset')
    operator.home()
    asked('/sim/reset', 'back to the start pose')
    operator.pause(True)
    assert asked('/sim/pause', 'pause')[0].data is True
    operator.pause(False)
    assert asked('/sim/pause', 'continue')[0].data is False
    operator.set({'mode': 'hold', 'damping': [1.0, 2.5]})
    request, future = asked('/arm/set_parameters', 'mode hold, damping 1, 2.5')
    assert [(p.name, p.value.string_value or list(p.value.double_array_value))
            for p in request.parameters] == [('mode', 'hold'), ('damping', [1.0, 2.5])]
    future.set_result(SetParameters.Response(results=[
        SetParametersResult(successful=True), SetParametersResult(reason='too much')]))
    assert operator.answer == 'mode hold, damping 1, 2.5: refused: too much'
    operator.push('tool0', [1, 2, 3])
    message, = sent['/sim/wrench']
    force = message.wrench.force
    assert (message.header.frame_id, force.x, force.y, force.z) == ('tool0', 1.0, 2.0, 3.0)


def test_values_are_read_by_name(monkeypatch):
    """Answers come in the order of the question; an error takes nothing, and says nothing."""
    clock = [100.0]
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])
    client = Client('/arm/get_parameters')
    settings = Settings(SimpleNamespace(create_client=lambda *_: client), '/arm')

    def answered(k, *values):
        request, future = client.asked[k]
        future.set_result(SimpleNamespace(values=[
            Parameter(name, value=value).get_parameter_value()
            for name, value in zip(request.names, values, strict=False)]))
    settings.refresh()
    asked = [list(request.names) for request, _ in client.asked]
    assert asked[0] == ['payload.mass', 'stiffness', 'damping', 'gravity'] and len(asked) == 3
    answered(0, 2.5, [1.0, 2.0], [3.0], [0.0, 0.0, -9.81])
    expected = {'payload.mass': 2.5, 'stiffness': [1.0, 2.0], 'damping': [3.0],
                'gravity': [0.0, 0.0, -9.81]}
    assert settings.values == expected
    answered(1)  # a controller that does not know one of the names: it is not asked again
    client.asked[2][1].set_exception(RuntimeError('gone'))
    settings.refresh()
    assert len(client.asked) == 3 and settings.values == expected
    clock[0] += 2.1
    settings.refresh()
    assert [list(request.names) for request, _ in client.asked[3:]] == [asked[0], asked[2]]
    clock[0] += 2.1
    settings.refresh()
    assert len(client.asked) == 5  # both are waited for, and then given up
    clock[0] += 3.0
    dropped = []
    client.remove_pending_request = dropped.append
    client.service_is_ready = lambda: False
    settings.refresh()
    assert len(dropped) == 2 and len(client.asked) == 5
    clock[0] += 2.1
    client.service_is_ready = lambda: True  # another one, perhaps
    settings.refresh()
    assert [list(request.names) for request, _ in client.asked[5:]] == asked
    settings.postpone()
    for k in (5, 6, 7):
        answered(k)
    clock[0] += 1.9
    settings.refresh()
    assert len(client.asked) == 8


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


def test_an_interrupted_process_ends_with_zero(monkeypatch):
    """What an executor raises because it is shut down under its thread is no failure."""
    raised = threading.Event()

    class Torn:

        def __init__(self):
            self.over = threading.Event()

        def add_node(self, node):
            pass

        def spin(self):
            self.over.wait()
            if not raised.is_set():
                raised.set()
                raise RuntimeError('cannot use Destroyable because destruction was requested')

        def shutdown(self, timeout_sec):
            self.over.set()
            assert raised.wait(patient(10.0))
            time.sleep(0.05)  # until the thread has reported

    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    ending = ProcessEnd()
    shown = MagicMock(problem='')
    shown.update.side_effect = lambda: ending._on_signal()
    waits, wait = [], ending.wait
    monkeypatch.setattr(ending, 'wait', lambda seconds: (waits.append(seconds), wait(seconds))[1])
    for name, value in {'ProcessEnd': lambda: ending, 'initialise': lambda args: None,
                        'Dashboard': lambda: shown, 'make_executor': lambda kind: Torn(),
                        'kind_that_works': lambda kind, _: kind,
                        'rclpy': MagicMock()}.items():
        monkeypatch.setattr(process, name, value)
    assert process.main([]) == 0 and raised.is_set()
    assert waits == [0.04, 0.04]         # 25 pictures per second


def test_an_end_is_taken_once(monkeypatch):
    """The second signal of launch does not interrupt the end that the first one began."""
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    ending = ProcessEnd()
    ending.start()
    with pytest.raises(KeyboardInterrupt):
        ending._on_signal()
    ending._on_signal()
    assert ending.wait()
    set_to = []
    monkeypatch.setattr(signal, 'signal', lambda *given: set_to.append(given))
    ending.fail('lost')
    ending.close()
    ending.fail('torn down')
    assert ending.failure == 'lost'
    assert set_to == [(signal.SIGINT, signal.SIG_IGN)]  # Python itself takes no part any more


def test_a_signal_before_the_start(monkeypatch):
    """One that comes while handlers are set raises where the start can be given up, no sooner."""
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    ending = ProcessEnd()
    ending._on_signal()
    with pytest.raises(KeyboardInterrupt):
        ending.start()


@pytest.fixture
def handlers():
    """Give the signals back to those who had them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    waker = signal.set_wakeup_fd(-1)
    yield
    signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError):  # what an earlier test set may be closed by now
        signal.set_wakeup_fd(waker)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_interrupt_each_other(handlers):
    """A second signal may come at any line of a handler, as when a terminal closes."""
    ending = ProcessEnd()
    places = set()

    def trace(frame, event, _):
        place = frame.f_code, frame.f_lineno
        if event == 'line' and place not in places:
            places.add(place)
            signal.raise_signal(signal.SIGHUP)
        return trace
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        sys.settrace(before)
    assert ending.wait(0.0)
    assert len({code for code, _ in places}) > 1  # the handler, and what it calls


def test_a_signal_in_another_thread_ends_the_wait(handlers):
    """The system may give a signal to any thread; the main thread must not sleep on."""
    ending = ProcessEnd()
    began = threading.Event()

    def take():
        began.wait()
        time.sleep(0.05)  # the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGHUP)
    taker = threading.Thread(target=take)
    taker.start()
    began.set()
    assert not ending.wait(0.001)
    assert ending.wait(patient(10.0))
    taker.join()


@pytest.mark.parametrize(('file', 'code'), [('good', 0), ('bad', 1)])
def test_the_process_ends_after_two_signals(node, file, code, tmp_path):
    """Ctrl-C reaches it from the terminal and from launch; a bad robot is reported and counts."""
    urdf = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
    if file == 'bad':
        urdf = tmp_path / 'bad.urdf'
        urdf.write_text('<robot name="r"><link name="a"/><link name="b"/></robot>')
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, '-m', 'rbd_ros.nodes.dashboard.node', '--ros-args', '-p',
         f'port:={port}', '-p', f'robot_description_file:={urdf}'], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    try:
        assert f'open http://127.0.0.1:{port}' in running.stdout.readline()
        page = urllib.request.urlopen(f'http://127.0.0.1:{port}', timeout=patient(60))
        assert page.status == 200
        if file == 'bad':
            assert '2 links are the child of no joint' in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        words, _ = running.communicate(timeout=patient(60.0))
    finally:
        running.kill()
    assert running.returncode == code, words
    assert 'Traceback' not in words and ('2 links' in words) == (file == 'bad')


def test_of_many_missing_meshes_some_are_named():
    """The page is not filled with them."""
    text = problems_text([f'link_{k}: no mesh file' for k in range(8)])
    assert 'link_4' in text and 'link_5' not in text and 'and 3 more' in text
    assert 'more' not in problems_text(['link_0: no mesh file'])
    assert '//' not in problems_text(['link_0: no mesh file "package://a/b"'])  # can be broken


@pytest.fixture
def dashboard(node, monkeypatch):
    """Give a function that makes the node with parameters, without a server."""
    monkeypatch.setattr(process, 'start_server', lambda host, port, **_: MagicMock())
    made = []

    def make(**parameters):
        monkeypatch.setattr(process, 'PARAMETERS', {
            name: (parameters.get(name, value), text)
            for name, (value, text) in process.PARAMETERS.items()})
        made.append(process.Dashboard())
        made[-1].open()
        return made[-1]
    yield make
    for each in made:
        each.destroy_node()


def test_a_bad_robot_is_a_message_on_the_page_until_a_good_one_comes(dashboard):
    """Whoever opens the page reads what is wrong; the process does not end."""
    node = dashboard()
    [tab] = node.tabs
    node.update()
    assert 'cannot' not in str(tab._notice.content)
    tab._begin -= DESCRIPTION_TIMEOUT + 1.0
    node.update()
    assert 'No robot yet' in tab._notice.content
    tab._on_description(String(data='<robot name="r"><link name="a"/><link name="b"/></robot>'))
    node.update()
    assert 'cannot be shown' in tab._notice.content and node.problem
    assert tab.page is None
    tab._on_description(String(data=find_resource(
        'package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()))
    node.update()
    assert tab.page is not None and not node.problem and tab._notice.visible is False
    assert not tab._notice.remove.called  # a browser that opens late would be sent its update


def test_meshes_are_searched_beside_the_file_of_the_robot(dashboard, tmp_path):
    """A path counts from the file; what is not there is named."""
    (tmp_path / 'ball.obj').write_text(
        'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n')
    link = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
            'ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="{}"/></geometry>'
            '</visual></link>')
    (tmp_path / 'robot.urdf').write_text(
        '<robot name="r">' + link.format('a', 'ball.obj') + link.format('b', 'gone.obj')
        + '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 1 0"/></joint></robot>')
    node = dashboard(robot_description_file=str(tmp_path / 'robot.urdf'))
    node.update()
    assert node.tabs[0].page._drawn.problems == ['b: mesh file "gone.obj" not found']


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
