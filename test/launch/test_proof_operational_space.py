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
Operational-space control in lockstep with the simulator: a circle, and a singular pose.

Where the tip is comes from Pinocchio and the joint states, not from the controller.
"""

from __future__ import annotations

from collections.abc import Callable
import threading
import unittest

import arm
from benchmark.pinocchio_bridge import PinocchioRobot
from geometry_msgs.msg import PoseStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pinocchio
import pytest
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

NEAR = 0.005  # m from the circle
SINGULAR = 1.5  # largest torque at a singular pose over the largest elsewhere

MAX_CONDITION = 1e3  # the default, with 1 rad counted as 0.1 m

RATE = 500.0
PERIOD = 2_000_000  # ns
STREAM = 5  # states per target
STATES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
START = [0.2, 1.6, 0.1, -1.2, 0.2, 0.9, 0.3]  # far from the axis of the first joint
TIP = 'tool0'
# m: place of the shoulder, from there to the wrist when stretched, from there to the tip
SHOULDER, REACH, WRIST = np.array([0.0, 0.0, 0.34]), 0.70, 0.15


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the arm without friction in lockstep, and a controller that starts by itself."""
    simulator = NodeAction(
        package='rbd_ros', executable='simulator', name='simulator', output='screen',
        parameters=[{
            'state_rate': RATE, 'publish_clock': True, 'command_type': 'joint_state',
            'lockstep': True, 'initial_positions': START, 'friction': [0.0],
            'damping': [0.0]}])
    controller = rig.controller(
        use_sim_time=True, autostart=True, driver_adds='none', command_type='joint_state',
        mode='operational_space', nominal_rate=RATE, minimum_rate=100.0,
        activation_timeout=30.0, torque_rate_limits=(1e3 * arm.LIMIT).tolist(), ramp_time=0.2,
        switch_time=0.1, dynamics_divider=10, **{
            'task.frame': TIP, 'task.linear_stiffness': 400.0, 'task.linear_damping': 40.0,
            'task.angular_stiffness': 400.0, 'task.angular_damping': 40.0,
            'task.linear_acceleration': 10.0})
    return LaunchDescription([simulator, controller, ReadyToTest()])


