# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The order of operations: dead code dropped, few values alive at a time.

Backends keep the order they are given within a basic block, and long graphs are cut along it; a
value that waits long for its use goes to memory and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

_LEAVES = ('const', 'input')


def schedule(nodes: Sequence[tuple[Any, ...]], refs: Sequence[int]) -> list[int]:
    """
    Return the recorded nodes that the results need, in an order that can be executed.

    It is found backwards: of the operations whose users are all placed, the one that needs the
    fewest operands not yet waited for comes next, and among these the one recorded last. So sums
    take their products from right before them, and the structure that the algorithm's author
    gave is kept otherwise. Constants and inputs come before their first use.

    :param nodes: recorded nodes, each after its arguments.
    :param refs: refs of the results.
    """
    alive = _alive(nodes, refs)
    size = len(nodes)
    inner = bytearray([node[0] not in _LEAVES for node in nodes])
    operands: list[list[int]] = [[]] * size
    users: list[list[int]] = [[] for _ in range(size)]
    for k in alive:
        found = []
        for r in nodes[k][1]:
            a = r >> 1
            if inner[a] and a not in found:
                found.append(a)
                users[a].append(k)
        operands[k] = found
    waiting = [len(u) for u in users]
    cost = [len(a) for a in operands]
    awaited = bytearray(size)

    def await_value(a: int) -> None:
        awaited[a] = 1
        for u in users[a]:
            cost[u] -= 1
            if not waiting[u]:
                heappush(ready, (cost[u] + 1) * size - u)

    # Cost and index in one number: cheaper to compare than a tuple.
    ready: list[int] = []
    for k in {r >> 1 for r in refs}:
        await_value(k)
    ready.extend([(cost[k] + 1) * size - k for k in alive if not waiting[k]])
    heapify(ready)
    backwards: list[int] = []
    while ready:
        k = -heappop(ready) % size
        if waiting[k]:
            continue
        waiting[k] = -1
        backwards.append(k)
        for a in operands[k]:
            waiting[a] -= 1
            if not awaited[a]:
                await_value(a)
            if not waiting[a]:
                heappush(ready, (cost[a] + 1) * size - a)
    return _with_leaves(nodes, refs, backwards)


def _alive(nodes: Sequence[tuple[Any, ...]], refs: Sequence[int]) -> list[int]:
    """Return the operations that the results need, in the order of the recording."""
    needed = bytearray(len(nodes))
    for r in refs:
        needed[r >> 1] = 1
    found = []
    for k in range(len(nodes) - 1, -1, -1):
        if needed[k] and nodes[k][0] not in _LEAVES:
            found.append(k)
            for r in nodes[k][1]:
                needed[r >> 1] = 1
    found.reverse()
    return found


def _with_leaves(
    nodes: Sequence[tuple[Any, ...]], refs: Sequence[int], backwards: list[int],
) -> list[int]:
    """Return the operations forwards, each constant and input before its first use."""
    order: list[int] = []
    placed: set[int] = set()
    for k in reversed(backwards):
        for r in nodes[k][1]:
            if r >> 1 not in placed and nodes[r >> 1][0] in _LEAVES:
                placed.add(r >> 1)
                order.append(r >> 1)
        order.append(k)
    order.extend([k for k in dict.fromkeys([r >> 1 for r in refs])
                  if nodes[k][0] in _LEAVES and k not in placed])
    return order
