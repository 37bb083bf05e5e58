# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Spatial vectors as screws: a line, a pitch and a magnitude (RBDA 2.5), and small displacements.

A twist turns about its line and slides along it; a wrench pushes along its line and turns about
it. Pure rotations and forces have pitch zero, pure translations and couples an infinite one.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

from rbd_ros.compiler import divide, Scalar
from rbd_ros.spatial.algebra import Vec3
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.vectors import Force, Motion

Vector = TypeVar('Vector', Motion, Force)


class Screw(NamedTuple):
    """
    The geometry of a motion or force vector.

    :param direction: unit vector along the line; for a free vector, its direction.
    :param point: point of the line nearest to the origin; zero for a free vector.
    :param pitch: length per radian for a motion, moment per force for a force; inf if free.
    :param magnitude: of the angular velocity or the force; for a free vector, of the translation
        or the couple. Magnitudes of the two kinds cannot be compared.
    """

    direction: Vec3
    point: Vec3
    pitch: float
    magnitude: float

    def motion(self) -> Motion:
        """Return the motion vector with this geometry."""
        return Motion(*self._parts())

    def force(self) -> Force:
        """Return the force vector with this geometry."""
        s, s_O = self._parts()
        return Force(s_O, s)

    def _parts(self) -> tuple[Vec3, Vec3]:
        s = self.direction * self.magnitude
        if math.isinf(self.pitch):
            return Vec3.zero(), s
        return s, self.point.cross(s) + s * self.pitch                  # 2.10


def _line_and_moment(vector: Motion | Force) -> tuple[Vec3, Vec3]:
    """Return s and s_O: the part that is the same at every origin, and the other."""
    if isinstance(vector, Motion):
        return vector.ang, vector.lin
    return vector.lin, vector.ang


def pitch(vector: Motion | Force) -> Scalar:
    """Return s . s_O / s . s, infinite or NaN where s is zero (RBDA Eq. 2.10)."""
    s, s_O = _line_and_moment(vector)
    return divide(s.dot(s_O), s.dot(s))


def line_part(vector: Vector) -> Vector:
    """Return the rotation about, or the force along, the screw's line."""
    return vector - free_part(vector)


def free_part(vector: Vector) -> Vector:
    """Return the translation along, or the couple about, the screw's line."""
    s, _ = _line_and_moment(vector)
    along = s * pitch(vector)
    if isinstance(vector, Motion):
        return Motion(Vec3.zero(), along)
    return Force(along, Vec3.zero())


def is_free(vector: Motion | Force, tolerance: float = 0.0) -> bool:
    """Recognise a pure translation or couple, up to a tolerance on the components of s."""
    s, _ = _line_and_moment(vector)
    return max(abs(x) for x in s) <= tolerance


def is_line(vector: Motion | Force, tolerance: float = 1.0e-12) -> bool:
    """
    Recognise a pure rotation or force: s . s_O = 0 and s is not zero (RBDA 2.5).

    :param tolerance: on s . s_O relative to the product of the lengths.
    """
    s, s_O = _line_and_moment(vector)
    size = math.sqrt(s.dot(s) * s_O.dot(s_O))
    return not is_free(vector) and abs(s.dot(s_O)) <= tolerance * size


def decompose(vector: Motion | Force) -> Screw:
    """
    Return line, pitch and magnitude of a vector of plain floats.

    The zero vector comes back with magnitude zero, infinite pitch and direction z.
    """
    s, s_O = _line_and_moment(vector)
    if is_free(vector):
        size = math.sqrt(s_O.dot(s_O))
        direction = s_O * (1.0 / size) if size else Vec3.unit(2)
        return Screw(direction, Vec3.zero(), math.inf, size)
    size = math.sqrt(s.dot(s))
    point = s.cross(s_O) * (1.0 / s.dot(s))
    return Screw(s * (1.0 / size), point, float(s.dot(s_O) / s.dot(s)), size)


def velocity_at(v: Motion, point: Vec3) -> Vec3:
    """Return the velocity of the body-fixed point that is now at ``point`` (RBDA Eq. 2.5)."""
    return v.lin + v.ang.cross(point)


def moment_at(f: Force, point: Vec3) -> Vec3:
    """Return the moment of a force about a point (RBDA Eq. 2.6)."""
    return f.ang + f.lin.cross(point)


def force_at(force: Vec3, point: Vec3) -> Force:
    """Return the spatial force of a 3-D force whose line passes through a point."""
    return Force(point.cross(force), force)


def rotation_about(axis: Vec3, point: Vec3) -> Motion:
    """Return the spatial velocity of a rotation about a line through a point."""
    return Motion(axis, point.cross(axis))


def small_motion(X: Transform) -> Motion:
    """
    Return the velocity that would carry frame A onto B in unit time, to first order in the angle.

    This is XtoV of RBDA Table A.2: exact for a translation, an invariant of X, sin(angle) in place
    of the angle; so it vanishes also for half a turn, which the caller must exclude.
    """
    (_, e12, e13), (e21, _, e23), (e31, e32, _) = X.E.rows
    (_, d12, d13), (d21, _, d23), (d31, d32, _) = (-(X.E @ X.r.skew())).rows
    return Motion(Vec3(0.5 * (e23 - e32), 0.5 * (e31 - e13), 0.5 * (e12 - e21)),
                  Vec3(0.5 * (d23 - d32), 0.5 * (d31 - d13), 0.5 * (d12 - d21)))


def classical_acceleration(a: Motion, v: Motion) -> Motion:
    """
    Turn a spatial acceleration into the classical one (RBDA Eq. 2.49).

    :param a: spatial acceleration in a frame.
    :param v: spatial velocity in the same frame.
    :returns: its linear part is the acceleration of the body-fixed point at the frame's origin;
        it is no spatial vector any more and must not be transformed as one.
    """
    return Motion(a.ang, a.lin + v.ang.cross(v.lin))


def spatial_acceleration(classical: Motion, v: Motion) -> Motion:
    """Turn the classical acceleration of a frame's origin into the spatial one (RBDA Eq. 2.50)."""
    return Motion(classical.ang, classical.lin - v.ang.cross(v.lin))
