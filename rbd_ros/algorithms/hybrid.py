# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Hybrid dynamics: some joints have given accelerations, the others given forces (RBDA 9.1, 9.2).

The joints of the set fd are forward-dynamics joints: tau is known and qdd wanted. The others are
prescribed: qdd is known and tau wanted. Two ways lead there: through the inertia matrix of the
joints of fd alone (9.1 to 9.5), and by articulated bodies (Tables 9.2 and 9.3). What is wanted is
never read. With all joints in fd both are forward dynamics, with none inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import combine, Conditions, external_forces, links, Links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.rnea import inertia_product, newton_euler_3d
from rbd_ros.compiler import is_zero, Matrix, Scalar, Values
from rbd_ros.model.connectivity import expanded_parent
from rbd_ros.model.model import Model
from rbd_ros.spatial import (
    ArticulatedInertia, Force, Motion, RigidInertia, unit_rows, vanishing_rows, Vec3)


class Hybrid(NamedTuple):
    """Accelerations and forces of all joints, those given and those found."""

    qdd: list[Scalar]
    tau: list[Scalar]


class Reduced(NamedTuple):
    """
    The tree whose joints are those of fd: bodies between which no joint is free are one node.

    :param parent: lambda', the parent of each node; entry 0 is the base.
    :param node: map(i), the node to which each body belongs.
    """

    parent: list[int]
    node: list[int]


def supported(model: Model, fd: Set[int]) -> list[bool]:
    """Return nu(fd) as flags per body: whether a joint of fd carries it (9.5)."""
    flags = [False] * (model.nb + 1)
    for i in range(1, model.nb + 1):
        flags[i] = i in fd or flags[model.parent[i]]
    return flags


def reduced_tree(model: Model, fd: Set[int]) -> Reduced:
    """Return the modified parent array lambda', which shows the sparsity of H11 (Fig 9.1)."""
    parent, node = [-1], [0]
    for i in range(1, model.nb + 1):
        if i in fd:
            node.append(len(parent))
            parent.append(node[model.parent[i]])
        else:
            node.append(node[model.parent[i]])
    return Reduced(parent, node)


def inertia_matrix(
    model: Model, tree: Links, fd: Set[int], inertia: Sequence[RigidInertia] | None = None,
) -> Matrix:
    """
    Return H11, the inertia matrix of the joints of fd alone (RBDA Table 9.1).

    It is the part of H that belongs to these joints, found without the rest.
    """
    model.refuse_loops()
    (Xup, S), nu = tree, supported(model, fd)
    places = _places(model, fd)
    n = sum(len(place) for place in places.values())
    H: Matrix = [[0.0] * n for _ in range(n)]
    I_c = list(inertia or model.inertia)

    for i in range(model.nb, 0, -1):
        p = model.parent[i]
        if nu[p]:
            I_c[p] = I_c[p] + Xup[i].inv_apply(I_c[i])                                     # 6.17
        if i in fd:
            F = [I_c[i] @ s for s in S[i]]                                                 # 6.19
            for k, f in zip(places[i], F, strict=True):
                for m, s in zip(places[i], S[i], strict=True):
                    H[k][m] = H[m][k] = s.dot(f)                                           # 6.20
            j = i
            while nu[model.parent[j]]:
                F = [Xup[j].inv_apply(f) for f in F]                                       # 6.19
                j = model.parent[j]
                if j in fd:
                    for k, f in zip(places[i], F, strict=True):
                        for m, s in zip(places[j], S[j], strict=True):
                            H[k][m] = H[m][k] = s.dot(f)                                   # 6.20
    return H


def by_inertia_matrix(
    model: Model, q: Values, qd: Values, qdd: Values, tau: Values, fd: Set[int],
    conditions: Conditions, rotor: Values | None = None,
) -> Hybrid:
    """
    Return accelerations and forces of all joints through H11 (RBDA 9.1, four steps).

    :param q: tree positions; ``qd`` likewise.
    :param qdd: accelerations, of which those of prescribed joints count.
    :param tau: forces, of which those of the joints of fd count.
    :param fd: bodies whose joints have given forces.
    :param rotor: reflected inertia of the rotor of each joint variable.
    """
    places = _places(model, fd)
    free = [k for i in places for k in range(model.tree_nv)[model.v_index[i]]]
    own = rotor or [0.0] * model.tree_nv
    moving: list[Scalar] = [0.0 if k in free else qdd[k] for k in range(model.tree_nv)]
    C = newton_euler_3d(model, q, qd, moving, conditions)                                  # 9.3
    tree = links(model, q, conditions.t)
    H11 = inertia_matrix(model, tree, fd, conditions.inertia)
    for n, k in enumerate(free):
        H11[n][n] = H11[n][n] + own[k]
    sizes = [0, *(len(place) for place in places.values())]
    sparsity = expanded_parent(reduced_tree(model, fd).parent, sizes)
    qdd1 = ltl.solve(H11, sparsity, [tau[k] - C[k] for k in free])                         # 9.2
    change: list[Scalar] = [0.0] * model.tree_nv
    for k, value in zip(free, qdd1, strict=True):
        moving[k] = change[k] = value
    forces = inertia_product(model, tree, change, conditions.inertia)
    return Hybrid(moving, [tau[k] if k in free else C[k] + forces[k] + own[k] * moving[k]
                           for k in range(model.tree_nv)])


