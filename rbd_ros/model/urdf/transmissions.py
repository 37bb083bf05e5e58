# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Gear ratio and rotor inertia of joints from <transmission> elements.

Standard URDF has only the ratio. The rotor inertia, if given, has one of the names below; it is
about the axis of the motor, before the gear.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

from rbd_ros.errors import ModelError
from rbd_ros.model.urdf.check import Notes
from rbd_ros.model.urdf.document import Element
from rbd_ros.model.urdf.elements import JointText, parse_numbers

RATIO = ('mechanicalReduction', 'mechanical_reduction', 'gearRatio', 'gear_ratio',
         'drake:gear_ratio')
ROTOR = ('rotorInertia', 'rotor_inertia', 'motorInertia', 'motor_inertia',
         'drake:rotor_inertia')


def apply_transmissions(robot: Element, joints: dict[str, JointText], notes: Notes) -> None:
    """
    Put gear ratio and reflected rotor inertia (ratio^2 J) into the data of the joints.

    A joint may have two transmissions, one for each generation of ros_control. If they differ, as
    with two motors on one joint, the last one is used, with a warning.
    """
    seen: dict[str, tuple[float, float | None]] = {}
    for element in _transmissions(robot):
        named = [joint.attributes.get('name', '').strip() for joint in element.all('joint')]
        if any(name not in joints for name in named):
            notes.add('transmission of a joint that does not exist is not used', element)
            continue
        ratio, rotor = _value(element, RATIO), _value(element, ROTOR)
        if len(named) != 1 or len(element.all('actuator')) > 1:
            if rotor is not None:
                notes.add('rotor inertia of a transmission with several joints or motors is '
                          'not used', element)
            continue
        joint = joints[named[0]]
        if ratio == 0.0:
            raise ModelError(f'{element}: the gear ratio must not be zero')
        if rotor is not None and rotor < 0.0:
            raise ModelError(f'{element}: rotor inertia {rotor} is negative')
        ratio = 1.0 if ratio is None else ratio
        if seen.setdefault(joint.name, (ratio, rotor)) != (ratio, rotor):
            notes.add('second, different transmission of one joint: only gear and rotor of the '
                      'last one are used', element)
        data = dataclasses.replace(joint.data, gear_ratio=ratio)
        if rotor is not None:
            data = dataclasses.replace(data, rotor_inertia=rotor * ratio**2)
        if joint.kind in ('revolute', 'continuous', 'prismatic'):
            joints[joint.name] = dataclasses.replace(joint, data=data)


def _transmissions(robot: Element) -> Iterator[Element]:
    """Yield transmissions of the robot and of its ros2_control blocks."""
    yield from robot.all('transmission')
    for control in robot.all('ros2_control'):
        yield from control.all('transmission')


def _value(transmission: Element, names: tuple[str, ...]) -> float | None:
    """Return the first number under one of the names, as text or as ``value``."""
    for holder in (transmission, *transmission.all('actuator'), *transmission.all('joint')):
        for child in holder.children:
            if child.tag in names:
                return _number(transmission, child)
    return None


def _number(transmission: Element, child: Element) -> float:
    text = child.attributes.get('value') or child.text
    return parse_numbers(text, 1, lambda: f'{transmission}: <{child.tag}>')[0]
