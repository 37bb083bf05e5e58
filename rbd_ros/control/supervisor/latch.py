# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The faults of an activation: each cause once, with what was seen first."""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause, CAUSES, is_by_operator, is_lost
from rbd_ros.control.interface.events import NOBODY, NONE

__all__ = ['Latch', 'Latched']

_CAUSES = tuple(Cause)


class Latched(NamedTuple):
    """One cause at one time, with what was seen."""

    cause: Cause
    time: float  # s, steady clock
    word: int
    joint: int
    numbers: tuple[float, float, float]


class Latch(Record):
    """Causes in the order in which they came."""

    causes: float = field('', '', 'how many causes there are')
    order: Vector = field(f'{CAUSES}', '', 'for each cause: 0, or the place at which it came')
    details: Matrix = field(f'{CAUSES} 6', '', 'for each cause that came: steady time, word, '
                                               'joint, three numbers')

    def clear(self) -> None:
        """Forget every cause."""
        self.causes = 0.0
        self.order[:] = 0.0

    def add(self, steady: float, cause: int, word: int, a: float, b: float) -> bool:
        """
        Keep a cause, unless it has come before: what was seen first counts.

        :param cause: its code.
        :param word: what exactly.
        :returns: whether it is kept; it is about no joint.
        """
        if self.order[cause] > 0.0:
            return False
        self.causes += 1.0
        self.order[cause] = self.causes
        self.details[cause, 0] = steady
        self.details[cause, 1] = word
        self.details[cause, 2] = NOBODY
        self.details[cause, 3] = _kept(a)
        self.details[cause, 4] = _kept(b)
        self.details[cause, 5] = 0.0
        return True

    def point_at(self, cause: int, joint: int, c: float) -> None:
        """
        Say which joint a cause is about, which was just kept.

        :param cause: its code.
        :param c: third number of its sentence.
        """
        self.details[cause, 2] = joint
        self.details[cause, 5] = _kept(c)

    def copy(self, other: Latch) -> None:
        """Have the causes of another one."""
        self.causes = other.causes
        self.order[:] = other.order
        self.details[:] = other.details

    def has(self, cause: int) -> bool:
        """Return whether a cause has come."""
        return self.order[cause] > 0.0

    def only_lost(self) -> bool:
        """Return whether each is that the state cannot be trusted; so it is without any."""
        for k in range(len(self.order)):
            if self.order[k] > 0.0 and not is_lost(k):
                return False
        return True

    def only_operator(self) -> bool:
        """Return whether each was wanted by the operator; so it is without any."""
        for k in range(len(self.order)):
            if self.order[k] > 0.0 and not is_by_operator(k):
                return False
        return True

    def listed(self) -> list[Latched]:
        """Return the causes, first one first; ordinary Python."""
        if self.causes == 0.0:
            return []
        found = sorted((place, k) for k, place in enumerate(self.order) if place > 0.0)
        rows = [(k, [float(self.details[k, i]) for i in range(6)]) for _, k in found]
        return [Latched(_CAUSES[k], row[0], int(row[1]), int(row[2]), (row[3], row[4], row[5]))
                for k, row in rows]


def _kept(number: float) -> float:
    """Return a number of a sentence; what is none becomes one that says so."""
    return number if -NONE <= number <= NONE else NONE
