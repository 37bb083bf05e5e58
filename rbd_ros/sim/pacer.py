# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Keep simulated time in step with a steady clock, without falling ever further behind."""

from __future__ import annotations

from rbd_ros.errors import SettingError


class Pacer:
    """
    Count the periods that are due on a steady clock.

    After a short delay several periods run at once to catch up. After a delay of more than
    ``max_catch_up`` periods the rest are skipped: running them all would add to the delay.

    :param period: real seconds per period: simulated seconds over the real-time factor.
    :param max_catch_up: most periods that may run at once.
    """

    def __init__(self, period: float, max_catch_up: int = 20) -> None:
        if not period > 0.0:
            raise SettingError(f'period is {period}; it must be positive')
        self._period = period
        self._max_catch_up = max_catch_up
        self._start: float | None = None
        self._done = 0
        #: Wake-ups that found more than one period due.
        self.late = 0
        #: Periods that were skipped.
        self.skipped = 0

    def rebase(self) -> None:
        """Start again at the next call, after a pause."""
        self._start = None

    @property
    def progress(self) -> tuple[float | None, int]:
        """Return the steady time of the start, None before it, and the periods counted since."""
        return self._start, self._done

    @progress.setter
    def progress(self, progress: tuple[float | None, int]) -> None:
        self._start, self._done = progress

    def due(self, now: float) -> int:
        """
        Return how many periods to run now.

        :param now: steady clock, s.
        """
        if self._start is None:
            self._start, self._done = now, 0
            return 0
        # Half a period of tolerance: with less jitter than that, each wake-up runs one period.
        behind = int((now - self._start) / self._period + 0.5) - self._done
        if behind <= 0:
            return 0
        self.late += behind > 1
        run = min(behind, self._max_catch_up)
        self.skipped += behind - run
        self._done += behind
        return run
