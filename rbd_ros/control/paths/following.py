# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A curve of poses as a motion of the joints, found by continuation, and checked on the way.

From the present position the joints follow the curve from one instant to the next. Newton's
method brings the tip to its pose. The velocities are the smallest ones, each joint measured by its
limit, that move the tip as the curve wants: with W = diag(1/limit^2),

    qd = W^-1 J^T m,  where J W^-1 J^T m = v

(weighted least norm: Whitney, "The mathematics of coordinated control of prosthetic arms and
manipulators", 1972). Their derivative, with J qdd = a - J' qd, is

    qdd = W^-1 J'^T m + W^-1 J^T n,  where J W^-1 J^T n = a - J' qd - J W^-1 J'^T m

so that a joint that rests with the tip rests at both ends of a path. Polynomials of fifth degree
with these values join the instants: what a joint trajectory with accelerations is made of.

What is checked are these polynomials, by their extrema. Torques and the condition number are none;
the polynomials of fourth degree through five of their values stand for them. Joints leave the path
by s^3 (h - s)^3 times a slow function, of which the same five instants see nine tenths and more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.paths.curve import Curve, logarithm, PosePoint
from rbd_ros.control.paths.limits import first_outside, Instant, PathFault, PathLimits
from rbd_ros.control.paths.postures import Posture, Postures
from rbd_ros.control.references.trajectory import Knots

__all__ = ['PathFollowing', 'STEP']

Array = npt.NDArray[np.float64]

#: s between two instants at most
STEP = 0.04

#: how often an interval is halved: to find the first point that fails, or to follow more closely
_HALVES = 4

#: steps of Newton's method, and m or rad of error that it leaves at most
_ITERATIONS, _CLOSE = 12, 1e-9

#: rad or m that one step may move a joint: farther away is another posture
_LEAP = 0.5

#: rad or m from which on the way of free joints is improved
_DRIFT = 1e-6

#: m and rad that joints may leave a path between two instants
_ASTRAY = np.array([1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4])

#: rad or m that a joint moves to find how its Jacobian changes
_NUDGE = 1e-5

#: shares of an interval at which the robot is asked, and what makes coefficients of the answers
_NODES = np.linspace(0.0, 1.0, 5)
_FIT = np.linalg.inv(np.vander(_NODES, increasing=True))


class _Motion(NamedTuple):
    """The joints at one instant."""

    q: Array
    qd: Array
    qdd: Array


class PathFollowing:
    """
    The joints along one curve; the work is done in parts.

    :param postures: of the robot.
    :param limits: what its joints may do.
    :param axes: directions of the tip that follow the curve, out of ``AXES``.
    :param curve: begins where the tip is.
    :param q: present position of the controlled joints, at rest.
    :param number: of the way-point at which the curve begins; the others count from there.
    """

    def __init__(self, postures: Postures, limits: PathLimits, axes: Sequence[str], curve: Curve,
                 q: Array, number: int = 0) -> None:
        self._postures, self._limits, self._curve, self._number = postures, limits, curve, number
        self._rows = [AXES.index(axis) for axis in axes]
        self._weights = np.minimum(limits.velocity, 1e3)**2  # W^-1
        self._begin = q
        self._found: list[tuple[float, _Motion]] = []
        self._work = self._followed()
        #: share of the path that is checked
        self.share = 0.0

    def work(self, limit: float) -> bool:
        """
        Go on for some time.

        :param limit: s.
        :returns: whether the whole path is checked.
        :raises GoalError: naming the first point that the robot cannot pass, and why.
        """
        end = time.monotonic() + limit
        for share in self._work:
            self.share = share
            if time.monotonic() >= end:
                return False
        return True

    @property
    def knots(self) -> Knots:
        """Return the motion of the joints, once all of it is checked."""
        times, motions = zip(*self._found)
        q, qd, qdd = (np.array(rows) for rows in zip(*motions))
        return Knots(np.array(times), q, qd, qdd)

    def _followed(self) -> Iterator[float]:
        """Follow the curve; give the share of it that is done."""
        still = np.zeros(len(self._begin))
        at, before = 0.0, _Motion(self._begin, still, still)
        condition = self._postures.at(self._begin).condition
        try:
            if not condition <= self._limits.condition:
                raise self._fault(0.0, self._limits.singular(condition))
            for t in self._instants():
                self._found += self._advanced(at, before, t)
                at, before = self._found[-1]
                yield t / self._curve.end
        except PathFault as fault:
            raise GoalError(ResultCode.INVALID_GOAL, str(fault)) from fault

    def _instants(self) -> Iterator[float]:
        times = self._curve.times.tolist()
        for begin, end in zip(times, times[1:]):
            count = int(np.ceil((end - begin) / STEP))
            for k in range(1, count + 1):
                yield begin + (end - begin) * k / count if k < count else end

    def _advanced(self, at: float, before: _Motion, t: float,
                  halves: int = 0) -> list[tuple[float, _Motion]]:
        """Return how the joints move up to an instant: by halves, where one step fails."""
        try:
            return [(t, self._next(at, before, t))]
        except PathFault:
            if halves == _HALVES:
                raise
        middle = 0.5 * (at + t)
        first = self._advanced(at, before, middle, halves + 1)
        return first + self._advanced(middle, first[-1][1], t, halves + 1)

    def _next(self, at: float, before: _Motion, t: float) -> _Motion:
        """Return how the joints move at the next instant; check it, and half the way to it."""
        h = t - at
        now = self._motion(t, before.q + h * (before.qd + 0.5 * h * before.qdd))
        # Where joints are free to choose, they have gone as far as their velocities say.
        guess = before.q + 0.5 * h * (before.qd + now.qd + h * (before.qdd - now.qdd) / 6.0)
        if np.abs(guess - now.q).max() > _DRIFT:
            now = self._motion(t, guess)
        self._check(at, t, before, now)
        return now

    def _motion(self, t: float, q: Array) -> _Motion:
        """Return position, velocity and acceleration of the joints at an instant."""
        wanted, rows, W = self._curve.at(t), self._rows, self._weights
        q, seen = self._reached(t, wanted, q)
        turn = np.kron(np.eye(2), seen.R.T)  # from base axes to those of the tip
        velocity = turn @ wanted.velocity
        J = seen.J[rows]
        A = (J * W) @ J.T
        m = np.linalg.solve(A, velocity[rows])
        qd = W * (J.T @ m)
        rate = self._rate(q, qd)
        w = seen.J[:3] @ qd  # the axes turn with the tip
        a = turn @ wanted.acceleration - np.concatenate(
            [np.cross(w, velocity[:3]), np.cross(w, velocity[3:])])
        swing = W * (rate[rows].T @ m)
        n = np.linalg.solve(A, a[rows] - rate[rows] @ qd - J @ swing)
        return _Motion(q, qd, swing + W * (J.T @ n))

    def _reached(self, t: float, wanted: PosePoint, q: Array) -> tuple[Array, Posture]:
        """Return the position near another one that brings the tip to a pose."""
        rows, W = self._rows, self._weights
        for _ in range(_ITERATIONS):
            seen = self._postures.at(q)
            if not seen.condition <= self._limits.condition:
                raise self._fault(t, self._limits.singular(seen.condition))
            error = _error(wanted.p, wanted.R, seen)[rows]
            if np.abs(error).max() < _CLOSE:
                return q, seen
            J = seen.J[rows]
            step = W * (J.T @ np.linalg.solve((J * W) @ J.T, error))
            if not np.abs(step).max() < _LEAP:
                break
            q = q + step
        raise self._fault(t, self._limits.unreachable(error, rows))

    def _rate(self, q: Array, qd: Array) -> Array:
        """Return how the Jacobian changes with the motion of the joints."""
        speed = float(np.abs(qd).max())
        if not speed > 0.0:
            return np.zeros((6, len(q)))
        nudge = _NUDGE / speed
        after, before = (self._postures.at(q + each * qd).J for each in (nudge, -nudge))
        return (after - before) / (2.0 * nudge)

    def _check(self, at: float, t: float, before: _Motion, now: _Motion) -> None:
        """Refuse what the joints may not do between two instants; name the first point."""
        h, limits = t - at, self._limits
        q = _quintic(before, now, h)
        qd = np.arange(1.0, 6.0)[:, None] * q[1:] / h
        qdd = np.arange(1.0, 5.0)[:, None] * qd[1:] / h
        seen = [self._seen(at + u * h, _at(q, u), _at(qd, u)) for u in _NODES.tolist()]
        torque = _FIT @ np.array([each.H @ _at(qdd, u) + each.bias
                                  for each, u in zip(seen, _NODES.tolist())])
        condition = _FIT @ np.array([[each.condition] for each in seen])
        found = [first_outside(c, least, most) for c, (least, most) in zip(
            (q, qd, qdd, torque, condition), limits.bounds)]
        u = min((each for each in found if each is not None), default=None)
        if u is not None:
            raise self._fault(at + u * h, limits.broken(Instant(
                _at(q, u), _at(qd, u), _at(qdd, u), _at(torque, u), float(_at(condition, u)[0]))))

    def _seen(self, t: float, q: Array, qd: Array) -> Posture:
        """Return the joints at an instant; refuse them off the path, or in a singular position."""
        seen, wanted = self._postures.at(q, qd), self._curve.at(t)
        if not seen.condition <= self._limits.condition:
            raise self._fault(t, self._limits.singular(seen.condition))
        error = np.abs(_error(wanted.p, wanted.R, seen))[self._rows]
        if not (error <= _ASTRAY[self._rows]).all():
            raise self._fault(t, self._limits.astray(error, self._rows))
        return seen

    def _fault(self, t: float, reason: str) -> PathFault:
        behind = self._curve.piece(t)
        place = self._number + behind
        if t == self._curve.times[behind + 1]:
            where = f'at way-point {place + 1}'
        elif place < 0:
            where = 'before way-point 0'
        elif t == self._curve.times[behind]:
            where = f'at way-point {place}'
        else:
            where = f'between way-points {place} and {place + 1}'
        return PathFault(f'the path cannot be followed {t:.4g} s from its start, {where}: '
                         f'{reason}')


def _error(p: Array, R: Array, seen: Posture) -> Array:
    """Return from where the tip is to a pose, in its own axes, angular part first."""
    return np.concatenate([logarithm(seen.R.T @ R), seen.R.T @ (p - seen.p)])


def _quintic(a: _Motion, b: _Motion, h: float) -> Array:
    """Return the coefficients of 1, u ... u^5 with u from 0 to 1 between two instants."""
    way, v, w, x, y = b.q - a.q, h * a.qd, h * b.qd, h * h * a.qdd, h * h * b.qdd
    return np.array([a.q, v, 0.5 * x, 10.0 * way - 6.0 * v - 4.0 * w - 1.5 * x + 0.5 * y,
                     -15.0 * way + 8.0 * v + 7.0 * w + 1.5 * x - y,
                     6.0 * way - 3.0 * (v + w) - 0.5 * (x - y)])


def _at(c: Array, u: float) -> Array:
    """Return the values of polynomials."""
    return np.asarray(u**np.arange(len(c)) @ c)
