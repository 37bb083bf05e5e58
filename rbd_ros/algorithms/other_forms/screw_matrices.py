# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The equation of motion of screws in closed form (Lynch and Park, 9.4), and in task space (9.6).

All links at once: twists are stacked to 6n numbers, and the recursions become products with one
nilpotent matrix Gamma, whose inverse L = (1 - Gamma)^-1 is a finite sum. For reading and for
proofs; the recursions of :mod:`rbd_ros.algorithms.other_forms.screws` are the cheaper form of the
same. Equation numbers are those of the draft; a star marks a mended one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbd_ros.algorithms.handles.opspace import FULL
from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.other_forms.screws import (
    body_jacobian, body_jacobian_rate, link_transforms, mass_matrix, newton_euler)
from rbd_ros.compiler import Matrix, Rows, Scalar, Values
from rbd_ros.errors import SingularError
from rbd_ros.model.screw_tree import ScrewTree
from rbd_ros.spatial import Force, Motion, Transform, Vec3


class Stacked(NamedTuple):
    """
    The matrices of all links (9.62 to 9.68, 9.76).

    :param A: screw axes, 6n x n, one block per column.
    :param G: inertias, 6n x 6n, block diagonal.
    :param Gamma: Ad(T_{i,p(i)}) in block (i, p(i)), 6n x 6n; called W in the printed book.
    :param L: (1 - Gamma)^-1, with Ad(T_ij) in block (i, j) where j supports i.
    """

    A: Matrix
    G: Matrix
    Gamma: Matrix
    L: Matrix


class StackedMotion(NamedTuple):
    """What the stacked recursions give: V, Vd, F of 6n numbers each, and tau (9.77 to 9.80)."""

    V: list[Scalar]
    Vd: list[Scalar]
    F: list[Scalar]
    tau: list[Scalar]


class ClosedForm(NamedTuple):
    """M(th), c(th, thd) and g(th) of tau = M thdd + c + g (9.82 to 9.84)."""

    M: Matrix
    c: list[Scalar]
    g: list[Scalar]


def _put(matrix: Matrix, i: int, j: int, block: Rows) -> None:
    """Write a 6x6 block."""
    for k, row in enumerate(block):
        matrix[6 * i + k][6 * j:6 * j + 6] = row


def adjoint(V: Motion) -> Matrix:
    """Return the 6x6 matrix ad_V = [[w], 0; [v], [w]] (9.30)."""
    w, v = V.ang.skew().to_list(), V.lin.skew().to_list()
    return [*(row + [0.0] * 3 for row in w), *(a + b for a, b in zip(v, w, strict=True))]


def adjoints(twists: Sequence[Motion]) -> Matrix:
    """Return the block-diagonal matrix of the ad of each twist (9.64, 9.65)."""
    n = len(twists)
    out = dense.zeros(6 * n, 6 * n)
    for i, V in enumerate(twists):
        _put(out, i, i, adjoint(V))
    return out


def stacked(tree: ScrewTree, th: Values) -> Stacked:
    """Return A, G, Gamma and L."""
    n = tree.n
    Ad = link_transforms(tree, th)
    A, G, Gamma = (dense.zeros(6 * n, size) for size in (n, 6 * n, 6 * n))
    for i in range(n):
        for k, x in enumerate(tree.A[i + 1].to_list()):
            A[6 * i + k][i] = x
        _put(G, i, i, tree.G[i + 1].to_list())
        p = tree.parent[i + 1]
        if p:
            _put(Gamma, i, p - 1, Ad[i + 1].to_list())
    one = dense.identity(6 * n)
    L = one
    for _ in range(n - 1):              # Gamma^n = 0: 1 + Gamma (1 + Gamma (...)) ends
        L = dense.plus(one, dense.times(Gamma, L, 6 * n))                                 # 9.76
    return Stacked(A, G, Gamma, L)


def _from_base(tree: ScrewTree, th: Values, V: Motion) -> list[Scalar]:
    """Return V_base: Ad(T_i0) V in the blocks of the links at the base, zero in others (9.69)."""
    Ad = link_transforms(tree, th)
    blocks = [(Ad[i] @ V).to_list() if tree.parent[i] == 0 else [0.0] * 6
              for i in range(1, tree.n + 1)]
    return [x for block in blocks for x in block]


def _split(x: Values) -> list[Motion]:
    return [Motion.from_list(x[k:k + 6]) for k in range(0, len(x), 6)]


def _fall(tree: ScrewTree, gravity: Vec3 | None) -> Motion:
    return Motion(Vec3.zero(), -(tree.gravity if gravity is None else gravity))


def stacked_recursion(
    tree: ScrewTree, th: Values, thd: Values, thdd: Values, *, gravity: Vec3 | None = None,
    wrench_on_environment: Force | None = None, base_velocity: Motion | None = None,
    base_acceleration: Motion | None = None,
) -> StackedMotion:
    """
    Return V, Vd, F and tau of all links at once (9.77, 9.78*, 9.79, 9.80).

    The arguments are those of :func:`rbd_ros.algorithms.other_forms.screws.newton_euler`.
    """
    n = 6 * tree.n
    A, G, Gamma, L = stacked(tree, th)
    V_base = _from_base(tree, th, base_velocity or Motion.zero())
    Vd_base = _from_base(
        tree, th, (base_acceleration or Motion.zero()) + _fall(tree, gravity))
    rate = dense.apply(A, thd)
    V = dense.apply(L, dense.add(rate, V_base))                                           # 9.77
    turning = dense.apply(adjoints(_split(rate)), dense.add(dense.apply(Gamma, V), V_base))
    Vd = dense.apply(L, dense.add(
        dense.subtract(dense.apply(A, thdd), turning), Vd_base))                         # 9.78 *
    gyro = dense.apply(dense.transposed(adjoints(_split(V)), n), dense.apply(G, V))
    F = dense.subtract(dense.apply(G, Vd), gyro)
    if wrench_on_environment is not None:
        link, tool = tree.tip
        at = 6 * (link - 1)
        F[at:at + 6] = dense.add(F[at:at + 6], tool.inv_apply(wrench_on_environment).to_list())
    F = dense.apply(dense.transposed(L, n), F)                                            # 9.79
    return StackedMotion(V, Vd, F, dense.apply(dense.transposed(A, tree.n), F))           # 9.80


