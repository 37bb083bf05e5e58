# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Goals and trajectories that leave joints out: these come to rest, and nothing jumps."""

import math

from controller_rig import Arm
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError, ResultCode
from rbd_ros.control.references.joint_reference import Source
from rbd_ros.control.references.trajectory import Knots, read_points
from reference_rig import JointRig, NAMES
from sampling import examples

DT, MOST, FASTEST = 0.001, 20.0, 2.0


def partial(name, times, positions, velocities=(), accelerations=()):
    """Return points of one joint alone."""
    rows = [[[x] for x in each] or [[]] * len(times)
            for each in (positions, velocities, accelerations)]
    return read_points([name], NAMES, times, *rows, partial=True)


def moving(seed):
    """Return a reference in the middle of a motion of both joints, and the time."""
    rng, rig = np.random.default_rng(seed), JointRig()
    rig.start(rng.uniform(-1.0, 1.0, 2))
    rig.update(0.0)
    ends = rig.state[0] + rng.choice([-1.0, 1.0], 2) * rng.uniform(0.2, 0.9, 2)
    rig.follow(0.0, Knots(np.array([0.6, 1.2]), np.array([0.5 * (rig.state[0] + ends), ends]),
                          None, None))
    now = DT * int(rng.integers(0, 1500))
    for k in range(round(now / DT)):
        rig.update((k + 1) * DT)
    return rig, now, rng


@settings(max_examples=examples('properties', 60), deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 1), st.integers(0, 2),
       st.sampled_from(['goal', 'topic', 'stream', 'set-point']))
def test_what_is_left_out_comes_to_rest(seed, which, rates, way):
    """It brakes as hard as it may, ends v^2/2a further on, and stays there to the last bit."""
    rig, now, rng = moving(seed)
    other, before = 1 - which, rig.state.copy()
    q, v = before[0, other], before[1, other]
    target = before[0, which] + rng.uniform(-0.15, 0.15)
    times = {'stream': [0.05], 'set-point': [0.0]}.get(way, [0.4, 1.0])
    fields = [[target] * len(times), [0.0] * len(times), [0.0] * len(times)][:rates + 1]
    knots = partial(NAMES[which], times, *fields)
    if way == 'goal':
        rig.follow(now, knots, goal=7)
    else:
        rig.take(now, knots, now)
    assert (rig.x.source == Source.STREAM) == (way in ('stream', 'set-point'))
    record = np.array([before, *rig.run(2.0, now)])
    moves, turns = (np.abs(np.diff(record[:, k], axis=0)).max(axis=0) for k in range(2))
    assert (moves <= 1.0011 * FASTEST * DT).all() and (turns <= 1.0011 * MOST * DT + 1e-9).all()
    assert (record[:, 0, other] - q) @ np.full(len(record), np.sign(v)) >= -1e-9  # never back
    rest = record[round((abs(v) / MOST + 0.2) / DT):, :, other]
    np.testing.assert_allclose(rest[0, 0], q + v * abs(v) / (2.0 * MOST), atol=1e-9)
    assert not rest[:, 1:].any() and not np.ptp(rest[:, 0])
    if way in ('goal', 'topic'):
        np.testing.assert_allclose(record[-1, 0, which], target, atol=1e-9)


@settings(max_examples=examples('properties', 30), deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 1))
def test_what_is_given_moves_as_in_a_whole_message(seed, which):
    """The other joint does not change its way: the same numbers as with a joint that rests."""
    found = []
    for whole in (False, True):
        rig, now, rng = moving(seed)
        end = rig.state[0, which] + rng.uniform(-0.3, 0.3)
        knots = partial(NAMES[which], [0.3, 0.9], [rig.state[0, which], end], [0.0, 0.0])
        if whole:
            knots = Knots(knots.times, np.where(np.arange(2) == which, knots.q, rig.state[0]),
                          knots.qd, None)
        rig.follow(now, knots)
        found.append(rig.run(1.0, now)[:, :, which])
    np.testing.assert_allclose(*found, rtol=0.0, atol=1e-12)


