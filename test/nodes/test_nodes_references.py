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

"""What messages of references and payloads become, without a middleware."""

import math

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import (
    Inertia, InertiaStamped, Point, PoseStamped, Quaternion, TwistStamped, Vector3, WrenchStamped)
from listener_rig import Listeners
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.load.payload import rotation
from rbd_ros.control.references.joint_reference import Source
from rbd_ros.nodes.controller.reports import quaternion
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

TURN = Quaternion(z=math.sqrt(0.5), w=math.sqrt(0.5))  # x to y


def test_target_pose_is_turned_into_the_base(monkeypatch):
    """A pose in a frame of the robot is taken where that frame stands now."""
    rig = Listeners(monkeypatch, 'operational_space')
    T = rig.arm.dynamics.pose(rig.arm.q, 'link_4')
    message = PoseStamped()
    message.pose.position, message.pose.orientation = Point(x=0.1, y=0.2, z=0.3), TURN
    for frame, R, p in (('', np.eye(3), np.zeros(3)), ('link_4', T[:3, :3], T[:3, 3])):
        message.header.frame_id = frame
        rig.take('target_pose', message)
        goal = rig.references.task.pose.goal
        np.testing.assert_allclose(goal[4:], p + R @ [0.1, 0.2, 0.3], atol=1e-9)
        np.testing.assert_allclose(rotation(goal[:4].tolist()), R @ rotation(
            (0.0, 0.0, TURN.z, TURN.w)), atol=1e-9)
    message.header.frame_id = 'nowhere'
    before = rig.references.task.pose.goal.copy()
    rig.take('target_pose', message)
    assert 'nowhere' in rig.logged[-1]
    np.testing.assert_array_equal(rig.references.task.pose.goal, before)


def test_target_pose_in_millimetres_is_refused(monkeypatch):
    """It is told with both distances, once a second; the arm goes on to the target before it."""
    rig = Listeners(monkeypatch, 'operational_space')
    rig.arm.external = np.zeros(7)  # let go
    T = rig.arm.dynamics.pose(rig.arm.q, rig.arm.robot.tip)
    message = PoseStamped()
    message.pose.orientation = Quaternion(**dict(zip('xyzw', quaternion(T[:3, :3]))))
    there = T[:3, 3] + [0.02, 0.01, -0.03]
    message.pose.position = Point(**dict(zip('xyz', there)))
    rig.take('target_pose', message, 0.05)
    before = rig.references.task.pose.goal.copy()
    rig.controller.events.clear()
    message.pose.position = Point(**dict(zip('xyz', 1000.0 * there)))
    for _ in range(4):  # the fifth in a row is a fault while the arm moves
        rig.take('target_pose', message, 0.01)
    (level, text), = rig.controller.events
    far, reach = 1000.0 * np.linalg.norm(there), rig.arm.robot.reach
    assert level == 'warning' and text == (
        f'reference rejected: target_pose is {far:.5g} m from the base; the tip reaches at most '
        f'{reach:.5g} m. Send metres, not millimetres, and name their frame in header.frame_id')
    np.testing.assert_array_equal(rig.references.task.pose.goal, before)
    rig.arm.run(2.0)
    found = rig.arm.dynamics.pose(rig.arm.q, rig.arm.robot.tip)[:3, 3]
    np.testing.assert_allclose(found, there, atol=1e-3)
    assert rig.arm.state == 'running' and rig.references.refusals.row == 4
    for far, taken in ((1.05, True), (1.2, False)):  # stops give, springs are hooked up outside
        message.pose.position = Point(z=far * reach)
        rig.take('target_pose', message)
        assert bool(rig.references.task.pose.goal[6] == far * reach) is taken


