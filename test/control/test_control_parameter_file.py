# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameter files: read as rcl reads them, judged with reasons, and made from a description."""

from pathlib import Path
import re

import pytest

from rbd_ros.control.parameters import template
from rbd_ros.control.parameters.example_file import config_text
from rbd_ros.control.parameters.rules import activation_refusals
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.parameters.template import CHOICES, Described, parameter_file
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.errors import SettingError

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed: source ROS 2 or use ./run')
from rbd_ros.control.parameters.file import check_file, read_file  # noqa: E402, I100

ROOT = Path(__file__).parents[2]
HEAD = '/**:\n  controller:\n    ros__parameters:\n'
ROBOT = Described('arm', ('shoulder', 'elbow', 'y'), (87.0, 40.0, 12.0), (2.0, 2.0, 3.0), 'tool0',
                  'arm.urdf', 500.0)
ANSWERS = {'driver_adds': 'none', 'release_torque': 'gravity', 'effort_is_torque': 'true'}


def checked(folder, text, node='/controller'):
    """Return what a text gives to a node."""
    file = folder / 'my.yaml'
    file.write_text(text)
    return check_file(str(file), node)


@pytest.mark.parametrize('text, word', [
    ('', 'is empty; start with the node name:\n/\\*\\*:\n  controller:'),
    ('- a\n- b\n', 'is not a mapping'),
    ('controller:\n  driver_adds: none\n', 'has no "ros__parameters": parameters go below'),
    (HEAD.replace('controller', 'my_arm') + '      mode: hold\n',
     'has parameters for "/\\*\\*/my_arm", but none for "/controller": name the node '),
    (HEAD + '\tmode: hold\n', 'line 4 has a tab: indent YAML with spaces'),
    (HEAD + '      mode: hold\n\tdamping: [1.0]\n', 'line 5 has a tab'),
    (HEAD + '      mode: [hold\n', 'is not valid YAML'),
    (HEAD + '      mode: hold\n   damping: [1.0]\n', 'line 5 is not valid YAML'),
    (HEAD + '      - mode\n', 'line 4: "ros__parameters" needs parameters'),
    (HEAD + '      task.axes: [rx, y]\n',
     'line 4: task.axes mixes types: YAML reads a bare y as true; write "y" in quotes, or ty'),
    (HEAD + '      task.axes: [y]\n', 'line 4: task.axes must contain strings: YAML reads a'),
    (HEAD + '      task: {axes: [x, y]}\n', 'task.axes mixes types: YAML reads a bare y'),
    (HEAD + '      joints: [one, off]\n', 'bare off as false; write "off" in quotes$'),
    (HEAD + '      stiffness: [1, 2.5]\n',
     'stiffness mixes types: write every number with a decimal point, 1.0 for 1'),
    (HEAD + '      stiffness: [1.0, one]\n', 'a list must contain numbers or strings, not both'),
    (HEAD + '      stiffness: [[1.0]]\n', 'stiffness is a list of lists'),
    (HEAD + '      mode: hold\n      nominal_rate: 500\n',
     'line 5: nominal_rate must be of type double: write numbers .* 500.0 for 500'),
    (HEAD + '      stiffness: [100, 100]\n', 'stiffness must be .* 100.0 for 100'),
    (HEAD + '      stiffness: 100.0\n', r'stiffness is a list: write \[100.0\] for all joints'),
    (HEAD + '      realtime.cores: 3\n', r'realtime.cores is a list: write \[3\]'),
    (HEAD + '      realtime.cores: [3.0]\n', 'realtime.cores must be of type integer_array, got'),
    (HEAD + '      torqe_limits: [1.0]\n', 'torqe_limits does not exist; did you mean "torque_l'),
    (HEAD + '      mode: dance\n', "mode must be one of .*, got 'dance'"),
    (HEAD + '      hold_time: 9.0\n', 'hold_time = 9 s is outside'),
    (HEAD + '      minimum_rate: 2000.0\n', 'minimum_rate 2000 Hz is above nominal_rate'),
    (HEAD + '      autostart: "true"\n',
     "autostart must be true or false, without quotes; got 'true'"),
])
def test_refused(tmp_path, text, word):
    """Each mistake is reported in one paragraph that names file, place and what to write."""
    with pytest.raises(SettingError) as caught:
        checked(tmp_path, text)
    assert re.search(word, str(caught.value)), caught.value
    assert str(caught.value).startswith(f'params_file "{tmp_path / "my.yaml"}"')


