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

"""The closed loop in lockstep with the simulator: tracking, a wrong model, switches, goals."""

from __future__ import annotations

from collections.abc import Callable
import unittest

from action_msgs.msg import GoalStatus
import arm
from closed_loop import assert_clean_end, ClosedLoop, description
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
import launch_testing
import launch_testing.markers
import numpy as np
from paths import Quintic, random_path
import pytest
from rbd_ros.control.modes.modes import MODES
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
import rig
from sensor_msgs.msg import JointState

RATE = 250.0  # Hz
PERIOD = 4_000_000  # ns
PERFECT = 1e-3  # rad, with the described masses
WRONG = 0.05  # rad, with masses that are 20 % larger
STEP = 0.01  # of the torque limit, between two commands, also where the mode changes


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start arm and controller; a change of the mode takes the default time."""
    return description(arm.Q, rate=RATE, relayed=True, stiffness=[400.0], damping=[40.0],
                       **{'reference.acceleration': [1e3]})


class TestClosedLoop(ClosedLoop):
    """Move the arm."""

    relayed = True

    def follow(self, path: Quintic) -> np.ndarray:
        """Follow a path in computed torque; return the errors of all joints at each state."""
        client = self.client
        begin = self.last + 500_000_000
        client.trajectory.publish(rig.trajectory_message(
            arm.JOINTS, path.times.tolist(), list(zip(path.q, path.qd, path.qdd)), stamp=begin))
        end = begin + round(path.times[-1] * 1e9)
        self.wait_until(end)
        motion = self.positions(begin, end)
        self.assertGreater(len(motion), 0.9 * (end - begin) / PERIOD)
        self.assert_running()
        return np.array([q - path((s - begin) * 1e-9)[0] for s, q in motion.items()])

    def path(self, seed: int, speed: float = 0.8) -> Quintic:
        """Return a path from the start and back, up to a share of the speed limits."""
        model = arm.MODEL
        start = arm.Q
        lower = np.maximum(np.array(model.lower) + 0.3, start - 1.0)
        upper = np.minimum(np.array(model.upper) - 0.3, start + 1.0)
        path = random_path(np.random.default_rng(seed), start, lower, upper,
                           speed * np.array(model.velocity_limit), 6, 0.5)
        path.q[-1] = start
        return path

    def settle(self) -> None:
        """Go to computed torque and to the start of all paths, unless the arm rests there."""
        if self.rests():
            return
        if self.client.last('state') != 'running':
            self.client.wait(lambda: self.client.trigger('reset').success, 'the reset')
            self.client.wait(lambda: self.client.last('state') == 'running', 'running')
        self.client.must_set({'mode': 'computed_torque'})
        self.client.wait(lambda: self.client.last('mode') == 'computed_torque', 'the mode')
        self.pass_time(0.6)  # until a reference that was moving has come to rest
        rest = np.zeros(7)
        self.client.trajectory.publish(
            rig.trajectory_message(arm.JOINTS, [0.7], [(arm.Q, rest, rest)]))
        self.pass_time(1.0)

    def rests(self) -> bool:
        """Return whether computed torque has held the arm at the start of all paths for 0.2 s."""
        recent = self.positions(self.last - 200_000_000)
        return (self.client.last('state') == 'running'
                and self.client.last('mode') == 'computed_torque' and len(recent) > 0.18 * RATE
                and max(np.abs(q - arm.Q).max() for q in recent.values()) < 1e-4)

    def masses(self, scale: float) -> None:
        """Change the masses of the simulated arm, not those that the controller knows."""
        self.simulate(mass_scale=scale)

    def simulate(self, **values: object) -> None:
        """Change parameters of the simulator."""
        node = self.client.node
        setter = node.create_client(SetParameters, 'simulator/set_parameters')
        self.client.wait_found(setter.service_is_ready, 'the simulator')
        future = setter.call_async(SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]))
        self.client.wait(future.done, 'the answer of the simulator')
        assert future.result().results[0].successful

    def test_perfect_model(self) -> None:
        """With the described masses a fast trajectory is followed within a milliradian."""
        self.settle()
        path = self.path(1)
        fastest = max(np.abs(path(t)[1]).max() for t in np.linspace(0.0, path.times[-1], 500))
        error = np.abs(self.follow(path)).max()
        print(f'perfect model: largest error {error:.2e} rad at up to {fastest:.2f} rad/s')
        self.assertGreater(fastest, 1.5)
        self.assertLess(error, PERFECT)

    def test_wrong_masses(self) -> None:
        """With masses 20 % larger the error is bounded, and no larger the second time."""
        self.settle()
        self.masses(1.2)
        self.pass_time(1.0)
        errors = [np.abs(self.follow(self.path(1))).max() for _ in range(2)]
        self.masses(1.0)
        print(f'masses 20 % larger: largest errors {errors[0]:.4f} and {errors[1]:.4f} rad')
        self.assertLess(max(errors), WRONG)
        self.assertLess(errors[1], 1.1 * errors[0])

    def test_control_mode_switches(self) -> None:
        """Along a trajectory no change of the mode steps the law by more than 1 % of a limit."""
        self.settle()
        path = self.path(2, 0.35)
        self.client.trajectory.publish(rig.trajectory_message(
            arm.JOINTS, path.times.tolist(), list(zip(path.q, path.qd, path.qdd))))
        self.change_modes([
            ('computed_torque', 0.8), ('gravity_compensation', 0.1), ('damping', 0.2),
            ('computed_torque', 0.3), ('hold', 0.7), ('operational_space', 0.7),
            ('gravity_compensation', 0.3), ('operational_space', 0.3),
            ('computed_torque', 0.7)])

    def test_every_pair_of_modes(self) -> None:
        """From each mode to each other, at rest and while somebody pushes the elbow."""
        modes = list(MODES)
        n = len(modes)
        chain = modes[:1]
        for step in range(1, n):  # n is prime: each way round comes back to the beginning
            chain += [modes[(k + 1) * step % n] for k in range(n)]
        pairs = set(zip(chain, chain[1:]))
        self.assertEqual(len(pairs), n * (n - 1))
        pushes = self.client.node.create_publisher(WrenchStamped, 'simulator/wrench', 10)
        self.client.wait(lambda: pushes.get_subscription_count() > 0, 'the simulator')
        for force in (0.0, 4.0):
            with self.subTest(force=force):
                self.settle()
                self.change_modes([(mode, 0.3) for mode in chain],
                                  lambda k, force=force: self.push(pushes, force * (-1)**k))
                self.push(pushes, 0.0)

    def push(self, pushes: Publisher, force: float) -> None:
        """Push the elbow sideways, N; the free wrist would be too light for that."""
        message = WrenchStamped()
        message.header.frame_id = 'link_4'
        message.wrench.force.x, message.wrench.force.y = force, -force
        pushes.publish(message)

    def change_modes(self, modes: list[tuple[str, float]],
                     before: Callable[[int], None] = lambda _: None) -> None:
        """Change the mode some times, each for some seconds; look at the steps of the torque."""
        client, begin = self.client, self.last
        for k, (mode, seconds) in enumerate(modes):
            before(k)
            client.must_set({'mode': mode})
            client.wait(lambda mode=mode: client.last('mode') == mode, f'the mode {mode}')
            self.pass_time(seconds)
            self.assert_running()
        commands = self.torques(begin)
        steps = {s: np.abs(commands[s + PERIOD] - tau) / arm.LIMIT
                 for s, tau in commands.items() if s + PERIOD in commands}
        self.assertGreater(len(steps), 0.9 * (self.last - begin) / PERIOD)
        largest = max(step.max() for step in steps.values())
        q = np.array(list(self.positions(begin).values()))
        speed = (np.abs(np.diff(q, axis=0)) * RATE / arm.MODEL.velocity_limit).max()
        print(f'{len(modes)} switches: largest step {100.0 * largest:.3f} % of the limit, joints '
              f'at up to {100.0 * speed:.0f} % of their speed limits')
        self.assertLess(largest, STEP)

    def test_stop_in_motion(self) -> None:
        """A stop brakes the moving arm, light wrist and all, without making it faster."""
        for number in (1, 1, 2, 2):  # when a request arrives is open; it may be at a slow moment
            braked, q = self.stop_on_the_way(number)
            qd = np.diff(q, axis=0) * RATE
            speed = np.abs(qd).max(axis=1)
            first = speed[braked - 5:braked].max()
            before, after = (arm.PEER.kinetic_energy(q[k], qd[k]) for k in (braked - 1, -1))
            print(f'stop in motion: {first:.2f} rad/s at first, {speed[braked:].max():.2f} at '
                  f'most, {speed[-1]:.3f} rad/s at the end; {before:.4f} J, then {after:.4f} J')
            if first > 0.5:
                break
        self.assertGreater(braked, 0.6 * RATE)
        self.assertGreater(first, 0.5)
        self.assertLess(speed[braked:].max(), 1.5 * first)
        # brakes take energy; how fast each joint turns meanwhile is a matter of the pose
        self.assertLess(after, 0.5 * before)

    def stop_on_the_way(self, number: int) -> tuple[int, np.ndarray]:
        """Stop the arm on a path; return the state from which it leaves it, and the positions."""
        client = self.client
        self.settle()
        path = self.path(number)
        begin = self.last + 500_000_000
        client.trajectory.publish(rig.trajectory_message(
            arm.JOINTS, path.times.tolist(), list(zip(path.q, path.qd, path.qdd)), stamp=begin))
        self.wait_until(begin + 800_000_000)
        heard = len(client.texts['state'])
        self.assertTrue(client.trigger('stop').success)
        client.wait(lambda: client.last('state') == 'holding', 'holding')
        self.assertEqual([s.text for s in client.texts['state'][heard:]],
                         ['braking', 'holding'], client.last('fault'))
        motion = self.positions(begin)
        q = np.array(list(motion.values()))
        planned = np.array([path((s - begin) * 1e-9)[0] for s in motion])
        # until the stop takes effect, the arm follows its path, faster or slower as that wants
        return int(np.argmax(np.abs(q - planned).max(axis=1) > 3.0 * PERFECT)), q

    def test_push_is_observed(self) -> None:
        """A push on the simulated arm is estimated as what it is; without it there is none."""
        client = self.client
        self.settle()
        torques = client.listen(JointState, 'controller/external_torque', 1000)
        wrenches = client.listen(WrenchStamped, 'controller/external_wrench', 1000)
        client.must_set({'dynamics_divider': 5})
        push = client.node.create_publisher(WrenchStamped, 'simulator/wrench', 10)
        client.wait(lambda: push.get_subscription_count() > 0, 'the simulator')
        self.simulate(wrench_timeout=0.0)
        message = WrenchStamped()
        message.header.frame_id = 'tool0'
        for force in (np.array([6.0, -4.0, 8.0]), np.zeros(3)):
            message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force.tolist()
            push.publish(message)
            self.pass_time(2.0)
            q = self.motion[self.last]
            f, m = wrenches[-1].wrench.force, wrenches[-1].wrench.torque
            found = np.array([m.x, m.y, m.z, f.x, f.y, f.z])
            error = np.abs(found - [0.0, 0.0, 0.0, *force]).max()
            torque = arm.PEER.jacobian(q, 'tool0')[3:].T @ force
            wrong = np.abs(np.array(torques[-1].effort) - torque).max()
            print(f'push of {np.linalg.norm(force):.1f} N: estimate wrong by {error:.1e} N or '
                  f'N.m, joint torque by {wrong:.1e} N.m')
            self.assertLess(error, 0.05)
            self.assertLess(wrong, 0.01)
        client.must_set({'dynamics_divider': 0})
        self.assertEqual(client.last('state'), 'running', client.last('fault'))

    # -- follow_joint_trajectory --------------------------------------------------------------

    def goal(self, path: Quintic, **tolerances: object) -> FollowJointTrajectory.Goal:
        """Return a goal along a path."""
        message = FollowJointTrajectory.Goal(**tolerances)
        message.trajectory = rig.trajectory_message(
            arm.JOINTS, path.times[1:].tolist(),
            list(zip(path.q[1:], path.qd[1:], path.qdd[1:])))
        return message

    def send(self, goal: FollowJointTrajectory.Goal) -> ClientGoalHandle:
        """Send a goal; return its handle."""
        cls = type(self)
        if cls.action is None:
            cls.action = ActionClient(self.client.node, FollowJointTrajectory,
                                      'controller/follow_joint_trajectory')
            self.client.wait_found(self.action.server_is_ready, 'the action')
        self.feedback: list = []
        future = self.action.send_goal_async(
            goal, feedback_callback=lambda m: self.feedback.append(m.feedback))
        self.client.wait(future.done, 'the answer to a goal')
        return future.result()

    def result(self, handle: ClientGoalHandle) -> tuple[int, FollowJointTrajectory.Result]:
        """Wait for the status and the result of a goal."""
        future = handle.get_result_async()
        self.client.wait(future.done, 'the result of a goal')
        return future.result().status, future.result().result

    def expect_rest(self) -> None:
        """Expect that the arm comes to rest where it is, and the controller runs."""
        self.pass_time(1.0)
        before = self.motion[self.last]
        self.pass_time(0.2)
        np.testing.assert_allclose(self.motion[self.last], before, atol=1e-4)
        self.assert_running()

    def test_goal_succeeds(self) -> None:
        """A goal that is reached in time succeeds, with feedback on the way."""
        self.settle()
        path = self.path(3)
        handle = self.send(self.goal(path))
        self.assertTrue(handle.accepted)
        status, result = self.result(handle)
        self.assertEqual(status, GoalStatus.STATUS_SUCCEEDED, result.error_string)
        self.assertEqual(result.error_code, FollowJointTrajectory.Result.SUCCESSFUL)
        self.assertGreater(len(self.feedback), 3)
        self.assertEqual(list(self.feedback[-1].joint_names), list(arm.JOINTS))
        np.testing.assert_allclose(self.motion[self.last], path.q[-1], atol=0.01)

    def test_goal_is_cancelled(self) -> None:
        """A goal that is cancelled ends as such, and the arm stays where it can stop."""
        self.settle()
        handle = self.send(self.goal(self.path(3)))
        self.pass_time(0.7)
        cancelled = handle.cancel_goal_async()
        self.client.wait(cancelled.done, 'the answer to the cancel')
        self.assertEqual(self.result(handle)[0], GoalStatus.STATUS_CANCELED)
        self.expect_rest()
        self.assertGreater(np.abs(self.motion[self.last] - arm.Q).max(), 0.02)

    def test_goal_is_preempted(self) -> None:
        """A new goal ends the one before, and is reached."""
        self.settle()
        first = self.send(self.goal(self.path(3)))
        self.pass_time(0.7)
        path = self.path(4)
        second = self.send(self.goal(path))
        status, result = self.result(first)
        self.assertEqual(status, GoalStatus.STATUS_ABORTED)
        self.assertIn('pre-empted', result.error_string)
        status, result = self.result(second)
        self.assertEqual(status, GoalStatus.STATUS_SUCCEEDED, result.error_string)
        np.testing.assert_allclose(self.motion[self.last], path.q[-1], atol=0.01)

    def test_goal_violates_its_path(self) -> None:
        """A path tolerance that is not kept aborts the goal, and the arm holds."""
        self.settle()
        tight = JointTolerance(name='joint_2', position=1e-6)
        status, result = self.result(self.send(self.goal(self.path(3), path_tolerance=[tight])))
        self.assertEqual(status, GoalStatus.STATUS_ABORTED)
        self.assertEqual(result.error_code,
                         FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED)
        self.assertIn('joint_2', result.error_string)
        self.expect_rest()

    def test_goal_is_not_reached(self) -> None:
        """A goal tolerance that is not met in time aborts the goal."""
        self.settle()
        self.masses(1.2)
        tight = [JointTolerance(name=name, position=1e-3) for name in arm.JOINTS]
        goal = self.goal(self.path(3), goal_tolerance=tight)
        goal.goal_time_tolerance.nanosec = 200_000_000
        status, result = self.result(self.send(goal))
        self.masses(1.0)
        self.assertEqual(status, GoalStatus.STATUS_ABORTED)
        self.assertEqual(result.error_code,
                         FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED)

    def test_goal_is_refused(self) -> None:
        """A goal for other joints is aborted at once, and the client hears why."""
        self.settle()
        goal = self.goal(self.path(3))
        goal.trajectory.joint_names[0] = 'somebody'
        status, result = self.result(self.send(goal))
        self.assertEqual(status, GoalStatus.STATUS_ABORTED)
        self.assertEqual(result.error_code, FollowJointTrajectory.Result.INVALID_JOINTS)
        self.assertIn('unknown: somebody', result.error_string)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        assert_clean_end(proc_info)
