# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every stop sequence ends in its stated time, whatever limits, loads, clocks and states do."""

from __future__ import annotations

from collections.abc import Callable
import math

from controller_rig import Arm, TORQUE
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause, Reaction
from rbd_ros.control.supervisor.due import is_stopping

CAUSES = tuple(Cause)
STEP = 0.001  # s
#: what the monitors look at is not the point
CALM = {'state_tolerance': [1e3], 'velocity_limits': [1e3], 'tracking_limits': [10.0],
        'minimum_rate': 0.0}


class World(Arm):
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
        limits = 10.0 ** rng.uniform(-2.0, 0.0) * TORQUE
        super().__init__(
            period=nominal, simulated=simulated, mode='computed_torque', ramp_time=0.02,
            state_timeout=max(0.03, 2.5 * nominal), stop_time=stop_time, pause_limit=0.1,
            release_repeats=int(rng.integers(1, 8)), recover_lost_state=bool(rng.integers(2)),
            fault_action=str(rng.choice(['hold', 'release'])),
            stop_action=str(rng.choice(['hold', 'release'])),
            release_torque=str(rng.choice(['zero', 'gravity'])),
            driver_adds=str(rng.choice(['none', 'gravity', 'gravity_and_coriolis'])),
            torque_limits=limits.tolist(),
            torque_rate_limits=(limits / stop_time * rng.uniform(1.0, 5.0)).tolist(),
            **times, **CALM)
        timing = self.settings().timing()
        self.pace = float(rng.choice([0.0, 0.05, 1.0, 4.0])) if simulated else 1.0
        self.jumps = simulated and bool(rng.integers(2))
        self.states_every = int(rng.choice([1, 2, 5, 20, 45])) * STEP
        self.timer_every = timing.period * float(rng.choice([1.0, 1.0, 10.0]))
        self.stated = timing.longest_stop + 2.0 * self.timer_every + 1e-6
        self.noise = float(rng.choice([0.0, 0.1, 1.0]))
        self.dead = False  # whether publishing raises
        self.spoil: Callable[[], object] = lambda: None  # done before each state
        self.stopping_since = math.inf
        self.longest = 0.0  # s, of any stop
        self._next_state = self._next_timer = self.time

    def take_torque(self, torque: np.ndarray) -> None:
        """Send a torque, or fail."""
        if self.dead:
            raise RuntimeError('the middleware has no memory left')
        super().take_torque(torque)

    def live(self, duration: float) -> None:
        """Let time pass in ms; the timer and the states come when they come."""
        rng = self.rng
        for _ in range(round(duration / STEP)):
            self.time = round(self.time + STEP, 9)
            self.offset = round(self.offset + (self.pace - 1.0) * STEP, 9)
            if self.jumps and rng.random() < 0.01:
                self.offset = round(self.offset + rng.uniform(-0.5, 0.5), 9)
            if self.states_every and self.time >= self._next_state:
                self._next_state = self.time + self.states_every
                self.spoil()
                self._guarded(lambda: self.receive(
                    self.q + self.noise * rng.standard_normal(7),
                    self.noise * rng.standard_normal(7)))
            if self.time >= self._next_timer:
                self._next_timer = self.time + self.timer_every
                self._guarded(self.tick)
            self._note()

    def _guarded(self, callback: Callable[[], object]) -> None:
        """Call back as the node does: an exception ends the activation."""
        try:
            callback()
        except RuntimeError:
            self.controller.fault(self.time, Cause.EXCEPTION)

    def _note(self) -> None:
        """Note for how long a stop lasts."""
        if not is_stopping(self.controller.x.command.supervisor):
            self.stopping_since = math.inf
            return
        self.stopping_since = min(self.stopping_since, self.time)
        self.longest = max(self.longest, self.time - self.stopping_since)

    def break_something(self) -> None:
        """Let one part fail, or none."""
        x, what = self.controller.x, self.rng.integers(8)
        self.dead = what == 0
        if what in (1, 6):  # the law is no number, or a large one
            self.spoil = lambda: self.reference.fill(np.nan if what == 1 else 1e6)
        elif what == 2:
            self.spoil = lambda: x.load.gravity.fill(np.nan)
        elif what == 4:
            self.states_every = 0
        elif what == 5:
            self.pace = 0.0 if self.settings().simulated else 1.0


@pytest.mark.sampled('properties', 1)
@pytest.mark.parametrize('block', range(8))
def test_every_stop_ends_in_its_stated_time(block):
    """No stop takes longer than it says; one that is final ends in silence."""
    for seed in range(10 * block, 10 * (block + 1)):
        world = World(seed)
        world.controller.activate(world.now, world.time)
        world.live(0.3)
        world.break_something()
        world.live(float(world.rng.uniform(0.0, 0.1)))
        cause = CAUSES[int(world.rng.integers(len(CAUSES)))]
        world.controller.fault(world.time, cause)
        world.live(world.stated)
        if cause.reaction is not Reaction.FINAL:
            world.live(0.05)
            world.controller.fault(world.time, Cause.DEACTIVATED)
            world.live(world.stated)
        assert world.longest <= world.stated, seed
        assert world.state in ('released', 'inactive'), seed
        sent = len(world.sent)
        world.live(0.1)
        assert len(world.sent) == sent, seed


@pytest.mark.parametrize('left', ['zero', 'gravity'])
def test_a_driver_beyond_our_limits_is_left_alone(left):
    """
    A driver that carries more than our limits gets no torque of ours when the robot is released.

    States come every 20 ms, and the limiter may take two such periods at once.
    """
    limits = 0.01 * TORQUE
    arm = Arm(period=0.02, driver_adds='gravity', release_torque=left, stop_action='release',
              ramp_time=0.1, stop_time=0.1, torque_limits=limits.tolist(),
              torque_rate_limits=(10.0 * limits).tolist(), **CALM)
    arm.activate()
    arm.run(0.5)
    assert arm.state == 'running' and arm.sent[-1][3] == -limits[3]  # against the driver
    arm.stop(Cause.DEACTIVATED)
    arm.run(2.0)
    assert arm.state == 'released' and np.abs(arm.sent[-1]).max() < 1e-9
