# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whatever happens, what leaves is finite, inside the limits and young, or nothing leaves."""

import math

from controller_rig import AHEAD, Arm, MODEL, TORQUE
from hypothesis import example, given, settings, strategies as st
import numpy as np
import pytest

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.due import due_now, is_live
from rbd_ros.control.supervisor.states import Due
from sampling import examples

PERIOD = 0.001
FAST = {'state_timeout': 0.02, 'hold_time': 0.03, 'brake_time': 0.02, 'release_time': 0.03,
        'ramp_time': 0.02, 'release_repeats': 3, 'pause_limit': 0.1}
#: what would stop the robot before the story does
CALM = {'state_tolerance': [1e3], 'tracking_limits': [1e3], 'velocity_limits': [1e3],
        'start.velocity': 1e3, 'start.distance': 1e3}
LOWER, UPPER = np.array(MODEL.lower), np.array(MODEL.upper)

positions = st.floats(-3.0, 3.0)
velocities = st.floats(-5.0, 5.0)
anything = st.floats(allow_nan=True, allow_infinity=True)
events = st.one_of(
    st.tuples(st.just('states'), st.integers(1, 40), positions, velocities),
    st.tuples(st.just('silence'), st.integers(1, 120)),
    st.tuples(st.just('bad'), st.integers(1, 30), anything, anything),
    st.tuples(st.just('unstamped'), st.integers(1, 30), positions),
    st.tuples(st.just('stall'), st.floats(0.0, 3.0)),
    st.tuples(st.just('burst'), st.integers(1, 10), positions),
    st.tuples(st.just('fault'), st.sampled_from(list(Cause))),
    st.tuples(st.just('law'), anything),
    st.tuples(st.just('pause'), st.integers(1, 200)),
    st.tuples(st.just('rewind'), st.floats(0.0, 2.0)),
    st.tuples(st.just('reset')),
    st.tuples(st.just('activate')))


