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

"""The torques that were sent, kept until the motion that they cause is measured."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

__all__ = ['TorqueHistory']

Array = npt.NDArray[np.float64]


class TorqueHistory:
    """Give the mean of a torque over any time within a delay; each one acts until the next."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self._sent: deque[tuple[float, Array, Array]] = deque()  # time, torque, impulse so far

    def clear(self) -> None:
        """Forget everything, after a gap."""
        self._sent.clear()

    def note(self, now: float, torque: Array) -> None:
        """
        Take a torque that acts from now on.

        :param now: time in s, later than that of the torque before.
        :param torque: N.m.
        """
        impulse = self._impulse(self._sent[-1], now) if self._sent else np.zeros(len(torque))
        self._sent.append((now, torque.copy(), impulse))

    def mean(self, begin: float, end: float) -> Array | None:
        """
        Return the mean torque between two times, and forget what was before the first.

        :param begin: s.
        :param end: s, later than that.
        :returns: N.m; None: nothing is known of a part of this time.
        """
        sent = self._sent
        if not sent or not sent[0][0] <= begin < end:
            return None
        while len(sent) > 1 and sent[1][0] <= begin:
            sent.popleft()
        last = next(entry for entry in reversed(sent) if entry[0] <= end)
        return (self._impulse(last, end) - self._impulse(sent[0], begin)) / (end - begin)

    @staticmethod
    def _impulse(entry: tuple[float, Array, Array], now: float) -> Array:
        time, torque, impulse = entry
        return impulse + (now - time) * torque
