# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The environment variables of a command that runs inside."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from rbd_env.layout import Layout

# set by ./run: the folders that it put on the paths below, so that a nested one can take them off
MARK = 'RBD_ROS_RUN'
PATHS = ('PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH')
INTERNAL = ('RBD_ROS_MACHINE', 'RBD_ROS_FLAVOUR', 'RBD_ROS_FOLDER')


def _prepend(environ: dict[str, str], key: str, *values: Path) -> None:
    rest = [environ[key]] if environ.get(key) else []
    environ[key] = ':'.join([*map(str, values), *rest])


def _logs_are_kept(environ: dict[str, str]) -> bool:
    """Return whether ROS can write its logs where it wants to; it ends where it cannot."""
    if environ.get('ROS_LOG_DIR') or environ.get('ROS_HOME'):
        return True
    folder = Path(environ.get('HOME') or os.path.expanduser('~')) / '.ros' / 'log'
    there = next((each for each in (folder, *folder.parents) if each.exists()), Path('/'))
    return there.is_dir() and os.access(there, os.W_OK)


def without_runtime(environ: dict[str, str]) -> dict[str, str]:
    """Return the variables as they were before an enclosing ./run, if there is one."""
    clean = {key: value for key, value in environ.items() if key not in INTERNAL}
    folders = tuple(filter(None, clean.pop(MARK, '').split(':')))
    if folders:
        for key in PATHS:
            kept = [entry for entry in clean.get(key, '').split(':')
                    if entry and not entry.startswith(folders)]
            clean[key] = ':'.join(kept)
            if not kept:
                del clean[key]
        for key in ('ROS_DISTRO', 'ROS_VERSION', 'ROS_PYTHON_VERSION', 'VIRTUAL_ENV'):
            clean.pop(key, None)
    return clean


def for_command(
    layout: Layout, runtime: Path | None, environ: dict[str, str],
) -> dict[str, str]:
    """
    Return the variables for a command.

    :param runtime: the unpacked ROS 2 runtime; None where a ROS 2 is sourced.
    :param environ: the user's own variables, which win wherever they choose something.
    """
    result = without_runtime(environ)
    version = f'python{sys.version_info[0]}.{sys.version_info[1]}'
    folders = [layout.state]
    if runtime:
        ros = runtime / 'jazzy'
        folders.append(runtime)
        _prepend(result, 'PYTHONPATH', ros / 'rclpy')
        _prepend(result, 'LD_LIBRARY_PATH', ros / 'lib')
        _prepend(result, 'AMENT_PREFIX_PATH', ros)
        result.update(ROS_DISTRO='jazzy', ROS_VERSION='2', ROS_PYTHON_VERSION='3')
        result.setdefault('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp')
        result[MARK] = ':'.join(map(str, folders))
    _prepend(result, 'PYTHONPATH', layout.install / 'lib' / version / 'site-packages')
    _prepend(result, 'AMENT_PREFIX_PATH', layout.install)
    _prepend(result, 'PATH', layout.venv / 'bin')
    result['VIRTUAL_ENV'] = str(layout.venv)
    if not _logs_are_kept(result):
        result['ROS_LOG_DIR'] = str(layout.state / 'log')
    if result.pop('PYTHONDONTWRITEBYTECODE', ''):
        # The user's folders stay clean, but not at the price of compiling every module of ROS
        # and of the package in each process: that is half of the start of a node.
        result.setdefault('PYTHONPYCACHEPREFIX', str(layout.state / 'bytecode'))
    return result
