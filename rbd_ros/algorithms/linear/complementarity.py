# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The linear complementarity problem of contact: zeta = M lambda + d (RBDA 11.42).

M is symmetric and positive semidefinite. Then M lambda is the same for all solutions, and Lemke's
method ends with a solution or with the proof that there is none. Ties, which every contact with
more points than it needs has, are broken by lexicographic order: no sequence of pivots repeats.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler import Array
from rbd_ros.errors import NonFiniteError, RbdError, ShapeError

#: Entries below this, of a problem whose diagonal is one, count as zero.
TOLERANCE = 1e-10


class Status(Enum):
    """How many solutions there are for lambda; M lambda is unique if there is any."""

    UNIQUE = 'unique'
    MANY = 'many'
    NONE = 'none'


class Complementary(NamedTuple):
    """
    A solution of zeta = M lambda + d, zeta >= 0, lambda >= 0, zeta . lambda = 0.

    :param force: lambda; a basic solution, whose positive entries belong to independent rows of M.
        Zero where there is no solution.
    :param separation: zeta; d where there is no solution.
    :param status: whether lambda is the only one, one of many, or does not exist.
    :param proof: where there is no solution, u >= 0 with M u = 0 and d . u < 0: no force changes
        the sum of separations u . zeta, which is negative. Empty otherwise.
    """

    force: Array
    separation: Array
    status: Status
    proof: Array


def checked(M: ArrayLike, d: ArrayLike) -> tuple[Array, Array]:
    """Return M and d as arrays, or refuse what is no complementarity problem."""
    M, d = np.array(M, float), np.array(d, float)
    if M.ndim != 2 or M.shape != (d.size, d.size) or d.ndim != 1:
        raise ShapeError(f'M has shape {M.shape} and d {d.shape}; needed are (n, n) and (n,)')
    if not (np.isfinite(M).all() and np.isfinite(d).all()):
        raise NonFiniteError('M or d of a contact problem is not finite: check positions, '
                             'velocities and joint forces')
    if not np.allclose(M, M.T, rtol=1e-8, atol=1e-10 * np.abs(M).max(initial=0.0)):
        raise RbdError(f'M of a contact problem differs from its transpose by '
                       f'{np.abs(M - M.T).max():.3g}; it must be symmetric')
    symmetric: Array = 0.5 * (M + M.T)
    values = np.linalg.eigvalsh(symmetric) if d.size else np.zeros(1)
    if values[0] < -1e-9 * np.abs(values).max():
        raise RbdError(
            'M of a contact problem must be positive semidefinite; its eigenvalues go from '
            f'{values[0]:.3g} to {values[-1]:.3g}. Check the inertias, and the signs of normals')
    return symmetric, d


def solve(M: ArrayLike, d: ArrayLike) -> Complementary:
    """
    Solve the problem by Lemke's method (RBDA 11.42).

    :param M: symmetric, positive semidefinite, (n, n).
    :param d: separation without forces, (n,).
    """
    M, d = checked(M, d)
    n = d.size
    if (d >= 0.0).all():
        return Complementary(np.zeros(n), d, _count(M, d, np.zeros(n)), np.empty(0))
    # Diagonals of one, and the largest separation of one: one tolerance fits all.
    diagonal = np.sqrt(np.diag(M).clip(0.0))
    size = 1.0 / np.where(diagonal > 1e-8 * diagonal.max(initial=0.0), diagonal, 1.0)
    if not diagonal.any():
        size = np.ones(n)
    scaled, right = size[:, None] * M * size, size * d
    scale = float(np.abs(right).max())
    basis, ray = _lemke(scaled, right / scale)
    if ray is not None:
        return Complementary(np.zeros(n), d, Status.NONE, size * ray)
    force = np.zeros(n)
    if basis.size:
        force[basis] = scale * _refined(scaled[np.ix_(basis, basis)], -right[basis] / scale)
    force = size * np.maximum(force, 0.0)
    separation = M @ force + d
    separation[basis] = 0.0
    separation = np.where(np.abs(separation) * size < TOLERANCE * scale, 0.0, separation)
    return Complementary(
        force, separation, _count(scaled, separation * size, force / size), np.empty(0))


