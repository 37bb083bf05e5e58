# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames and pushes at them against the compiled kinematics and Jacobians."""

from pathlib import Path

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.errors import NonFiniteError, ShapeError, UnknownName
from rbd_ros.sim import Frames, Imperfections, Schedule, Sensors, SimulatedRobot, Simulation
from scipy.spatial.transform import Rotation

HERE = Path(__file__).parents[1]
ROBOTS = [HERE.parent / 'urdf' / 'seven_joint_arm.urdf', HERE / 'urdf' / 'mimic_gripper.urdf',
          HERE / 'urdf' / 'branched.urdf']
BENT = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])


def state(model, seed=0):
    """Return a position within the limits."""
    rng = np.random.default_rng(seed)
    return rng.uniform(np.clip(model.lower, -1.0, 1.0), np.clip(model.upper, -1.0, 1.0))


@pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
def test_chain_of_poses_reaches_every_frame(path):
    """Poses multiplied along the tree give the pose of every frame of the model."""
    model = load_urdf(path)
    dynamics, frames, q = Dynamics(model), Frames(model), state(model)
    found = {model.body_names[0]: np.eye(4)}
    for pose in [*frames.moving(q), *frames.fixed()]:
        T = np.eye(4)
        T[:3, :3] = Rotation.from_quat(pose.rotation).as_matrix()
        T[:3, 3] = pose.translation
        found[pose.child] = found[pose.parent] @ T
    assert set(found) >= set(model.frames)
    for name in model.frames:
        assert found[name] == pytest.approx(dynamics.pose(q, name), abs=1e-12)


@pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
def test_push_is_the_jacobian_transposed(path):
    """Forces made of wrenches at all frames give the joint torques of their Jacobians."""
    model = load_urdf(path)
    dynamics, frames, q = Dynamics(model), Frames(model), state(model)
    rng = np.random.default_rng(1)
    wrenches = {name: rng.normal(size=6) for name in model.frames}
    f_ext = frames.push(q, wrenches)
    zero = np.zeros(model.nv)
    torque = dynamics.inverse_dynamics(q, zero, zero) - dynamics.inverse_dynamics(
        q, zero, zero, f_ext)
    expected = sum(dynamics.jacobian(q, name).T @ wrench for name, wrench in wrenches.items())
    assert torque == pytest.approx(expected, abs=1e-11)
    # a force at a point of a body, told as a wrench at its origin, is that force again
    for body in range(1, model.nb + 1):
        point, force = rng.normal(size=3), rng.normal(size=3)
        wrench = frames.at_body(q, body, point, force)
        row = frames.push(q, {model.body_names[body]: wrench})[body - 1]
        assert row == pytest.approx(np.concatenate([np.cross(point, force), force]), abs=1e-12)


def test_push_lasts_as_long_as_told(monkeypatch):
    """A pushed arm with friction moves while the push lasts, and the force ends with it."""
    model = load_urdf(ROBOTS[0])
    robot = SimulatedRobot(model)
    robot.place(BENT)
    sim = Simulation(robot, Sensors(robot, Imperfections()), model.joint_names, Schedule())
    sim.pause(True)
    sim.command(Dynamics(model).gravity(BENT))
    sim.step(20)
    assert (robot.q == BENT).all()
    sim.push(model.body_names[-1], [0.0, 0.0, 0.0, 40.0, 0.0, 0.0], 0.05)
    forces, push = [], robot.push
    monkeypatch.setattr(robot, 'push', lambda f_ext: forces.append(f_ext) or push(f_ext))
    sim.step(50)
    assert np.any(forces, axis=(1, 2)).tolist() == [True] * 50
    assert np.abs(robot.q - BENT).max() > 1e-3
    sim.step(1)
    assert len(forces) == 51 and forces[-1] is None


def test_messages():
    """An unknown frame and a wrench that is not finite are refused by name."""
    frames = Frames(load_urdf(ROBOTS[0]))
    with pytest.raises(UnknownName, match='no frame "tool"'):
        frames.checked_wrench('tool', np.zeros(6))
    with pytest.raises(NonFiniteError, match=r'the wrench at ".*"\[\d\] is .* must be finite'):
        frames.checked_wrench(frames.model.body_names[-1], np.full(6, np.nan))
    with pytest.raises(ShapeError, match=r'has shape \(3,\); it needs \(6,\), moment first'):
        frames.checked_wrench(frames.model.body_names[-1], np.zeros(3))
