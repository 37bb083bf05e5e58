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

"""Goals that have ended, in the words of the action server."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.control.references.goal_watch import Goal, Outcomes, take_outcome
from rbd_ros.control.references.results import Outcome, ResultCode, Status
from rbd_ros.control.references.words import ReferenceWord, TEXTS

__all__ = ['EndedGoals']


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
        if word == ReferenceWord.MODE_CHANGED:
            name = self._modes[int(a)]
        elif word == ReferenceWord.STOPPED:
            name = stopped
        else:
            name = self._joints[int(joint)] if joint >= 0.0 else ''
        text = TEXTS[int(word)](name, a, b, quantity)
        return int(number), Outcome(tuple(Status)[int(status)], ResultCode(int(code)), text)
