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
The simulator with rigid contact, alone and in real time: an arm without torque hits the floor.

Each check is of single states, with fixed steps between them: it holds on a slow machine, too,
which skips states. Forces are judged with another library (Pinocchio).
"""

from __future__ import annotations

from pathlib import Path
import tempfile
import unittest

import arm
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
from rbd_ros import Dynamics
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.model.collision_shapes import sample_balls
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.nodes.arrows import PER_NEWTON
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.contact.world import read_scene
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
import rig
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

RATE, FLOOR = 500.0, 0.1
SCENE = f'floor: {FLOOR}'
START = np.array([0.0, 1.0, 0.0, -0.3, 0.0, 0.3, 0.0])

#: m into the floor, and m/s towards it just before and away from it just after the first impact;
#: the speed of a point of a turning link changes by some cm/s in a step.
DEPTH, APPROACH, LEFT = 1e-4, 2.0, 0.1

#: rad/s: joints without dry friction creep to rest for seconds; their damping is 4 mN.m then.
REST = 5e-3


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the arm over the floor, held by its brakes."""
    file = Path(tempfile.mkdtemp()) / 'scene.yaml'
    file.write_text(SCENE)
    return LaunchDescription([
        NodeAction(package='rbd_ros', executable='simulator', name='simulator', output='screen',
                   parameters=[{
                       'state_rate': RATE, 'publish_clock': True, 'contact_rate': RATE,
                       'command_type': 'joint_state',
                       'initial_positions': START.tolist(), 'friction': [0.0],
                       'contact': 'rigid', 'scene_file': str(file)}]),
        ReadyToTest()])


