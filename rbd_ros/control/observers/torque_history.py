# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The torques that were sent, kept until the motion that they cause is measured.

The ring is long enough for any rate: where torques follow one another too closely for the time
that it must cover, neighbours become one entry with their mean. Of a time before its oldest entry
nothing is known.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record

__all__ = ['KEPT', 'TorqueHistory']

#: torques in the ring
KEPT = 256

#: pairs of neighbours that cover the time for which torques are kept; the rest is for the ends
_PAIRS = KEPT // 2 - 4


class TorqueHistory(Record):
    """Torques, each of which acts until the next."""

    first: float = field('', '', 'place of the oldest entry')
    entries: float = field('', '', 'number of entries')
    time: Vector = field(f'{KEPT}', 's', 'control time from which a torque acts')
    torque: Matrix = field(f'{KEPT} n', 'N.m or N', 'that acts from then on')
    impulse: Matrix = field(f'{KEPT} n', 'N.m.s or N.s', 'of all torques until then')
    spare: Vector = field('n', 'N.m.s or N.s', 'of all torques until now')

    def clear(self) -> None:
        """Forget everything, after a gap."""
        self.first, self.entries = 0.0, 0.0

    def note(self, now: float, torque: Vector, window: float) -> None:
        """
        Take a torque that acts from now on.

        :param now: control time in s, later than that of the torque before.
        :param torque: N.m.
        :param window: s for which torques are kept.
        """
        first, count = int(self.first), int(self.entries)
        last = _wrapped(first + count - 1)
        for j in range(len(torque)):
            self.spare[j] = self._impulse(last, j, now) if count > 0 else 0.0
        if count > 1:
            before = _wrapped(first + count - 2)
            lasts = now - self.time[before]
            if 0.0 < lasts < window / _PAIRS:  # the last entry and the one before it become one
                self.torque[before] = (self.spare - self.impulse[before]) / lasts
                count -= 1
        k = _wrapped(first + count)
        self.impulse[k] = self.spare
        self.torque[k] = torque
        self.time[k] = now
        if count == KEPT:
            self.first = _wrapped(first + 1)
        else:
            self.entries = count + 1

    def find_mean(self, begin: float, end: float, mean: Vector) -> bool:
        """
        Find the mean torque between two times, and forget what was before the first.

        :param begin: s.
        :param end: s, later than that.
        :param mean: gets it, N.m.
        :returns: False if nothing is known of a part of this time.
        """
        first, count = int(self.first), int(self.entries)
        if count == 0 or not self.time[first] <= begin < end:
            return False
        while count > 1 and self.time[_wrapped(first + 1)] <= begin:
            first = _wrapped(first + 1)
            count -= 1
        self.first, self.entries = first, count
        k = count - 1
        while k > 0 and self.time[_wrapped(first + k)] > end:
            k -= 1
        last = _wrapped(first + k)
        for j in range(len(mean)):
            mean[j] = (self._impulse(last, j, end)
                       - self._impulse(first, j, begin)) / (end - begin)
        return True

    def _impulse(self, k: int, j: int, now: float) -> float:
        """Return the impulse on a joint until a time, where an entry is the last before it."""
        return self.impulse[k, j] + (now - self.time[k]) * self.torque[k, j]


def _wrapped(k: int) -> int:
    return k - KEPT if k >= KEPT else k
