# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How do I compute thousands of states at once? Give arrays with a leading axis."""

import time

import numpy as np

import rbd_ros

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model)
rng = np.random.default_rng(0)
q = rng.uniform(model.lower, model.upper, (4096, model.nq))
qd, qdd = rng.normal(size=(2, 4096, model.nv))

out = np.empty((4096, model.nv))
robot.inverse_dynamics(q, qd, qdd, out=out)             # SIMD lanes on all cores
start = time.perf_counter()
robot.inverse_dynamics(q, qd, qdd, out=out)
print(f'4096 states in {1e3 * (time.perf_counter() - start):.2f} ms')

# Without a leading axis an argument is shared by all states.
tau = robot.inverse_dynamics(q, np.zeros(7), np.zeros(7))
print('largest holding torque of each joint:', np.abs(tau).max(axis=0).round(2))
H = robot.mass_matrix(q[:3])
print('three inertia matrices at once:', H.shape)
