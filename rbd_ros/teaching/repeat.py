# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""A lesson as a motion: within limits at any speed, once or in a loop, with a slow way to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError
from rbd_ros.identification.excitation import Bounds
from rbd_ros.model.model import Model
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.motion import Motion
from rbd_ros.teaching.strokes import Stroke, timed
from rbd_ros.teaching.turns import endless, near, unwrapped

__all__ = ['APPROACH', 'approach', 'refuse_unplanned', 'Repeated', 'repeated', 'whole_starts']

#: Share of the limits on the way to the start.
APPROACH = 0.25
#: s that a step must last to count.
_BRIEFEST = 1e-3
#: rad or m that need no way.
_SAME = 1e-9
#: How many times slower a stroke must be for somebody to be told.
_TOLD = 1.001


class Repeated(NamedTuple):
    """
    A lesson as motions.

    :param once: from the first point to the last.
    :param back: from the last to the first, for a loop; None: they are the same.
    :param slowed: what had to be slower than asked for, in words.
    """

    once: Motion
    back: Motion | None
    slowed: list[str]

    def cycle(self) -> Motion:
        """Return one round of a loop: it ends where it begins, at rest."""
        return self.once if self.back is None else joined([self.once, self.back])


def refuse_unplanned(model: Model) -> None:
    """Refuse a robot for which no lesson can be planned."""
    if not model.nq == model.nv == len(model.independent_joint_names):
        raise RbdError(f'"{model.name}" has joints with several coordinates, for which no '
                       'trajectory can be sent')
    if model.loops:
        raise RbdError(f'"{model.name}" has closed loops, whose passive joints follow the driven '
                       'ones; lessons are planned for robots without them')


def repeated(robot: Dynamics, lesson: Lesson, bounds: Bounds, speed: float = 1.0,
             here: Array | None = None) -> Repeated:
    """
    Return the motion of a lesson.

    :param lesson: of the joints of the robot.
    :param speed: times that of shown motions, and share of the limits on straight ways.
    :param here: where the joints are, (n,), if the lesson may leave some out, which then stand.
    :raises RbdError: with the point and the joint that cannot be reached.
    """
    if not 0.0 < speed < math.inf:
        raise RbdError(f'the speed is {speed:g}; it must be positive')
    if len(lesson.points) < 2:
        raise RbdError(f'the lesson has {len(lesson.points)} points; it needs at least two')
    names = robot.model.independent_joint_names
    lesson = lesson.ordered(names) if here is None else lesson.whole(names, here.tolist())
    _refuse_points(lesson, bounds)
    turning = endless(robot.model)
    lesson = replace(lesson, points=tuple(replace(point, positions=tuple(q.tolist()))
                     for point, q in zip(lesson.points, unwrapped(
                         np.array([point.positions for point in lesson.points]), turning),
                         strict=True)))
    parts, slowed = [], []
    for part in _parts(lesson):
        if isinstance(part, Stroke):
            motion, slower = timed(robot, part, bounds, speed)
            if slower > _TOLD:
                slowed.append(f'points {part.first} to {part.first + len(part.t) - 1}: '
                              f'{slower:.3g} times slower than requested, to stay within the '
                              f'limits')
        else:
            motion = _still(part, lesson.joints)
        parts.append(motion)
    if not parts:
        raise RbdError('all points of the lesson are the same')
    end, start = (np.array(lesson.points[k].positions) for k in (-1, 0))
    start = near(start, end, turning)
    back = None
    if np.abs(start - end).max() > _SAME:
        back, _ = timed(robot, _straight(end, start, len(lesson.points)), bounds, speed)
    return Repeated(joined(parts), back, slowed)


def approach(robot: Dynamics, here: Array, motion: Motion, bounds: Bounds,
             speed: float = APPROACH) -> Motion | None:
    """
    Return the straight way to where a motion begins; None if the robot is there.

    :param here: where the robot is, (n,); or (count, n), also where the controller's reference
        is, at which the way really begins. The longest of these ways is returned.
    :param speed: share of the limits.
    """
    starts = near(np.atleast_2d(here), motion.q[0], endless(robot.model))
    if np.abs(motion.q[0] - starts).max() <= _SAME:
        return None
    # it may stand a little beyond a limit, and must get back from there
    wide = bounds._replace(lower=np.minimum(bounds.lower, starts.min(axis=0)),
                           upper=np.maximum(bounds.upper, starts.max(axis=0)))
    return max((timed(robot, _straight(start, motion.q[0], 0), wide, speed)[0]
                for start in starts), key=lambda way: float(way.t[-1]))


def whole_starts(motion: Motion, joints: Sequence[str], starts: Sequence[Array]) -> Array:
    """
    Return from where all joints of a motion approach it, (count, n).

    :param joints: that a lesson moves; the others stand where the motion has them.
    :param starts: where those joints are, and where else their way may begin.
    """
    found = np.stack([motion.q[0]] * len(starts))
    found[:, [motion.joints.index(name) for name in joints]] = starts
    return found


def joined(motions: list[Motion]) -> Motion:
    """Return motions one after the other; each begins where the one before ends, at rest."""
    begin, rows = 0.0, []
    for k, each in enumerate(motions):
        first = 0 if k == 0 else 1
        rows.append((each.t[first:] + begin, each.q[first:], each.qd[first:], each.qdd[first:]))
        begin += float(each.t[-1])
    return Motion(motions[0].joints, *(np.concatenate([row[k] for row in rows])
                                       for k in range(4)))


def _straight(start: Array, end: Array, first: int) -> Stroke:
    return Stroke(np.array([0.0, 1.0]), np.stack([start, end]), shown=False, first=first)


def _still(point: Point, joints: tuple[str, ...]) -> Motion:
    """Return the rest at a point."""
    q = np.array([point.positions] * 2)
    return Motion(joints, np.array([0.0, point.dwell]), q, 0.0 * q, 0.0 * q)


def _parts(lesson: Lesson) -> Iterator[Stroke | Point]:
    """Yield strokes, and the points at which the robot rests."""
    run: list[Point] = []
    first = 1
    for k, point in enumerate(lesson.points):
        if point.time is None and run:
            yield from _stroke(run, first)
            if np.abs(np.subtract(point.positions, run[-1].positions)).max() > _SAME:
                yield _straight(np.array(run[-1].positions), np.array(point.positions), k)
            run, first = [point], k + 1
        else:
            run.append(point)
        if point.dwell:
            yield from _stroke(run, first)
            yield point
            run, first = [point], k + 1
    yield from _stroke(run, first)


def _stroke(run: list[Point], first: int) -> Iterator[Stroke]:
    if len(run) > 1:
        t = np.cumsum([0.0, *(point.time or 0.0 for point in run[1:])])
        yield Stroke(t, np.array([point.positions for point in run]), shown=True, first=first)


def _refuse_points(lesson: Lesson, bounds: Bounds) -> None:
    for number, point in enumerate(lesson.points, 1):
        for what, seconds in (('time', point.time), ('dwell', point.dwell or None)):
            if seconds is not None and seconds < _BRIEFEST:
                raise RbdError(f'point {number}: its {what} is {seconds:g} s, too short; it must '
                               f'be {_BRIEFEST:g} s or more')
        for joint, value, low, high in zip(lesson.joints, point.positions, bounds.lower,
                                           bounds.upper, strict=True):
            if not low <= value <= high:
                raise RbdError(f'point {number}: "{joint}" is at {value:.6g}, not between '
                               f'{low:.6g} and {high:.6g}; move the point, or delete it')
