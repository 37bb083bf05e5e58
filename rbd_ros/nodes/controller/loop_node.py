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
The loop node: joint states in, commands out, one steady timer, the stop service.

It has a thread and an executor of its own and never blocks. Its topics carry the
names of the lifecycle node, which resolves them, so that remapping works as for one node.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from time import monotonic
from typing import Any

from geometry_msgs.msg import WrenchStamped
import numpy as np
import numpy.typing as npt
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.callback_guard import Guard, GuardedNode, last_line
from rbd_ros.nodes.controller.bounded_services import bound_services, NO_TYPE_DESCRIPTIONS
from rbd_ros.nodes.controller.bounded_topics import BoundedInput
from rbd_ros.nodes.controller.state_input import StateInput
from rbd_ros.nodes.controller.statistics import LoopStatistics
from rbd_ros.wire.messages import stamp_of
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, UInt64
from std_srvs.srv import Trigger

__all__ = ['LoopNode']

Array = npt.NDArray[np.float64]

#: Depth 1 loses messages where several publishers share the topic; this one holds what a flood
#: of 20 kHz brings while the control thread waits for a processor.
STATES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)

#: of the nominal period, from the end of one state to the next one: states with a torque that
#: leave as much time are no flood
_FREE = 0.25

#: topic of the force-torque sensor
SENSOR, READINGS = '~/force_torque', QoSProfile(
    depth=32, reliability=ReliabilityPolicy.BEST_EFFORT)

#: s between two checks of the clocks while states arrive
CHECK_PERIOD = 0.05


