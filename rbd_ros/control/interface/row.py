# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One row of the table of parameters: type, default, unit, bounds, meaning, what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
import enum
import math

from rbd_ros.control.interface.entries import Entries, EntryWord, take_entries
from rbd_ros.control.interface.sentences import JointName
from rbd_ros.errors import nearest

__all__ = ['Kind', 'Parameter', 'ContactReaction', 'Value', 'axes', 'choice', 'joints', 'scalar',
           'startup', 'switch', 'text']

Value = bool | int | float | str | list[int] | list[float] | list[str]

#: Kinds of parameters, named as in ROS.
Kind = str
BOOL, INTEGER, DOUBLE, STRING = 'bool', 'integer', 'double', 'string'
INTEGERS, DOUBLES, STRINGS = 'integer_array', 'double_array', 'string_array'


class ContactReaction(enum.IntEnum):
    """What follows a contact; the choices of ``contact.reaction`` in their order."""

    OFF = 0
    REPORT = 1
    STOP = 2
    FLOAT = 3
    COMPLY = 4
    RETRACT = 5


@dataclass(frozen=True)
class Parameter:
    """One row of the table."""

    name: str
    kind: Kind
    default: Value
    unit: str
    description: str
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()
    structural: bool = False  # read-only while active
    each_joint: bool = False  # none, one for all, or one per controlled joint
    fixed: bool = False  # read-only from startup on
    size: int = 0  # entries, or one for all of them; 0: any number

    @property
    def entries(self) -> int:
        """Return how many numbers it has; 0: one for each joint, or any number."""
        if self.kind == DOUBLES and not self.each_joint and isinstance(self.default, list):
            return self.size or len(self.default)
        return 0

    def refusal(self, value: object, joints: int = 0) -> str:
        """
        Return why a value cannot be taken; empty if it can.

        :param value: as it came from outside.
        :param joints: number of controlled joints, 0 while it is not known.
        """
        if self.kind in (INTEGERS, DOUBLES, STRINGS):
            entries = list(value) if isinstance(value, (list, tuple)) else None
            if entries is None:
                return f'{self.name} must be of type {self.kind}, got {value!r}'
        else:
            entries = [value]
        for entry in entries:
            reason = self._entry(entry)
            if reason:
                return reason
        return '' if self.kind in (BOOL, STRING, STRINGS) else self._wrong(entries, joints)

    def _wrong(self, entries: list[float], joints: int) -> str:
        """Return what is wrong with numbers, as every host says it."""
        size = joints if self.each_joint else self.entries
        x = Entries({'e': max(len(entries), size, 1)}).plain()
        x.lower, x.upper, x.count = self.lower, self.upper, len(entries)
        x.size, x.optional = size or len(entries), self.default == []
        x.spread = self.each_joint or bool(self.size)
        x.numbers[:len(entries)] = entries
        take_entries(x)
        return EntryWord(x.word).text(
            JointName(self.name, self.unit), x.a, x.b, x.c) if x.word else ''

    def _entry(self, value: object) -> str:
        if not _fits(self.kind, value):
            return f'{self.name} must be of type {self.kind}, got {value!r}'
        if self.choices and value not in self.choices and value != self.default:
            return (f'{self.name} must be one of {list(self.choices)}, got {value!r}'
                    f'{nearest(str(value), self.choices)}')
        return ''


def _fits(kind: Kind, value: object) -> bool:
    if kind == BOOL:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind in (INTEGER, INTEGERS):
        return isinstance(value, int)
    if kind in (DOUBLE, DOUBLES):
        return isinstance(value, (int, float))
    return isinstance(value, str)


def scalar(name: str, default: float, unit: str, lower: float, upper: float,
           description: str, structural: bool = False) -> Parameter:
    """Return a row for one number."""
    return Parameter(name, DOUBLE, default, unit, description, lower, upper, structural=structural)


def joints(name: str, default: list[float], unit: str, lower: float, upper: float,
           description: str, structural: bool = False) -> Parameter:
    """Return a row for numbers of the joints: one for all, or one for each."""
    return Parameter(name, DOUBLES, default, unit,
                     description + ' One value for all joints, or one per joint.', lower, upper,
                     structural=structural, each_joint=True)


def axes(name: str, default: list[float], unit: str, lower: float, upper: float,
         description: str) -> Parameter:
    """Return a row for numbers of the three axes of a frame: one for all, or one for each."""
    return Parameter(name, DOUBLES, default, unit,
                     description + ' One value for all axes, or one each for x, y, z.', lower,
                     upper, size=3)


def choice(name: str, default: str, choices: tuple[str, ...], description: str,
           structural: bool = True) -> Parameter:
    """Return a row for one of several words."""
    return Parameter(name, STRING, default, '', description, choices=choices,
                     structural=structural)


def text(name: str, default: Value, description: str) -> Parameter:
    """Return a row for a text, or for a list of texts."""
    kind = STRINGS if isinstance(default, list) else STRING
    return Parameter(name, kind, default, '', description, structural=True)


def startup(name: str, default: str, description: str) -> Parameter:
    """Return a row for a text that can only be given at startup."""
    return Parameter(name, STRING, default, '', description, structural=True, fixed=True)


def switch(name: str, default: bool, description: str, structural: bool = True) -> Parameter:
    """Return a row for something that is on or off."""
    return Parameter(name, BOOL, default, '', description, structural=structural)
