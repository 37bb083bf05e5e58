# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The complementarity problem of contact forces, and the quadratic programs with its solutions."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.algorithms.contact import friction, programs, rigid
from rbd_ros.algorithms.contact.rigid import NoContactSolution
from rbd_ros.algorithms.linear import complementarity
from rbd_ros.algorithms.linear.complementarity import Status
from rbd_ros.errors import NonFiniteError, RbdError, SettingError, ShapeError
from spatial_oracle import assert_close


def random_problem(rng, moving):
    """Return H, tau - C, T and velocity products, with dependent normals among them."""
    n, m = rng.integers(1, 8), rng.integers(1, 14)
    L, T = rng.normal(size=(n, n)), rng.normal(size=(n, m))
    if m > 3:
        T[:, 2], T[:, 3] = 2.0 * T[:, 0], T[:, 0]
    rate = 0.1 * rng.normal(size=m) if moving else np.zeros(m)
    return L @ L.T + np.eye(n), 5.0 * rng.normal(size=n), T, rate


@pytest.mark.seed('RBDA 11-08', 'RBDA 11-09', 'RBDA 11-10')
def test_complementarity_and_both_programs_agree():
    """Lemke, the program of forces and that of accelerations give one motion, or none at all."""
    rng = np.random.default_rng(0)
    seen = dict.fromkeys(Status, 0)
    for k in range(120):
        H, f, T, rate = random_problem(rng, moving=k % 2 == 0)
        problem = rigid.system_problem(H, f, T, rate)
        found = complementarity.solve(problem.M, problem.d)
        seen[found.status] += 1
        if found.status is Status.NONE:
            u = found.proof / found.proof.max()
            assert u.min() >= 0.0 and np.abs(problem.M @ u).max() < 1e-7 < -problem.d @ u
            with pytest.raises(programs.Infeasible, match='their normals cancel'):
                programs.accelerations(H, f, T, rate)
            with pytest.raises(programs.Infeasible):
                programs.forces(problem.M, problem.d)
            continue
        assert found.force.min() >= 0.0 and found.separation.min() >= 0.0
        assert np.abs(found.force * found.separation).max() < 1e-12
        np.testing.assert_allclose(
            problem.M @ found.force + problem.d, found.separation, atol=1e-8)
        a = problem.accelerations(found.force)
        by_forces = programs.forces(problem.M, problem.d)
        np.testing.assert_allclose(problem.accelerations(by_forces), a, atol=1e-8)
        np.testing.assert_allclose(programs.accelerations(H, f, T, rate), a, atol=1e-8)
        loaded = T[:, found.force > 0.0]
        assert np.linalg.matrix_rank(loaded, tol=1e-8) == loaded.shape[1]
    assert min(seen.values()) >= 10, seen


@pytest.mark.seed('RBDA 11-08')
def test_unique_forces_are_those_of_every_subset():
    """For independent normals exactly one choice of contacts solves the problem."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        T = rng.normal(size=(6, 4))
        M, d = T.T @ T, rng.normal(size=4)
        found = complementarity.solve(M, d)
        assert found.status is Status.UNIQUE
        solutions = []
        for mask in range(16):
            at = [i for i in range(4) if mask >> i & 1]
            force = np.zeros(4)
            if at:
                force[at] = np.linalg.solve(M[np.ix_(at, at)], -d[at])
            if force.min() >= 0.0 and (M @ force + d).min() >= -1e-12:
                solutions.append(force)
        assert len(solutions) == 1
        assert_close(found.force, solutions[0], 1e-9)


@pytest.mark.seed('RBDA 11-08')
def test_disc_in_a_slot():
    """Ex 11.1: opposed normals; no solution exactly where both separations must shrink."""
    M = np.array([[1.0, -1.0], [-1.0, 1.0]])
    found = complementarity.solve(M, [-3.0, 5.0])
    assert_close(found.force, [3.0, 0.0])
    assert_close(found.separation, [0.0, 2.0])
    none = complementarity.solve(M, [-2.0, -2.0])
    assert none.status is Status.NONE
    assert_close(none.proof / none.proof.max(), [1.0, 1.0])
    squeezed = complementarity.solve(M, [-2.0, 2.0])        # any grip does
    assert squeezed.status is Status.MANY
    assert_close(squeezed.separation, [0.0, 0.0])


@pytest.mark.seed('RBDA 11-08', 'RBDA 11-02')
def test_disc_running_into_the_curve_of_a_slot():
    """Ex 11.1 with speed V: at the bend d1 + d2 = -2 V^2 / (rho - r), which no force stops."""
    m, r, rho, V = 2.0, 0.1, 0.5, 1.3
    inertia = np.diag([1.0, 1.0, 1.0, m, m, m])
    v = np.array([0.0, 0.0, 0.0, V, 0.0, 0.0])
    # Both walls bend inwards: along each, the disc's centre would have to go on a circle of
    # radius rho - r. The points of contact go with the centre, the normals turn against the way.
    N, rates = [], []
    for side in (1.0, -1.0):
        point, unit = np.array([0.0, -side * r, 0.0]), np.array([0.0, side, 0.0])
        turn = np.array([-V / (rho - r), 0.0, 0.0])
        N.append(rigid.normal(point, unit))
        rates.append(rigid.normal_rate(point, unit, v[3:] - r * turn, turn))
    problem = rigid.body_problem(
        inertia, np.zeros(6), np.column_stack(N), np.column_stack(rates), v, np.zeros(6))
    assert_close(problem.d.sum(), -2.0 * V ** 2 / (rho - r), 1e-12)
    with pytest.raises(NoContactSolution, match='contacts 0, 1 .* only an impulse can'):
        problem.solve()


def test_refusals_of_the_solver():
    """A problem of another kind is named, not answered."""
    with pytest.raises(ShapeError, match=r'needed are \(n, n\) and \(n,\)'):
        complementarity.solve(np.eye(2), [1.0, 2.0, 3.0])
    for M, d in (([[np.nan]], [-1.0]), ([[1.0]], [np.nan])):
        with pytest.raises(NonFiniteError, match='not finite'):
            complementarity.solve(M, d)
    with pytest.raises(RbdError, match='must be symmetric'):
        complementarity.solve([[1.0, 2.0], [0.0, 1.0]], [-1.0, -1.0])
    # No force closes this one: each only makes it worse. Without the check, a force is returned.
    with pytest.raises(RbdError, match='positive semidefinite; its eigenvalues go from -1 to 3'):
        complementarity.solve([[1.0, 2.0], [2.0, 1.0]], [-1.0, -1.0])
    with pytest.raises(RbdError, match='positive semidefinite'):
        complementarity.solve([[-1.0]], [1.0])
    empty = complementarity.solve(np.zeros((0, 0)), [])
    assert empty.status is Status.UNIQUE
    for mu in (-0.1, np.nan, np.inf, [0.5, -0.5]):
        with pytest.raises(SettingError, match='a coefficient of friction is zero or more'):
            friction.coulomb(np.eye(6), np.ones(6), mu)
    for rows, d in ((4, np.ones(4)), (3, np.ones(6)), (3, np.ones((3, 1)))):
        with pytest.raises(ShapeError, match='needed are three rows for each contact'):
            friction.coulomb(np.eye(rows), d, 0.5)
