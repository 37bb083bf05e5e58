# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What happens to a floating robot when it moves its arm? It is an arm set free in space."""

import numpy as np

import rbd_ros
from rbd_ros.model.positions import integrate, neutral

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf', floating_base=True,
                          gravity=(0.0, 0.0, 0.0))
robot = rbd_ros.Dynamics(model)
q = np.array(neutral(model))                            # [x y z qx qy qz qw, joints]
qd = np.zeros(model.nv)                                 # [w; v] of the base, then joints
free = np.zeros(6)                                      # nothing pushes the base itself

step = 1e-3
for k in range(400):
    drive = 0.5 * np.sin(2.0 * np.pi * k / 400) * np.ones(7)      # N m at every joint
    qd = qd + step * robot.forward_dynamics(q, qd, np.concatenate((free, drive)))
    q = np.array(integrate(model, q, step * qd))        # a quaternion is not added to
print('the base is at', q[:3].round(4), 'm, turned to', q[3:7].round(4))
print('the centre of mass moved by',
      (robot.center_of_mass(q) - robot.center_of_mass(neutral(model))).round(5), 'm')
print('momentum', robot.momentum(q, qd).round(4))
