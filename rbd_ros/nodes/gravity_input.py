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
The direction of gravity of a moving base: from an IMU or from a TF frame.

It has a node and a thread of its own: activation waits for it, in the thread of the lifecycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rbd_ros.control.payload import rotation
from rbd_ros.errors import RbdError
from rbd_ros.nodes.hot import make_executor, spin_in_thread
from rbd_ros.nodes.references_io import FramesOfRobot
from rbd_ros.nodes.reports import quaternion
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.time import Time
from sensor_msgs.msg import Imu

if TYPE_CHECKING:
    from rbd_ros.nodes.cycle import Cycle
    from rbd_ros.nodes.lifecycle import ControllerNode

__all__ = ['GravityInput']

_PERIOD = 0.02  # s between two looks at TF


class GravityInput:
    """Hand measured orientations of the base to the loop, by parameter gravity_source."""

    def __init__(self, node: ControllerNode, cycle: Cycle) -> None:
        """
        Subscribe to what the parameter names, if anything.

        :param node: the lifecycle node.
        :param cycle: gets the orientations.
        """
        self._node, self._cycle = node, cycle
        self._base = cycle.settings.robot.model.body_names[0]
        self._up = cycle.settings.text('gravity_frame')
        self._frames = FramesOfRobot(cycle)
        self._stamp = -1
        self._own: Node | None = None
        source = cycle.settings.text('gravity_source')
        if source == 'parameter':
            return
        self._own = own = Node(
            f'{node.get_name()}_gravity', namespace=node.get_namespace(), enable_rosout=False,
            use_global_arguments=False, start_parameter_services=False)
        if source == 'imu':
            own.create_subscription(Imu, node.resolve_topic_name('~/imu'), self._on_imu,
                                    qos_profile_sensor_data)
        else:
            from tf2_ros import Buffer, TransformListener
            self._buffer = Buffer()
            self._listener = TransformListener(self._buffer, own)
            own.create_timer(_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._executor = make_executor(cycle.settings.text('executor'))
        self._executor.add_node(own)
        self._thread = spin_in_thread(self._executor, 'gravity', node.get_logger().error)

    def destroy(self) -> None:
        """End listening."""
        if self._own is not None:
            self._executor.shutdown(timeout_sec=0.5)
            self._thread.join(0.5)
            self._own.destroy_node()
            self._own = None

    def _on_imu(self, message: Imu) -> None:
        """Take the orientation of an IMU that is fixed to the base."""
        turn = message.orientation
        try:
            if message.orientation_covariance[0] == -1.0:
                raise RbdError('this IMU gives no orientation')
            name = message.header.frame_id
            model = self._cycle.settings.robot.model
            if name and model.frame(name).body != 0:
                raise RbdError(f'"{name}" is not fixed to the base "{self._base}"')
            mounting, _ = self._frames.pose(name)
            world = rotation((turn.x, turn.y, turn.z, turn.w)) @ np.asarray(mounting).T
            self._hand_over(quaternion(world))
        except RbdError as error:
            self._node.get_logger().warning(f'~/imu is ignored: {error}',
                                            throttle_duration_sec=2.0)

    def _look(self) -> None:
        """Take the orientation of the base in the frame that points up, if it is new."""
        if not self._buffer.can_transform(self._up, self._base, Time()):
            return
        transform = self._buffer.lookup_transform(self._up, self._base, Time())
        stamp = Time.from_msg(transform.header.stamp).nanoseconds
        if stamp == self._stamp and stamp != 0:  # zero: static, always true
            return
        self._stamp = stamp
        turn = transform.transform.rotation
        self._hand_over((turn.x, turn.y, turn.z, turn.w))

    def _hand_over(self, turn: tuple[float, float, float, float]) -> None:
        cycle = self._cycle
        cycle.loop.post(lambda now, _steady: cycle.gravity.orientation(now, turn))
