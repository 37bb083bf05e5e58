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

"""Whatever happens, what leaves is finite, inside the limits and young, or nothing leaves."""

import math

from control_rig import PERIOD, Rig
from hypothesis import example, given, settings, strategies as st
import numpy as np
import pytest

from rbd_ros.control.former.control_loop import Release
from rbd_ros.control.former.joint_states.layout import Arrival
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.supervisor import Due, State, Timing

LIMIT, RATE = 20.0, 200.0
FAST = {'state_timeout': 0.02, 'hold_time': 0.03, 'brake_time': 0.02, 'release_time': 0.03,
        'ramp_time': 0.02, 'release_repeats': 3}

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
    st.tuples(st.just('fail'), st.sampled_from(['', '', 'law', 'gravity', 'raise'])),
    st.tuples(st.just('pause'), st.integers(1, 200)),
    st.tuples(st.just('rewind'), st.floats(0.0, 2.0)),
    st.tuples(st.just('reset')),
    st.tuples(st.just('activate')))


class Watched(Rig):
    """A rig that checks each command as it leaves."""

    def __init__(self, timing, **options):
        super().__init__(timing, rate=RATE, limit=LIMIT, **options)
        self.heard = -math.inf  # time of the last proven state
        self.good = -math.inf  # time of the last state whose gravity was computed
        self.previous = None  # time, total torque, torque and driver's part of the last command
        self.stamp = 0.0

    def message(self, *args, **fields):
        """Note when a state was proven."""
        before = self.map.rate._count, self.map.rate._start
        heard, self.heard = self.heard, self.now
        arrival = super().message(*args, **fields)
        assert (self.map.rate._count, self.map.rate._start) != before or (
            arrival is not Arrival.STATE)
        if arrival is not Arrival.STATE:
            self.heard = heard
        return arrival

    def _publish(self, torque):
        total = self.limiter._output
        assert np.isfinite(torque).all()
        assert (np.abs(torque) <= LIMIT).all()
        np.testing.assert_array_equal(total, torque + self.loop._driver)
        due, age = self.supervisor.due, self.now - self.heard
        if self.loop._times is None:  # silence before: the limiter starts at what acts now
            self.previous = None
        if self.supervisor.live:
            assert age <= FAST['state_timeout'] + 1e-9
            self.good = self.heard
        if due is Due.LAST_GRAVITY:
            age = self.now - self.good
            assert age <= FAST['state_timeout'] + FAST['hold_time'] + 1e-9
        if self.previous is not None:
            since = self.time - self.previous[0]
            allowed = RATE * min(since, 2 * PERIOD) + 1e-9
            assert (np.abs(torque - self.previous[2]) <= allowed).all()
            jumps = np.abs(self.loop._driver - self.previous[3])  # out of our hands
            # a driver's part of 1e16 N.m is known to 2 N.m only
            rounding = 4.0 * np.spacing(np.maximum(np.abs(total), np.abs(self.previous[1])))
            assert (np.abs(total - self.previous[1]) <= allowed + jumps + rounding).all()
            if not jumps.any() and (np.abs(self.previous[1]) <= LIMIT).all():
                assert (np.abs(total) <= LIMIT).all()
            if due in (Due.RAMP_BLIND, Due.RELEASE) and self.loop.release is Release.ZERO:
                target = np.clip(self.loop._driver, -LIMIT, LIMIT)
                left = np.abs(total - target)
                assert (left <= np.abs(self.previous[1] - target) + 1e-9 + rounding).all()
        self.previous = (self.time, total.copy(), torque.copy(), self.loop._driver.copy())

    def happen(self, event):
        """Let one event happen."""
        kind, *rest = event
        if kind == 'states':
            self.run(rest[0] * PERIOD, q=(rest[1], -rest[1]), qd=(rest[2], 0.0))
        elif kind == 'silence':
            self.run(rest[0] * PERIOD, states=False)
        elif kind == 'pause' and self.timing.simulated:
            self.run(rest[0] * PERIOD, states=False, clock=False)
        elif kind == 'rewind' and self.timing.simulated:
            self.sim_offset -= rest[0]
        elif kind == 'bad':
            self.run(rest[0] * PERIOD, q=(rest[1], 0.0), qd=(rest[2], 0.0))
        elif kind == 'unstamped':
            self.run(rest[0] * PERIOD, q=(rest[1], 0.0), stamp=0.0)
        elif kind == 'stall':
            self.time = round(self.time + rest[0], 9)
        elif kind == 'burst':
            for k in range(rest[0]):
                self.message(q=(rest[1], rest[1]), stamp=self.now + 1e4 - 1.0 + k * PERIOD)
        elif kind == 'fault':
            self.loop.post(lambda now, steady: self.supervisor.fault(steady, rest[0]))
        elif kind == 'law':
            self.law[0] = rest[0]
        elif kind == 'fail':
            self.fail = rest[0]
        elif kind == 'reset' and not self.supervisor.reset(self.now, self.time):
            if self.supervisor.state is State.PROBING:
                self.map.restart()
        elif kind == 'activate' and self.supervisor.finished:
            self.activate()


@settings(max_examples=80, deadline=None)
@given(st.lists(events, max_size=25), st.booleans(), st.sampled_from(['hold', 'release']),
       st.sampled_from(list(Release)), st.sampled_from([0.0, 1.0]), st.booleans())
@example([('bad', 1, 3602879701896397.0, 0.0)], False, 'hold', Release.ZERO, 1.0, False)
def test_whatever_happens(story, recover, action, release, driver, simulated):
    """Random stories: finite, limited in N.m and N.m/s, never from a state too old."""
    rig = Watched(Timing(recover=recover, fault_action=action, stop_action=action,
                         simulated=simulated, pause_limit=0.1, **FAST),
                  release=release, driver=driver)
    rig.activate()
    rig.happen(('states', 30, 0.5, 0.1))
    for event in story:
        rig.happen(event)


@settings(max_examples=40, deadline=None)
@given(st.lists(events, max_size=15), st.sampled_from([Cause.SIGNAL, Cause.DEACTIVATED]),
       st.booleans(), st.booleans(), st.booleans())
def test_every_story_can_be_ended(story, cause, states, simulated, clock):
    """From anywhere a final stop ends in silence in time, with or without states and clock."""
    rig = Watched(Timing(simulated=simulated, pause_limit=0.1, **FAST))
    rig.activate()
    rig.happen(('states', 30, 0.5, 0.1))
    for event in story:
        rig.happen(event)
    rig.loop.post(lambda now, steady: rig.supervisor.fault(steady, cause))
    rig.run(0.02 + 0.02 + 0.03 + 0.03 + 0.2 + 2 * LIMIT / RATE + 0.02, states=states,
            clock=clock or not simulated)
    assert rig.supervisor.state in (State.RELEASED, State.INACTIVE)
    count = rig.loop.published
    rig.run(0.1, states=states)
    assert rig.loop.published == count


@pytest.mark.parametrize('size', [1e9, -1e9, 1e300, math.nan, math.inf])
def test_absurd_law_is_limited_or_refused(size):
    """A law of absurd size gives the limit, a law that is not finite gives gravity."""
    rig = Watched(Timing(**FAST))
    rig.start()
    rig.previous = None
    rig.law[:] = size
    rig.run(0.3)
    if math.isfinite(size):
        assert rig.limiter.last.tolist() == [math.copysign(LIMIT, size)] * 2
    else:
        assert rig.supervisor.faults[0].cause is Cause.BAD_COMMAND
        assert rig.limiter.last.tolist() == [10.0, -5.0]
