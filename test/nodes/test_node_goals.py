# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Goals of the action, of joints and of the tip, from refusal to result, on a real node."""

from action_msgs.msg import GoalStatus
from bad_goals import FLAWS, good_goal
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
from node_rig import Goal, JOINTS, NodeRig, PERIOD, START, to_time
import numpy as np
import pytest
from rbd_ros.control.interface.results import ResultCode
from rbd_ros.control.modes import DEFAULT, MODES, Takes, taking
from rbd_ros.nodes.controller.reports import quaternion
from sampling import some
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import (
    JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint)

INVALID, JOINTS_INVALID = ResultCode.INVALID_GOAL, ResultCode.INVALID_JOINTS
#: springs that the light wrist can have at 100 Hz
SOFT = {'joint_impedance.stiffness': [10.0, 10.0, 4.0, 4.0, 0.4, 0.2, 0.02],
        'joint_impedance.damping': [1.5, 1.5, 0.5, 0.5, 0.05, 0.03, 0.003],
        'cartesian_impedance.angular_stiffness': [2.0, 2.0, 2.0]}
AWAY = np.array([0.0, 0.1, 0.05])
ONE = np.eye(3)
#: takes a while to check
LONG = [(2.0 * k, (-1)**k * np.array([0.0, 0.0, 0.05])) for k in range(1, 16)]


def test_too_many_goals():
    """Beyond 200 whose results are kept a goal is rejected; before, each one hears its reason."""
    rig = NodeRig()
    try:
        for _ in range(200):
            sent = Goal(rig, goal(rig, (0.2, 0.02)))
        rig.wait(lambda: sent.ended, 'an end')
        assert 'the controller is not configured' in sent.result.error_string
        with rig.logs('200 goals within 10 s'):
            assert Goal(rig, goal(rig, (0.2, 0.02))).ended == 'rejected'
    finally:
        rig.close()


@pytest.fixture
def rig(started):
    """Return the rig, whose arm runs in computed torque at rest where it began."""
    started.begin(goal_mode='')
    return started


def duration(seconds):
    """Return a time as messages have it."""
    return Duration(sec=int(seconds), nanosec=round((seconds % 1.0) * 1e9))


def goal(rig, *ways, start=None, **fields):
    """Return a goal: after each time, all joints that far from here."""
    made = FollowJointTrajectory.Goal(**fields)
    made.trajectory.joint_names = list(JOINTS)
    if start is not None:
        made.trajectory.header.stamp = to_time(rig.now + round(1e9 * start))
    made.trajectory.points = [
        JointTrajectoryPoint(positions=(rig.q + way).tolist(), time_from_start=duration(time))
        for time, way in ways]
    return made


def refused(rig, made, text, code=INVALID):
    """Expect that a goal is aborted at once with a reason, which the log has as well."""
    with rig.logs(text):
        sent = Goal(rig, made)
        assert sent.end() == 'aborted'
    assert text in sent.result.error_string and sent.result.error_code == code
    return sent


# -- of the joints --------------------------------------------------------------------------------


def test_a_goal_is_followed_and_answered(rig):
    """Feedback on the way holds reference, robot and their difference; the result is 0."""
    sent = Goal(rig, goal(rig, (0.5, 0.05), (1.5, 0.15)))
    for _ in range(3):
        count = len(sent.feedback)
        rig.run(0.3)
        rig.wait(lambda count=count: len(sent.feedback) > count, 'feedback')
    assert sent.handle.status == GoalStatus.STATUS_EXECUTING and sent.ended == ''
    assert (sent.end(), sent.result.error_code, sent.result.error_string) == (
        'succeeded', 0, 'goal reached')
    np.testing.assert_allclose(rig.q, START + 0.15, atol=5e-3)
    for message in sent.feedback:
        assert message.joint_names == list(JOINTS)
        desired, actual = message.desired, message.actual
        for name in ('positions', 'velocities'):
            np.testing.assert_allclose(getattr(message.error, name), np.subtract(
                getattr(desired, name), getattr(actual, name)), atol=1e-12)
        assert len(desired.accelerations) == 7 and not actual.accelerations
        np.testing.assert_allclose(actual.positions, desired.positions, atol=2e-3)
        passed = desired.time_from_start.sec + 1e-9 * desired.time_from_start.nanosec
        np.testing.assert_allclose(desired.positions, START + 0.1 * passed, atol=0.02)
    times = [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
             for message in sent.feedback]
    assert len(times) >= 2 and times == sorted(times)
    values = rig.diagnosis('reference', **{'goals under way': '0'})[2]
    assert values['last goal'] == 'succeeded (SUCCESSFUL): goal reached'


