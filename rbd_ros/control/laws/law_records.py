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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import Bound
from rbd_ros.compiler.language.whole import finite, maximum, minimum, where
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NEVER, NONE
from rbd_ros.control.laws.springs import Springs
from rbd_ros.control.modes import LawCode
from rbd_ros.control.parameters.given import (
    barrier_margins, fit_springs, Given, mode_of, torque_limits, velocity_limits)
from rbd_ros.control.parameters.values import OWN

__all__ = [
    'Barriers', 'FreeGains', 'FreeInputs', 'fill_laws', 'ImpedanceGains', 'ImpedanceInputs',
    'JointGains', 'JointInputs', 'JointLaw',
    'law_arrays', 'LawArrays', 'LawCode', 'LawGains', 'LawKernel', 'Laws', 'TaskGains',
    'OwnInputs', 'TaskInputs', 'TaskLaw']


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
    stiffness_power: float = field('', 'W', 'that changes of stiffness may put in; 0: no bound')
    switch_time: float = field('', 's', 'in which a motion comes to rest where a law begins', 0.5)
    limit: Vector = field('n', 'N.m or N', 'largest torque')
    viscous: Vector = field('n', 'N.m.s/rad or N.s/m', 'viscous friction')
    coulomb: Vector = field('n', 'N.m or N', 'dry friction')
    friction_speed: Vector = field('n', 'rad/s or m/s', 'over which dry friction rises', 1.0)
    values: Vector = field(str(OWN), '', 'parameters of all law functions, in their order')
    barrier: Barriers = group(Barriers)
    free: FreeGains = group(FreeGains)
    joint: JointGains = group(JointGains)
    task: TaskGains = group(TaskGains)
    impedance: ImpedanceGains = group(ImpedanceGains)


def fill_laws(p: LawGains, g: Given) -> None:
    """
    Take gains and limits.

    :param p: gets them.
    :param g: what was given.
    """
    mode = mode_of(g)
    p.law, p.own = g.robot.law[mode], g.robot.own[mode]
    p.spring, p.damper = g.robot.spring[mode], g.robot.damper[mode]
    p.switch_time, p.stiffness_power = g.values.switch_time, g.values.stiffness_power
    p.limit[:] = torque_limits(g)
    p.friction_speed[:] = g.values.friction.speed
    p.viscous[:] = g.values.friction.viscous
    p.coulomb[:] = g.values.friction.coulomb
    p.barrier.lower[:] = maximum(g.robot.lower, -NONE)
    p.barrier.upper[:] = minimum(g.robot.upper, NONE)
    p.barrier.margin[:] = barrier_margins(g)
    p.barrier.stiffness[:] = g.values.barrier.stiffness
    p.barrier.speed[:] = minimum(g.values.barrier.velocity * velocity_limits(g), NONE)
    p.barrier.limit[:] = g.values.barrier.torque * torque_limits(g)
    p.free.scale[:] = g.values.gravity_scale
    p.free.guided[:] = g.values.friction.free
    p.joint.stiffness[:] = g.values.stiffness
    p.joint.damping[:] = g.values.damping
    p.joint.integral[:] = g.values.integral
    p.joint.integral_limit[:] = g.values.integral_limit
    p.joint.integrates = any(p.joint.integral > 0.0)
    _fill_task(p.task, g)
    p.impedance.stiffness[:3] = g.values.cartesian_impedance.angular_stiffness
    p.impedance.stiffness[3:6] = g.values.cartesian_impedance.linear_stiffness
    p.impedance.damping[:3] = g.values.cartesian_impedance.angular_damping
    p.impedance.damping[3:6] = g.values.cartesian_impedance.linear_damping
    p.impedance.inertia[:3] = g.values.cartesian_impedance.angular_inertia
    p.impedance.inertia[3:6] = g.values.cartesian_impedance.linear_inertia
    p.impedance.ratio = g.values.cartesian_impedance.damping_ratio
    p.values[:] = where(finite(g.values.own), g.values.own, 0.0)
    fit_springs(p.values, g)


def _fill_task(p: TaskGains, g: Given) -> None:
    p.max_condition = g.values.task.max_condition
    p.stiffness[:3] = g.values.task.angular_stiffness
    p.stiffness[3:6] = g.values.task.linear_stiffness
    p.damping[:3] = g.values.task.angular_damping
    p.damping[3:6] = g.values.task.linear_damping
    p.integral[:3] = g.values.task.angular_integral
    p.integral[3:6] = g.values.task.linear_integral
    p.integral_limit[:3] = g.values.task.angular_integral_limit
    p.integral_limit[3:6] = g.values.task.linear_integral_limit
    p.integrates = any(p.integral > 0.0)
    p.speed[0], p.speed[1] = g.values.task.angular_velocity, g.values.task.linear_velocity
    if any(g.values.force_control.axes > 0.0):
        # a wrench must not throw a tool that touches nothing
        p.speed[0] = min(p.speed[0], g.values.force_control.angular_speed)
        p.speed[1] = min(p.speed[1], g.values.force_control.linear_speed)
    p.joint_speed[:] = minimum(g.values.task.joint_speed * velocity_limits(g), NONE)
    p.posture_given = all(finite(g.values.posture.position))
    p.posture[:] = where(finite(g.values.posture.position), g.values.posture.position, 0.0)
    p.posture_stiffness[:] = g.values.posture.stiffness
    p.posture_damping[:] = g.values.posture.damping


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
