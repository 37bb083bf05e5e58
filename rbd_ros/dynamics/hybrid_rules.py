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

"""The rules of hybrid dynamics: prescribed joints among free ones (RBDA 9.1, 9.2)."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rbd_ros.algorithms import hybrid
from rbd_ros.algorithms.linear import ltl
from rbd_ros.dynamics import rules
from rbd_ros.dynamics.prescribed import prescribed_variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.state import State
    from rbd_ros.model.model import Model

    Results = Mapping[str, Sequence[Any]]


def by_inertia_matrix(s: State) -> Results:
    """Return both sides through the inertia matrix of the free joints (RBDA 9.1)."""
    if s.model.coupling is not None:
        return _projected(s)
    known = s.inputs['known']
    return hybrid.by_inertia_matrix(
        s.model, s.q, s.qd, known, known, _free_bodies(s), s.conditions,
        s.model.rotor_inertia)._asdict()


def by_articulated_bodies(s: State) -> Results:
    """Return both sides by articulated bodies (RBDA Table 9.3)."""
    known = s.inputs['known']
    return hybrid.by_articulated_bodies(
        s.model, s.q, s.qd, known, known, _free_bodies(s), s.conditions,
        s.model.rotor_inertia)._asdict()


def _free_bodies(s: State) -> frozenset[int]:
    """Return fd: the bodies whose joints have given forces."""
    return frozenset(i for i, name in enumerate(s.model.joint_names, 1) if name not in s.target)


def _projected(s: State) -> Results:
    """Return both sides where joints follow others, in the independent coordinates (9.26)."""
    known, flags = s.inputs['known'], prescribed_variables(s.model, s.target)
    one = [k for k in range(s.model.nv) if not flags[k]]
    qdd: list[Scalar] = [known[k] if flags[k] else 0.0 for k in range(s.model.nv)]
    C = s.compute('inverse_dynamics', method='3d', qdd=qdd)                                # 9.3
    H = rules.inertia(s)
    H11 = [[H[i][j] for j in one] for i in one]
    found = ltl.solve(H11, range(-1, len(one) - 1), [known[k] - C[k] for k in one])        # 9.2
    tau = [C[k] if flags[k] else known[k] for k in range(s.model.nv)]
    for j, value in zip(one, found, strict=True):
        qdd[j] = value
        for k in range(s.model.nv):
            if flags[k]:
                tau[k] = tau[k] + H[k][j] * value
    return {'qdd': qdd, 'tau': tau}


def moves_freely(model: Model) -> bool:
    """Return whether no joint follows another."""
    return model.coupling is None
