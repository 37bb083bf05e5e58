# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Contact points of two shapes (RBDA 11.6).

Spheres, capsules, boxes and half-spaces have closed forms; for cylinders and meshes see
:mod:`rbd_ros.sim.contact.mesh`. A pair gives one contact point, or as many as a face or an edge
needs. Directions point from the first shape to the second, as contact normals point from
predecessor to successor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.model.collision_shapes import (
    Box, Capsule, ConvexMesh, Cylinder, HalfSpace, sample_points, Shape, Sphere)
from rbd_ros.sim.contact import boxes, mesh


class Touch(NamedTuple):
    """
    A place where two shapes touch or nearly touch.

    :param point: on the surface of the first shape, m.
    :param direction: unit normal from the first shape to the second.
    :param distance: between the surfaces along it, m; negative if they overlap.
    """

    point: Array
    direction: Array
    distance: float


class Placed(NamedTuple):
    """A shape in space: ``R`` rotates shape to space coordinates, ``p`` is its origin."""

    shape: Shape
    R: Array
    p: Array


def touches(one: Placed, two: Placed, margin: float = np.inf) -> list[Touch]:
    """
    Return where two shapes touch, or are closer together than a margin.

    :param margin: largest distance that counts, m; infinite for the nearest points of any pair.
    """
    shapes = (one.shape, two.shape)
    if isinstance(one.shape, HalfSpace):
        found = _on_plane(one, two)
    elif isinstance(two.shape, HalfSpace):
        found = [_reversed(touch) for touch in _on_plane(two, one)]
    elif any(isinstance(shape, (ConvexMesh, Cylinder)) for shape in shapes):
        found = [_nearest(one, two)]
    elif all(isinstance(shape, Box) for shape in shapes):
        found = [Touch(*each) for each in boxes.boxes(one, two)]
    elif isinstance(one.shape, Box):
        found = _in_box(one, two)
    elif isinstance(two.shape, Box):
        found = [_reversed(touch) for touch in _in_box(two, one)]
    else:
        found = [_rounded(one, two)]
    return [touch for touch in found if touch.distance <= margin]


def _reversed(touch: Touch) -> Touch:
    return Touch(touch.point + touch.direction * touch.distance, -touch.direction, touch.distance)


def _on_plane(plane: Placed, other: Placed) -> list[Touch]:
    """Return the ends, corners or vertices of a shape over a half-space, the deepest first."""
    n = plane.R[:, 2]
    points, radius = _corners(other)
    heights = (points - plane.p) @ n - radius
    order = np.argsort(heights, kind='stable')
    return [Touch(points[i] - n * (radius + heights[i]), n, float(heights[i])) for i in order]


def _corners(other: Placed) -> tuple[Array, float]:
    if isinstance(other.shape, Capsule):        # the ends are enough on a plane
        ends = np.array(_segment(other))
        return ends, other.shape.radius
    points, radius = sample_points(other.shape)
    return points @ other.R.T + other.p, radius


def _segment(placed: Placed) -> tuple[Array, Array]:
    """Return the ends of the axis of a capsule; those of a sphere coincide."""
    half = 0.5 * placed.shape.length if isinstance(placed.shape, Capsule) else 0.0
    return placed.p - half * placed.R[:, 2], placed.p + half * placed.R[:, 2]


def _radius(shape: Shape) -> float:
    assert isinstance(shape, (Sphere, Capsule))
    return shape.radius


def _rounded(one: Placed, two: Placed) -> Touch:
    """Return the nearest points of two spheres or capsules."""
    a, b = closest_on_segments(*_segment(one), *_segment(two))
    gap = b - a
    length = float(np.linalg.norm(gap))
    direction = gap / length if length > 1e-12 else one.R[:, 0]
    return Touch(a + direction * _radius(one.shape), direction,
                 length - _radius(one.shape) - _radius(two.shape))


def closest_on_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> tuple[Array, Array]:
    """Return the nearest points of two segments."""
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    a, b, c = float(u @ u), float(u @ v), float(v @ v)
    d, e = float(u @ w), float(v @ w)
    det = a * c - b * b
    s = min(max((b * e - c * d) / det, 0.0), 1.0) if det > 1e-14 * max(a * c, 1e-300) else 0.0
    t = min(max((b * s + e) / c, 0.0), 1.0) if c > 0.0 else 0.0
    s = min(max((b * t - d) / a, 0.0), 1.0) if a > 0.0 else 0.0
    return a0 + s * u, b0 + t * v


def _in_box(box: Placed, other: Placed) -> list[Touch]:
    """Return where a sphere or capsule touches a box: the nearest point, and the ends."""
    ends = _segment(other)
    radius = _radius(other.shape)
    places = [0.5] if isinstance(other.shape, Sphere) else [_lowest(box, ends), 0.0, 1.0]
    found: list[Touch] = []
    for s in places:
        center = ends[0] + s * (ends[1] - ends[0])
        touch = point_in_box(box, center)
        if all(np.linalg.norm(touch.point - each.point) > 1e-9 for each in found):
            found.append(touch._replace(distance=touch.distance - radius))
    return found


def _lowest(box: Placed, ends: tuple[Array, Array]) -> float:
    """Return where a segment is deepest in a box: the signed distance along it is convex."""
    low, high = 0.0, 1.0
    for _ in range(60):
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        if _depth(box, ends, one) < _depth(box, ends, two):
            high = two
        else:
            low = one
    return 0.5 * (low + high)


def _depth(box: Placed, ends: tuple[Array, Array], s: float) -> float:
    return point_in_box(box, ends[0] + s * (ends[1] - ends[0])).distance


def point_in_box(box: Placed, point: Array) -> Touch:
    """Return the nearest point on the surface of a box, the normal, and the signed distance."""
    assert isinstance(box.shape, Box)
    half = 0.5 * np.array(box.shape.size)
    x = box.R.T @ (point - box.p)
    near = np.clip(x, -half, half)
    gap = x - near
    length = float(np.linalg.norm(gap))
    if length > 0.0:
        return Touch(box.p + box.R @ near, box.R @ gap / length, length)
    depths = half - np.abs(x)
    axis = int(np.argmin(depths))
    normal = np.zeros(3)
    normal[axis] = 1.0 if x[axis] >= 0.0 else -1.0
    near[axis] = normal[axis] * half[axis]
    return Touch(box.p + box.R @ near, box.R @ normal, -float(depths[axis]))


def _nearest(one: Placed, two: Placed) -> Touch:
    """Return the nearest points from coal, for shapes without a closed form."""
    found, a, b = mesh.distance(one.shape, one.R, one.p, two.shape, two.R, two.p)
    gap = (b - a) if found >= 0.0 else (a - b)
    length = float(np.linalg.norm(gap))
    return Touch(a, gap / length if length > 0.0 else one.R[:, 2], found)
