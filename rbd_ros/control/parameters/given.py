# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the parameters of the step are made of, and what follows from it for each joint.

Names, files and descriptions are resolved once, when a robot is configured; from here on there are
numbers alone, so that every form of the controller makes the same of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rbd_ros.compiler.language.whole import finite, maximum, minimum, where
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.modes import Follows, JOINT_SPRINGS, Mode, Takes, TIP_SPRINGS
from rbd_ros.control.parameters.shaping import usual_masses
from rbd_ros.control.parameters.springs import fitting_damping, SpringCase, usual_stiffness
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.control.parameters.values import OWN, places, VALUES
from rbd_ros.control.robot import Robot
from rbd_ros.errors import SettingError

__all__ = [
    'barrier_margins', 'blind_period', 'contact_coulomb', 'contact_torques', 'contact_viscous',
    'fit_springs', 'Inputs', 'loop_delay', 'mode_of', 'MODES_AT_MOST', 'motor_blind_damping',
    'motors_close_loops', 'numbers_of', 'own_place', 'reference_velocity', 'RobotNumbers', 'STRAY',
    'torque_limits', 'torque_rates', 'velocity_limits', 'weight_delay', 'WINDOW']

#: modes that a robot may have
MODES_AT_MOST = 32

#: share of the range of a joint that the zone before each of its limits may take
_ZONE = 0.1
_LEAST_ZONE = 1e-6  # rad or m, for a joint that has no range at all

#: torque rate where none is given: the limit ten times per second
_RATE_PER_LIMIT = 10.0

#: share of the torque limits that counts as a contact where nothing is given
_TOUCHED = 0.1

#: s over which positions and velocities are compared
WINDOW = 0.1

#: share of the velocity by which positions and velocities may disagree: filters are late
STRAY = 0.5

#: s of delay with which each weight can be held
_SHORT = 0.005

#: s, at slow rates of the states a stop does not wait for the next one
_BLIND_PERIOD = 0.02

#: the first choice of ``command_type`` that is for motors which close their own loop
_FIRST_MOTOR = PARAMETERS['command_type'].choices.index('motor_array')


class RobotNumbers(Record):
    """What the description of a robot says, and its modes, for the parameters of its step."""

    loops: bool = field('', '', 'whether it has closed loops')
    solves: bool = field('', '', 'whether its passive joints are solved from the others')
    sensor: bool = field('', '', 'whether it has a force-torque sensor')
    weight_time: float = field('', 's', 'by which positions are late when its weight cannot be '
                                        'held any more', NONE)
    reach: float = field('', 'm', 'that no posture takes the tip beyond')
    modes: int = field('', '', 'how many modes there are')
    comply: int = field('', '', 'mode of the springs at the tip')
    fitted: int = field('', '', 'place in own of a damping that is made where none is given')
    fitted_to: int = field('', '', 'place in own of its stiffness')
    fitting: int = field('', '', 'mode of that spring')
    law: Vector = field(str(MODES_AT_MOST), '', 'of each mode, see LawCode')
    own: Vector = field(str(MODES_AT_MOST), '', 'which law function it has, from 0')
    follows: Vector = field(str(MODES_AT_MOST), '', '1 if it follows references of the joints')
    takes: Vector = field(str(MODES_AT_MOST), '', '1 if these are taken from outside')
    spring: Vector = field(str(MODES_AT_MOST), '', 'place in own of its stiffness; -1: none', -1.0)
    damper: Vector = field(str(MODES_AT_MOST), '', 'place in own of its damping', -1.0)
    continuous: Vector = field('n', '', '1 for joints that turn without end')
    effort: Vector = field('n', 'N.m or N', 'limit of the torque; 0: none is known')
    speed: Vector = field('n', 'rad/s or m/s', 'limit of the velocity; infinite: none is known')
    lower: Vector = field('n', 'rad or m', 'joint limit, or infinite')
    upper: Vector = field('n', 'rad or m', 'joint limit, or infinite')
    inertia: Vector = field('n', 'kg.m^2 or kg', 'such that a damper of it over time is stable')
    usual_inertia: Vector = field('n', 'kg.m^2 or kg', 'mean while others stand')
    tip_inertia: Vector = field('6', 'kg.m^2, kg', 'the same of the directions of the tip')
    tip_masses: Vector = field('6', 'kg.m^2, kg', 'that the tip has in half of the poses')
    assembly: Vector = field('m', 'rad or m', 'positions in which closed loops are closed')