def by_articulated_bodies(
    model: Model, q: Values, qd: Values, qdd: Values, tau: Values, fd: Set[int],
    conditions: Conditions, rotor: Values | None = None,
) -> Hybrid:
    """
    Return accelerations and forces of all joints by articulated bodies (RBDA Table 9.3).

    The arguments are those of ``by_inertia_matrix``.
    """
    model.refuse_loops()
    t, I = conditions.t, conditions.inertia or model.inertia
    Xup, S = tree = links(model, q, t)
    f_x = external_forces(model, tree, conditions.f_ext)
    own = rotor or [0.0] * model.tree_nv
    v, c, p_A = [Motion.zero()], [Motion.zero()], [Force.zero()]
    I_A: list[ArticulatedInertia] = [body.articulated() for body in I]

    for i in range(1, model.nb + 1):                       # outward: velocities and bias forces
        joint, at = model.joint[i], model.v_index[i]
        v_J = joint.velocity(q[model.q_index[i]], qd[at], t)                               # 7.32
        c_J = joint.bias(q[model.q_index[i]], qd[at], t)                                   # 7.33
        v.append(Xup[i] @ v[model.parent[i]] + v_J)                                        # 7.34
        c_i = c_J + v[i].cross(v_J)                                                        # 7.35
        c.append(c_i if i in fd else combine(c_i, S[i], qdd[at]))                          # 9.8
        p_A.append(v[i].cross(I[i] @ v[i]) - f_x[i])                                       # 7.36

    U: dict[int, list[Force]] = {}
    u: dict[int, list[Scalar]] = {}
    D: dict[int, ltl.Dense] = {}
    for i in range(model.nb, 0, -1):                       # inward: articulated bodies
        p, at = model.parent[i], model.v_index[i]
        if i in fd:
            U[i] = [I_A[i] @ s for s in S[i]]                                              # 7.43
            D_i = [[s.dot(f) for s in S[i]] for f in U[i]]                                 # 7.44
            for k, I_rotor in enumerate(own[at]):
                D_i[k][k] = D_i[k][k] + I_rotor                                            # 9.28
            D[i] = ltl.Dense(D_i)
            u[i] = [force - s.dot(p_A[i]) for force, s in zip(tau[at], S[i], strict=True)]
            geared = not all(is_zero(I_rotor) for I_rotor in own[at])
            UD = D[i].solve_columns(U[i], {} if geared else unit_rows(S[i]))
            I_a = I_A[i].minus_dyads(UD, U[i], () if geared else vanishing_rows(S[i]))     # 7.47
            p_a = combine(p_A[i] + I_a @ c[i], UD, u[i])                                   # 7.48
        else:
            I_a, p_a = I_A[i], p_A[i] + I_A[i] @ c[i]                                # 9.9, 9.10
        if p != 0:
            I_A[p] = I_A[p] + Xup[i].inv_apply(I_a)                                        # 7.37
            p_A[p] = p_A[p] + Xup[i].inv_apply(p_a)                                        # 7.38

    a = [Motion(Vec3.zero(), -conditions.gravity)]
    found_qdd: list[Scalar] = [0.0] * model.tree_nv
    found_tau: list[Scalar] = [0.0] * model.tree_nv
    for i in range(1, model.nb + 1):                       # outward: accelerations and forces
        at = model.v_index[i]
        a_i = Xup[i] @ a[model.parent[i]] + c[i]                                           # 7.46
        if i in fd:
            qdd_i = D[i].solve([x - f.dot(a_i) for x, f in zip(u[i], U[i], strict=True)])  # 7.49
            a_i = combine(a_i, S[i], qdd_i)                                                # 7.50
            found_qdd[at], found_tau[at] = qdd_i, tau[at]
        else:
            f = I_A[i] @ a_i + p_A[i]                                                      # 9.6
            found_qdd[at] = qdd[at]
            found_tau[at] = [s.dot(f) + I_rotor * x
                             for s, I_rotor, x in zip(S[i], own[at], qdd[at], strict=True)]
        a.append(a_i)
    return Hybrid(found_qdd, found_tau)


def _places(model: Model, fd: Set[int]) -> dict[int, range]:
    """Return where the variables of each joint of fd are in H11."""
    places, start = {}, 0
    for i in sorted(fd):
        places[i] = range(start, start + model.joint[i].nv)
        start = places[i].stop
    return places
