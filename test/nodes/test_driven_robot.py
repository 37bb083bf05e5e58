# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What ``rbd excite --run`` asks of an action server, and what it records, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal
import threading
import time

from control_msgs.action import FollowJointTrajectory
from isolation import own_domain
from linted import ROOT
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.command_line.excitation_plan import Path as Motion
from rbd_ros.errors import RbdError
from rbd_ros.identification import read_recording
from rbd_ros.nodes import driven_robot
from rbd_ros.nodes.driven_robot import DrivenRobot
from rbd_ros.signals import as_interrupts
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import MultiThreadedExecutor
from sensor_msgs.msg import JointState

ACTION, TOPIC = '/excited/follow_joint_trajectory', '/excited/joint_states'
MODEL = rbd_ros.load_urdf(ROOT / 'urdf' / 'seven_joint_arm.urdf')
JOINTS = MODEL.joint_names


class Robot:
    """Publishes joint states, and takes any goal; its answer is set by the test."""

    def __init__(self) -> None:
        self.code, self.text, self.goals, self.cancelled = 0, '', [], False
        self.pace, self.seconds, self.begin = 1.0, 0.5, time.time()
        self.place, self.ended, self.split = 0.1, False, False
        self.cancels, self.told = CancelResponse.ACCEPT, None
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('excited', context=self.context)
        self.states = self.node.create_publisher(JointState, TOPIC, 10)
        self.node.create_timer(0.02, self.publish)
        self.server = ActionServer(
            self.node, FollowJointTrajectory, ACTION, self.execute, goal_callback=self.answer,
            cancel_callback=lambda _: self.cancels)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        self.may_answer.set()
        self.executor = MultiThreadedExecutor(2, context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def publish(self) -> None:
        state = JointState(name=list(JOINTS)[::-1])
        stamp = self.begin + self.pace * (time.time() - self.begin)
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(round(1e9 * stamp), 10**9)
        state.position, state.velocity = [self.place * k for k in range(7)][::-1], [0.0] * 7
        state.effort = [1.0] * 7
        for part in (slice(0, 3), slice(3, 7)) if self.split else (slice(0, 7),):
            self.states.publish(JointState(header=state.header, **{
                field: getattr(state, field)[part]
                for field in ('name', 'position', 'velocity', 'effort')}))

    def answer(self, _: object) -> GoalResponse:
        self.asked.set()
        self.may_answer.wait(60.0)
        return GoalResponse.ACCEPT

    def execute(self, handle: object) -> FollowJointTrajectory.Result:
        self.goals.append(handle.request)
        begin = time.monotonic()
        while time.monotonic() < begin + self.seconds and not handle.is_cancel_requested:
            time.sleep(0.01)
            if self.told is not None:  # s along the motion
                feedback = FollowJointTrajectory.Feedback()
                feedback.desired.time_from_start.nanosec = round(1e9 * self.told)
                handle.publish_feedback(feedback)
        if handle.is_cancel_requested:
            self.cancelled = True
            handle.canceled()
        else:
            handle.succeed() if self.code == 0 else handle.abort()
        self.ended = True
        return FollowJointTrajectory.Result(error_code=self.code, error_string=self.text)

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join()
        self.server.destroy()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def robot() -> Iterator[Robot]:
    """Return a robot that is there for one test."""
    with own_domain():
        made = Robot()
        yield made
        made.close()


def test_a_motion_is_sent_and_recorded(robot: Robot, tmp_path: Path) -> None:
    """Joints, points and times are those of the plan; a failure has the controller's words."""
    t = np.array([0.0, 0.25, 1.5])
    q = np.arange(21.0).reshape(3, 7)
    motion = Motion(JOINTS, t, q, 2.0 * q, 3.0 * q)
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), patient(60.0)) as run:
        np.testing.assert_allclose(run.position(), 0.1 * np.arange(7))
        run.follow(motion, tmp_path / 'bag')
        robot.code, robot.text = -4, 'joint_2 is too far away'
        with pytest.raises(RbdError, match='ended the motion: joint_2 is too far away'):
            run.follow(motion, tmp_path / 'failed')
    sent = robot.goals[0].trajectory
    assert list(sent.joint_names) == list(JOINTS) and len(sent.points) == 2
    for point, k in zip(sent.points, (1, 2), strict=True):
        stamp = point.time_from_start
        assert stamp.sec + 1e-9 * stamp.nanosec == pytest.approx(t[k])
        assert (list(point.positions), list(point.velocities), list(point.accelerations)) == (
            q[k].tolist(), (2.0 * q[k]).tolist(), (3.0 * q[k]).tolist())
    for bag in ('bag', 'failed'):
        found = read_recording(tmp_path / bag, MODEL, TOPIC)
        assert len(found.t) > 1
        np.testing.assert_allclose(found.q, np.tile(0.1 * np.arange(7), (len(found.t), 1)))


def test_a_slow_simulation_is_waited_for(robot: Robot, tmp_path: Path) -> None:
    """The time of a motion is that of the stamps; one that does not end is cancelled."""
    robot.pace, robot.seconds = 0.1, 2.0
    motion = Motion(JOINTS, np.array([0.0, 0.1]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), 0.4) as run:
        run.position()
        run.follow(motion)
        robot.begin, robot.pace = time.time(), 10.0
        with pytest.raises(RbdError, match='not ended in time; cancelled: the controller brings'):
            run.follow(motion, tmp_path / 'late')
        assert len(robot.goals) == 2 and (tmp_path / 'late').exists()


