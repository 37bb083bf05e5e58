# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the joints did in the last minutes: one row per picture, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import csv
import io
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rbd_ros.model.model import Model

    Array = NDArray[np.float64]

__all__ = ['Joint', 'JointHistory', 'joints_of', 'KEPT', 'QUANTITIES', 'ROWS']

KEPT = 600.0  # s that are kept at 25 pictures per second
ROWS = round(25 * KEPT)
FILLED = 250  # newest rows in which an expected torque may still be missing
#: Names of what is known of a joint at a time, with units of one that turns and one that slides.
QUANTITIES = {
    'position': ('rad', 'm'), 'velocity': ('rad/s', 'm/s'),
    'reference_position': ('rad', 'm'), 'reference_velocity': ('rad/s', 'm/s'),
    'commanded_torque': ('N.m', 'N'), 'measured_torque': ('N.m', 'N'),
    'expected_torque': ('N.m', 'N')}
_PLACE = {name: k for k, name in enumerate(QUANTITIES)}


class Joint(NamedTuple):
    """A joint with its limits, infinite where it has none."""

    name: str
    slides: bool
    lower: float
    upper: float
    speed: float
    torque: float

    def unit(self, quantity: str) -> str:
        """Return the unit of a quantity."""
        return QUANTITIES[quantity][self.slides]


def joints_of(model: Model, names: Iterable[str]) -> list[Joint]:
    """Return the named joints of a robot."""
    found = []
    for name in names:
        q, v = model.position_slice(name).start, model.velocity_slice(name).start
        slides = model.joint[model.joint_index(name)].type_name == 'prismatic'
        found.append(Joint(name, slides, float(model.lower[q]), float(model.upper[q]),
                           float(model.velocity_limit[v]), float(model.effort_limit[v])))
    return found


class JointHistory:
    """
    A ring of rows, the oldest of which make room.

    :param joints: in the order of the values of a row.
    :param rows: that are kept.
    """

    def __init__(self, joints: Sequence[Joint], rows: int = ROWS) -> None:
        self.joints = tuple(joints)
        self._times, self._stamps = np.zeros(rows), np.zeros(rows)
        self._values = np.full((rows, len(joints), len(QUANTITIES)), np.nan)
        self._count = 0  # rows that were ever added

    def __len__(self) -> int:
        """Return how many rows there are."""
        return min(self._count, len(self._times))

    def add(self, time: float, stamp: float, **values: Sequence[float] | Array) -> None:
        """
        Append a row.

        :param time: when it was seen, s since 1970; it never goes back.
        :param stamp: of the joint states, s.
        :param values: quantities by name, a number per joint; what is not given is not known.
        """
        k = self._count % len(self._times)
        self._times[k], self._stamps[k] = time, stamp
        self._values[k] = np.nan
        for name, each in values.items():
            self._values[k, :, _PLACE[name]] = each
        self._count += 1

    def expect(self, stamps: Array, torques: Array) -> None:
        """
        Fill in expected torques, which are known later than the rest.

        :param stamps: times of the torques by stamps of joint states, in order.
        :param torques: a row for each of them; what lies between two is on the line.
        """
        rows = self._order(FILLED)
        here, place = self._stamps[rows], _PLACE['expected_torque']
        rows = rows[(here >= stamps[0]) & (here <= stamps[-1])
                    & np.isnan(self._values[rows, :, place]).any(axis=1)]
        for j in range(len(self.joints)):
            self._values[rows, j, place] = np.interp(self._stamps[rows], stamps, torques[:, j])

    def window(self, begin: float, end: float, joint: str) -> tuple[Array, dict[str, Array]]:
        """Return the times of the rows from begin to end, and the quantities of a joint."""
        rows = self._order()
        first, last = np.searchsorted(self._times[rows], (begin, np.nextafter(end, np.inf)))
        rows = rows[first:last]
        j = [each.name for each in self.joints].index(joint)
        return self._times[rows], {name: self._values[rows, j, k]
                                   for name, k in _PLACE.items()}

    def table(self, notes: Iterable[tuple[float, str]] = ()) -> bytes:
        """
        Return all rows as text with commas, the first line with names and units.

        A number that is not known is empty; the others are written so that they are read as the
        same numbers.

        :param notes: times with words, each for the first row that is not before it.
        """
        rows = self._order()
        times, words = self._times[rows], [''] * len(rows)
        for time, text in notes:
            k = int(np.searchsorted(times, time))
            if k < len(words) and (k or time >= times[0]):
                words[k] = f'{words[k]}; {text}' if words[k] else text
        file = io.StringIO()
        out = csv.writer(file, lineterminator='\n')
        out.writerow(['time [s since 1970]', 'stamp [s]', *(
            f'{name}.{joint.name} [{joint.unit(name)}]'
            for joint in self.joints for name in QUANTITIES), 'event'])
        for row, note in zip(rows.tolist(), words, strict=True):
            numbers = self._values[row].ravel().tolist()
            out.writerow([self._times[row].item(), self._stamps[row].item(),
                          *('' if x != x else x for x in numbers), note])
        return file.getvalue().encode()

    def _order(self, newest: int | None = None) -> NDArray[np.int64]:
        """Return the places of the rows, the oldest first; of the newest only, if so many."""
        count = len(self) if newest is None else min(newest, len(self))
        return np.arange(self._count - count, self._count) % len(self._times)
