# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A sensor that freezes is found, its joint is braked by the model; what only blocks a joint is not.

MuJoCo is the robot. A sample of ``python -m benchmark.frozen_sensors``, which tries every joint.
"""

from __future__ import annotations

from benchmark.frozen_sensors import drawn, failing, RATE, Trial
from controller_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Joints, NOBODY
from rbd_ros.control.joint_states.acceptance import count_repeats, Repeats, repeats_nothing, stuck

pytestmark = pytest.mark.slow

PERIOD = 0.001


# -- frozen ---------------------------------------------------------------------------------------


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('joint, cause, after, angle, peak', [
    (0, 'FROZEN', 0.07, 0.06, 0.8), (1, 'FROZEN', 0.07, 0.06, 0.8), (4, 'FROZEN', 0.07, 0.06, 0.6),
    (6, 'FROZEN', 0.1, 0.13, 0.8)])
def test_a_joint_that_freezes_in_a_trajectory(joint, cause, after, angle, peak):
    """The others feel what it does; the last one, which nobody feels, may be 0.05 rad behind."""
    found = failing('built-in', 'computed_torque', 'exact', joint)
    assert found.cause.split('+')[0] == cause
    assert found.after <= after and found.angle <= angle
    assert found.peak <= peak  # of the velocity limit, whatever follows


@pytest.mark.parametrize('joint', [4, 5, 6])
def test_a_wrist_that_freezes_in_operational_space(joint):
    """No joint has a reference; a halt that friction does not explain, and did not happen, has."""
    found = failing('built-in', 'operational_space', 'exact', joint)
    assert found.after <= 0.2 and found.angle <= 0.15
    assert found.peak <= 1.1


@pytest.mark.parametrize('joint, mode', [(6, 'operational_space'), (3, 'gravity_compensation')])
def test_a_sensor_with_noise_cannot_repeat_itself(joint, mode):
    """Where noise was seen, 20 ms of the same position are enough, in every mode."""
    found = failing('built-in', mode, 'noisy', joint)
    assert found.cause.startswith('FROZEN')
    assert found.after <= 0.025
    assert found.peak <= 1.1


def test_the_model_brakes_a_frozen_joint():
    """Its motion is predicted: it comes to rest, though its sensor says that it never moved."""
    trial = Trial('built-in', 'computed_torque')
    trial.begin()
    trial.move()
    trial.run(0.2)
    trial.frozen = 1
    for _ in range(50):
        trial.run(1.0 / RATE)
        if trial.state != 'running':
            break
    speed = abs(trial.plant.velocity[1])
    trial.run(0.25)
    assert trial.state == 'braking'
    assert abs(trial.plant.velocity[1]) < 0.7 * speed
    predicted = trial.controller.x.joints.qd[1]
    assert abs(predicted - trial.plant.velocity[1]) < 0.1 * speed
    trial.run(0.3)
    assert trial.state == 'fault'  # it is never held


def test_a_reset_believes_the_sensor_again():
    """An arm that was put elsewhere after its sensor froze starts from where it is."""
    arm, rng = Arm(mode='computed_torque', ramp_time=0.1), np.random.default_rng(2)
    place, frozen = arm.q.copy(), False

    def measure(_):
        arm.q = place + 1e-5 * rng.standard_normal(7)
        if frozen:
            arm.q[2] = place[2]
    arm.each = measure
    arm.restart()
    frozen = True
    arm.run(0.05)
    assert arm.causes == [Cause.FROZEN]
    arm.run(2.0)
    assert arm.state == 'fault'
    frozen = False
    place[2] += 0.5
    assert arm.reset() == ''
    arm.run(0.3)
    assert arm.state == 'running', arm.fault
    reference = arm.controller.x.references.joint.profile.state[0]
    np.testing.assert_allclose(reference, place, atol=1e-3)


def test_a_joint_that_is_held_beside_a_frozen_sensor_is_not_predicted():
    """The noise of one sensor ends; another joint, held against its law, is where it says."""
    arm = Arm(mode='computed_torque', ramp_time=0.1, tracking_limits=[10.0])
    place, rng, frozen = arm.q.copy(), np.random.default_rng(3), False

    def measure(_):
        arm.q = place.copy()
        arm.q[2] += 0.0 if frozen else 1e-5 * rng.standard_normal()
    arm.each = measure
    arm.restart()
    arm.set_point(place + 0.3 * np.eye(7)[5])
    arm.run(0.05)
    frozen = True
    arm.run(0.12)       # nothing else has noise, so whole messages are the same
    assert arm.causes == [Cause.FROZEN]
    assert 'joint_3 repeats' in arm.fault
    assert not arm.controller.x.joints.qd.any()


#: of failures that were found late or never, at 2.1 to 18 times the limit
DRAWN = [('built-in', 'computed_torque', 12), ('built-in', 'computed_torque', 18),
         ('built-in', 'operational_space', 15), ('panda', 'computed_torque', 12),
         ('panda', 'operational_space', 22), ('panda', 'operational_space', 24),
         ('ur5', 'computed_torque', 17), ('ur5', 'operational_space', 5)]


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('name, mode, seed', DRAWN)
def test_a_sensor_that_freezes_at_random(name, mode, seed):
    """In random motions, at random moments, with random friction and encoders."""
    trial, joint = drawn(name, mode, 'freezes', seed)
    assert trial.state == 'running', trial.fault
    found = trial.fail(2.5)
    assert found.cause.startswith('FROZEN')
    assert trial.robot.joints[joint] in trial.fault
    assert found.peak <= 1.5


# -- held -----------------------------------------------------------------------------------------


def braked(trial, joint):
    """Close the brake of one joint."""
    model = trial.plant.model
    model.dof_frictionloss[joint] = 500.0
    model.dof_solref[joint, 0] = 2.0 * trial.plant.options.step
    model.dof_solimp[joint, :2] = 0.9999


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('what, sensor', [
    ('one brake', 'coarse'), ('all brakes', 'exact'), ('a wall', 'coarse'),
    ('all brakes, one joint asked', 'exact')])
def test_what_holds_a_joint_is_no_frozen_sensor(what, sensor):
    """A joint that is blocked lags behind at most; its sensor is not to blame."""
    plant = {'plate_below': 0.003} if what == 'a wall' else {}
    trial = Trial('built-in', 'computed_torque', sensor, plant=plant, tracking_limits=[10.0])
    trial.opens = 'all brakes' not in what
    trial.begin()
    if what == 'one brake':
        braked(trial, 3)
    if 'asked' in what:  # its law has the torques that a joint 2 in motion would need
        trial.follow(trial.plant.position + 0.5 * np.eye(7)[1], 0.5)
    else:
        trial.move(0.3, 0.5)
    trial.run(0.7)
    assert trial.state == 'running', trial.fault


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('seed', [4, 5, 8, 9, 10])
def test_friction_is_no_frozen_sensor(seed):
    """
    Joints that stick, break loose and stick again, with encoders of 16 bits, work on.

    Dry friction has 1 to 8 % of the torque limits, which the controller does not know.
    """
    friction = np.random.default_rng(seed).uniform(0.01, 0.08, 7)
    effort = [87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0]
    trial = Trial('panda', 'computed_torque', 'coarse', seed=seed, plant={
        'friction': (friction * effort).tolist(), 'hard_friction': True})
    trial.begin()
    for _ in range(2):
        trial.wander()
        trial.run(0.8)
        assert trial.state == 'running', trial.fault


@pytest.mark.parametrize('joint, causes', [(3, []), (5, [Cause.FROZEN]), (6, [Cause.FROZEN])])
def test_a_brake_that_closes_in_motion(joint, causes):
    """The others feel the halt, so the sensor is right; of the last ones they feel too little."""
    trial = Trial('built-in', 'computed_torque', 'coarse')
    trial.begin()
    trial.move(0.3, 0.5)
    trial.run(0.2)
    braked(trial, joint)
    trial.run(0.5)
    assert trial.causes == causes
    if causes:
        assert f'joint_{joint + 1}' in trial.fault
        assert trial.state != 'holding'  # its sensor may be frozen


# -- sensors with and without noise ---------------------------------------------------------------


def test_one_repeated_position_of_a_moving_joint_is_no_standstill():
    """A coarse encoder repeats itself now and then."""
    arm = Arm(mode='computed_torque', ramp_time=0.1)
    q, qd = arm.q.copy(), np.zeros(7)
    arm.controller.post(arm.controller.activate)
    for _ in range(400):
        arm.give(q, qd)
    qd[6] = 0.5
    for _ in range(200):  # somebody moves the wrist away from its reference
        q[6] += qd[6] * PERIOD
        arm.give(q, qd)
    qd[6] = 0.01
    for k in range(400):
        q += 1e-6 * (k % 60 > 0)
        q[6] += qd[6] * PERIOD * (k % 60 > 0)
        arm.give(q, qd)
    assert arm.state == 'running', arm.fault


# -- what noise shows -----------------------------------------------------------------------------


class Sensors:
    """Two joints whose sensors have been watched, the second of which has noise."""

    def __init__(self, values, messages=400):
        self.repeats, self.joints = Repeats({'n': 2}), Joints({'n': 2, 'm': 2})
        rng, last = np.random.default_rng(1), None
        for k in range(messages):
            q = np.array([values(k, rng), rng.standard_normal()])
            if last is not None:
                self.take(*(q - last))
            last = q
        self.repeats.learning = 0.0

    def take(self, *steps, elapsed=PERIOD):
        """Take a message."""
        count_repeats(self.repeats, self.joints, np.ones(2), np.array(steps), np.full(2, elapsed))

    @property
    def stuck(self):
        """Place of a sensor that has repeated itself for 20 ms, or longer with all others."""
        return stuck(self.repeats, 0.02)


@pytest.mark.parametrize('noisy, values', [
    (True, lambda k, rng: 1e-5 * rng.standard_normal()),
    (True, lambda k, rng: 1e-3 * k + 1e-2 * rng.standard_normal()),
    (False, lambda k, rng: 0.3),  # it stands
    (False, lambda k, rng: 1e-3 * k),  # it moves
    (False, lambda k, rng: 1e-3 * (k // 7)),  # it moves in steps
    (False, lambda k, rng: 1e-4 * round(float(rng.standard_normal()))),  # the last digit flickers
    (False, lambda k, rng: 1e-12 * rng.standard_normal())])  # rounding errors
def test_which_sensors_have_noise(noisy, values):
    """Only of a sensor that goes up and down, never to the same value, is it known."""
    sensors = Sensors(values)
    assert sensors.joints.unusual.tolist() == [noisy, True]
    for _ in range(30):
        sensors.take(0.0, 0.1)
    assert sensors.stuck == (0 if noisy else NOBODY)


def test_a_driver_that_reads_slowly_is_not_frozen():
    """Messages of old positions of all joints are no frozen sensor; one joint alone is."""
    sensors = Sensors(lambda k, rng: 1e-5 * rng.standard_normal())
    for k in range(1, 400):     # 500 Hz, read at 40 Hz
        step = 0.1 * (k % 13 == 0)
        sensors.take(step, -step, elapsed=0.002)
        assert sensors.stuck == NOBODY
    for k in range(1, 40):
        sensors.take(0.0, 0.1 * (k % 13 == 0), elapsed=0.002)
    assert sensors.stuck == 0
    for _ in range(60):         # a bus that has stopped
        sensors.take(0.0, 0.0, elapsed=0.002)
    assert sensors.stuck != NOBODY


def test_a_sensor_that_repeats_itself_sometimes_proves_nothing():
    """Three equal messages show that more are possible; a message sent twice shows nothing."""
    sensors = Sensors(lambda k, rng: 1e-5 * rng.standard_normal())
    for _ in range(10):
        sensors.take(0.0, 0.0)  # all of it once more
    sensors.take(1e-5, 1e-5)
    assert sensors.joints.unusual.all() and repeats_nothing(sensors.repeats)
    for step in (0.0, 0.0, 0.0, 1e-5):
        sensors.take(step, 1e-5)
    assert sensors.joints.unusual.tolist() == [False, True]


def test_the_last_change_of_a_standing_arm_is_no_fault():
    """A simulated arm without noise comes to rest in a hold, and stays there."""
    arm = Arm(mode='hold')
    arm.restart()
    arm.external = np.zeros(7)
    arm.run(0.3)
    assert arm.state == 'running', arm.fault
