# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The script ``run``: which Python it takes, what it says, what a command sees."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from packaging.requirements import Requirement
import pytest
from rbd_env import build, cli, layout, packages, scale, scripts, variables, verb
from rbd_env.failure import Failure, from_os_error

ROOT = Path(__file__).resolve().parents[2]

STARTS = '#!/bin/sh\necho "3.12 cpython"\n[ "$2" = -c ] || echo "taken: $0 $4"\n'
DOES_NOT_START = '#!/bin/sh\nexit 127\n'
OTHER_VERSION = '#!/bin/sh\necho "3.11 cpython"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the script alone: what it hands over to is a stand-in."""
    folder = tmp_path / 'a checkout'
    folder.mkdir()
    shutil.copy(ROOT / 'run', folder)
    return folder


def program(path: Path, text: str) -> Path:
    """Write an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def call(checkout: Path, *folders: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the script with the tools of the system and what the folders hold."""
    tools = checkout.parent / 'tools'
    for name in ('sh', 'dirname', 'ls', 'sort', 'tr', 'uname', 'cat', 'readlink'):
        link = tools / name
        link.parent.mkdir(exist_ok=True)
        found = shutil.which(name)
        if found and not link.exists():
            link.symlink_to(found)
    path = ':'.join(map(str, (*folders, tools)))
    return subprocess.run(
        [str(checkout / 'run'), 'command'], capture_output=True, text=True, check=False,
        env={'PATH': path, 'HOME': str(checkout.parent / 'home'), **more})


def test_no_python(checkout: Path) -> None:
    """Without any Python 3.12 one paragraph says what to install, and nothing is made."""
    done = call(checkout)
    assert done.returncode == 1
    assert 'no CPython 3.12 was found' in done.stderr
    assert '\n\n' not in done.stderr.strip()
    assert sorted(path.name for path in checkout.iterdir()) == ['run']


def test_other_versions_are_passed_over(checkout: Path, tmp_path: Path) -> None:
    """A python3 of another version and a python3.12 that does not start are no answer."""
    program(tmp_path / 'bin' / 'python3', OTHER_VERSION)
    program(tmp_path / 'bin' / 'python3.12', DOES_NOT_START)
    assert 'no CPython 3.12 was found' in call(checkout, tmp_path / 'bin').stderr


def test_variable_wins(checkout: Path, tmp_path: Path) -> None:
    """What the variable PYTHON names is taken before what lies on PATH."""
    program(tmp_path / 'bin' / 'python3.12', STARTS)
    mine = program(tmp_path / 'mine' / 'python', STARTS)
    done = call(checkout, tmp_path / 'bin', PYTHON=str(mine))
    assert f'taken: {mine}' in done.stdout


def test_pyenv_of_another_home(checkout: Path, tmp_path: Path) -> None:
    """The newest 3.12 of the pyenv on PATH is found though its shim fails and HOME differs."""
    pyenv = tmp_path / 'else where' / '.pyenv'
    program(pyenv / 'shims' / 'python3.12', DOES_NOT_START)
    program(pyenv / 'versions' / '3.12.1' / 'bin' / 'python3.12', STARTS)
    newest = program(pyenv / 'versions' / '3.12.10' / 'bin' / 'python3.12', STARTS)
    program(pyenv / 'versions' / '3.12.11' / 'bin' / 'python3.12', DOES_NOT_START)
    assert f'taken: {newest}' in call(checkout, pyenv / 'shims').stdout


def test_uv(checkout: Path, tmp_path: Path) -> None:
    """A Python that uv manages is found."""
    managed = program(tmp_path / 'uv' / 'python3.12', STARTS)
    program(tmp_path / 'bin' / 'uv', f'#!/bin/sh\necho "{managed}"\n')
    assert f'taken: {managed}' in call(checkout, tmp_path / 'bin').stdout


def test_python_of_sourced_ros(checkout: Path, tmp_path: Path) -> None:
    """Where a ROS 2 is sourced, its python3 is taken, whichever version it has."""
    program(tmp_path / 'bin' / 'python3.12', STARTS)
    theirs = program(tmp_path / 'bin' / 'python3', STARTS.replace('3.12', '3.14'))
    done = call(checkout, tmp_path / 'bin', ROS_DISTRO='lyrical', AMENT_PREFIX_PATH='/opt/ros/x')
    assert f'taken: {theirs}' in done.stdout