def test_a_start_in_the_future(rig):
    """A stamp is the time from which the times of the points count."""
    sent = Goal(rig, goal(rig, (0.2, 0.02), start=0.3))
    rig.run(0.46)
    assert sent.ended == ''
    rig.run(0.1)
    rig.wait(lambda: sent.ended, 'the end')
    assert sent.ended == 'succeeded', sent.result


def test_refusals_name_their_reason(rig):
    """What cannot be followed is aborted before anything moves, with code and reason, counted."""
    slow = 0.2
    rig.must_set(reference__velocity=[slow])
    count = int(rig.diagnosis('reference')[2]['goals refused'])
    both = goal(rig, (0.2, 0.02))
    both.multi_dof_trajectory.joint_names = ['base']
    fast = goal(rig, (1.0, 0.0))
    fast.trajectory.points[0].velocities = [0.0] * 6 + [-1.01 * slow]
    unknown = goal(rig, (0.2, 0.02))
    unknown.trajectory.joint_names[6] = 'elbow'
    cases = (
        (goal(rig, (0.2, 0.02), start=-0.25), 'ended 0.05 s ago',
         ResultCode.OLD_HEADER_TIMESTAMP),
        (both, 'not both', INVALID), (goal(rig, (1.0, 9.0)), 'is outside', INVALID),
        (goal(rig, (1.0, 0.0), (2.0, 1.1 * slow)), 'beyond its reference.velocity', INVALID),
        (fast, 'joint_7 would move at', INVALID), (unknown, 'elbow', JOINTS_INVALID),
        (goal(rig, (0.2, 0.02), path_tolerance=[JointTolerance(name='x')]), 'unknown joint x',
         JOINTS_INVALID))
    for made, text, code in cases:
        refused(rig, made, text, code)
    values = rig.diagnosis('reference', **{'goals refused': str(count + len(cases))})[2]
    assert values['last refusal'].endswith('unknown joint x')
    np.testing.assert_allclose(rig.q, START, atol=1e-4)  # the goals are 0.02 and more away
    # points as fast as the reference may go are no reason, nor what rounding adds
    level = goal(rig, (1.0, 0.0), (2.0, slow * 1.0009))
    for point in level.trajectory.points:
        point.velocities = [slow] * 7
    sent = Goal(rig, level)
    rig.run(0.1)
    assert sent.ended == ''


def test_tolerances_of_the_goal_count(rig):
    """A joint held elsewhere, or at rest, violates the path; one that never arrives the goal."""
    rig.block()
    for bounds, text in (({'position': 0.01}, 'position error'),
                         ({'position': 1.0, 'velocity': 0.01}, 'velocity error')):
        sent = Goal(rig, goal(rig, (0.4, 0.03), path_tolerance=[
            JointTolerance(name=joint, **bounds) for joint in JOINTS]))
        rig.run(0.4)
        assert sent.end() == 'aborted' and text in sent.result.error_string
        assert sent.result.error_code == ResultCode.PATH_TOLERANCE_VIOLATED
    begin = rig.now
    sent = Goal(rig, goal(rig, (0.1, 0.005), goal_time_tolerance=duration(0.5),
                          goal_tolerance=[JointTolerance(name=JOINTS[0], position=1e-3)]))
    rig.run(0.57)
    assert sent.ended == ''
    assert sent.end() == 'aborted' and rig.now - begin >= 600_000_000
    assert sent.result.error_code == ResultCode.GOAL_TOLERANCE_VIOLATED
    assert rig.said('state') == 'running'


