# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Checks that links and joints form one tree, and that their numbers can belong to a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import math
from typing import Any
import warnings

import numpy as np

from rbd_ros.errors import ModelError, nearest, RbdWarning
from rbd_ros.model.model import Model
from rbd_ros.model.urdf.document import Element
from rbd_ros.model.urdf.elements import Inertial, JointText, Link, number, numbers

KNOWN = {
    'link': {'inertial', 'contact', 'drawable', 'audio'},
    'joint': {'origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic', 'calibration',
              'safety_controller', 'disable_collision'},
}
#: Relative tolerance of the tests on inertias: descriptions are written with few digits.
SLACK = 1e-3
#: A principal moment this small, relative to the largest one, is zero but for rounding.
NOTHING = 1e-12
#: No part of a robot is this large, m: an inertia that says so is in other units.
LARGEST_PART = 10.0
#: rad; an angle in this range is probably in degrees. Larger ones mean "no limit".
DOUBTFUL_ANGLE = (4.0 * math.pi, 1e3)


class Note(str):
    """
    A warning about a robot, as text and in parts.

    :param robot: name of the robot.
    :param kind: of the warning.
    :param elements: that it is about.
    """

    kind: str
    elements: tuple[str, ...]

    def __new__(cls, robot: str, kind: str, elements: Sequence[str]) -> Note:
        """Compose the text."""
        note = super().__new__(cls, f'robot "{robot}": {kind}: {", ".join(elements)}')
        note.kind, note.elements = kind, tuple(elements)
        return note


class Notes:
    """
    Collects warnings by kind, and reports each kind once with all its elements.

    :param report: called with each note; None issues ``RbdWarning`` through ``warnings``.
    """

    def __init__(self, report: Callable[[Note], None] | None = None) -> None:
        self._report = report
        self._kinds: dict[str, list[str]] = {}

    def add(self, kind: str, element: object) -> None:
        """Add an element to a kind of warning."""
        self._kinds.setdefault(kind, []).append(str(element))

    def emit(self, robot: str) -> None:
        """Report everything that was collected."""
        for kind, elements in self._kinds.items():
            note = Note(robot, kind, elements)
            if self._report is not None:
                self._report(note)
            else:
                warnings.warn(str(note), RbdWarning, stacklevel=3)


def unique(items: Sequence[Link] | Sequence[JointText]) -> dict[str, Any]:
    """Return the items by name; refuses a name that occurs twice."""
    table: dict[str, Any] = {}
    for item in items:
        if item.name in table:
            first = table[item.name].element
            raise ModelError(
                f'{item.element}: the name is already used by {first}; rename one of them')
        table[item.name] = item
    return table


def find_root(links: Mapping[str, Link], joints: Iterable[JointText]) -> str:
    """Return the root: the one link that no joint carries, and from which all others hang."""
    carrier: dict[str, JointText] = {}
    for joint in joints:
        for end, name in (('parent', joint.parent), ('child', joint.child)):
            if name not in links:
                raise ModelError(f'{joint.element}: {end} link "{name}" does not exist'
                                 f'{nearest(name, links)}')
        if joint.child in carrier:
            other = carrier[joint.child].element
            raise ModelError(f'link "{joint.child}" is the child of two joints, {other} and '
                             f'{joint.element}; to close a loop, make one a <loop_joint>')
        carrier[joint.child] = joint
    roots = [name for name in links if name not in carrier]
    if len(roots) > 1:
        listed = ', '.join(f'"{name}"' for name in roots[:8])
        raise ModelError(f'{len(roots)} links are the child of no joint ({listed}); a robot has '
                         'one root: connect the other links to it')
    hanging = set(roots)
    for name in links:
        path: dict[str, None] = {}
        while name not in hanging:
            if name in path:
                ring = ', '.join(f'"{carrier[each].name}"' for each in path)
                raise ModelError(f'joints {ring} form a loop; make one a <loop_joint>')
            path[name] = None
            name = carrier[name].parent
        hanging.update(path)
    return roots[0]


def fault_of(inertial: Inertial) -> str | None:
    """Return why an inertia is not that of a rigid body, or None if it is."""
    moments = inertial.moments
    if inertial.mass == 0.0:
        return 'has inertia without mass' if any(moments.entries()) else None
    a, b, c = np.linalg.eigvalsh(moments.to_list())
    if a <= NOTHING * c:
        return f'inertia is not positive definite (smallest principal moment {a:.3g})'
    if a + b < c * (1.0 - SLACK):
        return f'principal moments {a:.3g}, {b:.3g}, {c:.3g} violate the triangle inequality'
    return None


