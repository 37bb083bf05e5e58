# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""References of the joints and their goals, on a fake clock: limits are kept, whatever comes."""

import math

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.interface.events import Joints, Kind, NEVER, NOBODY, Result, Structure
from rbd_ros.control.interface.results import GoalError, ResultCode, Status
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.joint_reference import Source
from rbd_ros.control.references.pieces import PathKind, PIECES
from rbd_ros.control.references.references import (
    hold_references, moves, ReferenceLimits, References)
from rbd_ros.control.references.trajectory import Knots, Trajectory
from reference_rig import JointRig, sampled, SIZES, STOP
from sampling import examples

DT = 0.001
LIMIT = 0.5
ENDLESS = Tolerances(np.full((3, 2), np.inf), np.full((3, 2), np.inf), np.inf)


def ready(q=0.0, qd=0.0, **options):
    """Return a reference at a position."""
    rig = JointRig(**options)
    rig.start(q, qd)
    rig.update(0.0)
    return rig


# -- limits ---------------------------------------------------------------------------------------

def test_jump_is_limited_in_velocity_and_acceleration():
    """A set-point one radian away is reached by a trapezoid, without overshoot."""
    rig = ready(timeout=10.0)
    rig.set_point(0.0, [1.0, 0.0])
    record = rig.run(1.0)
    assert np.abs(record[:, 1]).max() <= 2.0 + 1e-9
    assert np.abs(record[:, 2]).max() <= 20.0 + 1e-9
    assert np.abs(np.diff(record[:, 0], axis=0)).max() <= DT * (2.0 * 1.001 + 1e-9)
    assert record[:, 0, 0].max() <= 1.0 + 1e-9
    reached = np.argmax(record[:, 0, 0] >= 1.0 - 1e-9) * DT
    # Up to 2 rad/s with a quarter of the acceleration, down with all of it.
    assert reached == pytest.approx(2.0 / 5.0 + 2.0 / 20.0 + (1.0 - 0.4 - 0.1) / 2.0, abs=0.01)
    np.testing.assert_array_equal(record[-1], [[1.0, 0.0], [0, 0], [0, 0]])


@settings(max_examples=examples('properties', 60), deadline=None)
@given(st.lists(st.tuples(st.floats(-LIMIT, LIMIT), st.floats(-9.0, 9.0), st.floats(-5.0, 5.0),
                          st.integers(1, 60)), min_size=1, max_size=8), st.integers(0, 2**31))
def test_any_targets_keep_the_limits(targets, seed):
    """Whatever is streamed and however the period varies, no limit of a joint is passed."""
    rig = ready(limit=LIMIT, timeout=100.0)
    rng, now = np.random.default_rng(seed), 0.0
    for q, q2, qd, count in targets:
        rig.set_point(now, [q, q2], [qd, -qd], [100.0, -100.0])
        for _ in range(count):
            before, dt = rig.state.copy(), rng.uniform(0.1, 2.0) * DT
            now += dt
            state = rig.update(now)
            assert abs(state[0, 0]) <= LIMIT + 1e-6
            assert (np.abs(state[0] - before[0]) <= 2.0 * dt * 1.0011 + 1e-12).all()
            assert (np.abs(state[1] - before[1]) <= 20.0 * dt * 1.0011 + 1e-9).all()
            assert (np.abs(state[1:]) <= [[2.0 * 1.0011], [20.0]]).all()


def test_set_point_with_a_velocity_stops_before_the_limit():
    """A set-point at the limit that still moves on ends at the limit, at rest."""
    rig = ready(limit=LIMIT, timeout=10.0)
    rig.set_point(0.0, [LIMIT, 0.0], [2.0, 2.0])
    record = rig.run(2.0)
    assert record[:, 0, 0].max() <= LIMIT + 1e-6
    np.testing.assert_allclose(record[-1, :2, 0], [LIMIT, 0.0], atol=1e-3)


def test_polynomial_beyond_a_limit_is_cut_off():
    """A cubic that swings beyond the limit between two good points does not take us there."""
    rig = ready(limit=LIMIT)
    trajectory = rig.follow(0.0, Knots(np.array([0.5, 1.5]), np.full((2, 2), 0.45),
                                       np.array([[1.0, 1.0], [-1.0, -1.0]]), None))
    wanted = sampled(trajectory, np.arange(0.0, 1.5, DT))
    assert wanted[:, 0, 0].max() > LIMIT + 0.1  # 0.45 + 1 s * 1 rad/s / 4 by the cubic
    record = rig.run(1.6)
    assert record[:, 0, 0].max() <= LIMIT + 1e-6
    assert record[-1, 0, 0] == pytest.approx(0.45, abs=1e-9)


