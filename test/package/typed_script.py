# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a user's typed script sees of the library: test_mypy checks it, and nothing runs it."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray
import rbd_ros

Array = NDArray[np.float64]

model = rbd_ros.load_urdf('arm.urdf')
assert_type(model, rbd_ros.Model)
assert_type(model.nv, int)
robot = rbd_ros.Dynamics(model, payload_frame='tool')
q, qd = np.zeros(model.nq), np.zeros(model.nv)

assert_type(robot.inverse_dynamics(q, qd, qd), Array)
assert_type(robot.gravity(q, out=qd), Array)
assert_type(robot.mass_matrix([0.0, 1.0]), Array)
assert_type(robot.forward_dynamics(q, qd, qd, method='aba'), Array)
assert_type(robot.hybrid_dynamics(q, qd, qd, qd, ['joint_1']), rbd_ros.HybridDynamics)
assert_type(robot.operational_space(q, qd, 'tool'), rbd_ros.OperationalSpace)
assert_type(robot.pose(q, 'tool'), Array)
assert_type(robot.jacobian(q, 'tool'), Array)
reached = robot.inverse_kinematics({'tool': np.eye(4)}, q)
assert_type(reached, rbd_ros.InverseKinematics)
assert_type(reached.q, Array)
robot.set_payload(2.0, [0.0, 0.0, 0.1], np.eye(3))
assert_type(rbd_ros.gravity(model, q), Array)

builder = rbd_ros.ModelBuilder('pendulum')
assert_type(builder.build(), rbd_ros.Model)
try:
    robot.compute('gravity', q)
except rbd_ros.ShapeError as error:
    assert_type(error, rbd_ros.ShapeError)

robot.gravity(robot)  # type: ignore[arg-type]
robot.mass_matrx(q)  # type: ignore[attr-defined]
rbd_ros.Dynamics('arm.urdf')  # type: ignore[arg-type]
