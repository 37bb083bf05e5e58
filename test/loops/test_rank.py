# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The rank of a constraint is decided once: scaled rows, relative threshold, hysteresis."""

import numpy as np
import pytest
from rbd_ros.algorithms.linear.rank import counted, decompose


@pytest.fixture
def case():
    """Return an inertia matrix and four rows of which the last is the sum of the first two."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(6, 6))
    K = rng.normal(size=(4, 6))
    K[3] = K[0] + K[1]
    return root @ root.T + np.eye(6), K


def test_solution_is_the_one_of_least_kinetic_energy(case):
    """K^+ b weighted by H meets the rows and has no part among the permitted motions."""
    H, K = case
    b = K @ np.arange(6.0)
    found = decompose(K, H)
    x = found.solve(b)
    assert found.rank == 3
    np.testing.assert_allclose(K @ x, b, atol=1e-11)
    free = np.linalg.svd(K)[2][3:]
    np.testing.assert_allclose(free @ H @ x, 0.0, atol=1e-10)
    lam = found.multipliers(b)
    np.testing.assert_allclose(K @ np.linalg.solve(H, K.T @ lam), b, atol=1e-10)
    np.testing.assert_allclose(np.linalg.inv(H) @ K.T @ lam, x, atol=1e-11)


def test_residual_is_what_no_motion_satisfies(case):
    """A right-hand side that contradicts itself is not taken for one that is only redundant."""
    H, K = case
    found = decompose(K, H)
    good = K @ np.ones(6)
    assert found.decision(good).residual < 1e-13
    # A dependent row (1, 1, 0, -1) of length sqrt(3): 0.3 on its last entry is 0.3 / sqrt(3).
    bad = found.decision(good + [0.0, 0.0, 0.0, 0.3])
    assert bad.residual == pytest.approx(0.3 / np.sqrt(3.0), rel=1e-9)
    assert bad.rank == 3 and bad.method == 'svd' and 0.0 < bad.smallest < 1.0


def test_decision_sees_what_the_square_cannot(case):
    """A value of 1e-7 counts on L^-T K^T; in K H^-1 K^T it has sunk into rounding."""
    H, K = case
    K[3, 0] += 1e-6
    assert decompose(K, H).rank == 4
    A = np.linalg.eigvalsh(K @ np.linalg.solve(H, K.T))
    assert counted(np.abs(A)) == 3


def test_rows_are_scaled_before_they_are_compared():
    """Metres next to radians: what counts does not depend on the unit of length."""
    K = np.diag([1.0, 1e-10])
    assert decompose(K).rank == 1
    assert decompose(K, scale=[1.0, 1e10]).rank == 2
    np.testing.assert_allclose(decompose(K, scale=[1.0, 1e10]).solve([2.0, 3e-10]), [2.0, 3.0])


def test_nothing_counts_in_nothing():
    """No rows, and rows of zeros, have rank 0 and permit every motion."""
    assert counted([]) == 0 and decompose(np.zeros((2, 3))).rank == 0
    none = decompose(np.zeros((0, 3)))
    assert none.rank == 0 and none.Vt.shape == (3, 3) and none.decision([]).smallest == 0.0
    np.testing.assert_array_equal(none.solve([]), np.zeros(3))


@pytest.mark.parametrize('damping', [0.01, 0.5])
def test_damping_bounds_the_inverse(case, damping):
    """Damped least squares never exceed 1 / (2 damping), and meet it where s = damping."""
    K = np.diag([1.0, damping, 1e-14])
    found = decompose(K)
    gains = found.inverses(damping)
    assert gains.max() == pytest.approx(0.5 / damping) and np.isfinite(gains).all()
    np.testing.assert_allclose(found.solve([1.0, 0.0, 0.0], damping)[0], 1.0 / (1.0 + damping**2))