class LoopNode(GuardedNode):
    """Pass messages between the middleware and the controller."""

    def __init__(self, owner: LifecycleNode, *, simulated: bool) -> None:
        """
        Subscribe; nothing happens until a controller is attached.

        :param owner: node whose names are used.
        :param simulated: whether /clock is the control clock.
        """
        self.guard = Guard(self.fail, lambda text: owner.get_logger().fatal(text))
        self._controller: Controller | None = None
        self.failure = ''  # traceback of the first exception
        # Global arguments would give this node the owner's name.
        super().__init__(
            f'{owner.get_name()}_loop', namespace=owner.get_namespace(),
            use_global_arguments=False, start_parameter_services=False, enable_rosout=False,
            parameter_overrides=[Parameter('use_sim_time', value=simulated), NO_TYPE_DESCRIPTIONS])
        self.simulated = simulated
        self.output: Publisher | None = None
        self._sensor: BoundedInput | None = None
        self._owner_topic, self._warn = owner.resolve_topic_name, owner.get_logger().warning
        self.unusual_messages = 0  # states that only rclpy's own reader understood
        self.lost = 0  # messages that the middleware lost
        self.statistics = LoopStatistics(0.0)
        #: cancels a start that still waits; returns what was cancelled
        self.cancel_start: Callable[[], str] = lambda: ''
        self._ros_clock = self.get_clock()
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._own_timers: list[Any] = []
        self._checks_per_beat, self._checks = 1, 0
        #: s between two states whose torques cost nothing of the budget of messages
        self.free_period, self._free = 0.0, -math.inf
        self._asserts_liveliness = False
        self._heartbeat_message = UInt64()
        name = owner.resolve_topic_name
        self._heartbeat = self.create_publisher(UInt64, name('~/heartbeat'), 1)
        self._states = StateInput(
            self, name('joint_states'), self._on_state, STATES, owner.get_logger().warning,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._on_lost))
        self._dead_man = BoundedInput(self, Bool, name('~/dead_man'), self._on_dead_man, 10,
                                      owner.get_logger().warning)
        self.create_service(Trigger, owner.resolve_service_name('~/stop'), self._on_stop)
        self.create_service(Trigger, owner.resolve_service_name('~/reset'), self._on_reset)
        bound_services(self, owner.get_logger().warning)

    # -- from the other thread --------------------------------------------------------------

    def attach(self, controller: Controller, output: Publisher, heartbeat_rate: float) -> None:
        """
        Begin to serve a controller.

        :param controller: of a configured robot.
        :param output: its commands.
        :param heartbeat_rate: Hz.
        """
        self.statistics = LoopStatistics(1.0 / controller.settings.number('nominal_rate'))
        self.output, self._controller = output, controller
        self._sensor = BoundedInput(
            self, WrenchStamped, self._owner_topic(SENSOR), self._on_reading, READINGS, self._warn,
            newest=False) if controller.settings.robot.sensor else None
        self.free_period = _FREE / controller.settings.number('nominal_rate')
        self._states.begin_robot(1.0 / controller.settings.number('nominal_rate'),
                                 controller.recognise)
        # Asserting liveliness without a lease is an error of the middleware.
        self._asserts_liveliness = controller.settings.number('liveliness_lease') > 0.0
        # While states arrive, the timer only watches and sends the heartbeat: each firing costs
        # more than a step.
        period = controller.settings.timing().period
        watch = max(period, min(CHECK_PERIOD, controller.settings.number('state_timeout') / 5.0))
        self._checks_per_beat = max(math.ceil(1.0 / (heartbeat_rate * watch)), 1)
        self._fast_timer = self.create_timer(period, self._on_timer, clock=self._steady,
                                             autostart=False)
        self._own_timers = [self._fast_timer, self.create_timer(
            1.0 / (heartbeat_rate * self._checks_per_beat), self._on_check_timer,
            clock=self._steady)]

    def detach(self) -> None:
        """End serving; the controller must have finished."""
        self._controller = None
        if self._sensor is not None:
            self._sensor.destroy()
            self._sensor = None
        for timer in self._own_timers:
            self.destroy_timer(timer)
        self._own_timers = []
        if self.output is not None:
            self.destroy_publisher(self.output)
            self.output = None

    def note_start(self) -> None:
        """Do nothing: ~/stop asks when it is called."""

    def end(self, limit: float) -> bool:
        """
        Return that no thread is left: its executor has one.

        :param limit: s to wait at most.
        """
        return True

    def stop(self) -> None:
        """Do nothing more: a request is enough where Python itself runs the loop."""

    def publish(self, torque: Array) -> None:
        """
        Send the torque that the controller has written, with the stamp of an accepted state.

        :param torque: the same as numbers.
        """
        output, controller = self.output, self._controller
        if output is not None and controller is not None:
            output.publish(controller.command.tobytes())

    # -- callbacks ----------------------------------------------------------------------------

    def control_time(self) -> float:
        """Return the control clock, s; from any thread."""
        return self._times(0.0)[0]

    def _times(self, stamp: float) -> tuple[float, float]:
        """Return control and steady time; a simulated state is never ahead of its clock."""
        steady = monotonic()
        if not self.simulated:
            return steady, steady
        now = self._ros_clock.now().nanoseconds * 1e-9
        controller = self._controller
        if controller is not None:
            timeout = controller.settings.number('state_timeout')
            if 0.0 < stamp - now < timeout:
                now = stamp  # the state has overtaken the message of the clock
            before = float(controller.x.now)
            if 0.0 < before - now < timeout:
                now = before  # an earlier state did; a clock further behind has jumped back
        return now, steady

    def _on_state(self, data: bytes) -> None:
        controller = self._controller
        if controller is None:
            return
        try:
            now = steady = monotonic()
            if self.simulated:
                now, steady = self._times(stamp_of(data))
            if not self._states.admit_state(data):
                return
            sent: bool | None = None
            try:
                sent = controller.take_message(now, steady, data)
                if sent is None:
                    sent = self._take_unusual(controller, data)
                if sent is not None:
                    self.statistics.add(steady, monotonic(), controller.stamp)
            finally:
                # After one that was charged all are, until the budget is whole again: a flood of
                # good states is a flood.
                if sent and steady >= self._free and self._states.whole:
                    self._free = monotonic() + self.free_period
                else:
                    self._states.spend(monotonic() - steady)
        except Exception:
            self.guard.report_exception('joint_states')

    def _take_unusual(self, controller: Controller, data: bytes) -> bool | None:
        """Take a message that only rclpy's own reader may understand."""
        self.unusual_messages += 1
        try:
            message = deserialize_message(data, JointState)
        except Exception as error:  # its type depends on the middleware
            text = f'{len(data)} bytes that are not a sensor_msgs/JointState ({error})'
            controller.take_unreadable(*self._times(0.0), text)
            return None
        stamp = message.header.stamp
        now, steady = self._times(stamp.sec + 1e-9 * stamp.nanosec)
        return controller.take_state(now, steady, tuple(message.name), message.position,
                                     message.velocity, message.effort, (stamp.sec, stamp.nanosec))

    def _on_lost(self, event: QoSMessageLostInfo) -> None:
        self.lost = event.total_count

    def _on_timer(self) -> None:
        controller = self._controller
        if controller is None:
            return
        try:
            controller.take_timer(*self._times(0.0))
        except Exception:
            self.guard.report_exception('the timer of the loop')
        if controller.blind is self._fast_timer.is_canceled():
            (self._fast_timer.reset if controller.blind else self._fast_timer.cancel)()

    def fail(self, trace: str) -> None:
        """
        Turn an exception into a stop, which the timer then completes; from any thread.

        :param trace: traceback.
        """
        self.failure = self.failure or trace
        controller = self._controller
        if controller is not None:
            text = last_line(trace)
            controller.post(lambda _, steady: controller.fault(steady, Cause.EXCEPTION, text))

    def _on_check_timer(self) -> None:
        self._on_timer()
        self._checks += 1
        if self._checks % self._checks_per_beat == 0:
            self._beat()

    def _beat(self) -> None:
        self._heartbeat_message.data += 1
        self._heartbeat.publish(self._heartbeat_message)
        if self._asserts_liveliness and self.output is not None:
            self.output.assert_liveliness()

    def _on_dead_man(self, message: Bool) -> None:
        if self._controller is not None:
            # During a flood not all messages are read: the button may have been released.
            pressed = message.data and not self._dead_man.polling
            self._controller.press(monotonic(), pressed)

    def _on_reading(self, message: WrenchStamped) -> None:
        controller = self._controller
        if controller is not None:
            force, moment, stamp = (message.wrench.force, message.wrench.torque,
                                    message.header.stamp)
            controller.take_reading(
                *self._times(0.0), (moment.x, moment.y, moment.z, force.x, force.y, force.z),
                (stamp.sec, stamp.nanosec))

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        controller = self._controller
        response.success = True
        cancelled = self.cancel_start()
        if controller is not None and not controller.finished:
            controller.fault(monotonic(), Cause.OPERATOR_STOP, '~/stop')
            response.message = controller.state.value
        response.message = (cancelled or response.message
                            or 'nothing to stop: no torque is published')
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        controller = self._controller
        refused = 'not configured' if controller is None else controller.reset(*self._times(0.0))
        response.success = not refused
        response.message = refused or 'faults cleared, ramping in'
        return response
