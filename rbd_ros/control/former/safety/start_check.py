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
Is the described robot the real one? Checks before the first torque and during the ramp-in.

Before: positions against the limits of the joints, the rate of the states, and the predicted
gravity torque against the measured effort of the robot at rest. While the gains ramp in: no joint
may run away, neither far nor fast nor with a large acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
import enum
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ['REST_SPEED', 'GravityCheck', 'MotionWatch', 'Verdict', 'gravity_that_fits',
           'position_refusal', 'rate_findings']

#: rad/s or m/s below which a joint counts as at rest
REST_SPEED = 0.02

#: share of the torque limit below which a measured effort counts as none
_NOTHING = 0.05

#: standard error of a median of normal noise, times the root of the number of samples, over the
#: median absolute deviation; and how many of them count as more than noise
_MEDIAN_ERROR, _SURE = 1.858, 3.0

#: rad or m by which a joint may be beyond its limits at the start, and its share of the range
_BEYOND, _BEYOND_SHARE = 0.2, 0.1

#: rate over nominal_rate beyond which the user should correct one of them
_FAR = 1.25

#: Hz that a stream needs above minimum_rate: one state in a window of the meter, 0.5 s
_ROOM = 2.0

Array = npt.NDArray[np.float64]


class Verdict(enum.Enum):
    """Result of comparing prediction and measurement."""

    MATCH = 'match'
    BRAKED = 'braked'  # nothing is measured where gravity acts: something else holds the robot
    UNKNOWN = 'unknown'  # there is no measurement
    MISMATCH = 'mismatch'


class Finding(NamedTuple):
    """Verdict with a sentence for the log."""

    verdict: Verdict
    text: str


class GravityCheck:
    """Compare the measured effort at rest, its median, with the predicted gravity torque."""

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
        self.limit = np.array(limit, dtype=float)
        self.tolerance, self._tolerance = tolerance * self.limit, tolerance
        self.rest_speed = rest_speed
        self.restart()

    def restart(self) -> None:
        """Forget the measurements."""
        self._effort: list[Array] = []
        self._predicted: list[Array] = []

    def add(self, qd: Array, effort: Array, predicted: Array) -> None:
        """
        Take one measurement; ignored while the robot moves.

        :param qd: velocities.
        :param effort: measured effort, N.m.
        :param predicted: torque that the robot needs in this pose, N.m: gravity without what
            the driver hides from its measured effort.
        """
        if np.abs(qd).max() <= self.rest_speed and np.isfinite(effort).all():
            self._effort.append(effort.copy())
            self._predicted.append(predicted.copy())

    @property
    def effort(self) -> Array:
        """Return the median of the measured efforts, N.m: a single wild sample does not count."""
        return np.median(self._effort, axis=0)

    def finding(self) -> Finding:
        """Compare the medians."""
        if not self._effort:
            return Finding(Verdict.UNKNOWN, 'no effort was measured at rest')
        effort, predicted = self.effort, np.median(self._predicted, axis=0)
        share = np.abs(effort / self.limit)
        off = np.abs(effort - predicted) > self.tolerance
        if share.max() <= _NOTHING and (
                np.square(share).sum() < np.square((effort - predicted) / self.limit).sum()):
            most = int(np.abs(predicted / self.limit).argmax())
            return Finding(Verdict.BRAKED, 'the measured effort is about zero although '
                                           f'gravity requires {predicted[most]:.3g} N.m '
                                           f'({self.joints[most]}): the brakes hold the '
                                           'robot, or the effort does not include gravity')
        if not off.any():
            worst = float(np.abs(effort - predicted).max())
            return Finding(Verdict.MATCH, f'measured effort agrees within {worst:.3g} N.m')
        parts = []
        for j in np.flatnonzero(off):
            mirrored = abs(effort[j] + predicted[j]) <= self.tolerance[j]
            hint = ' (sign reversed?)' if mirrored else ''
            parts.append(f'{self.joints[j]}: measured {effort[j]:.4g} N.m, predicted '
                         f'{predicted[j]:.4g}{hint}')
        return Finding(Verdict.MISMATCH, '; '.join(parts))

    def start(self, finding: Finding, gravity: Array) -> Array:
        """
        Return the torque that acts before the first one, as far as it can be known, N.m.

        A robot held by brakes needs g(q) at the moment they open. Otherwise it is
        the measured effort where it differs from g(q) by more than its noise, as far as gravity
        explains it: a light joint jumps easily.

        :param finding: of these measurements.
        :param gravity: predicted torque now, N.m.
        """
        if finding.verdict is not Verdict.MATCH:
            return gravity.copy()
        effort = self.effort
        spread = np.median(np.abs(np.array(self._effort) - effort), axis=0)
        unsure = _SURE * _MEDIAN_ERROR * spread / math.sqrt(len(self._effort))
        known = np.sign(effort - gravity) * np.maximum(np.abs(effort - gravity) - unsure, 0.0)
        most = np.minimum(self.tolerance, self._tolerance * np.abs(gravity))
        return gravity + np.clip(known, -most, most)


