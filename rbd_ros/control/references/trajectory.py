# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joint trajectories: the points of a message, and the polynomials that join them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import procedure
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.interface.words import PointWord, word_of
from rbd_ros.control.references.points import PointLimits, Points, Verdict
from rbd_ros.control.references.polynomials import handle_points, Task

__all__ = ['check_speed', 'check_times', 'Knots', 'load_points', 'PointHandler', 'points_of',
           'read_points', 'refusal', 'Trajectory']

Array = npt.NDArray[np.float64]


@dataclass
class Knots:
    """Points of a trajectory in the order of the controlled joints."""

    times: Array  # s from the start, (k,)
    q: Array  # (k, n)
    qd: Array | None  # (k, n), or not given
    qdd: Array | None
    held: Array | None = None  # (n,), 1 for joints that are left out and come to rest


def read_points(names: Sequence[str], joints: Sequence[str], times: Sequence[float],
                positions: Sequence[Sequence[float]], velocities: Sequence[Sequence[float]],
                accelerations: Sequence[Sequence[float]], *, partial: bool = False) -> Knots:
    """
    Check the points of a message and put them into the order of the controlled joints.

    :param names: joint names of the message.
    :param joints: names of the controlled joints.
    :param times: time_from_start of each point, s.
    :param positions: positions of each point.
    :param velocities: velocities of each point; empty ones mean not given.
    :param accelerations: accelerations of each point; empty ones mean not given.
    :param partial: whether joints may be left out.
    """
    left_out = partial and bool(names) and len(set(names)) == len(names) and set(names) < set(
        joints)
    if not left_out and sorted(names) != sorted(joints):
        raise GoalError(ResultCode.INVALID_JOINTS, _difference(names, joints))
    if not times:
        raise refusal(PointWord.NO_POINTS)
    places, n = [list(joints).index(name) for name in names], len(joints)
    q = _field(0, positions, places, n)
    if q is None:
        raise refusal(PointWord.NO_POSITIONS)
    qd, qdd = _field(1, velocities, places, n), _field(2, accelerations, places, n)
    if qdd is not None and qd is None:
        raise refusal(PointWord.NO_VELOCITIES)
    time = np.array(times, dtype=float)
    wrong = ~np.isfinite(time) | (np.diff(time, prepend=-1.0) <= 0.0) | (time < 0.0)
    if wrong.any():
        i = int(wrong.argmax())
        raise refusal(PointWord.TIMES, time[i], time[i - 1] if i else 0.0, i)
    held = np.array([float(joint not in names) for joint in joints]) if left_out else None
    return Knots(time, q, qd, qdd, held)


def _difference(names: Sequence[str], joints: Sequence[str]) -> str:
    """Return in what the names of a message differ from the controlled joints."""
    kinds = {'unknown': [name for name in names if name not in joints],
             'missing': [joint for joint in joints if joint not in names],
             'given twice': [name for name in joints if list(names).count(name) > 1]}
    text = '; '.join(f'{kind}: {", ".join(found)}' for kind, found in kinds.items() if found)
    only = names and set(names) < set(joints) and len(set(names)) == len(names)
    hint = '; allow_partial_joints_goal lets a message leave joints out' if only else ''
    return f'joints {list(names)} are not the controlled ones {list(joints)} ({text}){hint}'


def _field(quantity: int, rows: Sequence[Sequence[float]], places: list[int], n: int,
           ) -> Array | None:
    """Return the rows in our order, 0 for joints left out; None where no row is given."""
    if not any(len(row) > 0 for row in rows):
        return None
    for i, row in enumerate(rows):
        if len(row) != len(places):
            raise refusal(PointWord.UNEVEN, len(row), i, quantity)
    values = np.zeros((len(rows), n))
    values[:, places] = [list(row) for row in rows]
    if not np.isfinite(values).all():
        raise refusal(PointWord.NOT_FINITE, quantity)
    return values


def refusal(word: int, a: float = 0.0, b: float = 0.0, c: float = 0.0, joint: str = '',
            ) -> GoalError:
    """
    Return the error that a word stands for.

    :param word: see ``PointWord`` and ``ReferenceWord``.
    :param joint: its name.
    """
    code = (ResultCode.OLD_HEADER_TIMESTAMP if word == PointWord.ENDED else
            ResultCode.INVALID_GOAL)
    said = word_of(word)
    return GoalError(code, said.text(joint, a, b, c) if said else '')


