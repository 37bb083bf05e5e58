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

"""Every stop sequence ends in its stated time, whatever limits, loads, clocks and states do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause, Reaction
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.supervisor.due import is_stopping
from rbd_ros.control.supervisor.states import State, Timing
from torque_rig import PERIOD, Rig

CAUSES = tuple(Cause)


class World(Rig):
    """
    A robot, a driver, a clock and a timer with random habits.

    :param seed: of everything.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        simulated = bool(rng.integers(2))
        stop_time = float(rng.choice([0.01, 0.1, 0.3]))
        nominal = float(rng.choice([0.001, 0.005, 0.02]))
        times = {name: float(rng.choice([0.0, 0.02, 0.1]))
                 for name in ('hold_time', 'brake_time', 'release_time')}
        timing = Timing(
            state_timeout=max(0.03, 2.5 * nominal), ramp_time=0.02, simulated=simulated,
            release_repeats=int(rng.integers(1, 8)), stop_time=stop_time, pause_limit=0.1,
            recover=bool(rng.integers(2)), period=min(2.0 * nominal, 0.02),
            fault_action=str(rng.choice(['hold', 'release'])),
            stop_action=str(rng.choice(['hold', 'release'])), **times)
        limit = 10.0 ** rng.uniform(-1.0, 2.0)
        super().__init__(
            timing, limit=limit, rate=limit / stop_time * rng.uniform(1.0, 5.0), period=nominal,
            driver=float(rng.choice([0.0, 1.0, 3.0, -2.0])),
            gravity=not rng.integers(2))
        self.pace = float(rng.choice([0.0, 0.05, 1.0, 4.0])) if simulated else 1.0
        self.jumps = simulated and bool(rng.integers(2))
        self.states_every = int(rng.choice([1, 2, 5, 20, 45])) * PERIOD
        self.timer_every = timing.period * float(rng.choice([1.0, 1.0, 10.0]))
        self.noise = float(rng.choice([0.0, 0.3, 5.0]))
        self.dead = False  # whether publishing raises
        self.stopping_since = math.inf
        self.longest = 0.0  # s, of any stop
        self._next_state = self._next_timer = self.time

    def publish(self, torque: np.ndarray) -> None:
        """Send a torque, or fail."""
        if self.dead:
            raise RuntimeError('the middleware has no memory left')
        super().publish(torque)

    def live(self, duration: float) -> None:
        """Let time pass in ms; the timer and the states come when they come."""
        rng = self.rng
        for _ in range(round(duration / PERIOD)):
            self.time = round(self.time + PERIOD, 9)
            self.sim_offset = round(self.sim_offset + (self.pace - 1.0) * PERIOD, 9)
            if self.jumps and rng.random() < 0.01:
                self.sim_offset = round(self.sim_offset + rng.uniform(-0.5, 0.5), 9)
            if self.states_every and self.time >= self._next_state:
                self._next_state = self.time + self.states_every
                q = np.array([1.0, -0.5]) + self.noise * rng.standard_normal(2)
                self._guarded(lambda q=q: self.message(
                    q=tuple(q), qd=tuple(self.noise * rng.standard_normal(2))))
            if self.time >= self._next_timer:
                self._next_timer = self.time + self.timer_every
                self._guarded(lambda: self.event(Kind.TIMER))
            self._note()

    def _guarded(self, callback) -> None:
        """Call back as the node does: an exception ends the activation."""
        try:
            callback()
        except RuntimeError:
            self.stop(Cause.EXCEPTION)

    def _note(self) -> None:
        """Note for how long a stop lasts; one that has ended since the last look counts as new."""
        if not is_stopping(self.x.supervisor) or any(
                state in ('ramping in', 'probing') for _, state in self.states):
            self.stopping_since = math.inf
        self.states.clear()
        if not is_stopping(self.x.supervisor):
            return
        self.stopping_since = min(self.stopping_since, self.time)
        self.longest = max(self.longest, self.time - self.stopping_since)

    def break_something(self) -> None:
        """Let one part fail, or none."""
        what = self.rng.integers(8)
        self.dead = what == 0
        self.fail({1: 'law', 2: 'gravity'}.get(what, ''))
        if what == 4:
            self.states_every = 0
        elif what == 5:
            self.pace = 0.0 if self.timing.simulated else 1.0
        elif what == 6:
            self.plant.law[:] = 1e6

    @property
    def stated(self) -> float:
        """Return the time in which every sequence must end, s."""
        return self.timing.longest_stop + 2.0 * self.timer_every + 1e-6


@pytest.mark.sampled('properties', 1)
@pytest.mark.parametrize('block', range(4))
def test_every_stop_ends_in_its_stated_time(block):
    """No stop takes longer than it says; one that is final ends in silence."""
    for seed in range(25 * block, 25 * (block + 1)):
        world = World(seed)
        world.activate()
        world.live(0.3)
        world.break_something()
        world.live(float(world.rng.uniform(0.0, 0.1)))
        cause = CAUSES[int(world.rng.integers(len(CAUSES)))]
        world.stop(cause)
        world.live(world.stated)
        if cause.reaction is not Reaction.FINAL:
            world.live(0.05)
            world.stop(Cause.DEACTIVATED)
            world.live(world.stated)
        assert world.longest <= world.stated, seed
        assert world.state in (State.RELEASED, State.INACTIVE), seed
        sent = world.x.torque.published
        world.live(0.1)
        assert world.x.torque.published == sent, seed


@pytest.mark.parametrize(('gravity', 'left'), [(False, 0.0), (True, -20.0)])
def test_a_driver_beyond_our_limits_is_left_alone(gravity, left):
    """
    A driver that carries more than our limits gets no torque of ours when the robot is released.

    States come every 20 ms, and the limiter may take two such periods at once: half of what the
    driver is beyond the limits is more than a step, the whole is less.
    """
    rig = Rig(Timing(stop_action='release', stop_time=0.1), driver=3.0, limit=20.0, rate=200.0,
              gravity=gravity, period=0.02)
    rig.activate()

    def live(duration):
        for k in range(round(duration / 0.02)):
            rig.time = round(rig.time + 0.02, 9)
            rig.message(q=(1.5, -1.5))
            if k % 2:
                rig.event(Kind.TIMER)
    live(2.0)
    assert rig.state is State.RUNNING
    rig.stop(Cause.DEACTIVATED)
    live(rig.timing.brake_time + rig.timing.release_time + 0.4)
    assert rig.state is State.RELEASED
    assert rig.last == pytest.approx((left, -left))