def test_reference_outside_a_limit_only_comes_back():
    """A robot found outside its limits is held there without a step, and led inside."""
    rig = ready([LIMIT + 0.1, 0.0], limit=LIMIT, timeout=10.0)
    np.testing.assert_array_equal(rig.run(0.1)[:, 0, 0], LIMIT + 0.1)
    rig.set_point(0.1, [LIMIT, 0.0], [1.0, 0.0])
    record = rig.run(1.0, 0.1)
    assert (np.diff(record[:, 0, 0]) <= 1e-5).all()
    assert record[-1, 0, 0] == pytest.approx(LIMIT, abs=1e-3)


def stepped(q, v, target, *, before=0.0, dt=0.01, limit=1e9, velocity=2.0, acceleration=4.0):
    """Return the state after one step towards a target."""
    rig = ready(velocity=velocity, acceleration=acceleration, limit=limit, continuous=False)
    rig.state[:] = np.array([q, v, before])[:, None]
    rig.x.profile.target[:], rig.x.source, rig.x.received = (
        np.array(target)[:, None], Source.STREAM, 0.0)
    rig.x.resting = 0.0
    return rig.update(dt)[:, 0].tolist()


@pytest.mark.parametrize(('v', 'target', 'change'), [
    (0.0, (1.0, 0.0, 0.0), 1.0), (0.0, (-1.0, 0.0, 0.0), -1.0),    # a quarter to speed up
    (1.0, (-1.0, 0.0, 0.0), -4.0), (-1.0, (1.0, 0.0, 0.0), 4.0),   # all of it to brake
    (2.0, (9.0, 0.0, 0.0), 0.0), (1.995, (9.0, 0.0, 0.0), 0.5),    # up to the largest speed
    (2.0, (0.1, 0.0, 0.0), -4.0),                                  # 0.5 rad are needed to stop
    (0.3, (0.5, 0.5, 0.0), 1.0)])                                  # the target moves on
def test_one_step(v, target, change):
    """Velocity and position follow the acceleration, whose own value is smoothed."""
    q, speed, acceleration = stepped(0.0, v, target, before=0.6)
    assert speed == pytest.approx(v + 0.01 * change, abs=1e-12)
    assert q == pytest.approx(0.01 * speed, abs=1e-12)
    assert acceleration == pytest.approx(0.6 + (change - 0.6) / 6.0, abs=1e-12)


@pytest.mark.parametrize(('way', 'gain', 'speed', 'there'), [
    (0.02001, 0.0, 0.5, True), (-0.02001, 0.0, 0.5, True), (0.02003, 0.0, 0.5, False),
    (0.0, 0.04002, 0.5, True), (0.0, -0.04002, 0.5, True), (0.0, 0.04006, 0.5, False),
    (0.0, 0.0, 2.0, True), (0.0, 0.0, 2.0001, False)])
def test_target_within_one_step_is_taken_as_it_is(way, gain, speed, there):
    """What the limits allow within a step, with a thousandth of slack, is no jump."""
    found = stepped(0.3, speed - gain, (0.3 + way, speed, 9.0))
    assert (found == [0.3 + way, speed, 4.0]) is there    # acceleration within its limit


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('limit, expected', [(2.0, 0.5), (1.0, 0.48)])
def test_a_target_from_which_nobody_can_brake_is_not_met(limit, expected, side):
    """At 0.5 rad/s 6 mrad are needed; 0.5 mrad before a limit it brakes as hard as it may."""
    after = stepped(side * 0.999, side * 0.5, (side * 0.9995, side * 0.5, 0.0), dt=DT, limit=limit,
                    acceleration=20.0)
    assert after[1] == pytest.approx(side * expected, abs=1e-12)


# -- streams --------------------------------------------------------------------------------------

def test_set_point_with_derivatives_is_met_exactly():
    """A set-point within reach is met in position, velocity and acceleration."""
    rig = ready([0.1, 0.2])
    rig.set_point(0.0, [0.1001, 0.2], [0.01, -0.01], [3.0, -4.0])
    np.testing.assert_array_equal(rig.update(DT), [[0.1001, 0.2], [0.01, -0.01], [3.0, -4.0]])


def test_stream_that_ceases_is_held_after_its_timeout():
    """Half a second after the last set-point the reference comes to rest."""
    rig = ready(timeout=0.5)
    rig.set_point(0.0, [0.0, 0.0], [0.01, 0.0])
    rig.run(0.499)
    assert rig.x.source == Source.STREAM
    record = rig.run(0.1, 0.5)
    assert rig.x.source == Source.HOLD and rig.x.timed_out
    np.testing.assert_array_equal(record[-1, 1], [0.0, 0.0])


