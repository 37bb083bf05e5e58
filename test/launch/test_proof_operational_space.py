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
import unittest

import arm
from closed_loop import assert_clean_end, ClosedLoop, description
from geometry_msgs.msg import PoseStamped
from launch import LaunchDescription
import launch_testing
import launch_testing.markers
import numpy as np
import pinocchio
import pytest
from rbd_ros import load_urdf
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from std_msgs.msg import Float64MultiArray
from stepped import URDF

NEAR = 0.005  # m from the circle
SINGULAR = 1.5  # largest torque at a singular pose over the largest elsewhere

#: beyond it a pose counts as singular; the default, with 1 rad counted as 0.1 m
MAX_CONDITION = 1e3

RATE = 250.0  # Hz
STREAM = 2  # states per target
BURST = 7  # targets at once, where they come in bursts
SHORT = 0.1 * RATE  # states
START = [0.2, 1.6, 0.1, -1.2, 0.2, 0.9, 0.3]  # far from the axis of the first joint
TIP = 'tool0'
SHOULDER, REACH, WRIST = np.array([0.0, 0.0, 0.34]), 0.70, 0.15

FIRM = {'task.linear_stiffness': 400.0, 'task.linear_damping': 40.0,
        'task.angular_stiffness': 400.0, 'task.angular_damping': 40.0,
        'task.linear_acceleration': 10.0}
USUAL = {'task.linear_stiffness': 100.0, 'task.linear_damping': 20.0,
         'task.angular_stiffness': 100.0, 'task.angular_damping': 20.0,
         'task.linear_acceleration': 2.0}


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start arm and controller with the default gains; rotors would hide singular poses."""
    return description(START, rate=RATE, relayed=True, urdf=URDF, mode='operational_space',
                       dynamics_divider=10, **{'task.frame': TIP})


class TestOperationalSpace(ClosedLoop):
    """Move the tip; who makes the targets is in step with the arm, however busy the machine."""

    relayed = True

    @classmethod
    def prepare(cls) -> None:
        """Make what moves and what watches the tip."""
        cls.peer = PinocchioRobot(load_urdf(URDF), URDF)
        cls.targets = cls.client.node.create_publisher(
            PoseStamped, 'controller/target_pose', 10)
        cls.conditions = cls.client.listen(
            Float64MultiArray, 'controller/operational_space/condition')
        cls.target: Callable[[float], np.ndarray] | None = None
        cls.begin, cls.count, cls.burst = 0, 0, 1
        cls.waiting: list[np.ndarray] = []
        cls.client.wait(lambda: cls.targets.get_subscription_count() > 0, 'the subscription')

    @classmethod
    def on_state(cls, stamp: int) -> None:
        """Send a target every few states, or some at once, later."""
        cls.count += 1
        if cls.target is None or cls.count % STREAM:
            return
        cls.waiting.append(cls.target((stamp - cls.begin) * 1e-9))
        if len(cls.waiting) >= cls.burst:
            for position in cls.waiting:
                cls.aim(position)
            cls.waiting.clear()

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

    def stream(self, target: Callable[[float], np.ndarray], seconds: float,
               burst: int = 1) -> int:
        """Stream targets as a function of time; return the stamp at the beginning."""
        cls = type(self)
        cls.begin, cls.burst = self.last, burst
        cls.target = target
        self.pass_time(seconds)
        cls.target = None
        cls.waiting.clear()
        self.assert_running()
        return cls.begin

    def home(self) -> np.ndarray:
        """Bring the tip to where it was at the start; return that place."""
        start = self.pose(np.array(START))[:3, 3]
        self.aim(start)
        self.pass_time(1.2)
        return start

    def test_circle(self) -> None:
        """The tip goes around a circle of 10 cm radius, turned as before."""
        self.client.must_set(FIRM)
        self.addCleanup(self.client.must_set, USUAL)
        start = self.home()
        radius, turn = 0.1, 2.0 * np.pi / 2.0
        centre = start - np.array([0.0, radius, 0.0])

        def circle(t: float) -> np.ndarray:
            phase = turn * (t - 0.25 if t > 0.5 else t * t)  # gently off
            return centre + radius * np.array([0.0, np.cos(phase), np.sin(phase)])
        begin = self.stream(circle, 4.9)
        motion = list(self.positions(begin + 1_000_000_000).values())[::3]
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
        """Out of reach and back with default gains: no torque grows, no joint is too fast."""
        self.home()
        for more in (0.01, 0.02, 0.03):
            with self.subTest(more=more):
                self.stretch(more, 0.15)

    def test_singular_pose_in_bursts(self) -> None:
        """The same with targets that come seven at a time, 56 ms apart, and faster."""
        self.home()
        for more in (0.01, 0.03):
            with self.subTest(more=more):
                self.stretch(more, 0.3, BURST)

    def stretch(self, more: float, speed: float, burst: int = 1) -> None:
        """Stream the wrist further away than the arm reaches, and back to where it was."""
        start = self.pose(np.array(START))[:3, 3]
        out = start - WRIST * self.pose(np.array(START))[:3, 2] - SHOULDER
        way = out * ((REACH + more) / np.linalg.norm(out) - 1.0)
        time = np.linalg.norm(way) / speed
        knots = np.array([0.0, time, time + 0.5, 2.0 * time + 0.5])
        self.conditions.clear()
        begin = self.stream(lambda t: start + way * np.interp(t, knots, [0.0, 1.0, 1.0, 0.0]),
                            knots[-1] + 0.5, burst)
        torques = self.torques(begin)
        motion = {s: q for s, q in self.positions(begin).items() if s in torques}
        sizes = np.array([np.linalg.norm(torques[s] / arm.LIMIT) for s in motion])
        conditions = np.array([self.condition(q) for q in motion.values()])
        near = conditions > MAX_CONDITION
        speeds = np.abs(np.diff(list(motion.values()), axis=0)) * RATE / arm.MODEL.velocity_limit
        told = max(message.data[0] for message in self.conditions)
        print(f'{100.0 * more:.0f} cm out of reach at {speed} m/s, {burst} at once: joints at up '
              f'to {100.0 * speeds.max():.0f} % of their speed limits, condition from '
              f'{conditions.min():.1e} up to {conditions.max():.1e} ({told:.1e} published), '
              f'{near.sum()} states near it; largest torque {sizes[near].max():.3f} there, '
              f'{sizes[~near].max():.3f} of the limits elsewhere')
        self.assertGreater(near.sum(), SHORT)
        self.assertGreater((~near).sum(), SHORT)
        self.assertGreater(told, MAX_CONDITION)
        self.assertLess(sizes[near].max(), SINGULAR * sizes[~near].max())
        back = self.home()
        np.testing.assert_allclose(self.pose(self.motion[self.last])[:3, 3], back, atol=1e-3)

    def condition(self, q: np.ndarray) -> float:
        """Return the condition of the operational-space inertia."""
        J = np.diag([0.1, 0.1, 0.1, 1.0, 1.0, 1.0]) @ self.peer.jacobian(q, TIP)
        return np.linalg.cond(J @ np.linalg.solve(self.peer.mass_matrix(q), J.T))


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        assert_clean_end(proc_info)
