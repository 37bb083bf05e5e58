# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The whole system in one matrix: all bodies, all joints, loops among them (RBDA 3.7, 6.6, 8.13).

Any connectivity is allowed. The matrix is large and mostly zero, so that this is the slowest way
to accelerations; it is also the most general one, and independent of all recursions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.kinematics import links, placements, velocities
from rbd_ros.algorithms.loops import constraints
from rbd_ros.algorithms.loops.implicit_form import gear_constraint, own_places
from rbd_ros.algorithms.loops.loop_joints import apparent_rates
from rbd_ros.compiler import Argument, Array, Values
from rbd_ros.compiler.arguments import checked, vector
from rbd_ros.model.connectivity import incidence
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, RigidInertia, Transform


class Joints(NamedTuple):
    """
    The joints of a system, tree joints first, then loop joints, in base coordinates.

    :param ends: predecessor and successor.
    :param S: motion subspace, 6 x n; of tree joints only.
    :param T: constraint-force subspace, 6 x (6 - n).
    :param c: velocity-product acceleration c_J + v_s x v_J; of tree joints only.
    :param right: T^T (a_s - a_p), which the joint imposes (3.44).
    """

    ends: list[tuple[int, int]]
    S: list[Array]
    T: list[Array]
    c: list[Array]
    right: list[Array]


class Solution(NamedTuple):
    """
    Motion and forces of a system.

    :param qdd: accelerations of the tree joints, over independent velocity variables.
    :param a: acceleration of each body in base coordinates, (nb, 6), angular first.
    :param f_J: force across each joint on its successor, base coordinates, (joints, 6).
    :param f_c: the part of it that the bearings take, T lambda; the rest is drive, gear and rotor.
    :param rank: independent constraints; fewer than ``constraints`` in many loops.
    :param constraints: constraints of all joints and gears.
    :param loop_multipliers: lambda of the loop joints.
    """

    qdd: Array
    a: Array
    f_J: Array
    f_c: Array
    rank: int
    constraints: int
    loop_multipliers: Array


def accelerations(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike,
    f_ext: ArrayLike | None = None, *, gravity: Sequence[float] | None = None,
    active: Mapping[str, ArrayLike] | None = None, t: float = 0.0,
    inertia: Sequence[RigidInertia] | None = None,
    stabilisation: tuple[float, float] = (0.0, 0.0),
) -> Solution:
    """
    Return what moves how under joint forces tau, of the assembled system (3.74).

    Loop joints are passive. Gears are constraints K qdd = k among others, rotors an inertia of
    their joint.

    :param q: independent positions of the tree joints; those of the loop joints follow.
    :param f_ext: force of the environment on each body, (nb, 6), base coordinates.
    :param active: T_a of tree joints by name, 6 x n in body coordinates with T_a^T S = 1, where
        the drive does not act along S itself (3.35, example 3.2).
    :param inertia: of each body, where it is not the one of the model (a payload).
    :param stabilisation: 2 alpha and beta^2 of Baumgarte's method for the loops (8.22).
    """
    y = vector('q', q, model.nq).tolist()
    q_tree, qd_tree = model.expand_q(y), model.expand_v(vector('qd', qd, model.nv).tolist(), y)
    own = own_places(model)[1]
    at_joints = np.zeros(model.tree_nv)
    at_joints[own] = vector('tau', tau, model.nv)
    X_0, v, joints = _joints(model, q_tree, qd_tree, t)
    _close(model, X_0, v, joints, t, stabilisation)
    nb, n_J = model.nb, len(joints.ends)
    P = np.array(incidence(nb, joints.ends))
    start = np.concatenate([[0], np.cumsum([T.shape[1] for T in joints.T])])
    I_all, PT = np.zeros((6 * nb, 6 * nb)), np.zeros((6 * nb, start[-1]))
    force = np.zeros((nb, 6))
    if f_ext is not None:
        force += checked(Argument('f_ext', (nb, 6)), f_ext)
    a_g = np.array([0.0, 0.0, 0.0, *(model.gravity if gravity is None else gravity)])
    drive = _drives(model, X_0, joints, at_joints, active or {})
    for i in range(1, nb + 1):
        body = X_0[i].inv_apply((model.inertia if inertia is None else inertia)[i])
        v_i, I_i = Motion.from_list(v[i].tolist()), np.array(body.to_list())
        I_all[6 * i - 6:6 * i, 6 * i - 6:6 * i] = I_i
        force[i - 1] += I_i @ a_g - np.array(v_i.cross(body @ v_i).to_list())
        force[i - 1] += P[i - 1, :] @ drive
        for j in range(n_J):
            PT[6 * i - 6:6 * i, start[j]:start[j + 1]] = P[i - 1, j] * joints.T[j]
    B, d = _relative(model, P, joints)                                              # qdd = B a - d
    R = np.diag(model.rotor_inertia)
    I_all += B[own].T @ R @ B[own]
    gears = gear_constraint(model, q_tree, qd_tree)
    K = np.array(gears.matrix(model.tree_nv), float).reshape(-1, model.tree_nv)
    right = np.concatenate([*joints.right, K @ d + np.array(gears.k, float)])
    solved = constraints.implicit(I_all, np.zeros(6 * nb), force.ravel() + B[own].T @ R @ d[own],
                                  np.vstack([PT.T, K @ B]), right)                         # 3.74
    a, lam = solved.qdd.reshape(nb, 6), solved.multipliers
    f_c = np.array([joints.T[j] @ lam[start[j]:start[j + 1]] for j in range(n_J)])
    qdd = B @ solved.qdd - d                                                               # 3.68
    inside = K.T @ lam[start[-1]:]                          # what gears and rotors do to a joint
    inside[own] -= R @ qdd[own]
    for i in range(1, nb + 1):
        drive[i - 1] += np.linalg.pinv(joints.S[i - 1]).T @ inside[model.v_index[i]]
    return Solution(qdd[own], a, drive + f_c, f_c, solved.rank, len(right),                # 3.34
                    lam[start[nb]:start[-1]])


