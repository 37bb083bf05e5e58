# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The step behind the interface of the recording, in plain Python or as machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.payload import payload_vector
from rbd_ros.control.interface.results import GoalError, Status
from rbd_ros.control.interface.row import Value
from rbd_ros.control.parameters.assembly import build_settings
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.goals import read_tolerances
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.errors import RbdError, SettingError
from recorded_events import CAUSES, CLOCK_OFFSET, Event, IDLE, MODES, Seen, STATES
from recorded_robots import controlled_robot, law_kernels

__all__ = ['fixed_clock', 'StepController']

Array = npt.NDArray[np.float64]
Request = Callable[[float, float], object]

_FINAL = {'deactivate': Cause.DEACTIVATED, 'signal': Cause.SIGNAL, 'exception': Cause.EXCEPTION}
_TASK = ('pose', 'twist', 'wrench')
_STATUS = tuple(Status)


@contextmanager
def fixed_clock() -> Iterator[None]:
    """Make the clock of the stamps a constant one: the only time that a controller asks for."""
    with mock.patch.object(Settings, 'clock_offset', property(
            lambda self: 0.0 if self.simulated else CLOCK_OFFSET)):
        yield


class StepController:
    """A controller, called as the nodes call it."""

    def __init__(self, robot: str, values: Mapping[str, Value], *, simulated: bool,
                 backend: str = 'auto') -> None:
        """
        Configure.

        :param robot: kind of robot.
        :param values: every parameter by name.
        :param simulated: whether the control clock is that of a simulator.
        :param backend: of the step.
        """
        self._values, self._simulated = dict(values), simulated
        self._robot = controlled_robot(robot)
        self._sent, self._torque = 0, np.zeros(len(self._robot.joints))
        self.controller = Controller(self._settings(), law_kernels(robot), self._publish,
                                     backend)
        self.controller.p.states.ages.asked = 0.0  # stories are also of ages that nobody knows
        self.limits: Array = self.controller.settings.torque_limits
        self._answer = 0

    def _settings(self) -> Settings:
        return build_settings(self._robot, self._values, simulated=self._simulated)

    def _publish(self, torque: Array) -> None:
        self._sent += 1
        self._torque[:] = torque

    def handle(self, event: Event) -> Seen:
        """Let something happen."""
        controller = self.controller
        self._sent = self._answer = 0
        getattr(self, f'_on_{event.kind}', self._on_request)(event)
        goals = 0
        while controller.ended:
            _, outcome = controller.ended.popleft()
            goals = 10 * _STATUS.index(outcome.status) + 1 - int(outcome.code)
        notices = sum(kind == 'warning' for kind, _ in controller.events)
        controller.events.clear()
        faults = controller.x.command.supervisor.faults.listed()
        return Seen(STATES.index(controller.state),
                    sum(1 << CAUSES.index(fault.cause) for fault in faults),
                    MODES.index(controller.mode), self._sent,
                    self._torque.copy() if self._sent else None, self._answer, goals, notices)

    # -- the loop ------------------------------------------------------------------------------

    def _on_state(self, event: Event) -> None:
        names, position, velocity, effort, seconds, nanoseconds = event.data
        self.controller.take_state(event.now, event.steady, names, position, velocity, effort,
                                   (seconds, nanoseconds))

    def _on_unreadable(self, event: Event) -> None:
        self.controller.take_unreadable(event.now, event.steady, 'three bytes')

    def _on_tick(self, event: Event) -> None:
        self.controller.take_timer(event.now, event.steady)

    def _on_dead_man(self, event: Event) -> None:
        self.controller.press(event.steady, event.data[0])

    def _on_reset(self, event: Event) -> None:
        self._answer = 2 if self.controller.reset(event.now, event.steady) else 1

    def _on_stop(self, event: Event) -> None:
        if STATES.index(self.controller.state) not in IDLE:
            self.controller.fault(event.steady, Cause.OPERATOR_STOP, '~/stop')

    # -- requests of other threads -------------------------------------------------------------

    def _on_request(self, event: Event) -> None:
        controller, kind, data = self.controller, event.kind, event.data
        try:
            request = self._request(kind, data)
        except RbdError:  # the node refuses it, and counts that
            self._answer = 2
            if kind != 'parameters':
                controller.post(lambda now, steady: controller.refuse(now, steady, 'refused'))
            return
        self._answer = 1 if request is not None else 2
        if request is not None:
            controller.post(request)

    def _request(self, kind: str, data: tuple[Any, ...]) -> Request | None:
        """Return what the loop has to do; None: the mode is another one."""
        controller = self.controller
        if kind == 'activate':
            return self._activate
        if kind in _FINAL:
            return lambda _now, steady: controller.fault(steady, _FINAL[kind])
        if kind == 'parameters':
            return self.change(data[0])
        if kind == 'hold':
            return controller.hold
        if kind == 'refused':
            return lambda now, steady: controller.refuse(now, steady, 'refused')
        if kind == 'payload':
            load = payload_vector(*data)
            return lambda now, steady: controller.take_payload(now, steady, load)
        if kind == 'gravity':
            down, age = np.array(data[0]), data[1]
            return lambda now, steady: controller.take_gravity(now, steady, now - age, down)
        if kind == 'cancel':
            return lambda now, steady: controller.cancel(now, steady, data[0])
        if controller.mode != ('operational_space' if kind in _TASK else 'computed_torque'):
            return None
        if kind in _TASK:
            take = getattr(controller, f'take_{kind}')
            return lambda now, steady: take(now, steady, *data)
        return self._points(*data) if kind == 'points' else self._goal(*data)

    def _activate(self, now: float, steady: float) -> None:
        if STATES.index(self.controller.state) in IDLE:
            self.controller.activate(now, steady)

    def change(self, changes: Mapping[str, Value]) -> Request:
        """Return what changes parameters."""
        before = self._values
        self._values = {**before, **changes}
        try:
            settings = self._settings()
        except SettingError:
            self._values = before
            raise
        self.controller.accepted = settings
        return lambda now, steady: self.controller.apply(settings, now, steady)

    def _points(self, times: list[float], q: Any, qd: Any, qdd: Any, delay: float | None,
                ) -> Request:
        joints = self._robot.joints
        knots = read_points(joints, joints, times, q, qd, qdd)
        return lambda now, steady: self.controller.take_points(
            now, steady, knots, now + (delay or 0.0))

    def _goal(self, key: int, times: list[float], q: Any, qd: Any, qdd: Any, settle: float,
              ) -> Request:
        controller, joints = self.controller, self._robot.joints
        knots = read_points(joints, joints, times, q, qd, qdd)
        tolerances = read_tolerances(joints, controller.accepted.tolerances(), (), (), settle)

        def request(now: float, steady: float) -> None:
            try:
                controller.pursue(now, steady, knots, now, key, tolerances)
            except GoalError:
                return
        return request
