# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Results that are zero whatever the inputs are: most of a large sparse matrix.

Storing them takes as long as all the rest of a humanoid's regressor. A bound kernel writes into
memory of its own, which is zero from the start, so that it leaves them out; its arrays cannot be
written by others then.
"""

from __future__ import annotations

from rbd_ros.compiler.graph.graph import Graph

#: Zeros from which on a bound kernel leaves them out; fewer stay in the processor's first cache.
MANY = 2048


def is_zero(graph: Graph, node: int) -> bool:
    """Return whether a node is an exact zero."""
    op, _, value = graph.nodes[node]
    return op == 'const' and value == 0.0


def left_out(graph: Graph) -> list[str]:
    """Return the outputs whose zeros a bound kernel leaves out, in order; mostly none."""
    if sum(is_zero(graph, node) for node in graph.results) < MANY:
        return []
    return [output.name for output in graph.outputs
            if any(is_zero(graph, node) for node in graph.output_results(output.name))]
