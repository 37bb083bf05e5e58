# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Gains of force control that cannot be stable are refused, with the largest ones that are accepted.

Along an axis the tool is a mass with the damping k of the law, against a spring of the
surroundings with natural frequency w0 = sqrt(K / Lambda). Torques act a delay T after the state,
half a period of the held torque included, and the force passes a filter. With the gain G of the
integral, the loop is

    L(s) = G / s  e^(-sT) / (1 + s F)  w0^2 / (s^2 + k s e^(-sT) + w0^2)

It is stable for all gains below the least 1 / |L / G| where the phase is -180 degrees, if it is
so without the integral: w0^2 < c^2 - k c with c = pi / (2 T). Without a filter the limit is G = k,
where the loop has the factor s^2 + w0^2. A tool touches softly before it is pressed, and Lambda
depends on the pose: every w0 up to that of the given stiffness counts. Half of the limit is
accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import cast

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.parameters.values import direction

__all__ = ['axes_reasons', 'force_axes', 'ForceCase', 'gain_limit', 'judge_force', 'largest_gain',
           'largest_stiffness', 'MARGIN']

#: of the limit of stability that is accepted
MARGIN = 0.5

#: natural frequencies that are tried besides the largest, and the ratio of one to the next
_TRIED, _CLOSER = 39, 0.01 ** (1.0 / 39.0)

#: steps of a bisection; parts in which roots are looked for
_HALVES, _PARTS = 50, 200


def force_axes(values: Mapping[str, object]) -> list[str]:
    """
    Return the directions whose force is controlled, by their short names.

    :param values: complete set of parameters.
    """
    return [direction(axis) for axis in cast(Sequence[str], values['force_control.axes'])]


def largest_stiffness(damping: float, delay: float, inertia: float) -> float:
    """
    Return the stiffness of the surroundings from which on a damper is too late.

    :param damping: k, 1/s.
    :param delay: T, s.
    :param inertia: Lambda, kg or kg.m^2.
    """
    c = 0.5 * math.pi / delay
    return max(inertia * (c * c - damping * c), 0.0)


def largest_gain(damping: float, delay: float, lag: float, frequency: float) -> float:
    """
    Return the gain of the integral from which on no loop up to a natural frequency is stable.

    :param damping: k, 1/s.
    :param delay: T, s.
    :param lag: F of the filter, s.
    :param frequency: w0, rad/s.
    """
    most, w0 = gain_limit(damping, delay, lag, frequency), frequency
    for _ in range(_TRIED):
        w0 = w0 * _CLOSER
        most = min(most, gain_limit(damping, delay, lag, w0))
    return most


def gain_limit(k: float, T: float, F: float, w0: float) -> float:
    """
    Return the gain at which one loop begins to swing.

    :param k: damping, 1/s.
    :param T: delay, s.
    :param F: of the filter, s.
    :param w0: natural frequency, rad/s.
    """
    # The phase is 0 or -180 degrees at the roots of _turn. The first one is the only one below
    # both w0 and the first root of its first factor without w0.
    low, high = 0.0, 0.5 * math.pi / T
    for _ in range(_HALVES):
        w = 0.5 * (low + high)
        if math.cos(w * T) > w * F * math.sin(w * T):
            low = w
        else:
            high = w
    first = _root(k, T, F, w0, 0.0, min(w0, high))
    most = _gain_at(k, T, F, w0, first)
    begin = max(w0, high)
    step = (4.0 * max(max(w0, k), 0.5 * math.pi / T) - begin) / _PARTS
    for i in range(_PARTS):
        left, right = begin + i * step, begin + (i + 1) * step
        if _turn(k, T, F, w0, left) * _turn(k, T, F, w0, right) <= 0.0:
            gain = _gain_at(k, T, F, w0, _root(k, T, F, w0, left, right))
            if gain > 0.0:  # else the phase is 0
                most = min(most, gain)
    return most


def _turn(k: float, T: float, F: float, w0: float, w: float) -> float:
    """Return the part of 1 / L across the real axis, times w0^2 / w."""
    return (w0 * w0 - w * w) * (math.cos(w * T) - w * F * math.sin(w * T)) - k * F * w * w


def _root(k: float, T: float, F: float, w0: float, low: float, high: float) -> float:
    """Return where the part across changes its sign."""
    before = _turn(k, T, F, w0, low)
    for _ in range(_HALVES):
        w = 0.5 * (low + high)
        if _turn(k, T, F, w0, w) * before > 0.0:
            low = w
        else:
            high = w
    return high


def _gain_at(k: float, T: float, F: float, w0: float, w: float) -> float:
    """Return the part of -1 / L along the real axis, where there is none across."""
    along = (w0 * w0 - w * w) * (math.sin(w * T) + w * F * math.cos(w * T)) + k * w
    return along * w / (w0 * w0)


class ForceCase(Record):
    """Force control along one axis."""

    gain: float = field('', '1/s', 'of the integral')
    stiffness: float = field('', 'N/m or N.m/rad', 'largest one of the surroundings')
    inertia: float = field('', 'kg or kg.m^2', 'that is felt there')
    gains: Vector = field('4', '1/s^2, 1/s', 'stiffnesses of the law, then dampings')
    damping: float = field('', '1/s', 'largest one of the law, that of its stiffness included')
    delay: float = field('', 's', 'from measuring to torque, with the period')
    lag: float = field('', 's', 'of the filter of the force')
    wrong: float = field('', '', '0: nothing, 1: stiffness, 2: gain')
    most: float = field('', '', 'up to which that one may be')


def judge_force(x: ForceCase) -> None:
    """
    Find out whether a force can be controlled.

    :param x: ``wrong`` says what is too large, and ``most`` how large it may be.
    """
    x.damping = max(math.sqrt(max(max(x.gains[0], x.gains[1]), 0.0)),
                    max(x.gains[2], x.gains[3]))
    x.wrong, x.most = 0.0, largest_stiffness(x.damping, x.delay, x.inertia)
    if x.stiffness >= x.most:
        x.wrong = 1.0
        return
    x.most = MARGIN * largest_gain(x.damping, x.delay, x.lag, math.sqrt(x.stiffness / x.inertia))
    if x.gain > x.most:
        x.wrong = 2.0


def axes_reasons(values: Mapping[str, object]) -> list[str]:
    """
    Return why forces cannot be controlled along these axes; empty if they can.

    :param values: complete set of parameters.
    """
    chosen = force_axes(values)
    if not chosen:
        return []
    if not values['force_torque.frame']:
        return ['force_control.axes needs a sensor: give force_torque.frame']
    moved = [direction(axis) for axis in cast(Sequence[str], values['task.axes'])]
    both = [axis for axis in chosen if axis in moved]
    if len(set(chosen)) != len(chosen):
        return ['force_control.axes names a direction twice']
    if both:
        return [f'{", ".join(both)}: in force_control.axes and in task.axes, choose one; motion '
                'and force of one direction cannot both be controlled']
    return []
