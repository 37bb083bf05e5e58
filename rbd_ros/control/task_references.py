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
about a fixed axis. A twist moves the reference pose as long as it is repeated; a wrench acts
as long as it is repeated. Everything is in the base frame, angular part first.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.payload import rotation
from rbd_ros.control.results import GoalError, ResultCode

__all__ = ['TaskLimits', 'TaskReference', 'rotation_vector', 'turned']

Array = npt.NDArray[np.float64]


class TaskLimits:
    """Largest velocities and accelerations of the reference pose."""

    def __init__(self, linear_velocity: float = 0.5, angular_velocity: float = 1.0,
                 linear_acceleration: float = 2.0, angular_acceleration: float = 5.0) -> None:
        """
        Set the limits.

        :param linear_velocity: m/s.
        :param angular_velocity: rad/s.
        :param linear_acceleration: m/s^2.
        :param angular_acceleration: rad/s^2.
        """
        self.velocity = (angular_velocity, linear_velocity)
        self.acceleration = (angular_acceleration, linear_acceleration)
        if not all(math.isfinite(x) and x > 0.0 for x in (*self.velocity, *self.acceleration)):
            raise ValueError('limits of the task reference must be positive and finite')


def rotation_vector(R: Array) -> Array:
    """
    Return axis times angle of a rotation matrix.

    :param R: rotation matrix.
    """
    axis = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > 1e-6:
        return axis * (angle / sine)
    if cosine > 0.0:
        return axis
    # Half a turn: the axis is in the symmetric part.
    k = int(np.argmax(np.diag(R)))
    column = 0.5 * (R[:, k] + np.eye(3)[k])
    return column / np.linalg.norm(column) * angle


def turned(R: Array, vector: Array) -> Array:
    """
    Return a rotation matrix turned about an axis given in the base.

    :param R: rotation matrix.
    :param vector: axis times angle.
    """
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return R
    x, y, z = vector / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn = np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K)
    U, _, Vt = np.linalg.svd(turn @ R)  # stays a rotation over millions of steps
    return U @ Vt


