# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The loop node: it has the handles that the control loop works with, and no executor.

Its topics carry the names of the lifecycle node, which resolves them, so that remapping works as
for one node. The loop is a thread of machine code: where it cannot run, there is no node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
import math
from time import monotonic

from geometry_msgs.msg import WrenchStamped
import numpy as np
import numpy.typing as npt
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.words import SessionWord
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.step.requests import Starting, stop_word
from rbd_ros.control.supervisor.states import STOP_LIMIT
from rbd_ros.loop.endpoints import Endpoints
from rbd_ros.loop.native_loop import NativeLoop
from rbd_ros.loop.rcl import check_callbacks, library, LoopUnavailable
from rbd_ros.loop.records import Limits
from rbd_ros.loop.words import Word
from rbd_ros.machine.findings import Verdict
from rbd_ros.machine.host import Host
from rbd_ros.machine.software import check_machine_code
from rbd_ros.nodes.callback_guard import Guard, GuardedNode, last_line
from rbd_ros.nodes.controller.attendant import Attendant
from rbd_ros.nodes.controller.bounded_services import NO_TYPE_DESCRIPTIONS
from rbd_ros.nodes.controller.loop_services import ask_loop
from rbd_ros.nodes.controller.statistics import LoopStatistics
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, UInt64
from std_srvs.srv import Trigger

__all__ = ['limits_of', 'LoopNode', 'READINGS', 'SENSOR', 'STATES']

#: Depth 1 loses messages where several publishers share the topic; this one holds what a flood
#: of 20 kHz brings while the control loop waits for a processor.
STATES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)

#: topic of the force-torque sensor
SENSOR, READINGS = '~/force_torque', QoSProfile(
    depth=32, reliability=ReliabilityPolicy.BEST_EFFORT)

#: so deep that no message is lost while the loop waits for a processor: one may be a release
_DEAD_MAN = QoSProfile(depth=100)
_CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

#: s between two signs of life for the loop
_BEAT = 0.2

#: s between two looks at the clocks while states arrive
_WATCH = 0.05

_NEEDS = (
    'It is a thread of machine code and needs llvmlite, glibc 2.30 or newer, ROS 2 Jazzy, and a '
    'middleware that calls back when a message comes (RMW_IMPLEMENTATION=rmw_fastrtps_cpp or '
    'rmw_cyclonedds_cpp). The plugin of ros2_control needs none of these: rbd codegen '
    '--ros2-control')


