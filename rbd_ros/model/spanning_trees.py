# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spanning trees of a connectivity graph, their loops and numberings (RBDA 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import itertools
from typing import NamedTuple

from rbd_ros.errors import ModelError

Arc = tuple[int, int]


class SpanningTree(NamedTuple):
    """
    A spanning tree of a connectivity graph (RBDA 4.1.1).

    ``tree`` and ``chords`` hold arc numbers; the arc ``tree[k]`` connects body ``order[k]`` to
    its parent, and ``order`` lists the bodies so that parents come first.
    """

    tree: tuple[int, ...]
    chords: tuple[int, ...]
    order: tuple[int, ...]
    parent_node: tuple[int, ...]


def spanning_tree(count: int, arcs: Sequence[Arc], *,
                  names: Sequence[str] | None = None) -> SpanningTree:
    """
    Return the spanning tree that prefers early arcs, its bodies in depth-first order.

    An arc that closes a loop with arcs before it becomes a chord, so the caller decides by
    order which joints are loop joints.

    :param count: number of nodes, base included.
    :param arcs: pairs of nodes; direction is of no importance here.
    :param names: what to call the nodes in an error.
    :raises ModelError: if a node cannot be reached from node 0.
    """
    group = list(range(count))

    def find(node: int) -> int:
        while group[node] != node:
            group[node] = node = group[group[node]]
        return node

    chords = []
    near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (p, s) in enumerate(arcs):
        if find(p) == find(s):
            chords.append(number)
            continue
        group[find(p)] = find(s)
        near[p].append((number, s))
        near[s].append((number, p))
    tree, order, parents, seen = [], [], [], {0}
    stack = [(number, node, 0) for number, node in reversed(near[0])]
    while stack:
        number, node, parent_node = stack.pop()
        seen.add(node)
        tree.append(number)
        order.append(node)
        parents.append(parent_node)
        stack += [(n, m, node) for n, m in reversed(near[node]) if m not in seen]
    if len(seen) < count:
        called = list(names or map(str, range(count)))
        lost = ', '.join(f'"{called[node]}"' for node in range(count) if node not in seen)
        raise ModelError(f'not connected to the base "{called[0]}" by any joint: {lost}')
    return SpanningTree(tuple(tree), tuple(chords), tuple(order), tuple(parents))


def minimum_depth(count: int, arcs: Sequence[Arc]) -> list[int]:
    """
    Return the arcs of a spanning tree of minimum depth, found breadth first (RBDA 10.2).

    Bodies that the base cannot reach are left out.
    """
    near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (p, s) in enumerate(arcs):
        near[p].append((number, s))
        near[s].append((number, p))
    tree, seen, layer = [], {0}, [0]
    while layer:
        outer = []
        for node in layer:
            for number, other in near[node]:
                if other not in seen:
                    seen.add(other)
                    tree.append(number)
                    outer.append(other)
        layer = outer
    return tree


def spanning_trees(count: int, arcs: Sequence[Arc]) -> Iterator[tuple[int, ...]]:
    """Yield every spanning tree of a small graph as a tuple of arc numbers (brute force)."""
    for choice in itertools.combinations(range(len(arcs)), count - 1):
        try:
            found = spanning_tree(count, [arcs[k] for k in choice])
        except ModelError:
            continue
        if not found.chords:
            yield choice


def fundamental_loops(count: int, arcs: Sequence[Arc]) -> list[tuple[int, ...]]:
    """
    Return the independent loops: each a chord followed by the tree arcs it closes (RBDA 4.1.1).

    There are N_L = N_J - N_B of them (4.1).
    """
    found = spanning_tree(count, arcs)
    up = {node: (arc, parent) for arc, node, parent in
          zip(found.tree, found.order, found.parent_node, strict=True)}

    def path(node: int) -> list[int]:
        out = []
        while node:
            arc, node = up[node]
            out.append(arc)
        return out

    loops = []
    for chord in found.chords:
        one, two = path(arcs[chord][0]), path(arcs[chord][1])
        shared = set(one) & set(two)
        loops.append((chord, *(arc for arc in one + two if arc not in shared)))
    return loops


def regular_numberings(
    count: int, arcs: Sequence[Arc],
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """
    Yield every regular numbering of a small graph (RBDA 4.1.2) by brute force.

    Each is a pair (number of each node, number of each tree arc or 0 for a chord); the base
    keeps number 0, a tree joint has the number of the body it carries, and numbers grow away
    from the base. Numbers of loop joints are arbitrary and not enumerated.
    """
    for choice in spanning_trees(count, arcs):
        found = spanning_tree(count, [arcs[k] for k in choice])
        up = dict(zip(found.order, found.parent_node, strict=True))
        via = {node: choice[arc] for arc, node in zip(found.tree, found.order, strict=True)}
        for numbers in itertools.permutations(range(1, count)):
            number = (0, *numbers)
            if all(number[up[node]] < number[node] for node in range(1, count)):
                joint = [0] * len(arcs)
                for node in range(1, count):
                    joint[via[node]] = number[node]
                yield number, tuple(joint)
