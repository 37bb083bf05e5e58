# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Linearisation on the manifold: recursions against differences, theorems, implicit steps."""

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import SingularError
from rbd_ros.manifold import projection, underlying
from rbd_ros.manifold.chart import choose, position
from rbd_ros.manifold.implicit import implicit_step, iteration_matrix
from rbd_ros.manifold.linearize import (
    force_gradient, linear_form, linear_form_by_differences, naive_jacobian, oblique_projector,
    on_manifold, orthogonal_projector, slopes, state_form_by_differences)
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.system import derivative, derivatives, State
from rbd_ros.manifold.underlying import Baumgarte

REST = np.zeros(4)
METHODS = ['partition', 'tangent', [0, 1], [1, 2]]


def by_size(values):
    """Return eigenvalues in an order that rounding cannot change."""
    return np.array(sorted(values, key=lambda z: (round(z.real, 5), round(z.imag, 5))))


def states():
    """Return mechanisms in motion: pinned to the base and to a bar, virtual link, ball joint."""
    system, state = rig.moving_five_bar()
    yield 'five_bar', system, state
    system, q = rig.four_bar()
    yield 'four_bar', system, State(q, projection.project_velocity(
        system, q, np.array([3.0, -1.0, 2.0])))
    system = rig.virtual()
    yield 'virtual', system, virtual_state()
    yield ('spatial', *rig.spatial_state())


def virtual_state():
    """Return the state of the fixture of a moving linearisation (virtual link, y = q_1, q_2)."""
    system, a = rig.virtual(), np.arccos(2.0 / 3.0)
    q = np.array([2.0 * np.pi / 3.0, np.pi / 3.0, 2.0 * np.pi / 3.0 - a, 2.0 * a, np.pi / 3.0 + a])
    chart = choose(system, q, [0, 1])
    G = np.linalg.inv(np.vstack([chart.R, system.jacobian(q)]))[:, :2]
    return State(q, G @ [1.0, -0.5])


@pytest.fixture(params=['five_bar', 'four_bar', 'virtual', 'spatial'])
def case(request):
    """Return a mechanism and a state in motion."""
    return next(x[1:] for x in states() if x[0] == request.param)


# --- the local form -------------------------------------------------------------------------


@pytest.mark.seed('SPENCER 45', 'SPENCER 40')
@pytest.mark.parametrize('method', ['partition', 'tangent'])
def test_local_form_by_recursion_is_that_by_differences(case, method):
    """A of the local form, its upper blocks, and B, while moving and driven, any joints."""
    system, state = case
    tau = np.linspace(-1.0, 2.0, system.nv)
    tau[-1] = 0.0                       # no force in a cut joint
    form = LocalForm(system, state.q, lambda q, qd: tau, method=method)
    found = linear_form(system, form.chart, state, tau)
    expected = linear_form_by_differences(form, state)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.A, expected, atol=2e-8 * scale)
    p = form.chart.p
    np.testing.assert_allclose(found.A[:p, p:], np.eye(p), atol=1e-15)
    np.testing.assert_allclose(found.rate, form.vector_rate(np.concatenate(
        form.coordinates(state))), atol=1e-9)
    for k, e in enumerate(np.eye(system.nv)):
        def rate(size, e=e):
            form.tau = lambda q, qd: tau + size * e
            return form.vector_rate(np.concatenate(form.coordinates(state)))
        np.testing.assert_allclose(found.B[:, k], derivative(rate), atol=1e-9)


@pytest.mark.seed('SPENCER 23', 'SPENCER 48')
def test_slopes_of_the_null_space(case):
    """dG/dy, dqd/dy and dqdd/dy at constant u and ydd are what differences on the manifold say."""
    system, state = case
    form = LocalForm(system, state.q, method='tangent')
    chart, p = form.chart, form.chart.p
    y, u = form.coordinates(state)
    ydd = np.linspace(1.0, -2.0, p)

    def G(dy):
        q = position(system, chart, y + dy, state.q).q
        K = chart.reduced(system.jacobian(q))
        return q, np.linalg.inv(np.vstack([chart.R, K]))

    def motion(dy):
        q, inverse = G(dy)
        v = inverse[:, :p] @ u
        k = chart.reduced(system.constraint_bias(q, v))
        return np.concatenate([v, inverse @ np.concatenate([ydd, k])])

    at = motion(np.zeros(p))
    found = slopes(system, chart, state, at[system.nv:])
    both = derivatives(motion, p)
    np.testing.assert_allclose(found.G_rate, both[:system.nv], atol=1e-8)
    np.testing.assert_allclose(found.g_slope, both[system.nv:], atol=1e-7)
    for i, e in enumerate(np.eye(p)):
        slope = derivative(lambda h, e=e: G(h * e)[1][:, :p])
        np.testing.assert_allclose(found.G_slopes[i], slope, atol=1e-8)
        np.testing.assert_allclose(found.G_slopes[i] @ u, found.G_rate[:, i], atol=1e-11)
    H = underlying.invariant_jacobian(system, *state)
    np.testing.assert_allclose(H @ found.DPsi, 0.0, atol=1e-11)
    np.testing.assert_array_equal(found.DPsi[:system.nv, p:], 0.0)
    if system.model.nq == system.model.nv:      # coordinates that add up: mixed slopes commute
        np.testing.assert_allclose(found.g_rate, 2.0 * found.G_rate, atol=1e-12)


