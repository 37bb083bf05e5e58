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

"""Trajectories, references and goals on a fake clock."""

import math

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros.control.references.goals import Goal, read_tolerances, Tolerances
from rbd_ros.control.former.references.joint_space import JointReference, Source
from rbd_ros.control.former.references.limiter import ReferenceLimiter
from rbd_ros.control.former.references.profiles import joint_step
from rbd_ros.control.references.results import GoalError, ResultCode, Status
from rbd_ros.control.references.trajectory import Knots, read_points, Trajectory
from scipy.interpolate import CubicHermiteSpline, CubicSpline

JOINTS = ('a', 'b')
REST = (np.zeros(2), np.zeros(2), np.zeros(2))
DT = 0.001


def reference(**options):
    """Two joints, the second one continuous."""
    options = {'velocity': [2.0, 2.0], 'acceleration': [20.0, 20.0], 'lower': [-3.0, -3.0],
               'upper': [3.0, 3.0], 'continuous': [False, True], **options}
    return JointReference(options.pop('velocity'), options.pop('acceleration'), **options)


def sampled(trajectory, times):
    """Return position, velocity and acceleration at times, (k, 3, n)."""
    out = np.zeros((len(times), 3, 2))
    for i, t in enumerate(times):
        trajectory.sample(t, out[i])
    return out


# -- trajectories -----------------------------------------------------------------------------


def test_quintic_meets_all_end_values():
    """With velocities and accelerations each knot is met in all three."""
    rng = np.random.default_rng(1)
    knots = Knots(np.array([0.5, 1.2, 2.0]), *rng.normal(size=(3, 3, 2)))
    start = tuple(rng.normal(size=(3, 2)))
    subject = Trajectory(knots, 10.0, 10.0, start)
    at = sampled(subject, [10.0, 10.5, 11.2])
    np.testing.assert_allclose(at[0], start, atol=1e-10)
    np.testing.assert_allclose(at[1], [knots.q[0], knots.qd[0], knots.qdd[0]], atol=1e-9)
    before = sampled(subject, [10.5 - 1e-9, 11.2 - 1e-9, 12.0 - 1e-9])
    for i in range(3):
        np.testing.assert_allclose(before[i], [knots.q[i], knots.qd[i], knots.qdd[i]], atol=1e-5)


def test_quintic_recovers_a_quintic():
    """A trajectory cut from one polynomial of fifth degree is that polynomial everywhere."""
    p = np.polynomial.Polynomial([0.3, -0.2, 0.5, 0.1, -0.4, 0.2])
    knots_t = np.array([0.4, 1.0])

    def values(k, t):
        return np.stack([p.deriv(k)(t) if k else p(t)] * 2, axis=-1)

    knots = Knots(knots_t, values(0, knots_t), values(1, knots_t), values(2, knots_t))
    subject = Trajectory(knots, 0.0, 0.0, tuple(values(k, np.array(0.0)) for k in range(3)))
    times = np.linspace(0.0, 0.999, 40)
    expected = np.stack([values(k, times) for k in range(3)], axis=1)
    np.testing.assert_allclose(sampled(subject, times), expected, atol=1e-10)


def test_velocities_alone_give_hermite_cubics():
    """Points with velocities are joined by the cubic that SciPy calls Hermite."""
    rng = np.random.default_rng(2)
    q, qd = rng.normal(size=(2, 4, 2))
    t = np.array([0.0, 0.3, 1.0, 1.4])
    subject = Trajectory(Knots(t[1:], q[1:], qd[1:], None), 5.0, 5.0, (q[0], qd[0], np.zeros(2)))
    oracle = CubicHermiteSpline(t, q, qd)
    times = np.linspace(0.0, 1.399, 50)
    expected = np.stack([oracle(times, k) for k in range(3)], axis=1)
    np.testing.assert_allclose(sampled(subject, 5.0 + times), expected, atol=1e-10)


def test_positions_alone_give_the_clamped_spline():
    """Points without velocities are joined by the spline with continuous acceleration."""
    rng = np.random.default_rng(3)
    t = np.array([0.0, 0.3, 1.0, 1.4, 2.0])
    q, start = rng.normal(size=(5, 2)), rng.normal(size=2)
    subject = Trajectory(Knots(t[1:], q[1:], None, None), 0.0, 0.0, (q[0], start, np.zeros(2)))
    oracle = CubicSpline(t, q, bc_type=((1, start), (1, np.zeros(2))))
    times = np.linspace(0.0, 1.999, 50)
    expected = np.stack([oracle(times, k) for k in range(3)], axis=1)
    np.testing.assert_allclose(sampled(subject, times), expected, atol=1e-9)


def test_straight_lines_if_asked():
    """The linear option draws the straight lines of joint_trajectory_controller."""
    knots = Knots(np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 2.0]]), None, None)
    at = sampled(Trajectory(knots, 0.0, 0.0, REST, linear=True), [0.5, 1.5])
    np.testing.assert_allclose(at[:, 0], [[0.5, 1.0], [2.0, 2.0]], atol=1e-12)
    np.testing.assert_allclose(at[:, 1], [[1.0, 2.0], [2.0, 0.0]], atol=1e-12)


