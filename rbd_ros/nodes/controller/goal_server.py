# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
An action server whose goals are executing until somebody ends them.

Its requests have no budget, unlike those of services: to take it out of an executor of events and
put it back while requests wait ended the process (pybind11: no lock of the interpreter).
"""

from __future__ import annotations

from control_msgs.action import FollowJointTrajectory
from rbd_ros.control.interface.results import Outcome, Status
from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle

__all__ = ['end_goal', 'GoalServer']


class GoalServer(ActionServer):
    """Answer goals when they have ended, whoever ends them."""

    @property
    def known(self) -> int:
        """Return how many goals there are, those included whose results are kept."""
        return len(self._goal_handles)

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: object) -> None:
        """Answer a goal if there is something to answer; executing alone gives nothing."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)


def end_goal(server: GoalServer, handle: ServerGoalHandle, outcome: Outcome) -> None:
    """Send the result of a goal."""
    def finish(goal: ServerGoalHandle) -> FollowJointTrajectory.Result:
        if outcome.status is Status.SUCCEEDED:
            goal.succeed()
        elif outcome.status is Status.CANCELED and goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return FollowJointTrajectory.Result(
            error_code=int(outcome.code), error_string=outcome.text)
    server.notify_execute(handle, finish)
