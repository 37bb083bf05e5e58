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

"""Goals of the action, from refusal to result, on a fake clock and without a middleware."""

import math

from action_rig import Desk, duration, Handle
from bad_goals import FLAWS, good_goal
from control_msgs.msg import JointTolerance
from controller_rig import SOFT
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.modes.modes import DEFAULT, Follows, MODES, own_mode, Takes, taking
from rbd_ros.control.references.results import GoalError, ResultCode
from rbd_ros.control.references.trajectory import check_times, Knots
from rbd_ros.nodes.controller.inputs import knots_of
from rclpy.action import CancelResponse, GoalResponse
from trajectory_msgs.msg import JointTrajectoryPoint

ACCEPT, REJECT = GoalResponse.ACCEPT, GoalResponse.REJECT


@pytest.fixture
def desk(monkeypatch):
    """Return the action of an arm that runs."""
    made = Desk(monkeypatch)
    made.start()
    return made


def test_goal_is_followed_and_answered(desk):
    """Feedback every 0.1 s holds reference, robot and their difference; the result is 0."""
    before = desk.arm.q.copy()
    answer, handle = desk.send(desk.goal((0.2, 0.02), (0.4, 0.03)))
    assert answer is ACCEPT and desk.timer.runs and desk.action.goals == 1
    desk.run(0.3)
    assert handle.ended == '' and len(handle.feedback) in (2, 3)
    for message in handle.feedback:
        assert message.joint_names == list(desk.arm.robot.joints) and message.header.stamp.sec == 9
        desired, actual = message.desired, message.actual
        np.testing.assert_allclose(message.error.positions, np.subtract(
            desired.positions, actual.positions), atol=1e-12)
        np.testing.assert_allclose(message.error.velocities, np.subtract(
            desired.velocities, actual.velocities), atol=1e-12)
        assert len(desired.accelerations) == 7 and not actual.accelerations
        np.testing.assert_allclose(actual.positions, desired.positions, atol=2e-3)
    times = [1e-9 * m.desired.time_from_start.nanosec for m in handle.feedback]
    assert np.diff(times) == pytest.approx(0.1, abs=0.021)
    assert 0.0 < times[0] <= 0.05
    desk.run(0.3)
    assert (handle.ended, handle.result.error_code) == ('succeeded', 0)
    np.testing.assert_allclose(desk.arm.q, before + 0.03, atol=2e-3)
    assert desk.action.goals == 0
    desk.run(0.02)
    assert not desk.timer.runs
    assert desk.action.last.text == handle.result.error_string == 'goal reached'


def test_start_in_the_future(desk):
    """A stamp is the time from which the times of the points count."""
    _, handle = desk.send(desk.goal((0.2, 0.02), start=desk.arm.time + 0.2))
    desk.run(0.38)
    assert handle.ended == ''
    desk.run(0.1)
    assert handle.ended == 'succeeded'


def test_refusals_name_their_reason(desk):
    """What cannot be followed is aborted before anything moves, with the reason, and counted."""
    slow = float(desk.arm.controller.p.references.joint.velocity.min())
    joints = desk.arm.robot.joints

    def refused(goal, text, code=ResultCode.INVALID_GOAL, answer=ACCEPT):
        count = desk.action.refused
        given, handle = desk.send(goal)
        assert given is answer
        assert text in desk.action.refusal and text in desk.logged[-1]
        assert desk.action.refused == count + 1 and not desk.action.goals
        if answer is ACCEPT:  # so that the client hears why
            assert handle.ended == 'aborted' and handle.result.error_code == code
            assert handle.result.error_string == desk.action.refusal
        assert not desk.arm.controller.requests and desk.action.last is None
    good = desk.goal((0.2, 0.02))
    goal = desk.goal((0.2, 0.02))
    goal.multi_dof_trajectory.joint_names = ['base']
    refused(goal, 'not both')
    refused(desk.goal((1.0, 9.0)), 'is outside')
    refused(desk.goal((0.1, 0.0), (0.2, 0.11 * slow)), 'beyond its reference.velocity')
    fast = desk.goal((1.0, 0.0))
    fast.trajectory.points[0].velocities = [0.0] * 6 + [-1.01 * slow]
    desk.arm.controller.p.references.joint.velocity[6] = slow
    refused(fast, f'{joints[6]} would move at')
    refused(desk.goal((0.2, 0.02), start=desk.arm.time - 0.25), 'ended 0.05 s ago',
            ResultCode.OLD_HEADER_TIMESTAMP)
    refused(desk.goal((0.2, 0.02), path_tolerance=[JointTolerance(name='x')]), 'unknown joint x',
            ResultCode.INVALID_JOINTS)
    desk.server.known = 200
    refused(good, '200 goals within 10 s', answer=REJECT)
    desk.server.known = 199
    assert desk.judge(good) is ACCEPT
    desk.arm.apply(mode='gravity_compensation')
    refused(good, 'the mode is gravity_compensation')
    desk.arm.apply(mode='computed_torque')
    desk.arm.stop()
    refused(good, 'the controller is braking')
    desk.action.detach()
    refused(good, 'the controller is not configured')


