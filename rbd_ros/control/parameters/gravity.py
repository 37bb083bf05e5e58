# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Gravity of a running robot: it may be corrected, not turned over.

Of what acts on a robot, g(q) is the largest part, and a start has shown that it fits. A value that
is far from the one of the start would throw the robot, however slowly it comes, and in however
many small changes.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record

__all__ = ['GravityCase', 'judge_gravity']

#: share of its size, and cosine of the angle in its direction, by which gravity may change
_SHARE, _COSINE = 0.05, math.cos(math.radians(15.0))


class GravityCase(Record):
    """Gravity that shall act, and that with which the robot was started."""

    gravity: Vector = field('3', 'm/s^2', 'that shall act')
    started: Vector = field('3', 'm/s^2', 'with which the robot was started')
    far: float = field('', '', '1 if the first is too far from the second')


def judge_gravity(x: GravityCase) -> None:
    """
    Find out whether gravity is too far from that of the start.

    :param x: ``far`` says so; what is no number is.
    """
    square, before, product = 0.0, 0.0, 0.0
    for i in range(3):
        square += x.gravity[i] * x.gravity[i]
        before += x.started[i] * x.started[i]
        product += x.gravity[i] * x.started[i]
    size, started = math.sqrt(square), math.sqrt(before)
    near = abs(size - started) <= _SHARE * started and product >= _COSINE * size * started
    x.far = 0.0 if near else 1.0
