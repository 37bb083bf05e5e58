# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Linearisation of a constrained system on its manifold (thesis chapter 4 and appendix B).

The Jacobian of the underlying equation alone is of no use: moved points violate the constraint,
and what the equation says there is arbitrary. On the manifold dx/dt = f(x) becomes A = [Df] P
with any projector P onto the tangent space, or the local form itself is differentiated,
d(y, u)/dt = A (y, u) + B tau. At an equilibrium both have the same eigenvalues but for zeros
(theorems 4.1.1, 4.1.2); elsewhere the eigenvalues depend on the coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.manifold.chart import Chart, inverse
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.nullspace import NullSpace, reduced_dynamics
from rbd_ros.manifold.system import (
    Applied, ConstrainedSystem, derivatives, DifferentiableSystem, State)


# --- of the whole state ---------------------------------------------------------------------


def naive_jacobian(
    system: ConstrainedSystem, acceleration: Applied, state: State, step: float = 1e-3,
) -> Array:
    """
    Return [Df] of f = (qd, qdd) by differences in every direction, (2 nv, 2 nv) (4.2).

    :param acceleration: qdd(q, qd); off the manifold it is whatever the method makes it.
    """
    n, (q, qd) = system.nv, state

    def rate(dx: Array) -> Array:
        v = qd + dx[n:]
        return np.concatenate([v, acceleration(system.integrate(q, dx[:n]), v)])

    return derivatives(rate, 2 * n, step)


def orthogonal_projector(H: Array) -> Array:
    """Return P = 1 - H^+ H onto the null space of H, of any rank (4.4)."""
    return np.eye(H.shape[1]) - np.linalg.pinv(H) @ H


def oblique_projector(DPsi: Array, R: Array) -> Array:
    """Return P = DPsi (R DPsi)^-1 R onto the columns of DPsi, along the null space of R (4.3)."""
    return DPsi @ np.linalg.solve(R @ DPsi, R)


def on_manifold(Df: Array, P: Array) -> Array:
    """Return A = [Df] P, which does not depend on how f goes on off the manifold (4.3, 4.4)."""
    return Df @ P


# --- the local form -------------------------------------------------------------------------


class Slopes(NamedTuple):
    """
    How the null space changes along the manifold.

    :param G: dq/dy, (nv, p).
    :param W: the change of a velocity that makes up for a violation of K, (nv, m).
    :param G_slopes: dG/dy, [i] for coordinate i, (p, nv, p).
    :param G_rate: dqd/dy at constant u, dG/dt of the thesis, (nv, p) (4.11).
    :param g_slope: dqdd/dy at constant u and ydd, d2G/dt2 of the thesis, (nv, p).
    :param g_rate: dqdd/du at constant ydd; 2 G_rate where coordinates add up, (nv, p).
    """

    G: Array
    W: Array
    G_slopes: Array
    G_rate: Array
    g_slope: Array
    g_rate: Array

    @property
    def DPsi(self) -> Array:  # noqa: N802 (the mathematical letter)
        """Return d(q, qd)/d(y, u), (2 nv, 2 p) (2.40)."""
        return np.block([[self.G, np.zeros_like(self.G)], [self.G_rate, self.G]])


class LinearForm(NamedTuple):
    """
    The local form near a state: d(y, u)/dt = rate + A (y, u) + B dtau.

    :param A: [[A_11, 1], [A_21, A_22]]; A_11 is zero where coordinates add up, (2 p, 2 p).
    :param B: [0; (G^T H G)^-1 G^T], (2 p, nv).
    :param rate: (dy/dt, du/dt) at the state, (2 p,).
    :param qdd: accelerations of all joints.
    :param slopes: how the null space changes.
    """

    A: Array
    B: Array
    rate: Array
    qdd: Array
    slopes: Slopes

    def of_state(self, R: Array) -> Array:
        """
        Return A of the whole state (q, qd), equal to [Df] P with P = DPsi diag(R, R) (4.6).

        :param R: of the chart.
        """
        p, s = len(R), self.slopes
        lower = np.hstack([s.G @ self.A[p:, :p] + s.g_slope, s.G @ self.A[p:, p:] + s.g_rate])
        inward = np.block([[R, np.zeros_like(R)], [np.zeros_like(R), R]])
        return np.vstack([np.hstack([s.G_rate, s.G]), lower]) @ inward


def slopes(
    system: DifferentiableSystem, chart: Chart, state: State, qdd: Array,
) -> Slopes:
    """
    Return the derivatives of the null space along the manifold at a state and acceleration.

    Each comes from differentiating [R; K] x = ... once: only products of the derivative of K
    with vectors are needed, which the recursions of the tree deliver.
    """
    q, qd = state
    K = chart.reduced(system.jacobian(q))
    G, W = inverse(chart.R, K)

    def turned(w: Array) -> Array:
        """Return d(K w)/dy, (m, p)."""
        return chart.reduced(system.jacobian_derivative(q, w)) @ G

    # column j of dG/dy_i is -W d(K G_j)/dy_i                                            # 4.11
    G_slopes = -np.stack([W @ turned(column) for column in G.T], axis=-1).transpose(1, 0, 2)
    G_rate = -W @ turned(qd)
    by_q, by_qd = (chart.reduced(x) for x in system.constraint_bias_derivatives(q, qd))
    g_slope = W @ (by_q @ G + by_qd @ G_rate - turned(qdd))
    return Slopes(G, W, G_slopes, G_rate, g_slope, W @ by_qd @ G)