def test_what_rests_is_not_computed_and_moves_at_once():
    """A rest gives exactly the held position; the next set-point goes on without a step."""
    rig, now = ready([0.1, -0.2], [0.5, 0.0]), 0.0
    while not rig.x.resting:
        now += DT
        rig.update(now)
        assert now < 2.0
    held = rig.state.copy()
    assert not held[1:].any()
    now += 5.0  # as if nobody had asked for long
    assert np.array_equal(rig.update(now), held)
    rig.set_point(now, held[0] + 0.3)
    assert not rig.x.resting
    step = np.abs(rig.update(now + DT) - held).max(axis=1)
    assert 0.0 < step[0] <= 20.0 * DT**2 * (1.0 + 1e-9)
    assert 0.0 < step[1] <= 2.0


def test_continuous_joint_takes_the_short_way():
    """From 3.0 to -3.0 a continuous joint goes 0.28 rad forward, not 6 rad back."""
    rig = ready([0.0, 3.0], timeout=10.0)
    rig.set_point(0.0, [0.0, -3.0])
    assert rig.run(1.0)[-1, 0, 1] == pytest.approx(math.tau - 3.0, abs=1e-12)
    rig.follow(1.0, Knots(np.array([1.0]), np.array([[0.0, 3.0]]), None, None))
    assert rig.x.path.final[1] == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize('times, begin, source', [
    ([0.1], 0.0, Source.STREAM), ([0.1001], 0.0, Source.TRAJECTORY), ([0.0], 0.0, Source.STREAM),
    ([0.05], 0.06, Source.TRAJECTORY), ([0.05], 0.04, Source.STREAM),
    ([0.01, 0.02], 0.0, Source.TRAJECTORY), ([0.05], -0.049, Source.STREAM)])
def test_what_is_a_stream(times, begin, source):
    """One point due within 0.1 s is; its pace ends with whatever comes next."""
    rig = ready()
    rig.take(0.0, Knots(np.array(times), np.full((len(times), 2), 0.1), None, None), begin)
    assert rig.x.source == source
    rig.do(STOP, 0.0)
    assert (rig.x.profile.pace > 1e9).all()
    with pytest.raises(GoalError, match=r'the trajectory ended 0\.01 s ago'):
        rig.take(0.0, Knots(np.array([0.02]), np.zeros((1, 2)), None, None), -0.03)


@pytest.mark.parametrize('way', [0.3, -0.05, 1.5])
def test_single_short_trajectory_goes_to_its_end(way):
    """One point that is due soon is reached without overshoot, and stays the target."""
    rig = ready(velocity=1.0, acceleration=10.0, timeout=0.1)
    rig.take(0.0, Knots(np.array([0.03]), np.array([[way, 0.0]]), None, None), 0.0)
    assert rig.x.source == Source.STREAM
    record = rig.run(6.0, dt=0.002)
    np.testing.assert_allclose(record[-1, 0], [way, 0.0], atol=1e-9)
    assert (np.abs(record[:, 0, 0]) <= abs(way) + 1e-5).all() and not rig.x.timed_out
    assert np.abs(record[:, 1]).max() <= 1.0 + 1e-9


def test_reversed_stream_comes_back():
    """A joint at its point that moves away from it gets there again: no pace is zero."""
    rig = ready(0.0, [0.8, 0.0], velocity=1.0, acceleration=10.0)
    rig.take(0.0, Knots(np.array([0.02]), np.zeros((1, 2)), None, None), 0.0)
    record = rig.run(5.0, dt=0.002)
    assert record[:, 0, 0].max() > 0.02
    np.testing.assert_allclose(record[-1, 0], 0.0, atol=1e-9)


@pytest.mark.parametrize(('q', 'qd', 'qdd', 'word'), [
    (3.0000009, 0.0, 0.0, ''), (3.000002, 0.0, 0.0, 'position 3 rad of joint a is outside'),
    (-3.000002, 0.0, 0.0, 'outside'), (math.nan, 0.0, 0.0, 'finite'), (0.0, 2.0199, 0.0, ''),
    (0.0, -2.0199, 0.0, ''), (0.0, 2.0201, 0.0, 'velocity 2.0201 rad/s of joint a in point'),
    (0.0, -2.0201, 0.0, 'velocity'), (0.0, 1e308, 0.0, 'velocity'), (0.0, 0.0, 1e5, ''),
    (0.0, 0.0, -1.001e5, r'acceleration -100100 rad/s\^2 of joint a in point 1 is beyond'),
    (0.0, 0.0, math.nan, 'acceleration')])
