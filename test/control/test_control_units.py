# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every number that the controller says has its unit, for joints that turn and that slide."""

from pathlib import Path
import re

import pytest

from rbd_ros import load_urdf
from rbd_ros.command_line.ros2_control.sentence_tables import sentence_rows
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.entries import EntryWord
from rbd_ros.control.interface.sentences import JointName, Sentence
from rbd_ros.control.interface.words import (
    FlowWord, LoadWord, PointWord, ReferenceWord, TABLES)
from rbd_ros.control.laws.notices import notices
from rbd_ros.control.parameters.assembly import compile_kernels, describe_output
from rbd_ros.control.parameters.early_rules import gain_reasons
from rbd_ros.control.parameters.rule_texts import rule_texts
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.control.texts import likely_causes

ARM = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
TURNS, SLIDES = 0, 1  # places of joint_1 and joint_2

NUMBER = r'(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)'
UNIT = (r'\(?(?:(?:rad|m|N\.m|N)(?:/s(?:\^2)?)?|s|ms|Hz|kg|kg\.m\^2|N\.m(?:\.s)?/rad|N(?:\.s)?/m|'
        r'1/s(?:\^[23])?|%)'
        r'(?![\w^/]|\.\w)')
#: a number with its unit, or some of them that share one: [1, 2] m, 1, 2 and 3 kg.m^2, 1 to 2 ms
MEASURED = re.compile(rf'{NUMBER}(?:(?:, | and | to ){NUMBER})*\]? {UNIT}')
#: what is counted, and what has no dimension
PLAIN = re.compile(
    rf'{NUMBER} (?:degrees|positions|velocities|accelerations|efforts|names|references|pieces|'
    rf'joints|other kinds|of {NUMBER} pieces|of its usual size)|(?:point|length|loop_pivot) '
    rf'{NUMBER}|, '
    'not 1$')

WORDS = [word for table in TABLES if table is not FlowWord for word in table]
#: sentences that need more than their numbers, or whose joint is no joint
ELSEWHERE = (
    ReferenceWord.STOPPED, ReferenceWord.MODE_CHANGED, LoadWord.START_POSITIONS,
    LoadWord.START_MISMATCH, LoadWord.GAINS_FOR_DELAY, LoadWord.LOOP_OPEN, LoadWord.LOOP_LOST,
    LoadWord.LOOP_SINGULAR)

#: a value as it is written into a parameter file
LINE_OF_A_FILE = re.compile(r'^[a-z_.]+: \[.*\]$')


def without_units(text: str) -> list[str]:
    """Return the numbers of a text that have none."""
    text = LINE_OF_A_FILE.sub('', text)
    left = PLAIN.sub('', MEASURED.sub('', text))
    return re.findall(NUMBER, left)


def settings(**values: object) -> Settings:
    """Return the settings of an arm whose second joint slides."""
    model = load_urdf(ARM.replace('name="joint_2" type="revolute"',
                                  'name="joint_2" type="prismatic"'))
    return Settings(make_robot(model), defaults() | {'driver_adds': 'none'} | values,
                    simulated=False)


@pytest.fixture(scope='module')
def controller() -> Controller:
    """Return a controller of this arm."""
    given = settings()
    assert given.robot.units[:3] == ['rad', 'm', 'rad']
    return Controller(given, compile_kernels(given), lambda torque: None)


def said(controller: Controller, word: int, joint: int, numbers: tuple[float, ...]) -> str:
    """Return what the controller says to a word, wherever it says it."""
    name = controller.settings.robot.spoken()[joint]
    if word in (*PointWord, ReferenceWord.OFF_PATH, ReferenceWord.OFF_GOAL):
        return word.text(name, *numbers)
    return controller.speaker.text(word, joint, *numbers)


@pytest.mark.parametrize('numbers', [(1.25, 2.5, 0.0), (-0.5, 1e-7, 1.0), (3.0, 4.0, 2.0)])
@pytest.mark.parametrize('joint', [TURNS, SLIDES])
def test_every_number_has_its_unit(controller, joint, numbers):
    """Rad for a joint that turns and m for one that slides, in every sentence of the step."""
    controller.speaker.refused = ''
    own, other = (('rad', 'm'), ('m', 'rad'))[joint]
    effort = {'rad': 'N.m', 'm': 'N'}
    told = 0
    for word in WORDS:
        if word in ELSEWHERE:
            continue
        text = said(controller, word, joint, numbers)
        assert without_units(text) == [], f'{word!r}: {text}'
        assert '(rad or m)' not in text and '(N.m or N)' not in text, f'{word!r}: {text}'
        if f'joint_{joint + 1}' in text:
            assert not re.search(rf'\d {other}\b(?!/s\^2 does not match)', text), text
            assert not re.search(rf'joint_\d feels \S+ {effort[other]}[, ]', text), text
            told += bool(re.search(rf'\d\]? {own}\b', text))
    assert told > 12  # sentences about a joint


