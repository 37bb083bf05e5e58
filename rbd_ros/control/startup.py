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
Is the described robot the real one? Checks at the start, before and while torque comes.

Before: the predicted gravity torque against the measured effort of the robot at rest. While
the gains ramp in: no joint may run away, neither far nor with a large acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
import enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ['REST_SPEED', 'GravityCheck', 'MotionWatch', 'Verdict']

#: rad/s or m/s below which a joint counts as at rest
REST_SPEED = 0.02

Array = npt.NDArray[np.float64]


class Verdict(enum.Enum):
    """Result of comparing prediction and measurement."""

    MATCH = 'match'
    UNKNOWN = 'unknown'  # the measurement tells nothing
    MISMATCH = 'mismatch'


class Finding(NamedTuple):
    """Verdict with a sentence for the log."""

    verdict: Verdict
    text: str


class GravityCheck:
    """Average the measured effort at rest and compare it with the predicted gravity torque."""

    def __init__(self, joints: Sequence[str], limit: Sequence[float], *,
                 tolerance: float = 0.15, rest_speed: float = REST_SPEED) -> None:
        """
        Start with nothing measured.

        :param joints: names for the texts.
        :param limit: torque limits, N.m, to which the tolerance relates.
        :param tolerance: largest difference as a share of the limit.
        :param rest_speed: rad/s below which a joint counts as at rest.
        """
        self.joints = tuple(joints)
        self.tolerance = tolerance * np.array(limit, dtype=float)
        self.rest_speed = rest_speed
        self.restart()

    def restart(self) -> None:
        """Forget the measurements."""
        self._sum = np.zeros(len(self.joints))
        self._predicted = np.zeros(len(self.joints))
        self._count = 0

    def add(self, qd: Array, effort: Array, predicted: Array) -> None:
        """
        Take one measurement; ignored while the robot moves.

        :param qd: velocities.
        :param effort: measured effort, N.m.
        :param predicted: torque that the robot needs in this pose, N.m: gravity without what
            the driver hides from its measured effort.
        """
        if np.abs(qd).max() <= self.rest_speed and np.isfinite(effort).all():
            self._sum += effort
            self._predicted += predicted
            self._count += 1

    def finding(self) -> Finding:
        """Compare the averages."""
        if self._count == 0:
            return Finding(Verdict.UNKNOWN, 'no effort was measured at rest')
        effort, predicted = self._sum / self._count, self._predicted / self._count
        off = np.abs(effort - predicted) > self.tolerance
        if not off.any():
            worst = float(np.abs(effort - predicted).max())
            return Finding(Verdict.MATCH, f'measured effort agrees within {worst:.3g} N.m')
        if not effort.any():
            return Finding(Verdict.UNKNOWN, 'the measured effort is zero on every joint: brakes, '
                           'or an effort that does not contain gravity')
        parts = []
        for j in np.flatnonzero(off):
            mirrored = abs(effort[j] + predicted[j]) <= self.tolerance[j]
            hint = ' (sign reversed?)' if mirrored else ''
            parts.append(f'{self.joints[j]}: measured {effort[j]:.4g} N.m, predicted '
                         f'{predicted[j]:.4g}{hint}')
        return Finding(Verdict.MISMATCH, '; '.join(parts) + '. Wrong URDF, payload, gravity '
                       'vector, or a driver that adds gravity itself?')


class MotionWatch:
    """Watch that no joint runs away while torque comes in."""

    def __init__(self, joints: Sequence[str], *, duration: float = 0.5, distance: float = 0.5,
                 acceleration: float = 50.0, filter_time: float = 0.01) -> None:
        """
        Start disarmed.

        :param joints: names for the texts.
        :param duration: s from the first torque during which to watch.
        :param distance: rad or m that a joint may move in that time.
        :param acceleration: rad/s^2 or m/s^2 that a joint may show, filtered.
        :param filter_time: time constant of the filter, s.
        """
        self.joints = tuple(joints)
        self.duration, self.distance, self.acceleration = duration, distance, acceleration
        self.filter_time = filter_time
        n = len(self.joints)
        self._start, self._qd, self._qdd = np.zeros(n), np.zeros(n), np.zeros(n)
        self._begin: float | None = None
        self._time = 0.0

    def arm(self, now: float, q: Array, qd: Array) -> None:
        """
        Begin to watch.

        :param now: control time, s.
        :param q: positions.
        :param qd: velocities.
        """
        self._start[:], self._qd[:], self._qdd[:] = q, qd, 0.0
        self._begin = self._time = now

    def check(self, now: float, q: Array, qd: Array) -> str:
        """
        Look at one state.

        :param now: control time, s.
        :param q: positions.
        :param qd: velocities.
        :returns: empty, or what is wrong.
        """
        if self._begin is None or now - self._begin > self.duration:
            self._begin = None
            return ''
        dt = now - self._time
        if dt > 0.0:
            self._qdd += (dt / (dt + self.filter_time)) * ((qd - self._qd) / dt - self._qdd)
            self._qd[:] = qd
            self._time = now
        moved = np.abs(q - self._start)
        j = int(moved.argmax())
        if moved[j] > self.distance:
            return (f'{self.joints[j]} moved {moved[j]:.3g} within {now - self._begin:.3g} s of '
                    f'the first torque')
        j = int(np.abs(self._qdd).argmax())
        if abs(self._qdd[j]) > self.acceleration:
            return f'{self.joints[j]} accelerates with {self._qdd[j]:.3g} per s^2 at the start'
        return ''