class Watched(Arm):
    """An arm that checks each command as it leaves."""

    def __init__(self, **values):
        super().__init__(**(FAST | CALM | values))
        self.rate = self.settings().torque_rates
        self.heard = self.good = -math.inf  # control time of the last state, and of one in use
        self.previous = None  # time, total torque, torque and driver's part of the last command
        self.controller.post(self.controller.activate)
        self.happen(('states', 40, 0.5, 0.1))
        assert self.controller.working, self.fault

    def receive(self, *args, **fields):
        """Note when a state was taken."""
        before, self.heard = (self.heard, self.controller.x.taken), self.now
        if is_live(self.controller.x.command.supervisor):
            self.good = self.now
        sent = super().receive(*args, **fields)
        if self.controller.x.taken == before[1]:
            self.heard, self.good = before[0], min(self.good, before[0])
        return sent

    def tick(self):
        """Forget the last command after a silence: the limiter begins at what acts then."""
        sent = super().tick()
        if not self.controller.x.command.torque.sending:
            self.previous = None
        return sent

    def take_torque(self, torque):
        """Compare a command with what was promised, and with the one before."""
        super().take_torque(torque)
        limiter, due = (self.controller.x.command.torque.limiter,
                        due_now(self.controller.x.command.supervisor))
        total, driver = limiter.total, limiter.driver
        assert np.isfinite(torque).all()
        assert (np.abs(torque) <= TORQUE).all()
        assert (total == torque + driver).all()
        if is_live(self.controller.x.command.supervisor):
            assert self.now - self.heard <= FAST['state_timeout'] + 1e-9
            self.good = self.heard
        if due == Due.LAST_GRAVITY:
            assert self.now - self.good <= FAST['state_timeout'] + FAST['hold_time'] + 1e-9
        if self.previous is not None:
            self.compare(torque, total, driver, blind=due in (
                Due.RAMP_BLIND, Due.RELEASE))
        self.previous = (self.time, total.copy(), torque.copy(), driver.copy())

    def compare(self, torque, total, driver, *, blind):
        """Compare a command with the one before."""
        time, last_total, last, last_driver = self.previous
        allowed = self.rate * min(self.time - time, 2 * PERIOD) + 1e-9
        assert (np.abs(torque - last) <= allowed).all()
        jumps = np.abs(driver - last_driver)  # out of our hands
        # a driver's part of 1e16 N.m is known to 2 N.m only
        rounding = 4.0 * np.spacing(np.maximum(np.abs(total), np.abs(last_total)))
        assert (np.abs(total - last_total) <= allowed + jumps + rounding).all()
        if not jumps.any() and (np.abs(last_total) <= TORQUE).all():
            assert (np.abs(total) <= TORQUE).all()
        if blind and self.values['release_torque'] == 'zero':
            target = np.clip(driver, -TORQUE, TORQUE)
            left = np.abs(total - target)
            assert (left <= np.abs(last_total - target) + 1e-9 + rounding).all()

    def bring(self, count, q, qd=0.0, stamp=None):
        """Bring states, with ticks."""
        q = np.clip(np.full(7, q), LOWER, UPPER) if abs(q) < 4.0 else np.full(7, q)
        for _ in range(count):
            self.give(q, np.full(7, qd), stamp=stamp)

    def happen(self, event):
        """Let one event happen."""
        kind, *rest = event
        simulated = self._simulated
        if kind in ('states', 'bad'):
            self.bring(*rest)
        elif kind == 'silence':
            self.silence(rest[0] * PERIOD)
        elif kind == 'pause' and simulated:
            self.silence(rest[0] * PERIOD, paused=True)
        elif kind == 'rewind' and simulated:
            self.offset -= rest[0]
        elif kind == 'unstamped':
            self.bring(*rest, stamp=0.0)
        elif kind == 'stall':
            self.time += rest[0]
        elif kind == 'burst':
            for k in range(rest[0]):
                self.receive(np.clip(np.full(7, rest[1]), LOWER, UPPER), np.zeros(7),
                             stamp=self.now + AHEAD - 1.0 + k * PERIOD)
        elif kind == 'fault':
            self.stop(rest[0])
        elif kind == 'law':
            self.controller.p.laws.free.scale[1] = rest[0]
        elif kind == 'reset':
            self.reset()
        elif kind == 'activate':
            self.controller.activate(self.now, self.time)


@settings(max_examples=examples('properties', 60), deadline=None)
@given(st.lists(events, max_size=25), st.booleans(), st.sampled_from(['hold', 'release']),
       st.sampled_from(['zero', 'gravity']), st.sampled_from(['none', 'gravity']), st.booleans())
@example([('bad', 1, 3602879701896397.0, 0.0)], False, 'hold', 'zero', 'gravity', False)
def test_whatever_happens(story, recover, action, release, driver, simulated):
    """Random stories: finite, limited in N.m and N.m/s, never from a state too old."""
    arm = Watched(recover_lost_state=recover, fault_action=action, stop_action=action,
                  release_torque=release, driver_adds=driver, simulated=simulated)
    for event in story:
        arm.happen(event)


@pytest.mark.parametrize('size', [1e9, -1e9, 1e300, math.nan, math.inf])
def test_absurd_law_is_limited_or_refused(size):
    """A law of absurd size gives the limit, a law that is not finite gives gravity."""
    arm = Watched(brake_time=0.5)
    arm.q = np.array([0.1, 0.9, 0.3, -1.2, 0.5, 0.6, 0.7])
    arm.run(0.3)
    gravity = arm.dynamics.gravity(arm.q)
    arm.happen(('law', size))
    arm.run(0.3)
    if math.isfinite(size):
        assert arm.sent[-1][1] == math.copysign(TORQUE[1], size * gravity[1])
    else:
        assert arm.causes == [Cause.BAD_COMMAND]
        np.testing.assert_allclose(arm.sent[-1], gravity, atol=1e-9)
