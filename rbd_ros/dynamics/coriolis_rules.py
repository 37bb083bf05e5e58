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

"""Rules of the table for the Coriolis matrix and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.algorithms import christoffel, coriolis
from rbd_ros.dynamics.rules import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.quantity import State
    from rbd_ros.dynamics.rules import Results
    from rbd_ros.model.model import Model
    from rbd_ros.spatial import Force

    Matrix = list[list[Scalar]]


def _reduced(model: Model, M: Sequence[Sequence[Scalar]]) -> Matrix:
    """Return G^T M G: a matrix of the tree over the independent coordinates (RBDA 9.6)."""
    MG = [model.reduce_force(row) for row in M]
    columns = [model.reduce_force(column) for column in zip(*MG, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _six_rows(model: Model, columns: Sequence[Force]) -> Matrix:
    rows = zip(*(column.to_list() for column in columns), strict=True)
    return [list(model.reduce_force(row)) for row in rows] or [[] for _ in range(6)]


def coriolis_matrix(s: State) -> Results:
    """Return C(q, qd), by composite bodies."""
    C = coriolis.coriolis_matrix(s.model, tree(s), s.q, s.qd, s.conditions.inertia)
    return {'C': _reduced(s.model, C)}


def christoffel_symbols(s: State) -> Results:
    """Return the symbols Gamma, by differentiating H."""
    Gamma = christoffel.christoffel_symbols(s.model, s.q, s.conditions.inertia)
    # The last index first, then the other two, each by G.
    planes = [_reduced(s.model, plane) for plane in zip(*(
        zip(*(s.model.reduce_force(line) for line in sheet), strict=True)
        for sheet in Gamma), strict=True)]
    return {'Gamma': [[[plane[i][j] for plane in planes] for j in range(s.model.nv)]
                      for i in range(s.model.nv)]}


def centroidal_momentum_matrix(s: State) -> Results:
    """Return A(q) from the composite bodies."""
    return {'A': _six_rows(s.model, coriolis.centroidal_momentum_matrix(
        s.model, tree(s), s.conditions.inertia))}


def centroidal_momentum_matrix_rate(s: State) -> Results:
    """Return dA/dt."""
    return {'Adot': _six_rows(s.model, coriolis.centroidal_momentum_rate(
        s.model, tree(s), s.q, s.qd, s.conditions.inertia))}
