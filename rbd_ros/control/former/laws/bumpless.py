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

At the switch the difference between the old and the new law is taken over as an offset, which then
fades along a quintic. The output is continuous by construction, whatever the two laws are; the
offset is finite and never larger than twice the limit. Where it pushes a joint in the direction of
its motion it fades faster, as fast as a continuous output allows: a slow offset would keep driving
a joint that the old law had accelerated, or that nothing holds any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ['BumplessSwitch', 'smooth_step']

Array = npt.NDArray[np.float64]

#: share of the limit by which an offset that drives a joint falls from one torque to the next
_FALL = 0.006

#: rad/s above which a joint counts as moving
_MOVES = 0.05


def smooth_step(s: float) -> float:
    """
    Rise from 0 to 1 with zero first and second derivative at both ends.

    :param s: progress; values outside [0, 1] are clamped.
    """
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


class BumplessSwitch:
    """A fading offset that makes the torque of a new law start at that of the old one."""

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
        self._fall = _FALL * self._limit
        self._start: float | None = None
        self._share = 1.0  # fraction of the offset that is left
        self._armed = False
        self._valid = False

    @property
    def active(self) -> bool:
        """Return whether an offset is fading."""
        return self._start is not None or self._armed

    def switch(self) -> None:
        """Announce that the next torque is the first one of a new law."""
        self._armed = self._valid and self.duration > 0.0

    def cancel(self) -> None:
        """Forget offset and memory, because another torque than the law's was published."""
        self._start = None
        self._armed = self._valid = False

    def note(self, torque: Array) -> None:
        """
        Remember a torque that is not from a law, so that a law can start from it.

        :param torque: finite torque before the limiter, N.m.
        """
        self._last[:] = torque
        self._start = None
        self._armed, self._valid = False, True

    def results(self, torque: Array) -> list[tuple[Array, Array]]:
        """
        Return what to copy, and where, instead of ``apply`` while nothing fades.

        :param torque: buffer of the torque before the limiter.
        """
        return [(torque, self._last)]

    def apply(self, now: float, torque: Array, qd: Array) -> Array:
        """
        Add the offset of now.

        :param now: control time, s.
        :param torque: finite torque of the present law, N.m; changed in place.
        :param qd: joint velocities.
        """
        if self._armed:
            self._armed = False
            self._start, self._share = now, 1.0
            np.clip(self._last, self._negative, self._limit, out=self._last)
            np.clip(torque, self._negative, self._limit, out=self._work)
            np.subtract(self._last, self._work, out=self._offset)
        elif self._start is not None:
            self._fade((now - self._start) / self.duration, qd)
        if self._start is not None:
            np.add(torque, self._offset, out=torque)
        self._last[:] = torque
        self._valid = True
        return torque

    def _fade(self, progress: float, qd: Array) -> None:
        """Let the offset fade, and fall where it drives a joint."""
        share = 1.0 - smooth_step(progress)
        if share <= 0.0:
            self._start = None
            return
        offset, work = self._offset, self._work
        np.multiply(offset, share / self._share, out=offset)
        self._share = share
        np.clip(qd * (np.sign(offset) / _MOVES), 0.0, 1.0, out=work)  # 1: it drives the joint
        np.multiply(work, self._fall, out=work)
        np.minimum(work, np.abs(offset), out=work)
        np.subtract(offset, np.sign(offset) * work, out=offset)
