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

"""Two robots in two namespaces in one launch file, each under its own controller."""

import os
from pathlib import Path
import subprocess
import sys
import tempfile
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
from rbd_ros.nodes.description import built_in_robot
import rclpy
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start both robots."""
    file = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', 'two_robots.launch.py'])
    return LaunchDescription([
        IncludeLaunchDescription(PythonLaunchDescriptionSource(file)), ReadyToTest()])


class TestTwoRobots(unittest.TestCase):
    """Listen to both."""

    def setUp(self) -> None:
        """Make a node of our own."""
        rclpy.init()
        self.node = rclpy.create_node('listener')
        self.seen: dict[str, dict[str, object]] = {'left': {}, 'right': {}}
        for side, seen in self.seen.items():
            for kind, topic, qos in (
                    (JointState, 'joint_states', qos_profile_sensor_data),
                    (Float64MultiArray, 'controller/commands', 1),
                    (String, 'controller/state', LATCHED), (String, 'controller/mode', LATCHED)):
                self.node.create_subscription(
                    kind, f'/{side}/{topic}',
                    lambda message, seen=seen, topic=topic: seen.__setitem__(topic, message), qos)

    def tearDown(self) -> None:
        """Leave ROS as it was."""
        self.node.destroy_node()
        rclpy.shutdown()

    def spin_until(self, condition: object, limit: float = patient(90.0)) -> bool:
        """Spin until a condition holds."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.1)
            if condition():
                return True
        return False

    def test_both_arms_float(self) -> None:
        """Both controllers run, and each sends about the gravity torque of its own arm."""
        self.assertTrue(self.spin_until(lambda: all(
            'controller/state' in seen and seen['controller/state'].data == 'running'
            and len(seen) == 4 for seen in self.seen.values())), self.seen)
        robot = rbd_ros.load_urdf(built_in_robot())
        for seen in self.seen.values():
            self.assertEqual(seen['controller/mode'].data, 'gravity_compensation')
            q, tau = seen['joint_states'].position, seen['controller/commands'].data
            # half a newton metre: friction compensation, and a command older than the state
            np.testing.assert_allclose(tau, rbd_ros.gravity(robot, q), rtol=0, atol=0.5)
        self.record_and_replay()

    def record_and_replay(self) -> None:
        """Both arms rest: one file has them, and each is replayed with its own description."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'two.mcap'
            # a replay takes 1.5 s to run, and on a busy machine topics are found seconds apart
            told = self.rbd('record', '--namespace', 'left', '--namespace', 'right', '--out', file,
                            '--for', 8)
            for side in ('left', 'right'):
                for topic in ('joint_states', 'robot_description', 'controller/controller_state'):
                    self.assertIn(f'/{side}/{topic}', told.stdout)
                self.assertIn(f'rbd replay {file} --namespace /{side}', ' '.join(
                    told.stdout.split()))
                replayed = self.rbd('replay', file, '--namespace', side)
                self.assertIn('the same within 2.0% of the torque limits', replayed.stdout)
            unnamed = self.rbd('replay', file, code=2)
            self.assertIn('namespaces: /left, /right', unnamed.stderr)

    def rbd(self, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command, which ends with a code."""
        done = subprocess.run(
            [sys.executable, '-m', 'rbd_ros.command_line', *map(str, words)], text=True,
            capture_output=True, timeout=patient(120.0), check=False,
            env=os.environ | {'COLUMNS': '400'})
        self.assertEqual(done.returncode, code, f'{done.stdout}\n{done.stderr}')
        return done


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """All four nodes end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
