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
Cutting a graph into parts for the code generator.

LLVM's time grows faster than the length of a straight line, so a large graph becomes several
functions that pass values through a workspace on the stack. The values that live across a cut are
mostly those that the register allocator would have spilled anyway. Unlike the pieces of ``split``,
parts leave their results as soon as they are computed: the inputs have been copied before.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph

_LEAVES = ('const', 'input')
_ANGULAR = ('sin', 'cos')
#: Operations per function once a graph is cut, which it is past twice as many; measured: shorter
#: parts cost memory traffic, longer ones compile time and, past a few thousand, run time.
PART = 1000


class Part(NamedTuple):
    """
    A run of nodes that becomes one function.

    :param nodes: indices of the nodes to compute, in order.
    :param loads: workspace slot of every value that an earlier part left.
    :param saves: workspace slot of every value that a later part needs.
    """

    nodes: list[int]
    loads: dict[int, int]
    saves: dict[int, int]


def order(graph: Graph) -> list[int]:
    """
    Return the nodes to compute, what the angles depend on first.

    So the sines and cosines of all joints are found together at the beginning and fill the
    lanes of a vector.
    """
    nodes = graph.nodes
    late = [False] * len(nodes)
    angles = []
    for i, node in enumerate(nodes):
        late[i] = node.op in _ANGULAR or any(late[a] for a in node.args)
        if node.op in _ANGULAR and not late[node.args[0]]:
            angles.append(node.args[0])
    first = set()
    while angles:
        i = angles.pop()
        if i not in first:
            first.add(i)
            angles.extend(nodes[i].args)
    inner = [i for i, node in enumerate(nodes) if node.op not in _LEAVES]
    return [i for i in inner if i in first] + [i for i in inner if i not in first]


def partition(graph: Graph, size: int = PART) -> tuple[list[Part], int]:
    """
    Cut a graph into parts of at most the given number of nodes, or leave it whole if it is short.

    :param graph: what to cut.
    :param size: nodes per part; a graph of up to twice as many is left whole.
    :returns: the parts and the number of workspace slots, each of which is used again as soon
        as its value is no longer needed.
    """
    sequence = order(graph)
    count = 1 if len(sequence) <= 2 * size else -(-len(sequence) // size)
    size = -(-len(sequence) // count) or 1
    runs = [sequence[k:k + size] for k in range(0, len(sequence), size)] or [[]]
    home = {i: k for k, run in enumerate(runs) for i in run}
    last = {a: k for k, run in enumerate(runs) for i in run
            for a in graph.nodes[i].args if a in home}
    slot: dict[int, int] = {}
    free: list[int] = []
    total, parts = 0, []
    for k, run in enumerate(runs):
        needed = dict.fromkeys(a for i in run for a in graph.nodes[i].args if home.get(a, k) < k)
        saved = [i for i in run if last.get(i, k) > k]
        for i in saved:
            if not free:
                free.append(total)
                total += 1
            slot[i] = free.pop()
        parts.append(Part(run, {i: slot[i] for i in needed}, {i: slot[i] for i in saved}))
        # A slot is free only after the part: its loads need not come before its stores.
        free.extend(slot[i] for i in slot if last[i] == k)
    return parts, total
