# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints of several degrees of freedom: planar, translation, spherical, free (RBDA Table 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_ros.compiler import cos, Scalar, sin, sqrt, Values
from rbd_ros.joints.axial import angle_about, axis_rotation, UNITS
from rbd_ros.joints.base import Joint, Random
from rbd_ros.joints.directions import across, couple, push, slide, turn, unit_axis
from rbd_ros.spatial import Force, Motion, quaternion, Transform, Vec3
from rbd_ros.spatial.quaternion import TINY


@dataclass(frozen=True)
class Planar(Joint):
    """
    Motion in a plane of F_p: q is [angle, x, y], qd is [w, vx, vy] in F_s coordinates.

    x and y are measured in F_p along the two axes that follow the normal in cyclic order (for a
    normal along z, the x and y axes). With velocity variables of F_s the subspace is constant;
    the book's Example 4.5 mixes this form with another.

    :param normal: direction, any length but zero.
    """

    nq = 3
    nv = 3

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'normal', unit_axis(self.normal, 'normal of a planar joint'))

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = rot(normal, q0) xlt(u q1 + v q2)."""
        u, v = across(self.normal)
        turned = axis_rotation(self.normal, q[0])
        return Transform(turned.E, u * q[1] + v * q[2])

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the rotation about the normal and the two translations across it."""
        u, v = across(self.normal)
        return turn(Vec3(*self.normal)), slide(u), slide(v)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the angle and the place in the plane."""
        u, v = across(self.normal)
        return [angle_about(self.normal, X.E), u.dot(X.r), v.dot(X.r)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the couples in the plane and the force along the normal."""
        u, v = across(self.normal)
        return couple(u), couple(v), push(Vec3(*self.normal))

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return [w, and the velocity turned into F_p]."""
        c, s = cos(q[0]), sin(q[0])
        return [qd[0], c * qd[1] - s * qd[2], s * qd[1] + c * qd[2]]

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Move along the arc of constant velocity: its chord lies at half the angle."""
        c, s, chord = self._chord(q[0], step[0])
        return [q[0] + step[0], q[1] + chord * (c * step[1] - s * step[2]),
                q[2] + chord * (s * step[1] + c * step[2])]

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return the step of the arc from q0 to q1, for turns of less than a full one."""
        w, x, y = (b - a for a, b in zip(q0, q1))
        c, s, chord = self._chord(q0[0], w)
        return [w, (c * x + s * y) / chord, (c * y - s * x) / chord]

    @staticmethod
    def _chord(angle: Scalar, w: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return cosine and sine of the chord's angle and its length for unit speed."""
        half = 0.5 * w
        size = sqrt(half * half + TINY)
        return cos(angle + half), sin(angle + half), sin(size) / size


@dataclass(frozen=True)
class Translation(Joint):
    """Translation in all three directions; q and qd are along the axes of F_p."""

    nq = 3
    nv = 3

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = xlt(q)."""
        return Transform.translation(Vec3(*q))

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the three translations."""
        return tuple(slide(e) for e in UNITS)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the origin of F_s."""
        return X.r.to_list()

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the three couples."""
        return tuple(couple(e) for e in UNITS)

    def random(self, rng: Random) -> list[float]:
        """Return a random position within a metre along each axis."""
        return [float(rng.uniform(-1.0, 1.0)) for _ in range(3)]


