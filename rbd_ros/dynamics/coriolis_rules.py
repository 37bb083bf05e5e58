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
from rbd_ros.algorithms.crba import crba
from rbd_ros.dynamics.rules import reduce_matrix, reduce_rows, six_rows, tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.rules import Results
    from rbd_ros.dynamics.state import State

    Matrix = list[list[Scalar]]


def _of_changing_gears(s: State, yd: Sequence[Scalar]) -> Matrix | None:
    """Return G^T H G_dot at a velocity, None where no ratio changes with the position."""
    coupling = s.model.coupling
    if coupling is None or coupling.constant:
        return None
    rates = coupling.rows_rate(s.inputs['q'], yd)
    H = crba(s.model, tree(s), s.conditions.inertia)
    return reduce_rows(s, [coupling.gather(rates, row) for row in H])


def _plus(A: Sequence[Sequence[Scalar]], B: Matrix | None) -> Sequence[Sequence[Scalar]]:
    if B is None:
        return A
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(A, B, strict=True)]


def coriolis_matrix(s: State) -> Results:
    """Return C(q, qd), by composite bodies; of a geared tree G^T (C G + H G_dot)."""
    C = coriolis.coriolis_matrix(s.model, tree(s), s.q, s.qd, s.conditions.inertia)
    return {'C': _plus(reduce_matrix(s, C), _of_changing_gears(s, s.inputs['qd']))}


def christoffel_symbols(s: State) -> Results:
    """Return the symbols Gamma, by differentiating H."""
    Gamma = christoffel.christoffel_symbols(s.model, s.q, s.conditions.inertia)
    # The last index first, then the other two, each by G.
    planes = [reduce_matrix(s, plane) for plane in zip(*(
        zip(*(s.reduce(line) for line in sheet), strict=True) for sheet in Gamma), strict=True)]
    planes = [_plus(plane, _of_changing_gears(s, [float(n == k) for n in range(s.model.nv)]))
              for k, plane in enumerate(planes)]
    return {'Gamma': [[[plane[i][j] for plane in planes] for j in range(s.model.nv)]
                      for i in range(s.model.nv)]}


def centroidal_momentum_matrix(s: State) -> Results:
    """Return A(q) from the composite bodies."""
    return {'A': six_rows(s, coriolis.centroidal_momentum_matrix(
        s.model, tree(s), s.conditions.inertia))}


def centroidal_momentum_matrix_rate(s: State) -> Results:
    """Return dA/dt; of a geared tree dA/dt G + A G_dot."""
    rate = six_rows(s, coriolis.centroidal_momentum_rate(
        s.model, tree(s), s.q, s.qd, s.conditions.inertia))
    coupling = s.model.coupling
    if coupling is None or coupling.constant:
        return {'Adot': rate}
    A = coriolis.centroidal_momentum_matrix(s.model, tree(s), s.conditions.inertia)
    rates = coupling.rows_rate(s.inputs['q'], s.inputs['qd'])
    return {'Adot': _plus(rate, [coupling.gather(rates, row) for row in zip(
        *(column.to_list() for column in A), strict=True)])}
