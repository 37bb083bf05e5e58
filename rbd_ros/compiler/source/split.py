# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Cutting a long graph into pieces.

Compilers take more than linear time on long functions without branches. A piece is one function;
values that cross a cut go through a workspace array. Results are written by the last piece alone,
after every input has been read, so that an output may share memory with an input.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.graph.graph import FREE, Graph


class Piece(NamedTuple):
    """
    Part of a graph: load, compute, store; then results, in the last piece only.

    :param nodes: the nodes to compute, in order; constants, inputs and negations that several
        pieces use appear in each of them.
    :param loads: (node, slot) of values taken from the workspace before anything is computed.
    :param stores: (node, slot) of values put there at the end.
    :param results: (element of ``graph.results``, node) of all outputs.
    """

    nodes: tuple[int, ...]
    loads: tuple[tuple[int, int], ...]
    stores: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]


class Split(NamedTuple):
    """A graph in pieces, and the number of workspace slots they need."""

    pieces: tuple[Piece, ...]
    workspace: int


def split(graph: Graph, max_nodes: int) -> Split:
    """
    Return a graph in pieces of about max_nodes operations at most, cut where little is alive.

    :param graph: what to cut.
    :param max_nodes: operations per piece, without constants, inputs and negations.
    """
    busy = [k for k, node in enumerate(graph.nodes) if node.op not in FREE]
    uses = _values_used(graph)
    owner: dict[int, int] = {}
    for number, part in enumerate(_cuts(graph, busy, uses, max(2, max_nodes))):
        owner.update(dict.fromkeys(part, number))
    count = max(owner.values(), default=0) + 1
    parts: list[list[int]] = [[] for _ in range(count)]
    for k in busy:
        parts[owner[k]].append(k)
    needed = [dict.fromkeys([v for k in part for v in (*uses[k], k)]) for part in parts]
    for r in graph.results:
        needed[-1].update(dict.fromkeys(uses[r] if graph.nodes[r].op in FREE else (r,)))
    last_use: dict[int, int] = {}
    for number, values in enumerate(needed):
        last_use.update(dict.fromkeys(values, number))
    slots, workspace = _slots(parts, owner, last_use)
    pieces = []
    for number, part in enumerate(parts):
        loads = tuple([(k, slots[k]) for k in needed[number] if owner[k] < number])
        stores = tuple([(k, slots[k]) for k in part if k in slots])
        results = tuple(enumerate(graph.results)) if number == count - 1 else ()
        nodes = _with_free(graph, part, [k for _, k in results])
        pieces.append(Piece(nodes, loads, stores, results))
    return Split(tuple(pieces), workspace)


def _values_used(graph: Graph) -> list[tuple[int, ...]]:
    """Return, for each node, the operations it depends on, looking through negations."""
    through: list[tuple[int, ...]] = []
    for node in graph.nodes:
        if node.op == 'neg':
            a = node.args[0]
            through.append(through[a] if graph.nodes[a].op in FREE else (a,))
        elif node.op in FREE:
            through.append(())
        else:
            through.append(tuple([v for a in node.args for v in (
                through[a] if graph.nodes[a].op in FREE else (a,))]))
    return through


def _cuts(graph: Graph, busy: list[int], uses: list[tuple[int, ...]], max_nodes: int,
          ) -> list[list[int]]:
    """Return the operations in parts, cut in the second half of each where least is alive."""
    place = {k: p for p, k in enumerate(busy)}
    last = [0] * len(busy)
    for k in busy:
        for v in uses[k]:
            last[place[v]] = place[k]
    alive, change = 0, [0] * (len(busy) + 1)
    for p, end in enumerate(last):
        if end > p:
            change[p + 1] += 1
            change[end + 1 if end + 1 < len(busy) else len(busy)] -= 1
    live = []
    for c in change:
        alive += c
        live.append(alive)
    parts, start = [], 0
    while len(busy) - start > max_nodes:
        window = range(start + max_nodes // 2, start + max_nodes + 1)
        cut = min(window, key=lambda p: (live[p], -p))
        parts.append(busy[start:cut])
        start = cut
    parts.append(busy[start:])
    return parts


def _slots(parts: list[list[int]], owner: dict[int, int], last_use: dict[int, int],
           ) -> tuple[dict[int, int], int]:
    """Give each value that crosses a cut a slot, reused by pieces after its last reader."""
    slots: dict[int, int] = {}
    free: list[int] = []
    release: list[list[int]] = [[] for _ in range(len(parts) + 1)]
    workspace = 0
    for number, part in enumerate(parts):
        free.extend(release[number])
        for k in part:
            if last_use.get(k, owner[k]) > number:
                if not free:
                    free.append(workspace)
                    workspace += 1
                slots[k] = free.pop()
                release[last_use[k] + 1].append(slots[k])
    return slots, workspace


def _with_free(graph: Graph, part: list[int], results: list[int]) -> tuple[int, ...]:
    """Return a part with the constants, inputs and negations that it reads, in order."""
    chosen = set(part)
    stack = [*part, *[k for k in results if graph.nodes[k].op in FREE]]
    while stack:
        k = stack.pop()
        chosen.add(k)
        stack.extend([a for a in graph.nodes[k].args
                      if graph.nodes[a].op in FREE and a not in chosen])
    return tuple(sorted(chosen))