def test_loops_and_starts_have_units(controller):
    """A row of a loop may be an angle or a length; a start check lists all wrong joints."""
    for word in (LoadWord.LOOP_OPEN, LoadWord.LOOP_LOST, LoadWord.LOOP_SINGULAR):
        text = word.text('loop', 0.25, 0.5, 0.0).replace('(pivot ', '(')
        assert without_units(text) == [], text
    start = controller.x.start
    start.q[:] = 50.0
    start.effort[:], start.predicted[:] = 500.0, -500.0
    for word, units in ((LoadWord.START_POSITIONS, ('rad', 'm')),
                        (LoadWord.START_MISMATCH, ('N.m', 'N'))):
        text = controller.speaker.text(word, TURNS, 1.0, 2.0, 0.0)
        assert without_units(text) == [], text
        for joint, unit in enumerate(units):
            found = re.search(rf'joint_{joint + 1}(?: is at|: measured) -?[\d.]+ (\S+?),', text)
            assert found[1] == unit, text


def test_notices_have_units():
    """What was asked for and is reduced, and what is sent; dampers of slides in N.s/m."""
    given = settings(nominal_rate=50.0, minimum_rate=10.0, brake_damping=[5000.0],
                     free_damping=[5000.0], brake_rate=500.0,
                     **{'barrier.margin': [5.0], 'state_timeout': 0.1})
    told = [*notices(given), describe_output(given, '/c'), likely_causes(given)]
    assert len(told) > 4
    for text in told:
        assert without_units(text) == [], text
    text = next(each for each in told if each.startswith('brake_damping'))
    assert re.search(r'joint_1 \S+ N\.m\.s/rad instead of 5e\+03 N\.m\.s/rad, '
                     r'joint_2 \S+ N\.s/m instead of 5e\+03 N\.s/m', text), text


@pytest.mark.parametrize('values', [
    {'stiffness': [1e5]}, {'damping': [5e3]}, {'integral': [5e3]}, {'torque_rate_limits': [1.0]},
    {'mode': 'joint_impedance', 'joint_impedance.stiffness': [1e6]},
    {'mode': 'joint_impedance', 'joint_impedance.damping': [1e4]},
    {'command_type': 'motor_array', 'motor.stiffness': [1e4], 'motor.timeout': 0.05},
    {'command_type': 'motor_array', 'motor.damping': [1e3], 'motor.timeout': 0.05},
    {'command_type': 'motor_array', 'motor.damping': [1.0], 'motor.timeout': 0.05,
     'motor.blind_damping': [1e3]}], ids=lambda values: list(values)[-1])
def test_refused_parameters_have_units(values):
    """What is refused, and the largest that is accepted."""
    given = settings(**values)
    told = [*gain_reasons(given.values), *given.refusals()]
    assert told
    for text in told:
        assert without_units(text) == [], text
        assert 'rad or' not in text, text
        if 'joint_2' in text:  # it slides
            assert 'N.m' not in text and 'rad' not in text, text


def test_the_plugin_says_the_same(controller):
    """Every place of a number in its tables has a unit behind it, too."""
    names = JointName('turn', 'rad'), JointName('slide', 'm')
    rows = re.findall(r'{(\d+), RBD_\w+, "(.*)"}', '\n'.join(sentence_rows(controller)))
    words = {word for table in (*TABLES, EntryWord) for word in table}
    assert {int(word) for word, _ in rows} == words | set(rule_texts(controller.settings.values))
    for word, pattern in rows:
        if int(word) == LoadWord.LOOP_SINGULAR:
            pattern = pattern.replace('(pivot ', '(')
        if int(word) in set(EntryWord):
            continue  # its bounds have the unit of the number
        pattern = re.sub(r'{c\|\|\. .*}', '', pattern.replace('\\"', '"'))
        for name in names:
            text = Sentence(pattern)(name, 1.5, 2.5, 1.0)
            assert without_units(text) == [], f'{word}: {text}'


@pytest.mark.parametrize('text', [
    'joint_2: velocity -2.236 beyond 2.2', 'a: velocity 2 rad/s beyond 1', 'moved 0.5 within 3 s',
    'it is at 1.5, far outside', 'threshold 3; 4 N', 'moves at 3.2 per s'])
def test_a_number_without_a_unit_is_found(text):
    """The check itself fails where a unit is missing."""
    assert without_units(text)
