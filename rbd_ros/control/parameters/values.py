# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Values of parameters as numbers: a record that is made of the table, and where each has its place.

A name such as ``task.linear_stiffness`` is a field of that path. Numbers that are not given are
NaN; one for all joints or axes is spread. A choice is its place among the choices, -1 if it is
none of them; a list of directions has 1 for each of ``AXES`` that it names. Texts and lists of any
length, such as names, are resolved before: the step has nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from typing import Any, cast, NamedTuple

from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.row import (
    BOOL, DOUBLE, DOUBLES, INTEGER, Parameter, STRING, Value)
from rbd_ros.control.modes import all_modes, Mode
from rbd_ros.control.parameters.table import NAMES_OF_MODES, PARAMETERS
from rbd_ros.errors import SettingError

__all__ = ['AXES', 'direction', 'OWN', 'Place', 'places', 'VALUES', 'write']

#: directions of a frame, in the order of the rows of its Jacobian
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')

#: numbers that the parameters of all law functions have together at most
OWN = 256

_TYPES = {BOOL: 'bool', INTEGER: 'int', STRING: 'int', DOUBLE: 'float'}


def direction(axis: str) -> str:
    """
    Return the short name of a direction: "y" for "ty", which YAML cannot take for true.

    :param axis: out of the choices of ``task.axes``.
    """
    return axis.removeprefix('t')


def _dims(row: Parameter) -> str | None:
    """Return the dimensions of the field of a parameter; None: it is no number of the step."""
    if row.kind in (BOOL, INTEGER, DOUBLE) or row.kind == STRING and row.choices:
        return ''
    if row.kind == DOUBLES:
        return 'n' if row.each_joint else str(row.entries) if row.entries else None
    return str(len(AXES)) if row.choices else None


def _record(name: str, rows: Mapping[str, Parameter]) -> type[Record]:
    """Return the record of parameters, by their names within it."""
    body: dict[str, Any] = {'__doc__': 'Values of parameters.', '__module__': __name__,
                            '__annotations__': {}}
    parts: dict[str, dict[str, Parameter]] = {}
    for path, row in rows.items():
        first, _, rest = path.partition('.')
        if rest:
            parts.setdefault(first, {})[rest] = row
        else:
            dims = str(_dims(row))
            body[path] = field(dims, row.unit, row.description, math.nan)
            body['__annotations__'][path] = 'Vector' if dims else _TYPES[row.kind]
    for first, inner in parts.items():
        body[first] = group(_record(f'{first.title().replace("_", "")}{name}', inner))
    return type(name, (Record,), body)


#: parameters of law functions
_LAWS = {name for mode in all_modes().values() if mode.law is not None for name in mode.rows}

#: The record of all that are numbers; ``own`` has those of law functions, one after another.
VALUES: Any = _record('Values', {
    **{name: row for name, row in PARAMETERS.items()
       if name not in _LAWS and _dims(row) is not None},
    'own': Parameter('own', DOUBLES, [math.nan] * OWN, '', 'parameters of all law functions')})


class Place(NamedTuple):
    """
    Where a parameter has its numbers.

    :param row: of the table.
    :param at: of the first, among all.
    :param size: how many there are.
    :param names: of choices, by their numbers.
    """

    row: Parameter
    at: int
    size: int
    names: tuple[str, ...]

    @property
    def spread(self) -> bool:
        """Return whether one number may be given for all."""
        return self.row.each_joint or bool(self.row.size)

    def numbers(self, value: Value) -> list[float]:
        """
        Return a value as numbers.

        :param value: a valid one.
        """
        if self.names and isinstance(value, str):
            return [float(self.names.index(value)) if value in self.names else -1.0]
        if self.names:
            given = [direction(each) for each in cast('list[str]', value)]
            return [float(each in given) for each in self.names]
        entries = [float(each) for each in cast(  # rclpy has arrays of its own kind
            'list[float]', [value] if isinstance(value, (bool, int, float)) else value)]
        if len(entries) == 1:
            return entries * self.size
        if len(entries) in (0, self.size):
            return entries or [math.nan] * self.size
        raise ValueError(f'{self.row.name} has {len(entries)} entries, not {self.size}')


def places(modes: Mapping[str, Mode], joints: int) -> dict[str, Place]:
    """
    Return where the parameters of a controller have their numbers, by name.

    :param modes: all of them.
    :param joints: number of controlled joints.
    """
    found, at, own = {}, 0, 0
    for name, _, view in VALUES({'n': joints}).walk():
        if name == 'own':
            own = at
        else:
            row = PARAMETERS[name]
            names = (tuple(modes) if name in NAMES_OF_MODES else
                     row.choices if row.kind == STRING else AXES if row.choices else ())
            found[name] = Place(row, at, view.size, names)
        at += view.size
    most, laws = own + OWN, [mode for mode in modes.values() if mode.law is not None]
    for row in (row for mode in laws for row in mode.rows.values()):
        size = joints if row.each_joint else 1
        found[row.name] = Place(row, own, size, ())
        own += size
    if own > most:
        raise SettingError(f'modes have {OWN + own - most} numbers in their parameters, at most '
                           f'{OWN}: {", ".join(mode.name for mode in laws)}')
    return found


def write(found: Iterable[Place], values: Mapping[str, Value], into: Any) -> None:
    """
    Write values as numbers.

    :param found: places of parameters.
    :param values: by name.
    :param into: gets them.
    """
    for each in found:
        into[each.at:each.at + each.size] = each.numbers(values[each.row.name])
