# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Timed way-points of a frame, joined by one smooth curve of poses.

Between two way-points the position is a polynomial of fifth degree. So is the rotation vector r of
R = R_i exp(r), counted from the way-point behind (canonical coordinates, as Park and Ravani,
"Smooth invariant interpolation of rotations", ACM Transactions on Graphics 16(3), 1997). Both
pieces that meet at a way-point have the same velocity and acceleration there: with the angular
velocity w and acceleration a in the turned axes, w = J(r) r' and a = J(r) r'' + J'(r) r', where J
is the right Jacobian of the exponential, a rotation vector ends with r' = J^-1 w and
r'' = J^-1 (a - J' r'). So position and orientation are twice continuously differentiable, and the
curve turns and moves with its way-points: it depends on no choice of base axes.

Velocities and accelerations that are not given are those of the cubic spline that rests at both
ends; the first and the last piece are bent so that they begin and end without acceleration. Two
way-points alone are a straight line with a minimum-jerk profile.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ['Curve', 'exponential', 'logarithm', 'PosePoint', 'right_jacobian',
           'right_jacobian_rate', 'WayPoints']

Array = npt.NDArray[np.float64]

#: rad below which series take the place of quotients; what they leave out is below rounding
_SMALL = 0.02


def _skew(r: Array) -> Array:
    x, y, z = r.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def exponential(r: Array) -> Array:
    """
    Return the rotation matrix of a rotation vector (Rodrigues).

    :param r: axis times angle, rad.
    """
    angle = math.sqrt(float(r @ r))
    S = _skew(r)
    if angle < _SMALL:
        x = angle * angle
        a, b = 1.0 - x / 6.0 * (1.0 - x / 20.0), 0.5 - x / 24.0 * (1.0 - x / 30.0)
    else:
        a, b = math.sin(angle) / angle, 2.0 * math.sin(0.5 * angle)**2 / angle**2
    return np.eye(3) + a * S + b * S @ S