TELLS_FOLDER = '#!/bin/sh\necho "3.12 cpython"\n[ "$2" = -c ] || echo "made in: $RBD_ROS_FOLDER"\n'


def test_what_is_made_lies_in_the_checkout(checkout: Path, tmp_path: Path) -> None:
    """Without further words all that is made goes to .run; an interpreter there is taken."""
    program(tmp_path / 'bin' / 'python3.12', TELLS_FOLDER)
    assert f'made in: {checkout}/.run\n' in call(checkout, tmp_path / 'bin').stdout
    mine = program(checkout / '.run' / 'wheel' / 'venv' / 'bin' / 'python', STARTS)
    assert f'taken: {mine}' in call(checkout, tmp_path / 'bin').stdout


def test_what_is_made_can_lie_elsewhere(checkout: Path, tmp_path: Path) -> None:
    """RBD_ROS_STATE names the folder, also relative to where the user stands."""
    program(tmp_path / 'bin' / 'python3.12', TELLS_FOLDER)
    there = tmp_path / 'else where'
    done = call(checkout, tmp_path / 'bin', RBD_ROS_STATE=str(there))
    assert f'made in: {there}\n' in done.stdout
    done = call(checkout, tmp_path / 'bin', RBD_ROS_STATE='near')
    assert f'made in: {os.getcwd()}/near\n' in done.stdout
    mine = program(there / 'wheel' / 'venv' / 'bin' / 'python', STARTS)
    assert f'taken: {mine}' in call(checkout, tmp_path / 'bin', RBD_ROS_STATE=str(there)).stdout
    assert sorted(path.name for path in checkout.iterdir()) == ['run']


def test_read_only_checkout_uses_the_cache(checkout: Path) -> None:
    """A checkout that cannot be written has a folder of its own in the user's cache."""
    nobody = 65534 if os.geteuid() == 0 else None  # nothing is read-only for root
    with tempfile.TemporaryDirectory() as folder:  # that of pytest is closed for others
        top = Path(folder)
        top.chmod(0o755)
        program(top / 'bin' / 'python3.12', TELLS_FOLDER)
        made = []
        for name in ('one', 'two'):
            copy = top / name / 'rbd_ros'
            shutil.copytree(checkout, copy)
            (copy / 'run').chmod(0o555)
            copy.chmod(0o555)
            done = subprocess.run(
                [str(copy / 'run'), 'command'], capture_output=True, text=True, check=False,
                user=nobody, env={'PATH': f'{top / "bin"}:/usr/bin:/bin',
                                  'HOME': str(top / 'home')})
            made.append(done.stdout.rpartition('made in: ')[2].strip())
            copy.chmod(0o755)
        kept = top / 'home' / '.cache' / 'rbd_ros' / 'checkouts' / 'rbd_ros-'
        assert all(each.startswith(str(kept)) for each in made)
        assert made[0] != made[1]


def test_folder_reaches_every_part(tmp_path: Path) -> None:
    """Environment, build and results all lie in the folder that the script chose."""
    chosen = {'RBD_ROS_FOLDER': str(tmp_path / 'made')}
    found = layout.locate(chosen)
    assert found.venv == tmp_path / 'made' / 'wheel' / 'venv'
    assert found.install.is_relative_to(tmp_path / 'made')
    assert layout.made_folder(ROOT, chosen) == tmp_path / 'made'
    assert layout.made_folder(ROOT, {}) == ROOT / '.run'
    environ = {'PYTHONPATH': ''}
    cli.command_line(found, ['test'], environ)
    assert environ['RBD_ROS_FOLDER'] == str(tmp_path / 'made')
    assert 'RBD_ROS_FOLDER' not in variables.without_runtime(environ)


def test_refused_writing_names_the_way_out() -> None:
    """Where the system refuses to write, both variables that help are named."""
    text = str(from_os_error(PermissionError(13, 'Permission denied', '/x/.run'), 'preparing'))
    assert 'RBD_ROS_STATE' in text and 'XDG_CACHE_HOME' in text and '/x/.run' in text
    text = str(from_os_error(NotADirectoryError(20, 'Not a directory', '/x/.cache'), 'preparing'))
    assert 'XDG_CACHE_HOME' in text and '/x/.cache' in text