def test_bounds_of_what_may_be_asked_for(q, qd, qdd, word):
    """A little of slack for rounding and planners; a refused trajectory changes nothing."""
    rig = ready(speed=[2.0, 5e3])
    point = [np.array([[0.0, 0.0], [x, 0.0]]) for x in (q, qd, qdd)]
    if word:
        with pytest.raises(GoalError, match=word):
            rig.follow(0.0, Knots(np.array([1.0, 2.0]), *point))
        assert rig.x.source == Source.HOLD
    else:
        rig.follow(0.0, Knots(np.array([1.0, 2.0]), *point))
    rig.set_point(0.0, [0.0, 40.0], [0.0, 999.0])  # a continuous joint has no end
    with pytest.raises(GoalError, match='joint b'):
        rig.set_point(0.0, [0.0, 0.0], [0.0, 1001.0])  # more than any joint has


# -- coming to rest -------------------------------------------------------------------------------

def test_hold_stops_within_the_stopping_distance():
    """A hold out of motion ends v^2 / 2a further on, at rest."""
    rig = JointRig()
    rig.start(0.0, [1.0, -1.0])
    record = rig.run(0.5)
    np.testing.assert_allclose(record[-1, 0], [1.0 / 40.0, -1.0 / 40.0], atol=1e-3)
    np.testing.assert_array_equal(record[-1, 1], [0.0, 0.0])


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize(('q', 'speed', 'given', 'time'), [
    (0.0, 1.0, 0.4, 0.4),     # as given
    (0.0, 1.0, 0.01, 0.1),    # at most 20 rad/s^2
    (0.95, 0.5, 0.8, 0.2)])   # the room before the limit at 1 rad
def test_rest_is_a_smooth_fall_of_the_velocity(q, speed, given, time, side):
    """It falls as 1 - 3 s^2 + 2 s^3: half way 0.40625 v T are gone, at half the speed."""
    rig = ready([side * q, 0.0], side * speed, limit=1.0)
    rig.rest(0.0, given)
    record = side * rig.run(time + 0.05, dt=time / 100)
    np.testing.assert_allclose(record[49, :, 0],
                               [q + 0.40625 * speed * time, 0.5 * speed, -1.5 * speed / time],
                               atol=1e-9)
    np.testing.assert_allclose(record[99:, 0], [[q + 0.5 * speed * time, 0.5 * speed * time]] *
                               (len(record) - 99), atol=1e-9)
    assert np.abs(record[99:, 1:]).max() < 1e-9
    jerk = np.abs(np.diff(record[:, 2], axis=0)).max() / (time / 100)
    assert jerk < 1.01 * 6.0 * speed / time**2  # of a velocity that falls along a cubic


def test_rest_goes_on_from_the_acceleration_of_the_reference():
    """Out of an accelerated motion the acceleration does not step."""
    rig = JointRig()
    rig.start(0.0, [0.5, 0.0])
    rig.state[2] = [3.0, -2.0]
    rig.rest(0.0, 0.4)
    record = rig.run(0.5)
    assert np.abs(record[0, 2] - [3.0, -2.0]).max() < 1.0
    np.testing.assert_allclose(record[-1, 1:], 0.0, atol=1e-12)


def test_held_reference_follows_a_robot_that_is_pushed_away():
    """It stays within its distance of the robot, no nearer, and comes to rest there."""
    rig = ready()
    assert not rig.give_way([0.1, -0.1], 0.1001).any() and not rig.state.any()
    rig.state[1] = 0.5
    moved = rig.give_way([0.5, -0.25], [0.1, 0.2])
    np.testing.assert_allclose(moved, [0.4, -0.05], atol=1e-12)
    np.testing.assert_allclose(rig.state[0], moved, atol=1e-12)
    assert not rig.state[1:].any() and rig.x.source == Source.HOLD


# -- trajectories in the ring ---------------------------------------------------------------------

def test_long_trajectory_passes_unchanged():
    """10,000 points, fed while it runs, give the sine from which they were taken."""
    rig, times = ready(0.0, [1.0, 0.0], acceleration=9.0, continuous=False), (
        np.arange(1, 10_001) * 1e-3)
    wave, rate = np.array([np.sin(times), 1.0 - np.cos(times)]).T, (
        np.array([np.cos(times), np.sin(times)]).T)
    rig.follow(0.0, Knots(times, wave, rate, None))
    for now in np.arange(1, 5000) * 0.002:
        state = rig.update(now)
        assert not rig.y.told
        # h^4/384 of the fourth derivative, and h^3/126 of its slope
        assert np.abs(state[:2] - [[math.sin(now), 1.0 - math.cos(now)],
                                   [math.cos(now), math.sin(now)]]).max() < 1e-9
    assert rig.feeder.left == 0
    assert (rig.x.path.last - rig.x.path.first, rig.x.path.kind) == (10_000, PathKind.RING)
    rig.run(1.0, 10.0)  # after the end the last position is held
    np.testing.assert_allclose(rig.state, [wave[-1], [0, 0], [0, 0]], atol=1e-9)


