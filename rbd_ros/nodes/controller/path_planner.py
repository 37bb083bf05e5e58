# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Timed paths of the tip, checked in the thread of the node, a few milliseconds at a time.

Neither the control loop nor a service waits for a check: between two parts of it the executor
serves everybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
import time
from typing import TYPE_CHECKING

from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.paths.curve import Curve, WayPoints
from rbd_ros.control.paths.plans import PathPlan
from rbd_ros.control.paths.postures import Posture, Postures
from rbd_ros.control.paths.way_points import MOST_POINTS, read_way_points, too_many
from rbd_ros.errors import RbdError
from rbd_ros.nodes.controller.reports import quaternion
from rbd_ros.nodes.controller.robot_frames import RobotFrames
from rclpy.clock import Clock, ClockType
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound
    from rbd_ros.control.robot_now import RobotNow
    from rclpy.node import Node

__all__ = ['PathPlanner', 'tip_point']

Array = npt.NDArray[np.float64]
Checked = Callable[[PathPlan | GoalError], None]

#: s between two parts of a check, and what one of them may take
_PERIOD, _PART = 0.01, 0.005


@dataclass
class _Job:
    """A path that is being checked."""

    plan: PathPlan
    checked: Checked
    key: Hashable
    more: Iterator[None]

    def work(self, limit: float) -> bool:
        """
        Check a part of the path.

        :param limit: s that it may take.
        :returns: whether all of it is checked.
        """
        end = time.monotonic() + limit
        return self.plan.work(limit) and all(time.monotonic() < end for _ in self.more)


class PathPlanner:
    """Check the paths of one configured robot, one at a time."""

    def __init__(self, node: Node, robot: RobotNow, report: Bound) -> None:
        """
        Begin without a path.

        :param node: its executor calls.
        :param robot: the configured one, as it is now.
        :param report: kernel 'report' of it.
        """
        self._node, self._robot, self._tip = node, robot, robot.settings.robot.tip
        self._frames = RobotFrames(robot)
        self._postures = Postures(report, robot.settings.robot)
        self._job: _Job | None = None
        self._timer = node.create_timer(  # runs while there is a path to check
            _PERIOD, self.work, clock=Clock(clock_type=ClockType.STEADY_TIME), autostart=False)

    def destroy(self) -> None:
        """Check no more."""
        self._job = None
        self._node.destroy_timer(self._timer)

    def read(self, message: MultiDOFJointTrajectory) -> WayPoints:
        """
        Return the way-points of a message in the base.

        :param message: header.frame_id is the base (or empty), or any frame of the robot.
        :raises RbdError: with the reason why they are refused.
        """
        points = message.points
        if len(points) > MOST_POINTS:  # before each of them is read
            raise GoalError(ResultCode.INVALID_GOAL, too_many(len(points)))
        R, p = self._frames.pose(message.header.frame_id)
        for k, point in enumerate(points):
            if len(point.transforms) != 1:
                raise GoalError(ResultCode.INVALID_GOAL, f'way-point {k} has '
                                f'{len(point.transforms)} transforms, not one')
        return read_way_points(
            message.joint_names, self._tip,
            [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
             for point in points],
            np.array([_seven(point.transforms[0]) for point in points]).reshape(-1, 7),
            _twists([point.velocities for point in points], 'velocities'),
            _twists([point.accelerations for point in points], 'accelerations'), R=R, p=p)

    def begin(self, points: WayPoints, checked: Checked, key: Hashable = None,
              more: Callable[[Curve], Iterator[None]] | None = None) -> None:
        """
        Begin to check a path from where the tip is; the one before is given up.

        :param points: its way-points.
        :param checked: called with the plan, or with the reason of its refusal.
        :param key: by which it can be given up.
        :param more: checks something else of its curve, from one yield to the next.
        """
        self.give_up('pre-empted by a new path')
        try:
            plan = PathPlan(self._robot, self._postures, points)
            self._job = _Job(plan, checked, key, iter(()) if more is None else more(plan.curve))
        except RbdError as error:
            checked(_refusal(error))
            return
        self._timer.reset()

    @property
    def busy(self) -> bool:
        """Return whether a path is being checked."""
        return self._job is not None

    def give_up(self, why: str) -> None:
        """
        Refuse the path that is being checked, whose ever it is.

        :param why: the reason.
        """
        job, self._job = self._job, None
        if job is not None:
            job.checked(GoalError(ResultCode.INVALID_GOAL, why))

    def drop(self, key: Hashable) -> bool:
        """
        Give up a check; nobody is told.

        :param key: of it.
        :returns: whether it was under way.
        """
        if self._job is None or self._job.key != key:
            return False
        self._job = None
        return True

    def work(self) -> None:
        """Check a part of the path."""
        job = self._job
        if job is None:
            self._timer.cancel()
            return
        try:
            if not job.work(_PART):
                return
        except RbdError as error:
            self._job = None
            job.checked(_refusal(error))
            return
        self._job = None
        job.checked(job.plan)

    def point(self, q: Array, qd: Array) -> MultiDOFJointTrajectoryPoint:
        """
        Return where joints put the tip, in base axes.

        :param q: of the controlled joints.
        :param qd: their velocities.
        """
        seen = self.pose(q)
        return tip_point(seen.p, seen.R, np.kron(np.eye(2), seen.R) @ (seen.J @ qd))

    def pose(self, q: Array) -> Posture:
        """
        Return how joints put the tip.

        :param q: of the controlled joints.
        """
        robot = self._robot
        self._postures.renew(robot.q, robot.gravity, robot.payload)
        return self._postures.at(q)


def tip_point(p: Array, R: Array, velocity: Array) -> MultiDOFJointTrajectoryPoint:
    """
    Return a pose of the tip and its velocity as a message.

    :param p: its origin in the base.
    :param R: its axes as columns.
    :param velocity: angular, linear; base axes.
    """
    x, y, z, w = quaternion(R)
    return MultiDOFJointTrajectoryPoint(
        transforms=[Transform(translation=_vector(p), rotation=Quaternion(x=x, y=y, z=z, w=w))],
        velocities=[Twist(linear=_vector(velocity[3:]), angular=_vector(velocity[:3]))])


def _refusal(error: RbdError) -> GoalError:
    return error if isinstance(error, GoalError) else GoalError(
        ResultCode.INVALID_GOAL, str(error))


def _seven(transform: Transform) -> list[float]:
    p, turn = transform.translation, transform.rotation
    return [p.x, p.y, p.z, turn.x, turn.y, turn.z, turn.w]


def _twists(rows: list[list[Twist]], what: str) -> Array | None:
    """Return twists as numbers, linear part first; None where no point has any."""
    if not any(len(row) for row in rows):
        return None
    for k, row in enumerate(rows):
        if len(row) != 1:
            raise GoalError(ResultCode.INVALID_GOAL, f'way-point {k} has {len(row)} {what}, not '
                            'one; all way-points must give them, or none')
    return np.array([[v.x, v.y, v.z, w.x, w.y, w.z]
                     for v, w in ((row[0].linear, row[0].angular) for row in rows)])


def _vector(three: Array) -> Vector3:
    x, y, z = three.tolist()
    return Vector3(x=x, y=y, z=z)
