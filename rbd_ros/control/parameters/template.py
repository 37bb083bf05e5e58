# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The parameter file of a robot that has none yet, from its description.

Numbers come from the description. What only a person can know is left open as lines to choose
from, and the controller does not start before that is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import re
import textwrap
from typing import NamedTuple

from rbd_ros.control.interface.row import Parameter, Value
from rbd_ros.control.modes import DEFAULT, MODES, users
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.errors import SettingError
from rbd_ros.quoting import in_comment, yaml_text

__all__ = ['CHOICES', 'Described', 'parameter_file']

_MARGIN = ' ' * 6
_WIDTH = 92
_RATE_PER_LIMIT = 10.0  # 1/s, torque rate over torque limit

#: parameter: the question, and what each answer means
CHOICES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    'driver_adds': (
        'What does the driver add to the commanded torque? A wrong answer drops or lifts the '
        'arm.',
        {'none': 'nothing: it applies the command as it is',
         'gravity': 'its own gravity compensation',
         'gravity_and_coriolis': 'gravity and Coriolis torque'}),
    'release_torque': (
        'Which torque remains when the controller ends (Ctrl-C, deactivation, lost state)? '
        'Needed with driver_adds: none.',
        {'gravity': 'the last gravity torque; the driver must hold it',
         'zero': 'none; without brakes that close, the arm falls'}),
    'effort_is_torque': (
        'Is effort in joint_states the joint torque in N.m, gravity included? If so, it is '
        'compared with the model before the first command.',
        {'true': 'a torque, with the sign of the command',
         'false': 'a current, a torque without gravity, or not sure'}),
}


class Described(NamedTuple):
    """
    What is known of a robot, nearly all of it from its description.

    :param robot: its name.
    :param joints: controlled joints, in the order of the commands.
    :param effort: torque limit of each, N.m; 0 or infinite: not described.
    :param velocity: velocity limit of each, rad/s; 0 or infinite: not described.
    :param tip: last frame of the chain.
    :param origin: where the description came from.
    :param rate: of joint_states, Hz.
    :param assembly: of a robot with closed loops, a position that closes them, by joint.
    :param doubts: what is doubtful.
    """

    robot: str
    joints: Sequence[str]
    effort: Sequence[float]
    velocity: Sequence[float]
    tip: str
    origin: str
    rate: float
    assembly: Mapping[str, float] | None = None
    doubts: Sequence[str] = ()


def parameter_file(of: Described, *, choices: Mapping[str, str] | None = None,
                   everything: bool = False) -> str:
    """
    Return the text of a parameter file for a real robot.

    :param of: what is known of it.
    :param choices: answers that are known already, by parameter.
    :param everything: whether every other parameter follows, as a comment with its default.
    :raises SettingError: for an answer that does not exist, or a rate out of bounds.
    """
    chosen = dict(choices or {})
    for name, answer in chosen.items():
        if answer not in CHOICES[name][1]:
            raise SettingError(f'{name} must be one of {", ".join(CHOICES[name][1])}, got '
                               f'"{answer}"')
    reason = PARAMETERS['nominal_rate'].refusal(of.rate)
    if reason:
        raise SettingError(reason)
    parts = [_header(of.robot, of.origin, of.doubts),
             *(_choice(name, chosen.get(name)) for name in CHOICES),
             _joints(of.joints, of.effort, of.velocity),
             *([_assembly(of.assembly)] if of.assembly else []), _rates(of.rate), _rest(of.tip)]
    text = '\n'.join(parts)
    return text + _others(text) if everything else text


def _comment(text: str, margin: str = _MARGIN) -> str:
    return textwrap.fill(in_comment(text), _WIDTH, initial_indent=f'{margin}# ',
                         subsequent_indent=f'{margin}# ', break_on_hyphens=False)


def _line(setting: str, remark: str) -> str:
    return f'{_MARGIN}{setting:<36} # {remark}'


def _header(robot: str, origin: str, doubts: Sequence[str]) -> str:
    text = (f'Controller of the robot "{robot}", made from {origin}. Numbers are those of the '
            'description: compare them with the data sheet. Answer each question below by '
            'removing the # from one line. docs/controller_reference.md describes every '
            'parameter.')
    doubtful = ['Something in the description looks wrong; "rbd check" says what to do:', *doubts]
    return '\n'.join([
        _comment(text, ''), *(_comment(each, '') for each in doubtful if doubts),
        '/**:', '  controller:', '    ros__parameters:'])


def _choice(name: str, answer: str | None) -> str:
    question, answers = CHOICES[name]
    lines = [_comment(question)]
    for each, meaning in answers.items():
        mark = '' if each == answer else '# '
        lines.append(_line(f'{mark}{name}: {each}', meaning))
    return '\n'.join(['', *lines])


def _list(name: str, values: Sequence[str], remark: str) -> str:
    lines = [f'{_MARGIN}{name}: [']
    for k, value in enumerate(values):  # each stays in one piece, spaces included
        part = value + (',' if k + 1 < len(values) else ']')
        if k and len(lines[-1]) + len(part) >= _WIDTH:
            lines.append(_MARGIN + ' ' * (len(name) + 3))
        lines[-1] += part if lines[-1].endswith(('[', ' ')) else f' {part}'
    return '\n'.join([f'{_MARGIN}# {remark}', *lines])


