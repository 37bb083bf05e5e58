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
Every law over topics, against Pinocchio and the law as it is documented.

One controller on a clock in our hands is configured in several ways. The test says where the arm
is and how fast, so that each command and each report is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import time
import unittest

from control_msgs.msg import JointTrajectoryControllerState
from geometry_msgs.msg import (
    InertiaStamped, PoseStamped, TransformStamped, TwistStamped, WrenchStamped)
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pinocchio as pin
import pytest
import rig
from sensor_msgs.msg import Imu
from std_msgs.msg import String
import stepped
from stepped import JOINTS, START, SteppedCase, URDF
from tf2_msgs.msg import TFMessage

Array = np.ndarray

#: largest error of a vector over its own norm
TOLERANCE = 1e-8

TIP, DOWN = 'tool0', np.array([0.0, 0.0, -9.81])
Q = START + np.array([0.02, -0.03, 0.01, 0.02, -0.01, 0.03, -0.02])
QD = np.array([0.3, -0.2, 0.25, 0.4, -0.3, 0.2, -0.5])
SCALE = np.array([1.0, 0.9, 1.1, 1.0, 0.8, 1.0, 0.5])
#: N.m.s/rad, less than what a loop at this rate can carry
DAMPING = np.array([0.2, 0.2, 0.1, 0.1, 0.05, 0.1, 0.01])
VISCOUS = np.array([0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
COULOMB = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])
WIDTH = 0.07  # rad/s
STIFFNESS, RATE = 50.0, 10.0  # Kp, Kd
SPRINGS = np.array([20.0, 20.0, 10.0, 10.0, 1.0, 1.0, 0.1])
#: of the tip, angular first: 1/s^2, and N.m/rad with N/m
TASK = np.array([60.0, 60.0, 60.0, 80.0, 80.0, 80.0])
TIP_SPRINGS = np.array([1.0, 1.0, 1.0, 40.0, 50.0, 60.0])
#: moment and force, in the axes of the tip
WRENCH = np.array([0.3, -0.2, 0.1, 4.0, -6.0, 5.0])
LOAD = pin.Inertia(2.5, np.array([0.03, -0.02, 0.06]), np.diag([0.02, 0.025, 0.018]))

#: values that each test begins with
USUAL: dict[str, object] = {
    'mode': 'gravity_compensation', 'driver_adds': 'none', 'release_torque': 'zero',
    'gravity_source': 'parameter', 'gravity_frame': '', 'payload.ramp_time': 0.1,
    'gravity_timeout': 5.0, 'gravity_slew': 1000.0, 'gravity_scale': [1.0],
    'free_damping': [0.0], 'friction.viscous': [0.0], 'friction.coulomb': [0.0],
    'friction.speed': [WIDTH], 'task.frame': TIP, 'state_divider': 1, 'dynamics_divider': 0}


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 3, pool='parts')  # numbers: test/control
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([
        rig.controller(**stepped.PARAMETERS, use_sim_time=True, activation_timeout=10.0),
        ReadyToTest()])


class Peer:
    """The arm in Pinocchio, with a payload on its tip and a direction of gravity."""

    def __init__(self, load: pin.Inertia | None = None, gravity: Array = DOWN) -> None:
        self.model = pin.buildModelFromXML(URDF)
        if load is not None:
            tip = self.model.frames[self.model.getFrameId(TIP)]
            self.model.appendBodyToJoint(tip.parentJoint, load, tip.placement)
        self.model.gravity.linear = gravity
        self.data = self.model.createData()

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return inverse dynamics."""
        return pin.rnea(self.model, self.data, q, qd, qdd)

    def gravity(self, q: Array) -> Array:
        """Return the torque that holds it still."""
        return pin.computeGeneralizedGravity(self.model, self.data, q).copy()

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian of the tip in its own axes, angular rows first."""
        J = pin.computeFrameJacobian(self.model, self.data, q, self.model.getFrameId(TIP),
                                     pin.ReferenceFrame.LOCAL)
        return np.vstack([J[3:], J[:3]])

    def inertia(self, q: Array) -> Array:
        """Return the inertia that is felt at the tip."""
        H, J = pin.crba(self.model, self.data, q), self.jacobian(q)
        H = np.triu(H) + np.triu(H, 1).T
        return np.linalg.inv(J @ np.linalg.solve(H, J.T))

    def pose(self, q: Array) -> pin.SE3:
        """Return the placement of the tip in the base."""
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.model.getFrameId(TIP)].copy()


