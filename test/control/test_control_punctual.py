# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Torque begins only on states that come in time: random delays and halts, on a fake clock."""

from __future__ import annotations

from functools import cache
import math
import re

from controller_rig import AHEAD, Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.joint_states.timeliness import comes_in_time, in_time_for, Punctual

PERIOD, TIMEOUT = 0.004, 0.1  # s; the timeout is the default
MOST = 0.5 * (TIMEOUT - PERIOD)  # s of delay, or of age when the next state is due
EPS = 1e-9


@cache
def standing_arm(recover: bool) -> Arm:
    """Return an arm that stands, one for all tests; the start check itself takes no time."""
    return Arm(period=PERIOD, recover_lost_state=recover)


def halting(rng: np.random.Generator, duration: float) -> list[tuple[float, float]]:
    """Return times at which states were made and arrive: a reader that halts and catches up."""
    made = np.arange(1, round(duration / PERIOD)) * PERIOD
    arrived, halts = [], np.sort(rng.uniform(0.0, duration - 1.0, rng.integers(4, 14)))
    ends = halts + rng.uniform(0.0, 1.2 * TIMEOUT, len(halts))
    before = 0.0
    for t in made:
        at = max(t + 1e-4 * rng.random(), before + 2e-5)  # what waited is read without pause
        for begin, end in zip(halts, ends):
            if begin <= at < end:
                at = end
        before = at
        arrived.append(at)
    if rng.random() < 0.5:  # catching up takes its time: delays fall slowly
        for k in range(1, len(arrived)):
            arrived[k] = max(arrived[k], arrived[k - 1] + 0.5 * PERIOD)
    return list(zip(made.tolist(), arrived))


def play(arm: Arm, stream: list[tuple[float, float]]) -> list[tuple[float, str]]:
    """Activate, receive a stream with ticks in between; return times and states entered."""
    arm.stop(Cause.DEACTIVATED)
    arm.silence(3.0)
    begin, events, entered = arm.time, arm.controller.events, []
    arm.controller.post(arm.controller.activate)
    events.clear()

    def note(at: float) -> None:
        entered.extend((at, text) for kind, text in events if kind == 'state')
        events.clear()
    last = 0.0
    for made, at in stream:
        while last + 0.01 < at:  # the steady timer
            last += 0.01
            arm.time = begin + last
            arm.tick()
            note(last)
        last, arm.time = at, begin + at
        arm.receive(arm.q, arm.qd, stamp=begin + made + AHEAD)
        note(at)
    return entered


def assert_in_time(stream: list[tuple[float, float]], start: float) -> None:
    """Expect that all states of the timeout before a start came in time."""
    smallest, before = math.inf, None
    for made, at in stream:
        if at > start + EPS:
            break
        smallest = min(smallest + (0.0 if before is None else 1e-3 * (at - before[1])), at - made)
        delay = at - made - smallest
        if at >= start - TIMEOUT - EPS:
            # the drift that is allowed between two clocks makes a difference of microseconds
            assert delay <= MOST + 1e-3
            if before is not None and before[1] >= start - TIMEOUT - EPS:
                assert at - before[0] - smallest <= TIMEOUT - MOST + 1e-3
        before = made, at


@pytest.mark.parametrize('recover', [False, True])
@pytest.mark.parametrize('seed', range(8))
def test_torque_begins_after_a_timeout_of_states_in_time(seed, recover):
    """Whatever halts there are, each start has a timeout of states in time before it."""
    rng = np.random.default_rng(seed)
    stream = halting(rng, 2.0)
    entered = play(standing_arm(recover), stream)
    starts = [at for at, state in entered if state == 'ramping in']
    assert starts  # the end of the stream is without a halt
    for start in starts:
        assert_in_time(stream, start)
        # then half of the timeout is left, whatever comes next
        assert not any(state == 'state lost' and start < at < start + MOST - 1e-3
                       for at, state in entered)


def test_a_regular_stream_starts_after_one_timeout():
    """Nothing else delays a start: the probes, then a timeout."""
    stream = [(k * PERIOD, k * PERIOD + 1e-4) for k in range(1, 100)]
    (start,) = [at for at, state in play(standing_arm(False), stream) if state == 'ramping in']
    assert TIMEOUT <= start <= TIMEOUT + 10 * PERIOD


def test_states_that_are_nearly_too_old_start_nothing():
    """States that fall 90 ms behind and stay so would be lost in the next halt."""
    lag = np.concatenate([np.zeros(10), np.full(200, 0.09)])
    stream = [(k * PERIOD, k * PERIOD + d) for k, d in enumerate(lag.tolist(), 1)]
    arm = standing_arm(False)
    entered = play(arm, stream)
    assert [state for _, state in entered] == ['probing']
    assert re.fullmatch(r'a state was 0\.08\d* s late, 0\.048 s are allowed',
                        arm.controller.lateness())


@pytest.mark.parametrize('period', [0.001, 0.01, 0.05])
def test_bounds_of_what_is_in_time(period):
    """Half of what the timeout leaves beyond a period, for delay and for silence; no less."""
    most, limits = 0.5 * (TIMEOUT - period), Arm(period=period).controller.p.states.ages
    for excess, left, fresh, runs in (
            (most - EPS, TIMEOUT, 1, True), (most + EPS, TIMEOUT, 1, False),
            (0.0, most + EPS, 1, True), (0.0, most - EPS, 1, False),
            (0.0, TIMEOUT, 0, True), (most + EPS, TIMEOUT, 0, False)):
        x = Punctual({})
        assert comes_in_time(x, limits, 10.0, -math.inf, 0.0, 1)
        assert comes_in_time(x, limits, 10.0 + period, left, excess, fresh) is runs
        assert in_time_for(x, 10.5) == (0.5 if runs else 0.0)
    x = Punctual({})
    assert not comes_in_time(x, limits, 10.0, -math.inf, 0.0, 0)  # a probe begins nothing
    assert in_time_for(x, 10.5) == 0.0


def test_a_loss_without_a_gap_waits_for_states_in_time_too():
    """States that were in time before a loss do not count: it ends a timeout of them later."""
    arm = standing_arm(True)
    arm.restart()
    arm.stop(Cause.GRAVITY_STALE, 'a test')
    arm.run(TIMEOUT - PERIOD)
    assert arm.state == 'state lost'
    arm.run(3 * PERIOD)
    assert arm.state == 'ramping in'


@pytest.mark.parametrize('period', [0.02, 0.06])
def test_a_robot_that_is_held_needs_its_rate(period):
    """Below minimum_rate a hold ends, be the states late by the measure of a start or not."""
    arm = Arm(period=PERIOD)
    arm.restart()
    arm.stop()
    arm.run(arm.values['brake_time'] + 0.1)
    assert arm.state == 'holding'
    arm.period = period
    arm.run(1.2)
    assert Cause.LOW_RATE in arm.causes
    assert arm.state != 'holding'


def test_joints_that_others_move_may_be_as_old_as_they_are_allowed():
    """A start waits for controlled joints in time; the timeout of the others is another one."""
    arm = Arm(joints=[f'joint_{k}' for k in range(1, 7)], prescribed_timeout=0.2,
              **{'start.time': 0.25})
    arm.controller.post(arm.controller.activate)
    for k in range(1000):
        arm.time += arm.period
        if k % 190 == 0:  # 10 ms before it would be too old
            arm.receive([0.7], [0.0], names=('joint_7',))
        arm.receive(arm.q[:6], arm.qd[:6])
        arm.tick()
    assert arm.controller.lateness() == ''
    assert arm.state == 'running'
