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
What the laws remember, what they are given, and the arrays of their kernels.

A kernel computes one torque from what stands in its inputs and remembers nothing. All that lasts
from one step to the next is in :class:`Laws`, and all that a user chooses in :class:`LawGains`.
"""

from __future__ import annotations

from collections.abc import Mapping
import enum
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import Bound
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NEVER, NONE
from rbd_ros.control.laws.springs import Springs
from rbd_ros.control.modes import Follows, JOINT_SPRINGS
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.errors import SettingError

__all__ = [
    'Barriers', 'FreeGains', 'FreeInputs', 'fill_laws', 'ImpedanceGains', 'ImpedanceInputs',
    'JointGains', 'JointInputs', 'JointLaw',
    'law_arrays', 'LawArrays', 'LawCode', 'LawGains', 'LawKernel', 'Laws', 'TaskGains',
    'OwnInputs', 'TaskInputs', 'TaskLaw', 'VALUES']


class LawCode(enum.IntEnum):
    """Which law computes the torque while a robot runs."""

    FREE = 0  # gravity compensation
    DAMPING = 1  # gravity and damping
    JOINT = 2  # computed torque
    TASK = 3  # operational space
    OWN = 4  # a law function that follows nothing
    OWN_JOINT = 5  # a law function that follows the reference of the joints
    IMPEDANCE = 6  # springs and dampers at the tip


#: numbers that the parameters of all law functions have together at most
VALUES = 256

#: laws by the names of their kernels
_CODES = {'float': LawCode.FREE, 'damping': LawCode.DAMPING, 'joint': LawCode.JOINT,
          'task': LawCode.TASK, 'impedance': LawCode.IMPEDANCE}


# -- what lasts -----------------------------------------------------------------------------------

class JointLaw(Record):
    """Computed torque along a joint reference."""

    time: float = field('', 's', 'control time of the last step of the integral', NEVER)
    integral: Vector = field('n', 'rad/s^2 or m/s^2', 'integral term')
    external: Vector = field('n', 'N.m or N', 'observed torque that is compensated')
    error: Vector = field('n', 'rad or m', 'reference minus position in the last step')


class TaskLaw(Record):
    """Operational-space law of the tip."""

    time: float = field('', 's', 'control time of the last step of the integral', NEVER)
    entered: float = field('', 's', 'control time at which the law began', NEVER)
    starting: bool = field('', '', 'true until the motion that it began with has faded')
    integral: Vector = field('6', 'rad/s^2, m/s^2', 'integral term, angular part first')
    lead: Vector = field('6', 'rad, m', 'from the robot to its reference in the last step, along '
                                        'the controlled directions; base axes')
    error: Vector = field('2', 'rad, m', 'angle and distance of it')
    drift: Vector = field('n', 'rad/s or m/s', 'joint velocity that is left to fade')
    posture: Vector = field('n', 'rad or m', 'posture that is kept')
    start_speed: Vector = field('n', 'rad/s or m/s', 'joint velocity that it began with')


class Laws(Record):
    """What the laws of the modes remember, and which one is in force."""

    law: float = field('', '', 'law in force, see LawCode')
    own: float = field('', '', 'which law function is in force, from 0')
    side: Vector = field('n', '', '1 or -1 where the last torque was at a limit, else 0')
    joint: JointLaw = group(JointLaw)
    task: TaskLaw = group(TaskLaw)
    springs: Springs = group(Springs)


# -- what is chosen -------------------------------------------------------------------------------

class Barriers(Record):
    """Barriers at joint limits and velocity limits; their dampers depend on the delay."""

    lower: Vector = field('n', 'rad or m', 'joint limit')
    upper: Vector = field('n', 'rad or m', 'joint limit')
    margin: Vector = field('n', 'rad or m', 'width of the zone before a limit', 1.0)
    stiffness: Vector = field('n', 'N.m/rad or N/m', 'of the push inside the zone')
    speed: Vector = field('n', 'rad/s or m/s', 'above which the velocity barrier acts', NONE)
    limit: Vector = field('n', 'N.m or N', 'bound of what the barriers add')


class FreeGains(Record):
    """Gravity compensation."""

    scale: Vector = field('n', '', 'share of gravity')
    guided: Vector = field('n', '', 'share of the friction that is compensated')


class JointGains(Record):
    """Computed torque."""

    integrates: bool = field('', '', 'whether any joint has an integral term')
    stiffness: Vector = field('n', '1/s^2', 'Kp')
    damping: Vector = field('n', '1/s', 'Kd')
    integral: Vector = field('n', '1/s^3', 'Ki')
    integral_limit: Vector = field('n', 'rad/s^2 or m/s^2', 'bound of the integral term')


class TaskGains(Record):
    """Operational space; six numbers have the angular part first."""

    max_condition: float = field('', '', 'condition beyond which directions are bounded', 1.0)
    integrates: bool = field('', '', 'whether any direction has an integral term')
    posture_given: bool = field('', '', 'whether a posture is named, else the first is kept')
    stiffness: Vector = field('6', '1/s^2', 'Kp')
    damping: Vector = field('6', '1/s', 'Kd')
    integral: Vector = field('6', '1/s^3', 'Ki')
    integral_limit: Vector = field('6', 'rad/s^2, m/s^2', 'bound of the integral term')
    speed: Vector = field('2', 'rad/s, m/s', 'of the frame at which a wrench has faded')
    joint_speed: Vector = field('n', 'rad/s or m/s', 'that the frame may ask of a joint')
    posture: Vector = field('n', 'rad or m', 'posture that is named')
    posture_stiffness: Vector = field('n', '1/s^2', 'Kp of the posture')
    posture_damping: Vector = field('n', '1/s', 'Kd of the posture')


class ImpedanceGains(Record):
    """Springs and dampers at the tip; six numbers have the angular part first."""

    ratio: float = field('', '', 'damping ratio that is made for the pose')
    stiffness: Vector = field('6', 'N.m/rad, N/m', 'of the springs')
    damping: Vector = field('6', 'N.m.s/rad, N.s/m', 'of the dampers besides')
    inertia: Vector = field('6', 'kg.m^2, kg', 'that is to be felt; 0: that of the robot')


class LawGains(Record):
    """Gains and limits of the laws of the modes."""

    law: float = field('', '', 'law of the mode, see LawCode')
    own: float = field('', '', 'which law function the mode has, from 0')
    spring: float = field('', '', 'place in values of the stiffness of that law function; -1: '
                                  'none', -1.0)
    damper: float = field('', '', 'place in values of its damping', -1.0)
    fitted: float = field('', '', 'place in values of a damping that is made for its stiffness; '
                                  '-1: it is given', -1.0)
    fitted_to: float = field('', '', 'place in values of that stiffness')
    stiffness_power: float = field('', 'W', 'that changes of stiffness may put in; 0: no bound')
    switch_time: float = field('', 's', 'in which a motion comes to rest where a law begins', 0.5)
    limit: Vector = field('n', 'N.m or N', 'largest torque')
    usual_inertia: Vector = field('n', 'kg.m^2 or kg', 'that a damping is made for')
    viscous: Vector = field('n', 'N.m.s/rad or N.s/m', 'viscous friction')
    coulomb: Vector = field('n', 'N.m or N', 'dry friction')
    friction_speed: Vector = field('n', 'rad/s or m/s', 'over which dry friction rises', 1.0)
    values: Vector = field(str(VALUES), '', 'parameters of all law functions, in their order')
    barrier: Barriers = group(Barriers)
    free: FreeGains = group(FreeGains)
    joint: JointGains = group(JointGains)
    task: TaskGains = group(TaskGains)
    impedance: ImpedanceGains = group(ImpedanceGains)


def fill_laws(p: LawGains, settings: Settings) -> None:
    """
    Take gains and limits.

    :param p: gets them.
    :param settings: valid set.
    """
    model, pick = settings.robot.model, settings.robot.pick
    _choose(p, settings)
    p.switch_time = settings.number('switch_time')
    p.stiffness_power = settings.number('stiffness_power')
    p.limit[:] = settings.torque_limits
    p.viscous[:] = settings.joints('friction.viscous')
    p.coulomb[:] = settings.joints('friction.coulomb')
    p.friction_speed[:] = settings.joints('friction.speed')
    p.barrier.lower[:] = np.maximum(pick(model.lower), -NONE)
    p.barrier.upper[:] = np.minimum(pick(model.upper), NONE)
    p.barrier.margin[:] = settings.barrier_margins
    p.barrier.stiffness[:] = settings.joints('barrier.stiffness')
    p.barrier.speed[:] = np.minimum(
        settings.number('barrier.velocity') * settings.velocity_limits, NONE)
    p.barrier.limit[:] = settings.number('barrier.torque') * settings.torque_limits
    p.free.scale[:] = settings.joints('gravity_scale')
    p.free.guided[:] = settings.joints('friction.free')
    p.joint.stiffness[:] = settings.joints('stiffness')
    p.joint.damping[:] = settings.joints('damping')
    p.joint.integral[:] = settings.joints('integral')
    p.joint.integral_limit[:] = settings.joints('integral_limit')
    p.joint.integrates = bool(p.joint.integral.any())
    _fill_task(p.task, settings)
    p.impedance.stiffness[:] = settings.tip_spring('stiffness')
    p.impedance.damping[:] = settings.tip_spring('damping')
    p.impedance.ratio = settings.damping_ratio
    p.impedance.inertia[:] = settings.tip_spring('inertia')


def _choose(p: LawGains, settings: Settings) -> None:
    """Take the mode, and the parameters of the law functions."""
    mode = settings.robot.modes[settings.text('mode')]
    if mode.law is None:
        p.law = _CODES[mode.kernel]
    else:
        p.law = LawCode.OWN_JOINT if mode.follows is Follows.JOINTS else LawCode.OWN
    own = [each for each in settings.robot.modes.values() if each.law is not None]
    p.own = float(own.index(mode)) if mode in own else 0.0
    values = [value for each in own for value in settings.own_values(each)]
    total = sum(value.size for value in values)
    if total > VALUES:
        raise SettingError(f'modes have {total} numbers in their parameters, at most {VALUES}: '
                           f'{", ".join(each.name for each in own)}')
    p.values[:total] = np.concatenate([*values, []])
    rows = [f'{each.name}.{row.name}' for each in own for row in each.own]
    places = dict(zip(rows, np.cumsum([0, *[value.size for value in values]]).tolist()))
    stiffness, damping = JOINT_SPRINGS.spring_names
    p.spring, p.damper = (-1.0, -1.0) if mode.spring is None else (
        places[f'{mode.name}.{name}'] for name in mode.spring)
    p.fitted_to = places[stiffness[0]]
    p.fitted = places[damping[0]] if not settings.numbers(damping[0]) else -1.0
    p.usual_inertia[:] = settings.robot.usual_inertia


def _fill_task(p: TaskGains, settings: Settings) -> None:
    p.max_condition = settings.number('task.max_condition')
    for name in ('stiffness', 'damping', 'integral', 'integral_limit'):
        getattr(p, name)[:] = settings.six(name)
    p.integrates = bool(p.integral.any())
    p.speed[:] = settings.both('velocity')
    if settings.names('force_control.axes'):  # a wrench must not throw a tool that touches nothing
        p.speed[:] = np.minimum(p.speed, [settings.number(f'force_control.{part}_speed')
                                          for part in ('angular', 'linear')])
    p.joint_speed[:] = np.minimum(
        settings.number('task.joint_speed') * settings.velocity_limits, NONE)
    p.posture_given = bool(settings.numbers('posture.position'))
    p.posture[:] = settings.joints('posture.position', [math.nan] * len(p.posture))
    if not p.posture_given:
        p.posture[:] = 0.0
    p.posture_stiffness[:] = settings.joints('posture.stiffness')
    p.posture_damping[:] = settings.joints('posture.damping')


# -- arrays of the kernels ------------------------------------------------------------------------

class LawKernel(NamedTuple):
    """What the kernels of all modes take and give."""

    run: Kernel
    q: Vector
    qd: Vector
    acting: Vector  # gravity, m/s^2
    payload: Vector
    barrier: Matrix  # rows of ``laws.barriers.Barrier``
    law: Vector
    gravity: Vector
    driver: Vector


class FreeInputs(NamedTuple):
    """What else the kernel of gravity compensation takes."""

    friction: Matrix  # rows of ``laws.joint_space.Friction``
    scale: Vector
    damping: Vector


class JointInputs(NamedTuple):
    """What else the kernel of computed torque takes and gives."""

    friction: Matrix
    reference: Matrix  # position, velocity, acceleration
    limit: Vector
    stiffness: Vector
    damping: Vector
    integral: Vector
    external: Vector
    error: Vector


class TaskInputs(NamedTuple):
    """What else the kernel of the tip takes and gives."""

    R_ref: Matrix
    p_ref: Vector
    velocity_ref: Vector
    acceleration_ref: Vector
    wrench: Vector
    limit: Vector
    task_stiffness: Vector
    task_damping: Vector
    task_integral: Vector
    task_speed: Vector
    max_condition: Vector
    joint_speed: Vector
    drift: Vector
    posture: Vector
    posture_stiffness: Vector
    posture_damping: Vector
    R: Matrix
    p: Vector
    velocity: Vector
    lead: Vector
    error: Vector


class ImpedanceInputs(NamedTuple):
    """What else the kernel of springs at the tip takes and gives."""

    R_ref: Matrix
    p_ref: Vector
    velocity_ref: Vector
    wrench: Vector
    limit: Vector
    spring: Vector
    damper: Vector
    damping_ratio: Vector
    inertia: Vector
    external: Vector
    task_speed: Vector
    max_condition: Vector
    joint_speed: Vector
    drift: Vector
    posture: Vector
    posture_stiffness: Vector
    posture_damping: Vector
    R: Matrix
    p: Vector
    velocity: Vector
    lead: Vector
    error: Vector


class OwnInputs(NamedTuple):
    """What else the kernel of law functions takes and gives."""

    choice: Vector
    values: Vector
    reference: Matrix
    friction: Matrix
    limit: Vector
    integral: Vector
    error: Vector


class LawArrays(NamedTuple):
    """The kernels of all modes."""

    free: LawKernel
    free_inputs: FreeInputs
    damping: LawKernel
    damping_gain: Vector
    joint: LawKernel
    joint_inputs: JointInputs
    task: LawKernel
    task_inputs: TaskInputs
    impedance: LawKernel
    impedance_inputs: ImpedanceInputs
    own: LawKernel
    own_inputs: OwnInputs


def law_arrays(kernels: Mapping[str, Bound]) -> LawArrays:
    """
    Return the arrays of the kernels of all modes, for procedures.

    :param kernels: compiled ones by name.
    """
    free, damping, joint, task, impedance = (kernels[name] for name in (
        'float', 'damping', 'joint', 'task', 'impedance'))
    return LawArrays(
        _kernel(free), FreeInputs(**_named(FreeInputs, free)),
        _kernel(damping), damping.inputs['damping'],
        _kernel(joint), JointInputs(**_named(JointInputs, joint)),
        _kernel(task), TaskInputs(**_named(TaskInputs, task)),
        _kernel(impedance), ImpedanceInputs(**_named(ImpedanceInputs, impedance)),
        *_own_arrays(kernels.get('own'), _kernel(damping)))


def _own_arrays(bound: Bound | None, other: LawKernel) -> tuple[LawKernel, OwnInputs]:
    """Return the arrays of the law functions; without any there are some that nobody uses."""
    if bound is not None:
        return _kernel(bound), OwnInputs(**_named(OwnInputs, bound))
    n = len(other.law)
    return other, OwnInputs(np.zeros(1), np.zeros(1), *np.zeros((2, 3, n)), *np.zeros((3, n)))


def _kernel(bound: Bound) -> LawKernel:
    x, y = bound.inputs, bound.outputs
    return LawKernel(bound, x['q'], x['qd'], x['gravity'], x['payload'], x['barrier'],
                     y['law'], y['gravity'], y['driver'])


def _named(kind: type[tuple[object, ...]], bound: Bound) -> dict[str, npt.NDArray[np.float64]]:
    """Return the arrays of a kernel that a tuple names."""
    known = {**bound.outputs, **bound.inputs}
    return {name: known[name] for name in kind.__annotations__}
