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

"""Words about load, start check, closed loops and delay, and their sentences."""

from __future__ import annotations

from collections.abc import Callable
import enum

__all__ = ['LoadWord', 'TEXTS']


class LoadWord(enum.IntEnum):
    """What load, start check, closed loops and the delay of the loop have to say."""

    LATE_BY_OUR_CLOCK = 450  # s: median age, high age, given delay
    LATE_IF_OUR_CLOCK = 451  # the same
    GAINS_FOR_DELAY = 452  # s: delay for which the gains that were asked for may be unstable


def _late(clock: str) -> Callable[[str, float, float, float], str]:
    return lambda joint, middle, high, given: (
        f'joint states are {1e3 * middle:.3g} to {1e3 * high:.3g} ms old when they arrive{clock}: '
        'damping, stops and holds are made for that from now on, not for delay '
        f'{1e3 * given:.3g} ms. Set delay, and add the time that torques take')


#: sentences by word: of the name of a joint and three numbers
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    LoadWord.LATE_BY_OUR_CLOCK: _late(''),
    LoadWord.LATE_IF_OUR_CLOCK: _late(', if the clock that stamps is that of this machine'),
}
