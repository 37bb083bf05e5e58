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

"""The action follow_joint_trajectory: every way in which a goal can end, and be refused."""

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
from rclpy.action import ActionClient
import rig
from stepped import JOINTS, PARAMETERS, START, SteppedArm, SteppedCase
from trajectory_msgs.msg import JointTrajectory

Result = FollowJointTrajectory.Result

#: where goals lead to and from
AWAY = START + np.array([0.3, -0.2, 0.2, 0.3, -0.3, 0.2, 0.4])
REST = np.zeros(7)
SHUFFLED = [4, 2, 6, 0, 1, 5, 3]


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


class TestAction(SteppedCase):
    """Each test begins with a controller that runs in computed torque, at rest."""

    @classmethod
    def prepare(cls) -> None:
        """Bring the controller up."""
        cls.bench.bring_up()
        cls.server = ActionClient(cls.client.node, FollowJointTrajectory,
                                  'controller/follow_joint_trajectory')
        cls.client.wait_found(cls.server.server_is_ready, 'the action')

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

    def test_trajectory_of_moveit(self) -> None:
        """A trajectory that begins where the robot is, at time zero, is followed."""
        here = self.bench.q.copy()
        message = rig.trajectory_message(
            JOINTS, [0.0, 0.5, 1.0],
            [(here, REST, REST), (here + 0.05, REST, REST), (here + 0.1, REST, REST)])
        self.expect(self.send(message), GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL,
                    'goal reached')
        np.testing.assert_allclose(self.bench.q, here + 0.1, atol=0.01)

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

    def test_set_point_preempts(self) -> None:
        """A streamed set-point ends a goal."""
        sent = self.send(trajectory(AWAY, 3.0))
        self.bench.run(0.5)
        self.client.trajectory.publish(
            rig.trajectory_message(JOINTS, [0.0], [(self.bench.q,)]))
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                    'pre-empted by a set-point')

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

    def test_goal_tolerance(self) -> None:
        """A robot that never arrives violates the goal tolerance after its time is over."""
        begin = self.bench.now
        more = FollowJointTrajectory.Goal().goal_time_tolerance
        more.nanosec = 300_000_000
        sent = self.send(trajectory(self.bench.q + 0.2, 0.5), goal_time_tolerance=more,
                         goal_tolerance=tolerances(0.02), path_tolerance=tolerances(-1.0))
        self.bench.block()
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.GOAL_TOLERANCE_VIOLATED,
                    r'exceeds the goal tolerance 0.02 rad')
        self.assertGreater(self.bench.now - begin, 790_000_000)

    def test_default_goal_tolerance(self) -> None:
        """Without tolerances in the goal those of the parameters count."""
        self.client.must_set({'tolerance.path': [0.03]})
        self.addCleanup(self.client.must_set, {'tolerance.path': [0.0]})
        sent = self.send(trajectory(self.bench.q + 0.3, 2.0))
        self.bench.block()
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED, '0.03')

    def test_change_of_mode(self) -> None:
        """A change of the mode ends a goal, and no goal is taken in another mode."""
        sent = self.send(trajectory(AWAY, 3.0))
        self.bench.run(0.3)
        self.client.must_set({'mode': 'gravity_compensation'})
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                    'the mode changed to gravity_compensation')
        self.refuse(trajectory(AWAY, 3.0), 'the mode is gravity_compensation')

    def test_stop(self) -> None:
        """A stop ends a goal with its cause, and no goal is taken until the reset."""
        sent = self.send(trajectory(AWAY, 3.0))
        self.bench.run(0.3)
        self.bench.trigger('stop')
        self.expect(sent, GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                    'the controller stopped: stop requested')
        self.bench.run_until(lambda: self.client.last('state') == 'holding', 'a hold')
        self.refuse(trajectory(AWAY, 3.0), 'the controller is holding')

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
        bad = make(JOINTS, [1.0], [(here, REST, REST)])
        bad.points[0].velocities = bad.points[0].velocities[:-1]
        early = make(JOINTS, [0.5, 1.0], two)
        early.header.stamp = rig.to_time(100_000_000)
        cases = {
            'INVALID_JOINTS.*unknown: elbow; missing: joint_7': make(
                (*JOINTS[:6], 'elbow'), [1.0], two[:1]),
            'missing: joint_7': make(JOINTS[:6], [1.0], [(here[:6],)]),
            'given twice: joint_1': make((*JOINTS[:6], 'joint_1'), [1.0], two[:1]),
            'no points': make(JOINTS, [], []),
            'increase strictly': make(JOINTS, [1.0, 0.5], two),
            'positions are not all finite': make(JOINTS, [1.0], [(here * math.nan,)]),
            'velocities are not all finite': make(JOINTS, [1.0], [(here, here * math.inf)]),
            'point 0 has 6 velocities, not one for each joint': bad,
            'outside': make(JOINTS, [5.0], [(here + 20.0,)]),
            'would move at': make(JOINTS, [0.001, 0.01], two),
            'OLD_HEADER_TIMESTAMP': early,
        }
        for reason, message in cases.items():
            with self.subTest(reason):
                self.refuse(message, reason)
        self.refuse(make(JOINTS, [1.0], two[:1]), 'tolerance for unknown joint elbow',
                    goal_tolerance=[JointTolerance(name='elbow', position=0.1)])
        self.bench.run(0.2)
        np.testing.assert_allclose(self.bench.q, here, atol=1e-3)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
