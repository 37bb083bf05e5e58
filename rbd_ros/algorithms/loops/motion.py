# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Motion under the constraints of closed loops (RBDA 8.5): H qdd + C = tau + K^T lambda, K qdd = k.

``solve_regular`` is for constraints that are independent, over generic scalars, and is what
kernels are made of. ``solve`` is plain NumPy: it decides the rank, and takes what the other does
not. How many rows count is decided on Y = L^-T K^T with rows over their usual size, which makes
radians and metres comparable; never on A = Y^T Y, whose condition is the square of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.algorithms.linear.rank import counted
from rbd_ros.compiler import Array, divide, Matrix, maximum, minimum, Scalar, sqrt, Values
from rbd_ros.errors import RbdError, SingularError

Decide = Callable[[ArrayLike], int]

#: Where the smallest scaled pivot of the regular solution is below this, or a row that is taken
#: as dependent has a larger one, ``solve`` takes over.
REGULAR_PIVOT = 1e-6
#: The methods of ``solve``.
METHODS = ('direct', 'multipliers', 'projection')


class Nominal(NamedTuple):
    """
    What is decided once about the constraints of a mechanism, at closed positions.

    :param rows: independent rows of K, in the order of elimination.
    :param dependent: rows that follow from them wherever the loops are closed.
    :param scale: per row of K, the usual size of its entry on the diagonal of A = K H^-1 K^T.
    """

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    scale: tuple[float, ...]


class Regular(NamedTuple):
    """
    Motion under independent constraints.

    :param multipliers: lambda, zero for rows that do not count.
    :param pivot: the smallest pivot of A over its nominal size; small near a singularity, and
        not to be trusted below about 1e-6.
    :param excess: the largest pivot that a row taken as dependent would have: not zero where
        the loops have lost a freedom that they nominally have.
    """

    qdd: list[Scalar]
    multipliers: list[Scalar]
    pivot: Scalar
    excess: Scalar


def solve_regular(
    H: Sequence[Values], parent: Sequence[int], force: Values, K: Sequence[Values], k: Values,
    nominal: Nominal,
) -> Regular:
    """
    Solve H qdd = force + K^T lambda, K qdd = k, lambda first (RBDA 8.5, method 2).

    H = L^T L keeps the sparsity of the tree, and A = Y^T Y that of the loops: rows of loops that
    share nothing cost nothing.

    :param parent: expanded parent array of H.
    :param force: tau - C, with what acts at loop joints.
    :param nominal: which rows count.
    """
    L = ltl.ltl(H, parent)
    order = (*nominal.rows, *nominal.dependent)
    Y = [ltl.solve_transposed(L, parent, K[i]) for i in order]                             # 8.38
    z = ltl.solve_transposed(L, parent, force)
    r = len(nominal.rows)
    b = [k[i] - dense.dot(y, z) for i, y in zip(nominal.rows, Y)]                          # 8.39
    chol, pivots = _cholesky(Y, r)
    lam = _solve_cholesky(chol, b)
    scaled = [divide(pivot, nominal.scale[i]) for pivot, i in zip(pivots, order, strict=True)]
    pivot: Scalar = 1.0
    excess: Scalar = 0.0
    for x in scaled[:r]:
        pivot = minimum(pivot, x)
    for x in scaled[r:]:
        excess = maximum(excess, x)
    total = list(z)
    for factor, y in zip(lam, Y):
        total = [a + factor * y_i for a, y_i in zip(total, y, strict=True)]
    multipliers: list[Scalar] = [0.0] * len(K)
    for i, factor in zip(nominal.rows, lam):
        multipliers[i] = factor
    return Regular(ltl.solve_lower(L, parent, total), multipliers, pivot, excess)          # 8.37