@pytest.mark.parametrize('seed', range(12))
def test_dry_ring_stops_within_limits(seed):
    """Wherever the pieces end, the reference stops within its limits, says so, and never jumps."""
    rng = np.random.default_rng(seed)
    rig = ready(velocity=rng.uniform(0.5, 2.0, 2), acceleration=rng.uniform(2.0, 8.0, 2),
                limit=0.55, continuous=False)
    times = np.cumsum(rng.uniform(0.01, 0.05, 150))
    knots = Knots(times, 0.5 * np.sin(np.outer(times, rng.uniform(0.5, 4.0, 2))), None, None)
    rig.follow(0.0, knots, 7, ENDLESS)
    starve, dry, now, before = rng.uniform(0.0, times[80]), None, 0.0, rig.state.copy()
    while now < times[-1] + 1.0 and (dry is None or now < dry + 2.0):
        last, dt = now, float(rng.uniform(1.0, 3.0)) * DT
        now += dt
        state = rig.update(now, feed=now < starve)
        if rig.y.told:
            assert dry is None
            dry = now
            assert rig.x.path.begin == last  # the stop begins where the reference was
            assert rig.y.words[0, :2].tolist() == [ReferenceWord.DRY, NOBODY]
            assert 'comes to rest' in ReferenceWord.DRY.text('', *rig.y.words[0, 2:])
        assert (np.abs(state[1]) <= rig.p.velocity).all()
        assert (np.abs(state[1] - before[1]) <= 1.0011 * rig.p.acceleration * dt).all()
        assert (np.abs(state[0] - before[0]) <= 1.0011 * rig.p.velocity * dt).all()
        assert (np.abs(state[0]) <= 0.55 + 1e-6).all()
        assert (np.abs(state[2]) <= rig.p.acceleration).all()
        before = state
    assert dry is not None
    assert rig.x.source == Source.HOLD and rig.x.resting == 1.0
    (key, outcome), = rig.goals.take('')
    assert (key, outcome.status, outcome.code) == (7, Status.ABORTED, ResultCode.INVALID_GOAL)
    assert 'did not come in time' in outcome.text


@pytest.mark.parametrize('seed', range(8))
def test_a_pause_longer_than_the_ring_is_caught_up(seed):
    """However long nobody fed the ring, the target is that of the trajectory at that time."""
    rng = np.random.default_rng(seed)
    rig = ready(velocity=1e3, acceleration=1e6, continuous=False)
    times = np.cumsum(rng.uniform(0.5, 1.5, 900)) * DT
    trajectory = rig.follow(0.0, Knots(times, np.outer(np.sin(times), [0.5, 1.0]), None, None),
                            3, ENDLESS)
    now = 0.0
    while now < times[-1]:
        now += rng.choice([DT, 0.03, 0.08, 0.2], p=[0.9, 0.04, 0.03, 0.03])
        rig.feeder.catch_up(now)
        rig.update(now)
        assert not rig.y.told
        np.testing.assert_allclose(rig.x.profile.target, sampled(trajectory, [now])[0],
                                   rtol=1e-9, atol=1e-6)
    assert rig.x.goal.active == 3.0


@pytest.mark.sampled('sweeps', 2)
@pytest.mark.parametrize('seed', range(6))
def test_a_trajectory_that_is_slowed_keeps_its_path(seed):
    """However its speed is bounded: same positions, later; the velocity is theirs; it arrives."""
    rng = np.random.default_rng(seed)
    rig = ready(velocity=1e3, acceleration=80.0, continuous=False)
    times = np.cumsum(rng.uniform(0.5, 1.5, 900)) * DT
    way = (1.0 - np.cos(2.0 * np.pi * times / times[-1]))[:, None] * [0.3, -0.5]
    trajectory = rig.follow(0.0, Knots(times, way, None, None), 4, tolerances())
    now, late, before, ended, slowest = 0.0, 0.0, rig.state.copy(), [], 1.0
    while not ended and now < 60.0:
        now += DT
        if rng.uniform() < 0.02:
            rig.x.share = float(rng.choice([rng.uniform(0.0, 1.0), 1.0, np.nan]))
        rig.feeder.catch_up(now)
        state = rig.update(now)
        rig.check(now, state[0], state[1])
        path = rig.x.path
        assert not rig.y.told and late <= path.late and 0.01 <= path.rate <= 1.0
        late, slowest = path.late, min(slowest, path.rate)
        np.testing.assert_allclose(state[0], sampled(trajectory, [now - late])[0, 0], atol=1e-9)
        np.testing.assert_allclose((state[0] - before[0]) / DT, 0.5 * (state[1] + before[1]),
                                   atol=0.06)
        assert np.abs(state[1] - before[1]).max() <= 80.0 * DT * 1.0011
        before, ended = state, rig.goals.take('')
    assert ended[0][1].status is Status.SUCCEEDED
    assert now == pytest.approx(times[-1] + late, abs=2.0 * DT) and slowest < 0.8
    rig.x.share = 1.0
    pursue(rig, 5, now)
    assert (rig.x.path.late, rig.x.path.rate) == (0.0, 1.0)


