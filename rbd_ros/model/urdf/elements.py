# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The elements of a URDF, checked one by one and turned into numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

from rbd_ros.errors import ModelError
from rbd_ros.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from rbd_ros.model.coupling import Mimic
from rbd_ros.model.independent import JointData
from rbd_ros.model.urdf.document import Element
from rbd_ros.spatial import from_rpy, quaternion, RigidInertia, Sym3, Transform, Vec3

JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')
SHORTEST_AXIS = 1e-6


@dataclass(frozen=True)
class Inertial:
    """Mass, centre of mass and inertia about it, in axes of the link."""

    mass: float
    com: Vec3
    moments: Sym3


@dataclass(frozen=True)
class Link:
    """A link as written; ``inertial`` is None if the element is absent."""

    element: Element
    name: str
    inertial: Inertial | None

    def inertia(self) -> RigidInertia | None:
        """Return the spatial inertia about the link's origin."""
        if self.inertial is None:
            return None
        return RigidInertia.from_com(self.inertial.mass, self.inertial.com,
                                     self.inertial.moments)


@dataclass(frozen=True)
class JointText:
    """A joint as written, with its joint model and its data."""

    element: Element
    name: str
    kind: str
    parent: str
    child: str
    placement: Transform
    joint: Joint
    data: JointData
    mimic: Mimic | None


def required(element: Element, attribute: str, owner: Element | None = None) -> str:
    """Return an attribute that must be present and not empty."""
    text = element.attributes.get(attribute, '').strip()
    if not text:
        within = f' of {owner}' if owner is not None and owner is not element else ''
        raise ModelError(f'{element}{within} needs the attribute "{attribute}"')
    return text


def numbers(element: Element, attribute: str, owner: Element, count: int,
            default: tuple[float, ...] | None = None) -> tuple[float, ...]:
    """
    Return the numbers of an attribute.

    :param owner: the named element that it belongs to, for error messages.
    :param default: value if the attribute is absent; None if it is required.
    """
    if default is not None and attribute not in element.attributes:
        return default
    text = required(element, attribute, owner)
    return parse_numbers(text, count, lambda: f'{owner}: <{element.tag} {attribute}="{text}">')


def parse_numbers(text: str, count: int, where: Callable[[], str]) -> tuple[float, ...]:
    """
    Return the finite numbers in a text; refuses underscores, which Python accepts in numbers.

    :param where: returns what to call the text in an error.
    """
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        raise ModelError(f'{where()} is not a list of numbers') from None
    if '_' in text:
        raise ModelError(f'{where()} is not a list of numbers')
    if not all(map(math.isfinite, values)):
        raise ModelError(f'{where()} is not finite')
    if len(values) != count:
        raise ModelError(f'{where()} must have {count} numbers, got {len(values)}')
    return values


def number(element: Element, attribute: str, owner: Element,
           default: float | None = None) -> float:
    """Return the single number of an attribute."""
    return numbers(element, attribute, owner, 1, None if default is None else (default,))[0]


def placement(owner: Element, parent: Element, snap: float) -> Transform:
    """Return the transform from the parent's coordinates to those of an <origin>."""
    origin = parent.first('origin')
    if origin is None:
        return Transform.identity()
    r = numbers(origin, 'xyz', owner, 3, (0.0, 0.0, 0.0))
    if 'quat_xyzw' in origin.attributes:
        if 'rpy' in origin.attributes:
            raise ModelError(f'{owner}: <origin> has both rpy and quat_xyzw; keep one')
        xyzw = numbers(origin, 'quat_xyzw', owner, 4)
        if math.hypot(*xyzw) < SHORTEST_AXIS:
            raise ModelError(f'{owner}: quat_xyzw must not be zero')
        E = quaternion.rotation(xyzw)
    else:
        roll, pitch, yaw = numbers(origin, 'rpy', owner, 3, (0.0, 0.0, 0.0))
        E = from_rpy(roll, pitch, yaw, snap)
    return Transform(E, Vec3(*r))


