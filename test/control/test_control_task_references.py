# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Pose, twist and wrench references on a fake clock."""

import math

import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.references.pose_profile import (
    quaternion_of, rotate, set_axes, turn_between)
from reference_rig import ADVANCE, STOP, TaskRig
from scipy.spatial.transform import Rotation

DT = 0.002


def run(rig, duration, begin=0.0, each=None):
    """Advance; return positions, velocities and accelerations."""
    record = []
    for k in range(round(duration / DT)):
        now = begin + (k + 1) * DT
        if each:
            each(now)
        rig.do(ADVANCE, now)
        pose = rig.x.pose
        record.append(np.concatenate([pose.position, pose.velocity, pose.acceleration]))
    return np.split(np.array(record), [3, 9], axis=1)


def test_quaternions_and_turns():
    """Matrix, quaternion and short turn agree with SciPy, up to and including half a turn."""
    rng, found, turn, R = np.random.default_rng(9), np.zeros(4), np.zeros(3), np.zeros((3, 3))
    for angle in np.repeat([0.0, 1e-9, 0.3, 2.0, 3.14, math.pi], 4):
        axis = rng.normal(size=3)
        vector = axis / np.linalg.norm(axis) * angle
        start = Rotation.random(random_state=rng)
        end = Rotation.from_rotvec(vector) * start
        quaternion_of(end.as_matrix(), found)
        set_axes(found, R)
        np.testing.assert_allclose(R, end.as_matrix(), atol=1e-12)
        turn_between(start.as_quat(), found, turn)
        np.testing.assert_allclose((Rotation.from_rotvec(turn) * start).as_matrix(), R, atol=1e-12)
        assert np.linalg.norm(turn) == pytest.approx(angle, abs=1e-9)
        rotate(start.as_quat(), *vector, found)
        np.testing.assert_allclose(Rotation.from_quat(found).as_matrix(), R, atol=1e-12)


def kept(rig, positions, velocities, *, begin):
    """Check that velocity and acceleration of a motion keep their limits, and are of the pose."""
    velocities = np.vstack([begin, velocities])
    for k, part in enumerate((slice(0, 3), slice(3, 6))):
        speed = np.linalg.norm(velocities[:, part], axis=1)
        change = np.linalg.norm(np.diff(velocities[:, part], axis=0), axis=1) / DT
        assert speed.max() <= rig.p.velocity[k] + 1e-9
        assert change.max() <= rig.p.acceleration[k] + 1e-6
    np.testing.assert_allclose(np.diff(positions, axis=0), DT * velocities[2:, 3:], atol=1e-12)


def fastest(way, most, slope):
    """Return the least time for a way from rest to rest with bounded speed and acceleration."""
    top = min(most, math.sqrt(slope * way))
    return 2.0 * top / slope + (way - top * top / slope) / top


@pytest.mark.parametrize('seed', range(6))
def test_far_pose_is_approached_within_limits(seed):
    """Limits are kept, it is reached without overshoot, and hardly later than bang-bang would."""
    rng, rig = np.random.default_rng(seed), TaskRig()
    way, turn = rng.normal(size=(2, 3))
    way *= rng.uniform(0.05, 0.5) / np.linalg.norm(way)
    turn *= rng.uniform(0.05, 1.5) / np.linalg.norm(turn)
    goal, target = Rotation.from_rotvec(turn), np.array([0.5, 0.0, 0.4]) + way
    rig.pose(0.0, target, goal.as_quat())
    positions, velocities, _ = run(rig, 3.5)
    kept(rig, positions, velocities, begin=np.zeros(6))
    ahead = (positions - target) @ way / np.linalg.norm(way)
    assert ahead.max() <= 2.0 * DT * DT  # one step of the brake
    size = np.linalg.norm(way)
    there = DT * np.argmax(np.linalg.norm(positions - target, axis=1) < 0.02 * size)
    least = fastest(0.98 * size, 0.5, 2.0)
    assert 0.9 * least - 0.1 < there < least + 0.3  # the end is a decay in 50 ms
    np.testing.assert_allclose(rig.x.pose.position, target, atol=1e-9)
    np.testing.assert_allclose(rig.x.pose.R, goal.as_matrix(), atol=1e-9)
    np.testing.assert_allclose(rig.x.pose.velocity, 0.0, atol=1e-6)


