# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The observer of external torques, the torques that were sent, and what a standstill trusts."""

from functools import cache
import math

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.interface.events import Joints, NOBODY, Structure
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.observers.external import external_wrench
from rbd_ros.control.observers.momentum import Momentum, settled
from rbd_ros.control.observers.observer import Observer, ObserverParameters
from rbd_ros.control.observers.standstill import (
    fill_standstill, Standstill, StandstillParameters, trust_model)
from rbd_ros.control.observers.torque_history import KEPT, TorqueHistory
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.supervisor.states import LoadTrust
from recorded_robots import controlled_robot

ONE = {'n': 1, 'm': 1}


def kernel_of_one():
    """Return a kernel of one joint whose arrays a test fills."""
    return MomentumKernel.idle(lambda: 0, ONE)


def observed(x, kernel, inertia, qd, bias, tau, dt, gain, acted=math.nan):
    """Take a state of one joint; return the estimate. What acted is known where it is given."""
    kernel.H[:], kernel.qd[:], kernel.bias[:] = inertia, qd, bias
    x.update(kernel, np.array([tau]), dt, np.array([gain]), np.array([acted]),
             0.0 if math.isnan(acted) else 1.0)
    return x.torque[0]


def test_observer_follows_a_first_order_lag_exactly():
    """For a constant inertia and torque the estimate is tau_ext (1 - exp(-K t)) to rounding."""
    inertia, external, gain, dt = 2.0, 3.0, 20.0, 0.004
    x, kernel = Momentum(ONE), kernel_of_one()
    for k in range(200):
        t = k * dt
        qd = (1.5 + external) / inertia * t  # exact motion under 1.5 N.m and the external torque
        found = observed(x, kernel, inertia, qd, 0.0, 1.5, dt, gain)
        assert found == pytest.approx(external * (1 - math.exp(-gain * t)), abs=1e-9)
    x.reset()
    assert not x.torque.any() and not x.known


def test_observer_takes_means_of_the_period():
    """Of a torque that changed, the next one being what was sent; and H of its middle."""
    gain, dt = 20.0, 0.01
    share = 1.0 - math.exp(-gain * dt)
    x, kernel = Momentum(ONE), kernel_of_one()
    observed(x, kernel, 2.0, 0.0, 1.0, 5.0, dt, gain)
    # 5 N.m was said, 4 N.m on average acted; bias 1 then 3; external 1.5 N.m
    qd = (4.0 + 1.5 - 2.0) * dt / 2.0
    first = observed(x, kernel, 2.0, qd, 3.0, 6.0, dt, gain, acted=4.0)
    assert first == pytest.approx(share * 1.5, rel=1e-12)
    qd += (6.0 + 1.5 - 3.0) * dt / 2.0      # 6 N.m acts for the whole period
    second = observed(x, kernel, 2.0, qd, 3.0, 0.0, dt, gain)
    assert second == pytest.approx(first + share * (1.5 - first), rel=1e-12)
    x.reset()
    observed(x, kernel, 1.0, 0.0, 0.0, 0.0, dt, gain)
    assert observed(x, kernel, 3.0, 0.5, 0.0, 0.0, dt, gain) == pytest.approx(
        share * 2.0 * 0.5 / dt, rel=1e-12)


def test_joints_have_lags_of_their_own():
    """Joints side by side are observed as each is alone, with equal bandwidths and with others."""
    gains, external, dt = np.array([20.0, 20.0, 5.0, 80.0, 20.0]), np.arange(1.0, 6.0), 0.01
    sizes = {'n': 5, 'm': 5}
    x, kernel = Momentum(sizes), MomentumKernel.idle(lambda: 0, sizes)
    kernel.H[:] = np.eye(5)
    for k in range(2):
        kernel.qd[:] = k * dt * external
        x.update(kernel, np.zeros(5), dt, gains, np.zeros(5), 0.0)
    assert x.torque == pytest.approx(external * (1.0 - np.exp(-gains * dt)), rel=1e-12)


