# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Exponential coordinates of rotations and of rigid displacements, with exact derivatives.

A rotation vector q turns by its length about its direction. A screw axis A = (w, v) and a
magnitude theta displace a frame by the exponential of [A] theta (Modern Robotics, chapter 3; Liu
and Jain, eqs 53 to 56). The functions take plain and traced scalars, but for the logarithms, which
have to choose between branches.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

from rbd_ros.compiler import cos, less, Matrix, Rows, Scalar, sin, sqrt, where
from rbd_ros.errors import ModelError
from rbd_ros.spatial import quaternion
from rbd_ros.spatial.algebra import Mat3, Vec3
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.vectors import Motion

#: Below this squared angle the series is used: nine terms are exact there to the last digits.
SERIES_BELOW = 1.0
_TERMS = 9
_A = [(-1.0)**k / math.factorial(2 * k + 2) for k in range(_TERMS)]
_B = [(-1.0)**k / math.factorial(2 * k + 3) for k in range(_TERMS)]


class Coefficients(NamedTuple):
    """
    The functions of the squared angle x = t^2 that the exponential map is made of.

    :param sinc: sin t / t.
    :param a: (1 - cos t) / t^2.
    :param b: (t - sin t) / t^3.
    :param da: derivative of a by x.
    :param db: derivative of b by x.
    """

    sinc: Scalar
    a: Scalar
    b: Scalar
    da: Scalar
    db: Scalar


def _polynomial(terms: Sequence[float], x: Scalar) -> Scalar:
    total: Scalar = terms[-1]
    for term in terms[-2::-1]:
        total = total * x + term
    return total


def _slope(terms: Sequence[float]) -> list[float]:
    return [k * term for k, term in enumerate(terms)][1:]


def coefficients(x: Scalar) -> Coefficients:
    """Return the coefficients at a squared angle, smooth through zero (Liu and Jain, 55, 56)."""
    small = less(x, SERIES_BELOW)
    y = where(small, 4.0, x)                # what is not taken must be finite, too
    t = sqrt(y)
    s, c = sin(t), cos(t)
    a = (1.0 - c) / y
    b = (t - s) / (t * y)
    a = where(small, _polynomial(_A, x), a)
    b = where(small, _polynomial(_B, x), b)
    da = where(small, _polynomial(_slope(_A), x), (t * s - 2.0 * (1.0 - c)) / (2.0 * y * y))
    db = where(small, _polynomial(_slope(_B), x),
               (t * (1.0 - c) - 3.0 * (t - s)) / (2.0 * t * y * y))
    return Coefficients(1.0 - b * x, a, b, da, db)


def _combination(q: Vec3, one: Scalar, a: Scalar, b: Scalar) -> Mat3:
    """Return one 1 + a [q] + b [q]^2."""
    K = q.skew()
    return Mat3.identity() * one + K * a + (K @ K) * b


def rotation(q: Vec3) -> Mat3:
    """Return R = exp([q]), from turned to fixed components (Liu and Jain, 53)."""
    k = coefficients(q.dot(q))
    return _combination(q, 1.0, k.sinc, k.a)


def rotation_jacobian(q: Vec3) -> Mat3:
    """Return J with w = J dq/dt, w in fixed components: [w] = dR/dt R^T (Liu and Jain, 54)."""
    k = coefficients(q.dot(q))
    return _combination(q, 1.0, k.a, k.b)


def body_jacobian(q: Vec3) -> Mat3:
    """Return R^T J, by which dq/dt becomes the angular velocity in turned components."""
    k = coefficients(q.dot(q))
    return _combination(q, 1.0, -k.a, k.b)


def rotation_jacobian_rate(q: Vec3, qd: Vec3) -> Mat3:
    """Return dJ/dt of ``rotation_jacobian`` while q moves with qd."""
    k = coefficients(q.dot(q))
    return _rate(q, qd, k.a, k.b, k)


def body_jacobian_rate(q: Vec3, qd: Vec3) -> Mat3:
    """Return the derivative of ``body_jacobian`` while q moves with qd."""
    k = coefficients(q.dot(q))
    return _rate(q, qd, -k.a, k.b, k._replace(da=-k.da))


def _rate(q: Vec3, qd: Vec3, a: Scalar, b: Scalar, k: Coefficients) -> Mat3:
    K, Kd = q.skew(), qd.skew()
    xd = 2.0 * q.dot(qd)
    return K * (k.da * xd) + Kd * a + (K @ K) * (k.db * xd) + (K @ Kd + Kd @ K) * b


