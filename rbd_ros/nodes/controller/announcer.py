# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Announce events of the control thread from another thread: log, mode, state, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.states import SupervisorState as State
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import MultiArrayDimension, String, UInt8MultiArray

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller

__all__ = ['Announcer']

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

#: s between two looks at ~/saturation; the loop says when there is anything else to announce
_PERIOD = 0.25

#: values of ~/saturation
FREE, RATE, LIMIT = 0, 1, 2


class Announcer:
    """Publish and log the events of a controller."""

    def __init__(self, node: LifecycleNode) -> None:
        """
        Create the latched topics.

        :param node: the lifecycle node; these topics exist in all of its states.
        """
        self._node = node
        self._controller: Controller | None = None
        # Ordinary publishers: lifecycle publishers are silent while inactive.
        self._topics = {kind: node.create_publisher(String, f'~/{kind}', _LATCHED)
                        for kind in ('mode', 'state', 'fault')}
        self._saturation = node.create_publisher(UInt8MultiArray, '~/saturation', _LATCHED)
        self._last: dict[str, str] = {}
        self._explained: tuple[str, str] = ('', '')  # faults, and their explanation
        self._flags: list[int] = []
        node.create_timer(_PERIOD, self.drain, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._publish('state', State.INACTIVE.value)
        self._publish('fault', '')

    def attach(self, controller: Controller) -> None:
        """
        Listen to a controller.

        :param controller: of a configured robot.
        """
        self._controller = controller
        self._flags = []
        self._publish('mode', controller.mode)

    def detach(self) -> None:
        """Announce what is left and stop listening."""
        self.drain()
        self._controller = None

    def _publish(self, kind: str, text: str) -> bool:
        if self._last.get(kind) == text:
            return False
        self._last[kind] = text
        self._topics[kind].publish(String(data=text))
        return True

    def drain(self) -> None:
        """Announce what has come up; for the thread of the lifecycle node."""
        controller = self._controller
        if controller is None:
            return
        log = self._node.get_logger()
        while controller.events:
            kind, text = controller.events.popleft()
            if kind == 'warning':
                log.warning(text)
            elif kind == 'info':
                log.info(text)
            elif kind == 'state':
                self._publish('state', text)
                log.info((f'{text} ({cause})' if (cause := controller.fault_text()) else text)
                         + self._way_out(text))
            elif self._publish(kind, text):
                log.info(f'{kind}: {text}')
        fault = self._fault_text(controller)
        if self._publish('fault', fault) and fault:
            log.error(fault)
        self._publish_saturation(controller)

    def _way_out(self, state: str) -> str:
        """Return how to leave a state that waits for somebody; nothing for others."""
        if state not in (State.HOLDING.value, State.FAULT.value):
            return ''
        return f'; to continue, call {self._node.get_fully_qualified_name()}/reset'

    def _fault_text(self, controller: Controller) -> str:
        """Return the faults; where states disagree, with the nodes that send them."""
        fault = controller.fault_text()
        if fault != self._explained[0]:
            text = fault
            if Cause.IMPLAUSIBLE.name in controller.faults():
                text += self._other_publishers()
            self._explained = fault, text
        return self._explained[1]

    def _other_publishers(self) -> str:
        """Name the publishers of joint states, if there are several."""
        topic = self._node.resolve_topic_name('joint_states')
        nodes = sorted(f'{each.node_namespace.rstrip("/")}/{each.node_name}'
                       for each in self._node.get_publishers_info_by_topic(topic))
        if len(nodes) < 2:
            return ''
        return f' ({topic} has {len(nodes)} publishers: {", ".join(nodes)})'

    def _publish_saturation(self, controller: Controller) -> None:
        limiter = controller.x.command.torque.limiter
        flags = [RATE if slow else LIMIT if full else FREE  # slewing to the limit is not at it
                 for full, slow in zip(limiter.saturated.tolist(), limiter.slewing.tolist())]
        if flags == self._flags:
            return
        self._flags = flags
        message = UInt8MultiArray(data=flags)
        message.layout.dim = [MultiArrayDimension(
            label=','.join(controller.settings.robot.joints), size=len(flags), stride=len(flags))]
        self._saturation.publish(message)
