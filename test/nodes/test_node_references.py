# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""References and payloads, by topics of a real node."""

from collections.abc import Callable
import math

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import (
    Inertia, InertiaStamped, Point, PoseStamped, Quaternion, TwistStamped, Vector3,
    WrenchStamped)
from node_rig import JOINTS, START, to_time
import numpy as np
import pytest
from rbd_ros.nodes.controller.reports import quaternion
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

GRAVITY = 9.81
VALUES = {'payload.ramp_time': 0.1}


@pytest.fixture
def rig(started):
    """Return the rig, whose arm runs in computed torque at rest where it began."""
    started.begin()
    return started


def pose(rig, frame='tool0'):
    """Return where a frame of the arm is."""
    return rig.dynamics.pose(rig.q, frame)


def pose_message(T, frame=''):
    """Return a pose as a message."""
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position = Point(**dict(zip('xyz', T[:3, 3].tolist())))
    message.pose.orientation = Quaternion(**dict(zip('xyzw', quaternion(T[:3, :3]))))
    return message


def effort(rig):
    """Return the torque of the next command."""
    return np.array(rig.step().effort)


def until_effort(rig, expected, **tolerance):
    """Go on until the command is an expected one: a message takes its time."""
    rig.run_until(lambda: np.allclose(effort(rig), expected, **tolerance), f'{expected}', 60.0)


# -- of the tip -----------------------------------------------------------------------------------


@pytest.mark.parametrize('frame', ['', 'base_link', 'link_4'])
def test_a_target_pose_is_taken_where_its_frame_stands(rig, frame):
    """In base axes, or in those of a frame of the robot as it stands when the message comes."""
    rig.must_set(mode='operational_space')
    T = np.eye(4) if frame in ('', 'base_link') else pose(rig, frame)
    wanted = pose(rig)
    c, s = math.cos(0.1), math.sin(0.1)
    wanted[:3, :3] = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ wanted[:3, :3]
    wanted[:3, 3] += [0.03, -0.02, 0.04]
    rig.publish('controller/target_pose', pose_message(np.linalg.inv(T) @ wanted, frame))
    rig.run_until(lambda: np.allclose(pose(rig), wanted, atol=3e-3), 'the target', 60.0)
    rig.run(1.0)
    np.testing.assert_allclose(pose(rig), wanted, atol=3e-3)


def test_target_poses_that_are_refused(rig):
    """An unknown frame, and millimetres, with both distances; the arm stays where it is."""
    rig.must_set(mode='operational_space')
    T = pose(rig)
    rig.is_told('controller/target_pose', pose_message(T, 'nowhere'),
                '/controller/target_pose: rejected', 'nowhere')
    far = T.copy()
    far[:3, 3] *= 1000.0
    rig.is_told('controller/target_pose', pose_message(far),
                f'target_pose is {np.linalg.norm(far[:3, 3]):.5g} m from the base; the tip '
                'reaches at most', 'Send metres, not millimetres, and name their frame')
    rig.run(0.5)
    np.testing.assert_allclose(pose(rig), T, atol=1e-4)
    assert rig.said('state') == 'running'


def test_a_wrench_is_turned_into_the_base(rig):
    """Of an arm that is held: J^T of moment and force, which are given in any frame."""
    rig.must_set(mode='operational_space')
    rig.block()
    R, J, T = pose(rig, 'link_4')[:3, :3], rig.dynamics.jacobian(rig.q, 'tool0'), pose(rig)
    message = WrenchStamped()
    message.header.frame_id = 'link_4'
    moment, force = np.array([0.1, 0.2, 0.5]), np.array([2.0, 1.0, -0.5])
    message.wrench.torque, message.wrench.force = (
        Vector3(**dict(zip('xyz', each.tolist()))) for each in (moment, force))
    still = effort(rig)
    six = np.concatenate([T[:3, :3].T @ R @ moment, T[:3, :3].T @ R @ force])
    rig.publish('controller/target_wrench', message)
    until_effort(rig, still + J.T @ six, atol=1e-6)


