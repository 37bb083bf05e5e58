# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A point of the joints that moves towards a target, within the limits of the robot."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from rbd_ros.model.model import Model

    Array = NDArray[np.float64]

__all__ = ['LONGEST_TICK', 'MovingPoint', 'RAMP']

LONGEST_TICK = 0.1  # s for which it moves at most: after a pause of this program it does not jump
RAMP = 0.4  # s from rest to its speed, and before the target back to rest
SLOWEST = 0.05  # of its speed, with which it arrives
USUAL_SPEED = 1.0  # rad/s or m/s, of a joint whose description has no velocity limit


class MovingPoint:
    """
    Positions of some joints, which never leave the limits and never jump.

    :param model: the robot.
    :param joints: names of joints with one coordinate.
    """

    def __init__(self, model: Model, joints: Sequence[str]) -> None:
        places = [model.position_slice(name).start for name in joints]
        self.lower = np.array([model.lower[k] for k in places])
        self.upper = np.array([model.upper[k] for k in places])
        speeds = [model.velocity_limit[model.velocity_slice(name).start] for name in joints]
        self.speed = np.array([speed if math.isfinite(speed) and speed > 0.0 else USUAL_SPEED
                               for speed in speeds])
        self.q: Array = self.inside(np.zeros(len(places)))
        #: joints that turn without end: a whole turn is no difference
        self.endless = np.array([
            math.isinf(low) and math.isinf(high)
            and model.joint[model.joint_index(name)].type_name == 'revolute'
            for name, low, high in zip(joints, self.lower, self.upper, strict=True)], bool)
        self.slides = np.array([model.joint[model.joint_index(name)].type_name == 'prismatic'
                                for name in joints], bool)
        self._pace = 0.0  # of its speed, 0 to 1

    def near(self, q: ArrayLike) -> Array:
        """Return the same positions, those of endless joints by the nearest turn."""
        q = np.array(q, float)
        turns = np.round((self.q - q) / (2.0 * math.pi))
        return np.where(self.endless, q + 2.0 * math.pi * turns, q)

    def lead(self, q: ArrayLike, share: float) -> float:
        """
        Return by how many seconds of motion it is away from positions.

        :param q: the positions.
        :param share: of the velocity limits, 0 to 1.
        """
        return float((np.abs(self.q - self.near(q)) / (share * self.speed)).max(initial=0.0))

    def inside(self, q: ArrayLike) -> Array:
        """Return the nearest positions within the limits."""
        return np.clip(np.asarray(q, float), self.lower, self.upper)

    def begin(self, q: ArrayLike) -> None:
        """
        Put it somewhere, at rest.

        :param q: where the robot is.
        """
        self.q = self.inside(q)
        self.rest()

    def rest(self) -> None:
        """Stop at once; the controller brakes."""
        self._pace = 0.0

    def approach(self, target: ArrayLike, seconds: float, share: float) -> None:
        """
        Move on a straight line, so that all joints arrive at the same time.

        :param target: where to.
        :param seconds: since the last motion.
        :param share: of the velocity limits, 0 to 1.
        """
        goal = self.inside(target)
        needed = float((np.abs(goal - self.q) / (share * self.speed)).max(initial=0.0))
        brake = max(math.sqrt(2.0 * needed / RAMP), SLOWEST)
        part = self._faster(seconds, brake)
        self.q = goal if needed <= part else self.q + (goal - self.q) * (part / needed)
        if needed <= part:
            self.rest()

    def jog(self, joint: int, sense: float, seconds: float, share: float) -> None:
        """
        Move one joint up to its limit.

        :param joint: its number.
        :param sense: 1 or -1.
        :param seconds: since the last motion.
        :param share: of its velocity limit, 0 to 1.
        """
        target = self.q.copy()
        target[joint] += sense * share * self.speed[joint] * self._faster(seconds)
        self.q = self.inside(target)

    def _faster(self, seconds: float, most: float = 1.0) -> float:
        """Return the seconds at full speed that a tick is worth; the next one is worth more."""
        tick = min(max(seconds, 0.0), LONGEST_TICK)
        self._pace = min(self._pace + tick / RAMP, most, 1.0)
        return self._pace * tick
