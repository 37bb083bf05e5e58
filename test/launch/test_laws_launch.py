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
The laws of joint space over topics, each against Pinocchio and the law as it is documented.

One controller on a clock in our hands is configured in several ways. The test says where the arm
is and how fast, so that each command, each reference and each report is known exactly.
"""

from __future__ import annotations

import time
import unittest

from control_msgs.msg import JointTrajectoryControllerState
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pinocchio as pin
import pytest
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
import stepped
from stepped import JOINTS, PERIOD, START, SteppedCase, URDF

#: largest error of a vector over its own norm
TOLERANCE = 1e-8

DT = 1e-9 * PERIOD
TIP = 'tool0'
QD = np.array([0.3, -0.2, 0.25, 0.4, -0.3, 0.2, -0.5])
SCALE = np.array([1.0, 0.9, 1.1, 1.0, 0.8, 1.0, 0.5])
#: N.m.s/rad, less than what a loop at this rate can carry
DAMPING = np.array([0.2, 0.2, 0.1, 0.1, 0.05, 0.1, 0.01])
VISCOUS = np.array([0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
FREE = np.array([0.0, 0.5, 1.0, 0.25, 0.75, 0.1, 0.9])
COULOMB = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])
WIDTH = 0.07  # rad/s
STIFFNESS, RATE = 50.0, 10.0  # Kp, Kd

#: a turntable with an arm, both without end
ENDLESS = """
<robot name="endless">
  <link name="base"/>
  <link name="table"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="table"/>
    <axis xyz="0 0 1"/><limit effort="50" velocity="3"/></joint>
  <joint name="swing" type="continuous"><parent link="table"/><child link="arm"/>
    <origin xyz="0 0 0.3"/><axis xyz="0 1 0"/><limit effort="50" velocity="3"/></joint>
</robot>
"""


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([
        rig.controller(**stepped.PARAMETERS, use_sim_time=True, activation_timeout=10.0),
        ReadyToTest()])


class Peer:
    """A robot in Pinocchio."""

    def __init__(self, urdf: str = URDF) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()

    def torque(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return inverse dynamics."""
        return pin.rnea(self.model, self.data, q, qd, qdd)

    def gravity(self, q: np.ndarray) -> np.ndarray:
        """Return the torque that holds it still."""
        return pin.computeGeneralizedGravity(self.model, self.data, q).copy()

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """Return H."""
        H = pin.crba(self.model, self.data, q)
        return np.triu(H) + np.triu(H, 1).T

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian of the tip in its own axes, angular rows first."""
        J = pin.computeFrameJacobian(self.model, self.data, q, self.model.getFrameId(TIP),
                                     pin.ReferenceFrame.LOCAL)
        return np.vstack([J[3:], J[:3]])

    def pose(self, q: np.ndarray) -> pin.SE3:
        """Return the placement of the tip in the base."""
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.model.getFrameId(TIP)].copy()


def rubbing(qd: np.ndarray) -> np.ndarray:
    """Return the friction that is compensated."""
    return VISCOUS * qd + COULOMB * np.tanh(qd / WIDTH)


class Case(SteppedCase):
    """A controller on a clock in our hands, and an arm that is where the test says."""

    @classmethod
    def prepare(cls) -> None:
        """Listen to the state of the controller, and prepare the peer."""
        cls.control = cls.client.listen(
            JointTrajectoryControllerState, 'controller/controller_state', 1000)
        cls.peer = Peer()

    def bring_up(self, q: np.ndarray = START, **values: object) -> None:
        """Configure and activate, at rest; it is put down after the test."""
        client, bench = self.client, self.bench
        bench.q, bench.qd = q.copy(), np.zeros(len(q))
        defaults = {
            'robot_description': URDF, 'mode': 'computed_torque', 'driver_adds': 'none',
            'release_torque': 'zero',
            'driver_knows_payload': False, 'gravity_scale': [1.0], 'free_damping': [0.0],
            'friction.viscous': [0.0], 'friction.coulomb': [0.0], 'friction.speed': [WIDTH],
            'stiffness': [STIFFNESS], 'damping': [RATE], 'integral': [0.0],
            'integral_limit': [5.0], 'observer_feedback': False, 'observer_gain': [30.0],
            'torque_limits': rig.NO_NUMBERS, 'payload.mass': 0.0, 'payload.ramp_time': 0.0,
            'reference.velocity': rig.NO_NUMBERS, 'reference.acceleration': [50.0],
            'dynamics_divider': 0, 'state_divider': 1}
        client.must_set(defaults | values)
        assert client.transition(rig.CONFIGURE), client.last('log')
        self.addCleanup(self.put_down)
        bench.activate()
        bench.stuck = True
        bench.run(0.3)

    def put_down(self) -> None:
        """Let go of the arm, deactivate and clean up."""
        self.bench.qd[:] = 0.0
        self.bench.push[:] = 0.0
        self.bench.block()
        self.bench.put_down()

    def place(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Put the arm somewhere, and wait until no rate limit counts any more."""
        self.bench.q, self.bench.qd = q.copy(), qd.copy()
        self.bench.run(0.3)

    def command(self) -> np.ndarray:
        """Return the answer to one more state."""
        for _ in range(20):
            answer = self.bench.step()
            if answer is not None:
                return answer.effort
        raise AssertionError('no answer')

    def assert_close(self, found: np.ndarray, wanted: np.ndarray, what: str = '') -> None:
        """Expect a vector."""
        size = np.linalg.norm(wanted) or 1.0
        self.assertLess(np.linalg.norm(np.subtract(found, wanted)) / size, TOLERANCE,
                        f'{what} {found} {wanted}')

    def speed(self) -> float:
        """Return how fast the reference was when it was reported last."""
        return np.abs(self.control[-1].reference.velocities).max() if self.control else 0.0

    def report(self) -> JointTrajectoryControllerState:
        """Return what is reported about one more state."""
        self.control.clear()
        self.command()
        now = self.bench.now
        self.client.wait(lambda: bool(self.control) and rig.to_ns(
            self.control[-1].header.stamp) == now, 'its report')
        return self.control[-1]


