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
The laws of the modes: each procedure fills the inputs of its kernel, runs it and keeps what lasts.

References are advanced before, by those who own them. A kernel that cannot be evaluated gives NaN,
which is found where torques are checked; it leaves no trace in the state.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import finite, maximum, minimum, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.events import Joints, NEVER
from rbd_ros.control.laws.design import Design
from rbd_ros.control.laws.law_records import (
    Barriers, FreeInputs, JointGains, JointInputs, JointLaw, LawCode, LawGains, LawKernel, Laws,
    OwnInputs)
from rbd_ros.control.laws.springs import stiffen

__all__ = [
    'begin_joint_law', 'choose_law', 'damping_law', 'extrapolate', 'feed_law', 'find_saturation',
    'free_law', 'integrated', 'is_law', 'joint_law', 'joint_law_rests', 'keep', 'law_leads',
    'law_tracks', 'moment', 'MOST_MODES', 'own_law', 'take_law']

#: more modes there never are
MOST_MODES = 1e6

#: rad or m by which a position is extrapolated at most: velocities may be absurd
_FARTHEST = 0.3

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3


def choose_law(x: Laws, p: LawGains) -> bool:
    """
    Activate the law of the mode; what is no law changes nothing.

    :param x: state of the laws.
    :param p: gains.
    :returns: whether it is another law than before.
    """
    if not is_law(p):
        return False
    law, own = x.law, x.own
    x.law = math.floor(p.law)
    x.own = math.floor(p.own)
    return x.law != law or x.own != own


def is_law(p: LawGains) -> bool:
    """
    Return whether the law of the mode is one.

    :param p: gains.
    """
    return LawCode.FREE <= p.law <= LawCode.IMPEDANCE and 0.0 <= p.own < MOST_MODES


def law_tracks(x: Laws) -> bool:
    """
    Return whether the law in force follows the reference of the joints.

    :param x: state of the laws.
    """
    return x.law == LawCode.JOINT or x.law == LawCode.OWN_JOINT


def law_leads(x: Laws) -> bool:
    """
    Return whether the law in force follows the reference of the tip.

    :param x: state of the laws.
    """
    return x.law == LawCode.TASK or x.law == LawCode.IMPEDANCE


def feed_law(kernel: LawKernel, joints: Joints, acting: Vector, payload: Vector, p: Barriers,
             design: Design) -> None:
    """
    Fill the inputs that the kernels of all modes have.

    :param kernel: of the law.
    :param joints: the present state.
    :param acting: gravity, m/s^2.
    :param payload: its ten numbers.
    :param p: barriers.
    :param design: their dampers, and by how much the state is later than was said.
    """
    kernel.q[:] = joints.q
    kernel.qd[:] = joints.qd
    if design.unsaid > 0.0:
        extrapolate(kernel.q, kernel.qd, design.unsaid)
    kernel.acting[:] = acting
    kernel.payload[:] = payload
    kernel.barrier[0] = p.lower
    kernel.barrier[1] = p.upper
    kernel.barrier[2] = p.margin
    kernel.barrier[3] = p.stiffness
    kernel.barrier[4] = design.barrier_damping
    kernel.barrier[5] = p.speed
    kernel.barrier[6] = design.barrier_speed_damping
    kernel.barrier[7] = p.limit


def extrapolate(q: Vector, qd: Vector, ahead: float) -> None:
    """
    Let positions move on.

    :param q: positions among the inputs of a kernel.
    :param qd: velocities.
    :param ahead: s for which they do so.
    """
    q[:] += minimum(maximum(ahead * qd, -_FARTHEST), _FARTHEST)


def take_law(kernel: LawKernel, law: Vector, gravity: Vector, driver: Vector) -> None:
    """
    Pass the results on; they may be NaN.

    :param kernel: of the law.
    :param law: gets the torque of the law, N.m.
    :param gravity: gets g(q), N.m.
    :param driver: gets what the driver adds by itself, N.m.
    """
    law[:] = kernel.law
    gravity[:] = kernel.gravity
    driver[:] = kernel.driver


def free_law(kernel: LawKernel, own: FreeInputs, p: LawGains, design: Design) -> None:
    """
    Let the robot float.

    :param kernel: of the law, whose common inputs are filled.
    :param own: its other arrays.
    :param p: gains.
    :param design: damping.
    """
    own.damping[:] = design.free_damping
    own.scale[:] = p.free.scale
    own.friction[0] = p.free.guided * p.viscous
    own.friction[1] = p.free.guided * p.coulomb
    own.friction[2] = p.friction_speed
    kernel.run()


def damping_law(kernel: LawKernel, damping: Vector, design: Design) -> None:
    """
    Bring the robot to rest.

    :param kernel: of the law, whose common inputs are filled.
    :param damping: its input.
    :param design: damping.
    """
    damping[:] = design.brake_damping
    kernel.run()


# -- joints ---------------------------------------------------------------------------------------

def begin_joint_law(x: JointLaw) -> None:
    """
    Begin anew; the reference begins at the present state besides, and comes to rest.

    :param x: state of the law.
    """
    x.time = NEVER
    x.integral[:] = x.external[:] = x.error[:] = 0.0


