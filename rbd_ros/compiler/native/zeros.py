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
