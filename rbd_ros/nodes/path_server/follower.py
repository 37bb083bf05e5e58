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

"""Joint motions that are handed to the action of a controller, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import time

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from rbd_ros.control.references.results import Outcome, ResultCode, Status
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

__all__ = ['Errand', 'Follower']

_PERIOD = 0.5  # s between two looks whether the controller is still there
ANSWER = 5.0  # s within which it must take a motion, or refuse it
_STATUS = {GoalStatus.STATUS_SUCCEEDED: Status.SUCCEEDED,
           GoalStatus.STATUS_CANCELED: Status.CANCELED}


@dataclass(eq=False)
class Errand:
    """
    A motion that the controller has been asked for.

    :param told: gets its feedback.
    :param ended: gets how it ended, once.
    """

    told: Callable[[FollowJointTrajectory.Feedback], None]
    ended: Callable[[Outcome], None]
    handle: ClientGoalHandle | None = None  # once it is accepted
    unwanted: bool = False
    asked: float = 0.0  # steady time

    def cancel(self) -> None:
        """Let the controller come to rest; now, or when it has taken the motion."""
        self.unwanted = True
        if self.handle is not None:
            self.handle.cancel_goal_async()


class Follower:
    """
    A controller that follows joint trajectories.

    :param node: its executor calls.
    :param name: of the action.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._client = ActionClient(node, FollowJointTrajectory, name)
        self._name = name
        self._errands: list[Errand] = []
        node.create_timer(_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def begin(self, goal: FollowJointTrajectory.Goal, errand: Errand) -> None:
        """
        Ask for a motion; the controller ends the one before.

        :param goal: with a trajectory of the joints.
        :param errand: is told what becomes of it.
        """
        if not self._client.server_is_ready():
            errand.ended(self._gone('is not there'))
            return
        errand.asked = time.monotonic()
        self._errands.append(errand)
        sent = self._client.send_goal_async(
            goal, feedback_callback=lambda message: errand.told(message.feedback))
        sent.add_done_callback(lambda future: self._answered(errand, future))

    def cancel(self) -> None:
        """Let the controller come to rest, whatever was asked for."""
        for errand in self._errands:
            errand.cancel()

    def _answered(self, errand: Errand, future: Future) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            self._end(errand, Outcome(Status.ABORTED, ResultCode.INVALID_GOAL,
                                      f'{self._name} has rejected the motion'))
            return
        errand.handle = handle
        if errand.unwanted:
            errand.cancel()
        handle.get_result_async().add_done_callback(lambda done: self._done(errand, done))

    def _done(self, errand: Errand, future: Future) -> None:
        found = future.result()
        code, known = found.result.error_code, [each.value for each in ResultCode]
        self._end(errand, Outcome(
            _STATUS.get(found.status, Status.ABORTED),
            ResultCode(code) if code in known else ResultCode.INVALID_GOAL,
            found.result.error_string))

    def _look(self) -> None:
        """End what nobody will answer any more."""
        gone = bool(self._errands) and not self._client.server_is_ready()
        for errand in list(self._errands):
            if gone:
                self._end(errand, self._gone('has vanished'))
            elif errand.handle is None and time.monotonic() - errand.asked > ANSWER:
                errand.cancel()  # should it still take it
                self._end(errand, self._gone(f'has not answered within {ANSWER:g} s'))

    def _gone(self, what: str) -> Outcome:
        return Outcome(Status.ABORTED, ResultCode.INVALID_GOAL, f'the action {self._name} {what}: '
                       'is the controller active, and does the parameter controller name it?')

    def _end(self, errand: Errand, outcome: Outcome) -> None:
        if errand in self._errands:
            self._errands.remove(errand)
            errand.ended(outcome)
