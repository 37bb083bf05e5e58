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
Commands as messages: one small class per message type.

Drivers differ, and so does what they take. To add a type, write a class with ``message_type``
and ``publish``, and name it in ``OUTPUTS`` and in the choices of ``command_type``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from rbd_ros.nodes.codec import FloatArrayWriter, JointStateWriter
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import LivelinessPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

__all__ = ['OUTPUTS', 'Output', 'command_qos', 'make_output']

Array = npt.NDArray[np.float64]


class Output(Protocol):
    """Sends torques to the driver."""

    publisher: Publisher

    def publish(self, torque: Array, stamp: tuple[int, int]) -> None:
        """
        Send one torque per controlled joint.

        :param torque: finite and limited, N.m; the buffer is overwritten later.
        :param stamp: s and ns of the last accepted state.
        """


class ArrayOutput:
    """std_msgs/Float64MultiArray, for effort and forward command controllers."""

    message_type = Float64MultiArray

    def __init__(self, publisher: Publisher, joints: Sequence[str]) -> None:
        """
        Prepare the message.

        :param publisher: of this message type.
        :param joints: controlled joints.
        """
        self.publisher = publisher
        self._writer = FloatArrayWriter(len(joints))

    def publish(self, torque: Array, stamp: tuple[int, int]) -> None:
        """Send one torque per controlled joint; this message has no stamp."""
        self.publisher.publish(self._writer.write(torque))


class JointStateOutput:
    """sensor_msgs/JointState with names, efforts and the stamp of the state."""

    message_type = JointState

    def __init__(self, publisher: Publisher, joints: Sequence[str]) -> None:
        """
        Prepare the message.

        :param publisher: of this message type.
        :param joints: controlled joints.
        """
        self.publisher = publisher
        self._writer = JointStateWriter(joints)

    def publish(self, torque: Array, stamp: tuple[int, int]) -> None:
        """Send one torque per controlled joint."""
        self.publisher.publish(self._writer.write(torque, *stamp))


OUTPUTS: dict[str, type[ArrayOutput] | type[JointStateOutput]] = {
    'float64_multi_array': ArrayOutput, 'joint_state': JointStateOutput}


def command_qos(deadline: float, lease: float) -> QoSProfile:
    """
    Return the QoS offered on the commands; a driver that asks for nothing is not affected.

    :param deadline: s between two commands while active; 0: none.
    :param lease: s within which the control thread asserts that it is alive; 0: none. It does so
        by itself, because the middleware's own thread goes on when Python hangs.
    """
    qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
    if deadline > 0.0:
        qos.deadline = Duration(seconds=deadline)
    if lease > 0.0:
        qos.liveliness = LivelinessPolicy.MANUAL_BY_TOPIC
        qos.liveliness_lease_duration = Duration(seconds=lease)
    return qos


def make_output(kind: str, node: Node, topic: str, joints: Sequence[str],
                qos: QoSProfile) -> Output:
    """
    Create the publisher of the commands.

    :param kind: out of ``OUTPUTS``.
    :param node: the node that publishes.
    :param topic: resolved name.
    :param joints: controlled joints.
    :param qos: of the publisher.
    """
    output = OUTPUTS[kind]
    return output(node.create_publisher(output.message_type, topic, qos), joints)
