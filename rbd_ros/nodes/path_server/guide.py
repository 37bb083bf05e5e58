# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A checked path as a stream of poses, for controllers in a mode of the tip.

The controller takes each pose within its own limits, so that nothing here can throw the robot:
poses that stay away let its reference come to rest, whatever it was told before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import Point, PoseStamped, Quaternion
import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebpts1, chebvander
import numpy.typing as npt
from rbd_ros.control.interface.results import GoalError, Outcome, ResultCode, Status
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.paths.curve import Curve, logarithm, PosePoint
from rbd_ros.control.paths.limits import first_beyond
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.nodes.controller.path_planner import PathPlanner, tip_point
from rbd_ros.nodes.controller.reports import quaternion
from rbd_ros.nodes.path_server.robot_elsewhere import RobotElsewhere
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher

__all__ = ['check_tip_speed', 'Guide']

Array = npt.NDArray[np.float64]

_PERIOD = 0.01  # s between two poses
_STALL = 0.05  # s that count at most between two poses: a path waits for a process that stalls
_TOLD = 0.1  # s between two messages of feedback
_HEARD = 3.0  # s within which the controller must listen
_SETTLE = 0.3  # s after the end of a path in which the robot comes to rest

#: of its limits that a path may use; the rest is for pausing
_SHARE = 0.9
#: of the acceleration that a pause may take, and s in which a path comes back to its speed
_SLOWING, _RECOVERY = 0.5, 0.2
_HALVES = (('angular', slice(0, 3), 'rad'), ('linear', slice(3, 6), 'm'))
_RATES = (('velocity', '/s'), ('acceleration', '/s^2'))

#: Where the speed of a piece is asked for, and what makes Chebyshev coefficients of its squares.
#: Those of linear speeds are of degree 8; angular ones of a piece of 170 degrees need some more.
_FITTED = chebpts1(32)
_FIT = np.linalg.inv(chebvander(_FITTED, len(_FITTED) - 1))


def _limits(settings: Settings, what: str) -> Array:
    """Return angular and linear limit of the reference of the tip."""
    return np.array([settings.number(f'task.{half}_{what}') for half, _, _ in _HALVES])


def check_tip_speed(settings: Settings, curve: Curve) -> Iterator[None]:
    """
    Refuse a path that is faster than the reference of the tip may be; yield after each point.

    A long path takes seconds, in which nobody would hear where the robot is.

    :param settings: have the limits.
    :param curve: of the path.
    :raises GoalError: naming the first point.
    """
    most_of = [_SHARE * _limits(settings, what) for what, _ in _RATES]
    for begin, end in zip(curve.times.tolist(), curve.times[1:].tolist()):
        middle, half_time, rows = 0.5 * (begin + end), 0.5 * (end - begin), []
        for x in _FITTED.tolist():
            point = curve.at(middle + half_time * x)
            rows.append([[float(six[part] @ six[part]) for _, part, _ in _HALVES]
                         for six in (point.velocity, point.acceleration)])
            yield
        squares, found = _FIT @ np.array(rows).reshape(len(rows), -1), []
        for c, most in zip(squares.T, np.concatenate(most_of).tolist()):
            # Bounds on the sum of the coefficients: most pieces are slow enough by that alone.
            if np.abs(c).sum() > most**2:
                first = first_beyond(Chebyshev(c), -np.inf, most**2)
                found.append(np.inf if first is None else first)
            else:
                found.append(np.inf)
        k = int(np.argmin(found))
        if found[k] < np.inf:
            raise _too_fast(middle + half_time * found[k], k, most_of, squares[:, k], found[k])


