# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Back onto the manifold: positions, velocities, energy."""

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import SingularError
from rbd_ros.algorithms.linear.rank import decompose
from rbd_ros.manifold.projection import (
    energy_gradient, nearest_position, project, project_position, project_velocity,
    project_with_energy)
from rbd_ros.manifold.robust import Options
from rbd_ros.manifold.system import derivative, State
from rbd_ros.manifold.underlying import invariants
from scipy.optimize import minimize

OFF = rig.START + [0.05, -0.03, 0.02, 0.04]


@pytest.mark.seed('SPENCER 33', 'SPENCER 34')
def test_positions_are_projected_by_squares_of_the_error():
    """The golden iterates; again does nothing; the true nearest point is a square away."""
    system = rig.five_bar()
    q, errors = project_position(system, OFF)
    np.testing.assert_allclose(errors[:3], [4.957e-2, 2.982e-4, 3.513e-8], rtol=1e-3)
    assert errors[3] < 1e-14
    np.testing.assert_allclose(q, [2.15132121, 1.85892414, 1.46027779, 1.91481949], atol=1e-8)
    np.testing.assert_array_equal(project_position(system, q)[0], q)
    visited = []
    spy = type(system)(system.robot, system.pins)
    spy.constraint = lambda x: visited.append(1) or system.constraint(x)
    nearest = nearest_position(spy, OFF)
    assert len(visited) <= 7        # Newton's method with the exact slope; without, it creeps
    np.testing.assert_allclose(nearest, [2.15118206, 1.85901188, 1.46025641, 1.91478475],
                               atol=1e-8)
    assert np.linalg.norm(nearest - q) < np.linalg.norm(q - OFF)**2
    other = minimize(lambda x: (x - OFF) @ (x - OFF), q, jac=lambda x: 2.0 * (x - OFF),
                     constraints={'type': 'eq', 'fun': system.constraint,
                                  'jac': system.jacobian}, method='SLSQP', tol=1e-14).x
    np.testing.assert_allclose(nearest, other, atol=1e-7)


@pytest.mark.seed('SPENCER 33', 'SPENCER 35')
def test_velocities_are_projected_exactly():
    """One step ends in the tangent space, at the foot of the perpendicular."""
    system, state = rig.moving_five_bar()
    q, _ = project_position(system, OFF)
    moved = state.qd + [0.1, 0.2, -0.1, 0.05]
    v = project_velocity(system, q, moved)
    np.testing.assert_allclose(v, [0.70415066, -0.69235915, 0.41764508, -0.27861255], atol=2e-8)
    np.testing.assert_allclose(system.jacobian(q) @ v, 0.0, atol=1e-14)
    free = decompose(system.jacobian(q)).Vt[2:]
    np.testing.assert_allclose(free @ (moved - v), 0.0, atol=1e-14)
    both = project(system, State(OFF, moved))
    np.testing.assert_allclose(both.q, q, atol=1e-15)
    np.testing.assert_allclose(both.qd, v, atol=1e-15)
    weighted = project_velocity(system, q, moved, options=Options(weighted=True))
    # by the inertia matrix: no momentum among the permitted motions is taken away
    np.testing.assert_allclose(free @ system.mass_matrix(q) @ (moved - weighted), 0.0, atol=1e-12)
    np.testing.assert_allclose(system.jacobian(q) @ weighted, 0.0, atol=1e-14)


def test_positions_with_quaternions_are_projected():
    """The projection of an arm on a ball joint ends closed, with a unit quaternion."""
    system, state = rig.spatial_state()
    moved = system.integrate(state.q, 0.05 * np.ones(6))
    q, errors = project_position(system, moved)
    assert errors[-1] < 1e-12 and errors[1] < 0.2 * errors[0]
    assert np.linalg.norm(q[:4]) == pytest.approx(1.0, abs=1e-14)


def test_what_cannot_be_closed_is_refused():
    """A support out of reach, and an energy below the lowest, are named."""
    system = rig.five_bar()
    far = type(system)(system.robot, system.pins)
    far.constraint = lambda q: type(system).constraint(system, q) - [6.0, 0.0]
    with pytest.raises(SingularError, match='does not close'):
        project_position(far, rig.START)
    with pytest.raises(SingularError, match='no state with this energy'):
        project_with_energy(system, State(rig.START, 0.01 * rig.MOVING.qd), -1e4)


@pytest.mark.seed('SPENCER 36')
@pytest.mark.parametrize('make', [rig.moving_five_bar, rig.spatial_state])
def test_energy_is_an_invariant_like_the_others(make):
    """Positions, velocities and energy are met at once; the gradient is that of the energy."""
    system, state = make()
    n = system.nv
    by_q, by_qd = energy_gradient(system, *state)
    for e in np.eye(n):
        slope = derivative(lambda h, e=e: system.energy(
            system.integrate(state.q, h * e), state.qd))
        assert by_q @ e == pytest.approx(float(slope), abs=1e-8)
        assert by_qd @ e == pytest.approx(float(derivative(
            lambda h, e=e: system.energy(state.q, state.qd + h * e))), abs=1e-8)
    energy = system.energy(*state)
    rng = np.random.default_rng(4)
    off = State(system.integrate(state.q, 0.01 * rng.normal(size=n)),
                state.qd + 0.02 * rng.normal(size=n))
    found = project_with_energy(system, off, energy)
    assert found.errors[0] > 1e-3 and len(found.errors) <= 7
    falls = [b / a**2 for a, b in zip(found.errors, found.errors[1:], strict=False) if b > 1e-11]
    assert len(falls) >= 2 and max(falls) < 20.0        # quadratic: the slope of K qd is in H
    np.testing.assert_allclose(invariants(system, found.q, found.qd), 0.0, atol=1e-12)
    assert system.energy(found.q, found.qd) == pytest.approx(energy, rel=1e-12)
    assert np.linalg.norm(system.difference(off.q, found.q)) < 0.1
    again = project_with_energy(system, State(found.q, found.qd), energy)
    np.testing.assert_array_equal(again.q, found.q)