def _refined(A: Array, b: Array) -> Array:
    """Return A^-1 b with one step of iterative refinement."""
    x = np.linalg.solve(A, b)
    return x + np.linalg.solve(A, b - A @ x)


def _lemke(M: Array, d: Array) -> tuple[NDArray[np.intp], Array | None]:
    """
    Return the contacts with forces in a complementary basis, or the ray that proves there is none.

    Columns of the tableau: zeta (n), lambda (n), the artificial variable, the right-hand side; it
    says zeta - M lambda - artificial = d.
    """
    n = d.size
    tableau = np.hstack([np.eye(n), -M, -np.ones((n, 1)), d[:, None]])
    basis = np.arange(n)
    artificial, entering = 2 * n, 2 * n
    # The row that is most negative, ties broken as for every other pivot.
    row = min(range(n), key=lambda i: (tableau[i, -1], *tableau[i, :n]))
    for _ in range(200 + 50 * n):
        tableau[row] /= tableau[row, entering]
        column = tableau[:, entering].copy()
        column[row] = 0.0
        tableau -= column[:, None] * tableau[row]
        leaving, basis[row] = int(basis[row]), entering
        if leaving == artificial:
            return np.sort(basis[basis >= n]) - n, None
        entering = leaving + n if leaving < n else leaving - n
        candidates = np.flatnonzero(tableau[:, entering] > TOLERANCE)
        if not candidates.size:
            ray = np.zeros(2 * n + 1)
            ray[basis] = -tableau[:, entering]
            ray[entering] = 1.0
            return np.empty(0, dtype=np.intp), np.maximum(ray[n:2 * n], 0.0)
        row = _leaving(tableau, basis, candidates, entering, artificial)
    raise RbdError(f'the contact problem of {n} contacts was not solved: more pivots than it can '
                   'have; its numbers differ too much in size')


def _leaving(
    tableau: Array, basis: NDArray[np.intp], candidates: NDArray[np.intp], entering: int,
    artificial: int,
) -> int:
    """Return the row of the least ratio, in lexicographic order; the artificial one if it may."""
    n = len(basis)
    ratios = tableau[candidates] / tableau[candidates, entering][:, None]
    keys = np.column_stack([ratios[:, -1], ratios[:, :n]])
    for k in range(n + 1):
        least = keys[:, k] <= keys[:, k].min() + TOLERANCE
        keys, candidates = keys[least], candidates[least]
        if k == 0 and artificial in basis[candidates]:
            return int(candidates[basis[candidates] == artificial][0])
        if candidates.size == 1:
            break
    return int(candidates[0])


def _count(M: Array, separation: Array, force: Array) -> Status:
    """
    Return whether another lambda solves the same problem.

    It would differ by u with M u = 0, u >= 0 where lambda is zero, and u = 0 where the contact
    opens. Rows with force are independent; what remains of the others, after these have taken
    their part, must not cancel with positive weights.
    """
    closed = np.abs(separation) <= TOLERANCE * max(1.0, float(np.abs(separation).max(initial=0.0)))
    loaded = closed & (force > 0.0)
    idle = np.flatnonzero(closed & ~loaded)
    if not idle.size:
        return Status.UNIQUE
    schur, at = M[np.ix_(idle, idle)].copy(), np.flatnonzero(loaded)
    if at.size:
        coupling = M[np.ix_(at, idle)]
        schur -= coupling.T @ np.linalg.solve(M[np.ix_(at, at)], coupling)
    values, vectors = np.linalg.eigh(0.5 * (schur + schur.T))
    scale = float(np.abs(M).max(initial=0.0)) or 1.0
    root = np.sqrt(np.maximum(values, 0.0) / scale)[:, None] * vectors.T
    from scipy.optimize import nnls     # half a second to import
    system = np.vstack([root, np.ones(idle.size)])
    residual = nnls(system, np.append(np.zeros(idle.size), 1.0))[1]
    return Status.MANY if residual < 1e-5 else Status.UNIQUE
