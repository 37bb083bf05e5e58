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

"""
An arm that MuJoCo simulates runs into a plate, over topics: reported, gone back, and stopped.

The plate stands on a spring that the controller does not know. The thresholds are those that
``rbd contact`` finds in a recording of free motion of the same arm. Robot and controller are in
lockstep: what happens does not depend on the load of the machine.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
import re
import tempfile
import time
import unittest

from control_msgs.action import FollowJointTrajectory
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import mujoco_rig
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.command_line.app import app
from rbd_ros.nodes.driven_robot import write_states
import rclpy
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
import rig
from sensor_msgs.msg import JointState
from typer.testing import CliRunner
import yaml

ROOT = Path(__file__).parents[2]
ROBOT = mujoco_rig.BUILT_IN
RATE = 250.0  # Hz
FELT = re.compile(r'(joint_\d) feels (\S+) N\.m, threshold (\S+) N\.m; (\S+) N if it is at ')

GAP, DEEP = 0.08, 0.03  # m from the ball at the tip to the plate, and from there to the target
STIFFNESS = 1e4  # N/m
FREE = 9.0  # s of motion without contact
PEAK = 70.0  # N that the plate may feel, some 40 are usual
RESTING = 12.0  # N that a robot at rest may leave on the plate: friction of its joints
PRESSED = 50.0  # N at least where nobody reacts; 80 are usual

DIRECTIONS = ('contact.force', 'contact.moment')

PARAMETERS = {
    'robot_description_file': str(ROBOT.urdf), 'use_sim_time': True, 'nominal_rate': RATE,
    'command_type': 'joint_state', 'effort_is_torque': False, 'mode': 'computed_torque',
    'recover_lost_state': False, 'activation_timeout': 20.0, 'minimum_rate': 20.0,
    'task.frame': ROBOT.tip, 'tracking_limits': [0.5], 'contact.retract_distance': 0.06}


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the arm over a plate, and a controller that waits to be configured."""
    controller = NodeAction(
        package='rbd_ros', executable='controller', name='controller', output='screen',
        parameters=[str(ROOT / 'config' / 'controller.yaml'), PARAMETERS])
    driver = mujoco_rig.driver(
        '', ROBOT, rate=RATE, start=list(ROBOT.down), plate_below=GAP, plate_stiffness=STIFFNESS,
        plate_damping=20.0, position_noise=2e-6, velocity_noise=1e-3, effort='motor',
        command_type='joint_state', lockstep=True, answer_wait=20.0, command_timeout=20.0,
        truth_divider=2, step=5e-4)
    return LaunchDescription([driver, controller, ReadyToTest()])


