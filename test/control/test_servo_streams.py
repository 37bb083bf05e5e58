# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Streams of MoveIt Servo, as trajectories and as plain numbers: smooth, at rest when they end."""

import math

from controller_rig import Arm
from hypothesis import given, settings, strategies as st
from moveit_rig import ServoStream
import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.points import STREAM_HORIZON
from rbd_ros.control.references.trajectory import Knots
from reference_rig import JointRig
from sampling import examples

DT, FASTEST, MOST = 0.001, 2.0, 10.0

#: rad/s^2 by which what is asked of a joint may change at once: a share of the limit of the
#: reference, so that the torque makes no step that somebody could feel
STEP = 0.1 * MOST


def path(rng):
    """Return a gentle path of two joints: position and velocity at a time; and how it bends."""
    w, size = 2.0 * math.pi * rng.uniform(0.1, 0.4, 2), rng.uniform(0.02, 0.25, 2)
    return (lambda t: (size * (1.0 - np.cos(w * t)), size * w * np.sin(w * t))), float(
        (size * w * w).max())


class Servoed:
    """
    Two joints under computed torque that follow a stream; what is asked of them is noted.

    With a right model a joint is a double integrator, and what is asked is torque by inertia.
    """

    def __init__(self):
        self.rig = JointRig(velocity=FASTEST, acceleration=MOST)
        self.rig.start(np.zeros(2))
        self.rig.update(0.0)
        self.now, self.last = 0.0, 0.0  # of the last message
        self.asked, self.reference = [], []
        self._q, self._qd = np.zeros(2), np.zeros(2)

    def run(self, messages, seconds):
        """Take messages at their times, and go on."""
        begin, k = self.now, 0
        while self.now < begin + seconds - 0.5 * DT:
            self.now += DT
            while k < len(messages) and messages[k][0] <= self.now:
                messages[k][1](self.now)
                self.last, k = self.now, k + 1
            x, v, a = self.rig.update(self.now)
            self.reference.append((x.copy(), v.copy()))
            self.asked.append(a + 40.0 * (v - self._qd) + 400.0 * (x - self._q))
            self._qd = self._qd + DT * self.asked[-1]
            self._q = self._q + DT * self._qd

    def rest(self):
        """Return how long after the last message the reference came to rest."""
        moved = np.flatnonzero(np.abs([v for _, v in self.reference]).max(axis=1) > 0.0)
        return DT * (moved[-1] + 1) - self.last if len(moved) else 0.0


def delivered(rng, period, seconds, drops, jitter):
    """Return when messages are made and when they come; some never do, never two in a row."""
    made, lost = np.arange(1, round(seconds / period)) * period, False
    for time in made:
        lost = not lost and rng.random() < drops
        yield float(time), math.inf if lost else float(time + jitter * period * rng.random())


RATES = st.sampled_from([20.0, 29.4, 50.0, 100.0, 250.0, 500.0])


@settings(max_examples=examples('properties', 25), deadline=None)
@given(st.integers(0, 2**31), RATES, st.floats(0.0, 0.1), st.floats(0.0, 0.4))
def test_windows_of_servo_are_followed_smoothly(seed, rate, drops, jitter):
    """Each message is a window of commands: no corner where it is joined, and it is on time."""
    rng, period = np.random.default_rng(seed), 1.0 / rate
    at, bend = path(rng)
    latency = max(0.1, 4.0 * period)  # as the page asks for
    servo, robot, messages = ServoStream(period, latency), Servoed(), []
    for made, comes in delivered(rng, period, 1.2, drops, jitter):
        window = servo.command(made, at(made)[0])
        if window is not None and comes < math.inf:
            messages.append((comes, lambda now, w=window: robot.rig.take(now, w[1], w[0])))
    robot.run(messages, 2.5)
    begin, end = round((latency + 4.0 * period + 0.15) / DT), round(robot.last / DT)
    asked = np.array(robot.asked[begin:end])
    if len(asked) > 50:
        assert np.abs(np.diff(asked, axis=0)).max() <= STEP
        assert np.abs(asked).max() <= 2.0 * bend + STEP
        for k in range(begin, end, 20):
            wanted = at(max(DT * (k + 1) - latency, 0.0))[0]
            np.testing.assert_allclose(robot.reference[k][0], wanted, atol=2e-3 + 0.02 * period)
    speed = max(np.abs(at(robot.last)[1]).max(), np.abs(at(robot.last - latency)[1]).max())
    assert robot.rest() <= latency + 1.3 * speed / MOST + 0.03
    ends = np.array([x for x, _ in robot.reference[end:]])
    way = np.diff(ends, axis=0)
    assert (np.minimum(way.max(axis=0), -way.min(axis=0)) <= 1e-4).all()  # it does not go back


