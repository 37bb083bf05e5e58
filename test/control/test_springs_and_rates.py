# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Springs that a rate and a delay can hold: what is accepted is stable, hardly more would be."""

from __future__ import annotations

import re

from benchmark.mujoco_robots import described
import numpy as np
import pytest
from rbd_ros.control.laws.notices import notices
from rbd_ros.control.parameters.gains import largest_damping
from rbd_ros.control.parameters.pushes import PUSH, torque_rates_after
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.springs import judge_spring, least_rate, SpringCase
from rbd_ros.control.parameters.table import defaults
from rbd_ros.dynamics.uncompiled import jacobian, mass_matrix
from sampling import examples
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm

pytestmark = pytest.mark.slow


def growth(stiffness: float, damping: float, period: float, delay: float) -> float:
    """
    Return by how much x'' = -k x - d x' grows per period, each sample answered a delay later.

    The torque of a sample acts until that of the next one does: for a rest of the period the
    older one acts, then the newer one. State: x, x', and the torques that wait.
    """
    periods = int(delay // period)
    rest = delay - periods * period
    A = np.zeros((3 + periods, 3 + periods))
    A[:2, :2] = [[1.0, period], [0.0, 1.0]]
    older = np.array([rest * (period - rest) + 0.5 * rest ** 2, rest])
    newer = np.array([0.5 * (period - rest) ** 2, period - rest])
    answer = np.zeros(3 + periods)
    answer[:2] = -stiffness, -damping
    A[2] = answer
    for i in range(periods):
        A[3 + i, 2 + i] = 1.0
    A[:2, 2 + periods] += older
    if periods:
        A[:2, 1 + periods] += newer
    else:
        A[:2] += np.outer(newer, answer)
    return float(np.abs(np.linalg.eigvals(A)).max())


def drawn(rng: np.random.Generator) -> SpringCase:
    """Return a spring and a damper at a random place in a random loop."""
    case = SpringCase({})
    case.period = 10.0 ** rng.uniform(-3.5, -1.3)
    case.delay = 0.0 if rng.random() < 0.3 else case.period * 10.0 ** rng.uniform(-1.5, 1.0)
    case.inertia = 10.0 ** rng.uniform(-3.0, 1.0)
    most = case.inertia * largest_damping(case.period, case.delay)
    case.damping = most * 10.0 ** rng.uniform(-2.0, 0.05)
    case.stiffness = case.damping / case.period * 10.0 ** rng.uniform(-2.0, 1.0)
    return case


def grows(case: SpringCase, stiffness: float, damping: float) -> float:
    """Return the growth of the loop of a case with other numbers."""
    return growth(stiffness / case.inertia, damping / case.inertia, case.period, case.delay)


def test_what_is_accepted_is_stable_and_hardly_more_would_be() -> None:
    """Random inertia, stiffness, damping, rate and delay: the bound is exact to 0.1 %."""
    count = examples('properties', 1500)
    rng, seen = np.random.default_rng(3), {0.0: 0, 1.0: 0, 2.0: 0}
    for _ in range(count):
        case = drawn(rng)
        judge_spring(case)
        seen[case.wrong] += 1
        if case.wrong == 0.0:
            assert grows(case, case.stiffness, case.damping) < 1.0 + 1e-9
        elif case.wrong == 1.0:
            assert grows(case, 0.0, 0.999 * case.most) < 1.0 + 1e-6
            assert grows(case, 0.0, 1.001 * case.most) > 1.0
        else:
            assert grows(case, 0.999 * case.most, case.damping) < 1.0 + 1e-9
            assert grows(case, 1.001 * case.most, case.damping) > 1.0
            assert grows(case, case.stiffness, case.damping) > 1.0
    assert min(seen.values()) > (20 if count == 1500 else 0), seen


def test_the_least_rate_is_where_the_loop_becomes_stable() -> None:
    """A little above it settles, a little below it grows."""
    count = examples('properties', 60)
    rng, found = np.random.default_rng(4), 0
    for _ in range(count):
        case = drawn(rng)
        judge_spring(case)
        rate = least_rate(case)
        if not np.isfinite(rate) or not rate * case.delay < 30.0:
            continue
        found += 1
        for share, stable in ((1.002, True), (0.99, False)):
            case.period = 1.0 / (share * rate)
            judge_spring(case)
            assert (case.wrong == 0.0) == stable
            if case.wrong != 1.0:  # a damper that is too strong by itself may be held by a spring
                assert (grows(case, case.stiffness, case.damping) <= 1.0 + 1e-9) == stable
    assert found > count / 2


def settings(name: str, **values: object) -> Settings:
    """Return the settings of a known arm in joint impedance, without rotors."""
    return Settings(described(name)[1], defaults() | {
        'driver_adds': 'none', 'mode': 'joint_impedance', 'minimum_rate': 0.0} | {
            key.replace('__', '.'): value for key, value in values.items()}, simulated=False)


@pytest.mark.parametrize('name', ['built-in', 'panda', 'ur5', 'ur10'])
def test_what_is_not_given_is_accepted_at_every_rate(name: str) -> None:
    """Defaults from 100 to 1000 Hz, with a delay or not; and all joints together are stable."""
    rng = np.random.default_rng(6)
    for rate in (100.0, 125.0, 250.0, 500.0, 1000.0):
        for delay in (0.0, 0.002, 0.01):
            chosen = settings(name, nominal_rate=rate, delay=delay)
            assert not chosen.live_refusals()
            k, d = chosen.own_values(chosen.robot.modes['joint_impedance'])
            assert (k > 0.0).all() and (k <= 50.0).all() and (d > 0.0).all()
            if delay:
                continue
            for _ in range(5):
                q = rng.uniform(-np.pi, np.pi, chosen.robot.model.nq)
                pick = np.ix_(chosen.robot.index, chosen.robot.index)
                inverse = np.linalg.inv(mass_matrix(chosen.robot.model, q)[pick])
                n, h = len(k), 1.0 / rate
                A = np.block([[np.eye(n), h * np.eye(n)], [np.zeros((n, n)), np.eye(n)]])
                answer = np.hstack([-inverse * k, -inverse * d])
                A += np.vstack([0.5 * h * h * answer, h * answer])
                assert np.abs(np.linalg.eigvals(A)).max() < 1.0


def test_rate_and_delay_are_told_with_numbers() -> None:
    """A stiffness that a slow loop cannot hold: how much it can; and which rate springs need."""
    tip = {'mode': 'cartesian_impedance', 'cartesian_impedance.linear_stiffness': [400.0],
           'cartesian_impedance.damping_ratio': 0.0, 'cartesian_impedance.linear_damping': [4.0]}
    slow = settings('panda', nominal_rate=100.0, delay=0.01, velocity_filter=0.0, **tip)
    reasons = [each for each in slow.live_refusals() if 'linear_stiffness 400 N/m' in each]
    print('\n'.join(reasons))
    assert reasons and all('at nominal_rate 100 Hz with a delay of 0.01 s' in each
                           for each in reasons)
    most = min(float(re.search(r'give less than ([-+.e0-9]+)', each)[1]) for each in reasons)
    assert 0.0 < most < 400.0
    softer = settings('panda', nominal_rate=100.0, delay=0.01, velocity_filter=0.0, **tip | {
        'cartesian_impedance.linear_stiffness': [0.999 * most]})
    assert not [each for each in softer.live_refusals() if 'linear' in each]
    fast = settings('panda', minimum_rate=20.0)
    [told] = [text for text in notices(fast) if text.startswith('minimum_rate')]
    print(told)
    needed = float(re.search(r'needs ([.e+0-9]+) Hz', told)[1])
    assert needed == pytest.approx(fast.rate_for_springs()[0], rel=1e-3)
    k, d = fast.own_values(fast.robot.modes['joint_impedance'])
    given = {'joint_impedance.stiffness': k.tolist(), 'joint_impedance.damping': d.tolist()}
    assert settings('panda', nominal_rate=0.98 * needed, **given).live_refusals()
    enough = settings('panda', nominal_rate=1.02 * needed, minimum_rate=1.01 * needed, **given)
    assert not enough.live_refusals()
    assert not [text for text in notices(enough) if text.startswith('minimum_rate')]


# -- torque rates ---------------------------------------------------------------------------------

def test_torques_after_a_push_change_as_fast_as_is_said() -> None:
    """
    Random inertias, springs and dampers, pushed and let go: the torque of the first moment.

    The motion is integrated in joint space; dampers of a ratio are made by a matrix root.
    """
    rng = np.random.default_rng(9)
    for _ in range(30):
        n, m = 7, int(rng.integers(1, 7))
        A, J = rng.normal(size=(n, n)), rng.normal(size=(m, n))
        H, K, D = A @ A.T + 0.1 * np.eye(n), rng.uniform(5.0, 500.0, m), rng.uniform(0.0, 5.0, m)
        ratio, Phi = rng.uniform(0.0, 1.0), J @ np.linalg.solve(H, J.T)
        root = np.diag(np.sqrt(K))
        made = 2.0 * ratio * root @ np.linalg.inv(sqrtm(root @ Phi @ root).real) @ root
        damper = made + np.diag(D)
        expected = torque_rates_after(J, Phi, K, D, ratio)
        dt = 1e-6
        for place in range(m):
            q0 = np.linalg.lstsq(J, np.eye(m)[place] / K, rcond=None)[0]  # a unit push holds this

            def torque(x: np.ndarray) -> np.ndarray:
                return -J.T @ (K * (J @ x[:n]) + damper @ J @ x[n:])
            motion = solve_ivp(
                lambda _, x: np.concatenate([x[n:], np.linalg.solve(H, torque(x))]), (0.0, dt),
                np.concatenate([q0, np.zeros(n)]), rtol=1e-12, atol=1e-15)
            rate = (torque(motion.y[:, -1]) - torque(motion.y[:, 0])) / dt
            np.testing.assert_allclose(np.abs(rate), expected[:, place], rtol=1e-2,
                                       atol=1e-3 * expected.max())


def told_of_rates(chosen: Settings) -> str:
    """Return the notice of torque rates that are low; empty: there is none."""
    return ''.join(text for text in notices(chosen) if text.startswith('torque_rate_limits'))


TIP = 'cartesian_impedance'


def test_low_torque_rates_are_told_with_what_springs_need() -> None:
    """A Panda with stiff springs at its light wrist; what is asked for is enough, less is not."""
    stiff = {'mode': TIP, f'{TIP}.angular_stiffness': [160.0], f'{TIP}.linear_stiffness': [2e3]}
    chosen = settings('panda', **stiff)
    told = told_of_rates(chosen)
    print(told)
    assert f'springs of {TIP}: after a push of 10 % of torque_limits' in told
    joint7 = float(re.search(r'panda_joint7 ([.0-9]+) N.m/s instead of 120 N.m/s', told)[1])
    pushed = chosen.pushed()
    assert joint7 == pytest.approx(pushed.rates[6], rel=1e-3)
    assert f'{pushed.largest["rz"]:.3g} N.m at rz' in told
    assert f'{pushed.largest["z"]:.3g} N at z' in told
    enough = np.maximum(pushed.rates, chosen.torque_rates)
    assert not told_of_rates(settings('panda', torque_rate_limits=(1.001 * enough).tolist(),
                                      **stiff))
    short = np.where(np.arange(7) == 6, 0.999, 1.001) * enough
    again = told_of_rates(settings('panda', torque_rate_limits=short.tolist(), **stiff))
    assert 'panda_joint7' in again and 'panda_joint5' not in again.partition('In half')[0]
    assert not told_of_rates(settings('panda', torque_rate_limits=[900.0], **stiff))
    assert not told_of_rates(settings('panda', **stiff | {'mode': 'computed_torque'}))
    assert not told_of_rates(settings('panda', **stiff | {'task.axes': ['tx', 'ty']}))
    assert not told_of_rates(settings('built-in', mode=TIP))
    assert not told_of_rates(settings('ur5', mode=TIP))
    assert 'joint_impedance' in told_of_rates(settings('panda'))


@pytest.mark.parametrize('name', ['panda', 'ur10'])
def test_pushes_are_those_of_half_of_the_poses(name: str) -> None:
    """At other poses than the few sampled ones: many ask for more, and many for less."""
    chosen = settings(name, mode=TIP)
    robot, ratio = chosen.robot, chosen.damping_ratio
    K, rng, asked = chosen.tip_spring('stiffness'), np.random.default_rng(21), []
    low = np.maximum(robot.pick(robot.model.lower), -np.pi)
    high = np.minimum(robot.pick(robot.model.upper), np.pi)
    for _ in range(300):
        q = np.zeros(robot.model.nq)
        q[list(robot.index)] = rng.uniform(low, high)
        pick = list(robot.index)
        H = mass_matrix(robot.model, q)[np.ix_(pick, pick)]
        J = jacobian(robot.model, q, robot.tip)[:, pick]
        root = np.diag(np.sqrt(K))
        Phi = J @ np.linalg.solve(H, J.T)
        turned = root @ sqrtm(root @ Phi @ root).real @ np.linalg.inv(root)  # D Phi / 2 z
        usual = PUSH / (np.abs(J.T) / chosen.torque_limits[:, None]).max(axis=0)
        asked.append((np.abs(2.0 * ratio * J.T @ turned) * usual).max(axis=1))
    shares = (np.array(asked) >= 0.999 * chosen.pushed().rates).mean(axis=0)
    print(shares.round(2))
    assert (shares > 0.1).all()
    shares = (np.array(asked) > 1.001 * chosen.pushed().rates).mean(axis=0)
    assert (shares < 0.9).all()
