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

"""The controller of the built-in arm without ROS, on a fake clock; all share compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics, load_urdf
from rbd_ros.compiler import Bound
from rbd_ros.control.parameters.assembly import build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.controller import Controller

Array = npt.NDArray[np.float64]

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@cache
def robot_and_dynamics() -> tuple[Robot, Dynamics]:
    """Return the controlled robot and its dynamics."""
    model = load_urdf(ARM)
    return make_robot(model), Dynamics(model)


@cache
def kernels() -> dict[str, Bound]:
    """Return the kernels of a driver that adds nothing; one controller at a time runs them."""
    return compile_kernels(Arm.make_settings({}, simulated=False))


class Arm:
    """The arm under the controller; it stands where it was put."""

    def __init__(self, q: Sequence[float] = (0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7), *,
                 period: float = 0.001, simulated: bool = False, **values: object) -> None:
        self.robot, self.dynamics = robot_and_dynamics()
        self.period = period
        settings = self.make_settings({'nominal_rate': 1.0 / period} | values, simulated=simulated)
        self.values = settings.values
        self.sent: list[Array] = []
        self.controller = Controller(settings, kernels(),
                                     lambda torque: self.sent.append(torque.copy()))
        self.time = 50.0
        self.q = np.array(q, dtype=float)

    @staticmethod
    def make_settings(values: dict[str, object], *, simulated: bool) -> Settings:
        """Return settings that start at once, with some values changed."""
        return build_settings(robot_and_dynamics()[0], defaults() | {
            'driver_adds': 'none', 'start.time': 0.0, 'start.watch_time': 0.0,
            'free_damping': [0.0]} | values, simulated=simulated)

    def run(self, duration: float) -> None:
        """Let time pass, a state and a tick per period."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            seconds, rest = divmod(round(1e9 * (self.time + 1e4)), 1_000_000_000)
            self.controller.take_state(self.time, self.time, self.robot.joints, self.q,
                                       np.zeros(7), (), (seconds, rest))
            self.controller.tick(self.time, self.time)

    def silence(self, duration: float) -> None:
        """Let time pass without states."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            self.controller.tick(self.time, self.time)

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.controller.state.value
