# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Adaptive step-size integration (RBDA 10.1), over plain numbers.

For a moment, a robot that passes near a singular pose, or a light body thrown by a heavy one, may
accelerate a thousand times more than before. A fixed step must always be short enough for that
moment. Here two Runge-Kutta rules of orders 5 and 4 share their stages (Dormand and Prince): their
difference estimates the error of the step and sets the length of the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.errors import NonFiniteError, SettingError
from rbd_ros.sim.steps.coordinates import Coordinates

Acceleration = Callable[[Array, Array], ArrayLike]

#: Stages of the rule: the weights of the slopes so far; the last row is the step itself.
_STAGES = (
    (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84))
#: Difference between the weights of the two rules, which gives the error estimate.
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
#: Safety factor on the step length, and the bounds of its change from one step to the next.
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0


class Path(NamedTuple):
    """
    States along an integration: one row for the start, then one for each step.

    :param t: time, s, (count,).
    :param q: positions, (count, nq).
    :param v: velocities, (count, nv).
    :param calls: how often the acceleration was computed.
    """

    t: Array
    q: Array
    v: Array
    calls: int


def integrate(
    space: Coordinates, acceleration: Acceleration, q: ArrayLike, v: ArrayLike, duration: float,
    *, tolerance: float = 1e-8, first: float | None = None, shortest: float = 1e-10,
) -> Path:
    """
    Return the motion of a system, in steps whose local error stays below a tolerance.

    :param space: where q lives.
    :param acceleration: a(q, v), (nv,).
    :param q: position at the start, (nq,).
    :param v: velocity at the start, (nv,).
    :param duration: s.
    :param tolerance: largest error of any entry in one step; relative for entries above one.
    :param first: length of the first step, s; a hundredth of the duration when not given.
    :param shortest: step length below which the motion counts as diverged, s.
    :raises NonFiniteError: if the motion needs shorter steps, or is not finite.
    """
    for name, value in (('duration', duration), ('tolerance', tolerance), ('shortest', shortest),
                        ('first', 1.0 if first is None else first)):
        if not 0.0 < value < math.inf:
            raise SettingError(f'{name} is {value}; it must be positive and finite')
    x = np.concatenate([np.asarray(q, float), np.asarray(v, float)])
    t, h, calls = 0.0, min(first or 0.01 * duration, duration), 1
    slope = _slope(space, acceleration, x)
    times, states = [t], [x]
    while t < duration:
        h = min(h, duration - t)
        slopes = [slope]
        for row in _STAGES:
            slopes.append(_slope(space, acceleration, _ahead(x, h, row, slopes)))
        calls += len(_STAGES)
        # The last slope is taken where the step ends, so the next step begins with it.
        moved = _ahead(x, h, _STAGES[-1], slopes)
        error = np.abs(_ahead(0.0 * x, h, _ERROR, slopes)) / np.maximum(1.0, np.abs(moved))
        size = float(error.max(initial=0.0)) / tolerance
        if not math.isfinite(size) or (h <= shortest and size > 1.0):
            raise NonFiniteError(
                f'the motion after {t:.6g} s needs steps below {shortest:g} s, or is not finite: '
                'check masses and inertias, or allow a larger tolerance')
        if size <= 1.0:
            t = duration if h == duration - t else t + h
            start = x[:space.nq].tolist()
            valid = space.normalise(start, moved[:space.nq].tolist())
            x = np.concatenate([valid, moved[space.nq:]])
            slope = slopes[-1]
            times.append(t)
            states.append(x)
        h = max(h * min(_GROW, max(_SHRINK, _SAFETY * max(size, 1e-10) ** -0.2)), shortest)
    path = np.array(states)
    return Path(np.array(times), path[:, :space.nq], path[:, space.nq:], calls)


def _slope(space: Coordinates, acceleration: Acceleration, x: Array) -> Array:
    q, v = x[:space.nq], x[space.nq:]
    return np.concatenate([space.q_dot(q.tolist(), v.tolist()), acceleration(q, v)])


def _ahead(x: Array, h: float, weights: Sequence[float], slopes: Sequence[Array]) -> Array:
    total = np.zeros_like(x)
    for weight, slope in zip(weights, slopes):
        total += weight * slope
    return x + h * total
