# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""References from topics: checked here, handed to the control thread as requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import re
import time
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped, Vector3, WrenchStamped
import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.payload import payload_vector, rotation
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.modes import names_in, Takes, taking
from rbd_ros.control.parameters.stiffness_message import stiffness_changes
from rbd_ros.control.paths.plans import PathPlan
from rbd_ros.control.payload_check import PayloadCheck
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.trajectory import Knots, read_points
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.control.step.admission import count_publishers, Publishers
from rbd_ros.control.throttle import Throttle, with_suppressed
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.nodes.controller.bounded_topics import BoundedInput
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.controller.reports import quaternion
from rbd_ros.nodes.controller.robot_frames import RobotFrames
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rbd_ros.control.parameters.settings import Settings
    from rclpy.node import Node

__all__ = ['ReferenceInputs', 'knots_of', 'start_time']

Array = npt.NDArray[np.float64]

_NUMBERS = re.compile(r'\d')

#: s between two counts of the publishers; each message has them counted as well
_GUARD_PERIOD = 1.0
#: s; a trajectory that starts later is told: another clock may have stamped it
_SOON = 60.0
_PATH = '~/cartesian_trajectory'
_PAYLOAD = '~/payload'  # a load, no reference: the robot does not follow it
_STIFFNESS = '~/target_stiffness'  # parameters of the mode, no reference either


class WrongMode(GoalError):
    """A reference that another mode would take."""


def knots_of(message: JointTrajectory, settings: Settings) -> Knots:
    """
    Return the points of a message in our order.

    :param message: trajectory.
    :param settings: have the controlled joints, and whether some may be left out.
    :raises GoalError: with the reason why it cannot be followed.
    """
    points = message.points
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    return read_points(message.joint_names, settings.robot.joints, times,
                       [p.positions for p in points], [p.velocities for p in points],
                       [p.accelerations for p in points],
                       partial=settings.flag('allow_partial_joints_goal'))


def _seconds(stamp: Time) -> float:
    return stamp.sec + 1e-9 * float(stamp.nanosec)


def start_time(message: JointTrajectory | MultiDOFJointTrajectory, clock: Clock, *,
               simulated: bool) -> float | None:
    """
    Return the control time at which a trajectory begins; None for a zero stamp, which means now.

    :param message: trajectory.
    :param clock: of ROS, which stamps.
    :param simulated: whether it is the control clock, too.
    """
    stamp = _seconds(message.header.stamp)
    if stamp == 0.0:
        return None
    if simulated:
        return stamp
    return stamp + time.monotonic() - clock.now().nanoseconds * 1e-9


def _in_base_axes(R: Array, angular: Vector3, linear: Vector3) -> list[float]:
    """Return two vectors in base axes, angular part first."""
    return [*(R @ np.array([angular.x, angular.y, angular.z])).tolist(),
            *(R @ np.array([linear.x, linear.y, linear.z])).tolist()]


