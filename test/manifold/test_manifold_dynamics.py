# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Motion under constraints: multipliers, null spaces and singular values, against each other."""

import manifold_rig as rig
import numpy as np
import pinocchio as pin
from pinocchio_trees import PinocchioTree
import pytest
from rbd_ros import SingularError
from rbd_ros.algorithms.linear.rank import decompose
from rbd_ros.algorithms.loops.constraints import explicit, implicit
from rbd_ros.algorithms.loops.motion import METHODS, solve
from rbd_ros.manifold import nullspace, projection, underlying
from rbd_ros.manifold.chart import choose
from rbd_ros.manifold.constrained import PinnedTree
from rbd_ros.manifold.implicit import implicit_step
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.nullspace import (
    by_full_solve, by_newton_euler, by_small_solve, differentiable, differentiable_rate,
    NullSpace, reduced_dynamics, reduced_inertia)
from rbd_ros.manifold.robust import (
    modes, nominal_rank, Options, robust_acceleration, robust_dynamics)
from rbd_ros.manifold.system import derivative, State
from rbd_ros.manifold.underlying import Baumgarte
from rbd_ros.samples.thesis import Pendulum

TAU = np.array([1.0, -2.0, 0.5, 3.0])
STATES = {'five_bar': rig.moving_five_bar, 'spatial': rig.spatial_state}


@pytest.fixture(params=STATES)
def case(request):
    """Return a mechanism, a state on its manifold, and joint forces."""
    system, state = STATES[request.param]()
    return system, state, np.linspace(-2.0, 3.0, system.nv)


def terms(system, state):
    """Return H, C, K and k at a state."""
    return (system.mass_matrix(state.q), system.bias(*state), system.jacobian(state.q),
            system.constraint_bias(*state))


# --- multipliers ----------------------------------------------------------------------------


@pytest.mark.seed('SPENCER 01', 'SPENCER 02', 'SPENCER 03')
def test_multipliers_satisfy_the_equations(case):
    """Forces balance and the acceleration keeps the constraint; K is the slope of phi."""
    system, state, tau = case
    found = underlying.acceleration(system, *state, tau)
    for residual in underlying.residuals(system, *state, found.qdd, found.multipliers, tau):
        np.testing.assert_allclose(residual, 0.0, atol=1e-11)
    wrong = underlying.residuals(system, *state, found.qdd, -found.multipliers, tau)
    assert np.abs(wrong[0]).max() > 1.0
    for e in np.eye(system.nv):
        slope = derivative(lambda h, e=e: system.constraint(system.integrate(state.q, h * e)))
        np.testing.assert_allclose(system.jacobian(state.q) @ e, slope, atol=1e-10)

    def speed(t):
        q = system.integrate(state.q, t * state.qd + 0.5 * t * t * found.qdd)
        return system.jacobian(q) @ (state.qd + t * found.qdd)
    np.testing.assert_allclose(derivative(speed), 0.0, atol=1e-8)


@pytest.mark.seed('SPENCER 04', 'SPENCER 05', 'SPENCER 06')
def test_the_flow_keeps_the_invariants(case):
    """The rate f is tangent, H f = 0; K qd and phi stay along exact motion, as H says."""
    system, state, tau = case
    H = underlying.invariant_jacobian(system, *state)
    n, m = system.nv, len(system.jacobian(state.q))
    assert H.shape == (2 * m, 2 * n) and np.linalg.matrix_rank(H) == 2 * m
    f = np.concatenate([state.qd, underlying.acceleration(system, *state, tau).qdd])
    np.testing.assert_allclose(H @ f, 0.0, atol=1e-11)
    for e in np.eye(2 * n):
        slope = derivative(lambda h, e=e: underlying.invariants(
            system, system.integrate(state.q, h * e[:n]), state.qd + h * e[n:]))
        np.testing.assert_allclose(H @ e, slope, atol=1e-9)


@pytest.mark.seed('SPENCER 65')
def test_a_closed_chain_is_its_tree_under_loop_forces(case):
    """The forward dynamics of the tree under tau + K^T lambda is the motion of the loop."""
    system, state, tau = case
    found = underlying.acceleration(system, *state, tau)
    loaded = tau + system.jacobian(state.q).T @ found.multipliers
    np.testing.assert_allclose(system.robot.forward_dynamics(*state, loaded), found.qdd,
                               rtol=1e-9, atol=1e-9)


# --- null spaces ----------------------------------------------------------------------------


