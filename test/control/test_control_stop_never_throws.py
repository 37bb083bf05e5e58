# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A stop never throws the arm, however late and coarse its states are: a sample of the campaign.

``python -m benchmark.stop_campaign`` runs all cases of four robots.
"""

from __future__ import annotations

from collections import deque

from benchmark.stop_campaign import Case, moving, run_case, unsaid_case
from controller_rig import Arm, ARM
import numpy as np
import pinocchio as pin
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.laws.notices import notices
from rbd_ros.control.observers.torque_history import TorqueHistory

#: light wrists without rotors: dampers per joint made 1.3 to 17 of these speeds
SAMPLE = (
    Case('built-in', False, 0.0, 100.0, 'velocities', 0),
    Case('built-in', False, 0.02, 300.0, 'positions', 1, 'commands'),
    Case('built-in', False, 0.05, 300.0, 'velocities', 0),
    Case('panda', False, 0.0, 300.0, '10 bit', 1, 'commands'),
    Case('panda', False, 0.02, 300.0, 'velocities', 1, 'commands'),
    Case('panda', False, 0.05, 100.0, '10 bit', 0))


#: ends before its stop: the steps of the other sensors are taken for accelerations
ACCUSED = pytest.mark.xfail(
    strict=True, reason='a light robot with encoders of 10 bits looks as if the sensor of its '
    'first joint were frozen: it is stopped and released')


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('case', [
    pytest.param(case, marks=[ACCUSED] * (case == SAMPLE[3]), id=str(case)) for case in SAMPLE])
def test_no_joint_is_thrown(case):
    """No joint exceeds 1.1 times its speed or 10 % of its limit, and energy does not grow."""
    result = run_case(case)
    print(result)
    assert result.states[-2:] == ('braking', 'holding')
    assert result.speed <= 1.1
    assert result.energy <= 1.01
    assert result.left <= 0.2


#: cases thrown at 5 to 270 times their speeds by dampers that were made for the rate alone, and
#: not told of a delay below 10 ms, and others at random
UNSAID_CASES = (
    Case('panda', False, 0.007, 1000.0, 'velocities', 1),
    Case('panda', False, 0.005, 1000.0, 'positions', 753),
    Case('built-in', False, 0.004, 1000.0, 'positions', 196),
    Case('built-in', False, 0.009, 1000.0, 'velocities', 471),
    Case('built-in', False, 0.0075, 500.0, 'positions', 365),
    *(unsaid_case(seed, ('built-in', 'panda')) for seed in range(5)))


@pytest.mark.sampled('simulations', 3)
@pytest.mark.parametrize('case', UNSAID_CASES, ids=str)
def test_a_delay_that_nobody_says_throws_nothing_either(case):
    """What is not reported is harmless, and what is reported is known from the first torque on."""
    result = run_case(case, seen=True, delay=0.0)
    print(result)
    assert result.states[-2:] == ('braking', 'holding')
    assert result.speed <= 1.1
    assert result.energy <= 1.01


@pytest.mark.parametrize('late', [0.009, 0.03])
def test_a_delay_that_begins_before_the_stop_throws_nothing(late):
    """States that fall behind once the robot moves are seen while it brakes."""
    arm = moving(Case('built-in', False, 0.0, 1000.0, 'velocities', 1), seen=True, delay=0.0)
    arm.seen = deque(arm.seen, maxlen=1 + round(late / 0.5e-3))
    arm.stop()
    first, limits = len(arm.qd), arm.settings.velocity_limits
    arm.run(1.5)
    assert arm.states[-1] == 'holding'
    assert arm.controller.x.design.delay == pytest.approx(late)
    speed = np.abs(arm.qd[first - 1:])
    begin = speed[:1 + round((late + 0.001) / 0.5e-3)].max(axis=0)
    assert (speed <= 1.1 * np.maximum(begin, 0.1 * limits)).all()


def test_a_fault_does_not_throw_the_arm_either():
    """A robot that is too fast is braked in a hurry only if its states are not late."""
    result = run_case(SAMPLE[2], cause=Cause.OVER_SPEED)
    assert result.speed <= 1.1
    assert result.energy <= 1.01


def test_a_frozen_joint_is_predicted_beside_late_states():
    """What stands in for a sensor is where the joint is now, though the others are seen late."""
    arm, i = moving(Case('built-in', False, 0.02, 1000.0, 'velocities', 1)), 1
    x, send = arm.controller.x, arm.send_state
    arm.stop()
    arm.run(0.03)
    place = float(arm.seen[0][1][i])

    def send_frozen(measured, q, qd):
        others = np.arange(7) != i
        send(measured, np.where(others, q, place), others * qd)

    arm.send_state = send_frozen
    arm.run(0.003)
    x.standstill.place, x.standstill.lost = place, i
    x.standstill.unseen.way[i] = arm.plant.position[i] - place
    x.standstill.unseen.speed[i] = arm.plant.velocity[i]
    x.standstill.unseen.friction[i] = 0.0  # as who set it in motion has left none
    arm.controller.p.observer.usual_share[:] = 0.0  # no load is known of it
    arm.run(0.1)
    assert arm.states[-1] == 'braking'
    way = arm.plant.position[i] - place
    assert abs(way) > 0.05
    assert x.standstill.unseen.way[i] == pytest.approx(way, rel=0.05)


def braked(qd, load, **values):
    """Return an arm that shows a load, and goes on moving for 0.3 s as if nothing braked it."""
    arm = Arm(velocity_filter=0.0, **values)
    arm.activate()
    arm.run(0.5)
    arm.qd = np.array(qd)
    arm.run(0.02)
    arm.stop()
    arm.each = lambda _: np.copyto(arm.load, load)
    arm.run(0.3)
    assert arm.state == 'braking'
    return arm


@pytest.mark.parametrize('delay', [0.0, 0.02])
def test_the_brake_lets_every_velocity_decay_alike(delay):
    """The torque of a stop is inverse dynamics of -r qd, by Pinocchio, where the arm is by now."""
    load = np.array([0.5, -2.0, 0.3, 1.0, -0.2, 0.1, 0.05])
    arm = braked([0.3, -0.2, 0.25, 0.4, -0.3, 0.2, -0.5], load, delay=delay, brake_damping=[0.0])
    x, late = arm.controller.x, delay + 0.0005
    rate = x.design.brake_rate
    assert rate == 10.0
    assert x.design.late == pytest.approx(late)
    model = pin.buildModelFromUrdf(str(ARM))
    share = np.exp(-rate * late)
    q = x.joints.q + (delay > 0.0) * 0.5 * (1.0 + share) * late * arm.qd
    wanted = pin.rnea(model, model.createData(), q, share * arm.qd, -rate * share * arm.qd)
    np.testing.assert_allclose(x.command.torque.wanted, wanted - load, rtol=0.0, atol=1e-9)


def test_a_joint_that_is_too_fast_for_the_decay_is_damped():
    """Only what it is faster than the decay allows feels its damper, in its own direction."""
    torques, excess = [], 0.0
    for damping in (0.02, 0.0):
        arm = braked([0.0] * 6 + [-0.6], 0.0, brake_damping=[damping])
        torques.append(arm.controller.x.command.torque.wanted)
        excess = 0.6 * np.exp(-10.0 * 0.0005) - arm.controller.x.brake.allowed[6]
    assert excess > 0.2
    np.testing.assert_allclose(torques[0] - torques[1], [0.0] * 6 + [0.02 * excess], atol=1e-12)


def test_history_gives_the_mean_of_what_was_sent():
    """Any mean is that of the steps, by a fine sum; of what is not known there is none."""
    rng = np.random.default_rng(3)
    history, found = TorqueHistory({'n': 2}), np.zeros(2)
    times = np.cumsum(rng.uniform(0.5e-3, 2e-3, 200))
    torques = rng.standard_normal((200, 2))
    assert not history.find_mean(0.0, 1.0, found)
    begin = times[5]
    for k, (time, torque) in enumerate(zip(times, torques)):
        history.note(time, torque, 0.1)
        end = time - rng.uniform(0.0, 5e-3)
        if end <= begin + 1e-4:
            assert not history.find_mean(times[0] - 1e-3, end, found)
            continue
        fine = begin + (np.arange(4000) + 0.5) * (end - begin) / 4000
        mean = torques[np.searchsorted(times[:k + 1], fine, side='right') - 1].mean(axis=0)
        assert history.find_mean(begin, end, found)
        np.testing.assert_allclose(found, mean, atol=5e-3)
        begin = end
    history.clear()
    assert not history.find_mean(begin, begin + 1.0, found)


@pytest.mark.parametrize(('values', 'rate'), [
    ({}, 10.0), ({'delay': 0.02, 'velocity_filter': 0.0}, 10.0),
    ({'delay': 0.02, 'velocity_filter': 0.0, 'brake_rate': 100.0}, 0.45 / 0.0215),
    ({'delay': 0.05, 'velocity_filter': 0.01}, 0.45 / 0.0615)])
def test_the_rate_is_made_for_the_delay(values, rate):
    """It is bounded by delay, period and filter; a notice says so where it was asked for."""
    controller = Arm(**values).controller
    assert controller.x.design.brake_rate == pytest.approx(rate)
    said = any('brake_rate is reduced from' in text for text in notices(controller.settings))
    assert said == (rate < 10.0 or 'brake_rate' in values)