def test_after_the_end_the_last_position_is_held():
    """After the end position is the last one, velocity and acceleration zero."""
    knots = Knots(np.array([1.0]), np.array([[1.0, 2.0]]), np.array([[0.5, 0.5]]), None)
    subject = Trajectory(knots, 0.0, 0.0, REST)
    np.testing.assert_array_equal(sampled(subject, [7.0])[0], [[1.0, 2.0], [0, 0], [0, 0]])


def test_points_in_the_past_are_dropped():
    """A trajectory that began before now goes on from the present state to its rest."""
    knots = Knots(np.array([0.1, 0.5]), np.array([[9.0, 9.0], [1.0, 1.0]]), None, None)
    subject = Trajectory(knots, 10.0, 10.2, REST)
    np.testing.assert_allclose(sampled(subject, [10.2])[0, 0], [0.0, 0.0], atol=1e-12)
    assert sampled(subject, np.linspace(10.2, 10.5, 30))[:, 0].max() <= 1.0 + 1e-12


@pytest.mark.parametrize('change, code, word', [
    ({'names': ('a', 'c')}, ResultCode.INVALID_JOINTS, 'not the controlled'),
    ({'names': ('a',)}, ResultCode.INVALID_JOINTS, 'not the controlled'),
    ({'times': [], 'positions': []}, ResultCode.INVALID_GOAL, 'no points'),
    ({'times': [1.0, 1.0]}, ResultCode.INVALID_GOAL, 'increase strictly'),
    ({'times': [-1.0, 1.0]}, ResultCode.INVALID_GOAL, 'increase strictly'),
    ({'positions': [[0.0, 0.0], [0.0]]}, ResultCode.INVALID_GOAL, 'point 1 has 1 positions'),
    ({'positions': [[0.0, 0.0], [0.0, math.nan]]}, ResultCode.INVALID_GOAL, 'not all finite'),
    ({'velocities': [[0.0, 0.0], []]}, ResultCode.INVALID_GOAL, 'all points must give them'),
    ({'accelerations': [[0.0, 0.0]] * 2}, ResultCode.INVALID_GOAL, 'without velocities')])
def test_bad_points_are_refused(change, code, word):
    """Each defect of a trajectory has its result code and a text that names it."""
    points = {'names': JOINTS, 'times': [1.0, 2.0], 'positions': [[0.0, 0.0], [1.0, 1.0]],
              'velocities': [[], []], 'accelerations': [[], []], **change}
    with pytest.raises(GoalError, match=word) as info:
        read_points(points['names'], JOINTS, points['times'], points['positions'],
                    points['velocities'], points['accelerations'])
    assert info.value.code is code


def test_points_are_reordered_by_name():
    """The order of names in the message does not matter."""
    knots = read_points(('b', 'a'), JOINTS, [1.0], [[2.0, 1.0]], [[20.0, 10.0]], [[]])
    assert knots.q.tolist() == [[1.0, 2.0]]
    assert knots.qd.tolist() == [[10.0, 20.0]]


# -- references -------------------------------------------------------------------------------


def follow(subject, duration, begin=0.0):
    """Run a reference and record its states."""
    record = []
    for k in range(round(duration / DT)):
        record.append(subject.update(begin + (k + 1) * DT).copy())
    return np.array(record)


def test_jump_is_limited_in_velocity_and_acceleration():
    """A set-point one radian away is reached by a trapezoid, without overshoot."""
    subject = reference(timeout=10.0)
    subject.start(np.zeros(2))
    subject.update(0.0)
    subject.set_point(0.0, [1.0, 0.0])
    record = follow(subject, 1.0)
    speed = np.diff(record[:, 0], axis=0) / DT
    assert np.abs(record[:, 1]).max() <= 2.0 + 1e-9
    assert np.abs(record[:, 2]).max() <= 20.0 + 1e-9
    assert np.abs(speed).max() <= 2.0 * 1.001 + 1e-9
    assert record[:, 0, 0].max() <= 1.0 + 1e-9
    reached = np.argmax(record[:, 0, 0] >= 1.0 - 1e-9) * DT
    # Up to 2 rad/s with a quarter of the acceleration, down with all of it.
    assert reached == pytest.approx(2.0 / 5.0 + 2.0 / 20.0 + (1.0 - 0.4 - 0.1) / 2.0, abs=0.01)
    np.testing.assert_array_equal(record[-1], [[1.0, 0.0], [0, 0], [0, 0]])


def test_smooth_trajectory_passes_unchanged():
    """A trajectory inside the limits is the reference exactly, accelerations included."""
    subject = reference()
    subject.start(np.zeros(2))
    subject.update(0.0)
    t = np.array([0.5, 1.0])
    trajectory = subject.follow(0.0, Knots(t, np.array([[0.2, 0.1], [0.3, -0.1]]),
                                           np.array([[0.3, 0.0], [0.0, 0.0]]),
                                           np.zeros((2, 2))), 0.0)
    record = follow(subject, 1.1)
    expected = sampled(trajectory, (np.arange(1100) + 1) * DT)
    np.testing.assert_allclose(record, expected, atol=1e-12)


