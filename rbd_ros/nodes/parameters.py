# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The table of parameters as parameters of a ROS node: declared, checked as a set, read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
import math
from typing import Any, cast

from rbd_ros.control.interface import row as rows
from rbd_ros.control.interface.row import Parameter as Row, Value
from rbd_ros.control.modes import Mode
from rbd_ros.control.parameters.mode_file import read_modes
from rbd_ros.control.parameters.table import NAMES_OF_MODES, PARAMETERS, with_modes
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.errors import nearest, SettingError
from rcl_interfaces.msg import (
    FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType, SetParametersResult)
from rclpy.exceptions import (
    InvalidParameterTypeException, InvalidParameterValueException, ParameterUninitializedException)
from rclpy.node import Node
from rclpy.parameter import Parameter

__all__ = ['check_changes', 'declare', 'declare_fixed', 'OwnModes', 'read', 'refusal_text',
           'undeclared', 'unknown_warnings']

_TYPES = {
    rows.BOOL: ParameterType.PARAMETER_BOOL,
    rows.INTEGER: ParameterType.PARAMETER_INTEGER,
    rows.DOUBLE: ParameterType.PARAMETER_DOUBLE,
    rows.STRING: ParameterType.PARAMETER_STRING,
    rows.INTEGERS: ParameterType.PARAMETER_INTEGER_ARRAY,
    rows.DOUBLES: ParameterType.PARAMETER_DOUBLE_ARRAY,
    rows.STRINGS: ParameterType.PARAMETER_STRING_ARRAY,
}

_KINDS = {str: rows.STRING, bool: rows.BOOL, int: rows.INTEGER, float: rows.DOUBLE}


def undeclared(node: Node, changes: Iterable[Parameter]) -> str:
    """Return which of the parameters to be set a node does not have, and which one is like it."""
    return '; '.join(f'there is no parameter "{each.name}"{nearest(each.name, PARAMETERS)}'
                     for each in changes if not node.has_parameter(each.name))


def declare(node: Node, rows: Mapping[str, Row] = PARAMETERS) -> None:
    """
    Declare every parameter with type, unit, meaning and bounds.

    :param node: the node.
    :param rows: of the parameters by name.
    :raises SettingError: for a given value of the wrong type or outside of its bounds.
    """
    for row in rows.values():
        empty = isinstance(row.default, list) and not row.default
        kind = Parameter.Type(_TYPES[row.kind])
        try:
            if not empty:
                node.declare_parameter(row.name, row.default, _descriptor(row))
                continue
            node.declare_parameter(row.name, kind, _descriptor(replace(row, fixed=False)))
            if _missing(node, row.name):
                node.set_parameters([Parameter(row.name, kind, [])])
            if row.fixed:
                node.set_descriptor(row.name, _descriptor(row))
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise SettingError(refusal_text(node, row.name, row.kind, error)) from error
    if rows is PARAMETERS and node.get_parameter('mode_file').value:
        return  # the parameters of its modes are not known yet
    for text in unknown_warnings(node, {**PARAMETERS, **rows}):
        node.get_logger().warning(text)


class OwnModes:
    """Modes of the user, and their parameters among those of a node."""

    def __init__(self, node: Node) -> None:
        """
        Read nothing yet.

        :param node: whose parameter ``mode_file`` names the file.
        """
        self._node = node
        self._rows: dict[str, Row] = {}

    def read(self) -> tuple[Mode, ...]:
        """
        Read the file and declare the parameters; values that were set stay where a row has stayed.

        :raises SettingError: for a file that cannot be used, or a given value that does not fit.
        """
        node, before = self._node, self._rows
        modes = read_modes(str(node.get_parameter('mode_file').value))
        self._rows = {name: row for mode in modes for name, row in mode.rows.items()}
        for name, row in before.items():
            if self._rows.get(name) != row and node.has_parameter(name):
                node.undeclare_parameter(name)
        if modes:
            for name in NAMES_OF_MODES:
                node.set_descriptor(name, _descriptor(with_modes(modes)[name]))
            declare(node, {name: row for name, row in self._rows.items()
                           if not node.has_parameter(name)})
        return modes


