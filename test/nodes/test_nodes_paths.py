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

"""Timed paths of the tip by topic and action, on a fake clock and without a middleware."""

from time import sleep
from types import SimpleNamespace

from action_rig import Desk, duration
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
from listener_rig import Listeners
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.load.payload import rotation
from rbd_ros.control.paths.plans import PathPlan
from rbd_ros.control.references.results import GoalError, ResultCode
from rbd_ros.nodes.controller import loop_services
from rbd_ros.nodes.controller.reports import quaternion
from rclpy.action import CancelResponse
from std_srvs.srv import SetBool
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

ONE = np.eye(3)


def path(pose, *ways, frame='', name='tool0', start=0.0, R=ONE):
    """Return a message: after each time, the tip that far from a pose, with its axes."""
    message = MultiDOFJointTrajectory(joint_names=[name])
    message.header.frame_id = frame
    message.header.stamp = Time(sec=int(start), nanosec=round((start % 1.0) * 1e9))
    for time, way in ways:
        x, y, z = (R.T @ (pose[:3, 3] + way)).tolist()
        turn = quaternion(R.T @ pose[:3, :3])
        message.points.append(MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(
                **dict(zip('xyzw', turn))))], time_from_start=duration(time)))
    return message


def goal(message, **fields):
    """Return it as a goal."""
    return FollowJointTrajectory.Goal(multi_dof_trajectory=message, **fields)


@pytest.fixture
def desk(monkeypatch):
    """Return the action of an arm that runs."""
    made = Desk(monkeypatch)
    made.start()
    return made


@pytest.fixture
def rig(monkeypatch):
    """Return the topics of an arm that runs."""
    made = Listeners(monkeypatch, 'computed_torque')
    made.arm.external = np.zeros(7)
    return made


def checked(rig, message):
    """Bring a path and check all of it."""
    rig.take('cartesian_trajectory', message)
    while rig.planner.busy:
        rig.planner.work()
    rig.controller.serve(rig.arm.time, rig.arm.time)


def test_topic_moves_the_tip_along_the_path(rig):
    """A straight line of two seconds: the tip is on it all the time and rests at its end."""
    pose, way = rig.arm.pose, np.array([0.0, 0.1, 0.05])
    checked(rig, path(pose, (1.0, way)))
    assert not rig.logged
    off = []
    for _ in range(100):
        rig.arm.run(0.011)
        moved = rig.arm.pose[:3, 3] - pose[:3, 3]
        off.append(np.linalg.norm(moved - way * (way @ moved) / (way @ way)))
    assert max(off) < 1e-3
    np.testing.assert_allclose(rig.arm.pose[:3, 3], pose[:3, 3] + way, atol=1e-3)
    np.testing.assert_allclose(rig.arm.pose[:3, :3], pose[:3, :3], atol=3e-3)


@pytest.mark.parametrize('ahead', [0.005, 0.02, 0.3, 5.0, 25.0])
def test_nothing_moves_before_the_start(rig, ahead):
    """However far ahead it is; then the path is the one that would have begun at once."""
    pose, way, begin = rig.arm.pose, np.array([0.0, 0.1, 0.05]), rig.arm.reference[0].copy()
    checked(rig, path(pose, (1.0, way), start=7.0 + ahead))  # the clock of the rig stands
    assert not rig.logged
    end = rig.arm.time + ahead
    while rig.arm.time < end - 0.005:
        rig.arm.run(min(0.05, end - 0.004 - rig.arm.time))
        np.testing.assert_allclose(rig.arm.reference[0], begin, atol=1e-9)
        np.testing.assert_allclose(rig.arm.reference[1], 0.0, atol=1e-9)
    rig.arm.run(0.5 + end - rig.arm.time)
    assert np.linalg.norm(rig.arm.pose[:3, 3] - pose[:3, 3] - 0.5 * way) < 3e-3
    rig.arm.run(0.7)
    np.testing.assert_allclose(rig.arm.pose[:3, 3], pose[:3, 3] + way, atol=1e-3)


