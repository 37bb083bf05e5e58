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

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
import re
from typing import Any

from rbd_ros.command_line.c_controller import controller_codes, controller_of, emit_controller
from rbd_ros.command_line.prefixes import check_prefix
from rbd_ros.command_line.ros2_control.tables import MOST_POINTS, tables
from rbd_ros.compiler.records import Record
from rbd_ros.control.controller import Controller
from rbd_ros.control.load.load import restart_load
from rbd_ros.control.load.payload import Body, judge_body
from rbd_ros.control.load.tilt import find_down, Tilt
from rbd_ros.control.parameters.force import ForceCase, judge_force
from rbd_ros.control.parameters.gains import GainCase, judge_gains
from rbd_ros.control.parameters.gravity import GravityCase, judge_gravity
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.springs import judge_spring, SpringCase
from rbd_ros.control.references.feeding import Feed, handle_feed
from rbd_ros.control.references.points import PointLimits, Points, Verdict
from rbd_ros.control.references.polynomials import handle_points
from rbd_ros.control.references.targets import handle_target, Target
from rbd_ros.control.snapshots import note_state, Noted
from rbd_ros.control.step.state import derive_parameters
from rbd_ros.errors import SettingError
from rbd_ros.quoting import filled, in_comment, markdown_text, markup_text, yaml_text

__all__ = ['ros2_control_package']

#: Files that are the same for every robot, but for names: what they become.
_SOURCES = {'controller.hpp.in': 'include/@package@/controller.hpp',
            'ring.hpp.in': 'include/@package@/ring.hpp',
            'mailbox.hpp.in': 'include/@package@/mailbox.hpp',
            'exchange.hpp.in': 'include/@package@/exchange.hpp',
            'reports.hpp.in': 'include/@package@/reports.hpp',
            'topics.hpp.in': 'include/@package@/topics.hpp',
            'controller.cpp.in': 'src/controller.cpp', 'reports.cpp.in': 'src/reports.cpp',
            'topics.cpp.in': 'src/topics.cpp',
            'CMakeLists.txt.in': 'CMakeLists.txt', 'package.xml.in': 'package.xml',
            'plugins.xml.in': '@package@_plugins.xml', 'README.md.in': 'README.md',
            'controllers.yaml.in': 'config/controllers.yaml'}
#: How the name of the robot is quoted, by the ending of a file; in all others it is in comments.
_QUOTED = {'.xml': markup_text, '.md': markdown_text}
#: Packages whose headers the sources include; package.xml and CMakeLists.txt name all of them.
_DEPENDENCIES = (
    'control_msgs', 'controller_interface', 'geometry_msgs', 'hardware_interface',
    'pluginlib', 'rcl_interfaces', 'rclcpp', 'rclcpp_action', 'rclcpp_lifecycle', 'sensor_msgs',
    'std_msgs', 'std_srvs', 'trajectory_msgs')


def ros2_control_package(settings: Settings, prefix: str) -> dict[str, str]:
    """
    Return the files of a package by name.

    :param settings: of the controller.
    :param prefix: of every name in the C code; the package is called after it.
    """
    check_prefix(prefix)
    if not re.fullmatch('[a-z][a-z0-9_]+', prefix):
        raise SettingError(f'prefix "{prefix}" must be a valid name of a ROS package: two or '
                           f'more lower-case letters, digits and _, a letter first; choose '
                           f'another with --prefix')
    frame, sensor = map(settings.text, ('force_torque.frame', 'force_torque.sensor_name'))
    if frame and not sensor:
        raise SettingError('force_torque.frame: a controller inside ros2_control reads the sensor '
                           'from the hardware; give force_torque.sensor_name, under which that '
                           'exports <name>/force.x to <name>/torque.z')
    if sensor and not frame:
        raise SettingError(f'force_torque.sensor_name "{sensor}": give force_torque.frame, too, '
                           'in whose axes it measures')
    if settings.text('gravity_source') == 'tf':
        raise SettingError('gravity_source tf: a controller inside ros2_control does not listen '
                           'to TF; set it to imu or parameter, or use the node')
    package = f'{prefix}_rbd_controller'
    controller, graphs = controller_of(settings)
    code = emit_controller(controller, graphs, prefix, _intake(controller))
    names = {'package': package, 'PACKAGE': package.upper(), 'prefix': prefix,
             'PREFIX': prefix.upper(), **_manifest(), **_joints(controller)}
    result = {}
    for source, target in _SOURCES.items():
        text = (files(__package__) / source).read_text()
        quoted = _QUOTED.get(Path(target).suffix, in_comment)(settings.robot.model.name)
        result[filled(target, names)] = filled(text, {**names, 'robot': quoted})
    headers = f'include/{package}/'
    for name, text in {**code, f'{prefix}_codes.h': controller_codes(settings.robot, prefix),
                       'tables.hpp': tables(controller, package, prefix)}.items():
        result[(headers if name.endswith(('.h', '.hpp')) else 'src/') + name] = text
    return result


def _intake(controller: Controller) -> dict[Callable[..., object], Sequence[Record]]:
    """Return the procedures that make events of messages, and notes of states, with records."""
    x, p = controller.x.references, controller.p.references
    sizes = {**controller.x.sizes, 'k': MOST_POINTS}
    points, verdict = Points(sizes), Verdict(sizes)
    return {handle_points: (points, PointLimits(sizes), verdict),
            handle_feed: (Feed(sizes), points, controller.ring, x.joint.path),
            handle_target: (Target(sizes), x.task, p.task, verdict),
            find_down: (Tilt(sizes), controller.x.states.sources, controller.p.states.ages),
            judge_body: (Body(sizes),), restart_load: (controller.x.load, controller.p.load),
            derive_parameters: (controller.p,), judge_gains: (GainCase(sizes),),
            judge_spring: (SpringCase(sizes),), judge_force: (ForceCase(sizes),),
            judge_gravity: (GravityCase(sizes),),
            note_state: (Noted(sizes), controller.x, controller.p)}


def _manifest() -> dict[str, str]:
    """Return the dependencies as CMakeLists.txt and package.xml write them."""
    return {'find_packages': '\n'.join(f'find_package({each} REQUIRED)'
                                       for each in _DEPENDENCIES),
            'dependencies': '\n  '.join(_DEPENDENCIES),
            'depends': '\n'.join(f'  <depend>{each}</depend>' for each in _DEPENDENCIES)}


def _joints(controller: Controller) -> dict[str, Any]:
    joints = controller.settings.robot.joints
    rate = controller.settings.number('nominal_rate')
    return {'joints': ', '.join(map(yaml_text, joints)), 'rate': f'{rate:.0f}',
            'command_joints': ', '.join(
                yaml_text(f'rbd_controller/{joint}') for joint in joints)}
