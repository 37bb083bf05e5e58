# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Paths for a controller elsewhere: what it is asked for, and what clients hear of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import re
import signal
import subprocess
import sys
import threading
import time

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
from geometry_msgs.msg import PoseStamped, Quaternion, Transform, Vector3
from isolation import own_domain
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.modes import Takes, taking
from rbd_ros.nodes.description import BUILT_IN_POSE, built_in_robot
from rbd_ros.nodes.path_server import robot_elsewhere
from rbd_ros.nodes.path_server.node import PathServer
from rcl_interfaces.msg import Log
import rclpy
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

WAIT = 60.0  # s for what must come; a busy machine may need them
START = np.array(BUILT_IN_POSE)
ROOT = Path(__file__).parents[2]
ROBOT = ['-p', f'robot_description_file:={built_in_robot()}',
         '-p', f'params_file:={ROOT / "config" / "controller.yaml"}']
UP = np.array([0.0, 0.0, 0.05])
LONG = [(2.0 * k, (-1)**k * UP) for k in range(1, 200)]  # takes s to check
Result = FollowJointTrajectory.Result
TIP_MODE = taking(Takes.TARGET)[0]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Elsewhere:
    """A controller that another process would have: its action and where it holds the joints."""

    def __init__(self, node, *, tells: bool) -> None:
        self.node, self.joints = node, [f'joint_{k}' for k in range(1, 8)]
        self.asked, self.reference, self.speed, self.cancelled = [], START.copy(), 0.0, False
        self.holds, self.tells = True, tells
        self.answer = Result(error_string='goal reached')
        self.poses = []
        node.create_subscription(PoseStamped, 'controller/target_pose', self.poses.append, 100)
        self.words = {each: node.create_publisher(String, f'controller/{each}', LATCHED)
                      for each in ('mode', 'state')}
        self.go = threading.Event()  # lets a goal end
        self.go.set()
        self.states = node.create_publisher(
            JointTrajectoryControllerState, 'controller/controller_state', 10)
        self.measured = node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data)
        node.create_timer(0.02, self._tell)
        self.server = ActionServer(
            node, FollowJointTrajectory, 'controller/follow_joint_trajectory', self._follow,
            cancel_callback=self._cancel)

    def _tell(self) -> None:
        if self.tells:
            state = JointTrajectoryControllerState(joint_names=self.joints[::-1])
            if self.holds:
                state.reference.positions = self.reference[::-1].tolist()
                state.reference.velocities = [self.speed] * 7
            self.states.publish(state)
        noise = np.random.default_rng().uniform(-5e-4, 5e-4, 7)
        self.measured.publish(JointState(
            name=self.joints, position=(self.reference + 1e-3 + noise).tolist(),
            velocity=[self.speed] * 7))

    def _cancel(self, _) -> CancelResponse:
        self.cancelled = True
        self.go.set()
        return CancelResponse.ACCEPT

    def _follow(self, handle) -> Result:
        self.asked.append(handle.request)
        trajectory = handle.request.trajectory
        feedback = FollowJointTrajectory.Feedback(joint_names=trajectory.joint_names)
        feedback.desired = feedback.actual = trajectory.points[len(trajectory.points) // 2]
        handle.publish_feedback(feedback)
        assert self.go.wait(WAIT)
        if self.cancelled:
            while not handle.is_cancel_requested:
                time.sleep(0.01)
            handle.canceled()
        elif self.answer.error_code:
            handle.abort()
        else:
            handle.succeed()
        return self.answer


class Site:
    """The server, a controller, and a client of both."""

    def __init__(self, node, elsewhere) -> None:
        self.node, self.elsewhere, self.logged = node, elsewhere, []
        self.dynamics = Dynamics(load_urdf(str(built_in_robot())), backend='reference')
        self.pose = self.dynamics.pose(START, 'tool0')
        self.client = ActionClient(node, FollowJointTrajectory,
                                   'path_server/follow_joint_trajectory')
        self.topic = node.create_publisher(
            MultiDOFJointTrajectory, 'path_server/cartesian_trajectory', 1)
        # what was logged before both ends had met comes, too
        node.create_subscription(Log, '/rosout', self._on_log, QoSProfile(
            depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL))

    def until_served(self) -> None:
        """Wait for the server, and until it knows where the joints are."""
        assert self.client.wait_for_server(WAIT)
        self.until_refused('before way-point 0')

    def _on_log(self, message) -> None:
        if message.name == 'path_server':
            self.logged.append(message.msg)

    def path(self, *ways: tuple[float, np.ndarray]) -> MultiDOFJointTrajectory:
        """Return a path: after each time, the tip that far from the start, with its axes."""
        message = MultiDOFJointTrajectory(joint_names=['tool0'])
        half = np.arctan2(self.pose[0, 2], self.pose[0, 0]) / 2.0  # it is turned about y alone
        for seconds, way in ways:
            x, y, z = (self.pose[:3, 3] + way).tolist()
            point = MultiDOFJointTrajectoryPoint(transforms=[Transform(
                translation=Vector3(x=x, y=y, z=z),
                rotation=Quaternion(y=np.sin(half), w=np.cos(half)))])
            point.time_from_start.sec = int(seconds)
            point.time_from_start.nanosec = round((seconds % 1.0) * 1e9)
            message.points.append(point)
        return message

    def send(self, message: MultiDOFJointTrajectory, **fields):
        """Send a goal; return its handle, its result to come, and its feedback."""
        feedback: list = []
        sent = self.client.send_goal_async(
            FollowJointTrajectory.Goal(multi_dof_trajectory=message, **fields),
            feedback_callback=lambda each: feedback.append(each.feedback))
        until(sent.done)
        assert sent.result().accepted
        return sent.result(), sent.result().get_result_async(), feedback

    def until_refused(self, text: str) -> None:
        """Send what no robot reaches, until it is refused because of what the server now knows."""
        until(lambda: text in self.outcome(self.path((1.0, 40.0 * UP)))[1].error_string)

    def outcome(self, message: MultiDOFJointTrajectory, **fields):
        """Return how a goal ends."""
        result = self.send(message, **fields)[1]
        until(result.done)
        return result.result().status, result.result().result


def until(done: Callable[[], bool]) -> None:
    """Wait for something."""
    end = time.monotonic() + WAIT
    while not done():
        assert time.monotonic() < end, 'it does not come'
        time.sleep(0.01)


def until_quiet(messages: list) -> None:
    """Wait until no more come; some may wait here to be taken."""
    def quiet() -> bool:
        before = len(messages)
        time.sleep(0.5)
        return len(messages) == before
    until(quiet)


def spin(executor: Executor, ended: threading.Event) -> None:
    """Run an executor to the end of a turn: one that is shut down meanwhile raises anything."""
    while not ended.is_set():
        executor.spin_once(0.1)


@pytest.fixture
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Return all three, in threads; the parameter is whether the controller tells its state."""
    monkeypatch.setattr(robot_elsewhere, 'FRESH', 30.0)  # s: all share one core, which may stall
    with own_domain():
        rclpy.init(args=['--ros-args', *ROBOT])
        failures: list[str] = []
        nodes = [PathServer(failures.append), rclpy.create_node('elsewhere'),
                 rclpy.create_node('client')]
        executors = []
        for node in nodes:
            executors.append(SingleThreadedExecutor() if node is nodes[0]
                             else MultiThreadedExecutor(4))
            executors[-1].add_node(node)
        # Nobody begins to talk while another thread still makes topics and actions.
        elsewhere = Elsewhere(nodes[1], tells=getattr(request, 'param', True))
        made = Site(nodes[2], elsewhere)
        while not (nodes[0].serves or failures):
            executors[0].spin_once(1.0)
        ended = threading.Event()
        threads = [threading.Thread(target=spin, args=[each, ended]) for each in executors]
        for thread in threads:
            thread.start()
        try:
            made.until_served()
            yield made
        finally:
            elsewhere.go.set()
            ended.set()
            for thread in threads:
                thread.join()
            for executor in executors:
                executor.shutdown()
            # A node left to the garbage collector would take /rosout from the next of its name.
            for node in nodes:
                for action in list(node.waitables):
                    action.destroy()
                node.destroy_node()
            rclpy.shutdown()
        assert not failures


def test_a_path_becomes_a_motion_of_the_joints(site: Site) -> None:
    """From the reference, along the line by another forward kinematics; all is passed on."""
    status, result = site.outcome(
        site.path((0.8, UP), (1.6, -UP)),
        goal_tolerance=[JointTolerance(name='joint_1', position=0.1)])
    assert (status, result) == (GoalStatus.STATUS_SUCCEEDED, site.elsewhere.answer)
    goal, = site.elsewhere.asked
    assert goal.goal_tolerance[0].position == 0.1
    points = goal.trajectory.points
    q, qd, qdd = (np.array([getattr(point, name) for point in points])
                  for name in ('positions', 'velocities', 'accelerations'))
    t = np.array([each.time_from_start.sec + 1e-9 * each.time_from_start.nanosec
                  for each in points])
    assert t[0] == 0.0 and t[-1] == pytest.approx(1.6) and np.diff(t).max() < 0.0401
    np.testing.assert_array_equal(q[0], START)  # not where the joints are measured
    for ends in (qd[[0, -1]], qdd[[0, -1]]):
        np.testing.assert_allclose(ends, 0.0, atol=1e-6)
    tips = np.array([site.dynamics.pose(each, 'tool0') for each in q])
    np.testing.assert_allclose(tips[:, :2, 3], np.broadcast_to(site.pose[:2, 3], (len(q), 2)),
                               atol=1e-8)
    np.testing.assert_allclose(tips[-1, :3, 3], site.pose[:3, 3] - UP, atol=1e-8)
    np.testing.assert_allclose(tips[:, :3, :3], np.broadcast_to(
        site.pose[:3, :3], (len(q), 3, 3)), atol=1e-8)


def test_feedback_has_the_tip(site: Site) -> None:
    """That of the controller is passed on, in the order of its joints."""
    _, result, feedback = site.send(site.path((1.0, UP)))
    until(result.done)
    until(lambda: bool(feedback))
    message = feedback[0]
    assert message.multi_dof_joint_names == ['tool0']
    q = dict(zip(message.joint_names, message.desired.positions))
    there = site.dynamics.pose(np.array([q[name] for name in site.elsewhere.joints]), 'tool0')
    place = message.multi_dof_desired.transforms[0].translation
    np.testing.assert_allclose([place.x, place.y, place.z], there[:3, 3], atol=1e-9)
    assert message.multi_dof_actual.velocities[0].linear.z > 0.01


def test_refusals_reach_the_client_and_not_the_controller(site: Site) -> None:
    """The first point that fails, a wrong frame, joints, a reference that moves or is missing."""
    def refused(message, text, **fields):
        status, result = site.outcome(message, **fields)
        assert status == GoalStatus.STATUS_ABORTED
        assert result.error_code < 0 and text in result.error_string, result
    wrong = site.path((1.0, UP))
    wrong.joint_names = ['elbow']
    refused(wrong, 'joint_names must be ["tool0"]')
    joints = FollowJointTrajectory.Goal().trajectory
    joints.joint_names = ['joint_1']
    refused(site.path((1.0, UP)), 'send joint trajectories to the controller',
            trajectory=joints)
    late = site.path((1.0, UP))
    late.header.stamp.sec = 1
    refused(late, 'would have begun')
    site.elsewhere.speed = 0.1
    site.until_refused('the reference still moves')
    site.elsewhere.holds = False
    site.until_refused('the controller follows no joint reference now')
    assert not site.elsewhere.asked


def test_the_answer_of_the_controller_is_passed_on(site: Site) -> None:
    """An abort with its code and text."""
    site.elsewhere.answer = Result(error_code=Result.PATH_TOLERANCE_VIOLATED,
                                   error_string='joint_2 is 0.3 rad off')
    status, result = site.outcome(site.path((1.0, UP)))
    assert (status, result) == (GoalStatus.STATUS_ABORTED, site.elsewhere.answer)


def test_cancelled(site: Site) -> None:
    """While it is followed the controller is asked to stop; while it is checked it hears none."""
    site.elsewhere.go.clear()
    handle, result, _ = site.send(site.path((1.0, UP)))
    until(lambda: bool(site.elsewhere.asked))
    handle.cancel_goal_async()
    until(result.done)
    assert result.result().status == GoalStatus.STATUS_CANCELED and site.elsewhere.cancelled
    handle, result, _ = site.send(site.path(*LONG))
    handle.cancel_goal_async()
    until(result.done)
    assert result.result().status == GoalStatus.STATUS_CANCELED
    assert result.result().result.error_string == 'canceled while the path was checked'
    assert len(site.elsewhere.asked) == 1


def test_topic(site: Site) -> None:
    """A path by topic is followed; an empty one ends it, and the log tells."""
    site.elsewhere.go.clear()
    until(lambda: site.topic.get_subscription_count() > 0)
    site.topic.publish(site.path((1.0, UP)))
    until(lambda: bool(site.elsewhere.asked))
    site.topic.publish(MultiDOFJointTrajectory())
    until(lambda: site.elsewhere.cancelled)
    until(lambda: any(text.startswith('path canceled') for text in site.logged))
    site.topic.publish(site.path((1.0, 40.0 * UP)))
    until(lambda: any('before way-point 0' in text for text in site.logged))


def test_an_empty_message_stops_goals_that_are_being_checked(site: Site) -> None:
    """Whoever has sent them: the goal is answered, and the controller hears nothing."""
    until(lambda: site.topic.get_subscription_count() > 0)
    _, result, _ = site.send(site.path(*LONG))
    site.topic.publish(MultiDOFJointTrajectory())
    until(result.done)
    assert result.result().status == GoalStatus.STATUS_ABORTED
    assert result.result().result.error_string == (
        'stopped by an empty message while the path was checked')
    assert not site.elsewhere.asked


def test_a_second_publisher_ends_what_is_followed(site: Site) -> None:
    """Paths of both are dropped; an empty message still stops what an action has begun."""
    site.elsewhere.go.clear()
    until(lambda: site.topic.get_subscription_count() > 0)
    site.topic.publish(site.path((1.0, UP)))
    until(lambda: bool(site.elsewhere.asked))
    other = site.node.create_publisher(MultiDOFJointTrajectory, site.topic.topic_name, 1)
    until(lambda: other.get_subscription_count() > 0)
    until(lambda: site.node.count_publishers(site.topic.topic_name) == 2)
    other.publish(site.path((1.0, UP)))
    until(lambda: site.elsewhere.cancelled)
    until(lambda: any('has 2 publishers' in text for text in site.logged))
    _, result, _ = site.send(site.path(*LONG))
    other.publish(MultiDOFJointTrajectory())
    until(result.done)
    assert 'stopped by an empty message' in result.result().result.error_string
    assert len(site.elsewhere.asked) == 1


def test_the_end_of_the_process_ends_the_motion(site: Site) -> None:
    """A server that leaves does not leave the controller following."""
    site.client = ActionClient(site.node, FollowJointTrajectory,
                               '/leaving/path_server/follow_joint_trajectory')
    with subprocess.Popen([
            sys.executable, '-m', 'rbd_ros.nodes.path_server.node', '--ros-args', *ROBOT,
            '-p', 'controller:=/controller', '-r', '__ns:=/leaving',
            '-r', 'joint_states:=/joint_states']) as process:
        try:
            site.until_served()
            site.elsewhere.go.clear()
            site.send(site.path((1.0, UP)))
            until(lambda: bool(site.elsewhere.asked))
            process.send_signal(signal.SIGTERM)
            until(lambda: site.elsewhere.cancelled)
            assert process.wait(WAIT) == 0
        finally:
            process.kill()


@pytest.mark.parametrize('site', [False], indirect=True)
def test_measured_joints_where_nobody_tells_the_reference(site: Site) -> None:
    """With a warning; noise of standing joints does not end the check."""
    status, _ = site.outcome(site.path((2.0, UP)))
    assert status == GoalStatus.STATUS_SUCCEEDED
    first = np.array(site.elsewhere.asked[0].trajectory.points[0].positions)
    np.testing.assert_allclose(first, START + 1e-3, atol=6e-4)
    until(lambda: any('the path starts at the measured joint positions' in text
                      for text in site.logged))


# -- modes of the tip -----------------------------------------------------------------------------

def lead_tip(site: Site) -> None:
    """Have the controller in a mode of the tip: no joint is held."""
    site.elsewhere.holds = False
    site.elsewhere.words['state'].publish(String(data='running'))
    time.sleep(0.3)
    site.elsewhere.words['mode'].publish(String(data=TIP_MODE))
    until(lambda: 'the joints follow no reference' in site.outcome(
        site.path((1.0, 40.0 * UP)), goal_tolerance=[JointTolerance()])[1].error_string)


def test_the_tip_is_led_by_poses(site: Site) -> None:
    """Along the line from where the joints are measured; joints get nothing."""
    lead_tip(site)
    status, result = site.outcome(site.path((1.0, UP)))
    assert status == GoalStatus.STATUS_SUCCEEDED
    left = re.match('the frame is (.*) m and .* rad from the end of the path', result.error_string)
    assert left and abs(float(left[1]) - UP[2]) < 5e-3  # this one does not move
    assert not site.elsewhere.asked
    until_quiet(site.elsewhere.poses)
    places = np.array([[p.x, p.y, p.z] for p in (
        each.pose.position for each in site.elsewhere.poses)])
    begin = site.dynamics.pose(START + 1e-3, 'tool0')[:3, 3]
    np.testing.assert_allclose(places[0], begin, atol=2e-3)
    np.testing.assert_allclose(places[-1], site.pose[:3, 3] + UP, atol=1e-9)
    assert (np.diff(places[:, 2]) > -1e-9).all() and len(places) > 20
    assert np.abs(places[:, :2] - site.pose[:2, 3]).max() < 3e-3


def test_a_path_too_fast_for_the_tip(site: Site) -> None:
    """The limits of the reference of the tip are checked besides those of the joints."""
    lead_tip(site)
    aside = np.array([0.0, 0.05, 0.0])  # upwards joint 4 would be at its limit, too
    status, result = site.outcome(site.path((0.37, aside)))
    assert status == GoalStatus.STATUS_ABORTED and not site.elsewhere.poses
    assert 'of task.linear_acceleration' in result.error_string, result


@pytest.mark.parametrize('what', ['mode', 'state', 'publisher'])
def test_what_ends_a_path_of_poses(site: Site, what: str) -> None:
    """Another mode, a stop, somebody else's poses: nothing is sent any more."""
    lead_tip(site)
    _, result, _ = site.send(site.path((6.0, UP)))
    until(lambda: len(site.elsewhere.poses) > 5)
    if what == 'publisher':
        site.node.create_publisher(PoseStamped, 'controller/target_pose', 1)
    else:
        site.elsewhere.words[what].publish(String(data='fault'))
    until(result.done)
    assert result.result().status == GoalStatus.STATUS_ABORTED
    assert {'mode': 'the mode has become fault', 'state': 'the controller is fault',
            'publisher': 'somebody else publishes /controller/target_pose'}[what] in (
        result.result().result.error_string)
    until_quiet(site.elsewhere.poses)


def test_a_path_of_poses_is_paused_and_cancelled(site: Site) -> None:
    """It stands, goes on, and comes to rest on the line; feedback has the tip."""
    lead_tip(site)
    service = site.node.create_client(SetBool, 'path_server/pause')
    assert service.wait_for_service(WAIT)

    def pause(wanted: bool) -> SetBool.Response:
        done = service.call_async(SetBool.Request(data=wanted))
        until(done.done)
        return done.result()

    def height() -> float:
        return site.elsewhere.poses[-1].pose.position.z
    assert not pause(True).success
    handle, result, feedback = site.send(site.path((6.0, UP)))
    begin = site.pose[2, 3]
    until(lambda: site.elsewhere.poses and height() > begin + 0.005)
    assert pause(True).success

    def rests() -> bool:
        before = height()
        time.sleep(0.5)
        return height() == before
    until(rests)
    rested = height()
    assert rested < begin + 0.045 and not result.done()
    assert pause(False).success
    until(lambda: height() > rested + 1e-3)
    handle.cancel_goal_async()
    until(result.done)
    assert result.result().status == GoalStatus.STATUS_CANCELED
    assert 'at rest on the path' in result.result().result.error_string
    assert feedback[-1].multi_dof_desired.transforms[0].translation.z > begin
