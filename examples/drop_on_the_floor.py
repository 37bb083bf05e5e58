# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where does a dropped arm come to rest, and which forces act on the floor? (RBDA 11.8)."""

from pathlib import Path

import numpy as np
from rbd_ros import load_urdf
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim import read_scene, SimulatedRobot, Surface, World

path = Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf'
model = load_urdf(path)
world = World('soft', load_collisions(path, model), read_scene('floor: 0.0'),
              Surface(stiffness=2e4, damping=200.0, friction=0.6))
robot = SimulatedRobot(model, world=world)
robot.place([0.0, 1.0, 0.0, -0.3, 0.0, 0.3, 0.0])

largest = 0.0
for _ in range(4000):                           # 4 s
    robot.command(-2.0 * robot.v)               # motors that only damp
    robot.step(1e-3)
    largest = max([largest, *(np.linalg.norm(each.force) for each in robot.contact_forces)])

for each in robot.contact_forces:
    print(f'{model.body_names[each.body]} rests on the {each.obstacle} with '
          f'{each.force[2]:.1f} N; the largest force of a point was {largest:.0f} N')
