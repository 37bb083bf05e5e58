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

"""
The modes of the controller: each is declared once, here.

Node, table of parameters, dashboard and documentation read this table. A mode with a law function
of its own needs nothing else: its kernel, its parameters and its place among the choices are made
from its row. See ``docs/add_a_control_law.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import enum
import re
from typing import Any, NamedTuple

from rbd_ros.control.parameters.row import DOUBLE, DOUBLES, Parameter
from rbd_ros.errors import SettingError

__all__ = ['all_modes', 'DEFAULT', 'Follows', 'Mode', 'MODES', 'names_in', 'own_mode', 'taking',
           'Takes', 'users']

#: torques of a law, from what it may know of the robot (``LawTerms``)
#: and its parameters by name, over traced numbers
LawFunction = Callable[[Any, Mapping[str, Any]], Sequence[Any]]


class Follows(enum.Enum):
    """Which reference a law follows."""

    NOTHING = 'nothing'
    JOINTS = 'joints'
    TIP = 'tip'


class Takes(enum.Enum):
    """Which references a mode takes from outside."""

    TRAJECTORY = 'trajectory'  # of the joints: topic and action
    TARGET = 'target'  # of the tip: pose, twist and wrench


class Mode(NamedTuple):
    """
    One mode.

    :param name: value of the parameter ``mode``.
    :param torque: what its torque is, in a few words for the documentation.
    :param kernel: that computes it.
    :param follows: the reference of its law.
    :param takes: what it takes from outside.
    :param parameters: names of the parameters that belong to its law.
    :param reports: what is reported and watched of it, besides what all modes have.
    :param own: rows of parameters that only this mode has; each is known to its law by its name
        and to everybody else as ``<mode>.<name>``.
    :param law: its law function, where it has a kernel of its own.
    :param file: from which it was read, if it is a user's.
    """

    name: str
    torque: str
    kernel: str
    follows: Follows = Follows.NOTHING
    takes: tuple[Takes, ...] = ()
    parameters: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    own: tuple[Parameter, ...] = ()
    law: LawFunction | None = None
    file: str = ''

    @property
    def foreign(self) -> bool:
        """Return whether its law function is not one of the package."""
        return bool(self.file) or (self.law is not None and not str(
            getattr(self.law, '__module__', '')).startswith('rbd_ros.'))

    @property
    def rows(self) -> dict[str, Parameter]:
        """Return the rows of its own parameters by their full names."""
        return {f'{self.name}.{row.name}': dataclasses.replace(
            row, name=f'{self.name}.{row.name}') for row in self.own}


#: of modes, and of their own parameters
_NAME = '[a-z][a-z0-9_]*'

#: what is reported where the joints follow a reference
_TRACKING = ('tracking error of each joint',)


def own_mode(name: str, law: LawFunction, torque: str, parameters: Sequence[Parameter] = (),
             follows: Follows = Follows.NOTHING) -> Mode:
    """
    Declare a mode with a law function.

    :param name: value of the parameter ``mode``.
    :param law: from :class:`rbd_ros.control.kernels.own_law.LawTerms`, and the values of the
        parameters by name, to one torque for each controlled joint, gravity included. It runs once
        on traced numbers: take functions such as sin from ``rbd_ros.compiler``, and do not branch
        on values.
    :param torque: what its torque is, in a few words.
    :param parameters: rows made by ``scalar`` and ``joints``.
    :param follows: ``Follows.JOINTS`` for a law that follows trajectories.
    :raises SettingError: says what is wrong with it.
    """
    def refuse(reason: str) -> None:
        raise SettingError(f'mode {name!r}: {reason}')
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        refuse('a name has small letters, digits and _, and begins with a letter')
    if not callable(law):
        refuse('it needs a law: a function of terms and inputs that returns torques')
    if follows not in (Follows.NOTHING, Follows.JOINTS):
        refuse(f'a law function follows nothing or the joints, not {follows!r}')
    for row in parameters:
        if not isinstance(row, Parameter) or row.kind not in (DOUBLE, DOUBLES):
            refuse(f'its parameters are rows made by scalar and joints, not {row!r}')
        if not re.fullmatch(_NAME, row.name):
            refuse(f'parameter {row.name!r}: a name has small letters, digits and _, and begins '
                   'with a letter')
        if reason := row.refusal(row.default):
            refuse(f'the default does not fit: {reason}')
        if row.default == []:
            refuse(f'parameter {row.name} needs a default')
    tracks = follows is Follows.JOINTS
    return Mode(name, torque, f'mode_{name}', follows, (Takes.TRAJECTORY,) if tracks else (),
                tuple(f'{name}.{row.name}' for row in parameters), _TRACKING if tracks else (),
                tuple(parameters), law)


#: of computed torque
_JOINT = ('stiffness', 'damping', 'integral', 'integral_limit', 'friction.viscous',
          'friction.coulomb', 'friction.speed', 'observer_feedback')

_BUILT_IN = (
    Mode('gravity_compensation',
         'gravity torque, damping, optional friction compensation; the arm floats', 'float',
         parameters=('gravity_scale', 'free_damping', 'friction.free')),
    Mode('computed_torque', 'follows joint trajectories and set-points', 'joint',
         Follows.JOINTS, (Takes.TRAJECTORY,), _JOINT, _TRACKING),
    Mode('operational_space',
         'moves `task.frame`, exerts a wrench, keeps a posture in the null space', 'task',
         Follows.TIP, (Takes.TARGET,),
         ('task.frame', 'task.axes', 'task.linear_stiffness', 'task.angular_stiffness',
          'task.linear_damping', 'task.angular_damping', 'task.linear_integral',
          'task.angular_integral', 'task.linear_integral_limit', 'task.angular_integral_limit',
          'task.max_condition', 'task.joint_speed', 'posture.stiffness', 'posture.damping',
          'posture.position'), ('angle and distance of the tip from its reference',)),
    Mode('hold', '`computed_torque` at the position where the mode started', 'joint',
         Follows.JOINTS, (), _JOINT, _TRACKING),
    Mode('damping', 'gravity torque and damping `brake_damping`', 'damping',
         parameters=('brake_damping',)),
)

#: Every mode of the package by name.
MODES: Mapping[str, Mode] = {mode.name: mode for mode in _BUILT_IN}

#: The mode of a controller that is told none.
DEFAULT = _BUILT_IN[0].name


def all_modes(own: Sequence[Mode] = ()) -> dict[str, Mode]:
    """
    Return every mode by name.

    :param own: modes of the user.
    """
    return {**MODES, **{mode.name: mode for mode in own}}


def taking(what: Takes, own: Sequence[Mode] = ()) -> list[str]:
    """
    Return the names of the modes that take something from outside.

    :param what: is taken.
    :param own: modes of the user.
    """
    return [mode.name for mode in all_modes(own).values() if what in mode.takes]


def users(parameter: str) -> str:
    """
    Return which modes a parameter belongs to, for a sentence.

    :param parameter: its name.
    """
    return names_in([mode.name for mode in _BUILT_IN if parameter in mode.parameters], 'and')


def names_in(names: Sequence[str], word: str) -> str:
    """
    Return names for a sentence.

    :param names: one or more.
    :param word: between the last two: "and" or "or".
    """
    return f' {word} '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)
