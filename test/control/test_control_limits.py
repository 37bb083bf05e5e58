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

"""Torque limits in N.m and N.m/s."""

import math

from hypothesis import given, strategies as st

import numpy as np
import pytest

from rbd_ros.control.former.safety.limits import (
    check_limits, in_proportion, is_finite, stop_reasons, torque_step, TorqueLimiter)
from rbd_ros.control.supervisor.states import Timing
from rbd_ros.errors import NonFiniteError, ShapeError

LIMIT, RATE = np.array([10.0, 40.0]), np.array([100.0, 400.0])


def limiter():
    """Two joints at 1 kHz."""
    return TorqueLimiter(LIMIT, RATE, 0.001)


def test_rate_is_per_second():
    """A step is approached by rate times dt, whatever the number of calls."""
    one, two = limiter(), limiter()
    one.apply(LIMIT, 0.002)
    one.commit()
    for _ in range(2):
        two.apply(LIMIT, 0.001)
        two.commit()
    np.testing.assert_allclose(one.last, RATE * 0.002, rtol=1e-14)
    np.testing.assert_allclose(two.last, one.last, rtol=1e-14)


def test_dt_is_capped_at_two_periods():
    """After a stall of one second the step is that of two periods."""
    subject = limiter()
    np.testing.assert_allclose(subject.apply(LIMIT, 1.0), RATE * 0.002, rtol=1e-14)


def test_time_that_stands_or_goes_back_gives_no_step():
    """A dt of zero or less leaves the torque where it is."""
    subject = limiter()
    assert not subject.apply(LIMIT, 0.0).any()
    assert not subject.apply(LIMIT, -1.0).any()


def test_memory_is_what_was_published():
    """A computed torque that was not committed does not count."""
    subject = limiter()
    for _ in range(100):
        subject.apply(LIMIT, 0.001)
    np.testing.assert_allclose(subject.apply(LIMIT, 0.001), RATE * 0.001, rtol=1e-14)


def test_flags_tell_limit_from_rate():
    """The two flags say per joint which of the two limits acts."""
    subject = limiter()
    subject.reset(np.array([9.95, 0.0]))
    subject.apply(np.array([11.0, 0.1]), 0.001)
    assert subject.saturated.tolist() == [True, False]
    assert subject.slewing.tolist() == [False, False]
    subject.apply(np.array([0.0, 30.0]), 0.001)
    assert subject.saturated.tolist() == [False, False]
    assert subject.slewing.tolist() == [True, True]
    subject.apply(np.array([-10.0, 40.0 * (1.0 - 1e-12)]), 0.001)  # reduced to a limit by a law
    assert subject.saturated.tolist() == [True, True]


@pytest.mark.parametrize('slow', [0, 1])
def test_joints_keep_step(slow):
    """A joint at its rate limit slows the others down: the change of torque keeps direction."""
    subject = limiter()
    wanted = np.array([[5.0, 3.0], [0.5, -30.0]][slow])
    while True:
        before = subject.last.copy()
        after = subject.apply(wanted, 0.001).copy()
        subject.commit()
        if not subject.slewing.any():
            break
        ways, steps = wanted - before, after - before
        np.testing.assert_allclose(steps[0] * ways[1], steps[1] * ways[0], rtol=1e-9)
        np.testing.assert_allclose(steps[slow], np.copysign(RATE[slow] * 0.001, ways[slow]))
    np.testing.assert_array_equal(after, wanted)


@pytest.mark.parametrize('torque, gravity, expected', [
    ([8.0, 20.0], [2.0, 0.0], [8.0, 20.0]),  # inside: as it is
    ([22.0, 20.0], [2.0, 0.0], [10.0, 8.0]),  # 8 N.m of 20 above gravity: two fifths for all
    ([-14.0, 20.0], [6.0, -4.0], [-10.0, 15.2]),  # 16 of 20 below it
    ([10.0, -96.0], [5.0, -16.0], [6.5, -40.0]),  # 24 of 80
    ([22.0, 20.0], [12.0, 4.0], [22.0, 20.0]),  # gravity alone saturates: the limiter's business
    ([-8.0, 20.0], [12.0, 4.0], [-8.0, 20.0]),  # but on its way back it has room
])
def test_a_law_beyond_the_limits_is_reduced_in_proportion(torque, gravity, expected):
    """What is added to gravity keeps its direction; gravity is whole."""
    np.testing.assert_allclose(in_proportion(torque, gravity, LIMIT.tolist()), expected,
                               rtol=1e-14)


def test_reset_clamps():
    """A measured effort beyond the limit starts at the limit."""
    subject = limiter()
    subject.reset(np.array([50.0, -50.0]))
    assert subject.last.tolist() == [10.0, -40.0]


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_non_finite_never_passes(bad):
    """Not a number and infinity raise before the clamp, which would turn NaN into full torque."""
    subject = limiter()
    with pytest.raises(NonFiniteError, match='must not reach the limiter'):
        subject.apply(np.array([0.0, bad]), 0.001)
    with pytest.raises(NonFiniteError, match='cannot start from'):
        subject.reset(np.array([0.0, bad]))
    assert not is_finite(np.array([1.0, bad, 2.0]))


