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
Feedback of the action ~/follow_joint_trajectory.

The control thread copies reference and state on request; the message is made and published in
the thread of the action, so that it takes no time from the control thread.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
import time
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
import numpy as np
import numpy.typing as npt
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rbd_ros.nodes.controller.path_planner import PathPlanner

__all__ = ['GoalFeedback']

Array = npt.NDArray[np.float64]

_PERIOD = 0.1  # s between two messages


@dataclass
class _Snapshot:
    """Content of the feedback, copied in the control thread."""

    key: Hashable  # of the goal
    now: float  # s, control time, less what the trajectory is behind its times
    start: float  # s, control time at which the goal began
    desired: Array  # (3, n)
    actual: Array  # (2, n)


class GoalFeedback:
    """Feedback of the active goal."""

    def __init__(self, node: Node, told: Callable[[Hashable, Time, float], object]) -> None:
        """
        Start with nothing copied.

        :param node: its clock stamps the messages.
        :param told: gets the goal, stamp and steady time of each message.
        """
        self._node, self._told = node, told
        self._snapshot: _Snapshot | None = None
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
        if snapshot is not None and active is not None and snapshot.key == active:
            handle = handles.get(active)
            if handle is not None and handle.is_active:
                message = self._message(controller, snapshot)
                if planner is not None:
                    _add_tip(message, planner, snapshot, controller.settings.robot.tip)
                handle.publish_feedback(message)
                self._told(active, message.header.stamp, time.monotonic())
        steady = time.monotonic()
        if steady - self._time < _PERIOD:
            return
        self._time = steady

        def copy(now: float, _: float) -> None:
            """Run in the control thread."""
            key, joints = controller.goal, controller.x.joints
            if key is None:
                return
            index, reference = list(controller.settings.robot.index), controller.x.references.joint
            self._snapshot = _Snapshot(
                key, now - reference.path.late, reference.goal.start,
                reference.profile.target.copy(), np.array([joints.q[index], joints.qd[index]]))
        controller.post(copy)

    def _message(self, controller: Controller,
                 snapshot: _Snapshot) -> FollowJointTrajectory.Feedback:
        message = FollowJointTrajectory.Feedback(
            joint_names=list(controller.settings.robot.joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        q, qd, qdd = snapshot.desired
        error = controller.distance(q, snapshot.actual[0])
        since = max(snapshot.now - snapshot.start, 0.0)
        message.desired = _point(since, q, qd, qdd)
        message.actual = _point(since, *snapshot.actual)
        message.error = _point(since, error, qd - snapshot.actual[1])
        return message


def _add_tip(message: FollowJointTrajectory.Feedback, planner: PathPlanner, snapshot: _Snapshot,
             tip: str) -> None:
    """Say where the tip is and where it should be."""
    message.multi_dof_joint_names = [tip]
    message.multi_dof_desired = planner.point(*snapshot.desired[:2])
    message.multi_dof_actual = planner.point(*snapshot.actual)
    for point in (message.multi_dof_desired, message.multi_dof_actual):
        point.time_from_start = message.desired.time_from_start


def _point(since: float, q: Array, qd: Array, qdd: Array | None = None) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist())
    if qdd is not None:
        point.accelerations = qdd.tolist()
    point.time_from_start.sec = int(since)
    point.time_from_start.nanosec = int((since - int(since)) * 1e9)
    return point
