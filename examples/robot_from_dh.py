# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How do I make a robot from Denavit-Hartenberg parameters? Row by row, as in Craig."""

from math import pi

import numpy as np

import rbd_ros
from rbd_ros.model.denavit_hartenberg import chain, Row
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

# PUMA 560: a and alpha lead to the axis, d and theta lie along and about it.
ROWS = [
    Row(),
    Row(alpha=-pi / 2),
    Row(a=0.4318, d=0.1500),
    Row(a=0.0203, alpha=-pi / 2, d=0.4318),
    Row(alpha=pi / 2),
    Row(alpha=-pi / 2),
]
MASS = [0.0, 17.4, 4.8, 0.82, 0.34, 0.09]               # kg
arm = chain(ROWS, tool=Row(d=0.05))

builder, above = rbd_ros.ModelBuilder('puma'), 'base'
for k, ((joint, placement), mass) in enumerate(zip(arm.joints, MASS, strict=True), 1):
    size = 0.01 * mass + 0.01
    inertia = RigidInertia.from_com(mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(size, size, size))
    builder.add_body(f'link_{k}', above, joint, placement, inertia, joint_name=f'joint_{k}')
    above = f'link_{k}'
builder.add_frame('tool', above, arm.tool)
robot = rbd_ros.Dynamics(builder.build())

# At q = 0 the variables add nothing: this is the pose of the numbers in the table.
print(robot.pose(np.zeros(6), 'tool').round(4))
print('operations for inverse dynamics:', robot.kernel('inverse_dynamics').count())
