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

"""Plans of MoveIt and streams of MoveIt Servo over topics, from one process to another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import tempfile
import time
import unittest

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
from moveit_client import Planner, trajectory_message
from moveit_rig import ServoStream
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.modes import DEFAULT, Takes, taking
import rclpy
from rclpy.action import ActionClient
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
import yaml

Array = np.ndarray
Result = FollowJointTrajectory.Result

ROOT = Path(__file__).parents[2]
JOINTS = load_urdf(ROOT / 'urdf' / 'seven_joint_arm.urdf').independent_joint_names
WANTED = taking(Takes.TRAJECTORY)[0]
#: what the page tells to set, beside the file of the built-in arm
MOVEIT = {'goal_mode': WANTED, 'allow_partial_joints_goal': True, 'tolerance.path': [0.2]}
#: rad off the end of a plan: the tolerance of the controller, and what follows it
NEAR = 0.015
#: s of plans that are not meant to end: a test that stands still for a while is still in time
LONG = 8.0
#: s between two messages of Servo, and for which a window reaches
PERIOD, LATENCY = 0.02, 0.1
#: rad/s of a jog
JOG = np.array([0.3, 0.2, -0.3, 0.2, 0.3, -0.2, 0.4])
#: how often something is tried on a machine that stands still
ATTEMPTS = 4


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the simulated arm and its controller, with the parameters for MoveIt."""
    content = yaml.safe_load((ROOT / 'config' / 'controller.yaml').read_text())
    content['/**']['controller']['ros__parameters'] |= MOVEIT
    file = Path(tempfile.mkdtemp()) / 'moveit.yaml'
    file.write_text(yaml.safe_dump(content))
    launched = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch',
                                     'controller.launch.py'])
    return LaunchDescription([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(launched),
        launch_arguments={'params_file': str(file)}.items()), ReadyToTest()])


class Sent:
    """A goal on its way, as MoveIt's manager keeps it."""

    def __init__(self, client: rig.Client, server: ActionClient,
                 goal: FollowJointTrajectory.Goal) -> None:
        self.client, self.feedback = client, []
        future = server.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback))
        client.wait(future.done, 'an answer to the goal')
        self.handle = future.result()
        assert self.handle.accepted
        self._result = self.handle.get_result_async()

    def since(self) -> float:
        """Return how long it has been followed, by its feedback, s."""
        if not self.feedback:
            return 0.0
        passed = self.feedback[-1].desired.time_from_start
        return passed.sec + 1e-9 * passed.nanosec

    def cancel(self) -> None:
        """Cancel it, and wait for the answer."""
        answer = self.handle.cancel_goal_async()
        self.client.wait(answer.done, 'an answer to the cancellation')
        assert len(answer.result().goals_canceling) == 1

    def end(self) -> tuple[int, int, str]:
        """Wait for the end; return status, code and text."""
        self.client.wait(self._result.done, 'a result')
        found = self._result.result()
        return found.status, found.result.error_code, found.result.error_string


REACHED = GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL, 'goal reached'


