# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Numbers that somebody gives for one parameter: how many there must be, and their bounds."""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.words import Saying

__all__ = ['Entries', 'EntryWord', 'take_entries']


class EntryWord(Saying):
    """Why numbers cannot be those of a parameter, which stands in the place of the joint."""

    COUNT = 990, '{joint} has {a:.0f} entries; give {c||one for all, or }{b:.0f}'
    OUTSIDE = 991, '{joint} = {a:g} {unit} is outside [{b:g}, {c:g}]'


class Entries(Record):
    """Numbers that are given for a parameter, and what it takes."""

    lower: float = field('', '', 'least that it takes')
    upper: float = field('', '', 'most that it takes')
    count: int = field('', '', 'how many are given')
    size: int = field('', '', 'how many it has')
    spread: bool = field('', '', 'whether one may be given for all')
    optional: bool = field('', '', 'whether none may be given')
    word: int = field('', '', 'what is wrong; 0: nothing')
    a: float = field('', '', 'first number of the sentence')
    b: float = field('', '', 'second number')
    c: float = field('', '', 'third number')
    numbers: Vector = field('e', '', 'those that are given, then those that it has')


def take_entries(x: Entries) -> None:
    """
    Make the numbers of a parameter of those that are given.

    :param x: where some are missing they are NaN; its ``word`` says what is wrong.
    """
    x.word, x.a, x.b, x.c = 0, x.count, x.size, 1.0 if x.spread else 0.0
    if not (x.count == x.size or x.spread and x.count == 1 or x.optional and x.count == 0):
        x.word = EntryWord.COUNT
        return
    for k in range(x.count):
        if not (math.isfinite(x.numbers[k]) and x.lower <= x.numbers[k] <= x.upper):
            x.word, x.a, x.b, x.c = EntryWord.OUTSIDE, x.numbers[k], x.lower, x.upper
            return
    if x.count == 0:
        x.numbers[:] = math.nan
    elif x.count == 1:
        x.numbers[:] = x.numbers[0]
