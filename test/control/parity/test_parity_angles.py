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

"""Angles that wrap: exactly the remainder that the standard library gives."""

import math
import random

from rbd_ros.control.numerics.angles import turn


def test_turn_is_the_exact_remainder() -> None:
    """Of numbers of every size, at and beside half turns."""
    rng = random.Random(1)
    steps = [sign * 10.0 ** rng.uniform(-320.0, 308.0) for sign in (-1.0, 1.0)
             for _ in range(300)]
    halves = [k * math.pi for k in range(-9, 10)] + [2.0 ** k * math.pi for k in range(0, 1000, 7)]
    steps += [each for half in halves
              for each in (half, math.nextafter(half, -math.inf), math.nextafter(half, math.inf))]
    steps += [rng.uniform(-30.0, 30.0) for _ in range(2000)] + [0.0, -0.0, 1e308, 5e-324]
    for step in steps:
        assert turn(step) == math.remainder(step, math.tau), step


def test_what_is_not_finite_stays() -> None:
    """An error in Python would stop the controller; the caller sees what it got."""
    assert turn(math.inf) == math.inf
    assert turn(-math.inf) == -math.inf
    assert math.isnan(turn(math.nan))
