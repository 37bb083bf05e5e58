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

"""Words about joint states, and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import enum
from typing import Protocol

from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.sentences import Sentence, unit_of
from rbd_ros.control.throttle import short_list

__all__ = ['AGE_TEXTS', 'arrival_texts', 'ArrivalWord', 'Kinds', 'mask', 'named', 'Text']

#: makes a sentence from the name of a joint and three numbers
Text = Callable[[str, float, float, float], str]

#: joints that one number can name: each is a bit of its mantissa
_BITS = 48


class ArrivalWord(enum.IntEnum):
    """What there is to say about joint states; the numbers of the sentence behind each."""

    # why a message was not used
    NOT_PROVEN = 100
    CLOCK_BACK = 101  # s
    GAP = 102  # s
    STAMPS_APPEARED = 103
    STAMP_STANDS = 104
    STAMP_BACK = 105  # s
    LAG = 106  # s
    LEAD = 107  # s, where the clock of the stamps is known
    LEAP = 108  # s, where it is not
    BURST = 109
    STAMP_RATE = 110  # s by stamps, s by reception
    LOW_RATE = 111  # Hz, minimum in Hz
    TWICE = 113  # kind of message
    POSITIONS = 114  # number, number of names
    VELOCITIES = 115  # the same
    EFFORTS = 116  # the same
    NOT_FINITE = 117  # joints in three masks
    JUMP = 118  # joint of the model; before, now, s
    DISAGREE = 119  # joint of the model; before, now, both kinds of messages
    BAD_TIME = 120
    UNREADABLE = 121
    TOO_MANY_KINDS = 122
    # to be logged
    UNSTAMPED = 130
    AHEAD = 131  # s, where the clock of the stamps is known
    AHEAD_ANEW = 132  # s, where it is not
    DOUBLED = 133  # kind of message
    NO_VELOCITY = 134  # joints in three masks
    UNREADABLE_IGNORED = 135
    # why torque does not begin
    LATE_BEFORE = 140  # s, s allowed
    LATE_STATE = 141  # the same
    # why the state is too old
    STALE = 150  # joint of the model; kind of message that had it last or -1, s of silence, s old
    UNKNOWN = 151  # joint of the model


#: Sentences about ages by word: of the name of a joint and three numbers.
AGE_TEXTS: dict[int, Text] = {
    ArrivalWord.NOT_PROVEN: lambda j, a, b, c: 'its age is not proven yet',
    ArrivalWord.CLOCK_BACK: lambda j, a, b, c: f'the clock of reception went back by {a:.4g} s',
    ArrivalWord.GAP: lambda j, a, b, c: f'being checked again after a gap of {a:.4g} s',
    ArrivalWord.STAMPS_APPEARED: lambda j, a, b, c: 'stamps appeared after states without stamps',
    ArrivalWord.STAMP_STANDS: lambda j, a, b, c: 'the stamp does not advance',
    ArrivalWord.STAMP_BACK: lambda j, a, b, c: f'the stamp went back by {a:.4g} s',
    ArrivalWord.LAG: lambda j, a, b, c: (
        f'stamps fall behind reception: the state was {a:.4g} s old when it arrived'),
    ArrivalWord.LEAD: lambda j, a, b, c: f'the stamp is {a:.4g} s ahead of the clock',
    ArrivalWord.LEAP: lambda j, a, b, c: f'stamps jumped ahead of reception by {a:.4g} s',
    ArrivalWord.BURST: lambda j, a, b, c: 'messages arrive in a burst',
    ArrivalWord.STAMP_RATE: lambda j, a, b, c: f'stamps advanced {a:.4g} s within {b:.4g} s',
    ArrivalWord.LOW_RATE: lambda j, a, b, c: f'{a:.4g} Hz is below minimum_rate {b:.4g} Hz',
}


class Kinds(Protocol):
    """The kinds of messages, by their places."""

    joints: tuple[str, ...]
    refused: tuple[str, ...]
    unreadable: str

    def names(self, source: float) -> tuple[str, ...]:
        """
        Return the names in messages of a kind.

        :param source: its place.
        """

    def twice(self, source: float) -> Sequence[str]:
        """
        Return the names that stand twice in messages of a kind.

        :param source: its place.
        """


def mask(marked: Vector, part: int) -> float:
    """
    Return which joints are marked, as the bits of a number.

    :param marked: above 0 for those that are.
    :param part: 0, 1 or 2: the first 48 joints, the next ones, the last ones that can be named.
    """
    total, bit = 0.0, 1.0
    for j in range(_BITS * part, min(_BITS * (part + 1), len(marked))):
        if marked[j] > 0.0:
            total += bit
        bit += bit
    return total


def named(joints: Sequence[str], *masks: float) -> list[str]:
    """
    Return the names of the joints that are marked.

    :param joints: of the model.
    :param masks: as :func:`mask` makes them.
    """
    bits = sum(int(each) << _BITS * part for part, each in enumerate(masks))
    return [name for j, name in enumerate(joints) if bits >> j & 1]


def arrival_texts(kinds: Kinds) -> dict[int, Text]:
    """
    Return the sentences by word: of the name of a joint and three numbers.

    :param kinds: of messages that were received.
    """
    word = ArrivalWord
    late = 's old when the next one came'
    ahead = 's ahead: the clock that stamps was set, or is another one'
    return {
        **AGE_TEXTS,
        word.TWICE: lambda j, a, b, c: (
            f'{", ".join(kinds.twice(a))} appears twice in one message'),
        word.POSITIONS: lambda j, a, b, c: f'{a:.0f} positions for {b:.0f} names',
        word.VELOCITIES: lambda j, a, b, c: f'{a:.0f} velocities for {b:.0f} names',
        word.EFFORTS: lambda j, a, b, c: f'{a:.0f} efforts for {b:.0f} names',
        word.NOT_FINITE: lambda j, a, b, c: (
            f'the position of {", ".join(named(kinds.joints, a, b, c))} is not finite'),
        word.JUMP: Sentence(
            '{joint} jumped from {a:.4g} {unit} to {b:.4g} {unit} within {c:.3g} s: a faulty '
            'sensor, or two publishers'),
        word.DISAGREE: lambda j, a, b, c: (
            f'{j} has two sources that disagree: {a:.4g} {unit_of(j)} in messages of '
            f'{short_list(kinds.names(c // 64))}, {b:.4g} {unit_of(j)} in those of '
            f'{short_list(kinds.names(c % 64))}'),
        word.BAD_TIME: lambda j, a, b, c: 'its time or its stamp is no time',
        word.UNREADABLE: lambda j, a, b, c: f'unreadable: {kinds.unreadable}',
        word.TOO_MANY_KINDS: lambda j, a, b, c: (
            f'{a:.0f} other kinds of messages have joints of the robot: messages of '
            f'{short_list(kinds.refused)} are ignored'),
        word.UNSTAMPED: lambda j, a, b, c: (
            'joint states have no stamp: their age is judged by reception only'),
        word.AHEAD: lambda j, a, b, c: (
            f'stamps of joint states are {a:.4g} {ahead} than that of the controller. They are '
            'not used'),
        word.AHEAD_ANEW: lambda j, a, b, c: (
            f'stamps of joint states are {a:.4g} {ahead}. The states are checked anew'),
        word.DOUBLED: lambda j, a, b, c: (
            'controlled joints arrive in more than one kind of message, one of them '
            f'{short_list(kinds.names(a))}: each joint should have one source'),
        word.NO_VELOCITY: lambda j, a, b, c: (
            f'no velocity for {", ".join(named(kinds.joints, a, b, c))}: using the filtered '
            'derivative of the position'),
        word.UNREADABLE_IGNORED: lambda j, a, b, c: (
            f'unreadable message on joint_states ignored: {kinds.unreadable}'),
        word.LATE_BEFORE: lambda j, a, b, c: (
            f'the last state was {a:.3g} {late}, {b:.3g} s are allowed'),
        word.LATE_STATE: lambda j, a, b, c: f'a state was {a:.3g} s late, {b:.3g} s are allowed',
        word.STALE: lambda j, a, b, c: f'{j}: no message for {b:.4g} s',
        word.UNKNOWN: lambda j, a, b, c: f'{j}: in no message so far',
    }