def displacement(A: Motion, theta: Scalar) -> Transform:
    """
    Return the transform to a frame displaced by exp([A] theta).

    :param A: screw axis in the coordinates of the frame before, of any length; a constant axis
        takes one sine and one cosine of the angle.
    """
    parts = [*A.ang, *A.lin]
    if not all(isinstance(x, (int, float)) for x in parts):
        q = A.ang * theta
        return Transform(rotation(q).T, rotation_jacobian(q) @ (A.lin * theta))
    length = math.hypot(*parts[:3])
    if length == 0.0:
        return Transform.translation(A.lin * theta)
    w, v, angle = A.ang * (1.0 / length), A.lin * (1.0 / length), theta * length
    c, s = cos(angle), sin(angle)
    # R = 1 + sin [w] + (1 - cos) [w]^2; p = (angle 1 + (1 - cos) [w] + (angle - sin) [w]^2) v
    R = _combination(w, 1.0, s, 1.0 - c)
    along, across = w * w.dot(v), w.cross(v)
    p = along * angle + across * (1.0 - c) + (v - along) * s
    return Transform(R.T, p)


def rotation_vector(E: Mat3) -> Vec3:
    """
    Return the shortest rotation vector of a frame, for plain floats.

    :param E: from fixed to turned components, the transpose of exp([q]).
    """
    return quaternion.logarithm(quaternion.from_rotation(E))


def displacement_vector(X: Transform) -> Motion:
    """Return A theta whose exponential displaces A's frame to B's, for plain floats."""
    q = rotation_vector(X.E)
    x = float(q.dot(q))
    half = 0.5 * math.sqrt(x)
    # (1 - (t/2) cot(t/2)) / t^2, whose series is 1/12 + x/720 + x^2/30240
    k = (1.0 / 12.0 + x / 720.0 + x * x / 30240.0 if x < 1e-3
         else (1.0 - half / math.tan(half)) / x)
    return Motion(q, _combination(q, 1.0, -0.5, k) @ X.r)


def shorter(q: Vec3) -> Vec3:
    """
    Return the rotation vector of the same rotation within half a turn of zero, plain floats.

    The Jacobian of the exponential map is singular at a full turn; changing to this vector before
    it is reached keeps clear of that.
    """
    t = math.sqrt(float(q.dot(q)))
    if t <= math.pi:
        return q
    turns = round(t / (2.0 * math.pi))
    return q * (1.0 - 2.0 * math.pi * turns / t)


def hat(V: Motion) -> Matrix:
    """Return the 4x4 matrix [V] of se(3): [w] and v, over a row of zeros."""
    rows = zip(V.ang.skew().rows, V.lin, strict=True)
    return [*([*row, v] for row, v in rows), [0.0] * 4]


def vee(matrix: Rows) -> Motion:
    """Return the twist of a 4x4 matrix of se(3)."""
    m = matrix
    return Motion(Vec3(m[2][1], m[0][2], m[1][0]), Vec3(m[0][3], m[1][3], m[2][3]))


def from_homogeneous(T: Sequence[Sequence[float]]) -> Transform:
    """
    Return the Pluecker transform from A to B of T_AB, the pose of frame B in A.

    Ad(T_BA) of the screw convention and this transform are the same 6x6 matrix.

    :param T: 4x4, a rotation and a position over the row 0 0 0 1.
    """
    rows = [[float(x) for x in row] for row in T]
    if [len(row) for row in rows] != [4] * 4 or rows[3] != [0.0, 0.0, 0.0, 1.0]:
        raise ModelError('a pose is a 4 x 4 matrix whose last row is 0 0 0 1')
    R = Mat3([row[:3] for row in rows[:3]])
    wrong = R.T @ R - Mat3.identity()
    x, y, z = (Vec3(*row) for row in R.rows)
    if not max(abs(e) for row in wrong.rows for e in row) < 1e-6 or x.dot(y.cross(z)) < 0.0:
        raise ModelError('the upper left 3 x 3 of a pose must be a rotation matrix')
    return Transform(R.T, Vec3(rows[0][3], rows[1][3], rows[2][3]))


def homogeneous(X: Transform) -> Matrix:
    """Return T_AB, the pose of frame B in A, of the Pluecker transform from A to B."""
    return X.inverse().homogeneous()
