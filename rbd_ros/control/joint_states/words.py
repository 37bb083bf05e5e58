# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints and kinds of messages that the words about joint states name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.throttle import short_list

__all__ = ['arrival_text', 'Kinds', 'mask', 'named']

#: joints that one number can name: each is a bit of its mantissa
_BITS = 48


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


def arrival_text(kinds: Kinds, word: float, joint: str, a: float, b: float, c: float) -> str:
    """
    Return the sentence of a word.

    :param kinds: of messages that were received.
    :param word: its code.
    :param joint: that it is about.
    """
    made: dict[str, Callable[[], str]] = {
        'joints': lambda: ', '.join(named(kinds.joints, a, b, c)),
        'twice': lambda: ', '.join(kinds.twice(a)),
        'kind': lambda: short_list(kinds.names(a)),
        'first': lambda: short_list(kinds.names(c // 64)),
        'second': lambda: short_list(kinds.names(c % 64)),
        'refused': lambda: short_list(kinds.refused),
        'unreadable': lambda: kinds.unreadable}
    said = ArrivalWord(int(word))
    return said.text(joint, a, b, c, **{name: made[name]()
                                        for name in said.sentence.names & made.keys()})
