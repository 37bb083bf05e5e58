# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Constraints on motion and the equations that solve for them (RBDA 3.2, 3.3 and 3.6).

Plain NumPy: ranks are decided here, which no compiled kernel can do. H, C and tau are those of
``Dynamics.mass_matrix`` and ``Dynamics.bias``; K and k, or G and g, describe the constraint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.rank import counted
from rbd_ros.compiler import Array
from rbd_ros.errors import SingularError

#: Singular values below this share of the largest count as zero.
RANK_TOLERANCE = 1e-11


class Implicit(NamedTuple):
    """
    Motion under K qdd = k.

    :param qdd: accelerations; unique, whatever the rank of K.
    :param multipliers: lambda; the shortest one where K has dependent rows.
    :param rank: independent constraints, n_ic; the others, len(K) - rank, leave as many
        combinations of lambda undetermined.
    """

    qdd: Array
    multipliers: Array
    rank: int


class Explicit(NamedTuple):
    """
    Motion under q = gamma(y), qdd = G ydd + g.

    :param tau_c: constraint force, which does no work on any permitted velocity.
    """

    qdd: Array
    ydd: Array
    tau_c: Array


class Apparent(NamedTuple):
    """A body on a joint as a free body with less freedom: a = Phi f + b (3.53)."""

    Phi: Array
    b: Array


def rank_of(A: ArrayLike) -> int:
    """Return the rank of a matrix."""
    return counted(np.linalg.svd(np.asarray(A, float), compute_uv=False), RANK_TOLERANCE)


def implicit(
    H: ArrayLike, C: ArrayLike, tau: ArrayLike, K: ArrayLike, k: ArrayLike,
) -> Implicit:
    """
    Solve H qdd + C = tau + K^T lambda with K qdd = k (3.17).

    :param K: n_c x n, of any rank; with dependent rows k must be consistent.
    :raises SingularError: where a motion that the constraints allow moves no inertia.
    """
    H, K = np.asarray(H, float), np.asarray(K, float)
    n, n_c = K.shape[1], K.shape[0]
    # Rows of K are scaled to the size of H, so that one tolerance fits both.
    scale = np.linalg.norm(H) / max(float(np.linalg.norm(K)), 1e-300)
    system = np.block([[H, scale * K.T], [scale * K, np.zeros((n_c, n_c))]])
    right = np.concatenate([np.subtract(tau, C), scale * np.asarray(k, float)])
    solution, _, found, _ = np.linalg.lstsq(system, right, rcond=RANK_TOLERANCE)
    rank = rank_of(K)
    if found < n + rank:
        raise SingularError(
            'a motion that the constraints allow moves no inertia: its acceleration is undefined; '
            'give what it moves a mass, or one of its joints a rotor inertia')
    return Implicit(solution[:n], -scale * solution[n:], rank)


def explicit(
    H: ArrayLike, C: ArrayLike, tau: ArrayLike, G: ArrayLike, g: ArrayLike,
) -> Explicit:
    """Solve H qdd + C = tau + tau_c, qdd = G ydd + g, G^T tau_c = 0 as one system (3.18)."""
    G = np.asarray(G, float)
    n, m = G.shape
    one = np.eye(n)
    system = np.block([[np.asarray(H, float), -one, np.zeros((n, m))],
                       [-one, np.zeros((n, n)), G],
                       [np.zeros((m, n)), G.T, np.zeros((m, m))]])
    right = np.concatenate([np.subtract(tau, C), -np.asarray(g, float), np.zeros(m)])
    qdd, tau_c, ydd = np.split(_solve(system, right, 'H or G'), [n, 2 * n])
    return Explicit(qdd, ydd, tau_c)


