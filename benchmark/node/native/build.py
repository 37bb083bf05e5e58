# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Compile the programs of this folder."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess
from typing import NamedTuple

from benchmark.headers import headers, prefix

HERE = Path(__file__).parent
_LIBRARIES = ('rcl', 'rmw', 'rcutils', 'sensor_msgs__rosidl_typesupport_c', 'pthread')


class Programs(NamedTuple):
    """What was compiled."""

    echo: Path
    driver: Path
    allocations: Path  # a library to load first


def reason_to_skip() -> str:
    """Return why nothing can be compiled here; empty: it can."""
    if shutil.which('cc') is None:
        return 'this machine has no C compiler (cc)'
    if prefix('rcl') is None:
        return 'this machine has no librcl in its ROS'
    if not headers('rcl'):
        return ('this machine has no headers of rcl: install ROS 2, or let RBD_ROS2_HEADERS name '
                'an archive of them')
    return ''


def build(folder: Path) -> Programs:
    """
    Compile everything.

    :param folder: where to; it must exist.
    :raises RuntimeError: with what the compiler said.
    """
    root = prefix('rcl')
    system = [word for each in headers('rcl') for word in ('-isystem', each)]
    libraries = (f'-L{root}/lib', f'-Wl,-rpath,{root}/lib', '-Wl,--allow-shlib-undefined',
                 *(f'-l{name}' for name in _LIBRARIES))
    made = Programs(folder / 'echo', folder / 'driver', folder / 'allocations.so')
    for target in (made.echo, made.driver):
        _compile(*system, HERE / f'{target.name}.c', '-o', target, *libraries)
    _compile('-fPIC', '-shared', HERE / 'allocations.c', '-o', made.allocations)
    return made


def _compile(*words: object) -> None:
    command = ['cc', '-std=gnu11', '-O2', '-Wall', '-Wextra', *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(command)}\n{done.stderr}')
