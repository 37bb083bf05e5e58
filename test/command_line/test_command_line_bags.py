# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Commands that read recordings: ``rbd identify`` and ``rbd plot``."""

from __future__ import annotations

from pathlib import Path
import re
import shlex
import shutil
import subprocess
import sys

from command_rig import app, ARM, data, rbd
from controlled_arm import write_controlled
from linted import ROOT
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.control.modes import MODES
from rbd_ros.identification import bag as bags
from rbd_ros.robot_check import TESTS
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.lesson_file import write_lesson
from resting_arm import write_rests
from rosbags.rosbag2 import Writer
from sampling import some
from swaying_arm import swaying
import yaml

pytestmark = pytest.mark.slow

STORE = bags.typestore()
LIMIT = 120.0       # of joint_1 of the arm
#: Commands that talk to a robot; they are tried where one is.
ROBOT = ('record',)


@pytest.fixture(scope='module')
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of the arm swaying with a payload of 1.7 kg, without noise."""
    return swaying(tmp_path_factory.mktemp('bags') / 'motion', felt=1.0)


def test_identify_payload(motion: Path) -> None:
    """Mass and centre of mass come back; the message for the controller has them."""
    found = data('identify', motion, '--urdf', ARM, '--payload', 'tool0')
    assert found['mass'] == pytest.approx(1.7, abs=0.02)
    assert found['com'] == pytest.approx([0.03, -0.02, 0.1], abs=0.01)
    assert found['message']['inertia']['m'] == found['mass'] and found['excitation'] < 1e4
    text = rbd('identify', motion, '--urdf', ARM, '--payload', 'tool0')[0]
    assert 'Payload at tool0' in text and 'ros2 topic pub --once /controller/payload' in text


def test_efforts_of_torque_sensors_have_no_friction(tmp_path: Path) -> None:
    """With --effort joint the friction of the URDF is left out, which would pass for a load."""
    bag = swaying(tmp_path / 'felt', felt=0.0, second=0.0)
    command = ('identify', bag, '--urdf', ARM, '--payload', 'tool0')
    assert abs(data(*command)['mass'] - 1.7) > 0.02
    found = data(*command, '--effort', 'joint')
    assert found['mass'] == pytest.approx(1.7, abs=0.02)
    assert found['com'] == pytest.approx([0.03, -0.02, 0.1], abs=0.01)
    assert found['residual'] < 0.05


def test_identify_robot(motion: Path, tmp_path: Path) -> None:
    """The fitted robot explains the torques that the one of the URDF does not, and is heavier."""
    plot, better, params = (tmp_path / name for name in ('torque.svg', 'b.urdf', 'p.yaml'))
    found = data('identify', motion, '--urdf', ARM, '--plot', plot, '--write-urdf', better,
                 '--write-params', params)
    assert found['excitation'] < 1e4 and len(found['combinations']) == found['base_parameters']
    assert 'm of link_1' in found['never'] and plot.read_bytes().startswith(b'<?xml')
    carried = rbd_ros.load_urdf(better)
    assert carried.inertia[7].m == pytest.approx(found['parameters']['m of link_7'])
    assert 'friction.coulomb: [' in params.read_text()
    again = data('identify', motion, '--urdf', better, '--check', motion, '--friction', 'simple')
    assert max(again['residual_before'][1:4]) < 0.3 * max(found['residual_before'][1:4])
    before, after = np.array(found['residual_before']), np.array(found['residual_after'])
    assert (after[[1, 3, 5]] < 0.2 * before[[1, 3, 5]]).all()
    assert found['parameters']['m of link_7'] > 0.9        # of the URDF
    assert 'mass in URDF, kg' in rbd('identify', motion, '--urdf', ARM)[0]


def test_thresholds_of_contacts(motion: Path, tmp_path: Path) -> None:
    """Friction of the URDF comes back; what the payload does besides is in the thresholds."""
    out = tmp_path / 'contact.yaml'
    found = data('contact', motion, '--urdf', ARM, '--frame', 'tool0', '--out', out)
    assert found['joints'] == [f'joint_{k}' for k in range(1, 8)]
    values = found['parameters']
    assert (np.array(values['contact.torque']) > 0.0).all()
    written = yaml.safe_load(out.read_text())['/**']['controller']['ros__parameters']['contact']
    assert written['bandwidth'] == 60.0
    for name in ('torque', 'force', 'moment'):
        np.testing.assert_allclose(written[name], values[f'contact.{name}'], atol=1e-6)
    assert len(written['force']) == 3 and min(written['force'] + written['moment']) > 0.0
    assert 'Directions of tool0' in rbd('contact', motion, '--urdf', ARM, '--frame', 'tool0')[0]
    empty = swaying(tmp_path / 'empty', felt=1.0, mass=0.0)
    less = data('contact', empty, '--urdf', ARM)['parameters']
    assert 'contact.force' not in less
    model = rbd_ros.load_urdf(ARM)
    np.testing.assert_allclose(less['contact.viscous'], model.damping, atol=0.15)
    # the observer is late where dry friction changes its sign
    np.testing.assert_allclose(less['contact.coulomb'], model.friction, atol=0.25)
    assert less['contact.torque'][1] < 0.5 * values['contact.torque'][1]
    text = rbd('contact', motion, '--urdf', ARM, '--margin', '0.5', code=2)[1]
    assert 'must be 1 or more' in text


@pytest.fixture(scope='module')
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of a controller state: 0.02 rad behind, saturated for a quarter of the time."""
    folder = tmp_path_factory.mktemp('bags') / 'run'
    types = STORE.types
    point = types['trajectory_msgs/msg/JointTrajectoryPoint']
    other = types['trajectory_msgs/msg/MultiDOFJointTrajectoryPoint']
    time, span = (types[f'builtin_interfaces/msg/{name}'] for name in ('Time', 'Duration'))
    none = np.zeros(0)

    def values(positions: object = none, effort: object = none) -> object:
        return point(positions, none, none, effort, span(0, 0))
    with Writer(folder, version=9) as writer:
        kind = bags.CONTROLLER_STATE
        connection = writer.add_connection('/controller/controller_state', kind, typestore=STORE)
        for k in range(200):
            reference = np.array([np.sin(0.1 * k), 0.5])
            torque = np.array([LIMIT if k % 4 == 0 else 10.0, -3.0])
            state = types[kind](
                types['std_msgs/msg/Header'](time(k // 100, k % 100 * 10_000_000), ''),
                ['joint_1', 'joint_2'], values(reference), values(reference - [0.02, 0.0]),
                values(), values(effort=torque), [],
                *(other([], [], [], span(0, 0)) for _ in range(4)), 1.0)
            writer.write(connection, 10_000_000 * k, STORE.serialize_cdr(state, kind))
    return folder


@pytest.mark.sampled('formats', 1)
@pytest.mark.parametrize('ending, start', [
    ('png', b'\x89PNG'), ('html', b'<!doctype html>'), ('svg', b'<?xml')])
def test_plot(controlled: Path, tmp_path: Path, ending: str, start: bytes) -> None:
    """Errors and saturation are those of the run, and the picture is of the wanted kind."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    file = tmp_path / f'run.{ending}'
    found = data('plot', controlled, '--urdf', ARM, '--out', file)
    one, two = found['joints']
    assert one['rms_error'] == pytest.approx(0.02) and two['largest_error'] == 0.0
    assert (one['saturated'], two['saturated'], one['limit']) == (0.25, 0.0, LIMIT)
    assert found['seconds'] == pytest.approx(1.99) and one['largest_torque'] == LIMIT
    drawn = file.read_bytes()
    assert drawn.startswith(start)
    if ending == 'html':
        assert b'<svg' in drawn and b'joint_2' in drawn


def test_plot_of_joint_states(motion: Path, tmp_path: Path) -> None:
    """Joint states alone have no reference; without limits nobody knows what is saturated."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    text = rbd('plot', motion, '--out', tmp_path / 'run.png')[0]
    assert 'joint_7' in text and '%' not in text and '-' in text
    assert '0.0%' in rbd('plot', motion, '--out', tmp_path / 'run.png', '--urdf', ARM)[0]
    said = rbd('plot', motion, '--out', tmp_path / 'run.png', '--urdf', 'delta')[1]
    assert '"delta" has none of these joints' in said


def with_what_they_read(drawn: list[int], blocks: list[str]) -> list[str]:
    """Return blocks of commands in their order, with those that write what they read."""
    wanted = set(drawn)
    for k in reversed(range(len(blocks))):
        if k in wanted:
            read = set(re.split(r'[\s/]+', blocks[k]))
            wanted |= {j for j in range(k) if read & set(
                re.findall(r'(?:--out|>) (\S+)', blocks[j]))}
    return [blocks[k] for k in sorted(wanted)]


def test_commands_of_the_document(
    motion: Path, controlled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The commands of docs/command_line.md run, as a reader would type them; none is missing."""
    for name in ('matplotlib', 'viser', 'pinocchio'):
        pytest.importorskip(name, reason=f'{name} is not installed')
    if not (shutil.which('cmake') and shutil.which('cc')):
        pytest.skip('this machine has no cmake or no cc')
    shutil.copy(ARM, tmp_path / 'robot.urdf')
    shutil.copytree(motion, tmp_path / 'my_bag')
    shutil.copytree(controlled, tmp_path / 'my_run')
    write_controlled(tmp_path / 'my_run.mcap', next(iter(MODES)))
    write_rests(tmp_path / 'my_poses', 6)
    names = rbd_ros.load_urdf(ARM).independent_joint_names
    write_lesson(tmp_path / 'my_lesson.yaml', Lesson(names, tuple(
        Point((-0.1 * k,) * 7) for k in range(3))))
    monkeypatch.chdir(tmp_path)
    text = (ROOT / 'docs' / 'command_line.md').read_text()
    blocks = re.findall(r'```sh\n(.*?)```', text, re.DOTALL)
    drawn = some('examples', range(len(blocks)), 4)
    for line in ''.join(with_what_they_read(drawn, blocks)).splitlines():
        words, _, target = line.partition(' > ')
        name, *rest = shlex.split(words, comments=True)
        if name != 'rbd':
            subprocess.run([name, *rest], check=True, capture_output=True, timeout=patient(300))
            continue
        if rest[0] in ROBOT:
            rbd(rest[0], '--help')
            continue
        short = {'view': ['--seconds', '0.1'], 'doctor': ['--seconds', '0'],
                 'learn': ['--json']}
        # what the doctor finds is not the reader's fault
        told = rbd(*rest, *short.get(rest[0], []), code=None if rest[0] == 'doctor' else 0)[0]
        if target:
            assert told
            Path(target).write_text(told)
        for written in re.findall(r'--out (\S+)', line):
            assert Path(written).exists()
    assert {shlex.split(line)[1] for line in ''.join(blocks).splitlines()
            if line.startswith('rbd ')} == {
        each.name for each in (*app.registered_commands, *app.registered_groups)}


def test_the_document_has_every_test_of_check() -> None:
    """The table of ``rbd check`` is that of the code."""
    text = (ROOT / 'docs' / 'command_line.md').read_text().replace('`<limit>`', '<limit>')
    rows = re.findall(r'^\| `(\w+)` \| (error|warning) \| (.*) \|$', text, re.MULTILINE)
    assert rows == [(test.name, test.severity, test.question) for test in TESTS]


def test_bad_recordings(controlled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends with one line: no bag, no topic, a wrong ending, a missing package."""
    for words, text in (
            (('plot', tmp_path / 'none'), 'none does not exist; give the folder'),
            (('plot', tmp_path), 'has no metadata.yaml'),
            (('identify', tmp_path, '--urdf', ARM), 'has no metadata.yaml'),
            (('identify', controlled, '--urdf', ARM), 'no topic "/joint_states"'),
            (('plot', controlled, '--topic', '/no'), 'no topic "/no"'),
            (('plot', controlled, '--out', tmp_path / 'run.bmp'), 'must end with one of .png')):
        error = rbd(*words, code=2)[1]
        assert text in error and error.count('\n') == 1
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    error = rbd('plot', controlled, '--out', tmp_path / 'a.png', code=2)[1]
    assert 'pip install matplotlib' in error
