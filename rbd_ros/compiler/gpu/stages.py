# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Graphs that compute one after the other what another graph computes as a whole.

As a whole, values of early steps are shared with late ones, and wait in local memory meanwhile.
In stages each kernel finds again what it needs of the inputs, and only the results of a stage go
through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph, Node


class Stages(NamedTuple):
    """
    Graphs joined into one.

    :param graph: all operations, shared within a stage alone.
    :param places: of each stage, the node of ``graph`` that each of its own nodes became.
    """

    graph: Graph
    places: tuple[Sequence[int], ...]


def joined(graphs: Sequence[Graph], like: Graph) -> Stages:
    """
    Return graphs as one: inputs are those of ``like``, or results of an earlier one, by name.

    :param graphs: the last one has the results of ``like``.
    :raises ValueError: if an input comes from nowhere, or the results are others.
    """
    if graphs[-1].outputs != like.outputs:
        raise ValueError(f'the last stage of "{like.name}" has other results')
    arguments = [a.name for a in like.inputs]
    known: dict[str, Sequence[int]] = {}
    nodes: list[Node] = []
    places = []
    for graph in graphs:
        place: list[int] = []
        for node in graph.nodes:
            made = node._replace(args=tuple(place[a] for a in node.args))
            if node.op == 'input':
                number, element = node.element
                name = graph.inputs[number].name
                if name in known:
                    place.append(known[name][element])
                    continue
                if name not in arguments:
                    raise ValueError(
                        f'the stage "{graph.name}" needs "{name}", which is neither an input of '
                        f'"{like.name}" nor a result of a stage before')
                made = Node('input', (), (arguments.index(name), element))
            place.append(len(nodes))
            nodes.append(made)
        known.update({a.name: [place[i] for i in graph.output_results(a.name)]
                      for a in graph.outputs})
        places.append(place)
    results = tuple(i for a in like.outputs for i in known[a.name])
    return Stages(Graph(like.name, like.inputs, like.outputs, tuple(nodes), results),
                  tuple(places))
