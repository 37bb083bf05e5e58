# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How high does a ball bounce on a soft floor, simulated and by the formula? (RBDA 11.8)."""

import sys

import numpy as np
import rbd_ros
from rbd_ros.algorithms.contact import soft
from rbd_ros.joints import Prismatic
from rbd_ros.model.collision_shapes import CollisionShape, Sphere
from rbd_ros.sim import read_scene, SimulatedRobot, Surface, World
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

mass, radius, drop, h, stiffness = 2.0, 0.1, 0.3, 1e-4, 1e6
ball = RigidInertia.from_com(mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.01, 0.01, 0.01))
builder = rbd_ros.ModelBuilder('ball')
builder.add_body('ball', 'base', Prismatic((0.0, 0.0, 1.0)), inertia=ball)
model, simulated, formula = builder.build(), {}, {}
time = h * np.arange(1, 10001)                                  # 1 s
for share in (0.8, 0.6, 0.4):
    damping = soft.damping_for(share, stiffness, mass)
    world = World('soft', [CollisionShape('ball', 1, Sphere(radius))], read_scene('floor: 0.0'),
                  Surface(stiffness=stiffness, damping=damping))
    robot, height = SimulatedRobot(model, world=world), []
    robot.place([radius + drop])
    for _ in time:
        robot.step(h)
        height.append(robot.q[0] - radius)
    simulated[share], formula[share] = np.array(height), share**2 * drop
    first = np.argmax(simulated[share] <= 0.0)                  # touch
    print(f'restitution {share}: the ball rises to {max(height[first:]):.4f} m, '
          f'{formula[share]:.4f} m by the formula')
if len(sys.argv) > 1:
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for share, height in simulated.items():
        line, = axes.plot(time, height, label=f'restitution {share}')
        axes.axhline(formula[share], linestyle=':', color=line.get_color())
    axes.set(xlabel='time, s', ylabel='height over the floor, m')
    axes.legend()
    figure.savefig(sys.argv[1], dpi=100, bbox_inches='tight')
