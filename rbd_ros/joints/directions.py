# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Axes, and motions and forces along them; the forces that do no work on a subspace (RBDA 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
import math

from rbd_ros.compiler import divide, less, Scalar, sqrt, Values, where
from rbd_ros.errors import ModelError
from rbd_ros.spatial import Force, Motion, Vec3
from rbd_ros.spatial.constant import SNAP

#: Below this the squared length of a unit column is rounding.
TINY = 1.0e-24


def unit_axis(axis: Sequence[float], what: str) -> tuple[float, float, float]:
    """
    Normalise an axis, exactly when it lies within SNAP of a coordinate axis.

    :param axis: three finite numbers, not all zero.
    :param what: name of the axis for the error message.
    """
    try:
        values = [float(x) for x in axis]
    except (TypeError, ValueError):
        values = []
    if len(values) != 3 or not all(math.isfinite(x) for x in values):
        raise ModelError(f'{what} must be three finite numbers, not {axis!r}')
    length = math.hypot(*values)
    if length == 0.0:
        raise ModelError(f'{what} is zero; give the direction of the axis, for example (0, 0, 1)')
    along = [abs(x) > SNAP * length for x in values]
    if sum(along) == 1:
        x, y, z = (math.copysign(1.0, x) if large else 0.0 for x, large in zip(values, along))
    else:
        x, y, z = (x / length for x in values)
    return x, y, z


def aligned(axis: Sequence[float]) -> tuple[int, float] | None:
    """Return index and sign of the coordinate axis that this unit axis lies on, else None."""
    for k in range(3):
        if abs(axis[k]) == 1.0 and not any(axis[:k]) and not any(axis[k + 1:]):
            return k, axis[k]
    return None


def across(axis: Sequence[float]) -> tuple[Vec3, Vec3]:
    """Return two unit vectors u, v so that u, v, axis is a right-handed basis."""
    place = aligned(axis)
    if place is not None:
        k, sign = place
        u, v = Vec3.unit((k + 1) % 3), Vec3.unit((k + 2) % 3)
        return (u, v) if sign > 0.0 else (v, u)
    a = Vec3(*axis)
    helper = Vec3.unit(min(range(3), key=lambda k: abs(axis[k])))
    u = a.cross(helper)
    u = u * (1.0 / math.sqrt(u.dot(u)))
    return u, a.cross(u)


def turn(motion: Vec3) -> Motion:
    """Return the pure rotation with this angular velocity."""
    return Motion(motion, Vec3.zero())


def slide(motion: Vec3) -> Motion:
    """Return the pure translation with this velocity."""
    return Motion(Vec3.zero(), motion)


def couple(moment: Vec3) -> Force:
    """Return the pure couple with this moment."""
    return Force(moment, Vec3.zero())


def push(force: Vec3) -> Force:
    """Return the force through the frame's origin."""
    return Force(Vec3.zero(), force)


def dual_complement(S: Sequence[Motion]) -> tuple[Force, ...]:
    """
    Return a basis of the forces that do no work on a motion subspace (RBDA 3.3).

    One Householder reflection per column turns S into the first axes; turned back, the axes that
    are left are orthogonal to S. There is no branch in it, so that it can be traced. A column
    that depends on those before it is passed over.

    :param S: columns, linearly independent at most positions.
    """
    rest = [s.to_list() for s in S]
    normals: list[tuple[list[Scalar], Scalar]] = []
    for k, x in enumerate(rest):
        for normal, weight in normals:
            x = _reflect(x, normal, weight)
        size = sqrt(_squared(x[k:]))
        normal = [0.0] * k + [x[k] + where(less(x[k], 0.0), -size, size), *x[k + 1:]]
        squared = _squared(normal)
        normals.append((normal, where(less(TINY, squared), divide(2.0, squared), 0.0)))
    basis = []
    for k in range(len(S), 6):
        x = Force.unit(k).to_list()
        for normal, weight in reversed(normals):
            x = _reflect(x, normal, weight)
        basis.append(Force.from_list(x))
    return tuple(basis)


def _reflect(x: list[Scalar], normal: list[Scalar], weight: Scalar) -> list[Scalar]:
    scale: Scalar = 0.0
    for a, b in zip(x, normal):
        scale = scale + a * b
    scale = scale * weight
    return [a - scale * b for a, b in zip(x, normal)]


def _squared(x: Values) -> Scalar:
    total: Scalar = 0.0
    for a in x:
        total = total + a * a
    return total