def _too_fast(t: float, k: int, most_of: list[Array], c: Array, x: float) -> GoalError:
    """Return what is said of the first point that is too fast."""
    (what, unit), (half, _, length) = _RATES[k // 2], _HALVES[k % 2]
    return GoalError(ResultCode.INVALID_GOAL, (
        f'the path cannot be followed {t:.4g} s from its start: the frame would need the {half} '
        f'{what} {Chebyshev(c)(x)**0.5:.4g} {length}{unit}, beyond {most_of[k // 2][k % 2]:.4g} '
        f'({_SHARE:g} of task.{half}_{what})'))


@dataclass(eq=False)
class _Walk:
    """A path that is being followed."""

    curve: Curve
    mode: str
    start: float | None  # ROS time at which it begins, s
    told: Callable[[FollowJointTrajectory.Feedback], None]
    ended: Callable[[Outcome], None]
    asked: float  # ROS time, s
    time: float = -1.0  # ROS time of the last pose; before the first one: -1
    s: float = 0.0  # s along the path
    rate: float = 1.0  # of time along it
    paused: bool = False
    cancelled: bool = False
    over: float = 0.0  # s since its end
    fed: float = -1.0  # ROS time of the last feedback

    def cancel(self) -> None:
        """Come to rest on the path."""
        self.cancelled = True


class Guide:
    """Lead the tip of a robot along one path at a time."""

    def __init__(self, node: Node, robot: RobotElsewhere, planner: PathPlanner,
                 controller: str) -> None:
        """
        Begin without a path.

        :param node: publishes.
        :param robot: as it is now.
        :param planner: knows where joints put the tip.
        :param controller: name of the controller.
        """
        self._node, self._robot, self._planner = node, robot, planner
        self._topic = f'{controller}/target_pose'
        self._publisher: Publisher | None = None  # others may publish while there is no path
        self._walk: _Walk | None = None
        self._timer = node.create_timer(
            _PERIOD, self.step, clock=Clock(clock_type=ClockType.STEADY_TIME), autostart=False)

    def begin(self, curve: Curve, start: float | None,
              told: Callable[[FollowJointTrajectory.Feedback], None],
              ended: Callable[[Outcome], None]) -> Callable[[], None]:
        """
        Begin a path; one that is under way is ended.

        :param curve: begins where the tip is.
        :param start: ROS time at which it begins, s; None: now.
        :param told: gets feedback.
        :param ended: gets how it ended, once.
        :returns: what cancels it.
        """
        self._end(Status.ABORTED, 'pre-empted by a new path')
        walk = _Walk(curve, self._robot.mode, start, told, ended, self._now())
        self._walk = walk
        if self._node.count_publishers(self._topic):
            self._end(Status.ABORTED, self._crowd())
        else:
            self._publisher = self._node.create_publisher(PoseStamped, self._topic, 1)
            self._timer.reset()
        return walk.cancel

    @property
    def busy(self) -> bool:
        """Return whether there is a path."""
        return self._walk is not None

    def cancel(self) -> None:
        """Come to rest on the path, if there is one."""
        if self._walk is not None:
            self._walk.cancel()

    def pause(self, paused: bool) -> str:
        """
        Let a path rest on its way, or go on.

        :param paused: which.
        :returns: why not; empty: done.
        """
        if self._walk is None or self._walk.cancelled:
            return 'no path is being followed by poses'
        self._walk.paused = paused
        return ''

    def step(self) -> None:
        """Send the next pose."""
        walk = self._walk
        if walk is None:
            self._timer.cancel()
            return
        reason = self._trouble(walk)
        if reason:
            self._end(Status.ABORTED, reason)
            return
        now = self._now()
        if walk.time < 0.0 and not self._may_begin(walk, now):
            if walk.cancelled:
                self._end(Status.CANCELED, 'canceled before its start')
            return
        dt = min(max(now - walk.time, 0.0), _STALL) if walk.time >= 0.0 else 0.0
        walk.time = now
        here = walk.curve.at(min(walk.s, walk.curve.end))
        walk.rate = _rate(walk, here, _limits(self._robot.settings, 'acceleration'), dt)
        walk.s += walk.rate * dt
        self._send(walk.curve.at(min(walk.s, walk.curve.end)), now)
        if walk.cancelled and walk.rate == 0.0:
            self._end(Status.CANCELED, 'canceled, at rest on the path')
        elif walk.s >= walk.curve.end:
            walk.over += dt
            if walk.over > _SETTLE:
                self._end(Status.SUCCEEDED, self._rest(walk))

    def _may_begin(self, walk: _Walk, now: float) -> bool:
        assert self._publisher is not None
        if not self._publisher.get_subscription_count():
            if now - walk.asked > _HEARD:
                self._end(Status.ABORTED, f'nobody listens to {self._topic}')
            return False
        return walk.start is None or now >= walk.start

    def _trouble(self, walk: _Walk) -> str:
        """Return why the path must end; empty: it goes on."""
        robot = self._robot
        if robot.mode != walk.mode:
            return f'the mode has become {robot.mode}'
        if robot.state != State.RUNNING.value:
            return f'the controller is {robot.state}'
        if not robot.ready:
            return 'joint states no longer arrive'
        return self._crowd() if self._node.count_publishers(self._topic) > 1 else ''

    def _crowd(self) -> str:
        return f'somebody else publishes {self._topic}: stop one of the two'

    def _send(self, point: PosePoint, now: float) -> None:
        walk = self._walk
        assert walk is not None and self._publisher is not None
        message = PoseStamped()
        message.pose.position = Point(**dict(zip('xyz', point.p.tolist())))
        message.pose.orientation = Quaternion(**dict(zip('xyzw', quaternion(point.R))))
        self._publisher.publish(message)
        if now - walk.fed < _TOLD:
            return
        walk.fed = now
        feedback = FollowJointTrajectory.Feedback(
            multi_dof_desired=tip_point(point.p, point.R, walk.rate * point.velocity),
            multi_dof_actual=self._planner.point(*self._robot.measured))
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        for each in (feedback.multi_dof_desired, feedback.multi_dof_actual):
            each.time_from_start.sec = int(walk.s)
            each.time_from_start.nanosec = int(1e9 * (walk.s % 1.0))
        walk.told(feedback)

    def _rest(self, walk: _Walk) -> str:
        """Say how far the tip is from the end of a path; what is touched may keep it away."""
        end, seen = walk.curve.at(walk.curve.end), self._planner.pose(self._robot.measured[0])
        return (f'the frame is {np.linalg.norm(end.p - seen.p):.3g} m and '
                f'{np.linalg.norm(logarithm(seen.R.T @ end.R)):.3g} rad from the end of the path')

    def _end(self, status: Status, text: str) -> None:
        walk, self._walk = self._walk, None
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None
        if walk is not None:
            code = ResultCode.INVALID_GOAL if status is Status.ABORTED else ResultCode.SUCCESSFUL
            walk.ended(Outcome(status, code, text))

    def _now(self) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9


def _rate(walk: _Walk, here: PosePoint, acceleration: Array, dt: float) -> float:
    """Return how fast time runs along the path: acceleration r^2 a + r' v within its limits."""
    change = (0.0 if walk.paused or walk.cancelled else 1.0) - walk.rate
    if change > 0.0:
        change *= min(dt / _RECOVERY, 1.0)
    for (_, part, _), most in zip(_HALVES, acceleration.tolist()):
        speed = max(float(np.linalg.norm(here.velocity[part])), 1e-9)
        bent = walk.rate**2 * float(np.linalg.norm(here.acceleration[part]))
        bound = dt * min(_SLOWING * most, max(most - bent, 0.05 * most)) / speed
        change = min(max(change, -bound), bound)
    return min(max(walk.rate + change, 0.0), 1.0)
