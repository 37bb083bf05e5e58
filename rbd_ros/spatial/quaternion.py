# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Unit quaternions (Euler parameters) in the order (x, y, z, w) of ROS (RBDA 4.5).

A quaternion describes F_s relative to F_p. The functions are free of branches, so that they can be
traced: TINY keeps the quotients finite at zero angle and is lost in rounding everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from rbd_ros.compiler import absolute, atan2, cos, divide, less, Scalar, sin, sqrt, Values, where
from rbd_ros.spatial.algebra import Mat3, Vec3

TINY = 1.0e-60


def rotation(p: Values) -> Mat3:
    """
    Return E, from F_p to F_s components (RBDA Eq. 4.12).

    The length of p does not matter: it is divided out.
    """
    x, y, z, w = p
    scale = divide(2.0, x * x + y * y + z * z + w * w)
    a, b, c = x * scale, y * scale, z * scale
    xx, yy, zz = a * x, b * y, c * z
    xy, xz, yz = a * y, a * z, b * z
    wx, wy, wz = a * w, b * w, c * w
    return Mat3(((1.0 - (yy + zz), xy + wz, xz - wy),
                 (xy - wz, 1.0 - (xx + zz), yz + wx),
                 (xz + wy, yz - wx, 1.0 - (xx + yy))))


def from_rotation(E: Mat3) -> list[Scalar]:
    """
    Return the unit quaternion with w >= 0 of a rotation matrix.

    :param E: from F_p to F_s components, the transpose of the usual rotation matrix.
    """
    e = E.rows
    trace = e[0][0] + e[1][1] + e[2][2]
    p = [e[1][2] - e[2][1], e[2][0] - e[0][2], e[0][1] - e[1][0], 1.0 + trace]
    largest = trace
    for k in range(3):               # start from the largest component: it divides the others
        i, j = (k + 1) % 3, (k + 2) % 3
        other: list[Scalar] = [0.0] * 4
        other[k] = 1.0 + e[k][k] - e[i][i] - e[j][j]
        other[i] = e[k][i] + e[i][k]
        other[j] = e[k][j] + e[j][k]
        other[3] = e[i][j] - e[j][i]
        better = less(largest, e[k][k])
        p = [where(better, a, b) for a, b in zip(other, p, strict=True)]
        largest = where(better, e[k][k], largest)
    length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    signed = where(less(p[3], 0.0), -length, length)
    return [x / signed for x in p]


def unit(p: Sequence[float]) -> list[float]:
    """Return a quaternion of plain floats divided by its length."""
    length = math.hypot(*p)
    return [x / length for x in p]


def normalised(p: Values) -> list[Scalar]:
    """Return p divided by its length."""
    x, y, z, w = p
    scale = divide(1.0, sqrt(x * x + y * y + z * z + w * w))
    return [x * scale, y * scale, z * scale, w * scale]


def product(p: Values, q: Values) -> list[Scalar]:
    """Return the quaternion of first p, then q in the frame turned by p."""
    a, b, c, d = p
    x, y, z, w = q
    return [d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x,
            d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z]


def conjugate(p: Values) -> list[Scalar]:
    """Return the quaternion of the inverse rotation."""
    x, y, z, w = p
    return [-x, -y, -z, w]


def rate(p: Values, w: Vec3) -> list[Scalar]:
    """Return dp/dt for the angular velocity w in F_s coordinates (RBDA Eq. 4.13)."""
    return [0.5 * x for x in product(p, [w.x, w.y, w.z, 0.0])]


def exponential(v: Vec3) -> list[Scalar]:
    """Return the quaternion of a rotation vector."""
    angle = sqrt(v.dot(v) + TINY)
    k = sin(0.5 * angle) / angle
    return [v.x * k, v.y * k, v.z * k, cos(0.5 * angle)]


def logarithm(p: Values) -> Vec3:
    """Return the shortest rotation vector of a unit quaternion."""
    x, y, z, w = p
    n = sqrt(x * x + y * y + z * z + TINY)
    k = 2.0 * atan2(n, absolute(w)) / n
    k = where(less(w, 0.0), -k, k)
    return Vec3(x * k, y * k, z * k)