class Inputs(Record):
    """What the parameters of the step are made of."""

    simulated: bool = field('', '', 'whether the control clock is that of a simulator')
    clock_offset: float = field('', 's', 'reception minus stamp of a message without delay, by '
                                         'our own clock')
    robot: RobotNumbers = group(RobotNumbers)
    values: Any = group(VALUES)
    spring: SpringCase = group(SpringCase)  # room for one that is made


def numbers_of(robot: Robot) -> RobotNumbers:
    """
    Return what the parameters of the step need to know of a robot.

    :param robot: model and controlled joints.
    """
    model, pick = robot.model, robot.pick
    x = RobotNumbers({'n': len(robot.joints), 'm': model.nv})
    x.loops, x.solves, x.sensor = bool(model.loops), bool(robot.assembly), bool(robot.sensor)
    x.reach, x.weight_time = min(robot.reach, NONE), min(robot.weight_time, NONE)
    x.continuous[:], x.inertia[:] = robot.continuous, robot.damped_inertia
    x.usual_inertia[:], x.tip_inertia[:] = robot.usual_inertia, robot.tip_inertia
    x.effort[:] = [0.0 if np.isinf(limit) else limit for limit in pick(model.effort_limit)]
    x.speed[:] = [limit if limit > 0.0 else np.inf for limit in pick(model.velocity_limit)]
    x.lower[:], x.upper[:] = pick(model.lower), pick(model.upper)
    if robot.assembly:
        x.assembly[:] = robot.assembly
    try:
        x.tip_masses[:] = usual_masses(list(zip(robot.sampled, robot.sampled_jacobians)))
    except np.linalg.LinAlgError:  # a joint that moves nothing
        x.tip_masses[:] = 0.0
    _take_modes(x, robot.modes, len(robot.joints))
    return x


def _take_modes(x: RobotNumbers, modes: dict[str, Mode], joints: int) -> None:
    """Take what the modes are, and where their springs have their numbers."""
    if len(modes) > MODES_AT_MOST:
        raise SettingError(f'there are {len(modes)} modes, at most {MODES_AT_MOST}')
    found = places(modes, joints)
    own = [mode for mode in modes.values() if mode.law is not None]
    begin = min(found[name].at for mode in own for name in mode.rows)
    x.modes, x.comply = len(modes), list(modes).index(TIP_SPRINGS.name)
    x.fitting = list(modes).index(JOINT_SPRINGS.name)
    for k, mode in enumerate(modes.values()):
        x.law[k], x.follows[k] = mode.code, mode.follows is Follows.JOINTS
        x.takes[k] = Takes.TRAJECTORY in mode.takes
        x.own[k] = own.index(mode) if mode in own else 0
        if mode.spring is not None:
            x.spring[k], x.damper[k] = (
                found[f'{mode.name}.{name}'].at - begin for name in mode.spring)
    x.fitted_to, x.fitted = int(x.spring[x.fitting]), int(x.damper[x.fitting])


# -- what follows from both -----------------------------------------------------------------------

def blind_period(rate: float) -> float:
    """
    Return the time in s between two torques that need no state.

    The limiter allows a step of two nominal periods at most.

    :param rate: nominal, Hz.
    """
    return min(2.0 / rate, _BLIND_PERIOD)


def loop_delay(g: Inputs, differenced: bool = False) -> float:
    """
    Return the delay from measuring to torque, s.

    :param g: what was given.
    :param differenced: whether states have no velocities, so that their filter counts; it always
        does where there is a delay.
    """
    lag = g.values.velocity_filter if g.values.delay != 0.0 or differenced else 0.0
    return g.values.delay + lag


