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
The subscription to joint states, which cannot flood the control thread.

Messages are charged the time that they take, including the wait for a processor: what counts is
how busy the control thread is. States that give a torque and leave time between them are not, as
long as nothing else was.
Beyond the budget the middleware keeps the newest messages and a timer reads them once in each
nominal period, or every 2 ms. Messages with joints of the robot are recognised by their names: the
newest of each such list is taken, and one of all the others, so that a new source is still found.
"""

from __future__ import annotations

from collections.abc import Callable

from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller.bounded import Bounded
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

__all__ = ['StateInput']

#: of the time of the control thread: share, and s at once, that messages may take
SHARE, BURST = 0.7, 0.05

#: s between two reads: no more should arrive meanwhile than the middleware keeps
_MAX_PERIOD = 0.002

_OTHERS = -1  # all messages without joints of the robot are one kind


class StateInput(Bounded):
    """Joint states as they come, or the newest of each kind once in a period."""

    def __init__(self, node: Node, topic: str, take: Callable[[bytes], None], qos: QoSProfile,
                 flooded: Callable[[str], None], **more: object) -> None:
        """
        Subscribe.

        :param node: in an executor.
        :param topic: resolved name.
        :param take: gets a serialized message; asks ``admit`` before it spends time.
        :param qos: of the subscription; its depth bounds what is kept between two looks.
        :param flooded: gets a text when too many begin to come.
        :param more: arguments of the subscription.
        """
        super().__init__(node, Budget(SHARE, BURST), lambda: flooded(
            f'too many messages on {topic}, or too busy a machine: they would take more than '
            f'{100.0 * SHARE:g} % of the time of the control thread. At each look only the newest '
            'state of the controlled joints is read, and one of all messages without joints of '
            'this robot'))
        self._take = take
        self._recognise: Callable[[bytes], int] = lambda _: _OTHERS
        self._newest: dict[int, bytes] = {}  # kept, by kind
        self._reading = False
        self._subscription: Subscription = node.create_subscription(
            JointState, topic, take, qos, raw=True, **more)

    def begin_robot(self, period: float, recognise: Callable[[bytes], int]) -> None:
        """
        Listen for another robot.

        :param period: s, nominal, of its states.
        :param recognise: returns the kind of a message with its joints; below 0: any other.
        """
        self._recognise, self._newest = recognise, {}
        self._timer.timer_period_ns = round(1e9 * min(period, _MAX_PERIOD))

    @property
    def whole(self) -> bool:
        """Return whether no message was charged lately."""
        return not self.polling and self._budget.whole

    def admit_state(self, data: bytes) -> bool:
        """
        Return whether a message may take time now; if not, it is kept while it is the newest.

        :param data: the serialized message.
        """
        if self._reading or self.whole or self.admit():
            return True
        self._keep(data)
        return False

    def spend(self, seconds: float) -> None:
        """
        Charge the budget for a message that was admitted.

        :param seconds: that it took.
        """
        if not self.polling:  # while polling, the number of messages is bounded
            self._charge(seconds)

    def _serve(self, served: bool) -> None:
        subscriptions = self._node._subscriptions
        (subscriptions.append if served else subscriptions.remove)(self._subscription)

    def _budget_left(self) -> bool:
        return super()._budget_left() or self.polling  # states are read whatever they cost

    def _read(self) -> None:
        subscription = self._subscription
        with subscription.handle:
            for _ in range(2 * subscription.qos_profile.depth):  # some come meanwhile
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    break
                self._keep(taken[0])
        kept, self._newest = self._newest, {}
        self._reading = True
        try:
            for data in kept.values():
                self._take(data)
        finally:
            self._reading = False

    def _keep(self, data: bytes) -> None:
        """Keep a message as the newest one of its kind."""
        key = max(self._recognise(data), _OTHERS)
        self._newest.pop(key, None)  # they are handed over in the order in which they came
        self._newest[key] = data
