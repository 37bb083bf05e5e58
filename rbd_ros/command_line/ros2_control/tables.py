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

"""The library of a robot for ros2_control: names, parameters, modes and sentences as C99."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import math
from typing import Any

from rbd_ros.command_line.ros2_control.frames import frame_tables
from rbd_ros.command_line.ros2_control.literals import flag, listed, number, place, text
from rbd_ros.command_line.ros2_control.live_tables import LiveTables
from rbd_ros.command_line.ros2_control.mode_tables import mode_tables
from rbd_ros.command_line.ros2_control.sentence_tables import sentence_rows
from rbd_ros.compiler.records import Record
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.row import (
    BOOL, DOUBLE, DOUBLES, INTEGER, INTEGERS, Parameter, STRING, STRINGS)
from rbd_ros.control.joint_states.ages import gravity_age
from rbd_ros.control.modes import Takes, taking
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.stiffness_message import spring_columns
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.references.points import fill_point_limits, PointLimits
from rbd_ros.control.robot import Robot
from rbd_ros.control.supervisor.states import SupervisorState as State

__all__ = ['MOST_POINTS', 'robot_header']

#: points of a trajectory that a generated controller takes
MOST_POINTS = 10_000
_TYPES = {BOOL: 'RBD_BOOL', INTEGER: 'RBD_INTEGER', DOUBLE: 'RBD_DOUBLE', STRING: 'RBD_STRING',
          INTEGERS: 'RBD_INTEGERS', DOUBLES: 'RBD_DOUBLES', STRINGS: 'RBD_STRINGS'}
#: what says of each mode what it takes
_TAKES = (Takes.TRAJECTORY, Takes.TARGET, Takes.STIFFNESS)


def robot_header(controller: Controller, prefix: str) -> str:
    """
    Return the header that ``session.c`` includes.

    :param controller: gives parameters and sizes.
    :param prefix: of every name in the C code.
    """
    settings, robot = controller.settings, controller.settings.robot
    structure, independent = controller.p.structure, robot.model.independent_joint_names
    live = LiveTables(settings, controller.p)
    measured = [k for k in range(len(independent)) if structure.measured[k]]
    modes, sensor = tuple(robot.modes), settings.text('force_torque.sensor_name')
    taken = [taking(what, robot.own_modes) for what in _TAKES]
    endless = dict(zip(robot.joints, robot.continuous, strict=True))
    tables: dict[str, tuple[str, str, Sequence[str]]] = {
        'joint': ('rbd_joint', 'kJoints', [
            _joint(name, unit, endless[name])
            for name, unit in zip(robot.joints, robot.units, strict=True)]),
        'model_joint': ('rbd_joint', 'kModelJoints', [
            _joint(each, each.unit, False) for each in robot.spoken(independent)]),
        'measured': ('char *const', 'kMeasured', [text(independent[k]) for k in measured]),
        'sensed': ('char *const', 'kSensed', [
            text(f'{sensor}/{part}.{axis}') for part in ('torque', 'force') for axis in 'xyz'
            ] if sensor else []),
        'mode': ('rbd_mode', 'kModes', [
            f'{{{text(mode)}, {", ".join(flag(mode in each) for each in taken)}}}'
            for mode in modes]),
        'state': ('char *const', 'kStates', [text(each.value) for each in State]),
        'cause': ('char *const', 'kCauses', [text(each.text) for each in Cause]),
        'sentence': ('rbd_sentence', 'kSentences', sentence_rows(controller)),
        **{kind: ('rbd_frame', name, rows)
           for kind, (name, rows) in frame_tables(robot).items()},
        'spring_column': ('rbd_spring_column', 'kSpringColumns', _spring_columns(robot)),
        'parameter': ('rbd_parameter', 'kParameters', [
            _parameter(row, settings, live)
            for row in with_modes(robot.own_modes).values()])}
    members = {'joint': 'joints', 'model_joint': 'model_joints', 'measured': 'measured',
               'sensed': 'sensed', 'parameter': 'parameter_rows'}
    values = {
        'robot': text(robot.model.name), 'most_points': str(MOST_POINTS),
        'linear': flag(settings.flag('reference.linear')),
        'state_divider': str(settings.integer('state_divider')),
        'goal_mode': str(place(modes, settings.text('goal_mode'))),
        'gravity_from_imu': flag(settings.text('gravity_source') == 'imu'),
        'tip': text(robot.tip), 'live_numbers': str(live.size), 'live': 'kLive',
        'live_values': 'kLiveValues', 'live_count': 'sizeof(kLive) / sizeof(kLive[0])',
        **{f'{kind}_count': str(len(rows)) for kind, (_, _, rows) in tables.items()},
        **{members.get(kind, f'{kind}s'): name if rows else 'NULL'
           for kind, (_, name, rows) in tables.items()}}
    sizes = {'JOINTS': len(robot.joints), 'MEASURED': len(measured), 'CAUSES': len(Cause),
             'STATE_DIVIDER': settings.integer('state_divider')}
    return '\n'.join([
        '// Generated by rbd_ros: what session.c has to know of its robot.', '',
        '#ifndef ROBOT_H_', '#define ROBOT_H_', '', '#include <math.h>', '#include <string.h>', '',
        '#include "codes.h"', '#include "session.h"', f'#include "{prefix}.h"', '',
        f'#define ROBOT(name) {prefix}_##name', '',
        'enum {', *[f'  {name} = {size},' for name, size in sizes.items()], '};', '',
        f'static const double kHeartbeatPeriod = '
        f'{number(1.0 / settings.number("heartbeat_rate"))};  // s',
        f'static const double kGoalLease = {number(settings.number("goal_lease"))};  // s',
        'static const double kGoalLeaseForAll = '
        f'{number(float(settings.flag("goal_lease_for_all")))};', '',
        _array('size_t', 'kPlaces', map(str, robot.index)),  # of the joints in the model
        _array('size_t', 'kMeasuredPlaces', map(str, measured)), '',
        *[_array(kind, name, rows) for kind, name, rows in tables.values() if rows],
        *_record('point_limits', _point_limits(settings)), '',
        *[line for name, record in zip(('no_directions', 'direction_limits'),
                                       gravity_age(settings).records, strict=True)
          for line in (*_record(name, record), '')],
        *mode_tables(settings, modes, controller), '', *live.lines(), '',
        '#define ROBOT_TABLES \\', ', \\\n'.join(
            f'  .{name} = {value}' for name, value in values.items()), '', '#endif', ''])


def _joint(name: str, unit: str, endless: bool) -> str:
    return f'{{{text(name)}, {text(unit)}, {flag(endless)}}}'


def _spring_columns(robot: Robot) -> list[str]:
    """Return which parameters a row of a stiffness message has, mode by mode."""
    return [f'{{{k}, {{{text(stiffness)}, {text(damping)}}}, {count}}}'
            for k, mode in enumerate(robot.modes.values())
            for stiffness, damping, count in spring_columns(mode, len(robot.joints))]


def _parameter(row: Parameter, settings: Settings, live: LiveTables) -> str:
    """Return a parameter with the value that this controller has."""
    value = settings[row.name]
    values: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
    texts = [text(each) for each in values if isinstance(each, str)]
    numbers = [number(each) for each in values if not isinstance(each, str)]
    unit = f', {row.unit}' if row.unit else ''
    can_change = row.name == 'mode' or row.name in live
    fixed = 'NULL' if can_change else text(live.fixed.get(row.name, 'it is no number'))
    return (f'{{{text(row.name)}, {text(row.description + unit)}, {_TYPES[row.kind]}, '
            f'{len(values)}, {listed("double", numbers)}, {listed("char *const", texts)}, '
            f'{fixed}}}')


def _point_limits(settings: Settings) -> PointLimits:
    """Return what points of trajectories may ask for."""
    limits = PointLimits({'n': len(settings.robot.joints)})
    fill_point_limits(limits, settings)
    return limits


def _array(kind: str, name: str, rows: Iterable[str]) -> str:
    return f'static const {kind} {name}[] = {{\n  ' + ',\n  '.join(rows) + '};\n'


def _record(name: str, record: Record) -> Iterator[str]:
    """Yield the function that gives a record the values that it has now; it may have more room."""
    yield f'static void {name}(ROBOT({type(record).__name__}) *p)'
    yield from ('{', '  memset(p, 0, sizeof(*p));')
    for path, _, view in record.walk('p->'):
        for k, x in enumerate(view.ravel()):
            if x or math.copysign(1.0, x) < 0.0:
                yield f'  {path}{f"[{k}]" if view.ndim else ""} = {number(x)};'
    yield '}'
