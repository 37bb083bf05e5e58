# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What inertia do two hands of a robot feel, and how are they coupled? Two handles, stacked."""

import numpy as np

import rbd_ros
from rbd_ros.joints import Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

LINK = RigidInertia.from_com(1.5, Vec3(0.0, 0.0, -0.15), Sym3.diagonal(0.02, 0.02, 0.002))
TRUNK = RigidInertia.from_com(6.0, Vec3(0.0, 0.0, 0.3), Sym3.diagonal(0.2, 0.2, 0.02))

builder = rbd_ros.ModelBuilder('two_arms')
builder.add_body('trunk', 'base', Revolute((0, 0, 1)), None, TRUNK)
for side, y in (('left', 0.25), ('right', -0.25)):
    above, place = 'trunk', xlt(0.0, y, 0.6)
    for part, axis in (('lift', (1, 0, 0)), ('upper', (0, 1, 0)), ('fore', (0, 1, 0))):
        name = f'{side}_{part}'
        builder.add_body(name, above, Revolute(axis), place, LINK)
        above, place = name, xlt(0.0, 0.0, -0.3)
    builder.add_frame(f'{side}_hand', above, place)
robot = rbd_ros.Dynamics(builder.build())

hands = [robot.handle(f'{side}_hand', rows=rbd_ros.POINT) for side in ('left', 'right')]
q = np.array([0.0, 0.2, -1.0, -1.0, -0.2, -1.0, -1.0])
both = robot.operational_space(q, np.zeros(7), hands)
alone = robot.operational_space(q, np.zeros(7), hands[0])
print('the left hand, the right one held where it is:\n', both.Lambda[:3, :3].round(2))
print('the left hand, the right one free:\n', alone.Lambda.round(2))
print('acceleration of the left hand per newton at the right one:\n', both.Phi[:3, 3:].round(4))