# --- the whole state ------------------------------------------------------------------------


@pytest.mark.seed('SPENCER 38', 'SPENCER 39', 'SPENCER 41')
def test_only_the_manifold_decides():
    """[Df] depends on what f is off the manifold; [Df] P does not, and the recursion gives it."""
    system, state = rig.moving_five_bar()

    def pulled(q, qd):
        return underlying.acceleration(system, q, qd, REST, Baumgarte(10.0, 10.0)).qdd

    one = naive_jacobian(system, rig.lagrange(system), state)
    two = naive_jacobian(system, pulled, state)
    assert np.abs(one - two).max() > 10.0
    H = underlying.invariant_jacobian(system, *state)
    P = orthogonal_projector(H)
    np.testing.assert_allclose(H @ P, 0.0, atol=1e-13)
    np.testing.assert_allclose(P @ P, P, atol=1e-13)
    assert np.linalg.matrix_rank(P) == 4
    np.testing.assert_allclose(P, np.eye(8) - H.T @ np.linalg.solve(H @ H.T, H), atol=1e-12)
    np.testing.assert_allclose(orthogonal_projector(np.vstack([H, H[:1]])), P, atol=1e-12)
    along, across = np.linalg.svd(H)[2][4:].T, H.T      # A is Df along the manifold, zero across
    np.testing.assert_allclose(on_manifold(one, P) @ along, one @ along, atol=1e-10)
    np.testing.assert_allclose(on_manifold(one, P) @ across, 0.0, atol=1e-10)
    np.testing.assert_allclose(on_manifold(one, P), on_manifold(two, P), atol=1e-8)
    for method in METHODS:
        form = LocalForm(system, state.q, method=method)
        R = form.chart.R
        found = linear_form(system, form.chart, state, REST)
        P = oblique_projector(found.slopes.DPsi, np.kron(np.eye(2), R))
        np.testing.assert_allclose(H @ P, 0.0, atol=1e-12)
        np.testing.assert_allclose(P @ P, P, atol=1e-12)
        for Df in (one, two):
            np.testing.assert_allclose(found.of_state(R), on_manifold(Df, P), atol=1e-7)
        np.testing.assert_allclose(
            state_form_by_differences(form, pulled, state), found.of_state(R), atol=1e-7)
        assert np.linalg.matrix_rank(found.of_state(R), tol=1e-9) <= 4


@pytest.mark.seed('SPENCER 42', 'SPENCER 43')
def test_eigenvalues_at_an_equilibrium_are_those_of_the_mechanism():
    """Both theorems: every projector and every chart gives 3.373 i, 3.969 i, and zeros."""
    system, state = rig.equilibrium()
    expected = [-3.968914j, -3.373259j, 3.373259j, 3.968914j]
    Df = naive_jacobian(system, rig.lagrange(system), state)
    H = underlying.invariant_jacobian(system, *state)
    rng = np.random.default_rng(6)
    tangent = np.linalg.svd(H)[2][4:].T
    projectors = [orthogonal_projector(H)] + [
        oblique_projector(tangent, rng.normal(size=(4, 8))) for _ in range(3)]
    for P in projectors:
        values = np.linalg.eigvals(on_manifold(Df, P))
        order = values[np.argsort(np.abs(values))]
        # zeros of a defective matrix are as good as the root of rounding
        assert np.abs(order[:4]).max() < 1e-4
        np.testing.assert_allclose(by_size(order[4:]), expected, atol=1e-5)
    lower = {(0, 1): [[1.419703, 10.174537], [-21.600679, -28.550853]],
             (0, 3): [[-13.246484, 1.484702], [3.152042, -13.884665]],
             (1, 2): [[-11.378874, 5.366243], [0.0, -15.752275]]}
    for pair, A_21 in lower.items():
        A = linear_form(system, choose(system, state.q, pair), state, REST).A
        np.testing.assert_allclose(A[2:, :2], A_21, atol=2e-5)
        np.testing.assert_allclose(A[2:, 2:], 0.0, atol=1e-12)
        np.testing.assert_allclose(by_size(np.linalg.eigvals(A)), expected, atol=1e-6)
    pull = naive_jacobian(
        system, lambda q, qd: underlying.acceleration(
            system, q, qd, REST, Baumgarte(10.0, 10.0)).qdd, state)
    values = np.linalg.eigvals(pull)
    drift = values[np.abs(values + 10.0) < 0.1]
    assert len(drift) == 4 and np.mean(drift).real == pytest.approx(-10.0, abs=1e-5)


