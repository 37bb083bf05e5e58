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
Joint trajectories: piecewise polynomials through the points of a message.

Points with velocities and accelerations are joined by quintics, points with velocities by cubics,
as joint_trajectory_controller does. Points with positions alone are joined by the spline with
continuous acceleration that starts with the velocity of the robot and ends at rest: the straight
lines of other controllers have corners that no law can follow. They remain an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.references.results import GoalError, ResultCode

__all__ = ['Knots', 'Trajectory', 'read_points', 'unwrap']

Array = npt.NDArray[np.float64]


@dataclass
class Knots:
    """Points of a trajectory in the order of the controlled joints."""

    times: Array  # s from the start, (k,)
    q: Array  # (k, n)
    qd: Array | None  # (k, n), or not given
    qdd: Array | None


def read_points(names: Sequence[str], joints: Sequence[str], times: Sequence[float],
                positions: Sequence[Sequence[float]], velocities: Sequence[Sequence[float]],
                accelerations: Sequence[Sequence[float]]) -> Knots:
    """
    Check the points of a message and put them into the order of the controlled joints.

    :param names: joint names of the message.
    :param joints: names of the controlled joints.
    :param times: time_from_start of each point, s.
    :param positions: positions of each point.
    :param velocities: velocities of each point; empty ones mean not given.
    :param accelerations: accelerations of each point; empty ones mean not given.
    """
    if sorted(names) != sorted(joints):
        raise GoalError(ResultCode.INVALID_JOINTS, _difference(names, joints))
    if not times:
        raise GoalError(ResultCode.INVALID_GOAL, 'the trajectory has no points')
    order = [list(names).index(joint) for joint in joints]
    q = _field('positions', positions, order)
    if q is None:
        raise GoalError(ResultCode.INVALID_GOAL, 'the points have no positions')
    qd = _field('velocities', velocities, order)
    qdd = _field('accelerations', accelerations, order)
    if qdd is not None and qd is None:
        raise GoalError(ResultCode.INVALID_GOAL, 'accelerations without velocities')
    time = np.array(times, dtype=float)
    if not np.isfinite(time).all() or time[0] < 0.0 or (np.diff(time) <= 0.0).any():
        raise GoalError(ResultCode.INVALID_GOAL,
                        f'time_from_start must be finite and increase strictly: {list(times)}')
    return Knots(time, q, qd, qdd)


def _difference(names: Sequence[str], joints: Sequence[str]) -> str:
    """Return in what the names of a message differ from the controlled joints."""
    kinds = {'unknown': [name for name in names if name not in joints],
             'missing': [joint for joint in joints if joint not in names],
             'given twice': [name for name in joints if list(names).count(name) > 1]}
    text = '; '.join(f'{kind}: {", ".join(found)}' for kind, found in kinds.items() if found)
    return f'joints {list(names)} are not the controlled ones {list(joints)} ({text})'


def _field(name: str, rows: Sequence[Sequence[float]], order: list[int]) -> Array | None:
    """Return the rows in our order; None where no row is given."""
    given = [len(row) > 0 for row in rows]
    if not any(given):
        return None
    for i, row in enumerate(rows):
        if len(row) != len(order):
            raise GoalError(ResultCode.INVALID_GOAL, f'point {i} has {len(row)} {name} for '
                            f'{len(order)} joints; all points must give them, or none')
    values = np.array([list(row) for row in rows], dtype=float)[:, order]
    if not np.isfinite(values).all():
        raise GoalError(ResultCode.INVALID_GOAL, f'{name} are not all finite')
    return values


def unwrap(q: Array, start: Array,
           continuous: Sequence[bool] | npt.NDArray[np.bool_]) -> Array:
    """
    Shift continuous joints by full turns so that each step takes the short way.

    :param q: positions, (k, n).
    :param start: positions before the first one, (n,).
    :param continuous: which joints have no limits.
    """
    q = q.copy()
    for j in (j for j, endless in enumerate(continuous) if endless):
        before = float(start[j])
        for i in range(len(q)):
            before += math.remainder(float(q[i, j]) - before, math.tau)
            q[i, j] = before
    return q


