# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The joint-space inertia matrix by composite rigid bodies (RBDA 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.algorithms.kinematics import Links, placements
from rbd_ros.compiler import Matrix
from rbd_ros.model.model import Model
from rbd_ros.spatial import RigidInertia


def crba(model: Model, tree: Links, inertia: Sequence[RigidInertia] | None = None) -> Matrix:
    """
    Return the symmetric joint-space inertia matrix H of the tree (RBDA Table 6.2).

    Entries between joints on different branches are exact zeros (6.4).

    :param tree: transforms and motion subspaces at the present position.
    :param inertia: inertia of each body, where it is not the one of the model.
    """
    model.refuse_loops()
    (Xup, S), n = tree, model.tree_nv
    H: Matrix = [[0.0] * n for _ in range(n)]
    I_c = list(inertia or model.inertia)

    for i in range(model.nb, 0, -1):                       # inward: composite bodies
        p = model.parent[i]
        if p != 0:
            I_c[p] = I_c[p] + Xup[i].inv_apply(I_c[i])                                     # 6.17
        F = [I_c[i] @ s for s in S[i]]                                                     # 6.19
        rows = range(n)[model.v_index[i]]
        for k, f in zip(rows, F, strict=True):
            for m, s in zip(rows, S[i], strict=True):      # writes both: exactly symmetric
                H[k][m] = H[m][k] = s.dot(f)                                               # 6.20
        j = i
        while model.parent[j] != 0:
            F = [Xup[j].inv_apply(f) for f in F]                                           # 6.19
            j = model.parent[j]
            for k, f in zip(rows, F, strict=True):
                for m, s in zip(range(n)[model.v_index[j]], S[j], strict=True):
                    H[k][m] = H[m][k] = s.dot(f)                                           # 6.20
    return H


def crba_in_base(
    model: Model, tree: Links, inertia: Sequence[RigidInertia] | None = None,
) -> Matrix:
    """
    Return the same matrix with the columns in base coordinates (RBDA 6.14 to 6.16).

    Each entry is then one scalar product. ``crba`` carries every column from joint to joint, which
    is cheaper on shallow trees only.

    :param tree: transforms and motion subspaces at the present position.
    :param inertia: inertia of each body, where it is not the one of the model.
    """
    model.refuse_loops()
    (Xup, S), n = tree, model.tree_nv
    H: Matrix = [[0.0] * n for _ in range(n)]
    I_c = list(inertia or model.inertia)
    X_0 = placements(model, tree)
    S_0 = [[X.inv_apply(s) for s in columns] for X, columns in zip(X_0, S, strict=True)]

    for i in range(model.nb, 0, -1):                       # inward: composite bodies
        p = model.parent[i]
        if p != 0:
            I_c[p] = I_c[p] + Xup[i].inv_apply(I_c[i])                                     # 6.17
        F = [I_c[i] @ s for s in S[i]]
        rows = range(n)[model.v_index[i]]
        for k, f in zip(rows, F, strict=True):
            for m, s in zip(rows, S[i], strict=True):
                H[k][m] = H[m][k] = s.dot(f)                                               # 6.16
        F_0 = [X_0[i].inv_apply(f) for f in F]
        j = p
        while j != 0:
            for k, f in zip(rows, F_0, strict=True):
                for m, s in zip(range(n)[model.v_index[j]], S_0[j], strict=True):
                    H[k][m] = H[m][k] = s.dot(f)                                           # 6.16
            j = model.parent[j]
    return H