def torque_at(t):
    """Return the whole torque that the prescribed swing needs at a time."""
    q, qd, qdd = math.sin(3 * t), 3 * math.cos(3 * t), -9 * math.sin(3 * t)
    return (2.0 + math.cos(q)) * qdd - 0.5 * math.sin(q) * qd * qd + 9.81 * math.sin(q)


def test_observer_on_a_swinging_pendulum():
    """On an analytic pendulum with length changing H the lag is met with second order in dt."""
    errors = []
    for dt in (0.002, 0.001):
        x, kernel, worst = Momentum(ONE), kernel_of_one(), 0.0
        for k in range(int(1.0 / dt)):
            t = k * dt
            q, qd = math.sin(3 * t), 3 * math.cos(3 * t)
            H = 2.0 + math.cos(q)  # inertia that depends on q; C = H' qd^2 / 2
            bias = -0.5 * math.sin(q) * qd * qd + 9.81 * math.sin(q)
            tau_mid = torque_at(t + 0.5 * dt) - 1.0  # the external torque is 1 N.m
            found = observed(x, kernel, H, qd, bias, tau_mid, dt, 30.0)
            worst = max(worst, abs(found - (1.0 - math.exp(-30.0 * t))))
        errors.append(worst)
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize('x', [0.0, 1e-300, 1e-9, 0.3, 0.5, 0.51, 3.0, 39.9, 50.0, math.inf])
def test_settled_share_of_a_lag(x):
    """It is 1 - exp(-x) to the last digits; what is no time settles nothing."""
    assert settled(x) == pytest.approx(-math.expm1(-x), rel=1e-15)
    assert settled(-x) == settled(math.nan) == 0.0


def test_wrench_from_joint_torque():
    """A wrench is found again from its joint torque; what no wrench explains is left over."""
    rng = np.random.default_rng(6)
    J, wrench = rng.normal(size=(6, 7)), rng.normal(size=6)
    found, left = external_wrench(J, J.T @ wrench, damping=1e-9)
    np.testing.assert_allclose(found, wrench, atol=1e-10)
    assert left < 1e-10
    null = np.linalg.svd(J)[2][-1]
    assert external_wrench(J, null)[1] == pytest.approx(1.0, rel=1e-9)
    # A direction that the frame cannot move in gets no force, not an infinite one.
    J = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 1e-12])
    assert abs(external_wrench(J, np.full(6, 1e-6))[0]).max() < 1e-5


# -- torques that were sent -----------------------------------------------------------------------

def use_history(x: TorqueHistory, given: Vector, torque: Vector, mean: Vector) -> None:
    """Find the mean torque of a period, then note one."""
    given[4] = 1.0 if x.find_mean(given[0], given[1], mean) else 0.0
    x.note(given[2], torque, given[3])


@pytest.mark.parametrize('seed', range(10))
def test_any_delay_at_any_rate_has_its_torque(seed):
    """
    Whatever delay and rate are allowed, the mean torque is known, and right.

    Where torques follow one another too closely for the ring, what is found is the mean over a
    time that is a hundredth of the delay longer.
    """
    rng = np.random.default_rng(seed)
    delay, period = rng.choice([0.0, 0.05, 0.5, rng.uniform(0.0, 0.5)]), 1.0 / rng.choice(
        [100.0, 1000.0, 4000.0])
    window, w = delay + 0.1, rng.uniform(1.0, 20.0, 2)
    x, given, torque, mean = TorqueHistory({'n': 2}), np.zeros(5), np.zeros(2), np.zeros(2)
    run = bind(use_history, x, given, torque, mean)
    now, times, sent, unknown = 100.0, [], [], 0.0
    for k in range(round(1.5 / period)):
        elapsed = period * rng.uniform(0.5, 1.5)
        now += elapsed
        torque[:] = np.sin(w * now) + rng.uniform(-0.1, 0.1)
        given[:4] = now - delay - elapsed, now - delay, now, window
        run()
        if not given[4]:
            unknown = now
        elif k % 40 == 0:
            first, last = np.searchsorted(times, given[:2] + [-window / 60, window / 60])
            around = np.array(sent[max(first - 1, 0):last])
            assert (around.min(axis=0) - 1e-9 <= mean).all(), (delay, period)
            assert (mean <= around.max(axis=0) + 1e-9).all(), (delay, period)
        times.append(now)
        sent.append(torque.copy())
    assert x.entries <= KEPT
    assert unknown <= 100.0 + delay + 4 * period  # as soon as there can be one


