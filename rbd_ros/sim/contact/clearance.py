# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether a robot stays clear of itself and of the floor along a path.

Each shape is enclosed by a capsule: capsules have fast distances for whole paths at once. Where
two capsules come close, the distance of the shapes themselves counts, if the package coal is
there; without it, cylinders, boxes and meshes are a little larger than they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import ModelError, SettingError, UnknownName
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, ConvexMesh, Cylinder, HalfSpace, Shape, Sphere)
from rbd_ros.sim.contact.distance import Placed, touches

__all__ = ['Clearance', 'NearMiss']

#: Samples of a path that are examined at once.
_CHUNK = 500


class NearMiss(NamedTuple):
    """
    Where a path comes too close to something.

    :param time: s from its start.
    :param one: a link.
    :param two: another link, or ``floor``.
    :param distance: between them, m; negative if they overlap.
    """

    time: float
    one: str
    two: str
    distance: float

    def text(self, margin: float) -> str:
        """Return the sentence for a person."""
        return (f'at {self.time:.2f} s "{self.one}" comes within {self.distance:.4f} m of '
                f'"{self.two}", less than the margin of {margin:g} m')


class Clearance:
    """
    The pairs of shapes that could collide.

    Links that a joint connects touch by design and are left out.

    :param robot: whose positions are examined.
    :param shapes: from :func:`rbd_ros.model.urdf.collisions.load_collisions`.
    :param floor: height of a level floor in the base, m; None: there is none.
    :param ignored: pairs of links that may overlap.
    """

    def __init__(
        self, robot: Dynamics, shapes: Sequence[CollisionShape], floor: float | None = 0.0,
        ignored: Sequence[tuple[str, str]] = (),
    ) -> None:
        model = robot.model
        links = sorted({each.link for each in shapes})
        for name in (name for pair in ignored for name in pair):
            if name not in links and name != 'floor':
                raise UnknownName('link with a collision shape', name, [*links, 'floor'])
        self.robot, self.floor = robot, floor
        self.shapes = [each for each in shapes if not isinstance(each.shape, HalfSpace)]
        skipped = {frozenset(pair) for pair in ignored}
        self._on_floor = np.array([
            k for k, each in enumerate(self.shapes)
            if floor is not None and each.body != 0
            and frozenset((each.link, 'floor')) not in skipped], dtype=np.intp)
        self.pairs = np.array([
            (i, k) for k, b in enumerate(self.shapes) for i, a in enumerate(self.shapes[:k])
            if a.body != b.body and model.parent[max(a.body, b.body)] != min(a.body, b.body)
            and frozenset((a.link, b.link)) not in skipped], dtype=np.intp).reshape(-1, 2)
        hulls = [enclosing_capsule(each.shape) for each in self.shapes]
        self._ends = np.array([[each.R @ p + each.p for p in hull[:2]]
                               for each, hull in zip(self.shapes, hulls, strict=True)]
                              ).reshape(-1, 2, 3)
        self._radii = np.array([hull[2] for hull in hulls])
        self._exact = [isinstance(each.shape, (Sphere, Capsule)) for each in self.shapes]

    def _placed(self, q: Array) -> tuple[dict[int, tuple[Array, Array]], Array]:
        """Return rotation and origin of each body, and the ends of all capsules, over samples."""
        poses = {0: (np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3)))}
        for body in sorted({each.body for each in self.shapes} - {0}):
            T = self.robot.pose(q, self.robot.model.body_names[body])
            poses[body] = T[:, :3, :3], T[:, :3, 3]
        ends = np.array([np.einsum('tij,kj->tki', poses[each.body][0], self._ends[k])
                         + poses[each.body][1][:, None]
                         for k, each in enumerate(self.shapes)])
        return poses, ends.reshape(len(self.shapes), len(q), 2, 3)

    def nearest(self, q: Array, margin: float) -> tuple[Array, list[tuple[str, str]]]:
        """
        Return for each position the least distance, m, and the names of what is nearest.

        Distances beyond the margin are lower bounds.

        :param q: positions, (count, nq).
        """
        poses, ends = self._placed(np.asarray(q, float))
        least = np.full(len(q), np.inf)
        names = [('', '')] * len(q)

        def note(distance: Array, one: str, two: str) -> None:
            closer = distance < least
            least[closer] = distance[closer]
            for t in np.flatnonzero(closer):
                names[t] = (one, two)
        for k in self._on_floor:
            height = ends[k, :, :, 2].min(axis=1) - self._radii[k] - (self.floor or 0.0)
            note(self._refined(height, margin, poses, int(k), None), self.shapes[k].link, 'floor')
        for i, k in self.pairs.tolist():
            gap = segment_distance(ends[i], ends[k]) - self._radii[i] - self._radii[k]
            note(self._refined(gap, margin, poses, k, i), self.shapes[k].link,
                 self.shapes[i].link)
        return least, names

    def _refined(self, gap: Array, margin: float, poses: dict[int, tuple[Array, Array]], one: int,
                 two: int | None) -> Array:
        """Return distances of the shapes themselves where their capsules are close."""
        if self._exact[one] and (two is None or self._exact[two]):
            return gap
        for t in np.flatnonzero(gap < margin):
            try:
                gap[t] = max(gap[t], self._distance(poses, one, two, int(t)))
            except ModelError:      # without coal the capsules have to do
                break
        return gap

    def _distance(self, poses: dict[int, tuple[Array, Array]], one: int, two: int | None, t: int,
                  ) -> float:
        def placed(k: int) -> Placed:
            each = self.shapes[k]
            R, p = poses[each.body]
            return Placed(each.shape, R[t] @ each.R, R[t] @ each.p + p[t])
        other = Placed(HalfSpace(), np.eye(3), np.array([0.0, 0.0, self.floor or 0.0])
                       ) if two is None else placed(two)
        return min(touch.distance for touch in touches(other, placed(one)))

    def first_miss(
        self, path: Callable[[Array], Array], duration: float, margin: float,
    ) -> NearMiss | None:
        """
        Return the first moment at which a path is closer to something than a margin.

        Between two samples no point of the robot moves farther than half the margin, so that a
        path without such a moment keeps half the margin everywhere.

        :param path: returns positions (count, nq) for times (count,).
        :param duration: s.
        :param margin: m.
        """
        if not 0.0 < margin < np.inf:
            raise SettingError(f'margin is {margin} m; it must be positive, such as 0.02')
        count = 1 + max(2, int(np.ceil(duration / 0.02)))
        while count < 200_000:
            t = np.linspace(0.0, duration, count)
            way = self._largest_step(path(t))
            if way <= 0.5 * margin:
                break
            count = 1 + int(np.ceil(1.05 * (count - 1) * way / (0.5 * margin)))
        for start in range(0, count, _CHUNK):
            part = t[start:start + _CHUNK]
            least, names = self.nearest(path(part), margin)
            bad = np.flatnonzero(least < margin)
            if bad.size:
                k = int(bad[0])
                return NearMiss(float(part[k]), *names[k], float(least[k]))
        return None

    def _largest_step(self, q: Array) -> float:
        """Return the longest way of any end of a capsule from one sample to the next, m."""
        if not self.shapes:
            return 0.0
        _, ends = self._placed(q)
        return float(np.linalg.norm(np.diff(ends, axis=1), axis=3).max(initial=0.0))


