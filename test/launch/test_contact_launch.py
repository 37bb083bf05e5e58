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
The simulator with things to touch: a tool presses on a table, is released, and falls.

Robot and controller run in lockstep until the controller falls silent. Then the test steps the
simulation under the last command, which is zero: the fall is the same on any machine.
"""

from __future__ import annotations

from pathlib import Path
import tempfile
import unittest

import arm
from closed_loop import assert_clean_end, ClosedLoop, description, RATE
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
import launch_testing.markers
import numpy as np
import pytest
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.model.collision_shapes import sample_balls
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.contact.world import read_scene
from rclpy.client import Client as RosClient
from rclpy.qos import DurabilityPolicy, QoSProfile
import rig
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

#: The tool points down.
START = np.array([0.0, -0.5, 0.0, -1.2, 0.0, 1.7 - np.pi, 0.0])
#: N.m of external torque that count as a collision; the approach shows a quarter of it.
NOTICED = 2.0

#: N, m, s; the gap is wider than the tool sinks while the controller takes over.
FORCE, GAP, SEEN = 20.0, 0.02, 0.05

#: periods between two states of the fall
PERIODS = 25


def scene() -> str:
    """Return a table just below the tool."""
    shapes = load_collisions(arm.URDF, arm.MODEL)
    points = ContactPoints(shapes, [read_scene('floor: 0.0')[0].placed], sample_balls)
    system = ContactSystem(arm.MODEL, backend='python')
    motions = system.motions(START, np.zeros(7))
    last = points.bodies == 7
    lowest = points.distances(motions)[last].min()
    x, y, _ = motions.r[7]
    return (f'floor: {lowest - GAP - 0.3:.6f}\nboxes: [{{name: table, size: [0.3, 0.3, 0.1], '
            f'position: [{x:.6f}, {y:.6f}, {lowest - GAP - 0.05:.6f}]}}]\n')


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 3, pool='parts')  # numbers: test/control
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the arm over a table, and a controller that leaves z to the force; a stop releases."""
    file = Path(tempfile.mkdtemp()) / 'scene.yaml'
    file.write_text(scene())
    return description(
        START, relayed=True, mode='operational_space', dynamics_divider=1, stop_action='release',
        brake_time=0.2, release_time=0.2, simulator={
            'contact': 'soft', 'scene_file': str(file), 'contact_rate': RATE,
            'steps_per_call': PERIODS},
        **{'task.frame': 'tool0', 'task.axes': ['rx', 'ry', 'rz', 'tx', 'ty'],
           'task.timeout': 1.0})


class TestContact(ClosedLoop):
    """One story: approach, press, be seen, stop, fall."""

    relayed = True  # a client that lags would let go: the force ends without new targets

    @classmethod
    def prepare(cls) -> None:
        """Listen to contacts and to the observer."""
        cls.pressing = False
        cls.contacts: dict[int, dict[str, np.ndarray]] = {}
        cls.observed: dict[int, float] = {}
        node = cls.client.node
        node.create_subscription(
            WrenchStamped, 'simulator/contact_wrench', cls._on_wrench, 1000)
        node.create_subscription(
            JointState, 'controller/external_torque', cls._on_torque, 1000)
        cls.states = cls.client.listen(JointState, 'joint_states', 1000)
        cls.pause = node.create_client(SetBool, 'simulator/pause')
        cls.step = node.create_client(Trigger, 'simulator/step')
        cls.scene = cls.client.listen(MarkerArray, 'simulator/contact_markers')
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        cls.obstacles: list[MarkerArray] = []
        node.create_subscription(MarkerArray, 'simulator/scene', cls.obstacles.append, latched)
        cls.wrenches = node.create_publisher(WrenchStamped, 'controller/target_wrench', 1)

    @classmethod
    def _on_wrench(cls, message: WrenchStamped) -> None:
        f, m = message.wrench.force, message.wrench.torque
        cls.contacts.setdefault(rig.to_ns(message.header.stamp), {})[message.header.frame_id] = (
            np.array([m.x, m.y, m.z, f.x, f.y, f.z]))

    @classmethod
    def _on_torque(cls, message: JointState) -> None:
        cls.observed[rig.to_ns(message.header.stamp)] = float(np.abs(message.effort).max())

    @classmethod
    def on_state(cls, stamp: int) -> None:
        """Ask for the force ten times per second of simulated time."""
        if cls.pressing and stamp % 100_000_000 == 0:
            message = WrenchStamped()
            message.header.frame_id = 'tool0'
            message.wrench.force.z = FORCE
            cls.wrenches.publish(message)

    def test_press_and_fall(self) -> None:
        """The table feels the force to 2 %, the observer within 50 ms; a released arm falls."""
        cls = type(self)
        self.client.wait(lambda: cls.wrenches.get_subscription_count() > 0, 'a subscription')
        self.pass_time(0.5)
        self.assertEqual(cls.contacts, {})
        cls.pressing = True
        self.client.wait(lambda: bool(cls.contacts), 'a contact', 120.0)
        first = min(cls.contacts)
        self.pass_time(2.0)
        self.assert_running()
        frame, = cls.contacts[first]
        self.assertIn(frame, arm.MODEL.body_names)
        settled = [np.linalg.norm(each[frame][3:]) for s, each in sorted(cls.contacts.items())
                   if s > first + 1_500_000_000]
        self.assertGreater(len(settled), 100)
        np.testing.assert_allclose(settled, FORCE, rtol=0.02)       # and never lifted again
        seen = [s for s, size in sorted(cls.observed.items()) if s >= first and size > NOTICED]
        self.assertTrue(seen)
        self.assertLessEqual(seen[0] - first, SEEN * 1e9)
        quiet = [size for s, size in cls.observed.items() if first - 300_000_000 < s < first]
        self.assertLess(max(quiet), NOTICED)
        self.assertTrue(cls.scene and len(cls.scene[-1].markers) >= 2)
        self.assertIn(0.3, [each.scale.x for each in cls.obstacles[0].markers])
        cls.pressing = False
        self.assertTrue(self.client.trigger('stop').success)
        self.client.wait(lambda: self.client.last('state') == 'fault', 'fault')
        self.assertEqual([each.text for each in self.client.texts['state']][-4:],
                         ['braking', 'ramping down', 'releasing', 'fault'])
        self.fall()

    def fall(self) -> None:
        """Step the simulation for a second: nobody holds the arm, and the controller is silent."""
        client, silent = self.client, self.client.commands[-1]
        client.wait_found(lambda: self.pause.service_is_ready() and self.step.service_is_ready(),
                          'services of the simulator')
        self.call(self.pause, SetBool.Request(data=True))
        fastest = 0.0
        for _ in range(round(RATE / PERIODS)):
            answer = self.call(self.step, Trigger.Request())
            due = round(1e9 * float(answer.message.split()[1]))
            client.wait(lambda due=due: rig.to_ns(self.states[-1].header.stamp) >= due, 'a step')
            fastest = max(fastest, np.abs(self.states[-1].velocity).max())
        self.assertGreater(fastest, 0.5)
        self.assertFalse(silent.effort.any())
        self.assertIs(client.commands[-1], silent)
        self.assertEqual(client.last('state'), 'fault')

    def call(self, service: RosClient, request: object) -> object:
        """Call a service of the simulator."""
        answer = service.call_async(request)
        self.client.wait(answer.done, 'an answer of the simulator')
        return answer.result()


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the test."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both nodes end cleanly."""
        assert_clean_end(proc_info)