def declare_fixed(node: Node, parameters: Mapping[str, tuple[Any, str]]) -> None:
    """
    Declare parameters that hold from the start to the end; warn of others that were given.

    :param node: the node.
    :param parameters: default and meaning by name; the type stands for a list without a default.
    :raises SettingError: for a value of another type; says what to write.
    """
    for name, (value, text) in parameters.items():
        try:
            node.declare_parameter(
                name, value, ParameterDescriptor(description=text, read_only=True))
        except InvalidParameterTypeException as error:
            kind = _KINDS.get(type(value), rows.STRINGS)
            raise SettingError(refusal_text(node, name, kind, error)) from error
    for warning in unknown_warnings(node, parameters):
        node.get_logger().warning(warning)


def refusal_text(node: Node, name: str, kind: str, error: Exception) -> str:
    """
    Return why a value that was given at the start cannot be taken, and what to write instead.

    :param node: the node.
    :param name: of the parameter.
    :param kind: its type, in words.
    :param error: what rclpy raised.
    """
    given = getattr(node, '_parameter_overrides', {}).get(name)
    if given is None or isinstance(error, InvalidParameterValueException):
        return f'parameter {name}: {error}'
    whole = given.type_ in (Parameter.Type.INTEGER, Parameter.Type.INTEGER_ARRAY)
    hint = '; write numbers with a decimal point' if whole else ''
    if kind == rows.INTEGERS:
        hint = f'; write [{given.value}]' if given.type_ == Parameter.Type.INTEGER else ''
    elif kind == rows.STRINGS:
        hint = f'; write [{given.value}]' if given.type_ == Parameter.Type.STRING else ''
    elif kind == rows.STRING:
        hint = '; put it in quotes' if whole else ''
    return f'parameter {name} must be of type {kind}, got {_plain(given.value)!r}{hint}'


def unknown_warnings(node: Node, known: Iterable[str]) -> list[str]:
    """
    Return a warning for each parameter that was given at the start and does not exist.

    rclpy drops them silently; a misspelt limit would not count, and nobody would know.

    :param node: the node; all its parameters are declared.
    :param known: names to choose from.
    """
    names = [name for name in getattr(node, '_parameter_overrides', {})
             if not node.has_parameter(name) and not name.startswith('qos_overrides.')]
    return [f'parameter {name} is unknown and has no effect{nearest(name, known)}'
            for name in names]


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
    elif row.kind in (rows.INTEGERS, rows.DOUBLES) and math.isfinite(row.upper - row.lower):
        limits.append(f'each between {row.lower:g} and {row.upper:g}')
    if row.structural:
        limits.append('read-only while active')
    descriptor = ParameterDescriptor(
        name=row.name, type=_TYPES[row.kind], description=text, read_only=row.fixed,
        additional_constraints='; '.join(limits))
    if row.kind == rows.DOUBLE and math.isfinite(row.upper - row.lower):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=row.lower, to_value=row.upper, step=0.0)]
    elif row.kind == rows.INTEGER and math.isfinite(row.upper - row.lower):
        descriptor.integer_range = [
            IntegerRange(from_value=int(row.lower), to_value=int(row.upper), step=1)]
    return descriptor


def read(node: Node, rows: Mapping[str, Row] = PARAMETERS) -> dict[str, Value]:
    """
    Return the present value of every parameter.

    :param node: the node.
    :param rows: of the parameters by name.
    """
    return {name: _plain(node.get_parameter(name).value) for name in rows}


def _plain(value: object) -> Value:
    if isinstance(value, (bool, int, float, str)):
        return value
    return list(cast(Sequence[Any], value))


def check_changes(changes: Sequence[Parameter], current: Mapping[str, Value], *, active: bool,
                  joints: int, started: Sequence[float] = (),
                  rows: Mapping[str, Row] = PARAMETERS) -> SetParametersResult:
    """
    Check changes as a set.

    :param changes: as they came.
    :param current: values in force.
    :param active: whether the controller is active, which locks structural parameters.
    :param joints: number of controlled joints, 0 while it is not known.
    :param started: gravity with which the controller was activated, m/s^2.
    :param rows: of the parameters by name.
    """
    wanted = {change.name: _plain(change.value) for change in changes if change.name in rows}
    reasons = refusals(wanted, current, active=active, started=started, joints=joints, known=rows)
    return SetParametersResult(successful=not reasons, reason='; '.join(reasons))
