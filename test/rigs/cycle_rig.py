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

"""The whole controller without ROS, on a fake clock, around the built-in arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.former.cycle import Cycle
from rbd_ros.control.former.tick import TickKernels
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.modes.modes import Mode
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot

Array = npt.NDArray[np.float64]

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

#: without its rotors: the light wrist is the harder robot, nearer to singular poses and to
#: what a sampled damper can carry
MODEL = dataclasses.replace(load_urdf(ARM), rotor_inertia=(0.0,) * 7)
SPEED, TORQUE = np.array(MODEL.velocity_limit), np.array(MODEL.effort_limit)

#: poses from which the wrist can be moved away from the shoulder until the elbow is stretched
POSES = {
    'forward': (0.2, 1.6, 0.1, -1.2, 0.2, 0.9, 0.3),
    'up': (0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9),
    'aside': (-1.2, 1.1, 0.6, -1.4, -0.5, 1.1, -0.8),
    'turned': (0.1, -0.9, 0.4, -0.9, 1.2, -0.7, 1.5),
}
SHOULDER, REACH, WRIST = np.array([0.0, 0.0, 0.34]), 0.70, 0.15


@cache
def robot_and_dynamics() -> tuple:
    """Return the controlled robot and its dynamics."""
    return make_robot(MODEL), Dynamics(MODEL)


class Arm:
    """The arm under the controller; its plant is the compiled forward dynamics, or stands."""

    def __init__(self, q: Sequence[float] = (0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7), *,
                 period: float = 0.001, axes: Sequence[str] = AXES, joints: Sequence[str] = (),
                 modes: Sequence[Mode] = (), **values: object) -> None:
        self.robot, self.dynamics = robot_and_dynamics()
        if joints:
            self.robot = make_robot(MODEL, joints)
        if modes:
            self.robot = dataclasses.replace(self.robot, own_modes=tuple(modes))
        self.period = period
        self.values = defaults(modes) | {
            'driver_adds': 'none', 'nominal_rate': 1.0 / period, 'start.time': 0.0,
            'start.watch_time': 0.0, 'ramp_time': 0.3, 'free_damping': [0.0]} | values
        ticks = TickKernels(self.robot, driver_adds=self.values['driver_adds'],
                            driver_knows_payload=False, axes=axes)
        self.sent: list[Array] = []
        self.cycle = Cycle(self.settings(), {name: ticks.compile(name) for name in ticks.names},
                           lambda torque: self.sent.append(torque.copy()))
        self.time = 50.0
        self.q, self.qd = np.array(q, dtype=float), np.zeros(7)
        self.effort = np.zeros(0)
        self.external: Array | None = None  # N.m; None: somebody else moves the arm, or holds it
        self.still = False  # its positions stand, whatever its velocities say
        self.hand: Callable[[Array], Array] | None = None  # N.m at a velocity
        self.each: Callable[[float], None] | None = None  # called with the time, every period
        self.q_log: list[Array] = []
        self.qd_log: list[Array] = []
        self.law_log: list[Array] = []  # before the limiter, N.m

    def settings(self, **changes: object) -> Settings:
        """Return the settings with some values changed for good."""
        self.values |= changes
        return Settings(self.robot, self.values, simulated=False)

    def run(self, duration: float) -> None:
        """Let time pass, a state and a tick per period."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            if self.each is not None:
                self.each(self.time)
            self.cycle.state(self.time, self.time, self.robot.joints, self.q, self.qd,
                             self.effort, self.time + 1e4)
            self.cycle.tick(self.time, self.time)
            if self.external is not None and self.sent:
                self._move(self.sent[-1] + self.external)
            elif not self.still and np.abs(self.qd).max() < 1e3:  # somebody moves it
                self.q = self.q + self.period * self.qd
            self.q_log.append(self.q)
            self.qd_log.append(self.qd)
            self.law_log.append(self.cycle.loop.wanted.copy())

    def _move(self, torque: Array) -> None:
        """Move the arm; in smaller steps where a firm hand is at the light wrist."""
        parts = 1 if self.hand is None else 10
        h = self.period / parts
        for _ in range(parts):
            by_hand = 0.0 if self.hand is None else self.hand(self.qd)
            self.qd = self.qd + h * self.dynamics.forward_dynamics(
                self.q, self.qd, torque + by_hand)
            self.q = self.q + h * self.qd

    def silence(self, duration: float) -> None:
        """Let time pass without states."""
        for _ in range(round(duration / self.period)):
            self.time += self.period
            self.cycle.tick(self.time, self.time)

    def restart(self) -> None:
        """Stop, whatever was, and run again, after seconds of silence."""
        cycle = self.cycle
        cycle.loop.post(lambda _now, steady: cycle.supervisor.fault(steady, Cause.DEACTIVATED))
        self.silence(3.0)
        self.activate()
        self.run(float(self.values['ramp_time']) + 0.1)
        assert self.state == 'running', cycle.fault_text()

    def activate(self) -> None:
        """Activate as the node does, and let states come in time for as long as a start needs."""
        self.cycle.loop.post(self.cycle.activate)
        self.run(float(self.values['state_timeout']))

    def release(self, **values: object) -> None:
        """Activate while brakes hold the arm, wait until the law runs, and let go."""
        self.activate()
        self.run(float(self.values['ramp_time']) + 0.1)
        assert self.state == 'running', self.cycle.fault_text()
        self.external = np.zeros(7)

    def push(self, torque: Array) -> None:
        """Push the joints from now on."""
        self.external = torque

    def change(self, **values: object) -> None:
        """Change parameters as the node does, at the next cycle."""
        settings = self.settings(**values)
        self.cycle.loop.post(lambda _now, _steady: self.cycle.apply(settings))

    def forget(self) -> None:
        """Begin new logs."""
        for log in (self.q_log, self.qd_log, self.law_log):
            log.clear()

    @property
    def state(self) -> str:
        """State of the supervisor in words."""
        return self.cycle.supervisor.state.value

    @property
    def pose(self) -> Array:
        """Pose of the tip."""
        return self.dynamics.pose(self.q, 'tool0')

    def aim(self, position: Array, quaternion: Sequence[float]) -> None:
        """Hand over a target pose, as the node does when a message comes."""
        self.cycle.intake.take(lambda: self.cycle.task_reference.target_pose(
            self.time, position.tolist(), quaternion))


def beyond_reach(pose: Array, more: float) -> Array:
    """Return the way of the tip until the wrist is further away than the arm can reach."""
    out = pose[:3, 3] - WRIST * pose[:3, 2] - SHOULDER
    length = np.linalg.norm(out)
    return out * ((REACH + more) / length - 1.0)
