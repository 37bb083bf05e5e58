# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Which numbers are looked at to know that all are finite.

A number that is not finite spoils what is computed with it: a sum, a product, a root, a sine. So
it is enough to look at the results, and at those inputs that can vanish on the way: as a divisor,
in a comparison, in a choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.graph.graph import Graph

#: Operations whose value is not finite where the operand is not; of a quotient the first operand.
_CARRY = ('neg', 'add', 'sub', 'mul', 'sqrt', 'abs', 'sin', 'cos', 'tan')


def doubtful(graph: Graph, results: Sequence[int]) -> set[int]:
    """
    Return the nodes to look at: while these are finite, so are all inputs and these results.

    :param results: nodes that must be finite, besides the inputs that are used.
    """
    nodes, wanted = graph.nodes, set(results)
    shown = bytearray(len(nodes))
    found = set()
    for i in range(len(nodes) - 1, -1, -1):     # users before what they use
        op, args, _ = nodes[i]
        if op == 'const':
            continue
        if not shown[i] and (i in wanted or op == 'input'):
            found.add(i)
            shown[i] = 1
        if shown[i]:
            for a in args if op in _CARRY else args[:1] if op == 'div' else ():
                shown[a] = 1
    return found
