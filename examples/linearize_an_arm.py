# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which gains hold an arm at a pose? Linearise it there, and let a Riccati equation choose."""

import numpy as np
import rbd_ros
from scipy.linalg import solve_continuous_are

robot = rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))
n = robot.model.nv
pose = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
hold = robot.gravity(pose)

# x = (q - pose, qd) moves as A x + B u near the pose, u being the torque besides gravity's.
d = robot.forward_dynamics_derivatives(pose, np.zeros(n), hold)
A = np.block([[np.zeros((n, n)), np.eye(n)], [d.dqdd_dq, d.dqdd_dqd]])
B = np.vstack([np.zeros((n, n)), d.dqdd_dtau])
print('fastest fall without control:', f'{np.linalg.eigvals(A).real.max():.2f} 1/s')

weight, effort = np.diag([100.0] * n + [1.0] * n), 0.01 * np.eye(n)
K = np.linalg.solve(effort, B.T @ solve_continuous_are(A, B, weight, effort))
slowest = np.linalg.eigvals(A - B @ K).real.max()
print('slowest return with control: ', f'{slowest:.2f} 1/s')

# The robot itself, pushed a little away, compared with the prediction of the linear model.
dt, x = 1e-4, np.concatenate([0.02 * np.ones(n), np.zeros(n)])
q, qd = pose + x[:n], x[n:].copy()
for _ in range(3000):
    u = -K @ np.concatenate([q - pose, qd])
    qd = qd + dt * robot.forward_dynamics(q, qd, hold + u)
    q = q + dt * qd
    x[n:] += dt * (A @ x - B @ (K @ x))[n:]
    x[:n] += dt * x[n:]
error = np.abs(q - pose - x[:n]).max()
print(f'after 0.3 s the arm is {np.abs(q - pose).max():.1e} rad off, the linear model {error:.1e}'
      ' rad from it')
