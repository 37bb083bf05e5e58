# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Words that Python shares with machine code in threads that do not know the interpreter's lock.

See :mod:`rbd_ros.compiler.language.shared` for what the order of access means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rbd_ros.compiler.backends import has_llvm
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.language.shared import add_acq_rel, load_acquire, store_release

__all__ = ['Words']

#: Bytes of a word, and of a line of the cache, which the first word begins.
_WORD, _LINE = 8, 64


class Words:
    """
    Words of 64 bits, zero at first, for one bound procedure or more and for Python.

    Machine code is given ``memory`` as ``Bytes``, where word ``k`` is at ``8 * k``. Python reads
    and writes through the methods, which are machine code too, with the same order.

    :param count: how many words.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f'there must be at least one word, not {count}')
        whole = np.zeros(_WORD * count + _LINE, np.uint8)
        begin = -whole.ctypes.data % _LINE
        #: The bytes of the words.
        self.memory: Bytes = whole[begin:begin + _WORD * count]
        self._places: Sequence[Any] = range(0, _WORD * count, _WORD)
        self._load: Callable[..., int] = partial(load_acquire, self.memory)
        self._store: Callable[..., None] = partial(store_release, self.memory)
        self._add: Callable[..., int] = partial(add_acq_rel, self.memory)
        self._word: Callable[[int], Any] = int
        if has_llvm():      # without it there is no machine code that could share them
            from rbd_ros.compiler.native.shared_access import shared_access, Word
            first, self._word = self.memory.ctypes.data, Word
            self._places = tuple([Word(first + at) for at in self._places])
            self._load, self._store, self._add, self._code = shared_access()

    def __len__(self) -> int:
        """Return how many words there are."""
        return len(self._places)

    def load(self, k: int) -> int:
        """
        Return a word, before anything is read that follows.

        :param k: which one.
        """
        return self._load(self._places[k])

    def store(self, k: int, value: int) -> None:
        """
        Write a word, after all is written that precedes.

        :param k: which one.
        :param value: modulo the range of 64 bits.
        """
        self._store(self._places[k], self._word(value))

    def add(self, k: int, value: int) -> int:
        """
        Add to a word in one step, which no other thread comes between, and return what it was.

        :param k: which one.
        :param value: what is added, modulo the range of 64 bits.
        """
        return self._add(self._places[k], self._word(value))
