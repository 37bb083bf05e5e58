# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Modes are declared once; a mode of the user runs behind the same limits and supervisor."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import textwrap

import controller_rig
import numpy as np
import pytest
from rbd_ros.compiler.native import cache as disk
from rbd_ros.control.interface.row import joints, scalar
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.modes import Follows, MODES, own_mode, Takes, taking
from rbd_ros.control.parameters.file import check_file
from rbd_ros.control.parameters.mode_file import read_modes
from rbd_ros.control.parameters.table import defaults, PARAMETERS, with_modes
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.errors import SettingError

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / 'docs' / 'add_a_control_law.md'


# -- declared once --------------------------------------------------------------------------------

def test_rows_name_what_exists():
    """Parameters are those of the table, kernels those that laws have; the order is the old."""
    assert list(MODES) == ['gravity_compensation', 'computed_torque', 'operational_space', 'hold',
                           'damping', 'joint_impedance', 'cartesian_impedance']
    for mode in MODES.values():
        assert set(mode.parameters) <= set(PARAMETERS), mode.name
    assert {mode.kernel for mode in MODES.values()} == {
        'float', 'joint', 'task', 'damping', 'mode_joint_impedance', 'impedance'}
    assert set(LawCode.__members__) == {
        'FREE', 'JOINT', 'TASK', 'DAMPING', 'OWN', 'OWN_JOINT', 'IMPEDANCE'}
    assert PARAMETERS['mode'].choices == tuple(MODES)
    assert taking(Takes.TRAJECTORY) == ['computed_torque', 'joint_impedance']
    assert taking(Takes.TARGET) == ['operational_space', 'cartesian_impedance']
    assert taking(Takes.STIFFNESS) == ['joint_impedance', 'cartesian_impedance']


def test_document_has_every_mode():
    """The table of the reference is made of the rows."""
    text = (ROOT / 'docs' / 'controller_reference.md').read_text()
    table = text.split('| `mode` | torque |\n|---|---|\n')[1].split('\n\n')[0]
    assert table.splitlines() == [f'| `{mode.name}` | {mode.torque} |' for mode in MODES.values()]


# -- modes of the user ----------------------------------------------------------------------------

def blocks(language: str) -> list[str]:
    """Return the blocks of the guide."""
    return re.findall(rf'```{language}\n(.*?)```', GUIDE.read_text(), re.DOTALL)


@pytest.fixture
def file(tmp_path):
    """Return the file that the guide tells to write."""
    path = tmp_path / 'my_modes.py'
    path.write_text(blocks('python')[0])
    return path


def test_guide_to_a_mode_of_the_user(file, tmp_path):
    """Followed to the letter: one file, and the arm hangs in springs of the given stiffness."""
    given = tmp_path / 'controller.yaml'
    given.write_text(blocks('yaml')[0].replace('/opt/my_robot/my_modes.py', str(file)))
    values = check_file(str(given), '/controller')
    assert values['mode'] == 'spring'
    modes = read_modes(values['mode_file'])
    assert refusals(values, known=with_modes(modes)) == []
    arm = controller_rig.Arm(modes=modes, **values, tracking_limits=[5.0])
    arm.activate()
    arm.run(0.5)
    assert arm.state == 'running' and arm.controller.settings.text('mode') == 'spring'
    arm.change(**{'spring.stiffness': [30.0] * 7})
    arm.run(0.2)
    assert taking(Takes.TRAJECTORY, modes) == ['computed_torque', 'joint_impedance', 'spring']
    away = np.array([0.01, -0.02, 0.015, 0.01, -0.01, 0.02, -0.015])
    arm.set_point(arm.q + away)
    arm.run(0.4)  # somebody holds the arm: the reference goes away from it
    pull = 30.0 * away
    assert np.allclose(arm.sent[-1], arm.dynamics.gravity(arm.q) + pull, atol=1e-6)
    assert np.allclose(arm.controller.x.laws.joint.error, away, atol=1e-9)
    before = arm.sent[-1]
    arm.change(mode='gravity_compensation')
    arm.run(0.002)
    assert np.abs(arm.sent[-1] - before).max() < 0.05  # it fades
    arm.run(1.0)
    assert np.allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), atol=1e-6)


