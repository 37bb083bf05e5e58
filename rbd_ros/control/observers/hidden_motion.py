# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether the other joints feel that a joint moves which says that it stands.

Two momentum observers watch the robot from the moment at which a joint comes to a halt. The first
believes its sensor. The second lets it move freely, as the model predicts. What the sensor hides,
the others feel in proportion to a column of the inertia matrix, beginning with the halt itself: a
joint that really stops within one period jerks all others, and a sensor that freezes does not.
Then the first observer finds torques on them that the second does not.

Friction must not pass for such a torque. It does not change while a joint slides in one direction;
when it sticks, breaks loose or turns, it does, by an amount that nobody knows. Therefore only
joints bear witness that have moved on in one direction ever since, and what acted on them at the
beginning is no evidence.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import Joints, NOBODY, NONE, Structure
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.momentum import are_finite, Momentum, settled
from rbd_ros.control.observers.observer import Observer

__all__ = ['count_witnesses', 'feel', 'Felt', 'follow_joint', 'forget_suspect',
           'HiddenMotion', 'update_hidden_motion']

#: s after the halt in which it is learned what acts on the other joints anyway
_SETTLE = 0.01

#: N.m; keeps a division by zero finite
_TINY = 1e-300


class Felt(Record):
    """Torques on all joints that a hypothesis leaves unexplained, as they change since a halt."""

    usual: Vector = field('n', 'N.m or N', 'what acted at the beginning')
    change: Vector = field('n', 'N.m or N', 'since then, filtered')
    momentum: Momentum = group(Momentum)


class HiddenMotion(Record):
    """One joint that stands by its sensor, and that moves by the model."""

    joint: float = field('', '', 'its place among the controlled ones; -1: none', NOBODY)
    way: float = field('', 'rad or m', 'of the joint by the model, since it stands')
    speed: float = field('', 'rad/s or m/s', 'of the joint by the model')
    stop: float = field('', 'N.m or N', 'that its halt took, besides the torque of its motor')
    inertia: float = field('', 'kg.m^2 or kg', 'of the joint')
    growth: float = field('', 'rad/s or m/s', 'by which its speed grew in the last period')
    time: float = field('', 's', 'since the halt')
    periods: float = field('', '', 'since the halt')
    sign: Vector = field('n', '', 'direction of each witness; 0: it is none')
    seen: Felt = group(Felt)
    free: Felt = group(Felt)


def forget_suspect(x: HiddenMotion) -> None:
    """
    Follow no joint.

    :param x: what is followed.
    """
    x.joint = NOBODY


def follow_joint(x: HiddenMotion, i: int, speed: float, joints: Joints, s: Structure) -> None:
    """
    Begin with a joint that has come to a halt.

    :param x: what is followed.
    :param i: its place among the controlled ones.
    :param speed: that it had before.
    :param joints: the state.
    :param s: which joints are which.
    """
    x.joint = i
    x.way = 0.0
    x.speed = speed
    x.growth = 0.0
    x.stop = 0.0
    x.time = 0.0
    x.periods = 0.0
    for k in range(len(x.sign)):
        qd = joints.qd[place_of(s, k)]
        x.sign[k] = 1.0 if qd > 0.0 else -1.0 if qd < 0.0 else 0.0


def update_hidden_motion(x: HiddenMotion, kernel: MomentumKernel, joints: Joints, s: Structure,
                         gain: Vector, tau: Vector, dt: float, o: Observer) -> None:
    """
    Take a state.

    :param x: what is followed.
    :param kernel: evaluated where the sensors say.
    :param joints: the state, with the velocities of the one before.
    :param s: which joints are which.
    :param gain: bandwidth of the observers, 1/s.
    :param tau: torque that acts from now on, N.m.
    :param dt: s since the state before.
    :param o: observer that has taken the state: knows what torque the motion answers to.
    """
    i = int(x.joint)
    if i == NOBODY:
        return
    j = place_of(s, i)
    for k in range(len(x.sign)):
        if joints.repeated[k] > 0.0 or x.sign[k] * kernel.qd[place_of(s, k)] <= 0.0:
            x.sign[k] = 0.0
    if x.periods == 0.0:
        _begin(x.seen, kernel, joints.speed, s, tau)
        _begin(x.free, kernel, joints.speed, s, tau)
    learnt = x.periods if x.time < _SETTLE else 0.0
    _update(x.seen, kernel, tau, dt, gain, learnt, o)
    if x.periods == 0.0:
        x.stop = abs(x.seen.momentum.unexplained[i])
        x.inertia = kernel.H[i, j]
    kernel.q[j] += x.way
    kernel.qd[j] = x.speed
    kernel.run()
    _predict(x, kernel, s, gain, tau, dt, o, learnt)
    x.time += dt
    x.periods += 1.0
    _check(x)


