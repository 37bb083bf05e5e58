# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The command ``rbd``: what it prints, which exit codes it has, and that it needs no ROS."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

from command_rig import ARM, data, PLANAR, rbd
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.command_line.app import app
from rbd_ros.command_line.commands import ops
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.robot_check import TESTS
from rbd_ros.samples.families import general_chain
import yaml


@pytest.fixture
def planar(tmp_path: Path) -> Path:
    """Return the file of the planar arm."""
    file = tmp_path / 'planar.urdf'
    file.write_text(PLANAR)
    return file


# --- info ------------------------------------------------------------------------------------


def test_info(planar: Path) -> None:
    """Masses, limits and reach are those of the description; the reach keeps the limits."""
    found = data('info', planar)
    assert (found['name'], found['nv'], found['total_mass']) == ('planar', 2, 3.0)
    assert [joint['upper'] for joint in found['joints']] == [None, 2.0]
    bent = math.sqrt(0.5**2 + 0.3**2 + 2 * 0.5 * 0.3 * math.cos(1.0))    # elbow at its limit
    assert found['reach']['tip'] == pytest.approx(bent, abs=1e-6)
    text, _ = rbd('info', planar)
    assert 'shoulder (revolute) -> upper  2 kg' in text and 'with tip' in text
    floating = data('info', '-', '--floating-base', stdin=PLANAR)
    assert floating['nv'] == 8 and floating['reach'] == found['reach']


def test_closed_loops() -> None:
    """A parallel arm is shown with its loops, checked, and configured with a way of assembly."""
    arm = Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf'
    found = data('info', arm)
    assert (found['mobility'], found['overconstraint']) == (2, 3)
    assert found['loops'] == [{'name': 'tip', 'type': 'revolute', 'predecessor': 'left_rod',
                               'successor': 'right_rod'}]
    assert 'tip (revolute) closes a loop: left_rod -> right_rod' in rbd('info', arm)[0]
    assert {each['outcome'] for each in data('check', arm)['tests']} == {'ok'}
    assert 'leave 2 freedom(s), but 4 joint(s) are controlled' in rbd('config', arm, code=2)[1]
    text = rbd('config', arm, '--joints', 'right_shoulder,left_shoulder')[0]
    lines = [line.strip(' #') for line in text.splitlines() if '# assembly.' in line]
    joints, values = (yaml.safe_load(line) for line in lines)
    near = dict(zip(joints['assembly.joints'], values['assembly.values'], strict=True))
    model = rbd_ros.load_urdf(arm)
    q = [near[name] for name in model.joint_names]
    assert abs(rbd_ros.Dynamics(model).loop_error(q)).max() < 1e-5


def test_reach_of_sliding_and_endless_joints() -> None:
    """A slide adds its travel, and has no reach without limits."""
    slide = PLANAR.replace('"elbow" type="revolute"', '"elbow" type="prismatic"').replace(
        '<axis xyz="0 1 0"/>\n    <limit lower', '<axis xyz="1 0 0"/>\n    <limit lower')
    assert data('info', '-', stdin=slide)['reach']['tip'] == pytest.approx(2.8, abs=1e-9)
    endless = slide.replace('upper="2"', 'upper="inf"')
    rbd('info', '-', stdin=endless, code=2)         # URDF has no infinite limits
    far = slide.replace('upper="2"', 'upper="1e9"')
    for text in (far, *(PLANAR.replace('"elbow" type="revolute"', f'"elbow" type="{kind}"')
                        for kind in ('planar', 'floating'))):
        found = data('info', '-', stdin=text)
        assert found['reach'] == {'tip': None} and found['endless'] == {'tip': 'elbow'}
        assert 'without end, by elbow' in rbd('info', '-', stdin=text)[0]
    assert data('info', '-', stdin=slide)['endless'] == {}


# --- check -----------------------------------------------------------------------------------

