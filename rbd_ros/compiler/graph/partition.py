# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Cutting a long graph into parts: one way for all back ends.

Compilers take more than linear time on long functions without branches, so a large graph becomes
several functions that pass values through a workspace. The values that live across a cut are
mostly those that a register allocator would have spilled anyway. A part leaves its results as soon
as it has them; a back end whose outputs may be its inputs copies the inputs first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph

LEAVES = ('const', 'input')
ANGULAR = ('sin', 'cos')


class Part(NamedTuple):
    """
    A run of operations that becomes one function.

    :param nodes: the operations, in order.
    :param leaves: constants and inputs that they, and the results, need.
    :param loads: workspace slot of every value that an earlier part left.
    :param stores: workspace slot of every value that a later part needs.
    :param results: (element of ``graph.results``, node) of the outputs that are known here;
        those that are constants or inputs come with the last part.
    """

    nodes: list[int]
    leaves: list[int]
    loads: dict[int, int]
    stores: dict[int, int]
    results: list[tuple[int, int]]


class Partition(NamedTuple):
    """A graph in parts, and the number of workspace slots they need."""

    parts: list[Part]
    slots: int


#: From operations in order and the most that a part may have, those of each part.
Cut = Callable[[Graph, Sequence[int], int], list[Sequence[int]]]


def operations(graph: Graph) -> list[int]:
    """Return the nodes to compute, in the order of the graph."""
    return [i for i, node in enumerate(graph.nodes) if node.op not in LEAVES]


def angles_first(graph: Graph) -> list[int]:
    """
    Return the nodes to compute, what the angles depend on first.

    So the sines and cosines of all joints are found together at the beginning and fill the
    lanes of a vector.
    """
    nodes = graph.nodes
    late = bytearray(len(nodes))
    angles = []
    for i, (op, args, _) in enumerate(nodes):
        if op in ANGULAR:
            late[i] = 1
            if not late[args[0]]:
                angles.append(args[0])
            continue
        for a in args:
            if late[a]:
                late[i] = 1
                break
    first = set()
    while angles:
        i = angles.pop()
        if i not in first:
            first.add(i)
            angles.extend(nodes[i].args)
    inner = operations(graph)
    return [i for i in inner if i in first] + [i for i in inner if i not in first]


def partition(graph: Graph, size: int, order: Sequence[int] | None = None,
              cut: Cut | None = None, widths: Mapping[int, int] | None = None) -> Partition:
    """
    Return a graph in parts.

    :param graph: what to cut.
    :param size: most operations of a part.
    :param order: the operations in an order that can be executed, that of the graph by default.
    :param cut: where to cut, ``narrow`` by default.
    :param widths: of values that take several slots, one after another.
    """
    widths = widths or {}
    sequence = operations(graph) if order is None else order
    runs = (cut or narrow)(graph, sequence, max(1, size))
    home = {i: k for k, run in enumerate(runs) for i in run}
    last = {a: k for k, run in enumerate(runs) for i in run
            for a in graph.nodes[i].args if a in home}
    results: list[list[tuple[int, int]]] = [[] for _ in runs]
    for element, i in enumerate(graph.results):
        results[home.get(i, len(runs) - 1)].append((element, i))
    slot: dict[int, int] = {}
    free: dict[int, list[int]] = {}
    release: list[list[int]] = [[] for _ in runs]
    total, parts = 0, []
    for k, run in enumerate(runs):
        read = dict.fromkeys([a for i in run for a in graph.nodes[i].args])
        needed = [a for a in read if home.get(a, k) < k]
        read.update(dict.fromkeys([i for _, i in results[k]]))
        leaves = [a for a in read if a not in home]
        stored = [i for i in run if last.get(i, k) > k]
        for i in stored:
            width = widths.get(i, 1)
            if free.get(width):
                slot[i] = free[width].pop()
            else:
                slot[i], total = total, total + width
            release[last[i]].append(i)
        parts.append(Part(list(run), leaves, {i: slot[i] for i in needed},
                          {i: slot[i] for i in stored}, results[k]))
        # A slot is free only after the part: its loads need not come before its stores.
        for i in release[k]:
            free.setdefault(widths.get(i, 1), []).append(slot[i])
    return Partition(parts, total)


def even(_: Graph, sequence: Sequence[int], size: int) -> list[Sequence[int]]:
    """
    Return operations in runs of one length; up to twice the size they are left whole.

    Machine code is faster so than with narrow cuts, by up to a sixth: behind those, a function
    waits for the very values that the one before has just stored.
    """
    count = 1 if len(sequence) <= 2 * size else -(-len(sequence) // size)
    size = -(-len(sequence) // count) or 1
    return [sequence[k:k + size] for k in range(0, len(sequence), size)] or [sequence]


def narrow(graph: Graph, sequence: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return operations in runs, each cut in its second half where least is alive."""
    if len(sequence) <= size:
        return [sequence]
    place = {i: p for p, i in enumerate(sequence)}
    last = list(range(len(sequence)))
    for p, i in enumerate(sequence):
        for a in graph.nodes[i].args:
            if a in place:
                last[place[a]] = p
    change = [0] * (len(sequence) + 1)
    for p, end in enumerate(last):      # alive at the cuts before p + 1 ... end
        change[p + 1] += 1
        change[end + 1] -= 1
    alive = list(accumulate(change))
    runs, start = [], 0
    while len(sequence) - start > size:
        window = range(start + max(1, size // 2), start + size + 1)
        cut = min(window, key=lambda p: (alive[p], -p))
        runs.append(sequence[start:cut])
        start = cut
    return [*runs, sequence[start:]]
