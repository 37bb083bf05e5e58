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
How old states are when they arrive, by their stamps: a constant delay shows in nothing else.

The clock of the stamps need not be ours. An age that is negative or beyond the timeout is none;
any other one is believed, because damping that is made for a longer delay is only weaker.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ['Ages', 'DelayWatch']

#: s over which ages are compared
_WINDOW = 1.0

#: shares of the ages that are below the low and the high one
_LOW, _HIGH = 0.1, 0.9

#: states in a window below which nothing is said
_LEAST = 10


class Ages(NamedTuple):
    """What states of a second had in common, s."""

    low: float  # 10 % are younger
    high: float  # 90 % are


class DelayWatch:
    """Collect the ages of states."""

    def __init__(self, offset: float, most: float) -> None:
        """
        Start with nothing received.

        :param offset: reception minus stamp of a message without delay, if both clocks are one, s.
        :param most: age from which on it cannot be one, s.
        """
        self._offset, self._most = offset, most
        self.restart()

    def restart(self) -> None:
        """Forget every state."""
        self._ages: list[float] = []
        self._begun = -math.inf
        self.last: Ages | None = None  # of the last whole second; None: there was none

    def note(self, now: float, stamp: float) -> Ages | None:
        """
        Take a state.

        :param now: control time of reception, s.
        :param stamp: ``header.stamp``, s; 0: none.
        :returns: the ages of a second, once it has passed.
        """
        age = now - stamp - self._offset
        if stamp == 0.0 or not 0.0 <= age < self._most or not 0.0 <= now - self._begun < math.inf:
            self._ages.clear()
            self._begun = now
            return None
        self._ages.append(age)
        if now - self._begun < _WINDOW or len(self._ages) < _LEAST:
            return None
        ages = sorted(self._ages)
        self.last = Ages(*(ages[int(share * len(ages))] for share in (_LOW, _HIGH)))
        self._ages.clear()
        self._begun = now
        return self.last
