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

"""One row of the table of parameters: type, default, unit, bounds, meaning, what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
import math

from rbd_ros.errors import nearest

__all__ = ['Kind', 'Parameter', 'Value', 'axes', 'choice', 'joints', 'scalar', 'startup', 'switch',
           'text']

Value = bool | int | float | str | list[int] | list[float] | list[str]

#: Kinds of parameters, named as in ROS.
Kind = str
BOOL, INTEGER, DOUBLE, STRING = 'bool', 'integer', 'double', 'string'
INTEGERS, DOUBLES, STRINGS = 'integer_array', 'double_array', 'string_array'


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

    def refusal(self, value: object) -> str:
        """
        Return why a value cannot be taken; empty if it can.

        :param value: as it came from outside.
        """
        if self.kind in (INTEGERS, DOUBLES, STRINGS):
            entries = list(value) if isinstance(value, (list, tuple)) else None
            if entries is None:
                return f'{self.name} must be of type {self.kind}, got {value!r}'
        else:
            entries = [value]
        if self.size and len(entries) not in (1, self.size):
            return (f'{self.name} has {len(entries)} entries; give one for all, or {self.size}, '
                    'one per axis')
        for entry in entries:
            reason = self._entry(entry)
            if reason:
                return reason
        return ''

    def _entry(self, value: object) -> str:
        if not _fits(self.kind, value):
            return f'{self.name} must be of type {self.kind}, got {value!r}'
        if self.choices and value not in self.choices and value != self.default:
            return (f'{self.name} must be one of {list(self.choices)}, got {value!r}'
                    f'{nearest(str(value), self.choices)}')
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if not math.isfinite(value) or not self.lower <= value <= self.upper:
                return (f'{self.name} = {value} {self.unit} is outside '
                        f'[{self.lower:g}, {self.upper:g}]')
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
