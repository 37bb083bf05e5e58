# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The stiffness that is shown at the tool, against Pinocchio and against what must be."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.view.figures import from_principal
from rbd_ros.view.stiffness import felt_stiffness, joint_stiffness, Stiffness, text_of

ARM = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
ROBOT = rbd_ros.Dynamics(rbd_ros.load_urdf(ARM))
JOINTS, FRAME = range(7), 'tool0'
SPRINGS = {'cartesian_impedance.linear_stiffness': [800.0, 300.0, 1500.0],
           'cartesian_impedance.angular_stiffness': [20.0]}


def poses(count: int = 5) -> list[np.ndarray]:
    """Return random positions."""
    rng = np.random.default_rng(1)
    return [rng.uniform(-1.5, 1.5, 7) for _ in range(count)]


def shown(q: np.ndarray, mode: str, gains: dict[str, object]) -> np.ndarray:
    """Return the stiffness of a mode as a matrix in the axes of the frame."""
    K = joint_stiffness(ROBOT, q, mode, gains, JOINTS, FRAME)
    values, R = felt_stiffness(ROBOT.jacobian(q, FRAME)[3:], K)
    assert np.allclose(R.T @ R, np.eye(3)) and np.linalg.det(R) > 0.0
    return (R * values) @ R.T


def by_pinocchio(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear Jacobian in the axes of the frame, and the mass matrix."""
    model = pinocchio.buildModelFromUrdf(str(ARM))
    data = model.createData()
    model.armature = np.array(ROBOT.model.rotor_inertia)
    J = pinocchio.computeFrameJacobian(model, data, q, model.getFrameId(FRAME))  # in its axes
    H = pinocchio.crba(model, data, q)
    return J[:3], np.triu(H) + np.triu(H, 1).T


def test_springs_of_the_joints_as_the_tool_feels_them() -> None:
    """With compliances of joints that add up at the tool, by Pinocchio."""
    K = np.array([200.0, 300.0, 150.0, 150.0, 60.0, 50.0, 40.0])
    for q in poses():
        J_v, H = by_pinocchio(q)
        found = shown(q, 'joint_impedance', {'joint_impedance.stiffness': K.tolist()})
        assert np.allclose(found, np.linalg.inv((J_v / K) @ J_v.T), rtol=1e-5, atol=1e-3)
        for mode in ('computed_torque', 'hold'):
            found = shown(q, mode, {'stiffness': [400.0]})
            expected = 400.0 * np.linalg.inv(J_v @ np.linalg.solve(H, J_v.T))
            assert np.allclose(found, expected, rtol=1e-5, atol=1e-3)
        # the same gain in every direction: the tool moves as one with the joints
        task = {'task.linear_stiffness': 400.0, 'task.angular_stiffness': 400.0}
        assert np.allclose(shown(q, 'operational_space', task), expected, rtol=1e-4, atol=1e-2)


def test_springs_of_the_frame_are_those_that_were_given() -> None:
    """Along its axes, in every pose; a direction without a spring has none."""
    given = np.diag(SPRINGS['cartesian_impedance.linear_stiffness'])
    for q in poses():
        assert np.allclose(shown(q, 'cartesian_impedance', SPRINGS), given, rtol=1e-4, atol=0.1)
        for axes in (['tx', 'ty'], ['rx', 'ry', 'rz', 'x', 'y']):
            found = shown(q, 'cartesian_impedance', {**SPRINGS, 'task.axes': axes})
            assert np.allclose(found, np.diag([800.0, 300.0, 0.0]), rtol=1e-4, atol=0.1)


def test_what_has_no_spring_shows_none() -> None:
    """Modes that follow nothing, gains that are not known or do not fit, a joint that floats."""
    q = poses(1)[0]
    for mode, gains in (('gravity_compensation', SPRINGS), ('damping', SPRINGS),
                        ('cartesian_impedance', {}), ('a_mode_of_the_user', SPRINGS),
                        ('joint_impedance', {'joint_impedance.stiffness': [1.0, 2.0]}),
                        ('joint_impedance', {'joint_impedance.stiffness': [float('nan')]}),
                        ('computed_torque', {'stiffness': None})):
        assert joint_stiffness(ROBOT, q, mode, gains, JOINTS, FRAME) is None
    J_v = ROBOT.jacobian(q, FRAME)[3:]
    assert felt_stiffness(J_v, np.zeros((7, 7))) is None
    assert felt_stiffness(np.zeros((3, 7)), np.eye(7)) is None
    loose = felt_stiffness(J_v, np.diag([100.0, 0.0, 100.0, 100.0, 0.0, 100.0, 0.0]))
    assert loose.values[0] == 0.0 and text_of(loose)[0] == '0 N/m'
    # the joint without a spring takes the tool along
    assert abs(loose.R[:, 0] @ J_v[:, 1]) > 0.0


@pytest.mark.parametrize('bent', [0.8, 0.0])
def test_a_direction_in_which_nothing_moves_is_rigid(bent: float) -> None:
    """Across the plane of two joints, and along an arm that is stretched out."""
    c, s = np.cos(bent), np.sin(bent)
    J_v = np.array([[-0.5 * s, -0.5 * s], [0.4 + 0.5 * c, 0.5 * c], [0.0, 0.0]])
    found = felt_stiffness(J_v, np.diag([50.0, 20.0]))
    rigid = np.isinf(found.values)
    assert rigid.sum() == (1 if bent else 2) and abs(found.R[2, rigid]).max() == pytest.approx(1.0)
    assert text_of(found)[2] == 'rigid'
    give = J_v @ np.diag([1 / 50.0, 1 / 20.0]) @ J_v.T
    assert found.values[0] == pytest.approx(1.0 / np.linalg.eigvalsh(give)[-1], rel=1e-6)
    axes = from_principal(*found, 0.2).axes
    assert axes[2] == pytest.approx(0.2) and max(axes) == pytest.approx(0.2)


def test_numbers_are_short() -> None:
    """Three digits, and no power of ten."""
    values = np.array([12.345, 1234.5, 2e6])
    assert text_of(Stiffness(values, np.eye(3))) == (
        '12.3 N/m', '1234 N/m', 'rigid')
    assert text_of(None) == ('', '', '')
