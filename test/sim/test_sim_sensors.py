# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is read of a simulated robot: noise, encoder steps, latency, losses, mimic joints."""

from pathlib import Path

import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.errors import SettingError
from rbd_ros.sim import DelayLine, Imperfections, Physics, Sensors, SimulatedRobot
from rbd_ros.sim.sensors import EFFORT_SOURCES, VELOCITY_SOURCES

HERE = Path(__file__).parents[1]
ARM = HERE.parent / 'urdf' / 'seven_joint_arm.urdf'
BENT = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])
MS = 1_000_000


@pytest.fixture(scope='module')
def robot():
    """Return the built-in arm, bent."""
    robot = SimulatedRobot(load_urdf(ARM))
    robot.place(BENT, np.linspace(-1.0, 1.0, 7))
    return robot


def readings(robot, count, **imperfections):
    """Return readings at each millisecond of a robot that stands still in its state."""
    sensors = Sensors(robot, Imperfections(**imperfections))
    samples = []
    for k in range(1, count + 1):
        sensors.read(k * MS)
        samples += sensors.delivered(k * MS)
    return samples


def test_perfect_reading(robot):
    """Without imperfections a reading is the state itself, in the order of the joint names."""
    sensors = Sensors(robot, Imperfections())
    sensors.read(5 * MS)
    sample, = sensors.delivered(5 * MS)
    assert sensors.names == robot.model.joint_names
    assert sample.time_ns == 5 * MS
    assert (sample.position == robot.q).all() and (sample.velocity == robot.v).all()
    assert (sample.effort == robot.motor_torque).all() and sample.base.shape == (0,)


def test_noise_has_its_deviation_and_its_seed(robot):
    """Noise has zero mean and the stated deviation, and the same seed gives the same noise."""
    samples = readings(robot, 4000, position_noise=1e-3, velocity_noise=0.02, seed=4)
    position = np.array([s.position for s in samples]) - robot.q
    velocity = np.array([s.velocity for s in samples]) - robot.v
    # 28000 numbers: the deviation is known to 0.4 %, the mean to 0.6 % of it; five times that.
    assert position.std() == pytest.approx(1e-3, rel=0.025)
    assert abs(position.mean()) < 3e-5
    assert velocity.std() == pytest.approx(0.02, rel=0.025)
    again = readings(robot, 50, position_noise=1e-3, velocity_noise=0.02, seed=4)
    other = readings(robot, 50, position_noise=1e-3, velocity_noise=0.02, seed=5)
    assert all((a.position == b.position).all() for a, b in zip(again, samples))
    assert not (again[0].position == other[0].position).any()


def test_noise_per_joint(robot):
    """A list gives each joint its own noise; zero leaves a joint exact."""
    samples = readings(robot, 20, position_noise=[0.0, 1e-3, 0.0, 0.0, 0.0, 0.0, 0.0])
    position = np.array([s.position for s in samples])
    assert (position[:, [0, 2, 3, 4, 5, 6]] == robot.q[[0, 2, 3, 4, 5, 6]]).all()
    assert position[:, 1].std() > 0.0


def test_encoder_steps(robot):
    """Positions are whole multiples of the resolution, off by half of it at most."""
    step = 2.0 * np.pi / 4096
    sample, = readings(robot, 1, resolution=step)
    counts = sample.position / step
    assert counts == pytest.approx(np.round(counts), abs=1e-9)
    assert np.abs(sample.position - robot.q).max() <= 0.5 * step


def test_velocity_from_positions():
    """Velocity by difference is the change of the readings over the time between them."""
    robot = SimulatedRobot(load_urdf(ARM), physics=None)
    robot.place(BENT, np.full(7, 0.5))
    sensors = Sensors(robot, Imperfections(velocity='difference', resolution=1e-4))
    sensors.read(0)
    first, = sensors.delivered(0)
    before = first.position
    assert not first.velocity.any()
    for k in range(1, 4):
        robot.step(1e-3)
        sensors.read(k * MS)
        sample, = sensors.delivered(k * MS)
        assert sample.velocity == pytest.approx((sample.position - before) / 1e-3, abs=1e-9)
        before = sample.position


