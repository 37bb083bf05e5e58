# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
What must hold before torque comes, as processes and topics show it; each case configures anew.

What is checked of the robot itself, its effort, rate, positions and motion, is proved on the fake
clock.
"""

from __future__ import annotations

from collections.abc import Iterable
import time

import arm
from arm import GRAVITY, JOINTS, Q
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import pytest
import rclpy
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String

#: s without a signal of the operator; he is far from it, however busy the machine
DEAD_MAN = 2.0

#: s for which an activation waits for states that do not come, and for those that do
SHORT, LONG = 3.0, 60.0

DEFAULTS = {
    'joints': rig.NO_NAMES, 'fixed_positions.joints': rig.NO_NAMES,
    'fixed_positions.values': rig.NO_NUMBERS, 'effort_is_torque': False,
    'dead_man_timeout': 0.0, 'activation_timeout': LONG}


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured."""
    clock = {name: arm.SIMULATED[name] for name in ('use_sim_time', 'heartbeat_rate')}
    return LaunchDescription([rig.controller(**clock), ReadyToTest()])


class TestStart(rig.LockstepCase):
    """Each test begins with a controller that is not configured."""

    def setUp(self) -> None:
        """Note when the test begins."""
        self.begin = time.monotonic()

    def tearDown(self) -> None:
        """Go back to the start."""
        self.driver.behave()
        self.driver.effort[:] = 0.0
        self.client.put_down()

    def set(self, **changes: object) -> None:
        """Set the parameters of the arm, with changes."""
        simulated = {k: v for k, v in arm.SIMULATED.items() if k != 'use_sim_time'}
        self.client.must_set(simulated | DEFAULTS | {
            name.replace('__', '.'): value for name, value in changes.items()})

    def prepare_robot(self, **changes: object) -> None:
        """Configure the arm, with changes."""
        self.set(**changes)
        self.assertTrue(self.client.transition(rig.CONFIGURE), self.client.last('log'))

    def refuse(self, transition: int, reason: str) -> None:
        """Expect that a transition fails, with a reason in the log, and that no torque comes."""
        begin, before = time.monotonic(), len(self.client.commands)
        self.assertFalse(self.client.transition(transition))
        self.client.wait_text('log', reason, begin)
        self.assertEqual(len(self.client.commands), before, 'a torque was sent')

    def run_it(self) -> None:
        """Activate and wait until all gains are in."""
        self.activate()
        self.wait_torque(GRAVITY)

    # -- refusals -----------------------------------------------------------------------------

    def test_joint_never_published(self) -> None:
        """A joint of the model that nobody publishes refuses activation, or is given."""
        def mangle(message: JointState) -> Iterable[JointState]:
            return (rig.state_message(message.name[:6], message.position[:6],
                                      message.velocity[:6],
                                      stamp=rig.to_ns(message.header.stamp)),)
        self.driver.provoke(mangle)
        self.prepare_robot(joints=list(JOINTS[:6]), activation_timeout=SHORT)
        self.refuse(rig.ACTIVATE, 'joint_7: not controlled; if nobody publishes a')
        self.assertEqual(self.client.lifecycle(), 'inactive')
        self.assertTrue(self.client.transition(rig.CLEANUP))
        self.prepare_robot(joints=list(JOINTS[:6]), fixed_positions__joints=['joint_7'],
                           fixed_positions__values=[float(Q[6])])
        self.activate()
        self.wait_torque(GRAVITY[:6])

    # -- while activation waits -----------------------------------------------------------------

    def expect_cancelled(self, done: rclpy.Future) -> None:
        """Expect that others are served while activation waits, and that a stop ends it."""
        client = self.client
        for _ in range(3):
            client.get('mode')
            self.assertEqual(client.lifecycle(), 'activating')
        self.assertFalse(done.done())
        answer = client.trigger('stop')
        self.assertTrue(answer.success)
        self.assertIn('activation is cancelled', answer.message)
        client.wait(done.done, 'the end of the activation')
        self.assertFalse(done.result().success)
        client.wait_text('log', 'cannot activate: it was cancelled by ~/stop', self.begin)
        self.assertEqual(client.lifecycle(), 'inactive')

    def test_activation_that_waits_for_the_output(self) -> None:
        """While activation waits for somebody to leave, others are served; a stop ends it."""
        client = self.client
        rival = client.node.create_publisher(JointState, 'controller/commands', 1)
        self.addCleanup(client.node.destroy_publisher, rival)  # or nothing activates after this
        client.be_discovered()
        self.prepare_robot()
        before = len(client.commands)
        done = client.ask_transition(rig.ACTIVATE)
        client.wait_text('log', 'was killed stays visible', self.begin)
        self.expect_cancelled(done)
        self.assertEqual(len(client.commands), before, 'a torque was sent')
        client.node.destroy_publisher(rival)
        self.run_it()

    def test_activation_that_waits_for_states(self) -> None:
        """The same while it waits for states."""
        self.driver.silence()
        self.prepare_robot()
        done = self.client.ask_transition(rig.ACTIVATE)
        self.client.wait_text('state', 'probing', self.begin)
        self.expect_cancelled(done)
        self.driver.behave()
        self.run_it()

    # -- who else is there ----------------------------------------------------------------------

    def test_description_changes(self) -> None:
        """Another description on the topic is announced, and ignored while active."""
        client = self.client
        topic = client.node.create_publisher(String, 'robot_description', rig.LATCHED)
        text = arm.URDF.read_text()
        topic.publish(String(data=text))
        self.set(robot_description_file='')
        client.wait(lambda: client.transition(rig.CONFIGURE), 'a description')
        client.wait_text('log', 'from the topic robot_description', self.begin)
        self.activate()
        topic.publish(String(data=text.replace('seven_joint_arm', 'another_arm')))
        client.wait_text('log', 'ignored while active', self.begin)
        self.wait_torque(GRAVITY)
        client.node.destroy_publisher(topic)

    def test_dead_man(self) -> None:
        """Torque needs a signal that is repeated; it ends when the signal does, or says so."""
        client = self.client
        self.prepare_robot(dead_man_timeout=DEAD_MAN, activation_timeout=SHORT)
        self.refuse(rig.ACTIVATE, 'dead-man')
        client.must_set({'activation_timeout': LONG})
        signal = client.node.create_publisher(Bool, 'controller/dead_man', 10)
        sent = [0.0]

        def press() -> None:
            sent[0] = time.monotonic()
            signal.publish(Bool(data=True))
        with client.repeating(0.05, press):
            self.run_it()
        braking = client.wait_text('state', 'braking', sent[0])
        print(f'dead-man: reacted after {braking.time - sent[0]:.3f} s, configured {DEAD_MAN}')
        self.assertGreater(braking.time - sent[0], DEAD_MAN)
        client.wait_text('fault', 'dead-man', sent[0])
        client.wait_text('state', 'holding', sent[0])
        answer = client.trigger('reset')
        self.assertFalse(answer.success)
        self.assertIn('dead-man', answer.message)
        since = time.monotonic()
        with client.repeating(0.05, press):
            client.wait(lambda: client.trigger('reset').success, 'the reset')
            client.wait_text('state', 'running', since)
        since = time.monotonic()
        for pressed in (True, False, True):  # let go for an instant
            signal.publish(Bool(data=pressed))
        with client.repeating(0.05, press):
            client.wait_text('state', 'braking', since)
        client.node.destroy_publisher(signal)


TestShutdown = rig.CleanEnd
