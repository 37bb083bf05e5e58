# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Feedback of the action ~/follow_joint_trajectory, and leases: whoever does not answer it has gone.

The control thread copies reference and state on request; the message is made and published in
the thread of the action, so that it takes no time from the control thread.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
import time
from typing import TYPE_CHECKING

from action_msgs.msg import GoalInfo
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
import numpy as np
import numpy.typing as npt
from rbd_ros.control.step.leases import judge_lease, Leases, note_feedback, take_sign
from rbd_ros.control.step.progress import note_progress, Progress
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rbd_ros.nodes.controller.path_planner import PathPlanner

__all__ = ['GoalFeedback', 'GoalLeases']

Array = npt.NDArray[np.float64]

_PERIOD = 0.1  # s between two messages


class GoalLeases:
    """Know which client is silent."""

    def __init__(self) -> None:
        """Begin with no goal."""
        self._leases = Leases({}).plain()

    def take(self, message: GoalInfo) -> None:
        """
        Take a sign of life.

        :param message: goal, and stamp of the feedback that it answers.
        """
        self._mean(bytes(message.goal_id.uuid), message.stamp)
        take_sign(self._leases)

    def tell(self, key: Hashable, stamp: Time, steady: float) -> None:
        """
        Notice that feedback was sent.

        :param key: of the goal.
        :param stamp: of the message.
        :param steady: steady time, s.
        """
        assert isinstance(key, bytes), 'keys of goals are their numbers in the action'
        self._mean(key, stamp)
        self._leases.steady = steady
        note_feedback(self._leases)

    def is_silent(self, progress: Progress, steady: float, most: float, *,
                  all_clients: bool) -> bool:
        """
        Return whether the client of the active goal has been silent for too long.

        :param progress: of that goal.
        :param steady: steady time, s.
        :param most: s.
        :param all_clients: whether it counts for those that have promised nothing, too.
        """
        leases = self._leases
        leases.steady, leases.most, leases.all_clients = steady, most, all_clients
        judge_lease(leases, progress)
        return leases.silent

    def _mean(self, key: bytes, stamp: Time) -> None:
        """Say which goal and stamp are meant."""
        self._leases.key[:] = np.frombuffer(key, np.uint32)
        self._leases.stamp_s, self._leases.stamp_ns = stamp.sec, stamp.nanosec


class GoalFeedback:
    """Feedback of the active goal."""

    def __init__(self, node: Node, told: Callable[[Hashable, Time, float], object]) -> None:
        """
        Start with nothing copied.

        :param node: its clock stamps the messages.
        :param told: gets the goal, stamp and steady time of each message.
        """
        self._node, self._told = node, told
        self._snapshot: tuple[Hashable, Progress] | None = None  # goal, and how far it has come
        self._time = 0.0  # steady time of the last request

    def update(self, controller: Controller, handles: Mapping[Hashable, ServerGoalHandle],
               planner: PathPlanner | None = None) -> None:
        """
        Publish what the control thread has copied, and ask for the next copy.

        :param controller: of the configured robot.
        :param handles: of the goals that are not answered yet.
        :param planner: of a goal that is a path of the tip, which it sees.
        """
        snapshot, self._snapshot = self._snapshot, None
        active = controller.goal
        if snapshot is not None and active is not None and snapshot[0] == active:
            handle = handles.get(active)
            if handle is not None and handle.is_active:
                message = self._message(controller, snapshot[1])
                if planner is not None:
                    _add_tip(message, planner, snapshot[1], controller.settings.robot.tip)
                handle.publish_feedback(message)
                self._told(active, message.header.stamp, time.monotonic())
        steady = time.monotonic()
        if steady - self._time < _PERIOD:
            return
        self._time = steady

        def copy(_now: float, _steady: float) -> None:
            """Run in the control thread."""
            key = controller.goal
            if key is not None:
                progress = Progress({'n': len(controller.settings.robot.joints)})
                note_progress(progress, controller.x, controller.p)
                self._snapshot = key, progress
        controller.post(copy)

    def _message(self, controller: Controller,
                 progress: Progress) -> FollowJointTrajectory.Feedback:
        message = FollowJointTrajectory.Feedback(
            joint_names=list(controller.settings.robot.joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired = _point(progress.since, *progress.desired)
        message.actual = _point(progress.since, *progress.actual)
        message.error = _point(progress.since, *progress.error)
        return message


def _add_tip(message: FollowJointTrajectory.Feedback, planner: PathPlanner, progress: Progress,
             tip: str) -> None:
    """Say where the tip is and where it should be."""
    message.multi_dof_joint_names = [tip]
    message.multi_dof_desired = planner.point(*progress.desired[:2])
    message.multi_dof_actual = planner.point(*progress.actual)
    for point in (message.multi_dof_desired, message.multi_dof_actual):
        point.time_from_start = message.desired.time_from_start


def _point(since: float, q: Array, qd: Array, qdd: Array | None = None) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist())
    if qdd is not None:
        point.accelerations = qdd.tolist()
    point.time_from_start.sec = int(since)
    point.time_from_start.nanosec = int((since - int(since)) * 1e9)
    return point