def dual(
    H_inverse: ArrayLike, C: ArrayLike, tau: ArrayLike, G: ArrayLike,
    g: ArrayLike,
) -> Explicit:
    """
    Solve the same equations for tau_c and ydd alone (3.19).

    The book prints H^-1 where -H^-1 belongs; with it, tau_c comes out with the wrong sign.
    """
    G, H_inverse = np.asarray(G, float), np.asarray(H_inverse, float)
    n, m = G.shape
    system = np.block([[-H_inverse, G], [G.T, np.zeros((m, m))]])
    free = H_inverse @ np.subtract(tau, C)
    right = np.concatenate([free - np.asarray(g, float), np.zeros(m)])
    tau_c, ydd = np.split(_solve(system, right, 'H^-1 or G'), [n])
    return Explicit(free + H_inverse @ tau_c, ydd, tau_c)


def decompose(
    S_1: ArrayLike, S_2: ArrayLike, v: ArrayLike,
) -> tuple[Array, Array]:
    """
    Return alpha_1 and alpha_2 with v = S_1 alpha_1 + S_2 alpha_2 (3.24 to 3.27).

    :raises SingularError: unless the space is the direct sum of both subspaces.
    """
    S_1, S_2 = np.asarray(S_1, float), np.asarray(S_2, float)
    both = np.hstack((S_1, S_2))
    rank = rank_of(both)
    if both.shape[0] != both.shape[1] or rank != both.shape[0]:
        raise SingularError(
            f'{S_1.shape[1]} and {S_2.shape[1]} directions of rank {rank} are not a direct sum '
            f'of the {both.shape[0]}-dimensional space; give independent ones that fill it')
    alpha = np.linalg.solve(both, np.asarray(v, float))
    return alpha[:S_1.shape[1]], alpha[S_1.shape[1]:]


def split_force(
    inertia: ArrayLike, S: ArrayLike, f: ArrayLike,
) -> tuple[Array, Array]:
    """
    Return the part of f that accelerates a body along S, and the part its joint takes (3.28).

    :param inertia: 6 x 6.
    :param S: 6 x n, any basis of the subspace.
    """
    inertia, S, f = (np.asarray(x, float) for x in (inertia, S, f))
    IS = inertia @ S
    active = IS @ _solve(S.T @ IS, S.T @ f, 'S')
    return active, f - active


def joint_equation(
    inertia: ArrayLike, p: ArrayLike, S: ArrayLike, rate: ArrayLike,
) -> tuple[Array, Array]:
    """
    Return H and C of one body on a joint, H qdd + C = S^T f (3.61 to 3.64).

    :param p: bias force of the body.
    :param rate: S-dot qd.
    """
    inertia, S = np.asarray(inertia, float), np.asarray(S, float)
    return S.T @ inertia @ S, S.T @ (inertia @ np.asarray(rate, float) + np.asarray(p, float))


def apparent_inertia(
    inertia: ArrayLike, p: ArrayLike, S: ArrayLike, rate: ArrayLike,
) -> Apparent:
    """Return Phi and b of one body on a joint, by its freedoms (3.53 to 3.55)."""
    S, rate = np.asarray(S, float), np.asarray(rate, float)
    H, _ = joint_equation(inertia, p, S, rate)
    Phi = S @ _solve(H, S.T, 'S')                                                          # 3.54
    bias = np.asarray(inertia, float) @ rate + np.asarray(p, float)
    return Apparent(Phi, rate - Phi @ bias)                                                # 3.55


def constrained_body(
    inertia: ArrayLike, p: ArrayLike, T: ArrayLike, rate: ArrayLike,
    f: ArrayLike,
) -> tuple[Array, Array]:
    """
    Return the acceleration of one body on a joint and lambda, by its constraints (3.60).

    :param T: constraint-force subspace, 6 x (6 - n).
    :param rate: -T-dot^T v, which is T^T S-dot qd.
    """
    inertia, T = np.asarray(inertia, float), np.asarray(T, float)
    n_c = T.shape[1]
    system = np.block([[inertia, T], [T.T, np.zeros((n_c, n_c))]])
    right = np.concatenate([np.subtract(f, p), np.asarray(rate, float)])
    a, minus_lambda = np.split(_solve(system, right, 'T'), [6])
    return a, -minus_lambda


def _solve(A: Array, b: Array, what: str) -> Array:
    """Return A^-1 b."""
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        raise SingularError(
            f'the equations are singular: {what} must have independent columns') from None
