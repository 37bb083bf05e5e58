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

"""Goals of FollowJointTrajectory as plain objects, which an action server calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.results import Outcome, ResultCode, Status
from rbd_ros.control.references.trajectory import Trajectory

__all__ = ['Goal', 'GoalKeeper']

Array = npt.NDArray[np.float64]

_QUANTITIES = ('position', 'velocity', 'acceleration')


class Goal:
    """One accepted goal."""

    def __init__(self, key: Hashable, trajectory: Trajectory, tolerances: Tolerances,
                 joints: Sequence[str]) -> None:
        """
        Bind a trajectory to its tolerances.

        :param key: what the action server knows the goal by.
        :param trajectory: from the present reference.
        :param tolerances: merged tolerances.
        :param joints: controlled joints, for the texts.
        """
        self.key, self.trajectory, self.tolerances = key, trajectory, tolerances
        self.joints = tuple(joints)

    def check(self, now: float, error: Array) -> Outcome | None:
        """
        Check the present tracking error.

        :param now: control time, s.
        :param error: reference minus measured, (3, n); unmeasured accelerations are zero.
        """
        if now < self.trajectory.end:
            return self._violation(error, self.tolerances.path, 'path',
                                   ResultCode.PATH_TOLERANCE_VIOLATED)
        outside = self._violation(error, self.tolerances.goal, 'goal',
                                  ResultCode.GOAL_TOLERANCE_VIOLATED)
        if outside is None:
            return Outcome(Status.SUCCEEDED, ResultCode.SUCCESSFUL, 'goal reached')
        if now > self.trajectory.end + self.tolerances.goal_time:
            return outside
        return None

    def _violation(self, error: Array, tolerance: Array, which: str,
                   code: ResultCode) -> Outcome | None:
        outside = np.abs(error) > tolerance
        if not outside.any():
            return None
        k, j = np.argwhere(outside)[0]
        return Outcome(Status.ABORTED, code, f'{self.joints[j]}: {_QUANTITIES[k]} error '
                       f'{error[k, j]:.4g} exceeds the {which} tolerance {tolerance[k, j]:.4g}')


class GoalKeeper:
    """At most one goal at a time; a new one pre-empts."""

    def __init__(self) -> None:
        """Start without goal."""
        self.active: Goal | None = None
        self.ended: deque[tuple[Hashable, Outcome]] = deque()

    def accept(self, goal: Goal) -> None:
        """
        Follow a goal, pre-empting the present one.

        :param goal: the new goal.
        """
        self.abort('pre-empted by a new goal')
        self.active = goal

    def cancel(self, key: Hashable) -> bool:
        """
        Cancel a goal; the caller then holds the reference.

        :param key: which goal.
        :returns: whether it was the active one.
        """
        if self.active is None or self.active.key != key:
            return False
        self._end(Outcome(Status.CANCELED, ResultCode.SUCCESSFUL, 'canceled by the client'))
        return True

    def abort(self, text: str, code: ResultCode = ResultCode.INVALID_GOAL) -> None:
        """
        End the active goal, if any, because something else happened.

        :param text: what happened.
        :param code: result code.
        """
        if self.active is not None:
            self._end(Outcome(Status.ABORTED, code, text))

    def check(self, now: float, error: Array) -> Outcome | None:
        """
        Check the active goal; one that ends is put into ``ended``.

        :param now: control time, s.
        :param error: reference minus measured, (3, n).
        """
        if self.active is None:
            return None
        outcome = self.active.check(now, error)
        if outcome is not None:
            self._end(outcome)
        return outcome

    def _end(self, outcome: Outcome) -> None:
        if self.active is not None:
            self.ended.append((self.active.key, outcome))
            self.active = None
