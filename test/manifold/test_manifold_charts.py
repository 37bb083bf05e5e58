# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Coordinates of a manifold: choosing and judging them, the way back, and its derivative."""

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import SettingError, ShapeError, SingularError
from rbd_ros.manifold import chart as charts
from rbd_ros.manifold.chart import (
    choose, partitioned, position, position_of, UserCoordinates, validity)
from rbd_ros.manifold.local_form import LocalForm, rate_by_inverse, rate_by_pseudo_inverse
from rbd_ros.manifold.nullspace import tangent, tangent_by_dependent, tangent_by_inverse
from rbd_ros.manifold.system import derivatives, State
from rbd_ros.manifold.underlying import invariant_jacobian, invariants
from rbd_ros.samples.thesis import Pendulum

METHODS = ['partition', 'tangent', [0, 1], np.array([[1.0, 1.0, 0.0, 0.5], [0.0, 1.0, 0.0, -1.0]])]


@pytest.mark.seed('SPENCER 18')
def test_partitioning_takes_the_best_coordinates():
    """Pivoting makes q_1 and q_4 of the five-bar independent, the pair of least condition."""
    K = rig.five_bar().jacobian(rig.START)
    assert partitioned(K) == ((0, 3), (1, 2))
    pairs = {(0, 1): 8.413, (0, 2): 5.770, (0, 3): 4.534, (1, 2): 10.697, (1, 3): 5.291,
             (2, 3): 13.367}
    for pair, expected in pairs.items():
        chart = choose(rig.five_bar(), rig.START, pair)
        assert chart.validity(K).manifold == pytest.approx(expected, abs=5e-4)
    chart = choose(rig.five_bar(), rig.START)
    np.testing.assert_array_equal(chart.R, np.eye(4)[[0, 3]])
    np.testing.assert_array_equal(chart.R_bar, chart.R.T)


