# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How does a four-bar linkage close, and how does it move? Two assembly modes, and a fall."""

import numpy as np

import rbd_ros
from rbd_ros.samples import mechanisms

model, start = mechanisms.four_bar()
robot = rbd_ros.Dynamics(model)
for q in robot.assemblies(start, fixed=['joint_1']):
    elbow = robot.pose(q, 'bar_3')[:2, 3]
    print(f'crank at {q[0]:.2f} rad: elbow at {np.round(elbow, 3)} m, '
          f'open by {np.abs(robot.loop_error(q)).max():.0e}')

q, qd, tau, h = robot.assemble(start).require(), np.zeros(3), np.zeros(3), 1e-3
energy = robot.potential_energy(q)
robot.set_stabilization(0.1)                            # errors die out within a tenth of a second
for _ in range(2000):                                   # midpoint steps of 1 ms
    half = qd + 0.5 * h * robot.forward_dynamics(q, qd, tau)
    middle = robot.forward_dynamics(q + 0.5 * h * qd, half, tau)
    q, qd = q + h * half, qd + h * middle
total = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
print(f'after 2 s: crank at {q[0]:.3f} rad, open by {np.abs(robot.loop_error(q)).max():.1e} m, '
      f'energy off by {total - energy:.1e} J')

folded = robot.loop_dynamics(q, qd, tau)
print(f'the last pivot carries {np.linalg.norm(folded.forces[0][3:]):.1f} N '
      f'({folded.rank} of {model.loop_constraints} constraints count, found by '
      f'"{folded.method}")')
