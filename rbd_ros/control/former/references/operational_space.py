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
References of the operational-space law: pose, twist and wrench of a frame.

A pose far away is approached with bounded velocity and acceleration, along a straight line and
about a fixed axis. Streamed poses are followed with their own velocity, which is estimated over a
time long enough that late messages and bursts do not matter; between them the goal moves on.
A twist moves the reference pose as long as it is repeated; a wrench acts as long as it is
repeated. The reference waits for a robot that cannot follow (a reference governor as in Garone,
Di Cairano and Kolmanovsky 2017, in its simplest form: a bounded lead). Everything is in the base
frame, angular part first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.laws.bumpless import smooth_step
from rbd_ros.control.load.payload import rotation
from rbd_ros.control.former.references.profiles import pose_kernel, rotated, rotation_between
from rbd_ros.control.references.results import GoalError, ResultCode

__all__ = ['TaskLimits', 'TaskReference', 'quaternion_of']

Array = npt.NDArray[np.float64]

#: s within which a pose must be followed by the next one to be a stream
_STREAM_GAP = 0.25

#: s between two poses of a burst, of which the last one counts
_BURST_GAP = 0.0005

#: m of a position, and SI units of a twist or wrench, that nobody means; their squares overflow
_FAR, _LARGE = 1e4, 1e9


class TaskLimits:
    """Largest velocities and accelerations of the reference pose, and its lead."""

    def __init__(self, linear_velocity: float = 0.5, angular_velocity: float = 1.0,
                 linear_acceleration: float = 2.0, angular_acceleration: float = 5.0,
                 linear_lead: float = math.inf, angular_lead: float = math.inf) -> None:
        """
        Set the limits.

        :param linear_velocity: m/s.
        :param angular_velocity: rad/s.
        :param linear_acceleration: m/s^2.
        :param angular_acceleration: rad/s^2.
        :param linear_lead: m by which the reference may be away from the robot.
        :param angular_lead: rad.
        """
        self.velocity = (angular_velocity, linear_velocity)
        self.acceleration = (angular_acceleration, linear_acceleration)
        self.lead = (angular_lead, linear_lead)
        if not all(math.isfinite(x) and x > 0.0 for x in (*self.velocity, *self.acceleration)):
            raise ValueError('limits of the task reference must be positive and finite')


def task_limits(settings) -> TaskLimits:  # type: ignore[no-untyped-def]
    """Return the limits of the reference pose."""
    (va, v), (aa, a), (la, lead) = (settings.both(name)
                                    for name in ('velocity', 'acceleration', 'lead'))
    return TaskLimits(v, va, a, aa, lead, la)


def quaternion_of(R: Array) -> list[float]:
    """
    Return the unit quaternion x, y, z, w of a rotation matrix.

    :param R: axes of the frame as columns.
    """
    diagonal = [float(R[0, 0]), float(R[1, 1]), float(R[2, 2])]
    trace = sum(diagonal)
    k = max(range(4), key=lambda i: [*diagonal, trace][i])  # the largest entry divides best
    if k == 3:
        q = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + trace]
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        q = [0.0, 0.0, 0.0, R[j, i] - R[i, j]]
        q[k] = 1.0 + 2.0 * diagonal[k] - trace
        q[i], q[j] = R[i, k] + R[k, i], R[j, k] + R[k, j]
    size = math.sqrt(sum(float(x) ** 2 for x in q))
    return [float(x) / size for x in q]


