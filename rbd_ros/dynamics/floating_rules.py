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
The rules of floating bases: the motion of the base is an unknown (RBDA 9.3 to 9.5).

Joints that follow others, and rotors, are taken in as everywhere: what the algorithms call H, C
and tau is over the independent coordinates after the base.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms import floating
from rbd_ros.algorithms.handles.opspace import sum_products
from rbd_ros.algorithms.linear import ltl
from rbd_ros.dynamics import rules

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.rules import Matrix, Results
    from rbd_ros.dynamics.state import State

_BASE = [0.0] * 6


def equations(s: State) -> Results:
    """Return the coefficients of the equation of motion (RBDA Table 9.5)."""
    e = _equations(s)
    return {**e._asdict(), 'H': _square(e.H)}


def _equations(s: State) -> floating.Equations:
    return floating.equations(s.model, rules.inertia(s), rules.bias_3d(s)['tau'])


def reduced_equations(s: State) -> Results:
    """Return H_fl and C_fl, the base eliminated (9.14 to 9.16)."""
    H, C = floating.eliminate_base(_equations(s))
    return {'H_fl': _square(H), 'C_fl': C}


def _square(H: Matrix) -> Any:
    """Return a matrix with the shape that lists lose where there is no joint."""
    return H or np.empty((0, 0))


def inverse_dynamics(s: State) -> Results:
    """Return a_0 and tau for given joint accelerations (RBDA Table 9.6)."""
    given = s.inputs['joint_qdd']
    qdd = s.model.expand_a([*_BASE, *given], s.inputs['qd'], s.inputs['q'])
    a_0, tree_tau = floating.inverse_dynamics(s.model, s.q, s.qd, qdd[6:], s.conditions)
    tau = s.reduce([*_BASE, *tree_tau])[6:]
    rotors = s.model.rotor_inertia[6:]
    return {'a_0': a_0.to_list(), 'tau': [
        t + rotor * x for t, rotor, x in zip(tau, rotors, given, strict=True)]}


def forward_dynamics_by_bodies(s: State) -> Results:
    """Return a_0 and qdd by articulated bodies (RBDA Table 9.4)."""
    a_0, qdd = floating.forward_dynamics(
        s.model, s.q, s.qd, s.inputs['joint_tau'], s.conditions, s.model.rotor_inertia[6:])
    return {'a_0': a_0.to_list(), 'qdd': qdd}


def forward_dynamics_by_inertia(s: State) -> Results:
    """Return a_0 and qdd from the equation of motion, the base eliminated (9.14)."""
    e = _equations(s)
    H, C = floating.eliminate_base(e)
    rhs = [t - c for t, c in zip(s.inputs['joint_tau'], C, strict=True)]
    qdd: list[Scalar] = ltl.solve(H, range(-1, len(H) - 1), rhs)
    force = [-p - sum_products(row, qdd) for p, row in zip(e.p_0, e.F, strict=True)]       # 9.13
    return {'a_0': ltl.Dense(e.I_0).solve(force), 'qdd': qdd}


def momentum(s: State) -> Results:
    """Return the momentum of the robot from the same coefficients (RBDA Ex 9.3)."""
    e = floating.equations(s.model, rules.inertia(s), [0.0] * s.model.nv)
    return {'h': floating.momentum(e, s.inputs['qd']).to_list()}


def jacobian(s: State) -> Results:
    """Return the motion of a frame by joints alone, while the base gives way (RBDA Ex 9.4)."""
    e = floating.equations(s.model, rules.inertia(s), [0.0] * s.model.nv)
    J = [list(row) for row in rules.jacobian(s)['J']]
    return {'J': floating.floating_jacobian(e, J)}