def _relative(model: Model, P: Array, joints: Joints) -> tuple[Array, Array]:
    """Return B and d that give the accelerations of all tree joints, qdd = B a - d (3.68)."""
    B, d = np.zeros((model.tree_nv, 6 * model.nb)), np.zeros(model.tree_nv)
    for i in range(1, model.nb + 1):
        at, S_inverse = model.v_index[i], np.linalg.pinv(joints.S[i - 1])
        B[at] = np.kron(P[:, i - 1], S_inverse)
        d[at] = S_inverse @ joints.c[i - 1]
    return B, d


def _joints(
    model: Model, q: Values, qd: Values, t: float,
) -> tuple[list[Transform], list[Array], Joints]:
    """Return i_X_0 and the base-coordinate velocity of every body, and the tree joints."""
    tree = links(model, q, t)
    X_0 = placements(model, tree)
    v = [_array(X.inv_apply(v_i))
         for X, v_i in zip(X_0, velocities(model, tree, q, qd, t)[0], strict=True)]
    joints = Joints([], [], [], [], [])
    for i in range(1, model.nb + 1):
        joint, p, q_i, X_i = model.joint[i], model.parent[i], q[model.q_index[i]], X_0[i]
        v_i, v_J = (Motion.from_list(x.tolist()) for x in (v[i], v[i] - v[p]))             # 3.66
        joints.ends.append((p, i))
        joints.S.append(_columns([X_i.inv_apply(s) for s in joint.subspace(q_i, t)]))
        joints.T.append(_columns([X_i.inv_apply(f) for f in joint.constraint_subspace(q_i, t)]))
        c_J = joint.bias(q_i, qd[model.v_index[i]], t)
        joints.c.append(_array(X_i.inv_apply(c_J) + v_i.cross(v_J)))
        joints.right.append(joints.T[-1].T @ joints.c[-1])                                 # 3.44
    return X_0, v, joints


def _close(
    model: Model, X_0: Sequence[Transform], v: Sequence[Array], joints: Joints, t: float,
    stabilisation: tuple[float, float],
) -> None:
    """
    Add the loop joints, each looked at in its own frame F_s.

    Also of a loop that is not quite closed, T^T (v_J - sigma) is what must not change.
    """
    two_alpha, beta_squared = stabilisation
    for loop in model.loops:
        p, s = loop.predecessor, loop.successor
        X_s = loop.X_S @ X_0[s]
        X = X_s @ (loop.X_P @ X_0[p]).inverse()
        v_s, v_p = (X_s @ Motion.from_list(v[i].tolist()) for i in (s, p))
        v_J, T = v_s - v_p, loop.joint.constraint_at(X, t)
        sigma, T_rate, sigma_rate = apparent_rates(loop.joint, X, v_J, t)
        c = v_s.cross(v_J) + sigma_rate
        slip, delta = v_J - sigma, loop.joint.closure_error(X, t)
        joints.ends.append((p, s))
        joints.T.append(_columns([X_s.inv_apply(f) for f in T]))
        joints.right.append(np.array([
            f.dot(c) - rate.dot(slip) - two_alpha * f.dot(slip) - beta_squared * error     # 8.22
            for f, rate, error in zip(T, T_rate, delta, strict=True)], dtype=float))


def _drives(
    model: Model, X_0: Sequence[Transform], joints: Joints, tau: Array,
    active: Mapping[str, ArrayLike],
) -> Array:
    """Return T_a tau of every joint; loop joints are passive."""
    drive = np.zeros((len(joints.ends), 6))
    for i, name in enumerate(model.joint_names, 1):
        if name in active:
            columns = np.asarray(active[name], float).reshape(6, -1).T.tolist()
            T_a = _columns([X_0[i].inv_apply(Force.from_list(column)) for column in columns])
        else:
            T_a = np.linalg.pinv(joints.S[i - 1]).T                                        # 3.35
        drive[i - 1] = T_a @ tau[model.v_index[i]]
    return drive


def _array(v: Motion) -> Array:
    return np.array(v.to_list(), dtype=float)


def _columns(vectors: Sequence[Motion] | Sequence[Force]) -> Array:
    """Return spatial vectors as the columns of a matrix, 6 x 0 for none."""
    return np.array([each.to_list() for each in vectors], dtype=float).reshape(-1, 6).T
