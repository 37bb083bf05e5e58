# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Curves through timed way-points: smooth, at rest at both ends, the same in any base."""

import math

import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.paths.curve import (
    Curve, exponential, logarithm, right_jacobian, right_jacobian_rate, WayPoints)
from rbd_ros.control.paths.way_points import curve_from
from scipy.interpolate import CubicSpline
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

SEEDS = range(8)


def random_points(rng, count=5, turn=0.9):
    """Return way-points some tenths of a metre and up to some fifty degrees apart."""
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.3, 1.5, count - 1))])
    R = [Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()]
    for _ in range(count - 1):
        R.append(R[-1] @ exponential(turn * rng.uniform(-1.0, 1.0, 3)))
    return WayPoints(times, rng.uniform(-0.5, 0.5, (count, 3)), np.array(R))


def instants(rng, curve, count=60):
    """Return times on the way, away from the way-points by more than a difference quotient."""
    times = rng.uniform(0.0, curve.end, count)
    return [t for t in times if np.abs(curve.times - t).min() > 1e-4]


@pytest.mark.parametrize('size', [1e-9, 1e-3, 0.019, 0.021, 1.0, 3.0])
def test_rotation_vectors(size):
    """Exponential, logarithm and both Jacobians against scipy and difference quotients."""
    rng = np.random.default_rng(1)
    r, rate = size * np.array([0.6, -0.48, 0.64]), rng.normal(size=3)
    R = exponential(r)
    x, y, z = r
    np.testing.assert_allclose(R, expm(np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])),
                               atol=1e-14)
    np.testing.assert_allclose(logarithm(R), r, atol=1e-14 + 1e-13 * size)
    h = 1e-5
    turned = logarithm(exponential(r - h * rate).T @ exponential(r + h * rate)) / (2.0 * h)
    np.testing.assert_allclose(right_jacobian(r) @ rate, turned, atol=1e-8)
    slope = (right_jacobian(r + h * rate) - right_jacobian(r - h * rate)) / (2.0 * h)
    np.testing.assert_allclose(right_jacobian_rate(r, rate), slope, atol=1e-8)


@pytest.mark.parametrize('seed', SEEDS)
def test_velocity_and_acceleration_are_derivatives(seed):
    """Central differences of poses and of velocities; both parts, base axes."""
    rng = np.random.default_rng(seed)
    curve = Curve(random_points(rng))
    h = 1e-5
    for t in instants(rng, curve):
        before, now, after = curve.at(t - h), curve.at(t), curve.at(t + h)
        np.testing.assert_allclose(now.R.T @ now.R, np.eye(3), atol=1e-13)
        np.testing.assert_allclose((after.p - before.p) / (2.0 * h), now.velocity[3:], atol=1e-6)
        np.testing.assert_allclose(logarithm(after.R @ before.R.T) / (2.0 * h),
                                   now.velocity[:3], atol=1e-6)
        np.testing.assert_allclose((after.velocity - before.velocity) / (2.0 * h),
                                   now.acceleration, atol=1e-5)


@pytest.mark.parametrize('given', [0, 1, 2])
@pytest.mark.parametrize('seed', SEEDS)
def test_pieces_meet_with_velocity_and_acceleration(seed, given):
    """Through every way-point, with what is given there; at rest at both ends."""
    rng = np.random.default_rng(seed)
    points = random_points(rng)
    count = len(points.times)
    inner = np.ones((count, 1))
    inner[[0, -1]] = 0.0
    if given > 0:
        points.velocity = inner * rng.normal(size=(count, 6))
    if given > 1:
        points.acceleration = inner * rng.normal(size=(count, 6))
    curve, h = Curve(points), 1e-9
    for k, t in enumerate(points.times):
        at = curve.at(float(t))
        np.testing.assert_allclose(at.p, points.p[k], atol=1e-12)
        np.testing.assert_allclose(at.R, points.R[k], atol=1e-12)
        if given > 0:
            np.testing.assert_allclose(at.velocity, points.velocity[k], atol=1e-10)
            wanted = np.zeros(6) if given == 1 else points.acceleration[k]
            np.testing.assert_allclose(at.acceleration, wanted, atol=1e-9)
        if 0 < k < count - 1:
            before = curve.at(float(t) - h)
            np.testing.assert_allclose(before.velocity, at.velocity, atol=1e-6)
            np.testing.assert_allclose(before.acceleration, at.acceleration, atol=1e-5)
        else:
            np.testing.assert_allclose(at.velocity, 0.0, atol=1e-10)
            np.testing.assert_allclose(at.acceleration, 0.0, atol=1e-9)