class TestFreeDrive(Case):
    """Gravity compensation with everything that may be added to it."""

    def test_law(self) -> None:
        """The torque is scale g(q) + friction(qd) - D qd, and each part can be changed."""
        self.bring_up(
            mode='gravity_compensation', gravity_scale=SCALE.tolist(),
            free_damping=DAMPING.tolist(), **{
                'friction.viscous': VISCOUS.tolist(), 'friction.coulomb': COULOMB.tolist()})
        g = self.peer.gravity(START)
        self.assert_close(self.command(), SCALE * g, 'at rest')
        self.place(START, QD)
        self.assert_close(self.command(), SCALE * g - DAMPING * QD, 'friction of a reference')
        self.client.must_set({'friction.free': [1.0]})
        self.place(START, QD)
        self.assert_close(self.command(), SCALE * g + rubbing(QD) - DAMPING * QD, 'all')
        self.client.must_set({'gravity_scale': [0.7], 'free_damping': [0.0]})
        self.place(START, QD)
        self.assert_close(self.command(), 0.7 * g + rubbing(QD), 'scale of all joints')
        self.client.must_set({'friction.free': FREE.tolist()})
        self.place(START, QD)
        self.assert_close(self.command(), 0.7 * g + FREE * rubbing(QD), 'a share of friction')
        self.client.must_set({'friction.free': [0.0]})
        self.place(START, QD)
        self.assert_close(self.command(), 0.7 * g, 'without friction')
        self.assertEqual(self.client.last('state'), 'running')

    def test_mode_is_latched(self) -> None:
        """One who comes late hears the mode, and every change of it."""
        self.bring_up(mode='gravity_compensation')
        self.client.must_set({'mode': 'damping'})
        self.bench.run_until(lambda: self.client.last('mode') == 'damping', 'the mode')
        heard: list[str] = []
        self.client.node.create_subscription(
            String, 'controller/mode', lambda m: heard.append(m.data), rig.LATCHED)
        self.client.wait(lambda: heard == ['damping'], 'the mode, late')
        self.client.must_set({'mode': 'hold'})
        self.bench.run_until(lambda: heard == ['damping', 'hold'], 'the next mode')

    def test_driver_part(self) -> None:
        """Limits count for the total; then what the driver adds in this motion is taken off."""
        loaded = Peer()
        tip = loaded.model.frames[loaded.model.getFrameId(TIP)]
        loaded.model.appendBodyToJoint(
            tip.parentJoint, pin.Inertia(8.0, np.zeros(3), np.zeros((3, 3))), tip.placement)
        loaded.data = loaded.model.createData()
        limit = np.full(7, 1.2 * np.abs(self.peer.gravity(START)).max())
        for adds, knows in (('gravity', False), ('gravity_and_coriolis', False),
                            ('gravity_and_coriolis', True)):
            with self.subTest(adds=adds, knows=knows):
                begin = time.monotonic()
                self.bring_up(driver_adds=adds, driver_knows_payload=knows,
                              torque_limits=limit.tolist())
                said = self.client.wait_text('log', 'sends the torque without gravity', begin)
                self.assertIn('payload known' if knows else 'payload unknown', said.text)
                self.assertIn('and Coriolis' if 'cor' in adds else 'gravity on', said.text)
                self.place(np.zeros(7), np.zeros(7))  # upright, it can be held
                self.client.must_set({'payload.mass': 8.0})
                self.bench.settle()
                self.place(START, QD)
                sent = self.command()
                total = loaded.torque(START, QD, -RATE * QD)
                self.assertTrue((np.abs(total) > limit).any(), 'no torque is at its limit')
                known = loaded if knows else self.peer
                driver = known.torque(START, QD if 'cor' in adds else 0.0 * QD, np.zeros(7))
                left = np.clip(total, -limit, limit) - driver
                self.assert_close(sent, np.clip(left, -limit, limit))
            self.doCleanups()


