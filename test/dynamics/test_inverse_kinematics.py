# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics: reaches what can be reached, ends always, and says what it found."""

from __future__ import annotations

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.handles.damped_steps import (
    bounded_step, rotation_error, rotation_slope, shortened)
from rbd_ros.compiler import sqrt
from rbd_ros.errors import ModelError, NonFiniteError, RbdError, ShapeError, UnknownName
from rbd_ros.joints import Free, Planar, Prescribed, Prismatic, Revolute, Spherical
from rbd_ros.model import positions
from rbd_ros.model.builder import JointData, Mimic
from rbd_ros.samples import families, mechanisms
from rbd_ros.spatial import Mat3, shapes, xlt
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation
from spatial_oracle import assert_close, derivative
from tree_oracle import reference

Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def _vector(R):
    return np.array(rotation_error(Mat3(R.T.tolist())))


def _slope(e):
    return np.array(rotation_slope(e.tolist()))


def inverse_kinematics(robot, *arguments, **options):
    """Return what a robot finds."""
    return robot.inverse_kinematics(*arguments, **options)


@pytest.fixture(scope='module')
def arm():
    """Return the seven-joint arm, compiled."""
    return rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))


def inside(model, q):
    """Return whether a position respects all limits."""
    return bool((q >= np.array(model.lower)).all() and (q <= np.array(model.upper)).all())


@pytest.mark.seed('SIXD P12')
def test_last_steps_are_newtons():
    """Near the target of a six-joint arm each error is about the square of the one before."""
    robot = reference(families.general_chain(6, 3))
    start = np.array([0.3, 0.5, -0.4, 0.6, -0.5, 0.2])
    goal = start + np.array([0.2, -0.15, 0.1, 0.2, -0.1, 0.15])
    found = inverse_kinematics(robot, {'body_6': robot.pose(goal, 'body_6')}, start,
                               linear_tolerance=1e-12, angular_tolerance=1e-12)
    assert found.success and found.attempts == 1 and found.iterations == len(found.history) - 1
    assert_close(robot.pose(found.q, 'body_6'), robot.pose(goal, 'body_6'), 1e-11)
    small = [e for e in found.history if 1e-8 < e < 1e-1]
    later = found.history[found.history.index(small[0]) + 1:]
    assert found.iterations <= 8
    for before, after in zip(small, later, strict=False):
        assert after < 30.0 * before**2 + 1e-13


def test_slope_of_the_angular_error():
    """The derivative of the rotation vector by the turn of the frame is exact."""
    rng = np.random.default_rng(4)
    for size in (1e-4, 0.4, 3.0):
        R = Rotation.from_rotvec(size * np.array([0.6, 0.0, -0.8])).as_matrix()
        w = rng.normal(size=3)
        rate = derivative(lambda t, R=R, w=w: _vector(
            Rotation.from_rotvec(t * w).as_matrix().T @ R), 1e-4)
        assert_close(-_slope(_vector(R)) @ w, rate, 1e-7)
    # Just below the switch to the series: what is left out of it is below rounding.
    e = 0.0099 * np.array([0.6, 0.0, -0.8])
    K, half = np.cross(np.eye(3), e), 0.5 * 0.0099
    assert_close(_slope(e), np.eye(3) - 0.5 * K + (1.0 - half / np.tan(half)) / 0.0099**2 * K @ K,
                 1e-13)