def test_a_twist_is_turned_into_the_base(rig):
    """The tip moves along what the frame of the header calls y, and turns about its x."""
    rig.must_set(mode='operational_space', task__timeout=10.0)
    R = pose(rig, 'link_4')[:3, :3]
    message = TwistStamped()
    message.header.frame_id = 'link_4'
    message.twist.linear, message.twist.angular = Vector3(y=0.1), Vector3(x=0.2)

    def velocity():
        rig.publish('controller/target_twist', message)
        rig.run(0.02)
        tip = pose(rig)[:3, :3]
        w, v = np.split(rig.dynamics.jacobian(rig.q, 'tool0') @ rig.qd, 2)
        return np.concatenate([R.T @ tip @ w, R.T @ tip @ v])
    wanted = [0.2, 0.0, 0.0, 0.0, 0.1, 0.0]
    rig.run_until(lambda: np.allclose(velocity(), wanted, atol=0.03), 'that velocity', 60.0)
    rig.must_set(task__timeout=0.1)
    rig.block()
    rig.run(1.0)  # at rest: of an arm that moves the fifth in a row is a fault
    message.twist.angular.x = math.nan
    rig.is_told('controller/target_twist', message, 'reference rejected: ', 'twist')


# -- of the joints --------------------------------------------------------------------------------


def test_trajectories_and_set_points(rig):
    """A point at time zero is gone to, others are followed, none at all holds; any order."""
    message = JointTrajectory(joint_names=JOINTS[::-1])
    point = JointTrajectoryPoint(positions=(START + 0.01 * np.arange(1, 8))[::-1].tolist())
    message.points = [point]
    rig.publish('controller/joint_trajectory', message)
    rig.run_until(lambda: np.allclose(rig.q, START + 0.01 * np.arange(1, 8), atol=2e-3), 'it')
    point.positions, point.time_from_start = START[::-1].tolist(), Duration(sec=5)
    begin = rig.now
    rig.publish('controller/joint_trajectory', message)
    rig.run_until(lambda: np.allclose(rig.q, START, atol=1e-3), 'the end')
    assert rig.now - begin > 4_000_000_000
    point.positions = (START + 0.3)[::-1].tolist()
    rig.publish('controller/joint_trajectory', message)
    rig.run_until(lambda: np.abs(rig.qd).max() > 0.02, 'a motion')
    rig.publish('controller/joint_trajectory', JointTrajectory(joint_names=JOINTS))
    rig.run_until(lambda: np.abs(rig.qd).max() < 1e-3, 'a hold', 60.0)
    assert (rig.q < START + 0.2).all()


def test_a_trajectory_of_another_clock_is_told(rig):
    """A start in a minute or more is kept, and said: the stamp may be of another clock."""
    message = JointTrajectory(joint_names=JOINTS, points=[JointTrajectoryPoint(
        positions=rig.q.tolist(), time_from_start=Duration(sec=1))])
    message.header.stamp = to_time(rig.now + 100_000_000_000)
    with rig.logs('/controller/joint_trajectory: starts in 100 s, as its stamp says. A stamp of '
                  'zero means now'):
        rig.publish('controller/joint_trajectory', message)
    message.header.stamp = to_time(rig.now + 40_000_000_000)
    count = len(rig.texts['log'])
    rig.publish('controller/joint_trajectory', message)
    rig.get('mode')  # the same thread has taken it
    assert not any('starts in' in line for line in rig.texts['log'][count:])


def test_plain_numbers_of_a_servoing_node(rig):
    """Positions are gone to, velocities are kept for a moment; another count is refused."""
    rig.publish('controller/target_positions', Float64MultiArray(data=(START + 0.02).tolist()))
    rig.run_until(lambda: np.allclose(rig.q, START + 0.02, atol=1e-3), 'the positions')
    rig.run(0.5)
    rig.publish('controller/target_velocities', Float64MultiArray(data=[0.5] + [0.0] * 6))
    rig.run_until(lambda: rig.q[0] > START[0] + 0.05, 'a motion')
    rig.run(1.0)
    assert START[0] + 0.05 < rig.q[0] < START[0] + 0.1 and np.abs(rig.qd).max() < 5e-3
    rig.is_told('controller/target_velocities', Float64MultiArray(data=[0.5]),
                '1 velocities for 7 joints')