def test_speeds_at_the_limit_are_followed(desk):
    """Points as fast as the reference may go are no reason, nor what rounding adds."""
    slow = float(desk.arm.controller.p.references.joint.velocity.min())
    goal = desk.goal((0.1, 0.0), (0.2, 0.1 * slow * 1.0009))
    goal.trajectory.points[0].velocities = goal.trajectory.points[1].velocities = [slow] * 7
    assert desk.judge(goal) is ACCEPT


def test_tolerances_of_the_goal_count(desk):
    """A joint that is held elsewhere violates the path; one that never arrives the goal."""
    path = [JointTolerance(name=joint, position=0.01) for joint in desk.arm.robot.joints]
    desk.arm.external = None
    _, handle = desk.send(desk.goal((0.4, 0.03), path_tolerance=path))
    desk.run(0.4)
    assert handle.ended == 'aborted'
    assert handle.result.error_code == ResultCode.PATH_TOLERANCE_VIOLATED
    goal = desk.goal((0.1, 0.005), goal_tolerance=[
        JointTolerance(name=desk.arm.robot.joints[0], position=1e-3)],
        goal_time_tolerance=duration(0.5))
    _, handle = desk.send(goal)
    desk.run(0.58)
    assert handle.ended == ''
    desk.run(0.1)
    assert handle.result.error_code == ResultCode.GOAL_TOLERANCE_VIOLATED


def test_cancelled_goal_holds(desk):
    """The client that cancels hears so, the robot stands, and a stranger is refused."""
    _, handle = desk.send(desk.goal((1.0, 0.1)))
    desk.run(0.1)
    handle.is_cancel_requested = True
    stranger = Handle(handle.request, 77)
    assert desk.cancel(stranger) is CancelResponse.REJECT
    assert desk.cancel(handle) is CancelResponse.ACCEPT
    desk.run(0.1)
    assert handle.ended == 'canceled' and desk.action.last.code is ResultCode.SUCCESSFUL
    q = desk.arm.q.copy()
    desk.run(0.2)
    np.testing.assert_allclose(desk.arm.q, q, atol=0.01)
    assert not desk.failed


def test_cancel_that_fails_stops_the_robot(desk, monkeypatch):
    """Somebody wants it to end: a defect on the way stops the robot."""
    _, handle = desk.send(desk.goal((1.0, 0.1)))
    monkeypatch.setattr(desk.arm.controller, 'post', lambda _: math.sqrt(-1.0))
    assert desk.cancel(handle) is CancelResponse.REJECT
    assert len(desk.failed) == 1 and 'math domain error' in desk.failed[0]


def test_each_goal_runs_its_own_plan(desk):
    """Goals that are judged together and start in another order go where each of them says."""
    start, goals = desk.arm.q.copy(), [desk.goal((0.2, way)) for way in (0.02, 0.04, 9.0)]
    assert [desk.judge(goal) for goal in goals] == [ACCEPT] * 3
    handles = [Handle(goal, 60 + k) for k, goal in enumerate(goals)]
    for k in (1, 2):
        desk.begin(handles[k])
    assert handles[2].ended == 'aborted' and 'is outside' in handles[2].result.error_string
    desk.run(0.3)
    assert handles[1].ended == 'succeeded'
    np.testing.assert_allclose(desk.arm.q, start + 0.04, atol=0.01)
    desk.begin(handles[0])
    desk.run(0.4)
    assert handles[0].ended == 'succeeded'
    np.testing.assert_allclose(desk.arm.q, start + 0.02, atol=0.01)


def test_goals_that_never_start_are_forgotten(desk):
    """Of those judged the newest ten are kept."""
    goals = [desk.goal((0.2, 0.0)) for _ in range(11)]
    for goal in goals:
        assert desk.judge(goal) is ACCEPT
    handles = [Handle(goal, 70 + k) for k, goal in enumerate(goals)]
    desk.begin(handles[0])
    assert handles[0].ended == 'aborted' and 'too many goals' in handles[0].result.error_string
    for handle in handles[1:]:
        desk.begin(handle)
        assert handle.ended == ''
    assert desk.action.goals == 10


