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
Operational space over topics: poses, twists and wrenches in any frame, their time-outs, axes.

One controller on a clock in our hands is configured in several ways. What it shall do comes from
Pinocchio, times are simulated ones, so that they are exact on any machine.
"""

from __future__ import annotations

import unittest

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pinocchio
import pytest
from rbd_ros import load_urdf
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from rclpy.publisher import Publisher
import rig
from std_msgs.msg import Float64MultiArray
import stepped
from stepped import PERIOD, START, SteppedCase, URDF

TOLERANCE = 1e-8  # of a vector over its own norm
TIMEOUT = 0.1  # s, the default of task.timeout

#: the elbow nearly stretched, which is singular; the wrist bent
STRETCHED = np.array([0.1, 0.9, 0.0, 0.04, 0.0, 0.8, 0.2])
TIP = 'tool0'


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([
        rig.controller(**stepped.PARAMETERS, use_sim_time=True, activation_timeout=10.0),
        ReadyToTest()])


class Case(SteppedCase):
    """A controller on a clock in our hands, and an arm that moves or stands."""

    @classmethod
    def prepare(cls) -> None:
        """Create the publishers of targets, and the peer."""
        cls.peer = PinocchioRobot(load_urdf(URDF), URDF)
        create = cls.client.node.create_publisher
        cls.poses = create(PoseStamped, 'controller/target_pose', 1)
        cls.twists = create(TwistStamped, 'controller/target_twist', 1)
        cls.wrenches = create(WrenchStamped, 'controller/target_wrench', 1)

    def bring_up(self, q: np.ndarray = START, *, free: bool = True, **values: object) -> None:
        """Configure and activate, at rest; it is put down after the test."""
        client, bench = self.client, self.bench
        bench.q, bench.qd = q.copy(), np.zeros(7)
        bench.stuck = True
        client.must_set({
            'mode': 'operational_space', 'dynamics_divider': 0, 'task.frame': TIP,
            'task.axes': ['rx', 'ry', 'rz', 'x', 'y', 'z']} | values)
        assert client.transition(rig.CONFIGURE), client.last('log')
        self.addCleanup(self.put_down)
        bench.activate()
        bench.stuck = not free
        for publisher in (self.poses, self.twists, self.wrenches):
            client.wait(lambda publisher=publisher: publisher.get_subscription_count() > 0,
                        'a subscription')
        bench.run(0.3)

    def put_down(self) -> None:
        """Deactivate and clean up."""
        self.bench.block()
        self.bench.put_down()

    def pose(self, frame: str = TIP) -> np.ndarray:
        """Return where a frame is now."""
        return self.peer.pose(self.bench.q, frame)

    def command(self) -> np.ndarray:
        """Return the answer to one more state."""
        answer = self.bench.step()
        assert answer is not None
        return answer.effort

    def repeat(self, publisher: Publisher, message: object) -> None:
        """
        Publish one of a stream, and wait until the controller has taken it.

        Targets pass through Python, states do not: simulated time must not run away from them.
        """
        publisher.publish(message)
        self.client.get('mode')

    def taken(self, publisher: Publisher, message: object) -> np.ndarray:
        """Publish and step until the command changes by more than a little; return it."""
        before = self.command()
        publisher.publish(message)
        for _ in range(200):
            found = self.command()
            if np.abs(found - before).max() > 1e-6:
                return found
        raise AssertionError('nothing happens')


def pose_message(frame: str, T: np.ndarray) -> PoseStamped:
    """Return a target in a frame."""
    message = PoseStamped()
    message.header.frame_id = frame
    position, turn = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = T[:3, 3].tolist()
    turn.x, turn.y, turn.z, turn.w = pinocchio.Quaternion(T[:3, :3]).coeffs().tolist()
    return message


def twist_message(frame: str, angular: np.ndarray, linear: np.ndarray) -> TwistStamped:
    """Return a velocity in a frame."""
    message = TwistStamped()
    message.header.frame_id = frame
    for vector, values in ((message.twist.angular, angular), (message.twist.linear, linear)):
        vector.x, vector.y, vector.z = (float(x) for x in values)
    return message


def wrench_message(frame: str, moment: np.ndarray, force: np.ndarray) -> WrenchStamped:
    """Return a wrench in a frame."""
    message = WrenchStamped()
    message.header.frame_id = frame
    for vector, values in ((message.wrench.torque, moment), (message.wrench.force, force)):
        vector.x, vector.y, vector.z = (float(x) for x in values)
    return message


def moved(x: float, y: float, z: float, turn: float = 0.0) -> np.ndarray:
    """Return a pose next to the origin, turned about z."""
    T = np.eye(4)
    T[:3, :3] = pinocchio.exp3(np.array([0.0, 0.0, turn]))
    T[:3, 3] = x, y, z
    return T


class TestPoses(Case):
    """Targets in frames."""

    def test_frames(self) -> None:
        """A pose counts in the frame of its header, as that stands when the pose comes."""
        self.bring_up()
        for frame, way in (('', None), ('base_link', None), (TIP, moved(0.03, -0.02, 0.04, 0.2)),
                           ('link_3', None)):
            with self.subTest(frame=frame):
                tip = self.pose()
                wanted = tip @ moved(-0.02, 0.03, 0.02, -0.1) if way is None else tip @ way
                base = self.pose(frame) if frame else np.eye(4)
                self.poses.publish(pose_message(frame, np.linalg.inv(base) @ wanted))
                self.bench.settle('a target')
                self.bench.run(2.5)
                np.testing.assert_allclose(self.pose(), wanted, atol=1e-3)
                self.assertEqual(self.client.last('state'), 'running')

    def test_refused(self) -> None:
        """A frame that is not of the robot is refused by its name, and nothing moves."""
        self.bring_up()
        before = self.pose()
        self.poses.publish(pose_message('moon', np.eye(4)))
        self.bench.run_until(lambda: any('moon' in said.text for said in self.client.texts['log']),
                             'a refusal')
        self.bench.run(0.5)
        np.testing.assert_allclose(self.pose(), before, atol=1e-6)

    def test_axes(self) -> None:
        """With x, y, z alone the place counts and the turn does not."""
        self.bring_up(free=False, dynamics_divider=10, **{'task.axes': ['x', 'y', 'z']})
        arrays = self.client.listen(
            Float64MultiArray, 'controller/operational_space/inertia')
        there = self.pose() @ moved(0.0, 0.0, 0.02)
        first = self.taken(self.poses, pose_message('', there))
        self.bench.run(0.5)
        before = self.command()
        self.assertGreater(np.abs(first - self.peer.gravity(self.bench.q)).max(), 1e-3)
        self.poses.publish(pose_message('', there @ moved(0.0, 0.0, 0.0, 1.0)))
        self.bench.settle('a turned target')
        self.bench.run(0.5)
        np.testing.assert_allclose(self.command(), before, rtol=0, atol=1e-9)
        # A chosen direction is that of the frame: along it alone it is pulled.
        J = self.peer.jacobian(self.bench.q, TIP)[3:]
        H = self.peer.mass_matrix(self.bench.q)
        qdd = np.linalg.solve(H, before - self.peer.gravity(self.bench.q))
        pull = J @ qdd
        self.assertGreater(pull[2], 1.0)
        np.testing.assert_allclose(pull[:2], 0.0, atol=1e-6)
        self.client.wait(lambda: bool(arrays), 'the inertia')
        self.assertEqual([(d.label, d.size) for d in arrays[-1].layout.dim],
                         [('x,y,z', 3), ('x,y,z', 3)])
        found = np.array(arrays[-1].data).reshape(3, 3)
        wanted = np.linalg.inv(J @ np.linalg.solve(H, J.T))
        self.assertLess(np.linalg.norm(found - wanted) / np.linalg.norm(wanted), TOLERANCE)


class TestTwists(Case):
    """Velocities, which must be repeated."""

    def test_frames(self) -> None:
        """The tip moves with the velocity in the axes of the header's frame."""
        self.bring_up()
        w, v = np.array([0.0, 0.0, 0.2]), np.array([0.08, -0.04, 0.02])
        for frame in ('', TIP, 'link_2'):
            with self.subTest(frame=frame):
                self.bench.run(1.0)
                # Messages may be late on a busy machine, while the frame turns.
                for k in range(200):
                    self.repeat(self.twists, twist_message(frame, w, v))
                    self.bench.step()
                    R = self.pose(frame)[:3, :3] if frame else np.eye(3)
                    tip, J = self.pose()[:3, :3], self.peer.jacobian(self.bench.q, TIP)
                    found, wanted = J @ self.bench.qd, (R @ w, R @ v)
                    errors = np.abs([tip @ found[:3] - wanted[0], tip @ found[3:] - wanted[1]])
                    if k >= 60 and errors.max() < 0.01:
                        break
                self.assertLess(errors.max(), 0.01)

    def test_times_out(self) -> None:
        """0.1 s after the last message the tip brakes, and then holds."""
        self.bring_up()
        for _ in range(60):
            self.repeat(self.twists, twist_message('', np.zeros(3), np.array([0.1, 0.0, 0.0])))
            self.bench.step()
        speeds = []
        for _ in range(80):
            speeds.append(self.speed())
            self.bench.step()
        speeds = np.array(speeds)
        slow = np.flatnonzero(speeds < 0.09)[0] * 1e-9 * PERIOD
        print(f'twist: below 90 % of its speed {slow:.2f} s after the last message')
        # It brakes with 2 m/s^2: 90 % are reached 5 ms later, and the loop follows in 1/20 s.
        self.assertGreaterEqual(slow, TIMEOUT)
        self.assertLess(slow, TIMEOUT + 0.1)
        self.assertLess(speeds[round((TIMEOUT + 0.4) / (1e-9 * PERIOD))], 0.002)
        before = self.pose()
        self.bench.run(0.5)
        np.testing.assert_allclose(self.pose(), before, atol=1e-4)
        self.assertEqual(self.client.last('state'), 'running')

    def speed(self) -> float:
        """Return the speed of the tip along x of the base."""
        J = self.peer.jacobian(self.bench.q, TIP)[3:]
        return float((self.pose()[:3, :3] @ J @ self.bench.qd)[0])


