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

"""Faults that show while the state is good: too fast, too far from the reference."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.causes import Cause

__all__ = ['ErrorMonitor', 'SpeedMonitor']

Array = npt.NDArray[np.float64]


class _Monitor:
    """A bound per joint that may be exceeded for a short time."""

    cause: Cause
    what: str

    def __init__(self, joints: Sequence[str], limit: Sequence[float], patience: float) -> None:
        """
        Set the bounds.

        :param joints: names for the texts.
        :param limit: largest absolute value per joint; infinity: none.
        :param patience: s for which it may be exceeded without a break.
        """
        self.joints, self.patience = tuple(joints), patience
        self.limit = np.array(limit, dtype=float)
        self._since = math.nan

    def restart(self) -> None:
        """Forget that anything was exceeded."""
        self._since = math.nan

    @property
    def exceeded(self) -> bool:
        """Return whether the bound was exceeded at the last look."""
        return not math.isnan(self._since)

    def check(self, now: float, value: Array) -> str:
        """
        Look at one value.

        :param now: control time, s.
        :param value: one number per joint.
        :returns: empty, or what is wrong.
        """
        for x, most in zip(value.tolist(), self.limit.tolist()):  # NumPy takes five times as long
            if x > most or x < -most:
                break
        else:
            self._since = math.nan
            return ''
        if math.isnan(self._since):
            self._since = now
        if now - self._since < self.patience:
            return ''
        j = int((np.abs(value) > self.limit).argmax())
        return f'{self.joints[j]}: {self.what} {value[j]:.4g} beyond {self.limit[j]:.4g}'


class SpeedMonitor(_Monitor):
    """Joint velocities against their limits."""

    cause = Cause.OVER_SPEED
    what = 'velocity'


class ErrorMonitor(_Monitor):
    """Tracking errors against their limits."""

    cause = Cause.TRACKING
    what = 'tracking error'
