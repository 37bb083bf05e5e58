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

"""Parameters that may change while a controller runs, and the rules between them, in C99."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any

from rbd_ros.command_line.ros2_control.literals import flag, listed, number, place, table, text
from rbd_ros.command_line.ros2_control.live import (
    Effect, Live, live_parameters, Numbers, why_fixed)
from rbd_ros.control.interface.row import BOOL, Value
from rbd_ros.control.interface.sentences import unit_of
from rbd_ros.control.modes import JOINT_SPRINGS, TIP_SPRINGS
from rbd_ros.control.parameters.force import DAMPINGS, force_cases
from rbd_ros.control.parameters.gains import gain_loop, gain_sentences, GROUPS
from rbd_ros.control.parameters.gravity import FAR
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.springs import spring_sentences
from rbd_ros.control.step.state import Parameters

__all__ = ['LiveTables']


class LiveTables:
    """
    The parameters that may change while the controller runs, and how they act.

    :param settings: of the controller.
    :param p: parameters of its step.
    """

    def __init__(self, settings: Settings, p: Parameters) -> None:
        self._settings, self._numbers = settings, Numbers(settings, p)
        self._rows = live_parameters(settings, self._numbers)
        self._names = [each.row.name for each in self._rows]
        self.fixed: Mapping[str, str] = why_fixed(settings, self._numbers, self._names)
        self.size = sum(each.size for each in self._rows)

    def __contains__(self, name: str) -> bool:
        """Return whether a parameter may change."""
        return name in self._names

    def lines(self) -> list[str]:
        """Return the tables."""
        rows, at = [], 0
        for each in self._rows:
            row = each.row
            rows.append(
                f'{{{text(row.name)}, {text(row.unit)}, {number(row.lower)}, {number(row.upper)}, '
                f'{flag(each.above)}, {flag(row.kind == BOOL)}, '
                f'{flag(row.each_joint or bool(row.size))}, {each.size}, {at}}}')
            at += each.size
        values = [number(value) for each in self._rows for value in self._values(each)]
        places = [place(self._names, f'payload.{each}') for each in ('mass', 'com', 'inertia')]
        return [*table('rbd_live', 'kLive', rows), *table('double', 'kLiveValues', values), '',
                *self._set_live(), '',
                '/// Places of mass, centre of mass and inertia of the payload.',
                f'static const int kPayload[] = {{{", ".join(map(str, places))}}};',
                f'static const int kGravity = {place(self._names, "gravity")};',
                f'static const char kGravityFar[] = {text(FAR.template)};', '',
                *self._gain_rules(), *self._spring_rules(), *self._force_rules()]

    def _values(self, live: Live) -> list[float]:
        """Return the values of a parameter, one for each of its numbers; none are no numbers."""
        value: Value = self._settings[live.row.name]
        found: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
        if len(found) == 1:
            found *= live.size
        return [float(x) for x in found] if found else [math.nan] * live.size

    def _set_live(self) -> Iterator[str]:
        """Yield the function that lets a parameter act."""
        yield '/// Let a live parameter act; derive_parameters follows.'
        yield ('static void set_live(size_t k, const double *v, ROBOT(Parameters) *p, '
               'ROBOT(PointLimits) *limits)')
        yield from ('{', '  switch (k) {')
        for k, each in enumerate(self._rows):
            yield f'    case {k}:'
            for effect in each.effects:
                target = self._numbers.paths[effect.place].replace('.', '->', 1)
                yield f'      {target} = {_effect(effect)};'
            yield '      break;'
        yield from ('  }', '}')

    def _places(self, names: Sequence[str]) -> str:
        return ', '.join(str(place(self._names, each)) for each in names)

    def _gain_rules(self) -> list[str]:
        """Return the gains that belong together, and what is said of those that are too large."""
        period, delay, loop = gain_loop(self._settings.values)
        rows = []
        for group in GROUPS:
            texts = ', '.join(text(each.template) for each in gain_sentences(*group, loop))
            rows.append(f'{{{{{self._places(group)}}}, {{{texts}}}}}')
        return ['typedef struct {', '  int gains[3];  // places of live parameters; -1: none',
                '  const char *sentences[3];', '} GainRule;',
                f'static const double kGainPeriod = {number(period)};',
                f'static const double kGainDelay = {number(delay)};',
                *table('GainRule', 'kGainRules', rows), '']

    def _spring_rules(self) -> list[str]:
        """Return the springs of each mode, and what is said of those that are too stiff."""
        settings, rows = self._settings, list[str]()
        loop = gain_loop(settings.values)[2]
        for k, mode in enumerate(settings.robot.modes.values()):
            always = mode is TIP_SPRINGS and settings.text('contact.reaction') == 'comply'
            for spring in settings.springs(mode):
                gains = self._places((spring.stiffness, spring.damping, spring.ratio))
                texts = ', '.join(text(each.template) for each in spring_sentences(spring, loop))
                usual = settings.usual_stiffness if mode is JOINT_SPRINGS else (
                    [0.0] * len(spring.places))
                lists = ', '.join([
                    listed('char *const', map(text, spring.places)),
                    listed('char *const', map(text, map(unit_of, spring.places))),
                    *[listed('double', map(number, each))
                      for each in (spring.inertia, spring.usual, usual)]])
                rows.append(f'{{{k}, {flag(always)}, {{{gains}}}, {len(spring.places)}, {lists}, '
                            f'{{{texts}}}}}')
        return ['typedef struct {', '  int mode;  // that they belong to',
                '  int always;  // they act in other modes, too',
                '  int gains[3];  // places of live parameters; -1: none', '  size_t count;',
                '  const char *const *places;', '  const char *const *units;',
                '  const double *inertia;',
                '  const double *usual;  // inertia that a damping is made for',
                '  const double *stiffness;  // where none is given',
                '  const char *sentences[2];', '} SpringRule;',
                *table('SpringRule', 'kSpringRules', rows), '']

    def _force_rules(self) -> list[str]:
        """Return the axes whose force is controlled, and what is said of gains too large."""
        rows = []
        for case, sentences in force_cases(self._settings.values,
                                           self._settings.robot.tip_inertia):
            given = ', '.join(
                number(view.item()) if not view.ndim else f'{{{", ".join(map(number, view))}}}'
                for _, _, view in case.walk())
            texts = ', '.join(text(each.template) for each in sentences)
            rows.append(f'{{{{{self._places(DAMPINGS)}}}, {{{given}}}, {{{texts}}}}}')
        return ['typedef struct {', '  int gains[4];  // places of live parameters; -1: none',
                '  ROBOT(ForceCase) given;', '  const char *sentences[2];', '} ForceRule;',
                *table('ForceRule', 'kForceRules', rows)]


def _effect(effect: Effect) -> str:
    """Return a number as an expression of the values of a parameter."""
    value = f'v[{effect.at}]'
    if effect.scale != 1.0:
        value = f'{number(effect.scale)} * {value}'
    if effect.constant:
        value = f'{number(effect.constant)} + {value}'
    if effect.scale == 0.0:
        return number(effect.constant)
    if math.isfinite(effect.low):
        value = f'fmax({value}, {number(effect.low)})'
    return f'fmin({value}, {number(effect.high)})' if math.isfinite(effect.high) else value