def test_new_limits_act_at_once():
    """Limits that are exchanged while moving bound the next steps."""
    rig = TaskRig()
    rig.pose(0.0, [1.5, 0.0, 0.4])
    run(rig, 0.5)
    assert rig.x.pose.velocity[3] == pytest.approx(0.5)
    rig.p.velocity[1] = 0.1
    run(rig, 0.5, 0.5)
    assert rig.x.pose.velocity[3] == pytest.approx(0.1)


def test_streamed_poses_are_followed_without_lag():
    """A circle streamed at the rate of the loop is met exactly once it has been caught."""
    rig = TaskRig()
    run(rig, 3.0, each=lambda now: rig.pose(
        now, [0.5 + 0.1 * math.cos(now), 0.1 * math.sin(now), 0.4]))
    np.testing.assert_allclose(
        rig.x.pose.position, [0.5 + 0.1 * math.cos(3.0), 0.1 * math.sin(3.0), 0.4], atol=1e-12)
    np.testing.assert_allclose(
        rig.x.pose.velocity[3:], [-0.1 * math.sin(3.0), 0.1 * math.cos(3.0), 0.0], atol=2e-4)


@pytest.mark.parametrize('asked, given', [
    ([0, 0, 0.5, 0.2, 0, 0], [0, 0, 0.5, 0.2, 0, 0]),
    ([0, 0, 0, 3.0, 4.0, 0], [0, 0, 0, 0.3, 0.4, 0])])  # a too fast one keeps its direction
def test_twist_moves_and_times_out(asked, given):
    """A repeated twist moves the pose; 0.1 s after the last one it brakes and holds."""
    rig = TaskRig()
    positions, velocities, _ = run(rig, 1.0, each=lambda now: rig.twist(now, asked))
    kept(rig, positions, velocities, begin=np.zeros(6))
    np.testing.assert_allclose(velocities[-1], given, atol=1e-12)
    np.testing.assert_allclose(run(rig, 0.098, 1.0)[1][-1], given, atol=1e-12)
    positions, velocities, _ = run(rig, 0.5, 1.098)
    kept(rig, positions, velocities, begin=given)
    np.testing.assert_allclose(velocities[-1], 0.0, atol=1e-12)


def test_hold_out_of_motion_stops_ahead():
    """A hold brakes over v^2 / 2a and does not swing back."""
    rig = TaskRig()
    run(rig, 1.0, each=lambda now: rig.twist(now, [0, 0, 0, 0.4, 0, 0]))
    begin = rig.x.pose.position[0]
    rig.do(STOP, 1.0)
    ahead = run(rig, 0.5, 1.0)[0][:, 0] - begin
    assert ahead.max() == pytest.approx(0.4**2 / (2 * 2.0), abs=1e-3)
    assert ahead[-1] == pytest.approx(ahead.max(), abs=1e-4)
    np.testing.assert_allclose(rig.x.pose.velocity, 0.0, atol=1e-9)


@pytest.mark.parametrize('force, moment', [
    ([0.0, 0.0, -500.0], [0.0, 0.0, 0.0]), ([50.0, -50.0, 50.0], [9.0, 9.0, 0.0]),
    ([30.0, -40.0, 0.0], [0.0, 6.0, -8.0]), ([1e-3, 2.0, 3.0], [1.0, -2.0, 3.0])])
