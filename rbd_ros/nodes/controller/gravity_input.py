# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The direction of gravity, from an IMU or from TF, for a base that moves.

It has a node and a thread of its own, because /tf can be busy and neither the control thread nor
the services should wait for it. A direction goes to the control thread as a request. Its age is
checked like that of joint states: by the time of reception, and by a stamp that advances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.payload import PayloadError, rotation
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.ages import gravity_age
from rbd_ros.control.load.load import find_down, Tilt
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.nodes.controller.bounded_services import NO_TYPE_DESCRIPTIONS
from rbd_ros.nodes.controller.bounded_topics import BoundedInput
from rbd_ros.nodes.controller.robot_frames import RobotFrames
from rbd_ros.nodes.executors import make_executor, spin_in_thread
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from rclpy.time import Time
from sensor_msgs.msg import Imu
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rbd_ros.control.robot import Robot

__all__ = ['GravityInput', 'base_frames']

Array = npt.NDArray[np.float64]

_TF_PERIOD = 0.01  # s between two look-ups in the buffer
_JOIN_LIMIT = 1.0  # s
_MAX_FRAMES = 2000  # of /tf that are kept

# those of tf2's own listener
_TF = QoSProfile(depth=100)
_TF_STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def base_frames(robot: Robot) -> list[str]:
    """
    Return the frames that are fixed to the base, in which an IMU may give its orientation.

    :param robot: the robot.
    """
    return [name for name, frame in robot.model.frames.items() if frame.body == 0]


