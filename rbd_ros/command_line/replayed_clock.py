# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
When the recorded controller took each joint state.

A controller follows its reference by the time at which it takes a state, not by its stamp. On a
busy machine some are taken late, and where a reference moves fast that is a large difference. A
report of the controller has the stamp of its state and this time.

Between two reports, and in recordings whose reports do not tell it, the torques do: a report has
the torque that was sent, and the command with the same torque the time of sending, which is that
of the state but for the time of one step, and however long the machine stood still in between.
Between two such reports the commands are counted: if they are as many as the states, each has its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rbd_ros.compiler import Array

__all__ = ['ControlClock']

#: s that a state may be late; whatever is farther away belongs to another state.
_LATEST = 1.0


class ControlClock:
    """
    Control time by stamps; without reports and commands that tell more, the stamps themselves.

    :param stamps: of all states, s, increasing.
    :param reports: stamp and torques of each report.
    :param commands: time of sending in s, and torques, in the order of sending.
    :param taken: stamp and control time of each report that has one, s.
    """

    def __init__(self, stamps: Array, reports: Sequence[tuple[float, Array]],
                 commands: Sequence[tuple[float, Array]],
                 taken: Sequence[tuple[float, float]] = ()) -> None:
        #: states that the controller answered, and that were not recorded
        self.lost = 0
        self._stamps = self._times = np.zeros(0)
        self._usual = 0.0  # s that a state is late
        times = self._sent(stamps, _met(stamps, reports, commands), [when for when, _ in commands])
        if len(told := _increasing(np.array(sorted(taken)).reshape(-1, 2))) > 1:
            times = _between(told, times)
        if len(times) < 2:
            return
        times[:, 1] -= (times[:, 1] - times[:, 0]).min()  # the clocks of two computers may differ
        self._stamps, self._times = times.T
        self._usual = float(np.median(self._times - self._stamps))

    def _sent(self, stamps: Array, met: Sequence[tuple[int, int]], sent: Sequence[float]) -> Array:
        """Return stamps and times of sending where both are known; count what was lost."""
        known: list[tuple[float, float]] = []
        for (state, command), (next_state, next_command) in pairwise(met):
            states, answers = next_state - state, next_command - command
            self.lost += max(0, answers - states)
            count = states if states == answers else 1
            known += [(stamps[state + k], sent[command + k]) for k in range(count)]
        if len(met) > 1:
            known.append((stamps[met[-1][0]], sent[met[-1][1]]))
        return _increasing(np.array(known).reshape(-1, 2))

    def at(self, stamp: float) -> float:
        """Return the control time at which the state with a stamp was taken, s."""
        if not len(self._stamps):
            return stamp
        if stamp < self._stamps[0]:  # time goes on wherever stamps do: points follow each other
            return stamp + min(self._usual, float(self._times[0] - self._stamps[0]))
        if stamp > self._stamps[-1]:
            return stamp + max(self._usual, float(self._times[-1] - self._stamps[-1]))
        return float(np.interp(stamp, self._stamps, self._times))


def _increasing(times: Array) -> Array:
    """Return those rows of stamps and times in which both are later than in all rows before."""
    before = np.vstack([np.full((1, 2), -np.inf), np.maximum.accumulate(times)[:-1]])
    return times[(times > before[:len(times)]).all(axis=1)]


def _between(told: Array, sent: Array) -> Array:
    """
    Return the control time by stamps, of reports and of what was sent between them.

    :param told: stamps and control times of reports.
    :param sent: stamps and times of sending.
    """
    both, of_report, of_command = np.intersect1d(told[:, 0], sent[:, 0], return_indices=True)
    if not len(both):
        return told
    # Sending is later by one step: by the least that was seen on both sides, as the machine may
    # have stood still between a state and its torque.
    late = sent[of_command, 1] - told[of_report, 1]
    place = np.searchsorted(both, sent[:, 0])
    late = np.minimum(late[np.maximum(place - 1, 0)], late[np.minimum(place, len(both) - 1)])
    times = np.column_stack([sent[:, 0], sent[:, 1] - late])
    after = np.searchsorted(told[:, 0], times[:, 0])
    inside = (0 < after) & (after < len(told))
    inside[inside] &= ((times[inside, 1] > told[after[inside] - 1, 1])
                       & (times[inside, 1] < told[after[inside], 1]))
    inside[np.searchsorted(sent[:, 0], both)] = False  # a report knows better
    merged = np.vstack([told, times[inside]])
    return _increasing(merged[np.argsort(merged[:, 0], kind='stable')])


def _met(stamps: Array, reports: Sequence[tuple[float, Array]],
         commands: Sequence[tuple[float, Array]]) -> list[tuple[int, int]]:
    """Return the numbers of states and of the commands that answered them, both increasing."""
    places: dict[bytes, list[int]] = {}
    for k, (_, torque) in enumerate(commands):
        places.setdefault(np.asarray(torque, float).tobytes(), []).append(k)
    # a robot at rest gets one torque many times, and nobody knows which was for which state
    found = [(stamp, each[0]) for stamp, torque in reports
             if len(each := places.get(np.asarray(torque, float).tobytes(), [])) == 1]
    usual = float(np.median([commands[k][0] - stamp for stamp, k in found])) if found else 0.0
    met = [(-1, -1)]
    for stamp, command in found:
        state = int(np.searchsorted(stamps, stamp))
        if (state < len(stamps) and stamps[state] == stamp
                and abs(commands[command][0] - stamp - usual) < _LATEST
                and state > met[-1][0] and command > met[-1][1]):
            met.append((state, command))
    return met[1:]