def test_other_checks_are_made_in_parts(rig):
    """Between them others are served; what they refuse is the answer."""
    found, seen = [], []

    def more(curve):
        assert curve.end == 1.0
        for k in range(40):
            sleep(0.002)
            seen.append(k)
            yield
    points = rig.planner.read(path(rig.arm.pose, (1.0, np.array([0.0, 0.05, 0.0]))))
    rig.planner.begin(points, found.append, more=more)
    while rig.planner.busy:
        before = len(seen)
        rig.planner.work()
        assert len(seen) - before <= 4
    assert len(seen) == 40 and isinstance(found[0], PathPlan)

    def refusing(_):
        yield
        raise GoalError(ResultCode.INVALID_GOAL, 'too fast')
    rig.planner.begin(points, found.append, more=refusing)
    while rig.planner.busy:
        rig.planner.work()
    assert str(found[1]) == 'too fast'


def test_a_plan_is_outdated_by_what_comes_meanwhile(rig):
    """A stop and a reset, another limit, a hold, an empty message: the path does not begin."""
    way, arm = np.array([0.0, 0.05, 0.0]), rig.arm

    def begun(meanwhile):
        before = arm.reference[0].copy()
        rig.logged.clear()
        rig.take('cartesian_trajectory', path(arm.pose, (1.0, way)))
        rig.planner.work()
        meanwhile()
        while rig.planner.busy:
            rig.planner.work()
        rig.controller.serve(arm.time, arm.time)
        arm.run(0.3)
        return np.abs(arm.reference[0] - before).max() > 1e-6

    def stop_and_reset():
        rig.controller.fault(arm.time, Cause.OPERATOR_STOP)
        arm.run(1.0)
        assert not rig.controller.reset(arm.time, arm.time)
        arm.run(1.5)
        assert arm.state == 'running'

    def empty():
        rig.take('cartesian_trajectory', path(arm.pose))
        rig.controller.serve(arm.time, arm.time)
    assert not begun(stop_and_reset) and 'send it again' in rig.logged[-1]
    assert not begun(lambda: rig.controller.apply(rig.controller.settings, arm.time, arm.time))
    assert not begun(lambda: rig.controller.hold(arm.time, arm.time))
    assert not begun(empty)
    assert begun(lambda: None) and not rig.logged


def test_way_points_may_be_given_in_a_frame_of_the_robot(rig):
    """The frame is taken where it stands now."""
    T = rig.arm.dynamics.pose(rig.arm.q, 'link_2')
    pose, R = rig.arm.pose.copy(), T[:3, :3]
    there = pose.copy()
    there[:3, 3] -= T[:3, 3]
    checked(rig, path(there, (1.0, np.array([0.05, 0.0, 0.0])), frame='link_2', R=R))
    assert not rig.logged
    rig.arm.run(1.2)
    np.testing.assert_allclose(rig.arm.pose[:3, 3], pose[:3, 3] + [0.05, 0.0, 0.0], atol=1e-3)


def test_refusals_name_their_reason(rig):
    """Nothing moves; what is wrong and where is in the log."""
    pose = rig.arm.pose
    before = rig.arm.reference[0].copy()

    def refused(message, *texts):
        rig.logged.clear()
        checked(rig, message)
        for text in texts:
            assert text in rig.logged[-1], rig.logged
        np.testing.assert_array_equal(rig.arm.reference[0], before)
    near = (1.0, np.array([0.0, 0.0, 0.05]))
    refused(path(pose, near, name='elbow'), 'joint_names must be ["tool0"]')
    refused(path(pose, near, near), 'must be finite and increase')
    refused(path(pose, (601.0, near[1])), 'more than 600 s')
    refused(path(pose, near, frame='nowhere'), 'nowhere')
    refused(path(pose, (0.0, np.array([0.0, 0.01, 0.0])), near), 'begins 0.01 m and')
    refused(path(pose, (2.0, np.array([2.0, 0.0, 0.0]))), 's from its start, before way-point 0')
    message = path(pose, near, (1.1, -near[1]))
    for point in message.points:
        point.velocities = [Twist()]
    refused(message, 'between way-points 0 and 1', 'joint_', 'reference.acceleration')
    refused(path(pose, near, start=6.0), 'would have begun')
    message = path(pose, near)
    message.points[0].transforms[0].translation.x = float('nan')
    refused(message, 'transforms are not all finite')
    message = path(pose, near)
    message.points[0].velocities = [Twist(linear=Vector3(x=0.1))]
    refused(message, 'the last velocity must be zero')
    message.points[0].velocities = []
    message.points[0].accelerations = [Twist()]
    refused(message, 'accelerations without velocities')
    message = path(pose, near, (2.0, near[1]))
    message.points[0].velocities = [Twist()]
    refused(message, 'way-point 1 has 0 velocities')
    message = path(pose, near)
    message.points[0].transforms = []
    refused(message, 'way-point 0 has 0 transforms')
    message = path(pose, near)
    turned = rotation(quaternion(pose[:3, :3])) @ np.diag([1.0, -1.0, -1.0])
    message.points[0].transforms[0].rotation = Quaternion(
        **dict(zip('xyzw', quaternion(turned))))
    refused(message, 'put another way-point in between')


