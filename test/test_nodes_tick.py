# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The fused kernels of the controller against the dynamics composed by hand."""

from pathlib import Path

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.payload import payload_vector
from rbd_ros.nodes.robot import make_robot
from rbd_ros.nodes.tick import KERNELS, TickKernels

URDF = Path(__file__).parent / 'urdf'
ARM = Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf'


def quiet(bound):
    """Switch barriers off and set gravity, without payload."""
    for name, value in bound.inputs.items():
        value[...] = 0.0
        if name in ('barrier_upper', 'barrier_speed'):
            value[...] = np.inf
        elif name == 'barrier_lower':
            value[...] = -np.inf
        elif name in ('barrier_margin', 'friction_speed'):
            value[...] = 1.0
    bound.inputs['gravity_vector'][:] = (0.3, -0.2, -9.7)
    return bound


@pytest.fixture(params=['arm', 'some joints', 'mimic'])
def case(request):
    """Give a robot, its dynamics and a random state."""
    if request.param == 'mimic':
        model = load_urdf(URDF / 'mimic_gripper.urdf', on_warning=lambda _: None)
        robot = make_robot(model)
    else:
        model = load_urdf(ARM)
        joints = () if request.param == 'arm' else ('joint_5', 'joint_2', 'joint_3')
        robot = make_robot(model, joints)
    dynamics = Dynamics(model, payload_frame=robot.payload_frame)
    dynamics.set_gravity((0.3, -0.2, -9.7))
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1.0, 1.0, (2, model.nq))
    return robot, dynamics, q, qd, rng


def run(bound, q, qd):
    """Evaluate at a state."""
    bound.inputs['q'][:], bound.inputs['qd'][:] = q, qd
    bound()
    return bound.outputs


def kernels(robot, adds='none', knows=False):
    """Return the kernels of a robot."""
    return TickKernels(robot, driver_adds=adds, driver_knows_payload=knows)


def test_gravity_and_drivers_part(case):
    """Gravity has the payload; the driver's part has it only if the driver knows it."""
    robot, dynamics, q, qd, _ = case
    index = list(robot.index)
    mass, com, about_com = 2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.02, 0.03, 0.025])
    load = payload_vector(mass, com, [0.02, 0.0, 0.0, 0.03, 0.0, 0.025])
    bare = {'gravity': dynamics.gravity(q)[index],
            'gravity_and_coriolis': dynamics.bias(q, qd)[index]}
    dynamics.set_payload(mass, com, about_com)
    full = {'gravity': dynamics.gravity(q)[index],
            'gravity_and_coriolis': dynamics.bias(q, qd)[index]}
    for adds in ('none', 'gravity', 'gravity_and_coriolis'):
        for knows in (False, True):
            bound = quiet(kernels(robot, adds, knows).compile('gravity'))
            bound.inputs['payload'][:] = load
            out = run(bound, q, qd)
            np.testing.assert_allclose(out['gravity'], full['gravity'], rtol=0, atol=1e-11)
            expected = 0.0 if adds == 'none' else (full if knows else bare)[adds]
            np.testing.assert_allclose(out['driver'] - expected, 0.0, rtol=0, atol=1e-11)


def test_computed_torque_is_inverse_dynamics(case):
    """The law is RNEA at qdd_ref + Kd e' + Kp e; joints not controlled do not accelerate."""
    robot, dynamics, q, qd, rng = case
    index, n = list(robot.index), len(robot.joints)
    bound = quiet(kernels(robot).compile('joint'))
    reference = rng.uniform(-1.0, 1.0, (3, n))
    kp, kd, z = rng.uniform(1.0, 9.0, (3, n))
    for name, value in (('reference', reference), ('stiffness', kp), ('damping', kd),
                        ('integral', z)):
        bound.inputs[name][...] = value
    out = run(bound, q, qd)
    qdd = np.zeros(len(q))
    qdd[index] = (reference[2] + kd * (reference[1] - qd[index])
                  + kp * (reference[0] - q[index]) + z)
    expected = dynamics.inverse_dynamics(q, qd, qdd)[index]
    np.testing.assert_allclose(out['law'], expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(out['error'], reference[0] - q[index], rtol=0, atol=1e-12)


def test_task_law_accelerates_the_tip_as_wanted():
    """With every joint controlled, the tip gets the wanted acceleration under the law's torque."""
    model = load_urdf(ARM)
    robot = make_robot(model)
    dynamics = Dynamics(model)
    dynamics.set_gravity((0.3, -0.2, -9.7))
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-1.0, 1.0, (2, 7))
    bound = quiet(kernels(robot).compile('task'))
    bound.inputs['max_condition'][:] = 1e9
    bound.inputs['posture_stiffness'][:] = 3.0
    acceleration = rng.uniform(-1.0, 1.0, 6)  # base axes
    bound.inputs['acceleration_ref'][:] = acceleration
    bound.inputs['R_ref'][:] = np.eye(3)
    out = run(bound, q, qd)
    qdd = dynamics.forward_dynamics(q, qd, out['law'])
    pose, v = dynamics.pose(q, 'tool0'), dynamics.velocity(q, qd, 'tool0')
    spatial = dynamics.jacobian(q, 'tool0') @ qdd + dynamics.jacobian_rate(q, qd, 'tool0')
    R = pose[:3, :3]
    classical = np.concatenate([R @ spatial[:3],
                                R @ (spatial[3:] + np.cross(v[:3], v[3:]))])
    # 1e-8: the condition number of the inertia enters
    np.testing.assert_allclose(classical, acceleration, rtol=0, atol=1e-8)
    np.testing.assert_allclose(out['R'], R, rtol=0, atol=1e-12)
    np.testing.assert_allclose(out['p'], pose[:3, 3], rtol=0, atol=1e-12)


def test_every_kernel_compiles(case):
    """No kernel is left for the time when the controller is active."""
    robot = case[0]
    for name in KERNELS:
        assert kernels(robot).compile(name).outputs['gravity'].shape == (len(robot.joints),)
