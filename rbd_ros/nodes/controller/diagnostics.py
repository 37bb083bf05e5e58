# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What goes to /diagnostics: once per second, and at once when a level changes.

Nothing is made while nobody listens: texts of numbers cost more than anything else that runs
beside the loop.

The messages are made here and not by diagnostic_updater, whose timer runs on the ROS clock and
would fall silent with a simulator that stands still, just when somebody wants to know why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, UTC
import math
import time
from typing import Protocol, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rbd_ros.control.interface.events import NEVER
from rbd_ros.control.interface.sentences import effort_unit
from rbd_ros.control.interface.words import AXES
from rbd_ros.control.references.joint_reference import Source
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.nodes.controller.action import TrajectoryAction
from rbd_ros.nodes.controller.gravity_input import GravityInput
from rbd_ros.nodes.controller.loop_node import LoopNode
from rbd_ros.nodes.controller.statistics import Spread
from rbd_ros.nodes.diagnostic_names import (
    CONTACT, CONTACT_COUNT, CONTACT_FORCE, CONTACT_PLACE, CONTACT_REACTION, CONTACT_TIME,
    CONTACT_TORQUE, JOINT_STATES, LAST_GOAL, MEDIAN, RATE, REFERENCE, spread_key, SUPERVISOR)
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound
    from rbd_ros.control.controller import Controller

__all__ = ['Diagnostics']

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

Pair = tuple[str, object]
Part = tuple[bytes, str, list[Pair]]  # level, message, values

_NO_CLOCK = 'use_sim_time is true, but nothing has come on /clock'
_CLOCK_PATIENCE = 2.0  # s after the start
_CHECK_PERIOD = 0.25  # s between two checks of the levels
_PERIOD = 1.0  # s between two messages without change
_LOW_RATE = 0.8  # fraction of nominal_rate below which there is a warning
_WORKING = (State.RUNNING, State.RAMPING_IN, State.INACTIVE, State.RELEASED)


class DiagnosticSources(Protocol):
    """The parts of the controller that diagnostics report on."""

    controller: Controller | None
    loop_node: LoopNode
    action: TrajectoryAction
    gravity_input: GravityInput | None
    realtime: dict[str, str]  # what became of each setting


