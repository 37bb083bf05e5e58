# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Vectors and matrices of three dimensions over generic scalars (RBDA Tables 2.1 and A.2).

A scalar is a Python float or a traced expression. Values cannot be changed: what is computed from
one, a digest or machine code, stays true of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, overload

from rbd_ros.compiler import Rows, Scalar, Values
from rbd_ros.spatial.value import Value, writers

Row = tuple[Scalar, Scalar, Scalar]


class Vec3(Value):
    """A Euclidean 3-vector."""

    __slots__ = ('x', 'y', 'z')

    x: Scalar
    y: Scalar
    z: Scalar

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        _x(self, x)
        _y(self, y)
        _z(self, z)

    @classmethod
    def zero(cls) -> Vec3:
        """Return the vector of exact zeros."""
        return cls(0.0, 0.0, 0.0)

    @classmethod
    def unit(cls, axis: int) -> Vec3:
        """Return the unit vector of a coordinate axis (0, 1 or 2)."""
        return cls(*(1.0 if i == axis else 0.0 for i in range(3)))

    @classmethod
    def from_list(cls, values: Values) -> Vec3:
        """Make a vector of three scalars."""
        x, y, z = values
        return cls(x, y, z)

    def to_list(self) -> list[Any]:
        """Return [x, y, z]."""
        return [self.x, self.y, self.z]

    def __iter__(self) -> Iterator[Scalar]:
        yield self.x
        yield self.y
        yield self.z

    def __getitem__(self, i: int) -> Scalar:
        return (self.x, self.y, self.z)[i]

    def __len__(self) -> int:
        return 3

    def __add__(self, other: Vec3) -> Vec3:
        if type(other) is not Vec3:
            return NotImplemented
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        if type(other) is not Vec3:
            return NotImplemented
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vec3:
        return Vec3(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def dot(self, other: Vec3) -> Scalar:
        """Return the scalar product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def __matmul__(self, other: Vec3) -> Scalar:
        return self.dot(other)

    def cross(self, other: Vec3) -> Vec3:
        """Return the vector product."""
        a, b, c = self.x, self.y, self.z
        x, y, z = other.x, other.y, other.z
        return Vec3(b * z - c * y, c * x - a * z, a * y - b * x)

    def skew(self) -> Mat3:
        """Return the matrix a x of RBDA Eq. 2.23."""
        x, y, z = self.x, self.y, self.z
        return Mat3(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))

    def outer(self, other: Vec3) -> Mat3:
        """Return the dyad a b^T."""
        return Mat3(tuple(tuple(a * b for b in other) for a in self))


_x, _y, _z = writers(Vec3)


class Mat3(Value):
    """A general 3x3 matrix, stored by rows."""

    __slots__ = ('rows',)

    rows: tuple[Row, Row, Row]

    def __init__(self, rows: Iterable[Iterable[Scalar]]) -> None:
        (a, b, c), (d, e, f), (g, h, i) = rows
        _rows(self, ((a, b, c), (d, e, f), (g, h, i)))

    @classmethod
    def zero(cls) -> Mat3:
        """Return the matrix of exact zeros."""
        return cls(((0.0, 0.0, 0.0),) * 3)

    @classmethod
    def identity(cls) -> Mat3:
        """Return the unit matrix with exact zeros and ones."""
        return cls(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists."""
        return [list(row) for row in self.rows]

    def __getitem__(self, index: tuple[int, int]) -> Scalar:
        i, j = index
        return self.rows[i][j]

    @property
    def T(self) -> Mat3:  # noqa: N802 (the mathematical letter)
        """Transpose."""
        (a, b, c), (d, e, f), (g, h, i) = self.rows
        return Mat3(((a, d, g), (b, e, h), (c, f, i)))

    def __add__(self, other: Mat3) -> Mat3:
        if type(other) is not Mat3:
            return NotImplemented
        return Mat3([[a + b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows)])

    def __sub__(self, other: Mat3) -> Mat3:
        if type(other) is not Mat3:
            return NotImplemented
        return Mat3([[a - b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows)])

    def __neg__(self) -> Mat3:
        return Mat3([[-a for a in row] for row in self.rows])

    def __mul__(self, factor: Scalar) -> Mat3:
        return Mat3([[a * factor for a in row] for row in self.rows])

    __rmul__ = __mul__

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...

    @overload
    def __matmul__(self, other: Mat3 | Sym3) -> Mat3: ...

    def __matmul__(self, other: Vec3 | Mat3 | Sym3) -> Vec3 | Mat3:
        (a, b, c), (d, e, f), (g, h, i) = self.rows
        if type(other) is Vec3:
            x, y, z = other.x, other.y, other.z
            return Vec3(a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z)
        if type(other) is Sym3:
            other = other.full()
        if type(other) is not Mat3:
            return NotImplemented
        (p, q, r), (s, t, u), (v, w, x) = other.rows
        return Mat3((
            (a * p + b * s + c * v, a * q + b * t + c * w, a * r + b * u + c * x),
            (d * p + e * s + f * v, d * q + e * t + f * w, d * r + e * u + f * x),
            (g * p + h * s + i * v, g * q + h * t + i * w, g * r + h * u + i * x)))

    def transpose_times(self, v: Vec3) -> Vec3:
        """Return M^T v without forming the transpose."""
        (a, b, c), (d, e, f), (g, h, i) = self.rows
        x, y, z = v.x, v.y, v.z
        return Vec3(a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z)

    def trace(self) -> Scalar:
        """Return the sum of the diagonal."""
        return self.rows[0][0] + self.rows[1][1] + self.rows[2][2]


_rows, = writers(Mat3)


class Sym3(Value):
    """A symmetric 3x3 matrix, stored as its upper triangle."""

    __slots__ = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yy: Scalar
    yz: Scalar
    zz: Scalar

    def __init__(self, xx: Scalar, xy: Scalar, xz: Scalar,
                 yy: Scalar, yz: Scalar, zz: Scalar) -> None:
        _xx(self, xx)
        _xy(self, xy)
        _xz(self, xz)
        _yy(self, yy)
        _yz(self, yz)
        _zz(self, zz)

    @classmethod
    def zero(cls) -> Sym3:
        """Return the matrix of exact zeros."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @classmethod
    def diagonal(cls, xx: Scalar, yy: Scalar, zz: Scalar) -> Sym3:
        """Return a diagonal matrix."""
        return cls(xx, 0.0, 0.0, yy, 0.0, zz)

    @classmethod
    def from_matrix(cls, rows: Rows) -> Sym3:
        """Take the upper triangle of a 3x3 nested sequence."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = rows
        return cls(xx, xy, xz, yy, yz, zz)

    def to_list(self) -> list[Any]:
        """Return the full matrix as nested lists."""
        return self.full().to_list()

    def entries(self) -> tuple[Any, ...]:
        """Return the six stored entries, row by row: xx, xy, xz, yy, yz, zz."""
        return self.xx, self.xy, self.xz, self.yy, self.yz, self.zz

    def full(self) -> Mat3:
        """Return the same matrix as a Mat3."""
        return Mat3(((self.xx, self.xy, self.xz), (self.xy, self.yy, self.yz),
                     (self.xz, self.yz, self.zz)))

    @property
    def T(self) -> Sym3:  # noqa: N802 (the mathematical letter)
        """Transpose: the matrix itself."""
        return self

    def __add__(self, other: Sym3) -> Sym3:
        if type(other) is not Sym3:
            return NotImplemented
        return Sym3(self.xx + other.xx, self.xy + other.xy, self.xz + other.xz,
                    self.yy + other.yy, self.yz + other.yz, self.zz + other.zz)

    def __sub__(self, other: Sym3) -> Sym3:
        if type(other) is not Sym3:
            return NotImplemented
        return Sym3(self.xx - other.xx, self.xy - other.xy, self.xz - other.xz,
                    self.yy - other.yy, self.yz - other.yz, self.zz - other.zz)

    def __neg__(self) -> Sym3:
        return Sym3(*(-a for a in self.entries()))

    def __mul__(self, factor: Scalar) -> Sym3:
        return Sym3(*(a * factor for a in self.entries()))

    __rmul__ = __mul__

    def __matmul__(self, v: Vec3) -> Vec3:
        x, y, z = v.x, v.y, v.z
        return Vec3(self.xx * x + self.xy * y + self.xz * z,
                    self.xy * x + self.yy * y + self.yz * z,
                    self.xz * x + self.yz * y + self.zz * z)

    def trace(self) -> Scalar:
        """Return the sum of the diagonal."""
        return self.xx + self.yy + self.zz

    def solve(self, v: Vec3) -> Vec3:
        """Return the x with A x = v, by the adjugate; A must be invertible."""
        xx, xy, xz, yy, yz, zz = self.entries()
        a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
        d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
        scale = 1.0 / (xx * a + xy * b + xz * c)
        return Sym3(a, b, c, d, e, f) @ v * scale


_xx, _xy, _xz, _yy, _yz, _zz = writers(Sym3)