PEER = Peer()


def joint_laws() -> dict[str, tuple[dict[str, object], Array]]:
    """Return of each law of the joints its parameters, and its torque at Q and QD."""
    g, towards = PEER.gravity(Q), START - Q
    rubbing = VISCOUS * QD + COULOMB * np.tanh(QD / WIDTH)
    followed = PEER.torque(Q, QD, STIFFNESS * towards - RATE * QD)
    return {
        'gravity_compensation': ({
            'gravity_scale': SCALE.tolist(), 'free_damping': DAMPING.tolist(),
            'friction.viscous': VISCOUS.tolist(), 'friction.coulomb': COULOMB.tolist(),
            'friction.free': [1.0]}, SCALE * g + rubbing - DAMPING * QD),
        'damping': ({'brake_damping': DAMPING.tolist()}, g - DAMPING * QD),
        'computed_torque': ({
            'stiffness': [STIFFNESS], 'damping': [RATE], 'dynamics_divider': 1}, followed),
        'hold': ({}, followed),
        'joint_impedance': ({
            'joint_impedance.stiffness': SPRINGS.tolist(),
            'joint_impedance.damping': DAMPING.tolist()},
            g + SPRINGS * towards - DAMPING * QD)}


def tip_laws() -> dict[str, tuple[dict[str, object], Callable[[Array], Array]]]:
    """Return of each law of the tip its parameters, and the wrench it makes of an error."""
    def springs(error: Array) -> Array:
        turn, way = error[:3], error[3:]
        back = pin.Jlog3(pin.exp3(turn))
        return np.concatenate([back @ (TIP_SPRINGS[:3] * turn)
                               + np.cross(way, TIP_SPRINGS[3:] * way), TIP_SPRINGS[3:] * way])
    return {
        'operational_space': ({
            'task.angular_stiffness': TASK[0], 'task.linear_stiffness': TASK[3]},
            lambda error: PEER.inertia(START) @ (TASK * error)),
        'cartesian_impedance': ({
            'cartesian_impedance.angular_stiffness': TIP_SPRINGS[:3].tolist(),
            'cartesian_impedance.linear_stiffness': TIP_SPRINGS[3:].tolist()}, springs)}


