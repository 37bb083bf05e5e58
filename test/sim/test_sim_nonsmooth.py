# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The velocity problem of friction, brakes and stops against its optimality conditions."""

import numpy as np
import pytest
from rbd_ros.sim.steps.nonsmooth import attempt, first_guess, Guess, Problem, REST


class Unsolved(Exception):
    """The guesses did not end."""


def solve_velocity(H, v_free, dry, viscous, low, high, guess=None):
    """Return the trial whose guess was right, correcting all at once, then one by one."""
    n = len(v_free)
    clipped = [np.clip(x, -1e300, 1e300).tolist() for x in (dry, viscous, low, high)]
    problem = Problem(H.tolist(), range(-1, n - 1), v_free.tolist(), *clipped)
    trial = attempt(problem, guess or first_guess(n))
    for count in range(200):
        if not any(trial.wrong):
            return trial._replace(w=np.array(trial.w), impulse=np.array(trial.impulse))
        trial = attempt(problem, trial.guess, float(count > 8))
    raise Unsolved


def problem(seed, n=6, dry=1.0, stops=True):
    """Return a random problem with an ill-conditioned inertia matrix."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    H = basis @ np.diag(10.0 ** rng.uniform(-3.0, 1.0, n)) @ basis.T
    H = 0.5 * (H + H.T)
    low = np.where(rng.random(n) < 0.4 * stops, rng.uniform(-1.0, 0.3, n), -np.inf)
    high = np.where(rng.random(n) < 0.4 * stops, rng.uniform(0.4, 1.0, n), np.inf)
    return {
        'H': H, 'v_free': rng.normal(size=n), 'dry': dry * rng.exponential(0.3, n),
        'viscous': rng.exponential(0.1, n), 'low': low, 'high': high,
    }


def check_optimal(H, v_free, dry, viscous, low, high, w):
    """Assert that no single coordinate can be moved to lower the convex function."""
    slope = H @ (w - v_free) + viscous * w
    up = slope + np.where(w < 0.0, -dry, dry)
    down = slope + np.where(w > 0.0, dry, -dry)
    small = 1e-10 * (1.0 + np.abs(H).max() * np.abs(v_free).max())
    assert (w >= low).all() and (w <= high).all()
    assert (up[w < high] >= -small).all()
    assert (down[w > low] <= small).all()


@pytest.mark.parametrize('seed', range(60))
def test_solution_is_the_minimum(seed):
    """Every one-sided slope at the solution points uphill, which for this function is enough."""
    data = problem(seed, dry=10.0 ** (seed % 4 - 2))
    solved = solve_velocity(**data)
    check_optimal(w=solved.w, **data)
    assert solved.impulse == pytest.approx(data['H'] @ (solved.w - data['v_free']), abs=1e-12)


@pytest.mark.parametrize('scale', [1e-12, 1.0, 1e12])
def test_units_do_not_decide_what_sticks(scale):
    """Grams or tonnes: 1 % beyond dry friction slides, 1 % or rounding below it sticks."""
    for share, slides in ((1.01, True), (0.99, False), (1.0 + 1e-15, False)):
        w = solve_velocity(np.array([[scale]]), np.array([0.3 * share]), np.array([0.3 * scale]),
                           np.zeros(1), np.full(1, -np.inf), np.full(1, np.inf),
                           Guess([REST], [0.0])).w
        assert w == pytest.approx([0.3 * (share - 1.0) if slides else 0.0], rel=1e-9, abs=0.0)


def test_sticking_is_exactly_zero():
    """Below the friction limit the velocity is zero to the last bit, not merely small."""
    H, v = np.diag([1.0, 2.0]), np.array([0.3, -0.2])
    none = np.full(2, np.inf)
    solved = solve_velocity(H, v, dry=np.array([0.31, 0.39]), viscous=np.zeros(2),
                            low=-none, high=none)
    assert solved.w[0] == 0.0
    assert solved.w[1] == pytest.approx(-0.2 + 0.39 / 2.0, abs=1e-15)


def test_a_right_guess_is_kept():
    """Given the final guess, one attempt finds the same velocity and nothing wrong."""
    data = problem(4)
    problem_ = Problem(data['H'].tolist(), range(-1, 5), data['v_free'].tolist(),
                       *(np.clip(data[k], -1e300, 1e300).tolist()
                         for k in ('dry', 'viscous', 'low', 'high')))
    solved = solve_velocity(**data)
    again = attempt(problem_, solved.guess)
    assert not any(again.wrong)
    assert again.w == pytest.approx(solved.w, abs=1e-15)


def test_one_wrong_joint_at_a_time():
    """Asked to, an attempt corrects only the first joint whose guess was wrong."""
    data = problem(4)
    problem_ = Problem(data['H'].tolist(), range(-1, 5), data['v_free'].tolist(),
                       *(np.clip(data[k], -1e300, 1e300).tolist()
                         for k in ('dry', 'viscous', 'low', 'high')))
    trial = attempt(problem_, first_guess(6), 1.0)
    changed = [a != b for a, b in zip(trial.guess.held, first_guess(6).held)]
    assert sum(trial.wrong) > 1 and sum(changed) == 1
    assert changed.index(True) == trial.wrong.index(1.0)