class TestRigid(unittest.TestCase):
    """One story: held, released, caught, at rest."""

    @classmethod
    def setUpClass(cls) -> None:
        """Listen to everything that the simulator publishes."""
        rclpy.init()
        cls.client = rig.Client()
        cls.states: dict[int, JointState] = {}
        cls.wrenches: dict[int, list[WrenchStamped]] = {}
        node = cls.client.node
        node.create_subscription(JointState, 'joint_states', lambda m: cls.states.update(
            {rig.to_ns(m.header.stamp): m}), 5000)
        node.create_subscription(
            WrenchStamped, 'simulator/contact_wrench', lambda m: cls.wrenches.setdefault(
                rig.to_ns(m.header.stamp), []).append(m), 5000)
        cls.arrows = cls.client.listen(MarkerArray, 'simulator/contact_markers')
        cls.reports = cls.client.listen(DiagnosticArray, '/diagnostics')
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        cls.scene: list[MarkerArray] = []
        node.create_subscription(MarkerArray, 'simulator/scene', cls.scene.append, latched)
        cls.commands = node.create_publisher(JointState, 'controller/commands', 1)
        cls.points = ContactPoints(load_collisions(arm.URDF, arm.MODEL),
                                   [read_scene(SCENE)[0].placed], sample_balls)
        cls.system = ContactSystem(arm.MODEL, backend='python')

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.client.close()
        rclpy.shutdown()

    def test_fall(self) -> None:
        """The floor stops the arm at once, gives nothing back, and carries it in the end."""
        client = self.client
        client.wait(lambda: bool(self.states and self.reports and self.scene)
                    and self.commands.get_subscription_count() > 0, 'the simulator', 60.0)
        self.assertEqual(self.wrenches, {})
        (floor,) = self.scene[-1].markers
        self.assertAlmostEqual(floor.pose.position.z + 0.5 * floor.scale.z, FLOOR)
        command = JointState(name=arm.JOINTS, effort=[0.0] * 7)
        command.header.stamp = rig.to_time(max(self.states))
        self.commands.publish(command)
        client.wait(lambda: bool(self.wrenches), 'a contact', 60.0)
        client.wait(lambda: max(self.states) > min(self.wrenches) + 0.1e9, 'the impact', 60.0)
        self.check_impact()
        client.wait(self.at_rest, 'rest', 60.0)
        states = [self.states[stamp] for stamp in sorted(self.states)]
        q = np.array([state.position for state in states])
        qd = np.array([state.velocity for state in states])
        self.check_floor(q)
        self.check_energy(q, qd)
        # Where this process is held up, wrenches of a state may be lost; at rest all are alike.
        rest = max((self.wrenches[stamp] for stamp in sorted(self.wrenches)[-20:]), key=len)
        self.check_balance(q[-1], rest)
        self.check_arrows(rest)
        self.check_report()

    def at_rest(self) -> bool:
        """Return whether the arm has not moved for half a second."""
        last = sorted(self.states)[-round(0.5 * RATE):]
        return (last[0] > min(self.wrenches)
                and max(np.abs(self.states[stamp].velocity).max() for stamp in last) < REST)

    def check_floor(self, q: np.ndarray) -> None:
        """No shape is ever inside of the floor."""
        depth = [-self.points.distances(self.system.motions(each, np.zeros(7))).min()
                 for each in q]
        self.assertLess(max(depth), DEPTH)
        self.assertGreater(depth[-1], -DEPTH)

    def check_energy(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Nothing drives the arm: its energy never grows."""
        dynamics = Dynamics(arm.MODEL, backend='python')
        energy = np.array([dynamics.kinetic_energy(a, b) + dynamics.potential_energy(a)
                           for a, b in zip(q, qd, strict=True)])
        self.assertLess(np.diff(energy).max(), 1e-3)
        self.assertLess(energy[-1], energy[0] - 20.0)       # it did fall

    def check_impact(self) -> None:
        """Expect that the link that hits the floor first comes fast and does not rebound."""
        first = min(self.wrenches)
        stamps = sorted(self.states)
        before = max(stamp for stamp in stamps if stamp < first)
        link = self.wrenches[first][0].header.frame_id
        self.assertLess(self.rise(before, link), -APPROACH)
        after = [stamp for stamp in stamps if first <= stamp < first + 0.1e9]
        self.assertLess(max(self.rise(stamp, link) for stamp in after), LEFT)

    def rise(self, stamp: int, link: str) -> float:
        """Return the vertical speed of the lowest point of a link."""
        q, qd = (np.array(x) for x in (self.states[stamp].position, self.states[stamp].velocity))
        points = self.points
        distances = points.distances(self.system.motions(q, qd))
        own = [arm.MODEL.body_names[points.bodies[ball]] == link for ball, _ in points.pairs]
        ball = points.pairs[int(np.argmin(np.where(own, distances, np.inf)))][0]
        twist = arm.PEER.jacobian(q, link) @ qd
        velocity = twist[3:] + np.cross(twist[:3], points.points[ball])
        return float((arm.PEER.pose(q, link)[:3, :3] @ velocity)[2])

    def check_balance(self, q: np.ndarray, wrenches: list[WrenchStamped]) -> None:
        """At joints that are not at a stop, the reported forces carry the links."""
        torque = np.zeros(7)
        for message in wrenches:
            f, n = message.wrench.force, message.wrench.torque
            torque += arm.PEER.jacobian(q, message.header.frame_id).T @ [
                n.x, n.y, n.z, f.x, f.y, f.z]
        gravity = arm.PEER.gravity(q)
        inside = np.minimum(q - arm.MODEL.lower, arm.MODEL.upper - q) > 0.01
        self.assertTrue(inside[3] and abs(gravity[3]) > 10.0)
        np.testing.assert_allclose(torque[inside], gravity[inside], rtol=1e-3, atol=0.01)

    def check_arrows(self, wrenches: list[WrenchStamped]) -> None:
        """Each force has an arrow at the floor, as long as it is strong."""
        clear, *arrows = self.arrows[-1].markers
        self.assertEqual((clear.action, {each.type for each in arrows}),
                         (Marker.DELETEALL, {Marker.ARROW}))
        lengths = []
        for each in arrows:
            begin, end = (np.array([p.x, p.y, p.z]) for p in each.points)
            self.assertAlmostEqual(begin[2], FLOOR, delta=DEPTH)
            self.assertGreater(end[2], begin[2])
            lengths.append(np.linalg.norm(end - begin))
        forces = [np.linalg.norm([f.x, f.y, f.z]) for f in (each.wrench.force
                                                            for each in wrenches)]
        self.assertAlmostEqual(sum(lengths), PER_NEWTON * sum(forces), delta=0.01 * sum(lengths))

    def check_report(self) -> None:
        """Every step was solved, and no brake holds."""
        status = self.reports[-1].status[0]
        values = {each.key: each.value for each in status.values}
        self.assertEqual((status.level, values['unresolved'], values['braked']),
                         (DiagnosticStatus.OK, '0', 'False'), status.message)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the test."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """The simulator ends cleanly."""
        launch_testing.asserts.assertExitCodes(proc_info)