def _number(value: float) -> str:
    return repr(round(float(value), 6))


def _quoted(*names: str) -> list[str]:
    """Return names that YAML takes for texts, whatever they are, all of them in one style."""
    plain = all(re.fullmatch('(?i)(?!infinity$)[a-z][a-z0-9_]{5,}', each) for each in names)
    return [each if plain else yaml_text(each) for each in names]


def _limits(name: str, values: Sequence[float], joints: Sequence[str], remark: str) -> str:
    missing = [joint for joint, value in zip(joints, values)
               if not (math.isfinite(value) and value > 0.0)]
    if not missing:
        return _list(name, [_number(value) for value in values], remark)
    open_ = ', '.join('?' if joint in missing else _number(value)
                      for joint, value in zip(joints, values))
    return '\n'.join([
        _comment(f'{remark}. The description has none for {", ".join(missing)}: fill them in '
                 'and remove the #.'), f'{_MARGIN}# {name}: [{open_}]'])


def _joints(joints: Sequence[str], effort: Sequence[float], velocity: Sequence[float]) -> str:
    rates = [_RATE_PER_LIMIT * value for value in effort]
    return '\n'.join([
        '', _list('joints', _quoted(*joints), 'the order of the commands'),
        _comment('Movable joints that are left out must be published in joint_states, or be '
                 'given in fixed_positions.joints and fixed_positions.values.'),
        _limits('torque_limits', effort, joints, 'N.m, of the total torque'),
        _limits('torque_rate_limits', rates, joints, 'N.m/s'),
        _limits('velocity_limits', velocity, joints, 'rad/s or m/s; exceeding them is a fault')])


def _assembly(closed: Mapping[str, float]) -> str:
    names = ', '.join(_quoted(*closed))
    values = ', '.join(map(_number, closed.values()))
    return '\n'.join([
        '', _comment('The robot has closed loops. If nobody publishes its passive joints, give a '
                     'position that shows in which way it is assembled, and remove the #. The '
                     'one below closes the loops; it need not be the way in which yours is '
                     'assembled.'),
        f'{_MARGIN}# assembly.joints: [{names}]', f'{_MARGIN}# assembly.values: [{values}]'])


def _rates(rate: float) -> str:
    timeout = min(max(20.0 / rate, 0.02), 0.5)
    return '\n'.join([
        '', _comment('Rate of joint_states; ros2 topic hz measures it.'),
        _line(f'nominal_rate: {_number(rate)}', 'Hz'),
        _line(f'minimum_rate: {_number(0.5 * rate)}', 'Hz; a lower rate is a fault'),
        _line(f'state_timeout: {_number(timeout)}', 's; older states are not used')])


def _rest(tip: str) -> str:
    return '\n'.join([
        '', _line('autostart: false', 'true: configure and activate automatically'),
        _line('command_type: float64_multi_array', 'or joint_state'),
        _comment(f'Modes: {", ".join(MODES)}.'), _line(f'mode: {DEFAULT}', 'to begin with'),
        _line('gravity: [0.0, 0.0, -9.81]', 'm/s^2 in the base frame; adapt it to the mounting'),
        _line('stop_time: 0.5', 's in which every torque must be able to reach zero'),
        _line('stiffness: [100.0]', f'1/s^2, Kp of {users("stiffness")}'),
        _line('damping: [20.0]', '1/s, Kd'),
        _comment('If the arm stops short of its set-points: rotor inertia reflected to the '
                 'joints (gear ratio squared times rotor inertia, if the description has '
                 'none), and integral action.'),
        _line('# rotor_inertia: [0.1]', 'kg.m^2, one for all joints or one per joint'),
        _line('# integral: [1000.0]', f'1/s^3, Ki of {users("integral")}'),
        _line(f'task.frame: {_quoted(tip)[0]}', 'frame that laws of the tip move; of the payload'),
        _line('# driver_knows_payload: true', "whether the driver's gravity includes the "
                                              'payload'),
        _line('# payload.mass: 0.0', 'kg; payload.com and payload.inertia likewise'), ''])


def _others(text: str) -> str:
    """Return every parameter that a text does not mention, each behind a #."""
    written = set(re.findall(r'^ +(?:# )?([a-z_.]+): ', text, re.MULTILINE))
    lines = ['', _comment('Every other parameter with its default: remove the # to change it.')]
    for name, parameter in PARAMETERS.items():
        if name not in written:
            lines += ['', _comment(_described(parameter)),
                      f'{_MARGIN}# {name}: {_yaml(parameter.default)}']
    return '\n'.join([*lines, ''])


def _described(parameter: Parameter) -> str:
    """Return what a parameter is, with its unit and what it may be."""
    unit = f' Unit: {parameter.unit}.' if parameter.unit else ''
    one_of = f' One of {", ".join(parameter.choices)}.' if parameter.choices else ''
    return f'{parameter.description}{unit}{one_of}'


def _yaml(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return f'[{", ".join(map(_yaml, value)) or "..."}]'     # ROS takes no empty list
    return repr(value)