class Trajectory:
    """Polynomials between knots."""

    def __init__(self, knots: Knots, start_time: float, now: float,
                 start: tuple[Array, Array, Array], *, linear: bool = False) -> None:
        """
        Join the present reference and the knots that are still to come.

        :param knots: points, already unwrapped.
        :param start_time: control time of time_from_start 0.
        :param now: control time of the present reference, where the trajectory begins.
        :param start: present reference position, velocity and acceleration.
        :param linear: straight lines where only positions are given.
        """
        times = knots.times + start_time
        ahead = times > now
        if not ahead.any() and times[-1] < now:
            raise GoalError(ResultCode.OLD_HEADER_TIMESTAMP,
                            f'the trajectory ended {now - times[-1]:.4g} s ago')
        n = len(start[0])
        if not ahead.any():  # one point for now: a jump, which the reference limits
            ahead[-1] = True
            times = times.copy()
            times[-1] = now + 1e-3
        t = np.concatenate([[now], times[ahead]])
        q = np.vstack([start[0], knots.q[ahead]])
        zero = np.zeros((1, n))
        if knots.qd is None:
            qd = None if linear else _spline_velocities(t, q, start[1])
        else:
            qd = np.vstack([start[1], knots.qd[ahead]])
        qdd = None
        if knots.qdd is not None:
            qdd = np.vstack([start[2] if start[2] is not None else zero, knots.qdd[ahead]])
        self.start, self.end = float(t[0]), float(t[-1])
        self.times = t.tolist()  # of the knots, control time
        self.distinct = bool((np.diff(t) > 0.0).all())  # the clock can tell its knots apart
        self.final = q[-1]  # position at the end, held from then on
        # A piece is computed when it begins: a thousand at once would delay the controller.
        self._knots = (q, qd, qdd)

    def pieces(self, first: int, count: int) -> Array:
        """
        Return the coefficients of some pieces, (count, 6, n).

        :param first: number of the first one; it begins at ``times[first]``, and s counts from
            there.
        :param count: how many, up to the last one.
        """
        q, qd, qdd = self._knots
        times, part = self.times[first:first + count + 1], slice(first, first + count + 1)
        return _pieces([b - a for a, b in zip(times, times[1:])], q[part],
                       None if qd is None else qd[part], None if qdd is None else qdd[part])


def _pieces(steps: list[float], q: Array, qd: Array | None, qdd: Array | None) -> Array:
    """Coefficients (k, 6, n) of the polynomials of lowest degree with these values at knots."""
    c = np.zeros((len(steps), 6, q.shape[1]))
    c[:, 0] = q[:-1]
    way = q[1:] - q[:-1]
    h, h2, h3, h4, h5 = (np.array([[step**power] for step in steps]) for power in range(1, 6))
    if qd is None:
        c[:, 1] = way / h
        return c
    v, w = qd[:-1], qd[1:]
    c[:, 1] = v
    if qdd is None:
        c[:, 2] = (3.0 * way - (2.0 * v + w) * h) / h2
        c[:, 3] = (-2.0 * way + (v + w) * h) / h3
    else:
        a, b = qdd[:-1], qdd[1:]
        c[:, 2] = 0.5 * a
        c[:, 3] = (20.0 * way - (12.0 * v + 8.0 * w) * h - (3.0 * a - b) * h2) / (2.0 * h3)
        c[:, 4] = (-30.0 * way + (16.0 * v + 14.0 * w) * h + (3.0 * a - 2.0 * b) * h2) / (2.0 * h4)
        c[:, 5] = (12.0 * way - 6.0 * (v + w) * h - (a - b) * h2) / (2.0 * h5)
    return c


def _spline_velocities(t: Array, q: Array, start: Array) -> Array:
    """Velocities at the knots for continuous acceleration, from the start velocity to rest."""
    k, n = q.shape
    qd = np.zeros((k, n))
    qd[0] = start
    if k == 2:
        return qd
    h = np.diff(t)
    slope = np.diff(q, axis=0) / h[:, None]
    weight = 1.0 / h[:, None]
    right = 3.0 * (slope[:-1] * weight[:-1] + slope[1:] * weight[1:])
    right[0] -= weight[0] * start
    qd[1:-1] = _solve_tridiagonal(2.0 / h[:-1] + 2.0 / h[1:], 1.0 / h[1:-1], right)
    return qd


def _solve_tridiagonal(diagonal: Array, off_diagonal: Array, right: Array) -> Array:
    """
    Solve a symmetric system whose diagonal is larger than its neighbours: no pivot is needed.

    SciPy has this, too, but importing it takes a fifth of the start of a controller.

    :param off_diagonal: entries next to the diagonal.
    :param right: right-hand sides, one per column; overwritten by the solution.
    """
    pivot, factors = float(diagonal[0]), []
    pivots = [pivot]
    for k, (d, b) in enumerate(zip(diagonal[1:].tolist(), off_diagonal.tolist(), strict=True)):
        factors.append(b / pivot)
        right[k + 1] -= factors[k] * right[k]
        pivot = d - factors[k] * b
        pivots.append(pivot)
    right /= np.array(pivots)[:, None]
    for k in reversed(range(len(factors))):
        right[k] -= factors[k] * right[k + 1]
    return right
