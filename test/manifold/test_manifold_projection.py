# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Back onto the manifold: positions, velocities, energy; and drift with and without it."""

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import SingularError
from rbd_ros.algorithms.linear.rank import decompose
from rbd_ros.manifold import underlying
from rbd_ros.manifold.projection import (
    energy_gradient, nearest_position, project, project_position, project_velocity,
    project_with_energy, projected_step)
from rbd_ros.manifold.robust import Options, robust_acceleration
from rbd_ros.manifold.system import derivative, rk4_step, State
from rbd_ros.manifold.underlying import Baumgarte, invariants
from scipy.optimize import minimize

OFF = rig.START + [0.05, -0.03, 0.02, 0.04]
REST = np.zeros(4)


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


# --- over time ------------------------------------------------------------------------------


def run(system, state, h, steps, acceleration, projected):
    """Return the last state and the worst drift and energy error on the way."""
    energy, drift, error = system.energy(*state), 0.0, 0.0
    for _ in range(steps):
        state = (projected_step if projected else rk4_step)(system, acceleration, state, h)
        drift = max(drift, np.linalg.norm(system.constraint(state.q)))
        error = max(error, abs(system.energy(*state) - energy))
    return state, drift, error


@pytest.mark.seed('SPENCER 32', 'SPENCER 34')
def test_projection_beats_baumgarte_beats_nothing():
    """Drift of the swinging five-bar over 2 s at 10 ms: each remedy gains orders of magnitude."""
    system, start = rig.five_bar(), State(rig.SWING, REST)

    def pulled(q, qd):
        return underlying.acceleration(system, q, qd, REST, Baumgarte(10.0, 10.0)).qdd

    plain = run(system, start, 0.01, 200, rig.lagrange(system), False)
    pull = run(system, start, 0.01, 200, pulled, False)
    projected = run(system, start, 0.01, 200, rig.lagrange(system), True)
    assert projected[1] < 1e-12 < 1e-8 < pull[1] < 0.5 * plain[1] < 1e-5
    np.testing.assert_allclose(projected[0].q, pull[0].q, atol=1e-5)
    assert projected[2] < 1e-5


@pytest.mark.parametrize('name', ['five_bar', 'four_bar', 'slider_crank', 'spatial'])
def test_energy_is_kept_by_projection(name):
    """RK4 at 1 ms with projection keeps the energy to 1e-8 of what is in motion."""
    if name == 'five_bar':
        system = rig.five_bar()
        start = State(project_position(system, rig.SWING)[0], REST)
    elif name == 'spatial':
        system, start = rig.spatial_state()
        start = State(start.q, np.zeros(6))
    else:
        system, q = getattr(rig, name)()
        start = State(q, np.zeros(3))
    end, drift, error = run(system, start, 1e-3, 300, rig.lagrange(system), True)
    _, _, coarse = run(system, start, 4e-3, 75, rig.lagrange(system), True)
    moving = float(system.robot.kinetic_energy(*end))
    assert drift < 1e-12 and moving > 0.5 and error < 1e-8 * moving
    assert error < coarse / 50.0 or error < 1e-12     # of the fourth order: 256


@pytest.mark.seed('SPENCER 29', 'SPENCER 30')
def test_five_bar_falls_from_its_singular_position():
    """Released at rest where all links lie on one line it moves, and never yields NaN."""
    system, conditions = rig.five_bar(), []

    def acceleration(q, qd):
        # released: what else happens at the singular position is a choice of rounding
        found = robust_acceleration(system, q, qd, REST, Options(release=True))
        conditions.append(found.condition)
        return found.qdd

    state, drift, error = run(system, State(rig.SINGULAR, REST), 2e-3, 250, acceleration, False)
    assert np.isfinite(state.q).all() and drift < 1e-5 and error < 1e-2
    assert conditions[0] > 1e12 and conditions[-1] < 20.0
    assert np.linalg.norm(state.q - rig.SINGULAR) > 0.3


@pytest.mark.seed('SPENCER 30', 'SPENCER 36')
def test_five_bar_passes_its_singularity():
    """The second example: the first crossing at 0.651 s, and q_1 after 1 s, with energy kept."""
    system, state, h = rig.five_bar(), State(rig.START, REST), 2e-3
    energy, peak, crossing = system.energy(*state), 0.0, 0.0
    assert energy == pytest.approx(100.869414, abs=1e-6)
    for k in range(500):
        worst = []

        def acceleration(q, qd, worst=worst):
            found = robust_acceleration(system, q, qd, REST)
            worst.append(found.condition)
            return found.qdd

        state = rk4_step(system, acceleration, state, h)
        found = project_with_energy(system, state, energy, tolerance=1e-5)
        state = State(found.q, found.qd)
        if max(worst) > peak:
            peak, crossing = max(worst), k * h
    assert crossing == pytest.approx(0.651, abs=0.003) and peak > 100.0
    assert state.q[0] == pytest.approx(4.902353, abs=5e-4)
    assert abs(system.energy(*state) - energy) < 1e-3
