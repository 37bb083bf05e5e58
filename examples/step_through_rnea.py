# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What happens inside the recursive Newton-Euler algorithm? RBDA Table 5.1, body by body."""

import numpy as np

import rbd_ros
from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.algorithms.rnea import rnea
from rbd_ros.spatial import Vec3

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
q, qd, qdd = [0.1 * k for k in range(7)], [0.5] * 7, [1.0] * 7

# The function that is compiled elsewhere runs here on plain floats: set a breakpoint in it.
v, a, f, tau = rnea(model, q, qd, qdd, Conditions(gravity=Vec3(*model.gravity)))
for i in range(1, model.nb + 1):                        # outward
    print(f'{model.body_names[i]}: v = {np.round(v[i].to_list(), 3)}')
    print(f'        a = {np.round(a[i].to_list(), 3)}  (true minus g)')
for i in range(model.nb, 0, -1):                        # inward
    print(f'{model.joint_names[i - 1]}: f = {np.round(f[i].to_list(), 3)}, tau = {tau[i - 1]:.4f}')

rotors = np.multiply(model.rotor_inertia, qdd)          # not in the table: RBDA 9.6
compiled = rbd_ros.Dynamics(model).inverse_dynamics(q, qd, qdd)
print('largest difference to machine code:', np.abs(compiled - rotors - tau).max())
