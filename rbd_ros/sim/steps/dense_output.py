# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Integration steps with dense output (RBDA 11.45 to 11.51): the state at any time within a step.

An event inside a step is located on the polynomial that the step provides, so that no stage of the
step is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rbd_ros.compiler import Array

Slope = Callable[[Array], Array]


class DenseStep(NamedTuple):
    """One step of ``h`` seconds from ``start``, given by the slopes of its one or two stages."""

    start: Array
    h: float
    slopes: tuple[Array, ...]

    def at(self, share: float) -> Array:
        """Return the state at a fraction of the step, 0 to 1 (11.47, 11.51)."""
        if len(self.slopes) == 1:
            return self.start + self.h * share * self.slopes[0]                          # 11.47
        k1, k2 = self.slopes
        second = 0.75 * share * share
        return self.start + self.h * ((share - second) * k1 + second * k2)               # 11.51


def euler_step(slope: Slope, y: Array, h: float) -> DenseStep:
    """Return a step of Euler's rule (11.46), order 1."""
    return DenseStep(y, h, (slope(y),))


def heun_step(slope: Slope, y: Array, h: float) -> DenseStep:
    """Return a step of Heun's rule with the second stage at two thirds (11.48-11.50), order 2."""
    k1 = slope(y)
    return DenseStep(y, h, (k1, slope(y + (2.0 / 3.0) * h * k1)))


STEPS = {'euler': euler_step, 'heun': heun_step}
