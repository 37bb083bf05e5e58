# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Torque limits in N.m and N.m/s, and the fading of one law into another."""

import math

from hypothesis import example, given, strategies as st
import numpy as np
import pytest
from rbd_ros.control.kernels.proportion import in_proportion
from rbd_ros.control.parameters.rules import limit_reasons, stop_reasons
from rbd_ros.control.supervisor.states import STOP_LIMIT, Timing
from rbd_ros.control.torque.fade import Fade, smooth_step
from rbd_ros.control.torque.limiter import is_finite, Limiter, LimiterParameters

LIMIT, RATE = np.array([10.0, 40.0]), np.array([100.0, 400.0])


class Limits:
    """The limits of two joints at 1 kHz."""

    def __init__(self, limit=LIMIT, rate=RATE, **memory):
        self.x, self.p = Limiter({'n': len(limit)}), LimiterParameters({'n': len(limit)})
        self.p.period, self.p.limit[:], self.p.rate[:] = 0.001, limit, rate
        for name, value in memory.items():
            getattr(self.x, name)[:] = value

    def apply(self, torque, dt, find=Limiter.apply):
        """Return the total torque that may be sent now."""
        find(self.x.plain(), self.p.plain(), np.array(torque, float), dt)
        return self.x.total.copy()

    def send(self, torque, dt):
        """Send it."""
        found = self.apply(torque, dt)
        self.x.plain().commit()
        return found

    def reset(self, torque):
        """Begin from what acts."""
        self.x.plain().begin(self.p.plain(), np.array(torque))


# -- limits ---------------------------------------------------------------------------------------

def test_rate_is_per_second():
    """A step is approached by rate times dt, whatever the number of calls."""
    one, two = Limits(), Limits()
    one.send(LIMIT, 0.002)
    for _ in range(2):
        two.send(LIMIT, 0.001)
    np.testing.assert_allclose(one.x.last, RATE * 0.002, rtol=1e-14)
    np.testing.assert_allclose(two.x.last, one.x.last, rtol=1e-14)


@pytest.mark.parametrize('dt, allowed', [
    (1.0, 0.002), (0.0, 0.0), (-1.0, 0.0), (math.nan, 0.0), (math.inf, 0.002)])
def test_dt_is_capped_at_two_periods(dt, allowed):
    """After a stall the step is that of two periods; time that stands or goes back gives none."""
    np.testing.assert_allclose(Limits().apply(LIMIT, dt), RATE * allowed, rtol=1e-14)


def test_memory_is_what_was_published():
    """A computed torque that was not committed does not count."""
    subject = Limits()
    for _ in range(100):
        subject.apply(LIMIT, 0.001)
    np.testing.assert_allclose(subject.apply(LIMIT, 0.001), RATE * 0.001, rtol=1e-14)


def test_flags_tell_limit_from_rate():
    """The two flags say per joint which of the two limits acts."""
    subject = Limits()
    subject.reset([9.95, 0.0])
    for torque, saturated, slewing in (
            ([11.0, 0.1], [1, 0], [0, 0]), ([0.0, 30.0], [0, 0], [1, 1]),
            ([-10.0, 40.0 * (1.0 - 1e-12)], [1, 1], [1, 1])):  # reduced to a limit by a law
        subject.apply(torque, 0.001)
        assert subject.x.saturated.tolist() == saturated
        assert subject.x.slewing.tolist() == slewing


@pytest.mark.parametrize('slow', [0, 1])
def test_joints_keep_step(slow):
    """A joint at its rate limit slows the others down: the change of torque keeps direction."""
    subject = Limits()
    wanted = np.array([[5.0, 3.0], [0.5, -30.0]][slow])
    while True:
        before = subject.x.last.copy()
        after = subject.send(wanted, 0.001)
        if not subject.x.slewing.any():
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
    subject = Limits()
    subject.reset([50.0, -50.0])
    assert subject.x.last.tolist() == [10.0, -40.0]


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308])
def test_non_finite_never_passes(bad):
    """A law that is no number is caught before the clamp, which would make full torque of it."""
    assert not is_finite(np.array([bad, bad])) and is_finite(np.array([1.0, 2.0]))


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1.0, 1.0)),
                max_size=40))
def test_output_is_always_inside(steps):
    """Whatever is asked at whatever times, the output keeps both limits."""
    subject = Limits()
    for a, b, dt in steps:
        before = subject.x.last.copy()
        output = subject.send([a, b], dt)
        assert (np.abs(output) <= LIMIT).all()
        allowed = RATE * min(max(dt, 0.0), 0.002)
        assert (np.abs(output - before) <= allowed + 1e-13).all()