def test_new_goal_ends_the_old_one(desk):
    """The first goal is aborted by the second, which is followed."""
    _, first = desk.send(desk.goal((1.0, 0.1)))
    desk.run(0.1)
    _, second = desk.send(desk.goal((0.2, 0.0)))
    desk.run(0.1)
    assert first.ended == 'aborted' and 'pre-empted' in first.result.error_string
    desk.run(0.3)
    assert second.ended == 'succeeded'


def test_stop_ends_the_goal_with_its_cause(desk):
    """Whoever sent it hears at once why the robot does not go on, and nobody resumes it."""
    _, handle = desk.send(desk.goal((1.0, 0.1)))
    desk.run(0.1)
    desk.arm.controller.post(lambda *_: desk.arm.stop(Cause.OPERATOR_STOP, '~/stop'))
    desk.run(0.04)
    assert desk.arm.state == 'braking' and handle.ended == 'aborted'
    assert handle.result.error_string.startswith('the controller stopped: ')
    assert handle.result.error_string.endswith('~/stop')
    assert desk.arm.controller.goal is None


def test_what_is_left_is_answered(desk):
    """A stop between judgement and loop aborts; so does the end of the robot."""
    goal = desk.goal((0.2, 0.02))
    assert desk.judge(goal) is ACCEPT
    controller = desk.arm.controller
    controller.post(lambda _, steady: controller.fault(steady, Cause.OPERATOR_STOP))
    handle = Handle(goal, 50)
    desk.begin(handle)
    desk.run(0.02)
    assert handle.ended == 'aborted' and 'the controller is braking' in handle.result.error_string
    other = Handle(desk.goal((0.2, 0.02)), 51)
    desk.begin(other)              # nobody judged it
    assert other.result.error_code == ResultCode.INVALID_GOAL


def test_goal_that_the_loop_never_saw_is_answered(desk):
    """A robot that is cleaned up leaves no client waiting."""
    _, late = desk.send(desk.goal((0.2, 0.02)))
    assert late.ended == '' and desk.action.goals == 1
    desk.action.detach()
    assert late.ended == 'aborted' and late.result.error_string == 'the robot was cleaned up'
    assert desk.action.goals == 0


def follow(terms, _):
    """Return the torque of a law that a user has written."""
    _, qd, qdd = terms.reference
    return terms.torque([qdd[j] + 400.0 * terms.error[j] + 40.0 * (qd[j] - terms.qd[j])
                         for j in range(7)])


def test_mode_of_a_user_takes_goals(monkeypatch):
    """A law function that follows the joints gets its goals as computed torque does."""
    desk = Desk(monkeypatch, 'follow', (own_mode('follow', follow, 'x', (), Follows.JOINTS),))
    desk.start()
    before = desk.arm.q.copy()
    _, handle = desk.send(desk.goal((0.2, 0.02)))
    desk.run(0.1)
    assert handle.ended == '' and handle.feedback
    desk.run(0.3)
    assert handle.ended == 'succeeded'
    np.testing.assert_allclose(desk.arm.q, before + 0.02, atol=2e-3)


@pytest.mark.parametrize('mode', [each for each in MODES if each not in taking(
    Takes.TRAJECTORY)])
@pytest.mark.parametrize('wanted', taking(Takes.TRAJECTORY))
def test_goal_switches_the_mode(monkeypatch, mode, wanted):
    """From every mode that runs, without a step of the torque; it stays in the new mode."""
    desk = Desk(monkeypatch, mode, goal_mode=wanted, **SOFT)
    desk.start()
    limits, sent = desk.arm.controller.settings.torque_rates, desk.arm.sent
    before, count = desk.arm.q.copy(), len(sent)
    _, handle = desk.send(desk.goal((0.5, 0.02), (1.0, 0.03), goal_tolerance=[
        JointTolerance(name=joint, position=0.02) for joint in desk.arm.robot.joints]))
    desk.run(1.6)
    assert (handle.ended, handle.result.error_code) == ('succeeded', 0)
    assert desk.arm.controller.mode == wanted and desk.arm.state == 'running'
    np.testing.assert_allclose(desk.arm.reference[0], before + 0.03, atol=1e-3)
    np.testing.assert_allclose(desk.arm.q, before + 0.03, atol=0.02)
    steps = np.abs(np.diff(sent[count - 1:], axis=0)).max(axis=0)
    assert (steps <= 1.001 * desk.arm.period * np.asarray(limits) + 1e-9).all()
    assert any(f'switched to {wanted} by a goal' in line for line in desk.logged)


