# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which joint positions bring the tool to this pose, and what if none does?"""

import numpy as np

import rbd_ros

robot = rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))

# A tool that points down, 0.5 m in front of the robot; any frame will do, and several at once.
target = np.array([[1.0, 0.0, 0.0, 0.5], [0.0, -1.0, 0.0, 0.1], [0.0, 0.0, -1.0, 0.4],
                   [0.0, 0.0, 0.0, 1.0]])
found = robot.inverse_kinematics({'tool0': target})
q = found.require()                                    # an error where it was not reached
print(found.text)
print('q =', np.round(q, 4))
print('the tool is at', np.round(robot.pose(q, 'tool0')[:3, 3], 6))

# Only the place matters: three numbers. From the position before, it is a small step.
near = robot.inverse_kinematics({'tool0': [0.5, 0.15, 0.4]}, q)
print(f'5 cm to the left: {near.iterations} steps, joints move by {np.abs(near.q - q).max():.3f}')

# Many targets at once: a row of the answer for each.
line = np.linspace([0.4, -0.3, 0.4], [0.4, 0.3, 0.4], 50)
many = robot.inverse_kinematics({'tool0': line}, q)
print(many.text)

# Out of reach: the search ends, and says how near it came and what stopped it.
target[0, 3] = 3.0
far = robot.inverse_kinematics({'tool0': target}, q, restarts=5)
print(far.text)
