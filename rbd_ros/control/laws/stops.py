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
The laws of a stop: the brake, and the hold that follows it.

The brake lets the velocities of all joints decay at one rate:

    tau = H(q) (-r qd) + C(q, qd) - load - D excess

Dampers per joint would not do: braking the shoulder accelerates the elbow, and a heavy link can
throw a light one. Here every joint is x' = -r x, and the answer to a late state is the same for
all. Such states are extrapolated: a joint has moved on by its velocity, and all velocities have
decayed as the law told them to while they were on their way.

The model may be wrong: a light wrist with a load that nobody described hardly feels r. The dampers
D therefore act on what a joint is faster than the decay allows.

A person may lean on a stopped robot, or be caught by it. A hold therefore adds no more to g(q)
than a fraction of the torque limits, and gives way if the robot is pushed further than
``hold_distance``. It does not return by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Bound
from rbd_ros.compiler.language.whole import finite, maximum, where
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Joints, NEVER, Result, Structure, tell
from rbd_ros.control.interface.words import LawWord
from rbd_ros.control.laws.design import DAMPED, Design
from rbd_ros.control.laws.law_records import JointInputs, JointLaw, LawGains, LawKernel
from rbd_ros.control.laws.laws import begin_joint_law, extrapolate, joint_law, moment
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.settings import Settings

__all__ = [
    'Brake', 'brake', 'enter_brake', 'enter_hold', 'fill_stops', 'gravity_at', 'gravity_of',
    'Hold', 'hold', 'note_push', 'stop_kernel', 'StopKernel', 'StopLimits']

#: s within which the rate rises: the first torques just end what accelerates joints by itself,
#: which the rate limits would delay otherwise
_RISE = 0.05

#: share of it that the first torque has
_BEGUN = 0.2

#: share of its velocity that a joint may have at once where something is wrong
_URGENT = 0.5

#: share of the velocity limit that each joint may always have; in rad/s or m/s without limits
_SLOW = 0.05

#: s, time constant of the spring and damper of a hold
_SETTLE = 0.1

#: s between two warnings that the robot is being pushed
_QUIET = 5.0


class Brake(Record):
    """What the brake remembers."""

    enters: bool = field('', '', 'whether it begins with the next state')
    urgent: bool = field('', '', 'whether something is wrong: then the rate does not rise first')
    begun: float = field('', 's', 'control time at which the rate began to rise', NEVER)
    load: Vector = field('n', 'N.m or N', 'torque that the robot shows besides g(q)')
    allowed: Vector = field('n', 'rad/s or m/s', 'velocities that the decay leaves')
    speed: Vector = field('n', 'rad/s or m/s', 'velocities at the beginning')


class Hold(Record):
    """What the hold remembers; its reference and its law are those of the joints."""

    warned: float = field('', 's', 'control time of the last warning', NEVER)
    way: Vector = field('n', 'rad or m', 'by which the hold has yielded')


class StopLimits(Record):
    """Limits of brake and hold; their gains depend on the delay."""

    limit: Vector = field('n', 'N.m or N', 'largest torque')
    slow: Vector = field('n', 'rad/s or m/s', 'velocity that each joint may always have')
    distance: Vector = field('n', 'rad or m', 'by which a held robot can be pushed away', 1.0)
    push: Vector = field('n', 'N.m or N', 'that a hold adds to g(q) at most')


def fill_stops(p: StopLimits, settings: Settings) -> None:
    """
    Take limits.

    :param p: gets them.
    :param settings: valid set.
    """
    speed = settings.velocity_limits
    p.limit[:] = settings.torque_limits
    p.slow[:] = _SLOW * np.where(np.isfinite(speed), speed, 1.0)
    p.distance[:] = settings.joints('hold_distance')
    p.push[:] = settings.number('hold_torque') * settings.torque_limits


class StopKernel(NamedTuple):
    """What the kernel of the brake takes and gives."""

    run: Kernel
    q: Vector
    qd: Vector
    acting: Vector  # gravity, m/s^2
    payload: Vector
    brake_rate: Vector
    load: Vector
    limit: Vector
    damping: Vector
    allowed: Vector
    brake: Vector
    gravity: Vector
    driver: Vector


