# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What do many handles feel, which method is cheapest, and what if some of them are redundant?"""

import numpy as np

import rbd_ros
from rbd_ros.joints import Free, Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

TRUNK = RigidInertia.from_com(20.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.3, 0.9, 1.0))
LINK = RigidInertia.from_com(1.0, Vec3(0.0, 0.0, -0.1), Sym3.diagonal(0.005, 0.005, 0.001))

builder = rbd_ros.ModelBuilder('quadruped')
builder.add_body('trunk', 'base', Free(), None, TRUNK)
FEET = [f'{end}_{side}_foot' for end in ('front', 'rear') for side in ('left', 'right')]
for foot, x, y in zip(FEET, (0.3, 0.3, -0.3, -0.3), (0.15, -0.15, 0.15, -0.15)):
    above, place = 'trunk', xlt(x, y, 0.0)
    for part, axis in (('hip', (1, 0, 0)), ('thigh', (0, 1, 0)), ('shank', (0, 1, 0))):
        name = foot.replace('foot', part)
        builder.add_body(name, above, Revolute(axis), place, LINK)
        above, place = name, xlt(0.0, 0.0, -0.2)
    builder.add_frame(foot, above, place)
robot = rbd_ros.Dynamics(builder.build())

q = np.array([0, 0, 0.4, 0, 0, 0, 1, *[0.1, 0.6, -1.2] * 4])
feet = [robot.handle(foot, rows=rbd_ros.POINT) for foot in FEET]
source = rbd_ros.Dynamics(robot.model, backend='reference')      # counts without compiling
costs = {method: source.kernel('inverse_handle_inertia', feet, method=method).count().total
         for method in source.methods('inverse_handle_inertia')}
print('operations by method:', costs)
four = robot.handle_inertia(q, feet)
print('mass that the first foot feels, the others held, kg:', four.Lambda[:3, :3].round(2))

# A free trunk and four legs of three joints have 18 freedoms: a second point of a foot is excess.
twice = [*feet, 'trunk', robot.handle(FEET[0], point=(0.0, 0.02, 0.0), rows=rbd_ros.POINT)]
try:
    robot.handle_inertia(q, twice)
except rbd_ros.SingularError as error:
    print('refused:', error)
damped = robot.handle_inertia(q, twice, damping=1e-6)
print(f'damped: {damped.rank:.1f} of {damped.lost.size} directions, shared by', damped.redundant)
