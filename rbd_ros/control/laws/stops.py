# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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

import math


from rbd_ros.compiler.language.whole import finite, maximum, where
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Joints, NEVER, Result, Structure, tell
from rbd_ros.control.interface.words import LawWord
from rbd_ros.control.kernels.declared import JointKernel, StopKernel
from rbd_ros.control.laws.design import DAMPED, Design
from rbd_ros.control.laws.kept import kept
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.given import Inputs, torque_limits, velocity_limits
from rbd_ros.control.supervisor.answers import moment
from rbd_ros.control.torque.torque_records import Computed

__all__ = ['Brake', 'fill_stops', 'find_gravity', 'Hold', 'hold_within', 'StopLimits']

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
    allowed: Vector = field('n', 'rad/s or m/s', 'velocities that the decay leaves')
    speed: Vector = field('n', 'rad/s or m/s', 'velocities at the beginning')

    def enter(self, p: StopLimits, urgent: bool) -> None:
        """
        Begin to brake with the next state.

        :param p: limits.
        :param urgent: whether something is wrong: then the rate does not rise first.
        """
        self.enters, self.urgent = True, urgent
        self.allowed[:] = kept(p.slow, self.allowed)

    def advance(self, p: StopLimits, joints: Joints, structure: Structure, design: Design,
                now: float) -> tuple[float, float]:
        """
        Find the rate, and the share of the measured velocities that is left by now.

        :param p: limits.
        :param joints: the present state.
        :param structure: which joints are controlled.
        :param design: rate and lateness.
        :param now: control time, s.
        """
        if self.enters:
            self._begin(joints, structure, design, now)
        since = now - self.begun
        late = design.later if joints.differenced > 0.0 else design.late
        decayed = _decay(design.brake_rate, since - late)
        left = math.exp(min(-decayed, 0.0))
        self.allowed[:] = kept(maximum(self.speed * left, p.slow), self.allowed)
        share = math.exp(min(decayed - _decay(design.brake_rate, since), 0.0))
        return share, design.brake_rate * min(since / _RISE, 1.0)

    def _begin(self, joints: Joints, structure: Structure, design: Design, now: float) -> None:
        self.enters = False
        # a late state would be thrown by the hurry
        urgent = self.urgent and design.late < _BEGUN * _RISE
        self.begun = moment(now - (1.0 if urgent else _BEGUN) * _RISE, self.begun)
        for j in range(len(self.speed)):
            speed = abs(joints.qd[place_of(structure, j)])
            self.speed[j] = speed * _URGENT if urgent else speed


def _decay(rate: float, since: float) -> float:
    """Return by which power of e velocities have decayed at a time since the beginning."""
    since = max(since, 0.0)
    if since > _RISE:
        return rate * (since - 0.5 * _RISE)
    return rate * (0.5 * since * since / _RISE)


class Hold(Record):
    """What the hold remembers; its reference and its law are those of the joints."""

    warned: float = field('', 's', 'control time of the last warning', NEVER)
    way: Vector = field('n', 'rad or m', 'by which the hold has yielded')

    def enter(self, joints: Joints, structure: Structure, allowed: Vector, speed: Vector) -> None:
        """
        Begin to hold; then the reference begins at the present position with ``speed``.

        :param joints: the present state.
        :param structure: which joints are controlled.
        :param allowed: velocities that braking has left; what shows more is noise, or a load.
        :param speed: gets the velocities.
        """
        self.reset()
        for j in range(len(self.way)):
            v = joints.qd[place_of(structure, j)]
            speed[j] = min(max(v, -allowed[j]), allowed[j])

    def note_push(self, p: StopLimits, moved: Vector, y: Result, now: float) -> None:
        """
        Note by how much the reference gave way to a push, and say so now and then.

        :param p: limits.
        :param moved: by how much it has, per joint.
        :param y: result.
        :param now: control time, s.
        """
        self.way[:] += where(finite(moved), moved, 0.0)
        farthest = 0
        for j in range(len(self.way)):
            if abs(self.way[j]) > abs(self.way[farthest]):
                farthest = j
        if not any(finite(moved) & (moved != 0.0)) or now - self.warned < _QUIET:
            return
        self.warned = moment(now, self.warned)
        tell(y, LawWord.HOLD_YIELDS, farthest, abs(self.way[farthest]) + p.distance[farthest],
             0.0, 0.0)


class StopLimits(Record):
    """Limits of brake and hold; their gains depend on the delay."""

    limit: Vector = field('n', 'N.m or N', 'largest torque')
    slow: Vector = field('n', 'rad/s or m/s', 'velocity that each joint may always have')
    distance: Vector = field('n', 'rad or m', 'by which a held robot can be pushed away', 1.0)
    push: Vector = field('n', 'N.m or N', 'that a hold adds to g(q) at most')


def fill_stops(p: StopLimits, g: Inputs) -> None:
    """
    Take limits.

    :param p: gets them.
    :param g: what was given.
    """
    p.limit[:] = torque_limits(g)
    p.slow[:] = _SLOW * where(finite(velocity_limits(g)), velocity_limits(g), 1.0)
    p.distance[:] = g.values.hold_distance
    p.push[:] = g.values.hold_torque * torque_limits(g)


# -- g(q) -----------------------------------------------------------------------------------------

def find_gravity(k: StopKernel, q: Vector, qd: Vector, acting: Vector, payload: Vector) -> None:
    """
    Evaluate g(q) and what the driver adds, which the kernel has then.

    The checks before a start ask for it, also with unit vectors as gravity.

    :param k: of the brake.
    :param q: positions of all joints.
    :param qd: velocities.
    :param acting: gravity, m/s^2.
    :param payload: has its ten numbers first.
    """
    k(q=q, qd=qd, acting=acting, payload=payload[:10], brake_rate=0.0, load=0.0, limit=0.0,
      damping=0.0, allowed=0.0)


# -- the hold -------------------------------------------------------------------------------------

def hold_within(computed: Computed, p: StopLimits, k: JointKernel, joints: Joints,
                structure: Structure, design: Design) -> None:
    """
    Bound the law of a hold around g(q), and stiffen it.

    Its gains fit the described inertia. A light wrist with a load that is not described needs
    more: as stiff as its damper can settle, and no stiffer than reaches the bound at
    ``hold_distance``.

    :param computed: what the law gives, whose torque is changed.
    :param p: limits of the hold.
    :param k: of the law of the joints, which has computed.
    :param joints: the present state.
    :param structure: which joints are controlled.
    :param design: damping.
    """
    settle = max(_SETTLE, 4.0 * design.feedback_delay / DAMPED)
    for j in range(len(computed.law)):
        damping, bound = design.brake_damping[j], p.push[j]
        stiffness = damping / settle
        if p.distance[j] > 0.0:
            stiffness = min(stiffness, bound / p.distance[j])
        torque = computed.law[j] + stiffness * k.error[j]
        torque -= damping * joints.qd[place_of(structure, j)]
        low, high = computed.gravity[j] - bound, computed.gravity[j] + bound
        computed.law[j] = low if torque < low else high if torque > high else torque  # NaN stays
