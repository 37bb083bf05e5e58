# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Independent coordinates of closed loops, and the drives that move them (RBDA 8.5, 8.8, 8.12).

qd = G yd and qdd = G ydd + g, where y are some of the velocities of the tree: those that are left
when K is solved for the others. ``eliminate`` searches for pivots in plain NumPy; ``map_of`` takes
pivots that were found once, over generic scalars, and is what kernels are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear import dense, quadratic_program
from rbd_ros.compiler import absolute, Array, divide, Matrix, minimum, Scalar, Values
from rbd_ros.errors import RbdError, SingularError

#: Pivots below this share of the largest entry of K count as zero.
PIVOT_TOLERANCE = 1e-9
#: Pivots of a map below this share of what they usually are: the map is not to be trusted.
SMALLEST_PIVOT = 1e-4
#: Share of a generalised force that drives may leave out before that is an error of theirs.
SLACK = 1e-9


class LoopMap(NamedTuple):
    """
    Velocities and accelerations that the loops allow: qd = G yd, qdd = G ydd + g (8.42).

    :param G: (nv, n - r); the rows of the independent velocities are those of the matrix one.
    :param g: (nv,).
    :param independent: which velocities y are.
    :param dependent: the others, in the order in which they were solved for.
    """

    G: Array
    g: Array
    independent: tuple[int, ...]
    dependent: tuple[int, ...]


class Pivot(NamedTuple):
    """One step of elimination: row and column of K, and the usual size of the pivot."""

    row: int
    column: int
    size: float


# --- elimination ----------------------------------------------------------------------------


def pivots(
    K: Array, scale: Array, candidates: Sequence[int], rank: int | None = None,
) -> tuple[Pivot, ...]:
    """
    Return the steps of a Gauss elimination with complete pivoting (8.48, 8.49).

    :param scale: usual size of each row; rows of size zero are left out.
    :param candidates: columns to solve for.
    :param rank: how many, where that is known; else the size of the pivots decides.
    """
    rows = [i for i in range(len(K)) if scale[i] > 0.0]
    columns, U = list(candidates), K.copy()
    for i in rows:
        U[i] /= scale[i]
    largest = float(np.abs(U[np.ix_(rows, columns)]).max(initial=0.0))
    found: list[Pivot] = []
    while rows and columns and (rank is None or len(found) < rank):
        sizes = np.abs(U[np.ix_(rows, columns)])
        best = float(sizes.max())
        if best <= PIVOT_TOLERANCE * largest:
            break
        # the first one that is large enough: rounding must not choose among equals
        i, j = (int(k) for k in np.argwhere(sizes > 0.9 * best)[0])
        row, column = rows.pop(i), columns.pop(j)
        found.append(Pivot(row, column, best * float(scale[row])))
        for other in rows:
            U[other] -= U[other, column] / U[row, column] * U[row]
    return tuple(found)


def eliminate(
    K: ArrayLike, k: ArrayLike, independent: Sequence[int] | None = None,
    scale: ArrayLike | None = None,
) -> LoopMap:
    """
    Return G and g by Gauss elimination (RBDA 8.8).

    Rows that depend on others are left out; where they contradict them, g differs from the
    least-squares solution K^+ k.

    :param independent: velocities to keep; by default those that are not needed as pivots.
    :param scale: usual size of each row of K.
    :raises SingularError: where the loops do not let these velocities be independent.
    """
    K, k = np.asarray(K, float), np.asarray(k, float)
    n = K.shape[1]
    size = np.linalg.norm(K, axis=1) if scale is None else np.asarray(scale, float)
    kept = None if independent is None else tuple(independent)
    rest = [j for j in range(n) if kept is None or j not in kept]
    steps = pivots(K, size, rest)
    if kept is not None and len(steps) < len(rest):
        raise SingularError(
            f'velocities {kept} cannot be the independent ones here: with them held, the loops '
            f'still leave {len(rest) - len(steps)} freedoms; name as many as there are freedoms')
    if kept is not None and len(pivots(K, size, range(n))) > len(steps):
        raise SingularError(f'velocities {kept} depend on each other through the loops; choose '
                            'others as independent')
    found = map_of(K.tolist(), k.tolist(), steps)
    ordered = [j for j in range(n) if j not in {step.column for step in steps}]
    G = np.array(found.G, float).reshape(n, len(ordered))
    if kept is not None:
        G = G[:, [ordered.index(j) for j in kept]]
    return LoopMap(G, np.array(found.g, float), kept or tuple(ordered),
                   tuple(step.column for step in steps))


class TracedMap(NamedTuple):
    """
    G and g as lists, columns of G in the order of the velocities.

    :param pivot: the smallest one, as a share of its usual size.
    :param shares: all of them, in the order of the steps.
    """

    G: Matrix
    g: list[Scalar]
    pivot: Scalar
    shares: list[Scalar]


