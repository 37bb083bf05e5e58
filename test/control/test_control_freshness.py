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

"""Age of states by two independent measures, on a fake clock."""

import numpy as np
import pytest
from rbd_ros.control.former.safety.freshness import Freshness, RateMeter, StateAge

PROBE, FRESH, OLD, REPEATED, AHEAD = Freshness


def feed(age, start, count, period=0.001, lag=0.0, offset=1e4):
    """Receive messages of a perfect publisher."""
    return [age.observe(start + k * period + lag, start + k * period + offset)
            for k in range(count)]


def test_first_states_are_only_probes():
    """Exactly the first message and the given number of probes after it are not used."""
    age = StateAge(0.1, probes=3)
    assert feed(age, 0.0, 5) == [PROBE, PROBE, PROBE, FRESH, FRESH]


def test_expiry_is_reception_plus_timeout():
    """A message without extra delay may be used for exactly the timeout."""
    age = StateAge(0.1, probes=1)
    feed(age, 5.0, 4)
    assert abs(age.expiry - 5.103) < 1e-12


def test_delay_shortens_expiry():
    """A message that was 30 ms late may be used 30 ms less."""
    age = StateAge(0.1, probes=1, drift=0.0)
    feed(age, 5.0, 4)
    assert age.observe(5.034, 1e4 + 5.004) is FRESH
    assert abs(age.expiry - (5.034 + 0.1 - 0.03)) < 1e-9


def test_gap_needs_new_probes():
    """After any silence longer than the timeout the stream must prove itself again."""
    age = StateAge(0.1, probes=2)
    feed(age, 0.0, 10)
    assert feed(age, 0.2, 4) == [PROBE, PROBE, FRESH, FRESH]


def test_queue_after_stall_is_old():
    """What waited 1.4 s in a queue while the process stood still is never fresh."""
    age = StateAge(0.1, probes=2)
    feed(age, 0.0, 10)
    burst = [age.observe(1.41 + k * 1e-5, 0.01 + k * 0.001 + 1e4) for k in range(10)]
    assert FRESH not in burst
    assert feed(age, 1.42, 6)[-1] is FRESH


def test_burst_at_activation_does_not_prove():
    """A burst of stamped messages at the very beginning proves nothing."""
    age = StateAge(0.1, probes=3)
    assert FRESH not in [age.observe(7.0 + k * 1e-5, k * 0.001 + 1e4) for k in range(50)]


def test_burst_without_stamps_does_not_prove():
    """Without stamps the nominal period unmasks the burst."""
    age = StateAge(0.1, probes=3, period=0.001)
    assert FRESH not in [age.observe(7.0 + k * 1e-5, 0.0) for k in range(50)]
    assert age.unstamped
    assert FRESH in [age.observe(7.1 + k * 1e-3, 0.0) for k in range(50)]


@pytest.mark.parametrize('pace, fresh', [(0.25, False), (0.484375, False), (0.5, True),
                                         (2.0, True), (2.03125, False)])
def test_stamps_advance_about_as_fast_as_messages_come(pace, fresh):
    """At the start stamps that stand almost still prove nothing, nor do those that run ahead."""
    age, tick = StateAge(0.125, probes=4), 2.0**-10
    found = [age.observe(8.0 + k * tick, 1024.0 + k * pace * tick) for k in range(20)]
    assert (FRESH in found) is fresh
    assert age.reason.startswith('' if fresh else 'stamps advanced')


def test_repeated_stamp_is_no_new_state():
    """A stamp that stands still or goes back does not renew the state."""
    age = StateAge(0.1, probes=1)
    feed(age, 0.0, 5)
    expiry = age.expiry
    assert age.observe(0.006, 1e4 + 0.004) is REPEATED
    assert age.observe(0.007, 1e4 + 0.001) is REPEATED
    assert age.expiry == expiry


