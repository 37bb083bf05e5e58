# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which algorithm is cheapest for my robot? Usage: cheapest_algorithm.py [robot.urdf]."""

import sys

import rbd_ros

DEFAULT = 'package://rbd_ros/urdf/seven_joint_arm.urdf'
model = rbd_ros.load_urdf(sys.argv[1] if len(sys.argv) > 1 else DEFAULT)
robot = rbd_ros.Dynamics(model)

counts = {}
for quantity in ('inverse_dynamics', 'forward_dynamics'):
    # 'spatial' and '3d' are RBDA Tables 5.1 and 5.2, 'crba' and 'aba' chapters 6 and 7; a robot
    # that moves in one plane has 'planar' too.
    for method in robot.methods(quantity):
        count = robot.kernel(quantity, method=method).count()
        counts[quantity, method] = count.total
        print(f'{quantity:18} by {method:8} {count}   sines, cosines: {count.trig}')
    # Without a method, Dynamics takes the one with the fewest operations by itself.
    counts[quantity, None] = robot.kernel(quantity).count().total
for quantity in ('gravity', 'mass_matrix', 'bias'):
    print(f'{quantity:30} {robot.kernel(quantity).count()}')