@pytest.mark.seed('SPENCER 43')
def test_state_form_is_the_local_form_and_the_turning_chart(case):
    """A = DPsi A_local R + d(DPsi)/dt R everywhere (4.6), where coordinates add up."""
    system, state = case
    chart = choose(system, state.q)
    found = linear_form(system, chart, state, np.zeros(system.nv))
    s, two = found.slopes, np.kron(np.eye(2), chart.R)
    turning = np.block([[s.G_rate, np.zeros_like(s.G)], [s.g_slope, s.g_rate - s.G_rate]])
    upper = found.A.copy()
    upper[:chart.p, :chart.p] = 0.0     # of the chart alone, not of the flow
    np.testing.assert_allclose(found.of_state(chart.R), (s.DPsi @ upper + turning) @ two,
                               atol=1e-11)


# --- what it is for -------------------------------------------------------------------------


STIFF = np.diag([2e7, 0.0, 0.0, 0.0])
SLOW = np.diag([2e4, 0.0, 0.0, 0.0])


def spring(q, qd):
    """Return a stiff spring and damper at the first joint."""
    return -STIFF @ (q - rig.SWING) - SLOW @ qd


@pytest.mark.seed('SPENCER 50')
def test_implicit_steps_converge_quadratically():
    """With 1 - h A Newton's steps shrink as squares; long steps stay stable on a stiff spring."""
    system = rig.five_bar()
    form = LocalForm(system, rig.SWING, spring)
    state = form.state(*form.coordinates(State(rig.SWING, np.zeros(4))))
    first = implicit_step(form, system, state, 0.02, applied=lambda q, qd: (-STIFF, -SLOW))
    sizes = [x for x in first.sizes if x > 1e-9]
    assert len(first.sizes) <= 6
    for before, after in zip(sizes[1:], sizes[2:], strict=False):
        assert after < 2.0 * before**1.7
    blind = implicit_step(form, system, state, 2e-4)     # without the slope of the spring
    exact = implicit_step(form, system, state, 2e-4, applied=lambda q, qd: (-STIFF, -SLOW))
    assert len(blind.sizes) > len(exact.sizes)
    assert np.abs(np.subtract(blind.state, exact.state)).max() < 1e-11
    for _ in range(10):
        state = implicit_step(form, system, state, 0.02,
                              applied=lambda q, qd: (-STIFF, -SLOW)).state
        assert np.abs(underlying.invariants(system, *state)).max() < 1e-11
    moved = np.abs(state.q - rig.SWING)
    assert moved[0] < 1e-2 and moved[1:].max() > 0.02
    # the explicit rule of the same steps is not stable
    A = linear_form(system, form.chart, state, spring(*state), applied=(-STIFF, -SLOW)).A
    stiffest = np.abs(np.linalg.eigvals(A)).max()
    assert 0.02 * stiffest > 2.8 and np.linalg.cond(iteration_matrix(A, 0.02)) < 1e9
    with pytest.raises(SingularError, match='shorter'):
        implicit_step(form, system, state, 0.02)


@pytest.mark.seed('SPENCER 50')
@pytest.mark.parametrize('theta, order', [(1.0, 1), (0.5, 2)])
def test_implicit_rules_have_their_order(theta, order):
    """Halving the step divides the error by 2, and by 4 for trapezoids."""
    system, ends = rig.five_bar(), []
    for h in (0.01, 0.005, 0.0025):
        form = LocalForm(system, rig.SWING)
        state = form.state(*form.coordinates(State(rig.SWING, np.zeros(4))))
        for _ in range(round(0.1 / h)):
            state = implicit_step(form, system, state, h, theta=theta).state
        ends.append(state.q)
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert ratio == pytest.approx(2.0**order, rel=0.15)


@pytest.mark.seed('SPENCER 51')
def test_gradient_of_an_effort_along_the_manifold(case):
    """The cost of the forces of a motion changes with y, u and ydd as differences say."""
    system, state = case
    form = LocalForm(system, state.q, method='tangent')
    chart, p = form.chart, form.chart.p
    y, u = form.coordinates(state)
    ydd, weight = np.linspace(1.0, -2.0, p), np.eye(p) + 0.2

    def cost(x):
        at = form.state(y + x[:p], u + x[p:2 * p])
        return np.array([force_gradient(system, chart, at, ydd + x[2 * p:], weight).cost])

    found = force_gradient(system, chart, state, ydd, weight)
    slope = derivatives(cost, 3 * p)[0]
    gradient = np.concatenate([found.by_y, found.by_u, found.by_ydd])
    np.testing.assert_allclose(gradient, slope, atol=2e-7 * np.abs(slope).max())
    # the force is what forward dynamics needs to give that acceleration back
    G = slopes(system, chart, state, np.zeros(system.nv)).G
    tau = np.linalg.lstsq(G.T, found.force, rcond=None)[0]
    np.testing.assert_allclose(linear_form(system, chart, state, tau).rate[p:], ydd, atol=1e-9)