def test_a_cancelled_goal_holds(rig):
    """The client that cancels hears so, the robot stands, and nothing is cancelled twice."""
    sent = Goal(rig, goal(rig, (5.0, 0.3)))
    rig.run_until(lambda: (rig.q > START + 0.03).all(), 'motion')
    assert sent.cancel() == 1
    assert sent.end() == 'canceled' and sent.result.error_code == 0
    rig.run(0.5)
    rested = rig.q.copy()
    assert (START + 0.02 < rested).all() and (rested < START + 0.25).all()
    rig.run(0.3)
    np.testing.assert_allclose(rig.q, rested, atol=1e-3)
    assert sent.cancel() == 0 and rig.said('state') == 'running'


def test_goals_that_come_at_once(rig):
    """Each runs its own plan and hears its own end: the last one is reached."""
    sent = [rig.action.send_goal_async(made) for made in (
        goal(rig, (9.0, 0.05)), goal(rig, (9.0, 9.0)), goal(rig, (2.0, -0.05)))]
    rig.run_until(lambda: all(each.done() for each in sent), 'answers')
    ends = [each.result().get_result_async() for each in sent]
    rig.run_until(lambda: all(each.done() for each in ends), 'all ends')
    texts = [each.result().result.error_string for each in ends]
    assert 'pre-empted' in texts[0] and 'is outside' in texts[1] and texts[2] == 'goal reached'
    np.testing.assert_allclose(rig.q, START - 0.05, atol=5e-3)


@pytest.mark.parametrize('how', ['stop', 'mode', 'deactivate', 'set-point'])
def test_what_ends_a_goal_is_its_answer(rig, how):
    """A stop, another mode, a deactivation, a set-point: whoever sent it hears why."""
    sent = Goal(rig, goal(rig, (9.0, 0.5)))
    rig.run_until(lambda: np.abs(rig.qd).max() > 0.01, 'a motion')
    if how == 'stop':
        assert rig.call_now('stop').message == 'braking'
    elif how == 'mode':
        rig.must_set(mode='gravity_compensation')
    elif how == 'deactivate':
        rig.block()
        assert rig.transition('deactivate')
    else:
        rig.publish('controller/joint_trajectory', JointTrajectory(
            joint_names=JOINTS, points=[JointTrajectoryPoint(positions=rig.q.tolist())]))
    assert sent.end() == 'aborted'
    assert {'stop': 'the controller stopped: stop requested: ~/stop',
            'mode': 'the mode changed to gravity_compensation', 'deactivate': 'deactivated',
            'set-point': 'pre-empted by a set-point'}[how] in sent.result.error_string
    after = {'stop': 'the controller is ', 'deactivate': 'activate it',
             'mode': 'the mode is gravity_compensation; set the parameter mode'}
    if how in after:
        refused(rig, goal(rig, (0.2, 0.02)), after[how])


# -- and the mode ---------------------------------------------------------------------------------

FOLLOWING = taking(Takes.TRAJECTORY)


def test_a_goal_switches_the_mode(rig):
    """From every mode that runs, without a step of the torque; it stays in the new mode."""
    others = [each for each in MODES if each not in FOLLOWING]
    pairs = [(mode, wanted) for mode in others for wanted in FOLLOWING]
    limits = 1e-9 * PERIOD * np.array([600.0, 600.0, 400.0, 400.0, 200.0, 120.0, 80.0])
    for mode, wanted in some('configurations', pairs, 2):
        rig.begin(mode=mode, goal_mode=wanted, **SOFT)
        before, count = rig.q.copy(), len(rig.commands)
        with rig.logs(f'the mode is switched to {wanted} by a goal'):
            sent = Goal(rig, goal(rig, (0.5, 0.02), (1.0, 0.03), goal_tolerance=[
                JointTolerance(name=joint, position=0.02) for joint in JOINTS]))
            assert sent.end() == 'succeeded', (mode, wanted, sent.result.error_string)
        assert rig.said('mode') == rig.get('mode') == wanted and rig.said('state') == 'running'
        np.testing.assert_allclose(rig.q, before + 0.03, atol=0.02)
        steps = np.abs(np.diff([each.effort for each in rig.commands[count - 1:]], axis=0))
        assert (steps.max(axis=0) <= limits).all(), steps.max(axis=0)


