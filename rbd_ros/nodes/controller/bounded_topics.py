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
Topics of which no flood can take the time of the loop.

Each message that an executor hands over costs the interpreter some time, wanted or not. A topic
whose messages cost more time than its budget allows is taken out of its executor: then the
middleware keeps the newest ones by itself, without the interpreter, and a timer reads them now and
then, within the budget. After a while the topic is given back to the executor, to see whether the
flood has ended.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time

from rbd_ros.control.repeats import Budget
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile

__all__ = ['BoundedInput']

#: of the time of a processor: share, and s at once, that the messages of one topic may take
SHARE, BURST = 0.2, 0.1

_OVERHEAD = 1e-4  # s that an executor takes to read one message
_POLL = 0.01  # s between two looks while there are too many
_AGAIN, _MOST = 1.0, 8.0  # s after which they are taken as they come again, if they go on


class BoundedInput:
    """A subscription whose callbacks are bounded per second."""

    def __init__(self, node: Node, kind: type, topic: str, callback: Callable[..., object],
                 qos: QoSProfile | int, flooded: Callable[[str], None]) -> None:
        """
        Subscribe.

        :param node: in an executor.
        :param kind: type of the messages.
        :param topic: resolved name.
        :param callback: gets a message; while too many come, only the newest one.
        :param qos: of the subscription; its depth should be small.
        :param flooded: gets a text when too many begin to come.
        """
        self.polling = False  # more come than may
        self._node, self._topic = node, topic
        self._callback, self._flooded = callback, flooded
        self._budget = Budget(SHARE, BURST)
        self._waiting: object | None = None  # message that came last while there were too many
        self._again, self._until = _AGAIN, -math.inf  # s; steady time
        self._subscription = node.create_subscription(kind, topic, self._take, qos)
        self._timer = node.create_timer(_POLL, self._poll, autostart=False,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))

    def destroy(self) -> None:
        """End listening."""
        if self.polling:
            self._give_back()
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)

    def _take(self, message: object) -> None:
        """Take a message from the executor."""
        if not self.polling and self._budget.left(time.monotonic()):
            self._hand_over(message)
            return
        self._waiting = message
        if not self.polling:
            self._take_out()

    def _hand_over(self, message: object) -> None:
        begin = time.thread_time()  # not what others take meanwhile
        try:
            self._callback(message)
        finally:
            self._budget.spend(time.thread_time() - begin + _OVERHEAD)

    def _take_out(self) -> None:
        """Take the topic out of the executor, which asks its nodes what to wait for."""
        now = time.monotonic()
        first = now - self._until > _AGAIN  # else they have gone on all the time
        self._again = _AGAIN if first else min(2.0 * self._again, _MOST)
        self.polling, self._until = True, now + self._again
        self._node._subscriptions.remove(self._subscription)
        self._node._wake_executor()
        self._timer.reset()
        if first:
            self._flooded(f'too many messages on {self._topic}: they would take more than '
                          f'{100.0 * SHARE:g} % of a CPU. Only the newest one is read, at '
                          f'most every {1e3 * _POLL:g} ms')

    def _give_back(self) -> None:
        self.polling = False
        self._budget.cut()
        self._timer.cancel()
        self._node._subscriptions.append(self._subscription)
        self._node._wake_executor()

    def _poll(self) -> None:
        """Take what the middleware has kept; the newest one counts."""
        now = time.monotonic()
        if not self._budget.left(now):
            return
        message, self._waiting = self._waiting, None
        subscription = self._subscription
        with subscription.handle:
            for _ in range(subscription.qos_profile.depth):
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    break
                message = taken[0]
        if message is not None:
            self._hand_over(message)
        if self.polling and now > self._until:
            self._give_back()