def test_steps_within_bounds():
    """The least-squares step, also by SciPy where what is outside at first stays at its bounds."""
    rng, bent = np.random.default_rng(7), 0
    for k in range(60):
        n = 3 + k % 6
        J, e = rng.normal(size=(6, n)), 0.3 * rng.normal(size=6)
        low, high = -rng.uniform(0.0, 0.3, n), rng.uniform(0.0, 0.3, n)
        low[0], high[1] = -np.inf, 0.0
        full, right = np.vstack([J, 0.1 * np.eye(n)]), np.r_[e, np.zeros(n)]
        plain = np.linalg.lstsq(full, right, rcond=None)[0]
        d = np.array(bounded_step(J.tolist(), e.tolist(), 0.01,
                                  [None, *low[1:].tolist()], high.tolist()))
        assert (d >= low).all() and (d <= high).all()
        outside = (plain > high).astype(int) - (plain < low)
        best = lsq_linear(full, right, (low, np.maximum(high, 1e-15)), method='bvls', tol=1e-14)
        held = (high - best.x < 1e-12).astype(int) - (best.x - low < 1e-12)
        if (outside == held).all():
            bent += outside.any()
            assert_close(d, best.x, 1e-9)
        free = bounded_step(J.tolist(), e.tolist(), 0.01, [None] * n, [None] * n)
        assert_close(free, plain, 1e-9)
    assert bent > 10
    assert shortened([0.5, -3.0, 1.0], [1.0, 1.5, 1.0]) == [0.25, -1.5, 0.5]
    assert shortened([0.5, -1.0], [1.0, 1.5]) == [0.5, -1.0]


@pytest.mark.seed('SIXD P12')
def test_reachable_targets_are_reached(arm):
    """All of them, inside the limits, the same every time."""
    rng, attempts = np.random.default_rng(0), []
    for k in range(25):
        target = arm.pose(positions.random_position(arm.model, rng), 'tool0')
        found = inverse_kinematics(arm, {'tool0': target})
        assert found.success, (k, found.text)
        assert inside(arm.model, found.q)
        attempts.append(found.attempts)
        if found.attempts > 1:
            hard, first = target, found
        pose = arm.pose(found.q, 'tool0')
        assert np.linalg.norm(pose[:3, 3] - target[:3, 3]) <= 1e-6
        assert Rotation.from_matrix(pose[:3, :3].T @ target[:3, :3]).magnitude() <= 1.0001e-6
    assert max(attempts) > 1                # the neutral start alone would not do for all
    again = inverse_kinematics(arm, {'tool0': hard})
    assert (again.q == first.q).all() and again.iterations == first.iterations
    other = inverse_kinematics(arm, {'tool0': hard}, seed=1)
    assert other.success and (other.q != first.q).any()
    assert first.require() is first.q and 'reached in' in first.text
    assert not inverse_kinematics(arm, {'tool0': hard}, restarts=0).success


def test_singular_starts_and_half_turns(arm):
    """The stretched arm gets going, and half a turn away is not taken for arrival."""
    q = np.array([0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1])
    target = arm.pose(q, 'tool0')
    assert inverse_kinematics(arm, {'tool0': target}, np.zeros(7)).success
    turned = target.copy()
    turned[:3, :2] *= -1.0                  # half a turn about z: sin of the angle is zero
    found = inverse_kinematics(arm, {'tool0': turned}, q)
    assert found.success and found.iterations > 0
    assert found.history[0] == pytest.approx(np.pi, rel=1e-6)


def test_unreachable_target_is_reported(arm):
    """The search ends after a known number of steps; the report names frame and distance."""
    target = arm.pose(np.zeros(7), 'tool0')
    target[:3, 3] = [0.0, 0.0, 5.0]
    found = inverse_kinematics(arm, {'tool0': target}, max_iterations=30, restarts=3)
    assert not found.success and found.attempts == 4 and found.iterations <= 4 * 30
    assert 3.0 < found.linear_error < 4.5 and inside(arm.model, found.q)
    with pytest.raises(RbdError, match=r'frame "tool0" not reached after 4 starts.*nearest 3\.'):
        found.require()


