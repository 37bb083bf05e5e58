# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How old what a browser sends may be: signs of a button that is held must be of now.

The server sends a ping ten times a second, and the browser answers each by its number. A
connection keeps the order of what is sent: what comes after an answer was sent after the ping. So
a sign is at most as old as the newest ping that was answered before it, however long a network, a
tunnel or a proxy has kept it.
"""

from __future__ import annotations

import asyncio
from functools import partial
import math
import time
from typing import Any

__all__ = ['OLDEST', 'RoundTrips']

#: s; older signs are none
OLDEST = 0.3

#: s between two pings
_PERIOD = 0.1


class RoundTrips:
    """
    The pings of one connection.

    :param connection: a websocket.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._answered = -math.inf  # steady time at which the newest one was sent that has come

    def age(self) -> float:
        """Return how old what comes now may be at most, s."""
        return time.monotonic() - self._answered

    async def go_on(self) -> None:
        """Send pings until the connection ends."""
        from websockets.exceptions import ConnectionClosed
        try:
            while True:
                sent = time.monotonic()
                answer = await self._connection.ping()
                answer.add_done_callback(partial(self._take, sent))
                await asyncio.sleep(_PERIOD)
        except ConnectionClosed:
            pass

    def _take(self, sent: float, answer: asyncio.Future[float]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._answered = max(self._answered, sent)
