# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What changes when the gripper takes a load? Nothing is compiled anew."""

import numpy as np

import rbd_ros

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model, payload_frame='tool0')
q = np.array([0.0, 0.6, 0.0, -1.0, 0.0, -0.9, 0.0])
empty = robot.gravity(q)

# A bottle of 1.2 kg whose centre of mass is 0.1 m in front of the tool.
robot.set_payload(1.2, com=[0.0, 0.0, 0.1], inertia=np.diag([0.006, 0.006, 0.001]))
more = robot.gravity(q) - empty
print('more torque with the load, N m:', more.round(3))

# The same by hand: J^T times the weight at the point where the load hangs.
J = robot.jacobian(q, 'tool0')
R = robot.pose(q, 'tool0')[:3, :3]
weight = R.T @ [0.0, 0.0, -1.2 * 9.81]
wrench = np.concatenate((np.cross([0.0, 0.0, 0.1], weight), weight))     # angular part first
by_hand = -J.T @ wrench
print('by hand:                       ', by_hand.round(3))

robot.set_payload(0.0, com=[0.0, 0.0, 0.0], inertia=np.zeros((3, 3)))
print('put down again:                ', (robot.gravity(q) - empty).round(3))
