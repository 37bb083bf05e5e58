# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A button that moves the robot while it is held, and no longer.

Signs that come here are of now, see :mod:`rbd_ros.view.round_trips`.
"""

from __future__ import annotations

import time
from typing import Any

__all__ = ['DeadMan', 'HOLD_RATE', 'renewing', 'SHORTEST_GAP', 'TIMEOUT']

HOLD_RATE = 10.0  # Hz, of the signs that a browser sends while a button is held
TIMEOUT = 0.3  # s after the last sign of a held button at which it counts as released
#: s between two signs, below which the button counts as released: those that a slow network kept
#: back come in bursts, perhaps long after it was
SHORTEST_GAP = 0.05


class DeadMan:
    """
    Know whether a button is held, from the signs that browsers send.

    One sign alone is no proof: two of the same browser are, if the time between them is that of a
    button which is held now. After a burst nothing counts for a while: the next one may follow.
    """

    def __init__(self) -> None:
        self._last: dict[int, float] = {}  # time of the last sign of each browser
        self._until = self._deaf = 0.0  # times: held until, and no sign counts until

    def renew(self, browser: int, now: float) -> None:
        """
        Take a sign.

        :param browser: its number.
        :param now: steady time at which it came.
        """
        gap = now - self._last.get(browser, -TIMEOUT)
        self._last = {each: at for each, at in self._last.items() if now - at <= TIMEOUT}
        self._last[browser] = now
        if gap < SHORTEST_GAP:
            self._until, self._deaf = now, now + TIMEOUT
        elif gap <= TIMEOUT and now >= self._deaf:
            self._until = now + TIMEOUT

    def is_held(self, now: float) -> bool:
        """
        Return whether the button is held.

        :param now: steady time.
        """
        return now < self._until


def renewing(button: DeadMan) -> Any:
    """Return what takes the signs of a held button, in the order in which they come."""
    async def held(event: Any) -> None:
        button.renew(event.client_id, time.monotonic())
    return held