class TestComputedTorque(Case):
    """Computed torque with friction, integral and observer; what is reported about it."""

    def law(self, q: np.ndarray, qd: np.ndarray, z: np.ndarray | float = 0.0) -> np.ndarray:
        """Return the torque towards a reference that rests at the start."""
        return self.peer.torque(q, qd, STIFFNESS * (START - q) - RATE * qd + z)

    def term(self) -> np.ndarray:
        """Return the integral term z out of one more command; friction is none at rest."""
        q, qd = self.bench.q, self.bench.qd
        return np.linalg.solve(self.peer.inertia(q), self.command() - self.law(q, qd))

    def test_friction_of_the_reference(self) -> None:
        """Friction is compensated for the velocity of the reference, not the measured one."""
        self.bring_up(**{'friction.viscous': VISCOUS.tolist(),
                         'friction.coulomb': COULOMB.tolist()})
        self.place(START, QD)
        self.assert_close(self.command(), self.law(START, QD), 'reference at rest')
        end = START + np.array([0.4, -0.3, 0.3, 0.4, -0.4, 0.3, 0.4])
        zero = np.zeros(7)
        self.place(START, zero)
        self.client.trajectory.publish(rig.trajectory_message(
            JOINTS, [2.0], [(end, zero, zero)]))
        self.bench.run_until(lambda: self.speed() > 0.1, 'motion')
        report = self.report()
        q_ref, qd_ref, qdd_ref = (np.array(x) for x in (
            report.reference.positions, report.reference.velocities,
            report.reference.accelerations))
        self.assertGreater(np.abs(qd_ref).min(), 0.01)
        wanted = self.peer.torque(
            START, zero, qdd_ref + RATE * qd_ref + STIFFNESS * (q_ref - START))
        self.assert_close(report.output.effort, wanted + rubbing(qd_ref))

    def test_integral(self) -> None:
        """The term grows by Ki e dt, stays within its bound, and comes back."""
        gain, bound = 40.0, 0.5
        self.bring_up(integral=[gain], integral_limit=[bound])
        error = np.array([0.02, -0.03, 0.01, 0.02, -0.01, 0.03, -0.02])
        self.bench.q = START - error
        self.bench.run(0.15)
        rows = np.array([self.term() for _ in range(20)])
        np.testing.assert_allclose(np.diff(rows, axis=0), np.tile(gain * DT * error, (19, 1)),
                                   rtol=0.0, atol=1e-8)
        self.bench.run(1.5)
        at = np.abs(gain * error) * 1.5 > bound
        self.assertTrue(at.any())
        np.testing.assert_allclose(self.term()[at], (bound * np.sign(error))[at], rtol=1e-7)
        before = self.term()
        self.bench.q = START + error
        self.bench.run(0.3)
        self.assertTrue((np.sign(error) * (before - self.term()) > 0.0).all())
        self.client.must_set({'integral': [0.0]})
        self.bench.settle()
        np.testing.assert_allclose(self.term(), 0.0, atol=1e-8)

    def test_integral_does_not_wind_up(self) -> None:
        """While a torque is at its limit the term of that joint does not grow."""
        gain, joint = 40.0, 1
        self.bring_up(integral=[gain], integral_limit=[100.0])
        q = START.copy()
        q[joint] -= 0.005
        self.place(q, np.zeros(7))
        self.assertGreater(self.term()[joint], 0.0)
        self.client.must_set({'stiffness': [3000.0], 'damping': [40.0]})
        far = START.copy()
        far[joint] -= 0.4
        self.place(far, np.zeros(7))
        limit = np.array(self.peer.model.effortLimit)
        begin = self.bench.now
        for _ in range(100):
            self.assertAlmostEqual(abs(self.command()[joint]), limit[joint], places=9)
        lasted = (self.bench.now - begin) * 1e-9
        self.client.must_set({'stiffness': [STIFFNESS], 'damping': [RATE]})
        self.bench.q = START.copy()
        self.bench.run(0.5)
        wound = gain * 0.4 * lasted
        found = self.term()[joint]
        print(f'term {found:.3f} rad/s^2 after {lasted:.2f} s at the limit; it would be '
              f'{wound:.1f} rad/s^2')
        self.assertLess(found, 0.2 * wound)

    def test_reports(self) -> None:
        """Reference, feedback, error and output are those of the state that is named."""
        self.bring_up(dynamics_divider=1)
        poses = self.client.listen(PoseStamped, 'controller/frame_pose')
        twists = self.client.listen(TwistStamped, 'controller/frame_twist')
        self.client.wait(lambda: self.client.node.count_publishers(
            'controller/frame_twist') > 0, 'frame_twist')
        rng = np.random.default_rng(3)
        for _ in range(5):
            q, qd = START + rng.uniform(-0.02, 0.02, 7), rng.uniform(-0.2, 0.2, 7)
            self.place(q, qd)
            report = self.report()
            self.assertEqual(tuple(report.joint_names), JOINTS)
            self.assertEqual(list(report.feedback.positions), q.tolist())
            self.assertEqual(list(report.feedback.velocities), qd.tolist())
            np.testing.assert_allclose(report.reference.positions, START, atol=1e-12)
            np.testing.assert_allclose(report.reference.velocities, 0.0, atol=1e-12)
            np.testing.assert_allclose(report.error.positions, START - q, atol=1e-12)
            np.testing.assert_allclose(report.error.velocities, -qd, atol=1e-12)
            self.assert_close(report.output.effort, self.law(q, qd))
            now = self.bench.now
            self.client.wait(lambda: bool(poses and twists) and all(
                rig.to_ns(m[-1].header.stamp) == now for m in (poses, twists)), 'the frame')
            self.frame(poses[-1], twists[-1], q, qd)

    def frame(self, pose: PoseStamped, twist: TwistStamped, q: np.ndarray,
              qd: np.ndarray) -> None:
        """Compare pose and twist of the tip with Pinocchio."""
        self.assertEqual((pose.header.frame_id, twist.header.frame_id), ('base_link', TIP))
        wanted = self.peer.pose(q)
        p, o = pose.pose.position, pose.pose.orientation
        found = pin.SE3(pin.Quaternion(o.w, o.x, o.y, o.z).matrix(), np.array([p.x, p.y, p.z]))
        np.testing.assert_allclose(found.homogeneous, wanted.homogeneous, atol=1e-9)
        w, v = twist.twist.angular, twist.twist.linear
        self.assert_close(np.array([w.x, w.y, w.z, v.x, v.y, v.z]), self.peer.jacobian(q) @ qd)

    def test_labels(self) -> None:
        """Every array says what its rows and columns are; a burst names all joints."""
        self.bring_up(dynamics_divider=1)
        joints, axes = ','.join(JOINTS), 'rx,ry,rz,x,y,z'
        wanted = {
            'dynamics/mass_matrix': [(joints, 7, 49), (joints, 7, 7)],
            'dynamics/gravity': [(joints, 7, 7)], 'dynamics/coriolis': [(joints, 7, 7)],
            'dynamics/jacobian': [(axes, 6, 42), (joints, 7, 7)],
            'operational_space/inertia': [(axes, 6, 36), (axes, 6, 6)],
            'operational_space/bias': [(axes, 6, 6)],
            'operational_space/condition': [('condition', 1, 1)],
            'operational_space/lost': [(axes, 6, 6)]}
        heard = {name: self.client.listen(Float64MultiArray, f'controller/{name}')
                 for name in wanted}
        states = self.client.listen(JointState, 'controller/dynamics/joint_state')
        self.bench.run_until(lambda: bool(states) and all(heard.values()), 'a burst')
        for name, dims in wanted.items():
            message = heard[name][-1]
            self.assertEqual([(d.label, d.size, d.stride) for d in message.layout.dim], dims)
            self.assertEqual(len(message.data), dims[0][2], name)
        self.assertEqual(tuple(states[-1].name), JOINTS)
        self.assertEqual(list(states[-1].position), self.bench.q.tolist())

    def test_observer(self) -> None:
        """A push is seen as torque and wrench; fed back, it no longer moves the arm."""
        # The light wrist darts back, beyond its velocity limit, when the push is compensated.
        self.bring_up(dynamics_divider=1, state_divider=0, stiffness=[100.0], damping=[20.0],
                      velocity_patience=0.2)
        torques = self.client.listen(JointState, 'controller/external_torque', 1000)
        wrenches = self.client.listen(WrenchStamped, 'controller/external_wrench', 1000)
        self.bench.stuck = False
        wrench = np.array([0.01, -0.02, 0.002, 8.0, -5.0, 6.0])
        push = self.peer.jacobian(START).T @ wrench
        for share in np.linspace(0.0, 1.0, 100):  # the wrist is light: no blow
            self.bench.push = share * push
            self.bench.step()
        self.bench.run(1.5)
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))
        self.see(torques, wrenches, wrench)
        offset = self.bench.q - START
        self.assertGreater(np.abs(offset).max(), 0.01)
        self.client.must_set({'observer_feedback': True})
        self.bench.settle()
        self.bench.run_until(lambda: np.abs(self.bench.q - START).max() < 1e-4, 'the way back')
        print(f'a push moves the arm by {np.abs(offset).max():.3f} rad')
        self.see(torques, wrenches, wrench)
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))

    def see(self, torques: list, wrenches: list, wrench: np.ndarray) -> None:
        """
        Expect that the push becomes known, as a joint torque and as a wrench.

        How soon, in simulated time, depends on this machine: a state that was not answered in time
        lets the brakes hold the arm, which the observer sees and has to forget again.
        """
        self.bench.settle()  # reports of states long ago are still on their way
        torques.clear()
        wrenches.clear()

        def known() -> bool:
            if not (torques and wrenches):
                return False
            m, f = wrenches[-1].wrench.torque, wrenches[-1].wrench.force
            found = np.array([m.x, m.y, m.z, f.x, f.y, f.z])
            # The arm has moved a little, and directions that hardly move anything are damped.
            wanted = np.linalg.lstsq(self.peer.jacobian(self.bench.q).T, self.bench.push)[0]
            return (np.abs(torques[-1].effort - self.bench.push).max() < 1e-3
                    and np.abs(found - wanted).max() < 0.01 * np.linalg.norm(wrench))
        self.bench.run_until(known, 'the push')
        self.assertEqual(tuple(torques[-1].name), JOINTS)
        self.assertEqual(wrenches[-1].header.frame_id, TIP)