def map_of(K: Sequence[Values], k: Values, steps: Sequence[Pivot]) -> TracedMap:
    """
    Return G and g by given steps of elimination, over plain or traced scalars (8.50, 8.51).

    Loops that share no joint do not meet: what is zero in K costs nothing.
    """
    n = len(K[0]) if K else 0
    dependent = [step.column for step in steps]
    independent = [j for j in range(n) if j not in dependent]
    U = [[K[step.row][j] for j in dependent] for step in steps]
    R = [[*(-K[step.row][j] for j in independent), k[step.row]] for step in steps]
    pivot: Scalar = 1.0
    shares: list[Scalar] = []
    for i, step in enumerate(steps):
        shares.append(absolute(U[i][i]) / step.size)
        pivot = minimum(pivot, shares[-1])
        for m in range(i + 1, len(steps)):
            share = divide(U[m][i], U[i][i])
            U[m] = [u - share * x for u, x in zip(U[m], U[i], strict=True)]
            R[m] = [r - share * x for r, x in zip(R[m], R[i], strict=True)]
    for i in range(len(steps) - 1, -1, -1):
        R[i] = [divide(r, U[i][i]) for r in R[i]]
        for m in range(i):
            R[m] = [r - U[m][i] * x for r, x in zip(R[m], R[i], strict=True)]
    G = dense.zeros(n, len(independent))
    g: list[Scalar] = [0.0] * n
    for column, j in enumerate(independent):
        G[j][column] = 1.0
    for j, row in zip(dependent, R, strict=True):
        G[j], g[j] = row[:-1], row[-1]
    return TracedMap(G, g, pivot, shares)


# --- drives ---------------------------------------------------------------------------------


class ActuatorForces(NamedTuple):
    """
    Forces of the drives of a robot with loops that make a motion (8.63).

    :param tau: forces at all joints of the tree, zero at passive ones, (nv,).
    :param actuation: ``'proper'`` where one answer exists, ``'redundant'`` where drives can work
        against each other, ``'under'`` where some motion has no drive, or
        ``'under and redundant'``.
    :param residual: largest generalised force on the freedoms that the drives do not produce;
        zero where the motion can be made.
    :param at_limits: entries of tau that a limit stopped.
    """

    tau: Array
    actuation: str
    residual: float
    at_limits: tuple[int, ...]


def actuator_forces(
    G: ArrayLike, tau: ArrayLike, actuated: Sequence[int], *, weights: ArrayLike | None = None,
    limits: ArrayLike | None = None, preferred: ArrayLike | None = None,
) -> ActuatorForces:
    """
    Return forces of some drives that act on the freedoms as tau does: G_u^T u = G^T tau (8.63).

    :param G: (nv, n - r), any basis of the velocities that the loops allow.
    :param tau: forces that would make the motion with a drive in every joint, (nv,).
    :param actuated: velocities that have drives.
    :param weights: of the squares of the drives' forces, where there is a choice; all one by
        default.
    :param limits: largest force of each drive.
    :param preferred: forces of the drives from which the answer differs as little as can be.
    """
    G, tau = np.asarray(G, float), np.asarray(tau, float)
    at = list(actuated)
    p = len(at)
    weight = _positive('weights', weights, np.ones(p))
    limit = _positive('limits', limits, np.full(p, np.inf))
    wished = np.zeros(p) if preferred is None else np.asarray(preferred, float)
    if wished.shape != (p,) or not np.isfinite(wished).all():
        raise RbdError(f'preferred must be {p} numbers, one for each drive')
    G, _ = np.linalg.qr(G)                       # freedoms of like size, whatever y was
    needed, root = G.T @ tau, np.sqrt(weight)
    A = G[at].T / root                           # of root u, whose squares are added
    U, sigma, V = np.linalg.svd(A, full_matrices=True)
    rank = int(np.count_nonzero(sigma > SLACK * sigma.max(initial=0.0)))
    start = root * wished
    x = start + V[:rank].T @ ((U[:, :rank].T @ (needed - A @ start)) / sigma[:rank])
    kinds = ['under'] * (rank < G.shape[1]) + ['redundant'] * (rank < p)
    stopped: tuple[int, ...] = ()
    bound = root * limit
    if (np.abs(x) > bound).any():
        x = _within(A, needed, x, V[rank:].T, bound, start)
        stopped = tuple(at[k] for k in np.flatnonzero(np.abs(x) >= bound * (1.0 - 1e-6)))
    out = np.zeros(len(tau))
    out[at] = x / root
    residual = float(np.abs(A @ x - needed).max(initial=0.0))
    return ActuatorForces(out, ' and '.join(kinds) or 'proper', residual, stopped)


def _positive(name: str, values: ArrayLike | None, default: Array) -> Array:
    """Return a positive number for each drive."""
    found = default if values is None else np.asarray(values, float)
    if found.shape != default.shape or not (found > 0.0).all():
        raise RbdError(f'{name} must be {len(default)} positive numbers, one for each drive')
    return found


def _within(
    A: Array, needed: Array, x: Array, N: Array, bound: Array, start: Array,
) -> Array:
    """
    Return the drives nearest to ``start`` within their bounds that do as x does, or come nearest.

    :param N: what can be added to x without any effect.
    """
    from scipy import optimize
    finite = np.isfinite(bound)
    if N.shape[1]:
        sides = np.vstack((N[finite], -N[finite]))
        room = np.concatenate((bound[finite] - x[finite], bound[finite] + x[finite]))
        try:
            found = quadratic_program.minimise(
                np.eye(N.shape[1]), N.T @ (x - start), sides, room,
                purpose='limits of redundant drives')
            return np.clip(x + N @ found, -bound, bound)
        except quadratic_program.Infeasible:
            pass
    # no forces within the limits do it: those that come nearest
    wide = np.where(finite, bound, 1e3 * (np.abs(x).max() + 1.0))
    return np.asarray(optimize.lsq_linear(A, needed, (-wide, wide), tol=1e-14).x, float)
