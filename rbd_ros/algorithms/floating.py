# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Floating-base forms of the dynamics (RBDA 9.3 to 9.5): the motion of the base is an unknown.

The base of these equations is body 1 of a model that is loaded with a floating base: it alone
hangs on the fixed world, by a free joint without drive. Its pose is ``q[:7]``, its velocity v_0
is ``qd[:6]`` in its own coordinates, and a_0 is its spatial acceleration there, which is also
the rate of those six numbers. What the book calls H, C, tau and qdd here concerns the joints
after it, ``n = nv - 6`` variables. External forces are given as everywhere, in the coordinates
of the world. Generic over plain and traced scalars.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms.aba import aba
from rbd_ros.algorithms.kinematics import (
    accelerations, combine, Conditions, external_forces, links, velocities, velocity_products)
from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.compiler import Matrix, Scalar, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints import Free
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, Vec3


class Equations(NamedTuple):
    """
    The floating-base equation of motion (9.13).

    [I_0 F; F^T H] [a_0; qdd] + [p_0; C] = [0; tau]

    :param I_0: composite inertia of the whole robot at its base, 6 x 6.
    :param F: forces at the base for unit accelerations of the joints, 6 x n.
    :param H: inertia matrix of the joints with the base held, n x n.
    :param p_0: bias force at the base, gravity included, 6.
    :param C: bias forces at the joints, n.
    """

    I_0: Matrix
    F: Matrix
    H: Matrix
    p_0: list[Scalar]
    C: list[Scalar]


class Result(NamedTuple):
    """Acceleration of the base, and what was asked for at the joints."""

    a_0: Motion
    joints: list[Scalar]


def _check(model: Model) -> None:
    """Refuse a model whose body 1 is not a floating base."""
    if model.nb == 0 or not isinstance(model.joint[1], Free) or len(model.children[0]) != 1:
        raise ModelError(f'"{model.name}" has no floating base: load it with floating_base=True, '
                         'or let one body alone hang on the world by a Free joint')


def forward_dynamics(
    model: Model, q: Values, qd: Values, tau: Values,
    conditions: Conditions, rotor: Values | None = None,
) -> Result:
    """
    Return a_0 and qdd under joint forces by articulated bodies (RBDA Table 9.4).

    :param tau: forces at the n joints.
    :param rotor: reflected rotor inertia of each of the n joints.
    """
    _check(model)
    Xup, S = links(model, q, conditions.t)
    free = [0.0] * 6
    # Gravity moves all bodies alike: it is left out, and added to the base at the end.
    weightless = conditions._replace(gravity=Vec3.zero())
    I_A, p_A, U, D, u, c, _, _ = aba(model, q, qd, [*free, *tau], weightless,
                                     None if rotor is None else [*free, *rotor])
    a = [Motion.zero(), _solve(I_A[1].to_list(), -p_A[1])]                                 # 9.17
    qdd: list[Scalar] = [0.0] * model.tree_nv
    for i in range(2, model.nb + 1):                       # outward: accelerations
        a_i = Xup[i] @ a[model.parent[i]] + c[i]
        qdd_i = D[i].solve([x - f.dot(a_i) for x, f in zip(u[i], U[i], strict=True)])
        a.append(combine(a_i, S[i], qdd_i))
        qdd[model.v_index[i]] = qdd_i
    fall = Xup[1] @ Motion(Vec3.zero(), conditions.gravity)
    return Result(a[1] + fall, qdd[6:])


def equations(model: Model, H: Matrix, C: Values) -> Equations:
    """
    Return the coefficients of the equation of motion (RBDA Table 9.5).

    The subspace of the free joint is the identity, so that the recursions over the tree with
    it give the composite inertia, F and p_0 in the rows of that joint.

    :param H: inertia matrix of the whole tree, by :func:`rbd_ros.algorithms.crba.crba`.
    :param C: bias force of the whole tree, by :func:`rbd_ros.algorithms.rnea.rnea`.
    """
    _check(model)
    return Equations([row[:6] for row in H[:6]], [row[6:] for row in H[:6]],
                     [row[6:] for row in H[6:]], list(C[:6]), list(C[6:]))


def eliminate_base(e: Equations) -> tuple[Matrix, list[Scalar]]:
    """Return H_fl and C_fl with H_fl qdd + C_fl = tau, the base set free (9.14 to 9.16)."""
    I_0 = ltl.Dense(e.I_0)
    columns = [list(column) for column in zip(*e.F, strict=True)]
    moved = [I_0.solve(column) for column in columns]
    H = [[e.H[i][j] - dense.dot(columns[i], moved[j]) for j in range(len(columns))]
         for i in range(len(columns))]                                                     # 9.15
    C = [c - dense.dot(e.p_0, column) for c, column in zip(e.C, moved, strict=True)]       # 9.16
    return H, C


def inverse_dynamics(
    model: Model, q: Values, qd: Values, qdd: Values, conditions: Conditions,
) -> Result:
    """
    Return a_0 and the joint forces for given joint accelerations (RBDA Table 9.6).

    :param qdd: accelerations of the n joints.
    """
    _check(model)
    tree = links(model, q, conditions.t)
    v, v_J = velocities(model, tree, q, qd, conditions.t)
    c = velocity_products(model, q, qd, v, v_J, conditions.t)
    base = Motion(Vec3.zero(), -conditions.gravity)
    a_r = accelerations(model, tree, c, [0.0] * 6 + list(qdd), base)
    I_c = list(conditions.inertia or model.inertia)
    f_x = external_forces(model, tree, conditions.f_ext)
    p_c = [Force.zero()] + [I_c[i] @ a_r[i] + v[i].cross(I_c[i] @ v[i]) - f_x[i]
                            for i in range(1, model.nb + 1)]                               # 9.23
    for i in range(model.nb, 1, -1):
        p = model.parent[i]
        I_c[p] = I_c[p] + tree.Xup[i].inv_apply(I_c[i])
        p_c[p] = p_c[p] + tree.Xup[i].inv_apply(p_c[i])                                    # 9.22
    a = [Motion.zero(), -I_c[1].solve(p_c[1])]                                             # 9.24
    tau: list[Scalar] = [0.0] * model.tree_nv
    for i in range(2, model.nb + 1):
        a.append(tree.Xup[i] @ a[model.parent[i]])
        f = I_c[i] @ a[i] + p_c[i]
        tau[model.v_index[i]] = [s.dot(f) for s in tree.S[i]]                              # 9.25
    return Result(a[1], tau[6:])


def momentum(e: Equations, qd: Values) -> Force:
    """Return the momentum I_0 v_0 + F qd of the robot at its base, base coordinates (Ex 9.3)."""
    return Force.from_list([dense.dot(row, qd[:6]) + dense.dot(line, qd[6:])
                            for row, line in zip(e.I_0, e.F, strict=True)])


def floating_jacobian(e: Equations, J: Matrix) -> Matrix:
    """
    Return the Jacobian of a frame for the joints alone, while the base gives way (Ex 9.4).

    Impulses inside the robot change the frame's velocity by it.

    :param J: Jacobian of the frame; its first six columns carry motions of the base, in the
        coordinates of the base, to the frame.
    """
    I_0 = ltl.Dense(e.I_0)
    moved = [I_0.solve(column) for column in zip(*e.F, strict=True)]
    return [[x - dense.dot(row[:6], recoil) for x, recoil in zip(row[6:], moved, strict=True)]
            for row in J]


def _solve(A: Matrix, f: Force) -> Motion:
    return Motion.from_list(ltl.Dense(A).solve(f.to_list()))
