# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The example that holds a quadruped over topics: with the simulator's config file it stands."""

from __future__ import annotations

from pathlib import Path
import sys
import unittest

from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
from nav_msgs.msg import Odometry
import pytest
import rclpy
import rig
from sensor_msgs.msg import JointState

ROOT = Path(__file__).parents[2]
SECOND = 10**9  # ns
FEET = 4


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the simulated quadruped and the node that holds it."""
    return LaunchDescription([
        NodeAction(package='rbd_ros', executable='simulator', name='simulator', output='screen',
                   parameters=[str(ROOT / 'config' / 'legged' / 'go2.yaml'),
                               {'publish_clock': True, 'contact_rate': 100.0,
                                'lockstep_timeout': 60.0}]),
        NodeAction(executable=sys.executable, name='quadruped', output='screen',
                   arguments=[str(ROOT / 'examples' / 'quadruped_node.py')]),
        ReadyToTest()])


class TestQuadruped(unittest.TestCase):
    """Listen to trunk and floor."""

    def test_it_stands(self) -> None:
        """A second after its start the trunk rests level, on all feet."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        client = rig.Client()
        self.addCleanup(client.close)
        poses = client.listen(Odometry, 'simulator/odometry')
        wrenches = client.listen(WrenchStamped, 'simulator/contact_wrench')
        commands = client.listen(JointState, 'controller/commands')
        client.wait(lambda: len(commands) > 5, 'commands', 240.0)
        rests = rig.to_ns(commands[-1].header.stamp) + SECOND  # the first answer old states
        client.wait(lambda: rig.to_ns(poses[-1].header.stamp) > rests and rig.to_ns(
            wrenches[-1].header.stamp) > rests, 'a second', 240.0)
        pose = poses[-1].pose.pose
        self.assertAlmostEqual(pose.position.z, 0.333, delta=0.005)
        self.assertGreater(pose.orientation.w, 0.9999)
        last = {each.header.frame_id: each.wrench.force for each in list(wrenches)}
        self.assertEqual(len(last), FEET)
        self.assertTrue(all(force.x or force.y or force.z for force in last.values()), last)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the test."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """
        Expect that the simulator ends cleanly.

        The example leaves Ctrl-C to rclpy, which may raise where it is taking a message.
        """
        launch_testing.asserts.assertExitCodes(proc_info, process='simulator')