def test_a_joint_that_cannot_be_at_zero_may_be_left_out():
    """What stands in the place of its numbers is no position."""
    rig = JointRig()
    rig.intake._limits.lower[0] = 0.5
    rig.start([1.0, 0.0])
    rig.follow(0.0, partial('b', [0.5], [0.1]))
    with pytest.raises(GoalError, match='outside'):
        rig.follow(0.0, partial('a', [0.5], [0.0]))


def test_later_messages_free_it_again():
    """A whole trajectory, a hold, a set-point: what was held moves as any other joint."""
    rig, now, _ = moving(3)
    for step in range(3):
        rig.take(now, partial('a', [0.5], [0.1]), now)
        assert rig.x.path.held.tolist() == [0.0, 1.0]
        rig.run(0.1, now)
        now += 0.1
        if step == 0:
            rig.follow(now, Knots(np.array([0.5]), np.array([[0.2, 0.3]]), None, None))
        elif step == 1:
            rig.set_point(now, [0.2, 0.3])
        else:
            rig.take(now, Knots(np.array([0.05]), np.array([[0.2, 0.3]]), None, None), now)
        assert not rig.x.path.held.any()
        np.testing.assert_allclose(rig.run(1.5, now)[-1, 0], [0.2, 0.3], atol=1e-6)
        now += 1.5


@pytest.mark.parametrize(('names', 'reason'), [
    (['a'], r'\(missing: b\); allow_partial_joints_goal lets a message leave joints out'),
    (['b', 'x'], r'\(unknown: x; missing: a\)$'), (['a', 'a'], r'given twice: a\)$'),
    ([], r'\)$')])
def test_it_has_to_be_allowed(names, reason):
    """By default all joints are asked for; what is wrong stays wrong."""
    points = [1.0], [[0.0] * len(names)], [[]], [[]]
    with pytest.raises(GoalError, match=reason) as error:
        read_points(names, NAMES, *points)
    assert error.value.code is ResultCode.INVALID_JOINTS
    if names != ['a']:
        with pytest.raises(GoalError, match=reason):
            read_points(names, NAMES, *points, partial=True)
    else:
        assert read_points(names, NAMES, *points, partial=True).held.tolist() == [0.0, 1.0]


@pytest.mark.parametrize('field, what', enumerate(('positions', 'velocities', 'accelerations'), 1))
def test_rows_that_are_not_a_number_for_each_joint(field, what):
    """It is said of which, and of the point where one is missing."""
    for row, reason in (([0.1], f'point 1 has 1 {what},'), ([0.1, np.nan], f'{what} are not all')):
        points = [[1.0, 2.0], *(np.zeros((2, 2)).tolist() for _ in range(3))]
        points[field][1] = row
        with pytest.raises(GoalError, match=reason):
            read_points(NAMES, NAMES, *points)


def test_arm_holds_its_reference_and_not_where_it_is_measured():
    """Six joints of an arm that somebody pushes keep their reference, bit by bit, in motion."""
    arm = Arm(mode='computed_torque', ramp_time=0.02, period=0.002,
              allow_partial_joints_goal=True)
    arm.activate()
    arm.run(0.2)
    push = np.array([1.0, -1.0, 1.0, 0.5, -0.5, 0.5, 0.0])  # rad/s^2
    arm.external = arm.dynamics.mass_matrix(arm.q) @ push
    arm.run(1.0)
    before, offset = arm.reference.copy(), arm.q - arm.reference[0]
    assert np.abs(offset[:6]).min() > 4e-3
    name, controller = arm.robot.joints[6], arm.controller
    knots = read_points([name], arm.robot.joints, [0.3, 0.6],
                        [[before[0, 6] + 0.1], [before[0, 6] + 0.2]], [[]] * 2, [[]] * 2,
                        partial=True)
    controller.check_points(knots)
    controller.pursue(arm.now, arm.time, knots, arm.now, 'key', controller.accepted.tolerances())
    seen = []
    arm.each = lambda _: seen.append(arm.reference[:, :6].copy())
    arm.run(1.0)
    assert all(np.array_equal(each, before[:, :6]) for each in seen)
    assert arm.reference[0, 6] == pytest.approx(before[0, 6] + 0.2, abs=1e-9)
    np.testing.assert_allclose((arm.q - arm.reference[0])[:6], offset[:6], atol=3e-3)
    assert math.isclose(arm.q[6], arm.reference[0, 6], abs_tol=5e-3) and arm.state == 'running'