def constrained_columns(
    H: Sequence[Values], parent: Sequence[int], K: Sequence[Values], nominal: Nominal,
    rows: Sequence[Values],
) -> Matrix:
    """
    Return for each row f^T the accelerations that the force f causes at zero velocity.

    These are columns of H^-1 (1 - K^T A^-1 K H^-1): what f does less what the loops take of it.
    """
    L = ltl.ltl(H, parent)
    Y = [ltl.solve_transposed(L, parent, K[i]) for i in nominal.rows]
    chol, _ = _cholesky(Y, len(Y))
    columns = []
    for row in rows:
        x = ltl.solve_transposed(L, parent, row)
        lam = _solve_cholesky(chol, [dense.dot(y, x) for y in Y])
        for factor, y in zip(lam, Y, strict=True):
            x = [a - factor * b for a, b in zip(x, y, strict=True)]
        columns.append(ltl.solve_lower(L, parent, x))
    return columns


def _cholesky(Y: Sequence[Values], r: int) -> tuple[Matrix, list[Scalar]]:
    """
    Return the factor of A = Y^T Y of the first r columns, and all pivots.

    :param Y: by columns; those after the first r only get the pivot that they would have next.
    """
    C: Matrix = []
    pivots: list[Scalar] = []
    for i, y in enumerate(Y):
        row: list[Scalar] = []
        rest = dense.dot(y, y)
        for j in range(min(i, r)):
            total = dense.dot(y, Y[j])
            for m in range(j):
                total = total - row[m] * C[j][m]
            row.append(divide(total, C[j][j]))
            rest = rest - row[j] * row[j]
        pivots.append(rest)
        if i < r:
            C.append([*row, sqrt(rest)])
    return C, pivots


def _solve_cholesky(C: Sequence[Values], b: Values) -> list[Scalar]:
    """Return (C C^T)^-1 b."""
    x = list(b)
    for i, row in enumerate(C):
        for j in range(i):
            x[i] = x[i] - row[j] * x[j]
        x[i] = divide(x[i], row[i])
    for i in range(len(C) - 1, -1, -1):
        for j in range(i + 1, len(C)):
            x[i] = x[i] - C[j][i] * x[j]
        x[i] = divide(x[i], C[i][i])
    return x


# --- any rank -------------------------------------------------------------------------------


class LoopMotion(NamedTuple):
    """
    Motion under loop constraints, and what was decided on the way.

    :param qdd: accelerations; unique, whatever the rank of K.
    :param multipliers: lambda, the shortest one where rows of K depend on others.
    :param rank: independent constraints r.
    :param residual: largest entry of K qdd - k: not zero where dependent rows contradict each
        other, as they do once a loop has drifted open.
    :param method: by which it was found.
    """

    qdd: Array
    multipliers: Array
    rank: int
    residual: float
    method: str


def solve(
    H: ArrayLike, force: ArrayLike, K: ArrayLike, k: ArrayLike, scale: ArrayLike | None = None, *,
    method: str = 'multipliers', rank: int | None = None, nominal: int | None = None,
) -> LoopMotion:
    """
    Solve H qdd = force + K^T lambda with K qdd = k for K of any rank (8.36).

    :param force: tau - C + tau^a.
    :param scale: usual sizes of the diagonal of K H^-1 K^T, see :class:`Nominal`; by default
        those of now.
    :param method: ``'direct'`` solves for both unknowns at once, ``'multipliers'`` for lambda
        first, ``'projection'`` on the motions that the loops allow: methods 1, 2 and 3 of
        RBDA 8.5. The first and the last need no inverse of H.
    :param rank: that of the step before, see :func:`rbd_ros.algorithms.linear.rank.counted`.
    :param nominal: rank at closed positions, see there.
    """
    if method not in METHODS:
        raise RbdError(f'no method "{method}" for loops (known: {", ".join(METHODS)})')
    H, force, K, k = (np.asarray(x, float) for x in (H, force, K, k))
    usual: Array = _usual(H, K) if scale is None else np.asarray(scale, float)
    size: Array = np.sqrt(np.maximum(usual, 0.0))
    used = np.flatnonzero(size > 0.0)
    D = 1.0 / size[used]
    solvers = {'direct': _direct, 'multipliers': _multipliers, 'projection': _projection}
    qdd, scaled, found = solvers[method](H, force, D[:, None] * K[used], D * k[used],
                                         partial(counted, previous=rank, nominal=nominal))
    multipliers = np.zeros(len(k))
    multipliers[used] = D * scaled
    residual = float(np.abs(K @ qdd - k).max(initial=0.0))
    return LoopMotion(qdd, multipliers, found, residual, method)


