# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
External joint torque by observing the generalised momentum, as procedures.

The momentum p = H qd obeys p' = tau + tau_ext - C + H' qd. Over one period, with the midpoint
rule for H' qd, its change is H_mid (qd1 - qd0) exactly, so that neither H' nor an
acceleration is needed. Joints that others move count with their measured velocity: H has their
columns. The observer filters what the model does not explain:

    r' = K (tau_ext - r)
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import dot, total
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.kernels.declared import MomentumKernel

__all__ = ['are_finite', 'is_time', 'Momentum', 'settled']

#: s; times beyond are none
_LATEST = 1e17

#: terms of the series of 1 - exp(-x), enough for x = 1/2
_TERMS = 16

#: time constants after which a lag has settled to the last bit
_SETTLED = 40.0


class Momentum(Record):
    """One observer."""

    known: float = field('', '', '1 if it has a state to begin a period with')
    torque: Vector = field('n', 'N.m or N', 'r, estimate of tau_ext')
    unexplained: Vector = field('n', 'N.m or N', 'tau_ext of the last period, not filtered')
    H: Matrix = field('n m', 'kg.m^2', 'rows of the inertia matrix at the last state')
    qd: Vector = field('m', 'rad/s or m/s', 'velocities of the last state')
    bias: Vector = field('n', 'N.m or N', 'C with gravity at the last state')
    tau: Vector = field('n', 'N.m or N', 'torque that acts since then')

    def is_finite(self) -> bool:
        """Return whether nothing absurd was learned."""
        found = total(self.torque) + total(self.unexplained) + total(self.bias) + total(self.tau)
        for i in range(len(self.torque)):
            found += total(self.H[i])
        return math.isfinite(found + total(self.qd))

    def take(self, k: MomentumKernel, tau: Vector) -> None:
        """Take a state, where the kernel was evaluated; ``tau`` acts from now on."""
        self.H[:] = k.H
        self.qd[:] = k.qd
        self.bias[:] = k.bias
        self.tau[:] = tau
        self.known = 1.0

    def update(self, k: MomentumKernel, tau: Vector, dt: float, gain: Vector, acted: Vector,
               acts: float) -> None:
        """
        Take the state at the end of a period.

        :param k: evaluated at that state.
        :param tau: torque that acts from now on, N.m; the one given before acted in the period.
        :param dt: length of the period, s.
        :param gain: K, bandwidth per joint, 1/s.
        :param acted: mean torque in the period, where it changed meanwhile.
        :param acts: 1 if that is known; 0: the torque given before acted.
        """
        if self.known > 0.0 and dt > 0.0:
            share, same = 0.0, -1.0
            for i in range(len(self.torque)):
                if gain[i] != same:  # mostly that of all joints
                    share, same = settled(gain[i] * dt), gain[i]
                impulse = dot(0.5 * (k.H[i] + self.H[i]), k.qd - self.qd)
                before = acted[i] if acts > 0.0 else self.tau[i]
                self.unexplained[i] = impulse / dt + 0.5 * (k.bias[i] + self.bias[i]) - before
                self.torque[i] += share * (self.unexplained[i] - self.torque[i])
        self.take(k, tau)


def is_time(now: float) -> bool:
    """Return whether a number can be a time."""
    return abs(now) < _LATEST


def are_finite(values: Vector) -> bool:
    """Return whether there is neither NaN nor infinity; a sum that overflows is infinite."""
    return math.isfinite(total(values))


def settled(x: float) -> float:
    """
    Return 1 - exp(-x), to which share a first-order lag has settled, to the last digits.

    Halved until its series converges at once; then 1 - exp(-2 x) = s (2 - s) from s at x.

    :param x: time in units of the time constant; not positive: 0.
    """
    if not x > 0.0:
        return 0.0
    if x > _SETTLED:
        return 1.0
    doubled = 0
    while x > 0.5:
        x = 0.5 * x
        doubled += 1
    series = 1.0
    for k in range(_TERMS, 1, -1):
        series = 1.0 - x * series / k
    share = x * series
    for _ in range(doubled):
        share = share * (2.0 - share)
    return share
