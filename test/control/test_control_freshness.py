# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Age of states by two independent measures, and how often they come, on a fake clock."""

from joint_stream import JointStream, NAMES as ARM
import pytest
from rbd_ros.control.interface.events import Joints
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states import ages
from rbd_ros.control.joint_states.ages import Freshness, observe, StreamAge
from rbd_ros.control.joint_states.sources import AgeLimits, restart_source, Sources
from rbd_ros.control.joint_states.timeliness import count_state, Rate, restart_rate

PROBE, FRESH, OLD, REPEATED, AHEAD = Freshness
SIZES = {'n': 1, 'm': 1, 's': 1}


class Age:
    """One stream of controlled joints."""

    def __init__(self, timeout=0.1, *, offset=None, **limits):
        self.x, self.p = Sources(SIZES).plain(), AgeLimits(SIZES).plain()
        self.p.state_timeout, self.p.same_clock = timeout, float(offset is not None)
        self.p.clock_offset = offset or 0.0
        for name, value in limits.items():
            setattr(self.p, name, value)
        self.restart()

    def restart(self):
        restart_source(self.x, 0)
        self.x.driven_by[0] = 1.0

    def take(self, now, stamp):
        """Take a message; whole seconds may be any number, so that times are exact in binary."""
        return Freshness(observe(self.x, self.p, 0, now, stamp, 0.0))

    def feed(self, start, count, period=0.001, lag=0.0, offset=1e4):
        """Receive messages of a perfect publisher."""
        return [self.take(start + k * period + lag, start + k * period + offset)
                for k in range(count)]

    def __getattr__(self, name):
        return getattr(self.x, name)[0]

    @property
    def reason(self):
        word = int(self.x.word[0])
        return ArrivalWord(word).text('', self.x.word_a[0], self.x.word_b[0]) if word else ''


@pytest.fixture
def steady_clocks(monkeypatch):
    """Let no clock drift, so that offsets are exact."""
    monkeypatch.setattr(ages, '_DRIFT', 0.0)


def test_first_states_are_only_probes():
    """Exactly the first message and the given number of probes after it, also after a gap."""
    age = Age(probes=3)
    assert age.feed(0.0, 5) == [PROBE, PROBE, PROBE, FRESH, FRESH]
    assert age.feed(0.2, 5) == [PROBE, PROBE, PROBE, FRESH, FRESH]
    assert age.take(0.1, 20.0) is PROBE      # the clock went back


def test_delay_shortens_expiry(steady_clocks):
    """Reception plus timeout; a message that was 30 ms late may be used 30 ms less."""
    age = Age()
    age.feed(5.0, 4)
    assert age.until == pytest.approx(5.103, abs=1e-12)
    assert age.take(5.034, 1e4 + 5.004) is FRESH
    assert age.until == pytest.approx(5.034 + 0.1 - 0.03, abs=1e-9)


def test_queue_after_stall_is_old():
    """What waited 1.4 s in a queue while the process stood still is never fresh."""
    age = Age(probes=2)
    age.feed(0.0, 10)
    burst = [age.take(1.41 + k * 1e-5, 0.01 + k * 0.001 + 1e4) for k in range(10)]
    assert FRESH not in burst
    assert age.feed(1.42, 6)[-1] is FRESH


def test_a_burst_proves_nothing():
    """Of stamped messages at the very beginning; without stamps the period unmasks it."""
    age = Age(probes=3)
    assert FRESH not in [age.take(7.0 + k * 1e-5, k * 0.001 + 1e4) for k in range(50)]
    age = Age(probes=3, period=0.001)
    assert FRESH not in [age.take(7.0 + k * 1e-5, 0.0) for k in range(50)]
    assert age.unstamped and age.reason == 'messages arrive in a burst'
    assert FRESH in [age.take(7.1 + k * 1e-3, 0.0) for k in range(50)]