def test_a_path_begins_at_rest_where_it_was_checked_from(rig):
    """One that comes while the reference moves is refused, or if it moved during the check."""
    pose, near = rig.arm.pose, (1.0, np.array([0.0, 0.0, 0.05]))
    rig.arm.follow([1.0], (rig.arm.q + 0.05)[None])
    rig.arm.run(0.3)
    checked(rig, path(pose, near))
    assert 'the reference still moves' in rig.logged[-1]
    rig.arm.run(1.0)
    rig.take('cartesian_trajectory', path(rig.arm.pose, near))
    rig.arm.follow([0.1], (rig.arm.q + 0.01)[None])
    rig.arm.run(0.5)
    while rig.planner.busy:
        rig.planner.work()
    rig.controller.serve(rig.arm.time, rig.arm.time)
    assert 'while the path was checked, the controller got something else' in rig.logged[-1]


def test_an_empty_path_ends_the_one_before_on_it(rig):
    """The robot comes to rest on the line, and the next path begins there."""
    pose, way = rig.arm.pose, np.array([0.0, 0.0, 0.1])
    checked(rig, path(pose, (1.0, way)))
    rig.arm.run(0.5)
    rig.take('cartesian_trajectory', MultiDOFJointTrajectory())
    rig.arm.run(0.5)
    rested = rig.arm.reference[0].copy()
    assert rig.references.joint.source == 0 and not rig.arm.reference[1].any()
    moved = rig.arm.dynamics.pose(rested, 'tool0')[:3, 3] - pose[:3, 3]
    np.testing.assert_allclose(moved[:2], 0.0, atol=1e-5)
    assert 0.05 < moved[2] < 0.09
    checked(rig, path(rig.arm.dynamics.pose(rested, 'tool0'), (1.0, -0.5 * way)))
    assert not rig.logged


def test_goal_is_checked_followed_and_answered(desk):
    """Feedback has the tip as well; the result is 0."""
    pose, way = desk.arm.pose, np.array([0.0, 0.05, 0.0])
    _, handle = desk.send(goal(path(pose, (0.4, 0.5 * way), (0.8, way))))
    desk.check()
    desk.run(0.7)
    assert handle.ended == '' and len(handle.feedback) >= 4
    for message in handle.feedback:
        assert message.multi_dof_joint_names == ['tool0']
        wanted = desk.arm.dynamics.pose(np.array(message.desired.positions), 'tool0')
        place = message.multi_dof_desired.transforms[0].translation
        np.testing.assert_allclose([place.x, place.y, place.z], wanted[:3, 3], atol=1e-9)
        there = message.multi_dof_actual.transforms[0].translation
        np.testing.assert_allclose([there.x, there.y, there.z], wanted[:3, 3], atol=1e-3)
    speed = [m.multi_dof_desired.velocities[0].linear.y for m in handle.feedback]
    assert max(speed) > 0.05
    desk.run(1.0)
    assert (handle.ended, handle.result.error_code) == ('succeeded', 0), handle.result
    np.testing.assert_allclose(desk.arm.pose[:3, 3], pose[:3, 3] + way, atol=1e-3)


