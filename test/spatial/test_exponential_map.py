# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Rotation vectors: the exponential map, its Jacobian and rate, and the ball joint made of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import rbd_ros
from rbd_ros import compiler
from rbd_ros.joints import Composite, Revolute, RotationVector, Spherical, verify
from rbd_ros.samples import families
from rbd_ros.spatial import exponential, quaternion, Vec3
from scipy.linalg import expm
from spatial_oracle import array, assert_close, derivative, skew

ANGLES = [0.0, 1e-9, 1e-4, 0.3, 0.999999, 1.000001, 2.5, 3.1, 6.0]


def vector(angle):
    """Return a rotation vector of some length."""
    return angle * np.array([0.48, -0.6, 0.64])


@pytest.mark.seed('LIU B24', 'LIU B25')
@pytest.mark.parametrize('angle', ANGLES)
def test_rotation_and_jacobians(angle):
    """R is the matrix exponential; J maps rates to the angular velocity, R'J to that inside."""
    q, qd = vector(angle), np.array([0.7, -0.2, 0.4])
    R = array(exponential.rotation(Vec3(*q)))
    assert_close(R, expm(skew(q)), 1e-14)
    J = array(exponential.rotation_jacobian(Vec3(*q)))
    W = derivative(lambda t: expm(skew(q + t * qd))) @ R.T
    assert_close(skew(J @ qd), W, 1e-10)
    assert_close(array(exponential.body_jacobian(Vec3(*q))), R.T @ J, 1e-13)
    size = 1.0 if angle < 1e-6 else 2.0 * (1.0 - math.cos(angle)) / angle**2
    assert np.linalg.det(J) == pytest.approx(size, rel=1e-6 if angle < 1e-3 else 1e-11)
    for function, rate in ((exponential.rotation_jacobian, exponential.rotation_jacobian_rate),
                           (exponential.body_jacobian, exponential.body_jacobian_rate)):
        moving = derivative(lambda t, f=function: array(f(Vec3(*(q + t * qd)))))
        assert_close(array(rate(Vec3(*q), Vec3(*qd))), moving, 1e-10)


@pytest.mark.seed('LIU B26')
def test_small_angles():
    """Limits at zero, and no step where the series takes over from the closed form."""
    q = np.array([1e-4, -2e-4, 1.5e-4])
    K = skew(q)
    R, J = (array(f(Vec3(*q))) for f in (exponential.rotation, exponential.rotation_jacobian))
    assert_close(R, np.eye(3) + K + 0.5 * K @ K, 1e-11)
    assert_close(J, np.eye(3) + 0.5 * K + K @ K / 6.0, 1e-11)
    zero = exponential.coefficients(0.0)
    assert_close(list(zero), [1.0, 0.5, 1.0 / 6.0, -1.0 / 24.0, -1.0 / 120.0], 1e-16)
    below, above = (exponential.coefficients(exponential.SERIES_BELOW * (1.0 + side))
                    for side in (-1e-15, 1e-15))
    assert_close(list(below), list(above), 2e-15)
    # traced: value and slope at zero are finite, and the slope of J is its rate
    graph = compiler.trace(lambda q: {'J': exponential.rotation_jacobian(Vec3(*q)).to_list()},
                           {'q': 3})
    slope = np.array(compiler.jacobian(graph, 'J', 'q').evaluate([0.0] * 3)).reshape(3, 3, 3)
    for k in range(3):
        assert_close(slope[:, :, k], 0.5 * skew(np.eye(3)[k]), 1e-15)


@pytest.mark.parametrize('turns', [0.51, 0.99, 1.01, 1.49, 1.51, 2.49, 2.51, 7.3])
def test_shorter_vector_after_many_turns(turns):
    """However many turns a vector has, the shorter one has at most half of one."""
    n = np.array([2.0, -3.0, 6.0]) / 7.0
    q = Vec3(*(2.0 * np.pi * turns * n))
    found = exponential.shorter(q)
    assert np.linalg.norm(list(found)) <= np.pi
    np.testing.assert_allclose(exponential.rotation(found).to_list(),
                               exponential.rotation(q).to_list(), atol=1e-13)


def test_shorter_vector_is_the_same_rotation():
    """Beyond half a turn the vector is rewound; place and motion stay."""
    joint = RotationVector()
    q, qd = (4.0 * np.array([0.6, 0.0, 0.8])).tolist(), [0.3, -0.5, 0.2]
    short, rates = joint.rewound(q, qd)
    assert np.linalg.norm(short) == pytest.approx(2.0 * math.pi - 4.0, rel=1e-14)
    assert_close(joint.transform(short).to_list(), joint.transform(q).to_list(), 1e-14)
    assert_close(joint.velocity(short, rates).to_list(), joint.velocity(q, qd).to_list(), 1e-14)
    assert joint.rewound([0.1, 0.2, 0.3], qd)[0] == [0.1, 0.2, 0.3]


@pytest.mark.seed('LIU B23')
def test_three_angles():
    """The ball joint of angles x-y-z has the Jacobian [e_x, R_x e_y, R_x R_y e_z]."""
    x, y, z = np.eye(3)
    joint = Composite((Revolute((1.0, 0.0, 0.0)), Revolute((0.0, 1.0, 0.0)), Revolute()))
    q = [0.4, 0.9, -0.7]
    Rx, Ry, Rz = (expm(skew(axis * angle)) for axis, angle in zip((x, y, z), q, strict=True))
    E = np.array(joint.transform(q).E.to_list())
    assert_close(E.T, Rx @ Ry @ Rz, 1e-14)
    J = E.T @ np.array([s.ang.to_list() for s in joint.subspace(q)]).T
    assert_close(J, np.column_stack([x, Rx @ y, Rx @ Ry @ z]), 1e-14)
    assert np.linalg.det(J) == pytest.approx(math.cos(q[1]), rel=1e-13)


@pytest.mark.parametrize('q', [[0.0, 0.0, 0.0], [0.3, -0.2, 0.5], [2.0, 1.5, -1.0]])
def test_ball_joints_of_two_kinds_move_alike(q):
    """A body on a rotation vector accelerates as the one on a quaternion."""
    verify(RotationVector(), q, [0.3, -0.5, 0.2])
    rng = np.random.default_rng(2)
    X, inertia = families.random_transform(rng), families.random_inertia(rng)
    robots = []
    for joint in (RotationVector(), Spherical()):
        builder = rbd_ros.ModelBuilder('ball')
        builder.add_body('body', 'base', joint, X, inertia)
        robots.append(rbd_ros.Dynamics(builder.build(), backend='reference'))
    vectors, ball = robots
    qd, tau = rng.normal(size=(2, 3))
    J = vectors.jacobian(q, 'body')[:3]
    p = quaternion.exponential(Vec3(*q))
    assert_close(vectors.pose(q, 'body'), ball.pose(p, 'body'), 1e-14)
    qdd = vectors.forward_dynamics(q, qd, tau)
    alpha = ball.forward_dynamics(p, J @ qd, np.linalg.solve(J.T, tau))
    assert_close(J @ qdd + vectors.jacobian_rate(q, qd, 'body')[:3], alpha, 1e-11)
