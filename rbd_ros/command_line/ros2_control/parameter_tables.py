# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of a controller as C99: their values, and those that may change while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rbd_ros.command_line.ros2_control.literals import flag, listed, number, table, text
from rbd_ros.control.interface.row import (
    BOOL, DOUBLE, DOUBLES, INTEGER, INTEGERS, Parameter, STRING, STRINGS)
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.parameters.values import Place, places

__all__ = ['live_places', 'NODE_ONLY', 'ParameterTables', 'why_fixed']

#: Parameters that the node takes while it is active, and that nothing inside ros2_control uses.
NODE_ONLY = ('dynamics_divider', 'activation_timeout')

_TYPES = {BOOL: 'RBD_BOOL', INTEGER: 'RBD_INTEGER', DOUBLE: 'RBD_DOUBLE', STRING: 'RBD_STRING',
          INTEGERS: 'RBD_INTEGERS', DOUBLES: 'RBD_DOUBLES', STRINGS: 'RBD_STRINGS'}


def live_places(settings: Settings) -> list[Place]:
    """
    Return the parameters that may change while the controller runs, as in the node.

    :param settings: of the controller.
    """
    found = places(settings.robot.modes, len(settings.robot.joints))
    return [found[row.name] for row in with_modes(settings.robot.own_modes).values()
            if not why_fixed(row)]


def why_fixed(row: Parameter) -> str:
    """
    Return why a parameter stays what the library was made for; empty: it does not.

    :param row: of the table.
    """
    if row.structural or row.fixed:
        return 'the node does not change it while it is active either'
    return 'nothing inside ros2_control uses it' if row.name in NODE_ONLY else ''


class ParameterTables:
    """
    Tables of the parameters of a controller.

    :param settings: of the controller.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._live = settings, live_places(settings)

    @property
    def rows(self) -> list[str]:
        """Return all parameters, with the values that the library is made for."""
        return [_parameter(row, self._settings)
                for row in with_modes(self._settings.robot.own_modes).values()]

    def members(self) -> dict[str, str]:
        """Return what the table of the library says of those that may change."""
        at = {each.row.name: each.at for each in self._live}
        g = self._settings.given
        begin = (g.values.memory.ctypes.data - g.memory.ctypes.data) // g.memory.itemsize
        return {'value_count': str(g.values.memory.size), 'values': f'kGiven + {begin}',
                'live': 'kLive', 'live_count': 'sizeof(kLive) / sizeof(kLive[0])',
                **{f'{name}_at': str(at[name]) for name in (
                    'mode', 'goal_lease', 'state_divider')}}

    def lines(self) -> list[str]:
        """Return the tables of those that may change."""
        rows = [', '.join([
            text(row.name), text(row.unit), number(row.lower), number(row.upper),
            _TYPES[row.kind], flag(row.default in ([], '')), flag(place.spread), str(place.size),
            str(place.at), str(len(place.names)), listed('char *const', map(text, place.names))])
            for place in self._live for row in (place.row,)]
        return ['/// What the parameters of the step are made of, for the values of this library.',
                *table('double', 'kGiven', _lines(self._settings.given.memory)),
                *table('rbd_live', 'kLive', [f'{{{row}}}' for row in rows])]


def _lines(numbers: Iterable[float]) -> list[str]:
    """Return numbers of a table, eight to a line."""
    found = [number(each) for each in numbers]
    return [', '.join(found[k:k + 8]) for k in range(0, len(found), 8)]


def _parameter(row: Parameter, settings: Settings) -> str:
    """Return a parameter with the value that this controller has."""
    value = settings[row.name]
    values: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
    texts = [text(each) for each in values if isinstance(each, str)]
    numbers = [number(each) for each in values if not isinstance(each, str)]
    unit, fixed = f', {row.unit}' if row.unit else '', why_fixed(row)
    return (f'{{{text(row.name)}, {text(row.description + unit)}, {_TYPES[row.kind]}, '
            f'{len(values)}, {listed("double", numbers)}, {listed("char *const", texts)}, '
            f'{text(fixed) if fixed else "NULL"}}}')
