# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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

from rbd_ros.control.interface.row import (
    axes, DOUBLE, DOUBLES, joints, Parameter, scalar)
from rbd_ros.errors import SettingError

__all__ = ['all_modes', 'DEFAULT', 'Follows', 'JOINT_SPRINGS', 'LawCode', 'Mode', 'MODES',
           'names_in', 'own_mode', 'taking', 'Takes', 'TIP_SPRINGS', 'users']

#: torques of a law, from what it may know of the robot (``LawTerms``)
#: and its parameters by name, over traced numbers
LawFunction = Callable[[Any, Mapping[str, Any]], Sequence[Any]]


class Follows(enum.Enum):
    """Which reference a law follows."""

    NOTHING = 'nothing'
    JOINTS = 'joints'
    TIP = 'tip'


class LawCode(enum.IntEnum):
    """Which law computes the torque while a robot runs."""

    FREE = 0  # gravity compensation
    DAMPING = 1  # gravity and damping
    JOINT = 2  # computed torque
    TASK = 3  # operational space
    OWN = 4  # a law function that follows nothing
    OWN_JOINT = 5  # a law function that follows the reference of the joints
    IMPEDANCE = 6  # springs and dampers at the tip


#: laws by the names of their kernels
_CODES = {'float': LawCode.FREE, 'damping': LawCode.DAMPING, 'joint': LawCode.JOINT,
          'task': LawCode.TASK, 'impedance': LawCode.IMPEDANCE}


