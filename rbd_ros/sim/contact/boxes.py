# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Contact of two boxes: the axis that separates them best, and the contact points along it."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple, Protocol

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.model.collision_shapes import Shape

#: m, by which an edge axis must be better than a face axis: faces give steadier contacts.
_EDGE_MARGIN = 1e-6


class PlacedBox(Protocol):
    """A box in space."""

    @property
    def shape(self) -> Shape:
        """Return the box."""

    @property
    def R(self) -> Array:
        """Return the rotation from box to space coordinates."""

    @property
    def p(self) -> Array:
        """Return the centre."""


class _Axis(NamedTuple):
    separation: float
    direction: Array
    face: int
    edges: tuple[int, int]


def boxes(one: PlacedBox, two: PlacedBox) -> list[tuple[Array, Array, float]]:
    """
    Return the contacts: point on the first box, direction from first to second, distance.

    Covers vertex to face, face to face and edge to edge. Distances are exact along the axis of
    best separation; for boxes that are apart corner to corner they are lower bounds.
    """
    h_1, h_2 = (0.5 * np.array(each.shape.size) for each in (one, two))  # type: ignore[union-attr]
    best = _best_axis(one, h_1, two, h_2)
    if best.face < 0:
        return [_edges(one, h_1, two, h_2, best)]
    first = best.face < 3
    reference, h_r = (one, h_1) if first else (two, h_2)
    incident, h_i = (two, h_2) if first else (one, h_1)
    outward = best.direction if first else -best.direction
    found = []
    polygon = _clipped(reference, h_r, best.face % 3, incident, h_i, outward)
    if best.separation > 0.0 or not polygon:    # the nearest corner may lie outside the face
        polygon.append(incident.p - incident.R @ (np.sign(incident.R.T @ outward) * h_i))
    for vertex in polygon:
        level = float(outward @ (vertex - reference.p)) - h_r[best.face % 3]
        foot = vertex - level * outward
        found.append((foot if first else vertex, best.direction, level))
    return sorted(found, key=lambda each: each[2])


def _best_axis(one: PlacedBox, h_1: Array, two: PlacedBox, h_2: Array) -> _Axis:
    between = two.p - one.p
    best = None
    axes = [(one.R[:, k], k, (0, 0)) for k in range(3)]
    axes += [(two.R[:, k], 3 + k, (0, 0)) for k in range(3)]
    axes += [(np.cross(one.R[:, i], two.R[:, j]), -1, (i, j))
             for i, j in product(range(3), range(3))]
    for axis, face, edges in axes:
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            continue
        n = axis / length
        n = n if n @ between >= 0.0 else -n
        gap = float(n @ between) - np.abs(one.R.T @ n) @ h_1 - np.abs(two.R.T @ n) @ h_2
        if best is None or gap > best.separation + (_EDGE_MARGIN if face < 0 else 0.0):
            best = _Axis(float(gap), n, face, edges)
    assert best is not None
    return best


def _edges(
    one: PlacedBox, h_1: Array, two: PlacedBox, h_2: Array, axis: _Axis,
) -> tuple[Array, Array, float]:
    """Return the contact of two edges that cross."""
    n, (i, j) = axis.direction, axis.edges
    a = one.R.T @ n
    b = two.R.T @ -n
    p = one.p + one.R @ np.where(np.arange(3) == i, 0.0, np.sign(a) * h_1)
    q = two.p + two.R @ np.where(np.arange(3) == j, 0.0, np.sign(b) * h_2)
    u, v, w = one.R[:, i], two.R[:, j], q - p
    c = float(u @ v)
    s = (float(u @ w) - c * float(v @ w)) / (1.0 - c * c)
    return p + s * u, n, axis.separation


def _clipped(
    reference: PlacedBox, h_r: Array, axis: int, incident: PlacedBox, h_i: Array, outward: Array,
) -> list[Array]:
    """Return the incident face, clipped to the outline of the reference face."""
    local = incident.R.T @ -outward
    k = int(np.argmax(np.abs(local)))
    u, v = (m for m in range(3) if m != k)
    polygon = []
    for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        x = np.zeros(3)
        x[k], x[u], x[v] = np.sign(local[k]) * h_i[k], s * h_i[u], t * h_i[v]
        polygon.append(incident.p + incident.R @ x)
    for m in (m for m in range(3) if m != axis):
        for sign in (1.0, -1.0):
            polygon = cut(polygon, sign * reference.R[:, m],
                          float(sign * reference.R[:, m] @ reference.p) + h_r[m])
    return polygon


def cut(polygon: list[Array], normal: Array, limit: float) -> list[Array]:
    """Return the part of a polygon with normal . x <= limit."""
    kept = []
    for i, here in enumerate(polygon):
        before = polygon[i - 1]
        a, b = float(normal @ before) - limit, float(normal @ here) - limit
        if (a > 0.0) != (b > 0.0):
            kept.append(before + (here - before) * (a / (a - b)))
        if b <= 0.0:
            kept.append(here)
    return kept
