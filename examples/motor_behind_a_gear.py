# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What must the motor behind a gear do? A cam drives a lever, a geared motor turns the cam."""

import numpy as np

import rbd_ros
from rbd_ros.algorithms.gears import actuator_forces
from rbd_ros.compiler import sin
from rbd_ros.joints import Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

RATIO, ROTOR = 50.0, 2e-5                               # of the gear; kg m^2 of the rotor


def body(mass, x, moment):
    """Return a body whose centre of mass lies on the x axis."""
    return RigidInertia.from_com(mass, Vec3(x, 0.0, 0.0), Sym3.diagonal(moment, moment, moment))


axis = Revolute((0, 1, 0))
builder = rbd_ros.ModelBuilder('press')
builder.add_body('cam', 'base', axis, inertia=body(0.5, 0.0, 1e-3), joint_name='cam')
builder.add_body('lever', 'base', axis, xlt(0.2, 0.0, 0.0), body(2.0, 0.3, 0.02),
                 joint_name='lever',
                 mimic=rbd_ros.Gear(('cam',), lambda q: 0.3 * sin(q) + 0.05 * sin(2.0 * q)))
builder.add_body('rotor', 'base', axis, xlt(-0.1, 0.0, 0.0), body(0.1, 0.0, ROTOR),
                 joint_name='motor', mimic=rbd_ros.Mimic('cam', RATIO))
model = builder.build()
robot = rbd_ros.Dynamics(model)

speed = 6.0                                             # rad/s of the cam, constant
for angle in np.linspace(0.0, np.pi, 5):
    tau = robot.inverse_dynamics([angle], [speed], [0.0])
    motor = actuator_forces(model, [angle], tau, ['motor'])[0]
    lever = model.coupling.G([angle])[1][0] * speed
    print(f'cam at {angle:.2f} rad: lever {lever:+.2f} rad/s, motor {1000 * motor:+.1f} mN.m')
inertia = [robot.mass_matrix([angle])[0, 0] for angle in (0.0, 0.5 * np.pi)]
print(f'inertia at the cam: {inertia[0]:.4f} to {inertia[1]:.4f} kg m^2, '
      f'{RATIO**2 * ROTOR:.4f} of them the rotor')
