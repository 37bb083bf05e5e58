# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Goals of FollowJointTrajectory: their tolerances, and how they ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.control.interface.events import NONE
from rbd_ros.control.interface.results import (
    GoalError, Outcome, ResultCode, Status, Tolerances)
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.references.goal_watch import Goal, Outcomes, take_outcome
from rbd_ros.control.references.points import PointLimits, Points
from rbd_ros.control.references.polynomials import Task
from rbd_ros.control.references.trajectory import PointHandler

__all__ = ['EndedGoals', 'read_tolerances', 'Tolerances']

Array = npt.NDArray[np.float64]
Entry = tuple[str, float, float, float]  # name, position, velocity, acceleration


def read_tolerances(joints: Sequence[str], default: Tolerances, path: Iterable[Entry],
                    goal: Iterable[Entry], goal_time: float) -> Tolerances:
    """
    Merge the tolerances of a goal into the defaults by the rules of control_msgs.

    Zero means the default, a negative number no restriction.

    :param joints: controlled joints.
    :param default: tolerances from the parameters.
    :param path: path tolerances of the message.
    :param goal: goal tolerances of the message.
    :param goal_time: goal_time_tolerance of the message, s.
    """
    points, limits = Points({'k': 1, 'n': len(joints)}), PointLimits({'n': len(joints)})
    limits.goal_time = min(default.goal_time, NONE)
    for usual, entries, target, values in (
            (default.path, path, points.path, limits.path),
            (default.goal, goal, points.tolerance, limits.tolerance)):
        values[:] = np.minimum(usual, NONE)
        for name, *given in entries:
            if name not in joints:
                raise GoalError(ResultCode.INVALID_JOINTS, f'tolerance for unknown joint {name}')
            target[:, list(joints).index(name)] = given
    points.goal_time = goal_time
    PointHandler(points, limits, joints).do(Task.TOLERANCES)
    ends = points.goal_time if points.goal_time < NONE else np.inf
    return Tolerances(_unlimited(points.path), _unlimited(points.tolerance), ends)


def _unlimited(values: Array) -> Array:
    return np.where(values < NONE, values, np.inf)


class EndedGoals:
    """Read the goals that end, each once."""

    def __init__(self, goal: Goal, joints: Sequence[str], modes: Sequence[str]) -> None:
        """
        Start with what ends from now on.

        :param goal: of the state of the step; only read.
        :param joints: names of the controlled joints.
        :param modes: names by their numbers.
        """
        self._goal, self._joints, self._modes = goal, tuple(joints), tuple(modes)
        self._found = Outcomes({})
        self._found.taken = goal.ended

    @property
    def seen(self) -> float:
        """Return how many were read."""
        return self._found.taken

    def take(self, stopped: str) -> list[tuple[int, Outcome]]:
        """
        Return the numbers and outcomes of the goals that have ended since the last call.

        :param stopped: why the controller stopped, for goals that ended by that.
        """
        ended = []
        take_outcome(self._found, self._goal)
        while self._found.found:
            ended.append(self._read(stopped))
            take_outcome(self._found, self._goal)
        return ended

    def _read(self, stopped: str) -> tuple[int, Outcome]:
        number, status, code, word, joint, quantity, a, b = self._found.row.tolist()
        name = self._joints[int(joint)] if joint >= 0.0 else ''
        mode = self._modes[int(a)] if word == ReferenceWord.MODE_CHANGED else ''
        text = ReferenceWord(int(word)).text(name, a, b, quantity, mode=mode, faults=stopped)
        return int(number), Outcome(tuple(Status)[int(status)], ResultCode(int(code)), text)