@settings(max_examples=examples('properties', 25), deadline=None)
@given(st.integers(0, 2**31), RATES, st.sampled_from([0.0, 0.1]), st.floats(0.0, 0.4),
       st.sampled_from(list(Streamed)))
def test_plain_numbers_are_followed_smoothly(seed, rate, drops, jitter, of):
    """Positions or velocities at any rate: torques make no step, and the way is the right one."""
    rng, period = np.random.default_rng(seed), 1.0 / rate
    (at, _), robot = path(rng), Servoed()
    messages = [(comes, lambda now, t=made: robot.rig.stream(now, at(t)[of], of))
                for made, comes in delivered(rng, period, 1.2, drops, jitter) if comes < math.inf]
    robot.run(messages, 2.5)
    asked = np.array(robot.asked[:round(robot.last / DT)])
    # Without the next message it comes to rest: braking ends, by half of the acceleration at once.
    rests = drops > 0.0 and (of is Streamed.POSITIONS or rate < 25.0)
    assert np.abs(np.diff(asked, axis=0)).max() <= (0.7 * MOST if rests else STEP)
    assert np.abs(asked).max() <= 1.2 * MOST
    gap = max(2.5 * period, 0.1)
    speed = max(np.abs(at(t)[1]).max() for t in np.arange(0.0, 1.3, 0.01))
    x, late = robot.reference[round(robot.last / DT) - 1][0], gap * speed + 0.02
    np.testing.assert_allclose(x, at(robot.last)[0], atol=late)
    if of is Streamed.VELOCITIES:
        assert robot.rest() <= STREAM_HORIZON + 1.2 * speed / MOST + 2.0 * DT
    else:
        assert robot.rest() <= 1.5 * STREAM_HORIZON + 4.0 * speed / MOST + 2.0 * DT
    v = np.array([v for _, v in robot.reference])
    assert (np.abs(np.diff(v, axis=0)) <= 1.0011 * MOST * DT + 1e-9).all()


@pytest.mark.parametrize('seed', range(12))
def test_single_points_are_as_smooth_as_set_points(seed):
    """
    At 20 to 100 Hz, with jitter, peaks and steps are at most 1.2 times those of set-points.

    What is below 6 % of the acceleration limit is not compared.
    """
    rng = np.random.default_rng(seed)
    (at, _), rate, velocities = path(rng), rng.uniform(20.0, 100.0), seed % 2 == 0
    horizon = rng.uniform(1.0, 1.7) / rate
    stamped = bool(rng.random() < 0.5) and not velocities
    regular = np.arange(0.0, 1.5, 1.0 / rate)
    # A stamped message is on its way for some time.
    jitter = rng.uniform(0.0, 0.4) / rate
    late = min(jitter, 0.5 * horizon) if stamped else jitter
    sends, times = regular + late * rng.random(len(regular)), regular + horizon

    def sent(ahead, stamped):
        """Return what is asked of the joints, and their references, for points so far ahead."""
        robot = Servoed()

        def send(now, time):
            q, qd = at(time)
            robot.rig.take(now, Knots(np.array([ahead]), q[None], qd[None] if velocities else None,
                                      None), time - ahead if stamped else now)
        robot.run([(comes, lambda now, t=time: send(now, t))
                   for comes, time in zip(sends, times, strict=True)], 1.5)
        return np.array(robot.asked), np.array([x for x, _ in robot.reference])
    asked, went = sent(min(horizon, 0.099), stamped)
    usual, _ = sent(0.0, False)
    for j in range(2):
        assert np.abs(asked[:, j]).max() <= max(1.2 * np.abs(usual[:, j]).max(), 0.6)
        step, usual_step = (np.abs(np.diff(x[:, j])).max() for x in (asked, usual))
        assert step <= max(1.2 * usual_step, 0.6)
    wanted = np.array([at(t)[0] for t in np.arange(len(went)) * DT])
    speed = max(np.abs(at(t)[1]).max() for t in np.linspace(0.0, 1.5, 100))
    # late by the message before, by what the next may be late, and by braking
    assert np.abs(went - wanted).max() <= speed * (horizon + 1.0 / rate + jitter + 0.1)


@pytest.mark.parametrize('speed', [0.3, -1.2])
def test_a_velocity_that_nobody_repeats_ends_exactly(speed):
    """0.1 s at that velocity, then it brakes: 0.1 v + v^2/2a further on, 0.1 s + v/a later."""
    robot, v = Servoed(), np.array([speed, 0.0])
    stream = [(k * 0.01, lambda now: robot.rig.stream(now, v, Streamed.VELOCITIES))
              for k in range(1, 101)]
    robot.run(stream, 3.0)
    x, qd = robot.reference[round(robot.last / DT) - 1]
    assert qd[0] == pytest.approx(speed, abs=1e-9)
    assert robot.rest() == pytest.approx(0.1 + abs(speed) / MOST, abs=5.0 * DT)
    way = robot.reference[-1][0][0] - x[0]
    assert way == pytest.approx(0.1 * speed + speed * abs(speed) / (2.0 * MOST), abs=2e-3)
    assert robot.reference[-1][0][1] == 0.0