def check_inertias(links: Iterable[Link], notes: Notes, *, strict: bool) -> None:
    """Refuse (strict) or note links whose inertia cannot belong to a rigid body."""
    for link in links:
        if link.inertial is None:
            continue
        mass, moments = link.inertial.mass, link.inertial.moments
        if moments.trace() > mass * LARGEST_PART**2 > 0.0:
            notes.add(f'inertia of a part larger than {LARGEST_PART:g} m; the units are kg and '
                      'kg m^2', f'{link.element} of {math.sqrt(moments.trace() / mass):.3g} m')
        fault = fault_of(link.inertial)
        if fault is None:
            continue
        if strict:
            raise ModelError(f'{link.element}: {fault}')
        notes.add('inertia that no rigid body has, kept as given (strict=True refuses)',
                  f'{link.element} {fault}')


def check_leaves(model: Model, notes: Notes, *, strict: bool) -> None:
    """Refuse (strict) or note outermost bodies that have no inertia along their joint."""
    coupled = set() if model.coupling is None else set(model.coupling.coupled)
    coupled.update(end for loop in model.loops for end in (loop.predecessor, loop.successor))
    for i in range(1, model.nb + 1):
        if model.children[i] or i in coupled:
            continue
        joint, inertia, name = model.joint[i], model.inertia[i], model.joint_names[i - 1]
        S = joint.subspace(joint.neutral())
        H = np.array([[column.dot(inertia @ row) for column in S] for row in S])
        H += np.diag(model.rotor_inertia[model.velocity_slice(name)])
        if np.linalg.eigvalsh(H)[0] > 0.0:
            continue
        element = f'link "{model.body_names[i]}" on joint "{name}"'
        if strict:
            raise ModelError(f'{element} moves but has no inertia along its motion, so that its '
                             'acceleration is undefined; give it mass, or fix the joint')
        notes.add('moving leaf without inertia, forward dynamics is singular (strict=True '
                  'refuses)', element)


def check_limits(joints: Iterable[JointText]) -> None:
    """Refuse limits without effort or velocity, naming every joint that lacks one."""
    incomplete = [(joint.element, limit) for joint in joints
                  if (limit := joint.element.first('limit')) is not None
                  and joint.kind not in ('fixed', 'floating', 'planar')]
    for attribute in ('effort', 'velocity'):
        lacking = [str(element) for element, limit in incomplete
                   if attribute not in limit.attributes]
        if lacking:
            raise ModelError(f'<limit> needs the attribute "{attribute}", which is missing in '
                             f'{", ".join(lacking)}; add it, or load with limits_optional=True')


def check_joints(joints: Iterable[JointText], notes: Notes) -> None:
    """Note limits without effect or without room for motion, and angles that may be degrees."""
    for joint in joints:
        limit = joint.element.first('limit')
        if limit is not None and joint.kind in ('floating', 'planar'):
            notes.add(f'<limit> has no meaning for a {joint.kind} joint and is not used',
                      joint.element)
        doubtful = [f'{angle:g}' for angle in (*_angles(joint), *_range(joint))
                    if DOUBTFUL_ANGLE[0] < abs(angle) < DOUBTFUL_ANGLE[1]]
        if doubtful:
            notes.add('angle of more than two turns; URDF uses radians, not degrees',
                      f'{joint.element} with {", ".join(doubtful)} rad')
        if joint.kind in ('floating', 'planar', 'fixed') or limit is None:
            continue
        if joint.data.effort == 0.0:
            notes.add('effort limit is zero, so that no force can be commanded', joint.element)
        if joint.data.velocity == 0.0:
            notes.add('velocity limit is zero, so that no motion can be planned', joint.element)
        if joint.data.lower == joint.data.upper:
            notes.add('lower and upper limit are equal, so that the joint cannot move',
                      joint.element)


def _angles(joint: JointText) -> tuple[float, ...]:
    """Return roll, pitch and yaw as written."""
    origin = joint.element.first('origin')
    return () if origin is None else numbers(origin, 'rpy', joint.element, 3, ())


def _range(joint: JointText) -> tuple[float, ...]:
    """Return the limits of a revolute joint as written."""
    limit = joint.element.first('limit')
    if limit is None or joint.kind != 'revolute':
        return ()
    return tuple(number(limit, end, joint.element, 0.0) for end in ('lower', 'upper'))


def note_unknown(elements: Iterable[Element], notes: Notes) -> None:
    """Note children of links and joints that this loader does not know."""
    for element in elements:
        for child in element.children:
            if child.tag not in KNOWN[element.tag]:
                notes.add(f'<{child.tag}> is unknown and not used', element)