def read_link(element: Element, snap: float) -> Link:
    """Return the content of a <link>."""
    name = required(element, 'name')
    inertial = element.first('inertial')
    if inertial is None:
        return Link(element, name, None)
    mass_element, inertia_element = inertial.first('mass'), inertial.first('inertia')
    if mass_element is None or inertia_element is None:
        missing = 'mass' if mass_element is None else 'inertia'
        raise ModelError(f'{element}: <inertial> needs a <{missing}> element')
    mass = number(mass_element, 'value', element)
    if mass < 0.0:
        raise ModelError(f'{element}: mass {mass} is negative; give zero or more, in kg')
    ixx, ixy, ixz, iyy, iyz, izz = (number(inertia_element, entry, element)
                                    for entry in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))
    X = placement(element, inertial, snap)
    turned = Transform(X.E, Vec3(0.0, 0.0, 0.0)).inv_apply(
        RigidInertia(mass, Vec3(0.0, 0.0, 0.0), Sym3(ixx, ixy, ixz, iyy, iyz, izz)))
    return Link(element, name, Inertial(mass, X.r, turned.I))


def read_joint(element: Element, snap: float) -> JointText:
    """Return the content of a <joint>."""
    name, kind = required(element, 'name'), required(element, 'type')
    if kind not in JOINT_TYPES:
        raise ModelError(f'{element}: type "{kind}" is unknown; URDF has {", ".join(JOINT_TYPES)}')
    ends = []
    for tag in ('parent', 'child'):
        end = element.first(tag)
        if end is None:
            raise ModelError(f'{element} needs a <{tag} link="..."/> element')
        ends.append(required(end, 'link', element))
    if ends[0] == ends[1]:
        raise ModelError(f'{element} connects link "{ends[0]}" to itself')
    return JointText(element, name, kind, ends[0], ends[1], placement(element, element, snap),
                     _joint_model(element, kind), _joint_data(element, kind), _mimic(element))


def _joint_model(element: Element, kind: str) -> Joint:
    if kind == 'fixed':
        return Fixed()
    if kind == 'floating':
        return Free()
    axis = element.first('axis')
    x, y, z = (1.0, 0.0, 0.0) if axis is None else numbers(axis, 'xyz', element, 3)
    if math.hypot(x, y, z) < SHORTEST_AXIS:
        raise ModelError(
            f'{element}: axis {(x, y, z)} has no direction; give a nonzero vector')
    return {'prismatic': Prismatic, 'planar': Planar}.get(kind, Revolute)((x, y, z))


def _joint_data(element: Element, kind: str) -> JointData:
    """Return limits, friction and, from ``armature``, the reflected rotor inertia."""
    given: dict[str, float] = {}
    limit = element.first('limit')
    if limit is None and kind in ('revolute', 'prismatic'):
        raise ModelError(f'{element} is {kind} and needs <limit lower upper effort velocity>')
    if limit is not None and kind not in ('fixed', 'floating', 'planar'):
        for entry in ('effort', 'velocity'):
            if entry in limit.attributes:  # check_limits names all that lack one
                given[entry] = number(limit, entry, element)
        for entry, value in given.items():
            if value < 0.0:
                raise ModelError(f'{element}: {entry} limit {value} is negative')
        if kind != 'continuous':
            given['lower'] = number(limit, 'lower', element, 0.0)
            given['upper'] = number(limit, 'upper', element, 0.0)
            if given['lower'] > given['upper']:
                raise ModelError(f'{element}: lower limit {given["lower"]} is above upper '
                                 f'limit {given["upper"]}')
    dynamics = element.first('dynamics')
    if dynamics is not None and kind != 'fixed':
        names = {'friction': 'friction', 'damping': 'damping', 'armature': 'rotor_inertia'}
        for attribute, entry in names.items():
            given[entry] = number(dynamics, attribute, element, 0.0)
            if given[entry] < 0.0:
                raise ModelError(f'{element}: {attribute} {given[entry]} is negative')
    return JointData(**given)


def _mimic(element: Element) -> Mimic | None:
    mimic = element.first('mimic')
    if mimic is None:
        return None
    return Mimic(required(mimic, 'joint', element), number(mimic, 'multiplier', element, 1.0),
                 number(mimic, 'offset', element, 0.0))
