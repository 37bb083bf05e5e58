# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inertias of standard shapes of uniform density, and of points (Modern Robotics, 9.2.1).

Each is about the centre of mass, at the origin, in the axes of the shape. Move and turn one with a
transform: ``X.inv_apply(shape)`` is the inertia in the coordinates that X starts from.
"""

from __future__ import annotations

from collections.abc import Iterable

from rbd_ros.compiler import Expr, Scalar
from rbd_ros.errors import ModelError
from rbd_ros.spatial.algebra import Sym3, Vec3
from rbd_ros.spatial.inertia import RigidInertia


def _checked(shape: str, **sizes: Scalar) -> None:
    for name, value in sizes.items():
        if not isinstance(value, Expr) and not 0.0 <= value < float('inf'):
            raise ModelError(f'{shape}: {name} must be finite and not negative, got {value}')


def _centred(m: Scalar, xx: Scalar, yy: Scalar, zz: Scalar) -> RigidInertia:
    return RigidInertia(m, Vec3.zero(), Sym3.diagonal(xx, yy, zz))


def box(m: Scalar, x: Scalar, y: Scalar, z: Scalar) -> RigidInertia:
    """Return the inertia of a box with these edge lengths."""
    _checked('box', mass=m, x=x, y=y, z=z)
    k = m * (1.0 / 12.0)
    return _centred(m, k * (y * y + z * z), k * (x * x + z * z), k * (x * x + y * y))


def ellipsoid(m: Scalar, a: Scalar, b: Scalar, c: Scalar) -> RigidInertia:
    """Return the inertia of a solid ellipsoid with these half-axes along x, y, z."""
    _checked('ellipsoid', mass=m, a=a, b=b, c=c)
    k = m * 0.2
    return _centred(m, k * (b * b + c * c), k * (a * a + c * c), k * (a * a + b * b))


def sphere(m: Scalar, radius: Scalar) -> RigidInertia:
    """Return the inertia of a solid ball."""
    _checked('sphere', mass=m, radius=radius)
    return ellipsoid(m, radius, radius, radius)


def hollow_sphere(m: Scalar, radius: Scalar) -> RigidInertia:
    """Return the inertia of a thin spherical shell."""
    _checked('hollow sphere', mass=m, radius=radius)
    k = m * (2.0 / 3.0) * radius * radius
    return _centred(m, k, k, k)


def cylinder(m: Scalar, radius: Scalar, height: Scalar) -> RigidInertia:
    """Return the inertia of a solid cylinder about z."""
    _checked('cylinder', mass=m, radius=radius, height=height)
    across = m * (1.0 / 12.0) * (3.0 * radius * radius + height * height)
    return _centred(m, across, across, 0.5 * m * radius * radius)


def tube(m: Scalar, inner: Scalar, outer: Scalar, height: Scalar) -> RigidInertia:
    """Return the inertia of a cylinder about z with a hole along its axis."""
    _checked('tube', mass=m, inner=inner, outer=outer, height=height)
    squares = inner * inner + outer * outer
    across = m * (1.0 / 12.0) * (3.0 * squares + height * height)
    return _centred(m, across, across, 0.5 * m * squares)


def rod(m: Scalar, length: Scalar) -> RigidInertia:
    """Return the inertia of a thin rod along z: none about its own axis."""
    _checked('rod', mass=m, length=length)
    across = m * (1.0 / 12.0) * length * length
    return _centred(m, across, across, 0.0)


def cone(m: Scalar, radius: Scalar, height: Scalar) -> RigidInertia:
    """Return the inertia of a solid cone about z, its tip at z = 3/4 of the height."""
    _checked('cone', mass=m, radius=radius, height=height)
    across = m * (3.0 / 80.0) * (4.0 * radius * radius + height * height)
    return _centred(m, across, across, m * 0.3 * radius * radius)


def points(masses: Iterable[Scalar], places: Iterable[Vec3]) -> RigidInertia:
    """Return the inertia of particles about the origin: sums of m, m r, and -m [r]^2."""
    total = RigidInertia.zero()
    for m, place in zip(masses, places, strict=True):
        total = total + RigidInertia.from_com(m, place, Sym3.zero())
    return total
