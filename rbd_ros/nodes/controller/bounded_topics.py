# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Topics that cannot flood Python's threads.

While too many messages come, either the newest one counts, as for a set-point, or as many of the
newest ones as the budget allows, where each may say something different, as on /tf.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller.bounded import Bounded, POLL_PERIOD
from rclpy.node import Node
from rclpy.qos import QoSProfile

__all__ = ['BoundedInput']

#: of the time of a processor: share, and s at once, that the messages of one topic may take
SHARE, BURST = 0.2, 0.1


class BoundedInput(Bounded):
    """A subscription whose callbacks are bounded per second."""

    def __init__(self, node: Node, kind: type, topic: str, callback: Callable[..., object],
                 qos: QoSProfile | int, flooded: Callable[[str], None], *,
                 newest: bool = True) -> None:
        """
        Subscribe.

        :param node: in an executor.
        :param kind: type of the messages.
        :param topic: resolved name.
        :param callback: gets a message; while too many come, not every one.
        :param qos: of the subscription; its depth should be small.
        :param flooded: gets a text when too many begin to come.
        :param newest: whether the newest message says everything; else each one counts.
        """
        reading = ('Only the newest one is read, at most' if newest
                   else 'Only some of the newest ones are read,')
        super().__init__(node, Budget(SHARE, BURST), lambda: flooded(
            f'too many messages on {topic}: they would take more than {100.0 * SHARE:g} % of a '
            f'CPU. {reading} every {1e3 * POLL_PERIOD:g} ms'))
        self._callback, self._newest = callback, newest
        self._subscription = node.create_subscription(kind, topic, self._take, qos)
        # messages that the executor still brought while there were too many
        self._waiting: deque[object] = deque(
            maxlen=1 if newest else self._subscription.qos_profile.depth)

    def destroy(self) -> None:
        """End listening."""
        super().destroy()
        self._node.destroy_subscription(self._subscription)

    def _take(self, message: object) -> None:
        """Take a message from the executor."""
        if self.admit():
            self._hand_over(message)
        else:
            self._waiting.append(message)

    def _hand_over(self, message: object) -> None:
        begin = self.begin()
        try:
            self._callback(message)
        finally:
            self.end(begin)

    def _serve(self, served: bool) -> None:
        subscriptions = self._node._subscriptions
        (subscriptions.append if served else subscriptions.remove)(self._subscription)

    def _read(self) -> None:
        subscription = self._subscription
        with subscription.handle:
            for _ in range(subscription.qos_profile.depth):
                if not self._newest:
                    while self._waiting and self._budget_left():
                        self._hand_over(self._waiting.popleft())
                    if self._waiting:
                        return
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    break
                self._waiting.append(taken[0])
        if self._waiting:
            self._hand_over(self._waiting.pop())