def test_set_point_with_derivatives_is_met_exactly():
    """A set-point within reach is met in position, velocity and acceleration."""
    subject = reference()
    subject.start(np.array([0.1, 0.2]))
    subject.update(0.0)
    subject.set_point(0.0, [0.1001, 0.2], [0.01, -0.01], [3.0, -4.0])
    np.testing.assert_array_equal(subject.update(DT), [[0.1001, 0.2], [0.01, -0.01], [3.0, -4.0]])


def test_stream_that_ceases_is_held_after_its_timeout():
    """Half a second after the last set-point the reference comes to rest."""
    subject = reference(timeout=0.5)
    subject.start(np.zeros(2))
    subject.update(0.0)
    subject.set_point(0.0, [0.0, 0.0], [0.01, 0.0])
    follow(subject, 0.499)
    assert subject.source is Source.STREAM
    record = follow(subject, 0.1, 0.5)
    assert subject.source is Source.HOLD
    assert subject.timed_out
    np.testing.assert_array_equal(record[-1, 1], [0.0, 0.0])


def test_hold_stops_within_the_stopping_distance():
    """A hold out of motion ends v^2 / 2a further on, at rest."""
    subject = reference()
    subject.start(np.zeros(2), np.array([1.0, -1.0]))
    record = follow(subject, 0.5)
    np.testing.assert_allclose(record[-1, 0], [1.0 / 40.0, -1.0 / 40.0], atol=1e-3)
    np.testing.assert_array_equal(record[-1, 1], [0.0, 0.0])


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('limit, expected', [(2.0, 0.5), (1.0, 0.48)])
def test_a_target_from_which_nobody_can_brake_is_not_met(limit, expected, side):
    """At 0.5 rad/s 6 mrad are needed; 0.5 mrad before a limit it brakes as hard as it may."""
    after = joint_step([[side * 0.999], [side * 0.5], [0.0]],
                       [[side * 0.9995], [side * 0.5], [0.0]],
                       [2.0], [20.0], [-limit], [limit], DT)
    assert after[1][0] == pytest.approx(side * expected, abs=1e-12)


