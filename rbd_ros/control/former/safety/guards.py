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

"""Guards against silent operators and second publishers."""

from __future__ import annotations

import enum
import math

__all__ = ['Access', 'DeadMan', 'OutputGuard', 'ReferenceGuard', 'RefusalCount']

#: s between two refused references beyond which they are not consecutive
_ROW = 1.0


class DeadMan:
    """A signal that must be repeated to keep the robot going."""

    def __init__(self, timeout: float) -> None:
        """
        Start released.

        :param timeout: s within which the next signal must come; 0: no dead-man.
        """
        self.timeout = timeout
        self._pressed = -math.inf

    def signal(self, steady: float, pressed: bool) -> None:
        """
        Take one message.

        :param steady: steady time, s.
        :param pressed: whether the operator holds the switch.
        """
        self._pressed = steady if pressed else -math.inf

    def alive(self, steady: float) -> bool:
        """
        Return whether the robot may move.

        :param steady: steady time, s.
        """
        return self.timeout <= 0.0 or steady - self._pressed <= self.timeout


class ReferenceGuard:
    """Drop references while their topic has more than one publisher."""

    def __init__(self) -> None:
        """Start with one publisher."""
        self.count = 1

    def accept(self) -> bool:
        """Return whether a message may be used."""
        return self.count <= 1

    def publishers(self, count: int) -> bool:
        """
        Take the present number of publishers of the topic.

        :param count: from the ROS graph.
        :returns: whether it has just become more than one, so that the node must hold.
        """
        before, self.count = self.count, count
        return before <= 1 < count


class RefusalCount:
    """Count consecutive refused references: a sender of nothing else has lost the robot."""

    def __init__(self, limit: int) -> None:
        """
        Start with none.

        :param limit: number in a row that is too many; 0: any number is tolerated.
        """
        self.limit = limit
        self.count = 0
        self._time = -math.inf

    def accepted(self) -> None:
        """Record a reference that was accepted: the count starts again."""
        self.count = 0

    def refused(self, steady: float) -> bool:
        """
        Record a reference that was refused.

        :param steady: steady time, s.
        :returns: whether it is one too many.
        """
        if steady - self._time > _ROW:
            self.count = 0
        self.count += 1
        self._time = steady
        return 0 < self.limit <= self.count


class Access(enum.Enum):
    """Whether the output topic is ours."""

    FREE = 'free'
    WAIT = 'wait'
    REFUSED = 'refused'


class OutputGuard:
    """Wait for a second publisher on our output to vanish, then refuse."""

    def __init__(self, patience: float = 25.0) -> None:
        """
        Set how long to wait.

        :param patience: s; a killed process stays in the graph for 10 to 20 s.
        """
        self.patience = patience
        self._begin: float | None = None

    def check(self, steady: float, others: int) -> tuple[Access, str]:
        """
        Check the number of other publishers.

        :param steady: steady time, s.
        :param others: publishers on the topic besides ours.
        """
        if others <= 0:
            self._begin = None
            return Access.FREE, ''
        if self._begin is None:
            self._begin = steady
        waited = steady - self._begin
        if waited < self.patience:
            return Access.WAIT, (f'{others} other publisher(s) on the command topic; one that '
                                 f'was killed stays visible for 10-20 s: waiting '
                                 f'{self.patience - waited:.0f} s more')
        self._begin = None
        return Access.REFUSED, (f'{others} other publisher(s) on the command topic after '
                                f'{self.patience:.0f} s: two controllers must not drive one robot')