def test_reset_forgets_what_was_read():
    """Nothing of the time before arrives or counts; nor does a second reading at one time."""
    robot = SimulatedRobot(load_urdf(ARM), physics=None)
    robot.place(BENT)
    sensors = Sensors(robot, Imperfections(velocity='difference', latency=2e-3))
    sensors.read(1 * MS)
    sensors.reset()
    robot.place(np.add(BENT, 0.1))
    for _ in range(2):
        sensors.read(5 * MS)
    samples = sensors.delivered(9 * MS)
    assert [s.time_ns for s in samples] == [5 * MS, 5 * MS]
    assert not any(s.velocity.any() for s in samples)


def test_encoder_steps_of_some_joints(robot):
    """A joint whose step is zero is read as it is."""
    sample, = readings(robot, 1, resolution=[0.07] + [0.0] * 6)
    assert sample.position[1:] == pytest.approx(robot.q[1:], abs=0.0)
    assert sample.position[0] == pytest.approx(0.07 * round(robot.q[0] / 0.07), abs=1e-12)
    assert sample.position[0] != robot.q[0]


def test_missing_velocity_and_effort(robot):
    """A robot that measures neither sends empty fields."""
    sample, = readings(robot, 1, velocity='none', effort='none')
    assert sample.velocity.size == 0 and sample.effort.size == 0


def test_effort_of_motor_or_joint():
    """Under brakes the motors give nothing, while a torque sensor feels gravity."""
    model = load_urdf(ARM)
    robot = SimulatedRobot(model)
    robot.place(BENT)
    robot.brake()
    robot.step(1e-3)
    motor, = readings(robot, 1)
    joint, = readings(robot, 1, effort='joint')
    assert not motor.effort.any()
    from rbd_ros import Dynamics
    assert joint.effort == pytest.approx(Dynamics(model).gravity(BENT), abs=1e-10)


def test_efforts_beside_a_floating_base():
    """Efforts are those of the joints that are read, not of the six velocities of the base."""
    model = load_urdf(ARM, floating_base=True)
    robot = SimulatedRobot(model, backend='reference')      # for a single step
    tau = np.arange(1.0, model.nv + 1.0)
    robot.command(tau)
    robot.step(1e-4)
    sensors = Sensors(robot, Imperfections())
    sensors.read(MS)
    sample, = sensors.delivered(MS)
    assert len(sensors.names) == 7 and sample.base.shape == (13,)
    np.testing.assert_array_equal(sample.effort, robot.motor_torque[6:])
    assert np.unique(sample.effort).size == 7


