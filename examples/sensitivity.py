# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How much does an error in the torques matter? See the condition number of H."""

import numpy as np

import rbd_ros
from rbd_ros.joints import Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

LINK = RigidInertia.from_com(1.0, Vec3(0.5, 0.0, 0.0), Sym3.diagonal(0.0, 1 / 12, 1 / 12))


def chain(n):
    """Return n links of 1 m and 1 kg in a plane, without gravity."""
    builder = rbd_ros.ModelBuilder(f'chain_{n}', gravity=(0.0, 0.0, 0.0))
    for k in range(n):
        builder.add_body(f'link_{k}', f'link_{k - 1}' if k else 'base', Revolute((0, 0, 1)),
                         xlt(1.0 if k else 0.0, 0.0, 0.0), LINK)
    return rbd_ros.Dynamics(builder.build())


robot, rest = chain(6), np.zeros(6)
zigzag = np.radians([75, -75, 75, -75, 75, -75])
tau = robot.inverse_dynamics(zigzag, rest, np.ones(6))          # accelerations of 1 rad/s^2
rounded = np.array([float(f'{x:.3g}') for x in tau])            # three digits of each torque
qdd = robot.forward_dynamics(zigzag, rest, rounded)
force_error = np.abs(rounded / tau - 1.0).max()
motion_error = np.abs(qdd - 1.0).max()
print(f'torques to {force_error:.1%} give accelerations to {motion_error:.0%}')
condition = {0: np.linalg.cond(robot.mass_matrix(zigzag))}
print(f'condition number of H in the zigzag: {condition[0]:.0f}')
for n in (6, 10):
    condition[n] = np.linalg.cond(chain(n).mass_matrix(np.zeros(n)))
    print(f'stretched, {n} links: {condition[n]:.0f}, and 4 n^4 is {4 * n**4}')
