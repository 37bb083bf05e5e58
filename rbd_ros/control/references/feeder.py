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

"""Trajectories of any length, put into the ring of the step piece by piece, ahead of time."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.pieces import Path, PathKind, PIECES, Ring, slot_of
from rbd_ros.control.references.results import GoalError, ResultCode
from rbd_ros.control.references.trajectory import Trajectory

__all__ = ['Feeder']

Array = npt.NDArray[np.float64]

#: pieces of the trajectory in use that a new one leaves, until the step takes it over
_KEPT = 16

#: pieces already gone that stay, for a clock that is set back
_BEHIND = 8

#: pieces that one call puts at most, so that it delays nobody
_AT_ONCE = 16


class Feeder:
    """
    Keep the ring full.

    One thread calls ``begin`` and ``feed``. It may be another one than that of the step: a slot
    is written before the step can reach it, and its number comes last. ``catch_up`` is called by
    the thread of the step, between two steps.
    """

    def __init__(self, ring: Ring, path: Path) -> None:
        """
        Take the ring, which is empty.

        :param ring: receives the pieces.
        :param path: of the state: says which piece is in use; only read.
        """
        self._ring, self._path = ring, path
        self._trajectory: Trajectory | None = None
        self._number = 0
        self._first = self._next = 0  # serial numbers
        self._due = -1  # there is no room before this piece is in use

    @property
    def left(self) -> int:
        """Return how many pieces of the newest trajectory are still to be put into the ring."""
        if self._trajectory is None:
            return 0
        return self._first + len(self._trajectory.times) - 1 - self._next

    def begin(self, trajectory: Trajectory, goal: int = 0,
              tolerances: Tolerances | None = None) -> int:
        """
        Put the beginning of a trajectory into the ring; the one before is not continued.

        :param trajectory: from the present reference.
        :param goal: number of its goal; 0: none.
        :param tolerances: of the goal.
        :returns: the number of the trajectory, for the event that starts it.
        :raises GoalError: if its points are closer together than the clock can tell.
        """
        if not trajectory.distinct:
            raise GoalError(ResultCode.INVALID_GOAL,
                            'points of the trajectory are closer together than the clock can tell')
        ring, path = self._ring, self._path
        if path.kind == PathKind.RING:
            # A newer trajectory than the one in use, that was never taken, is written over.
            self._first = (min(self._next, int(path.piece) + _KEPT)
                           if path.number == self._number else self._first)
        else:
            self._first = self._next
        self._number += 1
        self._next, self._trajectory, self._due = self._first, trajectory, -1
        ring.number = 0.0  # no header while it is written
        ring.first, ring.pieces = self._first, len(trajectory.times) - 1
        ring.start, ring.end, ring.final[:] = trajectory.start, trajectory.end, trajectory.final
        ring.goal, ring.goal_time = goal, NONE
        ring.path[:] = ring.tolerance[:] = NONE
        if tolerances is not None:
            ring.goal_time = min(tolerances.goal_time, NONE)
            ring.path[:] = np.minimum(tolerances.path, NONE)
            ring.tolerance[:] = np.minimum(tolerances.goal, NONE)
        ring.number = self._number
        self.feed()
        return self._number

    def feed(self) -> int:
        """
        Put further pieces where there is room; to be called often, best after each step.

        :returns: how many were put.
        """
        trajectory = self._trajectory
        if trajectory is None or self._path.piece < self._due:
            return 0
        count = min(self._room() - self._next, self.left, _AT_ONCE)
        if count <= 0:
            return 0
        first = self._next - self._first
        for i, coefficients in enumerate(trajectory.pieces(first, count), first):
            self._put(trajectory, i, coefficients)
        if not self.left:
            self._trajectory = None
        if self._next >= self._first + PIECES:  # a look takes time, and most have no effect
            self._due = self._next - PIECES + _BEHIND + _AT_ONCE // 2
        return count

    def catch_up(self, now: float) -> None:
        """
        Put the piece for now into the ring, if all pieces in it are over after a long pause.

        The pieces before it are left out; the step finds it by its time. A trajectory that is not
        taken over yet waits.

        :param now: control time of the next step, s.
        """
        trajectory, path = self._trajectory, self._path
        if (trajectory is None or path.kind != PathKind.RING or path.number != self._number
                or now < trajectory.times[self._next - self._first]):
            return
        piece = self._first + min(bisect_right(trajectory.times, now), len(trajectory.times) - 1)
        self._next, self._due = piece - 1, -1
        for i, coefficients in enumerate(trajectory.pieces(self._next - self._first, _AT_ONCE),
                                         self._next - self._first):
            self._put(trajectory, i, coefficients)
        if not self.left:
            self._trajectory = None

    def _room(self) -> int:
        """Return the first serial number for which there is no room."""
        path, own = self._path, self._first + PIECES
        if path.number == self._number:  # it was taken; what has been left needs no more
            return (max(own, int(path.piece) - _BEHIND + PIECES) if path.kind == PathKind.RING
                    else self._next)
        return min(own, int(path.piece) + PIECES) if path.kind == PathKind.RING else own

    def _put(self, trajectory: Trajectory, i: int, coefficients: Array) -> None:
        """Put the next piece into its slot."""
        ring, k = self._ring, slot_of(self._next, PIECES)
        ring.of[k] = 0.0
        ring.serial[k] = self._next
        ring.begin[k], ring.until[k] = trajectory.times[i], trajectory.times[i + 1]
        ring.coefficients[6 * k:6 * k + 6] = coefficients
        ring.of[k] = self._number
        self._next += 1