def test_wrench_is_bounded_and_times_out(force, moment):
    """Force and moment end at 50 N and 10 N.m, each by its own norm, and after 0.1 s."""
    rig = TaskRig()
    rig.wrench(0.0, [*moment, *force])
    run(rig, 0.1)
    for found, given, most in ((rig.x.wrench[3:], force, 50.0), (rig.x.wrench[:3], moment, 10.0)):
        size = np.linalg.norm(given)
        np.testing.assert_allclose(np.linalg.norm(found), min(size, most), rtol=1e-14)
        np.testing.assert_allclose(found * size, np.array(given) * min(size, most), rtol=1e-14)
        if size <= most:
            assert found.tolist() == given  # to the last bit
    run(rig, 0.01, 0.1)
    assert not rig.x.wrench.any()


@pytest.mark.parametrize('kind, values, word', [
    ('pose', ([0, 0, math.nan],), 'not finite'), ('pose', ([0, 0, 0], [0] * 4), 'length 0'),
    ('twist', ([0, 0, 0, 0, 0, math.inf],), 'twist must be six'),
    ('wrench', ([0, 0, 0],), 'wrench must be six'),
    ('pose', ([0, -1e300, 0],), r'1e\+300 m from the base, beyond 10000 m\. Send metres'),
    ('twist', ([0, 0, 1e300, 0, 0, 0],), r'twist has 1e\+300'),
    ('wrench', ([0, -1e300, 0, 0, 0, 0],), r'wrench has 1e\+300')])
def test_bad_targets_are_refused(kind, values, word):
    """NaN, degenerate quaternions and wrong sizes are refused and change nothing."""
    rig = TaskRig()
    with pytest.raises(GoalError, match=word):
        getattr(rig, kind)(0.0, *values)
    run(rig, 0.1)
    np.testing.assert_array_equal(rig.x.pose.position, [0.5, 0.0, 0.4])


