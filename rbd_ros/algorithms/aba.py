# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Forward dynamics of a kinematic tree: the articulated-body algorithm (RBDA 7.3).

The other method, by way of the inertia matrix (RBDA 6), is composed in
:mod:`rbd_ros.dynamics.families.forward_dynamics` of ``crba``, the bias force and the factors of H.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms.kinematics import combine, Conditions, external_forces, links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import is_zero, Matrix, Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.spatial import ArticulatedInertia, Force, Motion, unit_rows, vanishing_rows, Vec3


class Articulated(NamedTuple):
    """
    Every body as the handle of all it carries: f = I_A a + p_A (RBDA 7.1), body coordinates.

    Lists are indexed by body; qdd by joint variable.

    :param I_A: articulated-body inertia.
    :param p_A: bias force.
    :param U: columns of I_A S.
    :param D: S^T U, factorised.
    :param u: joint forces minus S^T p_A.
    :param c: velocity-product accelerations of the joints.
    :param a: accelerations, each with the fictitious -a_g of the base in it.
    :param qdd: joint accelerations.
    """

    I_A: list[ArticulatedInertia]
    p_A: list[Force]
    U: list[list[Force]]
    D: list[ltl.Dense]
    u: Matrix
    c: list[Motion]
    a: list[Motion]
    qdd: list[Scalar]


def aba(
    model: Model, q: Values, qd: Values, tau: Values,
    conditions: Conditions, rotor: Values | None = None,
) -> Articulated:
    """
    Return qdd and its intermediate results (articulated-body algorithm, RBDA Table 7.1).

    :param q: tree positions; ``qd``, ``tau`` likewise.
    :param conditions: gravity, external forces, inertias, time.
    :param rotor: reflected inertia of the rotor of each joint variable, added to D (9.28).
    """
    model.refuse_loops()
    t, I = conditions.t, conditions.inertia or model.inertia
    Xup, S = tree = links(model, q, t)
    f_x = external_forces(model, tree, conditions.f_ext)
    v, c, p_A = [Motion.zero()], [Motion.zero()], [Force.zero()]
    I_A: list[ArticulatedInertia] = [body.articulated() for body in I]

    for i in range(1, model.nb + 1):                       # outward: velocities and bias forces
        p, joint = model.parent[i], model.joint[i]
        q_i, qd_i = q[model.q_index[i]], qd[model.v_index[i]]
        v_J, c_J = joint.velocity(q_i, qd_i, t), joint.bias(q_i, qd_i, t)            # 7.32, 7.33
        v.append(Xup[i] @ v[p] + v_J)                                                      # 7.34
        c.append(c_J + v[i].cross(v_J))                                                    # 7.35
        p_A.append(v[i].cross(I[i] @ v[i]) - f_x[i])                                       # 7.36

    U: list[list[Force]] = [[]] * (model.nb + 1)
    u: Matrix = [[]] * (model.nb + 1)
    D = [ltl.Dense([])] * (model.nb + 1)
    for i in range(model.nb, 0, -1):                       # inward: articulated bodies
        p, tau_i = model.parent[i], tau[model.v_index[i]]
        U[i] = [I_A[i] @ s for s in S[i]]                                                  # 7.43
        D_i = [[s.dot(f) for s in S[i]] for f in U[i]]                                     # 7.44
        geared = False
        for k, I_rotor in enumerate(rotor[model.v_index[i]] if rotor else ()):
            D_i[k][k] = D_i[k][k] + I_rotor                                                # 9.28
            geared = geared or not is_zero(I_rotor)
        D[i] = ltl.Dense(D_i)
        u[i] = [force - s.dot(p_A[i]) for force, s in zip(tau_i, S[i], strict=True)]       # 7.45
        if p != 0:
            # S^T U = D and I_a S = 0 hold exactly, and save a row and a column, unless a rotor
            # turns too.
            UD = D[i].solve_columns(U[i], {} if geared else unit_rows(S[i]))
            I_a = I_A[i].minus_dyads(UD, U[i], () if geared else vanishing_rows(S[i]))     # 7.47
            p_a = combine(p_A[i] + I_a @ c[i], UD, u[i])                                   # 7.48
            I_A[p] = I_A[p] + Xup[i].inv_apply(I_a)                                        # 7.37
            p_A[p] = p_A[p] + Xup[i].inv_apply(p_a)                                        # 7.38

    a = [Motion(Vec3.zero(), -conditions.gravity)]
    qdd: list[Scalar] = [0.0] * model.tree_nv
    for i in range(1, model.nb + 1):                       # outward: accelerations
        a_i = Xup[i] @ a[model.parent[i]] + c[i]                                           # 7.46
        qdd_i = D[i].solve([x - f.dot(a_i) for x, f in zip(u[i], U[i], strict=True)])      # 7.49
        a.append(combine(a_i, S[i], qdd_i))                                                # 7.50
        qdd[model.v_index[i]] = qdd_i
    return Articulated(I_A, p_A, U, D, u, c, a, qdd)