def test_rest_takes_at_least_what_its_acceleration_needs():
    """From 1 rad/s at most 20 rad/s^2 need 0.1 s: three quarters of them at the steepest."""
    subject = reference()
    subject.start(np.zeros(2), np.array([1.0, 0.0]))
    subject.update(0.0)
    subject.rest(0.0, 0.01)
    record = follow(subject, 0.1)
    np.testing.assert_allclose(record[49, :, 0], [0.040625, 0.5, -15.0], atol=1e-9)
    np.testing.assert_allclose(record[-1, :2, 0], [0.05, 0.0], atol=1e-9)


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_rest_takes_no_more_than_the_room_before_a_limit(side):
    """
    A joint 0.05 rad before its limit, at 0.5 rad/s, has 0.2 s, however long it may take.

    Its velocity falls as 1 - 3 s^2 + 2 s^3: half way 0.40625 v T are gone, at half the speed.
    """
    subject = reference(lower=[-1.0, -1.0], upper=[1.0, 1.0])
    subject.start(np.array([side * 0.95, 0.0]), np.array([side * 0.5, side * 0.5]))
    subject.update(0.0)
    subject.rest(0.0, 0.8)
    record = follow(subject, 0.2)
    np.testing.assert_allclose(record[99, :2, 0], [side * 0.990625, side * 0.25], atol=1e-9)
    np.testing.assert_allclose(record[-1, :2, 0], [side * 1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(record[-1, :2, 1], [side * 0.05, 0.0], atol=1e-9)  # all stop then


def test_rest_is_smooth():
    """From a velocity to rest the acceleration begins and ends at zero, over half the time."""
    subject = reference()
    subject.start(np.zeros(2), np.array([1.0, -0.5]))
    subject.rest(0.0, 0.4)
    subject.update(0.0)
    record = follow(subject, 0.5)
    np.testing.assert_allclose(record[-1], [[0.2, -0.1], [0.0, 0.0], [0.0, 0.0]], atol=1e-9)
    dt = 0.5 / len(record)
    np.testing.assert_allclose(np.diff(record[:, 0], axis=0)[1:] / dt, record[1:-1, 1],
                               atol=0.02)
    jerk = np.abs(np.diff(record[:, 2], axis=0)) / dt
    assert np.abs(record[0, 2]).max() < 0.5
    assert np.abs(record[:, 2]).max() == pytest.approx(1.5 / 0.4, rel=0.01)
    assert jerk.max() < 1.01 * 6.0 / 0.4**2  # of a velocity that falls along a cubic


def test_rest_goes_on_from_the_acceleration_of_the_reference():
    """Out of an accelerated motion the acceleration does not step."""
    subject = reference()
    subject.start(np.zeros(2), np.array([0.5, 0.0]))
    subject.state[2] = [3.0, -2.0]
    subject.rest(0.0, 0.4)
    record = follow(subject, 0.5)
    assert np.abs(record[0, 2] - [3.0, -2.0]).max() < 1.0
    np.testing.assert_allclose(record[-1, 1:], 0.0, atol=1e-12)


def test_rest_keeps_clear_of_a_limit_and_of_the_largest_acceleration():
    """Before a limit the stop is shorter; a fast joint takes longer than it was given."""
    subject = reference()
    near = subject.upper[0] - 0.1
    subject.start(np.array([near, 0.0]), np.array([1.0, 0.0]))
    subject.rest(0.0, 0.5)
    assert follow(subject, 0.6)[-1, 0, 0] == pytest.approx(near + 0.1, abs=1e-9)
    subject.start(np.zeros(2), np.array([1.0, 0.0]))
    subject.rest(0.6, 0.01)
    assert np.abs(follow(subject, 0.5, 0.6)[:, 2]).max() <= subject.limiter.acceleration[0]


def test_what_rests_is_not_computed_and_moves_at_once():
    """A rest gives exactly the held position; the next set-point goes on without a step."""
    subject = reference()
    subject.start(np.array([0.1, -0.2]), np.array([0.5, 0.0]))
    now = 0.0
    while not subject.resting:
        now += DT
        subject.update(now)
        assert now < 2.0
    held = subject.state.copy()
    assert not held[1:].any()
    now += 5.0  # as if nobody had asked for long
    assert np.array_equal(subject.update(now), held)
    subject.set_point(now, held[0] + 0.3)
    assert not subject.resting
    before = subject.update(now + DT).copy()
    step = np.abs(before[0] - held[0]).max()
    assert 0.0 < step <= subject.limiter.acceleration.max() * DT**2 * (1.0 + 1e-9)
    assert subject.limiter.velocity.max() >= np.abs(before[1]).max() > 0.0


def test_continuous_joint_takes_the_short_way():
    """From 3.0 to -3.0 a continuous joint goes 0.28 rad forward, not 6 rad back."""
    subject = reference(timeout=10.0)
    subject.start(np.array([0.0, 3.0]))
    subject.update(0.0)
    subject.set_point(0.0, [0.0, -3.0])
    record = follow(subject, 1.0)
    assert record[-1, 0, 1] == pytest.approx(math.tau - 3.0, abs=1e-12)
    trajectory = subject.follow(1.0, Knots(np.array([1.0]), np.array([[0.0, 3.0]]), None, None),
                                1.0)
    assert trajectory.final[1] == pytest.approx(3.0, abs=1e-12)


def test_position_outside_the_joint_limits_is_refused():
    """A target beyond a joint limit is an invalid goal, except for a continuous joint."""
    subject = reference()
    subject.start(np.zeros(2))
    with pytest.raises(GoalError, match='outside'):
        subject.set_point(0.0, [3.1, 0.0])
    with pytest.raises(GoalError, match='finite'):
        subject.set_point(0.0, [math.nan, 0.0])
    subject.set_point(0.0, [0.0, 30.0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-3.0, 3.0), st.floats(-9.0, 9.0), st.floats(-5.0, 5.0),
                          st.integers(1, 60)), min_size=1, max_size=8))
def test_any_targets_keep_the_reference_limits(targets):
    """Whatever is streamed, velocity and acceleration of the reference stay bounded."""
    subject = ReferenceLimiter([2.0, 2.0], [20.0, 20.0])
    for q, q2, qd, count in targets:
        target = np.array([[q, q2], [qd, -qd], [100.0, -100.0]])
        for _ in range(count):
            before = subject.state.copy()
            subject.target[:] = target
            subject.step(DT)
            assert (np.abs(subject.state[0] - before[0]) <= 2.0 * DT * 1.0011).all()
            assert (np.abs(subject.state[1] - before[1]) <= 20.0 * DT * 1.0011).all()
            assert (np.abs(subject.state[1]) <= 2.0 * 1.0011).all()
            assert (np.abs(subject.state[2]) <= 20.0).all()


LIMIT = 0.5


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-LIMIT, LIMIT), st.floats(-2.0, 2.0), st.integers(1, 120)),
                min_size=1, max_size=8), st.integers(0, 2**31))
def test_no_target_takes_the_reference_beyond_a_joint_limit(targets, seed):
    """Whatever velocity a set-point has and however the period varies, limits are kept."""
    subject = reference(lower=[-LIMIT] * 2, upper=[LIMIT] * 2, timeout=100.0)
    subject.start(np.zeros(2))
    rng, now = np.random.default_rng(seed), 0.0
    for q, qd, count in targets:
        subject.set_point(now, [q, q], [qd, qd])
        for _ in range(count):
            now += rng.uniform(0.1, 2.0) * DT
            assert abs(subject.update(now)[0, 0]) <= LIMIT + 1e-6
    assert np.isfinite(subject.state).all()


