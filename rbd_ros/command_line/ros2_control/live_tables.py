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

"""Parameters of the C++ controller that may change while it runs, and the rules between them."""

from __future__ import annotations

from collections.abc import Sequence
import math

from rbd_ros.command_line.ros2_control.literals import array, number, plain, text
from rbd_ros.command_line.ros2_control.live import Effect, live_parameters, Numbers, why_fixed
from rbd_ros.control.interface.sentences import unit_of
from rbd_ros.control.modes.modes import JOINT_SPRINGS, TIP_SPRINGS
from rbd_ros.control.parameters.force import DAMPINGS, force_cases
from rbd_ros.control.parameters.gains import gain_loop, gain_sentences, GROUPS
from rbd_ros.control.parameters.gravity import FAR
from rbd_ros.control.parameters.row import BOOL
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.springs import spring_sentences
from rbd_ros.control.step.state import Parameters

__all__ = ['live_tables']


def live_tables(settings: Settings, p: Parameters) -> list[str]:
    """Return the parameters that may change while the controller runs, and how they act."""
    numbers = Numbers(settings, p)
    rows = live_parameters(settings, numbers)
    names = [each.row.name for each in rows]
    found = ['/// A parameter that may change while the controller runs.', 'struct Live', '{',
             '  const char * name;', '  const char * unit;', '  double lower, upper;',
             '  bool above;  // it must be above its lower bound, which means something else',
             '  bool flag;  // it is true or false',
             '  bool spread;  // one number may be given for all', '  std::size_t size;', '};',
             f'constexpr std::size_t kLiveCount = {len(rows)};', 'constexpr Live kLive[] = {']
    found += [f'  {{{text(each.row.name)}, {text(each.row.unit)}, {number(each.row.lower)}, '
              f'{number(each.row.upper)}, {plain(each.above)}, {plain(each.row.kind == BOOL)}, '
              f'{plain(each.row.each_joint or bool(each.row.size))}, {each.size}}},'
              for each in rows]
    found += ['};', '', '/// Let a live parameter act; derive_parameters follows.',
              'inline void set_live(', '  std::size_t k, const double * v, StepParameters & p, '
              'PointLimits & limits)', '{', '  switch (k) {']
    for k, each in enumerate(rows):
        found.append(f'    case {k}:  // {each.row.name}')
        found += [f'      {numbers.paths[effect.place]} = {_effect(effect)};'
                  for effect in each.effects]
        found.append('      break;')
    places = ', '.join(str(names.index(f'payload.{each}')) for each in ('mass', 'com', 'inertia'))
    found += ['  }', '}', '', '/// Places of mass, centre of mass and inertia of the payload.',
              f'constexpr std::size_t kPayload[] = {{{places}}};', '',
              '/// Why a parameter stays what the controller was generated with.',
              'const std::map<std::string, const char *> kFixed{',
              *[f'  {{{text(name)}, {text(why)}}},' for name, why in why_fixed(
                  settings, numbers, names).items()], '};', '',
              *_gain_rules(settings, names), *_spring_rules(settings, names),
              *_force_rules(settings, names),
              f'constexpr char kGravityFar[] = {text(FAR.template)};']
    return found


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
        value = f'std::max({value}, {number(effect.low)})'
    return f'std::min({value}, {number(effect.high)})' if math.isfinite(effect.high) else value


def _gain_rules(settings: Settings, names: Sequence[str]) -> list[str]:
    """Return the gains that belong together, and what is said of those that are too large."""
    period, delay, loop = gain_loop(settings.values)
    found = ['struct GainRule', '{', '  int gains[3];  // places of live parameters; -1: none',
             '  const char * sentences[3];', '};',
             f'constexpr double kGainPeriod = {number(period)}, kGainDelay = {number(delay)};',
             'constexpr GainRule kGainRules[] = {']
    for group in GROUPS:
        places = ', '.join(str(names.index(each) if each in names else -1) for each in group)
        texts = ', '.join(text(each.template) for each in gain_sentences(*group, loop))
        found.append(f'  {{{{{places}}},\n    {{{texts}}}}},')
    return [*found, '};']


def _spring_rules(settings: Settings, names: Sequence[str]) -> list[str]:
    """Return the springs of each mode, and what is said of those that are too stiff."""
    loop, rows = gain_loop(settings.values)[2], list[str]()
    found = ['struct SpringRule', '{', '  int mode;  // that they belong to',
             '  bool always;  // they act in other modes, too',
             '  int gains[3];  // places of live parameters; -1: none',
             '  std::size_t count;', '  const char * const * places;',
             '  const char * const * units;', '  const double * inertia;',
             '  const double * usual;  // inertia that a damping is made for',
             '  const double * stiffness;  // where none is given',
             '  const char * sentences[2];', '};']
    for k, mode in enumerate(settings.robot.modes.values()):
        for spring in settings.springs(mode):
            at = len(rows)
            gains = ', '.join(str(names.index(each) if each in names else -1) for each in (
                spring.stiffness, spring.damping, spring.ratio))
            texts = ', '.join(text(each.template) for each in spring_sentences(spring, loop))
            found += [array('constexpr const char *', f'kSpringPlaces{at}',
                            map(text, spring.places)),
                      array('constexpr const char *', f'kSpringUnits{at}',
                            map(text, map(unit_of, spring.places))),
                      array('constexpr double', f'kSpringInertia{at}',
                            map(number, spring.inertia)),
                      array('constexpr double', f'kSpringUsual{at}', map(number, spring.usual)),
                      array('constexpr double', f'kSpringStiffness{at}', map(
                          number, settings.usual_stiffness if mode is JOINT_SPRINGS
                          else [0.0] * len(spring.places)))]
            always = mode is TIP_SPRINGS and settings.text('contact.reaction') == 'comply'
            rows.append(f'  {{{k}, {plain(always)}, {{{gains}}}, {len(spring.places)}, '
                        f'kSpringPlaces{at}, kSpringUnits{at}, kSpringInertia{at}, '
                        f'kSpringUsual{at}, kSpringStiffness{at},\n'
                        f'    {{{texts}}}}},')
    return [*found, 'constexpr SpringRule kSpringRules[] = {', *rows, '};']


def _force_rules(settings: Settings, names: Sequence[str]) -> list[str]:
    """Return the axes whose force is controlled, and what is said of gains that are too large."""
    places = ', '.join(str(names.index(each) if each in names else -1) for each in DAMPINGS)
    rows = []
    for case, sentences in force_cases(settings.values, settings.robot.tip_inertia):
        given = ', '.join(
            number(view.item()) if not view.ndim else f'{{{", ".join(map(number, view))}}}'
            for _, _, view in case.walk())
        rows.append(f'  {{{{{places}}}, {{{given}}},\n    '
                    f'{{{", ".join(text(each.template) for each in sentences)}}}}},')
    return ['struct ForceRule', '{', '  int gains[4];  // places of live parameters; -1: none',
            '  ForceCase given;', '  const char * sentences[2];', '};',
            'const std::vector<ForceRule> kForceRules{', *rows, '};']