def test_a_paused_motion_is_waited_for(robot: Robot) -> None:
    """It is behind its times, as its feedback tells; at its end it has no more of them."""
    robot.seconds = 2.0
    motion = Motion(JOINTS, np.array([0.0, 0.4]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), 0.5) as run:
        robot.told = 0.1
        run.follow(motion)
        for robot.told in (0.4, 0.0):
            with pytest.raises(RbdError, match='not ended in time'):
                run.follow(motion)


def test_states_of_several_drivers(robot: Robot) -> None:
    """Each publishes some joints; a position that is no number is none."""
    robot.split = True
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0)) as run:
        np.testing.assert_allclose(run.position(), 0.1 * np.arange(7))
        run.follow(Motion(JOINTS, np.array([0.0, 0.1]), *np.zeros((3, 2, 7))))
        robot.place, run._patience = np.nan, 0.5
        with pytest.raises(RbdError, match='no joint states of joint_1'):
            run.position()


def test_a_motion_that_is_not_cancelled(robot: Robot) -> None:
    """A server that does not cancel leaves the robot moving, and nobody says that it rests."""
    robot.cancels, robot.seconds = CancelResponse.REJECT, patient(30.0)
    motion = Motion(JOINTS, np.array([0.0, 0.1]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), 0.4) as run:
        with pytest.raises(RbdError, match='has not confirmed that it cancels'):
            run.follow(motion)
        assert 'may still move' in run.ending()
    robot.seconds = 0.0
    end = time.monotonic() + patient(10.0)
    while not robot.ended and time.monotonic() < end:
        time.sleep(0.02)


def test_what_a_tolerance_means(robot: Robot) -> None:
    """A robot that did not arrive is held there, which is told with what to do."""
    robot.text = 'joint_4: position error 0.012 rad exceeds the goal tolerance 0.01 rad'
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0)) as run:
        for robot.code, words in ((-5, 'raise tolerance.goal_time, tolerance.goal or integral of '
                                       '/excited'), (-4, 'raise tolerance.path of /excited')):
            with pytest.raises(RbdError, match=f'is held.*{words}'):
                run.follow(Motion(JOINTS, np.array([0.0, 0.1]), *np.zeros((3, 2, 7))))


def was_cancelled(robot: Robot) -> bool:
    """Return whether the robot is told to cancel within some seconds."""
    end = time.monotonic() + patient(10.0)
    while not robot.cancelled and time.monotonic() < end:
        time.sleep(0.02)
    return robot.cancelled


@pytest.mark.parametrize('times', (1, 3))
def test_interruptions_before_the_answer_cancel_the_goal(robot: Robot, times: int) -> None:
    """Ctrl-C, once or again, before the controller answers: what it accepts later is cancelled."""
    robot.seconds = patient(30.0)
    robot.may_answer.clear()
    motion = Motion(JOINTS, np.array([0.0, 10.0]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), patient(60.0)) as run:
        run.position()

        def interrupt() -> None:
            robot.asked.wait(patient(30.0))
            for _ in range(times):
                signal.raise_signal(signal.SIGTERM)
                time.sleep(0.3)
            robot.may_answer.set()
        threading.Thread(target=interrupt, daemon=True).start()
        with as_interrupts(), pytest.raises(KeyboardInterrupt):
            run.follow(motion)
        assert 'brings the robot to rest' in run.ending()
    assert was_cancelled(robot)


@pytest.mark.parametrize('number', (signal.SIGINT, signal.SIGTERM))
def test_an_interruption_while_the_goal_is_sent(robot: Robot, number: signal.Signals) -> None:
    """It comes when the goal is on its way and nobody here has its answer to come: cancelled."""
    robot.seconds = patient(30.0)
    motion = Motion(JOINTS, np.array([0.0, 10.0]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), patient(60.0)) as run:
        send = run._client.send_goal_async

        def interrupted(goal: FollowJointTrajectory.Goal, **more: object) -> rclpy.Future:
            sent = send(goal, **more)
            signal.raise_signal(number)
            return sent
        run._client.send_goal_async = interrupted
        with as_interrupts(), pytest.raises(KeyboardInterrupt):
            run.follow(motion)
        assert 'brings the robot to rest' in run.ending()
    assert was_cancelled(robot)


def test_a_long_look_at_the_question(robot: Robot) -> None:
    """States that came while nobody read them count neither as here nor as now."""
    motion = Motion(JOINTS, np.array([0.0, 0.1]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), 100.0) as run:
        run.position()
        robot.begin, robot.pace = time.time(), 1000.0
        time.sleep(1.0)
        robot.begin, robot.pace = time.time() + 1000.0, 1.0
        robot.place = 0.3
        time.sleep(0.2)
        np.testing.assert_allclose(run.position(), 0.3 * np.arange(7))
        robot.begin, robot.pace = time.time() + 1000.0, 1000.0
        time.sleep(1.0)
        robot.begin, robot.pace = time.time() + 2000.0, 1.0
        time.sleep(0.2)
        run.follow(motion)


def test_a_controller_that_does_not_answer(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows then whether the robot stops, which is told with what to do."""
    monkeypatch.setattr(driven_robot, '_WITHDRAWAL', 0.2)
    robot.may_answer.clear()
    motion = Motion(JOINTS, np.array([0.0, 0.1]), *np.zeros((3, 2, 7)))
    with DrivenRobot(JOINTS, ACTION, TOPIC, patient(60.0), patient(60.0)) as run:
        run.position()
        assert run.ending() == 'the robot has not moved'
        run._patience = 0.5
        with pytest.raises(RbdError, match='does not answer; .* may still move. Stop it'):
            run.follow(motion)
        assert 'may still move' in run.ending() and '/excited/stop' in run.ending()
    robot.may_answer.set()
    end = time.monotonic() + patient(10.0)
    while not robot.ended and time.monotonic() < end:  # it ends before its server does
        time.sleep(0.02)