def test_all_mistakes_at_once(tmp_path):
    """Mistakes in several lines are reported together."""
    with pytest.raises(SettingError) as caught:
        checked(tmp_path, HEAD + '      mode: dance\n      nominal_rate: 5\n      x: 1\n')
    assert [f'line {n}: ' in str(caught.value) for n in (4, 5, 6)] == [True] * 3


def test_missing_file():
    """A file that is not there is named."""
    with pytest.raises(SettingError, match='params_file "/no/such.yaml" does not exist'):
        read_file('/no/such.yaml', '/controller')


@pytest.mark.parametrize('name, node, mine', [
    ('/**', '/controller', True), ('/**', '/a/b/controller', True),
    ('controller', '/controller', True), ('/controller', '/controller', True),
    ('controller', '/left/controller', False), ('/left/controller', '/left/controller', True),
    ('/*/controller', '/left/controller', True), ('/*/controller', '/controller', False),
    ('/**/controller', '/controller', True), ('/**/controller', '/a/b/controller', True),
    ('/left/**', '/left/a/controller', True), ('/**/simulator', '/controller', False),
    ('/**/controllers', '/controller', False)])
def test_names_of_nodes(tmp_path, name, node, mine):
    """Wildcards mean what they mean to rcl, in one word or nested."""
    file = tmp_path / 'names.yaml'
    parts = [part for part in name.split('/') if part]
    nested = ''.join(f'{"  " * k}{"/" if "*" in part else ""}{part}:\n'
                     for k, part in enumerate(parts))
    for text in (f'{name}:\n  ros__parameters:\n    mode: hold\n',
                 f'{nested}{"  " * len(parts)}ros__parameters:\n'
                 f'{"  " * len(parts)}  mode: hold\n'):
        file.write_text(text)
        if mine:
            assert check_file(str(file), node) == {'mode': 'hold'}
        else:
            with pytest.raises(SettingError, match='but none for'):
                check_file(str(file), node)


def test_others_may_share_a_section(tmp_path):
    """An unknown name below a wildcard belongs to another node; QoS and clock are everybody's."""
    text = '/**:\n  ros__parameters:\n    frame: odom\n    mode: hold\n'
    assert checked(tmp_path, text)['mode'] == 'hold'
    text = HEAD + '      use_sim_time: true\n      qos_overrides: {/a: {depth: 1}}\n'
    assert checked(tmp_path, text)['use_sim_time'] is True


@pytest.mark.parametrize('name', ['controller', 'simulated', 'panda', 'ur_effort', 'ros2_control'])
def test_our_own_files_pass(name):
    """Every file of config/ passes, in any namespace."""
    for node in ('/controller', '/left/controller'):
        given = check_file(str(ROOT / 'config' / f'{name}.yaml'), node)
        assert activation_refusals(defaults() | given) == []


# -- files that are made -------------------------------------------------------------------------

def test_a_made_file_leaves_the_choices_open(tmp_path):
    """Without answers it can be read, gives no choice, and the controller refuses it."""
    given = checked(tmp_path, parameter_file(ROBOT))
    assert not set(CHOICES) & set(given)
    assert 'driver_adds must be given' in activation_refusals(defaults() | given)[0]
    assert given['joints'] == ['shoulder', 'elbow', 'y']
    assert given['torque_limits'] == [87.0, 40.0, 12.0]
    assert given['torque_rate_limits'] == [870.0, 400.0, 120.0]
    assert given['velocity_limits'] == [2.0, 2.0, 3.0]
    assert given['autostart'] is False
    assert 'recover_lost_state' not in given


@pytest.mark.parametrize('answers', [
    ANSWERS, {**ANSWERS, 'driver_adds': 'gravity', 'effort_is_torque': 'false'},
    {**ANSWERS, 'release_torque': 'zero'}])
