# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
