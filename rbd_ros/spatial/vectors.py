# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Spatial motion and force vectors (RBDA chapter 2), angular part first, never to be mixed.

A motion and a force have a scalar product (power) and two cross products; a motion has no scalar
product with a motion, a force none with a force, and neither has a magnitude.
"""

from __future__ import annotations

from typing import Any, final, overload, TYPE_CHECKING

from rbd_ros.compiler import Scalar, Values
from rbd_ros.spatial.algebra import Vec3
from rbd_ros.spatial.value import Value, writers

if TYPE_CHECKING:
    from typing import Self     # Python 3.11


class _Spatial(Value):
    """What motion and force vectors have in common."""

    __slots__ = ('ang', 'lin')

    ang: Vec3
    lin: Vec3

    def __init__(self, ang: Vec3, lin: Vec3) -> None:
        _ang(self, ang)
        _lin(self, lin)

    def _key(self) -> tuple[Any, ...]:
        return self.ang, self.lin

    @classmethod
    def zero(cls) -> Self:
        """Return the vector of exact zeros."""
        return cls(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))

    @classmethod
    def unit(cls, index: int) -> Self:
        """Return the unit vector of one Pluecker coordinate, 0..5, angular first."""
        return cls.from_list([1.0 if i == index else 0.0 for i in range(6)])

    @classmethod
    def from_list(cls, values: Values) -> Self:
        """Make a vector of six scalars, angular first."""
        a, b, c, x, y, z = values
        return cls(Vec3(a, b, c), Vec3(x, y, z))

    def to_list(self) -> list[Any]:
        """Return the six components, angular first."""
        a, v = self.ang, self.lin
        return [a.x, a.y, a.z, v.x, v.y, v.z]

    def __getitem__(self, i: int) -> Scalar:
        return self.ang[i] if i < 3 else self.lin[i - 3]

    def __len__(self) -> int:
        return 6

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise _mixed('add', self, other)
        return type(self)(self.ang + other.ang, self.lin + other.lin)

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise _mixed('subtract', self, other)
        return type(self)(self.ang - other.ang, self.lin - other.lin)

    def __neg__(self) -> Self:
        return type(self)(-self.ang, -self.lin)

    def __mul__(self, factor: Scalar) -> Self:
        if isinstance(factor, Value):
            raise _mixed('multiply', self, factor)
        return type(self)(self.ang * factor, self.lin * factor)

    __rmul__ = __mul__


_ang, _lin = writers(_Spatial)


@final
class Motion(_Spatial):
    """An element of M6: velocity, acceleration, infinitesimal displacement, joint axis."""

    __slots__ = ()

    def dot(self, other: Force) -> Scalar:
        """Return the power of a force along this motion (RBDA Eq. 2.12)."""
        if type(other) is not Force:
            raise _mixed('take the scalar product of', self, other)
        return self.ang.dot(other.ang) + self.lin.dot(other.lin)

    @overload
    def cross(self, other: Motion) -> Motion: ...

    @overload
    def cross(self, other: Force) -> Force: ...

    def cross(self, other: Motion | Force) -> Motion | Force:
        """Return the rate of change of a vector that moves with this velocity (RBDA 2.9)."""
        w, v = self.ang, self.lin
        if type(other) is Motion:
            return Motion(w.cross(other.ang), _sum_of_crosses(w, other.lin, v, other.ang))  # 2.33
        if type(other) is Force:
            return Force(_sum_of_crosses(w, other.ang, v, other.lin), w.cross(other.lin))  # 2.34
        raise _mixed('cross', self, other)


@final
class Force(_Spatial):
    """An element of F6: force with its moment, momentum, impulse."""

    __slots__ = ()

    def dot(self, other: Motion) -> Scalar:
        """Return the power of this force along a motion (RBDA Eq. 2.12)."""
        if type(other) is not Motion:
            raise _mixed('take the scalar product of', self, other)
        return self.ang.dot(other.ang) + self.lin.dot(other.lin)

    def cross(self, other: object) -> None:
        """Refuse: only a motion has cross products."""
        raise _mixed('cross', self, other)


def _sum_of_crosses(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> Vec3:
    """Return a x b + c x d."""
    return Vec3(a.y * b.z - a.z * b.y + c.y * d.z - c.z * d.y,
                a.z * b.x - a.x * b.z + c.z * d.x - c.x * d.z,
                a.x * b.y - a.y * b.x + c.x * d.y - c.y * d.x)


def _mixed(verb: str, one: object, other: object) -> TypeError:
    return TypeError(
        f'cannot {verb} {type(one).__name__} and {type(other).__name__}: motion and force vectors '
        'live in dual spaces; use a scalar product of one of each, Motion.cross(Motion or Force), '
        'or an inertia to make a force of a motion')
