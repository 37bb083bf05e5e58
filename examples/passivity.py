# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which control law needs the Coriolis matrix itself? One that is proved by passivity."""

import numpy as np

import rbd_ros

robot = rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))
n, dt = robot.model.nv, 1e-3
K, slope = 20.0, 4.0
q, qd = np.zeros(n), np.zeros(n)

# The law of Slotine and Li: V = 1/2 s^T H s of the error s falls by s^T K s, because
# dH/dt - 2 C is skew. No acceleration is measured and H is not inverted.
largest = 0.0
for step in range(1500):
    t = step * dt
    wanted, rate, acceleration = (
        0.4 * np.cos(2 * t) * np.ones(n), -0.8 * np.sin(2 * t) * np.ones(n),
        -1.6 * np.cos(2 * t) * np.ones(n))
    rate_r = rate + slope * (wanted - q)
    acceleration_r = acceleration + slope * (rate - qd)
    s = qd - rate_r
    C = robot.coriolis_matrix(q, qd)
    tau = robot.mass_matrix(q) @ acceleration_r + C @ rate_r + robot.gravity(q) - K * s
    qdd = robot.forward_dynamics(q, qd, tau)
    # The fall of V from the motion itself: H s-dot = H (qdd - acceleration_r).
    fall = s @ robot.mass_matrix(q) @ (qdd - acceleration_r) + s @ C @ s
    largest = max(largest, abs(fall + K * s @ s))
    qd = qd + dt * qdd
    q = q + dt * qd
error = np.abs(q - wanted).max()
print(f'dV/dt differs from -s^T K s by at most {largest:.1e} W')
print(f'tracking error after 1.5 s: {error:.1e} rad')
