# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What does each foot of a quadruped carry while someone pushes its trunk? (RBDA 11.8)."""

import sys

import numpy as np
import rbd_ros
from rbd_ros.model.collision_shapes import CollisionShape, Sphere
from rbd_ros.sim import Physics, read_scene, SimulatedRobot, Surface, World

model = rbd_ros.load_urdf('package://example-robot-data/robots/go2_description/urdf/go2.urdf',
                          floating_base=True, on_warning=lambda text: None)
dynamics, feet, h = rbd_ros.Dynamics(model), ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot'), 5e-4
balls = [CollisionShape(foot, model.frame(foot).body, Sphere(0.022),
                        p=np.array(list(model.frame(foot).placement.r))) for foot in feet]
world = World('soft', balls, read_scene('floor: 0.0'), Surface(damping=100.0, friction=0.6))
robot = SimulatedRobot(model, physics=Physics.of(model, integrator='semi_implicit'), world=world)
stance = np.array([x for hip in (0.068, -0.068) * 2 for x in (hip, 0.785, -1.44)])
start = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *stance])
start[2] = 0.022 - min(dynamics.pose(start, foot)[2, 3] for foot in feet)    # feet on the floor
robot.place(start)
robot.push([[-20.0 * start[2], 0, 0, 0, 20.0, 0], *np.zeros((12, 6))])      # 20 N to the left
record = []                                     # forces of the floor, N
for _ in range(1000):                           # 0.5 s
    q, qd = robot.q, robot.v                    # the pose of the base is the simulator's truth
    g, turned = dynamics.gravity(q), [dynamics.pose(q, foot)[:3, :3] for foot in feet]
    J = np.vstack([R @ dynamics.jacobian(q, foot)[3:] for R, foot in zip(turned, feet)])
    carried = np.linalg.lstsq(J[:, :6].T, g[:6], rcond=None)[0]     # by the feet, N
    torque = g[6:] - J[:, 6:].T @ carried + 150.0 * (stance - q[7:]) - 5.0 * qd[6:]
    robot.command([*np.zeros(6), *torque])      # nothing drives the base itself
    robot.step(h)
    record.append([each.force for each in robot.contact_forces])
print('N carried by', dict(zip(feet, np.round(record[-1], 1)[:, 2].tolist())))
if len(sys.argv) > 1:
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.plot(h * np.arange(1, 1001), np.array(record)[:, :, 2], label=feet)
    axes.set(xlabel='time, s', ylabel='vertical force, N')
    axes.legend()
    figure.savefig(sys.argv[1], dpi=100, bbox_inches='tight')
