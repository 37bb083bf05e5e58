# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A force-torque sensor over topics: awaited, tared, without its tool, pushed, silent, back again.

The robot stays where it is put. What a sensor of that pose reads is that of Pinocchio.
"""

from __future__ import annotations

import re
import time
import unittest

import arm
from arm import JOINTS, Q, RATE
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
import rclpy
import rig

Array = npt.NDArray[np.float64]

FRAME, TIMEOUT = 'tool0', 1.0  # s
#: kg behind the sensor and m from it; N.m and N that it reads without any load, and of noise
MASS, COM = 1.2, np.array([0.02, -0.03, 0.08])
BIAS, NOISE = np.array([0.2, -0.1, 0.3, 3.0, -2.0, 1.0]), 0.01
#: N upon the tool, in the base
PUSH = np.array([3.0, -4.0, 12.0])
ASKED = {
    'force_torque.frame': FRAME, 'force_torque.timeout': TIMEOUT, 'task.frame': FRAME,
    'force_torque.freeze_time': 0.0,  # or a busy machine would make it frozen
    'payload.mass': MASS, 'payload.com': COM.tolist(), 'dynamics_divider': 1}


def axes() -> Array:
    """Return the axes of the sensor as columns, in the base."""
    model = pin.buildModelFromXML(arm.URDF.read_text())
    data, q = model.createData(), pin.neutral(model)
    for name, value in zip(JOINTS, Q, strict=True):
        q[model.joints[model.getJointId(name)].idx_q] = value
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(FRAME)].rotation.copy()


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 3, pool='parts')  # numbers: test/control
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured."""
    return LaunchDescription([
        rig.controller(**arm.PARAMETERS | {'activation_timeout': 1.0} | ASKED), ReadyToTest()])


class TestForceTorque(unittest.TestCase):
    """One story."""

    def setUp(self) -> None:
        """Start the driver; nobody reads the sensor yet."""
        rclpy.init()
        self.client = rig.Client()
        self.driver = rig.Driver(self.client, JOINTS, Q, RATE)
        self.sensor = self.client.node.create_publisher(
            WrenchStamped, 'controller/force_torque', 10)
        self.axes, self.push = axes(), np.zeros(3)
        self.rng, self.sent = np.random.default_rng(1), 0.0
        self.felt = self.client.listen(WrenchStamped, 'controller/measured_wrench', wakes=True)

    def tearDown(self) -> None:
        """End the driver."""
        self.client.put_down()
        self.driver.close()
        self.client.close()
        rclpy.shutdown()

    def read(self) -> None:
        """Publish what the sensor reads."""
        weight = MASS * self.axes.T @ [0.0, 0.0, -9.81]
        force = weight + self.axes.T @ self.push
        reading = [*np.cross(COM, weight), *force] + BIAS + NOISE * self.rng.standard_normal(6)
        message = WrenchStamped()
        message.header.stamp = rig.to_time(time.time_ns())
        moment, force = message.wrench.torque, message.wrench.force
        moment.x, moment.y, moment.z, force.x, force.y, force.z = reading.tolist()
        self.sent = time.monotonic()
        self.sensor.publish(message)

    def wait_felt(self, wanted: Array, what: str) -> None:
        """Wait until the controller says what the surroundings exert: moment, force."""
        def look() -> bool:
            if not self.felt:
                return False
            self.assertEqual(self.felt[-1].header.frame_id, FRAME)
            f, n = self.felt[-1].wrench.force, self.felt[-1].wrench.torque
            return np.allclose([n.x, n.y, n.z, f.x, f.y, f.z], wanted, rtol=0.0, atol=0.05)
        self.client.wait(look, what, 20.0)

    def tare(self) -> str:
        """Let the bias be found, once the robot has been at rest for long enough."""
        end = time.monotonic() + rig.PATIENCE
        while not (answer := self.client.trigger('tare_force_torque')).success:
            self.assertIn('the robot has been at rest for', answer.message)
            self.assertLess(time.monotonic(), end, answer.message)
            time.sleep(0.1)
        return answer.message

    def test_story(self) -> None:
        """Each part with what it says; silence is a fault within its time."""
        client = self.client
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        begin = time.monotonic()
        self.assertFalse(client.transition(rig.ACTIVATE))
        client.wait_text('log', 'no fresh reading of the force-torque sensor on '
                         '/controller/force_torque (publishers: 1)', begin, 10.0)
        client.put_down()
        client.must_set({'activation_timeout': 30.0})  # of a busy machine
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        with client.repeating(0.005, self.read):
            self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
            client.wait_running()
            self.wait_felt(BIAS, 'the bias')
            found = re.fullmatch(r'force_torque.force_bias: \[(.*)\], force_torque.moment_bias: '
                                 r'\[(.*)\]', self.tare())
            self.assertIsNotNone(found)
            force, moment = (np.array(each.split(', '), float) for each in found.groups())
            np.testing.assert_allclose([*moment, *force], BIAS, atol=0.01)
            self.wait_felt(np.zeros(6), 'nothing')
            self.push[:] = PUSH
            pushed = np.array([0.0, 0.0, 0.0, *self.axes.T @ PUSH])
            self.wait_felt(pushed, 'a push')
            self.assertEqual(client.last('state'), 'running')
        fault = client.wait_text('fault', 'the force-torque sensor cannot be used', self.sent)
        took = fault.time - self.sent
        print(f'a silent sensor was a fault after {took:.3f} s')
        self.assertRegex(fault.text, r'no reading for \S+ s, force_torque.timeout 1 s')
        self.assertGreater(took, TIMEOUT - 0.05)
        self.assertLess(took, TIMEOUT + client.margin(self.sent))
        client.wait_text('state', 'holding', self.sent, 20.0)
        client.settle()  # what is under way comes
        heard = len(self.felt)
        time.sleep(0.3)
        # the last wrench of a dead sensor is not told as one of now
        self.assertEqual(len(self.felt), heard)
        with client.repeating(0.005, self.read):
            def again() -> bool:  # until the controller has a reading, it stops anew
                if client.last('state') == 'holding':
                    client.trigger('reset')
                return len(self.felt) > heard
            client.wait(again, 'a wrench after a reset')
            self.wait_felt(pushed, 'the push again')


TestShutdown = rig.CleanEnd
