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

"""Quantities around the Coriolis matrix, for the table of :mod:`rbd_ros.dynamics.table`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.algorithms import christoffel, coriolis, kinematics
from rbd_ros.dynamics.quantity import Quantity, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Model
    from rbd_ros.spatial import Force

    Matrix = list[list[Scalar]]


def _links(s: State) -> kinematics.Links:
    return kinematics.links(s.model, s.q, s.conditions.t)


def _reduced(model: Model, M: Sequence[Sequence[Scalar]]) -> Matrix:
    """Return G^T M G: a matrix of the tree over the independent coordinates (RBDA 9.6)."""
    MG = [model.reduce_force(row) for row in M]
    columns = [model.reduce_force(column) for column in zip(*MG, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _six_rows(model: Model, columns: Sequence[Force]) -> Matrix:
    rows = zip(*(column.to_list() for column in columns), strict=True)
    return [list(model.reduce_force(row)) for row in rows] or [[] for _ in range(6)]


def coriolis_matrix(_: Model) -> Quantity:
    """Return C(q, qd) with dH/dt - 2 C skew-symmetric; C qd + g is the bias force."""
    def rule(s: State) -> Mapping[str, Sequence]:
        C = coriolis.coriolis_matrix(s.model, _links(s), s.q, s.qd, s.conditions.inertia)
        return {'C': _reduced(s.model, C)}
    return Quantity('coriolis_matrix', ('q', 'qd'), {'bodies': rule})


def christoffel_symbols(_: Model) -> Quantity:
    """Return the symbols Gamma with C = Gamma qd, by differentiating H."""
    def rule(s: State) -> Mapping[str, Sequence]:
        Gamma = christoffel.christoffel_symbols(s.model, s.q, s.conditions.inertia)
        # The last index first, then the other two, each by G.
        planes = [_reduced(s.model, plane) for plane in zip(*(
            zip(*(s.model.reduce_force(line) for line in sheet), strict=True)
            for sheet in Gamma), strict=True)]
        return {'Gamma': [[[plane[i][j] for plane in planes] for j in range(s.model.nv)]
                          for i in range(s.model.nv)]}
    return Quantity('christoffel_symbols', ('q',), {'differentiated': rule})


def centroidal_momentum_matrix(_: Model) -> Quantity:
    """Return A(q), 6 x nv: A qd is the momentum about the centre of mass, base axes."""
    def rule(s: State) -> Mapping[str, Sequence]:
        return {'A': _six_rows(s.model, coriolis.centroidal_momentum_matrix(
            s.model, _links(s), s.conditions.inertia))}
    return Quantity('centroidal_momentum_matrix', ('q',), {'composite': rule})


def centroidal_momentum_matrix_rate(_: Model) -> Quantity:
    """Return dA/dt, 6 x nv."""
    def rule(s: State) -> Mapping[str, Sequence]:
        return {'Adot': _six_rows(s.model, coriolis.centroidal_momentum_rate(
            s.model, _links(s), s.q, s.qd, s.conditions.inertia))}
    return Quantity('centroidal_momentum_matrix_rate', ('q', 'qd'), {'composite': rule})


#: All of them, by name.
QUANTITIES = {function.__name__: function for function in (
    coriolis_matrix, christoffel_symbols, centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate)}
