# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
