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
"""A robot that is simulated beside another one says nothing outside of its namespace."""

from __future__ import annotations

from collections.abc import Callable
import time
import unittest

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
import rclpy
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
IIWA = find_resource('package://rbd_ros/urdf/iiwa14.urdf')
OF_EVERY_NODE = {'/rosout', '/parameter_events'}
INSIDE = '/dropped/'
NODES = {'controller', 'controller_loop', 'simulator', 'simulator_loop'}


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the robot as the dashboard does."""
    file = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', 'beside.launch.py'])
    return LaunchDescription([
        IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments={
            'namespace': 'dropped', 'urdf': str(IIWA)}.items()), ReadyToTest()])


class TestBeside(unittest.TestCase):
    """Look at all that it publishes and listens to."""

    def setUp(self) -> None:
        """Make a node of our own."""
        rclpy.init()
        self.node = rclpy.create_node('listener')
        self.seen: dict[str, object] = {}
        for kind, topic, qos in (
                (JointState, 'joint_states', qos_profile_sensor_data),
                (Float64MultiArray, 'controller/commands', 1),
                (String, 'controller/state', LATCHED)):
            self.node.create_subscription(
                kind, INSIDE + topic,
                lambda message, topic=topic: self.seen.__setitem__(topic, message), qos)

    def tearDown(self) -> None:
        """Leave ROS as it was."""
        self.node.destroy_node()
        rclpy.shutdown()

    def spin_until(self, condition: Callable[[], object]) -> None:
        """Spin until a condition holds."""
        end = time.monotonic() + patient(90.0)
        while not condition():
            self.assertLess(time.monotonic(), end, self.seen)
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def strangers(self) -> list[tuple[str, str]]:
        """Return names and namespaces of all nodes but ours."""
        return [each for each in self.node.get_node_names_and_namespaces()
                if each[0] != 'listener' and not each[0].startswith('launch_')]

    def test_it_floats_and_keeps_to_itself(self) -> None:
        """It sends its gravity torque; topics and services of all its nodes are in one place."""
        self.spin_until(lambda: len(self.seen) == 3
                        and self.seen['controller/state'].data == 'running')
        q = self.seen['joint_states'].position
        tau = self.seen['controller/commands'].data
        expected = rbd_ros.gravity(rbd_ros.load_urdf(IIWA), q)
        np.testing.assert_allclose(tau, expected, rtol=0, atol=0.5)
        self.spin_until(lambda: {name for name, _ in self.strangers()} >= NODES)
        self.assertEqual({namespace for _, namespace in self.strangers()}, {'/dropped'})
        found = set()
        for ask in (self.node.get_publisher_names_and_types_by_node,
                    self.node.get_subscriber_names_and_types_by_node,
                    self.node.get_service_names_and_types_by_node,
                    self.node.get_client_names_and_types_by_node):
            for name in self.strangers():
                found |= {topic for topic, _ in ask(*name)}
        inside = {f'{INSIDE}{each}' for each in (
            'tf', 'tf_static', 'diagnostics', 'joint_states', 'controller/commands',
            'controller/stop', 'simulator/wrench')}
        self.assertLessEqual(inside, found)
        outside = {topic for topic in found if not topic.startswith(INSIDE)}
        self.assertLessEqual(outside, OF_EVERY_NODE)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