class LoopNode(GuardedNode):
    """Give the middleware's handles to a loop of machine code."""

    def __init__(self, owner: LifecycleNode, *, simulated: bool, signals: int = -1) -> None:
        """
        Subscribe; nothing happens until a controller is attached.

        :param owner: node whose names are used, and whose executor serves what is not urgent.
        :param simulated: whether /clock is the control clock.
        :param signals: socket with the numbers of signals; -1: none.
        :raises LoopUnavailable: if the loop cannot run here.
        """
        with _explained():
            _check_machine()
        self.guard = Guard(self.fail, lambda text: owner.get_logger().fatal(text))
        super().__init__(
            f'{owner.get_name()}_loop', namespace=owner.get_namespace(),
            use_global_arguments=False, start_parameter_services=False, enable_rosout=False,
            parameter_overrides=[NO_TYPE_DESCRIPTIONS])
        self.simulated, self._signals = simulated, signals
        self._controller: Controller | None = None
        self._loop: NativeLoop | None = None
        self.output: Publisher | None = None
        self._sensor: Subscription | None = None
        self.failure = ''  # traceback of the first exception
        self.lost = 0  # messages that the middleware lost
        self.statistics = LoopStatistics()
        #: run first in the thread of each loop, with the arrays that it works on
        self.prepare: Callable[[Iterable[npt.NDArray[np.generic]]], object] = lambda _: None
        #: cancels a start that still waits; returns what was cancelled
        self.cancel_start: Callable[[], Starting] = lambda: Starting.NOTHING
        #: says which start still waits
        self.starting: Callable[[], Starting] = lambda: Starting.NOTHING
        #: called when there is something to announce
        self.said: Callable[[], object] = lambda: None
        self._ros_clock = owner.get_clock()
        name = owner.resolve_topic_name
        self._heartbeat = self.create_publisher(UInt64, name('~/heartbeat'), 1)
        self._states = self.create_subscription(
            JointState, name('joint_states'), _nobody, STATES, raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._on_lost))
        self._dead_man = self.create_subscription(Bool, name('~/dead_man'), _nobody, _DEAD_MAN,
                                                  raw=True)
        self._clock_input = self.create_subscription(
            ClockMessage, '/clock', _nobody, _CLOCK, raw=True) if simulated else None
        self._stop = self.create_service(Trigger, owner.resolve_service_name('~/stop'),
                                         self._on_stop)
        self._probe()
        for handler in self._states.event_handlers:
            owner.add_waitable(handler)
        self._owner = owner
        owner.create_service(Trigger, '~/reset', self._on_reset)
        owner.create_timer(_BEAT, self._beat, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._attendant = Attendant(self.guard, self._times, lambda: self.starting(),
                                    lambda: self.cancel_start(), self._serve_stop,
                                    lambda: self.said())

    def _probe(self) -> None:
        """Find out now whether the middleware says when something has come."""
        try:
            with _explained():
                check_callbacks((kind, entity.handle.pointer) for kind, entity in (
                    ('subscription', self._states), ('subscription', self._dead_man),
                    ('service', self._stop)))
        except LoopUnavailable:
            super().destroy_node()
            raise

    # -- from other threads -------------------------------------------------------------------

    def attach(self, controller: Controller, output: Publisher) -> None:
        """
        Begin to serve a controller.

        :param controller: of a configured robot.
        :param output: its commands.
        """
        self.output, self._controller = output, controller
        self._sensor = self.create_subscription(
            WrenchStamped, self._owner.resolve_topic_name(SENSOR), _nobody, READINGS, raw=True,
        ) if controller.settings.robot.sensor else None
        endpoints = Endpoints(
            states=self._states.handle.pointer, dead_man=self._dead_man.handle.pointer,
            stop=self._stop.handle.pointer, output=output.handle.pointer,
            heartbeat=self._heartbeat.handle.pointer, signals=self._signals,
            clock=0 if self._clock_input is None else self._clock_input.handle.pointer,
            sensor=0 if self._sensor is None else self._sensor.handle.pointer)
        # The clock may stand still, and then nobody says what time it is.
        clock = self._ros_clock.now().nanoseconds * 1e-9 if self.simulated else 0.0
        loop = NativeLoop(controller, endpoints, limits_of(controller.settings), clock)
        loop.start(self.prepare)
        self._loop = loop
        self.statistics = LoopStatistics(loop.times, loop.count)
        self._attendant.attach(controller, loop)

    def detach(self) -> None:
        """End serving; the controller must have finished."""
        if self._loop is not None:
            self._attendant.detach()
            if not self._loop.close(stop=True):
                raise RuntimeError('the control loop does not end')
        self._controller = self._loop = None
        if self._sensor is not None:
            self.destroy_subscription(self._sensor)
            self._sensor = None
        if self.output is not None:
            self.destroy_publisher(self.output)
            self.output = None

    def note_start(self) -> None:
        """Notice that a start waits, or waits no more: ~/stop answers accordingly."""
        self._attendant.note_start()

    def end(self, limit: float) -> bool:
        """
        End the thread beside the loop; return whether it has ended.

        :param limit: s to wait at most.
        """
        return self._attendant.end(limit)

    def destroy_node(self) -> None:
        """Destroy all handles; the loop has ended."""
        for handler in self._states.event_handlers:
            self._owner.remove_waitable(handler)
        super().destroy_node()

    def control_time(self) -> float:
        """Return the control clock, s; from any thread."""
        return self._times()[0]

    def stop(self) -> None:
        """Stop the robot because the process ends, even if nobody runs requests."""
        if self._loop is not None:
            self._loop.stop()

    def fail(self, trace: str) -> None:
        """
        Turn an exception into a stop; from any thread.

        :param trace: traceback.
        """
        self.failure = self.failure or trace
        controller = self._controller
        if controller is not None:
            text = last_line(trace)
            controller.post(lambda _, steady: controller.fault(steady, Cause.EXCEPTION, text))

    @property
    def unusual_messages(self) -> int:
        """Return how many messages were no joint states."""
        return 0 if self._loop is None else self._loop.count(Word.UNREADABLE)

    # -- callbacks ----------------------------------------------------------------------------

    def _times(self) -> tuple[float, float]:
        """Return control and steady time."""
        steady = monotonic()
        if not self.simulated:
            return steady, steady
        now = self._ros_clock.now().nanoseconds * 1e-9
        controller = self._controller
        if controller is not None:
            before = float(controller.x.now)
            if 0.0 < before - now < controller.settings.number('state_timeout'):
                now = before  # a state has overtaken the clock
        return now, steady

    def _on_lost(self, event: QoSMessageLostInfo) -> None:
        self.lost = event.total_count

    def _beat(self) -> None:
        loop = self._loop
        if loop is not None and self._attendant.alive:
            loop.beat()

    def _serve_stop(self) -> None:
        """Answer ~/stop while there is no loop."""
        service = self._stop
        with service.handle:
            request, header = service.handle.service_take_request(service.srv_type.Request)
        if request is not None:
            service.send_response(self._on_stop(request, Trigger.Response()), header)

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = True
        word = stop_word(self.cancel_start(), stopping=False)
        response.message = SessionWord(word).text()
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        controller = self._controller
        response.success, response.message = (
            (False, 'not configured') if controller is None
            else ask_loop(controller, controller.reset))
        return response


def _check_machine() -> None:
    """
    Find out whether the loop can run on this machine.

    :raises LoopUnavailable: with what is missing, and what to do.
    """
    library()
    found = check_machine_code(Host())
    if found.verdict is not Verdict.OK:
        raise LoopUnavailable(f'machine code: {found.found} (do: {found.command})')


@contextmanager
def _explained() -> Iterator[None]:
    """Say what the loop needs, and what else there is, where something is missing."""
    try:
        yield
    except LoopUnavailable as error:
        raise LoopUnavailable(f'the control loop cannot run here: {error}. {_NEEDS}') from None


def _nobody(_: bytes) -> None:
    """Take a message that an executor brings: there is none."""


def limits_of(settings: Settings) -> Limits:
    """
    Return what is chosen of the loop of a robot.

    :param settings: of the robot.
    """
    limits = Limits({})
    period = settings.timing().period
    limits.simulated, limits.period = float(settings.simulated), period
    limits.state_timeout = settings.number('state_timeout')
    limits.beat = 1.0 / settings.number('heartbeat_rate')
    # While states arrive the timer only watches; each beat is one of its looks.
    watch = max(period, min(_WATCH, limits.state_timeout / 5.0))
    limits.watch = limits.beat / max(math.ceil(limits.beat / watch), 1)
    limits.lease = float(settings.number('liveliness_lease') > 0.0)
    limits.supervision = settings.number('supervision_timeout')
    limits.end, limits.idle = STOP_LIMIT, 0.1 / settings.number('nominal_rate')
    return limits