def test_growing_lag_ends_freshness():
    """A stream whose lag grows beyond the timeout stops being fresh though messages come."""
    age = StateAge(0.05, probes=1)
    results = [age.observe(k * 0.0012, k * 0.001 + 1e4) for k in range(600)]
    assert results[200] is FRESH
    assert FRESH not in results[300:]
    assert OLD in results


def test_lag_is_remembered_across_a_gap_until_restart():
    """A stream that comes back one second later than it was is believed only after restart."""
    age = StateAge(0.1, probes=2)
    feed(age, 0.0, 10)
    assert FRESH not in feed(age, 2.0, 50, lag=1.0)
    age.restart()
    assert FRESH in feed(age, 4.0, 50, lag=1.0)


def test_lag_is_not_forgotten_while_old_states_come():
    """However many states come too late, the smallest delay creeps by the drift of clocks only."""
    age = StateAge(0.1, period=0.001)
    feed(age, 10.0, 50)
    kinds = set(feed(age, 10.2, 5000, lag=0.15))
    assert Freshness.FRESH not in kinds
    assert age.excess >= 0.15 - 1e-3 * 5.5


@pytest.mark.parametrize('jump, seen', [(0.09, False), (0.11, True), (3600.0, True)])
@pytest.mark.parametrize('gap', [0.001, 0.3])
def test_stamps_that_jump_ahead_are_checked_anew(jump, seen, gap):
    """A clock that was set ahead for good is noticed, also across a gap; its age counts anew."""
    age = StateAge(0.1, probes=2)
    feed(age, 10.0, 50)
    begin = 10.049 + gap
    kinds = feed(age, begin, 5, offset=1e4 + jump)
    anew = seen or gap > 0.1
    assert kinds == ([PROBE, PROBE] if anew else []) + [FRESH] * (3 if anew else 5)
    assert age.leaps == seen and (not seen or age.lead == pytest.approx(jump, abs=1e-3))
    assert age.observe(begin + 0.1, 1e4 + jump + begin + 0.01) is FRESH  # 90 ms late
    assert age.excess == pytest.approx(0.09, abs=1e-3)
    assert age.observe(begin + 0.15, 1e4 + jump + begin + 0.03) is OLD  # 120 ms late


def test_stamps_ahead_of_their_own_clock_are_not_used():
    """Where clocks are one, a state from the future is none, at first and later."""
    age = StateAge(0.1, probes=1, offset=-1e4)
    assert set(feed(age, 5.0, 5, offset=1e4 + 0.2)) <= {PROBE, AHEAD}
    assert 'ahead of the clock' in age.reason
    age.restart()
    assert feed(age, 6.0, 4)[-1] is FRESH
    assert feed(age, 6.004, 3, offset=1e4 + 3600.0) == [AHEAD] * 3
    assert feed(age, 6.007, 2) == [FRESH] * 2


def test_slow_drift_of_clocks_is_no_lag():
    """Clocks that run apart by 500 ppm stay fresh for an hour."""
    age = StateAge(0.05, probes=1)
    feed(age, 0.0, 3)
    assert {age.observe(k * 0.04, k * 0.04 * (1.0 - 5e-4) + 1e4)
            for k in range(1, 90000)} == {FRESH}


def test_synchronised_stamps_are_absolute():
    """With a known offset even the very first messages are known to be old."""
    age = StateAge(0.1, probes=1, offset=0.0)
    assert FRESH not in feed(age, 5.0, 20, lag=0.5, offset=0.0)
    age.restart()
    assert FRESH in feed(age, 6.0, 20, lag=0.01, offset=0.0)


def test_slow_stream_is_refused_with_the_rate():
    """Probes slower than the minimum rate do not prove, and the reason gives both rates."""
    age = StateAge(0.1, probes=4, minimum_rate=100.0)
    assert FRESH not in feed(age, 0.0, 40, period=1 / 30)
    assert '30 Hz is below the minimum 100' in age.reason
    age.restart()
    assert FRESH in feed(age, 10.0, 40, period=1 / 100)


