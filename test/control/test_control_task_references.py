# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Pose, twist and wrench references on a fake clock."""

import math

import numpy as np
import pytest
from rbd_ros.control.former.references.operational_space import (
    quaternion_of, TaskLimits, TaskReference)
from rbd_ros.control.former.references.profiles import _settling_speed, rotation_between
from rbd_ros.control.references.results import GoalError
from scipy.spatial.transform import Rotation

DT = 0.002


def run(subject, duration, begin=0.0, each=None):
    """Advance and record position, orientation and velocity."""
    record = []
    for k in range(round(duration / DT)):
        now = begin + (k + 1) * DT
        if each:
            each(now)
        subject.update(now)
        record.append((subject.p.copy(), subject.R.copy(), subject.velocity.copy()))
    return record


def started():
    """Return a reference at a pose."""
    subject = TaskReference()
    subject.start(np.eye(3), np.array([0.5, 0.0, 0.4]))
    subject.update(0.0)
    return subject


def test_quaternions_and_turns():
    """Matrix, quaternion and short turn agree with SciPy, up to and including half a turn."""
    rng = np.random.default_rng(9)
    for angle in (0.0, 1e-9, 0.3, 2.0, 3.14, math.pi):
        for _ in range(4):
            axis = rng.normal(size=3)
            vector = axis / np.linalg.norm(axis) * angle
            start = Rotation.random(random_state=rng)
            end = Rotation.from_rotvec(vector) * start
            found = quaternion_of(end.as_matrix())
            np.testing.assert_allclose(Rotation.from_quat(found).as_matrix(), end.as_matrix(),
                                       atol=1e-12)
            turn = rotation_between(start.as_quat().tolist(), found)
            np.testing.assert_allclose((Rotation.from_rotvec(turn) * start).as_matrix(),
                                       end.as_matrix(), atol=1e-12)
            assert np.linalg.norm(turn) == pytest.approx(angle, abs=1e-9)


def test_far_pose_is_approached_within_limits():
    """Velocity and acceleration keep their limits and the pose is reached without overshoot."""
    subject = started()
    goal = Rotation.from_rotvec([0.0, 0.0, 1.2])
    subject.target_pose(0.0, [0.9, 0.0, 0.4], goal.as_quat())
    record = run(subject, 2.5)
    velocity = np.array([v for _, _, v in record])
    assert np.linalg.norm(velocity[:, :3], axis=1).max() <= 1.0 + 1e-9
    assert np.linalg.norm(velocity[:, 3:], axis=1).max() <= 0.5 + 1e-9
    change = np.diff(velocity, axis=0) / DT
    assert np.linalg.norm(change[:, :3], axis=1).max() <= 5.0 + 1e-6
    assert np.linalg.norm(change[:, 3:], axis=1).max() <= 2.0 + 1e-6
    assert max(p[0] for p, _, _ in record) <= 0.9 + 2.0 * DT * DT  # one step of the brake
    np.testing.assert_allclose(subject.p, [0.9, 0.0, 0.4], atol=1e-9)
    np.testing.assert_allclose(subject.R, goal.as_matrix(), atol=1e-9)
    np.testing.assert_allclose(subject.velocity, 0.0, atol=1e-6)


def test_new_limits_act_at_once():
    """Limits that are exchanged while moving bound the next steps."""
    subject = started()
    subject.target_pose(0.0, [1.5, 0.0, 0.4], [0, 0, 0, 1])
    run(subject, 0.5)
    assert subject.velocity[3] == pytest.approx(0.5)
    subject.limits = TaskLimits(linear_velocity=0.1)
    run(subject, 0.5, 0.5)
    assert subject.velocity[3] == pytest.approx(0.1)
    assert subject.limits.velocity == (1.0, 0.1)


def test_streamed_poses_are_followed_without_lag():
    """A circle streamed at the rate of the loop is met exactly once it has been caught."""
    subject = started()

    def circle(now):
        position = [0.5 + 0.1 * math.cos(now), 0.1 * math.sin(now), 0.4]
        subject.target_pose(now, position, [0, 0, 0, 1])

    run(subject, 3.0, each=circle)
    np.testing.assert_allclose(
        subject.p, [0.5 + 0.1 * math.cos(3.0), 0.1 * math.sin(3.0), 0.4], atol=1e-12)
    np.testing.assert_allclose(
        subject.velocity[3:], [-0.1 * math.sin(3.0), 0.1 * math.cos(3.0), 0.0], atol=2e-4)


