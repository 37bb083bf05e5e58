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

"""Timed paths of the tip over topic and action: followed, refused, paused, cancelled, stopped."""

from __future__ import annotations

import unittest

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
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
from stepped import PARAMETERS, SteppedCase, URDF
from tip_path import tip_path
from trajectory_msgs.msg import MultiDOFJointTrajectory

Array = np.ndarray
Result = FollowJointTrajectory.Result

UP, ASIDE = np.array([0.0, 0.0, 0.08]), np.array([0.0, 0.06, 0.0])

#: m from the line within which the tip stays: the arm moves by itself between states of 10 ms
NEAR = 3e-3


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([rig.controller(
        **PARAMETERS, use_sim_time=True, mode='computed_torque'), ReadyToTest()])


def path(pose: Array, *ways: tuple[float, Array]) -> MultiDOFJointTrajectory:
    """Return a path: after each time, the tip that far from a pose, with its axes."""
    return tip_path('tool0', pose, *ways)


class TestCartesianPaths(SteppedCase):
    """Each test begins with a controller that runs in computed torque, at rest."""

    @classmethod
    def prepare(cls) -> None:
        """Bring the controller up."""
        cls.dynamics = Dynamics(load_urdf(URDF))
        cls.bench.bring_up()
        cls.server = ActionClient(cls.client.node, FollowJointTrajectory,
                                  'controller/follow_joint_trajectory')
        cls.topic = cls.client.node.create_publisher(
            MultiDOFJointTrajectory, 'controller/cartesian_trajectory', 1)
        cls.client.wait_found(cls.server.server_is_ready, 'the action')
        cls.client.wait(lambda: cls.topic.get_subscription_count() > 0, 'the topic')

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.server.destroy()
        super().tearDownClass()

    def setUp(self) -> None:
        """Have a running controller, at rest."""
        client, bench = self.client, self.bench
        if client.last('state') != 'running':
            bench.trigger('reset')
            bench.run_until(lambda: client.last('state') == 'running', 'running')
        bench.run(0.5)

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

    def test_topic(self) -> None:
        """The tip moves up along a line, and back."""
        for way in (UP, -UP):
            begin = self.pose
            there = begin[:3, 3] + way
            self.topic.publish(path(begin, (1.0, way)))
            self.run_along(begin, way, lambda: np.linalg.norm(self.pose[:3, 3] - there) < NEAR,
                           f'the end of the path ({self.client.last("log")})')
            self.bench.run(0.3)
            np.testing.assert_allclose(self.pose[:3, :3], begin[:3, :3], atol=0.01)

    def test_goal_with_a_pause(self) -> None:
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

    def test_refusal_names_the_point(self) -> None:
        """Out of reach: the client hears where and why, and nothing has moved."""
        q = self.bench.q.copy()
        _, result, _ = self.start_goal(path(self.pose, (1.0, UP), (3.0, 30.0 * UP)))
        self.bench.run_until(result.done, 'a result')
        found = result.result()
        self.assertEqual(found.status, GoalStatus.STATUS_ABORTED)
        self.assertRegex(found.result.error_string,
                         r'cannot be followed [\d.]+ s from its start, (before|between) way-point')
        np.testing.assert_allclose(self.bench.q, q, atol=1e-3)

    def test_cancelled_on_the_path(self) -> None:
        """A cancelled goal comes to rest on its line."""
        begin = self.pose
        handle, result, _ = self.start_goal(path(begin, (2.0, -UP)))
        self.run_along(begin, UP, lambda: self.moved(begin) > 0.02, 'a motion')
        cancelled = handle.cancel_goal_async()
        self.run_along(begin, UP, lambda: cancelled.done() and result.done(), 'the cancellation')
        self.assertEqual(result.result().status, GoalStatus.STATUS_CANCELED)
        self.bench.run(0.5)
        rest = self.bench.q.copy()
        self.run_along(begin, UP, lambda: True, 'a look')
        self.bench.run(0.5)
        np.testing.assert_allclose(self.bench.q, rest, atol=1e-3)

    def test_stop_ends_a_paused_path(self) -> None:
        """A stop is a stop."""
        begin = self.pose
        _, result, _ = self.start_goal(path(begin, (2.0, 0.5 * UP)))
        self.run_along(begin, UP, lambda: self.moved(begin) > 0.005, 'a motion')
        self.pause(wanted=True)
        self.bench.trigger('stop')
        self.bench.run_until(result.done, 'a result')
        self.assertEqual(result.result().status, GoalStatus.STATUS_ABORTED)
        self.bench.run_until(lambda: self.client.last('state') == 'holding', 'holding')


@launch_testing.post_shutdown_test()
class TestAfterShutdown(unittest.TestCase):
    """The process ends well."""

    def test_exit_code(self, proc_info: object) -> None:
        """Nothing has crashed."""
        launch_testing.asserts.assertExitCodes(proc_info)