def test_clock_that_goes_back_restarts():
    """A reception earlier than the last one starts the proof again."""
    age = StateAge(0.1, probes=1)
    feed(age, 10.0, 5)
    assert age.observe(3.0, 1e4 + 20.0) is PROBE


def test_rate_meter_windows():
    """A window of half a second with 40 events is 80 Hz and below 100 Hz."""
    meter = RateMeter(100.0, 0.5)
    closed = [meter.event(k / 80) for k in range(41)]
    assert closed.index(True) == 40
    assert abs(meter.rate - 80.0) < 1e-9
    assert meter.low


def test_what_is_expected_is_judged_like_that():
    """A message that goes on with the stream is fresh or too old; every other one is neither."""
    rng = np.random.default_rng(7)
    age = StateAge(0.1, probes=2)
    now, stamp, seen = 0.0, 1e4, set()
    for _ in range(20000):
        now += rng.choice([0.001, 0.02, 0.2, -0.01], p=[0.94, 0.04, 0.01, 0.01])
        stamp = max(stamp, now + 1e4)
        given = rng.choice([stamp, stamp - 0.01, 0.0], p=[0.93, 0.02, 0.05])
        expected, was = age.expects(now, given), (age.proven, age.unstamped)
        found = age.observe(now, given)
        seen.add((expected, found))
        if expected:
            assert found in (FRESH, OLD)
        elif found is FRESH:  # the proof itself, or the first one without a stamp
            assert not was[0] or (given == 0.0 and not was[1])
    assert {(True, FRESH), (False, PROBE), (False, REPEATED), (False, FRESH)} <= seen


# -- exactly at a bound; the numbers are exact in binary ---------------------------------------

TICK = 1.0 / 1024.0


def proven(**options):
    """Return an age of 1/8 s that has proved itself at time 8, with its stamp at 24."""
    age = StateAge(0.125, probes=1, drift=0.0, **options)
    age.observe(8.0 - TICK, 24.0 - TICK)
    assert age.observe(8.0, 24.0) is FRESH
    return age


def test_a_gap_of_exactly_the_timeout_is_no_gap():
    """One timeout after the last one a message still goes on; a tick later it begins anew."""
    assert proven().observe(8.125, 24.125) is FRESH
    assert proven().expects(8.125, 24.125)
    assert proven().observe(8.125 + TICK, 24.125 + TICK) is PROBE
    assert not proven().expects(8.125 + TICK, 24.125 + TICK)


def test_a_message_exactly_one_timeout_late_is_the_last_one():
    """It may be used at the instant of its arrival and not after; a tick more is old."""
    age = proven()
    assert age.observe(8.125, 24.0 + TICK) is FRESH  # late by 1/8 s less a tick
    assert age.expiry == 8.125 + TICK
    age = proven()
    age.observe(8.0 + 2 * TICK, 24.0 + TICK)
    assert age.observe(8.125 + 2 * TICK, 24.0 + 2 * TICK) is FRESH  # late by exactly 1/8 s
    assert age.excess == 0.125
    assert age.expiry == 8.125 + 2 * TICK
    assert age.observe(8.125 + 4 * TICK, 24.0 + 3 * TICK) is OLD
    assert age.expiry == 8.125 + 2 * TICK


def test_stamps_that_stand_almost_still_grow_old():
    """Stamps that advance by a nanosecond advance; the lag shows it, after exactly the timeout."""
    age, found = proven(), []
    for k in range(1, 200):
        found.append(age.observe(8.0 + k * TICK, 24.0 + k * 2.0**-30))
    first = found.index(OLD)
    assert set(found[:first]) == {FRESH} and set(found[first:]) == {OLD}
    assert first == 128  # 1/8 s in ticks, the stamps being a little ahead
    assert 'stamps fall behind reception: the state was 0.1943 s old' in age.reason


