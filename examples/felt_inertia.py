# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which inertia parameters affect the motion of a robot? Move the others across the joints."""

import numpy as np

import rbd_ros
from rbd_ros.algorithms.equivalence import simplified_inertias

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
for name, body in zip(model.body_names[1:], simplified_inertias(model, '3d')[1:], strict=True):
    numbers = [body.m, *body.h, *body.I.entries()]
    felt = [label for label, x in zip(
        ('m', 'hx', 'hy', 'hz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz'), numbers) if x != 0.0]
    print(f'{name:12} {" ".join(felt)}')

physical = rbd_ros.Dynamics(model)
lean = rbd_ros.Dynamics(model, simplify_inertias=True)
counts = [robot.kernel('inverse_dynamics').count().total for robot in (physical, lean)]
rng = np.random.default_rng(0)
states = rng.normal(size=(3, 100, model.nv))
one, other = physical.inverse_dynamics(*states), lean.inverse_dynamics(*states)
difference = np.abs(one - other).max()
print(f'operations of inverse dynamics: {counts[0]} with physical inertias, {counts[1]} without')
print(f'largest difference of 700 torques: {difference:.1e} N m')
