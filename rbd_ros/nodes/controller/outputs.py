# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Commands as messages: their types, and how they are offered.

Drivers differ, and so does what they take. To add a type, write how its bytes are made in
``rbd_ros.wire.messages``, and name it in ``MESSAGE_TYPES`` (or ``_OTHERS``) and in the choices of
``command_type``.
"""

from __future__ import annotations

import importlib
from typing import Any

from rbd_ros.errors import SettingError
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import LivelinessPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

__all__ = ['command_qos', 'make_output', 'message_type', 'MESSAGE_TYPES']

#: std_msgs/Float64MultiArray is for effort and forward command controllers; sensor_msgs/JointState
#: has names, efforts and the stamp of the state. Others are for motors that close their own loop.
MESSAGE_TYPES: dict[str, Any] = {
    'float64_multi_array': Float64MultiArray, 'joint_state': JointState,
    'motor_array': Float64MultiArray, 'motor_joint_state': JointState}

#: types of packages that may be missing: package and name
_OTHERS = {'motor_dynamic_joint_state': ('control_msgs', 'DynamicJointState')}


def message_type(kind: str) -> Any:
    """
    Return the message type of commands; one that is not installed is refused.

    :param kind: value of ``command_type``.
    """
    if kind in MESSAGE_TYPES:
        return MESSAGE_TYPES[kind]
    package, name = _OTHERS[kind]
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise SettingError(
            f'command_type {kind} needs {package}/{name}, which is not installed ({error}): '
            f'install {package}, or choose motor_array or motor_joint_state') from error


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


def make_output(kind: str, node: Node, topic: str, qos: QoSProfile) -> Publisher:
    """
    Create the publisher of the commands.

    :param kind: value of ``command_type``.
    :param node: the node that publishes.
    :param topic: resolved name.
    :param qos: of the publisher.
    """
    return node.create_publisher(message_type(kind), topic, qos)