@pytest.mark.seed('SPENCER 24', 'SPENCER 25', 'SPENCER 26')
@pytest.mark.parametrize('method', ['partition', 'tangent'])
def test_both_solves_and_every_basis_give_one_motion(case, method):
    """G and g by nv rows and by m rows; any other basis and g; and the multipliers."""
    system, state, tau = case
    H, C, K, k = terms(system, state)
    chart = choose(system, state.q, method)
    full = by_full_solve(chart.R, K, k)
    small = by_small_solve(chart.R_bar, chart.S_bar, K, k)
    np.testing.assert_allclose(small.G, full.G, atol=1e-12)
    np.testing.assert_allclose(small.g, full.g, atol=1e-11)
    np.testing.assert_allclose(K @ full.G, 0.0, atol=1e-12)
    np.testing.assert_allclose(K @ full.g, k, atol=1e-11)
    expected = underlying.lagrange(H, C, tau, K, k).qdd
    found = reduced_dynamics(H, C, tau, full)
    np.testing.assert_allclose(found.qdd, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.ydd, chart.R @ expected, rtol=1e-10, atol=1e-10)
    rng = np.random.default_rng(0)
    mixed = full.G @ rng.normal(size=(chart.p, chart.p))
    other = NullSpace(mixed, full.g + full.G @ rng.normal(size=chart.p))
    np.testing.assert_allclose(reduced_dynamics(H, C, tau, other).qdd, expected, rtol=1e-9,
                               atol=1e-9)
    # the book's equations 3.17 and 3.18, solved as they stand
    np.testing.assert_allclose(implicit(H, C, tau, K, k).qdd, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(explicit(H, C, tau, full.G, full.g).qdd, expected, rtol=1e-9,
                               atol=1e-9)


@pytest.mark.seed('SPENCER 20')
def test_a_basis_that_follows_its_space_is_differentiable():
    """It changes little from pose to pose, its rate is that of K, and the motion is the same."""
    system, state = rig.moving_five_bar()
    H, C, K, k = terms(system, state)
    first = decompose(K).Vt[2:].T @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    G = differentiable(K, first)
    np.testing.assert_allclose(G, first, atol=1e-13)

    def basis(t):
        return differentiable(system.jacobian(state.q + t * state.qd), first)

    K_rate = derivative(lambda t: system.jacobian(state.q + t * state.qd))
    rate = differentiable_rate(K, K_rate, G)
    np.testing.assert_allclose(derivative(basis), rate, atol=1e-9)
    np.testing.assert_allclose(K @ rate, -K_rate @ G, atol=1e-9)
    # g = dG/dt u is one of those with K g = k, in whatever gauge
    g = rate @ (G.T @ state.qd)
    np.testing.assert_allclose(K @ g, k, atol=1e-9)
    np.testing.assert_allclose(reduced_dynamics(H, C, TAU, NullSpace(G, g)).qdd,
                               underlying.lagrange(H, C, TAU, K, k).qdd, atol=1e-8)
    with pytest.raises(SingularError, match='no basis near'):
        differentiable(K, K.T)


@pytest.mark.seed('SPENCER 44')
def test_inverse_dynamics_alone_moves_the_null_space(case):
    """The columns of G^T H G and the motion from differences of Newton and Euler's forces."""
    system, state, tau = case
    space = nullspace.of_chart(system, choose(system, state.q), *state)
    inverse = system.robot.inverse_dynamics
    H = system.mass_matrix(state.q)
    np.testing.assert_allclose(reduced_inertia(inverse, state.q, space.G),
                               space.G.T @ H @ space.G, atol=1e-12)
    found = by_newton_euler(inverse, *state, tau, space)
    expected = reduced_dynamics(H, system.bias(*state), tau, space)
    np.testing.assert_allclose(found.ydd, expected.ydd, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.qdd, expected.qdd, rtol=1e-10, atol=1e-10)


def test_a_motion_without_mass_is_refused():
    """Where the null space moves nothing that weighs, there is no acceleration."""
    with pytest.raises(SingularError, match='moves no mass'):
        reduced_dynamics(np.diag([1.0, 0.0]), [0, 0], [0, 0],
                         NullSpace(np.array([[0.0], [1.0]]), np.zeros(2)))


@pytest.mark.seed('SPENCER 22')
@pytest.mark.parametrize('method', ['partition', 'tangent', [0, 1]])
def test_the_local_form_does_not_drift(method):
    """Steps of any length end on the manifold; charts change as the mechanism moves."""
    system, state = rig.five_bar(), State(rig.SWING, np.zeros(4))
    form = LocalForm(system, rig.SWING, method=method, limit=6.0 if method == 'tangent' else 100.0)
    energy = system.energy(*state)
    for _ in range(60):
        state = form.step(state, 0.02)
        assert np.abs(underlying.invariants(system, *state)).max() < 1e-12
    assert abs(system.energy(*state) - energy) < 2e-3
    reference = State(rig.SWING, np.zeros(4))
    for _ in range(240):
        reference = projection.projected_step(system, rig.lagrange(system), reference, 0.005)
    np.testing.assert_allclose(state.q, reference.q, atol=2e-4)     # steps of 20 ms


def test_charts_change_where_they_become_poor():
    """A pendulum goes round in its two coordinates, of which neither is good everywhere."""
    system = Pendulum()
    state = State(np.array([0.0, -1.0]), np.array([8.0, 0.0]))
    form, turned = LocalForm(system, state.q, limit=4.0), 0.0
    energy = system.energy(*state)
    for _ in range(120):
        before, state = state.q, form.step(state, 0.01)
        turned += np.arcsin(before[0] * state.q[1] - before[1] * state.q[0])
        assert np.abs(underlying.invariants(system, *state)).max() < 1e-11
    assert turned > 2.0 * np.pi and 4 <= form.changes <= 8
    assert abs(system.energy(*state) - energy) < 5e-3


@pytest.mark.parametrize('method', ['partition', 'tangent'])
def test_charts_are_left_before_their_edge(method):
    """By default, charts cost no more accuracy than the steps: those of the projected rule."""
    system, start = rig.moving_five_bar()

    def projected(h):
        state = start
        for _ in range(round(2.0 / h)):
            state = projection.projected_step(system, rig.lagrange(system), state, h)
        return np.concatenate(state)
    form, state = LocalForm(system, start.q, method=method), start
    reference = projected(2.5e-3)
    for _ in range(200):
        state = form.step(state, 0.01)
    error = np.abs(np.concatenate(state) - reference).max()
    assert form.changes and error < 5.0 * np.abs(projected(0.01) - reference).max()


def test_implicit_steps_change_the_chart_too():
    """A pendulum goes round by the trapezoidal rule, which no chart of it covers."""
    system = Pendulum()
    state = State(np.array([0.0, -1.0]), np.array([8.0, 0.0]))
    form, turned = LocalForm(system, state.q), 0.0
    energy = system.energy(*state)
    for _ in range(120):
        before, state = state.q, implicit_step(form, system, state, 0.01, theta=0.5).state
        turned += np.arcsin(before[0] * state.q[1] - before[1] * state.q[0])
    assert turned > 2.0 * np.pi and form.changes >= 2
    assert system.energy(*state) == pytest.approx(energy, rel=1e-2)


# --- singular values ------------------------------------------------------------------------


@pytest.mark.seed('SPENCER 27', 'SPENCER 28', 'SPENCER 29')
@pytest.mark.parametrize('weighted', [False, True])
def test_singular_values_give_the_same_motion(case, weighted):
    """Where K has full rank, V_2 and K^+ k solve what multipliers solve."""
    system, state, tau = case
    H, C, K, k = terms(system, state)
    found = robust_dynamics(H, C, tau, K, k, Options(weighted=weighted))
    expected = underlying.lagrange(H, C, tau, K, k)
    np.testing.assert_allclose(found.qdd, expected.qdd, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.multipliers, expected.multipliers, rtol=1e-9, atol=1e-9)
    G, g = found.space
    np.testing.assert_allclose(K @ G, 0.0, atol=1e-12)
    assert not found.singular and found.decision.rank == len(K)
    if weighted:
        np.testing.assert_allclose(G.T @ H @ G, np.eye(G.shape[1]), atol=1e-11)
    else:
        np.testing.assert_allclose(g, np.linalg.pinv(K) @ k, atol=1e-11)
        np.testing.assert_allclose(np.linalg.inv(np.vstack([G.T, K])),
                                   np.hstack([G, np.linalg.pinv(K)]), atol=1e-11)
    np.testing.assert_allclose(robust_acceleration(system, *state, tau).qdd, expected.qdd,
                               rtol=1e-9, atol=1e-9)


@pytest.mark.seed('SPENCER 28')
def test_truncated_inverse_is_that_of_moore_and_penrose():
    """At an exactly singular position the four conditions hold, and nothing is infinite."""
    system = rig.five_bar()
    K = system.jacobian(rig.SINGULAR)
    rows = decompose(K)
    inverse = np.column_stack([rows.solve(e) for e in np.eye(2)])
    assert rows.rank == 1 and np.isfinite(inverse).all()
    clean = (rows.U[:, :1] * rows.s[0]) @ rows.Vt[:1]       # K without its rounding
    np.testing.assert_allclose(clean @ inverse @ clean, clean, atol=1e-13)
    np.testing.assert_allclose(inverse @ clean @ inverse, inverse, atol=1e-13)
    for product in (clean @ inverse, inverse @ clean):
        np.testing.assert_allclose(product, product.T, atol=1e-13)


@pytest.mark.seed('SPENCER 29', 'SPENCER 30')
def test_motion_exists_at_the_singular_position():
    """Accelerations are finite where K loses a row; the condition number shows it."""
    system, rest = rig.five_bar(), np.zeros(4)
    found = robust_acceleration(system, rig.SINGULAR, rest, rest)
    assert np.isfinite(found.qdd).all() and found.singular and found.decision.rank == 1
    assert found.condition > 1e12 and found.space.G.shape == (4, 2)
    np.testing.assert_allclose(system.jacobian(rig.SINGULAR) @ found.qdd, 0.0, atol=1e-10)
    released = robust_acceleration(system, rig.SINGULAR, rest, rest, Options(release=True))
    assert released.space.G.shape == (4, 3)
    np.testing.assert_allclose(released.qdd, [8.24, -9.20, 1.91, -9.20], atol=5e-3)
    away = robust_acceleration(system, rig.START, rest, rest)
    assert away.condition == pytest.approx(1.6120170, abs=1e-7)
    np.testing.assert_allclose(np.linalg.svd(system.jacobian(rig.START))[1],
                               [2.57559602, 1.59774741], atol=1e-8)
    assert nominal_rank(system, [rig.SINGULAR, rig.START]) == 2
    assert nominal_rank(system, [rig.SINGULAR]) == 1


@pytest.mark.seed('SPENCER 31')
def test_spike_is_the_part_of_the_mode_about_to_be_lost():
    """The modes add up to g; the last one stays bounded on a motion through the singularity."""
    system, state = rig.moving_five_bar()
    K, k = system.jacobian(state.q), system.constraint_bias(*state)
    parts = modes(decompose(K), k)
    np.testing.assert_allclose(parts.sum(axis=1), np.linalg.pinv(K) @ k, atol=1e-13)
    found = robust_acceleration(system, *state, TAU)
    assert found.spike == pytest.approx(np.linalg.norm(parts[:, 1]))
    # the symmetric motion of the second example, theta_1 through pi, at constant speed

    def pose(t):
        first = np.pi + t
        second = -2.0 * np.arcsin(np.sin(t / 2.0) / np.sqrt(1.5))
        theta = np.array([first, second, -second, -first])
        return np.concatenate([theta[:1], np.diff(theta) + np.pi])
    compliant, wrong = [], []
    for t in (0.1, 0.01, 0.001):
        q, v = pose(t), derivative(lambda h, t=t: pose(t + h), 1e-5)
        np.testing.assert_allclose(system.constraint(q), 0.0, atol=1e-13)
        compliant.append(robust_acceleration(system, q, v, np.zeros(4)).spike)
        lost = decompose(system.jacobian(q)).Vt[2:].T @ [1.0, 0.3]
        wrong.append(robust_acceleration(system, q, lost, np.zeros(4)).spike)
    assert max(compliant) < 1.0             # u_m . k falls as s_m does
    assert wrong[2] > 5.0 * wrong[1] > 25.0 * wrong[0]


@pytest.mark.seed('SPENCER 37')
def test_softening_bounds_the_inverse():
    """A larger threshold or damping bounds g near the singularity, and costs accuracy."""
    system = rig.five_bar()
    q, _ = projection.project_position(system, rig.SINGULAR + [1e-3, 0.01, -0.02, 0.01])
    v = decompose(system.jacobian(q)).Vt[2:].T @ [2.0, 1.0]
    K, k = system.jacobian(q), system.constraint_bias(q, v)
    size = np.linalg.svd(K)[1]
    hard = robust_acceleration(system, q, v, np.zeros(4))
    for options, bound in ((Options(tolerance=0.1), 1.0 / (0.1 * size[0])),
                           (Options(damping=0.05), 1.0 / (2.0 * 0.05))):
        soft = robust_acceleration(system, q, v, np.zeros(4), options)
        assert np.linalg.norm(soft.space.g) <= bound * np.linalg.norm(k)
        assert np.linalg.norm(soft.space.g) < 0.5 * np.linalg.norm(hard.space.g)
        assert np.linalg.norm(K @ soft.qdd - k) > 1e-3 > np.linalg.norm(K @ hard.qdd - k)


@pytest.mark.seed('SPENCER 32')
def test_baumgarte_pulls_errors_back_as_asked():
    """Off the manifold phi'' = -2 alpha phi' - beta^2 phi, by multipliers and singular values."""
    system, pull = rig.five_bar(), Baumgarte(3.0, 7.0)
    q, v = rig.START + [0.01, -0.02, 0.03, 0.01], rig.MOVING.qd + 0.1
    K = system.jacobian(q)
    for found in (underlying.acceleration(system, q, v, TAU, pull).qdd,
                  robust_acceleration(system, q, v, TAU, pull=pull).qdd):
        second = K @ found - system.constraint_bias(q, v)
        np.testing.assert_allclose(
            second, -2.0 * 3.0 * K @ v - 49.0 * system.constraint(q), atol=1e-11)


# --- other solutions --------------------------------------------------------------------------


def near_singular(t):
    """Return the five-bar on its symmetric motion, the first link t before the singular pose."""
    first, second = np.pi + t, -2.0 * np.arcsin(np.sin(t / 2.0) / np.sqrt(1.5))
    theta = np.array([first, second, -second, -first])
    return np.concatenate([theta[:1], np.diff(theta) + np.pi])


@pytest.mark.parametrize('redundant', [False, True])
@pytest.mark.parametrize('t, digits', [(0.5, 1e-10), (0.01, 1e-8), (1e-4, 1e-5)])
def test_solutions_agree_towards_the_singularity(t, digits, redundant):
    """Multipliers, null spaces, singular values and the three methods of loops, rows twice too."""
    system, q = rig.five_bar(), near_singular(t)
    v = projection.project_velocity(system, q, np.array([1.0, -0.5, 0.3, 0.8]))
    H, C, K, k = terms(system, State(q, v))
    chart = choose(system, q, 'tangent', limit=1e8)
    expected = reduced_dynamics(H, C, TAU, by_small_solve(chart.R_bar, chart.S_bar, K, k)).qdd
    if redundant:
        K, k = np.vstack([K, K @ np.eye(4)]), np.concatenate([k, k])
    nominal = Options(nominal=2)
    found = [underlying.lagrange(H, C, TAU, K, k).qdd,
             robust_dynamics(H, C, TAU, K, k, nominal).qdd,
             robust_dynamics(H, C, TAU, K, k, nominal._replace(weighted=True)).qdd,
             *(solve(H, TAU - C, K, k, method=name).qdd for name in METHODS)]
    for qdd in found:
        np.testing.assert_allclose(qdd, expected, rtol=digits,
                                   atol=digits * np.abs(expected).max())
    assert underlying.lagrange(H, C, TAU, K, k).decision.rank == 2


# --- another library ------------------------------------------------------------------------


@pytest.mark.parametrize('name', ['five_bar', 'four_bar', 'slider_crank', 'spatial'])
def test_pinocchio_moves_the_same_way(name):
    """Its constraint dynamics with a point held gives our accelerations, redundant rows too."""
    system = getattr(rig, name)()
    system = system if isinstance(system, PinnedTree) else system[0]
    rng = np.random.default_rng(2)
    start = {'five_bar': rig.START, 'spatial': rig.spatial_state()[1].q}.get(name)
    q = getattr(rig, name)()[1] if start is None else start
    v = projection.project_velocity(system, q, rng.normal(size=system.nv))
    tau = rng.normal(size=system.nv)
    tree = PinocchioTree(system.model)
    ends = [system.model.frame(x) for x in (system.pins[0].frame, system.pins[0].to)]
    # the place of each point in its joint; the axes are those of the base, for one of the two
    places = [tree.offset[f.body] * pin.SE3(np.eye(3), np.array(list(f.placement.r)))
              for f in ends]
    constraint = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, tree.pin, ends[0].body, places[0], ends[1].body, places[1],
        pin.ReferenceFrame.LOCAL)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(constraint)
    datas.append(constraint.createData())
    pin.initConstraintDynamics(tree.pin, tree.data, models, datas)
    theirs = pin.constraintDynamics(
        tree.pin, tree.data, tree.position(q), tree.B @ v, tree.B @ tau, models, datas,
        pin.ProximalSettings(1e-12, 1e-10, 20))
    ours = underlying.acceleration(system, q, v, tau).qdd
    np.testing.assert_allclose(tree.B.T @ theirs, ours, rtol=1e-7, atol=1e-7)