@pytest.mark.parametrize('pace, fresh', [(0.25, False), (0.484375, False), (0.5, True),
                                         (2.0, True), (2.03125, False)])
def test_stamps_advance_about_as_fast_as_messages_come(pace, fresh):
    """At the start stamps that stand almost still prove nothing, nor do those that run ahead."""
    age, tick = Age(0.125, probes=4), 2.0**-10
    found = [age.take(8.0 + k * tick, 1024.0 + k * pace * tick) for k in range(20)]
    assert (FRESH in found) is fresh
    assert age.reason.startswith('' if fresh else 'stamps advanced')


def test_repeated_stamp_is_no_new_state():
    """A stamp that stands still or goes back does not renew the state."""
    age = Age()
    age.feed(0.0, 5)
    expiry = age.until
    assert age.take(0.006, 1e4 + 0.004) is REPEATED
    assert age.take(0.007, 1e4 + 0.001) is REPEATED
    assert age.until == expiry


def test_growing_lag_ends_freshness():
    """A stream whose lag grows beyond the timeout stops being fresh though messages come."""
    age = Age(0.05)
    results = [age.take(k * 0.0012, k * 0.001 + 1e4) for k in range(600)]
    assert results[200] is FRESH
    assert FRESH not in results[300:]
    assert OLD in results


def test_lag_is_remembered_until_restart():
    """Across a gap, and however many states come too late: only clocks may drift."""
    age = Age(probes=2)
    age.feed(0.0, 10)
    assert FRESH not in age.feed(2.0, 50, lag=1.0)
    age.restart()
    assert FRESH in age.feed(4.0, 50, lag=1.0)
    age.restart()
    age.feed(10.0, 50)
    assert FRESH not in age.feed(10.2, 5000, lag=0.15)
    assert age.excess >= 0.15 - 1e-3 * 5.5


@pytest.mark.parametrize('jump, seen', [(0.09, False), (0.11, True), (3600.0, True)])
@pytest.mark.parametrize('gap', [0.001, 0.3])
def test_stamps_that_jump_ahead_are_checked_anew(jump, seen, gap):
    """A clock that was set ahead for good is noticed, also across a gap; its age counts anew."""
    age = Age(probes=2)
    age.feed(10.0, 50)
    begin = 10.049 + gap
    kinds = age.feed(begin, 5, offset=1e4 + jump)
    anew = seen or gap > 0.1
    assert kinds == ([PROBE, PROBE] if anew else []) + [FRESH] * (3 if anew else 5)
    assert age.ahead == seen and (not seen or age.lead == pytest.approx(jump, abs=1e-3))
    assert age.take(begin + 0.1, 1e4 + jump + begin + 0.01) is FRESH  # 90 ms late
    assert age.excess == pytest.approx(0.09, abs=1e-3)
    assert age.take(begin + 0.15, 1e4 + jump + begin + 0.03) is OLD  # 120 ms late


def test_where_clocks_are_one_stamps_are_absolute():
    """The first messages are known to be old; a state from the future is none, also later."""
    age = Age(offset=-1e4)
    assert set(age.feed(5.0, 5, offset=1e4 + 0.2)) <= {PROBE, AHEAD}
    assert 'ahead of the clock' in age.reason
    age.restart()
    assert FRESH not in age.feed(6.0, 20, lag=0.5)
    age.restart()
    assert age.feed(7.0, 4, lag=0.01)[-1] is FRESH
    assert age.feed(7.02, 3, offset=1e4 + 3600.0) == [AHEAD] * 3
    assert age.feed(7.03, 2) == [FRESH] * 2


def test_slow_drift_of_clocks_is_no_lag():
    """Clocks that run apart by 500 ppm stay fresh until they are far apart, also over a gap."""
    age = Age(0.05)
    age.feed(0.0, 3)
    assert {age.take(k * 0.04, k * 0.04 * (1.0 - 5e-4) + 1e4)
            for k in range(1, 10000)} == {FRESH}
    for lag, excess in ((0.015, 0.0), (0.05, 0.03)):
        age = Age(probes=2)
        age.feed(5.0, 5)
        age.feed(25.004 - lag, 5, lag=lag)
        assert age.excess == pytest.approx(excess, abs=2e-5) and age.proven


