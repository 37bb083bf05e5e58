# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The example files of config/ and the document of the controller know every parameter."""

import math
from pathlib import Path

import numpy as np
import pytest
from rbd_ros.control.parameters.rules import activation_refusals
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.control.robot import make_robot
from rbd_ros.errors import SettingError
from rbd_ros.model.urdf import load_urdf
from rbd_ros.sim import SETTINGS, Settings
from rbd_ros.sim.setting_table import default_values

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed: source ROS 2 or use ./run')
ROOT = Path(__file__).parents[2]
FILES = ('controller.yaml', 'simulated.yaml', 'panda.yaml', 'ur_effort.yaml', 'ros2_control.yaml',
         'delta.yaml')


@pytest.mark.parametrize('name', FILES)
def test_examples_are_valid(name):
    """Every example has known parameters whose set is accepted, with all that has no default."""
    content = yaml.safe_load((ROOT / 'config' / name).read_text())
    values = content['/**']['controller']['ros__parameters']
    assert not set(values) - set(PARAMETERS)
    assert refusals(values, joints=len(values.get('joints', [])) or 7) == []
    assert activation_refusals(defaults() | values) == []


def section(name, node):
    """Return the parameters of a node in an example."""
    return yaml.safe_load((ROOT / 'config' / name).read_text())['/**'][node]['ros__parameters']


@pytest.mark.parametrize('name', ['panda.yaml', 'ros2_control.yaml'])
def test_spawner_finds_the_effort_controller(name):
    """What the spawner of ros2_control looks for is in the file, with our order of joints."""
    services = pytest.importorskip('controller_manager.controller_manager_services',
                                   reason='ros2_control is not installed')
    wanted = {'type': 'forward_command_controller/ForwardCommandController',
              'joints': section(name, 'controller')['joints'], 'interface_name': 'effort'}
    for parameter, value in wanted.items():
        assert services.get_parameter_from_param_files(
            None, 'effort_controller', '/', [str(ROOT / 'config' / name)], parameter) == value


def test_examples_follow_their_drivers():
    """What the drivers' own documents say, where an example got it wrong before."""
    assert section('ros2_control.yaml', 'controller_manager')['enforce_command_limits'] is False
    franka, ur = section('panda.yaml', 'controller'), section('ur_effort.yaml', 'controller')
    assert franka['joints'] == [f'fr3_joint{k}' for k in range(1, 8)]
    assert franka['driver_adds'] == ur['driver_adds'] == 'gravity'
    assert franka['effort_is_torque'] is True  # link side, with gravity
    assert ur['effort_is_torque'] is False  # currents, or torques without gravity
    assert max(franka['torque_rate_limits']) < 1000.0
    for name in ('ros2_control.yaml', 'panda.yaml', 'ur_effort.yaml'):
        head = (ROOT / 'config' / name).read_text().partition('/**:')[0]
        assert 'Checked against' in head and 'lifecycle set' in head
        assert section(name, 'controller').get('autostart', False) is False
        assert 'recover_lost_state' not in section(name, 'controller')


def rows(name):
    """Return the table of parameters in a document, cell by cell."""
    lines = (ROOT / 'docs' / name).read_text().partition('## Parameters')[2].splitlines()
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines
            if line.startswith('| `')]


def cell(value):
    """Return a default as the documents write it."""
    text = str(value).lower() if isinstance(value, bool) else value
    return 'none' if value in ('', [], None) else f'`{text}`'


def span(row):
    """Return the choices or bounds of a parameter as the documents write them."""
    if row.choices:
        return ', '.join(f'`{choice}`' for choice in row.choices)
    return f'{row.lower:g} to {row.upper:g}' if math.isfinite(row.upper - row.lower) else ''


def test_document_of_the_controller():
    """docs/controller_reference.md describes every parameter once, in the words of the node."""
    wanted = [[f'`{row.name}`' + ' (S)' * row.structural, row.kind,
               '**required**' if row.name in ('driver_adds', 'release_torque')
               else cell(row.default), row.unit,
               span(row), row.description] for row in PARAMETERS.values()]
    assert sorted(rows('controller_reference.md')) == sorted(wanted)


def test_document_of_the_simulator():
    """docs/simulator.md describes every parameter in the words of the node."""
    kinds = {'bool': 'bool', 'int': 'integer', 'float': 'double', 'str': 'string',
             'floats': 'double_array', 'strs': 'string_array'}
    wanted = [[f'`{row.name}`' + ' (S)' * row.fixed, kinds[row.kind], cell(row.default),
               span(row), row.description] for row in SETTINGS.values()]
    assert rows('simulator.md') == wanted


def test_every_robot_of_the_package_can_be_launched():
    """Of one with closed loops, a file says which joints are driven and how it is assembled."""
    values, simulated = section('delta.yaml', 'controller'), section('delta.yaml', 'simulator')
    model = load_urdf(ROOT / 'urdf' / 'delta.urdf')
    near = dict(zip(values['assembly.joints'], values['assembly.values'], strict=True))
    robot = make_robot(model, values['joints'], tip=values['task.frame'], assembly=near)
    assert simulated['joints'] == values['joints'] == list(robot.joints)
    driven = [robot.assembly[k] for k in robot.index]
    assert driven == pytest.approx(simulated['initial_positions'], abs=1e-9)
    start = Settings(default_values() | simulated).initial_positions(model, np.zeros(model.nq))
    assert np.abs(start - robot.assembly).max() < 0.01  # near enough to be closed
    with pytest.raises(SettingError, match='has 7 names, assembly.values 1 numbers'):
        Settings(default_values() | simulated | {'assembly.values': [1.0]}).initial_positions(
            model, np.zeros(model.nq))
    assert len(robot.assembly) == model.nq and not robot.passive  # the others are solved


@pytest.mark.parametrize('name', ['simulator.yaml', 'delta.yaml', 'legged/go2.yaml'])
def test_simulator_example_is_valid(name):
    """The parameters of the simulated arm are known, and accepted as a set."""
    content = yaml.safe_load((ROOT / 'config' / name).read_text())
    values = content['/**']['simulator']['ros__parameters']
    assert not set(values) - set(SETTINGS)
    Settings(values)