def gravity_that_fits(effort: Array, columns: Array, tolerance: Array) -> Array | None:
    """
    Return the gravity vector that explains a measured effort; None if there is none.

    The torque is linear in it: g(q) = G a, with a column of G for each unit vector.

    :param effort: measured, N.m.
    :param columns: G, one row per joint, three columns.
    :param tolerance: largest difference per joint, N.m.
    """
    scaled = columns / tolerance[:, None]
    a, _, rank, _ = np.linalg.lstsq(scaled, effort / tolerance, rcond=1e-3)
    fits = (np.abs(columns @ a - effort) <= tolerance).all()
    return a if rank == 3 and fits and 5.0 <= np.linalg.norm(a) <= 15.0 else None


def position_refusal(joints: Sequence[str], units: Sequence[str], q: Array, lower: Array,
                     upper: Array) -> str:
    """
    Return why these positions cannot be those of the robot; empty if they can.

    :param joints: names.
    :param units: of the positions, 'rad' or 'm'.
    :param q: positions.
    :param lower: limits; infinite: none.
    :param upper: limits; infinite: none.
    """
    span = upper - lower
    margin = np.where(span > 0.0, np.minimum(_BEYOND, _BEYOND_SHARE * span), math.inf)

    def inside(x: Array) -> npt.NDArray[np.bool_]:
        return (lower - margin <= x) & (x <= upper + margin)
    wrong = np.flatnonzero(~inside(q)).tolist()
    if not wrong:
        return ''
    parts = [f'{joints[j]} is at {q[j]:.4g} {units[j]}, its limits are {lower[j]:.4g} and '
             f'{upper[j]:.4g}' for j in wrong]
    turns = np.array([unit == 'rad' for unit in units])
    hint = 'Another robot, another zero position, or an offset of the encoders?'
    if turns[wrong].all() and inside(np.where(turns, np.radians(q), q)).all():
        hint = 'Does the driver publish degrees? joint_states must be in rad'
    elif not turns[wrong].any() and inside(np.where(turns, q, 1e-3 * q)).all():
        hint = 'Does the driver publish mm? joint_states must be in m'
    return '; '.join(parts) + f'. {hint}'


def rate_findings(rate: float, minimum: float, nominal: float) -> tuple[str, str]:
    """
    Return why a rate of states refuses the start, and else what to warn about; empty: nothing.

    :param rate: measured, Hz.
    :param minimum: ``minimum_rate``, Hz; 0: none.
    :param nominal: ``nominal_rate``, Hz.
    """
    if minimum > 0.0 and rate < minimum + _ROOM:
        least = 'below' if rate < minimum else 'no more than'
        return (f'joint states arrive at {rate:.4g} Hz, {least} minimum_rate {minimum:g} Hz '
                f'(nominal_rate {nominal:g} Hz): this would be a fault within a second. Make '
                'the driver publish faster, or set both parameters to its rate'), ''
    if 1.0 / _FAR <= rate / nominal <= _FAR:
        return '', ''
    return '', (f'joint states arrive at {rate:.4g} Hz, but nominal_rate is {nominal:g} Hz: '
                f'set it to {float(f"{rate:.2g}"):g}. Damping and the steps of the limiter '
                'are designed for it'
                + ('; below half of it, the loop may oscillate' if 2.0 * rate < nominal
                   else ''))


