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

"""How often complete states arrive: events in windows of fixed length."""

from __future__ import annotations

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Joints, NEVER, NONE

__all__ = ['count_state', 'Rate', 'restart_rate']

#: s of a window; a hair less, so that a state that is due at its end closes it
_WINDOW = 0.5 * (1.0 - 1e-9)


class Rate(Record):
    """The window in which states are counted."""

    start: float = field('', 's', 'begin of the window; NONE: none has begun', NONE)
    end: float = field('', 's', 'end of the window', NEVER)
    states: float = field('', '', 'in it')


def restart_rate(x: Rate, joints: Joints) -> None:
    """
    Begin a new window with the next state.

    :param x: window.
    :param joints: whose rate becomes unknown.
    """
    x.start, x.end, x.states = NONE, NEVER, 0.0
    joints.rate, joints.rate_low = 0.0, 0.0


def count_state(x: Rate, joints: Joints, minimum: float, now: float) -> None:
    """
    Count one complete state; one that closes a window renews the rate.

    :param x: window.
    :param joints: get the rate, and whether it is low.
    :param minimum: Hz below which it is low; 0: never.
    :param now: control time, s.
    """
    if now < x.start:  # the first one, or the clock went back
        _begin(x, now)
        return
    x.states += 1.0
    if now < x.end:
        return
    joints.rate = x.states / max(now - x.start, 1e-9)
    joints.rate_low = 0.0 if joints.rate >= minimum * (1.0 - 1e-9) else 1.0
    _begin(x, now)


def _begin(x: Rate, now: float) -> None:
    x.start, x.end, x.states = now, now + _WINDOW, 0.0
