# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A pose that moves towards a target, at a speed that a person can watch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rbd_ros.nodes.dashboard.moving_point import LONGEST_TICK, RAMP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ['MovingPose', 'SPEED', 'TURN']

SPEED, TURN = 0.1, 0.5  # m/s and rad/s


class MovingPose:
    """Position, m, and orientation, quaternion w, x, y, z, which never jump."""

    def __init__(self) -> None:
        self.position: Array = np.zeros(3)
        self.wxyz: Array = np.array([1.0, 0.0, 0.0, 0.0])
        self._pace = 0.0  # of its speed, 0 to 1

    def begin(self, position: ArrayLike, wxyz: ArrayLike) -> None:
        """Put it somewhere, at rest."""
        self.position, self.wxyz = np.array(position, float), unit(wxyz)
        self._pace = 0.0

    def rest(self) -> None:
        """Stop at once; the controller brakes."""
        self._pace = 0.0

    def lead(self, position: ArrayLike, wxyz: ArrayLike) -> float:
        """Return by how many seconds of motion it is away from a pose."""
        way, turn = self.away(position, wxyz)
        return max(way / SPEED, turn / TURN)

    def away(self, position: ArrayLike, wxyz: ArrayLike) -> tuple[float, float]:
        """Return way and turn to a pose, m and rad."""
        way = np.asarray(position, float) - self.position
        return float(np.linalg.norm(way)), 2.0 * self._half_turn(unit(wxyz))

    def _half_turn(self, goal: Array) -> float:
        """Return the angle between two quaternions: half of the turn, the shorter one."""
        goal = goal if goal @ self.wxyz >= 0.0 else -goal
        return 2.0 * math.atan2(float(np.linalg.norm(goal - self.wxyz)),
                                float(np.linalg.norm(goal + self.wxyz)))

    def approach(self, position: ArrayLike, wxyz: ArrayLike, seconds: float) -> bool:
        """
        Move and turn on the shortest way, so that both arrive at the same time.

        :param position: where to.
        :param wxyz: in which orientation.
        :param seconds: since the last motion.
        :returns: whether it has moved.
        """
        way, goal = np.asarray(position, float) - self.position, unit(wxyz)
        goal = goal if goal @ self.wxyz >= 0.0 else -goal  # both mean the same; this one is nearer
        angle, needed = self._half_turn(goal), self.lead(position, wxyz)
        tick = min(max(seconds, 0.0), LONGEST_TICK)
        if needed < 1e-9:
            return False
        self._pace = min(self._pace + tick / RAMP, 1.0)
        part = min(self._pace * tick / needed, 1.0)
        self.position = self.position + part * way
        self.wxyz = goal if angle < 1e-9 else unit(
            (math.sin((1.0 - part) * angle) * self.wxyz + math.sin(part * angle) * goal)
            / math.sin(angle))
        return True


def unit(wxyz: ArrayLike) -> Array:
    """Return a quaternion of length one; none of length zero comes from a rotation."""
    q = np.asarray(wxyz, float)
    length = float(np.linalg.norm(q))
    return q / length if length > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])
