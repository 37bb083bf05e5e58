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

"""What the C++ controller reads of its robot: names, parameters, modes and sentences as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import enum
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.command_line.ros2_control.frames import frame_tables
from rbd_ros.command_line.ros2_control.literals import array, number, plain, text
from rbd_ros.command_line.ros2_control.live import (
    Effect, live_parameters, Numbers, why_fixed)
from rbd_ros.control.controller import Controller
from rbd_ros.control.force_torque import words as sensor_words
from rbd_ros.control.force_torque.words import SensorWord
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.joint_states.ages import gravity_age
from rbd_ros.control.joint_states.words import arrival_texts, ArrivalWord
from rbd_ros.control.laws import words as law_words
from rbd_ros.control.laws.words import LawWord
from rbd_ros.control.load import words as load_words
from rbd_ros.control.load.texts import likely_causes
from rbd_ros.control.load.words import LoadWord
from rbd_ros.control.modes.modes import JOINT_SPRINGS, Takes, taking
from rbd_ros.control.observers import words as observer_words
from rbd_ros.control.observers.words import ObserverWord
from rbd_ros.control.parameters.gains import gain_loop, gain_sentences, GROUPS
from rbd_ros.control.parameters.row import (
    BOOL, DOUBLES, INTEGERS, Parameter, STRINGS, Value)
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.springs import spring_sentences
from rbd_ros.control.parameters.stiffness_message import spring_columns
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.references import words as reference_words
from rbd_ros.control.references.goal_watch import OUTCOMES
from rbd_ros.control.references.points import fill_point_limits, PointLimits
from rbd_ros.control.references.results import ResultCode
from rbd_ros.control.references.words import PointWord, ReferenceWord
from rbd_ros.control.robot import Robot
from rbd_ros.control.step.state import fill_parameters, Parameters
from rbd_ros.control.supervisor import words as supervisor_words
from rbd_ros.control.supervisor.states import State
from rbd_ros.control.supervisor.words import SupervisorWord

__all__ = ['MOST_POINTS', 'tables']

#: points of a trajectory that a generated controller takes
MOST_POINTS = 10_000

#: words whose first number is a state of the supervisor
_OF_STATES = (SupervisorWord.CANNOT_ACTIVATE, SupervisorWord.STOP_NOT_ENDED,
              SupervisorWord.NOTHING_TO_RESET)
#: sentences of words whose numbers are bits, one for each joint of the model
_OF_BITS: dict[enum.IntEnum, str] = {
    ArrivalWord.NOT_FINITE: 'the position of {joint} is not finite',
    ArrivalWord.NO_VELOCITY: 'no velocity for {joint}: using the filtered derivative of the '
                             'position'}

#: what sentences are about, if it is no joint
_ABOUT: dict[enum.IntEnum, str] = {
    ReferenceWord.MODE_CHANGED: 'kMode', ReferenceWord.OTHER_MODE: 'kMode',
    ReferenceWord.NOT_RUNNING: 'kState', ReferenceWord.STOPPED: 'kFaults'}

Array = npt.NDArray[np.float64]

_TYPES = {bool: 'bool', int: 'int64_t', float: 'double', str: 'std::string'}
_LISTS = {INTEGERS: 'int64_t', DOUBLES: 'double', STRINGS: 'std::string'}


class _Place(float):
    """A number of a sentence that formats as its own place."""

    name = ''

    def __format__(self, spec: str) -> str:
        """Return the place."""
        return f'{{{self.name}:{spec or "g"}}}'


def _places(value: float) -> list[_Place]:
    """Return the three numbers of a sentence, all of one value."""
    places = [_Place(value) for _ in range(3)]
    for place, name in zip(places, 'abc', strict=True):
        place.name = name
    return places


def _value(row: Parameter, value: Value) -> str:
    """Return the value of a parameter as one of C++; an empty list has the type of its row."""
    if isinstance(value, (list, tuple)):
        kind = _LISTS[row.kind]
        return f'std::vector<{kind}>{{' + ', '.join(map(plain, value)) + '}'
    return f'{_TYPES[type(value)]}({plain(value)})'


def tables(controller: Controller, package: str, prefix: str) -> str:
    """
    Return the header with the tables.

    :param controller: gives parameters and sizes.
    :param package: its namespace.
    :param prefix: of every name in the C code.
    """
    settings, robot = controller.settings, controller.settings.robot
    structure, independent = controller.p.structure, robot.model.independent_joint_names
    modes = tuple(robot.modes)
    rows = with_modes(robot.own_modes)
    lines = [
        '// Generated by rbd_ros: what the controller knows of its robot.', '',
        f'#ifndef {package.upper()}__TABLES_HPP_', f'#define {package.upper()}__TABLES_HPP_', '',
        '#include <algorithm>', '#include <cmath>', '#include <map>', '#include <string>',
        '#include <vector>', '',
        '#include "rclcpp/parameter_value.hpp"', f'#include "{package}/{prefix}.h"', '',
        f'namespace {package}', '{', '', f'using Memory = {prefix}_memory;',
        f'using StepParameters = {prefix}_Parameters;',
        f'using Body = {prefix}_Body;', f'using Points = {prefix}_Points;',
        f'using PointLimits = {prefix}_PointLimits;', f'using Noted = {prefix}_Noted;', '',
        f'constexpr std::size_t kMostPoints = {MOST_POINTS};',
        f'constexpr long kOutcomes = {OUTCOMES};',
        f'constexpr int kInvalidGoal = {ResultCode.INVALID_GOAL.value};',
        f'constexpr int kOldStamp = {ResultCode.OLD_HEADER_TIMESTAMP.value};',
        f'constexpr double kHeartbeatRate = {number(settings.number("heartbeat_rate"))};',
        f'constexpr bool kLinear = {plain(settings.flag("reference.linear"))};',
        f'constexpr int kStateDivider = {settings.integer("state_divider")};',
        f'constexpr double kTurn = {number(2.0 * math.pi)};',
        f'constexpr std::size_t kJointCount = {len(robot.joints)};',
        array('constexpr const char *', 'kJoints', map(text, robot.joints)),
        array('constexpr std::size_t', 'kPlaces', map(str, robot.index)),  # among all joints
        array('constexpr bool', 'kEndless', map(plain, robot.continuous)),
        _names('kJointNames', robot.joints), _names('kModelJoints', independent), '',
        'struct Measured', '{', '  const char * name;', '  std::size_t place;', '};',
        array('constexpr Measured', 'kMeasured', [
            f'{{{text(name)}, {k}}}' for k, name in enumerate(independent)
            if structure.measured[k]]),
        *_list('kStates', 'kStateCount', ['position', 'velocity', 'effort']),
        *_list('kModes', 'kModeCount', modes),
        f'constexpr int kGoalMode = {_place(modes, settings.text("goal_mode"))};',
        *[array('constexpr bool', name, [
            plain(mode in taking(what, robot.own_modes)) for mode in modes]) for name, what in (
                ('kTakesTrajectories', Takes.TRAJECTORY), ('kTakesTargets', Takes.TARGET),
                ('kTakesStiffness', Takes.STIFFNESS))],
        *_spring_columns(robot),
        *_list('kSupervisorStates', 'kSupervisorStateCount', [each.value for each in State]),
        *_list('kCauses', 'kCauseCount', [each.text for each in Cause]), '',
        *_sentences(controller), '', *frame_tables(robot), '', *_point_limits(settings), '',
        *_imu(settings, prefix), '', *_sensor(settings), '',
        *_parameters(rows.values(), settings), '', *_patches(settings, modes, controller), '',
        *_live(settings, controller.p), '',
        f'}}  // namespace {package}', '',
        f'#endif  // {package.upper()}__TABLES_HPP_', '']
    return '\n'.join(lines)


def _names(name: str, texts: Iterable[str]) -> str:
    return f'const std::vector<std::string> {name}{{' + ', '.join(map(text, texts)) + '};'


def _list(name: str, count: str, texts: Sequence[str]) -> list[str]:
    return [f'constexpr std::size_t {count} = {len(texts)};',
            array('constexpr const char *', name, map(text, texts))]


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name else -1


def _spring_columns(robot: Robot) -> list[str]:
    """Return which parameters a row of a stiffness message has, mode by mode."""
    rows = [f'{{{k}, {{{text(stiffness)}, {text(damping)}}}, {count}}}'
            for k, mode in enumerate(robot.modes.values())
            for stiffness, damping, count in spring_columns(mode, len(robot.joints))]
    return ['struct SpringColumn', '{', '  int mode;', '  const char * names[2];',
            '  std::size_t count;', '};', array('constexpr SpringColumn', 'kSpringColumns', rows)]


def _point_limits(settings: Settings) -> list[str]:
    """Return the function that gives what points of trajectories may ask for."""
    limits = PointLimits({'n': len(settings.robot.joints)})
    fill_point_limits(limits, settings)
    found = ['inline PointLimits point_limits()', '{', '  PointLimits p{};']
    for path, _, view in limits.walk('p.'):
        found += [f'  {path}{f"[{k}]" if view.ndim else ""} = {number(x)};'
                  for k, x in enumerate(view.ravel())]
    return [*found, '  return p;', '}']


def _imu(settings: Settings, prefix: str) -> list[str]:
    """Return whether gravity comes from an IMU, and how its messages prove that they are fresh."""
    measured = settings.text('gravity_source') == 'imu'
    found = [f'constexpr bool kGravityFromImu = {plain(measured)};',
             f'using Tilt = {prefix}_Tilt;']
    for name, record in zip(('no_directions', 'direction_limits'), gravity_age(settings).records,
                            strict=True):
        kind = type(record).__name__
        found += [f'using {kind} = {prefix}_{kind};', '', f'inline {kind} {name}()', '{',
                  f'  {kind} p{{}};']
        for path, _, view in record.walk('p.'):
            found += [f'  {path}{f"[{k}]" if view.ndim else ""} = {number(x)};'
                      for k, x in enumerate(view.ravel()) if x]
        found += ['  return p;', '}']
    return found


def _sensor(settings: Settings) -> list[str]:
    """Return the interfaces of the force-torque sensor, in the order of a reading, if any."""
    name = settings.text('force_torque.sensor_name')
    return [_names('kSensed', [f'{name}/{part}.{axis}' for part in ('torque', 'force')
                               for axis in 'xyz'] if name else []),
            f'constexpr const char * kTip = {text(settings.robot.tip)};']


def _sentences(controller: Controller) -> list[str]:
    """Return the sentences of the words, each with places for what it is about and numbers."""
    texts = {**arrival_texts(controller.intake), **supervisor_words.TEXTS,
             **reference_words.TEXTS, **law_words.TEXTS, **observer_words.TEXTS,
             **load_words.TEXTS, **sensor_words.TEXTS}
    causes = likely_causes(controller.settings)
    found = ['enum class About {kJoint, kModelJoint, kBits, kState, kMode, kFaults};', '',
             'struct Sentence', '{', '  int word;', '  About about;', '  const char * pattern;',
             '};', 'constexpr Sentence kSentences[] = {']
    for kind in (ArrivalWord, SupervisorWord, ReferenceWord, PointWord, LawWord, ObserverWord,
                 LoadWord, SensorWord):
        for word in kind:
            about, pattern = _pattern(word, load_words.SHORT.get(word, texts.get(word)))
            if word is LoadWord.START_MISMATCH:
                pattern += f'. {causes}'
            elif word in supervisor_words.EXPLAINED:
                pattern += f'{{c||. {causes}}}'
            if about == 'kJoint' and kind is ArrivalWord:
                about = 'kModelJoint'
            found.append(f'  {{{word.value}, About::{about}, {text(pattern)}}},')
    return [*found, '};']


def _pattern(word: enum.IntEnum, said: Callable[..., str] | None) -> tuple[str, str]:
    """Return a sentence and what it is about; what it computes is left to its name."""
    if word in _OF_BITS:
        return 'kBits', _OF_BITS[word]
    if isinstance(said, Sentence):
        return _ABOUT.get(word, 'kJoint'), said.template
    try:
        if said is not None:
            pattern, other = (said('{joint}', *_places(value)) for value in (1.0, 2.0))
            if word in _OF_STATES:
                return 'kState', pattern.replace(tuple(State)[1].value, '{joint}')
            if pattern == other:
                return _ABOUT.get(word, 'kJoint'), pattern
    except (ValueError, LookupError):
        pass  # it makes a number of a formatted one, or looks something up by it
    return 'kJoint', word.name.lower().replace('_', ' ') + ' {joint} ({a:g}, {b:g}, {c:g})'


def _parameters(rows: Iterable[Parameter], settings: Settings) -> list[str]:
    """Return every parameter with the value that this controller has."""
    found = ['struct ParameterRow', '{', '  const char * name;', '  const char * description;',
             '  rclcpp::ParameterValue value;', '};',
             'const std::vector<ParameterRow> kParameters{']
    for row in rows:
        unit = f', {row.unit}' if row.unit else ''
        found.append(f'  {{{text(row.name)}, {text(row.description + unit)},\n'
                     f'    rclcpp::ParameterValue({_value(row, settings[row.name])})}},')
    return [*found, '};', '', 'inline const rclcpp::ParameterValue & value_of('
            'const ParameterRow & row) {return row.value;}']


def _live(settings: Settings, p: Parameters) -> list[str]:
    """Return the parameters that may change while the controller runs, and how they act."""
    numbers = Numbers(settings, p)
    rows = live_parameters(settings, numbers)
    names = [each.row.name for each in rows]
    found = ['/// A parameter that may change while the controller runs.', 'struct Live', '{',
             '  const char * name;', '  const char * unit;', '  double lower, upper;',
             '  bool above;  // it must be above its lower bound, which means something else',
             '  bool flag;  // it is true or false', '  std::size_t size;', '};',
             f'constexpr std::size_t kLiveCount = {len(rows)};', 'constexpr Live kLive[] = {']
    found += [f'  {{{text(each.row.name)}, {text(each.row.unit)}, {number(each.row.lower)}, '
              f'{number(each.row.upper)}, {plain(each.above)}, {plain(each.row.kind == BOOL)}, '
              f'{each.size}}},' for each in rows]
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
              *_gain_rules(settings, names), *_spring_rules(settings, names)]
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
             '  int gains[3];  // places of live parameters; -1: none',
             '  std::size_t count;', '  const char * const * places;', '  const double * inertia;',
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
                      array('constexpr double', f'kSpringInertia{at}',
                            map(number, spring.inertia)),
                      array('constexpr double', f'kSpringUsual{at}', map(number, spring.usual)),
                      array('constexpr double', f'kSpringStiffness{at}', map(
                          number, settings.usual_stiffness if mode is JOINT_SPRINGS
                          else [0.0] * len(spring.places)))]
            rows.append(f'  {{{k}, {{{gains}}}, {len(spring.places)}, kSpringPlaces{at}, '
                        f'kSpringInertia{at}, kSpringUsual{at}, kSpringStiffness{at},\n'
                        f'    {{{texts}}}}},')
    return [*found, 'constexpr SpringRule kSpringRules[] = {', *rows, '};']


def _filled(controller: Controller, settings: Settings) -> Parameters:
    p = Parameters({'n': len(settings.robot.joints), 'm': settings.robot.model.nv, 's': 8})
    p.memory[:] = controller.p.memory
    fill_parameters(p, settings, tuple(settings.robot.modes))
    return p


def _assignments(before: Parameters, after: Parameters) -> list[str]:
    """Return the statements that make the second set of the first one."""
    found = []
    for (path, _, old), (_, _, new) in zip(before.walk('p.'), after.walk('p.')):
        for k in np.flatnonzero(old.ravel() != new.ravel()):
            place = path if old.ndim == 0 or old.size == 1 else f'{path}[{k}]'
            found.append(f'{place} = {number(new.ravel()[k])};')
    return found


def _patches(settings: Settings, modes: Sequence[str], controller: Controller) -> list[str]:
    """Return the functions that change the parameters of the step."""
    def made(values: Mapping[str, Value], simulated: bool) -> Parameters:
        # springs of a mode that is not in force may be unstable: they are judged with the mode
        return _filled(controller, Settings(settings.robot, {**settings.values, **values},
                                            simulated=simulated))

    base, found = made({'mode': modes[0]}, False), []
    every = {line.split(' = ')[0]: line for mode in modes
             for line in _assignments(base, made({'mode': mode}, False))}
    found += ['// A mode is what differs between its parameters and those of the others.',
              'inline void set_mode(StepParameters & p, int mode)', '{', '  switch (mode) {']
    for k, mode in enumerate(modes):
        other = made({'mode': mode}, False)
        changed = {line.split(' = ')[0]: line for line in _assignments(base, other)}
        back = {line.split(' = ')[0]: line for line in _assignments(other, base)}
        found.append(f'    case {k}:  // {mode}')
        for place in every:
            found.append('      ' + changed.get(place, _of(base, place, back)))
        found.append('      break;')
    found += ['  }', '}', '', 'inline void set_clock(StepParameters & p, bool simulated)', '{']
    for line in _assignments(base, made({'mode': modes[0]}, True)):
        place, value = line.rstrip(';').split(' = ')
        found.append(f'  {place} = simulated ? {value} : {_of(base, place, {})[len(place) + 3:]}')
    found += ['}', '', *_VIEWS]
    return found


def _of(p: Parameters, place: str, known: Mapping[str, str]) -> str:
    """Return the statement that gives a number its value in a set."""
    if place in known:
        return known[place]
    path, _, rest = place.partition('[')
    for name, _, view in p.walk('p.'):
        if name == path:
            value = view.ravel()[int(rest.rstrip(']')) if rest else 0]
            return f'{place} = {number(value)};'
    raise KeyError(place)


_VIEWS = """\
inline bool is_simulated(const Memory & m) {return m.p.command.supervisor.simulated > 0.0;}

