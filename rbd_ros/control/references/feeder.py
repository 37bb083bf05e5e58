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

from rbd_ros.compiler import procedure
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.references.feeding import Feed, handle_feed, Turn
from rbd_ros.control.references.pieces import Path, Ring
from rbd_ros.control.references.points import Points
from rbd_ros.control.references.results import Tolerances
from rbd_ros.control.references.trajectory import PointHandler

__all__ = ['Feeder']


class Feeder:
    """
    Keep the ring full.

    One thread calls ``begin`` and ``feed``. ``catch_up`` is called by the thread of the step,
    between two steps.
    """

    def __init__(self, ring: Ring, path: Path) -> None:
        """
        Take the ring, which is empty.

        :param ring: receives the pieces.
        :param path: of the state: says which piece is in use; only read.
        """
        self._ring, self._path, self.progress = ring, path, Feed(ring.sizes)
        #: whether the ring was written; whoever keeps a copy of it resets this
        self.changed = False
        self._attach(Points({**ring.sizes, 'k': 1}))  # compiled here, not while somebody waits

    def _attach(self, points: Points) -> None:
        self._run = procedure.bind(handle_feed, self.progress, points, self._ring, self._path)

    @property
    def left(self) -> int:
        """Return how many pieces of the newest trajectory are still to be put into the ring."""
        return int(self.progress.left)

    def begin(self, trajectory: PointHandler, goal: int = 0,
              tolerances: Tolerances | None = None) -> int:
        """
        Put the beginning of a trajectory into the ring; the one before is not continued.

        :param trajectory: that has begun at the present reference.
        :param goal: number of its goal; 0: none.
        :param tolerances: of the goal.
        :returns: the number of the trajectory.
        """
        points = trajectory.points
        points.goal, points.goal_time = goal, NONE
        points.path[:] = points.tolerance[:] = NONE
        if tolerances is not None:
            points.goal_time = tolerances.goal_time
            points.path[:], points.tolerance[:] = tolerances.path, tolerances.goal
        self._attach(points)
        self._do(Turn.START)
        return int(self.progress.number)

    def feed(self) -> int:
        """
        Put further pieces where there is room; to be called often, best after each step.

        :returns: how many were put.
        """
        return self._do(Turn.FEED)

    def catch_up(self, now: float) -> None:
        """
        Put the piece for now into the ring, if all pieces in it are over after a long pause.

        :param now: control time of the next step, s.
        """
        self.progress.now = now
        self._do(Turn.CATCH_UP)

    def _do(self, task: Turn) -> int:
        self.progress.task = task
        self._run()
        self.changed = self.changed or task == Turn.START or self.progress.put > 0.0
        return int(self.progress.put)
