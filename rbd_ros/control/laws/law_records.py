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
What the laws remember, and what they are given.

A kernel computes one torque from its arguments and remembers nothing. All that lasts from one step
to the next is in :class:`Laws`, all that a user chooses in :class:`LawGains`, and what all laws
are given of the robot in :class:`Present`.
"""

from __future__ import annotations

import enum
import math

import numpy as np

from rbd_ros.compiler.language.whole import clip, maximum, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Joints, NONE
from rbd_ros.control.laws.design import Design
from rbd_ros.control.laws.joint_law import JointGains, JointLaw
from rbd_ros.control.laws.springs import Springs
from rbd_ros.control.laws.task_law import TaskGains, TaskLaw
from rbd_ros.control.modes import Follows, JOINT_SPRINGS
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.errors import SettingError

__all__ = [
    'Barriers', 'FreeGains', 'fill_laws', 'ImpedanceGains', 'LawCode', 'LawGains', 'Laws',
    'MOST_MODES', 'moved_on', 'Present', 'VALUES']


class LawCode(enum.IntEnum):
    """Which law computes the torque while a robot runs."""

    FREE = 0  # gravity compensation
    DAMPING = 1  # gravity and damping
    JOINT = 2  # computed torque
    TASK = 3  # operational space
    OWN = 4  # a law function that follows nothing
    OWN_JOINT = 5  # a law function that follows the reference of the joints
    IMPEDANCE = 6  # springs and dampers at the tip


#: more modes there never are
MOST_MODES = 1e6

#: numbers that the parameters of all law functions have together at most
VALUES = 256

#: rad or m by which a position is extrapolated at most
_FARTHEST = 0.3

#: laws by the names of their kernels
_CODES = {'float': LawCode.FREE, 'damping': LawCode.DAMPING, 'joint': LawCode.JOINT,
          'task': LawCode.TASK, 'impedance': LawCode.IMPEDANCE}


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
        :param design: their dampers, and by how much the state is later than was said.
        """
        self.q[:] = joints.q
        self.qd[:] = joints.qd
        self.acting[:] = acting
        self.payload[:] = payload
        self.barrier[0] = p.lower
        self.barrier[1] = p.upper
        self.barrier[2] = p.margin
        self.barrier[3] = p.stiffness
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
