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

"""A fake robot and clock around the control loop, for the tests of the controller."""

from __future__ import annotations

import numpy as np
from rbd_ros.control.former.control_loop import ControlLoop, Need, Release, Torques
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.joint_states.layout import AgeLimits, Arrival
from rbd_ros.control.former.safety.limits import TorqueLimiter
from rbd_ros.control.former.safety.supervisor import Supervisor, Timing

NAMES = ('a', 'b')
PERIOD = 0.001


class Rig:
    """Two joints whose gravity torque is 10 q, a law that adds 5, and a fake clock."""

    def __init__(self, timing: Timing | None = None, *, release: Release = Release.ZERO,
                 driver: float = 0.0, limit: float = 20.0,
                 rate: float = 200.0, period: float = PERIOD) -> None:
        self.time = 100.0
        self.sim_offset = 0.0  # control clock minus steady clock
        self.timing = timing or Timing()
        self.map = JointMap(NAMES, NAMES, limits=AgeLimits(
            state_timeout=self.timing.state_timeout, period=period))
        self.supervisor = Supervisor(self.timing)
        self.supervisor.diagnose = self.map.diagnose
        self.torques = Torques(2)
        self.driver = driver
        self.limiter = TorqueLimiter([limit, limit], [rate, rate], period)
        self.log: list[tuple[float, tuple[float, ...], tuple[float, ...]]] = []
        self.states: list[tuple[float, str]] = []
        self.law = np.array([5.0, 5.0])
        self.fail = ''
        self.loop = ControlLoop(self.supervisor, self.limiter, self.torques, self._compute,
                                self._publish, release=release)
        self.loop.on_enter = lambda state: self.states.append((self.time, state.value))

    @property
    def now(self) -> float:
        """Control time."""
        return round(self.time + self.sim_offset, 9)

    def _compute(self, need: Need) -> None:
        gravity = 10.0 * np.clip(self.map.q, -1e100, 1e100)
        if self.fail == 'gravity':
            gravity = np.full(2, np.nan)
        if self.fail == 'raise' and need is not Need.STOP:
            raise RuntimeError('law broke')
        self.torques.gravity[:] = gravity
        self.torques.driver[:] = self.driver * gravity
        if need is Need.STOP:
            self.torques.brake[:] = gravity - 2.0 * self.map.qd - self.loop.load
        self.torques.law[:] = gravity + self.law if need is Need.LAW else gravity
        if self.fail == 'law':
            self.torques.law[0] = np.nan

    def _publish(self, torque: np.ndarray) -> None:
        self.log.append((self.time, tuple(torque), tuple(torque + self.torques.driver)))

    def activate(self) -> None:
        """Activate as the node does."""
        self.map.restart()
        self.supervisor.activate(self.now, self.time)

    def message(self, q=(1.0, -0.5), qd=(0.0, 0.0), effort=(), stamp=None) -> Arrival:
        """Receive one message now."""
        stamp = self.now + 1e4 if stamp is None else stamp
        self.loop.serve(self.now, self.time)
        arrival = self.map.update(self.now, NAMES, q, qd, effort, stamp)
        if arrival is Arrival.STATE:
            self.loop.fresh_state(self.now, self.time, self.map.expiry,
                                  self.map.ready(self.now), self.map.qd)
        return arrival

    def run(self, duration: float, *, states: bool = True, clock: bool = True, **fields) -> None:
        """Let time pass in periods, with or without states and simulated clock."""
        for _ in range(round(duration / PERIOD)):
            self.time = round(self.time + PERIOD, 9)
            if not clock:
                self.sim_offset = round(self.sim_offset - PERIOD, 9)
            if states:
                self.message(**fields)
            self.loop.tick(self.now, self.time)

    def start(self, **fields) -> None:
        """Activate and reach running."""
        self.activate()
        self.run(self.timing.ramp_time + 0.1, **fields)
        self.log.clear()
        self.states.clear()

    @property
    def last(self) -> tuple[float, ...]:
        """Torque published last."""
        return self.log[-1][1]
