# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Dynamics of trees with gears: joints that follow others by q = gamma(y) (RBDA 9.6).

Projection, G^T H G y_ddot + G^T (C + H g) = G^T tau (9.26), is put together in
:mod:`rbd_ros.dynamics.table`. Here the articulated-body algorithm does the same: the bodies whose
joints share a coordinate are one *cluster*, which moves as a whole against the body that carries
it, with one acceleration for each independent coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.algorithms.kinematics import combine, Conditions, external_forces, links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import Matrix, Scalar, Values
from rbd_ros.errors import ModelError, SingularError
from rbd_ros.model.coupling import Coupling
from rbd_ros.model.model import Model
from rbd_ros.spatial import (
    ArticulatedInertia, Force, Motion, Transform, unit_rows, vanishing_rows, Vec3)


#: Share of the largest force that may be missing and is rounding.
SLACK = 1e-9


class Cluster(NamedTuple):
    """
    Bodies that move together against one body, which is not among them.

    :param parent: the body that carries them.
    :param bodies: in the order of their numbers; the parent of each is another one or ``parent``.
    :param coordinates: the independent velocities that move them.
    """

    parent: int
    bodies: tuple[int, ...]
    coordinates: tuple[int, ...]


class _Joint(NamedTuple):
    """
    A cluster seen as one joint: a_k = X_k a_p + c_k + J_k y_ddot for each of its bodies k.

    :param X: by body, k_X_p; ``c`` and the columns ``J`` likewise.
    :param U: by body, the columns of I_A J.
    :param D: sum of J^T U, factorised.
    :param u: forces minus the sum of J^T p_A.
    """

    X: list[Transform]
    c: list[Motion]
    J: list[list[Motion]]
    U: list[list[Force]]
    D: ltl.Dense
    u: list[Scalar]


def clusters(model: Model) -> list[Cluster]:
    """
    Return the smallest clusters, each after the one that carries it.

    Bodies between a leader and its follower belong to the cluster: their motion carries one of
    the two and not the other.
    """
    coupling = model.coupling
    groups = [{i} for i in range(1, model.nb + 1)]
    if coupling is not None:
        for follower, leaders in zip(coupling.followers, coupling.leaders, strict=True):
            groups.append({follower, *leaders})
    merged: list[tuple[int, set[int]]] = []
    while groups:
        group = groups.pop()
        parent = _carrier(model, group)
        for k in tuple(group):
            while k != parent:
                group.add(k)
                k = model.parent[k]
        shared = [other for other in merged if other[1] & group]
        if shared:
            merged = [other for other in merged if other not in shared]
            groups.append(group.union(*(bodies for _, bodies in shared)))
        else:
            merged.append((parent, group))
    merged.sort(key=lambda each: min(each[1]))
    return [Cluster(parent, tuple(sorted(bodies)), _coordinates(model, coupling, bodies))
            for parent, bodies in merged]


def _carrier(model: Model, group: set[int]) -> int:
    """Return the last body that carries all of a group without being one of it."""
    common = set.intersection(*({0, *model.support[model.parent[k]]} for k in group))
    return max(common)


def _coordinates(model: Model, coupling: Coupling | None, bodies: set[int]) -> tuple[int, ...]:
    """Return the independent velocities of the joints of some bodies."""
    free = [k for k in bodies if coupling is None or k not in coupling.followers]
    return tuple(sorted(
        j for k in free for j in range(model.nv)[model.velocity_slice(model.joint_names[k - 1])]))