def joint_law(x: JointLaw, p: LawGains, kernel: LawKernel, own: JointInputs, stiffness: Vector,
              damping: Vector, integral: Vector, pace: float, reference: Matrix, side: Vector,
              now: float) -> None:
    """
    Follow a joint reference, and advance the integral.

    :param x: state of the law.
    :param p: gains.
    :param kernel: of the law, whose common inputs are filled.
    :param own: its other arrays.
    :param stiffness: Kp, that of the gains or that of a hold.
    :param damping: Kd.
    :param integral: Ki.
    :param pace: share of its speed at which the law acts.
    :param reference: position, velocity and acceleration.
    :param side: per joint 1 or -1 where the last torque was at a limit, else 0.
    :param now: control time, s.
    """
    if not p.joint.integrates:
        x.integral[:] = 0.0
    own.limit[:] = p.limit
    own.stiffness[:] = pace * pace * stiffness
    own.damping[:] = pace * damping
    own.integral[:] = x.integral
    own.external[:] = x.external
    _feed_reference(p, own.friction, own.reference, reference)
    kernel.run()
    keep(x.error, own.error)
    _integrate(x, p.joint, integral, pace, own.error, side, now)


def _feed_reference(p: LawGains, friction: Matrix, into: Matrix, reference: Matrix) -> None:
    """Fill what a law follows, and the friction that it compensates along it."""
    friction[0] = p.viscous
    friction[1] = p.coulomb
    friction[2] = p.friction_speed
    into[0] = reference[0]
    into[1] = reference[1]
    into[2] = reference[2]


def _integrate(x: JointLaw, p: JointGains, gain: Vector, pace: float, error: Vector, side: Vector,
               now: float) -> None:
    if p.integrates:
        dt = now - x.time if x.time > NEVER else 0.0
        x.time = moment(now, x.time)
        for j in range(len(x.integral)):
            x.integral[j] = integrated(x.integral[j], error[j], pace * pace * pace * gain[j], dt,
                                       p.integral_limit[j], side[j])


def own_law(x: Laws, p: LawGains, kernel: LawKernel, own: OwnInputs, reference: Matrix,
            pace: Vector, now: float) -> None:
    """
    Evaluate the law function in force; one that follows the joints has their integral.

    :param x: state of the laws.
    :param p: gains.
    :param kernel: of the law functions, whose common inputs are filled.
    :param own: its other arrays.
    :param reference: position, velocity and acceleration.
    :param pace: share of its speed at which spring and damper of each joint act.
    :param now: control time, s.
    """
    if not p.joint.integrates:
        x.joint.integral[:] = 0.0
    own.choice[0] = x.own
    own.values[:] = p.values[:len(own.values)]
    n = len(own.limit)
    most = len(own.values) - n
    if 0.0 <= p.spring <= most and 0.0 <= p.damper <= most:
        at, of = int(p.spring), int(p.damper)
        own.values[at:at + n] = pace * pace * p.values[at:at + n]
        own.values[of:of + n] = pace * p.values[of:of + n]
        stiffen(x.springs, x.springs.joint, own.values, at, x.joint.error, p.stiffness_power, now)
        own.values[at:at + n] = x.springs.joint
    own.limit[:] = p.limit
    own.integral[:] = x.joint.integral
    _feed_reference(p, own.friction, own.reference, reference)
    kernel.run()
    if x.law == LawCode.OWN_JOINT:
        keep(x.joint.error, own.error)
        slowest = 1.0
        for j in range(n):
            slowest = min(slowest, pace[j])
        _integrate(x.joint, p.joint, p.joint.integral, slowest, own.error, x.side, now)


def joint_law_rests(x: JointLaw, reference: Matrix) -> bool:
    """
    Return whether the law wants the robot to stay where it is: its reference stands still.

    :param x: state of the law.
    :param reference: position, velocity and acceleration.
    """
    return not any(abs(reference[1]) > _REST)


# -- integral terms -------------------------------------------------------------------------------

def find_saturation(side: Vector, wanted: Vector, saturated: Vector, slewing: Vector) -> None:
    """
    Find on which side the last torque was limited; call it before a law is computed.

    :param side: gets per joint 1 or -1 at a limit, else 0.
    :param wanted: total torque before the limiter, N.m.
    :param saturated: 1 where a limit in N.m acted, else 0.
    :param slewing: 1 where a limit in N.m/s acted, else 0.
    """
    side[:] = maximum(saturated, slewing)
    side[:] = where(wanted > 0.0, side, where(wanted < 0.0, -side, 0.0))


def integrated(before: float, error: float, gain: float, dt: float, limit: float,
               side: float) -> float:
    """
    Return an integral term after a step; it neither winds up nor leaves its bound.

    A joint whose torque is at a limit integrates only in the direction that leaves the limit. What
    is not finite changes nothing.

    :param before: z, rad/s^2.
    :param error: e, rad.
    :param gain: Ki, 1/s^3.
    :param dt: s since the last step.
    :param limit: bound of z, rad/s^2.
    :param side: 1 at the upper torque limit, -1 at the lower one, else 0.
    """
    after = before if side * error > 0.0 else before + gain * error * dt
    after = min(max(after, -limit), limit)
    return after if abs(after) <= limit and math.isfinite(after) else before


# -- arrays ---------------------------------------------------------------------------------------


def keep(into: Vector, values: Vector) -> None:
    """
    Copy what is finite of a vector; the state is finite.

    :param into: gets the numbers.
    :param values: as many, of a kernel.
    """
    into[:] = where(finite(values), values, into)


def moment(now: float, before: float) -> float:
    """
    Return a time to be remembered: the present one, unless it is none.

    :param now: control time, s.
    :param before: what was remembered.
    """
    return now if math.isfinite(now) else before