def test_impulse_of_a_full_ring_is_exact():
    """The mean over all that is kept is that of all torques, merged or not."""
    rng, x, mean = np.random.default_rng(1), TorqueHistory({'n': 1}), np.zeros(1)
    times, torques = np.cumsum(rng.uniform(1e-4, 3e-4, 3000)), rng.normal(size=3000)
    for now, torque in zip(times, torques):
        x.note(now, np.array([torque]), 0.6)
    begin = x.time[int(x.first)]
    assert times[-1] - begin >= min(0.6, times[-1] - times[0]) - 1e-3
    assert x.find_mean(begin, times[-1], mean)
    inside = np.flatnonzero(times >= begin)[:-1]
    exact = torques[inside] @ np.diff(times)[inside] / (times[-1] - begin)
    assert mean[0] == pytest.approx(exact, abs=1e-9)
    x.clear()
    assert not x.find_mean(begin, times[-1], mean)


# -- the observer of the step ---------------------------------------------------------------------

def test_after_a_gap_the_filter_of_the_drive_begins_anew():
    """
    What drove the robot before a gap in the states says nothing of the motion after it.

    A joint of 1 kg.m^2, whose velocities are differences behind a filter, was accelerated hard
    when its states ceased. Afterwards it rests under no torque, and nothing pushes it.
    """
    x, p, kernel = Observer(ONE), ObserverParameters(ONE), kernel_of_one()
    joints, structure = Joints(ONE), Structure(ONE)
    p.velocity_filter, p.limit[:], p.usual_share[:] = 0.02, 50.0, 50.0
    joints.differenced, kernel.H[:] = 1.0, 1.0
    gain, now, v, filtered = np.array([30.0]), 10.0, 0.0, 0.0

    def see(torque):
        kernel(joints, acting=0.0, payload=0.0)
        elapsed = x.observe(p, kernel, gain, 0.0, joints.differenced, torque, now)
        x.share(p, LoadTrust.USUAL, joints, structure, elapsed)
    for _ in range(300):
        see(np.array([20.0]))
        now += 0.001
        v += 0.001 * 20.0
        filtered += 0.001 / 0.021 * (v - filtered)
        joints.qd[0] = filtered
    assert abs(x.momentum.torque[0]) < 0.5
    now += 0.3
    joints.qd[0] = 0.0
    for _ in range(100):
        now += 0.001
        see(np.zeros(1))
        assert abs(x.momentum.torque[0]) < 1e-9


# -- closed loops ---------------------------------------------------------------------------------

@cache
def standstill_of(name):
    """Return the bounds of a standstill of a robot, and one of its joints that just stands."""
    robot = controlled_robot(name)
    n = len(robot.joints)
    p, x = StandstillParameters({'n': n}), Standstill({'n': n, 'm': robot.model.nv})
    fill_standstill(p.plain(), Settings(robot, defaults(), simulated=False).given.plain())
    x.blamed, joints, structure = 1, Joints({'n': n, 'm': robot.model.nv}), Structure(x.sizes)
    joints.repeated[1], structure.index[:] = 1.0, np.arange(n)
    return p, x, joints, structure


@pytest.mark.parametrize('name, trusted', [('arm', 1), ('measured five-bar', NOBODY)])
def test_no_model_of_one_joint_stands_in_for_a_sensor_in_a_loop(name, trusted):
    """In a tree the motion of one joint can be predicted; a loop moves others with it."""
    p, x, joints, structure = standstill_of(name)
    trust_model(x, p, joints, structure, NOBODY)
    assert x.lost == trusted
