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

"""Words about references and goals, and their sentences."""

from __future__ import annotations

from collections.abc import Callable
import enum

from rbd_ros.control.modes.modes import names_in, Takes, taking

__all__ = ['ReferenceWord', 'TEXTS']

_QUANTITIES = ('position', 'velocity', 'acceleration')


class ReferenceWord(enum.IntEnum):
    """What references tell, why goals end, and why a reference is refused."""

    DRY = 300  # pieces that were followed, pieces in all, s that were left
    # Ends of goals
    RESTARTED = 310
    HELD = 311
    SET_POINT = 312
    NEW_TRAJECTORY = 313
    MODE_CHANGED = 314  # number of the new mode
    STOPPED = 315
    CANCELED = 316
    REACHED = 317
    OFF_PATH = 318  # error, tolerance, quantity
    OFF_GOAL = 319  # the same
    DRIED = 320  # pieces that were followed
    # Refusals
    NO_SET_POINT = 330
    NO_TRAJECTORY = 331
    REPLACED = 332
    NO_GOAL = 333
    NO_POSE = 334
    NO_TWIST = 335
    NO_WRENCH = 336
    NOT_RUNNING = 337
    OTHER_MODE = 338


def _always(text: str) -> Callable[[str, float, float, float], str]:
    return lambda _joint, _a, _b, _c: text


def _off(which: str) -> Callable[[str, float, float, float], str]:
    return lambda joint, error, tolerance, quantity: (
        f'{joint}: {_QUANTITIES[int(quantity)]} error {error:.4g} exceeds the {which} tolerance '
        f'{tolerance:.4g}')


#: sentences by word: of the name of a joint and three numbers; in place of the joint,
#: ``MODE_CHANGED`` and ``OTHER_MODE`` take the mode, ``NOT_RUNNING`` the state of the supervisor,
#: and ``STOPPED`` the faults
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    ReferenceWord.DRY: lambda _, gone, pieces, left: (
        f'the reference comes to rest {left:.4g} s before the end of its trajectory: after '
        f'{gone + 1:.0f} of {pieces:.0f} pieces the next one did not come in time. Send the '
        'trajectory again, with fewer points if it has many'),
    ReferenceWord.RESTARTED: _always('the controller was restarted'),
    ReferenceWord.HELD: _always('the reference is held'),
    ReferenceWord.SET_POINT: _always('pre-empted by a set-point'),
    ReferenceWord.NEW_TRAJECTORY: _always('pre-empted by a new trajectory'),
    ReferenceWord.MODE_CHANGED: lambda mode, _a, _b, _c: f'the mode changed to {mode}',
    ReferenceWord.STOPPED: lambda faults, _a, _b, _c: f'the controller stopped: {faults}',
    ReferenceWord.CANCELED: _always('canceled by the client'),
    ReferenceWord.REACHED: _always('goal reached'),
    ReferenceWord.OFF_PATH: _off('path'),
    ReferenceWord.OFF_GOAL: _off('goal'),
    ReferenceWord.DRIED: lambda _, gone, _b, _c: (
        f'the trajectory did not come in time: nothing followed after {gone + 1:.0f} pieces'),
    ReferenceWord.NO_SET_POINT: _always('the set-point is not finite'),
    ReferenceWord.NO_TRAJECTORY: _always('the trajectory is not finite'),
    ReferenceWord.REPLACED: _always('pre-empted by a new trajectory'),
    ReferenceWord.NO_GOAL: _always('the goal has ended already'),
    ReferenceWord.NO_POSE: _always('the target pose is not finite'),
    ReferenceWord.NO_TWIST: _always('the target twist must be six finite numbers'),
    ReferenceWord.NO_WRENCH: _always('the target wrench must be six finite numbers'),
    ReferenceWord.NOT_RUNNING: lambda state, _a, _b, _c: f'the controller is {state}',
    ReferenceWord.OTHER_MODE: lambda mode, _a, _b, _c: (
        f'the mode is {mode}; set the parameter mode to '
        f'{names_in(taking(Takes.TRAJECTORY), "or")}'),
}