def test_limits_that_forbid_a_target_are_named():
    """A hinge that cannot turn so far stops at its limit, and the report says which."""
    builder = rbd_ros.ModelBuilder('hinge')
    builder.add_body('link', 'base', Revolute(Z), None, shapes.rod(1.0, 1.0), joint_name='door',
                     data=JointData(lower=-0.5, upper=0.5))
    builder.add_frame('tip', 'link', xlt(1.0, 0.0, 0.0))
    robot = reference(builder.build())
    found = inverse_kinematics(robot, {'tip': [np.cos(1.0), np.sin(1.0), 0.0]}, restarts=2)
    assert not found.success and found.at_limits == ('door',)
    assert 0.499 < found.q[0] <= 0.5
    assert 'at their limits: door' in found.text
    inner = inverse_kinematics(robot, {'tip': [np.cos(0.4), np.sin(0.4), 0.0]}, [9.0])
    assert inner.success and inner.q[0] == pytest.approx(0.4, abs=1e-5)
    none = inverse_kinematics(robot, {'tip': [1.0, 0.0, 0.0]}, [9.0], max_iterations=0, restarts=0)
    assert none.q.tolist() == [0.5] and none.iterations == 0 and not none.success


def test_several_frames_and_points_at_once():
    """Two hands of a floating body reach a pose and a point together, quaternions and all."""
    rng = np.random.default_rng(1)
    builder = rbd_ros.ModelBuilder('two hands')
    builder.add_body('trunk', 'base', Free(), None, families.random_inertia(rng))
    for side, y in (('left', 0.2), ('right', -0.2)):
        above = 'trunk'
        for k, axis in enumerate((Y, Z, Y)):
            builder.add_body(f'{side}_{k}', above, Revolute(axis), xlt(0.0, y, 0.3),
                             families.random_inertia(rng), data=JointData(lower=-0.2, upper=0.4))
            above, y = f'{side}_{k}', 0.0
    model = builder.build()
    robot = reference(model)
    goal = positions.random_position(model, rng)
    targets = {'left_2': robot.pose(goal, 'left_2'),
               'right_2': robot.pose(goal, 'right_2')[:3, 3]}
    found = inverse_kinematics(robot, targets)
    assert found.success and inside(model, found.q)
    assert_close(robot.pose(found.q, 'left_2'), targets['left_2'], 1e-5)
    assert_close(robot.pose(found.q, 'right_2')[:3, 3], targets['right_2'], 1e-5)
    assert abs(np.linalg.norm(found.q[3:7]) - 1.0) < 1e-12


def test_followers_of_mimic_joints_follow():
    """A joint that mimics another moves with it; q holds the leader alone."""
    builder = rbd_ros.ModelBuilder('scissors')
    builder.add_body('a', 'base', Revolute(Z), None, shapes.rod(1.0, 1.0))
    builder.add_body('b', 'a', Revolute(Z), xlt(1.0, 0.0, 0.0), shapes.rod(1.0, 1.0),
                     mimic=Mimic('a_joint', -2.0, 0.1))
    builder.add_frame('tip', 'b', xlt(1.0, 0.0, 0.0))
    robot = reference(builder.build())
    target = robot.pose([0.7], 'tip')[:3, 3]
    found = inverse_kinematics(robot, {'tip': target}, [0.3])
    assert found.success and found.q == pytest.approx([0.7], abs=1e-5)


def hinge_on(joint, lower, upper):
    """Return a hinge with limits on a body that a joint carries, uncompiled."""
    builder = rbd_ros.ModelBuilder('hinge')
    builder.add_body('trunk', 'base', joint, None, shapes.rod(1.0, 1.0))
    builder.add_body('link', 'trunk', Revolute(Z), xlt(1.0, 0.0, 0.0), shapes.rod(1.0, 1.0),
                     joint_name='door', data=JointData(lower=lower, upper=upper))
    builder.add_frame('tip', 'link', xlt(1.0, 0.0, 0.0))
    return reference(builder.build())


