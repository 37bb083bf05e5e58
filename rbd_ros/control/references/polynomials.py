# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The polynomials that join the points of a trajectory.

Points with velocities and accelerations are joined by quintics, points with velocities by cubics,
as joint_trajectory_controller does. Points with positions alone are joined by the spline with
continuous acceleration that starts with the velocity of the robot and ends at rest: the straight
lines of other controllers have corners that no law can follow. They remain an option.

The velocities v of the spline solve, for points between the first and the last, with h and s the
time and the mean velocity before (-) and after (+) a point,

    v[i-1]/h- + 2 v[i] (1/h- + 1/h+) + v[i+1]/h+ = 3 (s-/h- + s+/h+).

They are eliminated from the end. What is left to do when the trajectory begins, and its start is
known, is one equation for each piece, when that is made.
"""

from __future__ import annotations

import enum

from rbd_ros.compiler.procedure import Matrix
from rbd_ros.control.interface.events import NOBODY
from rbd_ros.control.interface.words import PointWord
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.references.points import (
    check_points, check_speeds, hold_others, merge_tolerances, PointLimits, Points,
    rest_after, sort_points, Verdict)

__all__ = ['find_coming', 'handle_points', 'knot_time', 'make_piece', 'Task']

#: s in which a point that is due now is reached; the reference is limited anyway
_AT_ONCE = 1e-3


class Task(enum.IntEnum):
    """What can be done with points."""

    CHECK = 0  # see check_points
    SPEEDS = 1  # see check_speeds
    SORT = 2  # see sort_points
    PREPARE = 3  # all that does not need the start
    BEGIN = 4  # from the start
    PIECE = 5  # make the one that is wanted
    TOLERANCES = 6  # see merge_tolerances
    COMING = 7  # see find_coming


def handle_points(points: Points, p: PointLimits, verdict: Verdict) -> None:
    """
    Do something with the points of a trajectory.

    :param points: ``task`` says what.
    :param p: what they may ask for.
    :param verdict: says if they are refused.
    """
    verdict.word, verdict.joint = 0.0, NOBODY
    if points.task == Task.CHECK:
        check_points(points, p, verdict)
    elif points.task == Task.SPEEDS:
        check_speeds(points, p, verdict)
    elif points.task == Task.SORT:
        sort_points(points, p, verdict)
    elif points.task == Task.PREPARE:
        _unwrap(points, p)
        _eliminate(points)
    elif points.task == Task.BEGIN:
        _begin(points, p, verdict)
    elif points.task == Task.PIECE:
        make_piece(points, int(points.wanted), points.piece, 0)
    elif points.task == Task.TOLERANCES:
        merge_tolerances(points, p, verdict)
    elif points.task == Task.COMING:
        find_coming(points, verdict)


def _unwrap(points: Points, p: PointLimits) -> None:
    """Shift continuous joints by full turns so that each step takes the short way."""
    for j in range(len(p.continuous)):
        if p.continuous[j] > 0.0:
            for i in range(1, int(points.count)):
                before = points.q[i - 1, j]
                points.q[i, j] = before + turn(points.q[i, j] - before)


def _has_spline(points: Points) -> bool:
    return points.rates == 0.0 and points.linear == 0.0


def _eliminate(points: Points) -> None:
    """Take the later points out of the equation of each velocity of the spline."""
    last, n = int(points.count) - 1, len(points.shift)
    if not _has_spline(points):
        return
    for i in range(last - 1, -1, -1):
        h = (points.times[i + 1] + points.offset) - (points.times[i] + points.offset)
        if not h > 0.0:  # they are refused when the trajectory begins
            return
        pivot = 0.0
        if i + 1 < last:
            pivot = 2.0 / h + points.ahead[i + 1]
        points.ahead[i] = 2.0 / h - (1.0 / (h * (h * pivot)) if pivot > 0.0 else 0.0)
        for j in range(n):
            right = 3.0 * ((points.q[i + 1, j] - points.q[i, j]) / h) / h
            if pivot > 0.0:
                right -= (right + points.right[i + 1, j]) / (h * pivot)
            points.right[i, j] = right


def knot_time(points: Points, k: int) -> float:
    """
    Return the control time of a knot.

    :param points: that have begun.
    :param k: 0 for the start.
    """
    if k == 0:
        return points.begin
    i = int(points.first) + k - 1
    time = points.times[i] + points.offset
    return time if time > points.begin else points.begin + _AT_ONCE


def find_coming(points: Points, verdict: Verdict) -> None:
    """
    Find the points that are still to come.

    :param points: ``begin`` is the control time, ``offset`` that of time_from_start 0.
    :param verdict: says if there is none, or if the clock cannot tell them apart.
    """
    count, first = int(points.count), 0
    while first < count and not points.times[first] + points.offset > points.begin:
        first += 1
    if first == count:  # one point for now is a jump, which the reference limits
        first = count - 1
        late = points.begin - (points.times[first] + points.offset)
        if not late <= 0.0:
            verdict.refuse(PointWord.ENDED, NOBODY, late)
            return
    points.first, points.pieces, points.known = first, count - first, 0.0
    before = points.begin
    for k in range(1, count - first + 1):
        time = knot_time(points, k)
        if not time > before:
            verdict.refuse(PointWord.TOO_CLOSE)
            return
        before = time
    points.end = before


def _begin(points: Points, p: PointLimits, verdict: Verdict) -> None:
    """Join the reference and the points that are still to come."""
    find_coming(points, verdict)
    if verdict.word != 0.0:
        return
    count = int(points.count)
    hold_others(points, p)
    for j in range(len(points.shift)):
        last = points.q[count - 1, j]
        points.beyond[j] = 0.0
        if points.rates > 0.0:
            points.beyond[j] = rest_after(p, j, last, points.qd[count - 1, j]) - last
        points.shift[j] = 0.0
        if p.continuous[j] > 0.0 and not points.held[j] > 0.0:
            q, here = points.q[0, j], points.start[0, j]
            points.shift[j] = here + turn(q - here) - q


def _position(points: Points, k: int, j: int) -> float:
    if k == 0:
        return points.start[0, j]
    return points.q[int(points.first) + k - 1, j] + points.shift[j]


def _velocity(points: Points, k: int, j: int) -> float:
    return points.start[1, j] if k == 0 else points.qd[int(points.first) + k - 1, j]


def _acceleration(points: Points, k: int, j: int) -> float:
    return points.start[2, j] if k == 0 else points.qdd[int(points.first) + k - 1, j]


def _know_velocities(points: Points, k: int) -> None:
    """Compute the velocities of the spline up to a knot, from the start on."""
    while points.known < k:
        at = int(points.known) + 1
        i, h = int(points.first) + at - 1, knot_time(points, at) - knot_time(points, at - 1)
        for j in range(len(points.shift)):
            if at == int(points.pieces):
                points.qd[i, j] = 0.0  # it ends at rest
            else:
                slope = (_position(points, at, j) - _position(points, at - 1, j)) / h
                points.qd[i, j] = (3.0 * slope / h + points.right[i, j]
                                   - _velocity(points, at - 1, j) / h) / (
                                       2.0 / h + points.ahead[i])
        points.known = at


def make_piece(points: Points, k: int, c: Matrix, row: int) -> None:
    """
    Make the polynomials of lowest degree with the values of two neighbours at their ends.

    :param points: that have begun.
    :param k: number of the piece, from 0.
    :param c: receives the coefficients of 1, s, ... s^5, six rows; s counts from its begin.
    :param row: the first of these rows.
    """
    if _has_spline(points):
        _know_velocities(points, k + 1)
    h = knot_time(points, k + 1) - knot_time(points, k)
    h2 = h * h
    h3 = h2 * h
    for j in range(len(points.shift)):
        q = _position(points, k, j)
        way = _position(points, k + 1, j) - q
        c[row:row + 6, j] = 0.0
        c[row, j] = q
        if points.rates == 0.0 and points.linear > 0.0:
            c[row + 1, j] = way / h
            continue
        v, w = _velocity(points, k, j), _velocity(points, k + 1, j)
        c[row + 1, j] = v
        if points.rates < 2.0:
            c[row + 2, j] = (3.0 * way - (2.0 * v + w) * h) / h2
            c[row + 3, j] = (-2.0 * way + (v + w) * h) / h3
            continue
        a, b = _acceleration(points, k, j), _acceleration(points, k + 1, j)
        c[row + 2, j] = 0.5 * a
        c[row + 3, j] = (20.0 * way - (12.0 * v + 8.0 * w) * h - (3.0 * a - b) * h2) / (2.0 * h3)
        c[row + 4, j] = (-30.0 * way + (16.0 * v + 14.0 * w) * h
                         + (3.0 * a - 2.0 * b) * h2) / (2.0 * (h2 * h2))
        c[row + 5, j] = (12.0 * way - 6.0 * (v + w) * h - (a - b) * h2) / (2.0 * (h3 * h2))
