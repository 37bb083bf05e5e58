# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""States that cannot be true, and speed that hides in them, are faults; fake clock."""

import math
import re

from controller_rig import Arm, MODEL, SPEED
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

pytestmark = pytest.mark.slow

PERIOD = 0.001
START = np.array([0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7])


class Lies(Arm):
    """A standing arm whose messages are changed."""

    def tell(self, duration, message):
        """Send what a function of the number of the message says, until it is noticed."""
        for k in range(round(duration / PERIOD)):
            self.give(*message(k))
            if self.state != 'running':
                return (k + 1) * PERIOD
        return None


@pytest.fixture
def lies():
    """Return an arm that runs."""
    arm = Lies(START, tracking_limits=[10.0], ramp_time=0.1)
    arm.start()
    return arm


def moving(share, joint=0):
    """Return velocities of one joint as a share of its limit."""
    qd = np.zeros(7)
    qd[joint] = share * SPEED[joint]
    return qd


# -- over-speed that hides --------------------------------------------------------------------


@pytest.mark.parametrize('hidden', ['one in four is nan', 'one in four is zero', 'all are nan'])
def test_over_speed_does_not_hide(lies, hidden):
    """A joint at 1.6 times its limit is found soon, whatever its velocities leave out."""
    qd = moving(1.6)

    def message(k):
        told = qd.copy()
        if hidden == 'all are nan' or k % 4 == 3:
            told[0] = 0.0 if 'zero' in hidden else np.nan
        return START + k * PERIOD * qd, told
    found = lies.tell(0.5, message)
    assert found is not None and found <= 0.08
    assert lies.causes[0] is Cause.OVER_SPEED
    assert 'joint_1: velocity' in lies.fault


@pytest.mark.parametrize(('joint', 'positions', 'velocities', 'within', 'cause', 'text'), [
    (2, -3.0, 0.0, 0.06, Cause.IMPLAUSIBLE, 'joint_3: its positions change at .* velocity is 0'),
    (2, 1.2, 0.0, 0.12, Cause.IMPLAUSIBLE, 'joint_3: its positions change at .* velocity is 0'),
    (0, 1.35, 0.98, 0.2, Cause.OVER_SPEED, 'joint_1: velocity of its positions'),
    (0, 0.0, 0.8, 0.2, Cause.IMPLAUSIBLE, ''),      # the other way round it is no motion either
    (0, 0.4, -0.4, 1.0, Cause.IMPLAUSIBLE, '')])    # while it is commanded to move back
def test_positions_and_velocities_that_disagree(lies, joint, positions, velocities, within, cause,
                                                text):
    """Shares of the velocity limit: a fault in time, which names joint and numbers."""
    qd = moving(positions, joint)
    found = lies.tell(1.0, lambda k: (START + k * PERIOD * qd, moving(velocities, joint)))
    assert found is not None and found < within
    assert lies.causes[0] is cause and re.search(text, lies.fault)
    assert lies.state == ('braking' if cause is Cause.OVER_SPEED else 'state lost')


@pytest.mark.parametrize('lag', [0.0, 0.03])
def test_honest_robots_are_believed(lies, lag):
    """Noise, quantised positions and velocities 30 ms late are tolerated at full speed."""
    rng = np.random.default_rng(2)
    speed, place = np.zeros(7), START.copy()

    def gentle(k):
        t = k * PERIOD
        wanted = 0.85 * SPEED * np.sin(5.0 * t)
        place[:] += PERIOD * wanted
        speed[:] += (wanted - speed) * (PERIOD / (PERIOD + lag))
        noise = rng.normal(size=(2, 7))
        return (np.round(place / 2e-3) * 2e-3 + 1e-3 * noise[0], speed + 0.02 * noise[1])
    assert lies.tell(3.0, gentle) is None, lies.fault


def test_one_absurd_velocity_is_soon_forgotten(lies):
    """A velocity without any sense is no reason to doubt the positions after it."""
    assert lies.tell(0.5, lambda k: (START, moving(1e200 if k == 5 else 0.0))) is None


