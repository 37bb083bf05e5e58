# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which torques hold my robot still? Usage: gravity_torques.py [robot.urdf]."""

import sys

import numpy as np

import rbd_ros
from rbd_ros.model.positions import random_position

DEFAULT = 'package://rbd_ros/urdf/seven_joint_arm.urdf'
model = rbd_ros.load_urdf(sys.argv[1] if len(sys.argv) > 1 else DEFAULT)
robot = rbd_ros.Dynamics(model)
q = np.array(random_position(model, np.random.default_rng(1)))

upright = robot.gravity(q)
robot.set_gravity([9.81, 0.0, 0.0])             # the same robot, mounted on a wall
on_wall = robot.gravity(q)

print(f'{model.name}: {model.total_mass:.2f} kg move')
for name in model.independent_joint_names:
    v = model.velocity_slice(name)              # one entry for a revolute or prismatic joint
    print(f'{name}: on the floor {upright[v]}, on the wall {on_wall[v]}')
