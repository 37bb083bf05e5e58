# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints of one axis: revolute, prismatic, helical, cylindrical; and fixed (RBDA Table 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

from rbd_ros.compiler import atan2, cos, Scalar, sin, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.base import Joint, Random
from rbd_ros.joints.directions import across, aligned, couple, push, slide, turn, unit_axis
from rbd_ros.spatial import AxialScrew, Force, Mat3, Motion, Transform, Vec3

UNITS = (Vec3.unit(0), Vec3.unit(1), Vec3.unit(2))


def axis_rotation(axis: Sequence[float], angle: Scalar, d: Scalar = 0.0) -> Transform:
    """
    Return the screw transform of a turn about and a shift along a constant unit axis.

    :param axis: unit axis, through the origin.
    :param angle: angle of the turn.
    :param d: distance along the axis.
    """
    c, s = cos(angle), sin(angle)
    place = aligned(axis)
    if place is not None:
        k, sign = place
        return AxialScrew(k, c, s, d) if sign > 0.0 else AxialScrew(k, c, -s, -d)
    x, y, z = axis
    v = 1.0 - c
    xy, xz, yz = (x * y) * v, (x * z) * v, (y * z) * v
    sx, sy, sz = x * s, y * s, z * s
    return Transform(Mat3(((c + (x * x) * v, xy + sz, xz - sy),
                           (xy - sz, c + (y * y) * v, yz + sx),
                           (xz + sy, yz - sx, c + (z * z) * v))),
                     Vec3(x * d, y * d, z * d))


def angle_about(axis: Sequence[float], E: Mat3) -> Scalar:
    """Return the angle about a unit axis that comes nearest to a rotation, within half a turn."""
    a = Vec3(*axis)
    (_, e12, e13), (e21, _, e23), (e31, e32, _) = E.rows
    return atan2(a.dot(Vec3(e23 - e32, e31 - e13, e12 - e21)), E.trace() - a.dot(E @ a))


def whole_turns(angle: Scalar, estimate: Scalar) -> Scalar:
    """Return the angle plus the whole turns that bring it next to an estimate."""
    ahead = estimate - angle
    return estimate - atan2(sin(ahead), cos(ahead))


def tilt(axis: Sequence[float], E: Mat3) -> list[Scalar]:
    """Return by how much the axis of F_p is turned away from that of F_s, about u and v."""
    u, v = across(axis)
    turned = E @ Vec3(*axis)
    return [v.dot(turned), -u.dot(turned)]


@dataclass(frozen=True)
class _Axial(Joint):
    """A joint that is described by one axis."""

    nq = 1
    nv = 1

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'axis', unit_axis(self.axis, f'axis of a {self.type_name} joint'))


@dataclass(frozen=True)
class Revolute(_Axial):
    """
    Rotation about an axis; a continuous joint is the same.

    :param axis: direction, any length but zero.
    """

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = rot(axis, q)."""
        return axis_rotation(self.axis, q[0])

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the rotation about the axis."""
        return (turn(Vec3(*self.axis)),)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the angle, within half a turn."""
        return [angle_about(self.axis, X.E)]

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the tilt of the axis and the displacement, in F_s (RBDA Table 8.1)."""
        return [*tilt(self.axis, X.E), *(X.E @ X.r)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the two couples across the axis and all forces."""
        u, v = across(self.axis)
        return (couple(u), couple(v), *(push(e) for e in UNITS))


@dataclass(frozen=True)
class Prismatic(_Axial):
    """
    Translation along an axis.

    :param axis: direction, any length but zero.
    """

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = xlt(axis q)."""
        return Transform.translation(Vec3(*self.axis) * q[0])

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the translation along the axis."""
        return (slide(Vec3(*self.axis)),)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the distance along the axis."""
        return [Vec3(*self.axis).dot(X.r)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return all couples and the two forces across the axis."""
        u, v = across(self.axis)
        return (*(couple(e) for e in UNITS), push(u), push(v))

    def random(self, rng: Random) -> list[float]:
        """Return a random position within a metre."""
        return [float(rng.uniform(-1.0, 1.0))]


@dataclass(frozen=True)
class Helical(_Axial):
    """
    A screw: it moves ``pitch`` metres along the axis per radian about it.

    :param axis: direction, any length but zero.
    :param pitch: metres per radian; zero makes a revolute joint.
    """

    pitch: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.pitch):
            raise ModelError(f'pitch of a helical joint must be finite, not {self.pitch!r}; '
                             'use Prismatic for an infinite pitch')
        object.__setattr__(self, 'pitch', float(self.pitch))

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return the screw transform of q radians."""
        return axis_rotation(self.axis, q[0], self.pitch * q[0])

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the screw motion of one radian per second."""
        a = Vec3(*self.axis)
        return (Motion(a, a * self.pitch),)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the angle, with the whole turns that follow from the distance."""
        angle = angle_about(self.axis, X.E)
        if self.pitch == 0.0:
            return [angle]
        return [whole_turns(angle, Vec3(*self.axis).dot(X.r) * (1.0 / self.pitch))]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return what acts across the axis, and the wrench that the screw balances."""
        u, v = across(self.axis)
        a = Vec3(*self.axis)
        return (couple(u), couple(v), push(u), push(v), Force(a * -self.pitch, a))


@dataclass(frozen=True)
class Cylindrical(_Axial):
    """
    Rotation about and translation along one axis; q is [angle, distance].

    :param axis: direction, any length but zero.
    """

    nq = 2
    nv = 2

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return the screw transform of angle and distance."""
        return axis_rotation(self.axis, q[0], q[1])

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the rotation about and the translation along the axis."""
        a = Vec3(*self.axis)
        return turn(a), slide(a)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return angle and distance."""
        return [angle_about(self.axis, X.E), Vec3(*self.axis).dot(X.r)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return couples and forces across the axis."""
        u, v = across(self.axis)
        return couple(u), couple(v), push(u), push(v)


@dataclass(frozen=True)
class Fixed(Joint):
    """No motion at all: S is 6 x 0."""

    nq = 0
    nv = 0

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return the identity."""
        return Transform.identity()

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return no column."""
        return ()

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return nothing: there is only one position."""
        return []

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return all six directions."""
        return tuple(Force.unit(i) for i in range(6))
