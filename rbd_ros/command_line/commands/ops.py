# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Count the operations of the compiled kernels, and compare them with the counts in the book.

    rbd ops robot.urdf

The book's counts (RBDA Table 10.1 and Section 10.3) are for a robot with the same tree, revolute
joints and general inertias. Zeros and ones in the axes, placements and inertias of your robot save
operations, so that a kernel usually needs fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Floating, Robot
from rbd_ros.command_line.output import progress, show, table

if TYPE_CHECKING:
    from rbd_ros.compiler import OperationCount
    from rbd_ros.model.model import Model

#: The quantities whose operations are counted.
QUANTITIES = ('inverse_dynamics', 'gravity', 'bias', 'mass_matrix', 'forward_dynamics')


def run(robot: Robot, floating_base: Floating = False, as_json: AsJson = False) -> None:
    """Print the number of operations of each kernel."""
    from rbd_ros.command_line.robots import load
    model = load(robot, floating_base, quiet=as_json).model
    book = book_counts(model)
    counts = operation_counts(model)
    rows, data = [], []
    for (name, method), count in counts.items():
        best = book.get((name, method), book.get((name, '')))
        share = f'{count.total / best:.0%}' if best else '-'
        rows.append([name, method, count.multiplications, count.additions, count.total,
                     best or '-', share])
        data.append({'quantity': name, 'method': method, 'total': count.total, 'book': best,
                     'multiplications': count.multiplications, 'additions': count.additions})
    show({'robot': model.name, 'nv': model.nv, 'counts': data}, as_json, table(
        f'Operations of {model.name}, {model.nv} degrees of freedom', (
            'quantity', 'method', '>multiply', '>add', '>total', '>book', '>of book'), rows))


def operation_counts(model: Model) -> dict[tuple[str, str], OperationCount]:
    """Return the counts of every quantity and method of a robot, with gravity as an input."""
    from rbd_ros.dynamics.robot import Dynamics
    robot = Dynamics(model, backend='reference')
    asked = [(name, method) for name in QUANTITIES for method in robot.methods(name)]
    found = {}
    with progress('counting', len(asked)) as step:
        for name, method in asked:
            found[name, method] = robot.kernel(name, method=method).count()
            step()
    return found


def book_counts(model: Model) -> dict[tuple[str, str], int]:
    """
    Return the book's counts for the tree of a robot, by quantity and method.

    They hold for two joints or more; an empty method stands for every method.
    """
    from rbd_ros.model import tree_cost
    n = model.tree_nv
    if n < 2:
        return {}
    # Joints with several degrees of freedom count as chains of revolute ones.
    parent = [0, *(p + 1 for p in model.expanded_parent)]
    return {
        ('inverse_dynamics', ''): tree_cost.inverse_dynamics_cost(n).total,
        ('mass_matrix', ''): tree_cost.inertia_matrix_cost(parent).total,
        ('forward_dynamics', 'crba'): tree_cost.forward_dynamics_cost(parent).total,
        ('forward_dynamics', 'aba'): tree_cost.articulated_body_cost(n).total}
