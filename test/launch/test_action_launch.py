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

"""Goals of the joints and timed paths of the tip: how they end, and how they are refused."""

from __future__ import annotations

import math
import unittest

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rclpy.action import ActionClient
import rig
from std_srvs.srv import SetBool
from stepped import JOINTS, PARAMETERS, START, SteppedArm, SteppedCase, URDF
from tip_path import tip_path
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

Array = np.ndarray
Result = FollowJointTrajectory.Result

#: where goals lead to and from
AWAY = START + np.array([0.3, -0.2, 0.2, 0.3, -0.3, 0.2, 0.4])
REST = np.zeros(7)
SHUFFLED = [4, 2, 6, 0, 1, 5, 3]

UP, ASIDE = np.array([0.0, 0.0, 0.08]), np.array([0.0, 0.06, 0.0])

#: m from the line within which the tip stays: the arm moves by itself between states of 10 ms
NEAR = 3e-3


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([rig.controller(
        **PARAMETERS, use_sim_time=True, mode='computed_torque'), ReadyToTest()])


class Sent:
    """A goal on its way."""

    def __init__(self, bench: SteppedArm, server: ActionClient,
                 goal: FollowJointTrajectory.Goal) -> None:
        self.bench, self.feedback = bench, []
        future = server.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback))
        bench.run_until(future.done, 'an answer to the goal')
        self.handle = future.result()
        self._result = self.handle.get_result_async() if self.handle.accepted else None

    @property
    def ended(self) -> bool:
        """Return whether there is a result."""
        return self._result.done()

    def result(self, what: str = 'a result') -> tuple[int, Result]:
        """Go on until the goal ends; return its status and its result."""
        self.bench.run_until(self._result.done, what)
        found = self._result.result()
        return found.status, found.result


def trajectory(target: np.ndarray, seconds: float, order: list[int] | None = None,
               ) -> JointTrajectory:
    """Return a way over two points with velocities and accelerations."""
    order = list(range(7)) if order is None else order
    half = 0.5 * (START + AWAY)
    points = [(half[order], REST, REST), (target[order], REST, REST)]
    return rig.trajectory_message([JOINTS[k] for k in order], [0.5 * seconds, seconds], points)


def tolerances(position: float) -> list[JointTolerance]:
    """Return one tolerance for every joint."""
    return [JointTolerance(name=name, position=position) for name in JOINTS]


def path(pose: Array, *ways: tuple[float, Array]) -> MultiDOFJointTrajectory:
    """Return a path: after each time, the tip that far from a pose, with its axes."""
    return tip_path('tool0', pose, *ways)


