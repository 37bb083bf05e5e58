# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller with a robot that none of its code simulates, over topics, from start to end.

MuJoCo is the robot: brakes, friction, rotors, noisy sensors, a plate to press on, a driver that
keeps the last torque. The built-in arm has the parameters that a user gets,
config/controller.yaml; the Panda has friction that its description leaves out. Every bound is
against what MuJoCo says, not against what the controller reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
import re
import shlex
import signal
import subprocess
import unittest

from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import PoseStamped, WrenchStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import mujoco_rig
import numpy as np
from rbd_env.pace import patient
import rclpy
from rclpy.action import ActionClient
from rclpy.publisher import Publisher
import rig
from scipy.spatial.transform import Rotation

ROOT = Path(__file__).parents[2]

#: bounds, as in docs/control_theory.md and docs/pressing.md
GOAL = 0.01  # rad, when the action says that it succeeded: its default tolerance
POSE, TURN = 1e-3, 0.01  # m, rad, at rest

#: what a sensor of a good arm adds: rad, rad/s, N.m
NOISE = {'position_noise': 1e-5, 'position_resolution': 1e-5, 'velocity_noise': 1e-3,
         'effort_noise': 0.1}

#: how late states and wrenches may be; and what pressing needs
LATE = {'minimum_rate': 20.0, 'state_timeout': 0.6, 'release_time': 0.4, 'task.timeout': 1.0,
        'release_torque': 'gravity', 'activation_timeout': 20.0, 'use_sim_time': True,
        'command_type': 'joint_state',
        'task.axes': ['rx', 'ry', 'rz', 'tx', 'ty']}

#: its description has neither rotors nor friction: their inertia is given, the integral does more
PANDA = {'joints': list(mujoco_rig.PANDA.joints), 'driver_adds': 'none',
         'effort_is_torque': True, 'task.frame': 'panda_hand', 'nominal_rate': 250.0,
         'rotor_inertia': [0.1], 'stiffness': [400.0], 'damping': [40.0], 'integral': [1000.0],
         'integral_limit': [10.0], 'task.linear_stiffness': 400.0, 'task.linear_damping': 40.0,
         'task.linear_integral': 1000.0, 'task.angular_stiffness': 400.0,
         'task.angular_damping': 40.0, 'task.angular_integral': 1000.0}

WRENCH_RATE = 50.0  # Hz, as the document has it
FORCE = 2.0  # N by which a force may be wrong: dry friction of the joints over their levers

#: robot, rate of its states in Hz, parameters of its controller
SYSTEMS = {
    'panda': (mujoco_rig.PANDA, 250.0, [PANDA]),
    'arm': (mujoco_rig.BUILT_IN, 500.0, [str(ROOT / 'config' / 'controller.yaml')]),
}


def description(name: str) -> tuple[LaunchDescription, dict[str, object]]:
    """Start one robot behind its driver, and a controller that waits to be configured."""
    robot, rate, parameters = SYSTEMS[name]
    controller = NodeAction(
        package='rbd_ros', executable='controller', name='controller', output='screen',
        parameters=[*parameters, {'robot_description_file': str(robot.urdf), **LATE}])
    driver = mujoco_rig.driver(
        '', robot, **NOISE, **mujoco_rig.LOCKSTEP, rate=rate, plate=list(robot.plate))
    return LaunchDescription([driver, controller, ReadyToTest()]), {
        'controller': controller, 'name': name}