class TestMoveIt(unittest.TestCase):
    """One session of an operator: plans, then jogs."""

    def setUp(self) -> None:
        """Wait until the arm floats."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        self.client = rig.Client()
        self.addCleanup(self.client.close)
        self.states = self.client.listen(JointState, 'joint_states')
        self.server = ActionClient(self.client.node, FollowJointTrajectory,
                                   'controller/follow_joint_trajectory')
        self.addCleanup(self.server.destroy)
        self.client.wait_found(self.server.server_is_ready, 'the action')
        self.client.wait_running()
        self.client.wait(lambda: len(self.states) > 0, 'a joint state')
        self.planner = Planner(JOINTS)

    @property
    def q(self) -> Array:
        """Return where the arm is, as all of MoveIt knows it."""
        state = self.states[-1]
        return np.array([state.position[state.name.index(name)] for name in JOINTS])

    def send(self, *numbers: float, group: list[int] | None = None) -> Sent:
        """Plan from here and send."""
        return Sent(self.client, self.server, self.planner.goal(self.q, *numbers, group=group))

    def rest(self) -> Array:
        """Wait until the arm has come to rest; return where."""
        def still() -> bool:
            last = self.states[-100:]
            return max(np.abs(each.velocity).max() for each in last) < 0.01
        seen = len(self.states)
        self.client.wait(lambda: len(self.states) > seen + 100 and still(), 'rest')
        self.assertEqual((self.client.last('state'), self.client.last('fault')), ('running', ''))
        return self.q

    def attempt(self, step: Callable[[], None]) -> None:
        """
        Do something, again if joint states were late meanwhile, on a machine that stood still.

        The controller has to stop then, and to go on by itself as its file says; this ends goals.
        """
        for left in reversed(range(ATTEMPTS)):
            begun = time.monotonic()
            try:
                step()
                return
            except AssertionError as error:
                error.add_note(f'in {step.__name__}')
                late = any(each.time >= begun and 'no fresh joint state' in each.text
                           for each in self.client.texts['fault'])
                if not late or not left:
                    raise
            self.client.wait_running()
            self.rest()

    def test_session(self) -> None:
        """Each of them begins where the one before has left the arm."""
        self.assertEqual(self.client.last('mode'), DEFAULT)
        for step in (self.plan_from_another_mode, self.replaced, self.cancelled, self.partial,
                     self.windows, self.velocities, self.positions):
            self.attempt(step)

    def plan_from_another_mode(self) -> None:
        """Follow 200 points to their end; the goal has switched the mode."""
        sent = self.send(1.5)
        self.assertEqual(sent.end(), REACHED)
        np.testing.assert_allclose(self.rest(), self.planner.plan.end, atol=NEAR)
        self.client.wait(lambda: self.client.last('mode') == WANTED, 'the mode of goals')
        self.assertTrue(sent.feedback, 'no feedback')
        for message in sent.feedback:
            passed = message.desired.time_from_start
            q, _, _ = self.planner.plan.at(passed.sec + 1e-9 * passed.nanosec)
            self.assertEqual(tuple(message.joint_names), JOINTS)
            np.testing.assert_allclose(message.desired.positions, q, atol=0.02)
            np.testing.assert_allclose(message.error.positions, np.subtract(
                message.desired.positions, message.actual.positions), atol=1e-12)

    def replaced(self) -> None:
        """Replace a plan by a continuation from where the arm is, which is reached."""
        first = self.send(LONG)
        self.client.wait(lambda: first.since() > 0.2 * LONG, 'a part of the way')
        second = self.send(1.0, 0.1)
        self.assertEqual(first.end(), (
            GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL, 'pre-empted by a new trajectory'))
        self.assertEqual(second.end(), REACHED)
        np.testing.assert_allclose(self.rest(), self.planner.plan.end, atol=NEAR)

    def cancelled(self) -> None:
        """Press the stop button: the arm comes to rest on its way."""
        sent = self.send(LONG, 0.3)
        self.client.wait(lambda: sent.since() > 0.2 * LONG, 'a part of the way')
        sent.cancel()
        self.assertEqual(sent.end(), (
            GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL, 'canceled by the client'))
        self.assertGreater(np.abs(self.rest() - self.planner.plan.end).max(), 0.05)

    def partial(self) -> None:
        """Move a group of two joints; the others stay."""
        self.assertEqual(self.send(1.0, 0.2, group=[6, 3]).end(), REACHED)
        np.testing.assert_allclose(self.rest(), self.planner.plan.end, atol=NEAR)

    # -- Servo -----------------------------------------------------------------------------------

    def jog(self, send: Callable[[float], None], seconds: float = 0.8) -> float:
        """Let Servo send at its rate, and fall silent; return how long that took, s."""
        begun = now = time.time()
        for _ in range(round(seconds / PERIOD)):
            send(now)
            time.sleep(max(PERIOD - (time.time() - now), 0.001))
            now = time.time()
        return now - begun

    def numbers(self, topic: str) -> Callable[[Array], None]:
        """Return what publishes plain numbers on a topic that is listened to."""
        made = self.client.node.create_publisher(Float64MultiArray, f'controller/{topic}', 1)
        self.client.wait(lambda: made.get_subscription_count() > 0, f'a subscription of {topic}')
        return lambda values: made.publish(Float64MultiArray(data=values.tolist()))

    def windows(self) -> None:
        """Add each step to the last command; the arm rests where they end."""
        servo, start, sent = ServoStream(PERIOD, LATENCY), self.rest(), []
        publisher = self.client.trajectory

        def send(now: float) -> None:
            sent.append(start + JOG * PERIOD * (len(sent) + 1))
            window = servo.command(now, sent[-1])
            if window is not None:
                publisher.publish(trajectory_message(JOINTS, window[1], window[0]))
        self.jog(send)
        np.testing.assert_allclose(self.rest(), sent[-2], atol=2.0 * NEAR)

    def velocities(self) -> None:
        """Move for as long as they come, and not much longer."""
        publish, start = self.numbers('target_velocities'), self.rest()
        begun = time.monotonic()
        took = self.jog(lambda _: publish(JOG))
        most = took + 0.1 + self.client.margin(begun)
        moved = (self.rest() - start) / JOG
        self.assertGreater(moved.min(), 0.1)
        self.assertLess(moved.max(), most + NEAR / np.abs(JOG).min())

    def positions(self) -> None:
        """Add each step to the measured position: the arm lags, but goes that way."""
        publish, start = self.numbers('target_positions'), self.rest()
        took = self.jog(lambda _: publish(self.q - JOG * PERIOD))
        moved = (self.rest() - start) / -JOG
        self.assertGreater(moved.max(), 0.02)
        self.assertLess(moved.max(), took + rig.MARGIN)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how they ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
