# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Identified parameters as files: a corrected URDF, and lines for the controller's parameters."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from rbd_ros.algorithms.regressor import inertia_from_parameters
from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError
from rbd_ros.identification.whole_robot import Identified
from rbd_ros.model.model import Model

__all__ = ['controller_parameters', 'corrected_urdf', 'symmetric_friction']


def symmetric_friction(found: Identified, nv: int) -> tuple[Array, Array]:
    """Return viscous and Coulomb friction as controller and URDF have it: equal both ways."""
    drives, none = found.drives(nv), np.zeros(nv)
    if 'viscous forward' in drives:
        viscous = 0.5 * (drives['viscous forward'] + drives['viscous backward'])
    else:
        viscous = drives.get('viscous', none)
    return viscous, drives.get('coulomb', none)


def controller_parameters(model: Model, found: Identified) -> str:
    """
    Return parameters of the controller: what friction it compensates, and the rotors.

    The controller knows neither friction that depends on direction or load, nor offsets; they
    follow as comments.
    """
    drives, joints = found.drives(model.nv), model.independent_joint_names
    lines = ['/**:', '  controller:', '    ros__parameters:',
             f'      # in the order of {", ".join(joints)}']
    if 'coulomb' in drives:
        viscous, coulomb = symmetric_friction(found, model.nv)
        lines += [f'      friction.viscous: {_list(viscous)}',
                  f'      friction.coulomb: {_list(coulomb)}']
    lines.append(f'      rotor_inertia: {_list(drives["rotor"])}')
    lines += [f'      # {term}: {_list(values)}' for term, values in drives.items()
              if term in ('viscous forward', 'viscous backward', 'load', 'offset')]
    return '\n'.join(lines) + '\n'


def corrected_urdf(text: str, model: Model, found: Identified) -> str:
    """
    Return a description with the identified inertias, damping and friction.

    The inertia of links that are fixed to each other is one body's: the link at the joint gets
    all of it, and the others lose their ``<inertial>``. Likewise the friction of joints that mimic
    another one is that of the joint that they mimic. Rotors have no place in a URDF; give them to
    the controller.

    :param text: of the URDF that the model was made of.
    """
    robot = ElementTree.fromstring(
        text, ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True)))
    bodies = dict(zip(model.body_names[1:], found.parameters[:10 * model.nb].reshape(-1, 10),
                      strict=True))
    for link in robot.findall('link'):
        name = link.get('name', '')
        if name not in model.frames or model.frame(name).body == 0:
            continue
        for inertial in link.findall('inertial'):
            link.remove(inertial)
        if name in bodies:
            link.insert(0, _inertial(bodies.pop(name)))
    if bodies:
        raise ModelError(f'the description has no link "{next(iter(bodies))}", which the model '
                         'has; give the URDF that it was made of')
    viscous, coulomb = symmetric_friction(found, model.nv)
    if 'coulomb' in found.drives(model.nv):
        for joint in robot.findall('joint'):
            name = joint.get('name', '')
            if name in model.independent_joint_names:
                k = model.velocity_slice(name).start
                _set_friction(joint, float(viscous[k]), float(coulomb[k]))
            elif joint.find('mimic') is not None and joint.find('dynamics') is not None:
                _set_friction(joint, 0.0, 0.0)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode', xml_declaration=True) + '\n'


def _inertial(x: Array) -> ElementTree.Element:
    """Return the element for the ten parameters of a body."""
    inertial = ElementTree.Element('inertial')
    mass, centre, I_c = 0.0, [0.0] * 3, np.zeros((3, 3))
    if x[0] > 0.0:
        m, c, I = inertia_from_parameters(x.tolist()).com_form()
        mass, centre, I_c = float(m), c.to_list(), np.array(I.to_list(), float)
    ElementTree.SubElement(inertial, 'origin', xyz=' '.join(map(_number, centre)), rpy='0 0 0')
    ElementTree.SubElement(inertial, 'mass', value=_number(mass))
    ElementTree.SubElement(inertial, 'inertia', {
        f'i{a}{b}': _number(I_c[i, j]) for i, a in enumerate('xyz') for j, b in enumerate('xyz')
        if i <= j})
    return inertial


def _set_friction(joint: ElementTree.Element, damping: float, friction: float) -> None:
    element = joint.find('dynamics')
    if element is None:
        element = ElementTree.SubElement(joint, 'dynamics')
    element.set('damping', _number(damping))
    element.set('friction', _number(friction))


def _number(value: float) -> str:
    return f'{value:.10g}' if math.isfinite(value) else '0'


def _list(values: Array) -> str:
    return '[' + ', '.join(f'{value:#.6g}' for value in values) + ']'
