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

"""Payload and gravity direction at run time: inputs of the kernels, never a recompilation."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.load.payload import PayloadError, rotation

__all__ = ['GravitySource', 'PayloadRamp']

Array = npt.NDArray[np.float64]


class PayloadRamp:
    """Move from one payload to the next over a time, so that no torque jumps."""

    def __init__(self, duration: float) -> None:
        """
        Start without payload.

        :param duration: s.
        """
        self.duration = duration
        self.value = np.zeros(10)
        self.ramping = False
        self._from, self._to = np.zeros(10), np.zeros(10)
        self._start = 0.0

    def set(self, now: float, payload: Array, duration: float | None = None) -> None:
        """
        Begin a ramp from the present value.

        :param now: control time, s.
        :param payload: ten numbers of ``payload_vector``.
        :param duration: s; None: the configured one.
        """
        if duration is not None:
            self.duration = duration
        self._from[:] = self.value
        self._to[:] = payload
        self._start, self.ramping = now, True

    def update(self, now: float) -> bool:
        """
        Advance ``value`` to now.

        :param now: control time, s.
        :returns: whether it changed.
        """
        if not self.ramping:
            return False
        share = (now - self._start) / self.duration if self.duration > 0.0 else 1.0
        if share >= 1.0:
            self.value[:] = self._to
            self.ramping = False
        else:
            np.subtract(self._to, self._from, out=self.value)
            self.value *= max(share, 0.0)
            self.value += self._from
        return True


class GravitySource:
    """Gravity in base coordinates: constant, or turned by a measured orientation."""

    def __init__(self, gravity: Sequence[float], timeout: float = 0.0,
                 slew: float = math.inf) -> None:
        """
        Start with a constant vector.

        :param gravity: acceleration of free fall in the base at rest, m/s^2.
        :param timeout: s after which a measured orientation is too old; 0: none is used.
        :param slew: largest change of the vector in m/s^3, so that no torque jumps.
        """
        self.value = np.array(gravity, dtype=float)
        if not np.isfinite(self.value).all():
            raise ValueError(f'gravity {self.value} is not finite')
        self.size = float(np.linalg.norm(self.value))
        self.timeout, self.slew = timeout, slew
        self._target = self.value.copy()
        self.changed = True  # the value is not what it was when this was set to False
        self.constant = timeout <= 0.0  # and at its target
        self._received = -math.inf
        self._time: float | None = None

    def orientation(self, now: float, quaternion: Sequence[float]) -> None:
        """
        Take the orientation of the base in the world, whose z axis points up.

        :param now: control time, s.
        :param quaternion: x, y, z, w.
        """
        if not all(math.isfinite(x) for x in quaternion):
            raise PayloadError(f'orientation {tuple(quaternion)} is not finite')
        self.direction(now, -rotation(quaternion)[2])

    @property
    def age(self) -> float:
        """Return the age of the measured direction at the last update, s; 0 for a constant."""
        if self.timeout <= 0.0:
            return 0.0
        return math.inf if self._time is None else max(self._time - self._received, 0.0)

    def direction(self, now: float, down: Sequence[float] | Array) -> None:
        """
        Take where down is, in base coordinates.

        :param now: control time of the measurement, s.
        :param down: unit vector.
        """
        self._target[:] = np.multiply(down, self.size)
        if math.isinf(self._received):  # the value was not used before
            self.value[:] = self._target
            self.changed = True
        self._received = now

    def configure(self, gravity: Sequence[float], slew: float) -> None:
        """
        Take other parameters; a constant vector goes to the new one at the slew rate.

        :param gravity: as at the start; of a measured direction only its size counts.
        :param slew: m/s^3.
        """
        self.slew = slew
        size = float(np.linalg.norm(gravity))
        if self.timeout <= 0.0:
            self._target[:] = gravity
            self.constant = False
        elif self.size > 0.0:
            self._target *= size / self.size
        self.size = size

    def update(self, now: float) -> bool:
        """
        Advance ``value`` to now.

        :param now: control time, s.
        :returns: whether the source may be used: constant, or young enough.
        """
        before, self._time = self._time, now
        if not self.constant:
            dt = 0.0 if before is None else max(now - before, 0.0)
            step = self._target - self.value
            most = self.slew * dt if dt > 0.0 else 0.0
            length = float(np.linalg.norm(step))
            self.value += step if length <= most else step * (most / length)
            self.constant = self.timeout <= 0.0 and length <= most
            self.changed = True
        return self.timeout <= 0.0 or now - self._received <= self.timeout