def test_goal_switches_only_where_it_may(monkeypatch):
    """Not by default, not unless the robot runs, not by a bad goal, not if that is refused."""
    first = next(iter(MODES))
    desk, wanted = Desk(monkeypatch, first), taking(Takes.TRAJECTORY)[0]
    desk.start()

    def refused(text, goal=None):
        _, handle = desk.send(goal or desk.goal((0.5, 0.02)))
        desk.run(0.04)
        assert handle.ended == 'aborted' and text in handle.result.error_string
        assert handle.result.error_code in (ResultCode.INVALID_GOAL, ResultCode.INVALID_JOINTS)
        assert desk.arm.controller.mode == first and not desk.action.goals
    refused(f'the mode is {first}; set the parameter mode to {wanted} or')
    refused('or goal_mode, so that goals switch to it')
    desk.arm.apply(goal_mode=wanted)
    desk.arm.controller.accepted = desk.arm.settings()
    refused('is outside', desk.goal((1.0, 9.0)))
    desk.refuses = 'gains too high'
    refused(f'the mode cannot be switched to {wanted}: gains too high')
    desk.refuses = ''
    desk.arm.stop()
    refused('the controller is braking (')
    desk.run(2.0)
    refused('the controller is holding (')
    refused('): when it has come to rest, call ~/reset')
    desk.arm.reset()
    desk.arm.run(0.01)
    assert desk.arm.state == 'ramping in'
    refused(f'a goal switches to {wanted} (goal_mode) only while it is running')


@pytest.mark.parametrize('seed', range(3))
def test_random_bad_goals_switch_nothing(monkeypatch, seed):
    """Whatever is wrong with a goal, the mode stays; a good one between them switches it."""
    first, wanted = DEFAULT, taking(Takes.TRAJECTORY)[0]
    desk, rng = Desk(monkeypatch, first, goal_mode=wanted, **SOFT), np.random.default_rng(seed)
    desk.start()

    def handle_of(sent):
        goal = desk.goal(start=0.0 if sent.stamp is None else desk.arm.time + sent.stamp)
        goal.trajectory.joint_names = sent.names
        goal.trajectory.points = [
            JointTrajectoryPoint(positions=row, time_from_start=duration(time))
            for time, row in zip(sent.times, sent.rows, strict=True)]
        goal.goal_tolerance = [JointTolerance(name=desk.arm.robot.joints[0],
                                              position=sent.tolerance)]
        return desk.send(goal)[1]
    desk.arm.run(4.0)  # stamps may lie before the present
    for flaw in rng.permutation(len(FLAWS)):
        sent = good_goal(rng, desk.arm.robot.joints, desk.arm.q)
        FLAWS[flaw](rng, sent)
        handle = handle_of(sent)
        desk.run(0.04)
        assert handle.ended == 'aborted' and handle.result.error_code < 0, sent
        assert desk.arm.controller.mode == first and not desk.action.goals, sent
    handle = handle_of(good_goal(rng, desk.arm.robot.joints, desk.arm.q))
    desk.run(0.04)
    assert not handle.ended and desk.arm.controller.mode == wanted


def test_times_closer_than_the_clock_can_tell_switch_nothing():
    """Of two points a nanosecond apart, so many seconds after 1970, one is not after the other."""
    knots = Knots(np.array([1.0, 1.0 + 1e-9]), np.zeros((2, 7)), None, None)
    check_times(knots, 100.0, 100.0)
    with pytest.raises(GoalError, match='closer together than the clock can tell'):
        check_times(knots, 1.7e9, 1.7e9)


def test_controller_refuses_what_it_cannot_pursue(desk):
    """Of such a goal no end would ever be told, so that its client would wait for ever."""
    controller, goal = desk.arm.controller, desk.goal((0.2, 0.02))
    knots = knots_of(goal.trajectory, controller.accepted)

    def refused(text):
        with pytest.raises(GoalError, match=text) as error:
            controller.pursue(desk.arm.time, desk.arm.time, knots, desk.arm.time, 'key',
                              controller.accepted.tolerances())
        assert error.value.code is ResultCode.INVALID_GOAL
        assert controller.goal is None and not controller.ended
    desk.arm.apply(mode='gravity_compensation')
    refused('the mode is gravity_compensation; set the parameter mode to computed_torque')
    desk.arm.stop()
    refused('the controller is braking')