def test_limits_and_supervisor_stand_before_any_law():
    """Whatever a law of the user gives, what is sent is within its limits, or the arm brakes."""
    def push(terms, inputs):
        return [g + inputs['push'] for g in terms.gravity]

    def root(terms, inputs):
        from rbd_ros.compiler import sqrt
        return [g + sqrt(inputs['push'] - 1e9) for g in terms.gravity]

    row = (scalar('push', 1e8, 'N.m', -1e9, 1e9, 'Torque.'),)
    modes = (own_mode('strong', push, 'too much', row), own_mode('wrong', root, 'NaN', row))
    arm = controller_rig.Arm(modes=modes, **{'start.velocity': 100.0, 'start.distance': 10.0})
    arm.activate()
    arm.run(0.5)
    arm.change(mode='strong')
    arm.run(1.0)
    assert (np.abs(arm.sent[-1]) / controller_rig.TORQUE).max() == pytest.approx(1.0)
    assert (np.abs(np.array(arm.sent)) <= controller_rig.TORQUE * (1.0 + 1e-12)).all()
    rates = np.abs(np.diff(arm.sent[-200:], axis=0)) / arm.period
    assert (rates <= 10.0 * controller_rig.TORQUE * (1.0 + 1e-9)).all()
    arm.change(mode='wrong')
    arm.run(0.005)
    assert arm.state == 'braking' and 'not finite' in arm.fault
    assert np.isfinite(arm.sent).all()


def test_code_of_the_user_never_reaches_the_disk(file, monkeypatch, tmp_path):
    """Neither its machine code nor a compiled Python file is kept."""
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / 'cache'))
    robot, _ = controller_rig.robot_and_dynamics()
    modes = read_modes(str(file))
    made = LawKernels(dataclasses.replace(robot, own_modes=modes), driver_adds='none',
                      driver_knows_payload=False)
    kept: list[str] = []
    monkeypatch.setattr(disk, 'kept', lambda key, make: kept.append(key) or make())
    bound = made.compile('own')
    assert bound.outputs['law'].shape == (7,) and set(kept) <= {''}
    assert [path.name for path in file.parent.rglob('*') if path.is_file()] == ['my_modes.py']


@pytest.mark.parametrize(('text', 'reason'), [
    ('MODES = 3', 'must declare its modes'),
    ('import nothing_like_it', 'line 1: ModuleNotFoundError'),
    ('x = 1\nMODES = (', 'line 2: SyntaxError'),
    ('from rbd_ros.control.modes import MODES as M\nMODES = tuple(M.values())',
     'must hold what own_mode returns'),
    ('from rbd_ros.control.modes import own_mode\n'
     'MODES = (own_mode("hold", lambda t, x: t.gravity, ""),)', 'a mode hold already'),
    ('from rbd_ros.control.modes import own_mode\n'
     'MODES = (own_mode("A b", lambda t, x: t.gravity, ""),)', 'a name has small letters'),
    ('from rbd_ros.control.modes import own_mode\n'
     'MODES = (own_mode("a", 3, ""),)', 'it needs a law'),
    ('from rbd_ros.control.modes import own_mode\n'
     'from rbd_ros.control.interface.row import scalar\nMODES = (own_mode("payload", '
     'lambda t, x: t.gravity, "", [scalar("mass", 1.0, "", 0.0, 2.0, "")]),)',
     'a parameter payload.mass already')])
def test_files_that_are_refused(text, reason, tmp_path):
    """The reason names the file, the line where there is one, and what is wrong."""
    path = tmp_path / 'modes.py'
    path.write_text(text)
    with pytest.raises(SettingError, match=reason) as error:
        read_modes(str(path))
    assert str(path) in str(error.value)