@pytest.mark.parametrize('seed', SEEDS)
def test_the_curve_does_not_depend_on_the_base_or_on_the_axes_of_the_tool(seed):
    """Way-points moved as one body move the curve; so do other axes fixed to the frame."""
    rng = np.random.default_rng(seed)
    points = random_points(rng)
    L, M = (Rotation.random(random_state=seed + k).as_matrix() for k in (100, 200))
    way = rng.normal(size=3)
    one = Curve(points)
    other = Curve(WayPoints(points.times, points.p @ L.T + way, L @ points.R @ M))
    turn = np.kron(np.eye(2), L)
    for t in rng.uniform(0.0, one.end, 30):
        a, b = one.at(t), other.at(t)
        np.testing.assert_allclose(b.p, L @ a.p + way, atol=1e-12)
        np.testing.assert_allclose(b.R, L @ a.R @ M, atol=1e-12)
        np.testing.assert_allclose(b.velocity, turn @ a.velocity, atol=1e-11)
        np.testing.assert_allclose(b.acceleration, turn @ a.acceleration, atol=1e-10)


@pytest.mark.parametrize('seed', SEEDS)
def test_inner_pieces_are_the_cubic_spline(seed):
    """Of positions, and of angles about one axis; by scipy."""
    rng = np.random.default_rng(seed)
    points, axis = random_points(rng, count=6), np.array([0.6, 0.0, 0.8])
    angles = np.cumsum(rng.uniform(-1.0, 1.0, 6))
    base = points.R[0]
    points.R = np.array([base @ exponential(angle * axis) for angle in angles])
    curve = Curve(points)
    spline = CubicSpline(points.times, np.column_stack([points.p, angles]), bc_type='clamped')
    for t in rng.uniform(points.times[1], points.times[-2], 30):
        at, wanted = curve.at(t), spline(t)
        np.testing.assert_allclose(at.p, wanted[:3], atol=1e-12)
        np.testing.assert_allclose(at.R, base @ exponential(wanted[3] * axis), atol=1e-12)


def test_two_way_points_are_a_straight_line_of_least_jerk():
    """The profile of Flash and Hogan; the axis of the turn stands."""
    R = np.array([np.eye(3), exponential(np.array([0.0, 0.0, 2.0]))])
    curve = Curve(WayPoints(np.array([0.0, 2.0]), np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]]), R))
    for t in np.linspace(0.0, 2.0, 21):
        s = t / 2.0
        share = 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
        np.testing.assert_allclose(curve.at(t).p, [1.0 + share, 2.0, 3.0 - 2.0 * share],
                                   atol=1e-12)
        np.testing.assert_allclose(curve.at(t).R, exponential(np.array([0.0, 0.0, 2.0 * share])),
                                   atol=1e-12)


def test_start_is_drawn_to_where_the_frame_is():
    """A way-point at 0 s gives its place to the pose of now, if that is near."""
    points = WayPoints(np.array([0.0, 1.0]), np.array([[0.004, 0.0, 0.0], [0.3, 0.0, 0.0]]),
                       np.array([np.eye(3)] * 2))
    curve = curve_from(points, np.zeros(3), np.eye(3), turns=True)
    np.testing.assert_array_equal(curve.at(0.0).p, 0.0)
    np.testing.assert_allclose(curve.at(1.0).p, [0.3, 0.0, 0.0], atol=1e-12)
    with pytest.raises(GoalError, match='begins 0.006 m and 0 rad'):
        curve_from(points, np.array([-0.002, 0.0, 0.0]), np.eye(3), turns=True)
    tilted = exponential(np.array([0.03, 0.0, 0.0]))
    with pytest.raises(GoalError, match='0.03 rad'):
        curve_from(points, np.zeros(3), tilted, turns=True)
    # Whoever does not follow orientations need not give any that make sense.
    points.R[1] = exponential(np.array([math.pi - 1e-9, 0.0, 0.0]))
    with pytest.raises(GoalError, match='the turn to way-point 1 is 180 degrees'):
        curve_from(points, np.zeros(3), np.eye(3), turns=True)
    there = curve_from(points, np.zeros(3), tilted, turns=False).at(0.7)
    np.testing.assert_allclose(there.R, tilted, atol=1e-12)
