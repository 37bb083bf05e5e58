# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lines of LLVM assembly about words of 64 bits: addresses, loads and calls through a table."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.native import object_layout
from rbd_ros.compiler.native.target import pointer


class Writer:
    """Lines of one function whose values are 64-bit words, named by counting."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def name(self) -> str:
        """Return a name that is not used yet."""
        self._count += 1
        return f'%t{self._count}'

    def value(self, text: str) -> str:
        """Add an instruction and return the name of its result."""
        name = self.name()
        self.lines.append(f'{name} = {text}')
        return name

    def load(self, base: str, offset: int, kind: str = 'i64') -> str:
        """Load from an address given as word."""
        place = self.value(f'add i64 {base}, {offset}') if offset else base
        address = self.value(f'inttoptr i64 {place} to {pointer(kind)}')
        return self.value(f'load {kind}, {pointer(kind)} {address}')

    def entry(self, name: str) -> str:
        """Load an entry of the table of addresses."""
        k, n = object_layout.TABLE.index(name), len(object_layout.TABLE)
        table = f'[{n} x i64]'
        address = self.value(f'getelementptr {table}, {pointer(table)} @rbd_table, i64 0, i64 {k}')
        return self.value(f'load i64, {pointer("i64")} {address}')

    def call(self, name: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """Call a function of the table."""
        kinds = ', '.join(kind for kind, _ in arguments)
        target = pointer(f'{result} ({kinds})')
        function = self.value(f'inttoptr i64 {self.entry(name)} to {target}')
        listed = ', '.join(f'{kind} {value}' for kind, value in arguments)
        text = f'call {result} {function}({listed})'
        if result != 'void':
            return self.value(text)
        self.lines.append(text)
        return ''

    def require(self, condition: str, otherwise: str = 'slow') -> None:
        """Go on only if a condition holds."""
        label = f'go{self._count}'
        self._count += 1
        self.lines += [f'br i1 {condition}, label %{label}, label %{otherwise}', f'{label}:']

    def equal(self, a: str, b: str) -> None:
        """Go on only if two words are equal."""
        self.require(self.value(f'icmp eq i64 {a}, {b}'))
