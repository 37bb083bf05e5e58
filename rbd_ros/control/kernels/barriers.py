# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Barriers at joint limits and velocity limits, which only ever add to g(q).

Code that cuts the torque pointing at a joint limit also cuts the gravity support of a joint
that rests there, and the arm drops off its stop. Here the torque is split: gravity
passes untouched; only what the law adds to it is faded on its way into a limit, and a spring
and a damper push back. Generic over scalars, without branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler import clamp, maximum, minimum, Scalar

__all__ = ['Barrier', 'guard']

Vector = Sequence[Scalar]


class Barrier(NamedTuple):
    """Parameters of the barriers, one number per joint."""

    lower: Vector  # rad or m; minus infinity: none
    upper: Vector
    margin: Vector  # width of the zone before a limit, positive
    stiffness: Vector  # N.m/rad inside the zone
    damping: Vector  # N.m.s/rad against motion into the limit, at full depth
    speed: Vector  # rad/s above which the velocity barrier acts; infinity: never
    speed_damping: Vector  # N.m.s/rad of the excess
    limit: Vector  # N.m, bound of what the barriers add


def guard(q: Vector, qd: Vector, gravity: Vector, torque: Vector,
          barrier: Barrier) -> list[Scalar]:
    """
    Return the torque of a law with barriers.

    :param q: joint positions.
    :param qd: joint velocities.
    :param gravity: g(q), N.m, never altered.
    :param torque: torque of the law, including gravity, N.m.
    :param barrier: parameters.
    """
    result = []
    for x, v, g, tau, lower, upper, margin, k, d, speed, ds, most in zip(
            q, qd, gravity, torque, *barrier):
        above = clamp((x - upper + margin) / margin, 0.0, 1.0)  # depth in the zone, 0 to 1
        below = clamp((lower + margin - x) / margin, 0.0, 1.0)
        u = tau - g
        u = minimum(u, 0.0) * (1.0 - below) + maximum(u, 0.0) * (1.0 - above)
        push = (below - above) * margin * k
        drag = above * maximum(v, 0.0) + below * minimum(v, 0.0)
        excess = maximum(v - speed, 0.0) + minimum(v + speed, 0.0)
        result.append(g + u + clamp(push - d * drag - ds * excess, -most, most))
    return result
