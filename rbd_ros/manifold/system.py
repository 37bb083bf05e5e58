# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the methods of this folder ask of a mechanism: H, C, and its constraint, at a state.

Positions need not be numbers that add up. Steps, velocities and the columns of every matrix are
along the nv velocity variables; ``integrate`` and ``difference`` lead from a position along a
step and back. The defaults are for coordinates that do add up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array

#: tau(q, qd), joint forces applied to the tree.
Applied = Callable[[Array, Array], Array]


class State(NamedTuple):
    """A position and a velocity."""

    q: Array
    qd: Array


class ConstrainedSystem(ABC):
    """
    A mechanism H qdd + C = tau + K^T lambda whose positions satisfy phi(q) = 0 (2.1).

    :param nv: number of velocity variables of the mechanism without its constraint.
    :param nominal_rank: rank of K at positions that are not singular. Where it is not known, the
        methods that need it look for it in the neighbourhood of a position.
    """

    nv: int
    nominal_rank: int | None = None

    @abstractmethod
    def mass_matrix(self, q: Array) -> Array:
        """Return H(q), (nv, nv)."""

    @abstractmethod
    def bias(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd), gravity included, (nv,)."""

    @abstractmethod
    def constraint(self, q: Array) -> Array:
        """Return phi(q), how far the constraint is from closed, (rows,)."""

    @abstractmethod
    def jacobian(self, q: Array) -> Array:
        """Return K(q), the derivative of phi along the velocity variables, (rows, nv)."""

    @abstractmethod
    def constraint_bias(self, q: Array, qd: Array) -> Array:
        """Return k(q, qd) = -dK/dt qd, so that K qdd = k keeps the constraint, (rows,)."""

    # --- the space of positions ---------------------------------------------------------------

    def integrate(self, q: Array, step: Array) -> Array:
        """Return the position reached from q along a step, (nq,)."""
        return q + step

    def difference(self, q_bar: Array, q: Array) -> Array:
        """Return the step from q_bar to q, (nv,)."""
        return q - q_bar

    def q_dot(self, q: Array, qd: Array) -> Array:
        """Return the rate of the entries of q at velocity qd, (nq,)."""
        return qd

    def normalise(self, start: Array, q: Array) -> Array:
        """Return the position nearest to entries that were added up from ``start``."""
        return q

    def chart_velocity(self, q_bar: Array, q: Array, qd: Array) -> Array:
        """Return the rate of ``difference(q_bar, q)`` while q moves at velocity qd, (nv,)."""
        return qd


class DifferentiableSystem(ConstrainedSystem):
    """A system that knows its derivatives too: for linearisation, and to keep its energy."""

    @abstractmethod
    def energy(self, q: Array, qd: Array) -> float:
        """Return the kinetic and potential energy, J."""

    @abstractmethod
    def dynamics_derivatives(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return the derivatives of H qdd + C by position and by velocity, (nv, nv) each."""

    @abstractmethod
    def jacobian_derivative(self, q: Array, w: Array) -> Array:
        """Return the derivative of K(q) w by position at constant w, (rows, nv)."""

    @abstractmethod
    def constraint_bias_derivatives(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the derivatives of k by position and by velocity, (rows, nv) each."""

    def chart_rate(self, q: Array, qd: Array) -> Array:
        """Return the derivative of ``chart_velocity(q, ., qd)`` at q by position, (nv, nv)."""
        return np.zeros((self.nv, self.nv))


def derivative(function: Callable[[float], Array], step: float = 1e-3) -> Array:
    """Return the derivative at 0 of a smooth function by differences of sixth order."""
    def pair(k: int) -> Array:
        return np.asarray(function(k * step) - function(-k * step))
    return (45.0 * pair(1) - 9.0 * pair(2) + pair(3)) / (60.0 * step)


def derivatives(function: Callable[[Array], Array], n: int, step: float = 1e-3) -> Array:
    """Return the derivatives at 0 of a smooth function of n numbers, one column for each."""
    return np.column_stack([
        derivative(lambda size, k=k: function(size * np.eye(n)[k]), step)  # type: ignore[misc]
        for k in range(n)])


def rk4_step(
    system: ConstrainedSystem, acceleration: Applied, state: State, h: float,
) -> State:
    """
    Return the state after h seconds by the classical Runge-Kutta rule, not projected.

    :param acceleration: qdd(q, qd).
    """
    q, v = state
    half = 0.5 * h
    q1, a1 = system.q_dot(q, v), acceleration(q, v)
    x, w = q + half * q1, v + half * a1
    q2, a2 = system.q_dot(x, w), acceleration(x, w)
    x, w = q + half * q2, v + half * a2
    q3, a3 = system.q_dot(x, w), acceleration(x, w)
    x, w = q + h * q3, v + h * a3
    q4, a4 = system.q_dot(x, w), acceleration(x, w)
    end = q + (h / 6.0) * (q1 + 2.0 * (q2 + q3) + q4)
    return State(system.normalise(q, end), v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4))