def test_a_bound_ends_when_it_is_taken_away():
    """The trajectory comes back to its speed within a second, and stays behind its times."""
    rig = ready(continuous=False)
    rig.follow(0.0, Knots(np.array([10.0]), np.full((1, 2), 2.0), None, None))
    rig.run(4.0)
    rig.x.share = 0.3
    rig.run(1.0, 4.0)
    assert rig.x.path.rate == pytest.approx(0.3)
    assert 0.68 < rig.x.path.late < 0.7001
    rig.x.share = 1.0
    rig.run(2.0, 5.0)
    late = rig.x.path.late
    assert rig.x.path.rate > 0.999
    rig.run(0.5, 7.0)
    assert rig.x.path.late == pytest.approx(late, abs=1e-4)
    rig.run(5.0, 7.5)
    np.testing.assert_allclose(rig.state, [[2.0, 2.0], [0, 0], [0, 0]], atol=1e-9)


def test_pieces_never_mix():
    """Until a new trajectory is taken over the old one goes on; then only the new one counts."""
    rng, rig = np.random.default_rng(5), ready(velocity=1e3, acceleration=1e6, continuous=False)
    times = np.cumsum(rng.uniform(0.004, 0.01, 200))

    def made(now):
        knots = Knots(times, rng.uniform(-0.5, 0.5, (200, 2)), None, None)
        return Trajectory(knots, now, now, tuple(rig.state.copy()))

    def taken(number):
        rig.u.numbers[:2] = number, 0.0
        return rig.do(Kind.PIECES, now)

    def go_on(steps):
        nonlocal now
        for _ in range(steps):
            now += 0.002
            rig.feeder.catch_up(now)
            rig.update(now)
            assert rig.y.told == 0.0
            time = now - rig.x.path.late
            if time >= rig.x.path.joined:  # one that is taken late is joined first
                np.testing.assert_allclose(rig.x.profile.target, sampled(old, [time])[0],
                                           rtol=1e-12, atol=1e-9)

    now, old = 0.0, made(0.0)
    assert taken(rig.feeder.begin(old)) == 0.0
    for round_number in range(12):
        go_on(int(rng.integers(1, 60)))
        new, skipped = made(now), 0
        if round_number % 3 == 0:  # one that is replaced before it is taken
            skipped = rig.feeder.begin(made(now))
        number = rig.feeder.begin(new)
        go_on(int(rng.integers(0, 20)))  # the step has not heard of it
        if skipped:
            assert taken(skipped) == ReferenceWord.REPLACED
        assert taken(number) == 0.0
        old = new


def test_a_trajectory_that_is_never_taken():
    """The one in use stops where its pieces were written over; it never enters the new one."""
    rig, times = ready(velocity=1.0, acceleration=4.0), np.arange(1, 201) * 0.01
    rig.follow(0.0, Knots(times, 0.01 * np.sin(np.outer(times, [9.0, 7.0])), None, None))
    rig.run(0.2)
    far = Knots(times, np.full((200, 2), 5.0), None, None)
    rig.feeder.begin(Trajectory(far, 0.2, 0.2, tuple(rig.state.copy())))
    told = 0
    for k in range(100, 600):
        rig.feeder.catch_up(0.002 * k)
        assert (np.abs(rig.update(0.002 * k)[0]) < 0.1).all()
        told += int(rig.y.told)
    assert told == 1 and rig.x.resting == 1.0


