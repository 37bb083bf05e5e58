# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Angles of continuous joints, which may wrap."""

from __future__ import annotations

import math

__all__ = ['turn']

_PI, _TAU = math.pi, math.tau


def turn(step: float) -> float:
    """
    Return the shortest turn that ends where a step ends: ``math.remainder(step, math.tau)``.

    Long division with powers of two: every subtraction is exact, so that the result is the same on
    every machine, and any number is taken. What is not finite is returned as it is.

    :param step: difference of two angles, rad.
    """
    if not abs(step) > _PI or not math.isfinite(step):
        return step
    left, part = abs(step), _TAU
    while part <= 0.5 * left:
        part += part
    odd = False  # whether the turns taken away so far are an odd number
    while part >= _TAU:
        odd = left >= part
        if odd:
            left -= part
        part *= 0.5
    if left > _PI or (left == _PI and odd):  # a half goes to the even number of turns
        left -= _TAU
    return math.copysign(1.0, step) * left
