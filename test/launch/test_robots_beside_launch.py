# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Robots beside each other, each under its own controller in its own namespace.

Two of one launch file, and one that is simulated beside them as the dashboard does, which says
nothing outside of its namespace.
"""

from __future__ import annotations

import unittest

from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.description import built_in_robot
import rclpy
from rclpy.qos import qos_profile_sensor_data
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

IIWA = find_resource('package://rbd_ros/urdf/iiwa14.urdf')
ROBOTS = {'left': built_in_robot(), 'right': built_in_robot(), 'dropped': IIWA}
OF_EVERY_NODE = {'/rosout', '/parameter_events'}
INSIDE = '/dropped/'
NODES = {'controller', 'controller_loop', 'simulator', 'simulator_loop'}


def included(name: str, **arguments: str) -> GroupAction:
    """Return what a launch file of the package starts with these arguments."""
    file = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', name])
    return GroupAction([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(file), launch_arguments=arguments.items())])


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start all three."""
    return LaunchDescription([
        included('two_robots.launch.py'),
        included('beside.launch.py', namespace='dropped', urdf=str(IIWA)), ReadyToTest()])


class TestRobots(unittest.TestCase):
    """Listen to them."""

    def setUp(self) -> None:
        """Make a client of each."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)

    def test_all_float_and_keep_to_themselves(self) -> None:
        """Each sends the gravity torque of its own arm, and its names are in its namespace."""
        clients = {}
        for name in ROBOTS:
            clients[name] = client = rig.Client(name, kind=Float64MultiArray)
            self.addCleanup(client.close)
        for name, client in clients.items():
            with self.subTest(name):
                client.wait_running()
                self.assertEqual(client.last('mode'), 'gravity_compensation')
                states: list[JointState] = []
                client.node.create_subscription(
                    JointState, 'joint_states', states.append, qos_profile_sensor_data)
                client.wait(lambda client=client, states=states: client.commands and states,
                            'states and commands')
                robot = rbd_ros.load_urdf(ROBOTS[name])
                # half a newton metre: friction compensation, and a command older than the state
                np.testing.assert_allclose(
                    client.commands[-1].effort, rbd_ros.gravity(robot, states[-1].position),
                    rtol=0, atol=0.5)
        self.expect_inside(clients['dropped'])

    def expect_inside(self, client: rig.Client) -> None:
        """Expect that topics and services of all its nodes are in one place."""
        node = client.node
        client.wait(lambda: {name for name, namespace in node.get_node_names_and_namespaces()
                             if namespace == '/dropped'} >= NODES, 'its nodes')
        nodes = [each for each in node.get_node_names_and_namespaces()
                 if each[0] != 'client' and not each[0].startswith('launch_')]
        self.assertEqual({namespace for _, namespace in nodes}, {f'/{name}' for name in ROBOTS})
        found = set()
        for ask in (node.get_publisher_names_and_types_by_node,
                    node.get_subscriber_names_and_types_by_node,
                    node.get_service_names_and_types_by_node,
                    node.get_client_names_and_types_by_node):
            for name in nodes:
                if name[1] == '/dropped':
                    found |= {topic for topic, _ in ask(*name)}
        inside = {f'{INSIDE}{each}' for each in (
            'tf', 'tf_static', 'diagnostics', 'joint_states', 'controller/commands',
            'controller/stop', 'simulator/wrench')}
        self.assertLessEqual(inside, found)
        self.assertLessEqual({topic for topic in found if not topic.startswith(INSIDE)},
                             OF_EVERY_NODE)


TestShutdown = rig.CleanEnd