def test_latency(robot):
    """A reading arrives when its latency is over, with the time at which it was taken."""
    sensors = Sensors(robot, Imperfections(latency=3e-3))
    arrived = []
    for k in range(1, 8):
        sensors.read(k * MS)
        arrived += [(k, s.time_ns // MS) for s in sensors.delivered(k * MS)]
    assert arrived == [(4, 1), (5, 2), (6, 3), (7, 4)]


def test_losses(robot):
    """Readings are lost with the stated probability, in runs of the stated length."""
    samples = readings(robot, 5000, loss=0.05, loss_length=3, seed=1)
    gaps = np.diff([s.time_ns // MS for s in samples]) - 1
    lost = gaps[gaps > 0]
    assert (lost % 3 == 0).all()
    # Each delivered reading is followed by a run with 5 %: about 220 runs, deviation 15.
    assert 5000 / 1.15 * 0.05 == pytest.approx(lost.sum() / 3, abs=75)


def test_mimic_joints_are_read():
    """A joint that follows another is published at its own position and velocity."""
    model = load_urdf(HERE / 'urdf' / 'mimic_gripper.urdf')
    robot = SimulatedRobot(model, physics=Physics.of(model, friction=0.0, damping=0.0))
    q = np.array(robot.q)
    q[model.position_order(['left'])] = 0.02
    v = np.zeros(model.nv)
    v[model.velocity_order(['left'])] = 0.1
    robot.place(q, v)
    sample, = readings(robot, 1)
    named = dict(zip(Sensors(robot, Imperfections()).names, sample.position))
    speeds = dict(zip(model.joint_names, sample.velocity))
    assert named['left'] == 0.02 and named['right'] == -0.02
    assert speeds['left'] == 0.1 and speeds['right'] == -0.1
    assert len(sample.effort) == len(sample.position)


@pytest.mark.parametrize('imperfections', [
    {}, {'resolution': 0.01}, {'resolution': [0.07] + [0.0] * 6},
    {'velocity': 'difference', 'effort': 'joint'}, {'velocity': 'none', 'effort': 'none'}])
def test_a_plain_reading_is_the_same_in_numbers(robot, imperfections):
    """What machine code is told of the sensors gives the reading that Python takes."""
    sensors = Sensors(robot, Imperfections(**imperfections))
    plain, (sample,) = sensors.plain, readings(robot, 1, **imperfections)
    q = plain.from_q @ robot.q + plain.offset
    step = np.where(plain.resolution > 0.0, plain.resolution, 1.0)
    np.testing.assert_allclose(np.where(plain.resolution > 0.0, np.round(q / step) * step, q),
                               sample.position, rtol=0.0, atol=1e-15)
    np.testing.assert_array_equal(plain.resolution, imperfections.get('resolution', 0.0))
    np.testing.assert_array_equal(plain.from_v @ robot.v, robot.v)
    np.testing.assert_array_equal(plain.own, np.arange(7.0))
    assert VELOCITY_SOURCES[plain.velocity] == imperfections.get('velocity', 'measured')
    assert EFFORT_SOURCES[plain.effort] == imperfections.get('effort', 'motor')


@pytest.mark.parametrize('imperfections', [
    {'latency': 1e-3}, {'loss': 0.1}, {'position_noise': 1e-3}, {'velocity_noise': 1e-3},
    {'effort_noise': 1e-3}])
def test_what_hangs_on_time_or_chance_is_not_plain(robot, imperfections):
    """Such a reading is left to Python."""
    assert Sensors(robot, Imperfections(**imperfections)).plain is None


def test_a_plain_reading_of_mimic_joints():
    """A joint that follows is read by the numbers of its leader; it has no effort of its own."""
    model = load_urdf(HERE / 'urdf' / 'mimic_gripper.urdf')
    robot = SimulatedRobot(model)
    plain = Sensors(robot, Imperfections()).plain
    q, v = np.array(robot.q), np.zeros(model.nv)
    q[model.position_order(['left'])], v[model.velocity_order(['left'])] = 0.02, 0.1
    place = dict(zip(Sensors(robot, Imperfections()).names, range(len(plain.own))))
    left, right = place['left'], place['right']
    found, speed = plain.from_q @ q + plain.offset, plain.from_v @ v
    assert (found[left], found[right], speed[left], speed[right]) == (0.02, -0.02, 0.1, -0.1)
    assert plain.own[left] == model.velocity_order(['left'])[0] and plain.own[right] == -1.0


def test_delay_line_keeps_order():
    """Items come out in the order they went in, none before its time."""
    line = DelayLine(10)
    for k in range(5):
        line.put(k, 3 * k)
    assert line.take(9) == []
    assert line.take(16) == [0, 1, 2]
    line.clear()
    assert line.take(1000) == []


@pytest.mark.parametrize('settings, message', [
    ({'latency': -1.0}, 'latency is -1.0; it must be between 0 and 10 s'),
    ({'loss': 1.5}, 'loss is 1.5; it must be a probability'),
    ({'loss_length': 0}, 'loss_length is 0; it must be at least 1'),
    ({'velocity': 'guessed'}, 'source of velocity is "guessed"; it must be one of measured'),
    ({'position_noise': [1.0, 2.0]}, 'position_noise has 2 entries; give one .* or 7'),
    ({'resolution': -1.0}, r'resolution\[0\] is -1.0; it must be zero or more'),
])
def test_messages(robot, settings, message):
    """Wrong settings are refused with their name and what they may be."""
    with pytest.raises(SettingError, match=message):
        Sensors(robot, Imperfections(**settings))
