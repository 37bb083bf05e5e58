# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Commands that measure, compare and write code: ``rbd codegen``, ``compare`` and ``bench``."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess
import sys

from command_rig import data, PLANAR, rbd
import pytest
from rbd_env.pace import patient
from rbd_ros.command_line.commands import bench
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.peers import comparison


@pytest.fixture(scope='module')
def planar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the planar arm."""
    file = tmp_path_factory.mktemp('robot') / 'planar.urdf'
    file.write_text(PLANAR)
    return file


def build(folder: Path, program: tuple[object, ...] = ('example',), *options: str,
          ) -> subprocess.CompletedProcess[str]:
    """Build a project, or say why that cannot be done, and run its example."""
    for tool in ('cmake', 'cc'):
        if shutil.which(tool) is None:
            pytest.skip(f'this machine has no {tool}')
    for words in (['-S', folder, '-B', folder / 'build', *options,
                   '-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -pedantic'],
                  ['--build', folder / 'build']):
        done = subprocess.run(['cmake', *map(str, words)], capture_output=True, text=True,
                              check=False, timeout=patient(120))
        assert done.returncode == 0, done.stdout + done.stderr
    return run_main(folder, *program)


def run_main(folder: Path, program: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a program of a project."""
    return subprocess.run([str(folder / 'build' / program), *map(str, words)],
                          capture_output=True, text=True, check=False, timeout=patient(20))


def test_codegen(planar: Path, tmp_path: Path) -> None:
    """The project builds without warnings, its example agrees, and sees a wrong number."""
    folder = tmp_path / 'out'
    made = data('codegen', planar, '--out', folder, '--frame', 'tip')
    assert sorted(made['files']) == sorted(path.name for path in folder.iterdir())
    done = build(folder)
    assert done.returncode == 0 and 'all as expected' in done.stdout, done.stdout
    for name in ('inverse_dynamics: tau', 'mass_matrix: H', 'jacobian_tip: J', 'pose_tip: T'):
        assert f'{name}: ' in done.stdout
    source = folder / 'planar.c'
    text = source.read_text()
    assert ' sin(' in text
    source.write_text(text.replace(' sin(', ' cos('))
    done = build(folder)
    assert done.returncode == 1 and 'differ from the expected values' in done.stdout


def test_codegen_of_packages(planar: Path, tmp_path: Path) -> None:
    """The plugin and the library of a robot are two packages, which colcon builds."""
    params, folder = tmp_path / 'params.yaml', tmp_path / 'src'
    params.write_text('controller:\n  ros__parameters:\n    driver_adds: none\n'
                      '    release_torque: zero\n')
    said, _ = rbd('codegen', planar, '--out', folder, '--ros2-control', '--params', params,
                  '--prefix', 'mine')
    assert f'build: colcon build --base-paths {folder}' in ' '.join(said.split())
    assert sorted(path.parent.name for path in folder.glob('*/package.xml')) == [
        'mine_rbd_robot', 'rbd_controller']


def test_codegen_in_single_precision(planar: Path, tmp_path: Path) -> None:
    """Numbers are float throughout; names begin as asked; one quantity is one function."""
    rbd('codegen', planar, '--out', tmp_path, '--scalar', 'float', '--prefix', 'arm',
        '--quantity', 'gravity')
    header = (tmp_path / 'arm.h').read_text()
    assert 'void arm_gravity(const float q[2]' in header and 'double' not in header
    assert build(tmp_path).returncode == 0


def test_codegen_for_other_processors(planar: Path, tmp_path: Path) -> None:
    """A target is written as machine code of the right kind, with what it takes to try it."""
    made = data('codegen', planar, '--out', tmp_path / 'web', '--target', 'wasm')
    assert sorted(made['files']) == ['example.js', 'planar.js', 'planar.wasm']
    assert (tmp_path / 'web' / 'planar.wasm').read_bytes()[:4] == b'\0asm'
    said, _ = rbd('codegen', planar, '--out', tmp_path / 'm4', '--target', 'cortex-m4')
    assert 'make -C' in said and 'planar.o' in said
    assert (tmp_path / 'm4' / 'planar.o').read_bytes()[:4] == b'\x7fELF'
    assert 'const float q[2]' in (tmp_path / 'm4' / 'planar.h').read_text()