def enclosing_capsule(shape: Shape) -> tuple[Array, Array, float]:
    """Return the ends of the axis and the radius of a capsule around a shape."""
    axis = np.array([0.0, 0.0, 1.0])
    if isinstance(shape, Sphere):
        return np.zeros(3), np.zeros(3), shape.radius
    if isinstance(shape, (Capsule, Cylinder)):
        half = 0.5 * shape.length * axis
        return -half, half, shape.radius
    if isinstance(shape, Box):
        k = int(np.argmax(shape.size))
        half = 0.5 * shape.size[k] * np.eye(3)[k]
        return -half, half, 0.5 * float(np.linalg.norm(np.delete(shape.size, k)))
    if isinstance(shape, ConvexMesh):
        middle = shape.vertices.mean(axis=0)
        x = shape.vertices - middle
        axis = np.linalg.svd(x, full_matrices=False)[2][0]
        along = x @ axis
        radius = float(np.linalg.norm(x - np.outer(along, axis), axis=1).max())
        return middle + along.min() * axis, middle + along.max() * axis, radius
    raise ModelError('a half-space cannot be enclosed')


def segment_distance(one: Array, two: Array) -> Array:
    """
    Return the distances of pairs of segments, (count,).

    :param one: ends of the segments, (count, 2, 3); ``two`` likewise.
    """
    u, v, w = one[:, 1] - one[:, 0], two[:, 1] - two[:, 0], one[:, 0] - two[:, 0]
    a, b, c = (np.einsum('ti,ti->t', x, y) for x, y in ((u, u), (u, v), (v, v)))
    d, e = np.einsum('ti,ti->t', u, w), np.einsum('ti,ti->t', v, w)
    det = a * c - b * b
    apart = det > 1e-14 * np.maximum(a * c, 1e-300)
    s = np.where(apart, np.clip((b * e - c * d) / np.where(apart, det, 1.0), 0.0, 1.0), 0.0)
    t = np.where(c > 0.0, np.clip((b * s + e) / np.where(c > 0.0, c, 1.0), 0.0, 1.0), 0.0)
    s = np.where(a > 0.0, np.clip((b * t - d) / np.where(a > 0.0, a, 1.0), 0.0, 1.0), 0.0)
    return np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1)
