# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Points of a trajectory as numbers: what is wrong with them, and whether they are one of a stream.

The same rules hold for topics and goals, in every form of the controller.
"""

from __future__ import annotations

import enum
import math

from rbd_ros.compiler.language.whole import maximum, minimum, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NOBODY, NONE
from rbd_ros.control.interface.words import PointWord
from rbd_ros.control.parameters.given import Inputs, reference_velocity, velocity_limits
from rbd_ros.control.references.joint_profile import clamped, positive

__all__ = ['check_points', 'check_speeds', 'fill_point_limits', 'hold_others', 'LATENESS',
           'merge_tolerances', 'PointLimits', 'Points', 'rest_after', 'sort_points',
           'STREAM_HORIZON', 'Use', 'Verdict']

#: rad/s and rad/s^2 (m/s, m/s^2) that no reference may ask for, whatever the joint can do
_MAX_SPEED, _MAX_ACCELERATION = 1e3, 1e5

#: planners end a little above the velocity limits that they were given
_SLACK = 1.01

#: rad or m by which rounding may take a point beyond a joint limit
_BEYOND = 1e-6

#: fraction of a velocity limit that a goal may exceed by rounding
_ROUNDING = 1e-3

#: a single point that is due within this time, s, is one of a stream
STREAM_HORIZON = 0.1

#: how late the next point of a stream may come before the reference stops, as a share of the time
#: that the point lies ahead
LATENESS = 0.5


class Use(enum.IntEnum):
    """What points are good for."""

    TRAJECTORY = 0
    SET_POINT = 1  # a single one that is due now, with its velocity and acceleration
    PASSED = 2  # a single one of a stream, to be passed at an even speed


class Points(Record):
    """Points of a trajectory in the order of the controlled joints, and how they are joined."""

    task: float = field('', '', 'what is to be done with them, see Task')
    count: float = field('', '', 'how many points')
    rates: float = field('', '', '0: positions alone, 1: velocities as well, 2: accelerations too')
    linear: float = field('', '', '1 for straight lines where only positions are given')
    offset: float = field('', 's', 'control time of time_from_start 0')
    begin: float = field('', 's', 'control time of the reference from which they are reached')
    end: float = field('', 's', 'control time of the last one')
    first: float = field('', '', 'number of the first one that is still to come')
    pieces: float = field('', '', 'polynomials that join them')
    known: float = field('', '', 'pieces at whose ends the velocity is known')
    wanted: float = field('', '', 'number of a piece to make')
    use: float = field('', '', 'what they are good for, see Use')
    within: float = field('', 's', 'of motion at an even speed; 0: as fast as limits allow')
    goal: float = field('', '', 'number of their goal; 0: none')
    goal_time: float = field('', 's', 'after the end within which the goal must be reached')
    times: Vector = field('k', 's', 'time_from_start of each point')
    ahead: Vector = field('k', '1/s', 'what later points add to the equation of a velocity')
    shift: Vector = field('n', 'rad', 'full turns between the points and the reference')
    held: Vector = field('n', '', '1 for joints that the points leave out: they come to rest')
    beyond: Vector = field('n', 'rad or m', 'way from the last point until its velocity is gone')
    start: Matrix = field('3 n', 'rad or m, /s, /s^2', 'the reference at their beginning')
    piece: Matrix = field('6 n', '', 'coefficients of the piece that was wanted')
    path: Matrix = field('3 n', 'rad or m, /s, /s^2', 'tolerances of the goal on its way')
    tolerance: Matrix = field('3 n', 'rad or m, /s, /s^2', 'tolerances of the goal at its end')
    q: Matrix = field('k n', 'rad or m', 'positions')
    qd: Matrix = field('k n', 'rad/s or m/s', 'velocities: given, or those of the spline')
    qdd: Matrix = field('k n', 'rad/s^2 or m/s^2', 'accelerations')
    right: Matrix = field('k n', '1/s^2', 'right sides of the equations of the velocities')


class PointLimits(Record):
    """What points may ask for."""

    lower: Vector = field('n', 'rad or m', 'lower joint limit; continuous joints: none', -NONE)
    upper: Vector = field('n', 'rad or m', 'upper joint limit; continuous joints: none', NONE)
    continuous: Vector = field('n', '', '1 for joints that take the short way')
    speed: Vector = field('n', 'rad/s or m/s', 'beyond which a fault is raised', NONE)
    pace: Vector = field('n', 'rad/s or m/s', 'largest velocity of the reference', NONE)
    acceleration: Vector = field('n', 'rad/s^2 or m/s^2', 'largest one of the reference', NONE)
    partial: bool = field('', '', 'whether points may leave joints out')
    goal_time: float = field('', 's', 'after the end within which a goal must be reached', NONE)
    path: Matrix = field('3 n', 'rad or m, /s, /s^2', 'usual tolerances of a goal on its way',
                         NONE)
    tolerance: Matrix = field('3 n', 'rad or m, /s, /s^2', 'usual tolerances at its end', NONE)


class Verdict(Record):
    """What is wrong with points; a word, as in a result of the step."""

    word: float = field('', '', 'what is wrong; 0: nothing')
    joint: float = field('', '', 'with which joint', NOBODY)
    a: float = field('', '', 'first number of the sentence')
    b: float = field('', '', 'second number')
    c: float = field('', '', 'third number')

    def refuse(self, word: int, joint: int = NOBODY, a: float = 0.0, b: float = 0.0,
               c: float = 0.0) -> None:
        """
        Say what is wrong.

        :param word: its code.
        :param joint: that it is about; ``NOBODY``: none.
        """
        self.word, self.joint = word, joint
        self.a, self.b, self.c = a, b, c


def fill_point_limits(p: PointLimits, g: Inputs) -> None:
    """
    Take the limits from the parameters.

    :param p: gets them.
    :param g: what was given.
    """
    p.continuous[:] = g.robot.continuous
    p.lower[:] = where(g.robot.continuous > 0.0, -NONE, maximum(g.robot.lower, -NONE))
    p.upper[:] = where(g.robot.continuous > 0.0, NONE, minimum(g.robot.upper, NONE))
    p.speed[:] = minimum(velocity_limits(g), NONE)
    p.pace[:] = minimum(reference_velocity(g), NONE)
    p.acceleration[:] = minimum(g.values.reference.acceleration, NONE)
    p.partial = g.values.allow_partial_joints_goal
    time = g.values.tolerance.goal_time
    p.goal_time = time if time > 0.0 else NONE
    p.path[:] = NONE
    p.tolerance[:] = NONE
    p.path[0] = where(g.values.tolerance.path > 0.0, g.values.tolerance.path, NONE)
    p.tolerance[0] = where(g.values.tolerance.goal > 0.0, g.values.tolerance.goal, NONE)
    p.tolerance[1] = where(
        g.values.tolerance.goal_velocity > 0.0, g.values.tolerance.goal_velocity, NONE)


def check_points(points: Points, p: PointLimits, verdict: Verdict) -> None:
    """
    Refuse points that are not finite, not in order, outside the joint limits, or too fast.

    :param points: as they came.
    :param p: what they may ask for.
    :param verdict: says what is wrong.
    """
    n, rates = len(p.lower), int(points.rates)
    if not _is_finite(points.q, points, 0, verdict):
        return
    if rates > 0 and not _is_finite(points.qd, points, 1, verdict):
        return
    if rates > 1 and not _is_finite(points.qdd, points, 2, verdict):
        return
    if not _in_order(points, verdict):
        return
    for i in range(int(points.count)):
        for j in range(n):
            q, inside = points.q[i, j], p.continuous[j] > 0.0 or points.held[j] > 0.0
            if not (inside or p.lower[j] - _BEYOND <= q <= p.upper[j] + _BEYOND):
                verdict.refuse(PointWord.OUTSIDE, j, q, p.lower[j], p.upper[j])
                return
    for i in range(int(points.count)):
        for j in range(n):
            most = min(_SLACK * p.speed[j], _MAX_SPEED)
            if rates > 0 and not abs(points.qd[i, j]) <= most:
                verdict.refuse(PointWord.VELOCITY, j, points.qd[i, j], most, i)
                return
    for i in range(int(points.count)):
        for j in range(n):
            if rates > 1 and not abs(points.qdd[i, j]) <= _MAX_ACCELERATION:
                verdict.refuse(PointWord.ACCELERATION, j, points.qdd[i, j], _MAX_ACCELERATION, i)
                return


def _is_finite(rows: Matrix, points: Points, quantity: int, verdict: Verdict) -> bool:
    for i in range(int(points.count)):
        for j in range(len(points.shift)):
            if not math.isfinite(rows[i, j]):
                verdict.refuse(PointWord.NOT_FINITE, j, quantity, i)
                return False
    return True


def _in_order(points: Points, verdict: Verdict) -> bool:
    before = 0.0
    for i in range(int(points.count)):
        time = points.times[i]
        if not (math.isfinite(time) and (time > before or (i == 0 and time >= 0.0))):
            verdict.refuse(PointWord.TIMES, NOBODY, time, before, i)
            return False
        before = time
    return True


def check_speeds(points: Points, p: PointLimits, verdict: Verdict) -> None:
    """
    Refuse a goal that the limited reference could not follow.

    :param points: checked ones.
    :param p: what they may ask for.
    :param verdict: says what is wrong.
    """
    count, n = int(points.count), len(p.pace)
    for i in range(1, count):
        for j in range(n):
            speed = abs(points.q[i, j] - points.q[i - 1, j]) / (
                points.times[i] - points.times[i - 1])
            if speed > (1.0 + _ROUNDING) * p.pace[j]:
                verdict.refuse(PointWord.TOO_FAST, j, speed, p.pace[j])
                return
    for i in range(count):
        for j in range(n):
            speed = abs(points.qd[i, j])
            if points.rates > 0.0 and speed > (1.0 + _ROUNDING) * p.pace[j]:
                verdict.refuse(PointWord.TOO_FAST, j, speed, p.pace[j])
                return


def merge_tolerances(points: Points, p: PointLimits, verdict: Verdict) -> None:
    """
    Merge the tolerances of a goal into the usual ones, by the rules of control_msgs.

    Zero means the usual one, a negative number no restriction.

    :param points: have those of a message.
    :param verdict: says which is no number.
    """
    for k in range(3):
        for j in range(len(points.shift)):
            if not (math.isfinite(points.path[k, j]) and math.isfinite(points.tolerance[k, j])):
                verdict.refuse(PointWord.TOLERANCE, j, k)
                return
            points.path[k, j] = _merged(points.path[k, j], p.path[k, j])
            points.tolerance[k, j] = _merged(points.tolerance[k, j], p.tolerance[k, j])
    points.goal_time = _merged(points.goal_time, p.goal_time)


def _merged(value: float, usual: float) -> float:
    if value == 0.0:
        return usual
    return min(value, NONE) if value > 0.0 else NONE


def rest_after(p: PointLimits, j: int, q: float, qd: float) -> float:
    """
    Return where a joint comes to rest as fast as it may.

    :param p: what the reference may do.
    :param j: number of the joint.
    :param q: position.
    :param qd: velocity.
    """
    rest = q + qd * abs(qd) / positive(2.0 * p.acceleration[j])
    if p.continuous[j] > 0.0:
        return rest
    return clamped(rest, min(q, p.lower[j]), max(q, p.upper[j]))  # not beyond if it was inside


def hold_others(points: Points, p: PointLimits) -> None:
    """
    Let joints that the points leave out come to rest as fast as they may.

    :param points: ``start`` is the reference now.
    :param p: what the reference may do.
    """
    for j in range(len(points.held)):
        if points.held[j] > 0.0:
            q, qd = points.start[0, j], points.start[1, j]
            rest = rest_after(p, j, q, qd)
            for i in range(int(points.count)):
                points.q[i, j] = rest


def sort_points(points: Points, p: PointLimits, verdict: Verdict) -> None:
    """
    Say what points of a message that is no goal are good for.

    A single point that is due at once or soon is one of a stream, as servoing nodes send them: a
    trajectory would come to rest at each of them, twenty times per second or more.

    :param points: ``begin`` is the control time, ``start`` the reference now.
    :param p: what the reference may do.
    :param verdict: says if they come too late.
    """
    points.use, points.within = Use.TRAJECTORY, 0.0
    ahead = points.times[0]
    left = points.offset + ahead - points.begin
    if points.count > 1.0 or ahead > STREAM_HORIZON or left > STREAM_HORIZON:
        return
    hold_others(points, p)
    if left < 0.0:
        verdict.refuse(PointWord.ENDED, NOBODY, -left)
    elif ahead == 0.0:
        points.use = Use.SET_POINT
    else:
        # It is one to pass at a speed that lasts until the next one comes, somewhat late.
        points.use, points.within = Use.PASSED, left + LATENESS * ahead