@pytest.mark.parametrize('joint', [Free(), Spherical()], ids=lambda joint: joint.type_name)
@pytest.mark.parametrize('lower, upper, goal', [(-0.2, 0.4, -0.7), (-0.4, 0.2, 0.7)])
def test_limits_next_to_quaternions(joint, lower, upper, goal):
    """A hinge on a body that turns by quaternions stops at either of its limits, by value."""
    robot = hinge_on(joint, lower, upper)
    nq = joint.nq
    turned = positions.neutral(robot.model)
    turned[nq] = goal
    targets = {'trunk': robot.pose(turned, 'trunk'), 'tip': robot.pose(turned, 'tip')}
    found = inverse_kinematics(robot, targets, restarts=0, max_iterations=60)
    assert not found.success and found.at_limits == ('door',)
    limit = lower if goal < 0.0 else upper
    assert found.q[nq] == pytest.approx(limit, abs=1e-3) and lower <= found.q[nq] <= upper
    turned[nq] = 0.5 * limit
    targets = {'trunk': robot.pose(turned, 'trunk'), 'tip': robot.pose(turned, 'tip')}
    inner = inverse_kinematics(robot, targets, restarts=0)
    assert inner.success and inner.q[nq] == pytest.approx(0.5 * limit, abs=1e-5)


def test_limits_of_joints_whose_positions_do_not_add():
    """A planar joint, whose velocity turns with it, does not leave its limits either."""
    builder = rbd_ros.ModelBuilder('sledge')
    builder.add_body('sledge', 'base', Planar(Z), None, shapes.rod(1.0, 1.0),
                     data=JointData(lower=(-1.0, -0.5, -0.5), upper=(1.0, 0.5, 0.5)))
    robot = reference(builder.build())
    found = inverse_kinematics(robot, {'sledge': robot.pose([0.3, 0.4, -0.4], 'sledge')})
    assert found.success and inside(robot.model, found.q)
    far = inverse_kinematics(robot, {'sledge': robot.pose([0.3, 2.0, 0.0], 'sledge')}, restarts=2)
    assert not far.success and inside(robot.model, far.q)


@pytest.mark.parametrize('away', [374.0, 1e8, 1e200])
def test_far_targets_of_a_floating_base(away):
    """Near enough in numbers they are reached; where numbers end, no success is claimed."""
    robot = hinge_on(Free(), -1.0, 1.0)
    target = robot.pose(positions.neutral(robot.model), 'tip')
    target[:3, 3] += [away, -away, 0.5 * away]
    found = inverse_kinematics(robot, {'tip': target}, restarts=1)
    reached = robot.pose(found.q, 'tip')
    assert np.isfinite(found.q).all()
    away_by = np.abs(reached[:3, 3] - target[:3, 3]).max()
    assert found.success == bool(away_by <= 1e-6)
    if away < 1e3:
        assert found.success


def test_a_search_that_meets_no_number_fails():
    """Where a joint cannot say where it is, the search ends without success and without NaN."""
    builder = rbd_ros.ModelBuilder('broken')
    late = Prescribed(Revolute(), lambda t: ([sqrt(t - 1.0)], [1.0], [0.0]))    # begins at t = 1
    builder.add_body('slide', 'base', late, None, shapes.rod(1.0, 1.0))
    builder.add_body('link', 'slide', Prismatic(Z), None, shapes.rod(1.0, 1.0))
    robot = reference(builder.build())
    found = inverse_kinematics(robot, {'link': [0.0, 0.0, 1.0]}, restarts=1)
    assert not found.success and np.isfinite(found.q).all()
    many = inverse_kinematics(robot, {'link': [[0.0, 0.0, 1.0]] * 2}, restarts=1)
    assert not many.success.any() and np.isfinite(many.q).all()


@pytest.mark.parametrize('name', ['four_bar', 'delta'])
def test_loops_are_closed(name):
    """Success means closed loops; a place that the tree alone could reach is not reached."""
    model, q = getattr(mechanisms, name)()
    robot = reference(model)
    frame = {'four_bar': 'bar_3', 'delta': 'tool'}[name]
    place = robot.pose(q, frame)[:3, 3]
    start = positions.integrate(model, list(q), [0.15, -0.1, 0.1] + [0.0] * (model.nv - 3))
    found = inverse_kinematics(robot, {frame: place}, start, restarts=0)
    assert found.success and np.abs(robot.loop_error(found.q)).max() < 1e-9
    assert np.linalg.norm(robot.pose(found.q, frame)[:3, 3] - place) < 1e-6
    out = place + [0.0, 0.0, 0.05] if name == 'four_bar' else place - [0.0, 0.0, 2.0]
    far = inverse_kinematics(robot, {frame: out}, start, restarts=0, max_iterations=25)
    assert not far.success and 'loops open by' in far.text


