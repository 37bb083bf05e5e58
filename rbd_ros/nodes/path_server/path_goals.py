# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Paths by topic and action: checked here as the controller's node does, followed by the controller.

A goal that cannot be followed is aborted before anything moves, with the first point that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from control_msgs.action import FollowJointTrajectory
import numpy as np
from rbd_ros.control.interface.results import GoalError, Outcome, ResultCode, Status
from rbd_ros.control.paths.curve import WayPoints
from rbd_ros.control.paths.plans import PathPlan
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.step.admission import count_publishers, Publishers
from rbd_ros.errors import RbdError
from rbd_ros.nodes.controller.goal_server import end_goal, GoalServer
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.path_server.follower import Errand, Follower
from rbd_ros.nodes.path_server.guide import check_tip_speed, Guide
from rbd_ros.nodes.path_server.robot_elsewhere import RobotElsewhere
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import (
    JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory)

__all__ = ['PathGoals']

_MAX_GOALS = 200  # goals that are not answered yet, or whose results are still kept
_RESULTS_KEPT = 10  # s that the result of a goal can be asked for
_TOPIC = '~/cartesian_trajectory'


class PathGoals:
    """Serve topic and action."""

    def __init__(self, node: Node, robot: RobotElsewhere, planner: PathPlanner,
                 follower: Follower, guide: Guide) -> None:
        """
        Offer both.

        :param node: its executor calls.
        :param robot: as it is now.
        :param planner: checks paths.
        :param follower: gets the joint motion of a checked one.
        :param guide: leads the tip where the controller is in a mode of the tip.
        """
        self._node, self._robot, self._planner = node, robot, planner
        self._follower, self._guide = follower, guide
        self._joints, self._tip = list(robot.settings.robot.joints), robot.settings.robot.tip
        self._handles: dict[Hashable, ServerGoalHandle] = {}
        self._cancels: dict[Hashable, Callable[[], None]] = {}  # of goals that are followed
        self._publishers, self._leaving = Publishers({}), False
        self._topic = node.resolve_topic_name(_TOPIC)
        node.create_subscription(MultiDOFJointTrajectory, self._topic, self._on_message, 1)
        self._server = GoalServer(
            node, FollowJointTrajectory, '~/follow_joint_trajectory',
            execute_callback=lambda _: FollowJointTrajectory.Result(),
            goal_callback=self._on_goal, handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel, result_timeout=_RESULTS_KEPT)

    # -- a path arrives ------------------------------------------------------------------------

    def _on_message(self, message: MultiDOFJointTrajectory) -> None:
        publishers = self._publishers
        publishers.count = self._node.count_publishers(self._topic)
        count_publishers(publishers)
        if publishers.news or not message.points:  # whoever asks for it
            self.stop('stopped by an empty message' if not message.points else
                      f'somebody else publishes {self._topic}')
        if publishers.crowded:
            self._node.get_logger().warning(
                f'{self._topic} has {publishers.count:.0f} publishers: their paths are dropped',
                throttle_duration_sec=1.0)
        elif message.points and not self._leaving:
            self._check(None, FollowJointTrajectory.Goal(multi_dof_trajectory=message))

    def stop(self, why: str) -> None:
        """
        Come to rest, and follow no path that is being checked, whether by topic or action.

        :param why: the reason for whoever has sent that one.
        """
        self._planner.give_up(f'{why} while the path was checked')
        self._follower.cancel()
        self._guide.cancel()

    def leave(self) -> None:
        """Come to rest and take no more paths: the process ends."""
        self._leaving = True
        self.stop('the path server has ended')

    @property
    def rests(self) -> bool:
        """Return whether nothing is being followed."""
        return not (self._follower.busy or self._guide.busy)

    def _on_goal(self, _: FollowJointTrajectory.Goal) -> GoalResponse:
        if self._leaving:
            return GoalResponse.REJECT
        if self._server.known >= _MAX_GOALS:
            self._node.get_logger().warning(f'goal rejected: {_MAX_GOALS} goals within '
                                            f'{_RESULTS_KEPT} s', throttle_duration_sec=1.0)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        key = bytes(handle.goal_id.uuid)
        self._handles[key] = handle
        handle.execute()
        self._check(key, handle.request)

    def _check(self, key: Hashable, goal: FollowJointTrajectory.Goal) -> None:
        """Begin to check the path of a goal; without a key it came by topic."""
        try:
            points = self._read(goal)
        except RbdError as error:
            self._checked(key, goal, error if isinstance(error, GoalError) else GoalError(
                ResultCode.INVALID_GOAL, str(error)))
            return
        self._planner.begin(points, partial(self._checked, key, goal), key, partial(
            check_tip_speed, self._robot.settings) if self._robot.leads_tip else None)

    def _read(self, goal: FollowJointTrajectory.Goal) -> WayPoints:
        if goal.trajectory.points or goal.trajectory.joint_names:
            raise GoalError(
                ResultCode.INVALID_GOAL, 'this server follows paths of a frame '
                '(multi_dof_trajectory); send joint trajectories to the controller')
        if goal.component_path_tolerance or goal.component_goal_tolerance:
            raise GoalError(
                ResultCode.INVALID_GOAL,
                'give the tolerances of a path by joint: path_tolerance and goal_tolerance')
        if self._robot.leads_tip and (goal.path_tolerance or goal.goal_tolerance):
            raise GoalError(
                ResultCode.INVALID_GOAL, f'in {self._robot.mode} the joints follow '
                f'no reference: joint tolerances are not supported')
        return self._planner.read(goal.multi_dof_trajectory)

    def _checked(self, key: Hashable, goal: FollowJointTrajectory.Goal,
                 plan: PathPlan | GoalError) -> None:
        """Hand a path that can be followed to the controller."""
        stamp = goal.multi_dof_trajectory.header.stamp
        start = (stamp.sec + 1e-9 * stamp.nanosec) or None
        try:
            if isinstance(plan, GoalError):
                raise plan
            knots = plan.knots(self._node.get_clock().now().nanoseconds * 1e-9, start, whole=True)
        except GoalError as error:
            self._ended(key, Outcome(Status.ABORTED, error.code, str(error)))
            return
        told, ended = partial(self._told, key), partial(self._ended, key)
        if self._robot.leads_tip:
            cancel = self._guide.begin(plan.curve, start, told, ended)
        else:
            errand = Errand(told, ended)
            cancel = errand.cancel
            self._follower.begin(self._motion(goal, knots), errand)
        if key in self._handles:
            self._cancels[key] = cancel

    def _motion(self, goal: FollowJointTrajectory.Goal,
                knots: Knots) -> FollowJointTrajectory.Goal:
        """Return what the controller is asked for."""
        motion = FollowJointTrajectory.Goal(
            trajectory=_trajectory(self._joints, knots),
            path_tolerance=goal.path_tolerance, goal_tolerance=goal.goal_tolerance,
            goal_time_tolerance=goal.goal_time_tolerance)
        motion.trajectory.header.stamp = goal.multi_dof_trajectory.header.stamp
        return motion

    # -- and is followed ------------------------------------------------------------------------

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        key = bytes(handle.goal_id.uuid)
        if self._planner.drop(key):
            # answered once rclpy has noted that this was wanted
            self._node.executor.create_task(self._ended, key, Outcome(
                Status.CANCELED, ResultCode.SUCCESSFUL, 'canceled while the path was checked'))
        elif key in self._cancels:
            self._cancels[key]()
        else:
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT

    def _told(self, key: Hashable, feedback: FollowJointTrajectory.Feedback) -> None:
        """Pass feedback on, with where the tip is and where it should be."""
        handle = self._handles.get(key)
        if handle is None or not handle.is_active:
            return
        for name, point in (('desired', feedback.desired), ('actual', feedback.actual)):
            found = dict(zip(feedback.joint_names, zip(point.positions, point.velocities)))
            if set(self._joints) <= found.keys():
                q, qd = np.array([found[joint] for joint in self._joints]).T
                tip = self._planner.point(q, qd)
                tip.time_from_start = point.time_from_start
                setattr(feedback, f'multi_dof_{name}', tip)
        feedback.multi_dof_joint_names = [self._tip]
        handle.publish_feedback(feedback)

    def _ended(self, key: Hashable, outcome: Outcome) -> None:
        """Answer a goal; what came by topic is told in the log."""
        self._cancels.pop(key, None)
        log = self._node.get_logger()
        text = f'path {outcome.status.value} ({outcome.code.name}): {outcome.text}'
        if outcome.status is Status.ABORTED:
            log.warning(text)
        else:
            log.info(text)
        handle = self._handles.pop(key, None)
        if handle is not None:
            end_goal(self._server, handle, outcome)


def _trajectory(joints: list[str], knots: Knots) -> JointTrajectory:
    """Return a motion of the joints as a message."""
    assert knots.qd is not None and knots.qdd is not None
    message = JointTrajectory(joint_names=joints)
    for t, q, qd, qdd in zip(knots.times.tolist(), knots.q.tolist(), knots.qd.tolist(),
                             knots.qdd.tolist()):
        point = JointTrajectoryPoint(positions=q, velocities=qd, accelerations=qdd)
        whole = int(t)
        point.time_from_start.sec, point.time_from_start.nanosec = whole, int(1e9 * (t - whole))
        message.points.append(point)
    return message
