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

"""
Faults that are detected while the state is good: too fast, too far from the reference.

Patience is a leaky counter of time. Each sample counts until the next one: while it exceeds its
bound the counter fills second by second, else it drains at a quarter of that. One good sample
among bad ones therefore resets nothing: what exceeds its bound for more than a fifth of the time
becomes a fault sooner or later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ['BoundMonitor', 'Patience']

Array = npt.NDArray[np.float64]

#: s that can be due to rounding
_EMPTY = 1e-9

#: s by which the counter drains in a good second
_DRAIN = 0.25


class Patience:
    """Time for which something may be wrong, as a leaky counter."""

    def __init__(self, most: float) -> None:
        """
        Start empty.

        :param most: s after which it has run out; 0: at once.
        """
        self.most = most
        self.restart()

    def restart(self) -> None:
        """Forget that anything was wrong."""
        self.spent = 0.0  # s
        self._bad = False  # at the last look
        self._time = 0.0

    @property
    def empty(self) -> bool:
        """Return whether nothing is wrong and nothing was lately."""
        return not self._bad and self.spent == 0.0

    def runs_out(self, now: float, bad: bool) -> bool:
        """
        Take one sample; it counts until the next one.

        :param now: its time, s.
        :param bad: whether something is wrong in it.
        :returns: whether it is wrong and was so for too long.
        """
        since = max(now - self._time, 0.0)
        if self._bad:
            self.spent = min(self.spent, self.most) + since  # remember no more than the limit
        elif self.spent > 0.0:
            left = self.spent - _DRAIN * since
            self.spent = left if left > _EMPTY else 0.0
        self._bad, self._time = bad, now
        return bad and self.spent >= self.most * (1.0 - 1e-9)


class BoundMonitor:
    """A bound per joint that may be exceeded for a short time."""

    def __init__(self, what: str, joints: Sequence[str], limit: Sequence[float],
                 patience: float) -> None:
        """
        Set the bounds.

        :param what: is bounded, for the texts.
        :param joints: names for the texts.
        :param limit: largest absolute value per joint; infinity: none.
        :param patience: s for which it may be exceeded.
        """
        self._what, self._joints, self._patience = what, tuple(joints), Patience(patience)
        self.limit = np.array(limit, dtype=float)

    @property
    def patience(self) -> float:
        """Return the time in s for which the bound may be exceeded."""
        return self._patience.most

    @patience.setter
    def patience(self, most: float) -> None:
        self._patience.most = most

    def restart(self) -> None:
        """Forget that anything was exceeded."""
        self._patience.restart()

    @property
    def calm(self) -> bool:
        """Return whether the bound is not exceeded and was not lately."""
        return self._patience.empty

    def check(self, now: float, value: Array) -> str:
        """
        Check one value.

        :param now: control time, s.
        :param value: one number per joint.
        :returns: empty, or what is wrong.
        """
        bad = False
        for x, most in zip(value.tolist(), self.limit.tolist()):  # NumPy takes five times as long
            if not -most <= x <= most:
                bad = True
                break
        if not self._patience.runs_out(now, bad):
            return ''
        j = self.first_beyond(value)
        return f'{self._joints[j]}: {self._what} {value[j]:.4g} beyond {self.limit[j]:.4g}'

    def first_beyond(self, value: Array) -> int:
        """
        Return the first joint whose bound is exceeded.

        :param value: one number per joint, at least one of them beyond its bound.
        """
        return int((~(np.abs(value) <= self.limit)).argmax())
