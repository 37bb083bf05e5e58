# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""From recorded nodes to a graph: operations in order, signs placed where they cost least."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from rbd_ros.compiler.graph.expression import Recorder, Scalar
from rbd_ros.compiler.graph.graph import Argument, Graph, Node
from rbd_ros.compiler.graph.schedule import schedule

Value = float | tuple[int, int] | None

_SUMS = ('add', 'sub')
_PRODUCTS = ('mul', 'div')


def lower(recorder: Recorder, name: str, inputs: Sequence[Argument],
          outputs: Sequence[Argument], results: Sequence[Scalar], *, keep_all: bool = False,
          ) -> Graph:
    """
    Return the graph of recorded results.

    :param recorder: where the operations were recorded.
    :param name: name of the function.
    :param inputs: arguments.
    :param outputs: results.
    :param results: the scalars of all outputs.
    :param keep_all: keep what no result needs, in the order of recording.
    """
    refs = [recorder.ref(r) for r in results]
    order = range(len(recorder.nodes)) if keep_all else schedule(recorder.nodes, refs)
    lowering = _Lowering(recorder.nodes, order, refs)
    for index in order:
        lowering.place(index)
    final = tuple([lowering.take(ref) for ref in refs])
    return Graph(name, tuple(inputs), tuple(outputs), tuple(lowering.out), final)


class _Lowering:
    """Turns signed references into operations, with as few negations as can be had cheaply."""

    def __init__(
        self, nodes: list[tuple[Any, ...]], order: Sequence[int], refs: Sequence[int],
    ) -> None:
        self.nodes = nodes
        self.flip = _preferred_signs(nodes, order, refs)
        self.out: list[Node] = []
        self.known: dict[tuple[str, tuple[int, ...], str], int] = {}
        #: For each recorded node: 2 * place, plus 1 where the placed value is the negative.
        self.placed: dict[int, int] = {}

    def emit(self, op: str, args: tuple[int, ...], value: Value = None) -> int:
        """Return the place of a new node."""
        out = self.out
        out.append(Node(op, args, value))
        return len(out) - 1

    def take(self, ref: int) -> int:
        """Return the place of a value of this very sign."""
        op, _, value = self.nodes[ref >> 1]
        if op == 'const':
            return self.shared('const', (), math.copysign(value, -1.0) if ref & 1 else value)
        placed = self.placed[ref >> 1]
        if (placed ^ ref) & 1:
            return self.shared('neg', (placed >> 1,), None)
        return placed >> 1

    def shared(self, op: str, args: tuple[int, ...], value: Value) -> int:
        """Return the place of a constant or a negation, placed at its first use."""
        key = (op, args, repr(value))
        if key not in self.known:
            self.known[key] = self.emit(op, args, value)
        return self.known[key]

    def operand(self, ref: int) -> int:
        """Return twice the place of an operand, plus one where its sign there is the other."""
        placed = self.placed.get(ref >> 1)
        return 2 * self.take(ref) if placed is None else placed ^ (ref & 1)

    def place(self, index: int) -> None:
        """Emit one recorded node."""
        op, refs, value = self.nodes[index]
        if op == 'const':
            return
        if op in _PRODUCTS:
            flip = index in self.flip
            a, b = [self.negated(r) if flip and self.nodes[r >> 1][0] == 'const'
                    else self.operand(r) for r in refs]
            place = 2 * self.emit(op, (a >> 1, b >> 1)) + ((a ^ b) & 1)
        elif op in _SUMS:
            a, b = self.operand(refs[0]), self.operand(refs[1]) ^ (op == 'sub')
            s = a & 1
            if not (a ^ b) & 1:
                place = 2 * self.emit('add', (a >> 1, b >> 1)) + s
            elif s ^ (index in self.flip):
                place = 2 * self.emit('sub', (b >> 1, a >> 1)) + 1 - s
            else:
                place = 2 * self.emit('sub', (a >> 1, b >> 1)) + s
        else:
            place = 2 * self.emit(op, tuple([self.take(r) for r in refs]), value)
        self.placed[index] = place

    def negated(self, ref: int) -> int:
        """Return a constant of the other sign as an operand that says so."""
        return 2 * self.take(ref ^ 1) + 1


def _preferred_signs(
    nodes: list[tuple[Any, ...]], order: Sequence[int], refs: Sequence[int],
) -> set[int]:
    """
    Return the differences and scaled values better computed with the other sign.

    Sums take any sign of their operands for nothing and products hand it on; what is left are the
    results and the operands of other functions, which vote for the sign they need.
    """
    votes: dict[int, int] = {}
    flip: set[int] = set()
    for ref in refs:
        votes[ref >> 1] = votes.get(ref >> 1, 0) + (-1 if ref & 1 else 1)
    for index in reversed(order):
        op, args, _ = nodes[index]
        if op in _SUMS:
            if op == 'sub' and votes.get(index, 0) < 0:
                flip.add(index)
        elif op in _PRODUCTS:
            if votes.get(index, 0) < 0:
                kinds = [nodes[r >> 1][0] for r in args]
                if 'const' in kinds:
                    flip.add(index)
                else:
                    for r, kind in zip(args, kinds):
                        if kind == 'sub':
                            votes[r >> 1] = votes.get(r >> 1, 0) - 1
                            break
        else:
            for r in args:
                votes[r >> 1] = votes.get(r >> 1, 0) + (-1 if r & 1 else 1)
    return flip
