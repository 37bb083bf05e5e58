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

"""What laws keep from one step to the next: finite numbers, and integrals within their bounds."""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import finite, where
from rbd_ros.compiler.procedure import Vector

__all__ = ['integrated', 'kept']


def kept(new: Vector, old: Vector) -> Vector:
    """Return new numbers where they are some, else the old ones."""
    return where(finite(new), new, old)


def integrated(before: float, error: float, gain: float, dt: float, limit: float,
               side: float) -> float:
    """
    Return an integral term after a step; it neither winds up nor leaves its bound.

    A joint whose torque is at a limit integrates only in the direction that leaves the limit. What
    is not finite changes nothing.

    :param before: z, rad/s^2.
    :param error: e, rad.
    :param gain: Ki, 1/s^3.
    :param dt: s since the last step.
    :param limit: bound of z, rad/s^2.
    :param side: 1 at the upper torque limit, -1 at the lower one, else 0.
    """
    after = before if side * error > 0.0 else before + gain * error * dt
    after = min(max(after, -limit), limit)
    return after if abs(after) <= limit and math.isfinite(after) else before