def test_exactly_the_minimum_rate_is_enough():
    """At the minimum a stream proves itself and a window is not low; below it neither holds."""
    for period, good in ((1.0 / 64.0, True), (1.0 / 64.0 + TICK / 8.0, False)):
        age = StateAge(0.125, probes=4, minimum_rate=64.0)
        last = [age.observe(8.0 + k * period, 24.0 + k * period) for k in range(5)][-1]
        assert (last is FRESH) is good
        meter = RateMeter(64.0, window=0.5)
        for k in range(70):
            meter.event(8.0 + k * period)
        assert meter.low is not good
        assert meter.rate == 1.0 / period or not good


def test_offset_of_the_first_message_counts():
    """A stream whose first message came without delay is late by what the others have more."""
    age = StateAge(0.1, probes=2, drift=0.0)
    age.observe(5.0, 1e4 + 5.0)
    feed(age, 5.01, 4, lag=0.03)
    assert age.excess == pytest.approx(0.03)
    assert age.expiry == pytest.approx(5.043 + 0.1 - 0.03)


@pytest.mark.parametrize(('lag', 'excess'), [(0.015, 0.0), (0.05, 0.03)])
def test_clocks_may_drift_during_a_gap(lag, excess):
    """After 20 s of silence 20 ms more are no delay at 1 ms/s, more are."""
    age = StateAge(0.1, probes=2, drift=1e-3)
    feed(age, 5.0, 5)
    feed(age, 25.004 - lag, 5, lag=lag)
    assert age.excess == pytest.approx(excess, abs=2e-5)
    assert age.proven


def test_states_without_stamps_have_no_delay():
    """Their age is the time since they were received, also where stamps came before."""
    age = StateAge(0.1, probes=2, drift=0.0)
    feed(age, 5.0, 5)
    age.observe(5.03, 1e4 + 5.01)
    assert age.excess == pytest.approx(0.02)
    for k in range(4):
        age.observe(6.0 + 0.001 * k, 0.0)
    assert age.unstamped and age.excess == 0.0 and age.expiry == pytest.approx(6.103)


@pytest.mark.parametrize(('silent', 'late', 'text'), [
    (0.051, 0.0, 'no message for 0.051 s'),
    (0.06, 0.011, 'no message for 0.06 s, and the last state was 0.011 s old when it arrived'),
    (0.06, 0.009, 'no message for 0.06 s'),
    (0.049, 0.09, 'stamps fall behind reception: the state was 0.09 s old when it arrived')])
def test_the_larger_part_of_the_age_is_the_reason(silent, late, text):
    """Half of the timeout in silence explains a loss, else the delay; a tenth is told beside."""
    age = StateAge(0.1, probes=2, drift=0.0)
    feed(age, 5.0, 5)
    age.observe(5.01 + late, 1e4 + 5.01)
    assert age.explain(5.01 + late + silent) == text


def test_refused_messages_are_no_silence():
    """What came and could not be used is told, within half a timeout as the whole reason."""
    age = StateAge(0.1, probes=2, drift=0.0)
    feed(age, 5.0, 5)
    age.refuse(5.05, 'two names')
    assert age.last_arrival == 5.05 and age.explain(5.09) == 'two names'
    assert age.explain(5.2) == 'no message for 0.15 s (of the last one: two names)'
    fresh = StateAge(0.1)
    assert fresh.last_arrival == fresh.received == -np.inf
    fresh.refuse(1.0, 'x')
    assert fresh.last_arrival == 1.0


def test_rate_meter_restarts_without_a_verdict():
    """A low window of the past says nothing about a stream that begins again."""
    meter = RateMeter(100.0, 0.5)
    assert (meter.rate, meter.low) == (0.0, False)
    assert [meter.event(0.1 * k) for k in range(6)] == [False] * 5 + [True]
    assert meter.low and meter.rate == pytest.approx(10.0)
    meter.event(0.6)
    meter.restart()
    assert (meter.rate, meter.low) == (0.0, False)
    assert not meter.event(9.0) and not meter.low
    assert [meter.event(9.0 + 0.005 * k) for k in range(1, 101)] == [False] * 99 + [True]
    assert meter.rate == pytest.approx(200.0) and not meter.low      # none of before is counted
