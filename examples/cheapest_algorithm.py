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
