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

"""A generated controller inside a real controller manager, with a robot that MuJoCo simulates."""

from __future__ import annotations

from pathlib import Path
import re
from xml.etree import ElementTree

from benchmark.robots import robot_file
import numpy as np
import pytest
from rbd_ros.command_line.c_controller import controller_settings, law_kernels
from rbd_ros.command_line.ros2_control.package import ros2_control_package
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import Kind
from rbd_ros.errors import SettingError
from ros2_control_rig import Arm, build, Built, reason_to_skip, Run, run
import yaml

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

JOINTS = [f'panda_joint{k}' for k in range(1, 8)]
ARM = Arm(robot_file('panda').read_text(), JOINTS, (0.2, -0.5, 0.3, -2.1, 0.2, 1.7, 0.6),
          'panda_hand', [0.1] * 7)
PARAMETERS = """
/controller:
  ros__parameters:
    joints: [panda_joint1, panda_joint2, panda_joint3, panda_joint4, panda_joint5, panda_joint6,
             panda_joint7]
    fixed_positions.joints: [panda_finger_joint1]
    fixed_positions.values: [0.0]
    torque_limits: [87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0]
    rotor_inertia: [0.1]
    nominal_rate: 1000.0
    minimum_rate: 0.0      # a busy machine must not stop the test
    state_timeout: 0.3
    driver_adds: none
    release_torque: gravity
    task.frame: panda_hand
"""


@pytest.fixture(scope='module')
def settings(tmp_path_factory):
    """Return the settings of the controller."""
    file = tmp_path_factory.mktemp('settings') / 'panda.yaml'
    file.write_text(PARAMETERS)
    return controller_settings(ARM.urdf, str(file), lambda _: None)


@pytest.fixture(scope='module')
def built(settings, tmp_path_factory) -> Built:
    """Return the compiled package."""
    folder: Path = tmp_path_factory.mktemp('ros2_control')
    for name, text in ros2_control_package(settings, 'panda').items():
        place = folder / 'source' / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return build(folder / 'source', folder / 'workspace', 'panda')


@pytest.fixture(scope='module')
def life(built, tmp_path_factory) -> Run:
    """Return a run in which the robot floats, holds, is stopped, loses a sensor and goes on."""
    return run(built, ARM, tmp_path_factory.mktemp('life'), [
        '100 load rbd_controller', '300 switch +rbd_controller', '3000 mode rbd_controller hold',
        '4000 mode rbd_controller fly', '4500 call /rbd_controller/stop',
        '6500 call /rbd_controller/reset', '8500 blind panda_joint4', '10500 see',
        '10600 call /rbd_controller/reset', '12500 switch -rbd_controller',
        '13000 switch +rbd_controller'], cycles=15000,
        parameters={'mode': 'gravity_compensation'})


def test_life(life: Run) -> None:
    """The supervisor goes the way of the node; a bad mode is refused with those that exist."""
    assert life.answers() == [
        'ok', 'ok', 'ok', 'refused mode must be one of: gravity_compensation computed_torque '
        'operational_space hold damping', 'ok ', 'ok ', 'ok', 'ok', 'ok ', 'ok', 'ok']
    assert [each for each in life.states() if each != 'inactive'][:6] == [
        'probing', 'ramping in', 'running', 'braking', 'holding', 'ramping in']


def test_robot_stays(life: Run) -> None:
    """The arm is held by torques alone, from its brakes on, through every change."""
    position = life.motion[:, :, 0]
    assert np.abs(position - position[0]).max() < 0.05
    assert np.abs(life.motion[-200:, :, 1]).max() < 0.02


