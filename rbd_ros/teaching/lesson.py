# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
What was taught: points of the joints, and how to get from each to the next.

A point without a time is reached on the straight way in joint space, from rest to rest, as fast as
limits allow. A point with a time belongs to a shown motion: it is passed without a stop, that long
after the point before. A dwell makes the robot rest at a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rbd_ros.errors import RbdError

__all__ = ['Lesson', 'Point']


@dataclass(frozen=True)
class Point:
    """
    One point.

    :param positions: rad or m, in the order of the joints.
    :param time: s from the point before, passed without a stop; None: straight, from rest to rest.
    :param dwell: s to rest here.
    :param name: that somebody gave it.
    """

    positions: tuple[float, ...]
    time: float | None = None
    dwell: float = 0.0
    name: str = ''


@dataclass(frozen=True)
class Lesson:
    """What was taught; each change returns another lesson. Points are counted from 1."""

    joints: tuple[str, ...]
    points: tuple[Point, ...]

    def ordered(self, joints: Sequence[str]) -> Lesson:
        """
        Return the lesson in another order of the joints.

        :raises RbdError: if it is about other joints.
        """
        if sorted(joints) != sorted(self.joints):
            raise self._foreign(joints)
        places = [self.joints.index(name) for name in joints]
        return Lesson(tuple(joints), tuple(replace(point, positions=tuple(
            point.positions[k] for k in places)) for point in self.points))

    def among(self, joints: Sequence[str]) -> Lesson:
        """
        Return the lesson in the order of a robot's joints, of which it may leave some out.

        :raises RbdError: if it moves others.
        """
        if not set(self.joints) <= set(joints):
            raise self._foreign(joints)
        return self.ordered([name for name in joints if name in self.joints])

    def whole(self, joints: Sequence[str], here: Sequence[float]) -> Lesson:
        """
        Return the lesson for all joints of a robot: those that it leaves out stand.

        :param here: where the joints are.
        :raises RbdError: if it moves others.
        """
        mine = self.among(joints)
        stand = dict(zip(joints, here, strict=True))
        return Lesson(tuple(joints), tuple(replace(point, positions=tuple((
            stand | dict(zip(mine.joints, point.positions, strict=True))).values()))
            for point in mine.points))

    def _foreign(self, joints: Sequence[str]) -> RbdError:
        return RbdError(f'the lesson moves {", ".join(self.joints)}; the robot has '
                        f'{", ".join(joints)}')

    def added(self, point: Point, number: int | None = None) -> Lesson:
        """
        Return the lesson with one more point.

        A point without a time, put into a shown motion, parts it: the rest begins anew behind it.

        :param number: that it gets; None: the last.
        """
        place = len(self.points) if number is None else self._place(number, more=1)
        if len(point.positions) != len(self.joints):
            raise RbdError(f'a point needs {len(self.joints)} positions, of '
                           f'{", ".join(self.joints)}; got {len(point.positions)}')
        rest = self.points[place:]
        if rest and point.time is None:
            rest = (replace(rest[0], time=None), *rest[1:])
        return self._with(*self.points[:place], point, *rest)

    def without(self, number: int) -> Lesson:
        """
        Return the lesson without a point.

        In a shown motion the next point is passed when it was; where a motion began with the
        point, it begins with the next: what is far away would be reached in its short time.
        """
        place = self._place(number)
        gone, rest = self.points[place], self.points[place + 1:]
        if rest and rest[0].time is not None:
            time = None if gone.time is None else gone.time + rest[0].time
            rest = (replace(rest[0], time=time), *rest[1:])
        return self._with(*self.points[:place], *rest)

    def moved(self, number: int, to: int) -> Lesson:
        """Return the lesson with a point, now without a time, at another place in the order."""
        point = self.points[self._place(number)]
        if self._place(to) == number - 1:
            return self
        return self.without(number).added(replace(point, time=None), to)

    def changed(self, number: int, *, name: str | None = None,
                dwell: float | None = None) -> Lesson:
        """
        Return the lesson with another name of a point, or another rest there.

        :param name: None: that which it has.
        :param dwell: s; None: that which it has.
        """
        place = self._place(number)
        before = self.points[place]
        point = replace(before, name=before.name if name is None else name,
                        dwell=before.dwell if dwell is None else dwell)
        return replace(self, points=(*self.points[:place], point, *self.points[place + 1:]))

    def _with(self, *points: Point) -> Lesson:
        """Return it with other points; the first has no time, since no point is before it."""
        first = (replace(point, time=None) for point in points[:1])
        return replace(self, points=(*first, *points[1:]))

    def _place(self, number: int, more: int = 0) -> int:
        most = len(self.points) + more
        if not 1 <= number <= most:
            raise RbdError(f'there is no point {number}; points are 1 to {most}')
        return number - 1
