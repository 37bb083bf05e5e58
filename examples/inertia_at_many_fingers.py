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

"""What do many fingers feel of one robot? The inverse inertia of all, by the cheapest method."""

import numpy as np

import rbd_ros
from rbd_ros.joints import Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

LINK = RigidInertia.from_com(0.1, Vec3(0.0, 0.0, 0.02), Sym3.diagonal(4e-5, 4e-5, 1e-5))
ARM = RigidInertia.from_com(2.0, Vec3(0.0, 0.0, 0.15), Sym3.diagonal(0.02, 0.02, 0.002))

builder = rbd_ros.ModelBuilder('hand')
above = 'base'
for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0)]):
    builder.add_body(f'arm_{k}', above, Revolute(axis), xlt(0.0, 0.0, 0.3), ARM)
    above = f'arm_{k}'
for finger in range(4):
    above, place = 'arm_3', xlt(0.03 * finger, 0.0, 0.3)
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0)]):
        builder.add_body(f'finger_{finger}_{k}', above, Revolute(axis), place, LINK)
        above, place = f'finger_{finger}_{k}', xlt(0.0, 0.01, 0.04)
robot = rbd_ros.Dynamics(builder.build())

q = np.linspace(-0.5, 0.7, robot.model.nq)
for count in (1, 2, 4):
    tips = [robot.handle(f'finger_{k}_2', point=(0.0, 0.0, 0.04), rows=rbd_ros.POINT)
            for k in range(count)]
    costs = {method: robot.kernel('inverse_handle_inertia', tips, method=method).count().total
             for method in robot.methods('inverse_handle_inertia')}
    print(f'{count} fingers:', ', '.join(f'{name} {cost}' for name, cost in costs.items()))
Phi = robot.inverse_handle_inertia(q, tips)
print('acceleration of finger 0 per newton at finger 3:\n', Phi[:3, 9:].round(3))
everything = [f'finger_{k}_2' for k in range(4)]        # 24 directions, 16 joints
Lambda = robot.handle_inertia(q, everything, damping=1e-2).Lambda
print('damped inertia of all fingers in all directions:', Lambda.shape)
