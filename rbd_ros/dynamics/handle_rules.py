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

"""Rules of the table for the inverse inertia of many handles, by several methods."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rbd_ros.algorithms import handle_inertia, ltl, opspace
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.dynamics.rules import inertia, sparsity

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.quantity import State
    from rbd_ros.dynamics.rules import Results
    from rbd_ros.model.model import Model


def _handles(s: State) -> list[opspace.Handle]:
    """Return the handles; a direction that is switched off has a zero row."""
    mask = mask_of(s.target)
    if mask is None:
        return list(s.target)
    out, k = [], 0
    for handle in s.target:
        rows = []
        for row in handle.rows:
            rows.append(tuple(mask[k] * x for x in row))
            k += 1
        out.append(opspace.Handle(handle.frame, tuple(rows)))
    return out


def by_factors(s: State) -> Results:
    """Return Phi through the branch-sparse factors of H: Phi = Y^T D^-1 Y, Y = L^-T J^T."""
    J = [s.reduce(row) for row in opspace.task_jacobian(
        s.model, s.q, _handles(s), s.conditions.t)]
    parent = sparsity(s.model)
    L, D = ltl.ltdl(inertia(s), parent)
    Y = [ltl.solve_transposed(L, parent, row) for row in J]
    scaled = [[y / d for y, d in zip(row, D, strict=True)] for row in Y]
    m = len(J)
    Phi: list[list[Scalar]] = [[0.0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            Phi[i][j] = Phi[j][i] = opspace.sum_products(scaled[i], Y[j])                  # 7.11
    return {'Phi': Phi}


def _propagated(s: State, method: str) -> Results:
    return {'Phi': handle_inertia.inverse_handle_inertia(
        s.model, s.q, _handles(s), method, s.conditions.inertia, s.conditions.t)}


def by_forces_to_the_base(s: State) -> Results:
    """Return Phi by carrying every force to the base (PV-OSIM)."""
    return _propagated(s, 'pv')


def by_inertias_outward(s: State) -> Results:
    """Return Phi from the inverse inertia of every body (KRJ)."""
    return _propagated(s, 'krj')


def by_forces_to_the_meetings(s: State) -> Results:
    """Return Phi by carrying forces to where paths meet (EFPA)."""
    return _propagated(s, 'efpa')


def by_propagators(s: State) -> Results:
    """Return Phi by one propagator for each stretch between meetings (PV-OSIMr)."""
    return _propagated(s, 'pvr')


def moves_freely(model: Model) -> bool:
    """Return whether no joint is coupled to others."""
    return model.coupling is None


#: By method; the first is the reference.
RULES = MappingProxyType({
    'ltl': by_factors, 'pv': by_forces_to_the_base, 'krj': by_inertias_outward,
    'efpa': by_forces_to_the_meetings, 'pvr': by_propagators})
WHERE = MappingProxyType(dict.fromkeys(handle_inertia.METHODS, moves_freely))