class TestWrenches(Case):
    """Forces, which must be repeated."""

    def test_frames_and_timeout(self) -> None:
        """The torque is gravity and J^T of the wrench, for 0.1 s after the last message."""
        self.bring_up(free=False)
        q = self.bench.q
        gravity, J = self.peer.gravity(q), self.peer.jacobian(q, TIP)
        moment, force = np.array([0.3, -0.2, 0.1]), np.array([4.0, -6.0, 5.0])
        self.assert_close(self.command(), gravity)
        for frame in ('', TIP, 'link_4'):
            with self.subTest(frame=frame):
                R = self.pose(frame)[:3, :3] if frame else np.eye(3)
                tip = self.pose()[:3, :3]
                wrench = np.concatenate([tip.T @ R @ moment, tip.T @ R @ force])
                self.taken(self.wrenches, wrench_message(frame, moment, force))
                commands = [self.command() for _ in range(round(TIMEOUT / (1e-9 * PERIOD)) + 20)]
                # The rate limit acts for some periods, after the coming and after the going.
                self.assert_close(commands[6], gravity + J.T @ wrench)
                self.assert_close(commands[-1], gravity)
                whole = [np.abs(c - gravity - J.T @ wrench).max() < 1e-6 for c in commands]
                end = whole.index(False, whole.index(True)) * 1e-9 * PERIOD
                print(f'wrench in {frame!r}: ends {end:.2f} s after it came')
                self.assertAlmostEqual(end, TIMEOUT, delta=2e-9 * PERIOD + 1e-9)

    def test_repeated_and_bounded(self) -> None:
        """Repeated it stays; beyond its limits it is cut per axis of the base."""
        self.bring_up(free=False)
        q = self.bench.q
        gravity, J, R = self.peer.gravity(q), self.peer.jacobian(q, TIP), self.pose()[:3, :3]
        for _ in range(50):
            self.repeat(self.wrenches,
                        wrench_message('', np.zeros(3), np.array([0.0, 0.0, 500.0])))
            command = self.command()
        wrench = np.concatenate([np.zeros(3), R.T @ [0.0, 0.0, 50.0]])
        self.assert_close(command, gravity + J.T @ wrench)

    def assert_close(self, found: np.ndarray, wanted: np.ndarray) -> None:
        """Expect a vector."""
        self.assertLess(np.linalg.norm(found - wanted) / np.linalg.norm(wanted), TOLERANCE)


