# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives, velocities and accelerations of moving bodies (RBDA 2.10 to 2.11)."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.spatial import (
    classical_acceleration, Force, Mat3, Motion, spatial_acceleration, Transform, Vec3)
from scipy.spatial.transform import Rotation
from spatial_oracle import array, assert_close, crf6, crm6, derivative, Sampler


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(7)


class Moving:
    """A frame on a smooth path: position and orientation as functions of time."""

    def __init__(self, sample):
        self.p = np.array([sample.vector() for _ in range(4)])
        self.w = np.array([sample.vector() for _ in range(3)])
        self.R0 = sample.rotation()

    def position(self, t):
        """Return the origin of the frame in base coordinates."""
        return self.p.T @ [1.0, t, t**2 / 2, t**3 / 6]

    def R(self, t):
        """Return the orientation in the base."""
        one, two = Rotation.from_rotvec(self.w[0] * t), Rotation.from_rotvec(self.w[1] * t**2)
        return self.R0 @ one.as_matrix() @ two.as_matrix()

    def X(self, t):
        """Return the transform from base to frame coordinates."""
        return Transform(Mat3(self.R(t).T.tolist()), Vec3(*self.position(t).tolist()))

    def velocity(self, t):
        """Return the spatial velocity in base coordinates, from the path alone."""
        Rd = derivative(lambda s: self.R(t + s))
        W = Rd @ self.R(t).T
        w = np.array([W[2, 1], W[0, 2], W[1, 0]])
        pd = derivative(lambda s: self.position(t + s))
        return np.concatenate((w, pd - np.cross(w, self.position(t))))


@pytest.mark.seed('RBDA 2-28', 'RBDA 2-05', 'SPENCER 57')
def test_derivative_of_a_transform(sample):
    """d/dt ^BX_A = ^B(v_A - v_B) x ^BX_A for two moving frames."""
    A, B = Moving(sample), Moving(sample)
    t = 0.3

    def X(s):
        return array(B.X(t + s) @ A.X(t + s).inverse())
    relative = array(B.X(t) @ Motion.from_list((A.velocity(t) - B.velocity(t)).tolist()))
    assert_close(derivative(X), crm6(relative) @ X(0.0), 1e-9)


@pytest.mark.seed('RBDA 2-26', 'RBDA 2-27', 'SIXD C07')
def test_derivative_in_moving_coordinates(sample):
    """A vector's derivative in a moving frame is the ring plus v x (motion) or v x* (force)."""
    A = Moving(sample)
    t = 0.2
    m0, m1 = np.array(sample.vector(6)), np.array(sample.vector(6))
    v = A.X(t) @ Motion.from_list(A.velocity(t).tolist())
    for kind in (Motion, Force):
        def fixed(s):                      # some vector given in base coordinates
            return m0 + m1 * s

        def moving(s):
            return array(A.X(t + s) @ kind.from_list(fixed(t + s).tolist()))
        dot = array(A.X(t) @ kind.from_list(m1.tolist()))
        ring = derivative(moving)
        m = A.X(t) @ kind.from_list(fixed(t).tolist())
        assert_close(dot, ring + array(v.cross(m)), 1e-9)
        assert np.abs(dot - ring).max() > 1e-2         # the two derivatives do differ


@pytest.mark.seed('SIXD C09', 'RBDA 2-25')
def test_vectors_fixed_in_a_body_turn_with_it(sample):
    """For a vector fixed in a body, sdot = v x s; products obey the product rule."""
    A = Moving(sample)
    t = 0.4
    s, f = sample.motion(), sample.force()
    v = Motion.from_list(A.velocity(t).tolist())

    def base(thing):
        return lambda h: array(A.X(t + h).inv_apply(thing))
    assert_close(derivative(base(s)), array(v.cross(A.X(t).inv_apply(s))), 1e-9)
    assert_close(derivative(base(f)), array(v.cross(A.X(t).inv_apply(f))), 1e-9)
    # their power does not change, and a dyad changes by both of its factors (Table 2.4)
    assert abs(derivative(lambda h: base(s)(h) @ base(f)(h))) < 1e-9
    assert_close(derivative(lambda h: np.outer(base(s)(h), base(f)(h))),
                 np.outer(crm6(array(v)) @ base(s)(0), base(f)(0))
                 + np.outer(base(s)(0), crf6(array(v)) @ base(f)(0)), 1e-9)


@pytest.mark.seed('RBDA 2-29', 'RBDA 2-30', 'SIXD C10')
def test_spatial_and_classical_acceleration(sample):
    """The derivative of v at the frame's origin is [wd; rdd - w x rd], and back."""
    A = Moving(sample)
    t = 0.3
    # frame B does not move; it coincides with A at time t, so its coordinates may be derived
    B = A.X(t)
    a = derivative(lambda h: array(B @ Motion.from_list(A.velocity(t + h).tolist())))
    v = B @ Motion.from_list(A.velocity(t).tolist())
    rdd = A.R(t).T @ (A.p.T @ [0.0, 0.0, 1.0, t])
    classical = classical_acceleration(Motion.from_list(a.tolist()), v)
    assert_close(array(classical.lin), rdd, 1e-8)                # a second difference
    assert_close(array(spatial_acceleration(classical, v)), a)
    rd = v.lin
    lifted = Motion(Vec3.zero(), rd).cross(v)                    # 2.50: a = a' + [0; rd] x v
    assert_close(array(classical) + array(lifted), a)