class ReferenceInputs:
    """Subscribe to the references of one configured robot."""

    def __init__(self, node: Node, controller: Controller, planner: PathPlanner) -> None:
        """
        Subscribe.

        :param node: the lifecycle node.
        :param controller: gets the requests.
        :param planner: checks paths.
        """
        self._node, self._controller, self._planner = node, controller, planner
        self._joints = controller.settings.robot.joints
        self._publishers: dict[str, Publishers] = {}
        self._inputs: list[BoundedInput] = []
        self._frames = RobotFrames(ControlledRobot(controller))
        self._payload_check = PayloadCheck(controller)
        self._warned = Throttle()
        self._listen(JointTrajectory, '~/joint_trajectory', self._on_trajectory)
        self._listen(MultiDOFJointTrajectory, _PATH, self._on_path)
        for name, of in (('positions', Streamed.POSITIONS), ('velocities', Streamed.VELOCITIES)):
            self._listen(Float64MultiArray, f'~/target_{name}', partial(self._on_stream, of))
        self._listen(PoseStamped, '~/target_pose', self._on_pose)
        self._listen(TwistStamped, '~/target_twist', self._on_twist)
        self._listen(WrenchStamped, '~/target_wrench', self._on_wrench)
        self._listen(Float64MultiArray, _STIFFNESS, self._on_stiffness)
        self._listen(InertiaStamped, _PAYLOAD, self._on_payload)
        self._timer = node.create_timer(
            _GUARD_PERIOD, self._check_publishers, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def destroy(self) -> None:
        """End listening."""
        self._node.destroy_timer(self._timer)
        for each in self._inputs:
            each.destroy()

    def _listen(self, kind: type, name: str, callback: Callable[..., None]) -> None:
        topic = self._node.resolve_topic_name(name)
        self._publishers[topic] = Publishers({})

        def guarded(message: object) -> None:
            if self._is_crowded(topic):
                return
            try:
                callback(message)
            except WrongMode as error:  # a good message in a mode that does not use it
                self._warn(f'{topic}: rejected, {error}')
            except (RbdError, ValueError) as error:
                self._warn(f'{topic}: rejected, {error}')
                if name not in (_PAYLOAD, _STIFFNESS):
                    self._refuse(f'{topic}: {error}')
        self._inputs.append(BoundedInput(self._node, kind, topic, guarded, 1, self._warn))

    def _refuse(self, text: str) -> None:
        self._controller.post(lambda now, steady: self._controller.refuse(now, steady, text))

    def _check_publishers(self) -> None:
        for topic in self._publishers:
            self._is_crowded(topic)

    def _is_crowded(self, topic: str) -> bool:
        """Return whether messages of a topic are dropped; the robot holds then."""
        publishers = self._publishers[topic]
        publishers.count = self._node.count_publishers(topic)
        count_publishers(publishers)
        if publishers.crowded:
            self._warn(f'{topic} has {publishers.count:.0f} publishers: their messages are '
                       f'dropped and the robot holds')
        if publishers.news:
            self._controller.post(self._controller.hold)
        return bool(publishers.crowded)

    def _warn(self, text: str) -> None:
        # What differs by a number only is the same text: a stream of it is told once a second.
        left = self._warned.take(_NUMBERS.sub('', text), time.monotonic())
        if left is not None:
            self._node.get_logger().warning(with_suppressed(text, left))

    def _require(self, what: Takes) -> None:
        mode = self._controller.mode
        wanted = taking(what, self._controller.settings.robot.own_modes)
        if mode not in wanted:
            raise WrongMode(ResultCode.INVALID_GOAL,
                            f'the mode is {mode}, not {names_in(wanted, "or")}')

    def _on_trajectory(self, message: JointTrajectory) -> None:
        controller = self._controller
        self._require(Takes.TRAJECTORY)
        if not message.points:  # as joint_trajectory_controller has it: stop here
            controller.post(controller.hold)
            return
        knots = knots_of(message, controller.accepted)
        clock = self._node.get_clock()
        begin = start_time(message, clock, simulated=controller.settings.simulated)
        ahead = _seconds(message.header.stamp) - clock.now().nanoseconds * 1e-9
        if ahead > _SOON:
            self._warn(f'{self._node.resolve_topic_name("~/joint_trajectory")}: starts in '
                       f'{ahead:.4g} s, as its stamp says. A stamp of zero means now')

        controller.post(lambda now, steady: controller.take_points(
            now, steady, knots, begin))

    def _on_path(self, message: MultiDOFJointTrajectory) -> None:
        controller = self._controller
        self._require(Takes.TRAJECTORY)
        if not message.points:  # come to rest on the path, and follow none that is being checked
            self._planner.drop(None)
            controller.post(lambda now, steady: controller.pause(now, steady, True, end=True))
            return
        points = self._planner.read(message)
        start = start_time(message, self._node.get_clock(),
                           simulated=controller.settings.simulated)

        def checked(plan: PathPlan | GoalError) -> None:
            if isinstance(plan, GoalError):
                self._reject(_PATH, str(plan))
            else:
                controller.post(lambda now, steady: self._follow(now, steady, plan, start))
        self._planner.begin(points, checked)

    def _follow(self, now: float, steady: float, plan: PathPlan, start: float | None) -> None:
        """Begin a path that was checked; in the control thread."""
        try:
            knots = plan.knots(now, start)
        except GoalError as error:
            self._reject(_PATH, str(error))
        else:
            self._controller.take_points(now, steady, knots, start)

    def _reject(self, name: str, reason: str) -> None:
        topic = self._node.resolve_topic_name(name)
        self._warn(f'{topic}: rejected, {reason}')
        self._refuse(f'{topic}: {reason}')

    def _on_stream(self, of: Streamed, message: Float64MultiArray) -> None:
        controller, numbers = self._controller, list(message.data)
        self._require(Takes.TRAJECTORY)
        controller.post(lambda now, steady: controller.take_stream(now, steady, numbers, of))

    def _on_pose(self, message: PoseStamped) -> None:
        self._require(Takes.TARGET)
        R, p = self._frames.pose(message.header.frame_id)
        position, turn = message.pose.position, message.pose.orientation
        there = p + R @ np.array([position.x, position.y, position.z])
        wanted = R @ rotation((turn.x, turn.y, turn.z, turn.w))
        controller = self._controller
        controller.post(lambda now, steady: controller.take_pose(
            now, steady, there.tolist(), quaternion(wanted)))

    def _on_twist(self, message: TwistStamped) -> None:
        self._on_two_vectors(message, message.twist.angular, message.twist.linear,
                             self._controller.take_twist)

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._on_two_vectors(message, message.wrench.torque, message.wrench.force,
                             self._controller.take_wrench)

    def _on_two_vectors(self, message: TwistStamped | WrenchStamped, angular: Vector3,
                        linear: Vector3, take: Callable[[float, float, list[float]], None],
                        ) -> None:
        """Request a target of two vectors, given in the frame that the header names."""
        self._require(Takes.TARGET)
        R, _ = self._frames.pose(message.header.frame_id)
        six = _in_base_axes(R, angular, linear)
        self._controller.post(lambda now, steady: take(now, steady, six))

    def _on_stiffness(self, message: Float64MultiArray) -> None:
        """Change the parameters of the springs: checked, told and applied as such."""
        self._require(Takes.STIFFNESS)
        mode = self._controller.settings.robot.modes[self._controller.mode]
        wanted = stiffness_changes(mode, len(self._joints), message.data,
                                   [each.size for each in message.layout.dim])
        changes = [Parameter(name, Parameter.Type.DOUBLE_ARRAY, value)
                   for name, value in wanted.items()
                   if list(self._node.get_parameter(name).value) != value]
        if not changes:
            return  # streamed, and nothing new
        result = self._node.set_parameters_atomically(changes)
        if not result.successful:
            raise SettingError(result.reason)

    def _on_payload(self, message: InertiaStamped) -> None:
        R, p = self._frames.in_payload(message.header.frame_id)
        load, com = message.inertia, message.inertia.com
        inertia_parameters = payload_vector(load.m, (com.x, com.y, com.z), (
            load.ixx, load.ixy, load.ixz, load.iyy, load.iyz, load.izz), R, p.tolist())
        self._payload_check.check(inertia_parameters)
        controller = self._controller
        controller.post(lambda now, steady: controller.take_payload(
            now, steady, inertia_parameters))
        self._node.get_logger().info(
            f'payload of {load.m:g} kg, blended in over '
            f'{controller.settings.number("payload.ramp_time"):g} s', throttle_duration_sec=1.0)