# -- an arm that really is fast ---------------------------------------------------------------


def throw(arm, acceleration, lag):
    """Accelerate the first joint to five times its limit in 0.4 s; its velocities may lag."""
    arm.still, speed = True, 0.0
    for _ in range(round(0.4 / arm.period)):
        before, speed = speed, min(speed + acceleration * arm.period, 5.0 * SPEED[0])
        arm.q = arm.q + np.eye(7)[0] * 0.5 * (before + speed) * arm.period
        arm.qd[0] += (speed - arm.qd[0]) * arm.period / (arm.period + lag)
        arm.run(arm.period)


@pytest.mark.parametrize('period, lag, acceleration', [
    (0.001, 0.0, 500.0), (0.001, 0.02, 300.0), (0.004, 0.0, 500.0), (0.01, 0.0, 300.0),
    (0.001, 0.03, 900.0), (0.004, 0.03, 900.0), (0.008, 0.03, 500.0),
    (0.004, math.nan, 1500.0), (0.008, math.nan, 600.0), (0.01, math.nan, 500.0)])
def test_a_fast_arm_is_braked_and_not_called_a_bad_sensor(period, lag, acceleration):
    """
    Motion at five times the limit that successive positions agree on is over-speed.

    The velocities are those of the positions, filtered, or missing.
    """
    arm = Arm((-2.5, *START[1:]), period=period, minimum_rate=50.0)
    arm.start()
    throw(arm, acceleration, lag)
    assert arm.state == 'braking'
    assert arm.causes == [Cause.OVER_SPEED]
    assert arm.controller.x.joints.qd[0] > 4.8 * SPEED[0]


@pytest.mark.parametrize('lag', [0.01, 0.03, 0.045])
@pytest.mark.parametrize('after', [0.0, -0.5])
def test_a_fast_arm_that_is_caught_is_no_bad_sensor(lag, after):
    """Filtered velocities fall for longer than the joint is beyond its limit: they follow it."""
    arm = Arm((-2.5, *START[1:]), period=0.004)
    arm.start()
    throw(arm, 300.0, lag)
    for k in range(100):  # from five times its limit to rest, or back, within 20 ms
        speed = SPEED[0] * max(after, 5.0 - k)
        arm.q = arm.q + np.eye(7)[0] * speed * arm.period
        arm.qd[0] += (speed - arm.qd[0]) * arm.period / (arm.period + lag)
        arm.run(arm.period)
    assert arm.causes == [Cause.OVER_SPEED]


@pytest.mark.parametrize('share', [0.0, 0.5, -1.0])
def test_velocities_that_do_not_follow_a_fast_arm_are_implausible(share):
    """Beyond the velocity limit they may be late, but not wrong."""
    arm = Arm((-2.5, *START[1:]))
    arm.start()
    arm.still = True
    for _ in range(200):
        arm.q = arm.q + np.eye(7)[0] * 3.0 * SPEED[0] * arm.period
        arm.qd[0] = 3.0 * share * SPEED[0]
        arm.run(arm.period)
    assert Cause.IMPLAUSIBLE in arm.causes


def test_velocities_differenced_from_a_jump_prove_nothing(lies):
    """A driver that differences the positions of a failing sensor agrees with each jump."""
    jump = 0.3 * np.eye(7)[3]
    found = lies.tell(0.2, lambda k: (START + (k >= 1) * jump, (k == 1) * jump / PERIOD))
    assert found is not None and found < 0.05
    assert lies.causes[0] is Cause.IMPLAUSIBLE
    assert 'joint_4 jumped from -1.2 rad to -0.9 rad' in lies.fault


# -- positions --------------------------------------------------------------------------------


@pytest.mark.parametrize('size', [0.7, -0.06])
def test_one_bad_position_is_left_out(lies, size):
    """A glitch moves no torque: the state before it and the one after it count."""
    away = np.zeros(7)
    away[3] = size
    torques = [len(lies.sent)]

    def message(k):
        torques.append(len(lies.sent))
        return START + (k == 20) * away, np.zeros(7)
    assert lies.tell(0.3, message) is None
    steps = np.diff(torques[1:])
    assert steps.sum() == len(steps) - 1  # all states but one were answered


