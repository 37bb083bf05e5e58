# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The table of the simulator's parameters, and what a set of values makes of a robot."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.errors import SettingError, UnknownName
from rbd_ros.sim import (
    Imperfections, Physics, Schedule, SETTINGS, Settings, SimulatedRobot, Surface)

HERE = Path(__file__).parents[1]
ARM = HERE.parent / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def model():
    """Return the built-in arm."""
    return load_urdf(ARM)


def test_every_setting_is_described_and_its_default_allowed():
    """Each row has a type, a sentence, and a default within its own bounds."""
    for name, setting in SETTINGS.items():
        assert setting.name == name and len(setting.description) > 5
        assert setting.kind in ('bool', 'int', 'float', 'str', 'floats', 'strs')
        setting.check(setting.default)
        if setting.kind in ('int', 'float', 'floats'):
            assert np.isfinite([setting.lower, setting.upper]).all(), name


def test_defaults_are_the_description(model):
    """Without values the robot has the friction, limits and stops of its description."""
    settings = Settings({})
    physics = settings.physics(model)
    assert physics.friction == pytest.approx(model.friction)
    assert physics.effort_limit == pytest.approx(model.effort_limit)
    assert settings.joints(model) == model.joint_names
    assert settings.model(model) == model


def test_defaults_of_the_table_are_those_of_the_library(model):
    """The node starts as the classes do, but for the rate and the steps of a period."""
    settings, none = Settings({}), [0.0]
    assert settings.schedule() == Schedule(period_ns=2_000_000, substeps=2)
    assert settings.imperfections() == Imperfections(none, none, none, none)
    empty = {name: [] for name in ('position_noise', 'velocity_noise', 'effort_noise',
                                   'position_resolution')}
    assert Settings(empty).imperfections() == settings.imperfections()
    given, own = settings.physics(model), Physics.of(model)
    for name in ('restitution', 'mass_scale', 'integrator'):
        assert getattr(given, name) == getattr(own, name)
    surface = {f.name: settings.number(f'contact_{f.name}') for f in fields(Surface)}
    assert Surface(**surface) == Surface()


def test_values_apply_to_commanded_joints(model):
    """A list belongs to the joints that take commands, in their order; the others keep theirs."""
    names = model.joint_names
    settings = Settings({'joints': [names[3], names[1]], 'friction': [7.0, 8.0],
                         'rotor_inertia': [0.5], 'gravity': [0.0, 9.81, 0.0]})
    physics, changed = settings.physics(model), settings.model(model)
    assert physics.friction[[3, 1]].tolist() == [7.0, 8.0]
    assert physics.friction[0] == model.friction[0]
    assert [changed.rotor_inertia[k] for k in (3, 1, 0)] == [0.5, 0.5, model.rotor_inertia[0]]
    assert changed.gravity == (0.0, 9.81, 0.0)


def test_initial_position_is_within_the_stops():
    """Zero is moved to the nearest stop where it is beyond; a given position is not moved."""
    model = load_urdf(HERE / 'urdf' / 'gantry.urdf')
    neutral = np.zeros(model.nq)
    q = Settings({}).initial_positions(model, neutral)
    assert (q >= model.lower).all() and (q <= model.upper).all()
    joints = Settings({}).joints(model)
    given = [q[model.position_slice(name).start] for name in joints]
    given[0] = 0.5 * (max(model.lower[0], -1.0) + min(model.upper[0], 1.0))
    q = Settings({'initial_positions': given}).initial_positions(model, neutral)
    assert q[model.position_order(joints)].tolist() == given
    start = Settings({'initial_positions': given}).start_position(model, neutral, None)
    assert start.tolist() == q.tolist()             # a fixed base has no place of its own


def test_schedule(model):
    """The rate gives the period in whole nanoseconds."""
    assert Settings({'state_rate': 1000.0}).schedule().period_ns == 1_000_000
    assert Settings({'state_rate': 300.0}).schedule().period_ns == 3_333_333


def test_no_mimic_joint_takes_commands():
    """By default joints that follow others take no commands, and naming one is refused."""
    model = load_urdf(HERE / 'urdf' / 'mimic_gripper.urdf')
    assert 'right' not in Settings({}).joints(model)
    with pytest.raises(SettingError, match='joint "right" cannot take a command: it mimics'):
        Settings({'joints': ['right']}).joints(model)
    with pytest.raises(UnknownName, match='no joint "thumb"'):
        Settings({'joints': ['thumb']}).joints(model)
    assert SimulatedRobot(model).q.size == model.nq


@pytest.mark.parametrize('values, message', [
    ({'state_rate': 5000.0}, 'state_rate is 5000; it must be between 1 and 2000'),
    ({'integrator': 'euler'}, 'integrator is "euler"; it must be one of rk4, semi_implicit'),
    ({'friction': [-1.0]}, 'friction is -1; it must be between 0 and'),
    ({'position_noise': [float('nan')]}, 'position_noise is nan; it must be between'),
    ({'gravity': [0.0, -9.81]}, 'gravity has 2 entries; it needs x, y, z'),
    ({'lockstep': True}, 'lockstep needs command_type joint_state'),
    ({'lockstep': True, 'command_type': 'joint_state', 'brakes': False}, 'lockstep needs brakes'),
])
def test_bad_sets_are_refused(values, message):
    """A set that cannot be is refused as a whole, with the reason."""
    with pytest.raises(SettingError, match=message):
        Settings(values)


def test_bad_sets_for_a_robot(model):
    """What does not fit the robot is refused when the robot is known."""
    with pytest.raises(SettingError, match='friction has 2 entries; give one .* or 7'):
        Settings({'friction': [1.0, 2.0]}).physics(model)
    with pytest.raises(SettingError, match='initial_positions has 1 entries; 7 joints'):
        Settings({'initial_positions': [1.0]}).initial_positions(model, np.zeros(7))
    with pytest.raises(SettingError, match='puts joint "joint_2" at 3, beyond its stops -1.9'):
        Settings({'initial_positions': [0.0, 3.0, 0, 0, 0, 0, 0]}).initial_positions(
            model, np.zeros(7))
