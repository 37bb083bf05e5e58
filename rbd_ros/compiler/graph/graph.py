# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The graph of a traced function: what the backends compile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
import hashlib
from math import prod
from typing import cast, NamedTuple, Union

from rbd_ros.compiler.graph.expression import Scalar
from rbd_ros.compiler.graph.functions import OPERATIONS

#: A scalar, or nested lists of them.
Nested = Union[Scalar, Sequence['Nested']]


class Argument(NamedTuple):
    """A named array that goes into or comes out of a graph."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)


class Node(NamedTuple):
    """One operation; ``value`` is the number of a const, (argument, element) of an input."""

    op: str
    args: tuple[int, ...]
    value: float | tuple[int, int] | None = None

    @property
    def constant(self) -> float:
        """Return the number of a const."""
        return cast(float, self.value)

    @property
    def element(self) -> tuple[int, int]:
        """Return which argument an input is of, and which of its elements."""
        return cast(tuple[int, int], self.value)


class OperationCount(NamedTuple):
    """
    Operations of a graph, counted as in RBDA 10.3.

    ``add`` includes subtractions. Sign changes, copies and constants are free, and ``total``
    leaves out square roots, trigonometric and other functions, as the book does.
    """

    mul: int
    add: int
    div: int
    sqrt: int
    trig: int
    other: int

    @property
    def multiplications(self) -> int:
        """Return products and quotients together, the book's m."""
        return self.mul + self.div

    @property
    def additions(self) -> int:
        """Return sums and differences together, the book's a."""
        return self.add

    @property
    def total(self) -> int:
        """Return m + a."""
        return self.mul + self.div + self.add

    def __str__(self) -> str:
        """Return the book's notation, such as 4m+1a."""
        return f'{self.multiplications}m+{self.add}a'


_COUNTED = {
    'mul': 'mul', 'add': 'add', 'sub': 'add', 'div': 'div', 'sqrt': 'sqrt',
    'sin': 'trig', 'cos': 'trig', 'tan': 'trig', 'asin': 'trig', 'acos': 'trig', 'atan2': 'trig',
}
#: Operations that cost nothing.
FREE = ('const', 'input', 'neg')


class Columns(NamedTuple):
    """
    Another form of a graph: the same for each column of some matrices, which may be a loop.

    :param first: what all columns need and the matrices, from the inputs of the whole; its other
        results are those of the whole.
    :param column: from results of ``first`` and, as its last input, a column, another column.
    :param matrices: results of ``first`` of one shape, each with the result of the whole that has
        the other columns.
    """

    first: Graph
    column: Graph
    matrices: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Graph:
    """
    A function of arrays as a list of scalar operations, each after its arguments.

    :param name: name of the function, an identifier.
    :param inputs: arguments, in the order of the call.
    :param outputs: results, in order.
    :param nodes: the operations in an order that can be executed.
    :param results: node of every output element, outputs one after another, row-major.
    :param columns: another form, for back ends that know loops; None for none.
    """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]
    columns: Columns | None = None

    def count(self) -> OperationCount:
        """Return how many operations of each kind one evaluation takes."""
        count = dict.fromkeys(OperationCount._fields, 0)
        for op, times in Counter([node[0] for node in self.nodes]).items():
            if op not in FREE:
                count[_COUNTED.get(op, 'other')] += times
        return OperationCount(**count)

    def digest(self) -> str:
        """Return a hash of names, shapes and operations, the same in every process."""
        head = repr((self.name, [tuple(a) for a in self.inputs],
                     [tuple(a) for a in self.outputs], self.results))
        text = [head]
        text.extend([f'{op}{args}{value!r}' for op, args, value in self.nodes])
        return hashlib.sha256('\n'.join(text).encode()).hexdigest()

    def evaluate(self, *values: Sequence[Scalar]) -> list[Scalar]:
        """
        Return all output elements, operation by operation, over floats or traced scalars.

        :param values: the elements of each input in row-major order.
        """
        work = self.evaluate_all(*values)
        return [work[r] for r in self.results]

    def evaluate_all(self, *values: Sequence[Scalar]) -> list[Scalar]:
        """
        Return the value of every node.

        :param values: the elements of each input in row-major order.
        """
        work: list[Scalar] = []
        for node in self.nodes:
            if node.op == 'const':
                work.append(node.constant)
            elif node.op == 'input':
                argument, element = node.element
                work.append(values[argument][element])
            else:
                work.append(OPERATIONS[node.op](*[work[a] for a in node.args]))
        return work

    def pruned(self) -> Graph:
        """Return the graph without the nodes that no result needs."""
        alive = set(self.results)
        for k in range(len(self.nodes) - 1, -1, -1):
            if k in alive:
                alive.update(self.nodes[k].args)
        if len(alive) == len(self.nodes):
            return self
        place = {k: n for n, k in enumerate(sorted(alive))}
        nodes = tuple([Node(op, tuple([place[a] for a in args]), value)
                       for k, (op, args, value) in enumerate(self.nodes) if k in alive])
        return Graph(self.name, self.inputs, self.outputs, nodes,
                     tuple([place[r] for r in self.results]))

    def input_index(self, name: str) -> int:
        """Return the position of a named input."""
        return _find('input', self.inputs, name)

    def output_index(self, name: str) -> int:
        """Return the position of a named output."""
        return _find('output', self.outputs, name)

    def output_results(self, name: str) -> tuple[int, ...]:
        """Return the nodes of one named output."""
        k = self.output_index(name)
        start = sum(a.size for a in self.outputs[:k])
        return self.results[start:start + self.outputs[k].size]


def _find(kind: str, arguments: tuple[Argument, ...], name: str) -> int:
    names = [a.name for a in arguments]
    if name not in names:
        raise KeyError(f'no {kind} "{name}" in the graph (known: {", ".join(names) or "none"})')
    return names.index(name)


def nest(elements: Sequence[Scalar], shape: tuple[int, ...]) -> Nested:
    """Return a flat row-major sequence as nested lists of a shape."""
    if not shape:
        return elements[0]
    step = prod(shape[1:])
    return [nest(elements[k * step:(k + 1) * step], shape[1:]) for k in range(shape[0])]


def flatten(value: Nested, name: str) -> tuple[list[Scalar], tuple[int, ...]]:
    """Return the elements of nested sequences, and their shape."""
    shape = getattr(value, 'shape', ())
    if 0 in shape:                  # the list of an empty array does not show its shape
        return [], tuple(shape)
    if hasattr(value, 'tolist'):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [cast(Scalar, value)], ()
    parts = [flatten(v, name) for v in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise ValueError(
            f'output "{name}" is ragged: its rows have the shapes '
            f'{", ".join(map(str, sorted(shapes)))}; every row must have the same')
    inner = shapes.pop() if shapes else ()
    return [e for elements, _ in parts for e in elements], (len(parts), *inner)