def aba(model: Model, y: Values, yd: Values, tau: Values, conditions: Conditions) -> list[Scalar]:
    """
    Return y_ddot by articulated bodies, cluster by cluster (RBDA Table 7.1 with 9.26).

    :param y: independent positions; ``yd`` and the forces ``tau`` likewise.
    """
    model.refuse_loops()
    t, I = conditions.t, conditions.inertia or model.inertia
    q, qd, g = model.expand_q(y), model.expand_v(yd, y), model.gear_bias(yd, y)
    G = _rows(model, y)
    Xup, S = tree = links(model, q, t)
    f_x = external_forces(model, tree, conditions.f_ext)
    v, c, p_A = [Motion.zero()], [Motion.zero()], [Force.zero()]
    I_A: list[ArticulatedInertia] = [body.articulated() for body in I]

    for i in range(1, model.nb + 1):                       # outward: velocities and bias forces
        joint, at = model.joint[i], model.v_index[i]
        q_i, qd_i = q[model.q_index[i]], qd[at]
        v_J, c_J = joint.velocity(q_i, qd_i, t), joint.bias(q_i, qd_i, t)            # 7.32, 7.33
        v.append(Xup[i] @ v[model.parent[i]] + v_J)                                        # 7.34
        c_i = c_J + v[i].cross(v_J)                                                        # 7.35
        c.append(c_i if g is None else combine(c_i, S[i], g[at]))
        p_A.append(v[i].cross(I[i] @ v[i]) - f_x[i])                                       # 7.36

    order, joints = clusters(model), list[_Joint]()
    for cluster in reversed(order):                        # inward: articulated clusters
        p, bodies = cluster.parent, cluster.bodies
        X, c_p, J = _motion(model, cluster, Xup, S, c, G)
        U = [[I_A[k] @ j for j in J_k] for k, J_k in zip(bodies, J, strict=True)]          # 7.43
        D: Matrix = [[0.0] * len(cluster.coordinates) for _ in cluster.coordinates]
        u = [tau[n] for n in cluster.coordinates]
        for k, J_k, U_k in zip(bodies, J, U, strict=True):
            D = [[x + j.dot(f) for x, j in zip(row, J_k, strict=True)]
                 for row, f in zip(D, U_k, strict=True)]                                   # 7.44
            u = [x - j.dot(p_A[k]) for x, j in zip(u, J_k, strict=True)]                   # 7.45
        geared = False
        for n, k in enumerate(cluster.coordinates):
            D[n][n] = D[n][n] + model.rotor_inertia[k]                                     # 9.28
            geared = geared or model.rotor_inertia[k] != 0.0
        joints.append(_Joint(X, c_p, J, U, ltl.Dense(D), u))
        if p != 0:
            across = _through_one if len(bodies) == 1 and not geared else _through_many
            I_a, p_a = across(joints[-1], [I_A[k] for k in bodies], [p_A[k] for k in bodies])
            I_A[p] = I_A[p] + I_a                                                          # 7.37
            p_A[p] = p_A[p] + p_a                                                          # 7.38

    a = {0: Motion(Vec3.zero(), -conditions.gravity)}
    ydd: list[Scalar] = [0.0] * model.nv
    for cluster, (X, c_p, J, U, D_inv, u) in zip(order, reversed(joints), strict=True):  # outward
        a_p = [X_k @ a[cluster.parent] + c_k for X_k, c_k in zip(X, c_p, strict=True)]     # 7.46
        for a_k, U_k in zip(a_p, U, strict=True):
            u = [x - f.dot(a_k) for x, f in zip(u, U_k, strict=True)]
        found = D_inv.solve(u)                                                             # 7.49
        for n, value in zip(cluster.coordinates, found, strict=True):
            ydd[n] = value
        for k, a_k, J_k in zip(cluster.bodies, a_p, J, strict=True):
            a[k] = combine(a_k, J_k, found)                                                # 7.50
    return ydd


def _motion(
    model: Model, cluster: Cluster, Xup: Sequence[Transform], S: Sequence[Sequence[Motion]],
    c: Sequence[Motion], G: Sequence[dict[int, Scalar]],
) -> tuple[list[Transform], list[Motion], list[list[Motion]]]:
    """Return X, c and J of every body of a cluster, against the body that carries it."""
    if len(cluster.bodies) == 1:
        i = cluster.bodies[0]
        return [Xup[i]], [c[i]], [list(S[i])]
    X: dict[int, Transform] = {}
    c_p: dict[int, Motion] = {}
    J: dict[int, list[Motion]] = {}
    for k in cluster.bodies:
        p, rows = model.parent[k], [G[n] for n in range(model.tree_nv)[model.v_index[k]]]
        own = [combine(Motion.zero(), S[k], [row.get(n, 0.0) for row in rows])
               for n in cluster.coordinates]                                               # S G
        if p == cluster.parent:
            X[k], c_p[k], J[k] = Xup[k], c[k], own
        else:
            X[k], c_p[k] = Xup[k] @ X[p], Xup[k] @ c_p[p] + c[k]
            J[k] = [Xup[k] @ j + s for j, s in zip(J[p], own, strict=True)]
    return list(X.values()), list(c_p.values()), list(J.values())


