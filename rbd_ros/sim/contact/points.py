# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Points of a robot that may touch the world or another link, and their distances.

The shapes of the robot are balls around points (see ``sample_points``); the world consists of
half-spaces and boxes. A link that another one may touch is a moving obstacle. Each pair of a point
and an obstacle is a possible contact. Its index never changes, so that a soft surface can remember
its dent there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rbd_ros.algorithms.contact.rigid import Contact
from rbd_ros.compiler import Array
from rbd_ros.dynamics.contact_system import Motions
from rbd_ros.errors import SettingError
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, Cylinder, HalfSpace, rounded_balls, sample_balls, sample_points,
    Shape, Sphere)
from rbd_ros.sim.contact.distance import Placed

Sample = Callable[[Shape], tuple[Array, float]]


class Gap(NamedTuple):
    """
    The gap between one point and one obstacle.

    :param distance: between the surfaces, m; negative if they overlap.
    :param contact: point and normal where they would touch, with the rates of both.
    :param feature: the part of the obstacle that is nearest: -1, 0 or 1 for each axis of a box.
    """

    distance: float
    contact: Contact
    feature: tuple[int, ...]


class ContactPoints:
    """
    The pairs of points and obstacles in a scene.

    :param shapes: of the robot; those on the base do not touch the scene.
    :param obstacles: half-spaces and boxes, fixed in the base.
    :param sample: function that returns the points of a shape and the radius around them.
    :param between: pairs of links that may touch each other, made of spheres, capsules, cylinders
        and boxes. Edges and corners of these boxes are slightly rounded.
    """

    def __init__(
        self, shapes: Sequence[CollisionShape], obstacles: Sequence[Placed],
        sample: Sample = sample_points, between: Sequence[tuple[str, str]] = (),
    ) -> None:
        for obstacle in obstacles:
            if not isinstance(obstacle.shape, (Box, HalfSpace)):
                raise SettingError('an obstacle is a box or a half-space, not a '
                                   f'{type(obstacle.shape).__name__}')
        self._bodies: list[int] = []
        self._points: list[list[float]] = []
        self._radii: list[float] = []
        for each in shapes:
            if each.body != 0:
                self._add_balls(each, sample)
        self.obstacles = list(obstacles)
        self.carriers = [0] * len(obstacles)
        #: The link that is each obstacle; None for obstacles of the scene.
        self.links: list[str | None] = [None] * len(obstacles)
        self.pairs = [(i, k) for i in range(len(self._bodies)) for k in range(len(obstacles))]
        for one, two in between:
            self._add_links(_of_link(one, shapes), _of_link(two, shapes))
        self.bodies = np.array(self._bodies, dtype=np.intp)
        self.points = np.array(self._points, float).reshape(-1, 3)
        self.radii = np.array(self._radii, float)
        which = np.array(self.pairs, dtype=np.intp).reshape(-1, 2)
        self._of_obstacle = [np.flatnonzero(which[:, 1] == k) for k in range(len(self.obstacles))]
        self._ball = which[:, 0]

    def _add_balls(self, each: CollisionShape, sample: Sample) -> list[int]:
        local, radius = sample(each.shape)
        first = len(self._bodies)
        self._bodies += [each.body] * len(local)
        self._points += (local @ each.R.T + each.p).tolist()
        self._radii += [radius] * len(local)
        return list(range(first, len(self._bodies)))

    def _add_links(
        self, one: Sequence[CollisionShape], two: Sequence[CollisionShape],
    ) -> None:
        """Add the pairs of two links: round shapes against boxes, two boxes both ways."""
        if one[0].body == two[0].body:
            raise SettingError(f'links "{one[0].link}" and "{two[0].link}" are joined rigidly; '
                               'only links that move against each other can touch')
        for a in one:
            for b in two:
                boxes = isinstance(a.shape, Box), isinstance(b.shape, Box)
                if not boxes[0] or boxes[1]:
                    self._add_pair(a, b)
                if boxes[0]:
                    self._add_pair(b, a)

    def _add_pair(self, ball: CollisionShape, obstacle: CollisionShape) -> None:
        if ball.body == 0:
            if not isinstance(ball.shape, Box):         # a round shape can be the obstacle instead
                self._add_pair(obstacle, ball)
            return
        balls = self._add_balls(ball, rounded_balls)
        for shape, p in _solids(obstacle):
            k = len(self.obstacles)
            self.obstacles.append(Placed(shape, obstacle.R, obstacle.p + obstacle.R @ p))
            self.carriers.append(obstacle.body)
            self.links.append(obstacle.link)
            self.pairs += [(i, k) for i in balls]

    def distances(self, motions: Motions) -> Array:
        """Return the distances of all pairs."""
        E, r = motions.E[self.bodies], motions.r[self.bodies]
        centers = r + np.einsum('nji,nj->ni', E, self.points)
        found = np.empty(len(self.pairs))
        for obstacle, carrier, at in zip(
                self.obstacles, self.carriers, self._of_obstacle, strict=True):
            local = (centers[self._ball[at]] - motions.r[carrier]) @ motions.E[carrier].T
            found[at] = _distances(obstacle.shape, (local - obstacle.p) @ obstacle.R)
        return found - self.radii[self._ball]

    def gap(self, pair: int, motions: Motions) -> Gap:
        """Return the gap of one pair at a state of the robot."""
        i, k = self.pairs[pair]
        body, carrier, obstacle = int(self.bodies[i]), self.carriers[k], self.obstacles[k]
        center = motions.r[body] + motions.E[body].T @ self.points[i]
        v, v_c = motions.v[body], motions.v[carrier]
        R, p = motions.E[carrier].T @ obstacle.R, motions.r[carrier] + (
            motions.E[carrier].T @ obstacle.p)
        velocity = v[3:] + np.cross(v[:3], center)
        local, distance, feature = _nearest(obstacle.shape, R.T @ (center - p))
        normal, turn = R @ local, np.cross(v_c[:3], R @ local)
        inner = obstacle.shape.radius if isinstance(obstacle.shape, (Sphere, Capsule)) else 0.0
        if distance + inner > 0.0 and sum(map(abs, feature)) > 1:    # about an edge or axis
            relative = velocity - v_c[3:] - np.cross(v_c[:3], center)
            part = np.abs(feature) * (R.T @ relative)
            turn = turn + R @ (part - local * float(local @ part)) / (distance + inner)
        radius = float(self.radii[i])
        place, rate = center - radius * normal, velocity - radius * turn
        return Gap(distance - radius, Contact(carrier, body, place, normal, rate, turn), feature)


