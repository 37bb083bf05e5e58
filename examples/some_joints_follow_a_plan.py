# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How does an arm move whose shoulder follows a plan while its wrist hangs free?"""

import numpy as np

import rbd_ros

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model)
planned = ['joint_1', 'joint_2', 'joint_3', 'joint_4']      # the other three have no drive
wave = np.array([0.6, 0.4, -0.5, 0.8, 0.0, 0.0, 0.0])       # rad
rate, step = 3.0, 1e-3                                      # rad/s, s


def accelerations(t, q, qd):
    """Return both sides: the plan gives four accelerations, three forces are zero."""
    qdd, tau = np.full(7, np.nan), np.full(7, np.nan)       # NaN: not known, never read
    qdd[:4], tau[4:] = (-wave * rate**2 * np.sin(rate * t))[:4], 0.0
    return robot.hybrid_dynamics(q, qd, qdd, tau, planned)


t = 0.0
q, qd = np.array([0.0, 0.5, 0.0, -1.2, 0.0, 0.6, 0.0]), rate * wave
start, work = robot.kinetic_energy(q, qd) + robot.potential_energy(q), 0.0
for k in range(1000):                                       # the midpoint rule
    now = accelerations(t, q, qd)
    middle = accelerations(t + 0.5 * step, q + 0.5 * step * qd, qd + 0.5 * step * now.qdd)
    work += step * middle.tau @ (qd + 0.5 * step * now.qdd)
    q, qd = q + step * (qd + 0.5 * step * now.qdd), qd + step * middle.qdd
    t += step
    if k % 250 == 249:
        print(f't = {t:.2f} s: wrist at {np.round(q[4:], 3)} rad, '
              f'shoulder drives {np.round(middle.tau[:4], 1)} N.m')
energy = robot.kinetic_energy(q, qd) + robot.potential_energy(q) - start
print(f'work of the drives {work:.4f} J, energy gained {energy:.4f} J')
