# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Typed, described, bounded ROS parameters from a table of settings."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from rbd_ros.errors import SettingError
from rbd_ros.nodes.parameters import refusal_text, unknown_warnings
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import (
    InvalidParameterTypeException, InvalidParameterValueException, ParameterUninitializedException)
from rclpy.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rbd_ros.sim.setting_table import Setting, Value
    from rclpy.node import Node

_TYPES = {
    'bool': Parameter.Type.BOOL, 'int': Parameter.Type.INTEGER, 'float': Parameter.Type.DOUBLE,
    'str': Parameter.Type.STRING, 'floats': Parameter.Type.DOUBLE_ARRAY,
    'strs': Parameter.Type.STRING_ARRAY,
}


def declare(node: Node, table: Mapping[str, Setting]) -> None:
    """
    Declare every setting of a table; those without a default may stay without a value.

    :param node: that gets the parameters.
    :param table: settings by name.
    :raises SettingError: for a given value of the wrong type or outside of its bounds.
    """
    for setting in table.values():
        kind = _TYPES[setting.kind]
        start = kind if setting.default is None else setting.default
        try:
            node.declare_parameter(setting.name, start, _descriptor(setting))
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            words = kind.name.lower()
            raise SettingError(refusal_text(node, setting.name, words, error)) from error
    for text in unknown_warnings(node, table):
        node.get_logger().warning(text)


def _descriptor(setting: Setting) -> ParameterDescriptor:
    constraints = ''
    if setting.choices:
        constraints = f'one of {", ".join(setting.choices)}'
    elif setting.kind == 'floats':
        constraints = f'each between {setting.lower:g} and {setting.upper:g}'
    descriptor = ParameterDescriptor(
        name=setting.name, description=setting.description, read_only=setting.fixed,
        additional_constraints=constraints, type=_TYPES[setting.kind].value)
    if setting.kind == 'float':
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=setting.lower, to_value=setting.upper)]
    elif setting.kind == 'int':
        descriptor.integer_range = [
            IntegerRange(from_value=int(setting.lower), to_value=int(setting.upper))]
    return descriptor


def values(node: Node, table: Mapping[str, Setting]) -> dict[str, Value]:
    """Return the values in force; None for those without one."""
    found: dict[str, Value] = {}
    for name in table:
        try:
            found[name] = plain(node.get_parameter(name).value)
        except ParameterUninitializedException:
            found[name] = None
    return found


def changed(parameters: Iterable[Parameter], table: Mapping[str, Setting]) -> dict[str, Value]:
    """Return the new values of those parameters that are in the table."""
    return {p.name: plain(p.value) for p in parameters if p.name in table}


def plain(value: object) -> Value:
    """Return a value with arrays as lists."""
    if isinstance(value, (array, list, tuple)):
        return list(value)
    return value if isinstance(value, (bool, int, float, str)) else None
