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

"""What the dashboard draws: the robot, ellipsoids, forces and obstacles, each where it is."""

import time
from types import SimpleNamespace
from unittest.mock import MagicMock

from dashboard_page import MODEL, page
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
import rbd_ros
from rbd_ros.model.collision_shapes import Box
from rbd_ros.nodes.arrows import PER_NEWTON
from rbd_ros.nodes.dashboard.drawings import MAX_HALF_AXIS
from rbd_ros.nodes.dashboard.telemetry import STALE_AFTER
from rbd_ros.nodes.simulator.contacts import arrows, scene_marker
from rbd_ros.sim import ContactForce
from rbd_ros.view.figures import ellipsoid
from rbd_ros.view.scene import link_poses
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray


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


def test_a_frame_that_cannot_move_is_shown_without_an_inertia(node):
    """What has no operational space does not end the page."""
    shown, telemetry = page(node, MODEL.body_names[0])
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    shown.update()
    assert shown._figures.inertia.visible is False and shown._figures.reach.visible is False


def test_a_pivot_is_shown_without_an_inertia(node):
    """The origin of the first link turns and does not move: nothing can be felt there."""
    shown, telemetry = page(node, MODEL.body_names[1])
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=[0.1] * 7))
    shown.update()
    assert shown._figures.inertia.visible is False and shown._figures.reach.visible is False


def drawn_matrix(axes, wxyz):
    """Return the symmetric matrix with half-axes as principal values, turned by a quaternion."""
    w, x, y, z = wxyz
    R = Rotation.from_quat([x, y, z, w]).as_matrix()
    return R @ np.diag(axes) @ R.T


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
        # the sign of a principal axis is left to LAPACK: compare what is seen
        np.testing.assert_allclose(drawn_matrix(found.scale, found.wxyz),
                                   drawn_matrix(*expected), atol=1e-9)
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
    assert shown._figures.force.visible
    for frame, values in (('tool0', {}), ('link_4', {'task.frame': 'link_4'}),
                          ('tool0', {'task.frame': 'of another robot'})):
        shown._settings.values = values  # the frame of the controller may be another one
        shown.update()
        p, (w, x, y, z) = link_poses(MODEL, q)[frame]
        begin, end = shown._figures.force.points[0]
        np.testing.assert_allclose(begin, p, atol=1e-12)
        np.testing.assert_allclose((end - begin) / PER_NEWTON, Rotation.from_quat(
            [x, y, z, w]).apply([0.0, 20.0, 0.0]), atol=1e-9)


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
