# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Who else has the output: looked for before anything is sent, and listened for while it is.

Somebody who publishes on the same topic without sending is told, and nothing begins to be sent
beside it. Somebody who sends stops the robot: two controllers must not drive one.
"""

from __future__ import annotations

from functools import partial
import math
import time
from typing import Any

from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.loop import rcl
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy

__all__ = ['OutputWatch', 'Senders']

#: s between two looks, and for which what one has found is believed
_PERIOD, _BELIEVED = 0.1, 1.0

#: s after a halt in which others may not have been discovered yet: Fast DDS tells of itself every
#: 3 s, and after a longer halt two participants have forgotten each other
_DISCOVERY = 3.5

#: messages that are kept from one look to the next
_KEPT = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
_SILENT = (State.INACTIVE, State.RELEASED, State.FAULT)


class Senders:
    """
    Listen to a topic for who sends there.

    :param node: whose handles are used; no executor serves them.
    :param kind: type of the messages.
    :param topic: resolved name.
    """

    def __init__(self, node: Node, kind: Any, topic: str) -> None:
        self._node, self._topic = node, topic
        self._message = rcl.growing(2 ** 12)
        self._subscription = node.create_subscription(kind, topic, lambda _: None, _KEPT, raw=True)
        node._subscriptions.remove(self._subscription)

    def heard(self) -> set[bytes]:
        """Return the numbers of the publishers of what has come since the last time."""
        with self._subscription.handle:
            handle = self._subscription.handle.pointer
            found = iter(partial(rcl.take_sender, handle, self._message), b'')
            return {gid for _, gid in zip(range(2 * _KEPT.depth), found, strict=False)}

    def name(self, gid: bytes) -> str:
        """
        Return the name of the node that has a publisher.

        :param gid: its number.
        """
        for each in self._node.get_publishers_info_by_topic(self._topic):
            if bytes(each.endpoint_gid[:len(gid)]) == gid:
                return f'{each.node_namespace.rstrip("/")}/{each.node_name}'
        return 'an unknown node'

    def destroy(self) -> None:
        """End listening."""
        self._subscription.destroy()
        rcl.release(self._message)


class OutputWatch:
    """
    Look after the output of one configured robot.

    :param node: the lifecycle node.
    :param controller: gets to know what is found.
    :param output: its commands.
    """

    def __init__(self, node: Node, controller: Controller, output: Publisher) -> None:
        self._node, self._controller = node, controller
        self._topic, self._kind = output.topic_name, output.msg_type
        with output.handle:
            self._own = rcl.publisher_gid(output.handle.pointer)
        self._senders: Senders | None = None
        self._looked, self._lead = time.monotonic(), _lead()
        self._halted = -math.inf  # at the start, who activates waits for discovery
        self._believed = 0.0
        self._believe(self._looked)
        self._timer = node.create_timer(
            _PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._look()

    def destroy(self) -> None:
        """End looking."""
        self._node.destroy_timer(self._timer)
        self._listen(False)

    def _believe(self, until: float) -> None:
        controller, self._believed = self._controller, until
        controller.post(lambda now, steady: controller.know_output(now, steady, until))

    def _look(self) -> None:
        """Look once; what was discovered before a halt is not known any more."""
        now, lead = time.monotonic(), _lead()
        if now - self._looked + lead - self._lead > _BELIEVED:
            self._halted = now
        self._looked, self._lead = now, lead
        others = self._node.count_publishers(self._topic) - 1
        state = self._controller.state
        if others <= 0 and now - self._halted >= _DISCOVERY and (
                self._believed - now < 0.7 * _BELIEVED):
            self._believe(now + _BELIEVED)
        elif others > 0 and self._believed > now:
            self._believe(now)
        self._listen(others > 0 and state not in _SILENT)
        if self._senders is None:
            return
        if state is not State.PROBING:
            self._node.get_logger().error(
                f'{others} other publisher(s) on {self._topic} besides this controller: if one '
                'sends, the robot is stopped. End it, or call ~/stop', throttle_duration_sec=5.0)
        for gid in self._senders.heard() - {self._own}:
            self._stop(f'{self._senders.name(gid)} on {self._topic}')
            return

    def _stop(self, text: str) -> None:
        controller = self._controller

        def stop(_: float, steady: float) -> None:
            if controller.state not in _SILENT:
                controller.fault(steady, Cause.SECOND_SENDER, text)
        controller.post(stop)

    def _listen(self, wanted: bool) -> None:
        if wanted and self._senders is None:
            self._senders = Senders(self._node, self._kind, self._topic)
        elif not wanted and self._senders is not None:
            self._senders.destroy()
            self._senders = None


def _lead() -> float:
    """Return by how much the clock that goes on in a suspended machine leads the steady one, s."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