def test_clock_set_back_far_is_dry():
    """A clock that is set back to pieces that are gone stops the reference."""
    rig, times = ready(), np.arange(1, 301) * 0.01
    rig.follow(0.0, Knots(times, 0.01 * np.sin(np.outer(times, [9.0, 7.0])), None, None))
    rig.run(2.0)
    rig.update(1.95)
    assert not rig.y.told
    rig.feeder.catch_up(0.5)
    rig.update(0.5)
    assert rig.y.told == 1.0 and rig.x.source == Source.HOLD


def test_a_full_ring_has_no_room():
    """A feeder puts no more than the ring takes, and stops for a trajectory that was left."""
    rig = ready()
    knots = Knots(np.arange(1, 301) * 0.01, np.full((300, 2), 0.1), None, None)
    rig.follow(0.0, knots)
    while rig.feeder.feed():
        pass
    assert rig.feeder.left == 300 - PIECES
    assert (rig.ring.of == rig.x.path.number).all()
    rig.x.path.kind = PathKind.NONE
    assert rig.feeder.feed() == 0


def test_points_that_no_clock_can_tell_apart():
    """Points that fall together are refused."""
    rig = JointRig()
    knots = Knots(np.array([1.0, 1.0 + 1e-9]), np.zeros((2, 2)), np.zeros((2, 2)), None)
    rig.follow(0.0, knots)
    with pytest.raises(GoalError, match='closer together than the clock'):
        rig.follow(1.7e9, knots)


# -- goals ----------------------------------------------------------------------------------------

def tolerances(path=0.1, goal=0.01, goal_time=0.5):
    """Position tolerances, nothing else restricted."""
    return Tolerances(*(np.array([[x, x], [np.inf] * 2, [np.inf] * 2]) for x in (path, goal)),
                      goal_time)


def pursue(rig, goal=1, now=0.0):
    """Accept a goal to (0.5, 0.5) in one second."""
    rig.follow(now, Knots(np.array([1.0]), np.full((1, 2), 0.5), *np.zeros((2, 1, 2))), goal,
               tolerances())


def drive(rig, until, begin=0.0, offset=(0.0, 0.0)):
    """Let the measured position be the reference plus an offset; return the goals that ended."""
    for k in range(round((until - begin) / DT)):
        now = begin + (k + 1) * DT
        state = rig.update(now)
        rig.check(now, state[0] + offset, state[1])
    return rig.goals.take('')


def test_path_tolerance_aborts_and_holds():
    """An error beyond the path tolerance aborts with its code and the joint's name."""
    rig = ready()
    pursue(rig)
    (_, outcome), = drive(rig, 0.3, offset=(0.0, 0.2))
    assert (outcome.status, outcome.code) == (Status.ABORTED, ResultCode.PATH_TOLERANCE_VIOLATED)
    assert outcome.text.startswith('b: position error')
    assert rig.x.source == Source.HOLD


@pytest.mark.parametrize('late', [False, True])
def test_goal_tolerance_waits_for_goal_time(late):
    """A robot that settles within goal_time succeeds; one that does not has failed then."""
    rig = ready()
    pursue(rig)
    assert not drive(rig, 1.2, offset=(0.05, 0.0))
    if late:
        assert not drive(rig, 1.499, 1.2, offset=(0.05, 0.0))
        (_, outcome), = drive(rig, 1.51, 1.499, offset=(0.05, 0.0))
        assert outcome.code is ResultCode.GOAL_TOLERANCE_VIOLATED
    else:
        (_, outcome), = drive(rig, 1.21, 1.2)
        assert outcome.status is Status.SUCCEEDED


def moving(x: References, p: ReferenceLimits, j: Joints, s: Structure, y: Result,
           law: Vector) -> None:
    y.answer = 1.0 if moves(x, j, s, int(law[0])) else 0.0
    hold_references(x, p)


def test_what_moves():
    """The reference of the law in force and the joints decide; a hold stops all references."""
    x, p, j, s, y = (kind(SIZES) for kind in (
        References, ReferenceLimits, Joints, Structure, Result))
    s.index[:], law = (0, 1), np.zeros(1)
    x.task.pose.orientation[3] = 1.0
    run = bind(moving, x, p, j, s, y, law)
    joints, tip = x.joint, x.task.pose
    for law[0], joint, task, measured, expected in (
            (LawCode.FREE, 1.0, 1.0, 0.01, False), (LawCode.FREE, 0.0, 0.0, -0.03, True),
            (LawCode.JOINT, -0.002, 0.0, 0.0, True), (LawCode.JOINT, 0.0005, 1.0, 0.0, False),
            (LawCode.TASK, 1.0, -0.002, 0.0, True), (LawCode.TASK, 1.0, 0.0, 0.01, False)):
        joints.profile.state[1, 1], tip.velocity[5], j.qd[1] = joint, task, measured
        joints.goal.active, joints.source, tip.moving, x.task.pose_time = 3, Source.STREAM, 1, 1
        run()
        assert bool(y.answer) == expected
        assert (joints.goal.active, joints.source, tip.moving, x.task.pose_time) == (
            0, Source.HOLD, 0, NEVER)