def test_torques_are_those_of_the_node(life: Run, settings) -> None:
    """Every step gives what the step of the node gives for the same events."""
    laws = law_kernels(settings)
    controller = Controller(settings, {name: laws.compile(name) for name in laws.names},
                            lambda torque: None)
    u, p, y = controller.u.memory, controller.p.memory, controller.y.memory
    rows = np.fromfile(life.steps).reshape(-1, u.size + p.size + y.size)
    assert len(rows) > 10000
    kind = [each.name for each in controller.u.fields].index('kind')
    expected = type(controller.y)(controller.y.sizes)
    sent, worst = 0, 0.0
    limit = np.asarray(settings.torque_limits)
    begin = controller.x.memory.copy()
    for row, after in zip(rows, [*rows[1:], rows[-1]]):
        if after[kind] == Kind.ACTIVATE:  # an activation begins with a new state
            controller.x.memory[:] = begin
        u[:], p[:] = row[:u.size], row[u.size:u.size + p.size]
        expected.memory[:] = row[u.size + p.size:]
        controller.run()
        assert controller.y.send == expected.send
        assert controller.y.answer == expected.answer
        assert controller.y.told == expected.told
        if expected.send:
            sent += 1
            error = np.abs(controller.y.torque - expected.torque) / limit
            worst = max(worst, float(error.max()))
    assert sent > 8000
    assert worst < 1e-12


def test_updates_allocate_nothing(life: Run) -> None:
    """Most updates allocate nothing at all; those of the manager around a switch may."""
    assert re.search(r'allocations p50 0, p90 0$', life.output, re.MULTILINE), life.output[-2000:]


def test_chain(built, tmp_path) -> None:
    """A joint_trajectory_controller in front moves the arm; without it the arm stays there."""
    goal = [start + 0.2 for start in ARM.start]
    target = ' '.join(f'{joint} {q}' for joint, q in zip(JOINTS, goal, strict=True))
    jtc = {'type': 'joint_trajectory_controller/JointTrajectoryController', 'joints': JOINTS,
           'command_joints': [f'rbd_controller/{joint}' for joint in JOINTS],
           'command_interfaces': ['position', 'velocity'],
           'state_interfaces': ['position', 'velocity']}
    ran = run(built, ARM, tmp_path, [
        '100 load rbd_controller', '150 load jtc', '400 switch +rbd_controller +jtc',
        f'3000 follow /jtc/joint_trajectory 2.0 {target}'], cycles=8000,
        parameters={'mode': 'computed_torque'}, controllers={'jtc': jtc})
    assert ran.answers() == ['ok'] * 4, ran.output[-4000:]
    np.testing.assert_allclose(ran.motion[-1, :, 0], goal, atol=0.03)
    assert np.abs(ran.motion[:, :, 1]).max() < 1.0


def test_what_the_driver_adds_is_not_left_behind(tmp_path) -> None:
    """A controller that is taken away leaves what release_torque says, less what is added."""
    file = tmp_path / 'panda.yaml'
    file.write_text(PARAMETERS.replace('driver_adds: none', 'driver_adds: gravity'))
    settings = controller_settings(ARM.urdf, str(file), lambda _: None)
    laws = law_kernels(settings)
    controller = Controller(settings, {name: laws.compile(name) for name in laws.names},
                            lambda torque: None)
    controller.u.kind = Kind.LEAVE
    controller.run()
    assert controller.y.send == 0.0  # nothing was ever sent
    torque = controller.x.command.torque
    torque.sending, torque.gravity[:] = 1.0, 20.0
    torque.limiter.driver[:] = 20.0, 20.0, 15.0, 20.0, 30.0, 0.0, 20.0
    controller.run()
    assert controller.y.send == 1.0
    assert controller.y.torque.tolist() == [0.0, 0.0, 5.0, 0.0, -10.0, 12.0, 0.0]


def test_names_are_escaped(settings) -> None:
    """XML and YAML are read as what was meant."""
    files = ros2_control_package(settings, 'panda')
    for name in ('package.xml', 'panda_rbd_controller_plugins.xml'):
        ElementTree.fromstring(files[name])
    config = yaml.safe_load(files['config/controllers.yaml'])
    assert config['joint_trajectory_controller']['ros__parameters']['joints'] == JOINTS
    with pytest.raises(SettingError, match='prefix "_x"'):
        ros2_control_package(settings, '_x')