def stop_kernel(kernels: Mapping[str, Bound]) -> StopKernel:
    """
    Return the arrays of the kernel of the brake, for procedures.

    :param kernels: compiled ones by name.
    """
    bound = kernels['stop']
    x, y = bound.inputs, bound.outputs
    return StopKernel(bound, x['q'], x['qd'], x['gravity'], x['payload'], x['brake_rate'],
                      x['load'], x['limit'], x['damping'], x['allowed'], y['brake'],
                      y['gravity'], y['driver'])


# -- the brake ------------------------------------------------------------------------------------

def enter_brake(x: Brake, p: StopLimits, urgent: float) -> None:
    """
    Begin to brake with the next state.

    :param x: state of the brake.
    :param p: limits.
    :param urgent: above 0 if something is wrong: then the rate does not rise first.
    """
    x.enters = True
    x.urgent = urgent > 0.0
    x.allowed[:] = _kept(p.slow, x.allowed)


def brake(x: Brake, p: StopLimits, kernel: StopKernel, joints: Joints, structure: Structure,
          design: Design, acting: Vector, payload: Vector, now: float) -> None:
    """
    Evaluate the brake where the robot is by now, not where it was measured.

    The results are in ``kernel.brake``, ``kernel.gravity`` and ``kernel.driver``.

    :param x: state of the brake.
    :param p: limits.
    :param kernel: of the brake.
    :param joints: the present state.
    :param structure: which joints are controlled.
    :param design: rate, dampers and lateness.
    :param acting: gravity, m/s^2.
    :param payload: its ten numbers.
    :param now: control time, s.
    """
    if x.enters:
        _begin(x, joints, structure, design, now)
    since = now - x.begun
    late = design.later if joints.differenced > 0.0 else design.late
    decayed = _decay(design.brake_rate, since - late)
    share = math.exp(min(decayed - _decay(design.brake_rate, since), 0.0))
    left = math.exp(min(-decayed, 0.0))
    _feed_stop(kernel, joints, acting, payload)
    extrapolate(kernel.q, kernel.qd, 0.5 * (1.0 + share) * design.ahead)
    kernel.qd[:] = kernel.qd * share
    x.allowed[:] = _kept(maximum(x.speed * left, p.slow), x.allowed)
    kernel.brake_rate[0] = design.brake_rate * min(since / _RISE, 1.0)
    kernel.load[:] = x.load
    kernel.limit[:] = p.limit
    kernel.damping[:] = design.brake_damping
    kernel.allowed[:] = x.allowed
    kernel.run()


def _begin(x: Brake, joints: Joints, structure: Structure, design: Design, now: float) -> None:
    x.enters = False
    # a late state would be thrown by the hurry
    urgent = x.urgent and design.late < _BEGUN * _RISE
    x.begun = moment(now - (1.0 if urgent else _BEGUN) * _RISE, x.begun)
    for j in range(len(x.speed)):
        speed = abs(joints.qd[place_of(structure, j)])
        x.speed[j] = speed * _URGENT if urgent else speed


def _kept(new: Vector, old: Vector) -> Vector:
    """Return new numbers, where they are some."""
    return where(finite(new), new, old)


def _decay(rate: float, since: float) -> float:
    """Return by which power of e velocities have decayed at a time since the beginning."""
    since = max(since, 0.0)
    if since > _RISE:
        return rate * (since - 0.5 * _RISE)
    return rate * (0.5 * since * since / _RISE)


def _feed_stop(kernel: StopKernel, joints: Joints, acting: Vector, payload: Vector) -> None:
    kernel.q[:] = joints.q
    kernel.qd[:] = joints.qd
    kernel.acting[:] = acting
    kernel.payload[:] = payload[:10]


def gravity_of(kernel: StopKernel, joints: Joints, acting: Vector, payload: Vector) -> None:
    """
    Evaluate g(q) at the present state, which goes into ``kernel.gravity``.

    The checks before a start ask for it, also with unit vectors as gravity.

    :param kernel: of the brake.
    :param joints: the present state.
    :param acting: gravity, m/s^2.
    :param payload: its ten numbers.
    """
    _feed_stop(kernel, joints, acting, payload)
    kernel.run()