def _of_link(name: str, shapes: Sequence[CollisionShape]) -> list[CollisionShape]:
    found = [each for each in shapes if each.link == name]
    if not found:
        raise SettingError(f'link "{name}" is to touch another one, but has no collision shape; '
                           f'links that have one: {", ".join(sorted({e.link for e in shapes}))}')
    return found


def _solids(obstacle: CollisionShape) -> list[tuple[Shape, Array]]:
    """Return the shapes, and their positions in it, that represent a link that others touch."""
    shape = obstacle.shape
    if isinstance(shape, (Box, Capsule, Sphere)):
        return [(shape, np.zeros(3))]
    if isinstance(shape, Cylinder):
        if shape.length > 2.0 * shape.radius:
            return [(Capsule(shape.radius, shape.length - 2.0 * shape.radius), np.zeros(3))]
        points, radius = sample_balls(shape)
        return [(Sphere(radius), p) for p in points]
    raise SettingError(f'link "{obstacle.link}" is to touch another link with a '
                       f'{type(shape).__name__}; give it spheres, capsules, cylinders or boxes')


def _distances(shape: Shape, x: Array) -> Array:
    """Return the signed distances of points in coordinates of a shape."""
    if isinstance(shape, HalfSpace):
        return x[:, 2]
    if isinstance(shape, Box):
        beyond = np.abs(x) - 0.5 * np.array(shape.size)
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0.0)
    half = _half_length(shape)
    axis = np.clip(x[:, 2], -half, half)
    return np.linalg.norm(x - axis[:, None] * [0.0, 0.0, 1.0], axis=1) - _radius(shape)


def _half_length(shape: Shape) -> float:
    return 0.5 * shape.length if isinstance(shape, Capsule) else 0.0


def _radius(shape: Shape) -> float:
    assert isinstance(shape, (Sphere, Capsule))
    return shape.radius


def _nearest(shape: Shape, x: Array) -> tuple[Array, float, tuple[int, ...]]:
    """Return normal, signed distance and nearest feature for a point in shape coordinates."""
    if isinstance(shape, HalfSpace):
        return np.array([0.0, 0.0, 1.0]), float(x[2]), (0, 0, 1)
    if isinstance(shape, Box):
        return nearest_on_box(x, 0.5 * np.array(shape.size))
    half = _half_length(shape)
    # A sphere is round along every axis, also where z is zero.
    end = 1 if half == 0.0 else int(np.sign(x[2])) if abs(x[2]) > half else 0
    gap = x - [0.0, 0.0, np.clip(x[2], -half, half)]
    length = float(np.linalg.norm(gap))
    normal = gap / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
    return normal, length - _radius(shape), (1, 1, end)


def nearest_on_box(x: Array, half: Array) -> tuple[Array, float, tuple[int, ...]]:
    """Return normal, signed distance and nearest feature for a point in box coordinates."""
    gap = x - np.clip(x, -half, half)
    length = float(np.linalg.norm(gap))
    if length > 0.0:
        return gap / length, length, tuple(np.sign(gap).astype(int).tolist())
    axis = int(np.argmin(half - np.abs(x)))
    normal = np.zeros(3)
    normal[axis] = 1.0 if x[axis] >= 0.0 else -1.0
    return normal, -float((half - np.abs(x))[axis]), tuple(normal.astype(int).tolist())
