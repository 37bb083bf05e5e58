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

import numpy as np
from rbd_ros.control.parameters.gains import gain_loop
from rbd_ros.control.parameters.rules import direction

__all__ = ['AXES', 'force_axes', 'force_reasons', 'gain_limit', 'largest_gain',
           'largest_stiffness', 'MARGIN']

#: directions of a frame, in the order of the rows of its Jacobian
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')

#: of the limit of stability that is accepted
MARGIN = 0.5

#: natural frequencies that are tried, and the least as a share of the largest
_TRIED, _LEAST = 40, 1e-2

#: frequencies at which a loop is looked at
_POINTS = 3000


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
    return min(gain_limit(damping, delay, lag, w0) for w0 in np.geomspace(
        _LEAST * frequency, frequency, _TRIED).tolist())


def gain_limit(k: float, T: float, F: float, w0: float) -> float:
    """
    Return the gain at which one loop begins to swing.

    :param k: damping, 1/s.
    :param T: delay, s.
    :param F: of the filter, s.
    :param w0: natural frequency, rad/s.
    """
    top = 4.0 * max(w0, k, 0.5 * math.pi / T)
    w = np.unique(np.concatenate([np.geomspace(1e-3 * min(w0, k), top, _POINTS),
                                  w0 * np.linspace(0.8, 1.2, _POINTS)]))
    s = 1j * w
    late = np.exp(-s * T)
    L = late / (s * (1.0 + s * F)) * w0 ** 2 / (s ** 2 + k * s * late + w0 ** 2)
    crossing = np.flatnonzero((L.imag[:-1] * L.imag[1:] <= 0.0) & (L.real[:-1] < 0.0))
    size = np.maximum(np.abs(L[crossing]), np.abs(L[crossing + 1]))
    return float(1.0 / size.max()) if len(crossing) else math.inf


def force_reasons(values: Mapping[str, object], inertia: Sequence[float]) -> list[str]:
    """
    Return why forces cannot be controlled with these values; empty if they can.

    :param values: complete set of parameters.
    :param inertia: that is felt along each of ``AXES``.
    """
    def number(name: str) -> float:
        return cast(float, values[name])

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
    period, late, loop = gain_loop(values)
    delay, lag = late + period, number('force_torque.filter')
    damping = max(math.sqrt(number(f'task.{part}_stiffness')) if name == 'stiffness' else number(
        f'task.{part}_damping') for part in ('linear', 'angular') for name in (
            'stiffness', 'damping'))
    reasons = []
    for axis in chosen:
        name, unit = ('environment_stiffness', 'N/m') if axis in AXES[3:] else (
            'environment_angular_stiffness', 'N.m/rad')
        name = f'force_control.{name}'
        stiffness, mass = number(name), inertia[AXES.index(axis)]
        if not mass > 0.0:
            continue  # it does not move along this direction
        most = largest_stiffness(damping, delay, mass)
        if stiffness >= most:
            reasons.append(
                f'pressing along {axis} on {name} {stiffness:g} {unit} cannot be stable {loop}, '
                f'with {mass:.3g} {"kg" if axis in AXES[3:] else "kg.m^2"} and a damping of '
                f'{damping:g} 1/s: give less than {most:.4g} {unit}')
            continue
        gain = MARGIN * largest_gain(damping, delay, lag, math.sqrt(stiffness / mass))
        if number('force_control.gain') > gain:
            reasons.append(
                f'force_control.gain {number("force_control.gain"):g} 1/s along {axis} with '
                f'{name} {stiffness:g} {unit}, a damping of {damping:g} 1/s and '
                f'force_torque.filter {lag:g} s is not stable enough {loop}: give at most '
                f'{gain:.4g} 1/s')
    return reasons
