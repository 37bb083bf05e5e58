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
Simulated time in our hands: a clock that stands still, goes back, or stands still for good.

A stopped clock is a pause: nothing is commanded, nothing is at fault, and it goes on as it was.
"""

from __future__ import annotations

import time
import unittest

import arm
from arm import GRAVITY, HOLD, RELEASE, STATE_TIMEOUT
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
import rclpy
import rig
from rosgraph_msgs.msg import Clock

PERIOD = 5_000_000  # ns
PAUSE_LIMIT = patient(4.0)


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller on simulated time."""
    return LaunchDescription([
        rig.controller(**arm.PARAMETERS, pause_limit=PAUSE_LIMIT, use_sim_time=True),
        ReadyToTest()])


class TestClock(unittest.TestCase):
    """Each test begins with a controller that runs."""

    @classmethod
    def setUpClass(cls) -> None:
        """Bring the controller up."""
        rclpy.init()
        cls.client = rig.Client()
        cls.now = 100_000_000_000
        assert cls.client.transition(rig.CONFIGURE)
        cls.client.wait(lambda: cls.client.states.get_subscription_count() > 0, 'a listener')
        done = cls.client.ask_transition(rig.ACTIVATE)
        cls.client.wait(lambda: cls.step(0.02) is not None or done.done(), 'activation')

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.client.close()
        rclpy.shutdown()

    @classmethod
    def tick(cls) -> None:
        """Advance the clock."""
        cls.now += PERIOD
        clock = Clock()
        clock.clock = rig.to_time(cls.now)
        cls.client.clock.publish(clock)

    @classmethod
    def step(cls, patience: float = 1.0) -> rig.Command | None:
        """Advance the clock, send a state, wait for its answer."""
        cls.tick()
        cls.client.states.publish(rig.state_message(
            arm.JOINTS, arm.Q, np.zeros(7), stamp=cls.now))
        return cls.client.answer(cls.now, patience)

    def setUp(self) -> None:
        """Run until all gains are in."""
        client = self.client
        if client.last('state') == 'fault':
            assert client.trigger('reset').success
        client.wait(lambda: self.step(0.02) is not None and client.last('state') == 'running',
                    'running')

    def test_pause(self) -> None:
        """A clock at rest is a pause: no command, no fault; then it goes on at once."""
        client = self.client
        self.step()
        before, end = -1, time.monotonic() + rig.PATIENCE
        while before != len(client.commands):  # until what was under way has come
            self.assertLess(time.monotonic(), end, 'commands without states')
            before = len(client.commands)
            time.sleep(0.5)
        time.sleep(STATE_TIMEOUT + rig.MARGIN)
        self.assertEqual(len(client.commands), before)
        self.assertEqual(client.last('state'), 'running')
        answer = self.step()
        self.assertIsNotNone(answer)
        np.testing.assert_allclose(answer.effort, GRAVITY, atol=1e-9)

    def test_clock_without_states(self) -> None:
        """A clock that runs while states cease is a lost state, in simulated time."""
        client = self.client
        self.step()
        begin, last = time.monotonic(), self.now
        client.wait(lambda: self.tick() or client.last('state') != 'running', 'a reaction', 20.0)
        self.assertGreaterEqual((self.now - last) * 1e-9, STATE_TIMEOUT)
        client.wait_text('fault', 'no fresh joint state', begin)
        lost = client.wait_text('state', 'state lost', begin)
        ended = client.wait_text('state', 'fault', begin)
        self.assertLess(ended.time - lost.time, HOLD + RELEASE + client.margin(lost.time, 2))
        self.assertFalse(client.commands[-1].effort.any())

    def test_clock_goes_back(self) -> None:
        """A clock that goes back makes every age unknown."""
        client = self.client
        begin = time.monotonic()
        type(self).now -= 2_000_000_000
        self.step(0.02)
        client.wait(lambda: self.step(0.02) is None and client.last('state') != 'running',
                    'a reaction', 20.0)
        lost = client.wait_text('state', 'state lost', begin)
        self.assertLess(lost.time - begin, client.margin(begin))
        client.wait_text('fault', 'the clock jumped: backwards by 1.995 s', begin)
        client.wait_text('state', 'fault', begin)

    def test_another_configuration_meanwhile(self) -> None:
        """Whoever configures while the clock stands, or after it went back, can activate."""
        client = self.client
        for while_unconfigured, while_inactive in ((0, 0), (40, 0), (0, 20)):
            with self.subTest(back=(while_unconfigured, while_inactive)):
                client.put_down()
                begin = time.monotonic()
                type(self).now -= while_unconfigured * 1_000_000_000
                if while_unconfigured:
                    self.tick()
                self.assertTrue(client.transition(rig.CONFIGURE))
                type(self).now -= while_inactive * 1_000_000_000
                if while_inactive:
                    self.tick()
                time.sleep(STATE_TIMEOUT)  # the clock stands still
                done = client.ask_transition(rig.ACTIVATE)
                time.sleep(0.2)
                client.wait(lambda done=done: self.step(0.02) is not None or done.done(),
                            'activation')
                client.wait(lambda: self.step(0.02) is not None
                            and client.last('state') == 'running', 'running')
                answer = self.step()
                self.assertIsNotNone(answer)
                np.testing.assert_allclose(answer.effort, GRAVITY, atol=1e-9)
                self.assertFalse([said for said in client.texts['fault']
                                  if said.time > begin and said.text])

    def test_pause_that_does_not_end(self) -> None:
        """A clock at rest for longer than pause_limit is a dead simulator."""
        client = self.client
        self.step()
        begin = time.monotonic()
        lost = client.wait_text('state', 'state lost', begin)
        print(f'pause: reacted after {lost.time - begin:.3f} s, configured {PAUSE_LIMIT} s')
        self.assertGreater(lost.time - begin, PAUSE_LIMIT - 0.1)
        self.assertLess(lost.time - begin, PAUSE_LIMIT + client.margin(begin))
        client.wait_text('fault', 'longer than pause_limit', begin)
        client.wait_text('state', 'fault', begin)
        self.assertFalse(client.commands[-1].effort.any())

    def test_zz_impossible_clock(self) -> None:
        """A time before all times, at which rclpy itself raises, still ends in a release."""
        client = self.client
        begin = time.monotonic()
        clock = Clock()
        clock.clock.sec = -1
        client.clock.publish(clock)
        client.wait_text('state', 'released', begin)
        self.assertLess(time.monotonic() - begin, HOLD + RELEASE + client.margin(begin, 4))
        zeros = [c for c in client.commands if c.time > begin and not c.effort.any()]
        self.assertGreaterEqual(len(zeros), arm.REPEATS)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ended by itself, and its exit code shows that something was wrong."""
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[1])