def test_a_goal_switches_only_where_it_may(rig):
    """Not by default, not unless the robot runs, not by a bad goal, not if that is refused."""
    rig.must_set(mode=DEFAULT)

    def stays(text, made=None):
        refused(rig, made or goal(rig, (0.5, 0.02)), text)
        assert rig.get('mode') == rig.said('mode') == DEFAULT
    stays(f'the mode is {DEFAULT}; set the parameter mode to {FOLLOWING[0]} or')
    stays('or goal_mode, so that goals switch to it')
    rig.must_set(goal_mode=FOLLOWING[0])
    stays('is outside', goal(rig, (1.0, 9.0)))
    rig.call_now('stop')
    stays('the controller is braking (')
    rig.run_until(lambda: rig.said('state') == 'holding', 'a hold')
    stays('the controller is holding (')
    stays('): when it has come to rest, call ~/reset')
    reset = rig.ask(Trigger, 'reset', Trigger.Request())
    rig.wait(lambda: reset.done() and rig.said('state') == 'ramping in', 'a ramp, as time stands')
    stays('a goal switches it (goal_mode) only while the controller is running')


@pytest.mark.sampled('properties', 1)
@pytest.mark.parametrize('seed', range(3))
def test_random_bad_goals_switch_nothing(rig, seed):
    """Whatever is wrong with a goal, the mode stays; a good one between them switches it."""
    rng, first, wanted = np.random.default_rng(seed), DEFAULT, FOLLOWING[0]
    rig.must_set(mode=first, goal_mode=wanted)

    def made(sent):
        found = goal(rig, start=sent.stamp, goal_tolerance=[
            JointTolerance(name=JOINTS[0], position=sent.tolerance)])
        found.trajectory.joint_names = sent.names
        found.trajectory.points = [
            JointTrajectoryPoint(positions=row, time_from_start=duration(time))
            for time, row in zip(sent.times, sent.rows, strict=True)]
        return found
    for flaw in rng.permutation(len(FLAWS)):
        sent = good_goal(rng, list(JOINTS), rig.q)
        FLAWS[flaw](rng, sent)
        found = Goal(rig, made(sent))
        assert found.end() == 'aborted' and found.result.error_code < 0, sent
        assert rig.said('mode') == first, sent
    found = Goal(rig, made(good_goal(rng, list(JOINTS), rig.q)))
    rig.run_until(lambda: rig.said('mode') == wanted, 'another mode')
    assert found.ended == ''


# -- of the tip -----------------------------------------------------------------------------------


def pose(rig, q=None):
    """Return where the tip is."""
    return rig.dynamics.pose(rig.q if q is None else q, 'tool0')


def path(T, *ways, frame='', name='tool0', start=0, R=ONE):
    """Return a message: after each time, the tip that far from a pose, with its axes."""
    message = MultiDOFJointTrajectory(joint_names=[name])
    message.header.frame_id, message.header.stamp = frame, to_time(start)
    for time, way in ways:
        x, y, z = (R.T @ (T[:3, 3] + way)).tolist()
        message.points.append(MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(
                **dict(zip('xyzw', quaternion(R.T @ T[:3, :3])))))],
            time_from_start=duration(time)))
    return message


def path_goal(message, **fields):
    """Return it as a goal."""
    return FollowJointTrajectory.Goal(multi_dof_trajectory=message, **fields)


def test_a_path_is_checked_followed_and_answered(rig):
    """The tip is on its line all the time; feedback has the tip as well; the result is 0."""
    T = pose(rig)
    sent, off = Goal(rig, path_goal(path(T, (0.5, 0.5 * AWAY), (1.0, AWAY)))), []

    def in_motion():
        return [each for each in list(sent.feedback)
                if np.abs(each.actual.velocities).max() > 1e-3]
    while not sent.ended:
        rig.run(0.02)
        moved = pose(rig)[:3, 3] - T[:3, 3]
        off.append(np.linalg.norm(moved - AWAY * (AWAY @ moved) / (AWAY @ AWAY)))
        if np.linalg.norm(moved) > 0.05 and not sent.ended:
            rig.wait(in_motion, 'feedback in motion')
    assert in_motion()
    assert (sent.ended, sent.result.error_code) == ('succeeded', 0), sent.result
    assert max(off) < 2e-3
    np.testing.assert_allclose(pose(rig)[:3, 3], T[:3, 3] + AWAY, atol=2e-3)
    np.testing.assert_allclose(pose(rig)[:3, :3], T[:3, :3], atol=5e-3)
    for message in sent.feedback:
        assert message.multi_dof_joint_names == ['tool0']
        for there, joints in ((message.multi_dof_desired, message.desired),
                              (message.multi_dof_actual, message.actual)):
            place = there.transforms[0].translation
            np.testing.assert_allclose([place.x, place.y, place.z], pose(
                rig, np.array(joints.positions))[:3, 3], atol=1e-9)
            speed = rig.dynamics.jacobian(np.array(joints.positions), 'tool0')
            turned = pose(rig, np.array(joints.positions))[:3, :3] @ (
                speed @ joints.velocities)[3:]
            v = there.velocities[0].linear
            np.testing.assert_allclose([v.x, v.y, v.z], turned, atol=1e-9)


