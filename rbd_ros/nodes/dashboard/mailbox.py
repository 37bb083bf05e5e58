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
Subscriptions that wake nobody: what comes waits in the middleware until the page looks.

An executor runs a callback for each message, a thousand times per second for states and commands
at 500 Hz, and makes an object of each. A page looks 25 times per second, and needs the bytes.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

__all__ = ['Mailbox', 'Mailroom']


class Mailroom:
    """
    A hidden node that no executor spins, for the mailboxes of another one.

    :param node: whose names and remappings hold.
    :param name: by which it differs from others of the same node.
    """

    def __init__(self, node: Node, name: str = '') -> None:
        self._owner = node
        # Without the global arguments, which would give it the name of its owner.
        self._node = Node(f'_{node.get_name()}_mail{name}', namespace=node.get_namespace(),
                          context=node.context, use_global_arguments=False,
                          enable_rosout=False, start_parameter_services=False)

    def close(self) -> None:
        """Take no more."""
        self._node.destroy_node()

    def open(self, kind: type[Any], topic: str, depth: int = 1) -> Mailbox:
        """
        Return a new mailbox, best effort.

        :param kind: of the messages.
        :param topic: as its owner would name it.
        :param depth: messages that wait at most; the oldest make room.
        """
        quality = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        return Mailbox(self._node.create_subscription(
            kind, self._owner.resolve_topic_name(topic), lambda _: None, quality, raw=True), depth)

    def give_up(self, box: Mailbox) -> None:
        """Take no more of one."""
        self._node.destroy_subscription(box.subscription)


class Mailbox:
    """
    Messages of one topic that wait.

    :param subscription: raw; nobody else takes from it.
    :param depth: messages that wait at most.
    """

    def __init__(self, subscription: Subscription[Any], depth: int) -> None:
        self.subscription, self.depth = subscription, depth
        self._kind = subscription.msg_type

    def take(self) -> list[tuple[int, bytes]]:
        """Empty it: when each message was received, ns, and its bytes, the oldest first."""
        found = []
        handle = self.subscription.handle
        with handle:
            while (each := handle.take_message(self._kind, True)) is not None:
                found.append((each[1]['received_timestamp'], each[0]))
        return found

    def newest(self) -> Any:
        """Empty it, and return the last message; None: none has come."""
        found = self.take()
        return deserialize_message(found[-1][1], self._kind) if found else None
