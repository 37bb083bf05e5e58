# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which equations of motion follow from energies? Lagrange, by tracing."""

import numpy as np

import rbd_ros
from rbd_ros import compiler
from rbd_ros.algorithms.other_forms import lagrange

# A pendulum of 0.5 m and 2 kg that hangs from a cart of 3 kg: q is [place of cart, angle].
m, M, length, g = 2.0, 3.0, 0.5, 9.81


def kinetic(q, qd):
    """Return the kinetic energy of cart and pendulum."""
    vx = qd[0] + length * compiler.cos(q[1]) * qd[1]
    vz = length * compiler.sin(q[1]) * qd[1]
    return 0.5 * M * qd[0] * qd[0] + 0.5 * m * (vx * vx + vz * vz)


def lagrangian(q, qd):
    """Return kinetic minus potential energy."""
    return kinetic(q, qd) + m * g * length * compiler.cos(q[1])


tau = compiler.compile(lagrange.euler_lagrange(lagrangian, 2))
q, qd, qdd = np.array([0.0, 0.4]), np.array([0.3, -1.0]), np.array([0.5, 2.0])
print('generalised forces of this motion', tau(q, qd, qdd))

inertia = lagrange.inertia_from_energy(kinetic, 2)
symbols = compiler.compile(lagrange.christoffel(inertia))(q)
print('Christoffel symbols that are not zero:', {
    (int(i), int(j), int(k)): round(float(symbols[i, j, k]), 4)
    for i, j, k in np.argwhere(symbols)})

# The same for a robot from a file, and what that costs compared with the recursive algorithm.
arm = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
graph = lagrange.equations(arm)
print(f'the seven-joint arm by Lagrange: {graph.count().total} operations; '
      f'by recursion: {rbd_ros.Dynamics(arm).kernel("inverse_dynamics").count().total}')
