# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The installer uv, several steps at a time, and pip without ensurepip."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
import subprocess
import sys
import time
import zipfile

import pytest
from rbd_env import cli, packages, pip, progress, together, uv
from rbd_env.failure import Failure
from rbd_env.layout import Layout

ROOT = Path(__file__).parents[2]
#: a program in uv's place: it notes what it was told, and does as the variable says
PROGRAM = """#!/bin/sh
echo "$UV_CACHE_DIR $UV_FIND_LINKS $*" >> "$NOTES"
exit "${ANSWER:-0}"
"""


@pytest.fixture
def place(tmp_path: Path) -> Layout:
    """Return a checkout whose environment is the one that runs the tests."""
    root = tmp_path / 'checkout'
    made = Layout(root, 'wheel', tmp_path / 'cache', root / '.run')
    (made.venv / 'bin').mkdir(parents=True)
    made.python.symlink_to(sys.executable)
    (made.venv / 'pyvenv.cfg').write_text((Path(sys.prefix) / 'pyvenv.cfg').read_text())
    (made.venv / 'lib').symlink_to(Path(sys.prefix) / 'lib')
    return made


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make pip look at a folder with a small wheel of uv, and at no network."""
    name = f'uv-{uv.VERSION}'
    file = tmp_path / 'index' / f'{name}-py3-none-{uv.WHEELS["x86_64"].platform}.whl'
    file.parent.mkdir()
    with zipfile.ZipFile(file, 'w') as archive:
        archive.writestr(f'{name}.data/scripts/uv', PROGRAM)
        archive.writestr(f'{name}.dist-info/METADATA',
                         f'Metadata-Version: 2.1\nName: uv\nVersion: {uv.VERSION}\n')
        archive.writestr(f'{name}.dist-info/WHEEL', 'Wheel-Version: 1.0\n')
        archive.writestr(f'{name}.dist-info/RECORD', '')
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setitem(uv.WHEELS, 'x86_64', uv.Wheel(
        uv.WHEELS['x86_64'].platform, sha256, file.stat().st_size))
    monkeypatch.setenv('PIP_CONFIG_FILE', '/dev/null')
    for key in [key for key in os.environ if key.startswith('PIP_') and key != 'PIP_CONFIG_FILE']:
        monkeypatch.delenv(key)
    monkeypatch.setenv('PIP_INDEX_URL', file.parent.as_uri())
    monkeypatch.setenv('PIP_FIND_LINKS', str(file.parent))
    monkeypatch.setenv('NOTES', str(tmp_path / 'notes'))
    return file


def test_it_is_fetched_once_and_told_the_settings_of_pip(
    index: Path, place: Layout, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program lies in the cache of all checkouts and gets the index of the user."""
    found = uv.provide(place, 'x86_64')
    assert found is not None and found.program.parent.parent == place.cache
    assert found.install(place, ['numpy==2.0'])
    cache, links, *told = Path(os.environ['NOTES']).read_text().split()
    assert (cache, links) == (str(place.cache / 'packages'), str(index.parent))
    assert told == ['pip', 'install', '--python', str(place.python), '--no-deps',
                    '--no-build-isolation', 'numpy==2.0']
    assert found.environ['UV_NO_CONFIG'] == '1'
    assert 'UV_INDEX_STRATEGY' not in found.environ  # the first index that has a name decides
    assert found.install(place, ['--require-hashes', 'numpy==2.0'])  # or that has what is pinned
    assert Path(os.environ['NOTES']).read_text().split()[-2:] == [
        '--index-strategy', 'unsafe-first-match']
    monkeypatch.setattr(uv, 'fetch', None)
    assert uv.provide(place, 'x86_64') == found
    found.program.write_text('of another machine')  # it cannot even be started: pip's turn
    assert not found.install(place, ['numpy==2.0'])