def test_offset_of_the_first_message_counts(steady_clocks):
    """A stream whose first message came without delay is late by what the others have more."""
    age = Age(probes=2)
    age.take(5.0, 1e4 + 5.0)
    age.feed(5.01, 4, lag=0.03)
    assert age.excess == pytest.approx(0.03)
    assert age.until == pytest.approx(5.043 + 0.1 - 0.03)


def test_states_without_stamps_have_no_delay(steady_clocks):
    """Their age is the time since they were received, also where stamps came before."""
    age = Age(probes=2)
    age.feed(5.0, 5)
    age.take(5.03, 1e4 + 5.01)
    assert age.excess == pytest.approx(0.02)
    for k in range(4):
        age.take(6.0 + 0.001 * k, 0.0)
    assert age.unstamped and age.excess == 0.0 and age.until == pytest.approx(6.103)


# -- exactly at a bound; the numbers are exact in binary ---------------------------------------

TICK = 1.0 / 1024.0


@pytest.fixture
def proven(steady_clocks):
    """Return an age of 1/8 s that has proved itself at time 8, with its stamp at 24."""
    age = Age(0.125)
    age.take(8.0 - TICK, 24.0 - TICK)
    assert age.take(8.0, 24.0) is FRESH
    return age


@pytest.mark.parametrize('more, found', [(0.0, FRESH), (TICK, PROBE)])
def test_a_gap_of_exactly_the_timeout_is_no_gap(proven, more, found):
    """One timeout after the last one a message still goes on; a tick later it begins anew."""
    assert proven.take(8.125 + more, 24.125 + more) is found


def test_a_message_exactly_one_timeout_late_is_the_last_one(proven):
    """It may be used at the instant of its arrival and not after; a tick more is old."""
    proven.take(8.0 + 2 * TICK, 24.0 + TICK)
    assert proven.take(8.125 + 2 * TICK, 24.0 + 2 * TICK) is FRESH  # late by exactly 1/8 s
    assert proven.excess == 0.125
    assert proven.until == 8.125 + 2 * TICK
    assert proven.take(8.125 + 4 * TICK, 24.0 + 3 * TICK) is OLD
    assert proven.until == 8.125 + 2 * TICK


def test_stamps_that_stand_almost_still_grow_old(proven):
    """Stamps that advance by a nanosecond advance; the lag shows it, after exactly the timeout."""
    found = [proven.take(8.0 + k * TICK, 24.0 + k * 2.0**-30) for k in range(1, 200)]
    first = found.index(OLD)
    assert set(found[:first]) == {FRESH} and set(found[first:]) == {OLD}
    assert first == 128  # 1/8 s in ticks, the stamps being a little ahead
    assert 'stamps fall behind reception: the state was 0.1943 s old' in proven.reason


@pytest.mark.parametrize('period, good', [(1.0 / 64.0, True), (1.0 / 64.0 + TICK / 8.0, False)])
def test_exactly_the_minimum_rate_is_enough(period, good):
    """At the minimum a stream proves itself and a window is not low; below it neither holds."""
    age = Age(0.125, probes=4, minimum_rate=64.0)
    assert (age.feed(8.0, 5, period, offset=16.0)[-1] is FRESH) is good
    assert good or '63.5 Hz is below minimum_rate 64 Hz' in age.reason
    rate, joints = Rate(SIZES), Joints(SIZES)
    for k in range(70):
        count_state(rate, joints, 64.0, 8.0 + k * period)
    assert bool(joints.rate_low) is not good
    assert joints.rate == pytest.approx(1.0 / period)


