# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Pluecker transforms as (E, r) pairs (RBDA 2.8, A.3 and A.4).

X = rot(E) xlt(r) takes A coordinates to B coordinates: E turns A components of a 3-vector into B
components (the transpose of the rotation that ROS calls the orientation of B in A) and r is the
position of B's origin in A coordinates.
"""

from __future__ import annotations

from typing import Any, overload, TypeVar, Union

from rbd_ros.compiler import Scalar
from rbd_ros.spatial import rotate
from rbd_ros.spatial.algebra import Mat3, Sym3, Vec3
from rbd_ros.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_ros.spatial.rotate import Angle, GENERAL, PERMUTATION
from rbd_ros.spatial.value import Value, writers
from rbd_ros.spatial.vectors import Force, Motion

Spatial = TypeVar('Spatial', Motion, Force, RigidInertia, ArticulatedInertia)
Inertia = TypeVar('Inertia', RigidInertia, ArticulatedInertia)
Moved = Union[Motion, Force, RigidInertia, ArticulatedInertia, 'Transform']


class Transform(Value):
    """
    A Pluecker transform from A to B coordinates.

    ``X @ m``, ``X @ f``, ``X @ I`` transform a motion, a force (by X*) and an inertia (by
    X* I X^-1); ``X @ Y`` composes; ``inv_apply`` does the reverse without forming an inverse.

    :param E: rotation from A to B components.
    :param r: origin of B in A coordinates.
    """

    __slots__ = ('E', 'r', '_structure', '_angle')

    E: Mat3
    r: Vec3
    _structure: int | None      # found when it is first asked for
    _angle: Angle | None

    def __init__(self, E: Mat3, r: Vec3) -> None:
        write_E(self, E)
        write_r(self, r)
        write_structure(self, None)
        write_angle(self, None)

    def _key(self) -> tuple[Any, ...]:
        return self.E, self.r

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(('Transform', self._key()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Transform, (self.E, self.r)

    @classmethod
    def identity(cls) -> Transform:
        """Return the transform that changes nothing, with exact zeros and ones."""
        return Transform(Mat3.identity(), Vec3.zero())

    @classmethod
    def translation(cls, r: Vec3) -> Transform:
        """Return xlt(r): B is A moved to r."""
        return Transform(Mat3.identity(), r)

    @classmethod
    def rotation(cls, E: Mat3) -> Transform:
        """Return rot(E): B shares its origin with A."""
        return Transform(E, Vec3.zero())

    @property
    def structure(self) -> int:
        """Kind of E by its exact constants, see rotate.structure."""
        found = self._structure
        if found is None:
            found = rotate.structure(self.E)
            write_structure(self, found)
        return found

    def to_list(self) -> list[Any]:
        """Return the 6x6 matrix [E 0; -E rx E] of a motion transform as nested lists."""
        E = self.E.to_list()
        below = (-(self.E @ self.r.skew())).to_list()
        return ([row + [0.0, 0.0, 0.0] for row in E]
                + [b + row for b, row in zip(below, E)])          # 2.24

    def homogeneous(self) -> list[Any]:
        """Return the 4x4 matrix that takes A coordinates of a point to B (RBDA Eq. 2.28)."""
        p = self.E @ self.r
        return [list(row) + [-x] for row, x in zip(self.E.rows, p)] + [[0.0, 0.0, 0.0, 1.0]]

    def point(self, p: Vec3) -> Vec3:
        """Return the B coordinates of a point given in A coordinates."""
        return self.E @ (p - self.r)

    def inv_point(self, p: Vec3) -> Vec3:
        """Return the A coordinates of a point given in B coordinates."""
        return self.E.transpose_times(p) + self.r

    def turn(self, v: Vec3) -> Vec3:
        """Return E v: a free vector of A in B components."""
        return self.E @ v

    def inv_first_moment(self, m: Scalar, h: Vec3) -> Vec3:
        """Return E^T h + m r: the first moment of a mass about the origin of A."""
        return self.E.transpose_times(h) + self.r * m

    def inverse(self) -> Transform:
        """Return the transform from B to A."""
        return Transform(self.E.T, -(self.E @ self.r))

    @overload
    def __matmul__(self, other: Spatial) -> Spatial: ...

    @overload
    def __matmul__(self, other: Transform) -> Transform: ...

    def __matmul__(self, other: Moved) -> Moved:
        if isinstance(other, Motion):
            return Motion(*self._forward(other.ang, other.lin))
        if isinstance(other, Force):
            lin, ang = self._forward(other.lin, other.ang)
            return Force(ang, lin)
        if isinstance(other, RigidInertia):
            return self._inertia(other)
        if isinstance(other, ArticulatedInertia):
            return self._inertia(other)
        if isinstance(other, Transform):
            return self._compose(other)
        raise _cannot(self, other)

    def inv_apply(self, other: Spatial) -> Spatial:
        """Return X^-1 m, X^T f or X^T I X: the object in A coordinates."""
        if isinstance(other, Motion):
            return Motion(*self._backward(other.ang, other.lin))
        if isinstance(other, Force):
            lin, ang = self._backward(other.lin, other.ang)
            return Force(ang, lin)
        if isinstance(other, (RigidInertia, ArticulatedInertia)):
            return self._inv_inertia(other)
        raise _cannot(self, other)

    def _inertia(self, inertia: Inertia) -> Inertia:
        return self._rotated(inertia.moved(-self.r), False)

    def _inv_inertia(self, inertia: Inertia) -> Inertia:
        return self._rotated(inertia, True).moved(self.r)

    def _forward(self, p: Vec3, s: Vec3) -> tuple[Vec3, Vec3]:
        """Return E p and E (s - r x p): p is the part that does not depend on the origin."""
        return self.E @ p, self.E @ (s - self.r.cross(p))

    def _backward(self, p: Vec3, s: Vec3) -> tuple[Vec3, Vec3]:
        """Return E^T p and E^T s + r x E^T p."""
        p = self.E.transpose_times(p)
        return p, self.E.transpose_times(s) + self.r.cross(p)

    def _compose(self, other: Transform) -> Transform:
        return Transform(rotate.product(self.E, other.E),
                         other.r + other.E.transpose_times(self.r))

    def _axes(self, inverse: bool) -> tuple[int, int, int]:
        k = self.structure
        i, j = (k + 1) % 3, (k + 2) % 3
        return (j, i, k) if inverse else (i, j, k)

    def _angle_data(self) -> Angle:
        found = self._angle
        if found is None:
            i, j, _ = self._axes(False)
            found = Angle(self.E.rows[i][i], self.E.rows[i][j])
            write_angle(self, found)
        return found

    def _rotate_symmetric(self, A: Sym3, inverse: bool) -> Sym3:
        kind = self.structure
        if kind == GENERAL:
            return rotate.general_symmetric(self.E.T if inverse else self.E, A)
        if kind == PERMUTATION:
            return rotate.permute_symmetric(self.E.T if inverse else self.E, A)
        return rotate.axial_symmetric(*self._axes(inverse), self._angle_data(), A)

    def _rotate_general(self, A: Mat3, inverse: bool) -> Mat3:
        kind = self.structure
        if kind == GENERAL:
            return rotate.general_general(self.E.T if inverse else self.E, A)
        if kind == PERMUTATION:
            return rotate.permute_general(self.E.T if inverse else self.E, A)
        return rotate.axial_general(*self._axes(inverse), self._angle_data(), A)

    def _rotated(self, inertia: Inertia, inverse: bool) -> Inertia:
        """Return an inertia in components turned by E, or by its inverse."""
        if isinstance(inertia, RigidInertia):
            h = self.E.transpose_times(inertia.h) if inverse else self.E @ inertia.h
            return RigidInertia(inertia.m, h, self._rotate_symmetric(inertia.I, inverse))
        return ArticulatedInertia(self._rotate_symmetric(inertia.I, inverse),
                                  self._rotate_general(inertia.H, inverse),
                                  self._rotate_symmetric(inertia.M, inverse))


write_E, write_r, write_structure, write_angle = writers(Transform)


def _cannot(X: Transform, other: object) -> TypeError:
    return TypeError(f'{type(X).__name__} transforms Motion, Force, RigidInertia, '
                     f'ArticulatedInertia and Transform, not {type(other).__name__}')
