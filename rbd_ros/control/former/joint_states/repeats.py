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
Whether a sensor repeats itself, bit for bit, although it never did.

Noise is what shows that a sensor is alive. While a robot stands at its start, each joint is
watched for it: positions that go up and down, never the same twice. Such a sensor cannot
repeat itself for long. One that has shown no noise, or the steps of a coarse encoder, may: it
repeats itself whenever its joint stands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ['Repeats']

#: rad or m; smaller changes are rounding errors of a simulation, not noise
_LEAST = 1e-9

#: turns of the position after which a sensor counts as noisy
_TURNS = 50

#: messages in a row that may repeat a position, however low the rate is
_MESSAGES = 5

#: how much longer a whole message may be repeated: a driver that reads slowly, or waits for its
#: bus, publishes old positions of all joints, and no single sensor is to blame
_WHOLE = 5.0

#: bounds of the kernels for a number that is 1 where a position is repeated, else 0
_UNUSUAL, _USUAL = 0.5, 2.0


class Repeats:
    """Count repeated positions of the controlled joints."""

    def __init__(self, joints: int) -> None:
        """
        Know nothing of any sensor.

        :param joints: how many.
        """
        self.present = np.zeros(joints, dtype=bool)  # repeated by the last message
        self.bound = np.full(joints, _USUAL)  # of the kernels
        self.restart()

    def restart(self) -> None:
        """Forget every message and what it showed of the sensors."""
        n = len(self.bound)
        self.learning = True  # the robot stands and is on the slow path
        self.present[:] = False
        self.bound[:] = _USUAL
        self._last, self._time = [0.0] * n, [0.0] * n  # step, s since the first repetition
        self._turns, self._count, self._alone = [0] * n, [0] * n, [0] * n
        self._coarse = [False] * n

    def take(self, moves: Sequence[tuple[int, int, float, float]]) -> None:
        """
        Take a message.

        :param moves: joint, its place in the message, change of its position, s since the last.
        """
        stands = not any(step for _, _, step, _ in moves)  # the message as a whole, perhaps
        for c, _, step, elapsed in moves:
            self.present[c] = step == 0.0
            if self.learning:
                self._learn(c, step, stands)
            elif self.bound[c] == _USUAL:
                continue
            elif step == 0.0:
                self._time[c] += elapsed
                self._count[c] += 1
                self._alone[c] += not stands
            else:
                if self._alone[c] > 1:  # it can repeat itself: that proves nothing any more
                    self.bound[c] = _USUAL
                self._time[c], self._count[c], self._alone[c] = 0.0, 0, 0

    def _learn(self, c: int, step: float, stands: bool) -> None:
        last, self._last[c] = self._last[c], step
        if stands:
            return
        if step in (0.0, -last):  # the same value as before, or as the time before that
            self._coarse[c] = True
        elif step * last < 0.0 and abs(step) > _LEAST:
            self._turns[c] += 1
        noisy = self._turns[c] >= _TURNS and not self._coarse[c]
        self.bound[c] = _UNUSUAL if noisy else _USUAL

    @property
    def unusual(self) -> npt.NDArray[np.bool_]:
        """Return for which joints a repetition is unusual."""
        return self.bound == _UNUSUAL

    @property
    def calm(self) -> bool:
        """Return whether no sensor repeats itself that never did."""
        return not any(self._count)

    def stuck(self, patience: float) -> int | None:
        """
        Return the first joint whose sensor repeats itself for too long, if there is one.

        :param patience: s for which it may while others do not; five times as long together.
        """
        for c, (count, time, alone) in enumerate(zip(self._count, self._time, self._alone)):
            most = patience if alone > 1 else _WHOLE * patience
            if count >= _MESSAGES and time >= most * (1.0 - 1e-9):
                return c
        return None