def test_rate_begins_anew_without_a_verdict():
    """A low window of the past says nothing about a stream that begins again."""
    rate, joints, found = Rate(SIZES), Joints(SIZES), []
    for k in range(6):
        assert (joints.rate, joints.rate_low) == (0.0, 0.0)
        count_state(rate, joints, 100.0, 0.1 * k)
    assert joints.rate_low and joints.rate == pytest.approx(10.0)
    count_state(rate, joints, 100.0, 0.6)
    restart_rate(rate, joints)
    for k in range(101):
        found.append((joints.rate, joints.rate_low))
        count_state(rate, joints, 100.0, 9.0 + 0.005 * k)
    assert set(found) == {(0.0, 0.0)}
    assert joints.rate == pytest.approx(200.0) and not joints.rate_low  # none of before counts


# -- what is said of it ---------------------------------------------------------------------------

@pytest.mark.parametrize(('silent', 'late', 'text'), [
    (0.101, 0.0, 'no message for 0.101 s'), (0.095, 0.009, 'no message for 0.095 s'),
    (0.095, 0.011, 'no message for 0.095 s, and the last state was 0.011 s old when it arrived'),
    (0.051, 0.06, 'no message for 0.051 s, and the last state was 0.06 s old when it arrived'),
    (0.049, 0.09, 'stamps fall behind reception: the state was 0.09 s old when it arrived')])
def test_the_larger_part_of_the_age_is_the_reason(steady_clocks, silent, late, text):
    """Half of the timeout in silence explains a loss, else the delay; a tenth is told beside."""
    stream = JointStream()
    for wait in (0.0, 0.0, 0.0, late):
        stream.send(ARM, [0.0] * 3, [0.0] * 3, late=wait)
    assert stream.diagnose(late + silent) == ('STATE_STALE', f'a, b, c: {text}')


def test_refused_messages_are_no_silence():
    """What came and could not be used is told, within half a timeout as the whole reason."""
    stream = JointStream()
    for k in range(9):
        stream.send(ARM, [0.0] * (3 if k < 2 else 1))
    assert stream.diagnose(0.04)[1] == 'a, b, c: 1 positions for 3 names'
    assert stream.diagnose(0.15)[1] == (
        'a, b, c: no message for 0.15 s (of the last one: 1 positions for 3 names)')


def test_other_messages_are_measured_alike():
    """Directions of gravity: three probes, then the delay above the smallest one; texts."""
    age = StreamAge(0.5, 3)
    assert [age.is_fresh(3.0 + 0.1 * k, 70, 100_000_000 * k) for k in range(5)] == [
        False, False, False, True, True]
    assert age.reason == '' and age.is_fresh(3.6, 70, 500_000_000)
    assert age.excess == pytest.approx(0.1, abs=1e-3)
    assert not age.is_fresh(3.7, 70, 500_000_000)
    assert age.reason == 'the stamp does not advance'
    age = StreamAge(0.5, 1, 0.0)
    assert not any(age.is_fresh(3.0 + 0.1 * k, 0, 100_000_000 * (k + 1)) for k in range(9))
    assert 'stamps fall behind reception' in age.reason


def test_why_a_stream_is_checked_anew():
    """Silence is a gap of so many seconds; messages that could not be used are what they were."""
    age = StreamAge(0.5, 1, 0.0)
    assert not age.is_fresh(1.0, 1, 0) and age.is_fresh(1.1, 1, 100_000_000)
    assert not age.is_fresh(3.1, 3, 100_000_000)
    assert age.reason == ArrivalWord.GAP.text('', 2.0, 0.0)
    assert age.is_fresh(3.2, 3, 200_000_000)
    assert not age.is_fresh(3.6, 3, 50_000_000) and not age.is_fresh(3.61, 3, 60_000_000)
    before = age.reason
    assert before != '' and not age.is_fresh(3.8, 3, 800_000_000)  # the last that was used: 3.2
    assert age.reason == before
