# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the controller says about a start that cannot be made, or not as it was asked for."""

from pathlib import Path

from controller_rig import Arm
import pytest

from rbd_ros import load_urdf
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.laws.notices import designed, notices
from rbd_ros.control.parameters.assembly import (
    build_robot, build_settings, compile_kernels, describe_end, describe_output)
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.control.texts import missing_states
from rbd_ros.errors import ModelError, SettingError

ROOT = Path(__file__).parents[2]
ARM = (ROOT / 'urdf' / 'seven_joint_arm.urdf').read_text()


def values(**changes):
    """Return a complete set of values with some changed; __ stands for a dot."""
    return defaults() | {'driver_adds': 'none'} | {
        name.replace('__', '.'): value for name, value in changes.items()}


def without(attribute):
    """Return the arm with an attribute taken out of the limits of all joints but the third."""
    parts = ARM.split('<limit ')
    return '<limit '.join([parts[0], *(
        part if k == 2 else part.replace(f' {attribute}="', ' was_it="', 1)
        for k, part in enumerate(parts[1:]))])


def configured(text, **changes):
    """Return the settings as the node makes them."""
    given = values(**changes)
    return build_settings(build_robot(given, text, lambda _: None), given, simulated=False)


# -- limits -------------------------------------------------------------------------------------

def test_missing_effort_names_every_joint():
    """One refusal names all joints without an effort limit, and both ways to give it."""
    with pytest.raises(SettingError) as caught:
        configured(without('effort'))
    assert str(caught.value) == (
        'no torque limit of joint_1, joint_2, joint_4, joint_5, joint_6, joint_7: give effort in '
        '<limit> of the URDF, or torque_limits')
    with pytest.raises(ModelError, match='"joint_1" .*"joint_2" .*"joint_4"'):
        load_urdf(without('effort'))


def test_torque_limits_stand_in_for_missing_effort():
    """With torque_limits the description needs no effort."""
    limits = [80.0, 80.0, 60.0, 60.0, 40.0, 20.0, 10.0]
    settings = configured(without('effort'), torque_limits=limits)
    assert settings.torque_limits.tolist() == limits


def test_missing_velocity_is_told():
    """A joint without a velocity limit is used, and it is said that nobody watches its speed."""
    told = 'the speed of joint_1, joint_2, joint_4, joint_5, joint_6, joint_7 is not supervised'
    assert any(text.startswith(told) for text in notices(configured(without('velocity'))))
    given = configured(without('velocity'), velocity_limits=[2.0])
    assert not any('not supervised' in text for text in notices(given))


# -- notices ------------------------------------------------------------------------------------

#: a loop that carries little damping
SLOW = {'nominal_rate': 20.0, 'minimum_rate': 5.0, 'state_timeout': 0.3, 'stop_time': 0.5}


def test_nothing_is_said_about_defaults():
    """A default that the loop cannot carry is reduced without a word."""
    settings = configured(ARM, **SLOW)
    assert (designed(settings).brake_damping < settings.joints('brake_damping')).any()
    assert notices(settings) == []


def test_the_demonstration_starts_without_notices():
    """The parameters of the built-in arm ask for nothing that is not done."""
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    content = yaml.safe_load((ROOT / 'config' / 'controller.yaml').read_text())
    given = values() | content['/**']['controller']['ros__parameters']
    assert notices(Settings(make_robot(load_urdf(ARM)), given, simulated=False)) == []


def test_less_than_asked_for_is_said():
    """A damping that somebody chose and the loop cannot carry is reported with both numbers."""
    settings = configured(ARM, **SLOW, brake_damping=[6.0])
    assert len(notices(settings)) == 1
    assert notices(settings)[0].startswith('brake_damping is reduced')
    assert ' N.m.s/rad instead of 6 N.m.s/rad' in notices(settings)[0]


# -- states that do not come --------------------------------------------------------------------

def test_without_publisher_the_topic_is_named():
    """Where nobody publishes, the topic is named, and nothing is said about single joints."""
    text = missing_states('joint_1, joint_2: in no message so far', topic='/left/joint_states',
                          publishers=0)
    assert text.startswith('nobody publishes /left/joint_states (sensor_msgs/msg/JointState)')
    assert 'joint_states:=' in text and 'fixed_positions' not in text


def test_fixed_positions_are_advised_only_for_joints_that_are_not_controlled():
    """A controlled joint cannot be fixed; one that is not controlled can."""
    joints = [f'joint_{k}' for k in range(1, 8)]
    for controlled, others in ((joints[:6], joints[6:]), (joints, [])):
        arm = Arm(joints=controlled)
        arm.tick()
        assert arm.controller.missing_prescribed() == others
        text = missing_states(arm.controller.missing_states(), topic='/joint_states',
                              publishers=1, not_controlled=others)
        assert 'joint_7: in no message so far (topic /joint_states)' in text
        assert ('joint_7: not controlled' in text) is bool(others)
        assert ('fixed_positions' in text) is bool(others)


# -- directions ---------------------------------------------------------------------------------

def test_directions_have_names_that_yaml_leaves_alone():
    """All of tx ty tz, and x y z for them, choose the same directions of the kernels."""
    for names in (['rx', 'ty'], ['rx', 'y']):
        settings = configured(ARM, task__axes=names)
        assert settings.task_axes == ['rx', 'y']
        assert set(settings.task_axes) <= set(AXES)
    assert configured(ARM).task_axes == list(AXES)
    # the axes of other tests: what they compile is found on disk
    kernel = compile_kernels(configured(ARM, task__axes=['tx', 'ty', 'tz']))['report']
    assert kernel.outputs['Lambda'].shape == (3, 3)
    assert Arm().settings().task_axes == list(AXES)


@pytest.mark.parametrize(('values', 'output', 'end'), [
    ({'driver_adds': 'none', 'release_torque': 'zero'}, 'sends the total torque on /c (',
     'to zero torque: without brakes that close, the robot falls'),
    ({'driver_adds': 'none', 'release_torque': 'gravity'}, 'sends the total torque on /c (',
     'to the last gravity torque, which the driver must hold'),
    ({'driver_adds': 'gravity', 'driver_knows_payload': True},
     'payload known to the driver; limits', 'to what the driver adds by itself'),
    ({'driver_adds': 'gravity_and_coriolis'}, 'payload unknown to the driver; limits',
     'to what the driver adds by itself')])
def test_what_is_sent_and_what_remains_is_said(values, output, end):
    """A wrong assumption about either drops the arm."""
    settings = Arm().settings(**values)
    text = describe_output(settings, '/c')
    assert output in text and ('payload' in text) is (values['driver_adds'] != 'none')
    assert f'joint_1 {settings.torque_limits[0]:g} N.m, joint_2' in text
    text = describe_end(settings)
    assert end in text and 'brakes for 0.5 s, then ramps within 0.5 s' in text
