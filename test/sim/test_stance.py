# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots on legs stay on their feet: the forces are those of Pinocchio, the robot is MuJoCo's."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from rbd_ros import load_urdf, SettingError
from rbd_ros.model.collision_shapes import CollisionShape
from rbd_ros.model.model import Model
from rbd_ros.model.urdf import find_resource
from rbd_ros.model.urdf.known_robots import known_robot, known_robots
from rbd_ros.peers.mujoco_robot import without_shapes
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from rbd_ros.sim import (
    Coordinates, Physics, read_balls, SETTINGS, Settings, SimulatedRobot, World)
from rbd_ros.sim.stance import Stance
import yaml

ROOT = Path(__file__).parents[2]
LEGGED = [robot.name for robot in known_robots().values() if robot.base == 'floating']
#: MuJoCo refuses an ANYmal C: the hatch of its description has an inertia that no body has
IN_MUJOCO = [name for name in LEGGED if name != 'anymal_c']
PERIOD, STEPS = 0.002, 4


class Standing(NamedTuple):
    """A robot as its configuration puts it on the floor."""

    model: Model
    description: str
    feet: list[CollisionShape]
    start: np.ndarray
    world: World


@cache
def standing(name: str) -> Standing:
    """Return a robot by its name."""
    robot = known_robot(name)
    nodes = yaml.safe_load((ROOT / 'config' / robot.parameters).read_text())['/**']
    values, held = (nodes[node]['ros__parameters'] for node in ('simulator', 'stand'))
    assert not set(values) - set(SETTINGS)
    assert held['robot_description_file'] == values['robot_description_file'] == robot.address
    assert held['scene_file'] == values['scene_file'] and held['rate'] == values['state_rate']
    description = find_resource(robot.address).read_text()
    model = load_urdf(description, floating_base=True, on_warning=lambda text: None)
    settings = Settings(values)
    world = settings.world(description, model)
    start = settings.start_position(model, Coordinates(model).neutral(), world)
    assert world.clearance(model, start) == pytest.approx(0.0, abs=1e-12)
    file = ROOT / 'config' / Path(values['scene_file']).relative_to('package:/rbd_ros/config')
    return Standing(model, description, read_balls(file.read_text(), model), start,
                    world)


@pytest.mark.sampled('robots', 2)
@pytest.mark.parametrize('name', LEGGED)
def test_torques_and_floor_hold_the_robot(name: str) -> None:
    """
    In any posture and tilt there are forces of the floor that leave no acceleration.

    Gravity and Jacobians are Pinocchio's. Six equations are not driven: torques alone cannot hold
    them, and forces at the feet alone cannot hold the joints.
    """
    robot, rng = standing(name), np.random.default_rng(3)
    peer = PinocchioRobot(robot.model, robot.description, floating_base=True)
    for _ in range(20):
        q = robot.start.copy()
        q[7:] += rng.normal(0.0, 0.1, q.size - 7)
        q[3:7] += rng.normal(0.0, 0.05, 4)
        q[3:7] /= np.linalg.norm(q[3:7])
        stance = Stance(robot.model, robot.feet, PERIOD)
        tau = stance.torques(q, np.zeros(robot.model.nv))
        left = peer.gravity(q) - [*np.zeros(6), *tau]
        J = []
        for ball in robot.feet:
            body = robot.model.body_names[ball.body]
            R, at = peer.pose(q, body)[:3, :3], peer.jacobian(q, body)
            bottom = ball.p - ball.shape.radius * R.T[:, 2]
            J.append(R @ (at[3:] + np.cross(at[:3].T, bottom).T))
        f, *_ = np.linalg.lstsq(np.vstack(J).T, left, rcond=None)
        weight = 9.81 * robot.model.total_mass
        assert np.abs(np.vstack(J).T @ f - left).max() < 1e-8 * weight
        assert f.reshape(-1, 3).sum(axis=0) == pytest.approx([0.0, 0.0, weight], rel=1e-9,
                                                             abs=1e-9 * weight)


