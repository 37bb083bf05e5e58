# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joint motions that are handed to the action of a controller, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from rbd_ros.control.interface.results import Outcome, ResultCode, Status
from rbd_ros.nodes.goal_signs import ClientSigns
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

__all__ = ['Errand', 'Follower']

_PERIOD = 0.5  # s between two looks whether the controller is still there
ANSWER = 5.0  # s within which it must take a motion, or refuse it
PATIENCE = 10.0  # s after feedback and after the end of a motion, in which it must tell more
_GONE = 2  # looks in a row that do not find it
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
    left: float = ANSWER  # s within which the controller must be heard of

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
        self._signs = ClientSigns(node, name)
        self._name = name
        self._errands: list[Errand] = []
        self._clock, self._missed = node.get_clock(), 0
        self._looked = self._now()
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

        def told(message: FollowJointTrajectory.Impl.FeedbackMessage) -> None:
            errand.left = max(errand.left, PATIENCE)  # paused, it lasts longer than it was to
            self._signs.answer(message)
            errand.told(message.feedback)
        self._errands.append(errand)
        sent = self._client.send_goal_async(goal, feedback_callback=told,
                                            goal_uuid=self._signs.promise())
        sent.add_done_callback(lambda future: self._answered(errand, goal, future))

    @property
    def busy(self) -> bool:
        """Return whether a motion has not ended yet."""
        return bool(self._errands)

    def cancel(self) -> None:
        """Let the controller come to rest, whatever was asked for."""
        for errand in self._errands:
            errand.cancel()

    def _answered(self, errand: Errand, goal: FollowJointTrajectory.Goal,
                  future: Future) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            self._end(errand, Outcome(Status.ABORTED, ResultCode.INVALID_GOAL,
                                      f'{self._name} has rejected the motion'))
            return
        errand.handle, errand.left = handle, self._time_for(goal)
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
        now, before = self._now(), self._looked
        self._looked = now
        here = not self._errands or self._client.server_is_ready()
        self._missed = 0 if here else self._missed + 1
        for errand in list(self._errands):
            errand.left -= min(max(now - before, 0.0), 2.0 * _PERIOD)  # clocks of ROS may jump
            if self._missed >= _GONE:
                what = 'has vanished'
            elif errand.left > 0.0:
                continue
            elif errand.handle is None:
                what = f'has not answered within {ANSWER:g} s'
            else:
                what = ('reports nothing about a motion that should have ended, as if it had '
                        'been restarted')
            errand.cancel()  # should it still take it, or follow it
            self._end(errand, self._gone(what))

    def _time_for(self, goal: FollowJointTrajectory.Goal) -> float:
        """Return within which time a motion that was taken must be over, s."""
        trajectory = goal.trajectory
        wait = _seconds(trajectory.header.stamp) - self._now()
        last = _seconds(trajectory.points[-1].time_from_start) if trajectory.points else 0.0
        return (max(wait, 0.0) + last + max(_seconds(goal.goal_time_tolerance), 0.0) + PATIENCE)

    def _now(self) -> float:
        return float(self._clock.now().nanoseconds * 1e-9)

    def _gone(self, what: str) -> Outcome:
        return Outcome(Status.ABORTED, ResultCode.INVALID_GOAL, f'the action {self._name} {what}: '
                       'is the controller active, and does the parameter controller name it?')

    def _end(self, errand: Errand, outcome: Outcome) -> None:
        if errand in self._errands:
            self._errands.remove(errand)
            errand.ended(outcome)


def _seconds(time: Time | Duration) -> float:
    return float(time.sec + 1e-9 * time.nanosec)