@pytest.mark.parametrize('folder', ['a path with a space', "it's", 'long' * 40])
def test_scripts_start_wherever_their_python_lies(tmp_path: Path, folder: str) -> None:
    """A script of setuptools starts though its interpreter's path has a space or is long."""
    python = tmp_path / folder / 'python'
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    first = f'#!"{python}"' if ' ' in folder else f'#!{python}'
    script = program(tmp_path / 'script', f'{first}\nimport sys\nprint(sys.argv[1:])\n')
    scripts.make_executable(script, python)
    done = subprocess.run([str(script), 'a b', 'c'], capture_output=True, text=True, check=False)
    assert done.stdout == "['a b', 'c']\n", done.stderr


def test_read_only_sources_are_copied_writable(tmp_path: Path) -> None:
    """A folder of a read-only checkout can be built and removed as a copy."""
    inner = tmp_path / 'source' / 'inner'
    inner.mkdir(parents=True)
    (inner / 'file').write_text('text')
    for each in (inner, inner.parent):
        each.chmod(0o555)
    verb.copy_writable(inner.parent, tmp_path / 'copy')
    assert all(path.stat().st_mode & 0o200 for path in (
        tmp_path / 'copy', tmp_path / 'copy' / 'inner'))
    for each in (inner.parent, inner):
        each.chmod(0o755)


def test_script_may_be_linked(checkout: Path, tmp_path: Path) -> None:
    """A symbolic link to the script finds the checkout that the script lies in."""
    program(tmp_path / 'bin' / 'python3.12', STARTS.replace('$4', '$5'))
    (tmp_path / 'link').symlink_to(checkout / 'run')
    call(checkout, tmp_path / 'bin')
    done = subprocess.run(
        [str(tmp_path / 'link')], capture_output=True, text=True, check=False,
        env={'PATH': f'{tmp_path / "bin"}:{tmp_path / "tools"}'})
    assert str(checkout / 'tools' / 'rbd_env') in done.stdout


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The script alone prints a short help with the two commands of the README."""
    assert cli.main([]) == 0
    said = capsys.readouterr().out
    assert './run ros2 launch rbd_ros controller.launch.py' in said
    assert './run test' in said
    assert len(said.splitlines()) < 25


def test_help_names_every_subcommand() -> None:
    """What ./run can do is in its help."""
    for name in (*cli.SUBCOMMANDS, 'shell', 'prepare'):
        assert f'./run {name} ' in cli.HELP, name
    assert 'RBD_ROS_STATE' in cli.HELP


@pytest.mark.parametrize('words, groups', [
    ('rbd compare robot.urdf', cli.PEERS), ('rbd info robot.urdf', ('runtime',)),
    ('rbd --json bench robot.urdf', cli.PEERS), ('prepare', cli.EVERYTHING),
    ('docs', ('runtime', 'docs')), ('ros2 topic list', ('runtime',)),
    ('rbd learn rnea', cli.LEARNING), ('rbd learn', ('runtime',)),
    ('rbd learn --list', ('runtime',)), ('rbd learn --help', ('runtime',)),
    ('rbd compare -h', ('runtime',)),
    ('test', cli.EVERYTHING), ('test scale -x', ('runtime',))])
def test_a_command_gets_what_it_needs(words: str, groups: tuple[str, ...]) -> None:
    """Commands that compare with other libraries bring these along; the others do not."""
    assert cli.groups_of(words.split()) == groups


@pytest.mark.parametrize(('words', 'groups'), [
    ('python examples/quadruped_stands.py', cli.WITH_ROBOTS),
    ('python examples/quadruped_node.py', cli.WITH_ROBOTS),
    ('ros2 run rbd_ros simulator --ros-args --params-file config/legged/go2.yaml',
     cli.WITH_ROBOTS),
    ('ros2 launch x simulator_params_file:=config/legged/go2.yaml', cli.WITH_ROBOTS),
    ('ros2 launch rbd_ros controller.launch.py robot:=panda', cli.WITH_ROBOTS),
    ('ros2 launch rbd_ros controller.launch.py robot:=delta', ('runtime',)),
    ('rbd info ur5', cli.WITH_ROBOTS), ('rbd info arm', ('runtime',)),
    ('rbd compare panda', cli.PEERS),
    ('python examples/gravity_torques.py', ('runtime',)), ('python no_such.py', ('runtime',)),
    (f'python {"x" * 5000}.py', ('runtime',))])
def test_examples_get_their_robots(
        words: str, groups: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a fresh clone, too, and only those that need them."""
    monkeypatch.chdir(ROOT)
    assert cli.groups_of(words.split()) == groups


