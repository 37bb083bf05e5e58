# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Dynamics in the null space of the constraint, where no multiplier appears (thesis 2.4).

K G = 0 and K g = k: every acceleration that keeps the constraint is qdd = G ydd + g, and
G^T H G ydd = G^T (tau - C - H g). Any basis G and any g with K g = k give the same qdd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.rank import decompose, TOLERANCE
from rbd_ros.compiler import Array
from rbd_ros.errors import SingularError
from rbd_ros.manifold.chart import Chart
from rbd_ros.manifold.system import ConstrainedSystem

#: tau(q, qd, qdd).
InverseDynamics = Callable[[Array, Array, Array], Array]


class NullSpace(NamedTuple):
    """
    Velocities and accelerations that the constraint permits: qd = G yd, qdd = G ydd + g.

    :param G: (nv, p).
    :param g: (nv,); dG/dt yd of the thesis.
    """

    G: Array
    g: Array


class Reduced(NamedTuple):
    """Accelerations of the independent coordinates and of all (2.43)."""

    ydd: Array
    qdd: Array


def by_full_solve(R: Array, K: Array, k: Array) -> NullSpace:
    """
    Return G and g by one solve of nv rows, [R; K] [G g] = [1 0; 0 k] (2.44, 2.45).

    :param K: independent rows.
    """
    n, p = K.shape[1], len(R)
    right = np.zeros((n, p + 1))
    right[:p, :p] = np.eye(p)
    right[p:, p] = k
    try:
        both = np.linalg.solve(np.vstack([R, K]), right)
    except np.linalg.LinAlgError:
        raise SingularError('[R; K] is singular: choose other coordinates') from None
    return NullSpace(both[:, :p], both[:, p])


def by_small_solve(R_bar: Array, S_bar: Array, K: Array, k: Array) -> NullSpace:
    """
    Return G and g by one solve of as many rows as there are constraints (2.46, 2.47).

    :param K: independent rows, m of them; K S_bar is m x m.
    """
    return NullSpace(tangent_by_dependent(R_bar, S_bar, K), S_bar @ np.linalg.solve(K @ S_bar, k))


def of_chart(system: ConstrainedSystem, chart: Chart, q: Array, qd: Array) -> NullSpace:
    """Return G and g of the coordinates of a chart at a state."""
    return by_small_solve(chart.R_bar, chart.S_bar, chart.reduced(system.jacobian(q)),
                          chart.reduced(system.constraint_bias(q, qd)))


def reduced_dynamics(
    H: ArrayLike, C: ArrayLike, tau: ArrayLike, space: NullSpace,
) -> Reduced:
    """
    Return ydd of G^T H G ydd = G^T (tau - C - H g), and qdd = G ydd + g (2.41 to 2.43).

    :param H: need not be positive definite itself: only G^T H G must be.
    """
    H, (G, g) = np.asarray(H, float), space
    try:
        L = np.linalg.cholesky(G.T @ H @ G)
    except np.linalg.LinAlgError:
        raise SingularError('G^T H G is not positive definite: some motion that the constraint '
                            'permits moves no mass') from None
    force = G.T @ (np.subtract(tau, C) - H @ g)
    ydd = np.linalg.solve(L.T, np.linalg.solve(L, force))
    return Reduced(ydd, G @ ydd + g)


def reduced_inertia(
    inverse_dynamics: InverseDynamics, q: Array, G: Array,
) -> Array:
    """
    Return G^T H G from inverse dynamics alone, column by column (4.9, A.6).

    :param inverse_dynamics: tau(q, qd, qdd).
    """
    zero = np.zeros(len(G))
    rest = inverse_dynamics(q, zero, zero)
    return np.column_stack([G.T @ (inverse_dynamics(q, zero, column) - rest) for column in G.T])


def by_newton_euler(
    inverse_dynamics: InverseDynamics, q: Array, qd: Array, tau: ArrayLike, space: NullSpace,
) -> Reduced:
    """Return the motion of the null space by inverse dynamics alone (4.8 to 4.10)."""
    G, g = space
    force = G.T @ (np.asarray(tau, float) - inverse_dynamics(q, qd, g))
    ydd = np.linalg.solve(reduced_inertia(inverse_dynamics, q, G), force)
    return Reduced(ydd, G @ ydd + g)


def differentiable(K: Array, reference: Array, tolerance: float = TOLERANCE) -> Array:
    """
    Return the orthonormal basis of the null space of K nearest to another basis (1.1).

    It changes smoothly with K, which the vectors of a decomposition do not: those may turn and
    change sign from one position to the next.

    :param reference: a basis of the null space nearby, (nv, p).
    """
    rows = decompose(K, tolerance=tolerance)
    free = rows.Vt[rows.rank:].T
    left, s, right = np.linalg.svd(free.T @ reference)
    if reference.shape[1] != free.shape[1] or s.size and s[-1] < 0.1:
        raise SingularError(
            f'the reference, {reference.shape[1]} vectors, is no basis near the null space, of '
            f'{free.shape[1]} dimensions: take one from a nearer position')
    return free @ left @ right


def differentiable_rate(K: Array, K_rate: Array, G: Array) -> Array:
    """Return dG/dt = -K^+ dK/dt G, the rate of a basis that does not turn within its space."""
    return -np.column_stack([decompose(K).solve(column) for column in (K_rate @ G).T])


def tangent(D1: ArrayLike, D2: ArrayLike, K: ArrayLike) -> Array:
    """Return dx/dy = [D1; K]^-1 [-D2; 0] by one solve of the whole size (2.29)."""
    D1, D2, K = (np.asarray(x, float) for x in (D1, D2, K))
    right = np.vstack([-D2, np.zeros((len(K), D2.shape[1]))])
    return np.linalg.solve(np.vstack([D1, K]), right)


def tangent_by_inverse(D1: ArrayLike, D2: ArrayLike, K: ArrayLike) -> Array:
    """Return dx/dy = [dy/dx; K]^-1 [1; 0] with dy/dx = -D2^-1 D1 (2.30, 2.31)."""
    D1, D2, K = (np.asarray(x, float) for x in (D1, D2, K))
    inward = -np.linalg.solve(D2, D1)
    right = np.vstack([np.eye(len(D1)), np.zeros((len(K), len(D1)))])
    return np.linalg.solve(np.vstack([inward, K]), right)


def tangent_by_dependent(R_bar: Array, S_bar: Array, K: ArrayLike) -> Array:
    """Return dx/dy = R_bar - S_bar (K S_bar)^-1 K R_bar by a solve of m rows (2.37 to 2.39)."""
    K = np.asarray(K, float)
    return R_bar - S_bar @ np.linalg.solve(K @ S_bar, K @ R_bar)