class TestAction(SteppedCase):
    """Each test begins with a controller that runs in computed torque, at rest."""

    @classmethod
    def prepare(cls) -> None:
        """Bring the controller up."""
        cls.bench.bring_up()
        cls.server = ActionClient(cls.client.node, FollowJointTrajectory,
                                  'controller/follow_joint_trajectory')
        cls.topic = cls.client.node.create_publisher(
            MultiDOFJointTrajectory, 'controller/cartesian_trajectory', 1)
        cls.client.wait_found(cls.server.server_is_ready, 'the action')
        cls.client.wait(lambda: cls.topic.get_subscription_count() > 0, 'the topic')
        cls.dynamics = Dynamics(load_urdf(URDF))

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.server.destroy()
        super().tearDownClass()

    def setUp(self) -> None:
        """Have a running controller in computed torque."""
        client, bench = self.client, self.bench
        bench.stuck = False
        if client.lifecycle() == 'inactive':
            bench.activate()
        elif client.last('state') != 'running':
            bench.trigger('reset')
            bench.run_until(lambda: client.last('state') == 'running', 'running')
        client.must_set({'mode': 'computed_torque'})
        bench.run(0.2)

    def send(self, message: JointTrajectory, **more: object) -> Sent:
        """Send a goal that must be accepted."""
        goal = FollowJointTrajectory.Goal(trajectory=message, **more)
        sent = Sent(self.bench, self.server, goal)
        self.assertTrue(sent.handle.accepted, self.client.last('log'))
        return sent

    def expect(self, sent: Sent, status: int, code: int, text: str) -> None:
        """Expect how a goal ends."""
        found, result = sent.result()
        self.assertEqual((found, result.error_code), (status, code), result.error_string)
        self.assertRegex(result.error_string, text)

    # -- ends -----------------------------------------------------------------------------------

    def test_success(self) -> None:
        """A goal with its joints in another order is reached, with feedback on the way."""
        sent = self.send(trajectory(AWAY, 1.5, SHUFFLED), goal_tolerance=tolerances(0.005),
                         path_tolerance=tolerances(0.05))
        self.bench.run(0.1)
        self.assertEqual(sent.handle.status, GoalStatus.STATUS_EXECUTING)
        self.expect(sent, GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL, 'goal reached')
        np.testing.assert_allclose(self.bench.q, AWAY, atol=0.005)
        self.assertTrue(sent.feedback, 'no feedback')
        for message in sent.feedback:
            self.assertEqual(tuple(message.joint_names), JOINTS)
            error = (np.array(message.desired.positions) - np.array(message.actual.positions))
            np.testing.assert_allclose(message.error.positions, error, atol=1e-12)
            self.assertLess(np.abs(error).max(), 0.05)
        times = [m.desired.time_from_start.sec + 1e-9 * m.desired.time_from_start.nanosec
                 for m in sent.feedback]
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(max(times), 2.5)

    def test_cancel(self) -> None:
        """A cancelled goal ends at once, and the arm comes to rest on its way."""
        sent = self.send(trajectory(START, 3.0))
        self.bench.run(0.8)
        cancelled = sent.handle.cancel_goal_async()
        self.bench.run_until(cancelled.done, 'an answer to the cancellation')
        self.assertEqual(len(cancelled.result().goals_canceling), 1)
        self.expect(sent, GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL, 'canceled')
        self.bench.run(0.5)
        rest = self.bench.q.copy()
        self.bench.run(0.5)
        np.testing.assert_allclose(self.bench.q, rest, atol=1e-3)

    def test_newer_goal_preempts(self) -> None:
        """A newer goal ends the one before and is reached itself."""
        first = self.send(trajectory(AWAY, 3.0))
        self.bench.run(0.5)
        second = self.send(trajectory(START, 1.5))
        self.expect(first, GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL, 'pre-empted')
        self.expect(second, GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL, 'goal reached')
        np.testing.assert_allclose(self.bench.q, START, atol=0.01)

    def test_path_tolerance(self) -> None:
        """A robot that does not follow violates the path tolerance; the controller holds."""
        sent = self.send(trajectory(self.bench.q + 0.3, 2.0), path_tolerance=tolerances(0.05))
        self.bench.run(0.1)
        self.bench.block()
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED,
                    r'joint_\d: position error .* exceeds the path tolerance 0.05 rad')
        self.bench.stuck = False
        self.bench.run(1.0)
        self.assertEqual(self.client.last('state'), 'running')
        self.assertLess(np.abs(self.bench.qd).max(), 0.01)

    def test_change_of_mode(self) -> None:
        """A change of the mode ends a goal, and no goal is taken in another mode."""
        sent = self.send(trajectory(AWAY, 3.0))
        self.bench.run(0.3)
        self.client.must_set({'mode': 'gravity_compensation'})
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                    'the mode changed to gravity_compensation')
        self.refuse(trajectory(AWAY, 3.0), 'the mode is gravity_compensation')

    def test_deactivation(self) -> None:
        """Deactivation ends a goal, and an inactive controller takes none."""
        sent = self.send(trajectory(AWAY, 3.0))
        self.bench.run(0.3)
        self.bench.block()
        self.assertTrue(self.bench.transition(rig.DEACTIVATE))
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL, 'deactivated')
        self.refuse(trajectory(AWAY, 3.0), 'the controller is (inactive|released)')

    # -- refusals -------------------------------------------------------------------------------

    def refuse(self, message: JointTrajectory, reason: str, **more: object) -> None:
        """Expect a goal to be aborted at once, and the client and the log to be told why."""
        count = len(self.client.texts['log'])
        goal = FollowJointTrajectory.Goal(trajectory=message, **more)
        sent = Sent(self.bench, self.server, goal)
        status, result = sent.result()
        self.assertEqual(status, GoalStatus.STATUS_ABORTED, reason)
        self.assertNotEqual(result.error_code, Result.SUCCESSFUL)
        self.client.wait(lambda: any('goal rejected' in said.text for said in
                                     self.client.texts['log'][count:]), 'a reason')
        texts = [said.text for said in self.client.texts['log'][count:]
                 if 'goal rejected' in said.text]
        self.assertRegex(texts[-1], reason)
        self.assertIn(result.error_string, texts[-1])

    def test_refusals(self) -> None:
        """What cannot be followed is refused with its reason, and the robot stays."""
        here = self.bench.q.copy()
        two = [(here, REST, REST), (here + 0.1, REST, REST)]
        make = rig.trajectory_message
        cases = {
            'INVALID_JOINTS.*unknown: elbow; missing: joint_7': make(
                (*JOINTS[:6], 'elbow'), [1.0], two[:1]),
            'positions are not all finite': make(JOINTS, [1.0], [(here * math.nan,)]),
            'would move at': make(JOINTS, [0.001, 0.01], two),
        }
        for reason, message in cases.items():
            with self.subTest(reason):
                self.refuse(message, reason)
        self.bench.run(0.2)
        np.testing.assert_allclose(self.bench.q, here, atol=1e-3)

    # -- paths of the tip -----------------------------------------------------------------------

    @property
    def pose(self) -> Array:
        """Return where the tip is."""
        return self.dynamics.pose(self.bench.q, 'tool0')

    def moved(self, begin: Array) -> float:
        """Return how far the tip is from a pose, m."""
        return float(np.linalg.norm(self.pose[:3, 3] - begin[:3, 3]))

    def run_along(self, begin: Array, way: Array, done: object, what: str) -> None:
        """Go on until something is done; the tip stays on a line."""
        line = way / np.linalg.norm(way)

        def look() -> bool:
            moved = self.pose[:3, 3] - begin[:3, 3]
            self.assertLess(np.linalg.norm(moved - line * (line @ moved)), NEAR)
            return done()
        try:
            # paths are checked by the clock of the machine, while simulated time runs ahead
            self.bench.run_until(look, what, 300.0)
        except AssertionError as error:
            raise AssertionError(f'{error}; log: {self.client.last("log")}') from error

    def start_goal(self, message: MultiDOFJointTrajectory) -> tuple[object, object, list]:
        """Send a goal; return its handle, its result to come and its feedback."""
        feedback: list = []
        future = self.server.send_goal_async(
            FollowJointTrajectory.Goal(multi_dof_trajectory=message),
            feedback_callback=lambda each: feedback.append(each.feedback))
        self.bench.run_until(future.done, 'an answer to the goal')
        handle = future.result()
        self.assertTrue(handle.accepted)
        return handle, handle.get_result_async(), feedback

    def pause(self, wanted: bool) -> None:
        """Pause or resume, which must succeed, while time goes on."""
        done = self.client.ask(SetBool, 'pause', SetBool.Request(data=wanted))
        self.bench.run_until(done.done, 'an answer of pause')
        self.assertTrue(done.result().success, done.result().message)

    def test_path_by_topic(self) -> None:
        """The tip moves up along a line, and back."""
        for way in (UP, -UP):
            begin = self.pose
            there = begin[:3, 3] + way
            self.topic.publish(path(begin, (1.0, way)))
            self.run_along(begin, way, lambda: np.linalg.norm(self.pose[:3, 3] - there) < NEAR,
                           f'the end of the path ({self.client.last("log")})')
            self.bench.run(0.3)
            np.testing.assert_allclose(self.pose[:3, :3], begin[:3, :3], atol=0.01)

    def test_path_with_a_pause(self) -> None:
        """A goal is paused for a second, stands on the line, goes on and succeeds."""
        begin = self.pose
        _, result, feedback = self.start_goal(path(begin, (0.7, 0.5 * ASIDE), (1.4, ASIDE)))
        self.run_along(begin, ASIDE, lambda: self.moved(begin) > 0.02, 'a motion')
        self.pause(wanted=True)
        self.bench.run(0.6)
        rest = self.bench.q.copy()
        self.bench.run(1.0)
        np.testing.assert_allclose(self.bench.q, rest, atol=1e-3)
        self.assertFalse(result.done())
        self.pause(wanted=False)
        self.run_along(begin, ASIDE, result.done, 'a result')
        found = result.result()
        self.assertEqual((found.status, found.result.error_code), (
            GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL), found.result.error_string)
        np.testing.assert_allclose(self.pose[:3, 3], begin[:3, 3] + ASIDE, atol=NEAR)
        self.assertTrue(feedback, 'no feedback')
        for message in feedback:
            self.assertEqual(list(message.multi_dof_joint_names), ['tool0'])
            self.assertEqual(len(message.multi_dof_actual.transforms), 1)

    def test_refused_path_names_the_point(self) -> None:
        """Out of reach: the client hears where and why, and nothing has moved."""
        q = self.bench.q.copy()
        _, result, _ = self.start_goal(path(self.pose, (1.0, UP), (3.0, 30.0 * UP)))
        self.bench.run_until(result.done, 'a result')
        found = result.result()
        self.assertEqual(found.status, GoalStatus.STATUS_ABORTED)
        self.assertRegex(found.result.error_string,
                         r'cannot be followed [\d.]+ s from its start, (before|between) way-point')
        np.testing.assert_allclose(self.bench.q, q, atol=1e-3)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
