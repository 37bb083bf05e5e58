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

"""
Messages for the task reference, checked and made into events of the step.

Streamed poses get the velocity with which they move, estimated over a time long enough that late
messages and bursts do not matter. It is called right before the step that takes the event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.events import Event, Kind
from rbd_ros.control.references.pose_profile import TaskLimits, turn_between
from rbd_ros.control.references.results import GoalError, ResultCode
from rbd_ros.control.references.task_reference import LARGE, TaskReference

__all__ = ['TaskIntake']

Array = npt.NDArray[np.float64]

#: s within which a pose must be followed by the next one to be a stream
_STREAM_GAP = 0.25

#: s between two poses of a burst, of which the last one counts
_BURST_GAP = 0.0005

#: m of a position that nobody means
_FAR = 1e4


class TaskIntake:
    """Poses, twists and wrenches of one robot."""

    def __init__(self, reference: TaskReference, limits: TaskLimits) -> None:
        """
        Start without a stream.

        :param reference: of the state of the step; only read.
        :param limits: in force; a stream that moves faster is none.
        """
        self._reference, self._limits = reference, limits
        self._stream: deque[tuple[float, Array]] = deque(maxlen=50)  # times and poses
        self._stops = reference.stops
        self._horizon = 0.0  # s for which the goal moves on by itself

    def target_pose(self, u: Event, now: float, position: Sequence[float],
                    quaternion: Sequence[float]) -> None:
        """
        Make a pose to go to; poses that are streamed are followed with their own velocity.

        :param u: receives it.
        :param now: control time, s.
        :param position: in the base, m.
        :param quaternion: x, y, z, w.
        :raises GoalError: if it is refused.
        """
        goal = _checked_pose(position, quaternion)
        if self._stops != self._reference.stops:
            self._stops = self._reference.stops
            self._stream.clear()
        since = now - self._stream[-1][0] if self._stream else 0.0
        if self._reference.pose.moving or not 0.0 <= since <= _STREAM_GAP:
            self._stream.clear()  # below 0 the clock has jumped back
        if self._stream and since < _BURST_GAP:
            self._stream.pop()
        self._stream.append((now, goal))
        u.kind, u.now = Kind.POSE, now
        u.numbers[:14] = [*goal, *self._drift(), self._horizon]

    def _drift(self) -> list[float]:
        """Estimate the velocity of streamed poses over two of their longest gaps; jumps end it."""
        times = [time for time, _ in self._stream]
        gaps = [b - a for a, b in zip(times, times[1:])]
        if not gaps:
            return [0.0] * 6
        now, goal = self._stream[-1]
        longest = max(gaps)
        since, before = next(item for item in self._stream
                             if now - item[0] <= 2.001 * longest)
        span = now - since
        turn = np.zeros(3)
        turn_between(before, goal, turn)
        turn /= span
        way = (goal[4:] - before[4:]) / span
        if math.hypot(*turn) <= self._limits.velocity[0] and (
                math.hypot(*way) <= self._limits.velocity[1]):
            self._horizon = 1.5 * longest
            return [*turn.tolist(), *way.tolist()]
        self._stream.clear()
        self._stream.append((now, goal))
        return [0.0] * 6

    def target_twist(self, u: Event, now: float, twist: Sequence[float]) -> None:
        """
        Make a velocity, to be repeated within the timeout.

        :param u: receives it.
        :param now: control time, s.
        :param twist: angular, linear; base axes, at the origin of the frame.
        :raises GoalError: if it is refused.
        """
        u.numbers[:6] = _six_numbers('twist', twist)
        u.kind, u.now = Kind.TWIST, now

    def target_wrench(self, u: Event, now: float, wrench: Sequence[float]) -> None:
        """
        Make a wrench to be exerted, to be repeated within the timeout.

        :param u: receives it.
        :param now: control time, s.
        :param wrench: moment, force; base axes, at the origin of the frame.
        :raises GoalError: if it is refused.
        """
        u.numbers[:6] = _six_numbers('wrench', wrench)
        u.kind, u.now = Kind.WRENCH, now


def _checked_pose(position: Sequence[float], quaternion: Sequence[float]) -> Array:
    """Return the quaternion, of unit length, and the position."""
    if not all(math.isfinite(x) for x in (*position, *quaternion)):
        raise GoalError(ResultCode.INVALID_GOAL, 'the target pose is not finite')
    if abs(farthest := max(position, key=abs)) > _FAR:
        raise GoalError(ResultCode.INVALID_GOAL,
                        f'the target position {farthest:g} m is beyond {_FAR:g} m')
    norm = math.sqrt(sum(x * x for x in quaternion))
    if not 0.9 < norm < 1.1:
        raise GoalError(ResultCode.INVALID_GOAL, f'the quaternion has length {norm:.4g}')
    return np.array([*[x / norm for x in quaternion], *position], dtype=float)


def _six_numbers(name: str, values: Sequence[float]) -> list[float]:
    array = np.array(values, dtype=float)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise GoalError(ResultCode.INVALID_GOAL, f'the target {name} must be six finite numbers')
    if (largest := float(np.abs(array).max())) > LARGE:
        raise GoalError(ResultCode.INVALID_GOAL,
                        f'the target {name} has {largest:g}, which is beyond {LARGE:g}')
    return array.tolist()