def test_set_point_with_a_velocity_stops_before_the_limit():
    """A set-point at the limit that still moves on ends at the limit, at rest."""
    subject = reference(lower=[-LIMIT] * 2, upper=[LIMIT] * 2, timeout=10.0)
    subject.start(np.zeros(2))
    subject.update(0.0)
    subject.set_point(0.0, [LIMIT, 0.0], [2.0, 2.0])
    record = follow(subject, 2.0)
    assert record[:, 0, 0].max() <= LIMIT + 1e-6
    assert record[-1, 0, 0] == pytest.approx(LIMIT, abs=1e-3)
    assert record[-1, 1, 0] == pytest.approx(0.0, abs=1e-3)


def test_polynomial_beyond_a_limit_is_cut_off():
    """A cubic that swings beyond the limit between two good points does not take us there."""
    subject = reference(lower=[-LIMIT] * 2, upper=[LIMIT] * 2)
    subject.start(np.zeros(2))
    subject.update(0.0)
    trajectory = subject.follow(0.0, Knots(np.array([0.5, 1.5]), np.full((2, 2), 0.45),
                                           np.array([[1.0, 1.0], [-1.0, -1.0]]), None), 0.0)
    wanted = sampled(trajectory, np.arange(0.0, 1.5, DT))
    assert wanted[:, 0, 0].max() > LIMIT + 0.1  # 0.45 + 1 s * 1 rad/s / 4 by the cubic
    record = follow(subject, 1.6)
    assert record[:, 0, 0].max() <= LIMIT + 1e-6
    assert record[-1, 0, 0] == pytest.approx(0.45, abs=1e-9)


def test_reference_outside_a_limit_only_comes_back():
    """A robot found outside its limits is held there without a step, and led inside."""
    subject = reference(lower=[-LIMIT] * 2, upper=[LIMIT] * 2, timeout=10.0)
    subject.start(np.array([LIMIT + 0.1, 0.0]))
    record = follow(subject, 0.1)
    np.testing.assert_array_equal(record[:, 0, 0], LIMIT + 0.1)
    subject.set_point(0.1, [LIMIT, 0.0], [1.0, 0.0])
    record = follow(subject, 1.0, 0.1)
    assert (np.diff(record[:, 0, 0]) <= 1e-5).all()
    assert record[-1, 0, 0] == pytest.approx(LIMIT, abs=1e-3)


@pytest.mark.parametrize('field, value, text', [
    ('velocity', 1e308, 'velocity 1e.308 of joint b in point 1 is beyond 4.04'),
    ('velocity', -4.1, 'velocity -4.1 of joint b in point 1 is beyond 4.04'),
    ('acceleration', 2e5, r'acceleration 200000 of joint b in point 1 is beyond 100000'),
])
def test_points_that_no_joint_can_follow_are_refused(field, value, text):
    """Velocities beyond the limits of the robot and absurd accelerations are no goal."""
    subject = reference(speed=[4.0, 4.0], joints=JOINTS)
    subject.start(np.zeros(2))
    rates = {'velocity': np.zeros((2, 2)), 'acceleration': np.zeros((2, 2))}
    rates[field][1, 1] = value
    knots = Knots(np.array([1.0, 2.0]), np.zeros((2, 2)), rates['velocity'],
                  rates['acceleration'])
    with pytest.raises(GoalError, match=text):
        subject.follow(0.0, knots, 0.0)
    point = text.replace('point 1', 'point 0')
    with pytest.raises(GoalError, match=point):
        subject.set_point(0.0, np.zeros(2), rates['velocity'][1], rates['acceleration'][1])
    assert subject.source is Source.HOLD


def test_velocity_is_bounded_where_the_robot_has_no_limit():
    """Without a velocity limit a point may still not ask for more than any joint has."""
    subject = reference()
    subject.start(np.zeros(2))
    with pytest.raises(GoalError, match='beyond 1000'):
        subject.set_point(0.0, np.zeros(2), np.array([0.0, 1001.0]))
    subject.set_point(0.0, np.zeros(2), np.array([0.0, 999.0]))


# -- goals ------------------------------------------------------------------------------------


def tolerances(path=0.1, goal=0.01, goal_time=0.5):
    """Position tolerances, nothing else restricted."""

    def rows(x):
        return np.array([[x, x], [np.inf, np.inf], [np.inf, np.inf]])

    return Tolerances(rows(path), rows(goal), goal_time)


def pursue(subject, key='goal', now=0.0, **options):
    """Accept a goal to (0.5, 0.5) in one second."""
    knots = Knots(np.array([1.0]), np.array([[0.5, 0.5]]), np.zeros((1, 2)), np.zeros((1, 2)))
    trajectory = subject.follow(now, knots, now)
    subject.pursue(Goal(key, trajectory, tolerances(**options), JOINTS))


def drive(subject, duration, offset=(0.0, 0.0), begin=0.0):
    """Let the measured position be the reference plus an offset."""
    for k in range(round(duration / DT)):
        now = begin + (k + 1) * DT
        state = subject.update(now)
        subject.check_goal(now, state[0] + offset, state[1])