def test_goals_are_refused_with_the_first_point(desk):
    """The client hears why: what is wrong with the message, or the point of the path."""
    pose = desk.arm.pose
    _, handle = desk.send(goal(path(pose, (1.0, np.array([2.0, 0.0, 0.0])))))
    desk.check()
    desk.run(0.1)
    assert handle.ended == 'aborted' and handle.result.error_code == ResultCode.INVALID_GOAL
    assert 's from its start, before way-point 0' in handle.result.error_string
    _, handle = desk.send(goal(path(pose, (1.0, np.zeros(3)), name='base')))
    assert handle.result.error_code == ResultCode.INVALID_JOINTS
    _, handle = desk.send(goal(path(pose, (1.0, np.zeros(3))), component_path_tolerance=[
        JointComponentTolerance()]))
    assert 'give the tolerances of a path by joint' in handle.result.error_string


def test_cancelled_goal_rests_on_its_path(desk):
    """While it is checked nothing moves; later it slows down along the line."""
    pose, way = desk.arm.pose, np.array([0.0, 0.0, 0.1])
    _, handle = desk.send(goal(path(pose, (1.0, way))))
    assert desk.cancel(handle) is CancelResponse.ACCEPT
    handle.is_cancel_requested = True
    desk.run(0.1)
    assert handle.ended == 'canceled' and not desk.arm.reference[1].any()
    _, handle = desk.send(goal(path(pose, (1.0, way))))
    desk.check()
    desk.run(0.7)
    assert desk.cancel(handle) is CancelResponse.ACCEPT
    handle.is_cancel_requested = True
    desk.run(0.6)
    assert handle.ended == 'canceled' and not desk.arm.reference[1].any()
    moved = desk.arm.dynamics.pose(desk.arm.reference[0], 'tool0')[:3, 3] - pose[:3, 3]
    np.testing.assert_allclose(moved[:2], 0.0, atol=1e-5)
    assert 0.01 < moved[2] < 0.099


def test_newer_path_pre_empts_a_check(desk):
    """The goal before is aborted, the newer one is followed."""
    pose = desk.arm.pose
    _, first = desk.send(goal(path(pose, (1.0, np.array([0.0, 0.0, 0.1])))))
    _, second = desk.send(goal(path(pose, (0.5, np.array([0.0, 0.02, 0.0])))))
    desk.check()
    desk.run(1.5)
    assert first.ended == 'aborted' and 'pre-empted' in first.result.error_string
    assert second.ended == 'succeeded'


def test_pause_service(desk, monkeypatch):
    """A trajectory rests and goes on; without one the service says so."""
    arm, logged = desk.arm, []

    offered = {}
    node = SimpleNamespace(
        get_logger=lambda: SimpleNamespace(warning=logged.append, info=logged.append),
        create_service=lambda _, name, callback: offered.update({name: callback}))
    monkeypatch.setattr(loop_services, 'BoundedService', lambda *_: None)
    monkeypatch.setattr(loop_services, 'Responder', lambda *_: None)
    monkeypatch.setattr(arm.controller, 'wake', lambda: arm.controller.serve(arm.now, arm.time))
    assert len(loop_services.offered_services(node, arm.controller)) == 1  # it has no sensor

    def pause(wanted):
        return offered['~/pause'](SetBool.Request(data=wanted), SetBool.Response())
    answer = pause(True)
    assert not answer.success and answer.message == 'no trajectory is being followed'
    before = arm.q.copy()
    _, handle = desk.send(desk.goal((1.0, 0.1)))
    desk.run(0.5)
    assert pause(True).success
    desk.run(0.5)
    rested = arm.reference[0].copy()
    desk.run(1.0)
    np.testing.assert_array_equal(arm.reference[0], rested)
    assert handle.ended == '' and arm.state == 'running'
    assert np.ptp(rested - before) < 1e-9  # all joints have gone as far
    assert pause(False).success
    desk.run(1.2)
    assert handle.ended == 'succeeded'
    np.testing.assert_allclose(arm.q, before + 0.1, atol=3e-3)