def gravity_at(kernel: StopKernel, joints: Joints, s: Structure, q: Vector, acting: Vector,
               payload: Vector) -> None:
    """
    Evaluate g(q) at positions that were not accepted, which goes into ``kernel.gravity``.

    :param kernel: of the brake.
    :param joints: positions of joints that nobody measures.
    :param s: which joints are which.
    :param q: positions of the others, rad or m.
    :param acting: gravity, m/s^2.
    :param payload: its ten numbers.
    """
    _feed_stop(kernel, joints, acting, payload)
    for i in range(len(kernel.q)):
        if s.measured[i] > 0.0:
            kernel.q[i] = q[i]
    kernel.run()


# -- the hold -------------------------------------------------------------------------------------

def enter_hold(x: Hold, law: JointLaw, joints: Joints, structure: Structure, allowed: Vector,
               load: Vector, speed: Vector) -> None:
    """
    Begin to hold.

    Then the reference of the joints must begin at the present position with ``speed``, and come
    to rest within ``switch_time``.

    :param x: state of the hold.
    :param law: state of the law of the joints.
    :param joints: the present state.
    :param structure: which joints are controlled.
    :param allowed: velocities that braking has left; what shows more is noise, or a load.
    :param load: torque that the robot shows besides g(q), N.m.
    :param speed: gets the velocities.
    """
    begin_joint_law(law)
    x.warned = NEVER
    for j in range(len(x.way)):
        v = joints.qd[place_of(structure, j)]
        speed[j] = min(max(v, -allowed[j]), allowed[j])
        law.external[j] = load[j]
        x.way[j] = 0.0


def note_push(x: Hold, p: StopLimits, moved: Vector, y: Result, now: float) -> None:
    """
    Note by how much the reference gave way to a push, and say so now and then.

    :param x: state of the hold.
    :param p: limits.
    :param moved: by how much it has, per joint.
    :param y: result.
    :param now: control time, s.
    """
    pushed = False
    farthest = 0
    for j in range(len(x.way)):
        if math.isfinite(moved[j]):
            pushed = pushed or moved[j] != 0.0
            x.way[j] += moved[j]
        if abs(x.way[j]) > abs(x.way[farthest]):
            farthest = j
    if not pushed or now - x.warned < _QUIET:
        return
    x.warned = moment(now, x.warned)
    tell(y, LawWord.HOLD_YIELDS, farthest, abs(x.way[farthest]) + p.distance[farthest], 0.0, 0.0)


def hold(x: JointLaw, p: LawGains, limits: StopLimits, kernel: LawKernel, own: JointInputs,
         joints: Joints, structure: Structure, design: Design, reference: Matrix, side: Vector,
         law: Vector, now: float) -> None:
    """
    Hold the robot, within bounds around g(q).

    The reference has been advanced before, and has given way where the robot was pushed too far.

    :param x: state of the law of the joints.
    :param p: gains.
    :param limits: limits of the hold.
    :param kernel: of the law of the joints, whose common inputs are filled.
    :param own: its other arrays.
    :param joints: the present state.
    :param structure: which joints are controlled.
    :param design: gains of the hold.
    :param reference: position, velocity and acceleration.
    :param side: per joint 1 or -1 where the last torque was at a limit, else 0.
    :param law: gets the torque, N.m.
    :param now: control time, s.
    """
    if design.ahead != 0.0:
        extrapolate(kernel.q, kernel.qd, design.ahead - design.unsaid)
    joint_law(x, p, kernel, own, design.hold_stiffness, design.hold_damping,
              design.hold_integral, 1.0, reference, side, now)
    # The gains of the law fit the described inertia. A light wrist with a load that is not
    # described needs more: as stiff as its damper can settle, and no stiffer than reaches the
    # bound at hold_distance.
    settle = max(_SETTLE, 4.0 * design.feedback_delay / DAMPED)
    for j in range(len(law)):
        damping, bound = design.brake_damping[j], limits.push[j]
        distance = limits.distance[j]
        stiffness = damping / settle
        if distance > 0.0:
            stiffness = min(stiffness, bound / distance)
        torque = kernel.law[j] + stiffness * own.error[j]
        torque -= damping * joints.qd[place_of(structure, j)]
        low, high = kernel.gravity[j] - bound, kernel.gravity[j] + bound
        if torque < low:  # NaN stays
            torque = low
        elif torque > high:
            torque = high
        law[j] = torque