class PointHandler:
    """
    Points of one trajectory, and what can be done with them.

    :param points: numbers.
    :param limits: what they may ask for.
    :param joints: names for the texts.
    """

    def __init__(self, points: Points, limits: PointLimits, joints: Sequence[str] = ()) -> None:
        self.points, self._joints = points, joints
        self._verdict = Verdict(points.sizes)
        self._run = procedure.bind(handle_points, points, limits, self._verdict)

    def begin(self, start_time: float, now: float, start: Sequence[Array] | Array, *,
              linear: bool = False) -> None:
        """
        Join the present reference and the points that are still to come.

        :param start_time: control time of time_from_start 0.
        :param now: control time of the present reference, where the trajectory begins.
        :param start: present reference position, velocity and acceleration.
        :param linear: straight lines where only positions are given.
        :raises GoalError: if all points lie in the past, or are too close together.
        """
        points = self.points
        points.offset, points.begin, points.linear = start_time, now, float(linear)
        points.start[:] = start
        self.do(Task.PREPARE, Task.BEGIN)

    def do(self, *tasks: Task) -> None:
        """
        Do something with the points.

        :param tasks: one after the other.
        :raises GoalError: if they are refused.
        """
        verdict = self._verdict
        for task in tasks:
            self.points.task = task
            self._run()
            if verdict.word:
                joint = self._joints[int(verdict.joint)] if verdict.joint >= 0.0 else ''
                raise refusal(int(verdict.word), verdict.a, verdict.b, verdict.c, joint)


def points_of(knots: Knots) -> Points:
    """
    Return points as numbers for procedures.

    :param knots: the points.
    """
    k, n = knots.q.shape
    points = Points({'k': k, 'n': n})
    load_points(points, knots)
    return points


def load_points(points: Points, knots: Knots) -> None:
    """
    Put points where procedures find them.

    :param points: receives them.
    :param knots: as many as there is room for.
    """
    points.count, points.rates = len(knots.times), 0.0
    points.times[:], points.q[:] = knots.times, knots.q
    points.held[:] = 0.0 if knots.held is None else knots.held
    for rates, given, target in ((1.0, knots.qd, points.qd), (2.0, knots.qdd, points.qdd)):
        if given is not None:
            points.rates, target[:] = rates, given


def check_speed(knots: Knots, limit: Array, joints: Sequence[str]) -> None:
    """
    Refuse what the limited reference could not follow.

    :param knots: points.
    :param limit: reference.velocity of each joint.
    :param joints: their names.
    :raises GoalError: naming the joint.
    """
    limits = PointLimits({'n': len(joints)})
    limits.pace[:] = limit
    PointHandler(points_of(knots), limits, joints).do(Task.SPEEDS)


def check_times(knots: Knots, start_time: float, now: float) -> None:
    """
    Refuse what is over, or too close together for the clock.

    :param knots: points.
    :param start_time: control time of time_from_start 0.
    :param now: control time.
    :raises GoalError: as when they begin.
    """
    points = points_of(knots)
    points.offset, points.begin = start_time, now
    PointHandler(points, PointLimits({'n': knots.q.shape[1]})).do(Task.COMING)


class Trajectory(PointHandler):
    """Polynomials between knots."""

    def __init__(self, knots: Knots, start_time: float, now: float, start: Sequence[Array], *,
                 linear: bool = False) -> None:
        """
        Join the present reference and the knots that are still to come.

        :param knots: points; no joint takes the short way.
        :param start_time: control time of time_from_start 0.
        :param now: control time of the present reference, where the trajectory begins.
        :param start: present reference position, velocity and acceleration.
        :param linear: straight lines where only positions are given.
        :raises GoalError: if all points lie in the past, or are too close together.
        """
        points = points_of(knots)
        super().__init__(points, PointLimits(points.sizes))
        self.begin(start_time, now, start, linear=linear)

    @property
    def end(self) -> float:
        """Return the control time of its end."""
        return float(self.points.end)

    @property
    def final(self) -> Array:
        """Return the position at the end, held from then on."""
        return self.points.q[-1] + self.points.shift

    @property
    def times(self) -> list[float]:
        """Return the control times of the knots."""
        points = self.points
        return [points.begin, *(points.times[int(points.first):] + points.offset).tolist()]

    def pieces(self, first: int, count: int) -> Array:
        """
        Return the coefficients of some pieces, (count, 6, n).

        :param first: number of the first one; it begins at ``times[first]``, and s counts from
            there.
        :param count: how many, up to the last one.
        """
        found = []
        for k in range(first, min(first + count, int(self.points.pieces))):
            self.points.wanted = k
            self.do(Task.PIECE)
            found.append(self.points.piece.copy())
        return np.array(found)