@pytest.mark.parametrize('wanted', [-0.5, 0.2, 0.0])
def test_one_other_velocity_ends_exactly(wanted):
    """From 1 rad/s: the way until it is as slow as wanted, 0.1 s of that, and its braking."""
    robot = Servoed()
    robot.run([(0.01 * k, lambda now: robot.rig.stream(now, [1.0, 0.0], Streamed.VELOCITIES))
               for k in range(1, 61)], 0.6)
    q, v = (robot.rig.state[k, 0] for k in range(2))
    robot.rig.stream(robot.now, [wanted, 0.0], Streamed.VELOCITIES)
    robot.run([], 1.0)
    slower = (v * v - wanted * max(wanted, 0.0)) / (2.0 * MOST)
    end = q + slower + 0.1 * wanted + wanted * abs(wanted) / (2.0 * MOST)
    assert robot.reference[-1][0][0] == pytest.approx(end, abs=1e-9)
    assert not robot.reference[-1][1].any()


def test_reversal_and_halt():
    """Another direction or zero brakes at once, and nothing beyond a limit is asked for."""
    robot = Servoed()
    speeds = [1.0] * 60 + [-0.5] * 60 + [0.0] * 8
    robot.run([(0.01 * (k + 1), lambda now, v=v: robot.rig.stream(
        now, [v, 0.0], Streamed.VELOCITIES)) for k, v in enumerate(speeds)], 2.0)
    v = np.array([each[1][0] for each in robot.reference])
    assert v[590] == pytest.approx(1.0, abs=1e-9) and v[1190] == pytest.approx(-0.5, abs=1e-9)
    assert robot.rest() <= 0.0  # at rest before the last zero has come
    assert not v[1300:].any() and np.abs(np.diff(v)).max() <= 1.0011 * MOST * DT
    near = Servoed()
    near.rig.start([2.9, 0.0])
    near.run([(0.01 * k, lambda now: near.rig.stream(now, [1.0, 0.0], Streamed.VELOCITIES))
              for k in range(1, 101)], 2.0)
    assert near.reference[-1][0][0] == pytest.approx(3.0, abs=1e-6)
    assert max(x[0] for x, _ in near.reference) <= 3.0 + 1e-6


@pytest.mark.parametrize(('numbers', 'of', 'text'), [
    ([0.0], Streamed.POSITIONS, '1 positions for 2 joints: one for each is needed'),
    ([0.0] * 3, Streamed.VELOCITIES, '3 velocities for 2 joints'),
    ([4.0, 0.0], Streamed.POSITIONS, 'position 4 rad of joint a is outside'),
    ([0.0, math.nan], Streamed.POSITIONS, 'not all finite'),
    ([9.0, 0.0], Streamed.VELOCITIES, 'velocity 9 rad/s of joint a in point 0 is beyond')])
def test_bad_numbers_are_refused(numbers, of, text):
    """With the reason; what runs goes on."""
    with pytest.raises(GoalError, match=text):
        JointRig(speed=2.0).stream(0.0, numbers, of)


@pytest.mark.parametrize('of', Streamed)
def test_arm_follows_and_comes_to_rest(of):
    """The whole controller with the arm's dynamics: tracking, torque steps, and the end."""
    arm = Arm(mode='computed_torque', ramp_time=0.02, period=0.002, stiffness=[400.0],
              damping=[40.0])
    arm.activate()
    arm.run(0.3)
    arm.external, start, begin = np.zeros(7), arm.q.copy(), arm.time
    way = np.array([0.2, -0.1, 0.15, 0.1, -0.2, 0.1, 0.2])

    def each(time):
        since = time - begin
        if since < 1.0 and round(since / arm.period) % 17 == 0:  # each 34 ms
            numbers = (start + way * since**2, 2.0 * way * since)[of]
            arm.controller.take_stream(arm.now, arm.time, numbers.tolist(), of)
    arm.each, count = each, len(arm.law_log)
    arm.run(1.0)
    np.testing.assert_allclose(arm.q, arm.reference[0], atol=3e-3)
    np.testing.assert_allclose(arm.q, start + way, atol=0.05)
    arm.run(0.1 + 0.4 / 10.0 + 0.1)
    assert not arm.reference[1].any() and arm.state == 'running'
    inertia, limit = arm.dynamics.mass_matrix(arm.q), 10.0  # rad/s^2, of the reference
    steps = np.abs(np.linalg.solve(inertia, np.diff(arm.law_log[count:], axis=0).T))
    assert steps[:, :500].max() <= 0.2 * limit and steps.max() <= limit  # where braking ends
    arm.run(0.5)
    assert np.abs(arm.qd).max() < 2e-3