def closed_form(
    tree: ScrewTree, th: Values, thd: Values, *, gravity: Vec3 | None = None,
) -> ClosedForm:
    """
    Return M = A'L'G L A, c = -A'L'(G L ad_{A thd} Gamma + ad_V' G) L A thd, g = A'L'G L Vd_base.

    The base is at rest (9.82, 9.83*, 9.84).
    """
    n, size = tree.n, 6 * tree.n
    A, G, Gamma, L = stacked(tree, th)
    LA = dense.times(L, A, n)
    back = dense.transposed(LA, n)
    M = dense.times(back, dense.times(G, LA, n), n)                                       # 9.82
    V = dense.apply(LA, thd)
    turning = dense.apply(adjoints(_split(dense.apply(A, thd))), dense.apply(Gamma, V))
    gyro = dense.apply(dense.transposed(adjoints(_split(V)), size), dense.apply(G, V))
    c = [-x for x in dense.apply(back, dense.add(
        dense.apply(G, dense.apply(L, turning)), gyro))]                                 # 9.83 *
    fall = _from_base(tree, th, _fall(tree, gravity))
    return ClosedForm(M, c, dense.apply(back, dense.apply(G, dense.apply(L, fall))))      # 9.84


# --- task space -----------------------------------------------------------------------------


class TaskSpace(NamedTuple):
    """
    F = Lambda Vd + eta of the tool, in its own frame (9.97 to 9.99).

    :param eta: includes gravity.
    :param J: rows of the body Jacobian.
    :param Jd: its rate.
    """

    Lambda: Matrix
    eta: list[Scalar]
    J: Matrix
    Jd: Matrix


def task_space(
    tree: ScrewTree, th: Values, thd: Values, *, gravity: Vec3 | None = None,
    rows: Sequence[Values] = FULL,
) -> TaskSpace:
    """
    Return Lambda = (J M^-1 J^T)^-1 and eta = Lambda (J M^-1 b - Jd thd).

    With a square J these are J^-T M J^-1 and J^-T b - Lambda Jd J^-1 V of (9.98, 9.99); this form
    serves any number of joints. J must have full rank.

    :param rows: directions of the tool that count, six numbers each, angular first.
    """
    J, Jd = ([[dense.dot(row, column.to_list()) for column in columns] for row in rows]
             for columns in (body_jacobian(tree, th), body_jacobian_rate(tree, th, thd)))
    b = newton_euler(tree, th, thd, None, gravity=gravity).tau
    m = len(J)
    right = [[*column, x] for column, x in zip(dense.transposed(J, tree.n), b, strict=True)]
    solved = dense.times(J, dense.eliminate(mass_matrix(tree, th), right), m + 1)
    Phi = [row[:m] for row in solved]
    rest = dense.subtract([row[m] for row in solved], dense.apply(Jd, thd))
    both = dense.eliminate(Phi, [[*one, x] for one, x in
                                 zip(dense.identity(m), rest, strict=True)])
    return TaskSpace([row[:m] for row in both], [row[m] for row in both], J, Jd)


def joint_motion(
    tree: ScrewTree, th: Sequence[float], V: Motion, Vd: Motion,
) -> tuple[list[float], list[float]]:
    """
    Return thd = J^-1 V and thdd = J^-1 (Vd - Jd thd) of the tool's motion (9.93, 9.94), floats.

    :raises SingularError: where J is not 6x6, or has no inverse.
    """
    def matrix(columns: Sequence[Motion]) -> np.ndarray:
        return np.array([column.to_list() for column in columns], dtype=float).reshape(-1, 6).T
    J = matrix(body_jacobian(tree, th))
    if J.shape != (6, 6):
        raise SingularError(f'the motion of the tool determines 6 joints, the robot has {tree.n}; '
                            'use dynamics.inverse_kinematics for other robots')
    condition = float(np.linalg.cond(J))
    if not condition < 1e10:
        raise SingularError(f'the Jacobian of the tool is singular here (condition number '
                            f'{condition:.1e}): no joint motion gives every motion of the tool')
    thd = np.linalg.solve(J, V.to_list())
    Jd = matrix(body_jacobian_rate(tree, th, thd.tolist()))
    return thd.tolist(), np.linalg.solve(J, np.array(Vd.to_list()) - Jd @ thd).tolist()


def in_other_frame(space: TaskSpace, X: Transform) -> tuple[Matrix, list[Scalar]]:
    """
    Return Lambda and eta in the coordinates to which X leads: X* Lambda X^-1 and X* eta.

    :param space: of all six directions.
    """
    back = X.inverse().to_list()
    Lambda = dense.times(dense.transposed(back, 6), dense.times(space.Lambda, back, 6), 6)
    return Lambda, (X @ Force.from_list(space.eta)).to_list()
