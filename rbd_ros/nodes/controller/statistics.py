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

"""Timing of the control thread: recorded there, summed up in another one."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ['LoopStatistics', 'Spread', 'Summary']

Array = npt.NDArray[np.float64]

_SIZE = 4096  # states kept, a power of two
_MASK = _SIZE - 1


class Spread(NamedTuple):
    """Median, 99th percentile and largest of some times, s."""

    median: float = 0.0
    high: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, values: Array) -> Spread:
        """
        Return the spread of some values, zeros if there are none.

        :param values: one-dimensional.
        """
        if not len(values):
            return cls()
        return cls(*(float(x) for x in np.percentile(values, (50.0, 99.0, 100.0))))


class Summary(NamedTuple):
    """One window of states."""

    states: int
    rate: float  # Hz
    period: Spread  # between two states
    compute: Spread  # from the state to the end of its step
    latency: Spread  # from the stamp of the state to the end of its step
    age: float  # s since the last state


class LoopStatistics:
    """A ring of the last steps; one writer, one reader, no lock."""

    def __init__(self, period: float) -> None:
        """
        Allocate.

        :param period: nominal, s.
        """
        self.count = 0  # states
        self.superseded = 0  # states whose successor was waiting when their torque left
        self._idle = 0.1 * period  # less than that after a step: the next one was waiting
        self._begin, self._end, self._stamp = (array('d', bytes(8 * _SIZE)) for _ in range(3))
        self._last = float('-inf')
        self._read = 0
        self._read_time: float | None = None

    def add(self, begin: float, end: float, stamp: float) -> None:
        """
        Take one step; for the control thread.

        :param begin: steady time at which its state was read, s.
        :param end: steady time at which it ended, s.
        :param stamp: of the state, s.
        """
        i = self.count & _MASK
        self._begin[i] = begin
        self._end[i] = end
        self._stamp[i] = stamp
        if begin - self._last < self._idle:
            self.superseded += 1
        self._last = end
        self.count += 1

    def summary(self, now: float, wall: float) -> Summary:
        """
        Sum up what has come since the last summary; for the other thread.

        :param now: steady time, s.
        :param wall: the same time by the clock of the stamps, s.
        """
        count = self.count
        kept = min(count - self._read, _SIZE - 64)  # the writer goes on meanwhile
        places = [k & _MASK for k in range(count - kept, count)]
        begin = np.array([self._begin[k] for k in places])
        end = np.array([self._end[k] for k in places])
        latency = end + (wall - now) - np.array([self._stamp[k] for k in places])
        since = self._read_time if self._read_time is not None else (
            begin[0] if len(begin) else now)
        states = count - self._read
        self._read, self._read_time = count, now
        rate = states / (now - since) if now > since else 0.0
        return Summary(states, rate, Spread.of(np.diff(begin)), Spread.of(end - begin),
                       Spread.of(latency), now - self._last if count else float('inf'))
