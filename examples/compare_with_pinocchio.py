# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Does it agree with Pinocchio, and how do I translate my calls? To rounding, line by line."""

import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.model.interchange import swap_rows
from rbd_ros.model.urdf.resources import find_resource

path = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
theirs = pin.buildModelFromUrdf(str(path))
data = theirs.createData()
robot = rbd_ros.Dynamics(rbd_ros.load_urdf(path))
ours = robot.model
theirs.armature = np.array(ours.rotor_inertia)                   # it reads no transmissions

# The same order of joints here; where it differs, position_order and velocity_order translate.
assert list(theirs.names)[1:] == list(ours.joint_names)
rng = np.random.default_rng(0)
q = np.array([rng.uniform(-1.0, 1.0) for _ in range(7)])
qd, qdd = rng.normal(size=(2, 7))

tool = theirs.getFrameId('tool0')
pairs = {
    'rnea': (pin.rnea(theirs, data, q, qd, qdd), robot.inverse_dynamics(q, qd, qdd)),
    'aba': (pin.aba(theirs, data, q, qd, qdd), robot.forward_dynamics(q, qd, qdd)),
    'crba': (pin.crba(theirs, data, q), np.triu(robot.mass_matrix(q))),
    'gravity': (pin.computeGeneralizedGravity(theirs, data, q), robot.gravity(q)),
    'jacobian': (pin.computeFrameJacobian(theirs, data, q, tool, pin.LOCAL),
                 swap_rows(robot.jacobian(q, 'tool0'))),         # linear rows first there
}
worst = 0.0
for name, (their, our) in pairs.items():
    their = np.triu(their) if name == 'crba' else their
    error = np.abs(their - our).max() / np.abs(their).max()
    worst = max(worst, error)
    print(f'{name:9} relative difference {error:.1e}')