class TestReferences(Case):
    """Where a reference goes, how fast, and when it stops."""

    def watch(self, steps: int) -> np.ndarray:
        """Return positions and velocities of the reference at so many states."""
        self.control.clear()
        begin = self.bench.now
        for _ in range(steps):
            self.command()
        end = self.bench.now
        self.client.wait(lambda: bool(self.control) and rig.to_ns(
            self.control[-1].header.stamp) == end, 'the reports')
        rows = [(r.reference.positions, r.reference.velocities) for r in self.control
                if rig.to_ns(r.header.stamp) > begin]
        return np.array(rows)

    def test_jump_is_limited(self) -> None:
        """A set-point far away is approached within the limits of velocity and acceleration."""
        most, acceleration = 0.8, 4.0
        self.bring_up(**{'reference.velocity': [most], 'reference.acceleration': [acceleration]})
        target = START + np.array([0.6, -0.3, 0.2, 0.3, -0.2, 0.1, 0.4])
        point = rig.trajectory_message(JOINTS, [0.0], [(target,)])
        rows = []
        while not rows or np.abs(rows[-1][-1, 0] - target).max() > 1e-6:
            self.assertLess(len(rows), 60, 'the set-point is not reached')
            self.client.trajectory.publish(point)  # streamed, well within its time-out
            rows.append(self.watch(10))
        q, qd = np.concatenate(rows).transpose(1, 0, 2)
        self.assertLessEqual(np.abs(qd).max(), most * (1.0 + 1e-9))
        self.assertGreater(np.abs(qd).max(), 0.9 * most)
        self.assertLessEqual(np.abs(np.diff(qd, axis=0)).max() / DT, acceleration * (1.0 + 1e-6))
        np.testing.assert_allclose(q[0], START, atol=acceleration * DT * 0.2)

    def test_streaming_times_out(self) -> None:
        """Set-points that cease are left 0.5 s later, and the reference comes to rest there."""
        self.bring_up(**{'reference.velocity': [0.2]})
        self.client.trajectory.publish(rig.trajectory_message(
            JOINTS, [0.0], [(START + 1.0,)]))
        rows = [self.watch(50)]
        while len(rows) < 4 or np.abs(rows[-1][:, 1]).max() > 0.0:
            self.assertLess(len(rows), 40, 'the reference does not come to rest')
            rows.append(self.watch(50))
        q, qd = np.concatenate(rows).transpose(1, 0, 2)
        moving = np.flatnonzero(np.abs(qd).max(axis=1) > 1e-9)
        lasted = (moving[-1] - moving[0]) * DT
        print(f'a set-point that is not repeated moves the reference for {lasted:.2f} s')
        self.assertGreater(lasted, 0.45)
        self.assertLess(lasted, 0.60)
        self.assertLess(np.abs(q[-1] - START).max(), 0.2 * 0.6)
        np.testing.assert_array_equal(q[-1], q[-20])

    def test_trajectory_starts_here(self) -> None:
        """A trajectory begins where the reference is and as fast as it is, without a step."""
        self.bring_up()
        zero = np.zeros(7)
        self.client.trajectory.publish(rig.trajectory_message(
            JOINTS, [1.0, 2.0], [(START + 0.3, zero + 0.3), (START + 0.4, zero)]))
        self.bench.run_until(lambda: self.speed() > 0.1, 'motion')
        self.client.trajectory.publish(rig.trajectory_message(
            JOINTS[::-1], [1.5], [(START[::-1] - 0.1, zero)]))
        rows = [self.watch(10)]
        while np.abs(rows[-1][-1, 0] - (START - 0.1)).max() > 1e-9:
            self.assertLess(len(rows), 60, 'the end is not reached')
            rows.append(self.watch(10))
        q, qd = np.concatenate(rows).transpose(1, 0, 2)
        self.assertGreater(np.abs(qd[0]).max(), 0.05)
        step = np.abs(np.diff(q, axis=0) - 0.5 * DT * (qd[1:] + qd[:-1])).max()
        self.assertLess(step, 50.0 * DT * DT)
        self.assertLess(np.abs(np.diff(qd, axis=0)).max(), 50.0 * DT)

    def test_short_way(self) -> None:
        """Endless joints take the short way, also when the driver counts turns anew."""
        joints, start = ('turn', 'swing'), np.array([3.0, -3.0])
        original = stepped.JOINTS
        self.addCleanup(setattr, stepped, 'JOINTS', original)
        stepped.JOINTS = joints
        self.addCleanup(self.client.must_set, {
            'task.axes': ['rx', 'ry', 'rz', 'x', 'y', 'z']})
        self.bring_up(start, robot_description=ENDLESS, **{
            'task.axes': ['rz'], 'reference.velocity': [1.0]})
        peer = Peer(ENDLESS)

        def gravity(q: np.ndarray) -> np.ndarray:
            return peer.gravity(np.array([np.cos(q[0]), np.sin(q[0]),
                                          np.cos(q[1]), np.sin(q[1])]))
        target = np.array([-3.0, 3.0])
        way = np.array([2 * np.pi - 6.0, 6.0 - 2 * np.pi])
        rows = self.watch(1)
        for _ in range(60):
            self.client.trajectory.publish(rig.trajectory_message(joints, [0.0], [(target,)]))
            rows = np.concatenate([rows, self.watch(10)])
            if np.abs(rows[-1, 0] - (start + way)).max() < 1e-6:
                break
        np.testing.assert_allclose(rows[-1, 0] - start, way, atol=1e-6)
        self.assertLess(np.abs(rows[:, 0] - start).max(), np.abs(way).max() + 50.0 * DT * DT)
        # The arm arrives there, as one sees whose encoder jumps by a turn.
        for turns in (1.0, 0.0, -2.0):
            self.place(start + way - 2 * np.pi * turns, np.zeros(2))
            self.assert_close(self.command(), gravity(self.bench.q), f'{turns} turns')
            np.testing.assert_allclose(self.report().error.positions, 0.0, atol=1e-6)
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
