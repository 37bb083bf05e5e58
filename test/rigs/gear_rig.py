# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A tree with gears of several laws, and the crane of RBDA Fig 8.3."""

import math

import numpy as np
import rbd_ros
from rbd_ros.compiler import atan2, cos, sin, sqrt
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3

#: Axes and places of a tree of seven joints: two branches on a column.
SHAPE = {          # name: parent, axis, origin
    'j1': ('l0', '0 0 1', '0 0 0.3'), 'j2': ('l1', '0 1 0', '0.1 0 0.2'),
    'j3': ('l2', '1 0 0', '0 0 0.3'), 'j4': ('l1', '0.6 0 0.8', '-0.1 0.2 0.1'),
    'j5': ('l4', '0 1 0', '0 0.1 0.2'), 'j6': ('l5', '1 0 0', '0.2 0 0'),
    'j7': ('l1', '0 0 1', '0 0 -0.2')}
LAWS = {
    'j3': rbd_ros.Gear(('j2',), lambda q: q + 0.3 * sin(2.0 * q)),           # a cam
    'j6': rbd_ros.Gear(('j3', 'j5'), lambda a, b: 0.5 * a * cos(b)),         # on the cam's joint
    'j7': rbd_ros.Gear(('j2', 'j4'), lambda a, b: 0.5 * (a - b) + 0.1)}      # a differential
FREE = ['j1', 'j2', 'j4', 'j5']
#: m, of the crane: from the hinge of its first link to that of the cylinder and to the pin
L1, L2 = 0.4, 0.3


def link(name, mass, com, moments):
    """Return a link in URDF."""
    xx, yy, zz = moments
    return (f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0.001" iyz="0"/></inertial>'
            '</link>')


def urdf(extra=''):
    """Return the tree of SHAPE in URDF."""
    text = [link('l0', 1.0, '0 0 0', (0.1, 0.1, 0.1))]
    for k, (name, (parent, axis, origin)) in enumerate(SHAPE.items(), 1):
        kind = 'prismatic' if name == 'j7' else 'revolute'
        text.append(link(f'l{k}', 2.0 / k, f'0.05 {0.02 * k} 0.1', (0.03, 0.02 + 0.01 / k, 0.025)))
        text.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{origin}" rpy="0.3 -0.2 {0.1 * k}"/><axis xyz="{axis}"/>'
            '<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>')
    return f'<robot name="tree">{"".join(text)}{extra}</robot>'


def gamma(y):
    """Return the tree positions by name, in plain Python."""
    j1, j2, j4, j5 = y
    j3 = j2 + 0.3 * math.sin(2.0 * j2)
    return {'j1': j1, 'j2': j2, 'j3': j3, 'j4': j4, 'j5': j5, 'j6': 0.5 * j3 * math.cos(j5),
            'j7': 0.5 * (j2 - j4) + 0.1}


def in_order(y, names):
    """Return the tree positions in the order of some names."""
    return np.array([gamma(y)[name] for name in names])


def crane(closed):
    """
    Return the two-link arm of Fig 8.3, lifted by a cylinder and its piston.

    :param closed: whether a loop joint pins the piston to the first link; otherwise cylinder and
        piston follow that link by the formulas of RBDA 8.11.
    """
    def body(m, x, moment):
        return RigidInertia.from_com(m, Vec3(x, 0.0, 0.0), Sym3.diagonal(0.1 * moment, moment,
                                                                         moment))
    z = Revolute((0.0, 0.0, 1.0))
    laws = {} if closed else {
        'cylinder': rbd_ros.Gear(('shoulder',), lambda y: atan2(L2 * sin(y), L2 * cos(y) - L1)),
        'piston': rbd_ros.Gear(('shoulder',), lambda y: sqrt(
            L1 * L1 + L2 * L2 - 2.0 * L1 * L2 * cos(y)))}
    builder = rbd_ros.ModelBuilder('crane', gravity=(0.0, -9.81, 0.0))
    builder.add_body('link_1', 'base', z, inertia=body(4.0, 0.25, 0.09), joint_name='shoulder')
    builder.add_body('cylinder', 'base', z, Transform.translation(Vec3(L1, 0.0, 0.0)),
                     body(1.0, 0.1, 0.01), joint_name='cylinder', mimic=laws.get('cylinder'))
    builder.add_body('piston', 'cylinder', Prismatic((1.0, 0.0, 0.0)), None,
                     body(0.5, -0.1, 0.005), joint_name='piston', mimic=laws.get('piston'))
    builder.add_body('link_2', 'link_1', z, Transform.translation(Vec3(0.5, 0.0, 0.0)),
                     body(3.0, 0.2, 0.05), joint_name='elbow')
    if closed:
        builder.add_joint('pin', 'link_1', 'piston', z,
                          Transform.translation(Vec3(L2, 0.0, 0.0)))
    return builder.build()