inline double supervisor_state(const Memory & m) {return m.x.command.supervisor.state;}

inline bool is_working(int state) {return state == @RAMPING_IN@ || state == @RUNNING@;}

inline bool is_working(const Memory & m)
{
  return is_working(static_cast<int>(supervisor_state(m)));
}

/// One bit for each cause that is latched.
inline int fault_bits(const Memory & m)
{
  int bits = 0;
  for (std::size_t k = 0; k < kCauseCount; ++k) {
    bits |= m.x.command.supervisor.faults.order[k] != 0.0 ? 1 << k : 0;
  }
  return bits;
}

/// What was seen of a cause: steady time, word, joint, three numbers.
inline const double * fault_detail(const Memory & m, std::size_t cause)
{
  return m.x.command.supervisor.faults.details + 6 * cause;
}

/// Whether a start has a force-torque sensor to go by, or needs none.
inline bool is_sensed(const Memory & m)
{
  const auto & x = m.x.sensor;
  const auto & p = m.p.sensor;
  return p.used == 0.0 || (m.u.now - x.received <= p.timeout &&
         (p.freeze_time == 0.0 || m.u.now - x.changed <= p.freeze_time));
}

/// Where the reference of a joint is now.
inline double followed(const Memory & m, std::size_t joint)
{
  return m.x.references.joint.profile.state[joint];
}
""".replace('@RAMPING_IN@', str(tuple(State).index(State.RAMPING_IN))).replace(
    '@RUNNING@', str(tuple(State).index(State.RUNNING))).split('\n')