def test_a_path_by_topic_in_a_frame_of_the_robot(rig):
    """It begins at its stamp, and not before; the frame is taken where it stands now."""
    T = rig.dynamics.pose(rig.q, 'link_2')
    begin, there = pose(rig), pose(rig)
    there[:3, 3] -= T[:3, 3]
    way = np.array([0.05, 0.0, 0.0])
    rig.publish('controller/cartesian_trajectory', path(
        there, (1.0, way), frame='link_2', R=T[:3, :3], start=rig.now + 10_000_000_000))
    rig.wait(lambda: not rig.planner.busy, 'the end of its check')
    rig.run(9.9)
    np.testing.assert_allclose(pose(rig), begin, atol=1e-5)
    rig.run(0.6)
    assert np.linalg.norm(pose(rig)[:3, 3] - begin[:3, 3] - 0.5 * way) < 5e-3
    rig.run(1.0)
    np.testing.assert_allclose(pose(rig)[:3, 3], begin[:3, 3] + way, atol=2e-3)


def test_refusals_of_paths(rig):
    """Nothing moves; what is wrong and where is the answer."""
    T, near = pose(rig), (1.0, np.array([0.0, 0.0, 0.05]))

    def changed(**fields):
        message = path(T, near)
        for name, value in fields.items():
            setattr(message.points[0], name, value)
        return message
    bad = path(T, near)
    bad.points[0].transforms[0].translation.x = float('nan')
    quick = path(T, near, (1.1, -near[1]))
    half = path(T, near, (2.0, near[1]))
    half.points[0].velocities = [Twist()]
    for point in quick.points:
        point.velocities = [Twist()]
    turned = T.copy()
    turned[:3, :3] = T[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    for message, text, code in (
            (path(T, near, name='elbow'), 'joint_names must be ["tool0"]', JOINTS_INVALID),
            (path(T, near, near), 'must be finite and increase', INVALID),
            (path(T, (601.0, near[1])), 'more than 600 s', INVALID),
            (path(T, near, frame='nowhere'), 'nowhere', INVALID),
            (path(T, (0.0, np.array([0.0, 0.01, 0.0])), near), 'begins 0.01 m and', INVALID),
            (path(T, (2.0, np.array([2.0, 0.0, 0.0]))), 's from its start, before way-point 0',
             INVALID),
            (quick, 'between way-points 0 and 1', INVALID), (bad, 'not all finite', INVALID),
            (path(T, near, start=rig.now - 1_500_000_000), 'would have begun',
             ResultCode.OLD_HEADER_TIMESTAMP),
            (changed(velocities=[Twist(linear=Vector3(x=0.1))]), 'last velocity must be zero',
             INVALID),
            (changed(accelerations=[Twist()]), 'accelerations without velocities', INVALID),
            (changed(transforms=[]), 'way-point 0 has 0 transforms', INVALID),
            (half, 'way-point 1 has 0 velocities', INVALID),
            (path(turned, near), 'put another way-point in between', INVALID)):
        refused(rig, path_goal(message), text, code)
    refused(rig, path_goal(path(T, near), component_path_tolerance=[JointComponentTolerance()]),
            'give the tolerances of a path by joint')
    with rig.logs('/controller/cartesian_trajectory: rejected, '):
        rig.publish('controller/cartesian_trajectory', path(T, near, near))
    rig.run(0.1)
    np.testing.assert_allclose(rig.q, START, atol=1e-6)
    moving = Goal(rig, goal(rig, (60.0, 0.5)))  # however fast simulated time is
    rig.run(2.0)
    rig.wait(lambda: np.abs(rig.planner._robot.reference[1]).max() > 1e-3, 'a look at it',
             steps=True)
    refused(rig, path_goal(path(T, near)), 'the reference still moves')
    assert moving.ended == ''


@pytest.mark.parametrize('meanwhile', ['reset', 'parameter', 'hold', 'empty', 'path', 'cancel'])
def test_what_comes_while_a_path_is_checked(rig, meanwhile):
    """A stop and a reset, a limit, a hold, an empty or a newer path: it does not begin."""
    sent, second = Goal(rig, path_goal(path(pose(rig), *LONG))), None
    rig.wait(lambda: rig.planner.busy, 'a check')
    if meanwhile == 'reset':
        rig.call('stop')
        rig.run_until(lambda: rig.said('state') == 'holding', 'a hold')
        assert rig.call('reset').success
    elif meanwhile == 'parameter':
        rig.must_set(reference__velocity=[1.9])
    elif meanwhile == 'hold':
        rig.publish('controller/joint_trajectory', JointTrajectory())
    elif meanwhile == 'empty':
        rig.publish('controller/cartesian_trajectory', MultiDOFJointTrajectory())
        rig.publish('controller/joint_trajectory', JointTrajectory())
    elif meanwhile == 'path':
        second = Goal(rig, path_goal(path(pose(rig), (0.5, 0.2 * AWAY))))
    else:
        assert sent.cancel() == 1
    text = {'path': 'pre-empted by a new path', 'cancel': 'canceled while the path was checked'}
    rig.wait(lambda: not rig.planner.busy, 'the end of a check')
    sent.end()
    assert sent.ended == ('canceled' if meanwhile == 'cancel' else 'aborted')
    assert text.get(meanwhile, 'send it again') in sent.result.error_string
    np.testing.assert_allclose(rig.q, START, atol=0.02)
    assert second is None or second.end() == 'succeeded'


def test_a_path_that_is_ended_rests_on_it(rig):
    """Cancelled, or by an empty message: it slows down on the line; the next begins there."""
    T, way = pose(rig), np.array([0.0, 0.0, 0.1])
    for end in ('cancel', 'empty'):
        begin = pose(rig)
        sent = Goal(rig, path_goal(path(T, (1.0, way)) if end == 'cancel' else path(
            begin, (1.0, -0.7 * way))))
        rig.run_until(lambda begin=begin: np.abs(pose(rig)[:3, 3] - begin[:3, 3]).max() > 0.02,
                      'a motion')
        if end == 'cancel':
            assert sent.cancel() == 1
        else:
            rig.publish('controller/cartesian_trajectory', MultiDOFJointTrajectory())
        assert sent.end() == ('canceled' if end == 'cancel' else 'aborted')
        rig.run(2.0)
        assert np.abs(rig.qd).max() < 3e-3
        np.testing.assert_allclose((pose(rig) - T)[:2, 3], 0.0, atol=2e-3)
        moved = abs(pose(rig)[2, 3] - begin[2, 3])
        assert 0.02 < moved < 0.06, moved  # of the 0.1 and 0.07 m of the whole line


def test_pause(rig):
    """A trajectory rests on its way and goes on; without one the service says so."""
    answer = rig.call('pause', SetBool, data=True)
    assert (answer.success, answer.message) == (False, 'no trajectory is being followed')
    sent = Goal(rig, goal(rig, (1.0, 0.1)))
    rig.run(0.4)
    answer = rig.call('pause', SetBool, data=True)
    assert (answer.success, answer.message) == (
        True, 'the trajectory comes to rest on its path')
    rig.run(1.0)
    rested = rig.q.copy()
    rig.run(1.0)
    np.testing.assert_allclose(rig.q, rested, atol=1e-4)
    assert sent.ended == '' and rig.said('state') == 'running'
    np.testing.assert_allclose(np.ptp(rested - START), 0.0, atol=1e-3)  # all have gone as far
    with rig.logs('~/pause: the trajectory goes on'):
        assert rig.call('pause', SetBool, data=False).success
    assert sent.end() == 'succeeded'
    np.testing.assert_allclose(rig.q, START + 0.1, atol=5e-3)
