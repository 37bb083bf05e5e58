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

"""The robot that MuJoCo simulates for the launch tests does what its options say."""

from __future__ import annotations

from pathlib import Path

from benchmark.mujoco_plant import Plant, PlantOptions
from benchmark.robots import robot_file
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.peers.pinocchio_robot import PinocchioRobot

ARM = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
JOINTS = [f'joint_{k}' for k in range(1, 8)]
START = np.array([0.2, 0.4, -0.3, -1.3, 0.4, 0.8, 0.5])


def plant(**options: object) -> Plant:
    """Return the built-in arm."""
    return Plant(ARM, PlantOptions(**{'joints': JOINTS, 'start': START, 'tip': 'tool0'} | options))


def test_brakes_hold_and_sensors_feel_them() -> None:
    """Closed brakes do not creep; sensors at the links feel gravity, the motors nothing."""
    robot, peer = plant(), PinocchioRobot(load_urdf(ARM), ARM)
    for _ in range(200):
        robot.step(np.full(7, 5.0))
    assert robot.braked and (robot.position == START).all()
    np.testing.assert_allclose(robot.joint_torque(), peer.gravity(START), atol=1e-9)
    assert (robot.motor_torque() == 0.0).all()
    np.testing.assert_allclose(robot.described_gravity(), peer.gravity(START), atol=1e-9)


def test_it_falls_when_they_open_and_stops_when_they_close() -> None:
    """Without torque the open arm falls; brakes stop it within 0.1 s."""
    robot = plant()
    robot.brake(False)
    for _ in range(200):
        robot.step(np.zeros(7))
    assert np.abs(robot.velocity).max() > 0.5
    robot.brake(True)
    for _ in range(100):
        robot.step(np.zeros(7))
    rest = robot.position
    for _ in range(100):
        robot.step(np.zeros(7))
    assert (robot.position == rest).all()


@pytest.mark.parametrize('normal', [(0.0, 0.0, 1.0), (0.0, 0.6, 0.8)])
def test_a_payload_rests_on_the_plate(normal: tuple[float, float, float]) -> None:
    """An arm that carries itself lets a load of 2 kg lie on the plate with its weight."""
    robot = plant(payload_mass=2.0, plate_below=0.001, plate_normal=normal, plate_friction=2.0,
                  friction=[0.0] * 7, damping=[10.0] * 7)
    robot.brake(False)
    for _ in range(2000):
        robot.step(robot.described_gravity())
    along = np.array(normal) @ robot.tip().force
    assert along < 0.0  # into the plate
    if normal[1] == 0.0:
        np.testing.assert_allclose(robot.tip().force, [0.0, 0.0, -2.0 * 9.81], atol=0.1)


def test_motors_end_at_their_limits() -> None:
    """No motor exerts more than its limit, whatever is commanded."""
    robot = plant()
    robot.brake(False)
    robot.step(np.full(7, 1e3))
    assert (robot.motor_torque() == robot.effort_limit).all()


def test_other_joints_are_locked() -> None:
    """Joints that are not commanded stand at zero; one that does not exist is an error."""
    urdf = robot_file('panda').read_text()
    names = [f'panda_joint{k}' for k in range(1, 8)]
    robot = Plant(urdf, PlantOptions(joints=names, start=np.zeros(7), tip='panda_hand'))
    assert robot.locked == ['panda_finger_joint1', 'panda_finger_joint2']
    assert robot.model.nv == 7
    with pytest.raises(ValueError, match='no joint elbow'):
        plant(joints=[*JOINTS, 'elbow'], start=np.zeros(8))


def test_rotors_are_those_of_the_options() -> None:
    """The rotors stand on the diagonal of the inertia matrix."""
    given = np.array([1.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.3])
    added = plant(armature=given).mass_matrix() - plant().mass_matrix()
    np.testing.assert_allclose(added, np.diag(given), atol=1e-12)


def test_friction_holds_what_is_smaller() -> None:
    """Hard friction keeps a joint from a smaller torque, and yields to a larger one."""
    robot = plant(gravity=[0.0] * 3, friction=[0.5] * 7, hard_friction=True)
    robot.brake(False)
    for _ in range(300):
        robot.step(np.array([0.45, 0.0, 0.0, 0.0, 0.0, 0.0, 0.45]))
    assert np.abs(robot.velocity).max() < 0.01
    for _ in range(300):
        robot.step(np.array([1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert robot.velocity[0] > 0.1
