# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The ordinary differential equation below a constrained system, and what it keeps (thesis 2.1).

Differentiating the constraint twice gives multipliers, and with them an equation for x = (q, qd)
that forgets the constraint itself: it keeps h = (phi, K qd) only as well as the integrator does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.rank import decompose, Rank, TOLERANCE
from rbd_ros.compiler import Array
from rbd_ros.manifold.system import ConstrainedSystem, DifferentiableSystem


class Baumgarte(NamedTuple):
    """
    Errors pulled back as phi'' + 2 alpha phi' + beta^2 phi = 0 (3.8).

    :param alpha: damping, 1/s; the drift is critically damped where it equals beta.
    :param beta: stiffness, 1/s.
    """

    alpha: float = 0.0
    beta: float = 0.0


NONE = Baumgarte()


class Lagrange(NamedTuple):
    """
    Motion by multipliers.

    :param qdd: accelerations.
    :param multipliers: lambda of H qdd + C = tau + K^T lambda, minus that of the thesis.
    :param decision: the rank of K and how consistent k is.
    """

    qdd: Array
    multipliers: Array
    decision: Rank


def lagrange(
    H: ArrayLike, C: ArrayLike, tau: ArrayLike, K: ArrayLike, k: ArrayLike, *,
    tolerance: float = TOLERANCE, previous: int | None = None, scale: ArrayLike | None = None,
) -> Lagrange:
    """
    Return accelerations and multipliers, lambda = (K H^-1 K^T)^-1 (k - K H^-1 (tau - C)) (2.4).

    :param H: symmetric and positive definite.
    :param K: (rows, nv), of any rank.
    :param previous: rank of the step before, see :func:`rbd_ros.algorithms.linear.rank.decompose`.
    """
    H, K = np.asarray(H, float), np.asarray(K, float)
    rows = decompose(K, H, scale=scale, tolerance=tolerance, previous=previous)
    free = np.linalg.solve(H, np.subtract(tau, C))
    short = np.asarray(k, float) - K @ free
    return Lagrange(free + rows.solve(short), rows.multipliers(short), rows.decision(short))


def stabilised_bias(
    system: ConstrainedSystem, q: Array, qd: Array, pull: Baumgarte = NONE,
    K: Array | None = None,
) -> Array:
    """Return k - 2 alpha K qd - beta^2 phi (3.9), (rows,)."""
    k = system.constraint_bias(q, qd)
    if pull == NONE:
        return k
    K = system.jacobian(q) if K is None else K
    return k - 2.0 * pull.alpha * (K @ qd) - pull.beta**2 * system.constraint(q)


def acceleration(
    system: ConstrainedSystem, q: Array, qd: Array, tau: ArrayLike, pull: Baumgarte = NONE,
    tolerance: float = TOLERANCE,
) -> Lagrange:
    """Return the motion of a system by multipliers: the underlying equation (2.5)."""
    K = system.jacobian(q)
    return lagrange(system.mass_matrix(q), system.bias(q, qd), tau, K,
                    stabilised_bias(system, q, qd, pull, K), tolerance=tolerance)


def residuals(
    system: ConstrainedSystem, q: Array, qd: Array, qdd: Array, multipliers: Array,
    tau: ArrayLike,
) -> tuple[Array, Array, Array, Array]:
    """Return how far a motion is from the model: forces, phi, K qd and K qdd - k (2.1 - 2.3)."""
    K = system.jacobian(q)
    force = system.mass_matrix(q) @ qdd + system.bias(q, qd) - np.asarray(tau) - K.T @ multipliers
    return force, system.constraint(q), K @ qd, K @ qdd - system.constraint_bias(q, qd)


def invariants(system: ConstrainedSystem, q: Array, qd: Array) -> Array:
    """Return h = (phi, K qd), zero on the manifold and kept by the equation (2.7), (2 rows,)."""
    return np.concatenate([system.constraint(q), system.jacobian(q) @ qd])


def invariant_jacobian(system: DifferentiableSystem, q: Array, qd: Array) -> Array:
    """
    Return the derivative of h by (q, qd), [[K, 0], [d(K qd)/dq, K]] (2.10), (2 rows, 2 nv).

    Its null space is the tangent space of the manifold (2.18).
    """
    K = system.jacobian(q)
    return np.block([[K, np.zeros_like(K)], [system.jacobian_derivative(q, qd), K]])
