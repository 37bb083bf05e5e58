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
A parallel arm over topics: simulator and controller of a five-bar, against Pinocchio.

The controller takes the driven joints alone, and solves for the passive ones.
"""

from __future__ import annotations

from pathlib import Path
import unittest

from closed_loop import assert_clean_end, ClosedLoop, RELAY, STATES
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pinocchio as pin
import pytest
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

URDF = (Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf').read_text()
#: in the order of the commands, which is not that of the description
JOINTS = ['right_shoulder', 'left_shoulder']
START, GOAL = np.array([0.9, 2.2]), np.array([1.2, 2.0])
NAMES = ['left_shoulder', 'left_elbow', 'right_shoulder', 'right_elbow']
#: near the closed position above the pivots: this names the way of assembly
NEAR = {'left_shoulder': 2.2, 'left_elbow': -1.4, 'right_shoulder': 0.9, 'right_elbow': 1.4}
DRIVEN = [NAMES.index(name) for name in JOINTS]
RATE = 250.0  # Hz


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 3, pool='parts')  # numbers: test/control
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the five-bar in lockstep; its rods rub as the description says."""
    simulator = NodeAction(
        package='rbd_ros', executable='simulator', name='simulator', output='screen',
        parameters=[{
            'state_rate': RATE, 'publish_clock': True, 'command_type': 'joint_state',
            'lockstep': True, 'joints': JOINTS, 'initial_positions': START.tolist(),
            'robot_description': URDF}],
        remappings=[('controller/commands', RELAY)])
    return LaunchDescription([simulator, rig.controller(
        use_sim_time=True, autostart=True, driver_adds='none', release_torque='zero',
        command_type='joint_state', nominal_rate=RATE, minimum_rate=10.0,
        activation_timeout=30.0, torque_rate_limits=[1e5], ramp_time=0.2, joints=JOINTS,
        mode='computed_torque', **{
            'start.time': 0.0, 'start.watch_time': 0.0, 'assembly.joints': list(NEAR),
            'assembly.values': list(NEAR.values()), 'task.frame': 'tool',
            'task.axes': ['tx', 'tz']}), ReadyToTest()])


