# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of words in LLVM assembly text, see :mod:`rbd_ros.compiler.language.signatures`."""

from __future__ import annotations

from rbd_ros.compiler.language.signatures import BYTES, FOREIGN, KERNEL, Kind, Layout
from rbd_ros.compiler.language.tree import Held, Number
from rbd_ros.compiler.native.target import pointer

#: Words of tables never change while code runs: LLVM need not read one twice.
_INVARIANT = '!invariant.load !{}'
#: Name of the table of all words.
TABLE = '%table'


def passed(kind: Kind) -> list[str]:
    """Return the types by which a thing is passed."""
    if isinstance(kind, Layout):
        return [pointer('i64')]
    if kind == KERNEL:
        return ['i64', 'i64']
    if kind == FOREIGN:
        return ['i64']
    if kind == BYTES:
        return [pointer('i8'), 'i64']
    return [pointer('double'), 'i64', 'i64']


class Words:
    """
    Words of tables, each read once, before all else.

    :param passed: values of the parameters that were passed themselves, by name.
    """

    def __init__(self, passed: dict[str, list[str]]) -> None:
        self._passed = passed
        self._known: dict[tuple[str, int, str], str] = {}
        #: What comes before all else in a function.
        self.lines: list[str] = []

    def _table(self, held: Held) -> str:
        return held.root if held.root == TABLE else f'%"{held.root}.0"'

    def _new(self, key: tuple[str, int, str], text: str) -> str:
        if key not in self._known:
            self._known[key] = f'%.w{len(self._known)}'
            self.lines.append(f'{self._known[key]} = {text}')
        return self._known[key]

    def word(self, held: Held, k: int) -> str:
        """Return a word of what is held."""
        if not held.path and held.root in self._passed:
            return self._passed[held.root][k]
        of = pointer('double') if isinstance(held.kind, Layout) else passed(held.kind)[k]
        table, at, word = self._table(held), held.at + k, pointer('i64')
        place = self._new((table, at, ''), f'getelementptr i64, {word} {table}, i64 {at}')
        found = self._new((table, at, 'i64'), f'load i64, {word} {place}, {_INVARIANT}')
        return found if of == 'i64' else self._new(
            (table, at, of), f'inttoptr i64 {found} to {of}')

    def given(self, held: Held) -> list[str]:
        """Return how what is held is passed on."""
        types = passed(held.kind)
        if not isinstance(held.kind, Layout):
            return [f'{of} {self.word(held, k)}' for k, of in enumerate(types)]
        table = self._table(held)
        return [f'{types[0]} ' + self._new(
            (table, held.at, ''), f'getelementptr i64, {types[0]} {table}, i64 {held.at}')]

    def number(self, number: Number) -> str:
        """Return where a single number of a record is."""
        held, real = number.record, pointer('double')
        assert isinstance(held.kind, Layout)
        first, k = self.word(held, 0), held.kind.numbers[number.name]
        return f'{real} ' + self._new((self._table(held), held.at, f'number {k}'),
                                      f'getelementptr double, {real} {first}, i64 {k}')
