# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The shapes of a robot, from the ``<visual>`` and ``<collision>`` elements of its URDF."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError
from rbd_ros.model.urdf.document import Element, read_xml, SKIPPED_TAGS
from rbd_ros.model.urdf.elements import number, numbers, placement, required
from rbd_ros.model.urdf.resources import find_resource

__all__ = ['missing_meshes', 'read_shapes', 'Shape']

GREY = (0.7, 0.7, 0.72, 1.0)
_SKIPPED = SKIPPED_TAGS - {'visual', 'collision', 'material'}


class Shape(NamedTuple):
    """
    A shape fixed in a link.

    :param link: name of the link.
    :param kind: ``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``.
    :param size: edges of a box; radius and length of a cylinder or a capsule; radius of a sphere;
        scale of a mesh.
    :param file: address of a mesh, as written in the URDF.
    :param pose: homogeneous matrix from the shape to its link, (4, 4).
    :param colour: red, green, blue, opacity, 0 to 1.
    """

    link: str
    kind: str
    size: tuple[float, ...]
    file: str
    pose: Array
    colour: tuple[float, ...]


def read_shapes(urdf: str, what: str = 'visual') -> list[Shape]:
    """
    Return the shapes of a robot.

    :param urdf: the text of its description.
    :param what: ``visual`` or ``collision``.
    :raises ModelError: for an invalid shape; names the link.
    """
    robot = read_xml(urdf, 'the URDF text', _SKIPPED)
    colours = {material.attributes.get('name', ''): colour for material in robot.all('material')
               if (colour := _colour(material)) is not None}
    return [_shape(link, element, colours) for link in robot.all('link')
            for element in link.all(what)]


def missing_meshes(shapes: list[Shape], near: str | Path | None = None) -> list[str]:
    """
    Return the addresses of meshes that cannot be found.

    :param near: the file of the robot, or its folder.
    """
    return [file for file in dict.fromkeys(shape.file for shape in shapes if shape.file)
            if mesh_file(file, near) is None]


def mesh_file(address: str, near: str | Path | None = None) -> Path | None:
    """
    Return the file of a mesh, or None if it does not exist.

    :param address: path, ``file://`` or ``package://`` address; a path is relative to ``near``.
    :param near: the file of the robot, or its folder.
    """
    folder = Path(near or '.')
    folder = folder.parent if folder.is_file() else folder
    for each in ([address] if '://' in address else [str(folder / address), address]):
        try:
            return find_resource(each, near=folder)
        except ModelError:
            continue
    return None


def _shape(
    link: Element, element: Element, colours: dict[str, tuple[float, ...]],
) -> Shape:
    name = required(link, 'name')
    geometry = element.first('geometry')
    inner = geometry.children[0] if geometry is not None and geometry.children else None
    if inner is None:
        raise ModelError(f'{link}: <{element.tag}> needs a <geometry> with a shape')
    kind, file = inner.tag, ''
    if kind == 'box':
        size = numbers(inner, 'size', link, 3)
    elif kind in ('cylinder', 'capsule'):
        size = (number(inner, 'radius', link), number(inner, 'length', link))
    elif kind == 'sphere':
        size = (number(inner, 'radius', link),)
    elif kind == 'mesh':
        file = required(inner, 'filename', link)
        size = numbers(inner, 'scale', link, 3, (1.0, 1.0, 1.0))
    else:
        raise ModelError(f'{link}: shape <{kind}> is unknown; use box, cylinder, sphere, capsule '
                         'or mesh')
    X = placement(link, element, 0.0)
    material = element.first('material')
    colour = None if material is None else _colour(material) or colours.get(
        material.attributes.get('name', ''))
    return Shape(name, kind, size, file, np.array(X.inverse().homogeneous(), float),
                 colour or GREY)


def _colour(material: Element) -> tuple[float, ...] | None:
    colour = material.first('color')
    return None if colour is None else numbers(colour, 'rgba', material, 4)
