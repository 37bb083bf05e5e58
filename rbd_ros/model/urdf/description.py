# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Reads the text of a robot description from a file, and expands xacro."""

from __future__ import annotations

from pathlib import Path

from rbd_ros.errors import ModelError, nearest_file, ROBOT_FILES
from rbd_ros.model.urdf.known_robots import known_robots
from rbd_ros.model.urdf.resources import find_resource

__all__ = ['read_description']


def read_description(file: str) -> str:
    """
    Return the URDF text of a file.

    :param file: URDF or xacro file: a path, a ``package://`` or ``file://`` address, or the name
        of a robot.
    :raises ModelError: for a file that cannot be read or expanded.
    """
    path = Path(file).expanduser()
    if '://' in file or (file in known_robots() and not path.is_file()):
        path = find_resource(file)
    if path.suffix == '.xacro':
        return _expanded(path)
    try:
        text = path.read_text(encoding='utf-8')
    except FileNotFoundError:
        raise ModelError(f'cannot read the robot description "{path}": No such file or directory'
                         f'{nearest_file(str(path), ROBOT_FILES)}') from None
    except OSError as error:
        raise ModelError(f'cannot read the robot description "{path}": {error.strerror}; give an '
                         'existing file') from error
    except UnicodeDecodeError as error:
        raise ModelError(f'the robot description "{path}" is not text ({error.reason}); give a '
                         'URDF or xacro file in UTF-8') from error
    if not text.strip():
        raise ModelError(f'the robot description "{path}" is empty; give a URDF or xacro file')
    return text


def _expanded(path: Path) -> str:
    try:
        import xacro
    except ImportError as error:
        raise ModelError(f'"{path}" is a xacro file, but xacro is not installed: install it '
                         '(pip install xacro, or the package ros-jazzy-xacro), or expand the '
                         'file elsewhere (xacro robot.urdf.xacro > robot.urdf)') from error
    if not path.is_file():
        raise ModelError(
            f'the robot description "{path}" does not exist; give a URDF or xacro file')
    try:
        return xacro.process_file(str(path)).toxml()
    except Exception as error:  # a xacro file may run any code
        raise ModelError(f'xacro cannot expand "{path}": {error}') from error