def test_twist_and_wrench_are_turned_into_the_base(monkeypatch):
    """Angular part first, both parts turned by the frame that the header names."""
    rig = Listeners(monkeypatch, 'operational_space')
    R = rig.arm.dynamics.pose(rig.arm.q, 'link_4')[:3, :3]
    twist, wrench = TwistStamped(), WrenchStamped()
    twist.header.frame_id = wrench.header.frame_id = 'link_4'
    twist.twist.angular, twist.twist.linear = Vector3(x=0.1), Vector3(y=0.02, z=0.01)
    wrench.wrench.torque, wrench.wrench.force = Vector3(z=0.5), Vector3(x=2.0, y=1.0)
    rig.take('target_twist', twist)
    rig.take('target_wrench', wrench)
    reference = rig.references.task
    np.testing.assert_allclose(reference.pose.twist, [
        *(R @ [0.1, 0.0, 0.0]), *(R @ [0.0, 0.02, 0.01])], atol=1e-12)
    np.testing.assert_allclose(reference.wrench, [
        *(R @ [0.0, 0.0, 0.5]), *(R @ [2.0, 1.0, 0.0])], atol=1e-12)
    twist.twist.angular.x = math.nan
    rig.take('target_twist', twist)
    assert 'twist' in rig.controller.events[-1][1] and np.isfinite(reference.pose.twist).all()


def test_stiffness_and_damping_by_topic(monkeypatch):
    """They are the parameters of the mode; what these refuse is told, and changes nothing."""
    rig = Listeners(monkeypatch, 'joint_impedance')
    stiffness, damping = np.linspace(20.0, 80.0, 7), np.linspace(0.2, 0.5, 7)
    names = [f'joint_impedance.{name}' for name in ('stiffness', 'damping')]
    message = Float64MultiArray(
        layout=MultiArrayLayout(dim=[MultiArrayDimension(size=2), MultiArrayDimension(size=7)]),
        data=[*stiffness, *damping])
    rig.take('target_stiffness', message, 0.05)
    assert not rig.logged
    np.testing.assert_array_equal(rig.controller.x.laws.springs.joint, stiffness)
    for name, values in zip(names, (stiffness, damping), strict=True):
        assert rig.controller.accepted[name] == values.tolist()
    rig.topics['target_stiffness'](message)
    assert not rig.controller.requests and not rig.logged  # nothing new
    for number, reason in ((-1.0, 'stiffness'), (math.nan, 'stiffness'),
                           (1e5, 'cannot be stable at nominal_rate 1000 Hz: with this damping '
                                 'give less than')):
        rig.take('target_stiffness', Float64MultiArray(data=[*stiffness[:6], number]), 0.05)
        assert reason in rig.logged.pop()
        np.testing.assert_array_equal(rig.controller.x.laws.springs.joint, stiffness)
    rig.take('target_stiffness', Float64MultiArray(data=[1.0] * 6))
    assert 'takes 7 numbers' in rig.logged.pop()
    assert rig.arm.state == 'running' and not rig.controller.x.references.refusals.row
    rig.arm.change(mode='computed_torque')
    rig.arm.run(0.01)
    rig.take('target_stiffness', message)
    assert rig.logged.pop().endswith(
        'the mode is computed_torque, not joint_impedance or cartesian_impedance')


def test_references_of_another_mode_are_no_fault(monkeypatch):
    """Each kind is for one mode; in another one it is told and left out."""
    rig = Listeners(monkeypatch, 'computed_torque')
    for topic, message in (('target_pose', PoseStamped()), ('target_twist', TwistStamped()),
                           ('target_wrench', WrenchStamped())):
        rig.take(topic, message)
        assert rig.logged.pop().endswith(
            'the mode is computed_torque, not operational_space or cartesian_impedance')
    assert not rig.controller.requests and not rig.logged
    rig.arm.change(mode='gravity_compensation')
    rig.arm.run(0.001)
    rig.take('joint_trajectory', JointTrajectory())
    assert rig.logged.pop().endswith(
        'the mode is gravity_compensation, not computed_torque or joint_impedance')


