# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""
Points of a robot that may touch the world, and how far they are from it.

The shapes of the robot are balls around points (see ``sample_points``), the world is half-spaces
and boxes. Each pair of a point and an obstacle is a contact that may be: its number stays the
same, so that a surface can remember its dent there.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.contact import Contact
from rbd_ros.errors import SettingError
from rbd_ros.model.collision_shapes import Box, HalfSpace, sample_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rbd_ros.dynamics.contact_system import Motions
    from rbd_ros.model.collision_shapes import CollisionShape, Shape
    from rbd_ros.sim.distance import Placed

    Array = NDArray[np.float64]


class Gap(NamedTuple):
    """
    One point over one obstacle.

    :param distance: of the surfaces; negative if they overlap.
    :param contact: where and in which direction they would touch, with the rates of both.
    :param feature: which part of the obstacle is nearest: per axis of a box -1, 0 or 1.
    """

    distance: float
    contact: Contact
    feature: tuple[int, ...]


class ContactPoints:
    """
    The pairs of points and obstacles of a scene.

    :param shapes: of the robot; those on the base are left out.
    :param obstacles: half-spaces and boxes, fixed in the base.
    :param sample: gives the points of a shape and the radius around them.
    """

    def __init__(
        self, shapes: Sequence[CollisionShape], obstacles: Sequence[Placed],
        sample: Callable[[Shape], tuple[Array, float]] = sample_points,
    ) -> None:
        bodies, points, radii = [], [], []
        for each in shapes:
            if each.body == 0:
                continue
            local, radius = sample(each.shape)
            bodies += [each.body] * len(local)
            points += (local @ each.R.T + each.p).tolist()
            radii += [radius] * len(local)
        for obstacle in obstacles:
            if not isinstance(obstacle.shape, (Box, HalfSpace)):
                raise SettingError('an obstacle is a box or a half-space, not a '
                                   f'{type(obstacle.shape).__name__}')
        self.bodies = np.array(bodies, dtype=np.intp)
        self.points = np.array(points, float).reshape(-1, 3)
        self.radii = np.array(radii, float)
        self.obstacles = tuple(obstacles)
        self.pairs = [(i, k) for i in range(len(bodies)) for k in range(len(obstacles))]

    def distances(self, motions: Motions) -> Array:
        """Return the distances of all pairs at once."""
        E, r = motions.E[self.bodies], motions.r[self.bodies]
        centers = r + np.einsum('nji,nj->ni', E, self.points)
        found = np.empty((len(centers), len(self.obstacles)))
        for k, obstacle in enumerate(self.obstacles):
            x = (centers - obstacle.p) @ obstacle.R
            if isinstance(obstacle.shape, HalfSpace):
                found[:, k] = x[:, 2]
            else:
                half = 0.5 * np.array(obstacle.shape.size)  # type: ignore[union-attr]  # a box
                beyond = np.abs(x) - half
                outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
                found[:, k] = outside + np.minimum(beyond.max(axis=1), 0.0)
        return (found - self.radii[:, None]).ravel()

    def gap(self, pair: int, motions: Motions) -> Gap:
        """Return one pair at a state of the robot."""
        i, k = self.pairs[pair]
        body, obstacle = int(self.bodies[i]), self.obstacles[k]
        center = motions.r[body] + motions.E[body].T @ self.points[i]
        v = motions.v[body]
        velocity = v[3:] + np.cross(v[:3], center)
        radius = float(self.radii[i])
        x = obstacle.R.T @ (center - obstacle.p)
        turn = np.zeros(3)
        feature: tuple[int, ...] = (0, 0, 1)
        if isinstance(obstacle.shape, HalfSpace):
            normal, distance = obstacle.R[:, 2], float(x[2])
        else:
            half = 0.5 * np.array(obstacle.shape.size)  # type: ignore[union-attr]  # a box
            local, distance, feature = nearest_on_box(x, half)
            normal = obstacle.R @ local
            if distance > 0.0 and sum(map(abs, feature)) > 1:       # round an edge or a corner
                part = np.abs(feature) * (obstacle.R.T @ velocity)
                turn = obstacle.R @ (part - local * float(local @ part)) / distance
        place, rate = center - radius * normal, velocity - radius * turn
        return Gap(distance - radius, Contact(0, body, place, normal, rate, turn), feature)


def nearest_on_box(x: Array, half: Array) -> tuple[Array, float, tuple[int, ...]]:
    """Return normal, signed distance and feature of a point in coordinates of a box."""
    gap = x - np.clip(x, -half, half)
    length = float(np.linalg.norm(gap))
    if length > 0.0:
        return gap / length, length, tuple(np.sign(gap).astype(int).tolist())
    axis = int(np.argmin(half - np.abs(x)))
    normal = np.zeros(3)
    normal[axis] = 1.0 if x[axis] >= 0.0 else -1.0
    return normal, -float((half - np.abs(x))[axis]), tuple(normal.astype(int).tolist())
