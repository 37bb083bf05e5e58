# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What forces on bodies cause, by articulated bodies: propagators through joints (RBDA 7.2.2, 7.3).

Across joint i a force k on the body acts on its parent as K_i^T k, and a motion a of the parent
arrives at the body as K_i a, with K_i = (1 - S D^-1 U^T) i_X_p: the joint yields to both.
Lists are indexed by body; vectors are in the coordinates of their body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.algorithms.kinematics import combine, Links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import is_zero, Matrix, Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.spatial import (
    ArticulatedInertia, Force, Motion, RigidInertia, unit_rows, vanishing_rows)

Forces = list[Force]


class Joints(NamedTuple):
    """
    What the articulated bodies leave of every joint: enough for all that forces on bodies cause.

    :param U: columns of I_A S.
    :param D: S^T I_A S, with rotors, factorised.
    :param UD: columns of U D^-1.
    :param zero: coordinates in which no force on the body passes the joint, as S^T (1 - U D^-1
        S^T) = 0 shows.
    """

    U: list[list[Force]]
    D: list[ltl.Dense]
    UD: list[list[Force]]
    zero: list[tuple[int, ...]]


def articulate(
    model: Model, tree: Links, inertia: Sequence[RigidInertia] | None = None,
    rotor: Values | None = None,
) -> Joints:
    """
    Return the inward sweep of the articulated-body algorithm (Table 7.1), without bias forces.

    :param inertia: inertia of each body, where it is not the one of the model.
    :param rotor: reflected inertia of the rotor of each joint variable, added to D (9.28).
    """
    Xup, S = tree
    I_A: list[ArticulatedInertia] = [body.articulated() for body in inertia or model.inertia]
    none: list[list[Force]] = [[]] * (model.nb + 1)
    joints = Joints(list(none), [ltl.Dense([])] * (model.nb + 1), list(none),
                    [()] * (model.nb + 1))
    for i in range(model.nb, 0, -1):
        U = [I_A[i] @ s for s in S[i]]                                                     # 7.43
        D = [[s.dot(f) for s in S[i]] for f in U]                                          # 7.44
        geared = False
        for k, I_rotor in enumerate(rotor[model.v_index[i]] if rotor else ()):
            D[k][k] = D[k][k] + I_rotor                                                    # 9.28
            geared = geared or not is_zero(I_rotor)
        joints.U[i], joints.D[i] = U, ltl.Dense(D)
        joints.zero[i] = () if geared else vanishing_rows(S[i])
        joints.UD[i] = joints.D[i].solve_columns(U, {} if geared else unit_rows(S[i]))
        if model.parent[i] != 0:
            I_a = I_A[i].minus_dyads(joints.UD[i], U, joints.zero[i])                      # 7.47
            p = model.parent[i]
            I_A[p] = I_A[p] + Xup[i].inv_apply(I_a)                                        # 7.37
    return joints


def inward(tree: Links, joints: Joints, i: int, rows: Forces) -> Forces:
    """Return K_i^T k: forces on body i as its parent feels them, the joint yielding (7.25)."""
    passed = []
    for k in rows:
        left = combine(k, joints.UD[i], [-s.dot(k) for s in tree.S[i]]).to_list()
        for zero in joints.zero[i]:
            left[zero] = 0.0
        passed.append(tree.Xup[i].inv_apply(Force.from_list(left)))
    return passed


def outward(tree: Links, joints: Joints, i: int, a: Motion) -> Motion:
    """Return K_i a with K_i = (1 - S D^-1 U^T) i_X_p: a motion of the parent as it arrives."""
    a = tree.Xup[i] @ a
    return combine(a, tree.S[i], [-f.dot(a) for f in joints.UD[i]])                 # 7.49, 7.50


def in_body(handle: Handle) -> Forces:
    """Return the directions of a handle as forces, in the coordinates of its body."""
    return [handle.frame.placement.inv_apply(Force.from_list(row)) for row in handle.rows]


def responses(model: Model, tree: Links, joints: Joints, handles: Sequence[Handle]) -> Matrix:
    """
    Return H^-1 J^T, the joint accelerations that unit forces on handles cause, n x m.

    Each force goes inward once and its motion outward once, as in the articulated-body algorithm.
    """
    columns: Matrix = []
    for handle in handles:
        for k in in_body(handle):
            at, i = {handle.frame.body: [k]}, handle.frame.body
            while i != 0:
                at[model.parent[i]] = inward(tree, joints, i, at[i])
                i = model.parent[i]
            qdd: list[Scalar] = [0.0] * model.tree_nv
            a = [Motion.zero()]
            for i in range(1, model.nb + 1):
                a_i = tree.Xup[i] @ a[model.parent[i]]
                u = [s.dot(at[i][0]) if i in at else 0.0 for s in tree.S[i]]               # 7.45
                qdd_i = [x - f.dot(a_i) for x, f in zip(
                    joints.D[i].solve(u), joints.UD[i], strict=True)]                      # 7.49
                a.append(combine(a_i, tree.S[i], qdd_i))                                   # 7.50
                qdd[model.v_index[i]] = qdd_i
            columns.append(qdd)
    return [list(row) for row in zip(*columns, strict=True)]