@pytest.mark.parametrize('find', [Limiter.apply, Limiter.release])
@given(st.lists(st.tuples(st.floats(-50.0, 50.0), st.floats(-60.0, 60.0), st.floats(0.0, 0.003)),
                min_size=1, max_size=40))
def test_what_is_sent_is_inside_whatever_the_driver_adds(find, steps):
    """A driver's part that jumps moves neither what is sent nor its rate beyond the limits."""
    subject = Limits(driver=steps[0][1])
    subject.reset([0.0, 0.0])
    x, sent = subject.x, subject.x.last_sent.copy()
    for wanted, driver, dt in steps:
        x.driver[:] = driver
        subject.apply([wanted, wanted], dt, find)
        x.plain().commit()
        assert (np.abs(x.sent) <= LIMIT).all()
        assert (np.abs(x.sent - sent) <= RATE * min(dt, 0.002) + 1e-13).all()
        np.testing.assert_array_equal(x.last, x.sent + driver)  # what acts
        sent = x.sent.copy()


def test_driver_that_jumps_is_followed_at_the_rate():
    """After a jump of the driver's part all joints go to the new command in the same time."""
    subject = Limits(driver=2.0)
    subject.reset([5.0, 5.0])
    assert subject.x.last_sent.tolist() == [3.0, 3.0]
    subject.x.driver[:] = 4.0  # 2 N.m at 100 and 400 N.m/s take 20 and 5 steps of 1 ms
    for k in range(1, 21):
        subject.send([5.0, 5.0], 0.001)
        np.testing.assert_allclose(subject.x.sent, 3.0 - 0.1 * k, atol=1e-12)
        if k not in (17, 20):  # what is left is one step: by rounding, or all but that
            assert subject.x.slewing.tolist() == [k < 20, k < 17]
    np.testing.assert_allclose(subject.x.last, 5.0, atol=1e-12)


@pytest.mark.parametrize(('wanted', 'driver', 'total', 'sent', 'slewing'), [
    (10.0, 0.0, 10.0, 10.0, 0.0),
    (10.0, 50.0, 50.0, 0.0, 1.0),  # what is sent is late
    (40.0, 10.0, 20.0, 10.0, 1.0),  # the total is late
    (12.0, 2.0, 12.0, 10.0, 0.0)])
def test_rate_of_total_and_of_what_is_sent(wanted, driver, total, sent, slewing):
    """From 10 N.m at 1000 N.m/s for 10 ms: whichever of the two is late is told."""
    subject = Limits([100.0], [1000.0], driver=driver, last=10.0, last_sent=10.0)
    subject.p.period = 0.01
    subject.apply([wanted], 0.01)
    assert [float(getattr(subject.x, name)[0]) for name in (
        'total', 'sent', 'slewing', 'saturated')] == pytest.approx(
            [total, sent, slewing, 0.0], abs=1e-9)


# -- limits that are refused ----------------------------------------------------------------------

def test_missing_limit_is_refused_by_name():
    """Effort limits of zero count as missing; one reason names them all and what to do."""
    reasons = limit_reasons([10.0, 0.0, math.inf], [100.0, 100.0, 9.0], stop_time=1.0,
                            names=['a', 'wrist', 'hand'])
    assert reasons == ['no torque limit of wrist, hand: give effort in <limit> of the URDF, or '
                       'torque_limits']


@pytest.mark.parametrize('limit, rate, word', [
    (np.inf, 1.0, 'torque limit'), (1.0, 0.0, 'rate limit'), (1.0, np.nan, 'rate limit')])
def test_invalid_limits_are_refused(limit, rate, word):
    """Infinite, zero and NaN limits each have their reason."""
    assert word in limit_reasons([limit], [rate], stop_time=10.0, names=['a'])[0]


def test_too_slow_rate_is_refused_with_the_needed_one():
    """Limit over rate beyond stop_time is refused and the least rate is named."""
    assert not limit_reasons([80.0], [80.0], stop_time=1.0, names=['a'])
    assert '160' in limit_reasons([80.0], [80.0], stop_time=0.5, names=['a'])[0]


def test_stop_must_fit_into_its_deadline():
    """The longest sequence is added up; the default fits, a long hold does not."""
    assert not stop_reasons(Timing())
    assert 'hold_time' in stop_reasons(Timing(hold_time=1.0))[0]
    rest = STOP_LIMIT - Timing(brake_time=0.0).longest_stop
    assert not stop_reasons(Timing(brake_time=rest - 1e-6))
    assert stop_reasons(Timing(brake_time=rest + 1e-6))  # the process would end before


# -- fading ---------------------------------------------------------------------------------------

