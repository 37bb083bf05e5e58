# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
One activation: the output must be free, then the joint states must pass the start check.

It waits in the thread of the transitions for what happens in the control thread, and can be
cancelled while it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
import enum
import math
import threading
import time
from typing import Protocol, TYPE_CHECKING

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.control.texts import missing_states, nobody_listens
from rbd_ros.nodes.controller.gravity_input import GravityInput
from rbd_ros.nodes.controller.loop_node import SENSOR
from rbd_ros.nodes.controller.outputs import message_type
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller

__all__ = ['Activation']

#: s after the start in which other publishers may not have been discovered yet
DISCOVERY_TIME = 1.0

_REPEAT_AFTER = 5.0  # s after which the reason for waiting is repeated
_JUMP = 1.0  # s from one look at the simulated clock to the next that are no time to wait
_HEARING = 0.5  # s within which somebody who sends is heard
_ANY = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # matches every publisher
_WAITING = (State.INACTIVE, State.PROBING, State.RELEASED)


class Access(enum.Enum):
    """Whether the output topic is ours."""

    FREE = 'free'
    WAIT = 'wait'
    REFUSED = 'refused'


class OutputGuard:
    """Wait for a second publisher on our output to vanish, then refuse."""

    def __init__(self, patience: float = 25.0) -> None:
        """
        Set how long to wait.

        :param patience: s; a killed process stays in the graph for 10 to 20 s.
        """
        self.patience = patience
        self._begin: float | None = None

    def check(self, steady: float, others: int) -> tuple[Access, str]:
        """
        Check the number of other publishers.

        :param steady: steady time, s.
        :param others: publishers on the topic besides ours.
        """
        if others <= 0:
            self._begin = None
            return Access.FREE, ''
        if self._begin is None:
            self._begin = steady
        waited = steady - self._begin
        if waited < self.patience:
            return Access.WAIT, (f'{others} other publisher(s) on the command topic; one that '
                                 f'was killed stays visible for 10-20 s: waiting '
                                 f'{self.patience - waited:.0f} s more')
        self._begin = None
        return Access.REFUSED, (f'{others} other publisher(s) on the command topic after '
                                f'{self.patience:.0f} s: two controllers must not drive one robot')


class Host(Protocol):
    """What an activation needs of the process in which it waits."""

    begin: float  # steady time of its start, s
    ending: threading.Event  # it ends: stop waiting for anything
    gravity_input: GravityInput | None

    def stop(self, cause: Cause) -> bool:
        """
        Run the stop sequence and wait for its end.

        :param cause: why.
        :returns: whether the sequence ended.
        """

    def wait(self, condition: Callable[[], bool], limit: float) -> bool:
        """
        Wait for the control thread.

        :param condition: to become true.
        :param limit: s to wait at most.
        :returns: whether it became true.
        """


