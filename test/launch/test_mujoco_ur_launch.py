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
A UR5 with 3 kg, simulated by MuJoCo: a wrong payload, a stop, a push.

While it floats the controller is told that there is no payload: the arm sinks, and a stop must
brake it all the same, then hold it, and give way to somebody who pushes. It ends by Ctrl-C
without a drop.
"""

from __future__ import annotations

import unittest

from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import mujoco_rig
import numpy as np
import pinocchio
import pytest
import rclpy
import rig

PAYLOAD = 3.0  # kg
SINKING = 0.15  # rad/s at which the stop comes
FASTER = 1.3  # speed after the stop over the speed at it: reaction time of a sinking arm
PUSH, SECONDS = 120.0, 1.0  # N sideways at the tip, s
YIELDED = 0.03  # m that the push moves the tip at least
SHARE = 0.5  # of the torque limit that a held robot may set against a push: hold and damping
BACK = 0.12  # m that it may spring back when the push ends: hold_distance, over its reach

RATE = 250.0  # Hz
COMMON = {
    'joints': list(mujoco_rig.UR5.joints), 'nominal_rate': RATE, 'minimum_rate': 20.0,
    'state_timeout': 0.6, 'release_time': 0.4, 'activation_timeout': 20.0,
    'release_torque': 'gravity',
    'command_type': 'joint_state', 'effort_is_torque': True, 'payload.ramp_time': 0.3,
    'task.frame': 'tool0',
    'torque_rate_limits': [1500.0, 1500.0, 1500.0, 280.0, 280.0, 280.0]}
DRIVER = {**mujoco_rig.LOCKSTEP, 'rate': RATE, 'effort_noise': 0.1, 'velocity_noise': 1e-3}


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 1, pool='MuJoCo')
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, object]]:
    """Start the robot behind its driver, and its controller."""
    controller = rig.controller(
        robot_description_file=str(mujoco_rig.UR5.urdf), use_sim_time=True, **COMMON,
        driver_adds='none', **{'payload.mass': PAYLOAD})
    driver = mujoco_rig.driver('', mujoco_rig.UR5, payload_mass=PAYLOAD, **DRIVER)
    return LaunchDescription([driver, controller, ReadyToTest()]), {'controller': controller}


class TestRobot(unittest.TestCase):
    """One robot, from its start to its end."""

    def test_wrong_payload_and_a_push(self, controller: NodeAction) -> None:
        """A sinking arm is braked, held, yields to a push, and goes on with the right payload."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        client = rig.Client()
        self.addCleanup(client.close)
        truth = mujoco_rig.Truth(client)
        mujoco_rig.start(self, client, truth)
        client.must_set({'payload.mass': 0.0})
        truth.wait(lambda: truth.peaks[-1].max() > SINKING, 'an arm that sinks')
        begin = truth.now
        self.assertEqual('braking', client.trigger('stop').message)
        client.wait(lambda: client.last('state') in ('braking', 'holding'), 'braking')
        braking = truth.now
        client.wait(lambda: client.last('state') == 'holding', 'holding')
        truth.wait_rest(0.03, 20.0)
        speed = truth.peak(begin - 0.05, braking + 0.02).max()
        after = truth.peak(braking).max()
        print(f'stop at {speed:.3f} rad/s: never above {after:.3f} rad/s')
        self.assertLess(after, FASTER * speed + 0.05)
        self.push(client, truth)
        client.must_set({'payload.mass': PAYLOAD})
        truth.pass_time(1.0)
        answer = client.trigger('reset')
        self.assertTrue(answer.success, answer.message)
        client.wait(lambda: client.last('state') == 'running', 'running')
        mujoco_rig.end(self, client, truth, controller)

    def push(self, client: rig.Client, truth: mujoco_rig.Truth) -> None:
        """Push the held robot: it moves, and never uses much torque against it."""
        topic = client.node.create_publisher(WrenchStamped, 'driver/push', 1)
        client.wait(lambda: topic.get_subscription_count() > 0, 'the driver')
        began, p = truth.now, truth.tips[-1][1]
        wrench = WrenchStamped()
        wrench.wrench.force.x = PUSH
        topic.publish(wrench)
        truth.pass_time(SECONDS)
        ended = truth.now
        topic.publish(WrenchStamped())
        pushed = truth.tips[-1][1]
        moved = np.linalg.norm(pushed - p)
        truth.pass_time(0.3)
        most = self.against(client, truth, began, ended)
        truth.wait_rest(0.03, 20.0)
        back = pushed[0] - truth.tips[-1][1][0]
        print(f'push: tip moved {1e3 * moved:.0f} mm, {most:.2f} of the limits set against it, '
              f'{1e3 * back:.0f} mm back when it ended')
        self.assertGreater(moved, YIELDED)
        self.assertLess(most, SHARE)
        self.assertLess(back, BACK)
        self.assertEqual((client.last('state'), client.last('fault')),
                         ('holding', 'stop requested: ~/stop'))

    @staticmethod
    def against(client: rig.Client, truth: mujoco_rig.Truth, since: float,
                until: float) -> float:
        """Return the largest torque in addition to gravity (Pinocchio), as share of the limits."""
        model = pinocchio.buildModelFromUrdf(str(mujoco_rig.UR5.urdf))
        frame = model.frames[model.getFrameId('tool0')]
        model.appendBodyToJoint(frame.parentJoint, pinocchio.Inertia(
            PAYLOAD, np.zeros(3), np.zeros((3, 3))), frame.placement)
        data, limits = model.createData(), model.effortLimit
        shares = []
        for t, q in zip(truth.times, truth.joints):
            if since <= t <= until:
                sent = min(client.commands, key=lambda c, t=t: abs(1e-9 * c.stamp - t)).effort
                g = pinocchio.computeGeneralizedGravity(model, data, q)
                shares.append(np.abs((sent - g) / limits).max())
        return float(max(shares))


TestShutdown = rig.CleanEnd