def test_a_made_file_with_answers_is_complete(tmp_path, answers):
    """Answered on the command line, or by taking one # away, it passes every judgement."""
    text = parameter_file(ROBOT, choices=answers)
    by_hand = parameter_file(ROBOT)
    for name, answer in answers.items():
        by_hand = re.sub(rf'# ({name}: {answer} )', r'\1', by_hand)
    for each in (text, by_hand):
        given = checked(tmp_path, each)
        assert given['driver_adds'] == answers['driver_adds']
        assert given['effort_is_torque'] is (answers['effort_is_torque'] == 'true')
        assert refusals(defaults() | given, joints=3) == []
        assert activation_refusals(defaults() | given) == []


@pytest.mark.parametrize('rate', [10.0, 125.0, 1000.0, 4000.0])
def test_rates_of_a_made_file(tmp_path, rate):
    """Limits of age and rate follow the rate of the driver and pass the rules."""
    given = checked(tmp_path, parameter_file(ROBOT._replace(rate=rate), choices=ANSWERS))
    assert given['nominal_rate'] == rate and given['minimum_rate'] == 0.5 * rate
    assert given['state_timeout'] >= 2.0 / rate


def test_rate_that_nobody_names_is_500_hz(tmp_path):
    """A file made from a description alone is for a driver of the usual rate."""
    urdf = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
    given = checked(tmp_path, config_text(urdf, 'arm.urdf', choices=ANSWERS))
    assert given['nominal_rate'] == 500.0


def test_limits_that_are_not_described(tmp_path):
    """A limit that the description lacks is left open and named."""
    text = parameter_file(ROBOT._replace(effort=(87.0, 0.0, float('inf'))))
    assert '# torque_limits: [87.0, ?, ?]' in text
    assert 'none for elbow, y' in ' '.join(text.replace('#', '').split())
    assert 'torque_limits' not in checked(tmp_path, text)


def test_doubts_about_the_description_stand_in_the_file(tmp_path):
    """What the loader finds doubtful is told at the head, and nothing where there is no doubt."""
    urdf = (ROOT / 'urdf' / 'seven_joint_arm.urdf').read_text()
    assert 'rbd check' not in config_text(urdf, 'arm.urdf')
    text = config_text(urdf.replace('effort="', 'effort="0" was="'), 'arm.urdf', choices=ANSWERS)
    head = ' '.join(text.partition('/**:')[0].replace('#', '').split())
    assert '"rbd check" says what to do:' in head and 'effort limit is zero' in head
    assert checked(tmp_path, text)['joints'] == [f'joint_{k}' for k in range(1, 8)]


def test_names_are_quoted_alike():
    """One short name, which YAML might take for something else, puts all into quotes."""
    assert 'joints: ["shoulder", "elbow", "y"]' in parameter_file(ROBOT)
    long = ROBOT._replace(joints=('shoulder', 'elbow_1', 'wrist_1'))
    assert 'joints: [shoulder, elbow_1, wrist_1]' in parameter_file(long)


def test_wrong_answers_are_refused():
    """An answer or a rate that does not exist is named."""
    with pytest.raises(SettingError, match='driver_adds must be one of none, gravity'):
        parameter_file(ROBOT, choices={'driver_adds': 'all'})
    with pytest.raises(SettingError, match='nominal_rate = 9 Hz is outside'):
        parameter_file(ROBOT._replace(rate=9))


def test_lines_fit_a_screen():
    """No line of a made file is longer than the lines of the project."""
    assert max(map(len, parameter_file(ROBOT).splitlines())) < 100
    for count in range(60, 90):                                  # words stay whole
        assert '-\n' not in template._comment('x' * count + ' dead-man')


def test_defaults_in_comments_are_those_of_the_table():
    """Whoever takes the mark of a comment away has the default, as ROS reads it."""
    text, whole = (parameter_file(ROBOT, everything=each) for each in (False, True))
    assert whole.startswith(text)
    found = dict(re.findall(r'^ +# ([a-z_.]+): (.+)$', whole[len(text):], re.M))
    others = {name: value for name, value in found.items() if name in defaults()}
    assert len(others) > 50
    for name, value in others.items():
        default = defaults()[name]
        if default == []:
            assert value == '[...]'                 # ROS takes no empty list
        elif isinstance(default, str):
            assert value == f"'{default}'"
        else:
            read = yaml.safe_load(value)
            assert read == default and type(read) is type(default)
            assert value not in ('True', 'False')       # YAML 1.2 has them in small letters