class Takes(enum.Enum):
    """Which references a mode takes from outside."""

    TRAJECTORY = 'trajectory'  # of the joints: topic and action
    TARGET = 'target'  # of the tip: pose, twist and wrench
    STIFFNESS = 'stiffness'  # and damping of its springs


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
    :param spring: which of its own parameters are stiffness and damping of the joints in N.m/rad
        and N.m.s/rad. They are refused if they cannot be stable at the rate of the states; none:
        nobody checks them.
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
    spring: tuple[str, str] | None = None
    file: str = ''

    @property
    def code(self) -> LawCode:
        """Return which law it has."""
        if self.law is None:
            return _CODES[self.kernel]
        return LawCode.OWN_JOINT if self.follows is Follows.JOINTS else LawCode.OWN

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

    @property
    def spring_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the full names of the parameters of stiffness and of damping; none: no spring."""
        if Takes.STIFFNESS not in self.takes:
            return (), ()
        if self.spring is not None:
            return (f'{self.name}.{self.spring[0]}',), (f'{self.name}.{self.spring[1]}',)
        stiffness, damping = (tuple(f'{self.name}.{part}_{what}' for part in ('angular', 'linear'))
                              for what in ('stiffness', 'damping'))
        return stiffness, damping


def _joint_impedance(terms: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """
    Return H qdd_ref + C(q, qd) qd_ref + g + K e + D e' + friction(qd_ref).

    C is the matrix of Christoffel symbols (Paden and Panja 1988): with e = q_ref - q the robot
    obeys H e'' + C e' + D e' + K e = -tau_ext, and (e' H e' + e K e) / 2 falls by e' D e'. With
    all of C(q, qd) qd compensated it could rise. At a reference that rests this is g + K e - D qd.

    :param terms: the robot.
    :param inputs: stiffness K in N.m/rad and damping D in N.m.s/rad of each joint.
    """
    _, qd_ref, qdd_ref = terms.reference
    lag = [wanted - v for wanted, v in zip(qd_ref, terms.qd)]
    return [tau + c + k * e + d * v + f for tau, c, k, e, d, v, f in zip(
        terms.torque(qdd_ref), terms.coriolis(lag), inputs['stiffness'], terms.error,
        inputs['damping'], lag, terms.friction)]


#: of modes, and of their own parameters
_NAME = '[a-z][a-z0-9_]*'

#: what is reported where the joints follow a reference
_TRACKING = ('tracking error of each joint',)


def own_mode(name: str, law: LawFunction, torque: str, parameters: Sequence[Parameter] = (),
             follows: Follows = Follows.NOTHING,
             spring: tuple[str, str] | None = None) -> Mode:
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
    :param spring: names of two parameters made by ``joints``, the stiffness in N.m/rad and the
        damping in N.m.s/rad of the law, to be refused where they cannot be stable.
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
    for each in spring or ():
        if not any(row.name == each and row.each_joint for row in parameters):
            refuse(f'spring names the parameter {each!r}, but joints(...) makes none of that name')
    tracks = follows is Follows.JOINTS
    takes = (Takes.TRAJECTORY,) * tracks + (Takes.STIFFNESS,) * (spring is not None)
    return Mode(name, torque, f'mode_{name}', follows, takes,
                tuple(f'{name}.{row.name}' for row in parameters), _TRACKING if tracks else (),
                tuple(parameters), law, spring)


#: of computed torque
_JOINT = ('stiffness', 'damping', 'integral', 'integral_limit', 'friction.viscous',
          'friction.coulomb', 'friction.speed', 'observer_feedback')

#: what is reported where the tip follows one
_TIP = ('angle and distance of the tip from its reference',)

#: springs and dampers at the tip
_TIP_SPRINGS = (
    axes('linear_stiffness', [500.0] * 3, 'N/m', 0.0, 1e6,
         'Stiffness along the axes of the frame.'),
    axes('angular_stiffness', [20.0] * 3, 'N.m/rad', 0.0, 1e5,
         'Stiffness about the axes of the frame.'),
    scalar('damping_ratio', 0.7, '', 0.0, 2.0, 'Damping ratio, made for the inertia that the '
           'frame has in each pose. 1: as fast as possible without overshoot. 0: only '
           'linear_damping and angular_damping damp.'),
    axes('linear_damping', [0.0] * 3, 'N.s/m', 0.0, 1e5,
         'Damping along the axes of the frame, in addition to damping_ratio.'),
    axes('angular_damping', [0.0] * 3, 'N.m.s/rad', 0.0, 1e4,
         'Damping about the axes of the frame, in addition to damping_ratio.'),
    *(dataclasses.replace(row, structural=True) for row in (
        axes('linear_inertia', [0.0] * 3, 'kg', 0.0, 1e4, 'Mass to be felt along the axes of the '
             'frame; it needs a force-torque sensor and is not passive. 0: that of the robot.'),
        axes('angular_inertia', [0.0] * 3, 'kg.m^2', 0.0, 1e4, 'Inertia to be felt about the axes '
             'of the frame, given together with linear_inertia. 0: that of the robot.'))))


def _fitting(mode: Mode) -> Mode:
    """Return a mode whose parameters are made for the robot where they are not given."""
    return mode._replace(own=tuple(dataclasses.replace(row, default=[]) for row in mode.own))


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
          'posture.position'), _TIP),
    Mode('hold', '`computed_torque` at the position where the mode started', 'joint',
         Follows.JOINTS, (), _JOINT, _TRACKING),
    Mode('damping', 'gravity torque and damping `brake_damping`', 'damping',
         parameters=('brake_damping',)),
    _fitting(own_mode(
        'joint_impedance', _joint_impedance,
        'a spring and a damper at each joint, along joint trajectories', (
            joints('stiffness', [50.0], 'N.m/rad or N/m', 0.0, 1e5, 'Stiffness of the spring at '
                   'the joint. If empty, 50, or half of what the rate can hold where that is '
                   'less.'),
            joints('damping', [5.0], 'N.m.s/rad or N.s/m', 0.0, 1e4, 'Damping at the joint. If '
                   'empty, a damping ratio of 0.7 for its usual inertia, at most half of what '
                   'the rate can hold.')), Follows.JOINTS, ('stiffness', 'damping'))),
    Mode('cartesian_impedance',
         'springs and dampers at `task.frame`, a wrench, a posture in the null space', 'impedance',
         Follows.TIP, (Takes.TARGET, Takes.STIFFNESS),
         ('task.frame', 'task.axes', 'task.max_condition', 'task.joint_speed',
          'posture.stiffness', 'posture.damping', 'posture.position',
          *(f'cartesian_impedance.{row.name}' for row in _TIP_SPRINGS)),
         _TIP, _TIP_SPRINGS),
)

#: The mode whose parameters are springs and dampers at the tip.
TIP_SPRINGS = _BUILT_IN[-1]

#: The mode whose parameters are springs and dampers at the joints.
JOINT_SPRINGS = _BUILT_IN[-2]

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
