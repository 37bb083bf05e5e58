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
Provoke the supervisor over topics: one running controller, one fault after the other.

A driver in this process publishes states of an arm that does not move, good ones and bad ones.
Reaction times are counted from the last good state to the first command (or word) that shows
the reaction, and compared with the configured time plus ``rig.MARGIN``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math
import time
from typing import ClassVar
import unittest

import arm
from arm import (
    BRAKE, GRAVITY, HOLD, JOINTS, LIMIT, Q, RATE, RELEASE, REPEATS, STATE_TIMEOUT)
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
import rclpy
from rclpy.serialization import serialize_message
import rig
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

REFERENCE_TIMEOUT = 0.5
TRACKING_LIMIT = 0.2
RATE_WINDOW = 0.5  # s over which the controller counts states


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured."""
    changes = {'reference.timeout': REFERENCE_TIMEOUT, 'tracking_limits': [TRACKING_LIMIT]}
    return LaunchDescription([rig.controller(**arm.PARAMETERS | changes), ReadyToTest()])


class TestFaults(unittest.TestCase):
    """Each test begins with a controller that runs, whatever the one before did to it."""

    reactions: ClassVar[dict[str, tuple[float, float]]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        """Start the driver, bring the controller up."""
        rclpy.init()
        cls.client = rig.Client()
        cls.driver = rig.Driver(cls.client, JOINTS, Q, RATE)
        assert cls.client.transition(rig.CONFIGURE), cls.client.last('log')
        assert cls.client.transition(rig.ACTIVATE), cls.client.last('log')

    @classmethod
    def tearDownClass(cls) -> None:
        """End driver and client."""
        for name, (took, configured) in cls.reactions.items():
            print(f'{name}: reacted within {took:.3f} s, configured {configured:.2f} s')
        cls.driver.close()
        cls.client.close()
        rclpy.shutdown()

    def setUp(self) -> None:
        """Have good states and a running controller in gravity compensation."""
        client = self.client
        self.driver.behave()
        self.driver.rate = RATE
        client.wait(lambda: client.last('state') in ('running', 'holding', 'fault'), 'an end')
        if client.last('state') != 'running':
            answer = client.trigger('reset')
            assert answer.success, answer.message
            client.wait(lambda: client.last('state') == 'running', 'running after the reset')
        client.must_set({'mode': 'gravity_compensation'})
        self.begin = time.monotonic()
        self.wait_torque(GRAVITY)

    # -- what is expected ---------------------------------------------------------------------

    def wait_torque(self, wanted: np.ndarray, tolerance: float = 1e-6) -> rig.Command:
        """Wait for a command that comes from now on with a torque."""
        since = time.monotonic()

        def look() -> bool:
            last = self.client.commands[-1]
            return last.time > since and bool(np.abs(last.effort - wanted).max() < tolerance)
        self.client.wait(look, f'the torque {wanted.round(3)}', 20.0)
        return self.client.commands[-1]

    def commands_between(self, begin: float, end: float) -> list[rig.Command]:
        """Return what was commanded within a time."""
        return [c for c in self.client.commands if begin < c.time <= end]

    def note(self, took: float, configured: float) -> None:
        """Compare a reaction time with what was configured, and keep it for the summary."""
        self.reactions[self.id().rpartition('.')[2]] = (took, configured)
        self.assertLess(took, configured + self.client.margin(self.begin))

    def renew(self) -> None:
        """Deactivate and activate, so that everything is announced anew."""
        for transition in (rig.DEACTIVATE, rig.ACTIVATE):
            self.assertTrue(self.client.transition(transition), self.client.last('log'))
        self.setUp()

    def expect_lost(self, good: float, reason: str, patience: float = STATE_TIMEOUT) -> None:
        """Expect the sequence of a lost state: last gravity, ramp to zero, silence, latched."""
        client = self.client
        lost = client.wait_text('state', 'state lost', good, 30.0)
        self.assertGreater(lost.time - good, min(patience, STATE_TIMEOUT) - 0.02)
        self.note(lost.time - good, patience)
        ended = client.wait_text('state', 'fault', good, 30.0)
        client.wait_text('fault', 'no fresh joint state', good, 30.0)
        self.assertRegex(client.last('fault'), reason)
        shown = self.commands_between(lost.time - 0.1, ended.time + rig.MARGIN)
        held = [c for c in shown if lost.time < c.time < good + STATE_TIMEOUT + HOLD]
        for command in held:
            np.testing.assert_allclose(command.effort, GRAVITY, atol=1e-9)
        zeros = [c for c in shown if not c.effort.any()]
        self.assertGreaterEqual(len(zeros), REPEATS)
        self.assertLess(zeros[0].time - lost.time, HOLD + RELEASE + client.margin(good))
        self.assertLess(ended.time - lost.time, HOLD + RELEASE + client.margin(good, 2))
        time.sleep(0.3)
        self.assertFalse(self.commands_between(ended.time + 0.25, time.monotonic()),
                         'commands after the end')

    def expect_braking(self, since: float, reason: str, patience: float) -> rig.Text:
        """Expect the sequence of a good state: braking, then a hold that is latched."""
        client = self.client
        braking = client.wait_text('state', 'braking', since, 30.0)
        self.note(braking.time - since, patience)
        holding = client.wait_text('state', 'holding', since, 30.0)
        self.assertLess(holding.time - braking.time, BRAKE + client.margin(since))
        self.assertGreater(holding.time - since, BRAKE)
        client.wait_text('fault', reason, since, 30.0)
        return braking

    def expect_unmoved(self, seconds: float = 0.3) -> None:
        """Expect that the controller runs on, with the right torque."""
        begin = time.monotonic()
        time.sleep(seconds)
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))
        torques = [c.effort for c in self.commands_between(begin, time.monotonic())]
        self.assertGreater(len(torques), 5)
        for torque in torques:
            np.testing.assert_allclose(torque, GRAVITY, atol=1e-9)

    def spoil(self, change: Callable[[JointState], None]) -> float:
        """Let every state be changed by a function."""
        def mangle(message: JointState) -> Iterable[JointState]:
            change(message)
            return (message,)
        return self.driver.provoke(mangle)

    # -- state lost ---------------------------------------------------------------------------

    def test_silence(self) -> None:
        """Without states: the last gravity torque, then a ramp to zero, then silence."""
        self.expect_lost(self.driver.silence(), r'joint_1, .*joint_7: no message for 0\.\d+ s$')

    def test_stamp_stands_still(self) -> None:
        """States whose stamp does not advance are one old state."""
        frozen = rig.to_time(time.time_ns())

        def change(message: JointState) -> None:
            message.header.stamp = frozen
        self.expect_lost(self.spoil(change), 'joint_7: the stamp does not advance$|'
                         r'joint_7: the stamp went back by 0\.0\d* s$')

    def test_stamp_jumps_back(self) -> None:
        """States from before the last one are old."""
        def change(message: JointState) -> None:
            message.header.stamp.sec -= 5
        self.expect_lost(self.spoil(change), r'joint_7: the stamp went back by 4\.\d+ s$')

    def test_stamps_fall_behind(self) -> None:
        """States that come out of a growing queue are old, though each has just arrived."""
        begin = time.time_ns()

        def change(message: JointState) -> None:
            late = (rig.to_ns(message.header.stamp) - begin) // 2
            message.header.stamp = rig.to_time(begin + late)
        # At half the pace a state is STATE_TIMEOUT old after twice that time.
        self.expect_lost(self.spoil(change), 'joint_7: stamps fall behind reception: the state '
                         r'was 0\.\d+ s old when it arrived$', 2 * STATE_TIMEOUT)

    def test_zero_stamps(self) -> None:
        """A driver that does not stamp is tolerated, and that is announced."""
        self.renew()

        def change(message: JointState) -> None:
            message.header.stamp = rig.to_time(0)
        self.spoil(change)
        self.client.wait_text('log', 'have no stamp', self.begin)
        self.expect_unmoved()
        self.driver.behave()
        self.expect_unmoved()

    def test_rate_too_low(self) -> None:
        """States below the minimum rate are not enough to control with."""
        begin = time.monotonic()
        self.driver.rate = 4.0
        lost = self.client.wait_text('state', 'state lost', begin, 30.0)
        self.note(lost.time - begin, 2 * (RATE_WINDOW + 1 / self.driver.rate))  # two windows
        self.client.wait_text('fault', 'more slowly than minimum_rate', begin, 30.0)
        self.client.wait_text('state', 'fault', begin, 30.0)

    # -- bad fields ---------------------------------------------------------------------------

    def test_one_bad_state(self) -> None:
        """One state that cannot be used is left out; the next one is as good as ever."""
        left = [3]

        def mangle(message: JointState) -> Iterable[JointState]:
            if left[0] > 0:
                left[0] -= 1
                message.position[2] = math.nan
            return (message,)
        self.driver.provoke(mangle)
        self.expect_unmoved()

    def test_position_not_finite(self) -> None:
        """Positions that are NaN or infinite are no positions, and the joint is named."""
        for value in (math.nan, math.inf):
            with self.subTest(value):
                def change(message: JointState) -> None:
                    message.position[2] = value
                self.setUp()
                self.expect_lost(self.spoil(change), 'the position of joint_3 is not finite')

    def test_joint_missing(self) -> None:
        """A controlled joint that no message carries is a fault that names it."""
        def change(message: JointState) -> None:
            for row in (message.name, message.position, message.velocity, message.effort):
                del row[4]
        self.expect_lost(self.spoil(change), r': joint_5: no message for 0\.\d+ s, while other '
                         'messages arrive$')

    def test_joint_twice(self) -> None:
        """A joint that appears twice makes the state ambiguous."""
        def change(message: JointState) -> None:
            message.name[4] = 'joint_4'
        self.expect_lost(self.spoil(change), 'joint_4 appears twice')

    def test_fields_of_wrong_length(self) -> None:
        """Fewer positions or velocities than names cannot be assigned."""
        def positions(message: JointState) -> None:
            del message.position[3:]
        self.expect_lost(self.spoil(positions), '3 positions for 7 names')

        def velocities(message: JointState) -> None:
            del message.velocity[3:]
        self.setUp()
        self.expect_lost(self.spoil(velocities), '3 velocities for 7 names')

    def test_empty_states(self) -> None:
        """Messages without names, or without positions, are no states."""
        self.expect_lost(self.driver.provoke(lambda _: (JointState(),)),
                         r'no message for 0\.\d+ s, while other messages arrive$')

        def change(message: JointState) -> None:
            del message.position[:]
        self.setUp()
        self.expect_lost(self.spoil(change), '0 positions for 7 names')

    def test_unreadable_states(self) -> None:
        """Bytes that are no message are counted and announced; only if they go on they matter."""
        whole = serialize_message(rig.state_message(JOINTS, Q, np.zeros(7), stamp=time.time_ns()))
        kinds = {
            'nothing': b'', 'one byte': b'\x00', 'a header alone': whole[:4],
            'cut in a name': whole[:len(whole) // 4], 'cut in a number': whole[:-60],
            'noise': bytes(np.random.default_rng(1).integers(0, 256, 200, dtype=np.uint8)),
            'noise after a header': whole[:4] + bytes(range(256)),
            'huge counts': whole[:12] + b'\xff' * (len(whole) - 12)}
        for name, data in kinds.items():
            with self.subTest(name):
                self.renew()
                for _ in range(10):  # states are best effort: some are lost on a busy machine
                    self.client.states.publish(data)
                    time.sleep(0.02)
                if len(data) >= 4:  # less is not even handed over by every middleware
                    self.client.wait_text('log', 'unreadable message', self.begin, 10.0)
                self.expect_unmoved()
        noise = kinds['noise after a header']
        self.expect_lost(self.driver.provoke(lambda _: (noise,)),
                         r'no message for 0\.\d+ s; \d+ unreadable, the last one: 260 bytes')
        self.setUp()

    def test_other_order(self) -> None:
        """Joints are found by name, whatever their order."""
        def change(message: JointState) -> None:
            for row in (message.name, message.position, message.velocity, message.effort):
                row.reverse()
        self.spoil(change)
        self.expect_unmoved()

    def test_extra_joints(self) -> None:
        """Joints that the model has not are ignored, and announced once."""
        self.renew()

        def change(message: JointState) -> None:
            message.name.insert(2, 'gripper_of_somebody')
            for row in (message.position, message.velocity, message.effort):
                row.insert(2, math.nan)
        self.spoil(change)
        self.client.wait_text('log', 'gripper_of_somebody', self.begin)
        self.expect_unmoved()

    def test_state_in_layouts(self) -> None:
        """Two publishers may share the joints."""
        def mangle(message: JointState) -> Iterable[JointState]:
            for part in (slice(0, 3), slice(3, 7)):
                yield rig.state_message(
                    message.name[part], message.position[part], message.velocity[part],
                    stamp=rig.to_ns(message.header.stamp))
        self.driver.provoke(mangle)
        self.expect_unmoved(0.5)

    def test_velocity_missing(self) -> None:
        """Without velocities they are differenced, and that is announced."""
        self.renew()

        def empty(message: JointState) -> None:
            del message.velocity[:]
        self.spoil(empty)
        self.client.wait_text('log', 'no velocity for joint_1, joint_2', self.begin)
        self.expect_unmoved()

    def test_velocity_not_finite(self) -> None:
        """A velocity that is not finite counts as missing."""
        self.renew()

        def change(message: JointState) -> None:
            message.velocity[5] = math.nan
        self.spoil(change)
        self.client.wait_text('log', 'no velocity for joint_6:', self.begin)
        self.expect_unmoved()

    def test_effort_not_finite(self) -> None:
        """An effort that is not finite is not needed."""
        def change(message: JointState) -> None:
            message.effort[5] = math.inf
        self.spoil(change)
        self.expect_unmoved()

    # -- state good ---------------------------------------------------------------------------

    def test_over_speed(self) -> None:
        """Too fast: it is braked by the live state, then held."""
        speed = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        begin = time.monotonic()
        self.driver.qd = speed
        self.client.wait_text('state', 'braking', begin, 20.0)
        wanted = GRAVITY[0] - speed[0]  # an inertia of more than 0.6 kg.m^2, a rate of 10 1/s
        self.client.wait(lambda: self.client.commands[-1].effort[0] <= wanted, 'braking', 20.0)
        self.driver.behave()
        self.expect_braking(begin, 'joint_1: velocity 3 rad/s beyond 2.2 rad/s', 0.02)
        time.sleep(0.2)
        torque = self.client.commands[-1].effort
        self.assertTrue((np.abs(torque - GRAVITY) <= 0.3 * LIMIT + 1e-9).all())  # hold_torque

    def cannot_be_true(self, change: Callable[[JointState, float], None], reason: str) -> None:
        """Expect that states are not believed; they begin where the good ones end."""
        self.setUp()
        self.client.must_set({'state_tolerance': [0.02]})
        self.addCleanup(self.client.must_set, {'state_tolerance': [100.0]})
        begin = time.monotonic()
        self.spoil(lambda message: change(message, time.monotonic() - begin))
        lost = self.client.wait_text('state', 'state lost', begin, 20.0)
        self.note(lost.time - begin, 0.2)
        self.client.wait_text('fault', 'the joint states are implausible', begin, 20.0)
        self.assertRegex(self.client.last('fault'), reason)
        for command in self.commands_between(begin, time.monotonic()):
            np.testing.assert_allclose(np.abs(command.effort) <= np.abs(GRAVITY) + 5.0, True)

    def test_states_that_cannot_be_true(self) -> None:
        """Speed that velocities hide, and two publishers that disagree, are named faults."""
        def run(message: JointState, since: float) -> None:
            message.position[0] += 3.0 * 2.2 * since
        # Where the machine stands still meanwhile, the way is too long for one step.
        self.cannot_be_true(run, r'joint_1: its positions change at \S+ rad/s, but its '
                            r'velocity is 0 rad/s|joint_1 jumped from \S+ rad to \S+ rad within ')
        other = self.client.node.create_publisher(JointState, 'joint_states', 50)

        def second(message: JointState, _since: float) -> None:
            twin = rig.state_message(message.name, message.position, message.velocity,
                                     stamp=rig.to_ns(message.header.stamp) + 1000)
            twin.position[3] += 0.3
            other.publish(twin)
        self.cannot_be_true(second, r'joint_4 jumped from \S+ rad to \S+ rad within \S+ s: '
                            r'a faulty sensor, or two publishers \(/joint_states has 2 '
                            rf'publishers: .*/{self.client.node.get_name()}\b')
        self.driver.behave()
        self.client.node.destroy_publisher(other)

    def test_absurd_velocity(self) -> None:
        """A velocity that overflows every product ends in finite torques all the same."""
        begin = time.monotonic()
        self.driver.qd = np.full(7, 1e200)
        self.client.wait(lambda: self.client.last('state') != 'running', 'a reaction', 20.0)
        self.assertLess(time.monotonic() - begin, 0.02 + self.client.margin(begin))
        self.client.wait_text('state', 'fault', begin, 30.0)
        for command in self.commands_between(begin, time.monotonic()):
            self.assertTrue(np.isfinite(command.effort).all())

    def follow(self, offset: float, seconds: float = 0.3) -> None:
        """Send a trajectory to a place near the present one."""
        self.client.trajectory.publish(rig.trajectory_message(
            JOINTS, [seconds], [(Q + offset, np.zeros(7), np.zeros(7))]))

    def track(self, limit: float = TRACKING_LIMIT) -> None:
        """Go to computed torque; this robot stands, which a tenth of the limit makes a fault."""
        self.client.must_set({'mode': 'computed_torque', 'tracking_limits': [limit]})
        self.addCleanup(self.client.must_set, {'tracking_limits': [TRACKING_LIMIT]})
        self.client.wait(lambda: self.client.last('mode') == 'computed_torque', 'the mode')
        self.assertEqual(self.client.trajectory.get_subscription_count(), 1)

    def test_tracking_error(self) -> None:
        """A robot that does not follow its reference is stopped."""
        self.track()
        begin = time.monotonic()
        self.follow(TRACKING_LIMIT + 0.1)
        self.expect_braking(begin, 'tracking error', 0.3 + 0.1)
        self.wait_torque(GRAVITY)

    def test_bad_references(self) -> None:
        """References that cannot be followed are refused with a reason and change nothing."""
        self.track()
        zeros, client = np.zeros(7), self.client
        bad = {
            'not all finite': rig.trajectory_message(
                JOINTS, [0.3], [(np.full(7, math.nan), zeros, zeros)]),
            'are not the controlled ones': rig.trajectory_message(
                JOINTS[:6], [0.3], [(Q[:6], zeros[:6], zeros[:6])]),
            'outside': rig.trajectory_message(JOINTS, [0.3], [(Q + 9.0, zeros, zeros)]),
            'increase strictly': rig.trajectory_message(
                JOINTS, [0.3, 0.2], [(Q, zeros, zeros)] * 2),
            'has 2 velocities': rig.trajectory_message(
                JOINTS, [0.3], [(Q, zeros[:2], zeros)]),
        }
        for reason, message in bad.items():
            with self.subTest(reason):
                begin = time.monotonic()
                client.trajectory.publish(message)
                client.wait_text('log', reason, begin, 10.0)
                time.sleep(1.0)  # warnings of one place are throttled to one per second
        self.expect_unmoved()

    def test_bad_references_in_motion(self) -> None:
        """One that is refused in motion changes nothing; a row of them brakes, then holds."""
        self.track(10.0)
        client, zeros = self.client, np.zeros(7)
        bad = rig.trajectory_message(JOINTS, [0.3], [(np.full(7, math.nan), zeros, zeros)])
        self.follow(0.15, 6.0)
        client.wait(lambda: np.abs(client.commands[-1].effort - GRAVITY).max() > 0.1, 'motion')
        for _ in range(3):
            client.trajectory.publish(bad)
            time.sleep(0.1)
        self.assertEqual(client.last('state'), 'running')
        begin = time.monotonic()
        while client.last('state') == 'running':
            self.assertLess(time.monotonic() - begin, rig.PATIENCE)
            client.trajectory.publish(bad)
            time.sleep(0.05)
        self.expect_braking(begin, 'bad command: 5 references in a row were rejected while the '
                            'robot was moving; the last one: /controller/joint_trajectory: ', 0.2)
        self.assertIn('not all finite', client.last('fault'))
        self.wait_torque(GRAVITY)

    def test_law_without_finite_torque(self) -> None:
        """A law whose torque overflows is not obeyed: live g(q) - D qd, then a hold."""
        self.track()
        begin = time.monotonic()
        self.driver.qd = np.array([0.0, 1e200, 0.0, 0.0, 0.0, 0.0, 0.0])
        said = self.client.wait_text('fault', 'the torque of the control law is not finite',
                                     begin, 20.0)
        self.driver.behave()
        self.note(said.time - begin, 0.0)
        self.client.wait_text('state', 'braking', begin, 20.0)
        # A velocity that goes on for longer than velocity_patience is no motion at all.
        self.client.wait(lambda: self.client.last('state') in ('holding', 'fault'), 'an end')
        for command in self.commands_between(begin, time.monotonic()):
            self.assertTrue(np.isfinite(command.effort).all())

    def test_set_points_time_out(self) -> None:
        """Set-points that cease are held; the reference does not run on."""
        self.track(10.0)
        speed, offset = 0.1, 0.0
        for _ in range(10):
            offset += speed * 0.03
            self.client.trajectory.publish(rig.trajectory_message(
                JOINTS, [0.0], [(Q + offset, np.full(7, speed), np.zeros(7))]))
            time.sleep(0.03)
        last = time.monotonic()
        time.sleep(REFERENCE_TIMEOUT + rig.MARGIN)
        held = [c.effort for c in self.commands_between(
            last + REFERENCE_TIMEOUT + rig.MARGIN - 0.1, time.monotonic())]
        self.assertEqual(self.client.last('state'), 'running')
        self.assertGreater(np.abs(held[-1] - GRAVITY).max(), 0.1)
        for torque in held:  # at rest while the robot is held: the same torque again and again
            np.testing.assert_allclose(torque, held[-1], atol=1e-6)

    def test_second_publisher_of_references(self) -> None:
        """While two publish references none of them is followed."""
        self.track(10.0)
        other = self.client.node.create_publisher(
            JointTrajectory, 'controller/joint_trajectory', 1)
        self.client.wait_text('log', 'has 2 publishers', self.begin)
        begin = time.monotonic()
        self.follow(0.1)
        time.sleep(0.8)
        for command in self.commands_between(begin, time.monotonic()):
            np.testing.assert_allclose(command.effort, GRAVITY, atol=1e-6)
        self.client.node.destroy_publisher(other)
        topic = 'controller/joint_trajectory'
        self.client.wait(lambda: self.client.node.count_publishers(topic) == 1, 'one publisher')
        time.sleep(0.5)
        self.follow(0.1)
        self.client.wait(lambda: np.abs(
            self.client.commands[-1].effort - GRAVITY).max() > 1.0, 'motion', 20.0)

    def test_operator_stop(self) -> None:
        """The stop service brakes and holds, until a reset."""
        self.track()
        self.client.service(Trigger, 'stop')
        begin = time.monotonic()
        self.assertTrue(self.client.trigger('stop').success)
        self.expect_braking(begin, 'stop requested', 0.0)
        self.follow(0.1)
        time.sleep(0.5)
        self.wait_torque(GRAVITY)  # references are not followed while stopped

    def test_reset_waits_for_the_end_of_a_stop(self) -> None:
        """A reset during a stop sequence is refused with the reason."""
        good = self.driver.silence()
        self.client.wait_text('state', 'state lost', good, 30.0)
        answer = self.client.trigger('reset')
        self.assertFalse(answer.success)
        self.assertIn('wait until the stop has ended', answer.message)
        self.client.wait_text('state', 'fault', good, 30.0)

    def test_reset_without_fault(self) -> None:
        """A reset of a controller that runs is refused and changes nothing."""
        answer = self.client.trigger('reset')
        self.assertFalse(answer.success)
        self.assertIn('nothing to reset', answer.message)
        self.expect_unmoved()

    # -- barriers -----------------------------------------------------------------------------

    def test_at_a_joint_limit(self) -> None:
        """At the end of a joint the whole gravity torque is there, and a push back, no less."""
        joint, push = 3, 0.05 * 50.0  # barrier.margin by barrier.stiffness
        for end, sign in ((arm.MODEL.upper[joint], -1.0), (arm.MODEL.lower[joint], 1.0)):
            with self.subTest(end):
                q = Q.copy()
                q[joint] = end
                self.driver.q[:] = q
                self.addCleanup(self.driver.q.__setitem__, slice(None), Q)
                expected = arm.PEER.gravity(q)
                expected[joint] += sign * push
                self.wait_torque(expected)
        self.driver.q[:] = Q
        self.wait_torque(GRAVITY)

    def test_near_a_velocity_limit(self) -> None:
        """Beyond nine tenths of its velocity limit a joint is braked, and only that joint."""
        most = arm.MODEL.velocity_limit[0]
        self.driver.qd = np.array([0.95 * most, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        self.client.wait(lambda: self.client.commands[-1].effort[0] < GRAVITY[0] - 1e-3,
                         'a braking torque', 20.0)
        time.sleep(0.2)
        torque = self.client.commands[-1].effort
        self.assertEqual(self.client.last('state'), 'running')
        self.assertGreater(torque[0], GRAVITY[0] - 10.0 * 0.05 * most - 1e-9)
        np.testing.assert_allclose(torque[1:], GRAVITY[1:], atol=1e-9)

    # -- limits and parameters ----------------------------------------------------------------

    def test_saturation(self) -> None:
        """A load that nobody can hold is refused; one that becomes such is carried as far."""
        taken, told = self.client.set({'payload.mass': 100.0})
        self.assertFalse(taken)
        self.assertRegex(told, r'100 kg cannot be held: at the present pose joint_\d would need '
                         r'\S+ N.m, its limit is \S+ N.m')
        self.driver.q[:] = 0.0  # upright
        self.addCleanup(self.driver.q.__setitem__, slice(None), Q)
        self.wait_torque(arm.PEER.gravity(np.zeros(7)), 1.0)
        self.client.must_set({'payload.mass': 60.0, 'payload.ramp_time': 0.1})
        self.driver.q[:] = Q
        self.client.wait(lambda: np.isclose(
            np.abs(self.client.commands[-1].effort), LIMIT).any(), 'a limit', 20.0)
        self.client.wait(lambda: np.array_equal(  # the others may still be on their way
            np.array(self.client.saturation[-1][1]) == 2,
            np.isclose(np.abs(self.client.commands[-1].effort), LIMIT)), 'the flags', 20.0)
        self.client.must_set({'payload.mass': 0.0})
        self.wait_torque(GRAVITY)
        self.client.wait(lambda: not any(self.client.saturation[-1][1]), 'no flag', 20.0)

    def test_bad_parameters(self) -> None:
        """Values that cannot be used are refused with a reason, and none of a set is taken."""
        client = self.client
        cases = (
            ({'stiffness': [-1.0]}, 'stiffness'),
            ({'stiffness': [1.0, 2.0]}, 'stiffness'),
            ({'stiffness': [math.nan]}, 'stiffness'),
            ({'mode': 'flying'}, 'mode'),
            ({'gravity': [0.0, -9.81]}, 'gravity must have three entries'),
            ({'payload.mass': 1.0, 'payload.inertia': [-1.0] * 6}, ''),
            ({'switch_time': 0.2, 'damping': [1e9]}, 'damping'),
            ({'switch_time': 'long'}, ''),
            ({'state_timeout': 0.2}, 'active'),
            ({'torque_limits': [1e4]}, 'active'),
            ({'driver_adds': 'gravity'}, 'active'),
            ({'use_sim_time': True}, 'use_sim_time'),
        )
        before = {name: client.get(name) for values, _ in cases for name in values}
        for values, reason in cases:
            with self.subTest(values):
                taken, told = client.set(values)
                self.assertFalse(taken)
                self.assertTrue(told)
                self.assertIn(reason, told)
        for name, value in before.items():
            self.assertEqual(client.get(name), value, name)
        self.expect_unmoved()

    def test_zz_limits_of_every_command(self) -> None:
        """No command of all tests before was beyond a limit or faster than the rate limit."""
        step = 10.0 * LIMIT * 2.0 / RATE * (1.0 + 1e-9)
        commands = list(self.client.commands)  # they go on coming
        torques = np.array([c.effort for c in commands])
        self.assertGreater(len(torques), 1000)
        self.assertTrue(np.isfinite(torques).all())
        self.assertTrue((np.abs(torques) <= LIMIT * (1.0 + 1e-12)).all())
        steps = np.abs(np.diff(torques, axis=0))
        # A start begins at g(q), after a release and the silence in which states are proven.
        pauses = np.diff([c.time for c in commands]) > 3.0 / RATE
        starts = pauses & ~torques[:-1].any(axis=1) & np.isclose(
            torques[1:], GRAVITY, rtol=0.0, atol=1e-6).all(axis=1)
        steps[starts] = 0.0
        worst = np.unravel_index((steps / step).argmax(), steps.shape)
        self.assertTrue((steps <= step).all(), f'{steps[worst]} N.m at {worst}')
        print(f'{len(torques)} commands, largest step {100 * (steps / step).max():.1f} % of the '
              f'rate limit, largest torque {100 * (np.abs(torques) / LIMIT).max():.1f} %')


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