class TestRobot(unittest.TestCase):
    """One robot, from its start to its end."""

    def test_robot(self, controller: NodeAction, name: str) -> None:
        """Go through everything in order: each stage begins where the last one ended."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        self.client, (self.robot, *_) = rig.Client(), SYSTEMS[name]
        self.addCleanup(self.client.close)
        self.truth = mujoco_rig.Truth(self.client)
        with self.subTest('start'):
            mujoco_rig.start(self, self.client, self.truth)
        for stage in (self.trajectory, self.pose, self.pressing):
            with self.subTest(stage.__name__):
                stage()
        with self.subTest('end'):
            self.end(controller)

    def stopped(self) -> bool:
        """Return whether waiting for anything else is in vain."""
        return self.client.last('state') != 'running'

    def running(self) -> None:
        """Expect that nothing went wrong so far."""
        self.assertEqual((self.client.last('state'), self.client.last('fault')), ('running', ''))

    def trajectory(self) -> None:
        """Send a way of 2 s over all joints: it ends in success, and there."""
        client, truth = self.client, self.truth
        client.must_set({'mode': 'computed_torque'})
        action = ActionClient(client.node, FollowJointTrajectory,
                              'controller/follow_joint_trajectory')
        self.addCleanup(action.destroy)
        client.wait_found(action.server_is_ready, 'the action')
        target = np.array(self.robot.down)
        self.assertTrue((np.abs(target - self.robot.start) > 0.05).all())
        goal = FollowJointTrajectory.Goal(trajectory=rig.trajectory_message(
            self.robot.joints, [2.0], [(target,)]))
        # The usual 0.5 s to settle are for the arm whose friction is known; the integral that
        # overcomes that of the Panda has a time constant of 0.4 s.
        goal.goal_time_tolerance.sec = 2 if self.robot is mujoco_rig.PANDA else 0
        sent = action.send_goal_async(goal)
        client.wait(sent.done, 'an answer')
        self.assertTrue(sent.result().accepted, client.last('log'))
        ended = sent.result().get_result_async()
        client.wait(ended.done, 'a result', 20.0)
        result = ended.result().result
        truth.pass_time(0.8)
        error = np.abs(truth.joints[-1] - target).max()
        print(f'trajectory: {error:.5f} of {GOAL} rad')
        self.running()
        self.assertEqual(result.error_code, result.SUCCESSFUL, result.error_string)
        self.assertLess(error, GOAL)

    def pose(self) -> None:
        """Send a pose that moves every joint: the tip comes there, along what is controlled."""
        client, truth = self.client, self.truth
        client.must_set({'mode': 'operational_space'})
        poses = client.node.create_publisher(PoseStamped, 'controller/target_pose', 1)
        client.wait(lambda: poses.get_subscription_count() > 0, 'a subscription')
        truth.pass_time(0.6)
        before, (_, p, q) = truth.joints[-1], truth.tips[-1]
        R = Rotation.from_quat(q)
        way = R.apply([0.05, -0.06, 0.0])  # tz is not controlled
        turned = Rotation.from_rotvec([0.0, 0.0, 0.4]) * R
        message = PoseStamped()
        at, o = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = (p + way).tolist()
        o.x, o.y, o.z, o.w = turned.as_quat().tolist()
        poses.publish(message)

        def missing(which: int = -1) -> tuple[float, float]:
            _, found, q = truth.tips[which]
            now = Rotation.from_quat(q)
            left = now.inv().apply(found - p - way)[:2]
            return float(np.linalg.norm(left)), float((turned.inv() * now).magnitude())
        # a driver that a busy machine holds up is later there, and may swing once more
        client.wait(lambda: self.stopped() or all(
            np.less(missing(which), (POSE, TURN)).all() for which in range(-100, 0)), 'the pose')
        moved, (left, turn) = truth.joints[-1] - before, missing()
        print(f'pose: {1e3 * left:.3f} of {1e3 * POSE} mm, {turn:.5f} of {TURN} rad, joints moved '
              f'by {np.abs(moved).min():.3f} rad and more')
        self.running()
        self.assertGreater(np.abs(moved).min(), 0.004)
        self.assertLess(left, POSE)
        self.assertLess(turn, TURN)

    def pressing(self) -> None:
        """Run the command of docs/pressing.md: the plate gets the force; then send others."""
        truth = self.truth
        for size, send in ((20.0, self.typed_wrench), (40.0, self.wrench)):
            with send(size):
                self.client.wait(lambda size=size: self.stopped() or self.rests(size),
                                 f'{size:g} N on the plate')
                self.running()
                found = -truth.mean_force(truth.now - 0.5)[2]
            print(f'pressing: {found:.2f} for {size:g} N, within {FORCE:g} N')
            self.running()
            self.assertLess(abs(found - size), FORCE)

    @contextmanager
    def typed_wrench(self, size: float) -> Iterator[None]:
        """Send a target wrench as the document says, for this robot."""
        text = (ROOT / 'docs' / 'pressing.md').read_text()
        command = re.search(r'^ros2 topic pub.*?"$', text, re.MULTILINE | re.DOTALL)[0]
        self.assertIn(f'force: {{z: {size}}}', command)
        self.assertIn(f'--rate {WRENCH_RATE:g} /controller/target_wrench', command)
        typed = command.replace('frame_id: tool0', f'frame_id: {self.robot.tip}')
        process = subprocess.Popen(shlex.split(typed.replace('\\\n', '')),
                                   stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(patient(10.0))

    @contextmanager
    def wrench(self, size: float) -> Iterator[None]:
        """Send the same with another force, from this process."""
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.z = self.robot.tip, size
        with self.client.repeating(1.0 / WRENCH_RATE, lambda: self.wrenches.publish(message)):
            yield

    @cached_property
    def wrenches(self) -> Publisher:
        """Return the publisher of target wrenches: the controller accepts only one."""
        return self.client.node.create_publisher(WrenchStamped, 'controller/target_wrench', 1)

    def rests(self, size: float) -> bool:
        """Return whether the tip has been on the plate for a second, about so firmly."""
        since = self.truth.now - 1.0
        forces = [-f[2] for t, f in self.truth.forces if t >= since]
        return len(forces) > 20 and 0.6 * size < min(forces) <= max(forces) < 1.6 * size

    def end(self, controller: NodeAction) -> None:
        """Press Ctrl-C: the tip neither sinks nor moves further than it may."""
        truth = self.truth
        truth.wait_rest(0.02, 20.0)
        _, p, _ = truth.tips[-1]
        mujoco_rig.end(self, self.client, truth, controller)
        moved = np.linalg.norm(truth.tips[-1][1] - p)
        print(f'end: moved by {1e3 * moved:.2f} of {1e3 * mujoco_rig.END_DROP} mm')
        self.assertLess(moved, mujoco_rig.END_DROP)


TestShutdown = rig.CleanEnd