class TestOperationalSpace(unittest.TestCase):
    """Move the tip."""

    @classmethod
    def setUpClass(cls) -> None:
        """Wait until the arm is carried."""
        rclpy.init()
        cls.client = rig.Client()
        cls.peer = PinocchioRobot(arm.MODEL, arm.URDF.read_text())
        cls.targets = cls.client.node.create_publisher(
            PoseStamped, 'controller/target_pose', 1)
        cls.conditions = cls.client.listen(
            Float64MultiArray, 'controller/operational_space/condition')
        cls.lock = threading.Lock()
        cls.motion: dict[int, np.ndarray] = {}
        cls.last, cls.count = 0, 0
        cls.target: Callable[[float], np.ndarray] | None = None
        cls.begin = 0

        def on_state(message: JointState) -> None:
            stamp = rig.to_ns(message.header.stamp)
            with cls.lock:
                cls.motion[stamp] = np.array(message.position)
                cls.last = stamp
                cls.count += 1
            if cls.target is not None and cls.count % STREAM == 0:
                cls.aim(cls.target((stamp - cls.begin) * 1e-9))
        cls.client.node.create_subscription(JointState, 'joint_states', on_state, STATES)
        cls.client.wait(lambda: cls.client.last('state') == 'running', 'running')
        cls.client.wait(lambda: cls.targets.get_subscription_count() > 0, 'the subscription')

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.client.close()
        rclpy.shutdown()

    @classmethod
    def aim(cls, position: np.ndarray) -> None:
        """Send a target with the orientation that the tip had at the start."""
        pose = PoseStamped()
        pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = position.tolist()
        turn = pose.pose.orientation
        turn.x, turn.y, turn.z, turn.w = pinocchio.Quaternion(
            cls.pose(np.array(START))[:3, :3]).coeffs().tolist()
        cls.targets.publish(pose)

    @classmethod
    def pose(cls, q: np.ndarray) -> np.ndarray:
        """Return the pose of the tip."""
        return cls.peer.pose(q, TIP)

    def pass_time(self, seconds: float) -> None:
        """Let simulated time pass."""
        end = self.last + round(seconds * 1e9)
        self.client.wait(lambda: self.last >= end, f'{end * 1e-9:.3f} s of simulated time', 120.0)

    def stream(self, target: Callable[[float], np.ndarray], seconds: float) -> int:
        """Stream targets as a function of time; return the stamp at the beginning."""
        cls = type(self)
        cls.begin = self.last
        cls.target = target
        self.pass_time(seconds)
        cls.target = None
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))
        return cls.begin

    def home(self) -> np.ndarray:
        """Bring the tip to where it was at the start; return that place."""
        start = self.pose(np.array(START))[:3, 3]
        self.aim(start)
        self.pass_time(2.0)
        return start

    def test_circle(self) -> None:
        """The tip goes around a circle of 10 cm radius, turned as before."""
        start = self.home()
        radius, turn = 0.1, 2.0 * np.pi / 2.0
        centre = start - np.array([0.0, radius, 0.0])

        def circle(t: float) -> np.ndarray:
            phase = turn * (t - 0.25 if t > 0.5 else t * t)  # gently off
            return centre + radius * np.array([0.0, np.cos(phase), np.sin(phase)])
        begin = self.stream(circle, 5.3)
        with self.lock:
            motion = [q for s, q in sorted(self.motion.items())
                      if s > begin + 1_000_000_000][::5]
        poses = [self.pose(q) for q in motion]
        away = np.array([pose[:3, 3] - centre for pose in poses])
        off = np.hypot(np.hypot(away[:, 1], away[:, 2]) - radius, away[:, 0])
        upright = self.pose(np.array(START))[:3, :3]
        turned = max(np.linalg.norm(pinocchio.log3(upright.T @ pose[:3, :3])) for pose in poses)
        around = np.ptp(np.unwrap(np.arctan2(away[:, 2], away[:, 1])))
        print(f'circle: at most {1e3 * off.max():.2f} mm off, {turned:.4f} rad turned, '
              f'{around / (2.0 * np.pi):.2f} turns')
        self.assertLess(off.max(), NEAR)
        self.assertLess(turned, 0.02)
        self.assertGreater(around, 3.5 * np.pi)

    def test_singular_pose(self) -> None:
        """Towards a place out of reach and back: no torque grows where the arm is stretched."""
        start = self.home()
        wrist = start - WRIST * self.pose(np.array(START))[:3, 2]
        out = wrist - SHOULDER
        more = REACH + 0.005 - np.linalg.norm(out)  # 5 mm more than the arm has
        out /= np.linalg.norm(out)

        # One target and its reference is the same on any machine.
        self.client.must_set({'task.linear_velocity': 0.07})
        self.conditions.clear()
        begin = self.last
        self.aim(start + out * more)
        self.pass_time(abs(more) / 0.07 + 1.0)
        self.aim(start)
        self.pass_time(abs(more) / 0.07 + 0.5)
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))
        self.client.must_set({'task.linear_velocity': 0.5})
        commands = {c.stamp: c.effort for c in self.client.commands if c.stamp > begin}
        with self.lock:
            motion = {s: q for s, q in self.motion.items() if s in commands}
        usual = self.condition(np.array(START))
        sizes = {s: np.linalg.norm(commands[s] / arm.LIMIT) for s in motion}
        conditions = {s: self.condition(q) for s, q in motion.items()}
        near = [size for s, size in sizes.items() if conditions[s] > MAX_CONDITION]
        elsewhere = [size for s, size in sizes.items() if conditions[s] <= MAX_CONDITION]
        worst = max(message.data[0] for message in self.conditions)
        q = np.array([q for _, q in sorted(motion.items())])
        speed = (np.abs(np.diff(q, axis=0)) * RATE / arm.MODEL.velocity_limit).max()
        print(f'singular pose: joints at up to {100.0 * speed:.0f} % of their speed limits, '
              f'condition from {usual:.1e} up to {max(conditions.values()):.1e} '
              f'({worst:.1e} published), {len(near)} states near it; largest torque '
              f'{max(near, default=0.0):.3f} there, {max(elsewhere):.3f} of the limits elsewhere')
        self.assertGreater(len(near), 50)
        self.assertGreater(len(elsewhere), 50)
        self.assertLess(max(near), SINGULAR * max(elsewhere))
        back = self.home()
        np.testing.assert_allclose(self.pose(self.motion[self.last])[:3, 3], back, atol=0.01)

    def condition(self, q: np.ndarray) -> float:
        """Return the condition of the operational-space inertia."""
        J = np.diag([0.1, 0.1, 0.1, 1.0, 1.0, 1.0]) @ self.peer.jacobian(q, TIP)
        return np.linalg.cond(J @ np.linalg.solve(self.peer.mass_matrix(q), J.T))


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
