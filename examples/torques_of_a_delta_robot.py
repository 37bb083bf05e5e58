# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What must the three motors of a delta robot do? Six rods close five loops."""

import numpy as np

import rbd_ros
from rbd_ros.samples import mechanisms

model, start = mechanisms.delta()
robot = rbd_ros.Dynamics(model, closed_near=start)
report = robot.loop_report
print(f'{model.nv} freedoms of the tree, {report.constraints} constraints of {len(model.loops)} '
      f'loops ({report.rank} independent): {report.mobility} freedoms are left')

motors = ['shoulder_1', 'shoulder_2', 'shoulder_3']
arms = model.velocity_order(motors)
q = robot.assemble(start).require()                     # a position that closes the loops
print(f'tool at {np.round(robot.pose(q, "tool")[:3, 3], 3)} m')

# hold still, then accelerate the tool upwards: the motors are the independent joints
still = np.zeros(model.nv)
G = robot.loop_map(q, still, motors).G
J = robot.jacobian(q, 'tool')[3:] @ G                   # of the tool by the motors alone
for name, acceleration in (('hold', 0.0), ('lift at 10 m/s^2', 10.0)):
    ydd = np.linalg.solve(J, [0.0, 0.0, acceleration])
    found = robot.actuator_forces(q, still, G @ ydd, motors)
    print(f'{name}: {np.round(found.tau[arms], 3)} N.m ({found.actuation} actuation)')

space = robot.operational_space(q, still, [robot.handle('tool', rows=rbd_ros.POINT)])
print(f'the tool feels like {np.round(np.diag(space.Lambda), 3)} kg along x, y and z')
forces = robot.loop_dynamics(q, still, found.tau).forces
for loop, force in zip(model.loops, forces, strict=True):
    print(f'{loop.name} carries {np.linalg.norm(force):.2f} N')