def _through_one(
    joint: _Joint, I_A: Sequence[ArticulatedInertia], p_A: Sequence[Force],
) -> tuple[ArticulatedInertia, Force]:
    """Return I_a and p_a of a single body in its parent, without what is zero by structure."""
    S, U = joint.J[0], joint.U[0]
    UD = joint.D.solve_columns(U, unit_rows(S))
    I_a = I_A[0].minus_dyads(UD, U, vanishing_rows(S))                                     # 7.47
    p_a = combine(p_A[0] + I_a @ joint.c[0], UD, joint.u)                                  # 7.48
    return joint.X[0].inv_apply(I_a), joint.X[0].inv_apply(p_a)


def _through_many(
    joint: _Joint, I_A: Sequence[ArticulatedInertia], p_A: Sequence[Force],
) -> tuple[ArticulatedInertia, Force]:
    """Return I_a and p_a of several bodies, each carried to the coordinates of their parent."""
    I_a, p_a = ArticulatedInertia.zero(), Force.zero()
    U, u = [Force.zero()] * len(joint.u), joint.u
    for X, c, U_k, I_k, p_k in zip(joint.X, joint.c, joint.U, I_A, p_A, strict=True):
        I_a = I_a + X.inv_apply(I_k)
        p_a = p_a + X.inv_apply(p_k + I_k @ c)
        u = [x - f.dot(c) for x, f in zip(u, U_k, strict=True)]
        U = [f + X.inv_apply(f_k) for f, f_k in zip(U, U_k, strict=True)]
    UD = joint.D.solve_columns(U)
    return I_a.minus_dyads(UD, U), combine(p_a, UD, u)                               # 7.47, 7.48


def _rows(model: Model, y: Values) -> list[dict[int, Scalar]]:
    """Return the rows of G by column."""
    if model.coupling is None:
        return [{n: 1.0} for n in range(model.nv)]
    return [dict(row) for row in model.coupling.rows(y)]


def actuator_forces(
    model: Model, y: Sequence[float], tau: Sequence[float], actuated: Sequence[str],
) -> NDArray[np.float64]:
    """
    Return the forces at some joints of the tree that act as tau does (RBDA 9.6, 8.12).

    The motor of a gear sits at one of its joints, and not at the independent one: with G_u the
    rows of G of the actuated joints, G_u^T u = tau (8.63). Of more motors than needed, the
    answer is the one with the smallest sum of squares.

    :param y: independent positions.
    :param tau: forces on the independent coordinates, such as inverse dynamics gives.
    :param actuated: names of tree joints with motors, followers among them.
    :raises SingularError: where no forces of these motors act as tau does.
    """
    names = list(actuated)
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ModelError(f'joint "{name}" is named twice among the actuated joints')
    rows = _rows(model, y)
    at = [n for name in names
          for n in range(model.tree_nv)[model.v_index[model.joint_index(name)]]]
    G_u = np.array([[rows[n].get(k, 0.0) for k in range(model.nv)] for n in at])
    G_u = G_u.reshape(-1, model.nv)
    u, _, rank, _ = np.linalg.lstsq(G_u.T, np.asarray(tau, dtype=float), rcond=None)
    missing = np.abs(G_u.T @ u - tau)
    if np.max(missing, initial=0.0) > SLACK * np.max(np.abs(tau), initial=1.0):
        k = int(np.argmax(missing))
        joint = next(name for name in model.independent_joint_names
                     if k in range(model.nv)[model.velocity_slice(name)])
        raise SingularError(
            f'motors at {", ".join(names) or "no joint"} cannot produce these forces: '
            f'{missing[k]:.3g} are missing at joint "{joint}" (they move {rank} of {model.nv} '
            'degrees of freedom here)')
    return u