@dataclass(frozen=True)
class Spherical(Joint):
    """A ball joint: q is the unit quaternion [x, y, z, w], qd the angular velocity in F_s."""

    nq = 4
    nv = 3

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = rot(E(q))."""
        return Transform.rotation(quaternion.rotation(q))

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return the three rotations."""
        return tuple(turn(e) for e in UNITS)

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the quaternion of the rotation."""
        return [*quaternion.from_rotation(X.E)]

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return the displacement of the centre, in F_s (RBDA Table 8.1)."""
        return [*(X.E @ X.r)]

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return the three forces through the centre."""
        return tuple(push(e) for e in UNITS)

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return the rate of the quaternion (RBDA Eq. 4.13)."""
        return quaternion.rate(q, Vec3(*qd))

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Turn by the rotation vector ``step``; the result has unit length (RBDA 4.5)."""
        return quaternion.normalised(quaternion.product(q, quaternion.exponential(Vec3(*step))))

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return the shortest rotation vector from q0 to q1."""
        return quaternion.logarithm(quaternion.product(quaternion.conjugate(q0), q1)).to_list()

    def neutral(self) -> list[float]:
        """Return the quaternion of no rotation."""
        return [0.0, 0.0, 0.0, 1.0]

    def random(self, rng: Random) -> list[float]:
        """Return a uniformly distributed rotation."""
        return quaternion.unit([float(rng.normal()) for _ in range(4)])


@dataclass(frozen=True)
class Free(Joint):
    """
    Six degrees of freedom: q is [x y z qx qy qz qw], qd the spatial velocity in F_s coordinates.

    x, y, z is the origin of F_s in F_p. qd is [w; v], angular first; the subspace is the unit
    matrix and there is no constraint.
    """

    nq = 7
    nv = 6

    def transform(self, q: Values, t: Scalar = 0.0) -> Transform:
        """Return X_J = rot(E(q3..q6)) xlt(q0..q2)."""
        return Transform(quaternion.rotation(q[3:]), Vec3(*q[:3]))

    def subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Motion, ...]:
        """Return all six motions."""
        return tuple(Motion.unit(i) for i in range(6))

    def locate(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return origin and quaternion."""
        return [*X.r.to_list(), *quaternion.from_rotation(X.E)]

    def closure_error(self, X: Transform, t: Scalar = 0.0) -> list[Scalar]:
        """Return nothing: every transform is allowed."""
        return []

    def constraint_subspace(self, q: Values, t: Scalar = 0.0) -> tuple[Force, ...]:
        """Return no column."""
        return ()

    def q_dot(self, q: Values, qd: Values) -> list[Scalar]:
        """Return [E^T v; rate of the quaternion]."""
        v = quaternion.rotation(q[3:]).transpose_times(Vec3(*qd[3:]))
        return v.to_list() + quaternion.rate(q[3:], Vec3(*qd[:3]))

    def integrate(self, q: Values, step: Values) -> list[Scalar]:
        """Move along the screw of constant body velocity ``step``."""
        w, v = Vec3(*step[:3]), Vec3(*step[3:])
        angle = sqrt(w.dot(w) + TINY)
        k = sin(0.5 * angle) / angle
        b = (angle - sin(angle)) / (angle * angle * angle)
        side = w.cross(v)
        d = v + side * (2.0 * k * k) + w.cross(side) * b
        p = Vec3(*q[:3]) + quaternion.rotation(q[3:]).transpose_times(d)
        turned = quaternion.product(q[3:], quaternion.exponential(w))
        return p.to_list() + quaternion.normalised(turned)

    def difference(self, q0: Values, q1: Values) -> list[Scalar]:
        """Return the body velocity of the shortest screw from q0 to q1."""
        w = quaternion.logarithm(quaternion.product(quaternion.conjugate(q0[3:]), q1[3:]))
        d = quaternion.rotation(q0[3:]) @ (Vec3(*q1[:3]) - Vec3(*q0[:3]))
        angle = sqrt(w.dot(w) + TINY)
        half = 0.5 * angle
        b = (1.0 - half * cos(half) / sin(half)) / (angle * angle)
        side = w.cross(d)
        return w.to_list() + (d - side * 0.5 + w.cross(side) * b).to_list()

    def neutral(self) -> list[float]:
        """Return the origin without rotation."""
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]

    def random(self, rng: Random) -> list[float]:
        """Return a position within a metre along each axis and a uniform rotation."""
        p = [float(rng.uniform(-1.0, 1.0)) for _ in range(3)]
        return p + quaternion.unit([float(rng.normal()) for _ in range(4)])