class Switch:
    """The offset of one joint, which fades within 0.5 s."""

    def __init__(self, limit=40.0):
        self.x, self.limit, self.duration = Fade({'n': 1}).plain(), limit, 0.5

    def apply(self, now, torque, speed=0.0):
        """Return the torque of a law with the offset of now."""
        found = np.array([torque])
        self.x.add(np.array([self.limit]), self.duration, now, found, np.array([speed]))
        return found[0]

    def take_over(self, torque):
        """Begin a law after a torque of none."""
        self.x.take(np.array([torque]))
        self.switch()

    def switch(self):
        """Begin another law."""
        self.x.arm(0.5)

    @property
    def active(self):
        """Whether an offset fades, or is about to."""
        return self.x.fading or self.x.armed


def test_a_torque_of_no_law_ends_the_fading():
    """After a brake the next law acts as it is, unless it is switched to."""
    subject = Switch(10.0)
    subject.apply(0.0, 4.0)
    subject.switch()
    assert subject.active and subject.apply(0.1, 1.0) == pytest.approx(4.0)
    subject.x.take(np.array([-2.0]))
    assert not subject.active and subject.apply(0.2, 1.0) == 1.0
    subject.take_over(-2.0)
    assert subject.apply(0.3, 1.0) == pytest.approx(-2.0)
    assert subject.apply(0.55, 1.0) == pytest.approx(1.0 - 3.0 * 0.5)
    assert subject.apply(0.8, 1.0) == 1.0 and not subject.active
    subject.switch()
    subject.x.cancel()
    assert not subject.active
    subject.switch()  # nothing to take over from
    assert not subject.active


@given(st.floats(-30.0, 30.0), st.floats(-30.0, 30.0), st.floats(-3.0, 3.0))
def test_switch_steps_by_less_than_a_hundredth_of_the_limit(old, new, speed):
    """Whatever two laws want inside the limit, the output never steps by 1 % of it."""
    subject = Switch()
    outputs = []
    for k in range(90, 700):
        if k == 100:
            subject.switch()
        outputs.append(subject.apply(k * 0.001, old if k < 100 else new, speed))
    assert np.abs(np.diff(outputs)).max() <= 0.01 * subject.limit
    assert outputs[0] == old
    assert outputs[-1] == new


@given(st.lists(st.tuples(st.floats(-0.1, 0.3), st.sampled_from([0.0, 0.05, 0.5, 5.0, 100.0]),
                          st.floats(-1.0, 1.0)), min_size=1, max_size=30))
@example([(0.45, 0.5, 0.0), (0.001, 5.0, 0.0)])
def test_an_offset_never_grows(moments):
    """Whatever the time to fade becomes meanwhile, and wherever the clock goes to."""
    subject, now = Switch(), 0.0
    subject.take_over(20.0)
    left = subject.apply(now, 0.0)
    for elapsed, subject.duration, speed in moments:
        now += elapsed
        before, left = left, subject.apply(now, 0.0, speed)
        assert 0.0 <= left <= before
    subject.duration = 0.5
    assert subject.apply(now + 5.0, 0.0) == 0.0 and not subject.active


def test_switch_takes_over_from_the_brake():
    """A torque noted from elsewhere is the start of the next law; cancel forgets it."""
    subject = Switch()
    subject.take_over(12.0)
    assert subject.active and subject.apply(0.0, 0.0) == pytest.approx(12.0)
    subject.x.cancel()
    assert subject.apply(0.001, 0.0) == 0.0
    assert (smooth_step(-1.0), smooth_step(0.5), smooth_step(2.0)) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(('speed', 'share'), [
    (0.0125, 0.25), (0.025, 0.5), (0.05, 1.0), (0.2, 1.0), (-0.025, 0.0)])
def test_offset_falls_in_proportion_to_a_small_speed(speed, share):
    """From 0.05 rad/s on a joint moves: then 0.6 % of the limit are taken each time."""
    for offset in (10.0, -10.0):
        subject = Switch()
        subject.take_over(offset)
        subject.apply(0.0, 0.0)
        found = subject.apply(0.1, 0.0, math.copysign(speed, offset * speed))
        expected = 10.0 * (1.0 - smooth_step(0.2)) - share * 0.006 * 40.0
        assert abs(found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize('speed, gone', [(1.0, True), (-1.0, False), (0.0, False)])
def test_offset_that_drives_a_joint_falls_first(speed, gone):
    """What pushes a joint the way it moves is gone in no time; what brakes it or rests fades."""
    subject = Switch()
    subject.take_over(10.0)
    outputs = [subject.apply(k * 0.001, 0.0, speed) for k in range(100)]
    assert outputs[0] == 10.0
    if gone:  # 0.6 % of 40 N.m a time
        assert outputs[40] > 0.0 and outputs[45] == 0.0
    else:
        assert outputs[-1] == pytest.approx(10.0 * (1.0 - smooth_step(0.099 / 0.5)))