class MotionWatch:
    """Watch that no joint runs away while the torque ramps in."""

    def __init__(self, joints: Sequence[str], *, duration: float = 0.5, distance: float = 0.5,
                 velocity: float = math.inf, acceleration: float = 50.0,
                 filter_time: float = 0.01,
                 zones: tuple[Array, Array] | None = None) -> None:
        """
        Start disarmed.

        :param joints: names for the texts.
        :param duration: s from the first torque during which to watch.
        :param distance: rad or m that a joint may move in that time.
        :param velocity: rad/s or m/s that a joint may gain, in two states in a row.
        :param acceleration: rad/s^2 or m/s^2 that a joint may show, filtered.
        :param filter_time: time constant of the filter, s.
        :param zones: positions below and above which a barrier pushes a joint back inside.
        """
        self.joints = tuple(joints)
        self.duration, self.distance, self.acceleration = duration, distance, acceleration
        self.velocity, self.filter_time, self._zones = velocity, filter_time, zones
        n = len(self.joints)
        self._start, self._qd, self._qdd = np.zeros(n), np.zeros(n), np.zeros(n)
        self._first, self._pushed = np.zeros(n), np.zeros(n)
        self._fast = 0  # states in a row in which a joint was too fast
        self._begin: float | None = None
        self._time = 0.0

    @property
    def armed(self) -> bool:
        """Return whether it still watches."""
        return self._begin is not None

    def arm(self, now: float, q: Array, qd: Array) -> None:
        """
        Begin to watch.

        :param now: control time, s.
        :param q: positions.
        :param qd: velocities.
        """
        self._start[:], self._qd[:], self._qdd[:] = q, qd, 0.0
        self._first[:] = np.abs(qd)
        if self._zones is not None:
            self._pushed[:] = (q < self._zones[0]).astype(float) - (q > self._zones[1])
        self._fast = 0
        self._begin = self._time = now

    def check(self, now: float, q: Array, qd: Array, *, rests: bool = True) -> str:
        """
        Check one state.

        :param now: control time, s.
        :param q: positions.
        :param qd: velocities.
        :param rests: whether the law wants no motion; where it does, only accelerations count.
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
        if rests:
            wrong = self._drift(now - self._begin, q, qd)
            if wrong:
                return wrong
        else:
            self._start[:] = q
            self._first[:] = np.abs(qd)
        j = int(np.abs(self._qdd).argmax())
        if abs(self._qdd[j]) > self.acceleration:
            return f'{self.joints[j]} accelerates at {self._qdd[j]:.3g} per s^2 at the start'
        return ''

    def _drift(self, spent: float, q: Array, qd: Array) -> str:
        """Look for a joint that moves by itself and is not pushed by a barrier."""
        way = q - self._start
        moved = np.where(way * self._pushed > 0.0, 0.0, np.abs(way))
        j = int(moved.argmax())
        if moved[j] > self.distance:
            return (f'{self.joints[j]} moved {moved[j]:.3g} within {spent:.3g} s of the first '
                    f'torque')
        gained = np.where(qd * self._pushed > 0.0, 0.0, np.abs(qd) - self._first)
        j = int(gained.argmax())
        self._fast = self._fast + 1 if gained[j] > self.velocity else 0
        if self._fast > 1:
            return (f'{self.joints[j]} moves at {qd[j]:.3g} per s by itself, {spent:.3g} s '
                    'after the first torque')
        return ''
