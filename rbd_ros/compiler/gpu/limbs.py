# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A graph in kernels by limbs: inward along each limb, what they have in common, and outward again.

A recursion over a tree goes inward from the tips, through the trunk, and outward to the tips. Cut
across, nearly all that the inward way has found is still needed on the outward way, and goes to
memory and back. Cut along its limbs, each kernel of the outward way finds what it needs of its own
limb once more, and only what passes between limbs and trunk goes through memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import LEAVES, Part

#: Number of the limb of an element, by side ('in' or 'out'), argument and element; those that
#: belong to none have no number.
Limbs = Mapping[tuple[str, int, int], int]


class _Masks(NamedTuple):
    """Of each node, the limbs of the inputs that it depends on and of the results it serves."""

    sources: list[int]
    results: list[int]


def limb_parts(graph: Graph, order: Sequence[int], limbs: Limbs) -> tuple[list[Part], int]:
    """
    Return kernels as parts, and the number of slots.

    An operation belongs to the only limb among its inputs, else to the only one among the results
    that it serves, else to all in common. So what is common needs of a limb only what depends on
    that limb alone, and no limb needs what only serves another: the order of the kernels stands
    for any graph. One that is no recursion is all in common.

    :param order: the operations in an order that can be executed.
    :param limbs: numbers of limbs, from 0 on.
    """
    common = 1 + max(limbs.values(), default=-1)
    return parts_of(graph, _lists(graph, order, _masks(graph, limbs, common), common))


def _masks(graph: Graph, limbs: Limbs, common: int) -> _Masks:
    nodes = graph.nodes
    sources, results = [0] * len(nodes), [0] * len(nodes)
    for i, node in enumerate(nodes):
        if node.op == 'input':
            limb = limbs.get(('in', *node.element))
            sources[i] = 0 if limb is None else 1 << limb
        for a in node.args:
            sources[i] |= sources[a]
    element = 0
    for k, argument in enumerate(graph.outputs):
        for e in range(argument.size):
            results[graph.results[element + e]] |= 1 << limbs.get(('out', k, e), common)
        element += argument.size
    for i in range(len(nodes) - 1, -1, -1):
        for a in nodes[i].args:
            results[a] |= results[i]
    return _Masks(sources, results)


def _lists(graph: Graph, order: Sequence[int], masks: _Masks, common: int) -> list[list[int]]:
    """Return the operations of each kernel: inward of limbs, common ones, inward and outward."""
    owner: dict[int, int | None] = {}
    inward: set[int] = set()
    for i in order:
        source, result = masks.sources[i], masks.results[i]
        if not source:
            owner[i] = None                 # of no limb: found by everyone who needs it
        elif source & (source - 1) == 0:
            owner[i] = source.bit_length() - 1
            inward.add(i)
        elif result & (result - 1) == 0:
            owner[i] = result.bit_length() - 1
        else:
            owner[i] = common
    chosen = [
        *[{i for i in order if owner[i] == limb and i in inward} for limb in range(common)],
        {i for i in order if owner[i] == common},
        *[{i for i in order if owner[i] == limb} for limb in range(common)]]
    # results of no limb are common ones
    chosen[common] |= {i for i in graph.results if owner.get(i, 0) is None}
    for own in chosen:
        for i in reversed(order):
            if i in own:
                own.update(a for a in graph.nodes[i].args if owner.get(a, 0) is None)
    return [[i for i in order if i in own] for own in chosen]


def parts_of(graph: Graph, lists: Sequence[Sequence[int]]) -> tuple[list[Part], int]:
    """
    Return kernels that make what later ones and the results need, and the number of slots.

    :param lists: the operations of each in order; one may be in several.
    """
    nodes, sets = graph.nodes, [set(own) for own in lists]
    last = {i: k for k, own in enumerate(lists) for i in own}
    first = {i: k for k, own in reversed(list(enumerate(lists))) for i in own}
    results: list[list[tuple[int, int]]] = [[] for _ in lists]
    for element, i in enumerate(graph.results):
        results[last.get(i, len(lists) - 1)].append((element, i))
    slots: dict[int, int] = {}
    parts: list[Part] = []
    for k in range(len(lists) - 1, -1, -1):         # from the end: what nobody loads is not made
        kept = {i for _, i in results[k]} | {i for i in slots if first[i] == k}
        for i in reversed(lists[k]):
            if i in kept:
                kept.update(nodes[i].args)
        own = [i for i in lists[k] if i in kept]
        outside = sorted(i for i in kept if nodes[i].op not in LEAVES and i not in sets[k])
        for i in outside:
            slots.setdefault(i, len(slots))
        if own or results[k]:
            parts.append(Part(
                own, sorted(i for i in kept if nodes[i].op in LEAVES),
                {i: slots[i] for i in outside},
                {i: slots[i] for i in own if i in slots and first[i] == k}, results[k]))
    return parts[::-1], len(slots)