class Activation:
    """Take one controller to its first torque."""

    def __init__(self, node: Node, controller: Controller, *, host: Host) -> None:
        """
        Prepare.

        :param node: the lifecycle node.
        :param controller: of the configured robot.
        :param host: where it waits.
        """
        self._node, self._host, self._controller = node, host, controller
        self._cancelled = threading.Event()
        self._cancelled_by = ''
        self.latched = False  # only a person may try again

    def cancel(self, who: str) -> None:
        """
        End it while it still waits; from any thread.

        :param who: asked for it, for the log.
        """
        self._cancelled_by = who
        self._cancelled.set()

    def output_is_free(self) -> bool:
        """
        Wait until nobody else publishes on our output and log why; return False if refused.

        The remains of a killed process are waited for. Somebody who sends is not: the robot is in
        other hands, and taking over when these let go would be a surprise. Only a person may.
        """
        node, host = self._node, self._host
        topic = node.resolve_topic_name('~/commands')
        guard = OutputGuard()
        logged = -_REPEAT_AFTER
        host.wait(lambda: time.monotonic() - host.begin > DISCOVERY_TIME, DISCOVERY_TIME)
        heard = threading.Event()  # a command that is not ours: we are silent
        with ExitStack() as listening:
            while not host.ending.is_set():
                now = time.monotonic()
                access, text = guard.check(now, node.count_publishers(topic) - 1)
                if heard.is_set():
                    access, text = Access.REFUSED, (
                        f'somebody else sends commands on {topic}{self._senders(topic)}: two '
                        'controllers must not drive one robot')
                if access is Access.FREE:
                    return True
                if access is Access.REFUSED or self._cancelled.is_set():
                    self.latched = True
                    self._refuse(f'{text}. It does not start by itself any more: end the other '
                                 'one, then activate this one')
                    return False
                if now - logged >= _REPEAT_AFTER:
                    if logged < 0.0:
                        listening.callback(self._listen(topic, heard))
                        host.wait(lambda: self._cancelled.is_set() or heard.is_set(), _HEARING)
                        if heard.is_set():  # then there is nothing to wait for
                            continue
                    logged = now
                    node.get_logger().warning(text)
                host.wait(lambda: self._cancelled.is_set() or heard.is_set(), 0.1)
        return False

    def _listen(self, topic: str, heard: threading.Event) -> Callable[[], object]:
        """Set an event when somebody sends commands; return what ends listening."""
        node = self._node
        kind = message_type(self._controller.settings.text('command_type'))
        subscription = node.create_subscription(kind, topic, lambda _: heard.set(), _ANY,
                                                raw=True)
        return lambda: node.destroy_subscription(subscription)

    def _senders(self, topic: str) -> str:
        """Name the nodes that publish on a topic, ours among them."""
        nodes = sorted({f'{each.node_namespace.rstrip("/")}/{each.node_name}'
                        for each in self._node.get_publishers_info_by_topic(topic)})
        return f' (its publishers: {", ".join(nodes)})'

    def run(self) -> bool:
        """Wait for the first torque; if it does not come, undo the attempt and return False."""
        node, controller = self._node, self._controller
        controller.post(controller.activate)
        begun = self._wait(
            lambda: controller.state not in _WAITING or self._cancelled.is_set(),
            float(node.get_parameter('activation_timeout').value))
        if (begun and not self._cancelled.is_set()
                and controller.state not in (*_WAITING, State.FAULT)):
            self._look_for_a_driver()
            return True
        fault = controller.fault_text()
        reason = fault or self._missing_input()
        self._host.stop(Cause.DEACTIVATED)  # the first torque may just have been sent
        self.latched = bool(fault)
        self._refuse(reason)
        return False

    def _wait(self, condition: Callable[[], bool], limit: float) -> bool:
        """
        Wait by the clock on which states are proved; one that stands still is waited for as long.

        :param condition: to become true.
        :param limit: s to wait at most.
        :returns: whether it became true.
        """
        passed, last, moved = 0.0, self._now(), time.monotonic()

        def is_over() -> bool:
            nonlocal passed, last, moved
            now, steady = self._now(), time.monotonic()
            if now != last:
                passed += now - last if 0.0 < now - last < _JUMP else 0.0
                last, moved = now, steady
            return condition() or passed >= limit or steady - moved >= limit
        self._host.wait(is_over, math.inf)
        return condition()

    def _now(self) -> float:
        """Return the control time, s."""
        simulated = self._controller.settings.simulated
        return (1e-9 * self._node.get_clock().now().nanoseconds if simulated
                else time.monotonic())

    def _look_for_a_driver(self) -> None:
        """Warn if nobody takes the torques: a driver may still come, but this is rarely meant."""
        topic = self._node.resolve_topic_name('~/commands')
        kind = message_type(self._controller.settings.text('command_type'))
        name = f'{kind.__module__.partition(".")[0]}/msg/{kind.__name__}'
        advice = nobody_listens(topic, name, {
            each.topic_type for each in self._node.get_subscriptions_info_by_topic(topic)})
        if advice:
            self._node.get_logger().warning(advice)

    def _refuse(self, reason: str) -> None:
        if self._cancelled.is_set():
            self.latched = True
            reason = f'it was cancelled by {self._cancelled_by}'
        self._node.get_logger().error(f'cannot activate: {reason}')

    def _missing_input(self) -> str:
        """Return which input the start check is waiting for."""
        controller = self._controller
        if controller.settings.simulated and not self._node.get_clock().now().nanoseconds:
            return ('use_sim_time is true, but nothing has come on /clock: start what publishes '
                    'it, or set use_sim_time to false')
        topic = self._node.resolve_topic_name('~/commands')
        if (others := self._node.count_publishers(topic) - 1) > 0:
            return f'{others} other publisher(s) on {topic}{self._senders(topic)}'
        missing = controller.missing_states()
        if missing:
            topic = self._node.resolve_topic_name('joint_states')
            return missing_states(missing, topic=topic,
                                  publishers=self._node.count_publishers(topic),
                                  not_controlled=controller.missing_prescribed())
        if not controller.is_pressed(time.monotonic()):
            return 'the dead-man signal is missing'
        source = self._host.gravity_input
        if source is not None and not controller.x.load.known:
            return f'no direction of gravity from {source.source}: {source.reason or "too old"}'
        if controller.p.sensor.used and not controller.sensor_ready:
            topic = self._node.resolve_topic_name(SENSOR)
            return (f'no fresh reading of the force-torque sensor on {topic} (publishers: '
                    f'{self._node.count_publishers(topic)})')
        if (late := controller.lateness()) and not controller.refusal():
            return f'the states do not come in time: {late}'
        return f'states are not proven {controller.refusal()}'.rstrip()
