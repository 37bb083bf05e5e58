# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
What goes wrong while a controller runs, over topics: bytes, clocks, requests, other publishers.

Time is simulated and in lockstep; which fault a value of a field makes, and when, is proved on
the fake clock. Here is what only processes and topics show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import time
import unittest

import arm
from arm import GRAVITY, JOINTS, Q
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
from rclpy.serialization import serialize_message
import rig
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

#: s for which the clock may stand still in the test of it
PAUSE_LIMIT = patient(1.0)


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, and asks for more than it may have."""
    changes = {'realtime.cpu': 4095, 'payload.ramp_time': 0.1, 'tracking_limits': [10.0]}
    return LaunchDescription([rig.controller(**arm.SIMULATED | changes), ReadyToTest()])


class TestFaults(rig.LockstepCase):
    """Each test begins with a controller that runs, whatever the one before did to it."""

    @classmethod
    def prepare(cls) -> None:
        """Listen to diagnostics, bring the controller up."""
        cls.diagnostics = cls.client.listen(DiagnosticArray, '/diagnostics')
        cls.client.wait(lambda: bool(cls.diagnostics), 'diagnostics before it is configured')
        assert values(cls.diagnostics[0], 'supervisor')['message'].startswith('not configured')
        cls.activate()

    def setUp(self) -> None:
        """Have good states and a running controller in gravity compensation."""
        client = self.client
        self.driver.behave()
        client.wait(lambda: client.last('state') in ('running', 'holding', 'fault'), 'an end')
        if client.last('state') != 'running':
            client.wait(lambda: client.trigger('reset').success, 'a reset')
            client.wait(lambda: client.last('state') == 'running', 'running after the reset')
        client.must_set({'mode': 'gravity_compensation'})
        self.begin = time.monotonic()
        self.wait_torque(GRAVITY)

    # -- what is expected ---------------------------------------------------------------------

    def expect_unmoved(self, states: int = 20) -> None:
        """Expect that the controller runs on, with the right torque."""
        before = len(self.client.commands)
        self.client.wait(lambda: len(self.client.commands) >= before + states, 'commands')
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))
        for command in self.client.commands[before:]:
            np.testing.assert_allclose(command.effort, GRAVITY, atol=1e-9)

    def expect_lost(self, since: float, reason: str) -> None:
        """Expect: the last gravity torque, a ramp to zero, silence, though good states return."""
        client = self.client
        client.wait_text('state', 'fault', since)
        client.wait_text('fault', 'no fresh joint state', since)
        self.assertRegex(client.last('fault'), reason)
        client.expect_order(since, 'state lost', 'ramping down', 'releasing', 'fault')
        shares = np.array([c.effort / GRAVITY for c in client.commands if c.time > since])
        self.assertTrue((np.diff(shares, axis=0) <= 1e-9).all())
        self.assertTrue((shares <= 1.0 + 1e-9).all() and (shares >= 0.0).all())
        self.assertFalse(shares[-1].any())
        self.driver.behave()
        self.driver.see_life(20)  # what is under way comes
        sent = len(client.commands)
        self.driver.pass_time(0.5)
        self.assertEqual(len(client.commands), sent, 'commands after the end')

    # -- bytes --------------------------------------------------------------------------------

    def test_bytes_that_are_no_state(self) -> None:
        """They are announced and do no harm; only if nothing else comes the state is lost."""
        whole = serialize_message(rig.state_message(JOINTS, Q, np.zeros(7), stamp=1))
        kinds = {
            'nothing': b'', 'one byte': b'\x00', 'a header alone': whole[:4],
            'cut in a name': whole[:len(whole) // 4], 'cut in a number': whole[:-60],
            'noise': bytes(np.random.default_rng(1).integers(0, 256, 200, dtype=np.uint8)),
            'huge counts': whole[:12] + b'\xff' * (len(whole) - 12),
            'noise after a header': whole[:4] + bytes(range(256))}
        self.renew()
        for name, data in kinds.items():
            with self.subTest(name):
                self.driver.provoke(lambda message, data=data: (data, message))
                self.expect_unmoved(5)
        self.client.wait_text('log', 'unreadable message', self.begin)
        since = self.driver.provoke(lambda _: (kinds['noise after a header'],))
        self.expect_lost(since, r'no message for \S+ s; \d+ unreadable, the last one: 260 bytes')

    def test_states_cease(self) -> None:
        """Where time goes on without states: all joints are named, and a reset goes on."""
        self.expect_lost(self.driver.silence(), r'joint_1, .*joint_7: no message for 0\.\d+ s$')

    def test_second_source_of_states(self) -> None:
        """Two publishers that disagree are a fault that names their nodes."""
        client = self.client
        client.must_set({'state_tolerance': [0.02]})
        self.addCleanup(client.must_set, {'state_tolerance': [100.0]})
        other = client.node.create_publisher(JointState, 'joint_states', 50)
        client.be_discovered()

        def second(message: JointState) -> Iterable[JointState]:
            twin = rig.state_message(message.name, message.position, message.velocity,
                                     stamp=rig.to_ns(message.header.stamp) + 1000)
            twin.position[3] += 0.3
            other.publish(twin)
            return (message,)
        since = self.driver.provoke(second)
        client.wait_text('fault', 'the joint states are implausible', since)
        self.assertRegex(client.last('fault'), r'joint_4 jumped from \S+ rad to \S+ rad within '
                         r'\S+ s: a faulty sensor, or two publishers \(/joint_states has 2 '
                         rf'publishers: .*/{client.node.get_name()}\b')
        self.driver.behave()
        client.node.destroy_publisher(other)

    # -- the clock ----------------------------------------------------------------------------

    def test_clock_stands_still(self) -> None:
        """That is a pause: no command, no fault; then it goes on at once."""
        client = self.client
        with self.driver.paused():
            self.driver.see_life(20)  # what is under way comes
            sent = len(client.commands)
            self.driver.see_life(1.5 * arm.STATE_TIMEOUT * arm.BEATS)
            self.assertEqual(len(client.commands), sent)
        self.expect_unmoved()

    def test_clock_goes_back(self) -> None:
        """A clock that goes back makes every age unknown."""
        since = time.monotonic()
        with self.driver.paused():
            self.driver.now -= 2_000_000_000
        self.client.wait_text('fault', 'the clock jumped: backwards by 1.99 s', since)
        self.client.wait_text('state', 'fault', since)

    def test_clock_between_configurations(self) -> None:
        """Whoever configures while the clock stands, or after it went back, can activate."""
        client, driver = self.client, self.driver
        for while_unconfigured, while_inactive in ((0, 0), (40, 0), (0, 20)):
            with self.subTest(back=(while_unconfigured, while_inactive)):
                client.put_down()
                begin = time.monotonic()
                with driver.paused():
                    driver.now -= while_unconfigured * 1_000_000_000
                    self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
                    driver.now -= while_inactive * 1_000_000_000
                    driver.see_life(arm.STATE_TIMEOUT * arm.BEATS)
                    done = client.ask_transition(rig.ACTIVATE)
                    client.wait_text('state', 'probing', begin)
                client.wait(done.done, 'the activation')
                client.wait(lambda: client.last('state') == 'running', 'running')
                self.expect_unmoved()
                self.assertFalse([said for said in client.texts['fault']
                                  if said.time > begin and said.text])

    def test_pause_that_does_not_end(self) -> None:
        """A clock at rest for longer than pause_limit is a dead simulator."""
        client = self.client
        self.addCleanup(self.configure, pause_limit=60.0)
        self.configure(pause_limit=PAUSE_LIMIT)
        client.wait_running()
        with self.driver.paused():
            last = self.driver.good
            lost = client.wait_text('state', 'state lost', last)
            print(f'pause: reacted after {lost.time - last:.3f} s, configured {PAUSE_LIMIT} s')
            self.assertGreater(lost.time - last, PAUSE_LIMIT)
            client.wait_text('fault', 'longer than pause_limit', last)
            client.wait_text('state', 'fault', last)
            self.assertFalse(client.commands[-1].effort.any())

    # -- requests -----------------------------------------------------------------------------

    # -- last ---------------------------------------------------------------------------------

    def test_zz_impossible_clock(self) -> None:
        """A time before all times, at which rclpy itself raises, still ends in a release."""
        with self.driver.paused():
            since = time.monotonic()
            clock = Clock()
            clock.clock.sec = -1
            self.client.clock.publish(clock)
            self.client.wait_text('state', 'released', since)
            self.assertFalse(self.client.commands[-1].effort.any())

    # -- how ----------------------------------------------------------------------------------

    def renew(self) -> None:
        """Deactivate and activate, so that everything is announced anew."""
        for transition in (rig.DEACTIVATE, rig.ACTIVATE):
            self.assertTrue(self.client.transition(transition), self.client.last('log'))
        self.setUp()

    def spoil(self, change: Callable[[JointState], None]) -> float:
        """Let every state be changed by a function."""
        def mangle(message: JointState) -> Iterable[JointState]:
            change(message)
            return (message,)
        return self.driver.provoke(mangle)


def values(told: DiagnosticArray, part: str) -> dict[str, object]:
    """Return what is said of a part, by key."""
    status = next((each for each in told.status if each.name.endswith(f': {part}')), None)
    return {} if status is None else {
        'level': status.level, 'message': status.message, 'hardware_id': status.hardware_id,
        **{pair.key: pair.value for pair in status.values}}


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ended by itself, and its exit code shows that something was wrong."""
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[1])
