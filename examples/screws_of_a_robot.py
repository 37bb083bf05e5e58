# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How does a robot look in the screw convention of Modern Robotics, and is it the same robot?"""

import numpy as np

import rbd_ros
from rbd_ros.algorithms.other_forms import screw_matrices, screws
from rbd_ros.model import screw_tree

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
tree = screw_tree.from_model(model, 'tool0')       # frames at the centres of mass, as the book
lists = screw_tree.to_lists(tree)                  # M_01 .. M_n,n+1, G_i, S: its own arguments
for i, S in enumerate(lists.S.T, 1):
    print(f'S_{i} = {np.round(S, 3)}, mass {lists.G[i - 1][5, 5]:.3f} kg')

th = [0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1]
thd, thdd = [0.2] * 7, [1.0] * 7
tau = screws.newton_euler(tree, th, thd, thdd).tau
closed = screw_matrices.closed_form(tree, th, thd)
print('recursion   ', np.round(tau, 4))
print('M thdd + c+g', np.round(np.array(closed.M) @ thdd + closed.c + closed.g, 4))

# The same from the model itself; the screws know no rotors, so these are taken off.
robot = rbd_ros.Dynamics(model)
rotors = np.array(model.rotor_inertia) * thdd
ours = robot.inverse_dynamics(th, thd, thdd) - rotors
print('rbd_ros     ', np.round(ours, 4))

# And back: a model from M_i, G_i, S_i alone, ready for every method of Dynamics.
again = rbd_ros.Dynamics(screw_tree.to_model(screw_tree.from_lists(*lists)))
back = again.inverse_dynamics(th, thd, thdd)
print('from lists  ', np.round(back, 4))