def test_many_targets_side_by_side(arm):
    """Each row is an answer to its target; starts, points and errors go by row."""
    rng = np.random.default_rng(0)
    goals = np.array([positions.random_position(arm.model, rng) for _ in range(25)])
    targets = arm.pose(goals, 'tool0')
    found = arm.inverse_kinematics({'tool0': targets})
    assert found.success.all() and found.q.shape == (25, 7)
    assert all(inside(arm.model, q) for q in found.q)
    reached = arm.pose(found.q, 'tool0')
    assert np.linalg.norm(reached[:, :3, 3] - targets[:, :3, 3], axis=1).max() <= 1e-6
    assert found.attempts.max() > 1 and (found.iterations > 0).all()
    assert (found.attempts[found.attempts > 1] <= 21).all()
    assert found.text == 'frame "tool0" reached for 25 of 25 targets'
    assert found.require() is found.q
    # from a start of each that is the answer, nothing moves; one target for many starts
    warm = arm.inverse_kinematics({'tool0': targets}, found.q)
    assert (warm.q == found.q).all() and not warm.iterations.any()
    same = arm.inverse_kinematics({'tool0': targets[0, :3, 3]}, goals[:3] + 0.1)
    assert same.success.all() and same.q.shape == (3, 7)
    # one that cannot be reached does not hold up the others, and is named
    targets[3, :3, 3] = [0.0, 0.0, 5.0]
    some = arm.inverse_kinematics({'tool0': targets}, restarts=5)
    assert not some.success[3] and 3.0 < some.linear_error[3] < 4.5 and some.attempts[3] == 6
    assert some.success.sum() == 24
    with pytest.raises(RbdError, match='reached for 24 of 25 targets; not for number 3'):
        some.require()
    none = arm.inverse_kinematics({'tool0': targets}, max_iterations=0, restarts=0)
    assert not none.success.any() and not none.iterations.any()


def test_no_targets_are_all_reached(arm):
    """An empty batch has an empty answer."""
    for targets, start in ((np.zeros((0, 3)), None), (np.zeros(3), np.zeros((0, 7)))):
        none = arm.inverse_kinematics({'tool0': targets}, start)
        assert none.require().shape == (0, 7) and none.success.shape == (0,)


def test_one_and_many_walk_alike(arm):
    """Without restarts a search gives the same alone and among others, but for rounding."""
    rng = np.random.default_rng(8)
    goals = np.array([positions.random_position(arm.model, rng) for _ in range(8)])
    targets, start = arm.pose(goals, 'tool0'), np.clip(goals + 0.2, arm.model.lower,
                                                       arm.model.upper)
    many = arm.inverse_kinematics({'tool0': targets}, start, restarts=0)
    for k in range(8):
        one = arm.inverse_kinematics({'tool0': targets[k]}, start[k], restarts=0)
        assert one.success == many.success[k]
        if one.success:
            assert_close(one.q, many.q[k], 1e-5)
            assert one.iterations == many.iterations[k] == len(one.history) - 1
            assert one.linear_error == pytest.approx(many.linear_error[k], abs=1e-7)


def test_warm_start_takes_few_steps(arm):
    """From the position of now to a target 1 cm away the search takes a few steps, one start."""
    q = np.array([0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1])
    target = arm.pose(q, 'tool0')
    assert arm.inverse_kinematics({'tool0': target}, q).iterations == 0
    target[:3, 3] += [0.01, 0.0, -0.005]
    found = arm.inverse_kinematics({'tool0': target}, q)
    assert found.success and found.attempts == 1 and found.iterations <= 5
    assert np.abs(found.q - q).max() < 0.1