def ready():
    """Return a reference at rest at zero."""
    subject = reference()
    subject.start(np.zeros(2))
    subject.update(0.0)
    return subject


def test_goal_succeeds_at_its_end():
    """A goal that is tracked succeeds at the end of the trajectory and not before."""
    subject = ready()
    pursue(subject)
    drive(subject, 0.999)
    assert not subject.goals.ended
    drive(subject, 0.002, begin=0.999)
    key, outcome = subject.goals.ended.popleft()
    assert (key, outcome.status, outcome.code) == ('goal', Status.SUCCEEDED, 0)


def test_path_tolerance_aborts_and_holds():
    """An error beyond the path tolerance aborts with its code and the joint's name."""
    subject = ready()
    pursue(subject)
    drive(subject, 0.3, offset=(0.0, 0.2))
    _, outcome = subject.goals.ended.popleft()
    assert outcome.status is Status.ABORTED
    assert outcome.code is ResultCode.PATH_TOLERANCE_VIOLATED
    assert outcome.text.startswith('b: position error')
    assert subject.source is Source.HOLD


def test_goal_tolerance_waits_for_goal_time():
    """Outside the goal tolerance the goal waits goal_time, then aborts."""
    subject = ready()
    pursue(subject)
    drive(subject, 1.499, offset=(0.05, 0.0))
    assert subject.goals.active
    drive(subject, 0.01, offset=(0.05, 0.0), begin=1.499)
    _, outcome = subject.goals.ended.popleft()
    assert outcome.code is ResultCode.GOAL_TOLERANCE_VIOLATED


def test_late_arrival_within_goal_time_succeeds():
    """A robot that settles within goal_time succeeds."""
    subject = ready()
    pursue(subject)
    drive(subject, 1.2, offset=(0.05, 0.0))
    drive(subject, 0.01, begin=1.2)
    assert subject.goals.ended.popleft()[1].status is Status.SUCCEEDED


def test_cancel_holds_smoothly():
    """A cancelled goal brakes within the reference limits and stays."""
    subject = ready()
    pursue(subject)
    drive(subject, 0.5)
    assert not subject.cancel('other')
    assert subject.cancel('goal')
    assert subject.goals.ended.popleft()[1].status is Status.CANCELED
    record = follow(subject, 0.3, 0.5)
    assert np.abs(record[:, 2]).max() <= 20.0 + 1e-9
    np.testing.assert_array_equal(record[-1, 1], [0.0, 0.0])


def test_new_goal_pre_empts_without_a_step():
    """A second goal aborts the first, and the reference goes on continuously."""
    subject = ready()
    pursue(subject, 'first')
    drive(subject, 0.5)
    before = subject.state.copy()
    pursue(subject, 'second', now=0.5)
    key, outcome = subject.goals.ended.popleft()
    assert key == 'first'
    assert 'pre-empted' in outcome.text
    after = subject.update(0.501)
    assert np.abs(after[1] - before[1]).max() <= 20.0 * DT
    drive(subject, 1.1, begin=0.501)
    assert subject.goals.ended.popleft()[1].status is Status.SUCCEEDED


def test_set_point_ends_a_goal():
    """A streamed set-point takes over from a goal, which is notified."""
    subject = ready()
    pursue(subject)
    subject.set_point(0.1, [0.0, 0.0])
    assert 'set-point' in subject.goals.ended.popleft()[1].text


def test_tolerances_of_a_message():
    """Zero means the default, negative no restriction, positive the value."""
    merged = read_tolerances(JOINTS, tolerances(), [('b', 0.3, 0.0, -1.0)],
                             [('a', -1.0, 0.0, 0.0)], -1.0)
    assert merged.path[0].tolist() == [0.1, 0.3]
    assert merged.goal[0].tolist() == [np.inf, 0.01]
    assert merged.goal_time == np.inf
    assert read_tolerances(JOINTS, tolerances(), [], [], 0.0).goal_time == 0.5
    with pytest.raises(GoalError, match='unknown joint x'):
        read_tolerances(JOINTS, tolerances(), [('x', 1.0, 0.0, 0.0)], [], 0.0)


@pytest.mark.parametrize(('names', 'text'), [
    (('a', 'x'), '(unknown: x; missing: b)'), (('b',), '(missing: a)'),
    (('a', 'b', 'b'), '(given twice: b)'), (('a', 'b', 'y', 'x'), '(unknown: y, x)')])
def test_names_that_differ_are_told(names, text):
    """Each kind of difference is named with its joints, and nothing else."""
    with pytest.raises(GoalError) as info:
        read_points(names, JOINTS, [1.0], [[0.0] * len(names)], [[]], [[]])
    assert str(info.value).endswith(text)
    assert info.value.code is ResultCode.INVALID_JOINTS


def test_old_trajectory_is_refused():
    """A trajectory that is over is refused with its own code and does not disturb."""
    subject = ready()
    pursue(subject)
    with pytest.raises(GoalError, match='ended') as info:
        subject.follow(10.0, Knots(np.array([1.0]), np.zeros((1, 2)), None, None), 0.5)
    assert info.value.code is ResultCode.OLD_HEADER_TIMESTAMP
    assert subject.goals.active