def test_reset_checks_shape():
    """A vector of another robot is refused with both shapes."""
    with pytest.raises(ShapeError, match=r'\(3,\).*\(2,\)'):
        limiter().reset(np.zeros(3))


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1.0, 1.0)),
                max_size=40))
def test_output_is_always_inside(steps):
    """Whatever is asked at whatever times, the output keeps both limits."""
    subject = limiter()
    for a, b, dt in steps:
        before = subject.last.copy()
        output = subject.apply(np.array([a, b]), dt).copy()
        subject.commit()
        assert (np.abs(output) <= LIMIT).all()
        allowed = RATE * min(max(dt, 0.0), 0.002)
        assert (np.abs(output - before) <= allowed + 1e-13).all()


@given(st.lists(st.tuples(st.floats(-50.0, 50.0), st.floats(-60.0, 60.0), st.floats(0.0, 0.003)),
                min_size=1, max_size=40))
def test_what_is_sent_is_inside_whatever_the_driver_adds(steps):
    """A driver's part that jumps moves neither what is sent nor its rate beyond the limits."""
    subject = limiter()
    subject.driver[:] = steps[0][1]
    subject.reset(np.zeros(2))
    sent = subject.last_sent.copy()
    for wanted, driver, dt in steps:
        subject.driver[:] = driver
        subject.apply(np.full(2, wanted), dt)
        subject.commit()
        assert (np.abs(subject.sent) <= LIMIT).all()
        assert (np.abs(subject.sent - sent) <= RATE * min(dt, 0.002) + 1e-13).all()
        np.testing.assert_array_equal(subject.last, subject.sent + driver)  # what acts
        sent = subject.sent.copy()


def test_driver_that_jumps_is_followed_at_the_rate():
    """After a jump of the driver's part all joints go to the new command in the same time."""
    subject = limiter()
    subject.driver[:] = 2.0
    subject.reset(np.full(2, 5.0))
    assert subject.last_sent.tolist() == [3.0, 3.0]
    subject.driver[:] = 4.0  # 2 N.m at 100 and 400 N.m/s take 20 and 5 steps of 1 ms
    for k in range(1, 21):
        subject.apply(np.full(2, 5.0), 0.001)
        subject.commit()
        np.testing.assert_allclose(subject.sent, 3.0 - 0.1 * k, atol=1e-12)
        if k not in (17, 20):  # what is left is one step: by rounding, or all but that
            assert subject.slewing.tolist() == [k < 20, k < 17]
    np.testing.assert_allclose(subject.last, 5.0, atol=1e-12)


@pytest.mark.parametrize(('wanted', 'driver', 'total', 'sent', 'slewing'), [
    (10.0, 0.0, 10.0, 10.0, 0.0),
    (10.0, 50.0, 50.0, 0.0, 1.0),        # what is sent is late
    (40.0, 10.0, 20.0, 10.0, 1.0),       # the total is late
    (12.0, 2.0, 12.0, 10.0, 0.0)])
def test_rate_of_total_and_of_what_is_sent(wanted, driver, total, sent, slewing):
    """From 10 N.m at 1000 N.m/s for 10 ms: whichever of the two is late is told."""
    found = torque_step([wanted], [driver], [10.0], [10.0], [100.0], [1000.0], 0.01)
    assert [float(found[name][0]) for name in ('total', 'sent', 'slewing', 'saturated')] == (
        pytest.approx([total, sent, slewing, 0.0], abs=1e-9))


def test_missing_limit_is_refused_by_name():
    """Effort limits of zero count as missing; one reason names them all and what to do."""
    reasons = check_limits([10.0, 0.0, math.inf], [100.0, 100.0, 9.0], stop_time=1.0,
                           names=['a', 'wrist', 'hand'])
    assert reasons == ['no torque limit of wrist, hand: give effort in <limit> of the URDF, or '
                       'torque_limits']


@pytest.mark.parametrize('limit, rate, word', [
    ([np.inf], [1.0], 'torque limit'), ([1.0], [0.0], 'rate limit'),
    ([1.0], [np.nan], 'rate limit'), ([1.0, 2.0], [1.0], '2 torque limits but 1')])
def test_invalid_limits_are_refused(limit, rate, word):
    """Infinite, zero, NaN and unequal numbers of limits each have their reason."""
    assert word in check_limits(limit, rate, stop_time=10.0)[0]
    with pytest.raises(ValueError, match=word):
        TorqueLimiter(limit, rate, 0.001)


def test_too_slow_rate_is_refused_with_the_needed_one():
    """Limit over rate beyond stop_time is refused and the least rate is named."""
    assert not check_limits([80.0], [80.0], stop_time=1.0)
    assert '160' in check_limits([80.0], [80.0], stop_time=0.5)[0]


def test_stop_must_fit_into_its_deadline():
    """The longest sequence is added up; the default fits, a long hold does not."""
    assert not stop_reasons(Timing())
    assert 'hold_time' in stop_reasons(Timing(hold_time=1.0))[0]