def test_trajectories_and_set_points(monkeypatch):
    """One point at time zero is a set-point, others are followed, none at all holds."""
    rig = Listeners(monkeypatch, 'computed_torque')
    reference = rig.references.joint
    message = JointTrajectory(joint_names=list(reversed(rig.arm.robot.joints)))
    q = rig.arm.q + 0.01 * np.arange(7.0)
    point = JointTrajectoryPoint(positions=q[::-1].tolist(), velocities=[0.01] * 7,
                                 accelerations=[0.02] * 7)
    message.points = [point]
    rig.take('joint_trajectory', message)
    assert reference.source == Source.STREAM
    np.testing.assert_allclose(reference.profile.target, [q, [0.01] * 7, [0.02] * 7], atol=1e-12)
    point.time_from_start = Duration(nanosec=500_000_000)
    rig.take('joint_trajectory', message)
    assert reference.source == Source.TRAJECTORY
    assert reference.path.end == pytest.approx(rig.arm.time + 0.5)
    message.header.stamp = Time(sec=7, nanosec=250_000_000)    # it is 7 s by the clock of stamps
    rig.take('joint_trajectory', message)
    assert reference.path.end == pytest.approx(rig.arm.time + 0.75)
    message.points = []
    rig.take('joint_trajectory', message)
    assert reference.source == Source.HOLD


def test_a_trajectory_of_another_clock_is_told(monkeypatch):
    """A start in a minute or more is kept, and said: the stamp may be of another clock."""
    rig = Listeners(monkeypatch, 'computed_torque')
    point = JointTrajectoryPoint(positions=rig.arm.q.tolist(), time_from_start=Duration(sec=1))
    message = JointTrajectory(joint_names=list(rig.arm.robot.joints), points=[point])
    message.header.stamp = Time(sec=47)     # it is 7 s by the clock of stamps
    rig.take('joint_trajectory', message)
    assert not any('starts in' in line for line in rig.logged)
    message.header.stamp = Time(sec=107)
    rig.take('joint_trajectory', message)
    assert rig.references.joint.source == Source.TRAJECTORY
    assert rig.logged[-1] == ('/arm/joint_trajectory: starts in 100 s, as its stamp says. A stamp '
                              'of zero means now')


def test_plain_numbers_of_a_servoing_node(monkeypatch):
    """Positions are gone to, velocities are kept for 0.1 s; another count is refused."""
    rig = Listeners(monkeypatch, 'computed_torque')
    joint, start = rig.references.joint, rig.references.joint.profile.state[0].copy()
    rig.take('target_positions', Float64MultiArray(data=(start + 0.02).tolist()), 1.0)
    assert joint.source == Source.STREAM
    np.testing.assert_allclose(joint.profile.state[0], start + 0.02, atol=1e-6)
    rig.take('target_velocities', Float64MultiArray(data=[0.5] + [0.0] * 6), 1.0)
    np.testing.assert_allclose(joint.profile.state[0], start + 0.02 + np.array(
        [0.5 * 0.1 + 0.5**2 / 20.0] + [0.0] * 6), atol=1e-6)
    rig.take('target_velocities', Float64MultiArray(data=[0.5]))
    assert '1 velocities for 7 joints' in rig.controller.events[-1][1]


def test_stream_of_a_servoing_node_is_smooth(monkeypatch):
    """Points 34 ms ahead, 50 times per second: the arm is shaken less than by set-points."""
    peaks = []
    for ahead in (0, 34_000_000):
        rig = Listeners(monkeypatch, 'computed_torque')
        arm = rig.arm
        arm.external, start = np.zeros(7), arm.q.copy()
        arm.law_log.clear()
        for k in range(20):
            point = JointTrajectoryPoint(
                positions=(start + 0.2 * (1.0 - math.cos(2.0 * (0.02 * k + 0.034)))).tolist(),
                time_from_start=Duration(nanosec=ahead))
            rig.take('joint_trajectory', JointTrajectory(
                joint_names=list(arm.robot.joints), points=[point]), 0.02)
        assert rig.references.joint.source == Source.STREAM
        law = np.array(arm.law_log)
        peaks.append((np.abs(law - law[0]).max(axis=0)[:4],
                      np.abs(np.diff(law, axis=0)).max(axis=0)[:4]))
    (usual, usual_step), (peak, step) = peaks
    assert (peak <= usual).all() and (step <= usual_step).all()