#: For each test something that it alone must find, as a replacement in the planar arm.
FAULTS = {
    'tree': ('<child link="upper"/>', '<child link="uper"/>', 'did you mean "upper"'),
    'limits': (' velocity="3"/></joint>\n  <joint name="elbow"',
               '/></joint>\n  <joint name="elbow"', 'shoulder'),
    'inertia': ('ixx="0.01" iyy="0.05" izz="0.05"', 'ixx="0.01" iyy="0.02" izz="0.05"',
                'triangle'),
    'leaves': ('<mass value="1"/>\n    <inertia ixx="0.005" iyy="0.01" izz="0.01"',
               '<mass value="0"/>\n    <inertia ixx="0" iyy="0" izz="0"', 'lower'),
    'loops': ('</robot>', '<loop_joint name="far" type="revolute"><predecessor link="upper">'
              '<origin xyz="9 0 0"/></predecessor><successor link="lower"/><axis xyz="0 1 0"/>'
              '</loop_joint></robot>', 'loop joint "far"'),
    'size': ('<mass value="2"/>', '<mass value="2000"/>', 'kg/m^3'),
    'placeholder': ('ixx="0.01" iyy="0.05" izz="0.05"', 'ixx="1" iyy="1" izz="1"', 'upper'),
    'angles': ('lower="1" upper="2"', 'lower="-90" upper="90"', 'elbow'),
    'speed': ('velocity="3"/></joint>\n  <joint name="elbow"',
              'velocity="180"/></joint>\n  <joint name="elbow"', 'shoulder: 180 rad/s'),
    'range': ('effort="20"', 'effort="0"', 'elbow'),
    'strength': ('effort="50"', 'effort="5"', 'shoulder needs up to'),
    'meshes': ('<link name="tip"/>', '<link name="tip"><visual><geometry><mesh filename="no.stl"/>'
               '</geometry></visual></link>', 'no.stl'),
    'unused': ('<link name="tip"/>', '<link name="tip"><inertal/></link>', '<inertal>'),
    'singular': ('</robot>', '<link name="ghost"/><link name="ghost_2"><inertial><mass value="1"/>'
                 '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
                 '</link><joint name="a" type="continuous"><parent link="tip"/>'
                 '<child link="ghost"/></joint>'
                 '<joint name="b" type="continuous"><parent link="ghost"/>'
                 '<child link="ghost_2"/></joint></robot>', 'inertia matrix'),
}
#: What such a fault brings with it.
BESIDE = {'leaves': {'singular'}, 'size': {'strength'}, 'placeholder': {'size'},
          'angles': {'strength'}}


def test_check_finds_nothing_in_good_robots(planar: Path) -> None:
    """Every test is listed, and none has anything to say."""
    for robot in (planar, ARM):
        found = data('check', robot)
        assert [each['test'] for each in found['tests']] == [test.name for test in TESTS]
        assert {each['outcome'] for each in found['tests']} == {'ok'}, found
    text = rbd('check', planar)[0]
    assert '14 tests: 0 failed, 0 with warnings' in text
    assert re.findall(r'(?m)^ *ok +(\w+) +\S', text) == [test.name for test in TESTS]


def test_check_finds_joints_that_nothing_can_plan() -> None:
    """The velocity limit 0, with which teach and excite refuse a robot."""
    found = data('check', '-', stdin=PLANAR.replace('effort="20" velocity="3"',
                                                    'effort="20" velocity="0"'))
    [wrong] = [each for each in found['tests'] if each['outcome'] != 'ok']
    assert wrong['test'] == 'range' and 'elbow' in ' '.join(wrong['findings'])