def test_a_joint_far_outside_its_limits(lies):
    """A joint that leaves its range step by step, as no joint does, is found."""
    qd = moving(0.5, 3)
    found = lies.tell(3.0, lambda k: (START + k * PERIOD * qd, qd))
    beyond = (MODEL.upper[3] - MODEL.lower[3]) * 0.1 + 0.1
    expected = (MODEL.upper[3] + beyond - START[3]) / qd[3]
    assert found == pytest.approx(expected + 0.02, abs=0.01)
    assert lies.causes[0] is Cause.IMPLAUSIBLE
    assert 'joint_4 is at' in lies.fault and 'outside its limits' in lies.fault


# -- two sources of one joint -----------------------------------------------------------------


@pytest.mark.parametrize('ahead', [0.0, 1.0, -1.0])
def test_second_publisher_of_the_same_joints(lies, ahead):
    """Two publishers 0.8 rad apart, whatever their clocks: a fault that names the joint."""
    other = START.copy()
    other[1] += 0.8

    def message(k):
        if k % 2 == 0:
            return START, np.zeros(7)
        return other, np.zeros(7), (), lies.time + PERIOD + 1e4 + ahead
    found = lies.tell(1.0, message)
    assert found is not None and found < 0.12
    assert 'joint_2 jumped from' in lies.fault
    assert 'two publishers' in lies.fault


@pytest.mark.parametrize('every, off', [(5, 0.4), (23, -1.1), (90, 0.2)])
def test_a_second_publisher_that_is_much_slower(lies, every, off):
    """However few its messages among those of the first one, the eleventh is a fault."""
    other = START.copy()
    other[4] += off
    found = lies.tell(1.5, lambda k: (other if k % every == every - 1 else START, np.zeros(7)))
    assert found == pytest.approx(11 * every * PERIOD, abs=1.5 * PERIOD)
    assert lies.causes[0] is Cause.IMPLAUSIBLE
    assert 'joint_5 jumped from' in lies.fault


def test_a_sensor_that_errs_now_and_then_is_borne(lies):
    """A wrong message every 1.1 s, and nine at once, are left out without a fault."""
    other = START.copy()
    other[4] += 0.3
    bad = {*range(100, 10_000, 1100), *range(3000, 3036, 4)}
    assert lies.tell(8.0, lambda k: (other if k in bad else START, np.zeros(7))) is None


def test_one_joint_in_two_messages():
    """A joint that another kind of message has elsewhere: both kinds are named."""
    arm = Arm(mode='computed_torque')
    arm.start()
    arm.run(0.1)
    for _ in range(100):
        arm.run(PERIOD)
        arm.receive([arm.q[2] + 0.8, 0.0], [0.0, 0.0], names=('joint_3', 'finger'))
        if arm.state != 'running':
            break
    assert arm.causes == [Cause.IMPLAUSIBLE]
    assert 'joint_3 has two sources that disagree: 0.3 rad in messages of ' in arm.fault
    assert 'joint_1' in arm.fault and 'finger' in arm.fault
    np.testing.assert_allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), atol=1e-9)


def test_a_new_layout_is_no_second_source():
    """A driver that changes the order of its joints once is tolerated without a message."""
    arm = Arm()
    arm.start()
    for _ in range(200):
        arm.time += PERIOD
        arm.receive(arm.q[::-1], arm.qd, names=arm.robot.joints[::-1])
    assert arm.state == 'running'
    assert not arm.warnings


def test_two_sources_do_not_start():
    """Where two publishers disagree from the beginning, no torque leaves at all."""
    arm = Arm()
    arm.activate()
    for k in range(3000):
        arm.time += PERIOD
        q = arm.q + (0.8 if k % 2 else 0.0)
        arm.receive(q, arm.qd)
        arm.tick()
    assert arm.state == 'probing' and not arm.sent
    assert 'joint_1 jumped' in arm.controller.missing_states()
