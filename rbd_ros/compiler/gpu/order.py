# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The order of operations on a GPU: few values that do not fit into registers.

A kernel has no more registers than a thread may have; what does not fit goes to local memory and
back, which takes longer than to compute it. Several orders are tried, and the one is taken with
the fewest such ways: a count, not a guess at what a robot looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import heapq

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import LEAVES, operations

#: How late each element of each argument is needed, by (argument, element).
Ranks = Mapping[tuple[int, int], int]


def best_order(graph: Graph, registers: int, ranks: Ranks | None = None,
               elements: Sequence[int] | None = None) -> list[int]:
    """
    Return operations in the order of those tried that sends the fewest values to local memory.

    :param registers: numbers that registers hold.
    :param ranks: see ``arrival``; without them there is one order less.
    :param elements: of the results that are wanted, all by default.
    """
    wanted = range(len(graph.results)) if elements is None else elements
    needed = _needed(graph, wanted)
    return min(_tried(graph, ranks, wanted, needed), key=lambda order: (
        local_traffic(graph, order, registers), most_alive(graph, order)))


def _needed(graph: Graph, elements: Sequence[int]) -> list[int]:
    """Return the operations that some results need, in their order."""
    needed = {graph.results[e] for e in elements}
    for i in range(len(graph.nodes) - 1, -1, -1):
        if i in needed:
            needed.update(graph.nodes[i].args)
    return [i for i in operations(graph) if i in needed]


def _tried(graph: Graph, ranks: Ranks | None, elements: Sequence[int],
           needed: list[int]) -> Iterator[list[int]]:
    """Yield orders: as recorded, as inputs arrive, and backwards from the results."""
    yield needed
    plain = [needed]
    if ranks is not None:
        own = set(needed)
        plain.append([i for i in arrival(graph, ranks) if i in own])
        yield plain[-1]
    columns = _columns(graph)
    for listed in (sorted(elements, reverse=True),
                   sorted(elements, key=lambda e: (columns[e], e), reverse=True)):
        plain.append(depth_first(graph, [graph.results[e] for e in listed]))
    for order in plain:
        yield eager(graph, order)


def _columns(graph: Graph) -> list[int]:
    """Return the column of every element of the results."""
    return [e % (argument.shape[-1] if argument.shape else 1)
            for argument in graph.outputs for e in range(argument.size)]


def arrival(graph: Graph, ranks: Ranks) -> list[int]:
    """
    Return operations in the order in which the last input that each depends on arrives.

    Otherwise they stay as they are. Of a robot whose inputs have the ranks of their joints in
    depth-first order, one branch after the other is worked off, and half as many values wait.

    :param ranks: of elements that have one; the others are there from the beginning.
    """
    key = [0] * len(graph.nodes)
    for i, node in enumerate(graph.nodes):
        if node.op == 'input':
            key[i] = ranks.get(node.element, 0)
        else:
            key[i] = max([key[a] for a in node.args], default=0)
    return sorted(operations(graph), key=lambda i: key[i])      # stable


def depth_first(graph: Graph, results: Sequence[int]) -> list[int]:
    """
    Return what results need, one result after the other, each operand right before its use.

    Of two operands the one comes first that takes more registers (Sethi and Ullman, 1970).
    """
    nodes = graph.nodes
    size = [0] * len(nodes)
    for i, node in enumerate(nodes):
        if node.op not in LEAVES:
            own = sorted((size[a] for a in set(node.args)), reverse=True)
            size[i] = max([1, *[n + k for k, n in enumerate(own)]])
    done: set[int] = set()
    order: list[int] = []
    for result in results:
        waiting = [(result, False)]
        while waiting:
            i, ready = waiting.pop()
            if i in done or nodes[i].op in LEAVES:
                continue
            if ready:
                done.add(i)
                order.append(i)
                continue
            waiting.append((i, True))
            waiting += [(a, False) for a in sorted(set(nodes[i].args), key=lambda a: size[a])]
    return order


def eager(graph: Graph, order: Sequence[int]) -> list[int]:
    """Return an order in which what ends the life of an operand is done as soon as it can be."""
    nodes, place = graph.nodes, {i: p for p, i in enumerate(order)}
    users: dict[int, list[int]] = {i: [] for i in order}
    operands = {i: [a for a in dict.fromkeys(nodes[i].args) if a in place] for i in order}
    for i in order:
        for a in operands[i]:
            users[a].append(i)
    left = {i: len(own) for i, own in users.items()}
    missing = {i: len(own) for i, own in operands.items()}
    done: set[int] = set()
    made: list[int] = []
    for first in order:
        waiting = [first]
        while waiting:
            i = waiting.pop()
            if i in done:
                continue
            done.add(i)
            made.append(i)
            near = set(users[i])
            for a in operands[i]:
                left[a] -= 1
                near.update(users[a])
            for u in users[i]:
                missing[u] -= 1
            waiting += sorted((u for u in near if u not in done and not missing[u] and any(
                left[a] == 1 for a in operands[u])), key=lambda u: -place[u])
    return made


def most_alive(graph: Graph, order: Sequence[int]) -> int:
    """Return how many values are alive at a time at most, inputs and constants not counted."""
    place = {i: p for p, i in enumerate(order)}
    last = {a: p for p, i in enumerate(order) for a in graph.nodes[i].args if a in place}
    change = [0] * (len(order) + 1)
    for i, p in place.items():
        change[p] += 1
        change[last.get(i, p)] -= 1
    alive = most = 0
    for step in change:
        alive += step
        most = max(most, alive)
    return most


def local_traffic(graph: Graph, order: Sequence[int], registers: int) -> int:
    """
    Return how many numbers go to local memory and come from it, at the least.

    Where registers are full, the value leaves whose next use is farthest away (Belady, 1966).
    Inputs are values, loaded at their first use; constants are free.

    :param registers: numbers that they hold.
    """
    nodes = graph.nodes
    uses: dict[int, list[int]] = {}
    for p, i in enumerate(order):
        for a in set(nodes[i].args):
            if nodes[a].op != 'const':
                uses.setdefault(a, []).append(p)
    for own in uses.values():
        own.reverse()                           # the next use stands last
    held: dict[int, int] = {}
    farthest: list[tuple[int, int]] = []
    known: set[int] = set()
    stored: set[int] = set()
    ways = 0
    for i in order:
        touched = [a for a in dict.fromkeys(nodes[i].args) if nodes[a].op != 'const']
        for a in touched:
            ways += a not in held and (a in known or nodes[a].op != 'input')
            known.add(a)
            uses[a].pop()
        for a in (*touched, i):
            ahead = uses.get(a)
            held.pop(a, None)
            if ahead:
                held[a] = ahead[-1]
                heapq.heappush(farthest, (-ahead[-1], a))
        while len(held) > registers:
            use, a = heapq.heappop(farthest)
            if held.get(a) == -use:
                del held[a]
                ways += a not in stored
                stored.add(a)
    return ways
