# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What does a model add to PD control, and what if its masses are wrong? Follow a fast motion."""

import sys

import numpy as np
import rbd_ros
from rbd_ros.sim import Physics, SimulatedRobot

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
arm, start = rbd_ros.Dynamics(model), np.array([0.0, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0])
sway, omega, Kp, Kd, h = 0.5, 3.0, 400.0, 40.0, 1e-3    # rad, rad/s, 1/s^2, 1/s, s
inertia = np.diag(arm.mass_matrix(start))               # PD: the same gains, joint by joint

time, errors = h * np.arange(3000), {}
for name, known, scale in (('PD and gravity', False, 1.0), ('computed torque', True, 1.0),
                           ('computed torque, masses 10 % wrong', True, 1.1)):
    plant = SimulatedRobot(model, physics=Physics.of(
        model, mass_scale=scale, friction=np.zeros(7), damping=np.zeros(7)))
    plant.place(start)
    errors[name] = np.zeros((len(time), 7))
    for k, (s, c) in enumerate(zip(np.sin(omega * time), np.cos(omega * time), strict=True)):
        q, qd = plant.q, plant.v
        e, ed = start + sway * (1.0 - c) - q, sway * omega * s - qd
        a = Kp * e + Kd * ed                            # the acceleration that removes the error
        plant.command(arm.inverse_dynamics(q, qd, sway * omega**2 * c + a) if known
                      else arm.gravity(q) + inertia * a)
        plant.step(h)
        errors[name][k] = e
    print(f'{name}: at most {1e3 * np.abs(errors[name]).max():.2f} mrad')
if len(sys.argv) > 1:
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    for name, e in errors.items():
        axes.semilogy(time[1:], 1e3 * np.abs(e[1:]).max(axis=1), label=name)
    axes.set(xlabel='time, s', ylabel='largest joint error, mrad', ylim=(1e-3, 3e2))
    axes.legend(fontsize='small')
    figure.savefig(sys.argv[1], dpi=90, bbox_inches='tight')
