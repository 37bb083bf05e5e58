# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Time for which something may be wrong, as a leaky counter.

Each sample counts until the next one: while something is wrong the counter fills second by second,
else it drains at a quarter of that. One good sample among bad ones therefore resets nothing: what
is wrong for more than a fifth of the time becomes a fault sooner or later.
"""

from __future__ import annotations

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE

__all__ = ['Patience']

#: s that can be due to rounding
_EMPTY = 1e-9

#: s by which the counter drains in a good second
_DRAIN = 0.25


class Patience(Record):
    """A leaky counter."""

    spent: float = field('', 's', 'for which something was wrong')
    bad: float = field('', '', '1 if it was at the last look')
    time: float = field('', 's', 'of that look')

    def is_calm(self) -> bool:
        """Return whether nothing is wrong and nothing was lately."""
        return self.bad == 0.0 and self.spent == 0.0

    def runs_out(self, most: float, now: float, bad: int) -> bool:
        """
        Take one sample; it counts until the next one.

        :param most: s after which it has run out; 0, or no number: at once.
        :param now: time of the sample, s, finite.
        :param bad: 1 if something is wrong in it, else 0.
        :returns: whether it is wrong and was so for too long.
        """
        since = max(now - self.time, 0.0)
        if self.bad > 0.0:
            # remember no more than the limit
            self.spent = max(0.0, min(min(self.spent, most) + since, NONE))
        elif self.spent > 0.0:
            left = self.spent - _DRAIN * since
            self.spent = left if left > _EMPTY else 0.0
        self.bad, self.time = bad, now
        return bad > 0 and not self.spent < most * (1.0 - 1e-9)
