# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How do I describe a robot without URDF? A cart with a pendulum, checked by its formulas."""

import numpy as np

import rbd_ros
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

M, m, length = 2.0, 0.5, 0.8                            # kg, kg, m

builder = rbd_ros.ModelBuilder('cart_pole', gravity=(0.0, 0.0, -9.81))
builder.add_body(
    'cart', 'base', Prismatic((1, 0, 0)), joint_name='rail',
    inertia=RigidInertia.from_com(M, Vec3(0.0, 0.0, 0.0), Sym3.zero()),
    data=rbd_ros.JointData(lower=-1.0, upper=1.0, effort=50.0, velocity=2.0))
builder.add_body(
    'pole', 'cart', Revolute((0, 1, 0)), joint_name='hinge',     # q = 0: hanging down
    inertia=RigidInertia.from_com(m, Vec3(0.0, 0.0, -length), Sym3.zero()))
model = builder.build()
robot = rbd_ros.Dynamics(model)

q = np.array([0.1, 0.4])
H = robot.mass_matrix(q)
c = m * length * np.cos(q[1])                           # a positive angle swings towards -x
print('H from the library:\n', H)
print('H from the book of mechanics:\n', np.array([[M + m, -c], [-c, m * length**2]]))
print('holding torque', robot.gravity(q)[1], '=', m * 9.81 * length * np.sin(q[1]))