def count_witnesses(x: HiddenMotion) -> int:
    """
    Return how many joints bear witness.

    :param x: what is followed.
    """
    count = 0
    for k in range(len(x.sign)):
        if x.sign[k] != 0.0:
            count += 1
    return count if _has_settled(x) else 0


def feel(x: HiddenMotion, felt: Felt, hidden: Vector) -> float:
    """
    Return what the other joints feel, where 1 cannot be hidden.

    :param x: what is followed.
    :param felt: one of its two hypotheses: the sensor is right, or the joint is free.
    :param hidden: torques that errors of the model can hide, N.m.
    """
    total = 0.0
    for k in range(len(x.sign)):
        if x.sign[k] != 0.0:
            share = felt.change[k] / max(hidden[k], _TINY)
            total += share * share
    return math.sqrt(total) if _has_settled(x) else 0.0


def _has_settled(x: HiddenMotion) -> bool:
    return int(x.joint) != NOBODY and x.time >= _SETTLE


def _begin(x: Felt, kernel: MomentumKernel, before: Vector, s: Structure, tau: Vector) -> None:
    """Take the state before the halt: where the robot is, with the velocities that it had."""
    x.momentum.reset()
    x.momentum.take(kernel, tau)
    for k in range(len(x.change)):
        x.momentum.qd[place_of(s, k)] = before[k]
        x.usual[k] = 0.0
        x.change[k] = 0.0


def _update(x: Felt, kernel: MomentumKernel, tau: Vector, dt: float, gain: Vector, learnt: float,
            o: Observer) -> None:
    """Take a state; as many periods have shown what acts anyway, 0: nothing is learnt."""
    x.momentum.update(kernel, tau, dt, gain, o.acted, o.acts)
    for k in range(len(x.change)):
        found = x.momentum.unexplained[k]
        if learnt > 0.0:
            x.usual[k] += (found - x.usual[k]) / learnt
        x.change[k] += settled(gain[k] * dt) * (found - x.usual[k] - x.change[k])


def _predict(x: HiddenMotion, kernel: MomentumKernel, s: Structure, gain: Vector, tau: Vector,
             dt: float, o: Observer, learnt: float) -> None:
    """Let the joint move freely; ``learnt`` counts the periods in which all was as usual."""
    i = int(x.joint)
    _update(x.free, kernel, tau, dt, gain, learnt, o)
    inertia = kernel.H[i, place_of(s, i)]
    if inertia == 0.0:  # no robot has that
        return
    # What the period before does not explain, it will go on to do.
    x.growth -= x.free.momentum.unexplained[i] * dt / inertia
    x.speed += x.growth
    x.way += x.speed * dt


def _check(x: HiddenMotion) -> None:
    """Let nobody bear witness any more where the prediction has left all bounds."""
    total = abs(x.way) + abs(x.speed) + abs(x.stop) + abs(x.inertia) + abs(x.growth)
    if not (total <= NONE and _is_finite(x.seen) and _is_finite(x.free)):
        x.way = 0.0
        x.speed = 0.0
        x.stop = 0.0
        x.inertia = 0.0
        x.growth = 0.0
        _clear(x.seen)
        _clear(x.free)
        for k in range(len(x.sign)):
            x.sign[k] = 0.0


def _is_finite(x: Felt) -> bool:
    return x.momentum.is_finite() and are_finite(x.usual) and are_finite(x.change)


def _clear(x: Felt) -> None:
    x.momentum.reset()
    for k in range(len(x.change)):
        x.usual[k] = 0.0
        x.change[k] = 0.0
