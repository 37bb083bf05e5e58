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
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.model.urdf import find_resource
from rbd_ros.model.urdf.known_robots import known_robot
import rclpy
import rig

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
        """Half a second after its start the trunk rests level, and the feet carry the weight."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        client = rig.Client()
        self.addCleanup(client.close)
        poses = client.listen(Odometry, 'simulator/odometry')
        wrenches = client.listen(WrenchStamped, 'simulator/contact_wrench')
        client.wait(lambda: len(wrenches) >= FEET, 'a load on the floor', 240.0)
        rests = rig.to_ns(wrenches[0].header.stamp) + SECOND
        client.wait(lambda: bool(poses) and rig.to_ns(poses[-1].header.stamp) > rests,
                    'a second', 240.0)
        pose = poses[-1].pose.pose
        self.assertAlmostEqual(pose.position.z, 0.333, delta=0.005)
        self.assertGreater(pose.orientation.w, 0.9999)
        last = {each.header.frame_id: each.wrench.force for each in list(wrenches)}
        self.assertEqual(len(last), FEET)
        address = find_resource(known_robot('go2').address)
        weight = 9.81 * load_urdf(address, on_warning=lambda text: None).total_mass
        # the legs press outwards by a few per cent of what they carry
        carried = sum(np.linalg.norm([f.x, f.y, f.z]) for f in last.values())
        self.assertAlmostEqual(carried, weight, delta=0.05 * weight)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the test."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """
        Expect that the simulator ends cleanly.

        The example leaves Ctrl-C to rclpy, which may raise where it is taking a message.
        """
        launch_testing.asserts.assertExitCodes(proc_info, process='simulator')
