# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Convex meshes and cylinders, through the library coal, which is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError
from rbd_ros.model.collision_shapes import (
    Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Shape, Sphere)

#: Depth of a vertex below the hull, relative to the size of a mesh, that still counts as convex.
CONVEX_TOLERANCE = 1e-3


def coal() -> ModuleType:
    """Return the library, or raise an error that says how to install it."""
    try:
        import coal  # type: ignore[import-untyped]
    except ImportError as error:
        raise ModelError('convex meshes and distances of cylinders need the package coal: '
                         'pip install coal') from error
    return coal


def read_mesh(path: str, scale: Sequence[float] = (1.0, 1.0, 1.0), *, hull: bool = False,
              ) -> ConvexMesh:
    """
    Return a convex mesh from a file (STL, DAE, OBJ, ...).

    :param path: of the file.
    :param scale: along the axes of the mesh.
    :param hull: take the convex hull of a mesh that is not convex, instead of refusing it.
    :raises ModelError: for a file that is missing, empty or not convex.
    """
    library = coal()
    try:
        vertices = np.array(library.MeshLoader().load(path, np.array(scale, float)).vertices())
    except (ValueError, RuntimeError) as error:
        raise ModelError(f'the mesh "{path}" cannot be read: {error}; give an existing STL, DAE '
                         'or OBJ file') from None
    return convex_mesh(vertices, path, hull=hull)


def convex_mesh(vertices: Array, name: str = 'mesh', *, hull: bool = False) -> ConvexMesh:
    """
    Return the convex mesh of some vertices.

    :param hull: as for :func:`read_mesh`.
    """
    from scipy.spatial import ConvexHull, QhullError
    vertices = np.asarray(vertices, float)
    try:
        found = ConvexHull(vertices)
    except (QhullError, ValueError):
        raise ModelError(f'the mesh "{name}" has no volume: it needs four vertices that do not '
                         'lie in one plane; use a <box> for a plate') from None
    depth = -(vertices @ found.equations[:, :3].T + found.equations[:, 3]).max(axis=1)
    size = float(np.ptp(vertices, axis=0).max())
    if not hull and depth.max() > CONVEX_TOLERANCE * size:
        raise ModelError(f'the mesh "{name}" is not convex: a vertex is {depth.max():.3g} m below '
                         'its hull; split it into convex parts, boxes or spheres, or take its '
                         'hull (read_mesh with hull=True)')
    return ConvexMesh(vertices[found.vertices], name)


def distance(
    one: Shape, R_1: Array, p_1: Array, two: Shape, R_2: Array, p_2: Array,
) -> tuple[float, Array, Array]:
    """
    Return the distance between two shapes, negative if they overlap, and their nearest points.

    At least one of them is a mesh or a cylinder; the other pairs have closed forms.
    """
    library = coal()
    request, result = library.DistanceRequest(), library.DistanceResult()
    found = library.distance(
        _object(one), library.Transform3s(R_1, p_1), _object(two),
        library.Transform3s(R_2, p_2), request, result)
    return found, result.getNearestPoint1(), result.getNearestPoint2()


@lru_cache(maxsize=256)     # a hull takes longer to make than its distance from another
def _object(shape: Shape) -> object:
    library = coal()
    if isinstance(shape, Sphere):
        return library.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return library.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return library.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Box):
        return library.Box(*shape.size)
    if isinstance(shape, HalfSpace):
        return library.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    points = library.StdVec_Vec3s()
    for vertex in shape.vertices:
        points.append(vertex)
    return library.Convex.convexHull(points, True, 'Qt')