#: What colcon declares for its own tests.
UNUSED = {'pytest', 'pytest-cov', 'pytest-repeat', 'pytest-rerunfailures'}


@pytest.mark.parametrize('groups', sorted({
    ('runtime',), cli.WITH_ROBOTS, cli.PEERS, cli.LEARNING,
    *(each for each, _ in cli.SUBCOMMANDS.values())}))
def test_the_packages_of_a_command_are_complete(groups: tuple[str, ...]) -> None:
    """What the packages of a command depend on is among them: a fresh machine has no others."""
    pins = packages.read_groups((ROOT / 'requirements.txt').read_text())
    plain = re.compile(r'[-_.]+')
    names = {plain.sub('-', pin.partition('==')[0]).lower() for group in groups
             for pin in pins[group]}
    needed = {}
    for name in names:
        for text in importlib.metadata.requires(name) or ():
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({'extra': ''}):
                needed[plain.sub('-', one.name).lower()] = name
    assert {each: by for each, by in needed.items() if each not in names | UNUSED} == {}


def test_old_ros_is_refused(tmp_path: Path) -> None:
    """A sourced ROS older than Jazzy is named, with both ways out."""
    old = layout.Layout(tmp_path, 'host-humble', tmp_path, tmp_path)
    with pytest.raises(Failure, match='sourced ROS is "humble", and rbd_ros needs ROS 2 Jazzy'):
        cli.check_host({'ROS_DISTRO': 'humble'}, old)


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that does not exist gives the exit code that shells give."""
    assert cli.hand_over(['no-such-command'], {'PATH': '/nowhere'}) == 127
    assert 'no command "no-such-command"' in capsys.readouterr().err


@pytest.fixture
def place(tmp_path: Path) -> layout.Layout:
    """Lay out an empty checkout."""
    root = tmp_path / 'checkout'
    return layout.Layout(root, layout.WHEEL, tmp_path / 'cache', root / '.run')


def test_user_settings_are_respected(place: layout.Layout) -> None:
    """What the user chose for middleware, domain and discovery reaches the command."""
    mine = {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp', 'ROS_DOMAIN_ID': '7', 'PATH': '/bin',
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
    result = variables.for_command(place, place.cache / 'ros', mine)
    assert {key: result[key] for key in mine if key != 'PATH'} \
        == {key: mine[key] for key in mine if key != 'PATH'}
    assert variables.for_command(place, place.cache / 'ros', {})['RMW_IMPLEMENTATION']


def test_logs_have_a_folder(place: layout.Layout, tmp_path: Path) -> None:
    """Where the home cannot be written, logs of ROS go to the checkout; otherwise ROS decides."""
    runtime, file = place.cache / 'ros', tmp_path / 'no_folder'
    file.touch()
    refused = variables.for_command(place, runtime, {'HOME': str(file)})
    assert refused['ROS_LOG_DIR'] == str(place.state / 'log')
    for mine in ({'HOME': str(tmp_path)}, {'HOME': str(file), 'ROS_HOME': '/mine'}):
        assert 'ROS_LOG_DIR' not in variables.for_command(place, runtime, mine)


def test_nested_use_adds_nothing(place: layout.Layout) -> None:
    """A ./run inside a ./run gives its command the same variables, also in another checkout."""
    mine = {'PATH': '/usr/bin', 'LD_LIBRARY_PATH': '/my/lib'}
    runtime = place.cache / 'ros'
    once = variables.for_command(place, runtime, mine)
    assert variables.for_command(place, runtime, once) == once
    assert variables.without_runtime(once) == {**mine, 'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp'}


def test_sourced_ros_keeps_its_paths(place: layout.Layout) -> None:
    """With a sourced ROS only the environment and the package are put in front of its paths."""
    host = layout.Layout(place.root, 'host-jazzy', place.cache, place.folder)
    mine = {'PATH': '/opt/bin', 'PYTHONPATH': '/opt/ros', 'AMENT_PREFIX_PATH': '/opt/ros',
            'LD_LIBRARY_PATH': '/opt/lib', 'ROS_DISTRO': 'jazzy'}
    result = variables.for_command(host, None, mine)
    assert result['LD_LIBRARY_PATH'] == '/opt/lib'
    assert result['PYTHONPATH'].endswith('site-packages:/opt/ros')
    assert result['AMENT_PREFIX_PATH'] == f'{host.install}:/opt/ros'


def test_byte_code_is_kept_below_the_state_folder(place: layout.Layout) -> None:
    """Whoever wants no byte code next to the sources has it elsewhere; their own choice counts."""
    runtime = place.cache / 'ros'
    result = variables.for_command(place, runtime, {'PYTHONDONTWRITEBYTECODE': '1'})
    assert result['PYTHONPYCACHEPREFIX'].startswith(str(place.state))
    assert 'PYTHONDONTWRITEBYTECODE' not in result
    assert variables.for_command(place, runtime, result) == result
    mine = {'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONPYCACHEPREFIX': '/mine'}
    assert variables.for_command(place, runtime, mine)['PYTHONPYCACHEPREFIX'] == '/mine'
    assert 'PYTHONPYCACHEPREFIX' not in variables.for_command(place, runtime, {})


def test_requirements_are_exact_and_complete() -> None:
    """Every line of the requirements file is one exact version, in one of the groups."""
    groups = packages.read_groups((ROOT / 'requirements.txt').read_text())
    assert tuple(groups) == packages.GROUPS
    names = [line.partition('==')[0].lower() for lines in groups.values() for line in lines]
    assert len(names) == len(set(names))
    assert {'numpy', 'scipy', 'llvmlite', 'pytest', 'pin', 'mujoco'} <= set(names)
    assert not any('isaac' in name for name in names)


def test_every_pin_has_the_hashes_of_its_files(tmp_path: Path) -> None:
    """Nothing else can be installed: neither another file nor one from another address."""
    text = (ROOT / packages.HASHES).read_text()
    known = packages.read_hashes(text)
    assert '://' not in text and '--index' not in text and '--find' not in text
    wanted: list[str] = []
    for file in ROOT.glob('requirements*.txt'):
        if file.name != packages.HASHES:
            groups = packages.read_groups(file.read_text())
            wanted += [line.partition(' ')[0] for lines in groups.values() for line in lines]
    wanted.remove(next(pin for pin in wanted if pin.startswith('torch==')))  # of its own index
    packages.pinned(ROOT, wanted, tmp_path / 'pins.txt')
    lines = (tmp_path / 'pins.txt').read_text().splitlines()
    assert len(lines) == len(wanted) and all(' --hash=sha256:' in line for line in lines)
    assert len(known) == len({pin.lower() for pin in wanted})
    with pytest.raises(Failure, match='no hash of numpy==0.1'):
        packages.pinned(ROOT, ['numpy==0.1'], tmp_path / 'pins.txt')
    with pytest.raises(Failure, match='no pin with hashes'):
        packages.read_hashes('numpy==0.1\n')


def test_another_file_than_the_known_one_is_not_installed(tmp_path: Path) -> None:
    """Pip refuses a wheel of the right name and version whose bytes are others."""
    wheel = tmp_path / 'index' / 'thing-1.0-py3-none-any.whl'
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, 'w') as archive:
        for name, content in (('METADATA', 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n'),
                              ('WHEEL', 'Wheel-Version: 1.0\nTag: py3-none-any\n'),
                              ('RECORD', '')):
            archive.writestr(f'thing-1.0.dist-info/{name}', content)
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for digest, code in ((right, 0), ('0' * 64, 1)):
        (tmp_path / packages.HASHES).write_text(f'thing==1.0 --hash=sha256:{digest}\n')
        done = subprocess.run(
            [sys.executable, '-I', '-m', 'pip', 'download', '--quiet', '--no-index', '--no-deps',
             '--find-links', wheel.parent, '--dest', tmp_path / 'got', *packages.pinned(
                 tmp_path, ['thing==1.0'], tmp_path / 'pins.txt')],
            capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == code, done.stderr
        assert code == 0 or 'DO NOT MATCH THE HASHES' in done.stderr


def test_requirements_of_scale() -> None:
    """The environment of the clusters has exact versions, and PyTorch without CUDA."""
    groups = packages.read_groups((ROOT / scale.REQUIREMENTS).read_text())
    pins = dict(line.split('==') for line in groups.pop('scale'))
    assert not groups and pins['torch'].endswith('+cpu')
    assert {'jax', 'dask', 'distributed', 'ray', 'numpy', 'llvmlite', 'pytest'} <= set(pins)
    assert not any(name.startswith('nvidia') for name in pins)


def test_inexact_requirement_is_refused() -> None:
    """A range in the requirements file is an error that names the line."""
    with pytest.raises(Failure, match='line 2 is no exact pin: "numpy>=2"'):
        packages.read_groups('# [runtime] x\nnumpy>=2\n')


def test_sourced_ros_keeps_its_packages() -> None:
    """Its NumPy is only bounded, what the installation has is kept, the rest is exact."""
    lines = ['numpy==2.5.4  # host >=1.26,<3', 'lark==1.3.1  # host any',
             'empy==3.3.4  # host any', 'llvmlite==0.50.0']
    assert packages.for_host(lines, {'numpy', 'lark'}) \
        == (['numpy>=1.26,<3'], ['empy==3.3.4', 'llvmlite==0.50.0'])


def test_moved_checkout_is_installed_anew(place: layout.Layout) -> None:
    """The stamp of an environment does not fit after its folder has moved."""
    place.venv.mkdir(parents=True)
    (place.root / 'requirements.txt').write_text('# [runtime]\n')
    (place.venv / 'runtime.stamp').write_text(packages.stamp_text(place, 'runtime'))
    assert packages.is_installed(place, 'runtime')
    moved = place.root.rename(place.root.parent / 'moved')
    assert not packages.is_installed(
        layout.Layout(moved, place.flavour, place.cache, moved / '.run'), 'runtime')


def test_build_follows_the_files(place: layout.Layout) -> None:
    """The package counts as built until one of its files changes, appears or goes."""
    (place.root / 'rbd_ros').mkdir(parents=True)
    place.state.mkdir(parents=True)
    file = place.root / 'rbd_ros' / 'a.py'
    file.write_text('a')
    (place.state / 'build.stamp').write_text(build.fingerprint(place))
    assert not build.is_built(place)  # a new environment lacks the command rbd
    build.command(place).parent.mkdir(parents=True)
    build.command(place).touch()
    assert build.is_built(place)
    file.write_text('other')
    assert not build.is_built(place)
    (place.state / 'build.stamp').write_text(build.fingerprint(place))
    file.unlink()
    assert not build.is_built(place)


def test_failed_installation_voids_only_what_it_touched(
    place: layout.Layout, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pip failing before it wrote anything leaves the environment; failing later removes it."""
    site = place.venv / 'lib' / 'python3.12' / 'site-packages'
    site.mkdir(parents=True)
    (site / 'numpy').mkdir()
    for name in ('requirements.txt', packages.HASHES):
        (place.root / name).write_text((ROOT / name).read_text())
    monkeypatch.setitem(packages.NEEDED_BYTES, 'test', 0)

    def fails(*_: object, **__: object) -> None:
        raise Failure('no network')
    monkeypatch.setattr(packages.pip, 'run', fails)
    with pytest.raises(Failure, match='no network'):
        packages.install(place, 'test')
    assert [path.name for path in site.iterdir()] == ['numpy']
    assert not (place.venv / 'unfinished').exists()

    def fails_late(*_: object, **__: object) -> None:
        (site / 'half').mkdir()
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(packages.pip, 'run', fails_late)
    with pytest.raises(Failure, match='no disk space was left'):
        packages.install(place, 'test')
    assert not place.venv.exists()


def test_no_space_for_packages(place: layout.Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too small a disk is seen before pip is asked."""
    place.state.mkdir(parents=True)
    monkeypatch.setitem(packages.NEEDED_BYTES, 'test', 10**18)
    with pytest.raises(Failure, match='no disk space for the Python packages'):
        packages.install(place, 'test')
