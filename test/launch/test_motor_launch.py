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

"""Controller and simulated motors that close their own loop, started by the launch file."""

from __future__ import annotations

from pathlib import Path
import tempfile
import time
import unittest

from in_lockstep import launched
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pytest
import rclpy
import rig
from sensor_msgs.msg import JointState

#: more than 500 Hz can hold at the wrist, where the torque would come 2 to 4 ms late
STIFFNESS = [600.0, 600.0, 300.0, 300.0, 60.0, 60.0, 30.0]  # N.m/rad
DAMPING = [20.0, 20.0, 10.0, 10.0, 1.5, 1.5, 0.7]  # N.m.s/rad
START = [0.0, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0]
PARAMETERS = f"""
/**:
  controller:
    ros__parameters:
      mode: joint_impedance
      joint_impedance.stiffness: {STIFFNESS}
      joint_impedance.damping: {DAMPING}
      motor.stiffness: {STIFFNESS}
      motor.damping: {DAMPING}
      motor.timeout: 0.02
      nominal_rate: 500.0
      minimum_rate: 20.0
      state_timeout: 0.5
      recover_lost_state: true
"""


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 3, pool='parts')  # numbers: test/control
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start both, with commands that have gains."""
    params = Path(tempfile.mkdtemp()) / 'motors.yaml'
    params.write_text(PARAMETERS)
    return LaunchDescription([
        launched(command_type='motor_joint_state', params_file=str(params)), ReadyToTest()])


class TestMotors(unittest.TestCase):
    """Listen, stop and go on."""

    @classmethod
    def setUpClass(cls) -> None:
        """Make a node of our own."""
        rclpy.init()
        cls.client = rig.Client()
        cls.messages = cls.client.listen(JointState, 'controller/commands', wakes=True)
        cls.states = cls.client.listen(JointState, 'joint_states')

    @classmethod
    def tearDownClass(cls) -> None:
        """Leave ROS as it was."""
        cls.client.close()
        rclpy.shutdown()

    def gains(self) -> np.ndarray:
        """Return Kp and Kd of the last command."""
        message = self.messages[-1]
        half = len(message.name) // 2
        self.assertEqual([f'{name}/gains' for name in message.name[:half]],
                         list(message.name[half:]))
        return np.array([message.position[half:], message.velocity[half:]])

    def test_motors_hold_and_stop(self) -> None:
        """They get the gains of the law, hold the arm, and lose their stiffness in a stop."""
        client = self.client
        client.wait_running()
        client.wait(lambda: bool(self.messages) and np.allclose(
            self.gains(), [STIFFNESS, DAMPING]), 'the gains')
        client.wait(lambda: bool(self.states), 'states')
        begin = len(self.states)
        client.wait(lambda: len(self.states) > begin + 500, 'a second of states')
        held = np.array([state.position for state in self.states[begin:]])
        self.assertLess(np.abs(held - START).max(), 0.02)
        since = time.monotonic()
        self.assertTrue(client.trigger('stop').success)
        client.wait_text('state', 'holding', since, 30.0)
        stopped = len(self.messages)
        client.wait(lambda: len(self.messages) > stopped + 5, 'commands of the hold')
        self.assertFalse(self.gains()[0].any(), 'a hold has no stiffness')
        np.testing.assert_allclose(self.gains()[1], DAMPING)
        self.assertLess(np.abs(np.array(self.states[-1].position) - START).max(), 0.05)
        client.wait(lambda: client.trigger('reset').success, 'a reset')
        client.wait(lambda: client.last('state') == 'running', 'running')
        client.wait(lambda: np.allclose(self.gains(), [STIFFNESS, DAMPING]), 'the gains again')


TestShutdown = rig.CleanEnd