def test_bad_input_is_named(arm):
    """Unknown frames, wrong shapes, matrices that are no pose, nothing to reach."""
    pose = arm.pose(np.zeros(7), 'tool0')
    with pytest.raises(UnknownName, match='no frame "tool"; did you mean "tool0"'):
        inverse_kinematics(arm, {'tool': pose})
    with pytest.raises(ShapeError, match=r'target of frame "tool0" must be a pose'):
        inverse_kinematics(arm, {'tool0': np.zeros(4)})
    with pytest.raises(NonFiniteError, match=r'target of frame "tool0" holds NaN'):
        inverse_kinematics(arm, {'tool0': pose * np.nan})
    with pytest.raises(ModelError, match='frame "tool0": .* must be a rotation matrix'):
        inverse_kinematics(arm, {'tool0': pose + np.diag([0.1, 0.0, 0.0, 0.0])})
    with pytest.raises(ShapeError, match='start must hold nq = 7 finite numbers'):
        inverse_kinematics(arm, {'tool0': pose}, [0.0])
    with pytest.raises(NonFiniteError, match=r'start\[2\] is nan'):
        inverse_kinematics(arm, {'tool0': pose}, [0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 0.0])
    floating = hinge_on(Free(), -1.0, 1.0)      # zeros are no position of it
    with pytest.raises(NonFiniteError, match='start: joint ".*" cannot be at q = '):
        inverse_kinematics(floating, {'tip': [0.0, 0.0, 1.0]}, np.zeros(8))
    with pytest.raises(NonFiniteError, match=r'start\[1\]: joint ".*" cannot be at q = '):
        inverse_kinematics(floating, {'tip': [0.0, 0.0, 1.0]},
                           [positions.neutral(floating.model), np.zeros(8)])
    with pytest.raises(ShapeError, match='start holds 3 positions, there are 2 targets'):
        inverse_kinematics(arm, {'tool0': [pose, pose]}, np.zeros((3, 7)))
    with pytest.raises(ShapeError, match='as many as each other, got 2 of "tool0", 3 of "link_3"'):
        inverse_kinematics(arm, {'tool0': [pose, pose], 'link_3': np.zeros((3, 3))})
    with pytest.raises(ModelError, match='frame "tool0": .* last row is 0 0 0 1'):
        inverse_kinematics(arm, {'tool0': np.vstack([pose[:3], np.ones(4)])})
    with pytest.raises(RbdError, match='linear_tolerance is 0.0; it must be positive'):
        inverse_kinematics(arm, {'tool0': pose}, linear_tolerance=0.0)
    with pytest.raises(RbdError, match='max_iterations must not be negative, got -2'):
        inverse_kinematics(arm, {'tool0': pose}, max_iterations=-2)
    with pytest.raises(RbdError, match='restarts must not be negative, got -1'):
        inverse_kinematics(arm, {'tool0': pose}, restarts=-1)
    for nothing in ({}, None, [pose]):
        with pytest.raises(RbdError, match='at least one frame'):
            inverse_kinematics(arm, nothing)
    for value in ([1.0, 2.0, 'x'], np.zeros(3) * 1j, [[1.0], [1.0, 2.0]]):
        with pytest.raises(ShapeError, match='target of frame "tool0" must be an array of real'):
            inverse_kinematics(arm, {'tool0': value})
        with pytest.raises(ShapeError, match='start must be an array of real numbers'):
            inverse_kinematics(arm, {'tool0': pose}, value)


@pytest.mark.parametrize('peer', ['pink', 'mink', 'pinocchio'])
def test_at_least_as_good_as_others(peer):
    """Of the same targets of a real arm at least as many are reached as by pink and mink."""
    pytest.importorskip(peer)
    pytest.importorskip('pinocchio')
    from benchmark import inverse_kinematics as bench
    case = bench.Case('ur5', 25, seed=3)
    ours, theirs = (case.times(search, restarts)[0] for search, restarts in (
        (case.ours, bench.RESTARTS), (getattr(case, peer), 0)))
    assert ours >= theirs and ours == 1.0 and theirs > 0.5
