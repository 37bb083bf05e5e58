# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the laws remember, and what they are given.

A kernel computes one torque from its arguments and remembers nothing. All that lasts from one step
to the next is in :class:`Laws`, all that a user chooses in :class:`LawGains`, and what all laws
are given of the robot in :class:`Present`.
"""

from __future__ import annotations

import math


from rbd_ros.compiler.language.whole import clip, finite, maximum, minimum, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Joints, NONE
from rbd_ros.control.laws.design import Design
from rbd_ros.control.laws.joint_law import JointGains, JointLaw
from rbd_ros.control.laws.springs import Springs
from rbd_ros.control.laws.task_law import TaskGains, TaskLaw
from rbd_ros.control.modes import LawCode
from rbd_ros.control.parameters.given import (
    barrier_margins, fit_springs, Inputs, mode_of, torque_limits, velocity_limits)
from rbd_ros.control.parameters.values import OWN

__all__ = [
    'Barriers', 'FreeGains', 'fill_laws', 'ImpedanceGains', 'LawCode', 'LawGains', 'Laws',
    'MOST_MODES', 'moved_on', 'Present']

#: more modes there never are
MOST_MODES = 1e6

#: rad or m by which a position is extrapolated at most
_FARTHEST = 0.3


# -- what lasts -----------------------------------------------------------------------------------

class Laws(Record):
    """What the laws of the modes remember, and which one is in force."""

    law: float = field('', '', 'law in force, see LawCode')
    own: float = field('', '', 'which law function is in force, from 0')
    side: Vector = field('n', '', '1 or -1 where the last torque was at a limit, else 0')
    joint: JointLaw = group(JointLaw)
    task: TaskLaw = group(TaskLaw)
    springs: Springs = group(Springs)

    def choose(self, p: LawGains) -> bool:
        """Activate the law of the mode; return whether it is another one. No law is none."""
        if not p.is_law():
            return False
        law, own = self.law, self.own
        self.law, self.own = math.floor(p.law), math.floor(p.own)
        return self.law != law or self.own != own

    def tracks(self) -> bool:
        """Return whether the law in force follows the reference of the joints."""
        return self.law == LawCode.JOINT or self.law == LawCode.OWN_JOINT

    def leads(self) -> bool:
        """Return whether the law in force follows the reference of the tip."""
        return self.law == LawCode.TASK or self.law == LawCode.IMPEDANCE

    def find_side(self, wanted: Vector, saturated: Vector, slewing: Vector) -> None:
        """
        Find on which side the last torque was limited, before a law is computed.

        :param wanted: total torque before the limiter, N.m.
        :param saturated: 1 where a limit in N.m acted, else 0.
        :param slewing: 1 where a limit in N.m/s acted, else 0.
        """
        self.side[:] = maximum(saturated, slewing)
        self.side[:] = where(wanted > 0.0, self.side, where(wanted < 0.0, -self.side, 0.0))


# -- what is chosen -------------------------------------------------------------------------------

class Barriers(Record):
    """Barriers at joint limits and velocity limits; spring and dampers depend on the delay."""

    lower: Vector = field('n', 'rad or m', 'joint limit')
    upper: Vector = field('n', 'rad or m', 'joint limit')
    margin: Vector = field('n', 'rad or m', 'width of the zone before a limit', 1.0)
    speed: Vector = field('n', 'rad/s or m/s', 'above which the velocity barrier acts', NONE)
    limit: Vector = field('n', 'N.m or N', 'bound of what the barriers add')


class FreeGains(Record):
    """Gravity compensation."""

    scale: Vector = field('n', '', 'share of gravity')
    guided: Vector = field('n', '', 'share of the friction that is compensated')


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

    def is_law(self) -> bool:
        """Return whether the law of the mode is one."""
        return LawCode.FREE <= self.law <= LawCode.IMPEDANCE and 0.0 <= self.own < MOST_MODES


# -- what all laws are given ----------------------------------------------------------------------

class Present(Record):
    """The robot when its torque will act, as the kernels of all laws are given it."""

    q: Vector = field('m', 'rad or m', 'positions')
    qd: Vector = field('m', 'rad/s or m/s', 'velocities')
    acting: Vector = field('3', 'm/s^2', 'gravity')
    payload: Vector = field('10', 'kg, kg.m, kg.m^2', 'its ten numbers')
    barrier: Matrix = field('8 n', '', 'rows of ``kernels.barriers.Barrier``')

    def take(self, joints: Joints, acting: Vector, payload: Vector, p: Barriers,
             design: Design) -> None:
        """
        Take the present state and what acts on it.

        :param joints: the state.
        :param acting: gravity, m/s^2.
        :param payload: its ten numbers.
        :param p: barriers.
        :param design: their spring and dampers, and by how much the state is later than was said.
        """
        self.q[:] = joints.q
        self.qd[:] = joints.qd
        self.acting[:] = acting
        self.payload[:] = payload
        self.barrier[0] = p.lower
        self.barrier[1] = p.upper
        self.barrier[2] = p.margin
        self.barrier[3] = design.barrier_stiffness
        self.barrier[4] = design.barrier_damping
        self.barrier[5] = p.speed
        self.barrier[6] = design.barrier_speed_damping
        self.barrier[7] = p.limit
        if design.unsaid > 0.0:
            self.go_on(design.unsaid)

    def go_on(self, ahead: float) -> None:
        """Let positions move on for so many s."""
        self.q[:] = moved_on(self.q, self.qd, ahead)


def moved_on(q: Vector, qd: Vector, ahead: float) -> Vector:
    """Return positions after so many s; what velocities say may be absurd."""
    return q + clip(ahead * qd, -_FARTHEST, _FARTHEST)


# -- from the settings ---------------------------------------------------------------------------

def fill_laws(p: LawGains, g: Inputs) -> None:
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


def _fill_task(p: TaskGains, g: Inputs) -> None:
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
