# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Back onto the manifold after a step: positions, velocities, and energy (thesis 3.1.3).

Baumgarte's method pulls errors back with a spring; projection removes them. Positions take some
steps of Gauss and Newton, velocities one exact step. Near a singular position a correction is
the error over a small singular value, so steps are bounded, and all use the options that the
motion uses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rbd_ros.algorithms.linear.rank import decompose
from rbd_ros.compiler import Array
from rbd_ros.errors import SingularError
from rbd_ros.manifold.robust import DEFAULT, Options
from rbd_ros.manifold.system import (
    Applied, ConstrainedSystem, DifferentiableSystem, rk4_step, State)


#: Steps before a projection gives up.
STEPS = 20


class Projected(NamedTuple):
    """
    A state on the manifold.

    :param errors: size of the violation before each step, and at the end.
    """

    q: Array
    qd: Array
    errors: tuple[float, ...]


def project_position(
    system: ConstrainedSystem, q: Array, *, tolerance: float = 1e-12,
    options: Options = DEFAULT, largest: float = 1.0,
) -> tuple[Array, tuple[float, ...]]:
    """
    Return a position with |phi| below the tolerance, by steps of -K^+ phi, and all errors.

    Near to the given one, and the nearest up to the square of the error.

    :param largest: longest step, in the units of the velocity variables.
    :raises SingularError: where the error does not fall: the mechanism cannot be closed nearby.
    """
    errors: list[float] = []
    for _ in range(STEPS):
        phi = system.constraint(q)
        errors.append(float(np.linalg.norm(phi)))
        if errors[-1] <= tolerance:
            return q, tuple(errors)
        H = system.mass_matrix(q) if options.weighted else None
        step = -options.decompose(system.jacobian(q), H).solve(phi, options.damping)
        size = float(np.linalg.norm(step))
        q = system.integrate(q, step if size <= largest else step * (largest / size))
    raise SingularError(
        f'the constraint does not close: after {STEPS} steps its error is {errors[-1]:.1e}, '
        f'{tolerance:.1e} is asked for; start nearer to a closed position')


def nearest_position(
    system: DifferentiableSystem, q: Array, *, tolerance: float = 1e-12,
) -> Array:
    """
    Return the closed position nearest to q: min |difference|^2 with phi = 0 (3.10, 3.11).

    Newton's method on step + K^T mu = 0, phi = 0, for coordinates that add up.
    """
    start, n = np.array(q, float), system.nv
    q, _ = project_position(system, start, tolerance=1e-6)
    mu = -decompose(system.jacobian(q).T).solve(system.difference(start, q))
    for _ in range(STEPS):
        K, phi = system.jacobian(q), system.constraint(q)
        off = system.difference(start, q) + K.T @ mu
        if np.linalg.norm(off) <= tolerance and np.linalg.norm(phi) <= tolerance:
            return q
        # d(K^T mu)/dq, column j being (dK/dq_j)^T mu
        bend = np.stack([mu @ system.jacobian_derivative(q, e) for e in np.eye(n)])
        matrix = np.block([[np.eye(n) + bend, K.T], [K, np.zeros((len(K), len(K)))]])
        step = -np.linalg.solve(matrix, np.concatenate([off, phi]))
        q, mu = system.integrate(q, step[:n]), mu + step[n:]
    raise SingularError(f'no nearest closed position found within {STEPS} steps')


def project_velocity(
    system: ConstrainedSystem, q: Array, qd: Array, *, options: Options = DEFAULT,
) -> Array:
    """Return the velocity with K qd = 0 nearest to the given one: qd - K^+ K qd, exactly."""
    K = system.jacobian(q)
    H = system.mass_matrix(q) if options.weighted else None
    return qd - options.decompose(K, H).solve(K @ qd)


def project(
    system: ConstrainedSystem, state: State, *, tolerance: float = 1e-12,
    options: Options = DEFAULT,
) -> Projected:
    """Return the state with positions projected, then velocities at the new position."""
    q, errors = project_position(system, state.q, tolerance=tolerance, options=options)
    return Projected(q, project_velocity(system, q, state.qd, options=options), errors)


def energy_gradient(system: DifferentiableSystem, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return the derivatives of the energy by position and by velocity, (nv,) each."""
    zero = np.zeros_like(qd)
    moved, _ = system.dynamics_derivatives(q, zero, qd)
    rest, _ = system.dynamics_derivatives(q, zero, zero)
    return 0.5 * (moved - rest).T @ qd + system.bias(q, zero), system.mass_matrix(q) @ qd


def project_with_energy(
    system: DifferentiableSystem, state: State, energy: float, *, tolerance: float = 1e-12,
    options: Options = DEFAULT, largest: float = 1.0,
) -> Projected:
    """
    Return the state with phi = 0, K qd = 0 and the given energy, all found at once (3.1.3).

    :param energy: J; the row is divided by it, or by 1 J where it is smaller.
    :param tolerance: size of (phi, K qd, relative energy error) to reach.
    :param largest: longest step.
    :raises SingularError: where the violation does not fall below the tolerance: at rest no
        velocity can make up for a wrong energy.
    """
    q, qd = state
    size, errors = max(abs(energy), 1.0), []
    for _ in range(STEPS):
        K = system.jacobian(q)
        h = np.concatenate([system.constraint(q), K @ qd,
                            [(system.energy(q, qd) - energy) / size]])
        errors.append(float(np.linalg.norm(h)))
        if errors[-1] <= tolerance:
            return Projected(q, qd, tuple(errors))
        by_q, by_qd = energy_gradient(system, q, qd)
        rows = np.block([[K, np.zeros_like(K)], [system.jacobian_derivative(q, qd), K],
                         [by_q / size, by_qd / size]])
        step = -decompose(rows, tolerance=options.tolerance).solve(h, options.damping)
        length = float(np.linalg.norm(step))
        step = step if length <= largest else step * (largest / length)
        q, qd = system.integrate(q, step[:system.nv]), qd + step[system.nv:]
    raise SingularError(
        f'no state with this energy lies nearby: after {STEPS} steps the violation is '
        f'{errors[-1]:.1e}, {tolerance:.1e} is asked for')


def projected_step(
    system: ConstrainedSystem, acceleration: Applied, state: State, h: float, *,
    tolerance: float = 1e-12, options: Options = DEFAULT,
) -> State:
    """Return the state after a step of Runge and Kutta, projected onto the manifold."""
    found = project(system, rk4_step(system, acceleration, state, h), tolerance=tolerance,
                    options=options)
    return State(found.q, found.qd)