class TaskReference:
    """Pose, velocity and acceleration that the frame shall have, and the wrench it shall give."""

    def __init__(self, limits: TaskLimits | None = None, *, timeout: float = 0.1,
                 wrench_limit: Sequence[float] = (10.0, 10.0, 10.0, 50.0, 50.0, 50.0)) -> None:
        """
        Start at the origin; ``start`` must follow.

        :param limits: of the reference pose.
        :param timeout: s after which a twist or wrench that is not repeated ends.
        :param wrench_limit: largest moments, N.m, and forces, N.
        """
        self.limits, self.timeout = limits or TaskLimits(), timeout
        self.wrench_limit = np.array(wrench_limit, dtype=float)
        self.R, self.p = np.eye(3), np.zeros(3)
        self.velocity = np.zeros(6)  # angular, linear; base axes, at the origin of the frame
        self.acceleration = np.zeros(6)
        self.wrench = np.zeros(6)
        self.twist_timed_out = self.wrench_timed_out = False
        self._goal_R, self._goal_p = np.eye(3), np.zeros(3)
        self._twist = np.zeros(6)
        self._drift = np.zeros(6)  # velocity of a streamed pose
        self._drift_until = self._pose_time = -math.inf
        self._twist_time = self._wrench_time = -math.inf
        self._moving = False  # a twist, not a pose, is the source
        self._time: float | None = None

    def start(self, R: Array, p: Array) -> None:
        """
        Begin at the present pose, at rest, without wrench.

        :param R: axes of the frame as columns, in the base.
        :param p: origin of the frame in the base, m.
        """
        self.R, self.p = R.copy(), np.array(p, dtype=float)
        self.velocity[:] = self.acceleration[:] = self.wrench[:] = 0.0
        self._time = None
        self.hold()

    def hold(self) -> None:
        """Stop here."""
        self._goal_R, self._goal_p = self.R.copy(), self.p.copy()
        self._drift[:] = 0.0
        self._pose_time = -math.inf
        self._moving = False

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
        norm = math.sqrt(sum(x * x for x in quaternion))
        if not 0.9 < norm < 1.1:
            raise GoalError(ResultCode.INVALID_GOAL, f'the quaternion has length {norm:.4g}')
        R, p = rotation(quaternion), np.array(position, dtype=float)
        self._estimate_drift(now, R, p)
        self._goal_R, self._goal_p = R, p
        self._pose_time = now
        self._moving = False

    def _estimate_drift(self, now: float, R: Array, p: Array) -> None:
        """Estimate the velocity of streamed poses; a jump has none."""
        since = now - self._pose_time
        self._drift[:] = 0.0
        if not 0.0 < since <= self.timeout or self._moving:
            return
        turn, way = rotation_vector(R @ self._goal_R.T) / since, (p - self._goal_p) / since
        if (np.linalg.norm(turn) <= self.limits.velocity[0]
                and np.linalg.norm(way) <= self.limits.velocity[1]):
            self._drift[:3], self._drift[3:] = turn, way
            self._drift_until = now + 1.5 * since

    def target_twist(self, now: float, twist: Sequence[float]) -> None:
        """
        Take a velocity, to be repeated within the timeout.

        :param now: control time, s.
        :param twist: angular, linear; base axes, at the origin of the frame.
        """
        self._twist[:] = _six('twist', twist)
        self._twist_time = now
        self._moving, self.twist_timed_out = True, False

    def target_wrench(self, now: float, wrench: Sequence[float]) -> None:
        """
        Take a wrench to be exerted, to be repeated within the timeout.

        :param now: control time, s.
        :param wrench: moment, force; base axes, at the origin of the frame.
        """
        np.clip(_six('wrench', wrench), -self.wrench_limit, self.wrench_limit, out=self.wrench)
        self._wrench_time = now
        self.wrench_timed_out = False

    def update(self, now: float) -> None:
        """
        Advance to now.

        :param now: control time, s.
        """
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        if self.wrench.any() and now - self._wrench_time > self.timeout:
            self.wrench[:] = 0.0
            self.wrench_timed_out = True
        if self._moving and now - self._twist_time > self.timeout:
            self._twist[:] = 0.0
            self.twist_timed_out = True
            if not self.velocity.any():
                self.hold()
        if now > self._drift_until:
            self._drift[:] = 0.0
        if dt <= 0.0:
            return
        turn = rotation_vector(self._goal_R @ self.R.T)
        for part, way in ((slice(0, 3), turn), (slice(3, 6), self._goal_p - self.p)):
            wanted = self._twist[part] if self._moving else None
            self._step(part, way, wanted, dt)
        self.R = turned(self.R, self.velocity[:3] * dt)
        self.p = self.p + self.velocity[3:] * dt
        if self._moving:
            self._goal_R, self._goal_p = self.R, self.p

    def _step(self, part: slice, way: Array, twist: Array | None, dt: float) -> None:
        """Change one half of the velocity within its limits."""
        kind = 0 if part.start == 0 else 1
        most, slope = self.limits.velocity[kind], self.limits.acceleration[kind]
        if twist is None:
            length = float(np.linalg.norm(way))
            speed = min(slope * dt * (math.sqrt(0.25 + 2.0 * length / (slope * dt * dt)) - 0.5),
                        most, length / dt)  # stops in whole steps
            drift, direct = self._drift[part], way / dt
            wanted = drift + way * (speed / length) if length > 0.0 else drift
            reach = slope * dt
            if np.linalg.norm(direct - drift) <= reach >= np.linalg.norm(
                    direct - self.velocity[part]):
                wanted = direct  # a target within reach is met exactly
            size = float(np.linalg.norm(wanted))
            if size > most:
                wanted = wanted * (most / size)
        else:
            size = float(np.linalg.norm(twist))
            wanted = twist if size <= most else twist * (most / size)
        change = wanted - self.velocity[part]
        size = float(np.linalg.norm(change))
        if size > slope * dt:
            change = change * (slope * dt / size)
        self.velocity[part] += change
        self.acceleration[part] = change / dt


def _six(name: str, values: Sequence[float]) -> Array:
    array = np.array(values, dtype=float)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise GoalError(ResultCode.INVALID_GOAL, f'the target {name} must be six finite numbers')
    return array