def test_twist_moves_and_times_out():
    """A repeated twist moves the pose; 0.1 s after the last one it brakes and holds."""
    subject = started()
    record = run(subject, 1.0, each=lambda now: subject.target_twist(now, [0, 0, 0.5, 0.2, 0, 0]))
    np.testing.assert_allclose(record[-1][2], [0, 0, 0.5, 0.2, 0, 0], atol=1e-12)
    record = run(subject, 0.098, 1.0)
    np.testing.assert_allclose(record[-1][2], [0, 0, 0.5, 0.2, 0, 0], atol=1e-12)
    run(subject, 0.5, 1.098)
    np.testing.assert_allclose(subject.velocity, 0.0, atol=1e-12)


def test_too_fast_twist_is_scaled():
    """A twist beyond the limit keeps its direction."""
    subject = started()
    run(subject, 1.0, each=lambda now: subject.target_twist(now, [0, 0, 0, 3.0, 4.0, 0]))
    np.testing.assert_allclose(subject.velocity[3:], [0.3, 0.4, 0.0], atol=1e-12)


def test_hold_out_of_motion_stops_ahead():
    """A hold brakes over v^2 / 2a and does not swing back."""
    subject = started()
    run(subject, 1.0, each=lambda now: subject.target_twist(now, [0, 0, 0, 0.4, 0, 0]))
    begin = subject.p[0]
    subject.hold()
    record = run(subject, 0.5, 1.0)
    ahead = max(p[0] for p, _, _ in record) - begin
    assert ahead == pytest.approx(0.4**2 / (2 * 2.0), abs=1e-3)
    assert subject.p[0] - begin == pytest.approx(ahead, abs=1e-4)
    np.testing.assert_allclose(subject.velocity, 0.0, atol=1e-9)


@pytest.mark.parametrize('force, moment', [
    ([0.0, 0.0, -500.0], [0.0, 0.0, 0.0]), ([50.0, -50.0, 50.0], [9.0, 9.0, 0.0]),
    ([30.0, -40.0, 0.0], [0.0, 6.0, -8.0]), ([1e-3, 2.0, 3.0], [1.0, -2.0, 3.0])])
def test_wrench_is_bounded_by_its_norm(force, moment):
    """Force and moment end at 50 N and 10 N.m, each by its own norm, and keep their direction."""
    subject = TaskReference()
    subject.target_wrench(0.0, [*moment, *force])
    for found, given, most in ((subject.wrench[3:], force, 50.0),
                               (subject.wrench[:3], moment, 10.0)):
        size = np.linalg.norm(given)
        np.testing.assert_allclose(np.linalg.norm(found), min(size, most), rtol=1e-14)
        np.testing.assert_allclose(found * size, np.array(given) * min(size, most), rtol=1e-14)
        if size <= most:
            assert found.tolist() == given  # to the last bit


def test_wrench_is_bounded_and_times_out():
    """A wrench is clamped to its limit and ends 0.1 s after its last message."""
    subject = started()
    subject.target_wrench(0.0, [0, 0, 0, 0, 0, -500.0])
    run(subject, 0.1)
    assert subject.wrench.tolist() == [0, 0, 0, 0, 0, -50.0]
    run(subject, 0.01, 0.1)
    assert not subject.wrench.any()


@pytest.mark.parametrize('call, word', [
    (lambda s: s.target_pose(0.0, [0, 0, math.nan], [0, 0, 0, 1]), 'not finite'),
    (lambda s: s.target_pose(0.0, [0, 0, 0], [0, 0, 0, 0]), 'length 0'),
    (lambda s: s.target_twist(0.0, [0, 0, 0, 0, 0, math.inf]), 'twist must be six'),
    (lambda s: s.target_wrench(0.0, [0, 0, 0]), 'wrench must be six'),
    (lambda s: s.target_pose(0.0, [0, -1e300, 0], [0, 0, 0, 1]), r'-1e\+300 m is beyond'),
    (lambda s: s.target_twist(0.0, [0, 0, 1e300, 0, 0, 0]), r'twist has 1e\+300'),
    (lambda s: s.target_wrench(0.0, [0, -1e300, 0, 0, 0, 0]), r'wrench has 1e\+300')])
