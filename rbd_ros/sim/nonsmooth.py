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
Friction, brakes and stops as one convex problem for the velocity at the end of a step.

A torque of the size c against the motion has no value at rest, and one computed from the sign of
the velocity shakes there. Asked for implicitly, it has: the velocity w at the end of the step is
the one that minimises

    1/2 (w - v_free)' H (w - v_free) + h sum(d w^2 / 2 + c |w|)   with   low <= w <= high,

where v_free is the velocity without any of these. The minimum is unique, is exactly zero for a
joint that sticks, couples all joints through H as the real impulses do, and takes energy out for
any step length. A brake is friction without bound.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Rounds in which all wrong guesses change together; then one at a time, which cannot cycle long.
_TOGETHER = 6

#: Sweeps over all coordinates when guessing did not end; each one lowers the function.
_SWEEPS = 500


class VelocityStep(NamedTuple):
    """
    The solution: velocity at the end of the step, and what brought it there.

    :param w: velocity, (nv,); exactly zero where a joint sticks.
    :param impulse: H (w - v_free): what friction, brakes and stops gave together, N.m.s.
    :param stopped: which joints are held by a stop.
    """

    w: Array
    impulse: Array
    stopped: NDArray[np.bool_]


def solve_velocity(
    H: Array, v_free: Array, *, dry: Array, viscous: Array, low: Array, high: Array,
) -> VelocityStep:
    """
    Return the velocity at the end of a step under friction, brakes and stops.

    :param H: inertia matrix, (nv, nv).
    :param v_free: velocity at the end of the step without any of these.
    :param dry: h c per joint, the largest impulse of dry friction; infinite for a brake.
    :param viscous: h d per joint.
    :param low: least velocity allowed (infinite for none); ``low <= high``.
    :param high: greatest velocity allowed.
    """
    braked = np.isinf(dry)
    low, high = np.where(braked, 0.0, low), np.where(braked, 0.0, high)
    dry = np.where(braked, 0.0, dry)
    A = H + np.diag(viscous)
    b = H @ v_free
    w = _pivot(A, b, v_free, dry, low, high)
    impulse = H @ (w - v_free)
    at_stop = ((w <= low) | (w >= high)) & ~braked
    return VelocityStep(w, impulse, at_stop)


def _pivot(A: Array, b: Array, v_free: Array, dry: Array, low: Array, high: Array) -> Array:
    """
    Guess who slides which way and who is held, solve, and correct the guess until it is right.

    ``sign`` is the direction in which a free joint slides, ``held`` tells who is held at ``w``.
    """
    n = len(b)
    rests = (dry > 0.0) & (np.abs(b) <= dry)                # right when all others rest too
    w = np.clip(np.where(rests, 0.0, v_free), low, high)
    held = (w != v_free) | (low == high)
    sign = np.sign(v_free)
    for round_ in range(_TOGETHER + 3 * n):
        free = ~held
        if free.any():
            rhs = b - dry * sign - A[:, held] @ w[held]
            w[free] = np.linalg.solve(A[np.ix_(free, free)], rhs[free])
        gradient = A @ w - b
        up = gradient + np.where(w < 0.0, -dry, dry)        # slope on the side of larger w
        down = gradient + np.where(w > 0.0, dry, -dry)      # slope on the side of smaller w
        tiny = 1e-12 * (np.abs(b) + np.abs(A) @ np.abs(w)) + 1e-300
        rise = held & (w < high) & (up < -tiny)
        fall = held & (w > low) & (down > tiny)
        turned = free & (dry > 0.0) & (w * sign <= 0.0)
        beyond = free & ((w < low) | (w > high))
        wrong = rise | fall | turned | beyond
        if not wrong.any():
            return w
        if round_ >= _TOGETHER:
            wrong = np.arange(n) == np.flatnonzero(wrong)[0]
        release, stick, clip = wrong & (rise | fall), wrong & turned, wrong & beyond & ~turned
        sign[release] = np.where(w[release] != 0.0, np.sign(w[release]),
                                 np.where(rise[release], 1.0, -1.0))
        w[stick] = np.clip(0.0, low[stick], high[stick])
        w[clip] = np.clip(w[clip], low[clip], high[clip])
        held = (held | stick | clip) & ~release
    return _sweep(A, b, np.clip(w, low, high), dry, low, high)


def _sweep(A: Array, b: Array, w: Array, dry: Array, low: Array, high: Array) -> Array:
    """Minimise along one coordinate after the other: slow where H is stiff, never wrong."""
    for _ in range(_SWEEPS):
        before = w.copy()
        for i in range(len(b)):
            rest = b[i] - A[i] @ w + A[i, i] * w[i]
            slid = np.sign(rest) * max(abs(rest) - dry[i], 0.0) / A[i, i]
            w[i] = min(max(slid, low[i]), high[i])
        if np.max(np.abs(w - before)) <= 1e-14 * (1.0 + np.max(np.abs(w))):
            break
    return w