class TestSingular(Case):
    """A pose in which the tip has lost a direction."""

    def test_is_told(self) -> None:
        """Condition and lost directions are published, and a diagnostic names them."""
        heard: list[DiagnosticStatus] = []

        def hear(message: DiagnosticArray) -> None:
            heard.extend(s for s in message.status if s.name.endswith(': reference'))
        self.client.node.create_subscription(DiagnosticArray, '/diagnostics', hear, 10)
        conditions = self.client.listen(
            Float64MultiArray, 'controller/operational_space/condition')
        losses = self.client.listen(Float64MultiArray, 'controller/operational_space/lost')
        self.bring_up(free=False, dynamics_divider=10)
        self.bench.run_until(lambda: bool(heard) and bool(conditions) and bool(losses), 'a burst')
        self.assertEqual(heard[-1].level, DiagnosticStatus.OK, heard[-1].message)
        self.assertLess(conditions[-1].data[0], 1e3)
        np.testing.assert_array_equal(losses[-1].data, 0.0)
        self.bench.q = STRETCHED.copy()
        self.bench.run_until(lambda: heard[-1].level == DiagnosticStatus.WARN, 'a warning')
        conditions.clear()
        losses.clear()
        self.bench.run_until(lambda: bool(conditions) and bool(losses), 'a burst')
        J = np.diag([0.1, 0.1, 0.1, 1.0, 1.0, 1.0]) @ self.peer.jacobian(STRETCHED, TIP)
        values, vectors = np.linalg.eigh(
            J @ np.linalg.solve(self.peer.mass_matrix(STRETCHED), J.T))
        condition, share = values[-1] / values[0], 1.0 - values[0] / (values[-1] / 1e3)
        print(f'condition {condition:.0f}, lost {np.round(losses[-1].data, 3)}')
        self.assertGreater(condition, 1e3)
        self.assertAlmostEqual(conditions[-1].data[0] / condition, 1.0, delta=TOLERANCE)
        np.testing.assert_allclose(losses[-1].data, share * vectors[:, 0]**2, atol=1e-6)
        self.assertEqual(losses[-1].layout.dim[0].label, 'rx,ry,rz,x,y,z')
        worst = 'rx ry rz x y z'.split()[int(np.argmax(losses[-1].data))]
        self.assertIn('singular', heard[-1].message)
        told = {pair.key: pair.value for pair in heard[-1].values}['lost directions']
        self.assertIn(f'{worst} ', told)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
