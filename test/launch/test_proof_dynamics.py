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
Topic output against Pinocchio on eight robots: both joint laws, and the dynamics as topics.

One controller process is configured for one robot after the other, as a user would do it. The
clock is in our hands: each state is answered before the next one is made, so that the proof
does not depend on the machine, and the reference is known exactly at each state. The supervisor
is as always; only its limits are those of the path.
"""

from __future__ import annotations

import unittest

from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
from paths import AXES, bounds, Quintic, random_path, Robot, ROBOTS
import pytest
from rbd_env.pace import patient
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
import rclpy
import rig
from rosgraph_msgs.msg import Clock
from sampling import some
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

#: largest error of a torque vector over its own norm
TOLERANCE = 1e-8

#: condition of the operational-space inertia up to which it is compared; 1 rad counts 0.1 m
CONDITION = 1e6

QUANTITIES = ('dynamics/mass_matrix', 'dynamics/gravity', 'dynamics/coriolis',
              'dynamics/jacobian', 'operational_space/inertia', 'operational_space/bias',
              'operational_space/condition')

PERIOD = 10_000_000  # ns of simulated time
REST = 30  # states at rest after a change, in which what it faded in has passed

PATIENCE = patient(5.0)  # s for an answer


def patience_for(client: rig.Client, unanswered: int) -> float:
    """
    Return for how many seconds to wait for the answer to a state.

    Who does not run need not answer: while it looks at states before the first torque, nothing is
    waited for but that each is taken. Should that last, the machine is slow and gets more time.

    :param unanswered: states in a row, up to now.
    """
    if client.last('state') == 'running':
        return PATIENCE
    return 0.01 if unanswered < 100 else 0.05


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 3, pool='parts')  # numbers: test/control
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([rig.controller(use_sim_time=True), ReadyToTest()])


class Burst:
    """
    The topics of the dynamics: each burst begins with the state that it was computed from.

    Arrays have no stamp; a burst is waited for before the next state is sent.
    """

    def __init__(self, client: rig.Client) -> None:
        self.client = client
        self.states = client.listen(JointState, 'controller/dynamics/joint_state', wakes=True)
        self.arrays = {name: client.listen(Float64MultiArray, f'controller/{name}', wakes=True)
                       for name in QUANTITIES}

    def clear(self) -> None:
        """Forget what came so far."""
        for messages in (self.states, *self.arrays.values()):
            messages.clear()

    def take(self, stamp: int) -> dict[str, Float64MultiArray]:
        """Return the arrays of the burst of a state."""
        self.client.wait(lambda: len(self.states) > 0 and all(self.arrays.values()), 'a burst')
        assert rig.to_ns(self.states[-1].header.stamp) == stamp
        return {name: messages[-1] for name, messages in self.arrays.items()}


class Bench:
    """One robot under proof: states out of a path, commands compared with Pinocchio."""

    def __init__(self, client: rig.Client, burst: Burst, robot: Robot, time_ns: int) -> None:
        self.client, self.burst, self.robot, self.now = client, burst, robot, time_ns
        self.errors: dict[str, list[float]] = {
            name: [] for name in ('gravity compensation', 'computed torque', *QUANTITIES)}
        self.model = robot.load()
        self.peer = PinocchioRobot(self.model, robot.urdf)
        self.weightless = PinocchioRobot(self.model, robot.urdf)
        self.weightless.pin.gravity.linear = np.zeros(3)
        names = self.model.independent_joint_names
        self.joints = robot.joints or names
        self.index = [names.index(name) for name in self.joints]
        self.others = [i for i, name in enumerate(names)
                       if i not in self.index and name not in robot.fixed]
        lower, upper, self.speed = bounds(self.model, list(range(len(names))))
        self.lower, self.upper = lower, upper
        rng = np.random.default_rng(7)
        self.start = 0.5 * (lower + upper) + rng.uniform(-0.1, 0.1, len(names)) * (upper - lower)
        for name, position in robot.fixed.items():
            self.start[names.index(name)] = position
        self.rng = rng
        self.q, self.qd = self.start.copy(), np.zeros(len(names))
        self.unanswered = 0  # of the states that are compared
        self.waited = 0  # states in a row without an answer

    def path(self, start: np.ndarray) -> Quintic:
        """Return a path of all joints that are not fixed."""
        path = random_path(self.rng, start, self.lower, self.upper, self.speed, 3, 0.5)
        for name in self.robot.fixed:
            k = self.model.independent_joint_names.index(name)
            path.q[:, k], path.qd[:, k], path.qdd[:, k] = start[k], 0.0, 0.0
        return path

    def parameters(self, paths: list[Quintic]) -> dict[str, object]:
        """Return the parameters of this robot; the limits hold what the paths need."""
        model, n = self.model, len(self.joints)
        need = np.zeros(n)
        for path in paths:
            for t in np.arange(0.0, path.times[-1], 0.02):
                q, qd, qdd = path(t)
                tau = self.peer.inverse_dynamics(q, qd, qdd)[self.index]
                need = np.maximum(need, np.abs(tau))
        described = np.array([x if np.isfinite(x) else 0.0 for x in model.effort_limit])
        limits = np.maximum(described[self.index], 2.0 * need + 1.0)
        self.stiffness = 60.0 + 10.0 * np.arange(n)
        self.damping = 14.0 + np.arange(n)
        return {
            'robot_description': self.robot.urdf, 'joints': list(self.joints),
            'gravity': list(self.robot.gravity), 'driver_adds': 'none', 'release_torque': 'zero',
            'command_type': 'joint_state', 'mode': 'gravity_compensation',
            'nominal_rate': 1e9 / PERIOD, 'minimum_rate': 20.0, 'state_timeout': 0.1,
            'ramp_time': 0.1, 'switch_time': 0.1, 'reference.acceleration': [1e3],
            'start.time': 0.0, 'start.watch_time': 0.0, 'free_damping': [0.0],
            'reference.velocity': (1.5 * self.speed[self.index]).tolist(),
            'barrier.margin': (0.02 * (self.upper - self.lower)[self.index]).tolist(),
            'task.frame': self.robot.tip, 'task.axes': list(self.robot.axes),
            'task.max_condition': 1e12, 'dynamics_divider': 0,
            'torque_limits': limits.tolist(), 'torque_rate_limits': (1e3 * limits).tolist(),
            'stiffness': self.stiffness.tolist(), 'damping': self.damping.tolist(),
            'fixed_positions.joints': list(self.robot.fixed) or rig.NO_NAMES,
            'fixed_positions.values': list(self.robot.fixed.values()) or rig.NO_NUMBERS,
        }

    def step(self, q: np.ndarray, qd: np.ndarray, patience: float = 0.0) -> rig.Command | None:
        """Send one state, in two layouts where there are other joints; return its answer."""
        client, names = self.client, self.model.independent_joint_names
        self.now += PERIOD
        self.q, self.qd = q, qd
        clock = Clock()
        clock.clock = rig.to_time(self.now)
        client.clock.publish(clock)
        for part in (self.others, self.index[::-1]):
            if part:
                client.states.publish(rig.state_message(
                    [names[i] for i in part], q[part], qd[part], stamp=self.now))
        answer = client.answer(self.now, patience or patience_for(client, self.waited))
        self.waited = 0 if answer else self.waited + 1
        return answer

    def rest(self, count: int) -> None:
        """Stay where it is."""
        for _ in range(count):
            self.step(self.q, np.zeros_like(self.q))

    def bring_up(self, paths: list[Quintic]) -> None:
        """Configure and activate."""
        client = self.client
        client.must_set(self.parameters(paths))
        assert client.transition(rig.CONFIGURE), f'{self.robot.name}: not configured'
        client.wait(lambda: client.states.get_subscription_count() > 0, 'the controller')
        done = client.ask_transition(rig.ACTIVATE)
        while not done.done():
            self.step(self.q, np.zeros_like(self.q), 0.02)
        assert done.result().success, f'{self.robot.name}: not active'
        end = self.now + 10_000_000_000
        while client.last('state') != 'running':
            assert self.now < end, f'{self.robot.name}: not running'
            self.rest(1)
        self.rest(REST)

    def float_along(self, path: Quintic) -> None:
        """Move in gravity compensation; compare commands and the dynamics on topics."""
        client = self.client
        client.must_set({'dynamics_divider': 1})
        client.settle()
        begin = self.now
        while (t := (self.now + PERIOD - begin) * 1e-9) < path.times[-1]:
            q, qd, _ = path(t)
            self.burst.clear()
            answer = self.step(q, qd)  # and its burst before the next one
            if answer is None:
                self.unanswered += 1
                continue
            assert answer.names == tuple(self.joints)
            self.compare('gravity compensation', answer.effort, self.peer.gravity(q)[self.index])
            self.compare_dynamics(q, qd, self.burst.take(self.now))
        client.must_set({'dynamics_divider': 0})
        self.q = path.q[-1].copy()
        self.rest(REST)

    def compare(self, name: str, found: np.ndarray, wanted: np.ndarray) -> None:
        """Note the relative error of a quantity."""
        assert found.shape == wanted.shape, f'{name}: {found.shape}, not {wanted.shape}'
        self.errors[name].append(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))

    def compare_dynamics(self, q: np.ndarray, qd: np.ndarray,
                         burst: dict[str, Float64MultiArray]) -> None:
        """Compare a burst with what Pinocchio computes from the state."""
        peer, index = self.peer, self.index
        rows = [AXES.index(axis) for axis in self.robot.axes]
        found = {name: np.reshape(message.data, [d.size for d in message.layout.dim])
                 for name, message in burst.items()}
        joints = ','.join(self.joints)
        assert [d.label for d in burst['dynamics/jacobian'].layout.dim] == [
            ','.join(AXES), joints]
        H = peer.mass_matrix(q)[np.ix_(index, index)]
        J = peer.jacobian(q, self.robot.tip)[:, index]
        bias = peer.bias(q, qd)[index]
        self.compare('dynamics/mass_matrix', found['dynamics/mass_matrix'], H)
        self.compare('dynamics/gravity', found['dynamics/gravity'], peer.gravity(q)[index])
        self.compare('dynamics/coriolis', found['dynamics/coriolis'],
                     self.weightless.bias(q, qd)[index])
        self.compare('dynamics/jacobian', found['dynamics/jacobian'], J)
        Phi = J[rows] @ np.linalg.solve(H, J[rows].T)
        scale = np.array([0.1 if axis.startswith('r') else 1.0 for axis in self.robot.axes])
        condition = np.linalg.cond(Phi * np.outer(scale, scale))
        if condition < CONDITION:
            Lambda = np.linalg.inv(Phi)
            rate = peer.jacobian_rate(q, qd, self.robot.tip)[rows]
            wanted = Lambda @ (J[rows] @ np.linalg.solve(H, bias) - rate)
            self.compare('operational_space/inertia', found['operational_space/inertia'], Lambda)
            self.compare('operational_space/bias', found['operational_space/bias'], wanted)
            self.compare('operational_space/condition', found['operational_space/condition'],
                         np.array([condition]))

    def follow(self, path: Quintic) -> None:
        """Move next to a trajectory in computed torque; compare the commands."""
        client = self.client
        client.must_set({'mode': 'computed_torque'})
        self.rest(REST)
        points = [(path.q[k, self.index], path.qd[k, self.index], path.qdd[k, self.index])
                  for k in range(1, len(path.times))]
        begin = self.now
        client.trajectory.publish(rig.trajectory_message(
            self.joints, path.times[1:].tolist(), points, stamp=begin))
        client.settle()
        start = self.q.copy()
        while (t := (self.now + PERIOD - begin) * 1e-9) < path.times[-1]:
            q_ref, qd_ref, _ = path(t)
            aside, rate = self.aside(t)
            q, qd = q_ref + aside, qd_ref + rate
            answer = self.step(q, qd)
            if answer is None:
                self.unanswered += 1
                continue
            self.compare('computed torque', answer.effort, self.law(path, t, q, qd))
        assert np.abs(start - self.q).max() > 0.01, 'the path does not move'

    def aside(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return how far the robot is from its reference, and the rate of that."""
        amount = 0.02 * (self.upper - self.lower)
        for name in self.robot.fixed:
            amount[self.model.independent_joint_names.index(name)] = 0.0
        rate = 1.0 + 0.2 * np.arange(len(amount))
        return (amount * np.sin(rate * t)**3,
                3.0 * amount * rate * np.sin(rate * t)**2 * np.cos(rate * t))

    def law(self, path: Quintic, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return computed torque by Pinocchio: other joints without acceleration."""
        q_ref, qd_ref, qdd_ref = (x[self.index] for x in path(t))
        qdd = np.zeros_like(q)
        qdd[self.index] = (qdd_ref + self.damping * (qd_ref - qd[self.index])
                           + self.stiffness * (q_ref - q[self.index]))
        return self.peer.inverse_dynamics(q, qd, qdd)[self.index]

    def put_down(self) -> None:
        """Deactivate and clean up."""
        done = self.client.ask_transition(rig.DEACTIVATE)
        while not done.done():
            self.step(self.q, np.zeros_like(self.q), 0.02)
        self.client.put_down()
        assert done.result().success


class TestTorques(unittest.TestCase):
    """Prove both laws on each robot."""

    def test_against_pinocchio(self) -> None:
        """Every command and every burst is what Pinocchio computes from its state."""
        rclpy.init()
        client = rig.Client()
        self.addCleanup(rclpy.shutdown)
        self.addCleanup(client.close)
        burst = Burst(client)
        now = 1_000_000_000
        for robot in some('robots', ROBOTS, 2):
            bench = Bench(client, burst, robot, now)
            first = bench.path(bench.start)
            second = bench.path(first.q[-1])
            bench.bring_up([first, second])
            bench.float_along(first)
            bench.follow(second)
            running = client.last('state')
            bench.put_down()
            now = bench.now + 1_000_000_000
            for name, found in bench.errors.items():
                print(f'{robot.name}, {name}: {len(found)} times, largest relative error '
                      f'{max(found, default=0.0):.1e}')
            with self.subTest(robot.name):
                self.assertEqual(running, 'running')
                self.assertLess(bench.unanswered, 20)
                for name, found in bench.errors.items():
                    self.assertGreater(len(found), 20 if '/' in name else 120, name)
                    self.assertLess(max(found), TOLERANCE, name)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
