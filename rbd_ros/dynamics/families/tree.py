# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What rules of several families share: matrices of the tree over the independent coordinates.

Where a joint mimics another, joint forces are reduced to the independent coordinates by G^T,
inertias by G^T H G (RBDA 9.6). Rotors, which no tree algorithm knows, are added here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.crba import crba, crba_in_base
from rbd_ros.algorithms.kinematics import Links
from rbd_ros.compiler import Matrix, Values
from rbd_ros.dynamics.state import State
from rbd_ros.model import tree_cost
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion

Results = Mapping[str, Sequence[Any]]

#: Inputs of most quantities, and what most of them get from the robot.
Q, QD, QDD, GRAVITY = ('q',), ('q', 'qd'), ('q', 'qd', 'qdd'), ('gravity',)
#: Matrix of a robot that does not move: a list of no rows would not show its shape.
EMPTY: Any = np.empty((0, 0))


def tree(s: State) -> Links:
    """Return the link transforms and motion subspaces at a state."""
    return kinematics.links(s.model, s.q, s.conditions.t)


def joint_force(s: State, tree_force: Values, qdd: Values = ()) -> Results:
    """Return independent joint forces, with those that turn the rotors (RBDA Ex 9.5)."""
    tau = list(s.reduce(tree_force))
    for k, acceleration in enumerate(qdd):
        tau[k] = tau[k] + s.model.rotor_inertia[k] * acceleration
    return {'tau': tau}


def inertia(s: State) -> Matrix:
    """Return the inertia matrix over the independent coordinates, rotors included."""
    build = crba_in_base if tree_cost.is_deep(s.model.parent) else crba
    return with_rotors(s, build(s.model, tree(s), s.conditions.inertia))


def with_rotors(s: State, H: Matrix) -> Matrix:
    """Return an inertia matrix of the tree over the independent coordinates, with rotors."""
    H = reduce_symmetric(s.model, H, s.inputs['q'])
    for k, rotor in enumerate(s.model.rotor_inertia):
        H[k][k] = H[k][k] + rotor
    return H


def reduce_symmetric(model: Model, H: Matrix, y: Values) -> Matrix:
    """Return G^T H G, exactly symmetric; H itself where no joint follows another (9.26)."""
    return H if model.coupling is None else model.coupling.reduce_symmetric(H, y)


def reduce_matrix(s: State, M: Sequence[Values]) -> Sequence[Values]:
    """Return G^T M G: any square matrix of the tree over the independent coordinates (9.6)."""
    if not s.model.nv:
        return EMPTY
    if s.model.coupling is None:
        return M
    return reduce_rows(s, [s.reduce(row) for row in M])


def reduce_rows(s: State, M: Sequence[Values]) -> Matrix:
    """Return G^T M: a matrix whose rows are those of the tree, over independent coordinates."""
    columns = [s.reduce(column) for column in zip(*M, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def six_rows(s: State, columns: Sequence[Motion] | Sequence[Force]) -> Matrix:
    """Return a matrix of six rows from its columns over the tree."""
    rows = list(zip(*(column.to_list() for column in columns), strict=True)) or [()] * 6
    return [list(s.reduce(row)) for row in rows]


def sparsity(model: Model) -> Sequence[int]:
    """
    Return the expanded parent array of the reduced inertia matrix.

    A mimic joint couples its branch with that of its master, which no parent array shows: such
    a matrix is treated as a chain, where the compiler still skips what is zero by structure.
    """
    return model.expanded_parent if model.coupling is None else range(-1, model.nv - 1)


def moves_freely(model: Model) -> bool:
    """Return whether no joint follows another."""
    return model.coupling is None
