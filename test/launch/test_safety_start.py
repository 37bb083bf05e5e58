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
What must hold before torque comes, and how it comes: refusals, checks of the robot, dead-man.

One controller is configured anew for each case. Another one waits meanwhile for a publisher on
its output to go away, which takes its full patience.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
import time
import unittest

import arm
from arm import BRAKE, GRAVITY, HOLD, JOINTS, LIMIT, Q, RATE, RELEASE, STATE_TIMEOUT
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
import rclpy
from rclpy.qos import LivelinessPolicy
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String, UInt64
from std_srvs.srv import Trigger

PATIENCE_FOR_OUTPUT = 25.0  # s that the controller waits for its output to be free
DEAD_MAN = 0.5
ACTIVATION = 3.0
OTHERS = Path(__file__).parents[1] / 'urdf'


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start two controllers that wait to be configured."""
    return LaunchDescription([
        rig.controller(), rig.controller('occupied', **arm.PARAMETERS), ReadyToTest()])


class TestStart(unittest.TestCase):
    """Each test begins with a controller that is not configured."""

    @classmethod
    def setUpClass(cls) -> None:
        """Start the driver; let the other controller wait for its output."""
        rclpy.init()
        cls.client = rig.Client()
        cls.driver = rig.Driver(cls.client, JOINTS, Q, RATE)
        cls.other = rig.Client('occupied')
        cls.rival = cls.other.node.create_publisher(JointState, 'controller/commands', 1)
        cls.asked = time.monotonic()
        assert cls.other.transition(rig.CONFIGURE)
        cls.refused = cls.other.ask_transition(rig.ACTIVATE)

    @classmethod
    def tearDownClass(cls) -> None:
        """End driver and clients."""
        cls.driver.close()
        cls.client.close()
        cls.other.close()
        rclpy.shutdown()

    def setUp(self) -> None:
        """Note when the test begins."""
        self.begin = time.monotonic()

    def tearDown(self) -> None:
        """Go back to the start."""
        client = self.client
        self.driver.behave()
        self.driver.q[:], self.driver.effort[:] = Q, 0.0
        fine = client.lifecycle() != 'active' or client.transition(rig.DEACTIVATE)
        client.put_down()  # whatever happened here is no matter of the next test
        assert fine, f'the deactivation failed: {client.last("log")}'

    def set(self, **changes: object) -> None:
        """Set the parameters of the arm, with changes."""
        self.client.must_set(DEFAULTS | arm.PARAMETERS | {
            'activation_timeout': ACTIVATION} | {
                name.replace('__', '.'): value for name, value in changes.items()})

    def configure(self, **changes: object) -> None:
        """Configure the arm, with changes."""
        self.set(**changes)
        self.assertTrue(self.client.transition(rig.CONFIGURE), self.client.last('log'))

    def refuse(self, transition: int, reason: str) -> None:
        """Expect that a transition fails, with a reason in the log."""
        begin = time.monotonic()
        self.assertFalse(self.client.transition(transition))
        self.client.wait_text('log', reason, begin, 10.0)

    def activate(self) -> None:
        """Activate."""
        self.assertTrue(self.client.transition(rig.ACTIVATE), self.client.last('log'))

    def run_it(self) -> None:
        """Activate and wait until all gains are in."""
        begin = time.monotonic()
        self.activate()
        self.client.wait_text('state', 'running', begin, 20.0)
        self.wait_torque(GRAVITY)

    def wait_torque(self, wanted: np.ndarray) -> None:
        """Wait for a torque to come."""
        since = time.monotonic()

        def look() -> bool:
            commands = self.client.commands
            return bool(commands) and commands[-1].time > since and np.allclose(
                commands[-1].effort, wanted, atol=1e-6)
        self.client.wait(look, f'the torque {wanted.round(3)}', 20.0)

    # -- refusals -----------------------------------------------------------------------------

    def test_a_driver_adds_is_missing(self) -> None:
        """Without word of what the driver adds there is no configuration."""
        client = self.client
        self.assertEqual(client.get('driver_adds'), '')
        client.must_set({'robot_description_file': str(arm.URDF)})
        self.refuse(rig.CONFIGURE, 'driver_adds must be given')
        self.assertEqual(client.lifecycle(), 'unconfigured')

    def test_effort_limit_is_missing(self) -> None:
        """An effort of zero in the URDF is no limit; the parameter gives one."""
        file = str(OTHERS / 'zero_effort.urdf')
        self.set(robot_description_file=file)
        self.refuse(rig.CONFIGURE, 'no torque limit of hinge')
        self.set(robot_description_file=str(OTHERS / 'gantry.urdf'))
        self.refuse(rig.CONFIGURE, 'spin: give effort')
        self.configure(robot_description_file=file, torque_limits=[5.0])

    def test_rate_limit_is_too_low(self) -> None:
        """A torque that cannot reach zero within stop_time is refused."""
        self.set(torque_rate_limits=[100.0])
        self.refuse(rig.CONFIGURE, 'joint_1: 120 N.m at 100 N.m/s takes 1.2 s to reach zero')

    def test_stop_takes_too_long(self) -> None:
        """Times that do not fit into four seconds are refused as a set."""
        before = self.client.get('hold_time')
        taken, reason = self.client.set({'brake_time': 1.5, 'hold_time': 1.5})
        self.assertFalse(taken)
        self.assertIn('the longest stop takes', reason)
        self.assertEqual(self.client.get('hold_time'), before)

    def test_joint_never_published(self) -> None:
        """A joint of the model that nobody publishes refuses activation, or is given."""
        def mangle(message: JointState) -> Iterable[JointState]:
            return (rig.state_message(message.name[:6], message.position[:6],
                                      message.velocity[:6],
                                      stamp=rig.to_ns(message.header.stamp)),)
        self.driver.provoke(mangle)
        self.configure(joints=list(JOINTS[:6]))
        self.refuse(rig.ACTIVATE, 'joint_7: not controlled; if nobody publishes a')
        self.assertTrue(self.client.transition(rig.CLEANUP))
        self.configure(joints=list(JOINTS[:6]), fixed_positions__joints=['joint_7'],
                       fixed_positions__values=[float(Q[6])])
        self.activate()
        self.wait_torque(GRAVITY[:6])

    def test_no_states(self) -> None:
        """Without states activation is refused, and says so."""
        self.driver.silence()
        self.configure()
        self.refuse(rig.ACTIVATE, 'no usable state of joint_1')
        self.assertEqual(self.client.lifecycle(), 'inactive')

    # -- while activation waits -----------------------------------------------------------------

    def expect_cancelled(self, done: rclpy.Future) -> None:
        """Expect that services answer while activation waits, and that a stop ends it."""
        client = self.client
        # what was read in the log may be of another controller that waits
        client.wait(lambda: client.lifecycle() == 'activating', 'an activation')
        client.service(Trigger, 'stop')
        begin = time.monotonic()
        self.assertEqual(client.lifecycle(), 'activating')
        self.assertEqual(client.get('mode'), 'gravity_compensation')
        taken, reason = client.set({'mode': 'hold'})
        self.assertFalse(taken)
        self.assertIn('cannot be changed while the controller is activating', reason)
        self.assertEqual(client.get('mode'), 'gravity_compensation')
        answered = time.monotonic() - begin
        self.assertLess(answered, client.margin(begin))
        self.assertFalse(done.done())
        stopped = time.monotonic()
        answer = client.trigger('stop')
        self.assertTrue(answer.success)
        self.assertIn('activation is cancelled', answer.message)
        client.wait(done.done, 'the end of the activation')
        took = time.monotonic() - stopped
        print(f'{self.id().rpartition(".")[2]}: six answers within {answered:.3f} s, activation '
              f'ended {took:.3f} s after the stop')
        self.assertLess(took, client.margin(stopped))
        self.assertFalse(done.result().success)
        client.wait_text('log', 'cannot activate: it was cancelled by ~/stop', begin, 10.0)
        self.assertEqual(client.lifecycle(), 'inactive')

    def test_activation_that_waits_for_the_output(self) -> None:
        """While activation waits for somebody to leave, others are served; a stop ends it."""
        client = self.client
        rival = client.node.create_publisher(JointState, 'controller/commands', 1)
        self.addCleanup(client.node.destroy_publisher, rival)  # or nothing activates after this
        client.be_discovered()
        self.configure()
        before = len(client.commands)
        done = client.ask_transition(rig.ACTIVATE)
        client.wait_text('log', 'was killed stays visible', self.begin, 20.0)
        self.expect_cancelled(done)
        self.assertEqual(len(client.commands), before, 'a torque was sent')
        client.node.destroy_publisher(rival)
        self.run_it()

    def test_activation_that_waits_for_states(self) -> None:
        """The same while it waits for states."""
        self.driver.silence()
        self.configure(activation_timeout=20.0)
        done = self.client.ask_transition(rig.ACTIVATE)
        self.client.wait_text('state', 'probing', self.begin, 20.0)
        self.expect_cancelled(done)
        self.driver.behave()
        self.run_it()

    # -- is it the described robot? -------------------------------------------------------------

    def test_effort_tells_another_robot(self) -> None:
        """A measured effort that is not the gravity of this robot refuses activation."""
        self.driver.effort[:] = -GRAVITY
        self.configure(effort_is_torque=True)
        before = len(self.client.commands)
        self.refuse(rig.ACTIVATE, 'sign reversed')
        self.assertEqual(len(self.client.commands), before, 'a torque was sent')

    def test_driver_in_degrees(self) -> None:
        """Positions beyond every limit that would fit in degrees: refused, no torque."""
        self.driver.q[:] = np.degrees(Q)
        self.configure()
        before = len(self.client.commands)
        self.refuse(rig.ACTIVATE, 'Does the driver publish degrees?')
        self.assertEqual(len(self.client.commands), before, 'a torque was sent')

    def test_rate_at_the_minimum(self) -> None:
        """
        States slower than minimum_rate refuse the activation, not the robot a moment later.

        Four times slower: a busy machine delays some and delivers others at once. Where the bound
        is, unit tests show.
        """
        self.driver.rate = 0.25 * RATE
        self.addCleanup(setattr, self.driver, 'rate', RATE)
        self.configure(minimum_rate=0.999 * RATE, start__time=0.3)
        before = len(self.client.commands)
        self.refuse(rig.ACTIVATE, 'minimum')
        self.assertEqual(len(self.client.commands), before, 'a torque was sent')

    def test_torque_behind_brakes(self) -> None:
        """An effort of zero behind brakes: the first command carries the arm at once."""
        self.configure(effort_is_torque=True, start__time=0.1)
        before = len(self.client.commands)
        self.activate()
        self.client.wait(lambda: len(self.client.commands) > before, 'a command')
        np.testing.assert_allclose(self.client.commands[before].effort, GRAVITY, atol=1e-6)
        self.client.wait_text('log', 'the first torque is g(q)', self.begin)

    def test_torque_begins_at_the_measured_effort(self) -> None:
        """Where the effort is a torque, the first command takes it over: the arm never drops."""
        self.driver.effort[:] = 0.95 * GRAVITY
        self.configure(effort_is_torque=True)
        before = len(self.client.commands)
        self.activate()
        self.client.wait(lambda: len(self.client.commands) > before, 'a command')
        first = self.client.commands[before].effort
        step = 10.0 * LIMIT * 2.0 / RATE
        self.assertTrue((np.abs(first - 0.95 * GRAVITY) <= step).all())
        self.client.wait_text('log', 'measured effort agrees', self.begin)
        self.wait_torque(GRAVITY)

    def expect_wrong_model(self, since: float, reason: str) -> None:
        """Expect that it is braked at once and let go, not held: its gravity is not trusted."""
        client = self.client
        braking = client.wait_text('state', 'braking', since, 30.0)
        self.assertLess(braking.time - since, client.margin(since))
        client.wait_text('fault', reason, since, 30.0)
        client.wait_text('fault', 'Likely causes', since, 30.0)
        ended = client.wait_text('state', 'fault', since, 30.0)
        self.assertLess(ended.time - braking.time, BRAKE + RELEASE + client.margin(since, 2))
        self.assertFalse(client.commands[-1].effort.any())

    def run_away(self, change: Callable[[JointState], None], reason: str) -> None:
        """Let the driver itself change its states with the first torque: the watch is short."""
        client = self.client
        self.configure(ramp_time=2.0)
        before = len(client.commands)
        since: list[float] = []

        def mangle(message: JointState) -> Iterable[JointState]:
            if len(client.commands) > before:
                since.append(time.monotonic())
                change(message)
            return (message,)
        self.driver.provoke(mangle)
        done = client.ask_transition(rig.ACTIVATE)
        client.wait(lambda: bool(since), 'a command')
        self.expect_wrong_model(since[0], reason)
        client.wait(done.done, 'the transition')

    def test_arm_runs_away(self) -> None:
        """
        An arm that speeds up by itself while torque comes in is not the described one.

        It "accelerates", or "moves at 2 per s" where states come so late that the same speed is
        a small acceleration; unit tests show where each begins.
        """
        def accelerate(message: JointState) -> None:
            message.velocity[1] = 2.0
        self.run_away(accelerate, 'does not move as described: joint_2')

    def test_arm_moves_far(self) -> None:
        """An arm that moves far while torque comes in is not the described one."""
        def move(message: JointState) -> None:
            message.position[2] += 0.6
        self.run_away(move, 'joint_3 moved 0.6')

    # -- choices ------------------------------------------------------------------------------

    def test_dead_man(self) -> None:
        """Torque needs a signal that is repeated; it ends when the signal does."""
        client = self.client
        self.configure(dead_man_timeout=DEAD_MAN)
        self.refuse(rig.ACTIVATE, 'dead-man')
        signal = client.node.create_publisher(Bool, 'controller/dead_man', 1)
        sent = [0.0]

        def press() -> None:
            sent[0] = time.monotonic()
            signal.publish(Bool(data=True))
        with client.repeating(0.05, press):
            self.run_it()
        braking = client.wait_text('state', 'braking', sent[0], 20.0)
        print(f'dead-man: reacted after {braking.time - sent[0]:.3f} s, configured {DEAD_MAN}')
        self.assertGreater(braking.time - sent[0], DEAD_MAN - 0.05)
        self.assertLess(braking.time - sent[0], DEAD_MAN + client.margin(sent[0]))
        client.wait_text('fault', 'dead-man', sent[0], 20.0)
        client.wait_text('state', 'holding', sent[0], 20.0)
        answer = client.trigger('reset')
        self.assertFalse(answer.success)
        self.assertIn('dead-man', answer.message)
        with client.repeating(0.05, press):
            since = time.monotonic()
            client.wait(lambda: client.trigger('reset').success, 'the reset')
            client.wait_text('state', 'running', since, 20.0)
        since = time.monotonic()
        for pressed in (True, False, True):  # let go for an instant: at once
            signal.publish(Bool(data=pressed))
        braking = client.wait_text('state', 'braking', since, 20.0)
        self.assertLess(braking.time - since, client.margin(since))
        client.node.destroy_publisher(signal)

    def test_fault_that_releases(self) -> None:
        """With fault_action release the arm is let go after braking."""
        self.configure(fault_action='release')
        self.run_it()
        since = time.monotonic()
        self.driver.qd = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        ended = self.client.wait_text('state', 'fault', since, 20.0)
        self.assertLess(ended.time - since, BRAKE + RELEASE + self.client.margin(since, 2))
        self.assertGreater(ended.time - since, BRAKE + RELEASE)
        self.assertFalse(self.client.commands[-1].effort.any())

    def test_release_to_gravity(self) -> None:
        """With release_torque gravity the last gravity torque remains."""
        self.configure(release_torque='gravity')
        self.run_it()
        good = self.driver.silence()
        ended = self.client.wait_text('state', 'fault', good, 20.0)
        self.assertLess(ended.time - good,
                        STATE_TIMEOUT + HOLD + RELEASE + self.client.margin(good, 2))
        np.testing.assert_allclose(self.client.commands[-1].effort, GRAVITY, atol=1e-9)

    def test_lost_state_recovers_if_told_so(self) -> None:
        """With recover_lost_state states that come back end the fault, through a full ramp."""
        self.configure(recover_lost_state=True)
        self.run_it()
        good = self.driver.silence()
        self.client.wait_text('state', 'releasing', good, 20.0)
        back = time.monotonic()
        self.driver.behave()
        self.client.wait_text('state', 'ramping in', back, 20.0)
        self.client.wait_text('state', 'running', back, 20.0)
        self.wait_torque(GRAVITY)

    def test_driver_adds_gravity(self) -> None:
        """What the driver adds is not sent, and the log says what is."""
        for adds in ('gravity', 'gravity_and_coriolis'):
            with self.subTest(adds):
                begin = time.monotonic()
                self.configure(driver_adds=adds)
                self.client.wait_text('log', 'sends the torque without gravity', begin, 10.0)
                before = len(self.client.commands)
                self.activate()
                self.client.wait(lambda: len(self.client.commands) > before + 100, 'commands')
                for command in self.client.commands[before:]:
                    np.testing.assert_allclose(command.effort, 0.0, atol=1e-9)
                self.tearDown()

    def test_description_changes(self) -> None:
        """Another description on the topic is announced, and ignored while active."""
        client = self.client
        topic = client.node.create_publisher(String, 'robot_description', rig.LATCHED)
        text = arm.URDF.read_text()
        topic.publish(String(data=text))
        self.set(robot_description_file='')
        client.wait(lambda: topic.get_subscription_count() > 0, 'the controller')
        client.settle()
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        client.wait_text('log', 'from the topic robot_description', self.begin, 10.0)
        self.activate()
        topic.publish(String(data=text.replace('seven_joint_arm', 'another_arm')))
        client.wait_text('log', 'ignored while active', self.begin, 10.0)
        self.wait_torque(GRAVITY)
        client.node.destroy_publisher(topic)

    def test_second_publisher_that_comes_later(self) -> None:
        """Somebody who begins to send commands while we do is announced; we go on."""
        client = self.client
        self.configure()
        self.run_it()
        rival = client.node.create_publisher(JointState, 'controller/commands', 1)
        self.addCleanup(client.node.destroy_publisher, rival)
        client.wait_text('log', 'the robot receives the commands of both', self.begin, 20.0)
        self.assertEqual(client.last('state'), 'running')
        client.node.destroy_publisher(rival)
        topic = 'controller/commands'
        client.wait(lambda: client.node.count_publishers(topic) == 1, 'one publisher')

    def test_what_a_driver_can_watch(self) -> None:
        """Deadline and liveliness are offered on the commands, and a heartbeat beats."""
        self.configure()
        self.activate()
        info = self.client.node.get_publishers_info_by_topic('controller/commands')[0]
        self.assertEqual(info.qos_profile.deadline.nanoseconds, 100_000_000)
        self.assertEqual(info.qos_profile.liveliness, LivelinessPolicy.MANUAL_BY_TOPIC)
        self.assertEqual(info.qos_profile.liveliness_lease_duration.nanoseconds, 200_000_000)
        beats: list[int] = []
        heart = self.client.node.create_subscription(
            UInt64, 'controller/heartbeat', lambda m: beats.append(m.data), 10)
        self.client.wait(lambda: len(beats) > 5, 'the heartbeat', 20.0)
        self.assertTrue((np.diff(beats) >= 1).all())
        self.client.node.destroy_subscription(heart)

    def test_zz_second_publisher_on_the_output(self) -> None:
        """Somebody else on our output: wait, say why, refuse; without him: go."""
        other = self.other
        other.wait_text('log', 'was killed stays visible', self.asked, 30.0)
        other.wait(self.refused.done, 'the refusal')
        self.assertFalse(self.refused.result().success)
        told = other.wait_text('log', 'two controllers must not drive one robot', self.asked)
        self.assertGreater(told.time - self.asked, PATIENCE_FOR_OUTPUT - 0.5)
        self.assertFalse(other.commands)
        other.node.destroy_publisher(self.rival)
        driver = rig.Driver(other, JOINTS, Q, RATE)
        self.addCleanup(driver.close)
        self.assertTrue(other.transition(rig.ACTIVATE), other.last('log'))
        other.wait(lambda: other.last('state') == 'running', 'running')


#: what the tests change, as it is by default
DEFAULTS = {
    'joints': rig.NO_NAMES, 'torque_limits': rig.NO_NUMBERS,
    'torque_rate_limits': rig.NO_NUMBERS, 'fixed_positions.joints': rig.NO_NAMES,
    'fixed_positions.values': rig.NO_NUMBERS, 'effort_is_torque': False,
    'dead_man_timeout': 0.0, 'fault_action': 'hold', 'release_torque': 'zero',
    'recover_lost_state': False,
}


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controllers ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """They end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
