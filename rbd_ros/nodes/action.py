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
The action ~/follow_joint_trajectory, by which MoveIt drives the controller.

The loop judges tolerances in every cycle and leaves the outcome; here it is told to the client.
Goals are executed by polling: nothing blocks the thread that also serves parameters.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from control_msgs.action import FollowJointTrajectory
from rbd_ros.control.goals import Entry, Goal, read_tolerances, Tolerances
from rbd_ros.control.results import GoalError, Outcome, ResultCode, Status
from rbd_ros.control.supervisor import State
from rbd_ros.errors import RbdError
from rbd_ros.nodes.references_io import knots_of, start_time
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.task import Future

if TYPE_CHECKING:
    from rbd_ros.nodes.cycle import Cycle
    from rbd_ros.nodes.lifecycle import ControllerNode

__all__ = ['TrajectoryAction']

_PERIOD = 0.02  # s between two looks at the outcomes
_FEEDBACK = 5  # looks per feedback


def _entries(tolerances: list) -> list[Entry]:
    return [(t.name, t.position, t.velocity, t.acceleration) for t in tolerances]


class TrajectoryAction:
    """Action server over the goals of a cycle."""

    def __init__(self, node: ControllerNode, cycle: Cycle) -> None:
        """
        Start the server.

        :param node: the lifecycle node.
        :param cycle: follows the goals.
        """
        self._node, self._cycle = node, cycle
        self._joints = cycle.settings.robot.joints
        self._waiting: dict[Hashable, tuple[ServerGoalHandle, Future]] = {}
        self._looks = 0
        self._server = ActionServer(
            node, FollowJointTrajectory, '~/follow_joint_trajectory', self._execute,
            goal_callback=self._judge, cancel_callback=self._cancel)
        self._timer = node.create_timer(
            _PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def destroy(self) -> None:
        """End the server; goals still active are aborted."""
        self._node.destroy_timer(self._timer)
        for handle, future in self._waiting.values():
            if not future.done():
                future.set_result(Outcome(Status.ABORTED, ResultCode.INVALID_GOAL,
                                          'the controller was cleaned up'))
        self._waiting.clear()
        self._server.destroy()

    # -- callbacks of the server ------------------------------------------------------------

    def _judge(self, request: FollowJointTrajectory.Goal) -> GoalResponse:
        """Refuse at once what can never be followed."""
        try:
            if self._cycle.mode != 'computed_torque':
                raise GoalError(ResultCode.INVALID_GOAL, f'the mode is {self._cycle.mode}, not '
                                f'computed_torque')
            state = self._cycle.supervisor.state
            if state not in (State.RUNNING, State.RAMPING_IN):
                raise GoalError(ResultCode.INVALID_GOAL, f'the controller is {state.value}')
            knots_of(request.trajectory, self._joints)
            self._tolerances(request)
        except (RbdError, ValueError) as error:
            self._node.get_logger().warning(f'~/follow_joint_trajectory: goal refused, {error}')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        key = bytes(handle.goal_id.uuid)

        def request(_now: float, _steady: float) -> None:
            self._cycle.reference.cancel(key)
        self._cycle.loop.post(request)
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> FollowJointTrajectory.Result:
        """Hand the goal to the loop and wait for its outcome without blocking."""
        key = bytes(handle.goal_id.uuid)
        future: Future = Future()
        self._waiting[key] = (handle, future)
        self._begin(key, handle.request, future)
        outcome = await future
        self._waiting.pop(key, None)
        if outcome.status is Status.SUCCEEDED:
            handle.succeed()
        elif outcome.status is Status.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return FollowJointTrajectory.Result(error_code=int(outcome.code),
                                            error_string=outcome.text)

    # -- between the threads ------------------------------------------------------------------

    def _tolerances(self, request: FollowJointTrajectory.Goal) -> Tolerances:
        wait = request.goal_time_tolerance
        return read_tolerances(
            self._joints, self._cycle.settings.tolerances(), _entries(request.path_tolerance),
            _entries(request.goal_tolerance), wait.sec + 1e-9 * wait.nanosec)

    def _begin(self, key: bytes, request: FollowJointTrajectory.Goal, future: Future) -> None:
        cycle = self._cycle
        knots = knots_of(request.trajectory, self._joints)
        tolerances = self._tolerances(request)
        begin = start_time(request.trajectory, self._node)

        def start(now: float, _steady: float) -> None:
            try:
                if cycle.supervisor.state not in (State.RUNNING, State.RAMPING_IN):
                    raise GoalError(ResultCode.INVALID_GOAL,
                                    f'the controller is {cycle.supervisor.state.value}')
                trajectory = cycle.reference.follow(now, knots, now if begin is None else begin)
                cycle.reference.pursue(Goal(key, trajectory, tolerances, self._joints))
            except GoalError as error:
                cycle.reference.goals.ended.append(
                    (key, Outcome(Status.ABORTED, error.code, str(error))))
        cycle.loop.post(start)

    def _look(self) -> None:
        """Tell outcomes and, less often, how far the goal is."""
        ended = self._cycle.reference.goals.ended
        while ended:
            key, outcome = ended.popleft()
            waiting = self._waiting.get(key)
            if waiting is not None and not waiting[1].done():
                waiting[1].set_result(outcome)
        self._looks += 1
        if self._looks % _FEEDBACK:
            return
        goal = self._cycle.reference.goals.active
        waiting = self._waiting.get(goal.key) if goal is not None else None
        if waiting is not None and waiting[0].is_active:
            waiting[0].publish_feedback(self._feedback())

    def _feedback(self) -> FollowJointTrajectory.Feedback:
        cycle = self._cycle
        message = FollowJointTrajectory.Feedback(joint_names=list(self._joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        index = cycle.joints.controlled
        q, qd = cycle.joints.q[index], cycle.joints.qd[index]
        wanted, speed, acceleration = cycle.reference.state.copy()
        message.desired.positions, message.desired.velocities = wanted.tolist(), speed.tolist()
        message.desired.accelerations = acceleration.tolist()
        message.actual.positions, message.actual.velocities = q.tolist(), qd.tolist()
        message.error.positions = (wanted - q).tolist()
        message.error.velocities = (speed - qd).tolist()
        return message
