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

"""What /diagnostics reports about a controller that runs, that stops, and that gets a payload."""

from __future__ import annotations

import time
import unittest

import arm
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import pytest
import rclpy
import rig

PARTS = ('supervisor', 'joint states', 'torque', 'reference', 'load', 'real time')


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, and asks for more than it may have."""
    return LaunchDescription([rig.controller(
        **arm.PARAMETERS, **{'realtime.cpu': 4095, 'payload.ramp_time': 0.1}), ReadyToTest()])


class TestDiagnostics(unittest.TestCase):
    """Listen to /diagnostics next to a driver."""

    @classmethod
    def setUpClass(cls) -> None:
        """Start the driver, bring the controller up."""
        rclpy.init()
        cls.client = rig.Client()
        cls.heard: list[tuple[float, dict[str, DiagnosticStatus]]] = []
        cls.client.node.create_subscription(DiagnosticArray, '/diagnostics', cls.hear, 10)
        cls.payload = cls.client.node.create_publisher(InertiaStamped, 'controller/payload', 1)
        cls.driver = rig.Driver(cls.client, arm.JOINTS, arm.Q, arm.RATE)
        cls.client.wait(lambda: bool(cls.heard), 'diagnostics before it is configured')
        assert cls.heard[0][1]['supervisor'].message == 'not configured'
        assert cls.client.transition(rig.CONFIGURE), cls.client.last('log')
        assert cls.client.transition(rig.ACTIVATE), cls.client.last('log')
        cls.client.wait(lambda: cls.client.last('state') == 'running', 'running')

    @classmethod
    def tearDownClass(cls) -> None:
        """End driver and client."""
        cls.driver.close()
        cls.client.close()
        rclpy.shutdown()

    @classmethod
    def hear(cls, message: DiagnosticArray) -> None:
        """Keep a message by the names of its parts."""
        cls.heard.append((time.monotonic(), {
            status.name.partition(': ')[2]: status for status in message.status}))

    def wait_for(self, part: str, key: str, value: str) -> dict[str, DiagnosticStatus]:
        """Wait for a message of the future in which a value stands; return it."""
        begin, found = time.monotonic(), []

        def look() -> bool:
            found.extend(parts for when, parts in self.heard
                         if when > begin and values(parts.get(part)).get(key) == value)
            return bool(found)
        self.client.wait(look, f'{part}: {key} = {value}')
        return found[0]

    def test_content(self) -> None:
        """Every part is there, with numbers that are those of the driver."""
        time.sleep(1.0)  # over which rates are counted
        parts = self.wait_for('supervisor', 'state', 'running')
        self.assertEqual(tuple(parts), PARTS)
        self.assertEqual(parts['supervisor'].level, DiagnosticStatus.OK)
        self.assertEqual(parts['supervisor'].hardware_id, arm.MODEL.name)
        self.assertEqual(values(parts['supervisor'])['mode'], 'gravity_compensation')
        states = values(parts['joint states'])
        for key in ('rate [Hz]', 'period p50 [ms]', 'compute time p99 [us]', 'latency p50 [ms]'):
            self.assertGreater(float(states[key]), 0.0, key)
        for key in ('superseded states', 'refused messages', 'lost messages'):
            self.assertGreaterEqual(int(states[key]), 0, key)
        self.assertEqual(values(parts['torque'])['driver_adds'], 'none')
        self.assertEqual(values(parts['load'])['gravity [m/s^2]'], '0 0 -9.81')

    def test_period(self) -> None:
        """Without a change of a level a message comes once per second."""
        begin = time.monotonic()

        def times() -> list[float]:
            return [when for when, _ in self.heard if when > begin]
        self.client.wait(lambda: len(times()) >= 3, 'three messages')
        self.assertGreater(times()[2] - begin, 1.5)

    def test_refused_setting(self) -> None:
        """A real-time setting that the system refused is a warning with the reason."""
        status = self.wait_for('supervisor', 'state', 'running')['real time']
        self.assertEqual(status.level, DiagnosticStatus.WARN)
        self.assertTrue(values(status)['realtime.cores'].startswith('refused'))

    def test_payload(self) -> None:
        """The payload in force is reported."""
        message = InertiaStamped()
        message.header.frame_id, message.inertia.m = 'tool0', 1.25
        message.inertia.com.z = 0.05
        self.client.wait(lambda: self.payload.get_subscription_count() > 0, 'a listener')
        self.payload.publish(message)
        load = values(self.wait_for('load', 'payload mass [kg]', '1.25')['load'])
        self.assertEqual(load['payload centre of mass [m]'], '0 0 0.05')
        self.assertEqual(load['payload frame'], 'tool0')

    def test_fault(self) -> None:
        """A fault is reported at once, as an error with cause and time, until it is reset."""
        self.assertTrue(self.client.trigger('stop').success)
        parts = self.wait_for('supervisor', 'fault 1 cause', 'OPERATOR_STOP')
        self.assertEqual(parts['supervisor'].level, DiagnosticStatus.ERROR)
        self.assertIn('stop requested', parts['supervisor'].message)
        self.assertRegex(values(parts['supervisor'])['fault 1 time'], r'^20\d\d-\d\d-\d\dT')
        self.client.wait(lambda: self.client.last('state') == 'holding', 'a hold')
        self.assertTrue(self.client.trigger('reset').success)
        parts = self.wait_for('supervisor', 'state', 'running')
        self.assertEqual(parts['supervisor'].level, DiagnosticStatus.OK)


def values(status: DiagnosticStatus | None) -> dict[str, str]:
    """Return the values of a status by key."""
    return {} if status is None else {pair.key: pair.value for pair in status.values}


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
