# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Joint states and commands as bytes on the wire, without a message object for each.

A message always has its numbers at the same places as long as its names do not change: they are
looked up once, and overwritten.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from nav_msgs.msg import Odometry
import numpy as np
from rbd_ros.sim.native.loop import StateMessage
from rbd_ros.wire.messages import joint_state
from rbd_ros.wire.reading import places_in, read_plain_array
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rbd_ros.sim import Sample
    from sensor_msgs.msg import JointState

_STAMP = struct.Struct('<iI')


class StateWriter:
    """
    Serialize joint states of fixed names and fields.

    :param names: of the joints.
    :param velocity: whether velocities are given.
    :param effort: whether efforts are given.
    """

    def __init__(self, names: Sequence[str], *, velocity: bool, effort: bool) -> None:
        zeros, none = np.zeros(len(names)), np.empty(0)
        content = joint_state(tuple(names), zeros, zeros if velocity else none,
                              zeros if effort else none, (0, 0))
        #: bytes of a message, and where its numbers are
        self.message = StateMessage(content, places_in(content))
        self._bytes = bytearray(content)
        fields = zip(('position', 'velocity', 'effort'), self.message.places, strict=True)
        self._views = [(name, np.frombuffer(self._bytes, '<f8', len(names), at))
                       for name, at in fields if at]

    def write(self, stamp_ns: int, sample: Sample) -> bytes:
        """
        Return what a publisher of JointState takes.

        :param stamp_ns: time of the state.
        :param sample: the state; must have the fields that were announced.
        """
        _STAMP.pack_into(self._bytes, 4, *divmod(stamp_ns, 1_000_000_000))
        for name, view in self._views:
            view[:] = getattr(sample, name)
        return bytes(self._bytes)


class BaseWriter:
    """
    Serialize the pose and velocity of a floating base.

    :param world: name of the frame that the pose is in.
    :param base: name of the link.
    """

    def __init__(self, world: str, base: str) -> None:
        marks = [1e150 * (k + 1) for k in range(13)]
        self._bytes = bytearray(serialize_message(_odometry(world, base, marks)))
        at = [self._bytes.find(struct.pack('<d', mark)) for mark in marks]
        #: places of x, y, z, quaternion; linear velocity; angular velocity
        self._views = [np.frombuffer(self._bytes, '<f8', count, start) for start, count in (
            (at[0], 7), (at[10], 3), (at[7], 3))]

    def write(self, stamp_ns: int, sample: Sample) -> bytes:
        """
        Return what a publisher of Odometry takes.

        :param stamp_ns: time of the state.
        :param sample: of a robot with a floating base.
        """
        base = sample.base
        _STAMP.pack_into(self._bytes, 4, *divmod(stamp_ns, 1_000_000_000))
        for view, part in zip(self._views, (base[:7], base[10:], base[7:10])):
            view[:] = part
        return bytes(self._bytes)


def _odometry(world: str, base: str, values: Sequence[float]) -> Odometry:
    message = Odometry(child_frame_id=base)
    message.header.frame_id = world
    p, r = message.pose.pose.position, message.pose.pose.orientation
    p.x, p.y, p.z, r.x, r.y, r.z, r.w = values[:7]
    w, v = message.twist.twist.angular, message.twist.twist.linear
    w.x, w.y, w.z, v.x, v.y, v.z = values[7:]
    return message


def read_array(data: bytes) -> NDArray[np.float64]:
    """
    Return the numbers of a serialized Float64MultiArray.

    :param data: with an empty layout they are read where they are, else by rclpy.
    """
    found = read_plain_array(data)
    return np.array(deserialize_message(data, Float64MultiArray).data) if found is None else found


def motor_rows(message: JointState, joints: Sequence[str],
               ) -> tuple[list[list[float]], list[str]]:
    """
    Return position, velocity, stiffness, damping and effort of each joint, and what is missing.

    :param message: as ``wire.messages.motor_state_command`` lays it out, in any order.
    :param joints: whose rows are wanted.
    """
    whole = min(len(message.position), len(message.velocity), len(message.effort))
    place = {name: k for k, name in enumerate(message.name) if k < whole}
    wanted = [name for joint in joints for name in (joint, f'{joint}/gains')]
    missing = [name for name in wanted if name not in place]
    if missing:
        return [], missing
    rows = []
    for joint in joints:
        at, gains = place[joint], place[f'{joint}/gains']
        rows.append([message.position[at], message.velocity[at], message.position[gains],
                     message.velocity[gains], message.effort[at]])
    return rows, []
