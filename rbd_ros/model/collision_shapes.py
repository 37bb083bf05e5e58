# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Shapes that bodies touch with, each about its own origin, and where they are on a body."""

from __future__ import annotations

from dataclasses import dataclass, field
import math

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError

#: Points around each rim of a cylinder.
RIM = 12


def _positive(shape: str, **sizes: float) -> None:
    for name, value in sizes.items():
        if not 0.0 < value < math.inf:
            raise ModelError(f'{name} of a {shape} is {value}; it must be positive and finite')


@dataclass(frozen=True)
class Sphere:
    """A ball."""

    radius: float

    def __post_init__(self) -> None:
        """Refuse sizes that are not positive."""
        _positive('sphere', radius=self.radius)


@dataclass(frozen=True)
class Capsule:
    """All points within a radius of a segment along z; length without the caps."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        """Refuse sizes that are not positive."""
        _positive('capsule', radius=self.radius, length=self.length)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        """Refuse sizes that are not positive."""
        _positive('cylinder', radius=self.radius, length=self.length)


@dataclass(frozen=True)
class Box:
    """A block, by its full lengths along x, y and z."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        """Refuse sizes that are not positive."""
        for axis, value in zip('xyz', self.size, strict=True):
            _positive('box', **{f'size along {axis}': value})


@dataclass(frozen=True)
class HalfSpace:
    """Everything below z = 0: a floor or a wall."""


@dataclass(frozen=True, eq=False)
class ConvexMesh:
    """
    The convex hull of some points.

    :param vertices: corners of the hull, (n, 3).
    :param name: of the file, for messages.
    """

    vertices: Array
    name: str = ''


Shape = Sphere | Capsule | Cylinder | Box | HalfSpace | ConvexMesh


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """
    A shape on a body.

    :param link: name of the link that it belongs to.
    :param body: index of the body that carries it; 0 for the base.
    :param shape: the shape.
    :param R: rotation from coordinates of the shape to those of the body, (3, 3).
    :param p: origin of the shape in body coordinates, m.
    """

    link: str
    body: int
    shape: Shape
    R: Array = field(default_factory=lambda: np.eye(3))
    p: Array = field(default_factory=lambda: np.zeros(3))


def sample_points(shape: Shape) -> tuple[Array, float]:
    """
    Return points of a shape and the radius of the balls around them that stand for it.

    Spheres are exact, and on a plane capsules and boxes are too. On anything else capsules are
    rows of balls, boxes and meshes their corners, and cylinders polygons.

    :returns: points (n, 3) in coordinates of the shape, and the radius.
    """
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, Capsule):
        count = 1 + math.ceil(shape.length / shape.radius)
        z = np.linspace(-0.5, 0.5, count) * shape.length
        return np.column_stack([0.0 * z, 0.0 * z, z]), shape.radius
    if isinstance(shape, Box):
        corners = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
        return corners * np.array(shape.size), 0.0
    if isinstance(shape, Cylinder):
        angle = 2.0 * math.pi * np.arange(RIM) / RIM
        rim = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]) * shape.radius
        return np.vstack([rim + [0.0, 0.0, 0.5 * s * shape.length] for s in (-1.0, 1.0)]), 0.0
    if isinstance(shape, ConvexMesh):
        return shape.vertices, 0.0
    raise ModelError('a half-space has no points: it can be part of the scene, not of a robot')


def sample_balls(shape: Shape) -> tuple[Array, float]:
    """
    Return few balls that stand for a shape in a simulation: its edges are round (RBDA 11.6).

    Spheres and capsules as in :func:`sample_points`; cylinders are rows of balls of their radius,
    or rings if they are flat; boxes and meshes are their corners.
    """
    if not isinstance(shape, Cylinder):
        return sample_points(shape)
    if shape.length > 2.0 * shape.radius:
        return sample_points(Capsule(shape.radius, shape.length - 2.0 * shape.radius))
    ball = min(0.5 * shape.length, 0.9 * shape.radius)
    reach = shape.radius - ball
    return reach * np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0]]), ball


def rounded_balls(shape: Shape) -> tuple[Array, float]:
    """
    Return the balls of a shape that touches another link: edges of boxes are a little round.

    A sharp corner on the edge of another box has no normal; a round one lies on the face. Where
    two edges cross, balls along them stand for the crossing, at most the shortest side apart.
    """
    if not isinstance(shape, Box):
        return sample_balls(shape)
    radius = 0.05 * min(shape.size)
    points: list[Array] = []
    for axis, side in enumerate(shape.size):
        count = max(3, 1 + math.ceil(side / min(shape.size)))
        for place in np.linspace(-0.5, 0.5, count)[1:-1]:
            for signs in ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)):
                points.append(np.insert(np.array(signs), axis, place))
    inner = np.array(shape.size) - 2.0 * radius
    corners = sample_points(Box((1.0, 1.0, 1.0)))[0]
    return np.vstack([corners, *points]) * inner, radius
