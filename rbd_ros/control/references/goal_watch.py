# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The goal of FollowJointTrajectory: its tolerances, how it ends, and the numbers of its feedback.

There is at most one; a new one pre-empts. What has ended stays in a small ring, whose texts
``reference_words`` makes.
"""

from __future__ import annotations

import enum

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NOBODY, NONE
from rbd_ros.control.interface.results import ResultCode
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.references.pieces import Ring, slot_of

__all__ = ['Goal', 'GoalStatus', 'OUTCOMES', 'Outcomes', 'take_outcome']

#: goals that have ended and are remembered
OUTCOMES = 8


class GoalStatus(enum.IntEnum):
    """How a goal ended; in the order of ``references.results.Status``."""

    SUCCEEDED = 0
    ABORTED = 1
    CANCELED = 2


class Goal(Record):
    """The goal that is pursued, and those that have ended."""

    active: float = field('', '', 'its number; 0: none')
    start: float = field('', 's', 'control time at which its trajectory began')
    end: float = field('', 's', 'control time at which its trajectory ends')
    goal_time: float = field('', 's', 'after the end within which it must be reached')
    time: float = field('', 's', 'control time of the last check')
    ended: float = field('', '', 'number of goals that have ended, ever')
    path: Matrix = field('3 n', 'rad or m, /s, /s^2', 'largest errors on the way')
    tolerance: Matrix = field('3 n', 'rad or m, /s, /s^2', 'largest errors at the end')
    actual: Matrix = field('2 n', 'rad or m, /s', 'measured state at the last check')
    error: Matrix = field('2 n', 'rad or m, /s', 'target minus measured state at the last check')
    outcomes: Matrix = field(f'{OUTCOMES} 8', '', 'of the goals that ended last: number, '
                             'GoalStatus, ResultCode, word, joint, quantity (0 position, '
                             '1 velocity), and two numbers of the word')

    def accept(self, ring: Ring) -> None:
        """Pursue the goal of the newest trajectory."""
        self.active, self.start, self.end = ring.goal, ring.start, ring.end
        self.goal_time = _allowed(ring.goal_time)
        for j in range(len(ring.final)):
            for k in range(3):
                self.path[k, j] = _allowed(ring.path[k, j])
                self.tolerance[k, j] = _allowed(ring.tolerance[k, j])

    def finish(self, status: int, code: int, word: int, joint: int = NOBODY, quantity: int = 0,
               a: float = 0.0, b: float = 0.0) -> None:
        """
        End the active goal, if any.

        :param status: see ``GoalStatus``.
        :param code: see ``ResultCode``.
        :param word: why, see ``ReferenceWord``.
        :param joint: that has violated a tolerance; ``NOBODY``: none.
        :param quantity: 0 position, 1 velocity, 2 acceleration.
        """
        if self.active == 0.0:
            return
        k = slot_of(self.ended, OUTCOMES)
        self.outcomes[k, 0] = self.active
        self.outcomes[k, 1], self.outcomes[k, 2] = status, code
        self.outcomes[k, 3], self.outcomes[k, 4] = word, joint
        self.outcomes[k, 5] = quantity
        self.outcomes[k, 6], self.outcomes[k, 7] = a, b
        self.ended += 1.0
        self.active = 0.0

    def abort(self, word: int, a: float = 0.0) -> None:
        """End the active goal, if any, because something else happened."""
        self.finish(GoalStatus.ABORTED, ResultCode.INVALID_GOAL, word, NOBODY, 0, a)

    def judge(self, now: float, n: int) -> bool:
        """Judge the error of the active goal; return whether it fails: the reference must hold."""
        if now < self.end:
            at = _violation(self.error, self.path, n)
            if at < 0:
                return False
            k = 1 if at >= n else 0
            j = at - n * k
            self.finish(GoalStatus.ABORTED, ResultCode.PATH_TOLERANCE_VIOLATED,
                        ReferenceWord.OFF_PATH, j, k, self.error[k, j], self.path[k, j])
            return True
        at = _violation(self.error, self.tolerance, n)
        if at < 0:
            self.finish(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL, ReferenceWord.REACHED)
            return False
        if not now > self.end + self.goal_time:
            return False
        k = 1 if at >= n else 0
        j = at - n * k
        self.finish(GoalStatus.ABORTED, ResultCode.GOAL_TOLERANCE_VIOLATED,
                    ReferenceWord.OFF_GOAL, j, k, self.error[k, j], self.tolerance[k, j])
        return True


class Outcomes(Record):
    """The goals that have ended."""

    taken: float = field('', '', 'how many were taken out')
    found: bool = field('', '', 'whether there was another one')
    row: Vector = field('8', '', 'see Goal.outcomes')


def take_outcome(outcomes: Outcomes, goal: Goal) -> None:
    """Take out the oldest goal that has ended; of too many the last ones are remembered."""
    outcomes.taken = max(outcomes.taken, goal.ended - OUTCOMES)
    outcomes.found = outcomes.taken < goal.ended
    if outcomes.found:
        outcomes.row[:] = goal.outcomes[slot_of(outcomes.taken, OUTCOMES)]
        outcomes.taken += 1.0


def _allowed(tolerance: float) -> float:
    """Return a tolerance; what is no number restricts most, so that such a goal fails."""
    return min(tolerance, NONE) if tolerance >= 0.0 else 0.0


def _violation(error: Matrix, tolerance: Matrix, n: int) -> int:
    """Return n k + j of the first quantity k and joint j that is too far away; -1: none."""
    for k in range(2):  # accelerations are not measured
        for j in range(n):
            if not abs(error[k, j]) <= tolerance[k, j]:
                return n * k + j
    return -1
