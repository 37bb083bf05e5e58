# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A law beyond the torque limits is reduced, so that the robot still moves where it should."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler import absolute, less, maximum, minimum, Scalar, where

__all__ = ['in_proportion']

Vector = Sequence[Scalar]

#: N.m; keeps a division by zero finite, and no law adds so little
_TINY = 1e-300


def in_proportion(torque: Vector, gravity: Vector, limit: Vector) -> list[Scalar]:
    """
    Return a torque within its limits that accelerates the robot in the direction asked for.

    What a law adds to g(q) is reduced for all joints alike. A clamp per joint would turn the
    vector: coupled by inertia, a joint that gets all of its torque is thrown by one that does not.

    :param torque: of the law, gravity included.
    :param gravity: g(q), never reduced; a joint that it saturates alone is left to the limiter.
    :param limit: largest absolute torque per joint.
    """
    share: Scalar = 1.0
    for tau, g, most in zip(torque, gravity, limit):
        u = tau - g
        room = where(less(0.0, u), most - g, most + g)
        share = minimum(share, where(less(0.0, room), room / maximum(absolute(u), _TINY), 1.0))
    return [g + share * (tau - g) for tau, g in zip(torque, gravity)]
