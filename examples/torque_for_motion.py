# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which torques does this motion need? Inverse dynamics, and a look at the limits."""

import numpy as np

import rbd_ros

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model)

# Every joint swings by 0.6 rad about its middle in 2 s, the whole period as one batch of states.
t = np.linspace(0.0, 2.0, 401)[:, None]
phase = np.linspace(0.0, 1.5, model.nv)
omega = 2.0 * np.pi / 2.0
swing = 0.6 * np.sin(omega * t + phase)
q = np.add(model.lower, model.upper) / 2.0 + swing      # rad
qd = 0.6 * omega * np.cos(omega * t + phase)            # rad/s
qdd = -omega**2 * swing                                 # rad/s^2
tau = robot.inverse_dynamics(q, qd, qdd)                # N m, (401, 7)

peak = np.abs(tau).max(axis=0)
for name, value, limit in zip(model.joint_names, peak, model.effort_limit, strict=True):
    verdict = 'fits' if value <= limit else 'too much'
    print(f'{name}: peak {value:6.2f} N m, limit {limit:6.1f} N m, {verdict}')