def _force_slopes(
    system: DifferentiableSystem, state: State, qdd: Array, force: Array, s: Slopes,
    applied: tuple[Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of G^T force by y, u and ydd, force being H qdd + C - tau (B.1)."""
    H = system.mass_matrix(state.q)
    Dq, Dv = system.dynamics_derivatives(*state, qdd)
    if applied is not None:
        Dq, Dv = Dq - applied[0], Dv - applied[1]
    by_y = (np.einsum('inp,n->pi', s.G_slopes, force)
            + s.G.T @ (Dq @ s.G + Dv @ s.G_rate + H @ s.g_slope))
    return by_y, s.G.T @ (Dv @ s.G + H @ s.g_rate), s.G.T @ H @ s.G


def linear_form(
    system: DifferentiableSystem, chart: Chart, state: State, tau: ArrayLike, *,
    applied: tuple[Array, Array] | None = None,
) -> LinearForm:
    """
    Return A and B of the local form at a state on the manifold (4.8 to 4.11, B.1 to B.5).

    :param chart: whose R gives the coordinates y = R (q - q_bar), q_bar being the position of
        the state itself.
    :param tau: joint forces on the tree at the state.
    :param applied: derivatives of tau by q and qd, where it follows the state.
    """
    q, qd = state
    tau, p = np.asarray(tau, float), chart.p
    H, C = system.mass_matrix(q), system.bias(q, qd)
    K = chart.reduced(system.jacobian(q))
    G, W = inverse(chart.R, K)
    space = NullSpace(G, W @ chart.reduced(system.constraint_bias(q, qd)))
    ydd, qdd = reduced_dynamics(H, C, tau, space)
    s = slopes(system, chart, state, qdd)
    by_y, by_u, inertia = _force_slopes(system, state, qdd, H @ qdd + C - tau, s, applied)
    A_11 = chart.R @ system.chart_rate(q, qd) @ s.G
    A = np.block([[A_11, np.eye(p)],
                  [-np.linalg.solve(inertia, by_y), -np.linalg.solve(inertia, by_u)]])
    B = np.vstack([np.zeros((p, system.nv)), np.linalg.solve(inertia, s.G.T)])
    return LinearForm(A, B, np.concatenate([chart.R @ qd, ydd]), qdd, s)


def linear_form_by_differences(form: LocalForm, state: State, step: float = 1e-3) -> Array:
    """Return A of the local form by differences in y and u: 2 p columns, each on the manifold."""
    x = np.concatenate(form.coordinates(state))
    return derivatives(lambda dx: form.vector_rate(x + dx), x.size, step)


def state_form_by_differences(
    form: LocalForm, acceleration: Applied, state: State, step: float = 1e-3,
) -> Array:
    """Return A of the whole state by differences of f(Psi(y)), times R (4.1)."""
    x, p = np.concatenate(form.coordinates(state)), form.chart.p

    def rate(dx: Array) -> Array:
        point = x + dx
        q, qd = form.state(point[:p], point[p:])
        return np.concatenate([qd, acceleration(q, qd)])

    zero = np.zeros_like(form.chart.R)
    inward = np.block([[form.chart.R, zero], [zero, form.chart.R]])
    return derivatives(rate, 2 * p, step) @ inward


# --- inverse dynamics -----------------------------------------------------------------------


class ForceGradient(NamedTuple):
    """
    Generalised forces of a motion of the manifold, and how a cost changes with the motion.

    :param force: Q = G^T (H qdd + C), (p,).
    :param cost: Q^T weight Q / 2.
    :param by_y: gradient of the cost by y, u and ydd, (p,) each.
    """

    force: Array
    cost: float
    by_y: Array
    by_u: Array
    by_ydd: Array


def force_gradient(
    system: DifferentiableSystem, chart: Chart, state: State, ydd: Array, weight: Array,
) -> ForceGradient:
    """
    Return the effort of a motion and its gradient, for optimising trajectories (4.3, 4.6).

    :param ydd: rate of u.
    :param weight: symmetric, (p, p).
    """
    q, qd = state
    K = chart.reduced(system.jacobian(q))
    G, W = inverse(chart.R, K)
    qdd = G @ ydd + W @ chart.reduced(system.constraint_bias(q, qd))
    force = system.mass_matrix(q) @ qdd + system.bias(q, qd)
    s = slopes(system, chart, state, qdd)
    Q = s.G.T @ force
    pull = weight @ Q
    by_y, by_u, by_ydd = _force_slopes(system, state, qdd, force, s)
    return ForceGradient(Q, float(0.5 * Q @ pull), by_y.T @ pull, by_u.T @ pull, by_ydd.T @ pull)
