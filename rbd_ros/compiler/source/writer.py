# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the source backends (Python and C) share: statements and names.

A statement is a function, a product, or a sum of products: whatever a sum uses and nothing else
does is written inside it, as the book writes p3 = v1*t2 - v2*t1 (RBDA Table 10.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import Part

#: Most operations of a generated function, unless the caller says otherwise.
PART = 4000

_INFIX = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}
_SUMS = ('add', 'sub')
#: Terms of one statement; parsers dislike long nests.
_LONGEST = 12


class Dialect(NamedTuple):
    """
    How a language writes what differs.

    :param function: name of the function of each operation; those that have none are infix.
    :param literal: how a constant is written.
    """

    function: dict[str, str]
    literal: Callable[[float], str]


class Names:
    """Gives every thing a name that nothing else has."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.taken = set(reserved)

    def new(self, wish: str) -> str:
        """Return the wished name, with underscores until it is free."""
        while wish in self.taken:
            wish += '_'
        self.taken.add(wish)
        return wish


class Writer:
    """
    Writes the statements of one part.

    :param graph: what is written.
    :param part: which part of it.
    :param dialect: in which language.
    :param names: names already taken.
    :param inputs: name of each input, whose elements get names after it.
    """

    def __init__(self, graph: Graph, part: Part, dialect: Dialect, names: Names,
                 inputs: list[str]) -> None:
        self.graph, self.part, self.dialect, self.names = graph, part, dialect, names
        self.nodes = part.nodes
        self.text: dict[int, str] = {}
        self.number = 0
        for k in part.leaves:
            node = graph.nodes[k]
            if node.op == 'const':
                self.text[k] = dialect.literal(node.constant)
            else:
                argument, element = node.element
                self.text[k] = names.new(f'{inputs[argument]}_{element}')
        for k in part.loads:
            self.text[k] = self.temporary()
        self.inlined = self._inlined()

    def temporary(self) -> str:
        """Return the next name of an intermediate value."""
        self.number += 1
        return self.names.new(f't{self.number}')

    def inputs_read(self) -> list[tuple[int, int, str]]:
        """Return (argument, element, name) of every input element that is read."""
        return [(*self.graph.nodes[k].element, self.text[k]) for k in self.part.leaves
                if self.graph.nodes[k].op == 'input']

    def statements(self) -> list[tuple[str, str]]:
        """Return (name, expression) of every statement."""
        lines = []
        for k in self.nodes:
            text = self._expression(k)
            if k in self.inlined:
                self.text[k] = text
            else:
                self.text[k] = self.temporary()
                lines.append((self.text[k], text))
        return lines

    def _shown(self) -> set[int]:
        return set(self.part.stores) | {k for _, k in self.part.results}

    def _inlined(self) -> set[int]:
        """Return the nodes written inside the only sum that uses them, and all negations."""
        nodes, shown = self.graph.nodes, self._shown()
        users: dict[int, list[int]] = {}
        for k in self.nodes:
            for a in nodes[k].args:
                users.setdefault(a, []).append(k)
        inlined: set[int] = set()
        terms: dict[int, int] = {}
        for k in self.nodes:
            op, args, _ = nodes[k]
            size = sum([terms[a] if a in inlined else 1 for a in args])  # noqa: C419, faster
            terms[k] = size if op in _SUMS else 1
            used = users.get(k, [])
            if op == 'neg' or (
                    (op in _SUMS or op == 'mul') and len(used) == 1 and k not in shown
                    and nodes[used[0]].op in _SUMS and terms[k] <= _LONGEST):
                inlined.add(k)
        return inlined

    def _expression(self, k: int) -> str:
        op, args, _ = self.graph.nodes[k]
        if op == 'neg':
            return f'-{self._operand(args[0], "neg")}'
        if op in self.dialect.function:
            return f'{self.dialect.function[op]}({", ".join(self.text[a] for a in args)})'
        left = self._operand(args[0], op)
        right = self._operand(args[1], op, right=True)
        return f'{left} {_INFIX[op]} {right}'

    def _operand(self, k: int, op: str, right: bool = False) -> str:
        """Return an operand, in parentheses where the order of evaluation needs them."""
        text = self.text[k]
        if op == 'neg':
            return f'({text})' if text.startswith('-') else text
        inner = self.graph.nodes[k].op
        plain = k not in self.inlined or inner == 'mul' or (inner in _SUMS and not right)
        return text if plain else f'({text})'