def test_refused_references_are_counted_and_payloads_are_not(monkeypatch):
    """A sender of nonsense has lost the robot; a load that cannot be is only told."""
    rig = Listeners(monkeypatch, 'computed_torque')
    seen = []
    monkeypatch.setattr(rig.controller, 'refuse', lambda _now, _steady, text: seen.append(text))
    bad = JointTrajectory(joint_names=['x'], points=[JointTrajectoryPoint(positions=[0.0])])
    rig.take('joint_trajectory', bad)
    assert len(seen) == 1 and seen[0].startswith('/arm/joint_trajectory: ')
    rig.take('payload', InertiaStamped(inertia=Inertia(m=-1.0)))
    assert len(seen) == 1 and 'rejected' in rig.logged[-1] and 'negative' in rig.logged[-1]


def test_payload_is_taken_into_its_frame(monkeypatch):
    """A load given in a frame of the tool, or of another body while states are fresh."""
    rig = Listeners(monkeypatch, 'gravity_compensation')
    tool = rig.controller.settings.robot.payload_frame
    message = InertiaStamped(inertia=Inertia(m=0.5, com=Vector3(x=0.1, y=0.02)))
    load = rig.controller.x.load
    T = np.linalg.inv(rig.arm.dynamics.pose(rig.arm.q, tool)) @ rig.arm.dynamics.pose(
        rig.arm.q, 'link_6')
    for frame, c in (('', [0.1, 0.02, 0.0]), (tool, [0.1, 0.02, 0.0]),
                     ('link_6', T[:3, :3] @ [0.1, 0.02, 0.0] + T[:3, 3])):
        message.header.frame_id = frame
        rig.take('payload', message)
        np.testing.assert_allclose(load.wanted[:4], [0.5, *(0.5 * np.array(c))], atol=1e-9)
        assert load.duration == rig.controller.settings.number('payload.ramp_time')
    rig.arm.silence(0.2)                         # too old to convert with
    load.wanted[:] = 0.0
    message.header.frame_id = 'link_1'
    rig.take('payload', message)
    assert 'no fresh joint state' in rig.logged[-1] and not load.wanted.any()


def test_two_senders_make_the_robot_hold(monkeypatch):
    """Nobody can know which of them is meant; one that goes makes the other heard again."""
    rig = Listeners(monkeypatch, 'operational_space')
    held, hold = [], rig.controller.hold
    monkeypatch.setattr(rig.controller, 'hold', lambda *when: held.append(hold(*when)))
    message = TwistStamped()
    message.twist.linear.x = 0.02
    rig.publishers['/arm/target_twist'] = 2
    rig.look()
    rig.take('target_twist', message)
    assert len(held) == 1 and not rig.references.task.pose.twist.any()
    assert '/arm/target_twist has 2 publishers' in rig.logged[-1]
    rig.publishers['/arm/target_twist'] = 1
    rig.take('target_twist', message)
    assert len(held) == 1 and rig.references.task.pose.twist[3] == 0.02


def test_second_commander_is_told_while_there_is_torque(monkeypatch):
    """Commands of another node beside ours are an error, but not while we are silent."""
    rig = Listeners(monkeypatch, 'gravity_compensation')
    rig.look()
    assert not rig.logged
    rig.publishers['/arm/commands'] = 3
    rig.look()
    assert rig.logged.pop().startswith('2 other publisher(s) on /arm/commands')
    rig.controller.fault(rig.arm.time, Cause.DEACTIVATED)
    rig.arm.silence(3.0)
    rig.look()
    assert not rig.logged
