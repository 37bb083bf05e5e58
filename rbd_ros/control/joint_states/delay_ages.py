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
How old states are when they arrive, by their stamps: a constant delay shows in nothing else.

The clock of the stamps need not be ours. An age that is negative or beyond the timeout is none;
any other one is believed, because damping that is made for a longer delay is only weaker.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, NEVER
from rbd_ros.control.joint_states.sources import AgeLimits, is_stamped, is_time
from rbd_ros.control.numerics.medians import select

__all__ = ['ages_known', 'Delays', 'restart_delays']

#: s over which ages are compared, once the first ones are known
_WINDOW = 1.0

#: shares of the ages that are below the middle and the high one
_MIDDLE, _HIGH = 0.5, 0.9

#: states in a window below which nothing is said
_LEAST = 5

#: ages that there is room for: those of a window at the highest rate that can be configured
_ROOM = 4096


class Delays(Record):
    """The ages of the states in a window, and what they had in common."""

    window: float = field('', 's', 'over which ages are compared', _WINDOW)
    begun: float = field('', 's', 'begin of the window', NEVER)
    last: float = field('', 's', 'control time of the last state', NEVER)
    taken: float = field('', '', 'number of ages')
    middle: float = field('', 's', 'of the last window: half of its states were younger; a halt '
                                   'of the machine makes fewer old')
    high: float = field('', 's', 'of the last window: 90 % were younger')
    ages: Vector = field(str(_ROOM), 's', 'of the states in the window')


def restart_delays(x: Delays, first: float) -> None:
    """
    Forget every state.

    :param x: ages.
    :param first: s over which the next ages are compared; a second from then on.
    """
    x.window = first if 0.0 <= first <= _WINDOW else _WINDOW
    x.begun, x.last, x.taken = NEVER, NEVER, 0.0


def ages_known(x: Delays, p: AgeLimits, u: Event) -> bool:
    """
    Take a message of controlled joints.

    :param x: ages.
    :param p: offset of the clocks, and the age from which on it cannot be one.
    :param u: the message.
    :returns: whether it has completed a window, whose ages are in the record.
    """
    if not is_time(u):
        return False
    age = u.now - u.stamp_s - 1e-9 * u.stamp_ns - p.clock_offset
    goes_on = 0.0 <= u.now - x.last < p.state_timeout
    x.last = u.now
    if not (is_stamped(u.stamp_s, u.stamp_ns) and goes_on and 0.0 <= age < p.state_timeout):
        x.taken, x.begun = 0.0, u.now
        return False
    taken = int(x.taken) if math.isfinite(x.taken) else 0
    count = taken if 0 <= taken < _ROOM else 0
    x.ages[count] = age
    count += 1
    x.taken = count
    if count < _ROOM and (u.now - x.begun < x.window or count < _LEAST):
        return False
    x.middle = select(x.ages, count, int(_MIDDLE * count))
    x.high = select(x.ages, count, int(_HIGH * count))
    x.window, x.begun, x.taken = _WINDOW, u.now, 0.0
    return True