@pytest.mark.parametrize('test', [test.name for test in TESTS])
def test_check_finds_a_planted_fault(test: str) -> None:
    """Each test finds its fault, names it, gives advice; errors fail, warnings with --strict."""
    before, after, named = FAULTS[test]
    assert PLANAR.count(before) == 1
    text = PLANAR.replace(before, after)
    severity = {each.name: each.severity for each in TESTS}[test]
    found = data('check', '-', stdin=text, code=1 if severity == 'error' else 0)
    wrong = {each['test']: each for each in found['tests'] if each['outcome'] != 'ok'}
    assert wrong.keys() - BESIDE.get(test, set()) == {test}, found
    assert named in ' '.join(wrong[test]['findings']) and wrong[test]['advice']
    shown = rbd('check', '-', '--strict', stdin=text, code=1)[0]
    assert 'do: ' in shown and named in shown.replace('\n', ' ')


@pytest.mark.parametrize(('before', 'after', 'findings'), [
    ('<origin xyz="0.5 0 0"/>', '<origin xyz="500 0 0"/>',
     ['joint "elbow" is 500 m from the joint before it']),
    ('ixx="0.01" iyy="0.05" izz="0.05"', 'ixx="1e4" iyy="5e4" izz="5e4"',
     ['link "upper" (line 3) of 235 m']),
])
def test_check_says_once_what_is_in_millimetres(
        before: str, after: str, findings: list[str]) -> None:
    """Lengths and inertias in mm are named with the size that they mean in m."""
    assert PLANAR.count(before) == 1
    found = data('check', '-', stdin=PLANAR.replace(before, after), code=0)
    size = next(each for each in found['tests'] if each['test'] == 'size')
    assert size['findings'] == findings and 'not g or mm' in size['advice']


def test_check_names_every_joint_that_moves_nothing() -> None:
    """A robot without any inertia is answered with all of its joints."""
    bare = re.sub('<inertial>.*?</inertial>', '', PLANAR, flags=re.DOTALL)
    found = data('check', '-', stdin=bare, code=1)
    singular = next(each for each in found['tests'] if each['test'] == 'singular')
    assert singular['findings'] == [
        f'{joint} moves nothing with inertia' for joint in ('shoulder', 'elbow')]


# --- torque, ops, config ---------------------------------------------------------------------


def test_torque(planar: Path) -> None:
    """Weights times arms hold the robot; inertia adds up; pairs and lists mean the same."""
    found = data('torque', planar, '--q', '0,1')
    elbow = -9.81 * 1.0 * 0.15 * math.cos(1.0)      # about y, the weight turns the other way
    shoulder = -9.81 * (2.0 * 0.25 + 1.0 * 0.5) + elbow
    assert found['torque'] == pytest.approx([shoulder, elbow], abs=1e-12)
    assert found['gravity'] == pytest.approx(found['torque'], abs=1e-12)
    assert found['coriolis'] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert data('torque', planar, '--q', 'elbow=1')['torque'] == found['torque']
    moved = data('torque', planar, '--q', '0 1', '--qdd', 'elbow=2', '--gravity', '0 0 0')
    assert moved['torque'][1] == pytest.approx(2.0 * (0.01 + 0.15**2), abs=1e-12)
    assert moved['gravity'] == [0.0, 0.0]
    assert moved['inertia'] == pytest.approx(moved['torque'], abs=1e-12)
    spun = data('torque', planar, '--q', '0,1', '--qd', 'shoulder=2', '--gravity', '0,0,0')
    assert spun['coriolis'][1] == pytest.approx(0.5 * 0.15 * math.sin(1.0) * 4.0, abs=1e-12)
    all_three = ('torque', planar, '--q', '0,1.2', '--qd', '3,-2', '--qdd', '5,8')
    found, text = data(*all_three), rbd(*all_three)[0]
    for k, name in enumerate(('shoulder', 'elbow')):
        shown = [float(each) for line in text.splitlines() if name in line
                 for each in re.findall(r'-?\d+\.?\d*', line)][:4]
        parts = [found[each][k] for each in ('torque', 'gravity', 'coriolis', 'inertia')]
        assert min(map(abs, parts)) > 0.05 and parts[0] == pytest.approx(sum(parts[1:]), abs=1e-12)
        assert shown == pytest.approx(parts, abs=0.01 * max(map(abs, parts)))
    text, warned = rbd('torque', planar, '--q', '0,0', '--qdd', '300,0')
    assert 'shoulder' in text and 'beyond the effort limit: shoulder' in warned
    assert 'outside the position limits: elbow' in warned and 'closed loops' not in warned
    assert rbd('torque', planar, '--q', '0,1')[1] == ''      # nothing to warn of
    planar.write_text(PLANAR.replace('effort="50"', 'effort="0"'))
    text, _ = rbd('torque', planar, '--q', '0,1', '--gravity', '0,0,0')
    assert 'inf%' in text and 'nan' not in text


