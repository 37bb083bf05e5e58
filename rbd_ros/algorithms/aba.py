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
Forward dynamics of a kinematic tree by articulated bodies (RBDA 7).

The way through the inertia matrix (RBDA 6) is put together in :mod:`rbd_ros.dynamics.table` from
``crba``, the bias force and the factors of H.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.algorithms import ltl
from rbd_ros.algorithms.kinematics import (
    combine, external_forces, links, velocities, velocity_products)
from rbd_ros.compiler import is_zero
from rbd_ros.spatial import ArticulatedInertia, Force, Motion, unit_rows, vanishing_rows, Vec3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rbd_ros.algorithms.kinematics import Conditions, Links
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Model


class Articulated(NamedTuple):
    """
    Every body as the handle of all it carries: f = I_A a + p_A (RBDA 7.1), body coordinates.

    :param I_A: articulated-body inertia.
    :param p_A: bias force.
    :param U: columns of I_A S.
    :param D: S^T U, factorised.
    :param u: joint forces minus S^T p_A.
    """

    I_A: list[ArticulatedInertia]
    p_A: list[Force]
    U: list[list[Force]]
    D: list[ltl.Dense]
    u: list[list[Scalar]]


def aba(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar],
    conditions: Conditions, rotor: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """
    Return qdd by the articulated-body algorithm (RBDA Table 7.1).

    :param rotor: reflected inertia of the rotor of each joint variable, added to D (9.28).
    """
    tree = links(model, q, conditions.t)
    v, v_J = velocities(model, tree, q, qd, conditions.t)
    c = velocity_products(model, q, qd, v, v_J, conditions.t)
    bodies = articulate(model, tree, v, c, tau, conditions, rotor)
    return outward(model, tree, bodies, c, [Motion(Vec3.zero(), -conditions.gravity)])


def articulate(
    model: Model, tree: Links, v: Sequence[Motion], c: Sequence[Motion], tau: Sequence[Scalar],
    conditions: Conditions, rotor: Sequence[Scalar] | None = None,
) -> Articulated:
    """Assemble the articulated bodies from the tips to the base (pass 2 of Table 7.1)."""
    model.refuse_loops()
    inertia = conditions.inertia or model.inertia
    f_x = external_forces(model, tree, conditions.f_ext)
    p_A = [Force.zero()] + [
        v[i].cross(inertia[i] @ v[i]) - f_x[i] for i in range(1, model.nb + 1)]            # 7.37
    I_A: list[ArticulatedInertia] = [body.articulated() for body in inertia]
    bodies = Articulated(I_A, p_A, [[]] * (model.nb + 1), [ltl.Dense([])] * (model.nb + 1),
                         [[]] * (model.nb + 1))
    for i in range(model.nb, 0, -1):
        S, p = tree.S[i], model.parent[i]
        U = [I_A[i] @ s for s in S]                                                        # 7.43
        D_i = [[s.dot(f) for s in S] for f in U]                                           # 7.44
        geared = False
        for k, I_rotor in enumerate(rotor[model.v_index[i]] if rotor else ()):
            D_i[k][k] = D_i[k][k] + I_rotor                                                # 9.28
            geared = geared or not is_zero(I_rotor)
        D = ltl.Dense(D_i)
        u = [t - s.dot(p_A[i]) for t, s in zip(tau[model.v_index[i]], S, strict=True)]     # 7.45
        if p != 0:
            # S^T U = D and I_a S = 0 hold exactly, and save a row and a column, unless a rotor
            # turns too.
            UD = D.solve_columns(U, {} if geared else unit_rows(S))
            I_a = I_A[i].minus_dyads(UD, U, () if geared else vanishing_rows(S))           # 7.47
            p_a = combine(p_A[i] + I_a @ c[i], UD, u)                                      # 7.48
            I_A[p] = I_A[p] + tree.Xup[i].inv_apply(I_a)
            p_A[p] = p_A[p] + tree.Xup[i].inv_apply(p_a)
        bodies.U[i], bodies.D[i], bodies.u[i] = U, D, u
    return bodies


def outward(
    model: Model, tree: Links, bodies: Articulated, c: Sequence[Motion], a: Sequence[Motion],
) -> list[Scalar]:
    """
    Find the joint accelerations from the base to the tips (pass 3 of Table 7.1).

    :param a: accelerations of the first bodies, where they are known; at least of the base.
    """
    qdd: list[Scalar] = [0.0] * model.tree_nv
    acc = list(a)
    for i in range(len(acc), model.nb + 1):
        a_i = tree.Xup[i] @ acc[model.parent[i]] + c[i]                                    # 7.49
        rhs = [u - U.dot(a_i) for u, U in zip(bodies.u[i], bodies.U[i], strict=True)]
        qdd_i = bodies.D[i].solve(rhs)                                                     # 7.50
        qdd[model.v_index[i]] = qdd_i
        acc.append(combine(a_i, tree.S[i], qdd_i))
    return qdd
