# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How heavy does the arm feel at its tool? The operational-space inertia of a point."""

import numpy as np

import rbd_ros

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model)
q = np.array([0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1])
qd = np.zeros(7)

# The point at the origin of the frame tool0: three directions, along the axes of tool0.
tip = robot.handle('tool0', rows=rbd_ros.POINT)
space = robot.operational_space(q, qd, tip)
mass, axes = np.linalg.eigh(space.Lambda)
for value, axis in zip(mass, axes.T, strict=True):
    print(f'{value:6.3f} kg along {np.round(axis, 2)}')
print(f'condition number {space.condition:.1f}')

# A force at the tip and the joint torques that leave the tip alone.
tau = space.J.T @ [0.0, 0.0, 10.0] + space.nullspace @ np.ones(7)
qdd = robot.forward_dynamics(q, qd, tau)
acceleration = space.J @ qdd + robot.jacobian_rate(q, qd, 'tool0')[3:]
expected = np.linalg.solve(space.Lambda, [0.0, 0.0, 10.0] - space.bias)
print('tip accelerates by', np.round(acceleration, 6), 'm/s^2, Lambda says',
      np.round(expected, 6))

# Stretched out, the tip cannot move along the arm: an error, unless a bound is given.
straight = np.zeros(7)
try:
    robot.operational_space(straight, qd, 'tool0')
except rbd_ros.SingularError as error:
    print(error)
bounded = robot.operational_space(straight, qd, 'tool0', max_condition=1e4)
print('bounded: largest eigenvalue of Lambda', np.linalg.eigvalsh(bounded.Lambda)[-1].round(1))
