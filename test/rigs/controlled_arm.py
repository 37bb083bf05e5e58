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

"""The controller that the nodes run, without ROS, on a fake clock, around an arm that moves."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from functools import cache

import cycle_rig
import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.parameters.assembly import build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import Robot
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.controller import Controller
from rbd_ros.control.modes.modes import Mode

Array = npt.NDArray[np.float64]


def settings_of(robot: Robot, values: dict[str, object]) -> Settings:
    """Return settings that start at once, with some values changed."""
    return build_settings(robot, defaults(robot.own_modes) | {
        'driver_adds': 'none', 'start.time': 0.0, 'start.watch_time': 0.0, 'ramp_time': 0.3,
        'free_damping': [0.0]} | values, simulated=False)


@cache
def kernels_of(modes: tuple[Mode, ...]) -> dict[str, Bound]:
    """Return the compiled kernels; one controller at a time runs them."""
    robot = dataclasses.replace(cycle_rig.robot_and_dynamics()[0], own_modes=modes)
    return compile_kernels(settings_of(robot, {}))


class Arm:
    """The arm under the controller; its plant is the compiled forward dynamics, or stands."""

    def __init__(self, q: Sequence[float] = (0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7), *,
                 period: float = 0.001, start: float = 50.0, modes: Sequence[Mode] = (),
                 **values: object) -> None:
        robot, self.dynamics = cycle_rig.robot_and_dynamics()
        self.robot = dataclasses.replace(robot, own_modes=tuple(modes))
        self.period, self.time = period, start
        self.values: dict[str, object] = {'nominal_rate': 1.0 / period} | values
        self.sent: list[Array] = []
        self.controller = Controller(
            settings_of(self.robot, self.values), kernels_of(tuple(modes)),
            lambda torque: self.sent.append(torque.copy()))
        self.q, self.qd = np.array(q, dtype=float), np.zeros(7)
        self.external: Array | None = None  # N.m; None: brakes hold the arm

    def run(self, duration: float) -> None:
        """Let time pass, a state and a tick per period."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            stamp = divmod(round(1e9 * (self.time + 1e4)), 1_000_000_000)
            self.controller.take_state(self.time, self.time, self.robot.joints, self.q, self.qd,
                                       (), stamp)
            self.controller.tick(self.time, self.time)
            if self.external is not None and self.sent:
                self.qd = self.qd + self.period * self.dynamics.forward_dynamics(
                    self.q, self.qd, self.sent[-1] + self.external)
                self.q = self.q + self.period * self.qd

    def activate(self) -> None:
        """Activate as the node does, and let states come in time for as long as a start needs."""
        self.controller.post(self.controller.activate)
        self.run(self.controller.settings.number('state_timeout'))

    def change(self, **values: object) -> None:
        """Change parameters as the node does, at the next cycle."""
        self.values |= values
        settings = settings_of(self.robot, self.values)
        self.controller.accepted = settings
        self.controller.post(lambda now, steady: self.controller.apply(settings, now, steady))

    def apply(self, **values: object) -> None:
        """Change parameters at once."""
        self.change(**values)
        self.controller.serve(self.time, self.time)

    def stop(self, cause: Cause = Cause.OPERATOR_STOP, text: str = '') -> None:
        """Stop for a cause from outside, at once."""
        self.controller.fault(self.time, cause, text)

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.controller.state.value
