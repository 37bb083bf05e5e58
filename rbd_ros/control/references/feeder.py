# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Trajectories of any length, put into the ring of the step piece by piece, ahead of time.

A feed makes the pieces and asks for more points; a feeder is what a slower thread has of it.
"""

from __future__ import annotations

import enum

from rbd_ros.compiler import procedure
from rbd_ros.compiler.language.whole import minimum
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.interface.results import Tolerances
from rbd_ros.control.references.pieces import Path, PathKind, PIECES, Ring, slot_of
from rbd_ros.control.references.points import Points
from rbd_ros.control.references.polynomials import knot_time, make_piece
from rbd_ros.control.references.trajectory import PointHandler

__all__ = ['Feed', 'Feeder', 'handle_feed', 'Turn']

#: pieces of the trajectory in use that a new one leaves, until the step takes it over
_KEPT = 16

#: s ahead, at most, to the end of a part of a stream of trajectories
WINDOW = 0.3

#: pieces already gone that stay, for a clock that is set back
_BEHIND = 8

#: pieces that one call puts at most, so that it delays nobody
_AT_ONCE = 16


class Turn(enum.IntEnum):
    """What can be done about the ring."""

    START = 0  # put the beginning of a trajectory into it; the one before is not continued
    FEED = 1  # put further pieces where there is room
    CATCH_UP = 2  # put the piece for now, if all pieces in it are over after a long pause


class Feed(Record):
    """How far the newest trajectory has come into the ring."""

    task: float = field('', '', 'what is to be done, see Turn')
    now: float = field('', 's', 'control time of the next step')
    number: float = field('', '', 'of the newest trajectory')
    first: float = field('', '', 'serial number of its first piece')
    next: float = field('', '', 'serial number of the piece that is put next')
    left: float = field('', '', 'pieces that are still to be put')
    due: float = field('', '', 'there is no room before this piece is in use', -1.0)
    put: float = field('', '', 'pieces that the last call has put')


def handle_feed(feed: Feed, points: Points, ring: Ring, path: Path) -> None:
    """
    Keep the ring full.

    :param feed: ``task`` says what to do.
    :param points: of the newest trajectory, which has begun.
    :param ring: receives the pieces.
    :param path: of the state: says which piece is in use; only read.
    """
    feed.put = 0.0
    if feed.task == Turn.START:
        _start(feed, points, ring, path)
        _feed(feed, points, ring, path)
    elif feed.task == Turn.FEED:
        _feed(feed, points, ring, path)
    elif feed.task == Turn.CATCH_UP:
        _catch_up(feed, points, ring, path)


def _is_window(points: Points) -> bool:
    """Return whether points that were begun before now, and end soon, are a part of a stream."""
    return (points.first > 0.0 and points.goal == 0.0 and points.rates > 0.0
            and points.end - points.begin <= WINDOW and points.times[0] == 0.0)


def _start(feed: Feed, points: Points, ring: Ring, path: Path) -> None:
    """Announce a trajectory in the ring."""
    if path.kind != PathKind.RING:
        feed.first = feed.next
    elif path.number == feed.number:
        feed.first = min(feed.next, path.piece + _KEPT)
    # Else: a newer trajectory than the one in use, that was never taken, is written over.
    feed.number += 1.0
    feed.next, feed.left, feed.due = feed.first, points.pieces, -1.0
    ring.number = 0.0  # no header while it is written
    ring.first, ring.pieces = feed.first, points.pieces
    ring.start, ring.end = points.begin, points.end
    last = int(points.count) - 1
    ring.window = 1.0 if _is_window(points) else 0.0
    ring.shifts = points.offset == points.begin
    ring.final[:] = points.q[last] + points.shift + ring.window * points.beyond
    ring.held[:] = points.held
    ring.goal, ring.goal_time = points.goal, min(points.goal_time, NONE)
    for k in range(3):
        ring.path[k] = minimum(points.path[k], NONE)
        ring.tolerance[k] = minimum(points.tolerance[k], NONE)
    ring.number = feed.number


def _feed(feed: Feed, points: Points, ring: Ring, path: Path) -> None:
    """Put further pieces where there is room."""
    if feed.left == 0.0 or path.piece < feed.due:
        return
    _put(feed, points, ring, min(_room(feed, path) - feed.next, feed.left))
    if feed.put > 0.0 and feed.next >= feed.first + PIECES:
        # A look takes time, and most have no effect.
        feed.due = feed.next - PIECES + _BEHIND + 0.5 * _AT_ONCE


def _room(feed: Feed, path: Path) -> float:
    """Return the first serial number for which there is no room."""
    own = feed.first + PIECES
    if path.number == feed.number:  # it was taken; what has been left needs no more
        if path.kind == PathKind.RING:
            return max(own, path.piece - _BEHIND + PIECES)
        return feed.next
    return min(own, path.piece + PIECES) if path.kind == PathKind.RING else own


def _catch_up(feed: Feed, points: Points, ring: Ring, path: Path) -> None:
    """
    Put the piece for now.

    The pieces before it are left out; the step finds it by its time. A trajectory that is not
    taken over yet waits.
    """
    k, now = int(feed.next - feed.first), feed.now - path.late
    if (feed.left == 0.0 or path.kind != PathKind.RING or path.number != feed.number
            or now < knot_time(points, k)):
        return
    while k < int(points.pieces) - 1 and now >= knot_time(points, k + 1):
        k += 1
    feed.next, feed.due, feed.left = feed.first + k, -1.0, points.pieces - k
    _put(feed, points, ring, feed.left)


def _put(feed: Feed, points: Points, ring: Ring, most: float) -> None:
    """Put the next pieces into their slots; the number of a slot comes last."""
    while feed.put < min(most, _AT_ONCE):
        i, k = int(feed.next - feed.first), slot_of(feed.next, PIECES)
        ring.of[k] = 0.0
        ring.serial[k] = feed.next
        ring.begin[k], ring.until[k] = knot_time(points, i), knot_time(points, i + 1)
        make_piece(points, i, ring.coefficients, 6 * k)
        ring.of[k] = feed.number
        feed.next += 1.0
        feed.left -= 1.0
        feed.put += 1.0


class Feeder:
    """
    Keep the ring full.

    One thread calls ``begin`` and ``feed``. ``catch_up`` is called by the thread of the step,
    between two steps.
    """

    def __init__(self, ring: Ring, path: Path) -> None:
        """
        Take the ring, which is empty.

        :param ring: receives the pieces.
        :param path: of the state: says which piece is in use; only read.
        """
        self._ring, self._path, self.progress = ring, path, Feed(ring.sizes)
        #: whether the ring was written; whoever keeps a copy of it resets this
        self.changed = False
        self._attach(Points({**ring.sizes, 'k': 1}))  # compiled here, not while somebody waits

    def _attach(self, points: Points) -> None:
        self._run = procedure.bind(handle_feed, self.progress, points, self._ring, self._path)

    @property
    def left(self) -> int:
        """Return how many pieces of the newest trajectory are still to be put into the ring."""
        return int(self.progress.left)

    def begin(self, trajectory: PointHandler, goal: int = 0,
              tolerances: Tolerances | None = None) -> int:
        """
        Put the beginning of a trajectory into the ring; the one before is not continued.

        :param trajectory: that has begun at the present reference.
        :param goal: number of its goal; 0: none.
        :param tolerances: of the goal.
        :returns: the number of the trajectory.
        """
        points = trajectory.points
        points.goal, points.goal_time = goal, NONE
        points.path[:] = points.tolerance[:] = NONE
        if tolerances is not None:
            points.goal_time = tolerances.goal_time
            points.path[:], points.tolerance[:] = tolerances.path, tolerances.goal
        self._attach(points)
        self._do(Turn.START)
        return int(self.progress.number)

    def feed(self) -> int:
        """
        Put further pieces where there is room; to be called often, best after each step.

        :returns: how many were put.
        """
        return self._do(Turn.FEED)

    def catch_up(self, now: float) -> None:
        """
        Put the piece for now into the ring, if all pieces in it are over after a long pause.

        :param now: control time of the next step, s.
        """
        self.progress.now = now
        self._do(Turn.CATCH_UP)

    def _do(self, task: Turn) -> int:
        self.progress.task = task
        self._run()
        self.changed = self.changed or task == Turn.START or self.progress.put > 0.0
        return int(self.progress.put)