def test_another_file_is_not_run(
    index: Path, place: Layout, capfd: pytest.CaptureFixture[str],
) -> None:
    """A program that is not the tested one is thrown away, and pip does the work."""
    with open(index, 'ab') as file:
        file.write(b'x')
    assert uv.provide(place, 'x86_64') is None
    assert not list(place.cache.rglob('uv')) and not (place.state / 'uv').exists()
    assert 'uv could not be fetched: pip installs the packages' in capfd.readouterr().err


def test_pip_where_it_does_not_fit(index: Path, place: Layout) -> None:
    """A sourced ROS, a machine without a build of it, and a strange setting are left to pip."""
    assert uv.provide(place, 'riscv64') is None
    sourced = Layout(place.root, 'host-jazzy', place.cache, place.folder)
    assert uv.provide(sourced, 'x86_64') is None
    os.environ['PIP_NO_BINARY'] = ':all:'
    try:
        assert uv.provide(place, 'x86_64') is None
    finally:
        del os.environ['PIP_NO_BINARY']


@pytest.mark.parametrize(('settings', 'expected'), [
    ('', {}),
    ("global.index-url='https://mirror/simple'\n:env:.disable-pip-version-check='1'\n",
     {'UV_DEFAULT_INDEX': 'https://mirror/simple'}),
    (":env:.find-links='/a'\nglobal.find-links='/b'\n", {'UV_FIND_LINKS': '/a'}),
    ("global.extra-index-url='file:///a\\nfile:///b'", {'UV_INDEX': 'file:///a file:///b'}),
    ("install.find-links='/a /b'\nglobal.cert='/c.pem'",
     {'UV_FIND_LINKS': '/a,/b', 'SSL_CERT_FILE': '/c.pem'}),
    ("global.timeout='60'\nglobal.proxy='http://p:1'\nglobal.trusted-host='h'",
     {'UV_HTTP_TIMEOUT': '60', 'ALL_PROXY': 'http://p:1', 'UV_INSECURE_HOST': 'h'}),
    ("download.no-binary=':all:'\n", {}), ("global.no-index='true'", None),
    ("global.constraint='/c.txt'\nglobal.index-url='https://mirror'", None)])
def test_settings_of_pip(settings: str, expected: dict[str, str] | None) -> None:
    """What pip is told is said in uv's words, or not used at all."""
    assert uv.translate(settings) == expected


