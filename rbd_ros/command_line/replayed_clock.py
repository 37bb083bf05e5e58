# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
When the recorded controller took each joint state, by the torque that it sent for it.

A controller follows its reference by the time at which a state arrives, not by its stamp. On a
busy machine some arrive late, and where a reference moves fast that is a large difference. A
report of the controller has the stamp of its state and the torque that was sent; the command with
the same torque has the time of sending, which is that of the state but for the time of one step.
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
    Control time by stamps; without commands that tell more, the stamps themselves.

    :param stamps: of all states, s, increasing.
    :param reports: stamp and torques of each report.
    :param commands: time of sending in s, and torques, in the order of sending.
    """

    def __init__(self, stamps: Array, reports: Sequence[tuple[float, Array]],
                 commands: Sequence[tuple[float, Array]]) -> None:
        #: states that the controller answered, and that were not recorded
        self.lost = 0
        self._stamps = self._times = np.zeros(0)
        self._usual = 0.0  # s that a state is late
        met = _met(stamps, reports, commands)
        if len(met) < 2:
            return
        sent = np.array([when for when, _ in commands])
        known = []
        for (state, command), (next_state, next_command) in pairwise(met):
            states, answers = next_state - state, next_command - command
            self.lost += max(0, answers - states)
            count = states if states == answers else 1
            known += [(stamps[state + k], sent[command + k]) for k in range(count)]
        known.append((stamps[met[-1][0]], sent[met[-1][1]]))
        times = np.array(known)
        times[:, 1] -= (times[:, 1] - times[:, 0]).min()  # the clocks of two computers may differ
        later = np.append(True, np.diff(np.maximum.accumulate(times[:, 1])) > 0.0)
        self._stamps, self._times = times[later].T
        self._usual = float(np.median(self._times - self._stamps))

    def at(self, stamp: float) -> float:
        """Return the control time at which the state with a stamp was taken, s."""
        if not len(self._stamps):
            return stamp
        if stamp < self._stamps[0]:
            return min(stamp + self._usual, float(self._times[0]))
        if stamp > self._stamps[-1]:
            return max(stamp + self._usual, float(self._times[-1]))
        return float(np.interp(stamp, self._stamps, self._times))


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