@pytest.mark.seed('SPENCER 19')
def test_tangent_space_coordinates_are_orthogonal():
    """At the centre of such a chart dx/dy is R^T, and the condition is as low as that of K."""
    system = rig.five_bar()
    K, chart = system.jacobian(rig.START), choose(system, rig.START, 'tangent')
    both = np.vstack([chart.R, chart.S])
    np.testing.assert_allclose(both @ both.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(chart.R @ K.T, 0.0, atol=1e-14)
    np.testing.assert_allclose(tangent(chart.R, -np.eye(2), K), chart.R.T, atol=1e-14)
    s = np.linalg.svd(K, compute_uv=False)
    assert chart.validity(K).manifold == pytest.approx(max(s[0], 1.0) / min(s[-1], 1.0))


@pytest.mark.seed('SPENCER 16')
@pytest.mark.parametrize('method', METHODS, ids=str)
def test_linear_coordinates_have_an_inverse(method):
    """[R; S] and [R_bar S_bar] undo each other, for any linear choice."""
    chart = choose(rig.five_bar(), rig.START, method)
    both, back = np.vstack([chart.R, chart.S]), np.hstack([chart.R_bar, chart.S_bar])
    np.testing.assert_allclose(both @ back, np.eye(4), atol=1e-14)
    x = np.array([0.3, -0.2, 0.5, 0.1])
    np.testing.assert_allclose(
        chart.R_bar @ (chart.R @ x) + chart.S_bar @ (chart.S @ x), x, atol=1e-14)


@pytest.mark.seed('SPENCER 11', 'SPENCER 12')
def test_coordinates_are_valid_where_the_theorem_says():
    """The abscissa of the pendulum is a coordinate but at the two points where q_2 = 0."""
    system = Pendulum()
    for angle in np.linspace(0.0, 2.0 * np.pi, 25):
        q = np.array([np.cos(angle), np.sin(angle)])
        both = np.vstack([[1.0, 0.0], system.jacobian(q)])
        assert np.linalg.det(both) == pytest.approx(2.0 * q[1], abs=1e-14)
        found = validity([[1.0, 0.0]], [[-1.0]], system.jacobian(q))
        assert found.valid == (abs(q[1]) > 1e-6) and found.own == 1.0
        # the same for (q, qd) with the coordinates and their rates: 4 x 4 instead of 2 x 2
        v = np.array([-q[1], q[0]])
        H = invariant_jacobian(system, q, v)
        np.testing.assert_allclose(H, [[*2.0 * q, 0.0, 0.0], [*2.0 * v, *2.0 * q]], atol=1e-14)
        both = np.vstack([np.kron(np.eye(2), [[1.0, 0.0]]), H])
        assert np.linalg.det(both) == pytest.approx(-4.0 * q[1]**2, abs=1e-13)
        whole = validity(np.kron(np.eye(2), [[1.0, 0.0]]), -np.eye(2), H)
        assert whole.valid == found.valid and whole.own == 1.0
        if whole.valid:
            assert whole.manifold == pytest.approx(np.linalg.cond(both), rel=1e-9)
    assert not validity([[1.0, 0.0]], [[0.0]], [[0.0, 2.0]]).valid
    with pytest.raises(SingularError, match='choose others'):
        choose(system, np.array([1.0, 0.0]), [0])


@pytest.mark.seed('SPENCER 07', 'SPENCER 13')
@pytest.mark.parametrize('method', METHODS, ids=str)
def test_the_way_back_closes_the_constraint(method):
    """Psi(y) has coordinates y and lies on the manifold; Newton's steps shrink as squares."""
    system, chart = rig.five_bar(), choose(rig.five_bar(), rig.START, method)
    y = np.array([0.11, -0.07])
    found = position(system, chart, y)
    np.testing.assert_allclose(system.constraint(found.q), 0.0, atol=1e-14)
    np.testing.assert_allclose(chart.R @ (found.q - rig.START), y, atol=1e-14)
    first, second, third = found.sizes[:3]
    assert second < first**2 and third < 2.0 * second**2 and found.iterations <= 6


@pytest.mark.seed('SPENCER 13')
def test_iteration_stops_by_its_rate_of_contraction():
    """Judged by its rate rho: rho / (1 - rho) times the last step bounds the error left."""
    system, chart = rig.five_bar(), choose(rig.five_bar(), rig.START)
    y = np.array([0.2, 0.1])
    exact = position(system, chart, y, tolerance=1e-15).q
    for tolerance in (1e-2, 1e-4, 1e-8):
        found = position(system, chart, y, tolerance=tolerance)
        rate = (found.sizes[-1] / found.sizes[0])**(1.0 / (found.iterations - 1))
        assert rate / (1.0 - rate) * found.sizes[-1] <= tolerance
        before = (found.sizes[-2] / found.sizes[0])**(1.0 / max(found.iterations - 2, 1))
        if found.iterations > 2:    # the step before was not yet good enough
            assert before / (1.0 - before) * found.sizes[-2] > tolerance
        assert np.linalg.norm(found.q - exact) <= tolerance

    class Slow(Pendulum):       # a slope five times too steep: the error shrinks by 0.8 a step

        def jacobian(self, q):
            return 5.0 * super().jacobian(q)

    slow = Slow()
    found = position(slow, choose(slow, np.array([0.6, 0.8]), [0]), np.zeros(1),
                     np.array([0.6, 0.81]), tolerance=1e-4)
    assert abs(found.q[1] - 0.8) <= 1.02e-4 < 6.0 * found.sizes[-1]
    circle = Pendulum()     # which has no point at q_1 = 0.6 + 5
    with pytest.raises(SingularError, match='does not contract'):
        position(circle, choose(circle, np.array([0.6, 0.8]), [0]), np.array([5.0]))
    # lengths are weighted: with a thousandth of the weight the same tolerance takes fewer steps
    assert (position(system, chart, y, tolerance=1e-6, weight=1e-3).iterations
            < position(system, chart, y, tolerance=1e-6).iterations)


@pytest.mark.seed('SPENCER 14', 'SPENCER 15', 'SPENCER 17')
@pytest.mark.parametrize('method', METHODS, ids=str)
def test_three_solves_give_the_derivative(method):
    """By the whole size, by the inverse, by the dependent rows: each is the slope of Psi."""
    system, chart = rig.five_bar(), choose(rig.five_bar(), rig.START, method)
    y = np.array([0.08, -0.05])
    q = position(system, chart, y).q
    K, D2 = system.jacobian(q), np.array([[-2.0, 0.3], [0.1, -1.5]])
    slope = derivatives(lambda dy: position(system, chart, y + dy, q).q, 2)
    found = tangent_by_dependent(chart.R_bar, chart.S_bar, K)
    np.testing.assert_allclose(found, slope, atol=1e-10)
    np.testing.assert_allclose(tangent(chart.R, -np.eye(2), K), slope, atol=1e-10)
    # R(q, y) = R (q - q_bar) + D2 y: coordinates that are not y = R (q - q_bar) themselves
    whole = tangent(chart.R, D2, K)
    np.testing.assert_allclose(tangent_by_inverse(chart.R, D2, K), whole, atol=1e-13)
    np.testing.assert_allclose(-np.linalg.solve(D2, chart.R) @ whole, np.eye(2), atol=1e-13)
    np.testing.assert_allclose(whole, -slope @ D2, atol=1e-10)


@pytest.mark.seed('SPENCER 08', 'SPENCER 09', 'SPENCER 10')
@pytest.mark.parametrize('method', METHODS, ids=str)
def test_local_form_is_the_flow_in_coordinates(method):
    """The slope DPsi maps the local rate to f; its pseudo-inverse maps the tangent f back."""
    system, state = rig.moving_five_bar()
    form = LocalForm(system, rig.START, method=method)
    y, u = form.coordinates(state)
    point = form.state(y + [0.1, -0.04], u)
    x = np.concatenate(form.coordinates(point))
    H = invariant_jacobian(system, *point)
    zero = np.zeros_like(form.chart.R)
    D1 = np.block([[form.chart.R, zero], [zero, form.chart.R]])
    DPsi = tangent(D1, -np.eye(4), H)
    slope = derivatives(lambda dx: np.concatenate(form.state(*(x + dx).reshape(2, 2))), 4)
    np.testing.assert_allclose(DPsi, slope, atol=1e-9)
    np.testing.assert_allclose(H @ DPsi, 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(DPsi) == 4
    f = np.concatenate([point.qd, rig.lagrange(system)(*point)])
    rate = form.vector_rate(x)
    np.testing.assert_allclose(DPsi @ rate, f, atol=1e-11)
    np.testing.assert_allclose(rate_by_pseudo_inverse(DPsi, f), rate, atol=1e-11)
    np.testing.assert_allclose(rate_by_inverse(D1, -np.eye(4), f), rate, atol=1e-11)
    np.testing.assert_allclose(rate_by_inverse(D1, -2.0 * np.eye(4), f), 0.5 * rate, atol=1e-11)
    # off the tangent space the two differ: DPsi^+ is not the inverse of the chart
    assert np.abs(rate_by_pseudo_inverse(DPsi, f + 1.0)
                  - rate_by_inverse(D1, -np.eye(4), f + 1.0)).max() > 0.01
    np.testing.assert_allclose(invariants(system, *point), 0.0, atol=1e-12)


@pytest.mark.seed('SPENCER 21')
def test_coordinates_of_the_user_cover_the_circle():
    """The angle is a coordinate of the pendulum everywhere, where no Cartesian one is."""
    system = Pendulum()

    def slope(q):
        return np.array([[-q[1], q[0]]]) / (q @ q)

    def rate(q, v):
        size = q @ q
        turned = np.array([[-v[1], v[0]]]) / size
        return (turned - slope(q) * 2.0 * (q @ v) / size) @ v

    angle = UserCoordinates(lambda q: np.array([np.arctan2(q[1], q[0])]), slope, rate)
    for y in np.linspace(-3.0, 3.0, 13):
        start = 1.1 * np.array([np.cos(y - 0.1), np.sin(y - 0.1)])
        found = position_of(system, angle, np.array([y]), start)
        np.testing.assert_allclose(found.q, [np.cos(y), np.sin(y)], atol=1e-12)
        assert validity(slope(found.q), [[-1.0]], system.jacobian(found.q)).valid
        v = np.array([-np.sin(y), np.cos(y)]) * 0.7
        both = np.vstack([slope(found.q), system.jacobian(found.q)])
        G, g = charts.motion_of(system, angle, State(found.q, v))
        np.testing.assert_allclose(both @ G, [[1.0], [0.0]], atol=1e-12)
        # on the circle qdd = G ydd + g is the textbook's: tangential plus centripetal
        np.testing.assert_allclose(G[:, 0], [-np.sin(y), np.cos(y)], atol=1e-12)
        np.testing.assert_allclose(g, -0.49 * found.q, atol=1e-12)


def test_redundant_rows_are_left_out():
    """A constraint given twice leaves the charts as they are."""
    system = rig.five_bar()

    class Doubled(type(system)):

        def jacobian(self, q):
            return np.vstack([super().jacobian(q), 2.0 * super().jacobian(q)])

        def constraint(self, q):
            return np.concatenate([super().constraint(q), 2.0 * super().constraint(q)])

    twice = Doubled(system.robot, system.pins)
    chart = choose(twice, rig.START)
    assert len(chart.rows) == 2 and chart.p == 2
    y = np.array([0.1, 0.05])
    plain = position(system, choose(system, rig.START), y).q
    np.testing.assert_allclose(position(twice, chart, y).q, plain, atol=1e-13)


@pytest.mark.parametrize('method, error, text', [
    ('best', SettingError, '"partition", "tangent"'), ([0], ShapeError, 'need 2 x 4'),
    ([1, 1], SingularError, 'not independent of each other')])
def test_bad_choices_are_named(method, error, text):
    """A method of another name, a wrong number of coordinates, the same one twice."""
    with pytest.raises(error, match=text):
        choose(rig.five_bar(), rig.START, method)