def test_pip_takes_over_where_it_fails(
    index: Path, place: Layout, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:
    """Pip gets the same pins when uv ends with an error, and explains its own."""
    asked: list[list[str]] = []
    (place.root / 'requirements.txt').write_text('# [test]\npytest==8.4.2\n')
    line = f'pytest==8.4.2 --hash=sha256:{"0" * 64}\n'
    (place.root / packages.HASHES).write_text(line)
    monkeypatch.setitem(packages.NEEDED_BYTES, 'test', 0)
    monkeypatch.setenv('ANSWER', '2')
    monkeypatch.setattr(pip, 'run', lambda python, words, **_: asked.append(words))
    (place.venv / 'lib').unlink()  # what is there is compared before and after
    found = uv.Uv(index, {})
    monkeypatch.setattr(uv.Uv, 'install', lambda *_: False)
    monkeypatch.setattr(uv.Uv, 'unpacked', lambda _: 0)
    packages.install(place, 'test', found)
    (words,) = asked
    assert words[-3:-1] == ['--require-hashes', '-r'] and Path(words[-1]).read_text() == line
    assert 'uv could not install them' in capfd.readouterr().err
    assert packages.is_installed(place, 'test')


@pytest.mark.parametrize('folder', ['venv', 'with a space'])
def test_pip_is_placed_without_ensurepip(tmp_path: Path, folder: str) -> None:
    """The pip that Python carries works in an environment, as module and as program."""
    wheel = pip.bundled()
    if wheel is None:
        pytest.skip('this machine has a Python without the wheel of pip')
    venv = tmp_path / folder
    subprocess.run([sys.executable, '-I', '-m', 'venv', '--without-pip', venv], check=True)
    pip.place(wheel, venv)
    version = wheel.name.split('-')[1]
    for command in ([venv / 'bin' / 'python', '-I', '-m', 'pip'], [venv / 'bin' / 'pip']):
        said = subprocess.run([*command, '--version'], capture_output=True, text=True, check=True)
        assert said.stdout.startswith(f'pip {version} from {venv}')


def test_a_failure_ends_the_others(tmp_path: Path) -> None:
    """The first failure is what the user reads, and no program goes on behind it."""
    def fails() -> None:
        while not (tmp_path / 'log').exists():
            time.sleep(0.01)
        raise Failure('no network')
    begin = time.monotonic()
    with pytest.raises(Failure, match='no network'):
        together.do(lambda: together.run(['sleep', '600'], tmp_path / 'log'), fails)
    assert time.monotonic() - begin < 300
    assert together.run(['true'], tmp_path / 'log') == 0  # a later use begins afresh


def test_things_happen_at_the_same_time(tmp_path: Path) -> None:
    """Each of two works waits for a file of the other."""
    def work(own: str, other: str) -> None:
        (tmp_path / own).touch()
        assert together.run(
            ['sh', '-c', f'until [ -e {tmp_path}/{other} ]; do sleep 0.02; done'],
            tmp_path / f'{own}.log', tick=lambda: None) == 0
    together.do(lambda: work('a', 'b'), lambda: work('b', 'a'))


def test_lines_are_watched_and_kept(tmp_path: Path) -> None:
    """What a program prints is seen as it comes and is in the log afterwards."""
    seen: list[str] = []
    code = together.run(['sh', '-c', 'echo one; echo two >&2; exit 3'], tmp_path / 'log',
                        watch=seen.append)
    assert (code, seen) == (3, ['one\n', 'two\n'])
    assert (tmp_path / 'log').read_text() == 'one\ntwo\n'


def test_steps_say_how_long_they_took(capfd: pytest.CaptureFixture[str]) -> None:
    """The end of each step has its time; one that fails leaves no such line."""
    with progress.timed('building'):
        pass
    with progress.Bar('packages to run', 3, 'packages') as bar:
        bar.show(2)
        bar.close(3)
    with pytest.raises(Failure), progress.timed('failing'):
        raise Failure('so')
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == '[run] building' and lines[1].startswith('[run] building, 0.')
    assert lines[2].endswith(' s') and '3 of 3 packages' in lines[2]
    assert lines[3:] == ['[run] failing']


@pytest.mark.parametrize(('words', 'expected'), [
    ('ros2 launch rbd_ros controller.launch.py', True),
    ('ros2 launch rbd_ros controller.launch.py dashboard:=true', True),
    ('ros2 launch rbd_ros controller.launch.py robot:=panda', False),
    ('ros2 launch rbd_ros controller.launch.py urdf:=a.urdf simulate:=true', False),
    ('ros2 launch rbd_ros simulator.launch.py', False), ('rbd info a.urdf', False)])
def test_what_is_compiled_beforehand(words: str, expected: bool) -> None:
    """Only the command that starts the built-in arm compiles it."""
    assert cli.starts_built_in_arm(words.split()) is expected


def test_first_compile_is_what_the_controller_needs(tmp_path: Path) -> None:
    """It runs without ROS and leaves machine code that a second run finds whole."""
    clean = {key: value for key, value in os.environ.items()
             if key not in ('PYTHONPATH', 'AMENT_PREFIX_PATH', 'LD_LIBRARY_PATH')}
    environ = {**clean, 'PYTHONPATH': str(ROOT), 'RBD_ROS_CACHE': str(tmp_path)}
    script = ROOT / 'tools' / 'rbd_env' / 'first_compile.py'
    counts = []
    for _ in range(2):
        subprocess.run([sys.executable, script], env=environ, check=True, timeout=600)
        counts.append(len(list(tmp_path.rglob('*.rbd'))))
    assert counts[0] == counts[1] > 5