def test_start_in_motion_comes_to_rest_smoothly():
    """The pose goes on with the velocity that it had, which falls to zero without a step."""
    velocity = np.array([0.0, 0.0, 1.0, 0.8, 0.0, 0.0])  # faster than the limit
    rig = TaskRig(velocity, 0.5)
    p, v, a = run(rig, 0.6)
    np.testing.assert_allclose(v[0], velocity, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(p[-1], [0.5 + 0.8 * 0.25, 0.0, 0.4], atol=1e-9)
    np.testing.assert_allclose(rig.x.pose.R, Rotation.from_rotvec([0, 0, 0.25]).as_matrix(),
                               atol=1e-9)
    np.testing.assert_allclose(v[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diff(p, axis=0) / DT, 0.5 * (v[1:, 3:] + v[:-1, 3:]), atol=1e-4)
    np.testing.assert_allclose(np.diff(v, axis=0) / DT, a[1:], atol=0.05)
    assert np.abs(np.diff(a, axis=0)).max() < 0.1


def test_target_ends_the_coming_to_rest():
    """A target that comes meanwhile is gone to from the velocity of then."""
    rig = TaskRig([0, 0, 0, 0.3, 0, 0], 0.5)
    before = run(rig, 0.1)[1][-1, 3]
    rig.pose(0.1, [0.8, 0.0, 0.4])
    after = run(rig, 2.0, 0.1)[1][0, 3]
    assert abs(after - before) <= 2.0 * DT + 1e-12
    np.testing.assert_allclose(rig.x.pose.position, [0.8, 0.0, 0.4], atol=1e-9)


DELAYS = {
    'in time': lambda _: 0.0,
    'late': lambda k: 0.04 * ((37 * k) % 10) / 10.0,
    'in bursts': lambda k: 0.01 * (5 - k % 6),
}


@pytest.mark.parametrize('delay, off', [('in time', 0.002), ('late', 0.03), ('in bursts', 0.05)])
def test_streams_that_come_late_are_followed_evenly(delay, off):
    """A line streamed at 100 Hz is followed at nearly its speed, however messages arrive."""
    rig = TaskRig()
    made = 0.01 * np.arange(200)
    arrivals = np.maximum.accumulate([t + DELAYS[delay](k) for k, t in enumerate(made)])
    mail = list(zip(arrivals, made))

    def post(now):
        while mail and mail[0][0] <= now:
            rig.pose(now, [0.5 + 0.1 * mail.pop(0)[1], 0.0, 0.4])
    speeds = run(rig, 1.95, each=post)[1][round(0.5 / DT):, 3]
    assert np.abs(speeds - 0.1).max() < off
    # no more than it was late
    assert abs(rig.x.pose.position[0] - (0.5 + 0.1 * 1.95)) < 0.1 * 0.06
    positions = run(rig, 1.0, 1.95, each=post)[0]
    assert positions[:, 0].max() < 0.5 + 0.1 * 1.99 + 0.1 * 0.1  # and hardly beyond
    np.testing.assert_allclose(rig.x.pose.position, [0.5 + 0.1 * 1.99, 0.0, 0.4], atol=1e-6)


@pytest.mark.parametrize('source', ['pose', 'twist'])
def test_reference_waits_for_a_robot_that_stands(source):
    """The reference does not lead by more than it may, and goes on when the robot follows."""
    rig = TaskRig()
    rig.p.lead[:] = 0.2, 0.05
    robot = np.array([0.5, 0.0, 0.4])

    def each(now):
        rig.lead(rig.x.pose.position - robot)
        if source == 'pose':
            rig.pose(now, [0.9, 0.0, 0.4])
        else:
            rig.twist(now, [0, 0, 0, 0.3, 0, 0])
    leads = run(rig, 2.0, each=each)[0][:, 0] - robot[0]
    # Braking from half of the lead on takes up to v^2 / 2a, 6 cm.
    assert 0.04 < leads[-1] and leads.max() < 0.09
    np.testing.assert_allclose(rig.x.pose.velocity, 0.0, atol=2e-3)
    robot += [0.3, 0.0, 0.0]
    run(rig, 2.0, 2.0, each=each)
    assert 0.04 < rig.x.pose.position[0] - robot[0] < 0.09
    # The way back is free at once.
    rig.pose(4.0, [0.5, 0.0, 0.4])
    back = run(rig, 0.1, 4.0, each=lambda _: rig.lead(rig.x.pose.position - robot))[1]
    assert back[-1, 3] < -0.15


def test_a_jump_in_a_stream_is_no_velocity():
    """A target that jumps further than the speed allows is gone to, not extrapolated."""
    rig = TaskRig()
    for k in range(10):
        rig.pose(0.01 * k, [0.5 + 0.001 * k, 0.0, 0.4])
        rig.do(ADVANCE, 0.01 * k)
    rig.pose(0.1, [0.8, 0.0, 0.4])
    assert run(rig, 2.0, 0.1)[0][:, 0].max() < 0.8 + 1e-4
    np.testing.assert_allclose(rig.x.pose.position, [0.8, 0.0, 0.4], atol=1e-9)


def test_a_stream_goes_on_after_its_jump():
    """Its velocity is that of the poses since the jump; poses before do not count."""
    rig = TaskRig()
    for k in range(10):
        rig.pose(0.01 * k, [0.5 + 0.001 * k, 0.0, 0.4])
    for k in range(10, 14):
        rig.pose(0.01 * k, [0.8 + 0.002 * k, 0.0, 0.4])
        expected = 0.0 if k == 10 else 0.2
        np.testing.assert_allclose(rig.x.pose.drift, [0, 0, 0, expected, 0, 0], atol=1e-9)


@pytest.mark.parametrize('times', [
    (10.0, 10.05, 3.0), (10.0, 3.0), (10.0, 10.05, 10.1, 3.0), (10.0, 10.0), (10.0, 10.0004)])
def test_a_clock_that_jumps_back_begins_a_new_stream(times):
    """Targets of a simulation that was reset have no velocity with respect to those before."""
    rig = TaskRig()
    for k, now in enumerate(times):
        rig.pose(now, [0.5 + 0.001 * k, 0.0, 0.4])
    assert not rig.x.pose.drift.any()
    rig.pose(times[-1] + 0.1, [0.52 + 0.001 * k, 0.0, 0.4])
    np.testing.assert_allclose(rig.x.pose.drift, [0.0, 0.0, 0.0, 0.2, 0.0, 0.0], atol=1e-9)
