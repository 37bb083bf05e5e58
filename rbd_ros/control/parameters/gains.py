# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Gains that cannot be stable are refused: the rate and the delay of the control loop bound them.

The laws scale their gains with the inertia of the robot, so that each joint and each direction is
x'' = -Kd x' - Kp x, sampled with period h and answered a delay later. Without a delay, the sampled
loop is stable for Kp h / 2 < Kd < 2 / h. With a delay of m periods and a rest r the torque of a
sample acts from m h + r on, until that of the next one does. The loop is at its boundary where a
root is z = exp(i a): 1 + Kp X(z) + Kd V(z) = 0 with

    V = z^-m (h - r + r / z) / (z - 1)
    X = (h V + z^-m ((h - r)^2 / 2 + (r (h - r) + r^2 / 2) / z)) / (z - 1)

which gives Kp and Kd for each angle a, from 0 to where Kp is 0 again. A driver may send no
velocities: the filter of their differences counts as delay.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import cast

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE

__all__ = ['borne_delay', 'gain_loop', 'GainCase', 'judge_gains', 'largest_damping',
           'largest_stiffness', 'ROUNDING']

#: share by which a gain may miss its bound: the defaults at 10 Hz are just there
ROUNDING = 1e-9


def largest_damping(period: float, delay: float) -> float:
    """
    Return the damping in 1/s from which on no stiffness is stable.

    :param period: of the control loop, s.
    :param delay: from measuring to torque, s.
    """
    if delay == 0.0:
        return 2.0 / period
    most = _at_boundary(_last_angle(period, delay), period, delay, 1)
    if 2.0 * delay < period:  # a root at -1
        most = min(most, 2.0 / (period - 2.0 * delay))
    return most


def _last_angle(period: float, delay: float) -> float:
    """Return the angle at which the damping alone is at the boundary: -V is real there."""
    periods = math.floor(delay / period)
    rest = delay - periods * period
    low, high = 0.0, math.pi
    for _ in range(60):
        a = 0.5 * (low + high)
        late = math.atan2(rest * math.sin(a), period - rest + rest * math.cos(a))
        if (periods + 0.5) * a + late < 0.5 * math.pi:
            low = a
        else:
            high = a
    return low


def _at_boundary(angle: float, period: float, delay: float, which: int) -> float:
    """
    Return the stiffness (0) or the damping (1) with which a root is exp(i angle).

    :param angle: above 0, up to pi.
    :param period: of the control loop, s.
    :param delay: from measuring to torque, s.
    :param which: is returned.
    """
    periods = math.floor(delay / period)
    rest = delay - periods * period
    left, c, s = period - rest, math.cos(angle), math.sin(angle)
    half_c, half_s = math.cos(0.5 * angle), math.sin(0.5 * angle)
    turn_c, turn_s = math.cos((periods + 0.5) * angle), math.sin((periods + 0.5) * angle)
    # numerators of V and of the direct part of X, each times exp(-i (m + 1/2) angle)
    a, b = left + rest * c, -rest * s
    p, q = a * turn_c + b * turn_s, b * turn_c - a * turn_s
    a = 0.5 * left * left + (rest * left + 0.5 * rest * rest) * c
    b = -(rest * left + 0.5 * rest * rest) * s
    v, u = a * turn_c + b * turn_s, b * turn_c - a * turn_s
    V_re, V_im = 0.5 * q / half_s, -0.5 * p / half_s
    share = 0.25 * period / (half_s * half_s)
    X_re = 0.5 * u / half_s - share * (q * half_s + p * half_c)
    X_im = -0.5 * v / half_s + share * (p * half_s - q * half_c)
    det = X_re * V_im - X_im * V_re
    return X_im / det if which == 1 else -V_im / det


def largest_stiffness(damping: float, period: float, delay: float) -> float:
    """
    Return the stiffness in 1/s^2 from which on a damping does not suffice.

    :param damping: in 1/s, below ``largest_damping``.
    :param period: of the control loop, s.
    :param delay: from measuring to torque, s.
    """
    if delay == 0.0:
        return 2.0 * damping / period
    low, high = 0.0, _last_angle(period, delay)
    for _ in range(60):
        a = 0.5 * (low + high)
        if _at_boundary(a, period, delay, 1) < damping:
            low = a
        else:
            high = a
    return max(_at_boundary(high, period, delay, 0), 0.0)


def borne_delay(stiffness: float, damping: float, integral: float) -> float:
    """
    Return the delay in s from which on gains are unstable, not sampled; NONE: they do nothing.

    The loop (Kd s^2 + Kp s + Ki) / s^3 has the gain 1 at the angular frequency w; the phase that
    is left there over w is that delay. Gains a Kd, a^2 Kp and a^3 Ki bear it 1 / a times.

    :param stiffness: Kp, 1/s^2.
    :param damping: Kd, 1/s.
    :param integral: Ki, 1/s^3, below their product.
    """
    if not (0.0 <= stiffness < 1e300 and 0.0 <= damping < 1e300 and stiffness + damping > 0.0):
        return NONE
    low, high = 0.0, 2.0 * damping + 2.0 * math.sqrt(stiffness)
    for _ in range(60):
        w = 0.5 * (low + high)
        direct = damping / w - integral / (w * w * w)
        if direct * direct + stiffness * stiffness / (w * w * w * w) > 1.0:
            low = w
        else:
            high = w
    left = math.atan2(damping * high * high - integral, stiffness * high)
    return max(left, 0.0) / high


class GainCase(Record):
    """Gains of one joint or direction, and the loop in which they act."""

    stiffness: float = field('', '1/s^2', 'Kp')
    damping: float = field('', '1/s', 'Kd')
    integral: float = field('', '1/s^3', 'Ki')
    period: float = field('', 's', 'of the control loop')
    delay: float = field('', 's', 'from measuring to torque')
    wrong: float = field('', '', '0: nothing, 1: damping, 2: stiffness, 3: integral')
    most: float = field('', '', 'below which that gain must be')


def judge_gains(x: GainCase) -> None:
    """
    Find the gain that cannot be stable.

    :param x: ``wrong`` says which, and ``most`` how large it may be.
    """
    x.wrong, x.most = 0.0, largest_damping(x.period, x.delay)
    if x.damping > x.most * (1.0 + ROUNDING):
        x.wrong = 1.0
        return
    x.most = largest_stiffness(x.damping, x.period, x.delay)
    if x.stiffness > 0.0 and x.stiffness >= x.most:
        x.wrong = 2.0
        return
    x.most = x.stiffness * x.damping
    if x.integral > 0.0 and x.integral >= x.most:
        x.wrong = 3.0


def gain_loop(values: Mapping[str, object], *, differenced: bool = False,
              ) -> tuple[float, float, str]:
    """
    Return period and delay of the control loop, and what is said of them.

    :param values: complete set of parameters.
    :param differenced: whether states have no velocities, so that their filter counts.
    """
    rate, delay = cast(float, values['nominal_rate']), cast(float, values['delay'])
    lag = cast(float, values['velocity_filter']) if delay or differenced else 0.0
    parts = [f'a delay of {delay:g} s'] * bool(delay) + [f'velocity_filter {lag:g} s'] * bool(lag)
    loop = ' with '.join([f'at nominal_rate {rate:g} Hz', *filter(None, [' and '.join(parts)])])
    return 1.0 / rate, delay + lag, loop