def weight_delay(g: Inputs) -> float:
    """Return the delay in s with which the weight of the robot can no longer be held."""
    return max(g.robot.weight_time - 0.5 / g.values.nominal_rate, _SHORT)


def mode_of(g: Inputs) -> int:
    """Return the number of the mode, which is the place of what is known of it."""
    return min(max(g.values.mode, 0), MODES_AT_MOST - 1)


def own_place(at: float, joints: int) -> int:
    """
    Return where the numbers of a parameter of a law function begin among all of them.

    :param at: the place, of those of a robot.
    :param joints: how many there are.
    """
    return min(max(int(at), 0), OWN - joints)


def fit_springs(values: Vector, g: Inputs) -> None:
    """
    Make stiffness and damping of the springs at the joints where none are given.

    :param values: numbers of the law functions; get them.
    :param g: what was given.
    """
    n, period, delay = len(g.robot.inertia), 1.0 / g.values.nominal_rate, loop_delay(g)
    at, of = own_place(g.robot.fitted, n), own_place(g.robot.fitted_to, n)
    for j in range(n):
        if not math.isfinite(g.values.own[of + j]):
            g.spring.inertia, g.spring.usual = g.robot.inertia[j], g.robot.usual_inertia[j]
            g.spring.period, g.spring.delay = period, delay
            values[of + j] = usual_stiffness(g.spring)
        if not math.isfinite(g.values.own[at + j]):
            values[at + j] = fitting_damping(
                values[of + j], g.robot.usual_inertia[j], g.robot.inertia[j], period, delay)


def torque_limits(g: Inputs) -> Vector:
    """Return the largest torques; 0 where neither URDF nor parameter gives one."""
    return where(finite(g.values.torque_limits), g.values.torque_limits, g.robot.effort)


def torque_rates(g: Inputs) -> Vector:
    """Return the largest changes of the torques per second."""
    return where(finite(g.values.torque_rate_limits), g.values.torque_rate_limits,
                 _RATE_PER_LIMIT * torque_limits(g))


def velocity_limits(g: Inputs) -> Vector:
    """Return the velocities beyond which a fault is raised."""
    return where(finite(g.values.velocity_limits), g.values.velocity_limits, g.robot.speed)


def reference_velocity(g: Inputs) -> Vector:
    """Return the largest reference velocities; usually those where the barrier begins."""
    # a robot that catches up is faster than these
    return where(finite(g.values.reference.velocity), g.values.reference.velocity,
                 where(finite(velocity_limits(g)),
                       g.values.barrier.velocity * velocity_limits(g), 1.0))


def contact_torques(g: Inputs) -> Vector:
    """Return the observed torques beyond which there is a contact."""
    return where(finite(g.values.contact.torque), g.values.contact.torque,
                 _TOUCHED * torque_limits(g))


def contact_coulomb(g: Inputs) -> Vector:
    """Return the dry friction that an observer sees; that of the law if no other is given."""
    return where(finite(g.values.contact.coulomb), g.values.contact.coulomb,
                 g.values.friction.coulomb)


def contact_viscous(g: Inputs) -> Vector:
    """Return the viscous friction that an observer sees."""
    return where(finite(g.values.contact.viscous), g.values.contact.viscous,
                 g.values.friction.viscous)


def barrier_margins(g: Inputs) -> Vector:
    """
    Return the widths of the zones before joint limits, at most a tenth of each range.

    One number for all joints is in rad for some and in m for others: what is little for
    an elbow is more than the whole stroke of a gripper, which then could not be moved.
    """
    return minimum(g.values.barrier.margin,
                   maximum(_ZONE * (g.robot.upper - g.robot.lower), _LEAST_ZONE))


def motors_close_loops(g: Inputs) -> bool:
    """Return whether commands go to motors that close their own loop."""
    return g.values.command_type >= _FIRST_MOTOR


def motor_blind_damping(g: Inputs) -> Vector:
    """Return the damping that motors have without states."""
    return where(finite(g.values.motor.blind_damping), g.values.motor.blind_damping,
                 g.values.motor.damping)
