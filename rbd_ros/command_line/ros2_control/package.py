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

"""A colcon package: the controller of a robot as a controller of ros2_control."""

from __future__ import annotations

from importlib.resources import files
import json
import re
from typing import Any
from xml.sax.saxutils import escape

from rbd_ros.command_line.c_controller import controller_codes, controller_of, emit_controller
from rbd_ros.command_line.ros2_control.tables import tables
from rbd_ros.control.controller import Controller
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.errors import SettingError

__all__ = ['ros2_control_package']

#: Files that are the same for every robot, but for names: what they become.
_SOURCES = {'controller.hpp.in': 'include/@package@/controller.hpp',
            'ring.hpp.in': 'include/@package@/ring.hpp',
            'controller.cpp.in': 'src/controller.cpp',
            'CMakeLists.txt.in': 'CMakeLists.txt', 'package.xml.in': 'package.xml',
            'plugins.xml.in': '@package@_plugins.xml', 'README.md.in': 'README.md',
            'controllers.yaml.in': 'config/controllers.yaml'}


def ros2_control_package(settings: Settings, prefix: str) -> dict[str, str]:
    """
    Return the files of a package by name.

    :param settings: of the controller.
    :param prefix: of every name in the C code; the package is called after it.
    """
    if not re.fullmatch('[a-z][a-z0-9_]+', prefix):
        raise SettingError(f'prefix "{prefix}" must be a name of ROS packages: small letters, '
                           'digits and _, two or more, a letter first; name another with --prefix')
    package = f'{prefix}_rbd_controller'
    controller, graphs = controller_of(settings)
    code = emit_controller(controller, graphs, prefix)
    names = {'package': package, 'PACKAGE': package.upper(), 'prefix': prefix,
             'PREFIX': prefix.upper(), 'robot': escape(settings.robot.model.name, {'"': '&quot;'}),
             **_joints(controller)}
    result = {}
    for source, target in _SOURCES.items():
        text = (files(__package__) / source).read_text()
        result[_with(target, names)] = _with(text, names)
    headers = f'include/{package}/'
    for name, text in {**code, f'{prefix}_codes.h': controller_codes(settings.robot, prefix),
                       'tables.hpp': tables(controller, package, prefix)}.items():
        result[(headers if name.endswith(('.h', '.hpp')) else 'src/') + name] = text
    return result


def _with(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f'@{name}@', value)
    return text


def _joints(controller: Controller) -> dict[str, Any]:
    joints = controller.settings.robot.joints
    rate = controller.settings.number('nominal_rate')
    return {'joints': ', '.join(map(json.dumps, joints)), 'rate': f'{rate:.0f}',
            'command_joints': ', '.join(
                json.dumps(f'rbd_controller/{joint}') for joint in joints)}
