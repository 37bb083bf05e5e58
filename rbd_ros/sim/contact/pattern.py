# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
The geometry of a contact kernel: pairs of balls and obstacles, over plain or traced scalars.

Sizes and positions are inputs of the kernel. Which body carries what, the kind of each obstacle,
and which pairs may touch are compiled into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rbd_ros.compiler import (
    absolute, clamp, less, less_equal, maximum, minimum, Scalar, sqrt, Values, where)
from rbd_ros.model.collision_shapes import Box, Capsule, HalfSpace, Sphere
from rbd_ros.spatial import Mat3, Transform, Vec3

#: Kind of obstacle for each shape; a sphere is a capsule of length zero.
KINDS = {HalfSpace: 'half_space', Box: 'box', Capsule: 'capsule', Sphere: 'capsule'}


class Pattern(NamedTuple):
    """
    What is compiled into a contact kernel.

    :param bodies: the body that carries each ball.
    :param kinds: of the obstacles: ``'half_space'``, ``'box'`` or ``'capsule'``.
    :param carriers: the body that carries each obstacle; 0 for one that is fixed in the base.
    :param pairs: indices of a ball and an obstacle that may touch.
    """

    bodies: tuple[int, ...]
    kinds: tuple[str, ...]
    carriers: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """
        Return the shapes of the inputs.

        Each row of ``balls`` is the centre in body coordinates and the radius. Each row of
        ``obstacles`` is the rotation by rows and the origin, in coordinates of the carrier, then
        three sizes: the half lengths of a box; or radius, zero and half length of a capsule.
        """
        return {'balls': (len(self.bodies), 4), 'obstacles': (len(self.kinds), 15)}


class Gap(NamedTuple):
    """
    The gap of a pair at one position, in coordinates of the body that carries the obstacle.

    :param center: of the ball.
    :param normal: unit vector from the obstacle to the ball.
    :param distance: between the surfaces, m; negative if they overlap.
    """

    center: Vec3
    normal: Vec3
    distance: Scalar


def gaps(
    pattern: Pattern, X_0: Sequence[Transform], x: Mapping[str, Sequence[Any]],
) -> list[Gap]:
    """
    Return the gap of every pair.

    :param X_0: transforms from base to body coordinates, the base first.
    :param x: inputs by the names of ``Pattern.shapes``.
    """
    centers = [X_0[body].inv_point(Vec3(*place)) for body, (*place, _) in zip(
        pattern.bodies, x['balls'], strict=True)]
    found = []
    for i, k in pattern.pairs:
        carrier = pattern.carriers[k]
        center = X_0[carrier].point(centers[i]) if carrier else centers[i]
        normal, distance = nearest(center, x['obstacles'][k], pattern.kinds[k])
        found.append(Gap(center, normal, distance - x['balls'][i][3]))
    return found


def nearest(center: Vec3, obstacle: Values, kind: str) -> tuple[Vec3, Scalar]:
    """Return the normal of an obstacle where it is nearest to a point, and the signed distance."""
    R = Mat3((tuple(obstacle[0:3]), tuple(obstacle[3:6]), tuple(obstacle[6:9])))
    x = R.transpose_times(center - Vec3(*obstacle[9:12]))
    size = obstacle[12:15]
    if kind == 'half_space':
        return R @ Vec3(0.0, 0.0, 1.0), x.z
    normal, distance = _capsule(x, size) if kind == 'capsule' else _box(x, size)
    return R @ normal, distance


def _capsule(x: Vec3, size: Values) -> tuple[Vec3, Scalar]:
    radius, _, half = size
    gap = Vec3(x.x, x.y, x.z - clamp(x.z, -half, half))
    square = gap.dot(gap)
    away = less(1e-24, square)                          # else on the axis: any direction will do
    length = sqrt(maximum(square, 1e-24))
    normal = Vec3(where(away, gap.x / length, 1.0), where(away, gap.y / length, 0.0),
                  where(away, gap.z / length, 0.0))
    return normal, where(away, length, 0.0) - radius


def _box(x: Vec3, half: Values) -> tuple[Vec3, Scalar]:
    local = [x.x, x.y, x.z]
    gap = [a - clamp(a, -b, b) for a, b in zip(local, half, strict=True)]
    square = gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]
    outside = less(1e-24, square)
    length = sqrt(maximum(square, 1e-24))
    depth = [b - absolute(a) for a, b in zip(local, half, strict=True)]
    first = less_equal(depth[0], depth[1]) * less_equal(depth[0], depth[2])
    second = (1.0 - first) * less_equal(depth[1], depth[2])
    chosen = [first, second, 1.0 - first - second]
    inside = [c * where(less(a, 0.0), -1.0, 1.0) for c, a in zip(chosen, local, strict=True)]
    n = [where(outside, g / length, i) for g, i in zip(gap, inside, strict=True)]
    deep = minimum(depth[0], minimum(depth[1], depth[2]))
    return Vec3(*n), where(outside, length, -deep)


def tangents(n: Vec3) -> tuple[Vec3, Vec3]:
    """Return two unit vectors that form a right-handed frame with a unit normal, branch-free."""
    sign = where(less(n.z, 0.0), -1.0, 1.0)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return (Vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x),
            Vec3(b, sign + n.y * n.y * a, -n.y))
