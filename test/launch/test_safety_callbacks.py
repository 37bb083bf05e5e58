# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Let every kind of callback raise: the robot is released in order or runs on, the process lives.

What asks for something (a goal, a change of parameters) is refused; any other exception ends as a
stop does. Transitions that raise fail with a word, and leave no torque behind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import tempfile
import time
import unittest

from action_msgs.msg import GoalStatus
import arm
from arm import GRAVITY, JOINTS, Q
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
import rig
from std_msgs.msg import String

FOLDER = Path(tempfile.mkdtemp())


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that raises where it is asked to."""
    return LaunchDescription([rig.saboteur(FOLDER, **arm.SIMULATED), ReadyToTest()])


class TestCallbacks(rig.LockstepCase):
    """Each test begins with a controller that runs in computed torque."""

    @classmethod
    def prepare(cls) -> None:
        """Make publishers and the client of the action."""
        create = cls.client.node.create_publisher
        cls.pose = create(PoseStamped, 'controller/target_pose', 1)
        cls.description = create(String, 'robot_description', rig.LATCHED)
        # diagnostics are made only for listeners
        cls.client.node.create_subscription(DiagnosticArray, '/diagnostics', lambda _: None, 10)
        cls.action = ActionClient(cls.client.node, FollowJointTrajectory,
                                  'controller/follow_joint_trajectory')

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client of the action, then all others."""
        cls.action.destroy()
        super().tearDownClass()

    def setUp(self) -> None:
        """Have a running controller, whatever the test before did to it."""
        client = self.client
        if client.lifecycle() == 'active' and client.last('state') != 'running':
            assert client.transition(rig.DEACTIVATE), client.last('log')
        if client.lifecycle() != 'active':
            self.activate()
        client.wait(lambda: client.last('state') == 'running', 'running')
        for mode in ('gravity_compensation', 'computed_torque'):  # holds where the arm is
            client.must_set({'mode': mode})
            client.wait(lambda: client.last('mode') == mode, mode)
        self.wait_torque(GRAVITY)
        self.begin = time.monotonic()

    def expect_release(self, kind: str) -> None:
        """Expect: the exception is logged, the robot braked and released, the process alive."""
        client = self.client
        client.wait_text('log', f'sabotage of {kind}', self.begin)
        client.wait_text('state', 'released', self.begin)
        client.wait(lambda: f'RuntimeError: sabotage of {kind}' in client.last('fault'), kind)
        client.wait(lambda: not client.commands[-1].effort.any(), 'zero')
        self.assertEqual(client.lifecycle(), 'active')

    def expect_running(self, kind: str) -> None:
        """Expect: the exception is logged, and the robot runs on."""
        self.client.wait_text('log', f'sabotage of {kind}', self.begin)
        self.driver.pass_time(0.5)
        self.assertEqual(self.client.last('state'), 'running')
        self.assertEqual(self.client.last('fault'), '')

    def goal(self, seconds: float = 20.0) -> ClientGoalHandle:
        """Send a goal that takes long, near enough for a robot that stands; return its handle."""
        goal = FollowJointTrajectory.Goal(trajectory=rig.trajectory_message(
            JOINTS, [seconds], [(Q + 0.03, np.zeros(7), np.zeros(7))]))
        self.client.wait(self.action.server_is_ready, 'the action')
        self.client.be_discovered()
        future = self.action.send_goal_async(goal)
        self.client.wait(future.done, 'an answer to the goal')
        return future.result()

    # -- what stops the robot -------------------------------------------------------------------

    def test_what_comes_by_itself(self) -> None:
        """What is done beside the loop, and timers: each exception is a stop."""
        for kind in ('attendant', 'sign of life', 'report', 'announcement', 'diagnostics',
                     'graph'):
            with self.subTest(kind):
                self.setUp()
                rig.break_it(self.client, FOLDER, kind)
                self.expect_release(kind)

    def test_messages(self) -> None:
        """Subscriptions, and requests that they post to the loop."""
        provocations: dict[str, Callable[[], None]] = {
            'reference': lambda: self.pose.publish(PoseStamped()),
            'request': lambda: self.client.trajectory.publish(rig.trajectory_message(
                JOINTS, [1.0], [(Q, np.zeros(7), np.zeros(7))])),
            'description': lambda: self.description.publish(
                String(data=f'<robot name="{time.monotonic()}"/>'))}
        for kind, provoke in provocations.items():
            with self.subTest(kind):
                self.setUp()
                rig.break_it(self.client, FOLDER, kind)
                if kind == 'reference':
                    self.client.must_set({'mode': 'operational_space'})
                provoke()
                self.expect_release(kind)

    def test_services(self) -> None:
        """A service that raises answers with a refusal, and the robot is stopped."""
        rig.break_it(self.client, FOLDER, 'reset')
        answer = self.client.trigger('reset')
        self.assertFalse(answer.success)
        self.assertIn('sabotage of reset', answer.message)
        self.expect_release('reset')

    def test_stop(self) -> None:
        """The loop answers ~/stop itself, whatever Python makes of it afterwards."""
        rig.break_it(self.client, FOLDER, 'stop')
        answer = self.client.trigger('stop')
        self.assertTrue(answer.success)
        self.assertEqual(answer.message, 'braking')
        self.expect_release('stop')

    def test_parameters_not_applied(self) -> None:
        """Parameters that were taken but cannot be handed over stop the robot."""
        rig.break_it(self.client, FOLDER, 'parameters')
        self.assertFalse(self.client.set({'stiffness': [90.0]})[0])
        self.expect_release('parameters')

    def test_cancellation(self) -> None:
        """A goal that cannot be cancelled as it should stops the robot."""
        goal = self.goal()
        self.assertTrue(goal.accepted)
        result = goal.get_result_async()
        rig.break_it(self.client, FOLDER, 'cancellation')
        cancelled = goal.cancel_goal_async()
        self.client.wait(cancelled.done, 'an answer to the cancellation')
        self.expect_release('cancellation')
        self.client.wait(result.done, 'the result')
        self.assertEqual(result.result().status, GoalStatus.STATUS_ABORTED)

    # -- what is refused ------------------------------------------------------------------------

    def test_goal(self) -> None:
        """A goal that raises while it is judged is aborted; the robot runs on."""
        rig.break_it(self.client, FOLDER, 'goal')
        result = self.goal().get_result_async()
        self.client.wait(result.done, 'the result')
        self.assertEqual(result.result().status, GoalStatus.STATUS_ABORTED)
        self.assertIn('sabotage of goal', result.result().result.error_string)
        self.expect_running('goal')
        self.assertTrue(self.goal(0.5).accepted)

    def test_acceptance(self) -> None:
        """A goal that raises after it was accepted is aborted; the robot runs on."""
        rig.break_it(self.client, FOLDER, 'acceptance')
        goal = self.goal()
        result = goal.get_result_async()
        self.client.wait(result.done, 'the result')
        self.assertEqual(result.result().status, GoalStatus.STATUS_ABORTED)
        self.assertIn('sabotage of acceptance', result.result().result.error_string)
        self.expect_running('acceptance')

    def test_judgement(self) -> None:
        """A change of parameters that raises is refused with the reason; the robot runs on."""
        before = self.client.get('stiffness')
        rig.break_it(self.client, FOLDER, 'judgement')
        taken, reason = self.client.set({'stiffness': [90.0]})
        self.assertFalse(taken)
        self.assertIn('sabotage of judgement', reason)
        self.expect_running('judgement')
        self.assertEqual(self.client.get('stiffness'), before)

    # -- transitions ----------------------------------------------------------------------------

    def expect_failure(self, kind: str, transition: int, doing: str) -> None:
        """Expect: a transition that raises fails with a word, and nothing is left of it."""
        self.begin = time.monotonic()
        rig.break_it(self.client, FOLDER, kind)
        self.assertFalse(self.client.transition(transition))
        said = self.client.wait_text('log', f'exception while {doing}', self.begin)
        self.assertIn(f'RuntimeError: sabotage of {kind}', said.text)
        self.assertEqual(self.client.lifecycle(), 'unconfigured')
        self.assertFalse(self.client.commands[-1].effort.any())

    def test_transitions(self) -> None:
        """Whichever transition raises: it fails, is logged, and no torque is left behind."""
        client = self.client
        with self.subTest('deactivation'):
            self.expect_failure('deactivation', rig.DEACTIVATE, 'deactivating')
        with self.subTest('configuration'):
            self.expect_failure('configuration', rig.CONFIGURE, 'configuring')
        with self.subTest('activation'):
            self.assertTrue(client.transition(rig.CONFIGURE))
            self.expect_failure('activation', rig.ACTIVATE, 'activating')
        with self.subTest('late activation'):
            self.assertTrue(client.transition(rig.CONFIGURE))
            before = len(client.commands)
            self.expect_failure('late activation', rig.ACTIVATE, 'activating')
            self.assertTrue(any(c.effort.any() for c in client.commands[before:]))
            self.assertFalse(client.commands[-1].effort.any())
        with self.subTest('clean-up'):
            self.assertTrue(client.transition(rig.CONFIGURE))
            self.expect_failure('clean-up', rig.CLEANUP, 'cleaning up')


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ended on request, and its exit code shows that something was wrong before."""
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[1])