def test_other_refusals(tmp_path):
    """A file that is not there, a relative path, laws that fail, and defaults that do not fit."""
    for path, reason in (('modes.py', 'absolute path'), (str(tmp_path / 'no.py'), 'cannot be')):
        with pytest.raises(SettingError, match=reason):
            read_modes(path)
    assert read_modes('') == ()
    with pytest.raises(SettingError, match='outside'):
        own_mode('a', lambda t, x: t.gravity, '', [scalar('b', 3.0, '', 0.0, 2.0, '')])
    with pytest.raises(SettingError, match='needs a default'):
        own_mode('a', lambda t, x: t.gravity, '', [joints('b', [], '', 0.0, 2.0, '')])
    with pytest.raises(SettingError, match='not the tip|not <Follows.TIP'):
        own_mode('a', lambda t, x: t.gravity, '', (), Follows.TIP)
    robot, _ = controller_rig.robot_and_dynamics()
    for law, reason in ((lambda t, x: t.gravity[:2], '2 torques for 7 joints'),
                        (lambda t, x: x['b'], 'its law fails with KeyError'),
                        (lambda t, x: t.gravity if t.q[0] > 0 else t.bias, 'its law fails with')):
        made = LawKernels(dataclasses.replace(robot, own_modes=(own_mode('a', law, ''),)),
                          driver_adds='none', driver_knows_payload=False)
        with pytest.raises(SettingError, match=f'mode a: .*{reason}'):
            made.compile('own')


def test_mode_is_checked_when_modes_are_known(file):
    """While the file has not been read, any name may be right; afterwards only those of modes."""
    modes = read_modes(str(file))
    waiting = defaults() | {'mode_file': str(file), 'mode': 'sprung'}
    assert refusals(waiting) == []
    assert 'must be one of' in refusals(waiting, known=with_modes(modes))[0]
    assert 'must be one of' in refusals({'mode': 'sprung'})[0]
    outside = {'spring.stiffness': [1e9]}
    assert 'is outside' in refusals(outside, defaults(modes), known=with_modes(modes))[0]


def test_guide_to_a_mode_of_the_package(tmp_path):
    """Followed to the letter in a copy of the package: two files, and it runs."""
    shutil.copytree(ROOT / 'rbd_ros', tmp_path / 'rbd_ros',
                    ignore=shutil.ignore_patterns('__pycache__'))
    shutil.copy(ROOT / 'docs' / 'controller_reference.md', tmp_path)
    (law, row), [line] = blocks('text'), blocks('markdown')
    table = tmp_path / 'rbd_ros' / 'control' / 'modes.py'
    text = table.read_text().replace('def _joint_impedance(', f'{law}def _joint_impedance(')
    end = text.index('\n)\n', text.index('_BUILT_IN = (')) + 1
    table.write_text(text[:end] + row + text[end:])
    script = """
        import numpy as np
        from rbd_ros import load_urdf, Dynamics
        from rbd_ros.control.parameters.table import PARAMETERS
        from rbd_ros.control.robot import make_robot
        from rbd_ros.control.parameters.settings import Settings
        from rbd_ros.control.parameters.table import defaults
        from rbd_ros.control.modes import MODES
        from rbd_ros.control.kernels.kernels import LawKernels
        import rbd_ros, sys
        assert rbd_ros.__file__.startswith(sys.argv[2])
        mode = MODES['spring']
        assert sys.argv[3] == f'| `{mode.name}` | {mode.torque} |'
        assert 'spring' in PARAMETERS['mode'].choices
        assert PARAMETERS['spring.stiffness'].default == [50.0]
        model = load_urdf(sys.argv[1], on_warning=lambda _: None)
        robot = make_robot(model)
        settings = Settings(robot, defaults() | {'mode': 'spring'}, simulated=False)
        bound = LawKernels(robot, driver_adds='none', driver_knows_payload=False).compile('own')
        barrier = bound.inputs['barrier']
        barrier[:] = np.array([[-9.0, 9.0, 0.1, 0, 0, 99.0, 0, 0]]).T
        own = [name for name, each in MODES.items() if each.law is not None]
        first = 7 * sum(len(MODES[name].own) for name in own[:-1])
        assert own[-1] == 'spring'
        bound.inputs['choice'][:] = len(own) - 1
        bound.inputs['limit'][:], bound.inputs['values'][first:first + 7] = 99.0, settings.joints(
            'spring.stiffness')
        bound.inputs['gravity'][:] = model.gravity
        q = np.array([0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7])
        bound.inputs['q'][:], bound.inputs['reference'][0] = q, q + 0.01
        bound()
        assert np.allclose(bound.outputs['law'], Dynamics(model).gravity(q) + 0.5)
    """
    done = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(script), str(controller_rig.ARM), str(tmp_path),
         line.strip()], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'})
    assert done.returncode == 0, done.stdout + done.stderr