class TestLaws(SteppedCase):
    """A controller on a clock in our hands, and an arm that is where the test says."""

    @classmethod
    def prepare(cls) -> None:
        """Listen to what is reported, and create the publishers."""
        cls.control = cls.client.listen(
            JointTrajectoryControllerState, 'controller/controller_state', 1000)
        cls.poses = cls.client.listen(PoseStamped, 'controller/frame_pose', 1000)
        cls.twists = cls.client.listen(TwistStamped, 'controller/frame_twist', 1000)
        create = cls.client.node.create_publisher
        cls.pose = create(PoseStamped, 'controller/target_pose', 1)
        cls.wrench = create(WrenchStamped, 'controller/target_wrench', 1)
        cls.payload = create(InertiaStamped, 'controller/payload', 1)
        cls.imu = create(Imu, 'controller/imu', 10)
        cls.tf = create(TFMessage, '/tf', 10)

    def configure(self, **values: object) -> None:
        """Configure; it is put down after the test, or by ``doCleanups``."""
        self.place(START, np.zeros(7))
        self.client.must_set(USUAL | values)
        assert self.client.transition(rig.CONFIGURE), self.client.last('log')
        self.addCleanup(self.bench.put_down)
        self.addCleanup(self.place, START, np.zeros(7))

    def bring_up(self, **values: object) -> None:
        """Configure and activate, at rest."""
        self.configure(**values)
        self.bench.activate()
        self.bench.stuck = True

    def place(self, q: Array, qd: Array) -> None:
        """Put the arm somewhere."""
        self.bench.q, self.bench.qd = q.copy(), qd.copy()

    def switch(self, mode: str, **values: object) -> None:
        """Change the mode at the start, at rest, and wait until it is in force."""
        self.place(START, np.zeros(7))
        self.bench.run(0.05)
        self.client.must_set(values | {'mode': mode})
        self.bench.run_until(lambda: self.client.last('mode') == mode, mode)
        self.bench.run(0.15)  # the change is faded in

    def command(self) -> Array:
        """Return the answer to one more state."""
        for _ in range(20):
            answer = self.bench.step()
            if answer is not None:
                return answer.effort
        raise AssertionError('no answer')

    def assert_close(self, found: Array, wanted: Array, what: str = '') -> None:
        """Expect a vector."""
        size = np.linalg.norm(wanted) or 1.0
        self.assertLess(np.linalg.norm(np.subtract(found, wanted)) / size, TOLERANCE,
                        f'{what} {found} {wanted}')

    def expect(self, wanted: Array, what: str, act: Callable[[], None] = lambda: None) -> None:
        """
        Expect a torque once what was asked for has been taken and limits of its rate are passed.

        :param act: is done before each state, for what must be repeated.
        """
        size, found = np.linalg.norm(wanted) or 1.0, np.zeros(7)
        for _ in range(3000):
            act()
            found = self.command()
            if np.linalg.norm(found - wanted) / size < TOLERANCE:
                return
        self.assert_close(found, wanted, f'{what}; {self.client.last("log")}')

    # -- laws -----------------------------------------------------------------------------------

    def test_joints(self) -> None:
        """Each law of the joints, in motion, beside its reference; who comes late hears which."""
        self.bring_up()
        for mode, (values, wanted) in joint_laws().items():
            with self.subTest(mode):
                self.switch(mode, **values)
                self.assert_close(self.command(), (
                    SCALE if mode == 'gravity_compensation' else 1.0) * PEER.gravity(START),
                    'at rest')
                self.place(Q, QD)
                self.bench.run(0.3)  # no limit of the rate counts any more
                self.assert_close(self.command(), wanted, mode)
                if mode == 'computed_torque':
                    self.reports(wanted)
        heard: list[str] = []
        self.client.node.create_subscription(
            String, 'controller/mode', lambda m: heard.append(m.data), rig.LATCHED)
        self.client.wait(lambda: heard == ['joint_impedance'], 'the mode, late')
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))

    def reports(self, torque: Array) -> None:
        """Expect reports of one more state: what was measured, what it is compared with."""
        self.client.wait(lambda: self.client.node.count_publishers(
            'controller/frame_twist') > 0, 'frame_twist')

        def heard() -> bool:
            now = self.bench.now
            return all(m and rig.to_ns(m[-1].header.stamp) == now
                       for m in (self.control, self.poses, self.twists))
        for _ in range(20):  # who listens only now is found some states later
            self.command()
            end = time.monotonic() + 0.2
            while not heard() and time.monotonic() < end:
                time.sleep(0.002)
            if heard():
                break
        self.assertTrue(heard(), 'no reports of the last state')
        report, pose, twist = self.control[-1], self.poses[-1], self.twists[-1]
        self.assertEqual(tuple(report.joint_names), JOINTS)
        self.assertEqual(list(report.feedback.positions), Q.tolist())
        self.assertEqual(list(report.feedback.velocities), QD.tolist())
        np.testing.assert_allclose(report.reference.positions, START, atol=1e-12)
        np.testing.assert_allclose(report.error.positions, START - Q, atol=1e-12)
        np.testing.assert_allclose(report.error.velocities, -QD, atol=1e-12)
        self.assert_close(report.output.effort, torque)
        self.assertEqual((pose.header.frame_id, twist.header.frame_id), ('base_link', TIP))
        p, o = pose.pose.position, pose.pose.orientation
        found = pin.SE3(pin.Quaternion(o.w, o.x, o.y, o.z).matrix(), np.array([p.x, p.y, p.z]))
        np.testing.assert_allclose(found.homogeneous, PEER.pose(Q).homogeneous, atol=1e-9)
        w, v = twist.twist.angular, twist.twist.linear
        self.assert_close(np.array([w.x, w.y, w.z, v.x, v.y, v.z]), PEER.jacobian(Q) @ QD)

    def test_tip(self) -> None:
        """Each law of the tip: what it does about a pose that is not reached, and a wrench."""
        self.bring_up()
        J, g, here = PEER.jacobian(START), PEER.gravity(START), PEER.pose(START)
        error = np.array([0.02, -0.03, 0.04, 0.01, -0.005, 0.008])
        there = here * pin.SE3(pin.exp3(error[:3]), error[3:])
        for mode, (values, wrench) in tip_laws().items():
            with self.subTest(mode):
                self.switch(mode, **values)
                self.assert_close(self.command(), g, 'at rest')
                for publisher in (self.pose, self.wrench):
                    self.client.wait(lambda publisher=publisher:
                                     publisher.get_subscription_count() > 0, 'a subscription')
                self.expect(g + J.T @ WRENCH, 'a wrench', self.press)
                self.expect(g, 'no wrench')  # it ends when it is not repeated
                self.pose.publish(pose_message(there))
                self.expect(g + J.T @ wrench(error), 'a pose')
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))

    def press(self) -> None:
        """Publish a wrench, and wait until it is taken: states do not wait for that."""
        message = WrenchStamped()
        message.header.frame_id = TIP
        m, f = message.wrench.torque, message.wrench.force
        m.x, m.y, m.z, f.x, f.y, f.z = WRENCH.tolist()
        self.wrench.publish(message)
        self.client.get('mode')

    # -- what the laws know of the robot --------------------------------------------------------

    def test_payload_and_driver(self) -> None:
        """A payload is carried; what the driver adds in this motion, without it, is taken off."""
        self.bring_up(driver_adds='gravity_and_coriolis', driver_knows_payload=False)
        self.expect(np.zeros(7), 'nothing')
        message = InertiaStamped()
        message.header.frame_id = TIP
        inertia, tensor = message.inertia, LOAD.inertia
        inertia.m = float(LOAD.mass)
        inertia.com.x, inertia.com.y, inertia.com.z = LOAD.lever.tolist()
        inertia.ixx, inertia.iyy, inertia.izz = np.diag(tensor).tolist()
        self.payload.publish(message)
        loaded = Peer(LOAD).gravity(START)
        self.expect(loaded - PEER.gravity(START), 'a payload')
        self.place(START, QD)
        self.expect(loaded - PEER.torque(START, QD, np.zeros(7)), 'a payload in motion')

    def test_gravity(self) -> None:
        """An IMU on the base, or a frame of TF, says where down is; without it nothing starts."""
        mounting = pin.rpy.rpyToMatrix(0.2, -0.1, 1.5)
        urdf = URDF.replace('</robot>', """<link name="imu"/>
            <joint name="imu_mount" type="fixed"><parent link="base_link"/><child link="imu"/>
            <origin rpy="0.2 -0.1 1.5"/></joint></robot>""")
        self.addCleanup(self.client.must_set, {
            'robot_description': URDF, 'activation_timeout': 10.0})
        self.turn = pin.rpy.rpyToMatrix(0.3, -0.4, 0.9)

        def imu() -> None:
            message = Imu()
            message.header.stamp, message.header.frame_id = rig.to_time(self.bench.now), 'imu'
            set_quaternion(message.orientation, self.turn @ mounting)
            self.imu.publish(message)

        def tf() -> None:
            message = TransformStamped(child_frame_id='base_link')
            message.header.stamp, message.header.frame_id = rig.to_time(self.bench.now), 'world'
            set_quaternion(message.transform.rotation, self.turn)
            self.tf.publish(TFMessage(transforms=[message]))
        for source, send, said, values in (
                ('imu', imu, 'the topic /controller/imu', {'robot_description': urdf}),
                ('tf', tf, 'TF from base_link to world', {'gravity_frame': 'world'})):
            with self.subTest(source):
                self.configure(gravity_source=source, activation_timeout=0.5, **values)
                self.client.wait(lambda: self.client.states.get_subscription_count() > 0, 'it')
                since = time.monotonic()
                self.assertFalse(self.bench.transition(rig.ACTIVATE))
                self.client.wait_text('log', f'no direction of gravity from {said}', since)
                self.client.must_set({'activation_timeout': 10.0})
                with self.stepping(send):
                    self.bench.activate()
                    self.bench.stuck = True
                    for angles in ((0.3, -0.4, 0.9), (-0.6, 0.2, 2.0)):
                        self.turn = pin.rpy.rpyToMatrix(*angles)
                        self.expect(Peer(gravity=self.turn.T @ DOWN).gravity(START), source)
                self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))
            self.doCleanups()

    @contextmanager
    def stepping(self, send: Callable[[], None]) -> Iterator[None]:
        """Send something with every state meanwhile."""
        step = self.bench.step

        def both(*arguments: float | None) -> rig.Command | None:
            send()
            return step(*arguments)
        self.bench.step = both
        try:
            yield
        finally:
            self.bench.step = step


def set_quaternion(found: object, R: Array) -> None:
    """Write a turn into a message."""
    found.x, found.y, found.z, found.w = pin.Quaternion(R).coeffs().tolist()


def pose_message(T: pin.SE3) -> PoseStamped:
    """Return a target in the base."""
    message = PoseStamped()
    position = message.pose.position
    position.x, position.y, position.z = T.translation.tolist()
    set_quaternion(message.pose.orientation, T.rotation)
    return message


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