def test_bad_targets_are_refused(call, word):
    """NaN, degenerate quaternions and wrong sizes are refused and change nothing."""
    subject = started()
    with pytest.raises(GoalError, match=word):
        call(subject)
    run(subject, 0.1)
    np.testing.assert_array_equal(subject.p, [0.5, 0.0, 0.4])


def test_start_in_motion_comes_to_rest_smoothly():
    """The pose goes on with the velocity that it had, which falls to zero without a step."""
    subject = TaskReference()
    velocity = np.array([0.0, 0.0, 1.0, 0.8, 0.0, 0.0])  # faster than the limit
    subject.start(np.eye(3), np.array([0.5, 0.0, 0.4]), velocity, 0.5)
    subject.update(0.0)
    accelerations = []
    record = run(subject, 0.6, each=lambda _: accelerations.append(subject.acceleration.copy()))
    np.testing.assert_allclose(record[0][2], velocity, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(subject.p, [0.5 + 0.8 * 0.25, 0.0, 0.4], atol=1e-9)
    np.testing.assert_allclose(subject.R, Rotation.from_rotvec([0, 0, 0.25]).as_matrix(),
                               atol=1e-9)
    np.testing.assert_allclose(subject.velocity, 0.0, atol=1e-12)
    p, v = np.array([p for p, _, _ in record]), np.array([v for _, _, v in record])
    np.testing.assert_allclose(np.diff(p, axis=0) / DT, 0.5 * (v[1:, 3:] + v[:-1, 3:]), atol=1e-4)
    np.testing.assert_allclose(np.diff(v, axis=0)[:-1] / DT, accelerations[2:], atol=0.05)
    assert np.abs(np.diff(accelerations, axis=0)).max() < 0.1


def test_target_ends_the_coming_to_rest():
    """A target that comes meanwhile is gone to from the velocity of then."""
    subject = TaskReference()
    subject.start(np.eye(3), np.array([0.5, 0.0, 0.4]), np.array([0, 0, 0, 0.3, 0, 0]), 0.5)
    subject.update(0.0)
    before = run(subject, 0.1)[-1][2][3]
    subject.target_pose(0.1, [0.8, 0.0, 0.4], [0, 0, 0, 1])
    after = run(subject, DT, 0.1)[-1][2][3]
    assert abs(after - before) <= 2.0 * DT + 1e-12
    run(subject, 2.0, 0.1 + DT)
    np.testing.assert_allclose(subject.p, [0.8, 0.0, 0.4], atol=1e-9)


DELAYS = {
    'in time': lambda _: 0.0,
    'late': lambda k: 0.04 * ((37 * k) % 10) / 10.0,
    'in bursts': lambda k: 0.01 * (5 - k % 6),
}


@pytest.mark.parametrize('delay, off', [('in time', 0.002), ('late', 0.03), ('in bursts', 0.05)])
def test_streams_that_come_late_are_followed_evenly(delay, off):
    """A line streamed at 100 Hz is followed at nearly its speed, however messages arrive."""
    subject = started()
    made = 0.01 * np.arange(200)
    arrivals = np.maximum.accumulate([t + DELAYS[delay](k) for k, t in enumerate(made)])
    mail = list(zip(arrivals, made))

    def post(now):
        while mail and mail[0][0] <= now:
            subject.target_pose(now, [0.5 + 0.1 * mail.pop(0)[1], 0.0, 0.4], [0, 0, 0, 1])
    record = run(subject, 1.95, each=post)[round(0.5 / DT):]
    speeds = np.array([v[3] for _, _, v in record])
    assert np.abs(speeds - 0.1).max() < off
    assert abs(subject.p[0] - (0.5 + 0.1 * 1.95)) < 0.1 * 0.06  # no more than it was late
    record = run(subject, 1.0, 1.95, each=post)
    assert max(p[0] for p, _, _ in record) < 0.5 + 0.1 * 1.99 + 0.1 * 0.1  # and hardly beyond
    np.testing.assert_allclose(subject.p, [0.5 + 0.1 * 1.99, 0.0, 0.4], atol=1e-6)


@pytest.mark.parametrize('source', ['pose', 'twist'])
def test_reference_waits_for_a_robot_that_stands(source):
    """The reference does not lead by more than it may, and goes on when the robot follows."""
    subject = started()
    subject.limits = TaskLimits(linear_lead=0.05, angular_lead=0.2)
    robot = np.array([0.5, 0.0, 0.4])

    def each(now):
        subject.set_lead(np.concatenate([[0.0] * 3, subject.p - robot]))
        if source == 'pose':
            subject.target_pose(now, [0.9, 0.0, 0.4], [0, 0, 0, 1])
        else:
            subject.target_twist(now, [0, 0, 0, 0.3, 0, 0])
    leads = [p[0] - robot[0] for p, _, _ in run(subject, 2.0, each=each)]
    # Braking from half of the lead on takes up to v^2 / 2a, 6 cm.
    assert 0.04 < leads[-1] and max(leads) < 0.09
    np.testing.assert_allclose(subject.velocity, 0.0, atol=2e-3)
    robot += [0.3, 0.0, 0.0]
    run(subject, 2.0, 2.0, each=each)
    assert 0.04 < subject.p[0] - robot[0] < 0.09
    # The way back is free at once.
    subject.target_pose(4.0, [0.5, 0.0, 0.4], [0, 0, 0, 1])
    record = run(subject, 0.1, 4.0, each=lambda _: subject.set_lead(
        np.concatenate([[0.0] * 3, subject.p - robot])))
    assert record[-1][2][3] < -0.15


def test_a_jump_in_a_stream_is_no_velocity():
    """A target that jumps further than the speed allows is gone to, not extrapolated."""
    subject = started()
    for k in range(10):
        subject.target_pose(0.01 * k, [0.5 + 0.001 * k, 0.0, 0.4], [0, 0, 0, 1])
        subject.update(0.01 * k)
    subject.target_pose(0.1, [0.8, 0.0, 0.4], [0, 0, 0, 1])
    record = run(subject, 2.0, 0.1)
    assert max(p[0] for p, _, _ in record) < 0.8 + 1e-4
    np.testing.assert_allclose(subject.p, [0.8, 0.0, 0.4], atol=1e-9)


def test_a_stream_goes_on_after_its_jump():
    """Its velocity is that of the poses since the jump; poses before do not count."""
    subject = started()
    for k in range(10):
        subject.target_pose(0.01 * k, [0.5 + 0.001 * k, 0.0, 0.4], [0, 0, 0, 1])
    for k in range(10, 14):
        subject.target_pose(0.01 * k, [0.8 + 0.002 * k, 0.0, 0.4], [0, 0, 0, 1])
        expected = 0.0 if k == 10 else 0.2
        np.testing.assert_allclose(subject._drift, [0, 0, 0, expected, 0, 0], atol=1e-9)


@pytest.mark.parametrize(('way', 'dt', 'expected'), [
    (0.004, 0.01, 0.004 / 0.05),                # the last part as a decay in 50 ms
    (0.004, 0.1, 0.004 / 0.1),                  # not shorter than a step
    (0.006, 0.01, 0.02 * (np.sqrt(35.25) - 0.5)),
    (0.2525, 0.01, 0.02 * (np.sqrt(2500.25) - 0.5))])  # 0.25 m at 2 m/s^2: 1 m/s, less half a step
def test_speed_of_the_approach(way, dt, expected):
    """Braking at 2 m/s^2 that ends in a decay."""
    assert float(_settling_speed(way, 2.0, dt)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize('times', [
    (10.0, 10.05, 3.0), (10.0, 3.0), (10.0, 10.05, 10.1, 3.0), (10.0, 10.0), (10.0, 10.0004)])
def test_a_clock_that_jumps_back_begins_a_new_stream(times):
    """Targets of a simulation that was reset have no velocity with respect to those before."""
    subject = started()
    for k, now in enumerate(times):
        subject.target_pose(now, [0.5 + 0.001 * k, 0.0, 0.4], [0, 0, 0, 1])
    assert not subject._drift.any() and len(subject._stream) == 1
    subject.target_pose(times[-1] + 0.1, [0.52 + 0.001 * k, 0.0, 0.4], [0, 0, 0, 1])
    np.testing.assert_allclose(subject._drift, [0.0, 0.0, 0.0, 0.2, 0.0, 0.0], atol=1e-9)