def test_references_of_another_mode_are_no_fault(rig):
    """Each kind is for some modes; in another one it is told and left out."""
    for topic, message in (('pose', PoseStamped()), ('twist', TwistStamped()),
                           ('wrench', WrenchStamped())):
        for _ in range(6):
            rig.publish(f'controller/target_{topic}', message)
        rig.is_told(f'controller/target_{topic}', message,
                    f'/controller/target_{topic}: rejected, the mode is computed_torque, not '
                    'operational_space or cartesian_impedance')
    rig.must_set(mode='gravity_compensation')
    rig.is_told('controller/joint_trajectory', JointTrajectory(),
                'the mode is gravity_compensation, not computed_torque or joint_impedance')
    rig.run(0.1)
    assert rig.said('state') == 'running' and rig.said('fault') == ''


def test_bad_references_of_an_arm_that_moves_are_a_fault(rig):
    """A sender of nonsense has lost the robot; a load that cannot be is only told."""
    for _ in range(8):
        rig.publish('controller/payload', InertiaStamped(inertia=Inertia(m=-1.0)))
    rig.is_told('controller/payload', InertiaStamped(inertia=Inertia(m=-1.0)),
                '/controller/payload: rejected, payload mass -1 kg is negative')
    rig.publish('controller/joint_trajectory', JointTrajectory(
        joint_names=JOINTS, points=[JointTrajectoryPoint(
            positions=(START + 0.5).tolist(), time_from_start=Duration(sec=20))]))
    rig.run_until(lambda: np.abs(rig.qd).max() > 0.02, 'a motion')
    assert rig.said('state') == 'running'
    bad = JointTrajectory(joint_names=['x'], points=[JointTrajectoryPoint(positions=[0.0])])
    for _ in range(5):
        rig.publish('controller/joint_trajectory', bad)
        rig.get('mode')
    rig.run_until(lambda: rig.said('fault'), 'a fault')
    assert '/controller/joint_trajectory: ' in rig.said('fault')


def test_stiffness_and_damping_by_topic(rig):
    """They are the parameters of the mode; what these refuse is told, and changes nothing."""
    names = [f'joint_impedance.{name}' for name in ('stiffness', 'damping')]
    first = [10.0, 10.0, 4.0, 4.0, 0.4, 0.2, 0.02], [1.5, 1.5, 0.5, 0.5, 0.05, 0.03, 0.003]
    rig.begin(mode='joint_impedance', **dict(zip(names, first)))
    stiffness, damping = 0.9 * np.array(first[0]), 0.8 * np.array(first[1])
    message = Float64MultiArray(
        layout=MultiArrayLayout(dim=[MultiArrayDimension(size=2), MultiArrayDimension(size=7)]),
        data=[*stiffness, *damping])
    rig.publish('controller/target_stiffness', message)

    def now():
        return [list(rig.get(name)) for name in names]
    wanted = [stiffness.tolist(), damping.tolist()]
    rig.run_until(lambda: now() == wanted, 'the new springs')
    rig.block()
    rig.q = START + 0.01 * np.arange(1, 8)
    rig.run(0.1)
    np.testing.assert_allclose(effort(rig), rig.dynamics.gravity(rig.q)
                               - stiffness * (rig.q - START), atol=1e-3)
    for number, reason in ((-1.0, 'stiffness'), (math.nan, 'stiffness'),
                           (1e5, 'cannot be stable at nominal_rate 100 Hz')):
        rig.is_told('controller/target_stiffness', Float64MultiArray(
            data=[*stiffness[:6], number]), '/controller/target_stiffness: rejected', reason)
    rig.is_told('controller/target_stiffness', Float64MultiArray(data=[1.0] * 6),
                'takes 7 numbers')
    assert now() == wanted and rig.said('state') == 'running'
    rig.must_set(mode='computed_torque')
    rig.is_told('controller/target_stiffness', message,
                'the mode is computed_torque, not joint_impedance or cartesian_impedance')


