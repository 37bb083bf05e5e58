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
Joint states and commands as bytes on the wire, without a message object for each.

A serialized JointState always has its numbers at the same places as long as its names do not
change: they are looked up once in a message that rclpy serialized, and overwritten.
"""

from __future__ import annotations

from array import array
import struct
from typing import TYPE_CHECKING

from nav_msgs.msg import Odometry
import numpy as np
from rbd_ros.sim.native.loop import StateMessage
from rbd_ros.wire.reading import read_plain_array
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rbd_ros.sim import Sample

_STAMP = struct.Struct('<iI')
_LITTLE_ENDIAN = b'\x00\x01'


class StateWriter:
    """
    Serialize joint states of fixed names and fields.

    :param names: of the joints.
    :param velocity: whether velocities are given.
    :param effort: whether efforts are given.
    """

    def __init__(self, names: Sequence[str], *, velocity: bool, effort: bool) -> None:
        self._names = list(names)
        count = len(self._names)
        self._fields = [name for name, given in (
            ('position', True), ('velocity', velocity), ('effort', effort)) if given]
        marks = [array('d', [1e150 * (k + 1) + j * 1e140 for j in range(count)])
                 for k in range(len(self._fields))]
        message = JointState(name=self._names, **dict(zip(self._fields, marks)))
        self._bytes = bytearray(serialize_message(message))
        starts = [self._bytes.find(mark.tobytes()) for mark in marks]
        self._views = [np.frombuffer(self._bytes, '<f8', count, start) for start in starts]
        at = dict(zip(self._fields, starts))
        #: bytes of a message, and where the first position, velocity and effort are; 0: none is
        self.message = StateMessage(
            bytes(self._bytes), (at['position'], at.get('velocity', 0), at.get('effort', 0)))
        self.fast = bool(count) and min(starts) > 0 and self._bytes[:2] == _LITTLE_ENDIAN

    def write(self, stamp_ns: int, sample: Sample) -> bytes | JointState:
        """
        Return what a publisher of JointState takes.

        :param stamp_ns: time of the state.
        :param sample: the state; must have the fields that were announced.
        """
        if not self.fast:
            return self._message(stamp_ns, sample)
        _STAMP.pack_into(self._bytes, 4, *divmod(stamp_ns, 1_000_000_000))
        for name, view in zip(self._fields, self._views):
            view[:] = getattr(sample, name)
        return bytes(self._bytes)

    def _message(self, stamp_ns: int, sample: Sample) -> JointState:
        fields = {name: array('d', getattr(sample, name)) for name in self._fields}
        message = JointState(name=self._names, **fields)
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
        return message


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
        self.fast = min(at) > 0 and self._bytes[:2] == _LITTLE_ENDIAN
        #: places of x, y, z, quaternion; linear velocity; angular velocity
        self._views = [np.frombuffer(self._bytes, '<f8', count, start) for start, count in (
            (at[0], 7), (at[10], 3), (at[7], 3))]
        self._names = (world, base)

    def write(self, stamp_ns: int, sample: Sample) -> bytes | Odometry:
        """
        Return what a publisher of Odometry takes.

        :param stamp_ns: time of the state.
        :param sample: of a robot with a floating base.
        """
        seconds = divmod(stamp_ns, 1_000_000_000)
        base = sample.base
        if not self.fast:
            message = _odometry(*self._names, base.tolist())
            message.header.stamp.sec, message.header.stamp.nanosec = seconds
            return message
        _STAMP.pack_into(self._bytes, 4, *seconds)
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