def _usual(H: Array, K: Array) -> Array:
    """Return the diagonal of K H^-1 K^T, of rows that move no inertia that of K K^T."""
    with_inertia = np.einsum('ij,ji->i', K, np.linalg.pinv(H) @ K.T)
    plain = np.einsum('ij,ij->i', K, K)
    moved = with_inertia * np.linalg.norm(H) > 1e-12 * plain
    return np.where(moved, with_inertia, plain)


def definite(H: Array) -> bool:
    """Return whether a matrix of inertia has an inverse, rounding aside."""
    size = np.sqrt(np.maximum(np.diag(H), 0.0))
    if not size.all():
        return False
    values = np.linalg.eigvalsh(H / np.outer(size, size)) if size.size else np.ones(1)
    return bool(values[0] > 1e-13)


def _refuse_free(H: Array) -> None:
    """
    Raise an error where a motion that the loops allow moves no inertia.

    :param H: G^T H G of these motions.
    """
    if not definite(H):
        raise SingularError(
            'a motion that the loops allow moves no inertia: its acceleration is undefined; give '
            'what it moves a mass, or one of its joints a rotor inertia')


def factor(H: Array) -> Array:
    """Return L with H = L^T L, by the Cholesky factor of H in reverse order."""
    try:
        return np.linalg.cholesky(H[::-1, ::-1])[::-1, ::-1].T
    except np.linalg.LinAlgError:
        raise SingularError(
            'H has no inverse: a joint moves without inertia; take method "direct" or '
            '"projection", which need none') from None


def _multipliers(
    H: Array, force: Array, K: Array, k: Array, decide: Decide,
) -> tuple[Array, Array, int]:
    """Solve for lambda first, by the singular values of Y (8.37 to 8.41)."""
    L = factor(H)
    Y = np.linalg.solve(L.T, K.T)                                                          # 8.38
    z = np.linalg.solve(L.T, force)
    V, sigma, U = np.linalg.svd(Y, full_matrices=False)
    r = decide(sigma)
    V, sigma, U = V[:, :r], sigma[:r], U[:r]
    missing = (U @ (k - Y.T @ z)) / sigma
    qdd = np.linalg.solve(L, z + V @ missing)              # A and its condition never occur
    return qdd, U.T @ (missing / sigma), r


def _direct(
    H: Array, force: Array, K: Array, k: Array, decide: Decide,
) -> tuple[Array, Array, int]:
    """Solve for both unknowns at once, dependent rows by least squares (8.36)."""
    n, m = H.shape[0], K.shape[0]
    size = float(np.sqrt(np.linalg.norm(H)))               # puts K between 1 and H
    U, sigma, V = np.linalg.svd(K)
    r = decide(sigma)
    _refuse_free(V[r:] @ H @ V[r:].T)
    K = size * (V[:r].T * sigma[:r]).T                     # r independent combinations of rows
    system = np.block([[H, K.T], [K, np.zeros((r, r))]])
    right = np.concatenate([force, size * (U[:, :r].T @ k)])
    solved = np.linalg.lstsq(system, right, rcond=None)[0]
    return solved[:n], -size * (U[:, :r] @ solved[n:]).reshape(m), r


def _projection(
    H: Array, force: Array, K: Array, k: Array, decide: Decide,
) -> tuple[Array, Array, int]:
    """Solve on the motions that the loops allow (8.42 to 8.46)."""
    U, sigma, V = np.linalg.svd(K)
    r = decide(sigma)
    G, g = V[r:].T, V[:r].T @ ((U[:, :r].T @ k) / sigma[:r])          # g = K^+ k, KG = 0
    _refuse_free(G.T @ H @ G)
    ydd = np.linalg.solve(G.T @ H @ G, G.T @ (force - H @ g))                              # 8.45
    qdd = G @ ydd + g                                                                      # 8.42
    return qdd, U[:, :r] @ ((V[:r] @ (H @ qdd - force)) / sigma[:r]), r