@pytest.mark.parametrize('words, text', [
    (('--scalar', 'half'), 'must be one of double, float'),
    (('--prefix', 'my arm'), 'must be a C identifier'),
    (('--quantity', 'gravty'), 'did you mean "gravity"'),
    (('--frame', 'tool'), 'no frame "tool"'),
    (('--target', 'cortex-m44'), 'did you mean "cortex-m4"'),
    (('--target', 'cortex-m4', '--scalar', 'double'), 'no instructions for double: use float'),
    (('--target', 'wasm', '--controller'), '--target cannot be combined with --controller'),
])
def test_codegen_refuses(planar: Path, tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    """What cannot be written is refused with its reason, before anything is written."""
    assert text in rbd('codegen', planar, '--out', tmp_path / 'out', *words, code=2)[1]
    assert not (tmp_path / 'out').exists()


def test_codegen_of_the_controller(planar: Path, tmp_path: Path) -> None:
    """The C code starts and stops the robot as Python does, and needs nothing but libm."""
    params, folder = tmp_path / 'planar.yaml', tmp_path / 'out'
    params.write_text(rbd('config', planar, '--driver-adds', 'none', '--release-torque',
                          'gravity', '--effort-is-torque', 'true')[0])
    made = data('codegen', planar, '--out', folder, '--controller', '--params', params)
    assert sorted(made['files']) == sorted(path.name for path in folder.iterdir())
    events = folder / 'events.txt'
    done = build(folder, ('main', events, 'x.command.supervisor.state'),
                 '-DCMAKE_BUILD_TYPE=Debug')
    assert done.returncode == 0 and ' 0 different' in done.stderr, done.stderr
    states = [int(line) for line in done.stdout.split()]
    assert list(dict.fromkeys(states)) == [
        StateCode.PROBING, StateCode.RAMPING_IN, StateCode.RUNNING, StateCode.BRAKING]
    lines = events.read_text().splitlines()
    at = max(k for k, line in enumerate(lines) if line.startswith('expect y.torque[0]'))
    for wrong, code, text in (
            (lines[at].replace(' -', ' ', 1), 1, 'y.torque[0] is -'),
            ('u.q 1', 2, 'u.q needs 2 numbers'), ('u.p 1', 2, 'there is no field "u.p"'),
            ('expect x.mode 0 1 ', 1, 'x.mode[0] is 0, not 1'),
            ('expect y.words[7] 0 -3', 1, 'y.words[7] is '),
            ('expect y.words[160] 0 0', 2, 'there is no field "y.words[160]"')):
        events.write_text('\n'.join([*lines[:at], wrong]))
        done = run_main(folder, 'main', events)
        assert done.returncode == code and text in done.stderr, done.stderr
    nm, cc = shutil.which('nm'), shutil.which('cc')
    assert cc is not None
    if nm is not None:
        found = subprocess.run([nm, '-u', str(folder / 'build' / 'libplanar.a')], text=True,
                               capture_output=True, check=True).stdout.split()
        asked = {name for name in found if name != 'U' and not name.endswith(':')}
        # a compiler may copy and clear by these two; __stack_chk_fail guards arrays by default
        assert {name for name in asked if not name.startswith('planar_')} <= {
            'sin', 'cos', 'atan2', 'exp', 'floor', 'sqrt', 'tanh', 'tan', 'fabs', 'fmin', 'fmax',
            'copysign', 'memcpy', 'memset', '__stack_chk_fail', '_GLOBAL_OFFSET_TABLE_'}
    for name in ('planar.c', 'planar_kernels.c'):
        refused = subprocess.run([cc, '-ffast-math', '-E', str(folder / name)], text=True,
                                 capture_output=True, check=False)
        assert refused.returncode and 'fast-math' in refused.stderr


@pytest.mark.parametrize('words, texts', [
    (('--controller',), ('driver_adds must be given', 'rbd config')),
    (('--controller', '--params', 'no.yaml'), ('"no.yaml" does not exist',)),
    (('--controller', '--scalar', 'float'), ('--scalar cannot be combined with --controller',)),
    (('--controller', '--frame', 'tip'), ('--frame cannot be combined with --controller',)),
    (('--params', 'no.yaml'), ('--params is for --controller',)),
])
def test_codegen_refuses_a_controller(planar: Path, tmp_path: Path, words: tuple[str, ...],
                                      texts: tuple[str, ...]) -> None:
    """What the controller would refuse, and what it cannot have."""
    found = rbd('codegen', planar, '--out', tmp_path / 'out', *words, code=2)[1]
    assert all(text in found for text in texts), found
    assert not (tmp_path / 'out').exists()


def test_codegen_names_what_is_wrong_in_a_parameter_file(planar: Path, tmp_path: Path) -> None:
    """A name that does not exist, and limits that do not fit the robot."""
    params = tmp_path / 'wrong.yaml'
    for line, text in (('stifness: [1.0]', 'line 3: parameter stifness does not exist'),
                       ('torque_limits: [1.0, 2.0, 3.0]', 'torque_limits')):
        params.write_text('/controller:\n  ros__parameters:\n    ' + line + '\n'
                          '    driver_adds: gravity\n')
        found = rbd('codegen', planar, '--out', tmp_path / 'out', '--controller', '--params',
                    params, code=2)[1]
        assert 'wrong.yaml' in found and text in found


def test_compare(planar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries agree on the robot; about another robot they do not, which is exit code 1."""
    for name in ('pinocchio', 'mujoco'):
        pytest.importorskip(name, reason=f'{name} is not installed')
    found = data('compare', planar, '--states', '3')
    assert {each['library'] for each in found['comparisons']} == {'Pinocchio', 'MuJoCo'}
    assert found['failed'] == 0 and found['not_compared'] == []
    rows = [(each['library'], each['quantity']) for each in found['comparisons']]
    assert len(rows) == len(set(rows))
    heavier = PLANAR.replace('<mass value="1"/>', '<mass value="1.000001"/>')
    monkeypatch.setattr(comparison, 'peer_text', lambda urdf: heavier)
    wrong = {(each['library'], each['quantity']) for each in data(
        'compare', planar, '--states', '3', code=1)['comparisons'] if not each['passes']}
    assert {(library, quantity) for library in ('Pinocchio', 'MuJoCo')
            for quantity in ('inverse dynamics', 'mass matrix', 'forward dynamics')} <= wrong
    assert not [quantity for _, quantity in wrong if quantity.startswith('frame')]


def test_compare_robots_of_one_velocity() -> None:
    """One joint, alone or with one that mimics it: Pinocchio gives its matrices as vectors."""
    pytest.importorskip('pinocchio', reason='pinocchio is not installed')
    one = PLANAR.replace('"elbow" type="revolute"', '"elbow" type="fixed"')
    pair = PLANAR.replace('<origin xyz="0.5 0 0"/><axis', (
        '<mimic joint="shoulder" multiplier="-2"/><origin xyz="0.5 0 0"/><axis'))
    for text in (one, pair):
        found = data('compare', '-', '--states', '2', stdin=text)
        assert found['failed'] == 0 and len(found['comparisons']) > 20, found


def test_compare_without_libraries(planar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is installed the error says how to get them."""
    for name in ('pinocchio', 'mujoco'):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, f'rbd_ros.peers.{name}_robot', raising=False)
    error = rbd('compare', planar, code=2)[1]
    assert 'pip install pin' in error and 'pip install mujoco' in error


def test_bench(planar: Path) -> None:
    """Every quantity has its times."""
    found = data('bench', planar, '--repetitions', '1')
    assert [each['quantity'] for each in found['times']] == list(bench.QUANTITIES)
    assert all(each[key] > 0.0 for each in found['times']
               for key in ('bound_us', 'checked_us', 'batch_us'))
