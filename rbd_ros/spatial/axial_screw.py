# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rotation about and translation along one coordinate axis (RBDA A.4)."""

from __future__ import annotations

from typing import Any

from rbd_ros.compiler import is_zero, Matrix, Scalar
from rbd_ros.spatial.algebra import Mat3, Vec3
from rbd_ros.spatial.rotate import PERMUTATION
from rbd_ros.spatial.transform import Inertia, Transform, write_structure
from rbd_ros.spatial.value import writers


class AxialScrew(Transform):
    """
    Rotation about and translation along one coordinate axis (RBDA A.4); the two commute.

    :param axis: 0, 1 or 2.
    :param c: cosine of the angle.
    :param s: sine of the angle.
    :param d: distance along the axis.
    """

    __slots__ = ('axis', 'c', 's', 'd')

    axis: int
    c: Scalar
    s: Scalar
    d: Scalar

    def __init__(self, axis: int, c: Scalar, s: Scalar, d: Scalar = 0.0) -> None:
        rows: Matrix = [[0.0] * 3 for _ in range(3)]
        i, j = (axis + 1) % 3, (axis + 2) % 3
        rows[axis][axis] = 1.0
        rows[i][i] = rows[j][j] = c
        rows[i][j] = s
        rows[j][i] = -s
        r: list[Scalar] = [0.0] * 3
        r[axis] = d
        super().__init__(Mat3(rows), Vec3(*r))
        _axis(self, axis)
        _c(self, c)
        _s(self, s)
        _d(self, d)

    def __reduce__(self) -> tuple[Any, ...]:
        return AxialScrew, (self.axis, self.c, self.s, self.d)

    @property
    def structure(self) -> int:
        """Axis of the rotation, or PERMUTATION for a multiple of a right angle."""
        found = self._structure
        if found is None:
            right = type(self.c) is float and type(self.s) is float and self.c * self.s == 0.0
            found = PERMUTATION if right else self.axis
            write_structure(self, found)
        return found

    def inverse(self) -> AxialScrew:
        """Return the transform from B to A."""
        return AxialScrew(self.axis, self.c, -self.s, -self.d)

    def _forward(self, p: Vec3, s: Vec3) -> tuple[Vec3, Vec3]:
        k = self.axis
        i, j = (k + 1) % 3, (k + 2) % 3
        a, b, d = p[i], p[j], self.d
        e, f = s[i], s[j]
        if not is_zero(d):
            e = e + b * d
            f = f - a * d
        c, sn = self.c, self.s
        return (_place(i, j, c * a + sn * b, c * b - sn * a, p[k]),
                _place(i, j, c * e + sn * f, c * f - sn * e, s[k]))

    def _backward(self, p: Vec3, s: Vec3) -> tuple[Vec3, Vec3]:
        k = self.axis
        i, j = (k + 1) % 3, (k + 2) % 3
        c, sn, d = self.c, self.s, self.d
        a, b = c * p[i] - sn * p[j], c * p[j] + sn * p[i]
        e, f = c * s[i] - sn * s[j], c * s[j] + sn * s[i]
        if not is_zero(d):
            e = e - b * d
            f = f + a * d
        return _place(i, j, a, b, p[k]), _place(i, j, e, f, s[k])

    # rotation first: it is the cheaper order when rows and columns of the inertia are zero
    def _inertia(self, inertia: Inertia) -> Inertia:
        return self._rotated(inertia, False).moved(-self.r)


_axis, _c, _s, _d = writers(AxialScrew)


def _place(i: int, j: int, a: Scalar, b: Scalar, w: Scalar) -> Vec3:
    """Put a at place i, b at place j and w at the third."""
    if i == 0:
        return Vec3(a, b, w) if j == 1 else Vec3(a, w, b)
    if i == 1:
        return Vec3(w, a, b) if j == 2 else Vec3(b, a, w)
    return Vec3(b, w, a) if j == 0 else Vec3(w, b, a)
