# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The way back after a contact: along the path that the joints have come, and no farther.

While the robot works, positions are kept at even distances. On the way back the reference runs
along them in reverse, slowly, for a bounded distance. Distances are those of the joint that moves
farthest, so that no joint exceeds the speed.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Joints, NEVER, NONE, Structure
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.given import Inputs

__all__ = ['KEPT', 'WayBack', 'WayBackLimits']

#: positions that are kept
KEPT = 48

#: parts of the distance between two of them
_PARTS = 32.0

#: s in which the way back reaches its speed
_RISE = 0.1

#: s between two steps at most
_GAP = 0.1


class WayBackLimits(Record):
    """How far and how fast a robot goes back."""

    distance: float = field('', 'rad or m', 'of the joint that moves farthest')
    speed: float = field('', 'rad/s or m/s', 'of the joint that moves fastest')

    def fill(self, g: Inputs) -> None:
        """
        Take limits.

        :param g: what was given.
        """
        self.distance = g.values.contact.retract_distance
        self.speed = g.values.contact.retract_speed


class WayBack(Record):
    """The path that the joints have come, and how far they have gone back."""

    first: float = field('', '', 'place of the newest position')
    entries: float = field('', '', 'positions that are kept')
    since: float = field('', 's', 'control time at which the way back began', NEVER)
    time: float = field('', 's', 'control time of the last step', NEVER)
    gone: float = field('', 'rad or m', 'by which the reference has gone back')
    speed: float = field('', 'rad/s or m/s', 'of the reference')
    path: Matrix = field(f'{KEPT} n', 'rad or m', 'positions, at even distances')
    state: Matrix = field('3 n', 'rad or m, /s, /s^2', 'reference')

    def forget(self) -> None:
        """Forget the path."""
        self.entries = 0.0

    def note(self, p: WayBackLimits, joints: Joints, s: Structure) -> None:
        """
        Keep a position, if it is far enough from the last one.

        :param p: limits.
        :param joints: the present state.
        :param s: which joints are which.
        """
        n, far = len(s.index), NEVER
        if self.entries > 0.0:
            far = 0.0
            for j in range(n):
                i = place_of(s, j)
                way = joints.q[i] - self.path[int(self.first), j]
                far = max(far, abs(turn(way) if s.continuous[i] > 0.0 else way))
        if far > NEVER and not far >= p.distance / _PARTS:
            return
        self.first = _place(self.first + 1.0)
        self.entries = min(self.entries + 1.0, float(KEPT))
        for j in range(n):
            q = joints.q[place_of(s, j)]
            self.path[int(self.first), j] = q if math.isfinite(q) else 0.0

    def begin(self, joints: Joints, s: Structure, now: float) -> None:
        """
        Begin the way back at the present position, at rest.

        :param joints: the present state.
        :param s: which joints are which.
        :param now: control time, s.
        """
        self.since, self.time, self.gone, self.speed = now, now, 0.0, 0.0
        for j in range(len(s.index)):
            q = joints.q[place_of(s, j)]
            self.state[0, j] = q if math.isfinite(q) else 0.0
            self.state[1, j] = 0.0
            self.state[2, j] = 0.0

    def advance(self, p: WayBackLimits, s: Structure, now: float) -> bool:
        """
        Move the reference on its way back; return whether it has come to its end.

        :param p: limits.
        :param s: which joints are which.
        :param now: control time, s.
        """
        n, elapsed = len(s.index), now - self.time
        self.time = now if math.isfinite(now) else self.time
        if not 0.0 < elapsed <= _GAP:
            elapsed = 0.0
        distance, speed = _bounded(p.distance), _bounded(p.speed)
        left = max(distance - self.gone, 0.0)
        rate = speed / _RISE
        self.speed = min(min(self.speed + rate * elapsed, speed), math.sqrt(2.0 * rate * left))
        step = min(self.speed * elapsed, left)
        for j in range(n):
            self.state[1, j] = 0.0
        while step > 0.0 and self.entries > 0.0:
            step = self._towards(s, step)
        return not (self.entries > 0.0 and left > 1e-6 * distance)

    def _towards(self, s: Structure, step: float) -> float:
        """Go to the last position that was kept, or part of the way; return what is left."""
        n, k, far = len(s.index), int(self.first), 0.0
        for j in range(n):
            far = max(far, abs(self._way(s, k, j)))
        if not far <= NONE:  # no robot was there
            self.entries = 0.0
            return 0.0
        share = min(step / far, 1.0) if far > 0.0 else 1.0
        for j in range(n):
            way = self._way(s, k, j)
            self.state[0, j] += share * way
            if far > 0.0:
                self.state[1, j] = self.speed * way / far
        if share >= 1.0:
            self.entries -= 1.0
            self.first = _place(self.first - 1.0)
        self.gone += share * far
        return step - share * far

    def _way(self, s: Structure, k: int, j: int) -> float:
        """Return how far a joint is from a position that was kept."""
        way = self.path[k, j] - self.state[0, j]
        return turn(way) if s.continuous[place_of(s, j)] > 0.0 else way


def _bounded(value: float) -> float:
    """Return a bound; one that is no number allows nothing."""
    return value if 0.0 <= value <= NONE else 0.0


def _place(k: float) -> float:
    """Return a place in the ring."""
    if k >= KEPT:
        return k - KEPT
    return k + KEPT if k < 0.0 else k