class TaskReference:
    """Wanted pose, velocity and acceleration of the frame, and the wrench to exert."""

    def __init__(self, limits: TaskLimits | None = None, *, timeout: float = 0.1,
                 wrench_limit: Sequence[float] = (10.0, 50.0)) -> None:
        """
        Start at the origin; ``start`` must follow.

        :param limits: of the reference pose.
        :param timeout: s after which a twist or wrench that is not repeated ends.
        :param wrench_limit: largest norms of moment, N.m, and force, N.
        """
        self.timeout = timeout
        self.wrench_limit = np.array(wrench_limit, dtype=float)
        self._bound = pose_kernel().bind()
        x, y = self._bound.inputs, self._bound.outputs
        self._orientation, self.p = x['orientation'], x['position']
        self.velocity = x['velocity']  # angular, linear; base axes, at the origin of the frame
        self.acceleration = y['next_acceleration']
        self.R = y['next_R']  # axes of the frame as columns
        self._goal, self._drift, self._twist = x['goal'], x['drift'], x['twist']
        self._moving, self._dt = x['moving'], x['dt']  # a twist, not a pose, is the source
        self._ahead, self._lead = x['ahead'], x['lead']
        self._bounds = x['limits']
        self.limits = limits or TaskLimits()
        self._advance = [(x[name], y['next_' + name])
                         for name in ('orientation', 'position', 'velocity')]
        self.wrench = np.zeros(6)
        self._twist_time = self._wrench_time = -math.inf
        self._stream: deque[tuple[float, list[float]]] = deque(maxlen=50)  # times and poses
        self._horizon = 0.0  # s for which the goal moves on by itself
        self._time: float | None = None
        self._rest: _Rest | None = None
        self.start(np.eye(3), np.zeros(3))

    @property
    def limits(self) -> TaskLimits:
        """Return the limits of the reference pose; new ones act from the next step on."""
        return self._limits

    @limits.setter
    def limits(self, limits: TaskLimits) -> None:
        self._limits = limits
        self._bounds[:] = limits.velocity, limits.acceleration, limits.lead

    def start(self, R: Array, p: Array, velocity: Array | None = None,
              duration: float = 0.0) -> None:
        """
        Begin at the present pose, come to rest, without wrench.

        :param R: axes of the frame as columns, in the base.
        :param p: origin of the frame in the base, m.
        :param velocity: angular, linear; base axes, at the origin of the frame; None: rest.
        :param duration: s in which to stop without a step of the acceleration.
        """
        self.R[:], self.p[:] = R, p
        self._orientation[:] = quaternion_of(self.R)
        self.velocity[:] = self.acceleration[:] = self.wrench[:] = 0.0
        self._lead[:] = 0.0
        self._time = None
        self.hold()
        if velocity is not None and duration > 0.0:
            self.velocity[:] = velocity
            self._rest = _Rest(self._orientation.tolist(), self.p.tolist(),
                               self.velocity.tolist(), duration)

    def hold(self) -> None:
        """Come to rest as fast as the limits allow and stay there."""
        self._rest = None
        brake = [math.hypot(*self.velocity[part].tolist()) / (2.0 * slope) for part, slope
                 in zip((slice(0, 3), slice(3, 6)), self.limits.acceleration)]
        self._goal[:4] = rotated(self._orientation.tolist(),
                                 (self.velocity[:3] * brake[0]).tolist())
        self._goal[4:] = self.p + self.velocity[3:] * brake[1]
        self._stop_drift()
        self._moving[()] = 0.0

    def _stop_drift(self) -> None:
        """Let the goal stay where it is."""
        self._drift[:] = 0.0
        self._stream.clear()

    def set_lead(self, lead: Array) -> None:
        """
        Set how far the reference leads the robot, before the next update.

        :param lead: from the robot to the reference along controlled directions; angular,
            linear; base axes.
        """
        self._lead[:] = lead

    def target_pose(self, now: float, position: Sequence[float],
                    quaternion: Sequence[float]) -> None:
        """
        Take a pose to go to; poses that are streamed are followed with their own velocity.

        :param now: control time, s.
        :param position: in the base, m.
        :param quaternion: x, y, z, w.
        """
        if not all(math.isfinite(x) for x in (*position, *quaternion)):
            raise GoalError(ResultCode.INVALID_GOAL, 'the target pose is not finite')
        if abs(farthest := max(position, key=abs)) > _FAR:
            raise GoalError(ResultCode.INVALID_GOAL,
                            f'the target position {farthest:g} m is beyond {_FAR:g} m')
        norm = math.sqrt(sum(x * x for x in quaternion))
        if not 0.9 < norm < 1.1:
            raise GoalError(ResultCode.INVALID_GOAL, f'the quaternion has length {norm:.4g}')
        goal = [x / norm for x in quaternion] + [float(x) for x in position]
        self._rest = None
        since = now - self._stream[-1][0] if self._stream else 0.0
        if self._moving or not 0.0 <= since <= _STREAM_GAP:  # below 0 the clock has jumped back
            self._stop_drift()
        if self._stream and since < _BURST_GAP:
            self._stream.pop()
        self._stream.append((now, goal))
        self._estimate_drift()
        self._goal[:] = goal
        self._moving[()] = 0.0

    def _estimate_drift(self) -> None:
        """Estimate the velocity of streamed poses over two of their longest gaps; jumps end it."""
        times = [time for time, _ in self._stream]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self._drift[:] = 0.0
        if not gaps:
            return
        now, goal = self._stream[-1]
        longest = max(gaps)
        since, before = next(item for item in self._stream
                             if now - item[0] <= 2.001 * longest)
        span = now - since
        turn = [x / span for x in rotation_between(before[:4], goal[:4])]
        way = [(a - b) / span for a, b in zip(goal[4:], before[4:])]
        if math.hypot(*turn) <= self.limits.velocity[0] and (
                math.hypot(*way) <= self.limits.velocity[1]):
            self._drift[:] = turn + way
            self._horizon = 1.5 * longest
        else:
            self._stream.clear()
            self._stream.append((now, goal))

    def target_twist(self, now: float, twist: Sequence[float]) -> None:
        """
        Take a velocity, to be repeated within the timeout.

        :param now: control time, s.
        :param twist: angular, linear; base axes, at the origin of the frame.
        """
        self._twist[:] = _six_numbers('twist', twist)
        self._rest = None
        self._twist_time = now
        self._moving[()] = 1.0

    def target_wrench(self, now: float, wrench: Sequence[float]) -> None:
        """
        Take a wrench to be exerted, to be repeated within the timeout.

        Moment and force that are too large are shortened; their directions stay.

        :param now: control time, s.
        :param wrench: moment, force; base axes, at the origin of the frame.
        """
        for given, most, taken in zip(_six_numbers('wrench', wrench).reshape(2, 3),
                                      self.wrench_limit.tolist(), self.wrench.reshape(2, 3)):
            size = math.hypot(*given.tolist())
            taken[:] = given if size <= most else given * (most / size)
        self._wrench_time = now

    def update(self, now: float) -> None:
        """
        Advance to now.

        :param now: control time, s.
        """
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        if self.wrench.any() and now - self._wrench_time > self.timeout:
            self.wrench[:] = 0.0
        if self._moving and now - self._twist_time > self.timeout:
            self._twist[:] = 0.0
            if np.abs(self.velocity).max() < 1e-9:
                self.velocity[:] = 0.0
                self.hold()
        ahead = now - self._stream[-1][0] if self._stream else 0.0
        if ahead > self._horizon:
            ahead = 0.0
            self._drift[:] = 0.0
        if dt <= 0.0:
            return
        if self._rest is not None:
            self._come_to_rest(self._rest, dt)
            return
        self._ahead[()], self._dt[()] = ahead, dt
        self._bound()
        for target, value in self._advance:
            target[:] = value
        if self._moving:
            self._goal[:4], self._goal[4:] = self._orientation, self.p

    def _come_to_rest(self, rest: _Rest, dt: float) -> None:
        """Continue a motion whose velocity falls smoothly to zero."""
        since = rest.since + dt
        s = min(since / rest.duration, 1.0)
        # The integral of the smooth step, its value and its slope.
        gone = rest.duration * (s - s**4 * (2.5 + s * (s - 3.0)))
        share, slope = 1.0 - smooth_step(s), -30.0 * (s * (1.0 - s))**2 / rest.duration
        self._orientation[:] = rotated(rest.orientation, [gone * w for w in rest.velocity[:3]])
        self.p[:] = [x + gone * v for x, v in zip(rest.position, rest.velocity[3:])]
        self.velocity[:] = [share * v for v in rest.velocity]
        self.acceleration[:] = [slope * v for v in rest.velocity]
        self.R[:] = rotation(self._orientation.tolist())
        self._rest = rest._replace(since=since)
        if s == 1.0:
            self.hold()


class _Rest(NamedTuple):
    """A motion that comes to rest."""

    orientation: list[float]
    position: list[float]
    velocity: list[float]
    duration: float
    since: float = 0.0


def _six_numbers(name: str, values: Sequence[float]) -> Array:
    array = np.array(values, dtype=float)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise GoalError(ResultCode.INVALID_GOAL, f'the target {name} must be six finite numbers')
    if (largest := float(np.abs(array).max())) > _LARGE:
        raise GoalError(ResultCode.INVALID_GOAL,
                        f'the target {name} has {largest:g}, which is beyond {_LARGE:g}')
    return array
