# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Points of messages and the polynomials that join them."""

import math

import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.references.goals import read_tolerances, Tolerances
from rbd_ros.control.references.trajectory import Knots, read_points, Trajectory
from reference_rig import NAMES as JOINTS, sampled
from scipy.interpolate import CubicHermiteSpline

REST = (np.zeros(2), np.zeros(2), np.zeros(2))


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


def test_straight_lines_if_asked():
    """The linear option draws the straight lines of joint_trajectory_controller."""
    knots = Knots(np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 2.0]]), None, None)
    at = sampled(Trajectory(knots, 0.0, 0.0, REST, linear=True), [0.5, 1.5])
    np.testing.assert_allclose(at[:, 0], [[0.5, 1.0], [2.0, 2.0]], atol=1e-12)
    np.testing.assert_allclose(at[:, 1], [[1.0, 2.0], [2.0, 0.0]], atol=1e-12)


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


DEFAULT = Tolerances(*(np.array([[x, x], [np.inf] * 2, [np.inf] * 2]) for x in (0.1, 0.01)), 0.5)


def test_tolerances_of_a_message():
    """Zero means the default, negative no restriction, positive the value."""
    merged = read_tolerances(JOINTS, DEFAULT, [('b', 0.3, 0.0, -1.0)],
                             [('a', -1.0, 0.0, 0.0)], -1.0)
    assert merged.path[0].tolist() == [0.1, 0.3]
    assert merged.goal[0].tolist() == [np.inf, 0.01]
    assert merged.goal_time == np.inf
    assert read_tolerances(JOINTS, DEFAULT, [], [], 0.0).goal_time == 0.5
    with pytest.raises(GoalError, match='unknown joint x'):
        read_tolerances(JOINTS, DEFAULT, [('x', 1.0, 0.0, 0.0)], [], 0.0)
