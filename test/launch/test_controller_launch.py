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

"""The launch file starts a robot and a controller that talk to each other."""

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
import pytest
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start what the README's first command starts."""
    file = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', 'controller.launch.py'])
    return LaunchDescription([
        IncludeLaunchDescription(PythonLaunchDescriptionSource(file)), ReadyToTest()])


class TestController(unittest.TestCase):
    """Listen to both nodes."""

    def setUp(self) -> None:
        """Make a node of our own."""
        rclpy.init()
        self.node = rclpy.create_node('listener')

    def tearDown(self) -> None:
        """Leave ROS as it was."""
        self.node.destroy_node()
        rclpy.shutdown()

    def test_state_goes_in_and_command_comes_out(self) -> None:
        """A JointState is published and a Float64MultiArray of its size answers it."""
        states: list[JointState] = []
        commands: list[Float64MultiArray] = []
        self.node.create_subscription(
            JointState, 'joint_states', states.append, qos_profile_sensor_data)
        self.node.create_subscription(
            Float64MultiArray, 'controller/commands', commands.append, 10)
        end = time.monotonic() + 60.0
        while time.monotonic() < end and not (states and commands):
            rclpy.spin_once(self.node, timeout_sec=0.1)
        self.assertTrue(states, 'no joint state within a minute')
        self.assertTrue(commands, 'no command within a minute')
        self.assertEqual(len(commands[-1].data), len(states[-1].name))


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both nodes end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
