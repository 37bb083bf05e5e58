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

"""Guards against a second publisher, of a reference or of our own output."""

from __future__ import annotations

import enum

__all__ = ['Access', 'OutputGuard', 'ReferenceGuard']


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