class MujocoFloor:
    """A robot on the floor of MuJoCo, whose contacts nobody here wrote."""

    def __init__(self, robot: Standing) -> None:
        """Put balls on its feet and a plane below them."""
        spec = mujoco.MjSpec.from_string(without_shapes(robot.description))
        spec.worldbody.first_body().add_freejoint(name='root_joint')
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
        for ball in robot.feet:
            spec.body(robot.model.body_names[ball.body]).add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[ball.shape.radius, 0, 0], pos=ball.p)
        spec.option.timestep = PERIOD / STEPS
        self.mj, self.robot = spec.compile(), robot
        self.data = mujoco.MjData(self.mj)
        self._joints = [self.mj.joint(name) for name in robot.model.joint_names[1:]]
        self._q = [joint.qposadr[0] for joint in self._joints]
        self._v = [joint.dofadr[0] for joint in self._joints]
        self.data.qpos[:7] = robot.start[[0, 1, 2, 6, 3, 4, 5]]
        self.data.qpos[self._q] = robot.start[7:]
        mujoco.mj_forward(self.mj, self.data)

    @property
    def q(self) -> np.ndarray:
        """Return the position, as the model has it."""
        return np.array([*self.data.qpos[[0, 1, 2, 4, 5, 6, 3]], *self.data.qpos[self._q]])

    @property
    def v(self) -> np.ndarray:
        """Return the velocity: of the base in its own axes, angular first."""
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, self.data.qpos[3:7])
        linear = R.reshape(3, 3).T @ self.data.qvel[:3]
        return np.array([*self.data.qvel[3:6], *linear, *self.data.qvel[self._v]])

    def run(self, stance: Stance, seconds: float, push: float = 0.0) -> None:
        """Let time pass; N to the left on the base."""
        self.data.xfrc_applied[1, 1] = push
        for _ in range(round(seconds / PERIOD)):
            limit = np.array(self.robot.model.effort_limit[6:])
            self.data.qfrc_applied[self._v] = np.clip(
                stance.torques(self.q, self.v), -limit, limit)
            for _ in range(STEPS):
                mujoco.mj_step(self.mj, self.data)


@pytest.mark.sampled('robots', 2)
@pytest.mark.parametrize('name', IN_MUJOCO)
def test_it_stands_in_mujoco(name: str) -> None:
    """It stays up; pushed with a tenth of its weight for 0.3 s it comes back to rest."""
    robot = standing(name)
    floor, stance = MujocoFloor(robot), Stance(robot.model, robot.feet, PERIOD)
    floor.run(stance, 2.0)
    rest = floor.q
    # the soft contacts of MuJoCo give way by some mm, and light ankles by more
    assert rest[:3] == pytest.approx(robot.start[:3], abs=0.02)
    assert np.abs(rest[3:6]).max() < 0.02
    assert np.abs(floor.v).max() < 0.05
    floor.run(stance, 0.3, 0.1 * 9.81 * robot.model.total_mass)
    assert floor.v[4] > 0.0 and floor.q[1] > rest[1] + 1e-3
    floor.run(stance, 6.0)
    print(name, np.round(rest[:7], 4), np.round(floor.q[:7], 4), np.abs(floor.v).max())
    assert floor.q[:3] == pytest.approx(rest[:3], abs=0.02)
    assert np.abs(floor.q[3:6]).max() < 0.02
    assert np.abs(floor.v).max() < 0.05


@pytest.mark.sampled('robots', 2)
@pytest.mark.parametrize('name', LEGGED)
def test_it_stands_in_the_simulator(name: str) -> None:
    """On the floor of its own configuration it comes to rest where it started."""
    robot = standing(name)
    sim = SimulatedRobot(robot.model, physics=Physics.of(robot.model), world=robot.world)
    sim.place(robot.start)
    stance = Stance(robot.model, robot.feet, PERIOD)
    for _ in range(round(2.0 / PERIOD)):
        sim.command([*np.zeros(6), *stance.torques(sim.q, sim.v)])
        for _ in range(STEPS):
            sim.step(PERIOD / STEPS)
    assert sim.q[:3] == pytest.approx(robot.start[:3], abs=0.02)
    assert np.abs(sim.q[3:6]).max() < 0.02 and np.abs(sim.v).max() < 0.05
    carried = sum(each.force for each in sim.contact_forces)
    weight = 9.81 * robot.model.total_mass
    assert carried == pytest.approx([0.0, 0.0, weight], abs=0.02 * weight)


def test_what_cannot_stand() -> None:
    """A fixed base, and a robot without feet, are refused."""
    robot = standing('go2')
    with pytest.raises(SettingError, match='has no floating base'):
        Stance(load_urdf(robot.description, on_warning=lambda text: None), robot.feet, PERIOD)
    with pytest.raises(SettingError, match='no feet'):
        Stance(robot.model, [], PERIOD)