class TestContact(unittest.TestCase):
    """One robot: it learns what is usual, then it is run into something, again and again."""

    def test_contacts(self) -> None:
        """Go through everything in order: each stage begins where the last one ended."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        self.client = client = rig.Client()
        self.addCleanup(client.close)
        self.truth = mujoco_rig.Truth(client)
        self.states: list[JointState] = []
        client.node.create_subscription(JointState, 'joint_states', self.states.append,
                                        QoSProfile(depth=5000))
        mujoco_rig.start(self, client, self.truth)
        self.calibrate()
        self.report()
        self.retract()
        self.directions()

    # -- parts ----------------------------------------------------------------------------------

    def calibrate(self) -> None:
        """Move freely, record it, and give the controller what ``rbd contact`` makes of it."""
        rng, home, points = np.random.default_rng(8), np.array(ROBOT.down), []
        least = self.arm.pose(home, ROBOT.tip)[2, 3] + GAP
        while len(points) < 8:
            q = np.clip(home + rng.uniform(-0.45, 0.45, 7), -1.8, 1.8)
            q[3] = home[3] + rng.uniform(-0.2, 0.4)
            if self.arm.pose(q, ROBOT.tip)[2, 3] > least:
                points.append(q)
        times = np.cumsum(rng.uniform(0.7, 1.5, len(points) + 1))
        times *= FREE / times[-1]
        since = len(self.states)
        self.follow(times, [*points, home])
        self.assertFalse(any(np.any(f) for _, f in self.truth.forces), 'nothing was to be touched')
        folder = Path(tempfile.mkdtemp())
        write_states(folder / 'bag', '/joint_states', self.states[since:])
        done = CliRunner().invoke(app, [
            'contact', str(folder / 'bag'), '--urdf', str(ROBOT.urdf), '--frame', ROBOT.tip,
            '--out', str(folder / 'contact.yaml')])
        self.assertEqual(done.exit_code, 0, done.output)
        text = yaml.safe_load((folder / 'contact.yaml').read_text())
        found = text['/**']['controller']['ros__parameters']['contact']
        print(found)
        self.found = {f'contact.{name}': value for name, value in found.items()}
        self.client.must_set({name: value for name, value in self.found.items()
                              if name not in DIRECTIONS})

    def report(self) -> None:
        """Let nobody react: the log says what was felt, and the arm presses."""
        since, said = self.truth.now, time.monotonic()
        self.client.must_set({'contact.reaction': 'report'})
        self.follow([1.0], [self.below], succeeds=None)
        self.pass_time(0.5)
        line = self.client.wait_text('log', 'if it is at task.frame', said).text
        pressed = self.force()
        print(f'report: {line}; {pressed:.1f} N in the end')
        self.said(line, since)
        self.assertEqual((self.client.last('state'), self.client.last('fault')), ('running', ''))
        self.assertGreater(pressed, PRESSED)
        self.go_home()

    def retract(self) -> None:
        """Let the arm go back by itself: it rests above the plate."""
        since = self.truth.now
        self.touch('retract', ['retracting', 'holding'])
        self.said(self.client.last('fault'), since)
        self.assertEqual(self.force(), 0.0)
        gone = self.truth.tips[-1][1][2] - min(p[2] for t, p, _ in self.truth.tips if t >= since)
        print(f'retract: {1e3 * gone:.1f} mm above the lowest place')
        self.assertGreater(gone, 0.01)
        self.go_home()

    def directions(self) -> None:
        """Watch the frame alone: the direction of the force is said."""
        self.client.must_set({'contact.torque': [1e3], **{
            name: self.found[name] for name in DIRECTIONS}})
        self.touch('stop', ['braking', 'holding'])
        text = self.client.last('fault')
        along = re.search(r'feels (\S+) N along z; (\S+) N in all', text)
        self.assertIsNotNone(along, text)
        self.assertLess(float(along[1]), -self.found['contact.force'][2])  # the frame points down

    def touch(self, reaction: str, sequence: list[str]) -> None:
        """Run into the plate, and see what follows."""
        client, since, heard = self.client, self.truth.now, len(self.client.texts['state'])
        client.must_set({'contact.reaction': reaction})
        self.follow([1.0], [self.below], succeeds=False)
        client.wait(lambda: client.last('state') == sequence[-1], sequence[-1])
        self.pass_time(1.0)
        speed = np.max(self.truth.peaks[-25:])
        passed = [each.text for each in client.texts['state'][heard:]]
        peak = max(float(np.linalg.norm(f)) for t, f in self.truth.forces if t >= since)
        print(f'{reaction}: {passed}, {client.last("fault")}, {peak:.0f} of {PEAK:.0f} N, '
              f'{self.force():.2f} N at rest')
        self.assertEqual(passed, sequence)
        self.assertLess(peak, PEAK)
        self.assertLess(speed, 0.02)

    def said(self, text: str, since: float) -> None:
        """Expect that a text names a joint that feels such a force, and the force."""
        found = FELT.search(text)
        self.assertIsNotNone(found, text)
        joint, (torque, threshold, force) = found[1], map(float, found.groups()[1:])
        self.assertGreater(abs(torque), threshold)
        peak = max(float(np.linalg.norm(f)) for t, f in self.truth.forces if t >= since)
        self.assertGreater(force, 1.0)
        self.assertLess(force, 2.0 * peak)
        lever = self.arm.jacobian(self.truth.joints[-1], ROBOT.tip)[5]  # the frame points down
        push = -lever[ROBOT.joints.index(joint)]  # N.m for a N upwards
        self.assertGreater(push * torque, 0.0, f'{joint} feels what the plate does not do')

    # -- means ----------------------------------------------------------------------------------

    @cached_property
    def arm(self) -> Dynamics:
        """Return the model of the arm."""
        return Dynamics(load_urdf(ROBOT.urdf))

    @cached_property
    def below(self) -> np.ndarray:
        """Return a posture with the tip in the plate."""
        pose = self.arm.pose(np.array(ROBOT.down), ROBOT.tip)
        pose[2, 3] -= GAP + DEEP
        return self.arm.inverse_kinematics({ROBOT.tip: pose}, ROBOT.down).q

    @cached_property
    def action(self) -> ActionClient:
        """Return the client of the action."""
        made = ActionClient(self.client.node, FollowJointTrajectory,
                            'controller/follow_joint_trajectory')
        self.addCleanup(made.destroy)
        self.client.wait_found(made.server_is_ready, 'the action')
        return made

    def follow(self, times: object, points: object, succeeds: bool | None = True) -> None:
        """Move by the action; None: however it ends."""
        goal = FollowJointTrajectory.Goal(trajectory=rig.trajectory_message(
            ROBOT.joints, list(times), [(q,) for q in points]))
        goal.goal_time_tolerance.sec = 1
        sent = self.action.send_goal_async(goal)
        self.client.wait(sent.done, 'an answer')
        self.assertTrue(sent.result().accepted, self.client.last('log'))
        ended = sent.result().get_result_async()
        self.client.wait(ended.done, 'a result')
        result = ended.result().result
        if succeeds is not None:
            self.assertEqual(result.error_code == result.SUCCESSFUL, succeeds, result.error_string)

    def go_home(self) -> None:
        """Leave the plate."""
        self.client.must_set({'contact.reaction': 'off'})
        if self.client.last('state') != 'running':
            answer = self.client.trigger('reset')
            self.assertTrue(answer.success, answer.message)
            self.client.wait(lambda: self.client.last('state') == 'running', 'running')
        self.follow([1.0], [ROBOT.down])
        self.pass_time(0.5)
        self.assertEqual(self.force(), 0.0)

    def pass_time(self, seconds: float) -> None:
        """Let simulated time pass."""
        end = self.now() + seconds
        self.client.wait(lambda: self.now() >= end, f'{seconds:g} s of simulated time', 120.0)

    def now(self) -> float:
        """Return the stamp of the last state, s."""
        return 1e-9 * rig.to_ns(self.states[-1].header.stamp)

    def force(self) -> float:
        """Return the mean force upon the plate in the last 0.2 s."""
        return float(np.mean([np.linalg.norm(f) for _, f in self.truth.forces[-25:]]))


TestShutdown = rig.CleanEnd
