# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How does the arm fall without power? Forward dynamics, and a check of its energy."""

import numpy as np

import rbd_ros

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model)
acceleration = robot.bind('forward_dynamics')           # no checks, no allocation: for loops


def rate(state):
    """Return the time derivative of (q, qd) without joint forces."""
    acceleration.inputs['q'][:], acceleration.inputs['qd'][:] = state
    acceleration()
    return np.array([state[1], acceleration.outputs['qdd']])


def energy(state):
    """Return kinetic plus potential energy, J."""
    return robot.kinetic_energy(*state) + robot.potential_energy(state[0])


state = np.array([[0.3, 0.8, -0.2, -1.2, 0.4, 0.8, 0.1], np.zeros(7)])
step, start = 1e-3, energy(state)
for _ in range(500):                                    # Runge-Kutta, fourth order
    k1 = rate(state)
    k2 = rate(state + 0.5 * step * k1)
    k3 = rate(state + 0.5 * step * k2)
    k4 = rate(state + step * k3)
    state = state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
moving = robot.kinetic_energy(*state)
print(f'after 0.5 s: kinetic energy {moving:.3f} J, total changed by '
      f'{energy(state) - start:.1e} J')
