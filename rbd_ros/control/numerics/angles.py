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
