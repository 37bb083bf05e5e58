# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Timing of the control loop: it keeps the times, which are summed up here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.loop.records import STATES_KEPT, Times
from rbd_ros.loop.words import Word

__all__ = ['LoopStatistics', 'Spread', 'Summary']

Array = npt.NDArray[np.float64]

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
    """The last steps of a loop, which writes their times into a ring; nobody waits."""

    def __init__(self, times: Times | None = None, count: Callable[[Word], int] = lambda _: 0,
                 ) -> None:
        """
        Read what a loop keeps.

        :param times: of its steps; None: there is no loop.
        :param count: gives its counts.
        """
        self._begin, self._end, self._stamp = times or np.zeros((3, STATES_KEPT))
        self._word = count
        self._read = 0
        self._read_time: float | None = None

    @property
    def count(self) -> int:
        """Return the number of states."""
        return self._word(Word.STATES)

    @property
    def superseded(self) -> int:
        """Return the number of states whose successor was waiting when their torque left."""
        return self._word(Word.WAITING)

    def skip(self, now: float) -> None:
        """
        Begin the next window without a summary of this one.

        :param now: steady time, s.
        """
        self._read, self._read_time = self.count, now

    def summary(self, now: float, wall: float) -> Summary:
        """
        Sum up what has come since the last summary.

        :param now: steady time, s.
        :param wall: the same time by the clock of the stamps, s.
        """
        count = self.count
        kept = min(count - self._read, STATES_KEPT - 64)  # the writer goes on meanwhile
        places = np.arange(count - kept, count) & _MASK
        begin, end, stamp = (each[places] for each in (self._begin, self._end, self._stamp))
        latency = end + (wall - now) - stamp
        since = self._read_time if self._read_time is not None else (
            begin[0] if len(begin) else now)
        states = count - self._read
        self._read, self._read_time = count, now
        rate = states / (now - since) if now > since else 0.0
        return Summary(states, rate, Spread.of(np.diff(begin)), Spread.of(end - begin),
                       Spread.of(latency), now - self._end[(count - 1) & _MASK] if count else
                       float('inf'))
