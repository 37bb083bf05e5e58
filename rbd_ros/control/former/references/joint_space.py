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
References of the joint-space laws: hold, streamed set-points, trajectories.

Whatever the source, it only sets a target: the reference itself moves through a limiter.
"""

from __future__ import annotations

from collections.abc import Sequence
import enum
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.references.goal_keeper import Goal, GoalKeeper
from rbd_ros.control.former.references.limiter import ReferenceLimiter
from rbd_ros.control.former.references.profiles import polynomial_kernel
from rbd_ros.control.references.results import GoalError, ResultCode
from rbd_ros.control.former.references.sampled import Trajectory
from rbd_ros.control.references.trajectory import Knots, unwrap

__all__ = ['JointReference', 'Source']

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

#: share of a velocity limit at which a joint of a stream that hardly moves goes to its point
_CREEP = 0.001


class Source(enum.Enum):
    """Where the reference comes from."""

    HOLD = 'hold'
    STREAM = 'stream'
    TRAJECTORY = 'trajectory'


class JointReference:
    """The reference of joint-space laws and the goals that come with it."""

    def __init__(self, velocity: Sequence[float], acceleration: Sequence[float], *,
                 lower: Sequence[float], upper: Sequence[float],
                 continuous: Sequence[bool], timeout: float = 0.5,
                 linear: bool = False, joints: Sequence[str] = (),
                 speed: Sequence[float] = ()) -> None:
        """
        Start holding zero; ``start`` must follow.

        :param velocity: largest reference velocity per joint.
        :param acceleration: largest reference acceleration per joint.
        :param lower: lower joint limits.
        :param upper: upper joint limits.
        :param continuous: which joints have no limits and take the short way.
        :param timeout: s after which a stream of set-points that ceased is held.
        :param linear: straight lines between points without velocities.
        :param joints: names for the texts; none: their numbers.
        :param speed: velocities that no reference may ask for; none: any finite one.
        """
        endless = np.array(continuous, dtype=bool)
        self.limiter = ReferenceLimiter(
            velocity, acceleration, np.where(endless, -np.inf, lower).tolist(),
            np.where(endless, np.inf, upper).tolist())
        polynomial_kernel(len(velocity))  # compiled before it is needed in the loop
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        self.speed = np.array(speed if len(speed) else np.full(len(self.lower), np.inf))
        self.continuous = endless
        self.timeout, self.linear = timeout, linear
        self.joints = tuple(joints) or tuple(str(j) for j in range(len(self.lower)))
        self.source = Source.HOLD
        self.goals = GoalKeeper()
        self.timed_out = False
        self.resting = False  # it holds, has arrived, and need not be computed
        n = len(self.lower)
        self.target = self.limiter.target
        self._error = np.zeros((3, n))
        self._any_continuous = bool(self.continuous.any())
        self._trajectory: Trajectory | None = None
        self._received = -math.inf
        self._time: float | None = None

    @property
    def state(self) -> Array:
        """Return reference position, velocity and acceleration now, (3, n)."""
        return self.limiter.state

    def start(self, q: Array, qd: Array | None = None) -> None:
        """
        Begin at the present state and hold there.

        :param q: measured positions.
        :param qd: measured velocities, from which the reference comes to rest; None: rest.
        """
        self.state[0] = q
        self.state[1] = 0.0 if qd is None else np.clip(qd, -self.limiter.velocity,
                                                       self.limiter.velocity)
        self.state[2] = 0.0
        self._time = None
        self.goals.abort('the controller was restarted')
        self.hold()

    def rest(self, now: float, duration: float) -> None:
        """
        Come to rest from the present reference without a step of the acceleration.

        :param now: control time, s.
        :param duration: s in which to stop; less where a joint limit is near, more where the
            acceleration would exceed its limit.
        """
        q, qd, qdd = self.state.copy()
        speed = np.abs(qd)
        room = np.where(self.continuous, np.inf,
                        np.where(qd < 0.0, q - self.lower, self.upper - q))
        fits = float(np.min(2.0 * np.maximum(room, 0.0) / np.maximum(speed, 1e-9)))
        least = float(np.max(2.0 * speed / self.limiter.acceleration))
        duration = max(min(duration, fits), least, 1e-3)
        end = self._clipped(q, q + qd * (duration / 2.0) + qdd * (duration * duration / 12.0))
        still = np.zeros((1, len(q)))
        self.goals.abort('the reference is held')
        self._trajectory = Trajectory(Knots(np.array([duration]), end[None], still, still), now,
                                      now, (q, qd, qdd))
        self.limiter.pace(None)
        self.source, self.resting = Source.HOLD, False

    def hold(self) -> None:
        """Come to rest as fast as the limits allow and stay there."""
        q, qd, _ = self.state
        self.target[0] = self._clipped(q, q + qd * np.abs(qd) / (2.0 * self.limiter.acceleration))
        self.target[1:] = 0.0
        self._trajectory = None
        self.limiter.pace(None)
        self.source, self.resting = Source.HOLD, False

    def _clipped(self, q: Array, end: Array) -> Array:
        """Return where the reference may come to rest: not beyond a limit if it was inside."""
        return np.where(self.continuous, end, np.clip(
            end, np.minimum(q, self.lower), np.maximum(q, self.upper)))

    def give_way(self, q: Array, most: Array) -> Array:
        """
        Let a held reference follow a robot that was pushed too far away from it.

        :param q: measured positions.
        :param most: distance per joint up to which the reference stays where it is.
        :returns: by how much it moved, per joint.
        """
        error = self.distance(self.state[0], q)
        moved = np.clip(error, -most, most) - error
        if moved.any():
            self.state[0] += moved
            self.state[1:] = 0.0
            self.hold()
        return moved

    def set_point(self, now: float, q: Array, qd: Array | None = None,
                  qdd: Array | None = None, within: float = 0.0) -> None:
        """
        Take a streamed set-point, held until the next one or the timeout.

        :param now: control time, s.
        :param q: position.
        :param qd: velocity; None: zero.
        :param qdd: acceleration; None: zero.
        :param within: s of motion at an even speed, before it brakes; 0: as fast as the limits
            allow.
        """
        rates = [None if x is None else np.asarray(x, dtype=float)[None] for x in (qd, qdd)]
        self.check(np.asarray(q, dtype=float)[None], *rates)
        self.goals.abort('pre-empted by a set-point')
        self.target[0] = self._nearest_turn(q)
        self.target[1] = 0.0 if qd is None else qd
        self.target[2] = 0.0 if qdd is None else qdd
        self._trajectory = None
        self.limiter.pace(self._even_speed(within) if within > 0.0 else None)
        # A point that was due at some time stays the target; a set-point is good for a moment.
        self._received = math.inf if within > 0.0 else now
        self.source, self.timed_out, self.resting = Source.STREAM, False, False

    def take(self, now: float, knots: Knots, start_time: float) -> None:
        """
        Take the points of a message that is no goal.

        A single point that is due at once or soon is one of a stream, as servoing nodes send them:
        a trajectory would come to rest at each of them, twenty times per second or more.

        :param now: control time, s.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0.
        """
        ahead = float(knots.times[0])
        left = start_time + ahead - now
        if len(knots.times) > 1 or ahead > STREAM_HORIZON or left > STREAM_HORIZON:
            self.follow(now, knots, start_time)
            return
        if left < 0.0:
            raise GoalError(ResultCode.OLD_HEADER_TIMESTAMP,
                            f'the trajectory ended {-left:.4g} s ago')
        if ahead == 0.0:
            self.set_point(now, knots.q[0], None if knots.qd is None else knots.qd[0],
                           None if knots.qdd is None else knots.qdd[0])
            return
        self.check(knots.q, knots.qd, knots.qdd)
        # The point is one to pass at a speed that lasts until the next one comes, somewhat late.
        self.set_point(now, knots.q[0], within=left + LATENESS * ahead)

    def follow(self, now: float, knots: Knots, start_time: float) -> Trajectory:
        """
        Follow a trajectory from the present reference on.

        :param now: control time, s.
        :param knots: its points.
        :param start_time: control time of its time_from_start 0.
        """
        self.check(knots.q, knots.qd, knots.qdd)
        moved = Knots(knots.times, unwrap(knots.q, self.state[0], self.continuous),
                      knots.qd, knots.qdd)
        q, qd, qdd = self.state.copy()
        trajectory = Trajectory(moved, start_time, now, (q, qd, qdd), linear=self.linear)
        self.goals.abort('pre-empted by a new trajectory')
        self._trajectory = trajectory
        self.limiter.pace(None)
        self.source, self.timed_out, self.resting = Source.TRAJECTORY, False, False
        return trajectory

    def pursue(self, goal: Goal) -> None:
        """
        Make the trajectory that was just accepted by ``follow`` a goal.

        :param goal: goal with that trajectory.
        """
        self.goals.accept(goal)

    def cancel(self, key: object) -> bool:
        """
        Cancel a goal and hold.

        :param key: which goal.
        :returns: whether it was active.
        """
        if not self.goals.cancel(key):
            return False
        self.hold()
        return True

    def update(self, now: float) -> Array:
        """
        Advance to now.

        :param now: control time, s.
        :returns: reference position, velocity and acceleration, (3, n).
        """
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        if self.resting:
            return self.state
        held = self.source is Source.HOLD
        if self._trajectory is not None:
            held = not self._trajectory.sample(now, self.target)
        elif self.source is Source.STREAM and now - self._received > self.timeout:
            self.timed_out = True
            self.hold()
        self.limiter.step(dt)
        self.resting = held and self.limiter.arrived
        return self.state

    def check_goal(self, now: float, q: Array, qd: Array) -> None:
        """
        Check the tolerances of the active goal; the reference holds if the goal fails.

        :param now: control time, s.
        :param q: measured positions.
        :param qd: measured velocities.
        """
        if self.goals.active is None:
            return
        error = self._error
        error[0] = self.distance(self.target[0], q)
        np.subtract(self.target[1], qd, out=error[1])
        outcome = self.goals.check(now, error)
        if outcome is not None and outcome.code is not ResultCode.SUCCESSFUL:
            self.hold()

    def distance(self, target: Array, q: Array) -> Array:
        """
        Return the difference from measured positions to a target, the short way round.

        :param target: positions.
        :param q: measured positions.
        """
        way = target - q
        if self._any_continuous:
            turn = way[self.continuous]
            way[self.continuous] = np.remainder(turn + math.pi, math.tau) - math.pi
        return way

    def _even_speed(self, within: float) -> Array:
        """Return the speeds of which v t + v^2/2a is the way: braking begins after that time."""
        (q, qd, _), a = self.state, self.limiter.acceleration
        stop = q + qd * np.abs(qd) / (2.0 * a)  # a reference that moves away comes back from there
        way = np.maximum(np.abs(self.target[0] - q), np.abs(self.target[0] - stop))
        speed = a * (np.sqrt(within * within + 2.0 * way / a) - within)
        return np.maximum(speed, _CREEP * self.limiter.velocity)

    def _nearest_turn(self, q: Array) -> Array:
        """Shift continuous joints to the turn of the present reference."""
        return unwrap(np.asarray(q, dtype=float)[None], self.state[0], self.continuous)[0]

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
