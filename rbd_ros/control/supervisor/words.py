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

"""What the supervisor, the torque and the monitors say, as codes and as sentences."""

from __future__ import annotations

from collections.abc import Callable
import enum
import math

from rbd_ros.control.interface.events import NONE
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.supervisor.states import State

__all__ = ['EXPLAINED', 'supervisor_text', 'SupervisorWord', 'TEXTS']


class SupervisorWord(enum.IntEnum):
    """A sentence with up to three numbers."""

    CLOCK_BACKWARDS = 200
    CLOCK_AHEAD = 201
    SILENT = 202
    SIMULATOR_AT_REST = 203
    PAUSED = 204
    CANNOT_ACTIVATE = 205
    STOP_NOT_ENDED = 206
    NOTHING_TO_RESET = 207
    NO_DEAD_MAN = 208
    STOP_SERVICE = 209
    OUTPUT_NOT_FREE = 210
    LAW_NOT_FINITE = 221
    GRAVITY_NOT_FINITE = 223
    VELOCITY_NOT_FINITE = 224
    TOO_FAST = 240
    LOW_RATE = 241
    FAR_FROM_REFERENCE = 242
    ORIENTATION_FAR = 243
    POSITION_FAR = 244
    MOVED = 245
    MOVES = 246
    ACCELERATES = 247
    NO_SPEED = 248
    MISMATCH = 250
    POSITIONS_TOO_FAST = 251
    OUT_OF_RANGE = 252
    REPEATS = 253
    NO_DEAD_MAN_MESSAGE = 254
    DEAD_MAN_RELEASED = 255
    REFUSED_IN_A_ROW = 256


Text = Callable[[str, float, float, float], str]


def _state(code: float) -> str:
    """Return the name of a state of the supervisor."""
    return tuple(State)[int(code)].value


#: The sentence of each word, from the name of its joint and its numbers. ``c`` of the words about
#: motion is 1 if likely causes follow, see :func:`supervisor_text`.
TEXTS: dict[int, Text] = {
    # the supervisor
    SupervisorWord.CLOCK_BACKWARDS: lambda joint, a, b, c: f'backwards by {a:.4g} s',
    SupervisorWord.CLOCK_AHEAD: lambda joint, a, b, c: f'ahead by {a:.4g} s within {b:.4g} s',
    SupervisorWord.SILENT: lambda joint, a, b, c: f'{a:.4g} s since the last one',
    SupervisorWord.SIMULATOR_AT_REST: lambda joint, a, b, c: f'{a:.4g} s, simulator at rest',
    SupervisorWord.PAUSED: lambda joint, a, b, c: f'{a:.4g} s',
    SupervisorWord.CANNOT_ACTIVATE: lambda joint, a, b, c: f'cannot activate while {_state(a)}',
    SupervisorWord.STOP_NOT_ENDED: lambda joint, a, b, c: (
        f'wait until the stop has ended, the controller is {_state(a)}'),
    SupervisorWord.NOTHING_TO_RESET: lambda joint, a, b, c: (
        f'nothing to reset, the controller is {_state(a)}'),
    SupervisorWord.NO_DEAD_MAN: lambda joint, a, b, c: 'the dead-man signal is missing',
    SupervisorWord.STOP_SERVICE: lambda joint, a, b, c: '~/stop',
    SupervisorWord.OUTPUT_NOT_FREE: lambda joint, a, b, c: (
        'the command topic is not known to be free: another node publishes there, or discovery '
        'goes on after a halt. End the other one, or try again in some seconds'),
    # the torque
    SupervisorWord.LAW_NOT_FINITE: lambda joint, a, b, c: (
        'the torque of the control law is not finite'),
    SupervisorWord.GRAVITY_NOT_FINITE: lambda joint, a, b, c: 'not finite',
    SupervisorWord.VELOCITY_NOT_FINITE: lambda joint, a, b, c: 'the velocity is not finite',
    # the monitors
    SupervisorWord.TOO_FAST: Sentence(
        '{joint}: velocity {a:.4g} {unit}/s beyond {b:.4g} {unit}/s'),
    SupervisorWord.NO_SPEED: Sentence('{joint}: its velocity is no number'),
    SupervisorWord.LOW_RATE: lambda joint, a, b, c: f'{a:.4g} Hz, minimum_rate {b:.4g} Hz',
    SupervisorWord.FAR_FROM_REFERENCE: Sentence(
        '{joint}: tracking error {a:.4g} {unit} beyond {b:.4g} {unit}'),
    SupervisorWord.ORIENTATION_FAR: Sentence(
        'orientation of the tip: tracking error {a:.4g} rad beyond {b:.4g} rad'),
    SupervisorWord.POSITION_FAR: Sentence(
        'position of the tip: tracking error {a:.4g} m beyond {b:.4g} m'),
    SupervisorWord.MOVED: Sentence(
        '{joint} moved {a:.3g} {unit} within {b:.3g} s of the first torque'),
    SupervisorWord.MOVES: Sentence(
        '{joint} moves at {a:.3g} {unit}/s by itself, {b:.3g} s after the first torque'),
    SupervisorWord.ACCELERATES: Sentence(
        '{joint} accelerates at {a:.3g} {unit}/s^2 at the start'),
    SupervisorWord.MISMATCH: Sentence(
        '{joint}: its positions change at {a:.3g} {unit}/s, but its velocity is {b:.3g} {unit}/s'),
    SupervisorWord.POSITIONS_TOO_FAST: Sentence(
        '{joint}: velocity of its positions {a:.4g} {unit}/s beyond {b:.4g} {unit}/s'),
    SupervisorWord.OUT_OF_RANGE: Sentence(
        '{joint} is at {a:.4g} {unit}, far outside its limits (sign, unit or zero of its '
        'sensor?)'),
    SupervisorWord.REPEATS: Sentence(
        '{joint} repeats the position {a:.6g} {unit} exactly, which its sensor never did'),
    SupervisorWord.NO_DEAD_MAN_MESSAGE: lambda joint, a, b, c: f'no message for {a:g} s',
    SupervisorWord.DEAD_MAN_RELEASED: lambda joint, a, b, c: 'the switch was released',
    SupervisorWord.REFUSED_IN_A_ROW: lambda joint, a, b, c: (
        f'{a:g} references in a row were rejected while the robot was moving'),
}

#: words whose third number says whether likely causes follow
EXPLAINED = (
    SupervisorWord.TOO_FAST, SupervisorWord.FAR_FROM_REFERENCE, SupervisorWord.ORIENTATION_FAR,
    SupervisorWord.POSITION_FAR, SupervisorWord.MOVED, SupervisorWord.MOVES,
    SupervisorWord.ACCELERATES)


def supervisor_text(word: int, joint: str, a: float, b: float, c: float, causes: str) -> str:
    """
    Return a sentence.

    :param word: its code.
    :param joint: name of the joint that it is about.
    :param a: first number.
    :param b: second number.
    :param c: third number.
    :param causes: likely causes of what is wrong soon after the first torque.
    """
    a, b = (x if abs(x) < NONE else math.nan for x in (a, b))  # kept as NONE where it is none
    text = TEXTS[word](joint, a, b, c)
    return f'{text}. {causes}' if word in EXPLAINED and c > 0.0 else text