def logarithm(R: Array) -> Array:
    """
    Return the rotation vector of a rotation matrix; of half a turn it has no accuracy.

    :param R: rotation by less than half a turn.
    """
    twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = 0.5 * math.sqrt(float(twice @ twice)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = math.atan2(sine, cosine)
    if angle < _SMALL:
        return 0.5 * (1.0 + angle * angle / 6.0) * twice
    return (0.5 * angle / max(sine, 1e-300)) * twice


def _coefficients(angle: float) -> tuple[float, float, float, float]:
    """Return (1 - cos x)/x^2, (x - sin x)/x^3, and the slope of each divided by x."""
    x = angle * angle
    if angle < _SMALL:
        return (0.5 - x / 24.0 * (1.0 - x / 30.0), 1.0 / 6.0 - x / 120.0 * (1.0 - x / 42.0),
                -1.0 / 12.0 + x / 180.0, -1.0 / 60.0 + x / 1260.0)
    sine, versine = math.sin(angle), 2.0 * math.sin(0.5 * angle)**2
    b, c = versine / x, (angle - sine) / (x * angle)
    return b, c, (sine / angle - 2.0 * b) / x, (versine / x - 3.0 * c) / x


def right_jacobian(r: Array) -> Array:
    """
    Return what makes the rate of a rotation vector an angular velocity in the turned axes.

    :param r: rotation vector.
    """
    S = _skew(r)
    b, c, _, _ = _coefficients(math.sqrt(float(r @ r)))
    return np.eye(3) - b * S + c * S @ S


def right_jacobian_rate(r: Array, rate: Array) -> Array:
    """
    Return how that matrix changes.

    :param r: rotation vector.
    :param rate: of it, rad/s.
    """
    S, T = _skew(r), _skew(rate)
    b, c, db, dc = _coefficients(math.sqrt(float(r @ r)))
    speed = float(r @ rate)  # angle times its rate
    return -b * T - db * speed * S + c * (S @ T + T @ S) + dc * speed * S @ S


@dataclass
class WayPoints:
    """Poses of a frame in the base, and when they are passed."""

    times: Array  # s from the start, (k,)
    p: Array  # m, (k, 3)
    R: Array  # axes of the frame as columns, (k, 3, 3)
    velocity: Array | None = None  # angular, linear; base axes, (k, 6), or not given
    acceleration: Array | None = None

    def after(self, p: Array, R: Array) -> WayPoints:
        """
        Return the same way-points, reached from a pose at rest.

        :param p: where the frame is at time 0; takes the place of a way-point of time 0.
        :param R: its axes.
        """
        late = int(self.times[0] <= 0.0)

        def joined(first: Array, rest: Array) -> Array:
            return np.concatenate([first[None], rest[late:]])

        def rates(rows: Array | None) -> Array | None:
            return None if rows is None else joined(np.zeros(6), rows)
        return WayPoints(joined(np.array(0.0), self.times), joined(p, self.p), joined(R, self.R),
                         rates(self.velocity), rates(self.acceleration))


class PosePoint(NamedTuple):
    """A pose on the way, its velocity and acceleration: angular first, base axes."""

    p: Array
    R: Array
    velocity: Array
    acceleration: Array


class Curve:
    """
    A curve of poses that begins and ends at rest.

    :param points: two or more, at increasing times, less than half a turn apart.
    """

    def __init__(self, points: WayPoints) -> None:
        self.times, self._p, self._R = points.times, points.p, points.R
        h = np.diff(self.times)
        self._turns = np.array([logarithm(a.T @ b) for a, b in zip(self._R, self._R[1:])])
        self._ways = np.diff(self._p, axis=0)
        if points.velocity is None:
            self._linear, self._angular = _spline(h, self._ways), _spline(h, self._turns)
        else:
            given = (np.zeros_like(points.velocity) if points.acceleration is None
                     else points.acceleration)
            self._linear = points.velocity[:, 3:], given[:, 3:]
            v, a = (np.einsum('kji,kj->ki', self._R, each[:, :3])  # in the axes of the frame
                    for each in (points.velocity, given))
            self._angular = v, a
        self._made = -1  # number of the piece whose coefficients are there
        self._c = self._r = np.zeros((6, 3))

    @property
    def end(self) -> float:
        """Return the time of its end, s."""
        return float(self.times[-1])

    def piece(self, t: float) -> int:
        """
        Return the number of the way-point behind; that of the last but one at the end.

        :param t: s from the start.
        """
        found = int(np.searchsorted(self.times, t, side='right')) - 1
        return min(max(found, 0), len(self.times) - 2)

    def at(self, t: float) -> PosePoint:
        """
        Return the pose at a time and how it moves.

        :param t: s from the start, between 0 and the end.
        """
        i = self.piece(t)
        if i != self._made:
            self._make(i)
        s = t - float(self.times[i])
        way, v, a = _evaluate(self._c, s)
        r, rate, bend = _evaluate(self._r, s)
        R = self._R[i] @ exponential(r)
        J = right_jacobian(r)
        turning = J @ bend + right_jacobian_rate(r, rate) @ rate
        return PosePoint(self._p[i] + way, R, np.concatenate([R @ (J @ rate), v]),
                         np.concatenate([R @ turning, a]))

    def _make(self, i: int) -> None:
        """Make the polynomials of a piece."""
        h, (v, a), (w, b) = float(self.times[i + 1] - self.times[i]), self._linear, self._angular
        self._c = _quintic(h, self._ways[i], v[i], v[i + 1], a[i], a[i + 1])
        self._r = _quintic(h, self._turns[i], w[i], *_in_vector(
            self._turns[i], w[i + 1], b[i], b[i + 1]))
        self._made = i


def _spline(h: Array, ways: Array) -> tuple[Array, Array]:
    """Return velocity and acceleration at the knots of the cubic spline that ends at rest."""
    count = len(h)
    v, a = np.zeros((count + 1, 3)), np.zeros((count + 1, 3))
    pivot = np.zeros(count)
    for k in range(1, count):  # the second derivative is the same from both sides
        right = 3.0 * (ways[k - 1] / h[k - 1]**2 + ways[k] / h[k]**2) - v[k - 1] / h[k - 1]
        pivot[k] = 2.0 / h[k - 1] + 2.0 / h[k]
        if k > 1:
            pivot[k] -= 1.0 / (h[k - 1]**2 * pivot[k - 1])
        v[k] = right / pivot[k]
    for k in range(count - 2, 0, -1):
        v[k] -= v[k + 1] / (h[k] * pivot[k])
    for k in range(1, count):
        a[k] = (6.0 * ways[k] / h[k] - 4.0 * v[k] - 2.0 * v[k + 1]) / h[k]
    return v, a


def _in_vector(turn: Array, w: Array, before: Array, after: Array) -> tuple[Array, Array, Array]:
    """Return the rate of a rotation vector at its end, and its second one at begin and end."""
    J = right_jacobian(turn)
    rate = np.linalg.solve(J, w)
    return rate, before, np.linalg.solve(J, after - right_jacobian_rate(turn, rate) @ rate)


def _quintic(h: float, way: Array, v: Array, w: Array, a: Array, b: Array) -> Array:
    """Return the coefficients of 1, s ... s^5 by the values at both ends, (6, 3)."""
    return np.array([
        np.zeros(3), v, 0.5 * a,
        (20.0 * way - (12.0 * v + 8.0 * w) * h - (3.0 * a - b) * h**2) / (2.0 * h**3),
        (-30.0 * way + (16.0 * v + 14.0 * w) * h + (3.0 * a - 2.0 * b) * h**2) / (2.0 * h**4),
        (12.0 * way - 6.0 * (v + w) * h - (a - b) * h**2) / (2.0 * h**5)])


def _evaluate(c: Array, s: float) -> tuple[Array, Array, Array]:
    """Return value, slope and curvature of polynomials."""
    s2, s3, s4 = s**2, s**3, s**4
    return (np.array([1.0, s, s2, s3, s4, s4 * s]) @ c,
            np.array([1.0, 2.0 * s, 3.0 * s2, 4.0 * s3, 5.0 * s4]) @ c[1:],
            np.array([2.0, 6.0 * s, 12.0 * s2, 20.0 * s3]) @ c[2:])
