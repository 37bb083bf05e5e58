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

#: s over which ages are compared, once the first ones are known
_WINDOW = 1.0

#: shares of the ages that are below the middle and the high one
_MIDDLE, _HIGH = 0.5, 0.9

#: states in a window below which nothing is said
_LEAST = 5


class Ages(NamedTuple):
    """What the states of some time had in common, s."""

    middle: float  # half of them are younger: a halt of the machine makes fewer old
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
        self.restart(_WINDOW)

    def restart(self, first: float) -> None:
        """
        Forget every state.

        :param first: s over which the next ages are compared; a second from then on.
        """
        self._ages: list[float] = []
        self._window = first
        self._begun = self._last = -math.inf

    def note(self, now: float, stamp: float) -> Ages | None:
        """
        Take a state.

        :param now: control time of reception, s.
        :param stamp: ``header.stamp``, s; 0: none.
        :returns: the ages since the last ones were returned, once their time has passed.
        """
        age = now - stamp - self._offset
        goes_on, self._last = 0.0 <= now - self._last < self._most, now
        if stamp == 0.0 or not 0.0 <= age < self._most or not goes_on:
            self._ages.clear()
            self._begun = now
            return None
        self._ages.append(age)
        if now - self._begun < self._window or len(self._ages) < _LEAST:
            return None
        ages = sorted(self._ages)
        self.restart(_WINDOW)
        self._begun = self._last = now
        return Ages(*(ages[int(share * len(ages))] for share in (_MIDDLE, _HIGH)))
