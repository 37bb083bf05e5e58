# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How do I compile a quantity of my own, and its derivatives? The height of the tool."""

import numpy as np

import rbd_ros
from rbd_ros.algorithms.kinematics import links, pose
from rbd_ros.compiler import compile as compile_graph, jacobian, trace

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
tool = model.frame('tool0')


def height(q):
    """Return the height of the tool over the base; q may hold numbers or traced scalars."""
    return {'z': pose(model, links(model, q), tool).r.z}


graph = trace(height, {'q': model.nq}, name='height')
slope = jacobian(graph, of='z', wrt='q')
curvature = jacobian(slope, of='dz_dq', wrt='q')
z, dz, ddz = compile_graph([graph, slope, curvature])

q = np.array([0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1])
print('height', z(q), 'm, by', graph.count())
print('slope', dz(q).round(4), 'm/rad, by', slope.count())
print('largest curvature', np.abs(ddz(q)).max().round(4), 'm/rad^2')
# The same from the Jacobian of the frame: the vertical component of its linear rows.
R = rbd_ros.Dynamics(model).pose(q, 'tool0')[:3, :3]
vertical = (R @ rbd_ros.jacobian(model, q, 'tool0')[3:])[2]
print('slope', vertical.round(4), 'm/rad')