def test_two_senders_make_the_robot_hold(rig):
    """Nobody can know which of them is meant; one that goes makes the other heard again."""
    message = JointTrajectory(joint_names=JOINTS, points=[JointTrajectoryPoint(
        positions=(START + 0.5).tolist(), time_from_start=Duration(sec=20))])
    rig.publish('controller/joint_trajectory', message)
    rig.run_until(lambda: np.abs(rig.qd).max() > 0.02, 'a motion')
    other = rig.client.create_publisher(JointTrajectory, 'controller/joint_trajectory', 1)
    rig.is_told('controller/joint_trajectory', message,
                '/controller/joint_trajectory has 2 publishers: their messages are dropped')
    rig.run_until(lambda: np.abs(rig.qd).max() < 1e-3, 'a hold', 60.0)
    rig.client.destroy_publisher(other)

    def moves():
        rig.publish('controller/joint_trajectory', message)
        rig.run(0.3)
        return np.abs(rig.qd).max() > 0.02
    rig.run_until(moves, 'a motion', 100.0)


def test_a_second_commander_is_told_while_there_is_torque(rig):
    """Commands of another node beside ours are an error."""
    with rig.logs('1 other publisher(s) on /controller/commands besides this controller'):
        other = rig.client.create_publisher(
            type(rig.commands[0]), 'controller/commands', 1)
    rig.client.destroy_publisher(other)


def test_a_second_commander_that_sends_stops_the_robot(rig):
    """It is braked and released, the other node is named; a reset begins anew, and says so."""
    rig.block()  # nobody holds the arm once it is released
    other = rig.client.create_publisher(type(rig.commands[0]), 'controller/commands', 1)
    try:
        def sends():
            other.publish(type(rig.commands[0])())
            return rig.said('state') == 'fault'
        rig.run_until(sends, 'a fault', 1e3)
        assert ('somebody else sends commands to the robot, too: '
                '/client on /controller/commands') in rig.said('fault')
        answer = rig.call('reset')
        assert not answer.success and 'not known to be free' in answer.message
    finally:
        rig.client.destroy_publisher(other)
    answers = []

    def is_reset():
        answers.append(rig.call('reset'))
        return answers[-1].success
    rig.wait(is_reset, 'a reset')
    assert answers[-1].message == 'faults cleared, probing'
    rig.run_until(lambda: rig.said('state') == 'running', 'running')


# -- loads ----------------------------------------------------------------------------------------


def load_torque(rig, mass, place: Callable[[np.ndarray], np.ndarray]):
    """Return what holds a mass at a place of the arm: the derivative of its height."""
    h, found = 1e-6, []
    for j in range(7):
        heights = []
        for sign in (1.0, -1.0):
            q = rig.q.copy()
            q[j] += sign * h
            heights.append(place(q)[2])
        found.append(mass * GRAVITY * (heights[0] - heights[1]) / (2.0 * h))
    return np.array(found)


@pytest.mark.parametrize('frame', ['', 'tool0', 'link_6'])
def test_a_payload_is_taken_into_its_frame(rig, frame):
    """Given in a frame of the tool or of another body, it is carried where that frame has it."""
    rig.must_set(mode='gravity_compensation')
    rig.block()
    com = np.array([0.1, 0.02, 0.05, 1.0])
    message = InertiaStamped(inertia=Inertia(m=0.5, com=Vector3(**dict(zip('xyz', com[:3])))))
    message.header.frame_id = frame
    expected = rig.dynamics.gravity(rig.q)
    tool = np.linalg.inv(pose(rig)) @ pose(rig, frame or 'tool0') @ com  # of the tool's body
    expected = expected + load_torque(
        rig, 0.5, lambda q: rig.dynamics.pose(q, 'tool0') @ tool)
    rig.publish('controller/payload', message)
    until_effort(rig, expected, atol=1e-5)
    values = rig.diagnosis('load', text='payload 0.5 kg')[2]
    shown = [float(each) for each in values['payload centre of mass [m]'].split()]
    np.testing.assert_allclose(shown, tool[:3], atol=1e-4)
    message.inertia.m = 0.0
    rig.publish('controller/payload', message)
    until_effort(rig, rig.dynamics.gravity(rig.q), atol=1e-6)
