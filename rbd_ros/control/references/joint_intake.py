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
Messages for the joint reference, checked and made into events of the step.

It is called right before the step that takes the event: a trajectory begins at the reference of
that moment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.events import Event, Kind
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.joint_reference import JointReference
from rbd_ros.control.references.results import GoalError, ResultCode
from rbd_ros.control.references.trajectory import Knots, Trajectory, unwrap

__all__ = ['JointIntake']

Array = npt.NDArray[np.float64]

#: rad/s and rad/s^2 (m/s, m/s^2) that no reference may ask for, whatever the joint can do
_MAX_SPEED, _MAX_ACCELERATION = 1e3, 1e5

#: planners end a little above the velocity limits that they were given
_SLACK = 1.01

#: a single point that is due within this time, s, is one of a stream
STREAM_HORIZON = 0.1

#: how late the next point of a stream may come before the reference stops, as a share of the time
#: that the point lies ahead
LATENESS = 0.5


class JointIntake:
    """Set-points and trajectories of one robot."""

    def __init__(self, reference: JointReference, feeder: Feeder, *, lower: Sequence[float],
                 upper: Sequence[float], continuous: Sequence[bool], joints: Sequence[str],
                 speed: Sequence[float], linear: bool = False) -> None:
        """
        Take the limits of the robot.

        :param reference: of the state of the step; only read.
        :param feeder: of its ring.
        :param lower: lower joint limits.
        :param upper: upper joint limits.
        :param continuous: which joints have no limits and take the short way.
        :param joints: names for the texts.
        :param speed: velocities that no reference may ask for; new ones may be put into it.
        :param linear: straight lines between points without velocities.
        """
        self._reference, self._feeder = reference, feeder
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        self.continuous = np.array(continuous, dtype=bool)
        self.speed = np.array(speed, dtype=float)
        self.joints, self.linear = tuple(joints), linear

    def set_point(self, u: Event, now: float, q: Array, qd: Array | None = None,
                  qdd: Array | None = None, within: float = 0.0) -> None:
        """
        Make a streamed set-point.

        :param u: receives it.
        :param now: control time, s.
        :param q: position.
        :param qd: velocity; None: zero.
        :param qdd: acceleration; None: zero.
        :param within: s of motion at an even speed, before it brakes; 0: as fast as the limits
            allow.
        :raises GoalError: if it is refused.
        """
        rates = [None if x is None else np.asarray(x, dtype=float)[None] for x in (qd, qdd)]
        self.check(np.asarray(q, dtype=float)[None], *rates)
        u.kind, u.now = Kind.SET_POINT, now
        u.joints[0] = q
        u.joints[1] = 0.0 if qd is None else qd
        u.joints[2] = 0.0 if qdd is None else qdd
        u.numbers[0] = within

    def take(self, u: Event, now: float, knots: Knots, start_time: float) -> None:
        """
        Take the points of a message that is no goal.

        A single point that is due at once or soon is one of a stream, as servoing nodes send them:
        a trajectory would come to rest at each of them, twenty times per second or more.

        :param u: receives what it is.
        :param now: control time, s.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0.
        :raises GoalError: if it is refused.
        """
        ahead = float(knots.times[0])
        left = start_time + ahead - now
        if len(knots.times) > 1 or ahead > STREAM_HORIZON or left > STREAM_HORIZON:
            self.follow(u, now, knots, start_time)
            return
        if left < 0.0:
            raise GoalError(ResultCode.OLD_HEADER_TIMESTAMP,
                            f'the trajectory ended {-left:.4g} s ago')
        if ahead == 0.0:
            self.set_point(u, now, knots.q[0], None if knots.qd is None else knots.qd[0],
                           None if knots.qdd is None else knots.qdd[0])
            return
        self.check(knots.q, knots.qd, knots.qdd)
        # The point is one to pass at a speed that lasts until the next one comes, somewhat late.
        self.set_point(u, now, knots.q[0], within=left + LATENESS * ahead)

    def follow(self, u: Event, now: float, knots: Knots, start_time: float, goal: int = 0,
               tolerances: Tolerances | None = None) -> None:
        """
        Begin a trajectory at the present reference.

        :param u: receives its beginning.
        :param now: control time, s.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0.
        :param goal: its number, if it is one; 0: none.
        :param tolerances: of the goal.
        :raises GoalError: if it is refused.
        """
        self.check(knots.q, knots.qd, knots.qdd)
        q, qd, qdd = np.array(self._reference.profile.state)
        moved = Knots(knots.times, unwrap(knots.q, q, self.continuous), knots.qd, knots.qdd)
        trajectory = Trajectory(moved, start_time, now, (q, qd, qdd), linear=self.linear)
        u.numbers[0] = self._feeder.begin(trajectory, goal, tolerances)
        u.numbers[1] = goal
        u.kind, u.now = Kind.PIECES, now

    def check(self, q: Array, qd: Array | None = None, qdd: Array | None = None) -> None:
        """
        Refuse points that are not finite, outside the joint limits, or too fast.

        :param q: positions, (k, n).
        :param qd: velocities, if given.
        :param qdd: accelerations, if given.
        :raises GoalError: naming joint and limits.
        """
        if not np.isfinite(q).all():
            raise GoalError(ResultCode.INVALID_GOAL, 'positions are not all finite')
        slack = 1e-6
        outside = ((q < self.lower - slack) | (q > self.upper + slack)) & ~self.continuous
        if outside.any():
            i, j = np.argwhere(outside)[0]
            raise GoalError(ResultCode.INVALID_GOAL, f'position {q[i, j]:.6g} of joint '
                            f'{self.joints[j]} is outside [{self.lower[j]:.6g}, '
                            f'{self.upper[j]:.6g}]')
        self._bound('velocity', qd, np.minimum(_SLACK * self.speed, _MAX_SPEED))
        self._bound('acceleration', qdd, np.full(len(self.lower), _MAX_ACCELERATION))

    def _bound(self, what: str, values: Array | None, most: Array) -> None:
        """Refuse velocities or accelerations that no joint has."""
        if values is None:
            return
        beyond = ~(np.abs(values) <= most)
        if beyond.any():
            i, j = np.argwhere(beyond)[0]
            raise GoalError(ResultCode.INVALID_GOAL, f'{what} {values[i, j]:.6g} of joint '
                            f'{self.joints[j]} in point {i} is beyond {most[j]:.6g}')
