# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Planar vector algebra (RBDA 2.16 and Table A.1): spatial vectors of bodies that move in a plane.

Motion is [w, vx, vy], force [n, fx, fy]; they are coordinates 3, 4 and 5 of the spatial vectors.
The same two spaces, the same rules, a quarter of the numbers: an inertia has 4 parameters.
"""

from __future__ import annotations

from typing import Any, overload, TYPE_CHECKING

from rbd_ros.compiler import atan2, cos, Scalar, sin, Values
from rbd_ros.spatial.algebra import Sym3, Vec3
from rbd_ros.spatial.axial_screw import AxialScrew
from rbd_ros.spatial.inertia import RigidInertia
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.value import Value, writers
from rbd_ros.spatial.vectors import Force, Motion

if TYPE_CHECKING:
    from typing import Self     # Python 3.11


class _Planar(Value):
    """What planar motion and force vectors have in common: one angular, two linear parts."""

    __slots__ = ('ang', 'x', 'y')

    ang: Scalar
    x: Scalar
    y: Scalar

    def __init__(self, ang: Scalar, x: Scalar, y: Scalar) -> None:
        _ang(self, ang)
        _x(self, x)
        _y(self, y)

    def _key(self) -> tuple[Any, ...]:
        return self.ang, self.x, self.y

    @classmethod
    def from_list(cls, values: Values) -> Self:
        """Make a vector of three scalars, angular first."""
        ang, x, y = values
        return cls(ang, x, y)

    def to_list(self) -> list[Any]:
        """Return the three components, angular first."""
        return [self.ang, self.x, self.y]

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise _mixed(self, other)
        return type(self)(self.ang + other.ang, self.x + other.x, self.y + other.y)

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise _mixed(self, other)
        return type(self)(self.ang - other.ang, self.x - other.x, self.y - other.y)

    def __mul__(self, factor: Scalar) -> Self:
        return type(self)(self.ang * factor, self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def _dot(self, other: _Planar, partner: type) -> Scalar:
        if type(other) is not partner:
            raise _mixed(self, other)
        return self.ang * other.ang + self.x * other.x + self.y * other.y


_ang, _x, _y = writers(_Planar)


class PlanarMotion(_Planar):
    """Velocity or acceleration of a body in the plane: [w, vx, vy]."""

    __slots__ = ()

    def dot(self, other: PlanarForce) -> Scalar:
        """Return the power of a force along this motion."""
        return self._dot(other, PlanarForce)

    @overload
    def cross(self, other: PlanarMotion) -> PlanarMotion: ...

    @overload
    def cross(self, other: PlanarForce) -> PlanarForce: ...

    def cross(self, other: PlanarMotion | PlanarForce) -> PlanarMotion | PlanarForce:
        """Return the rate of change of a vector that moves with this velocity (RBDA 2.76)."""
        w, x, y = self.ang, self.x, self.y
        if type(other) is PlanarMotion:
            return PlanarMotion(0.0, y * other.ang - w * other.y, w * other.x - x * other.ang)
        if type(other) is PlanarForce:
            return PlanarForce(x * other.y - y * other.x, -(w * other.y), w * other.x)
        raise _mixed(self, other)

    def spatial(self) -> Motion:
        """Return the same motion as a spatial vector."""
        return Motion(Vec3(0.0, 0.0, self.ang), Vec3(self.x, self.y, 0.0))


class PlanarForce(_Planar):
    """Force, moment or momentum in the plane: [n, fx, fy]."""

    __slots__ = ()

    def dot(self, other: PlanarMotion) -> Scalar:
        """Return the power of this force along a motion."""
        return self._dot(other, PlanarMotion)

    def spatial(self) -> Force:
        """Return the same force as a spatial vector."""
        return Force(Vec3(0.0, 0.0, self.ang), Vec3(self.x, self.y, 0.0))


class PlanarTransform(Value):
    """
    Transform to a frame at (x, y), turned by an angle of cosine c and sine s: Xpln.

    :param c: cosine of the angle of B in A.
    :param s: sine of it.
    :param x: origin of B in A coordinates, first component.
    :param y: second component.
    """

    __slots__ = ('c', 's', 'x', 'y')

    c: Scalar
    s: Scalar
    x: Scalar
    y: Scalar

    def __init__(self, c: Scalar, s: Scalar, x: Scalar, y: Scalar) -> None:
        for write, value in zip(_transform, (c, s, x, y)):
            write(self, value)

    @classmethod
    def from_angle(cls, angle: Scalar, x: Scalar, y: Scalar) -> PlanarTransform:
        """Make the transform from the angle itself."""
        return cls(cos(angle), sin(angle), x, y)

    def to_list(self) -> list[Any]:
        """Return the 3x3 matrix of a motion transform as nested lists."""
        c, s, x, y = self.c, self.s, self.x, self.y
        return [[1.0, 0.0, 0.0], [s * x - c * y, c, s], [c * x + s * y, -s, c]]

    @overload
    def __matmul__(self, other: PlanarMotion) -> PlanarMotion: ...

    @overload
    def __matmul__(self, other: PlanarForce) -> PlanarForce: ...

    @overload
    def __matmul__(self, other: PlanarInertia) -> PlanarInertia: ...

    @overload
    def __matmul__(self, other: PlanarTransform) -> PlanarTransform: ...

    def __matmul__(self, other: PlanarMotion | PlanarForce | PlanarInertia | PlanarTransform) -> (
            PlanarMotion | PlanarForce | PlanarInertia | PlanarTransform):
        c, s, x, y = self.c, self.s, self.x, self.y
        if type(other) is PlanarMotion:
            a, b = other.x - other.ang * y, other.y + other.ang * x
            return PlanarMotion(other.ang, c * a + s * b, c * b - s * a)
        if type(other) is PlanarForce:
            return PlanarForce(other.ang - (x * other.y - y * other.x),
                               c * other.x + s * other.y, c * other.y - s * other.x)
        if type(other) is PlanarInertia:
            a, b = other.hx - other.m * x, other.hy - other.m * y
            return PlanarInertia(other.m, c * a + s * b, c * b - s * a,
                                 other.I - x * (other.hx + a) - y * (other.hy + b))
        if type(other) is PlanarTransform:
            return PlanarTransform(
                c * other.c - s * other.s, s * other.c + c * other.s,
                other.x + other.c * x - other.s * y, other.y + other.s * x + other.c * y)
        raise _mixed(self, other)

    @overload
    def inv_apply(self, other: PlanarForce) -> PlanarForce: ...

    @overload
    def inv_apply(self, other: PlanarInertia) -> PlanarInertia: ...

    def inv_apply(self, other: PlanarForce | PlanarInertia) -> PlanarForce | PlanarInertia:
        """Return a force or an inertia of B in the coordinates of A."""
        c, s, x, y = self.c, self.s, self.x, self.y
        if type(other) is PlanarForce:
            fx, fy = c * other.x - s * other.y, s * other.x + c * other.y
            return PlanarForce(other.ang + (x * fy - y * fx), fx, fy)
        if type(other) is PlanarInertia:
            hx, hy = c * other.hx - s * other.hy, s * other.hx + c * other.hy
            a, b = hx + other.m * x, hy + other.m * y
            return PlanarInertia(other.m, a, b, other.I + x * (hx + a) + y * (hy + b))
        raise _mixed(self, other)

    def inverse(self) -> PlanarTransform:
        """Return the transform from B to A."""
        c, s, x, y = self.c, self.s, self.x, self.y
        return PlanarTransform(c, -s, -(c * x + s * y), s * x - c * y)

    def small_motion(self) -> PlanarMotion:
        """
        Return XtoV, version 2: an invariant of X and parallel to the exact displacement.

        Its angular part is the sine of the angle.
        """
        _, (x21, x22, x23), (x31, _, _) = self.to_list()
        return PlanarMotion(x23, 0.5 * (x31 + x22 * x31 + x23 * x21),
                            0.5 * (x23 * x31 - x21 - x22 * x21))

    def small_motion_simple(self) -> PlanarMotion:
        """Return XtoV, version 1: cheaper and right to first order only."""
        _, (x21, _, x23), (x31, _, _) = self.to_list()
        return PlanarMotion(x23, x31, -x21)

    def displacement(self) -> PlanarMotion:
        """
        Return the velocity that carries frame A onto B in unit time.

        The angle lies within half a turn and must not be zero; the book's arc sine fails beyond a
        quarter.
        """
        return self.small_motion() * (atan2(self.s, self.c) / self.s)

    def spatial(self) -> Transform:
        """Return the same transform of spatial vectors."""
        return Transform(AxialScrew(2, self.c, self.s).E, Vec3(self.x, self.y, 0.0))


_transform = writers(PlanarTransform)


class PlanarInertia(Value):
    """
    Inertia of a body in the plane about the frame's origin.

    :param m: mass.
    :param hx: first moment m cx.
    :param hy: first moment m cy.
    :param I: rotational inertia about the origin.
    """

    __slots__ = ('m', 'hx', 'hy', 'I')

    m: Scalar
    hx: Scalar
    hy: Scalar
    I: Scalar

    def __init__(self, m: Scalar, hx: Scalar, hy: Scalar, I: Scalar) -> None:
        for write, value in zip(_inertia, (m, hx, hy, I)):
            write(self, value)

    @classmethod
    def from_com(cls, m: Scalar, cx: Scalar, cy: Scalar, I_c: Scalar) -> PlanarInertia:
        """Make an inertia from mass, centre of mass and inertia about it: mcI."""
        hx, hy = m * cx, m * cy
        return cls(m, hx, hy, I_c + hx * cx + hy * cy)

    def to_list(self) -> list[Any]:
        """Return the symmetric 3x3 matrix as nested lists, angular first."""
        return [[self.I, -self.hy, self.hx], [-self.hy, self.m, 0.0], [self.hx, 0.0, self.m]]

    def __add__(self, other: PlanarInertia) -> PlanarInertia:
        if type(other) is not PlanarInertia:
            return NotImplemented
        return PlanarInertia(self.m + other.m, self.hx + other.hx, self.hy + other.hy,
                             self.I + other.I)

    def __matmul__(self, v: PlanarMotion) -> PlanarForce:
        if type(v) is not PlanarMotion:
            raise _mixed(self, v)
        return PlanarForce(self.I * v.ang - self.hy * v.x + self.hx * v.y,
                           self.m * v.x - self.hy * v.ang, self.m * v.y + self.hx * v.ang)

    def spatial(self) -> RigidInertia:
        """Return a spatial inertia that acts alike on motions in the plane."""
        return RigidInertia(self.m, Vec3(self.hx, self.hy, 0.0),
                            Sym3.diagonal(0.0, 0.0, self.I))


_inertia = writers(PlanarInertia)


def _mixed(one: object, other: object) -> TypeError:
    return TypeError(f'cannot combine {type(one).__name__} and {type(other).__name__}: planar '
                     'motion and force vectors live in dual spaces')
