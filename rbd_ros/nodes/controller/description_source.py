# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where the description of the robot comes from: a parameter, a file or the latched topic."""

from __future__ import annotations

from collections.abc import Callable

from rbd_ros.errors import ModelError, RbdError
from rbd_ros.nodes.controller.bounded_topics import BoundedInput
from rbd_ros.nodes.description import description_text
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

__all__ = ['DescriptionSource']

_LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


class DescriptionSource:
    """The description received on the topic, and the choice among the sources."""

    def __init__(self, node: Node, in_use: Callable[[], bool]) -> None:
        """
        Subscribe to the topic.

        :param node: has the parameters, and listens.
        :param in_use: return whether a configured robot is active.
        """
        self._node, self._in_use = node, in_use
        self.topic_text = ''
        self.configured = ''  # URDF of the configured robot
        self._topic = node.resolve_topic_name('robot_description')
        self._input = BoundedInput(node, String, self._topic, self._on_description, _LATCHED,
                                   node.get_logger().warning)

    def _on_description(self, message: String) -> None:
        if message.data == self.topic_text:
            return
        log = self._node.get_logger()
        if self._in_use() and self.configured == self.topic_text and self.configured:
            log.error('robot_description has changed and is ignored while active: deactivate, '
                      'clean up and configure to use it')
        elif self.topic_text:
            log.warning('robot_description has changed; it will be used at the next '
                        'configuration')
        self.topic_text = message.data

    def is_known(self) -> bool:
        """Return whether there is a description, or a reason why there is none to report."""
        try:
            known = bool(self.find()[0])
        except RbdError:  # configuring reports why
            return True
        if not known:
            self._node.get_logger().info(f'waiting for {self._topic}', throttle_duration_sec=5.0)
        return known

    def find(self) -> tuple[str, str]:
        """Return the URDF in force and where it came from; both empty while there is none."""
        text, file = (str(self._node.get_parameter(name).value)
                      for name in ('robot_description', 'robot_description_file'))
        if text.strip() and file.strip():
            raise ModelError('robot_description and robot_description_file are both given: '
                             'choose one')
        if text.strip():
            return text, 'the parameter robot_description'
        if file.strip():
            return description_text('', file.strip()), f'the file {file.strip()}'
        if self.topic_text:
            return self.topic_text, 'the topic robot_description'
        return '', ''
