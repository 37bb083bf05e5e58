# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Models with loop joints under the methods of the manifold, against their own dynamics."""

from functools import cache

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import Dynamics, ModelError
from rbd_ros.manifold import projection, underlying
from rbd_ros.manifold.chart import choose
from rbd_ros.manifold.linearize import linear_form, linear_form_by_differences
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.loop_system import LoopSystem
from rbd_ros.manifold.robust import Options, robust_acceleration
from rbd_ros.manifold.system import derivatives, State
from rbd_ros.samples import families, mechanisms

NAMES = ('five_bar', 'spatial_four_bar')


@cache
def system_of(name, backend='auto'):
    """Return a mechanism as a constrained system, and a random state that keeps its loops."""
    made = getattr(mechanisms, name)()
    system = LoopSystem(Dynamics(made.model, backend=backend))
    q, _ = projection.project_position(system, np.array(made.q))
    qd = np.random.default_rng(3).normal(size=system.nv)
    return system, State(q, projection.project_velocity(system, q, qd))


@pytest.mark.parametrize('name', NAMES)
def test_every_method_moves_a_loop_model_alike(name):
    """Compiled loop dynamics, multipliers, null space and singular values."""
    system, state = system_of(name)
    tau = np.linspace(-1.0, 2.0, system.nv)
    found = underlying.acceleration(system, *state, tau)
    expected = system.closed.forward_dynamics(*state, tau)
    np.testing.assert_allclose(found.qdd, expected, rtol=1e-9, atol=1e-9)
    assert found.decision.residual < 1e-9
    rank = system.closed.loop_report.rank
    assert found.decision.rank == rank
    form = LocalForm(system, state.q, lambda q, qd: tau)
    ydd = form.rate(*form.coordinates(state))[1]
    np.testing.assert_allclose(ydd, form.chart.R @ expected, rtol=1e-8, atol=1e-8)
    robust = robust_acceleration(system, *state, tau, Options(nominal=rank))
    np.testing.assert_allclose(robust.qdd, expected, rtol=1e-8, atol=1e-8)
    system.nominal_rank = None      # a system that does not know it: it is looked for
    for each in (system, system_of(name)[0]):
        found_there = robust_acceleration(each, *state, tau)
        np.testing.assert_allclose(found_there.qdd, expected, rtol=1e-8, atol=1e-8)
        assert not found_there.singular


@pytest.mark.parametrize('name', NAMES)
def test_loop_models_are_linearised_on_their_manifold(name):
    """The derivatives of K and k, and A of the local form, by differences."""
    system, state = system_of(name)
    tau, (q, qd) = np.linspace(-1.0, 2.0, system.nv), state
    slope = derivatives(lambda e: system.jacobian(system.integrate(q, e)) @ qd, system.nv)
    np.testing.assert_allclose(system.jacobian_derivative(q, qd), slope, atol=1e-8)
    by_q, by_qd = system.constraint_bias_derivatives(q, qd)
    np.testing.assert_allclose(by_q, derivatives(
        lambda e: system.constraint_bias(system.integrate(q, e), qd), system.nv), atol=1e-7)
    np.testing.assert_allclose(by_qd, derivatives(
        lambda e: system.constraint_bias(q, qd + e), system.nv), atol=1e-7)
    form = LocalForm(system, q, lambda q, qd: tau)
    A = linear_form(system, form.chart, state, tau).A
    expected = linear_form_by_differences(form, state)
    np.testing.assert_allclose(A, expected, atol=1e-8 * np.abs(expected).max())


def test_a_loop_joint_is_a_pin():
    """The five-bar with a revolute loop joint has the linear form of the pinned one."""
    system, state = system_of('five_bar')
    pinned = rig.five_bar()
    assert system.jacobian(state.q).shape == (5, 4)         # three rows are redundant
    one, two = (linear_form(each, choose(each, state.q, [0, 3]), state, np.zeros(4))
                for each in (system, pinned))
    np.testing.assert_allclose(one.A, two.A, atol=1e-11)
    np.testing.assert_allclose(one.B, two.B, atol=1e-12)


def test_delta_robot_keeps_its_energy():
    """A falling delta robot, 18 joints under 15 constraints, by RK4 at 2 ms and projection."""
    system, state = system_of('delta', 'python')
    state = State(state.q, np.zeros(system.nv))
    energy = system.energy(*state)
    for _ in range(50):
        state = projection.projected_step(system, rig.lagrange(system), state, 2e-3)
    moving = float(system.robot.kinetic_energy(*state))
    assert np.abs(underlying.invariants(system, *state)).max() < 1e-12
    assert moving > 0.1 and abs(system.energy(*state) - energy) < 1e-7 * moving


def test_trees_are_refused():
    """Without a loop there is nothing to constrain."""
    with pytest.raises(ModelError, match='no closed loops'):
        LoopSystem(Dynamics(families.regular_tree(2)))