@pytest.mark.sampled('sweeps', 5)
@pytest.mark.parametrize('seed', range(20))
def test_a_trajectory_that_is_taken_late_is_joined(seed):
    """The reference goes on meanwhile: it makes no step, and soon is that of the trajectory."""
    rng = np.random.default_rng(seed)
    rig, dt = JointRig(velocity=1e3, acceleration=1e6, limit=100.0, continuous=False), 0.001
    rig.start(0.0)
    times = np.sort(rng.uniform(0.2, 3.0, 6))
    rig.follow(0.0, Knots(times, *rng.normal(size=(3, 6, 2))))
    rig.run(0.1)
    made_at, late = 0.1, int(rng.integers(0, 20))
    next_times = np.cumsum(rng.uniform(0.003, 0.3, 12))
    knots = Knots(next_times, *rng.normal(size=(3, 12, 2)) * [[[0.1]], [[0.3]], [[1.0]]])
    start = made_at - 1e-9  # as its stamp says: it does not begin when it is taken over
    rig.intake.follow(rig.u, made_at, knots, start, 0, None)
    made, asked = Trajectory(knots, start, made_at, tuple(rig.state.copy())), rig.u.memory.copy()
    before = rig.run(late * dt, made_at)
    rig.u.memory[:] = asked
    now = made_at + (late + 0.5) * dt
    assert rig.do(Kind.PIECES, now) == 0.0
    last = before[-1] if late else rig.state.copy()
    steps = rig.run(1.0, made_at + late * dt)
    # No step: what a Taylor series from the state before leaves is as small as its last term.
    path = np.concatenate([[last], steps])
    jerk = np.abs(np.diff(path[:, 2], axis=0)).max() / dt
    left = path[1:, 0] - (path[:-1, 0] + dt * path[:-1, 1] + 0.5 * dt**2 * path[:-1, 2])
    assert np.abs(left).max() < 2.0 * jerk * dt**3 + 1e-12
    if late:
        joined = rig.x.path.joined
        assert joined >= now + 0.1
        for j in range(2):  # one polynomial from the acceleration before: it does not step either
            cubic = np.polynomial.Polynomial.fit(np.arange(1, 50), path[1:50, 2, j], 3)
            assert cubic(0.0) == pytest.approx(path[0, 2, j], abs=1e-6)
    else:
        joined = made_at
    after = [k for k in range(1, 1001) if made_at + (late + k) * dt >= joined + 1e-9]
    expected = sampled(made, [made_at + (late + k) * dt for k in after])
    np.testing.assert_allclose(path[after], expected, atol=1e-6)


@pytest.mark.parametrize('moves', [False, True])
@pytest.mark.parametrize('seed', range(10))
def test_a_trajectory_from_now_on_is_run_through_however_late_it_is_taken(seed, moves):
    """Nothing of it is left out to catch up: it begins when it is taken, and lasts as long."""
    rng = np.random.default_rng(seed)
    rig = JointRig(velocity=1e3, acceleration=1e6, limit=100.0, continuous=False)
    rig.start(0.0)
    if moves:
        rig.follow(0.0, Knots(np.array([0.5, 3.0]), *rng.normal(size=(3, 2, 2)) * 0.1))
    rig.run(0.1)
    knots = Knots(np.cumsum(rng.uniform(0.05, 0.2, 8)), *rng.normal(size=(3, 8, 2)) * 0.1)
    rig.intake.follow(rig.u, 0.1, knots, None, 0, None)
    made, asked = Trajectory(knots, 0.1, 0.1, tuple(rig.state.copy())), rig.u.memory.copy()
    late = 0.001 * int(rng.integers(1, 1000))
    rig.run(late, 0.1)
    rig.u.memory[:] = asked
    assert rig.do(Kind.PIECES, 0.1 + late) == 0.0
    times = np.arange(0.001, made.end + 0.3, 0.001)
    steps = np.array([rig.update(0.1 + late + t) for t in times])
    assert rig.x.path.late == pytest.approx(late)
    joined = max(0.0, rig.x.path.joined - 0.1)
    if not moves:
        assert joined == 0.0
    after = times >= joined + 1e-9
    expected = sampled(made, 0.1 + times)
    np.testing.assert_allclose(steps[after], expected[after], atol=1e-6)
    np.testing.assert_allclose(steps[-1, 0], made.final, atol=1e-9)
