# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Joints that close loops, from the <loop_joint> elements of a robot.

The element is an extension: URDF describes trees only, and other programs ignore it::

    <loop_joint name="pin" type="revolute">
      <predecessor link="coupler"><origin xyz="0.8 0 0" rpy="0 0 0"/></predecessor>
      <successor link="rocker"><origin xyz="0.6 0 0"/></successor>
      <axis xyz="0 0 1"/>
    </loop_joint>

The origins are the frames of the joint on both links. When the loop is closed, they coincide
except for the motion that the joint allows. The axis has the same coordinates in both.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from rbd_ros.errors import LoopError, ModelError, nearest
from rbd_ros.joints import (
    Cylindrical, Fixed, Helical, Joint, Planar, Prismatic, Revolute, SphereInCylinder, Spherical,
    Universal)
from rbd_ros.model.urdf.document import Element
from rbd_ros.model.urdf.elements import number, numbers, placement, required
from rbd_ros.spatial import Transform

_Axis = tuple[float, ...]
TYPES: dict[str, Callable[[_Axis, Element], Joint]] = {
    'revolute': lambda axis, element: Revolute(_three(axis)),
    'continuous': lambda axis, element: Revolute(_three(axis)),
    'prismatic': lambda axis, element: Prismatic(_three(axis)),
    'helical': lambda axis, element: Helical(_three(axis), number(element, 'pitch', element)),
    'cylindrical': lambda axis, element: Cylindrical(_three(axis)),
    'planar': lambda axis, element: Planar(_three(axis)),
    'spherical': lambda axis, element: Spherical(),
    'universal': lambda axis, element: Universal(_three(axis), _second(element)),
    'sphere_in_cylinder': lambda axis, element: SphereInCylinder(_three(axis)),
    'fixed': lambda axis, element: Fixed(),
}


class LoopText(NamedTuple):
    """A loop joint as written: the links at its ends, its frames on them, and its model."""

    element: Element
    name: str
    predecessor: str
    successor: str
    X_P: Transform
    X_S: Transform
    joint: Joint


def read_loop_joints(
    robot: Element, links: Iterable[str], joints: Container[str], snap: float,
) -> list[LoopText]:
    """
    Return the loop joints of a robot.

    :param links: names of the links.
    :param joints: names that are already in use.
    :raises LoopError: for an invalid element, which it names.
    """
    known, found = tuple(links), dict[str, LoopText]()
    for element in robot.all('loop_joint'):
        name, kind = required(element, 'name'), required(element, 'type')
        if name in joints or name in found:
            raise LoopError(f'{element}: the name is already that of another joint')
        if kind not in TYPES:
            raise LoopError(f'{element}: type "{kind}" is unknown{nearest(kind, TYPES)}; a loop '
                            f'joint is one of {", ".join(TYPES)}')
        ends, frames = [], []
        for tag in ('predecessor', 'successor'):
            end = element.first(tag)
            if end is None:
                raise LoopError(f'{element} needs a <{tag} link="..."/> element')
            ends.append(required(end, 'link', element))
            if ends[-1] not in known:
                raise LoopError(f'{element}: {tag} link "{ends[-1]}" does not exist'
                                f'{nearest(ends[-1], known)}')
            frames.append(placement(element, end, snap))
        if ends[0] == ends[1]:
            raise LoopError(f'{element} connects link "{ends[0]}" to itself')
        axis = element.first('axis')
        direction = (1.0, 0.0, 0.0) if axis is None else numbers(axis, 'xyz', element, 3)
        try:
            joint = TYPES[kind](direction, element)
        except ModelError as error:
            raise LoopError(f'{element}: {error}') from error
        found[name] = LoopText(element, name, ends[0], ends[1], frames[0], frames[1], joint)
    return list(found.values())


def _three(axis: _Axis) -> tuple[float, float, float]:
    x, y, z = axis
    return x, y, z


def _second(element: Element) -> tuple[float, float, float]:
    """Return the axis of a universal joint that is fixed in the successor."""
    axis = element.first('axis2')
    if axis is None:
        raise ModelError('a universal joint needs <axis2 xyz="..."/>, its axis on the successor')
    return _three(numbers(axis, 'xyz', element, 3))
