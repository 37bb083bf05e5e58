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