class GravityInput:
    """Feed the gravity source of one controller."""

    def __init__(self, owner: Node, controller: Controller,
                 control_time: Callable[[], float]) -> None:
        """
        Listen to the source that the parameters name, if it is not a parameter itself.

        :param owner: node whose names are used.
        :param controller: gets the directions.
        :param control_time: returns the control clock, s.
        """
        settings = controller.settings
        self._owner, self._controller, self._clock = owner, controller, control_time
        self._robot = settings.robot
        self._frames = RobotFrames(ControlledRobot(controller))
        self._kind = settings.text('gravity_source')
        self._age = gravity_age(settings)
        self._tilt = Tilt({})
        self._frame = settings.text('gravity_frame')
        self._stamp = 0, 0  # s and ns, of the last transform
        self._imu_axes: dict[str, Array] = {}  # axes of an IMU in the base, by frame
        self.refused = 0
        self.reason = f'nothing received from {self.source}'
        self._kept: set[str] = set()  # frames of TF
        self._node: Node | None = None
        if self._kind == 'parameter':
            return
        self._node = node = Node(
            f'{owner.get_name()}_gravity', namespace=owner.get_namespace(),
            use_global_arguments=False, start_parameter_services=False, enable_rosout=False,
            parameter_overrides=[Parameter('use_sim_time', value=settings.simulated),
                                 NO_TYPE_DESCRIPTIONS])
        if self._kind == 'imu':
            self._inputs = [BoundedInput(
                node, Imu, owner.resolve_topic_name('~/imu'), self._on_imu,
                qos_profile_sensor_data, owner.get_logger().warning)]
        else:
            self._listen_to_tf(node)
        self._executor = make_executor(settings.text('executor'))
        self._executor.add_node(node)
        self._thread = spin_in_thread(self._executor, 'gravity', owner.get_logger().fatal)

    @property
    def source(self) -> str:
        """Return where directions come from, for texts."""
        if self._kind == 'imu':
            return f'the topic {self._owner.resolve_topic_name("~/imu")}'
        if self._kind == 'parameter':
            return 'parameter'
        return f'TF from {self._robot.model.body_names[0]} to {self._frame}'

    def destroy(self) -> None:
        """End the thread and the node."""
        if self._node is None:
            return
        self._executor.shutdown(timeout_sec=_JOIN_LIMIT)
        self._thread.join(_JOIN_LIMIT)
        for each in self._inputs:  # during a flood the node does not know its subscription
            each.destroy()
        self._node.destroy_node()
        self._node = None

    # -- IMU ------------------------------------------------------------------------------------

    def _on_imu(self, message: Imu) -> None:
        tilt, q, stamp = self._tilt, message.orientation, message.header.stamp
        try:
            tilt.axes[:] = self._axes_of(message.header.frame_id)
        except PayloadError as error:
            self._refuse(str(error))
            return
        tilt.now, tilt.stamp_s, tilt.stamp_ns = self._clock(), stamp.sec, stamp.nanosec
        tilt.missing = message.orientation_covariance[0] == -1.0
        tilt.turn[:] = q.x, q.y, q.z, q.w
        find_down(tilt, *self._age.records)
        if tilt.word:
            self._refuse(LoadWord(int(tilt.word)).text('', tilt.a))
            return
        if tilt.fresh:
            self._post_direction(tilt.down[:3].copy(), tilt.down[3])
        self.reason = self._age.reason

    def _axes_of(self, frame: str) -> Array:
        """Return the axes of the IMU as columns, in the base."""
        if frame not in self._imu_axes:
            known = base_frames(self._robot)
            if frame and frame not in known:
                raise PayloadError(f'the IMU is in frame "{frame}", which is not fixed to the '
                                   f'base (known: {", ".join(known)})')
            self._imu_axes[frame] = self._frames.pose(frame)[0]
        return self._imu_axes[frame]

    # -- TF -------------------------------------------------------------------------------------

    def _listen_to_tf(self, node: Node) -> None:
        from tf2_ros import Buffer, TransformException
        self._missing = TransformException
        self._buffer = Buffer()  # without a service of its own
        warn = self._owner.get_logger().warning
        self._inputs = [
            BoundedInput(node, TFMessage, '/tf', self._on_tf, _TF, warn, newest=False),
            BoundedInput(node, TFMessage, '/tf_static', self._on_tf_static, _TF_STATIC, warn,
                         newest=False)]
        node.create_timer(_TF_PERIOD, self._look_up,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_tf(self, message: TFMessage) -> None:
        for transform in message.transforms:
            if self._keep_frame(transform.child_frame_id):
                self._buffer.set_transform(transform, 'tf')

    def _on_tf_static(self, message: TFMessage) -> None:
        for transform in message.transforms:
            if self._keep_frame(transform.child_frame_id):
                self._buffer.set_transform_static(transform, 'tf_static')

    def _keep_frame(self, frame: str) -> bool:
        """Return whether a frame may enter the buffer, which never forgets one."""
        if frame in self._kept:
            return True
        if len(self._kept) >= _MAX_FRAMES:
            self._owner.get_logger().warning(
                f'more than {_MAX_FRAMES} frames on /tf: "{frame}" is ignored',
                throttle_duration_sec=5.0)
            return False
        self._kept.add(frame)
        return True

    def _look_up(self) -> None:
        try:
            found = self._buffer.lookup_transform(
                self._robot.model.body_names[0], self._frame, Time())
        except self._missing as error:
            self.reason = str(error)
            return
        stamp = found.header.stamp.sec, found.header.stamp.nanosec
        q = found.transform.rotation
        try:
            down = -rotation([q.x, q.y, q.z, q.w])[:, 2]
        except PayloadError as error:
            self._refuse(str(error))
            return
        if stamp == (0, 0):  # every transform is static: it never changes
            self._post_direction(down, self._clock())
        elif stamp != self._stamp:  # else it is the same transform as before
            self._stamp = stamp
            self._accept_if_fresh(down, *stamp)

    # -- both -----------------------------------------------------------------------------------

    def _accept_if_fresh(self, down: Array, s: int, ns: int) -> None:
        """Check the age of a direction by its stamp; post it if it is fresh."""
        now = self._clock()
        if self._age.is_fresh(now, s, ns):
            self._post_direction(down, now - self._age.excess)
        self.reason = self._age.reason

    def _post_direction(self, down: Array, when: float) -> None:
        controller = self._controller
        controller.post(lambda now, steady: controller.take_gravity(now, steady, when, down))

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        self.reason = reason
        self._owner.get_logger().warning(
            f'gravity from {self.source} rejected: {reason}', throttle_duration_sec=5.0)
