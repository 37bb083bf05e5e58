# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Subscriptions that wake nobody: what comes waits in the middleware until the page looks.

An executor runs a callback for each message, a thousand times per second for states and commands
at 500 Hz, and makes an object of each. A page looks 25 times per second, and needs the bytes.

The middleware offers each message that comes to every subscription, service and client of a
participant in turn. A page has dozens of them, so that the mailboxes have a participant of their
own.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rbd_ros.nodes.dashboard.raw_take import taker
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

__all__ = ['Mailbox', 'Mailroom']


class Mailroom:
    """
    A hidden node that no executor spins, for the mailboxes of another one; it ends with that.

    :param node: whose names and remappings hold.
    :param name: by which it differs from others of the same node.
    """

    def __init__(self, node: Node, name: str = '') -> None:
        self._owner = node
        self._context = Context()
        self._context.init([], initialize_logging=False, domain_id=node.context.get_domain_id())
        # Without the global arguments, which would give it the name of its owner.
        self._node = Node(f'_{node.get_name()}_mail{name}', namespace=node.get_namespace(),
                          context=self._context, use_global_arguments=False,
                          enable_rosout=False, start_parameter_services=False)
        node.context.on_shutdown(self.close)

    def close(self) -> None:
        """Take no more."""
        if self._context.ok():
            self._node.destroy_node()
            self._context.shutdown()

    def open(self, kind: type[Any], topic: str, depth: int = 1) -> Mailbox:
        """
        Return a new mailbox, best effort.

        :param kind: of the messages.
        :param topic: as its owner would name it.
        :param depth: messages that wait at most; the oldest make room.
        """
        quality = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        return Mailbox(self._node.create_subscription(
            kind, self._owner.resolve_topic_name(topic), lambda _: None, quality, raw=True), depth,
            self)

    def give_up(self, box: Mailbox) -> None:
        """Take no more of one."""
        self._node.destroy_subscription(box.subscription)


class Mailbox:
    """
    Messages of one topic that wait.

    :param subscription: raw; nobody else takes from it.
    :param depth: messages that wait at most.
    :param room: which lives as long as one of its mailboxes.
    """

    def __init__(self, subscription: Subscription[Any], depth: int, room: Mailroom) -> None:
        self.subscription, self.depth, self._room = subscription, depth, room
        self._next = taker(subscription)

    def take(self) -> list[tuple[int, bytes]]:
        """Empty it: when each message was received, ns, and its bytes, the oldest first."""
        found = []
        with self.subscription.handle:
            while (each := self._next()) is not None:
                found.append(each)
                if self.depth == 1:  # to ask whether there is another takes as long
                    break
        return found

    def newest(self) -> bytes | None:
        """Empty it, and return the last message; None: none has come."""
        found = self.take()
        return found[-1][1] if found else None
