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

"""What a session answers, as codes and as sentences; every host says the same."""

from __future__ import annotations

import enum

from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.supervisor.states import State

__all__ = ['SessionWord', 'TEXTS']


class SessionWord(enum.IntEnum):
    """What is answered to a request, unless the step has refused it."""

    DONE = 600  # state of the supervisor
    RESET = 601  # the same
    PAUSED = 602
    RESUMED = 603
    FORCE_BIAS = 604  # of the force-torque sensor
    MOMENT_BIAS = 605
    NOTHING_TO_STOP = 606
    ACTIVATION_CANCELLED = 607
    START_CANCELLED = 608
    STOPPED_MEANWHILE = 609
    NO_ANSWER = 610  # s
    TOO_MANY = 611


_STATE = f'{{a|{"|".join(each.value for each in State)}}}'

#: sentence of each word, from three numbers
TEXTS: dict[int, Sentence] = {
    SessionWord.DONE: Sentence(_STATE),
    SessionWord.RESET: Sentence(f'faults cleared, {_STATE}'),
    SessionWord.PAUSED: Sentence('the trajectory comes to rest on its path'),
    SessionWord.RESUMED: Sentence('the trajectory goes on'),
    SessionWord.FORCE_BIAS: Sentence(
        'force_torque.force_bias: [{a:.6g}, {b:.6g}, {c:.6g}]'),
    SessionWord.MOMENT_BIAS: Sentence(
        'force_torque.moment_bias: [{a:.6g}, {b:.6g}, {c:.6g}]'),
    SessionWord.NOTHING_TO_STOP: Sentence('nothing to stop: no torque is published'),
    SessionWord.ACTIVATION_CANCELLED: Sentence('the activation is cancelled'),
    SessionWord.START_CANCELLED: Sentence('the automatic start is cancelled'),
    SessionWord.STOPPED_MEANWHILE: Sentence('~/stop was called meanwhile'),
    SessionWord.NO_ANSWER: Sentence(
        'no answer came within {a:g} s: is the controller active?'),
    SessionWord.TOO_MANY: Sentence('too many requests wait: is the controller active?'),
}
