# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The time that processes take on a machine with other work."""

from __future__ import annotations

import contextlib
from pathlib import Path
import time

STEP = 0.5  # s between two looks at all processes of the machine


class Clock:
    """
    Time of a session of processes, without what they waited for a processor.

    Processor time alone would not do: what waits for ever uses none.

    :param session: number of the session.
    """

    def __init__(self, session: int) -> None:
        self._session = session
        self._begin = self._looked = time.monotonic()
        self._lost = 0.0
        self._waited: dict[str, float] = {}

    def now(self) -> float:
        """Return the seconds since the beginning, without those in which a thread had to wait."""
        now = time.monotonic()
        if now - self._looked >= STEP:
            before, self._waited = self._waited, self._waits()
            longest = max((waited - before.get(thread, 0.0)
                           for thread, waited in self._waited.items()), default=0.0)
            self._lost += min(longest, now - self._looked)
            self._looked = now
        return now - self._begin - self._lost

    def _waits(self) -> dict[str, float]:
        """Return for how long each thread has waited for a processor, in seconds."""
        found = {}
        for process in Path('/proc').glob('[0-9]*'):
            with contextlib.suppress(OSError):
                stat = (process / 'stat').read_text().rpartition(')')[2].split()
                if int(stat[3]) == self._session:
                    for thread in (process / 'task').iterdir():
                        found[thread.name] = 1e-9 * int(
                            (thread / 'schedstat').read_text().split()[1])
        return found
