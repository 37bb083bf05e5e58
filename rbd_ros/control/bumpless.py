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
Switching from one law to another without a step of the torque.

At the switch the difference between the old and the new law is taken over as an offset,
which then fades along a quintic. The output is continuous by construction, whatever the two
laws are; the offset is finite and never larger than twice the limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ['BumplessSwitch', 'smooth_step']

Array = npt.NDArray[np.float64]


def smooth_step(s: float) -> float:
    """
    Rise from 0 to 1 with zero first and second derivative at both ends.

    :param s: progress; values outside [0, 1] are clamped.
    """
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


class BumplessSwitch:
    """Offset that carries the torque of the old law into the new one and fades."""

    def __init__(self, limit: Sequence[float], duration: float) -> None:
        """
        Start without offset.

        :param limit: torque limit per joint, N.m; what a law wants beyond it does not count.
        :param duration: s of fading; 0 switches hard.
        """
        self.duration = duration
        self._limit = np.array(limit, dtype=float)
        self._negative = -self._limit
        self._last = np.zeros_like(self._limit)
        self._offset = np.zeros_like(self._limit)
        self._work = np.zeros_like(self._limit)
        self._start: float | None = None
        self._armed = False
        self._valid = False

    @property
    def active(self) -> bool:
        """Return whether an offset is fading."""
        return self._start is not None or self._armed

    def switch(self) -> None:
        """Let the next torque be the first one of a new law."""
        self._armed = self._valid and self.duration > 0.0

    def cancel(self) -> None:
        """Forget offset and memory, because another torque than the law's was published."""
        self._start = None
        self._armed = self._valid = False

    def note(self, torque: Array) -> None:
        """
        Remember a torque that no law gave, so that a law can take over from it.

        :param torque: finite torque before the limiter, N.m.
        """
        self._last[:] = torque
        self._start = None
        self._armed, self._valid = False, True

    def apply(self, now: float, torque: Array) -> Array:
        """
        Add the offset of now.

        :param now: control time, s.
        :param torque: finite torque of the present law, N.m; changed in place.
        """
        if self._armed:
            self._armed = False
            self._start = now
            np.clip(self._last, self._negative, self._limit, out=self._last)
            np.clip(torque, self._negative, self._limit, out=self._work)
            np.subtract(self._last, self._work, out=self._offset)
        if self._start is not None:
            share = 1.0 - smooth_step((now - self._start) / self.duration)
            if share > 0.0:
                np.multiply(self._offset, share, out=self._work)
                np.add(torque, self._work, out=torque)
            else:
                self._start = None
        self._last[:] = torque
        self._valid = True
        return torque