class Diagnostics:
    """Report the condition of the controller, in every state of the lifecycle."""

    def __init__(self, node: Node, *, parts: DiagnosticSources) -> None:
        """
        Create publisher and timer.

        :param node: the lifecycle node.
        :param parts: what it consists of; some come and go.
        """
        self._node, self._subject = node, parts
        self._name = node.get_fully_qualified_name().strip('/')
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._levels: list[bytes] = []
        self._due = 0.0
        self._begin = time.monotonic()
        self._statistics: Part = (OK, 'no states yet', [])
        self._timer = node.create_timer(
            _CHECK_PERIOD, self.update, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def update(self) -> None:
        """Publish if somebody listens and it is time, or a level has changed."""
        now = time.monotonic()
        controller = self._subject.controller
        no_clock = self._waits_for_clock(now)
        if not self._publisher.get_subscription_count():
            self._subject.loop_node.statistics.skip(now)
            self._due = now  # whoever comes is told at once
            return
        due = now >= self._due
        if due and controller is not None:
            self._statistics = self._states(controller, now)
        parts = self._parts(controller, now, no_clock)
        levels = [level for level, _, _ in parts.values()]
        if not due and levels == self._levels:
            return
        self._levels = levels
        if due:
            self._due = now + _PERIOD
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        hardware = controller.settings.robot.model.name if controller is not None else ''
        message.status = [
            DiagnosticStatus(level=level, name=f'{self._name}: {name}', message=text,
                             hardware_id=hardware, values=_values(pairs))
            for name, (level, text, pairs) in parts.items()]
        self._publisher.publish(message)

    def _parts(self, controller: Controller | None, now: float,
               no_clock: bool) -> dict[str, Part]:
        parts = {'real time': self._realtime()}
        supervisor: Part = (OK, 'not configured', [])
        if controller is not None:
            supervisor = _supervisor(controller, now)
        if no_clock:
            supervisor = (max(WARN, supervisor[0]), f'{supervisor[1]}; {_NO_CLOCK}',
                          supervisor[2])
        if controller is None:
            return {SUPERVISOR: supervisor, **parts}
        return {
            SUPERVISOR: supervisor, JOINT_STATES: self._statistics,
            'torque': _torque(controller), REFERENCE: self._reference(controller),
            'load': self._load(controller), **_contact(controller, now), **parts}

    def _waits_for_clock(self, now: float) -> bool:
        """Return whether simulated time should come and does not; the log is told as well."""
        if (not self._subject.loop_node.simulated or now - self._begin < _CLOCK_PATIENCE
                or self._node.get_clock().now().nanoseconds):
            return False
        self._node.get_logger().warning(
            f'{_NO_CLOCK}: start what publishes it, or set use_sim_time to false',
            throttle_duration_sec=5.0)
        return True

    # -- parts ----------------------------------------------------------------------------------

    def _states(self, controller: Controller, now: float) -> Part:
        """Sum up the last second of the control thread."""
        loop_node, settings = self._subject.loop_node, controller.settings
        sources = controller.x.states.sources
        found = loop_node.statistics.summary(now, now + time.time() - time.monotonic())
        nominal = settings.number('nominal_rate')
        pairs: list[Pair] = [
            (RATE, f'{found.rate:.1f}'), ('nominal rate [Hz]', f'{nominal:g}'),
            ('minimum rate [Hz]', f'{settings.number("minimum_rate"):g}'),
            ('state age [ms]', f'{1e3 * found.age:.2f}'),
            *_spread('period', found.period, 1e3, 'ms'),
            *_spread('compute time', found.compute, 1e6, 'us'),
            *self._latency(found.latency),
            ('states', loop_node.statistics.count),
            ('superseded states', loop_node.statistics.superseded),
            ('refused messages', int(sources.rejected)), ('last refusal', controller.refusal()),
            ('unreadable messages', int(sources.unreadable)),
            ('stamps that jumped ahead', int(sources.leaps)),
            ('messages of unusual form', loop_node.unusual_messages),
            ('lost messages', loop_node.lost)]
        if not found.states:
            text = f'for {found.age:.3g} s' if loop_node.statistics.count else 'yet'
            return WARN, f'no joint state {text}', pairs
        if found.rate < _LOW_RATE * nominal:
            return WARN, f'{found.rate:.1f} Hz, nominal_rate is {nominal:g} Hz', pairs
        return OK, f'{found.rate:.1f} Hz', pairs

    def _latency(self, latency: Spread) -> Iterator[Pair]:
        """Report the age of a state when its torque leaves, if both times are of one clock."""
        if self._subject.loop_node.simulated:
            return
        if not 0.0 < latency.median < 1.0:
            yield 'latency', 'unknown: the stamps are from another clock'
            return
        yield from _spread('latency', latency, 1e3, 'ms')

    def _reference(self, controller: Controller) -> Part:
        action, reference = self._subject.action, controller.x.references.joint
        source = Source(int(reference.source)).name.lower()
        last = action.last
        pairs: list[Pair] = [
            ('source', source), ('stream timed out', bool(reference.timed_out)),
            ('goals under way', action.goals), ('goals refused', action.refused),
            ('last refusal', action.refusal),
            (LAST_GOAL, f'{last.status.value} ({last.code.name}): {last.text}' if last else ''),
            ('largest error', _largest_error(controller))]
        if controller.leads:
            condition = float(_tip_kernel(controller).outputs['condition'][0])
            pairs.append(('condition number', f'{condition:.4g}'))
            lost = _lost_directions(controller)
            pairs.append(('lost directions', lost))
            most = controller.settings.number('task.max_condition')
            if condition > most:
                return WARN, (f'singular: condition number beyond {most:g}, lost directions '
                              f'{lost}'), pairs
        return OK, source if controller.tracks else 'not used', pairs

    def _load(self, controller: Controller) -> Part:
        load, settings = controller.x.load, controller.settings
        mass = float(load.payload[0])
        com = load.payload[1:4] / mass if mass > 0.0 else np.zeros(3)
        timeout, age = controller.p.load.timeout, _gravity_age(controller)
        source = self._subject.gravity_input
        pairs: list[Pair] = [
            ('payload mass [kg]', f'{mass:.6g}'), ('payload frame', settings.robot.payload_frame),
            ('payload centre of mass [m]', _numbers(com)),
            ('payload ramping', bool(load.ramping)),
            ('driver_knows_payload', settings.flag('driver_knows_payload')),
            ('gravity [m/s^2]', _numbers(load.gravity)),
            ('gravity source', source.source if source is not None else 'parameter')]
        if source is not None and timeout > 0.0:
            pairs += [('gravity age [s]', f'{age:.3g}'),
                      ('gravity timeout [s]', f'{timeout:g}'),
                      ('gravity messages refused', source.refused),
                      ('gravity refusal', source.reason)]
            if age > timeout:
                return ERROR, f'no direction of gravity: {source.reason or "too old"}', pairs
        return OK, f'payload {mass:.4g} kg', pairs

    def _realtime(self) -> Part:
        settings = self._subject.realtime
        pairs: list[Pair] = [('executor', self._node.get_parameter('executor').value),
                             *sorted(settings.items())]
        refused = [name for name, text in settings.items() if text.startswith('refused')]
        if refused:
            return WARN, f'{", ".join(refused)} refused', pairs
        return OK, 'as configured', pairs


def _supervisor(controller: Controller, now: float) -> Part:
    supervisor = controller.x.command.supervisor
    pairs: list[Pair] = [
        ('state', controller.state.value), ('mode', controller.mode),
        ('gain', f'{supervisor.gain:.3g}'), ('paused', bool(supervisor.paused))]
    wall, texts = time.time() - now, controller.faults()
    for k, fault in enumerate(supervisor.faults.listed(), 1):
        when = datetime.fromtimestamp(wall + fault.time, UTC)
        pairs += [(f'fault {k}', texts.get(fault.cause.name, fault.cause.text)),
                  (f'fault {k} cause', fault.cause.name),
                  (f'fault {k} time', when.isoformat(timespec='milliseconds'))]
    text = controller.fault_text()
    if text:
        return ERROR, f'{controller.state.value}: {text}', pairs
    return OK if controller.state in _WORKING else WARN, controller.state.value, pairs


def _torque(controller: Controller) -> Part:
    torque, settings = controller.x.command.torque, controller.settings
    limiter = torque.limiter
    joints = settings.robot.joints
    full = [name for name, flag in zip(joints, limiter.saturated.tolist()) if flag]
    slow = [name for name, flag in zip(joints, limiter.slewing.tolist()) if flag]
    share = np.abs(limiter.sent) / settings.torque_limits
    pairs: list[Pair] = [
        ('driver_adds', settings.text('driver_adds')), ('commands', int(torque.published)),
        ('at the limit', ', '.join(full)), ('at the rate limit', ', '.join(slow)),
        ('largest fraction of a limit', f'{float(share.max()):.3f} '
                                        f'({joints[int(share.argmax())]})')]
    if full:
        return WARN, f'at the torque limit: {", ".join(full)}', pairs
    return OK, 'within the limits', pairs


def _contact(controller: Controller, now: float) -> dict[str, Part]:
    """Return what is felt of contacts, if they are looked for."""
    x, settings = controller.x.contact, controller.settings
    if not controller.p.contact.is_watched():
        return {}
    pairs: list[Pair] = [
        (CONTACT_REACTION, settings.text('contact.reaction')), (CONTACT_COUNT, int(x.count)),
        ('largest share of a threshold', f'{x.excess:.3f}'),
        ('apparent mass, kg', f'{x.mass:.3g}'), ('speed of the frame, m/s', f'{x.speed:.3g}'),
        ('contact energy, J', f'{x.energy:.3g}')]
    if x.count:
        when = datetime.fromtimestamp(time.time() - now + x.found, UTC)
        joint, axis = int(x.found_joint), int(x.found_axis)
        where, unit = '', 'rad'
        if axis >= 0:
            where, unit = AXES[axis], 'm' if AXES[axis] in 'xyz' else 'rad'
        elif joint >= 0:
            where, unit = settings.robot.joints[joint], settings.robot.units[joint]
        pairs += [(CONTACT_TIME, when.isoformat(timespec='milliseconds')),
                  (CONTACT_PLACE, where),
                  (CONTACT_TORQUE, f'{x.found_torque:.4g} {effort_unit(unit)}'),
                  (CONTACT_FORCE, f'{x.found_force:.4g}')]
    return {CONTACT: (WARN if x.touching else OK,
                      'touches something' if x.touching else 'touches nothing', pairs)}


def _tip_kernel(controller: Controller) -> Bound:
    """Return the kernel of the law that moves the tip."""
    return controller.kernels[controller.settings.robot.modes[controller.mode].kernel]


def _lost_directions(controller: Controller) -> str:
    """Name the directions that the tip has lost by a tenth or more, with their shares."""
    shares = _tip_kernel(controller).outputs['lost'].tolist()
    return ', '.join(f'{axis} {share:.2f}' for axis, share in zip(
        controller.settings.task_axes, shares) if share >= 0.1)


def _gravity_age(controller: Controller) -> float:
    """Return the age of the measured direction of gravity, s; infinite: none has come."""
    received = controller.x.load.received
    return max(controller.x.now - received, 0.0) if received > NEVER else math.inf


def _largest_error(controller: Controller) -> str:
    """Return the largest tracking error of a joint, with its unit; empty: there is none."""
    if not controller.tracks:
        return ''
    error, units = np.abs(controller.x.laws.joint.error), controller.settings.robot.units
    return f'{error.max():.4g} {units[int(error.argmax())]}'


def _spread(name: str, spread: Spread, scale: float, unit: str) -> Iterator[Pair]:
    for label, value in zip((MEDIAN, 'p99', 'max'), spread):
        yield spread_key(name, label, unit), f'{scale * value:.3f}'


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(f'{x:.6g}' for x in values)


def _values(pairs: list[Pair]) -> list[KeyValue]:
    return [KeyValue(key=key, value=str(value)) for key, value in pairs]
