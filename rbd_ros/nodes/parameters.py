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

"""The table of parameters as parameters of a ROS node: declared, judged as a set, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import cast

from rbd_ros.control import parameters
from rbd_ros.control.parameters import Parameter as Row
from rbd_ros.control.parameters import PARAMETERS, refusals, Value
from rbd_ros.errors import SettingError
from rcl_interfaces.msg import (
    FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType, SetParametersResult)
from rclpy.exceptions import (
    InvalidParameterTypeException, InvalidParameterValueException, ParameterUninitializedException)
from rclpy.node import Node
from rclpy.parameter import Parameter

__all__ = ['declare', 'judge', 'read']

_TYPES = {
    parameters.BOOL: ParameterType.PARAMETER_BOOL,
    parameters.INTEGER: ParameterType.PARAMETER_INTEGER,
    parameters.DOUBLE: ParameterType.PARAMETER_DOUBLE,
    parameters.STRING: ParameterType.PARAMETER_STRING,
    parameters.DOUBLES: ParameterType.PARAMETER_DOUBLE_ARRAY,
    parameters.STRINGS: ParameterType.PARAMETER_STRING_ARRAY,
}


def declare(node: Node) -> None:
    """
    Declare every parameter with type, unit, meaning and bounds.

    :param node: the node.
    :raises SettingError: for a given value of the wrong type or outside of its bounds.
    """
    for row in PARAMETERS.values():
        empty = isinstance(row.default, list) and not row.default
        kind = Parameter.Type(_TYPES[row.kind])
        try:
            node.declare_parameter(row.name, kind if empty else row.default, _descriptor(row))
            if empty and _missing(node, row.name):
                node.set_parameters([Parameter(row.name, kind, [])])
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise SettingError(f'parameter {row.name}: {error} (expected {row.kind}, '
                               f'{row.description})') from error


def _missing(node: Node, name: str) -> bool:
    try:
        return node.get_parameter(name).value is None
    except ParameterUninitializedException:
        return True


def _descriptor(row: Row) -> ParameterDescriptor:
    text = f'{row.description} [{row.unit}]' if row.unit else row.description
    limits = []
    if row.choices:
        limits.append('one of ' + ', '.join(row.choices))
    if row.structural:
        limits.append('read-only while active')
    descriptor = ParameterDescriptor(
        name=row.name, type=_TYPES[row.kind], description=text,
        additional_constraints='; '.join(limits))
    if row.kind == parameters.DOUBLE and math.isfinite(row.upper - row.lower):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=row.lower, to_value=row.upper, step=0.0)]
    elif row.kind == parameters.INTEGER and math.isfinite(row.upper - row.lower):
        descriptor.integer_range = [
            IntegerRange(from_value=int(row.lower), to_value=int(row.upper), step=1)]
    return descriptor


def read(node: Node) -> dict[str, Value]:
    """
    Return the present value of every parameter.

    :param node: the node.
    """
    return {name: _plain(node.get_parameter(name).value) for name in PARAMETERS}


def _plain(value: object) -> Value:
    return value if isinstance(value, (bool, int, float, str)) else list(cast(Sequence, value))


def judge(changes: Sequence[Parameter], current: Mapping[str, Value], *, active: bool,
          joints: int) -> SetParametersResult:
    """
    Judge changes as a set.

    :param changes: as they came.
    :param current: values in force.
    :param active: whether the controller is active, which locks structural parameters.
    :param joints: number of controlled joints, 0 while it is not known.
    """
    wanted = {change.name: _plain(change.value) for change in changes if change.name in PARAMETERS}
    reasons = refusals(wanted, current, active=active, joints=joints)
    return SetParametersResult(successful=not reasons, reason='; '.join(reasons))
