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

"""The controller of the nodes without ROS, on a fake clock, around the built-in arm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from cycle_rig import robot_and_dynamics
import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.controller import Controller
from rbd_ros.control.kernels.kernels import LawKernels

Array = npt.NDArray[np.float64]


@cache
def kernels(driver_adds: str = 'none') -> dict[str, Bound]:
    """Return the kernels of the arm; controllers that share them run one after the other."""
    laws = LawKernels(robot_and_dynamics()[0], driver_adds=driver_adds, driver_knows_payload=False)
    return {name: laws.compile(name) for name in laws.names}


class Arm:
    """The arm under the controller; its plant is the compiled forward dynamics, or stands."""

    def __init__(self, q: Sequence[float] = (0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7), *,
                 period: float = 0.001, **values: object) -> None:
        self.robot, self.dynamics = robot_and_dynamics()
        self.period = period
        self.values = defaults() | {
            'driver_adds': 'none', 'nominal_rate': 1.0 / period, 'start.time': 0.0,
            'start.watch_time': 0.0, 'ramp_time': 0.3, 'free_damping': [0.0]} | values
        self.sent: list[Array] = []
        self.controller = Controller(self.settings(), kernels(str(self.values['driver_adds'])),
                                     lambda torque: self.sent.append(torque.copy()))
        self.time = 50.0
        self.q, self.qd = np.array(q, dtype=float), np.zeros(7)
        self.external: Array | None = None  # N.m; None: somebody else moves the arm, or holds it
        self.still = False  # its positions stand, whatever its velocities say
        self.law_log: list[Array] = []  # before the limiter, N.m

    def settings(self, **changes: object) -> Settings:
        """Return the settings with some values changed for good."""
        self.values |= changes
        return Settings(self.robot, self.values, simulated=False)

    def run(self, duration: float) -> None:
        """Let time pass, a state and a tick per period."""
        controller = self.controller
        for _ in range(round(duration / self.period)):
            self.give(self.q, self.qd)
            if self.external is not None and self.sent:
                self.qd = self.qd + self.period * self.dynamics.forward_dynamics(
                    self.q, self.qd, self.sent[-1] + self.external)
                self.q = self.q + self.period * self.qd
            elif not self.still:
                self.q = self.q + self.period * self.qd
            self.law_log.append(controller.x.loop.torque.wanted.copy())

    def give(self, q: Array, qd: Array | Sequence[float], effort: Sequence[float] = (),
             stamp: float | None = None) -> None:
        """Let a period pass: a state, with the stamp of now or another one, and a tick."""
        self.time += self.period
        taken = self.time + 1e4 if stamp is None else stamp
        self.controller.take_state(
            self.time, self.time, self.robot.joints, q, qd, effort,
            divmod(round(1e9 * taken), 1_000_000_000))
        self.controller.tick(self.time, self.time)

    def silence(self, duration: float) -> None:
        """Let time pass without states."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            self.controller.tick(self.time, self.time)

    def activate(self) -> None:
        """Activate as the node does, and let states come in time for as long as a start needs."""
        self.controller.post(self.controller.activate)
        self.run(float(self.values['state_timeout']))

    def change(self, **values: object) -> None:
        """Change parameters as the node does, at the next event."""
        settings = self.settings(**values)
        self.controller.post(
            lambda now, steady: self.controller.apply(settings, now, steady))

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.controller.state.value

    @property
    def pose(self) -> Array:
        """Pose of the tip."""
        return self.dynamics.pose(self.q, 'tool0')