def stepped(q, v, target, before=0.0, high=math.inf):
    """Return one step of 10 ms of a joint with 2 rad/s and 4 rad/s^2."""
    rows = joint_step([[q], [v], [before]], [[x] for x in target], [2.0], [4.0], [-math.inf],
                      [high], 0.01)
    return [float(row[0]) for row in rows]


@pytest.mark.parametrize(('v', 'target', 'change'), [
    (0.0, (1.0, 0.0, 0.0), 1.0), (0.0, (-1.0, 0.0, 0.0), -1.0),    # a quarter to speed up
    (1.0, (-1.0, 0.0, 0.0), -4.0), (-1.0, (1.0, 0.0, 0.0), 4.0),   # all of it to brake
    (2.0, (9.0, 0.0, 0.0), 0.0), (1.995, (9.0, 0.0, 0.0), 0.5),    # up to the largest speed
    (2.0, (0.1, 0.0, 0.0), -4.0),                                  # 0.5 rad are needed to stop
    (0.3, (0.5, 0.5, 0.0), 1.0)])                                  # the target moves on
def test_one_step_of_the_reference(v, target, change):
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


@pytest.mark.parametrize(('q', 'v', 'high'), [
    (0.999999, 0.0, 1.0), (0.9, 0.8, 1.0), (1.2, 0.0, 1.0), (1.2, -0.1, 1.0)])
def test_reference_stays_inside_whatever_it_is_asked_for(q, v, high):
    """A target beyond the limit is gone to as far as the limit, and from outside only back."""
    for _ in range(200):
        before = q
        q, v, _ = stepped(q, v, (5.0, 1.0, 0.0), high=high)
        assert q <= max(high, before) + 1e-12


def test_held_reference_follows_a_robot_that_is_pushed_away():
    """It stays within its distance of the robot, no nearer, and comes to rest there."""
    subject = ready()
    before = subject.state[0].copy()
    assert not subject.give_way(before + [0.1, -0.1], np.array([0.1001, 0.1001])).any()
    np.testing.assert_array_equal(subject.state[0], before)
    subject.state[1] = 0.5
    moved = subject.give_way(before + [0.5, -0.25], np.array([0.1, 0.2]))
    np.testing.assert_allclose(moved, [0.4, -0.05], atol=1e-12)
    np.testing.assert_allclose(subject.state[0], before + [0.4, -0.05], atol=1e-12)
    assert not subject.state[1:].any() and subject.source is Source.HOLD


@pytest.mark.parametrize(('q', 'qd', 'qdd', 'word'), [
    (3.0000009, 0.0, 0.0, ''), (3.000002, 0.0, 0.0, 'position 3 of joint a is outside'),
    (-3.000002, 0.0, 0.0, 'outside'), (0.0, 2.0199, 0.0, ''), (0.0, -2.0199, 0.0, ''),
    (0.0, 2.0201, 0.0, 'velocity'), (0.0, -2.0201, 0.0, 'velocity'), (0.0, 0.0, 1e5, ''),
    (0.0, 0.0, -1.001e5, 'acceleration'), (0.0, 0.0, math.nan, 'acceleration')])
def test_bounds_of_what_may_be_asked_for(q, qd, qdd, word):
    """A little of slack for rounding and planners; a continuous joint has no end."""
    subject = reference(joints=JOINTS, speed=[2.0, 5e3])
    point = [np.array([[x, 0.0]]) for x in (q, qd, qdd)]
    if word:
        with pytest.raises(GoalError, match=word):
            subject.check(*point)
    else:
        subject.check(*point)
    subject.check(np.array([[0.0, 40.0]]), np.array([[0.0, 999.0]]))
    with pytest.raises(GoalError, match='joint b'):
        subject.check(np.zeros((1, 2)), np.array([[0.0, 1001.0]]))


# -- streams of single points -----------------------------------------------------------------

KP, KD = 400.0, 40.0  # of the law


def path(rng):
    """Return a gentle path of two joints as position and velocity at a time."""
    w, size = 2.0 * math.pi * rng.uniform(0.1, 0.4, 2), rng.uniform(0.02, 0.25, 2)

    def at(t):
        return size * (1.0 - np.cos(w * t)), size * w * np.sin(w * t)
    return at


def demanded(send, sends, duration):
    """
    Return accelerations asked of joints under computed torque, and where they were.

    With a right model a joint is a double integrator, and what is asked is torque by inertia.
    """
    subject = reference(velocity=[2.0, 2.0], acceleration=[10.0, 10.0])
    subject.start(np.zeros(2))
    q, qd, asked, went, k = np.zeros(2), np.zeros(2), [], [], 0
    for step in range(round(duration / DT)):
        now = step * DT
        while k < len(sends) and sends[k] <= now:
            send(subject, now, k)
            k += 1
        x, v, a = subject.update(now)
        asked.append(a + KD * (v - qd) + KP * (x - q))
        qd = qd + DT * asked[-1]
        q = q + DT * qd
        went.append(q)
    return np.array(asked), np.array(went)