def test_positions_beside_a_free_body_have_their_own_names(tmp_path: Path) -> None:
    """It has one number more for its position than for its velocity."""
    file, urdf = tmp_path / 'free.urdf', Path(__file__).parents[1] / 'urdf/floating_joint.urdf'
    file.write_text(urdf.read_text().replace('"continuous"', '"revolute"').replace(
        'effort="5"', 'effort="5" lower="-1" upper="1"'))
    for angle, outside in ((0.9, []), (1.1, ['wheel_joint'])):
        found = data('torque', file, '--q', f'wheel_joint={angle} fly.0=2')
        assert (found['q'][0], found['q'][-1]) == (2.0, angle)
        assert found['outside_position_limits'] == outside


def test_closed_loops_are_not_passed_over(tmp_path: Path) -> None:
    """Torques of the tree are named as such; libraries that open the loops are no comparison."""
    file = tmp_path / 'closed.urdf'
    file.write_text(PLANAR.replace('</robot>', """<loop_joint name="slot" type="prismatic">
      <predecessor link="base"/><successor link="tip"/><axis xyz="1 0 0"/></loop_joint>
      </robot>""").replace('lower="1"', 'lower="-2"'))
    assert 'closed loops' in rbd('torque', file)[1]
    out, error = rbd('compare', file, code=2)
    assert out == '' and '"slot" of "planar" closes a kinematic loop' in error


def test_ops(planar: Path) -> None:
    """Counts are those of the kernels; the book's are those of its Table 10.1."""
    found = data('ops', planar)['counts']
    assert {each['quantity'] for each in found} == set(ops.QUANTITIES)
    assert all(each['total'] == each['multiplications'] + each['additions'] for each in found)
    six, seven = (ops.book_counts(general_chain(n)) for n in (6, 7))
    assert (six['inverse_dynamics', ''], seven['inverse_dynamics', '']) == (836, 1010)
    assert (six['forward_dynamics', 'aba'], seven['forward_dynamics', 'aba']) == (2067, 2496)
    assert 'of book' in rbd('ops', planar)[0]


def test_config(planar: Path, tmp_path: Path) -> None:
    """The file has the limits and the answers, and with --all every parameter."""
    read_file = pytest.importorskip('rbd_ros.control.parameters.file').read_file
    words = ('config', planar, '--driver-adds', 'none', '--rate', '250')
    file = tmp_path / 'made.yaml'
    file.write_text(rbd(*words)[0])
    given = {name: entry.value for name, entry in read_file(str(file), '/controller').items()}
    assert given['torque_limits'] == [50.0, 20.0] and given['joints'] == ['shoulder', 'elbow']
    assert given['driver_adds'] == 'none' and given['nominal_rate'] == 250.0
    text = rbd(*words, '--all')[0]
    assert text.startswith(file.read_text())
    assert not [name for name in PARAMETERS if f' {name}: ' not in text]
    file.write_text(text)
    assert {name: entry.value for name, entry in read_file(str(file), '/controller').items()
            } == given
    assert 'driver_adds must be one of' in rbd('config', planar, '--driver-adds', 'all', code=2)[1]


