# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""The collision shapes of a URDF, placed on the bodies of its model."""

from __future__ import annotations

from collections.abc import Callable
import os

import numpy as np

from rbd_ros.errors import ModelError
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, ConvexMesh, Cylinder, HalfSpace, Shape, Sphere)
from rbd_ros.model.model import Model
from rbd_ros.model.urdf.document import Element, read_xml, SKIPPED_TAGS
from rbd_ros.model.urdf.elements import number, numbers, placement, required
from rbd_ros.model.urdf.loader import read_source, SNAP_ANGLE
from rbd_ros.model.urdf.resources import find_resource

ReadMesh = Callable[[str, tuple[float, ...]], ConvexMesh]


def load_collisions(
    source: str | bytes | os.PathLike[str], model: Model, *, read_mesh: ReadMesh | None = None,
) -> tuple[CollisionShape, ...]:
    """
    Return the collision shapes of a description: spheres, capsules, cylinders, boxes, meshes.

    :param source: as for ``load_urdf``.
    :param model: the model that ``load_urdf`` made from it.
    :param read_mesh: returns a convex mesh for a file and a scale, such as
        :func:`rbd_ros.sim.contact.mesh.read_mesh`; without it, meshes are refused.
    :raises ModelError: for an invalid shape; names the link.
    """
    data, origin = read_source(source)
    robot = read_xml(data, origin, SKIPPED_TAGS - {'collision'})
    found = []
    for link in robot.all('link'):
        name = required(link, 'name')
        for element in link.all('collision'):
            frame = model.frame(name)
            X = placement(link, element, SNAP_ANGLE) @ frame.placement
            E = np.array(X.E.rows, float)
            found.append(CollisionShape(
                name, frame.body, _shape(link, element, read_mesh), E.T, np.array(list(X.r))))
    return tuple(found)


def _shape(link: Element, element: Element, read_mesh: ReadMesh | None) -> Shape:
    geometry = element.first('geometry')
    if geometry is None or not geometry.children:
        raise ModelError(f'{link}: <collision> needs a <geometry> with a shape')
    shape = geometry.children[0]
    try:
        if shape.tag == 'sphere':
            return Sphere(number(shape, 'radius', link))
        if shape.tag == 'box':
            x, y, z = numbers(shape, 'size', link, 3)
            return Box((x, y, z))
        if shape.tag in ('cylinder', 'capsule'):
            kind = Cylinder if shape.tag == 'cylinder' else Capsule
            return kind(number(shape, 'radius', link), number(shape, 'length', link))
        if shape.tag == 'plane':
            return HalfSpace()
        if shape.tag == 'mesh':
            return _mesh(link, shape, read_mesh)
    except ModelError as error:
        if str(link) in str(error):
            raise
        raise ModelError(f'{link}: {error}') from None
    raise ModelError(f'{link}: <{shape.tag}> is not a collision shape; use sphere, box, '
                     'cylinder, capsule, plane or mesh')


def _mesh(link: Element, shape: Element, read_mesh: ReadMesh | None) -> ConvexMesh:
    file = required(shape, 'filename', link)
    scale = numbers(shape, 'scale', link, 3, (1.0, 1.0, 1.0))
    if read_mesh is None:
        raise ModelError(f'the collision shape is the mesh "{file}", but read_mesh is not given: '
                         'use rbd_ros.sim.contact.mesh.read_mesh, which needs the package coal, '
                         'or describe the link by boxes, spheres and capsules')
    return read_mesh(str(find_resource(file)), scale)