def by_set_point(at, times, velocities):
    """Send points as set-points."""
    def send(subject, now, k):
        q, qd = at(times[k])
        subject.take(now, Knots(np.zeros(1), q[None], qd[None] if velocities else None, None), now)
    return send


def by_trajectory(at, times, horizon, velocities, stamped):
    """Send points as trajectories that end at them."""
    def send(subject, now, k):
        q, qd = at(times[k])
        begin = times[k] - horizon if stamped else now
        subject.take(now, Knots(np.array([horizon]), q[None], qd[None] if velocities else None,
                                None), begin)
    return send


@pytest.mark.parametrize('velocities', [False, True])
@pytest.mark.parametrize('seed', range(12))
def test_stream_of_short_trajectories_is_as_smooth_as_set_points(seed, velocities):
    """
    At 20 to 100 Hz, with jitter, peaks and steps are at most 1.2 times those of set-points.

    What is below 6 % of the acceleration limit is not compared.
    """
    rng = np.random.default_rng(seed)
    at, rate = path(rng), rng.uniform(20.0, 100.0)
    horizon = rng.uniform(1.0, 1.7) / rate
    stamped = bool(rng.random() < 0.5) and not velocities
    regular = np.arange(0.0, 1.5, 1.0 / rate)
    jitter = rng.uniform(0.0, 0.4) / rate
    sends = regular + jitter * rng.random(len(regular))
    times = regular + horizon
    if stamped:  # the sender stamps when it sends, and the message is on its way for some time
        sends = regular + min(jitter, 0.5 * horizon) * rng.random(len(regular))
    asked, went = demanded(by_trajectory(at, times, min(horizon, 0.099), velocities, stamped),
                           sends, 1.5)
    usual, _ = demanded(by_set_point(at, times, velocities), sends, 1.5)
    for j in range(2):
        assert np.abs(asked[:, j]).max() <= max(1.2 * np.abs(usual[:, j]).max(), 0.6)
        step, usual_step = (np.abs(np.diff(x[:, j])).max() for x in (asked, usual))
        assert step <= max(1.2 * usual_step, 0.6)
    wanted = np.array([at(t)[0] for t in np.arange(len(went)) * DT])
    speed = max(np.abs(at(t)[1]).max() for t in np.linspace(0.0, 1.5, 100))
    # late by the message before, by what the next may be late, by braking, and by the law
    assert np.abs(went - wanted).max() <= speed * (horizon + 1.0 / rate + jitter + 0.15)


@pytest.mark.parametrize('way', [0.3, -0.05, 1.5])
def test_single_short_trajectory_goes_to_its_end(way):
    """One point that is due soon is reached without overshoot, and stays the target."""
    subject = reference(velocity=[1.0, 1.0], acceleration=[10.0, 10.0], timeout=0.1)
    subject.start(np.zeros(2))
    subject.take(0.0, Knots(np.array([0.03]), np.array([[way, 0.0]]), None, None), 0.0)
    assert subject.source is Source.STREAM
    run = follow(subject, 6.0)
    np.testing.assert_allclose(run[-1, 0], [way, 0.0], atol=1e-9)
    assert (np.abs(run[:, 0, 0]) <= abs(way) + 1e-5).all() and not subject.timed_out
    assert np.abs(run[:, 1]).max() <= 1.0 + 1e-9


def test_reversed_stream_comes_back():
    """A joint at its point that moves away from it gets there again: no pace is zero."""
    subject = reference(velocity=[1.0, 1.0], acceleration=[10.0, 10.0])
    subject.start(np.zeros(2), np.array([0.8, 0.0]))
    subject.take(0.0, Knots(np.array([0.02]), np.zeros((1, 2)), None, None), 0.0)
    run = follow(subject, 5.0)
    assert run[:, 0, 0].max() > 0.02
    np.testing.assert_allclose(run[-1, 0], 0.0, atol=1e-9)


@pytest.mark.parametrize('times, begin, source', [
    ([0.1], 0.0, Source.STREAM), ([0.1001], 0.0, Source.TRAJECTORY), ([0.0], 0.0, Source.STREAM),
    ([0.05], 0.06, Source.TRAJECTORY), ([0.05], 0.04, Source.STREAM),
    ([0.01, 0.02], 0.0, Source.TRAJECTORY), ([0.05], -0.049, Source.STREAM)])
def test_what_is_a_stream(times, begin, source):
    """One point due within 0.1 s is; its pace ends with whatever comes next."""
    subject = reference()
    subject.start(np.zeros(2))
    subject.take(0.0, Knots(np.array(times), np.full((len(times), 2), 0.1), None, None), begin)
    assert subject.source is source
    subject.hold()
    np.testing.assert_array_equal(subject.limiter._most, subject.limiter.velocity)
    with pytest.raises(GoalError, match=r'the trajectory ended 0\.01 s ago'):
        subject.take(0.0, Knots(np.array([0.02]), np.zeros((1, 2)), None, None), -0.03)
