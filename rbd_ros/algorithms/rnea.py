# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse dynamics of a kinematic tree: the recursive Newton-Euler algorithm (RBDA 5).

Three forms of the same law: in spatial vectors (Table 5.1), in 3-D vectors (Table 5.2, here for
every joint type and branched trees), and the part due to gravity alone (5.12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import (
    accelerations, combine, Conditions, external_forces, links, Links)
from rbd_ros.compiler import Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Mat3, Motion, RigidInertia, Vec3


class NewtonEuler(NamedTuple):
    """
    What the recursion finds, indexed by body and in its coordinates; tau by joint variable.

    :param v: velocities.
    :param a: accelerations, each with the fictitious -a_g of the base in it.
    :param f: the whole force across each joint, from parent to body: S^T f is what the drive
        contributes, the rest is the load on the bearings.
    :param tau: joint forces.
    """

    v: list[Motion]
    a: list[Motion]
    f: list[Force]
    tau: list[Scalar]


def rnea(
    model: Model, q: Values, qd: Values, qdd: Values | None, conditions: Conditions,
) -> NewtonEuler:
    """
    Return tau = H qdd + C and its intermediate results (recursive Newton-Euler, Table 5.1).

    :param q: tree positions; ``qd``, ``qdd`` likewise.
    :param qdd: joint accelerations; None for zero, which gives the bias force C(q, qd).
    :param conditions: gravity, external forces, inertias, time.
    """
    model.refuse_loops()
    t, I = conditions.t, conditions.inertia or model.inertia
    Xup, S = tree = links(model, q, t)
    f_x = external_forces(model, tree, conditions.f_ext)
    v, a, f = [Motion.zero()], [Motion(Vec3.zero(), -conditions.gravity)], [Force.zero()]

    for i in range(1, model.nb + 1):                       # outward: motions, and their forces
        p, joint = model.parent[i], model.joint[i]
        q_i, qd_i = q[model.q_index[i]], qd[model.v_index[i]]
        v_J, c_J = joint.velocity(q_i, qd_i, t), joint.bias(q_i, qd_i, t)            # 5.16, 5.17
        v.append(Xup[i] @ v[p] + v_J)                                                      # 5.18
        a_i = Xup[i] @ a[p] + (c_J + v[i].cross(v_J))
        a.append(a_i if qdd is None else combine(a_i, S[i], qdd[model.v_index[i]]))        # 5.19
        f_B = I[i] @ a[i] + v[i].cross(I[i] @ v[i])                                        # 5.9
        f.append(f_B - f_x[i])                                                             # 5.20

    tau: list[Scalar] = [0.0] * model.tree_nv
    for i in range(model.nb, 0, -1):                       # inward: project, hand to the parent
        p = model.parent[i]
        tau[model.v_index[i]] = [s.dot(f[i]) for s in S[i]]                                # 5.11
        if p != 0:
            f[p] = f[p] + Xup[i].inv_apply(f[i])                                           # 5.20
    return NewtonEuler(v, a, f, tau)


def _project(model: Model, tree: Links, f: list[Force]) -> list[Scalar]:
    """Accumulate the body forces towards the base and return their joint components."""
    tau: list[Scalar] = [0.0] * model.tree_nv
    for i in range(model.nb, 0, -1):
        tau[model.v_index[i]] = [s.dot(f[i]) for s in tree.S[i]]                           # 5.11
        if model.parent[i] != 0:
            f[model.parent[i]] = f[model.parent[i]] + tree.Xup[i].inv_apply(f[i])          # 5.20
    return tau


def newton_euler_3d(
    model: Model, q: Values, qd: Values, qdd: Values | None, conditions: Conditions,
) -> list[Scalar]:
    """
    Return the same joint forces by the original 3-D recursion (RBDA Table 5.2), any joint type.

    With classical accelerations and the tensor U = wd x + w x w x of each body, which serves the
    origin of every child, the centre of mass and the moment, this form needs fewer operations
    than the spatial one.
    """
    model.refuse_loops()
    tree = links(model, q, conditions.t)
    w, wd, acc, U = [Vec3.zero()], [Vec3.zero()], [-conditions.gravity], [Mat3.zero()]
    I = conditions.inertia or model.inertia
    f, f_x = [Force.zero()], external_forces(model, tree, conditions.f_ext)
    for i in range(1, model.nb + 1):
        p, joint = model.parent[i], model.joint[i]
        q_i, qd_i = q[model.q_index[i]], qd[model.v_index[i]]
        X = tree.Xup[i]
        v_J = joint.velocity(q_i, qd_i, conditions.t)
        a_J = joint.bias(q_i, qd_i, conditions.t)
        if qdd is not None:
            a_J = combine(a_J, tree.S[i], qdd[model.v_index[i]])
        w_p = X.turn(w[p])
        w.append(w_p + v_J.ang)
        wd.append(X.turn(wd[p]) + a_J.ang + w_p.cross(v_J.ang))
        # The origin of body i, seen from the parent, moves with v_J.lin: Coriolis' 2 w x v and,
        # since a_J is spatial, w_J x v to make its linear part classical (2.48).
        slide = a_J.lin + (w_p + w[i]).cross(v_J.lin)
        acc.append(X.turn(acc[p] + U[p] @ X.r) + slide)
        U.append(_acceleration_tensor(w[i], wd[i]))
        f.append(_net_force(I[i], U[i], acc[i]) - f_x[i])
    return _project(model, tree, f)


def _acceleration_tensor(w: Vec3, wd: Vec3) -> Mat3:
    """Return U = wd x + w x w x, by which the points of a body accelerate about its origin."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Mat3(((-(yy + zz), xy - wd.z, xz + wd.y),
                 (xy + wd.z, -(xx + zz), yz - wd.x),
                 (xz - wd.y, yz + wd.x, -(xx + yy))))


def _net_force(inertia: RigidInertia, U: Mat3, acc: Vec3) -> Force:
    """
    Return the rate of change of momentum of a body at its origin, from its acceleration tensor.

    A particle at x accelerates with acc + U x, so the moment is h x acc plus twice the axial
    vector of U J, with J = sum m x x^T = 1/2 tr(I) 1 - I, constant in the body.
    """
    I = inertia.I
    # Sum before difference: a body whose second moment was made zero (9.7) has an exact zero.
    x, y, z = I.yy + I.zz - I.xx, I.xx + I.zz - I.yy, I.xx + I.yy - I.zz
    J = Mat3(((0.5 * x, -I.xy, -I.xz), (-I.xy, 0.5 * y, -I.yz), (-I.xz, -I.yz, 0.5 * z)))
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = (U @ J).rows
    moment = inertia.h.cross(acc) + Vec3(zy - yz, xz - zx, yx - xy)
    return Force(moment, acc * inertia.m + U @ inertia.h)


def gravity_forces(model: Model, q: Values, conditions: Conditions) -> list[Scalar]:
    """
    Return the joint forces that hold the tree still against gravity (RBDA 5.12, 5.13).

    The subtree of i weighs as its composite body, of which gravity sees the mass and the first
    moment only: f_i = -I_i^c a_g, so that no force needs to be accumulated.
    """
    model.refuse_loops()
    tree = links(model, q, conditions.t)
    inertia = conditions.inertia or model.inertia
    g = [conditions.gravity]
    for i in range(1, model.nb + 1):
        g.append(tree.Xup[i].turn(g[model.parent[i]]))
    m = [body.m for body in inertia]
    h = [body.h for body in inertia]
    tau: list[Scalar] = [0.0] * model.tree_nv
    for i in range(model.nb, 0, -1):
        p = model.parent[i]
        f = Force(-h[i].cross(g[i]), g[i] * -m[i])                                         # 5.12
        tau[model.v_index[i]] = [s.dot(f) for s in tree.S[i]]                              # 5.13
        if p != 0:
            m[p] = m[p] + m[i]
            h[p] = h[p] + tree.Xup[i].inv_first_moment(m[i], h[i])
    return tau


def inertia_product(
    model: Model, tree: Links, x: Values, inertia: Sequence[RigidInertia] | None = None,
) -> list[Scalar]:
    """
    Return H x by the stripped recursion ID_delta (RBDA Table 6.1).

    :param inertia: inertia of each body, where it is not the one of the model.
    """
    model.refuse_loops()
    zero = [Motion.zero()] * (model.nb + 1)
    a = accelerations(model, tree, zero, x, Motion.zero())
    I = inertia or model.inertia
    f = [Force.zero()] + [I[i] @ a[i] for i in range(1, model.nb + 1)]
    return _project(model, tree, f)
