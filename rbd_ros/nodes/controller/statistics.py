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
from rbd_ros.loop.native_loop import NativeLoop
from rbd_ros.loop.records import STATES_KEPT
from rbd_ros.loop.words import Word

__all__ = ['LoopStatistics', 'NativeStatistics', 'Spread', 'Summary']

Array = npt.NDArray[np.float64]
Kept = array[float] | Array

_MASK = STATES_KEPT - 1  # it is a power of two


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
        self._count = self._superseded = 0
        self._idle = 0.1 * period  # less than that after a step: the next one was waiting
        self._begin: Kept = array('d', bytes(8 * STATES_KEPT))
        self._end: Kept = array('d', bytes(8 * STATES_KEPT))
        self._stamp: Kept = array('d', bytes(8 * STATES_KEPT))
        self._last = float('-inf')
        self._read = 0
        self._read_time: float | None = None

    @property
    def count(self) -> int:
        """Return the number of states."""
        return self._count

    @property
    def superseded(self) -> int:
        """Return the number of states whose successor was waiting when their torque left."""
        return self._superseded

    def add(self, begin: float, end: float, stamp: float) -> None:
        """
        Take one step; for the control thread.

        :param begin: steady time at which its state was read, s.
        :param end: steady time at which it ended, s.
        :param stamp: of the state, s.
        """
        i = self._count & _MASK
        self._begin[i] = begin
        self._end[i] = end
        self._stamp[i] = stamp
        if begin - self._last < self._idle:
            self._superseded += 1
        self._last = end
        self._count += 1

    def skip(self, now: float) -> None:
        """
        Begin the next window without a summary of this one.

        :param now: steady time, s.
        """
        self._read, self._read_time = self.count, now

    def summary(self, now: float, wall: float) -> Summary:
        """
        Sum up what has come since the last summary; for the other thread.

        :param now: steady time, s.
        :param wall: the same time by the clock of the stamps, s.
        """
        count = self.count
        kept = min(count - self._read, STATES_KEPT - 64)  # the writer goes on meanwhile
        places = np.arange(count - kept, count) & _MASK
        begin, end, stamp = (np.asarray(each)[places]
                             for each in (self._begin, self._end, self._stamp))
        latency = end + (wall - now) - stamp
        since = self._read_time if self._read_time is not None else (
            begin[0] if len(begin) else now)
        states = count - self._read
        self._read, self._read_time = count, now
        rate = states / (now - since) if now > since else 0.0
        return Summary(states, rate, Spread.of(np.diff(begin)), Spread.of(end - begin),
                       Spread.of(latency), now - self._end[(count - 1) & _MASK] if count else
                       float('inf'))


class NativeStatistics(LoopStatistics):
    """The steps of the native loop, which keeps them itself."""

    def __init__(self, loop: NativeLoop) -> None:
        """
        Read what a loop keeps.

        :param loop: has begun.
        """
        super().__init__(0.0)
        self._loop = loop
        self._begin, self._end, self._stamp = loop.times

    @property
    def count(self) -> int:
        """Return the number of states."""
        return self._loop.count(Word.STATES)

    @property
    def superseded(self) -> int:
        """Return the number of states whose successor was waiting when their torque left."""
        return self._loop.count(Word.WAITING)
