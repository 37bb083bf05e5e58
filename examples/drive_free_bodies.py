# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which forces and torques on free bodies have the effect of joint torques?"""

import numpy as np

import rbd_ros
from rbd_ros.algorithms.other_forms import link_jacobians, maximal

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model, backend='reference')
q = [0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1]
qd = [0.2, -0.1, 0.3, 0.5, -0.4, 0.1, 0.6]
tau = np.array([5.0, -10.0, 3.0, 8.0, 1.0, -0.5, 0.2])

# Force and torque about the centre of mass, base axes: MuJoCo calls them xfrc_applied.
wrenches = np.array(maximal.applied_wrenches(model, q, tau.tolist()))
for name, row in zip(model.body_names[1:], wrenches, strict=True):
    print(f'{name:10} force {np.round(row[:3], 3)} N, torque {np.round(row[3:], 3)} N m')

# As forces from outside they accelerate the robot as the joint torques do.
links = link_jacobians.placed_links(model, q)[1:]
f_ext = [[*np.cross([*link.x], row[:3]) + row[3:], *row[:3]]
         for link, row in zip(links, wrenches, strict=True)]
outside = robot.forward_dynamics(q, qd, np.zeros(7), f_ext)
inside = robot.forward_dynamics(q, qd, tau)
print('largest difference of the accelerations', np.abs(outside - inside).max())

# Back from the bodies: joint velocities of measured v and w, and what does not fit the joints.
V = link_jacobians.link_velocities(model, q, qd)[1:]
found = maximal.joint_velocities(model, q, [[*each.v] for each in V], [[*each.w] for each in V])
print('joint velocities', np.round(found.qd, 6), 'residual', found.residual)
