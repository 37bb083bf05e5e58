# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