class Peer:
    """The five-bar in Pinocchio, with the ends of its rods pinned to each other."""

    def __init__(self) -> None:
        self.model = pin.buildModelFromXML(URDF)
        self.model.damping[:] = 0.0             # given with the torques
        self.data = self.model.createData()
        end = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.0]))
        ids = [self.model.getJointId(f'{side}_elbow') for side in ('left', 'right')]
        self.models = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        self.models.append(pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, self.model, ids[0], end, ids[1], end,
            pin.ReferenceFrame.LOCAL))
        self.datas.append(self.models[0].createData())
        pin.initConstraintDynamics(self.model, self.data, self.models, self.datas)

    def acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations under torques of the driven joints."""
        whole = np.array([0.0, -0.05, 0.0, -0.05]) * v
        whole[DRIVEN] += tau
        return pin.constraintDynamics(
            self.model, self.data, q, v, whole, self.models, self.datas,
            pin.ProximalSettings(1e-12, 1e-10, 20)).copy()

    def response(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the acceleration without torques, and what each torque adds to it."""
        free = self.acceleration(q, v, np.zeros(2))
        return free, np.array([self.acceleration(q, v, unit) - free for unit in np.eye(2)]).T

    def torque(self, q: np.ndarray, v: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the torques that accelerate the driven joints."""
        free, gain = self.response(q, v)
        return np.linalg.solve(gain[DRIVEN], qdd - free[DRIVEN])

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """Return what a force at the tool feels along its own x and z."""
        _, gain = self.response(q, np.zeros(4))
        J = pin.computeFrameJacobian(self.model, self.data, q, self.model.getFrameId('tool'),
                                     pin.ReferenceFrame.LOCAL)[[0, 2]]
        G = gain @ np.linalg.inv(gain[DRIVEN])
        return np.linalg.inv(J @ gain @ (J @ G).T)


class TestParallelArm(ClosedLoop):
    """One motion, seen from outside."""

    relayed = True

    @classmethod
    def prepare(cls) -> None:
        """Listen to velocities, and talk about trajectories."""
        cls.seen: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        cls.client.node.create_subscription(JointState, 'joint_states', cls._on_whole, STATES)
        cls.trajectories = cls.client.node.create_publisher(
            JointTrajectory, 'controller/joint_trajectory', 1)
        cls.inertia = cls.client.listen(
            Float64MultiArray, 'controller/operational_space/inertia')

    @classmethod
    def _on_whole(cls, message: JointState) -> None:
        assert list(message.name) == NAMES
        cls.seen[rig.to_ns(message.header.stamp)] = (
            np.array(message.position), np.array(message.velocity))

    def test_a_trajectory_of_a_parallel_arm(self) -> None:
        """It arrives, the loop stays closed, and the torques are those of Pinocchio."""
        cls = type(self)
        self.client.wait(lambda: cls.trajectories.get_subscription_count() > 0, 'a subscription')
        self.pass_time(0.3)
        begin = self.last
        cls.trajectories.publish(rig.trajectory_message(JOINTS, [0.8], [[GOAL]]))
        self.pass_time(1.5)
        self.assert_running()
        q, v = cls.seen[max(cls.seen)]
        np.testing.assert_allclose(q[DRIVEN], GOAL, atol=2e-3)
        self.assertLess(np.abs(v).max(), 0.01)
        self._compare(begin)
        self._rest(q)

    def _rest(self, q: np.ndarray) -> None:
        """Change to gravity compensation: nothing moves; look at the inertia of the tip."""
        self.client.must_set({'mode': 'gravity_compensation', 'dynamics_divider': 10})
        self.pass_time(1.0)
        self.assert_running()
        peer, still, tau = Peer(), np.zeros(4), self.client.commands[-1].effort
        np.testing.assert_allclose(tau, peer.torque(q, still, np.zeros(2)), atol=0.01)
        self.assertGreater(np.abs(tau).max(), 1.0)
        cls = type(self)
        found, _ = cls.seen[max(cls.seen)]
        np.testing.assert_allclose(found, q, atol=2e-3)
        self.client.wait(lambda: bool(cls.inertia), 'the inertia of the tip')
        Lambda = np.array(cls.inertia[-1].data).reshape(2, 2)
        np.testing.assert_allclose(Lambda, peer.inertia(found), rtol=0.01)

    def _compare(self, begin: int) -> None:
        peer, period = Peer(), round(1e9 / RATE)
        seen, compared, fastest = dict(type(self).seen), 0, 0.0
        for stamp, tau in sorted(self.torques(begin).items()):
            if stamp not in seen or stamp + period not in seen:
                continue
            (q, v), (q_next, v_next) = seen[stamp], seen[stamp + period]
            # the torque acts for one period: the middle of it is right to its square
            wanted = peer.torque(0.5 * (q + q_next), 0.5 * (v + v_next),
                                 (v_next - v)[DRIVEN] * RATE)
            np.testing.assert_allclose(tau, wanted, atol=5e-3)
            left, right = self._tips(peer, q)
            np.testing.assert_allclose(left, right, atol=1e-9)
            compared, fastest = compared + 1, max(fastest, np.abs(v).max())
        self.assertGreater(compared, 200)
        self.assertGreater(fastest, 0.3)

    @staticmethod
    def _tips(peer: Peer, q: np.ndarray) -> list[np.ndarray]:
        """Return where the ends of both rods are."""
        pin.forwardKinematics(peer.model, peer.data, q)
        return [peer.data.oMi[peer.model.getJointId(f'{side}_elbow')].act(
            np.array([0.5, 0.0, 0.0])) for side in ('left', 'right')]


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the nodes were told to end."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly."""
        assert_clean_end(proc_info)