# --- what all commands share ----------------------------------------------------------------


@pytest.mark.parametrize('words, text', [
    (('info', 'nothing.urdf'), 'file "nothing.urdf" not found'),
    (('info', '{folder}'), 'is a folder; name the URDF or xacro file in it'),
    (('info', '{empty}'), 'is empty; give a URDF or xacro file'),
    (('check', 'nothing.urdf'), 'not found (searched: '),
    (('config', 'nothing.urdf'), 'not found (searched: '),
    (('ops', '{empty}'), 'is empty; give a URDF or xacro file'),
    (('torque', '{arm}', '--q', '1,2,3'), '--q has 3 numbers, "seven_joint_arm" needs 7: joint_1'),
    (('torque', '{arm}', '--q', 'joint_8=1'), 'did you mean "joint_7"'),
    (('torque', '{arm}', '--q', 'joint_1=x'), '"x" is not a number'),
    (('torque', '{arm}', '--qd', 'joint_1=nan'), 'is not finite'),
    (('torque', '{arm}', '--qd', 'joint_1=1 2'), 'is not a pair'),
    (('torque', '{arm}', '--qd', 'joint_1=0,5'), '"5" is not a pair joint=number; give only '
                                                 'numbers, or only pairs, as in joint_1=0.5'),
    (('torque', '{arm}', '--q', '0,1 0,2 0,3 0,4 0,5 0,6 0,7'), 'write decimal points'),
    *(((name, '{arm}'), 'arm.urdf is a robot description, not a recording: give the file that rbd '
                        'record wrote, or a rosbag, and the robot with --urdf')
      for name in ('identify', 'tool', 'contact')),
    (('identify', '{arm}', '--urdf', '{arm}'), 'arm.urdf is a robot description, not a recording'),
    (('plot', '{arm}'), 'arm.urdf is a robot description, not a recording'),
    (('torque', '{arm}', '--gravity', 'down'), 'is not three numbers'),
], ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '')
def test_bad_input_is_one_line(words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    """What cannot be read ends with exit code 2 and one line that says what is wrong."""
    (tmp_path / 'empty.urdf').write_text('')
    places = {'folder': tmp_path, 'empty': tmp_path / 'empty.urdf', 'arm': ARM}
    out, error = rbd(*(word.format(**places) for word in words), code=2)
    assert out == '' and error.startswith(f'rbd {words[0]}: error: ') and error.count('\n') == 1
    assert text in error


def test_usage() -> None:
    """Wrong options are exit code 2; help teaches with an example of the command."""
    assert 'No such option' in rbd('info', ARM, '--jsn', code=2)[1]
    assert 'No such command' in rbd('inf', code=2)[1]
    for typed, meant in (('1,5', '1.5'), ('-0,25', '-0.25'), (',5', '.5'), ('1,5e-3', '1.5e-3')):
        said = ' '.join(rbd('identify', 'x', '--urdf', ARM, f'--cutoff={typed}', code=2)[1]
                        .replace('│', ' ').split())
        assert f"'{typed}' is not a number: write a decimal point, as in {meant}" in said
    assert "'1,2,3' is not a number" in rbd('doctor', '--rate', '1,2,3', code=2)[1]
    assert 'decimal' not in rbd('doctor', '--rate', '1,2,3', code=2)[1]
    for command in app.registered_commands:
        text = rbd(command.name, '--help')[0]
        assert f'rbd {command.name} ' in text.split('Usage: ')[1].split('\n', 1)[1], command.name
        assert '--json' in text, command.name
    assert 'rbd_ros[learn]' in rbd('learn', '--help')[0]  # no markup, which would vanish


# --- the installed command -------------------------------------------------------------------


def script() -> str:
    """Return the installed command."""
    installed = [Path(prefix) / 'lib' / 'rbd_ros' / 'rbd'
                 for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(':')]
    found = shutil.which('rbd') or next((str(file) for file in installed if file.exists()), None)
    if found is None:
        pytest.skip('the command rbd is not installed: use ./run')
    return found


def without_ros() -> dict[str, str]:
    """Return the environment without ROS; packages of this Python and rbd_ros itself stay."""
    paths = [path for path in os.environ.get('PYTHONPATH', '').split(':') if 'rclpy' not in path]
    return {**{key: value for key, value in os.environ.items() if not key.startswith(
        ('ROS', 'AMENT', 'RMW', 'LD_LIBRARY'))}, 'PYTHONPATH': ':'.join(paths)}


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command without ROS."""
    return subprocess.run([script(), *map(str, words)], env={**without_ros(), **environment},
                          capture_output=True, text=True, check=False, timeout=patient(120))


def test_installed_command() -> None:
    """It works, without ROS; its errors have no traceback; tables fit into a pipe."""
    done = run('torque', ARM, '--q', 'joint_2=0.5', '--json')
    assert done.returncode == 0 and len(json.loads(done.stdout)['torque']) == 7, done.stderr
    done = run('info', 'nothing.urdf')
    assert done.returncode == 2 and 'Traceback' not in done.stderr and done.stdout == ''
    assert run('--version').stdout.startswith('rbd_ros 0.')


def test_shell_completes() -> None:
    """The shell gets the commands and options that a word can become."""
    done = run(_RBD_COMPLETE='complete_bash', COMP_WORDS='rbd in', COMP_CWORD='1')
    assert 'info' in done.stdout.split(), done.stderr
    done = run(_RBD_COMPLETE='complete_bash', COMP_WORDS='rbd torque x --qd', COMP_CWORD='3')
    assert {'--qd', '--qdd'} <= set(done.stdout.split())


def test_help_is_quick() -> None:
    """Neither help nor completion imports arrays, compilers or plots."""
    program = ('import sys\nfrom rbd_ros.command_line.app import app\n'
               'print(*{name.partition(".")[0] for name in sys.modules})')
    done = subprocess.run([sys.executable, '-c', program], env=without_ros(), text=True,
                          capture_output=True, check=True, timeout=patient(60))
    assert not {'numpy', 'scipy', 'llvmlite', 'matplotlib', 'viser'} & set(done.stdout.split())


def test_strength_of_closed_loops_is_not_judged():
    """Nobody said which joints drive: a tree that were cut open would look too weak."""
    text = (Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf').read_text()
    model = rbd_ros.load_urdf(text)
    assert model.loops
    heavy = SimpleNamespace(gravity=lambda q: np.full((1, model.nv), 1e6))
    strength, = (test for test in TESTS if test.name == 'strength')
    assert strength.find(SimpleNamespace(model=model, robot=heavy, postures=None)) == []
    tree = general_chain(2)
    found = strength.find(SimpleNamespace(
        model=dataclasses.replace(tree, effort_limit=(2e6, 0.5)), robot=heavy, postures=None))
    assert len(found) == 1 and found[0].endswith('needs up to 1e+06 N.m to hold the robot, its '
                                                 'limit is 0.5 N.m')


def test_bodies_have_their_inertia_and_frames():
    """What is printed about a body is what the model holds, about its centre of mass."""
    model = rbd_ros.load_urdf(ARM)
    bodies = data('info', ARM)['bodies_of_tree']
    assert [body['name'] for body in bodies] == list(model.body_names[1:])
    assert [body['joint'] for body in bodies] == list(model.joint_names)
    assert sum(body['mass'] for body in bodies) == pytest.approx(model.total_mass)
    last = bodies[-1]
    assert last['parent'] == model.body_names[model.parent[model.nb]] and 'tool0' in last['frames']
    m, c, I_c = model.inertia[model.nb].com_form()
    assert (last['mass'], last['com'], last['inertia']) == (m, [*c], I_c.to_list())
