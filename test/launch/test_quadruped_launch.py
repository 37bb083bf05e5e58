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

"""
A quadruped stands on its feet: the simulator as its config file has it, and the example node.

They run in lockstep, so that the motion is the same on any machine. Feet and forces are judged
with another library (Pinocchio).
"""

from __future__ import annotations

from importlib.metadata import files
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
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
import rclpy
import rig
from sensor_msgs.msg import JointState

ROOT = Path(__file__).parents[2]
STANCE = [x for hip in (0.068, -0.068) * 2 for x in (hip, 0.785, -1.44)]
RADIUS = 0.022  # m
FEET = ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot')
SETTLE, STAND, PUSH = 0.6, 0.5, 20.0  # s, s, N to the left
NS = 1_000_000_000

#: m: the floor gives way by 2 mm, the joints hardly; feet and trunk must stay
SINK, SLIDE, DRIFT = 0.004, 5e-4, 1e-3


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the simulated quadruped and the node that holds it."""
    return LaunchDescription([
        NodeAction(package='rbd_ros', executable='simulator', name='simulator', output='screen',
                   parameters=[str(ROOT / 'config' / 'legged' / 'go2.yaml'),
                               {'publish_clock': True, 'contact_rate': 100.0,
                                'lockstep_timeout': 60.0, 'wrench_timeout': 0.0}]),
        NodeAction(executable=sys.executable, name='quadruped', output='screen',
                   arguments=[str(ROOT / 'examples' / 'quadruped_node.py')]),
        ReadyToTest()])


def vector(xyz: object) -> list[float]:
    """Return the three numbers of a point or vector."""
    return [xyz.x, xyz.y, xyz.z]


class TestQuadruped(unittest.TestCase):
    """Stand, then be pushed."""

    @classmethod
    def setUpClass(cls) -> None:
        """Keep the motion, by stamps, and the forces on the feet."""
        rclpy.init()
        cls.client = rig.Client()
        cls.bases: dict[int, Odometry] = {}
        cls.joints: dict[int, JointState] = {}
        cls.wrenches: dict[int, dict[str, np.ndarray]] = {}
        node = cls.client.node
        node.create_subscription(Odometry, 'simulator/odometry', lambda m: cls.bases.update(
            {rig.to_ns(m.header.stamp): m}), 5000)
        node.create_subscription(JointState, 'joint_states', lambda m: cls.joints.update(
            {rig.to_ns(m.header.stamp): m}), 5000)
        node.create_subscription(WrenchStamped, 'simulator/contact_wrench', cls._on_wrench, 5000)
        cls.push = node.create_publisher(WrenchStamped, 'simulator/wrench', 1)
        path = next(f for f in files('example-robot-data') if f.name == 'go2.urdf').locate()
        cls.model = load_urdf(path, floating_base=True, on_warning=lambda text: None)
        cls.peer = PinocchioRobot(cls.model, Path(path).read_text(), floating_base=True)

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.client.close()
        rclpy.shutdown()

    @classmethod
    def _on_wrench(cls, message: WrenchStamped) -> None:
        wrench = message.wrench
        cls.wrenches.setdefault(rig.to_ns(message.header.stamp), {})[message.header.frame_id] = (
            np.array(vector(wrench.torque) + vector(wrench.force)))

    def q(self, stamp: int) -> np.ndarray:
        """Return the position of the robot at a stamp."""
        pose = self.bases[stamp].pose.pose
        r = pose.orientation
        return np.array([*vector(pose.position), r.x, r.y, r.z, r.w,
                         *self.joints[stamp].position])

    def feet(self, q: np.ndarray) -> np.ndarray:
        """Return where the feet are, (4, 3)."""
        return np.array([self.peer.pose(q, foot)[:3, 3] for foot in FEET])

    def floor_force(self, stamp: int) -> np.ndarray:
        """Return the sum of all contact forces in the world, N."""
        q = self.q(stamp)
        return sum((self.peer.pose(q, frame)[:3, :3] @ wrench[3:]
                    for frame, wrench in self.wrenches[stamp].items()), np.zeros(3))

    def carried(self) -> float:
        """Return the sum of the last contact forces, without their directions, N."""
        last = self.wrenches[max(self.wrenches)] if self.wrenches else {}
        return sum(np.linalg.norm(wrench[3:]) for wrench in list(last.values()))

    def wait_until(self, stamp: int) -> list[int]:
        """
        Wait for a simulated time; return the stamps of which all has been heard.

        Where this process is held up, a message may be lost; a foot that lifts is not: it says
        zero, see ``check_stance``.
        """
        self.client.wait(lambda: max(self.bases, default=0) >= stamp and max(
            self.wrenches, default=0) >= stamp, f'{stamp / NS:.3f} s', 240.0)
        complete = {s for s, wrenches in list(self.wrenches.items()) if len(wrenches) == 4}
        return sorted(set(self.bases) & set(self.joints) & complete)

    def test_stand_and_push(self) -> None:
        """Height and feet stay, the floor carries the weight, and friction holds a push."""
        weight = 9.81 * self.model.total_mass
        # A command that is heard here may come before the simulator has discovered its publisher.
        self.client.wait(lambda: self.carried() > 0.5 * weight, 'a load on the floor', 240.0)
        first = max(self.wrenches)
        heard = self.wait_until(first + round((SETTLE + STAND) * NS))
        start = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *STANCE])
        start[2] = RADIUS - self.feet(start)[:, 2].min()     # on its feet
        standing = [s for s in heard if first + SETTLE * NS < s][:-2]
        self.assertGreater(len(standing), 40)
        self.check_stance(start, standing)
        forces = np.array([self.floor_force(s) for s in standing])
        np.testing.assert_allclose(forces[:, 2], weight, rtol=0.02)
        np.testing.assert_allclose(forces[:, :2], 0.0, atol=0.02 * weight)
        self.check_push(weight)

    def check_stance(self, start: np.ndarray, standing: list[int]) -> None:
        """Expect that the trunk keeps its height and place, level, and that no foot slides."""
        q = np.array([self.q(s) for s in standing])
        self.assertTrue(((start[2] - SINK < q[:, 2]) & (q[:, 2] < start[2] + 1e-3)).all())
        np.testing.assert_allclose(q[:, :2], 0.0, atol=DRIFT)
        self.assertGreater(q[:, 6].min(), 0.99999)
        moved = np.array([self.feet(each) for each in q[::5]]) - self.feet(start)
        self.assertLess(np.abs(moved[:, :, :2]).max(), SLIDE)
        speed = np.array([self.joints[s].velocity for s in standing[-100:]])
        self.assertLess(np.abs(speed).max(), 0.01)
        for stamp, wrenches in list(self.wrenches.items()):
            if standing[0] <= stamp <= standing[-1]:
                self.assertTrue(all(wrench.any() for wrench in wrenches.values()), stamp)

    def check_push(self, weight: float) -> None:
        """Push the trunk: the force comes out at the feet, and they stay where they are."""
        message = WrenchStamped()
        message.header.frame_id = 'base'
        message.wrench.force.y = PUSH
        before = max(set(self.bases) & set(self.joints))
        feet = self.feet(self.q(before))
        self.push.publish(message)
        # It may come late: this process is not in step, and what it has seen last is past.
        arrived = self.wait_until(before)[-1]
        while abs(self.floor_force(arrived)[1] + PUSH) > 0.02 * PUSH:
            self.assertLess(arrived, before + 60 * NS, 'the floor does not feel the push')
            arrived = self.wait_until(arrived + NS // 10)[-1]
        pushed = [s for s in self.wait_until(arrived + NS) if s > arrived + 0.8 * NS][:-2]
        forces = np.array([self.floor_force(s) for s in pushed])
        np.testing.assert_allclose(forces[:, 1], -PUSH, rtol=0.02)
        np.testing.assert_allclose(forces[:, 2], weight, rtol=0.02)
        moved = self.feet(self.q(pushed[-1])) - feet
        self.assertLess(np.abs(moved[:, :2]).max(), 2 * SLIDE)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the test."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """
        Expect that the simulator ends cleanly.

        The example leaves Ctrl-C to rclpy, which may raise where it is taking a message.
        """
        launch_testing.asserts.assertExitCodes(proc_info, process='simulator')
