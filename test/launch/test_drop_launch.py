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
An arm that a stop releases falls on the floor.

Robot and controller run in lockstep until the controller falls silent. Then the test steps the
simulation under the last command, which is zero: the fall is the same on any machine.
"""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys
import tempfile
import unittest

import arm
from closed_loop import assert_clean_end, ClosedLoop, PERIOD, RATE
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros import Dynamics
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.model.collision_shapes import sample_balls
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.contact.world import read_scene
import rig
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

SCENE = 'floor: 0.1'
START = np.array([0.0, 1.0, 0.0, -0.3, 0.0, 0.3, 0.0])

#: m into the floor: a 4 m/s impact of some kg on 20 N/mm, and lying there
IMPACT, REST = 0.025, 0.001

FALL, PERIODS = 6.0, 5  # s, and periods between two states of the fall


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the arm over the floor, and a controller that releases it when it is stopped."""
    file = Path(tempfile.mkdtemp()) / 'scene.yaml'
    file.write_text(SCENE)
    simulator = NodeAction(
        package='rbd_ros', executable='simulator', name='simulator', output='screen',
        parameters=[{
            'state_rate': RATE, 'publish_clock': True, 'command_type': 'joint_state',
            'lockstep': True, 'lockstep_timeout': 60.0, 'steps_per_call': PERIODS,
            'initial_positions': START.tolist(), 'friction': [0.0], 'contact': 'soft',
            'scene_file': str(file), 'contact_rate': RATE}])
    return LaunchDescription([simulator, rig.controller(
        use_sim_time=True, autostart=True, driver_adds='none', release_torque='zero',
        stop_action='release', command_type='joint_state', nominal_rate=RATE, minimum_rate=10.0,
        activation_timeout=30.0, ramp_time=0.2, brake_time=0.2, release_time=0.2,
        **{'start.time': 0.0, 'start.watch_time': 0.0}), ReadyToTest()])


class TestDrop(ClosedLoop):
    """One story: carried, stopped, released, caught."""

    @classmethod
    def prepare(cls) -> None:
        """Keep states and contacts."""
        cls.states = cls.client.listen(JointState, 'joint_states', 1000)
        cls.wrenches: dict[int, list[WrenchStamped]] = {}
        node = cls.client.node
        node.create_subscription(
            WrenchStamped, 'simulator/contact_wrench', cls._on_wrench, 1000)
        cls.pause = node.create_client(SetBool, 'simulator/pause')
        cls.step = node.create_client(Trigger, 'simulator/step')

    @classmethod
    def _on_wrench(cls, message: WrenchStamped) -> None:
        cls.wrenches.setdefault(rig.to_ns(message.header.stamp), []).append(message)

    def test_stop_release_fall(self) -> None:
        """The floor catches the arm, which comes to rest; the controller stays silent."""
        client = self.client
        self.pass_time(0.5)
        self.assertEqual(self.wrenches, {})
        self.assertTrue(client.trigger('stop').success)
        client.wait(lambda: client.last('state') == 'fault', 'fault')
        said = [each.text for each in client.texts['state']]
        self.assertEqual(said[-4:], ['braking', 'ramping down', 'releasing', 'fault'])
        q, qd = self.fall()
        self.assertFalse(client.commands[-1].effort.any())
        self.assertEqual(client.last('state'), 'fault')
        # an arm that falls while torque ramps down may be too fast at the end of it, which is told
        self.assertRegex(client.last('fault'), r'^stop requested: ~/stop($|; a joint exceeds its '
                                               'velocity limit: )')
        self.assertTrue(np.isfinite(q).all() and np.isfinite(qd).all())
        self.check_floor(q)
        self.check_energy(q, qd)
        self.assertLess(np.abs(qd[-50:]).max(), 0.01)
        # Where this process is held up, wrenches of a state may be lost; at rest all are alike.
        self.check_balance(q[-1], max(
            (self.wrenches[stamp] for stamp in sorted(self.wrenches)[-20:]), key=len))

    def fall(self) -> tuple[np.ndarray, np.ndarray]:
        """Step the simulation until the arm has come to rest; return its motion."""
        client = self.client
        client.wait_found(lambda: self.pause.service_is_ready() and self.step.service_is_ready(),
                          'services of the simulator')
        paused = self.pause.call_async(SetBool.Request(data=True))
        client.wait(paused.done, 'a pause')
        first = self.step.call_async(Trigger.Request())
        client.wait(first.done, 'a step')
        due, silent = round(1e9 * float(first.result().message.split()[1])), client.commands[-1]
        fall = []
        for _ in range(round(FALL * RATE / PERIODS)):
            self.step.call_async(Trigger.Request())
            due += PERIODS * PERIOD
            client.wait(lambda: rig.to_ns(self.states[-1].header.stamp) >= due, 'a step')
            self.assertEqual(rig.to_ns(self.states[-1].header.stamp), due)
            fall.append(self.states[-1])
        self.assertIs(client.commands[-1], silent)
        return (np.array([state.position for state in fall]),
                np.array([state.velocity for state in fall]))

    def check_floor(self, q: np.ndarray) -> None:
        """No shape goes deeper than the spring allows, and the arm lies on the surface."""
        points = ContactPoints(load_collisions(arm.URDF, arm.MODEL),
                               [read_scene(SCENE)[0].placed], sample_balls)
        system = ContactSystem(arm.MODEL, backend='python')
        depth = np.array([-points.distances(system.motions(each, np.zeros(7))).min()
                          for each in q])
        self.assertLess(depth.max(), IMPACT)
        self.assertTrue(0.0 < depth[-1] < REST, depth[-1])

    def check_energy(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Nothing drives the arm: it never has more energy than at its release."""
        dynamics = Dynamics(arm.MODEL, backend='python')
        energy = np.array([dynamics.kinetic_energy(a, b) + dynamics.potential_energy(a)
                           for a, b in zip(q, qd, strict=True)])
        self.assertLess(energy.max(), energy[0] + 1e-3)
        self.assertLess(energy[-1], energy[0] - 20.0)       # it did fall
        self.assertLess(np.ptp(energy[-20:]), 1e-2)

    def check_balance(self, q: np.ndarray, wrenches: list[WrenchStamped]) -> None:
        """At joints that are not at a stop, the reported forces carry the links."""
        torque = np.zeros(7)
        frames = set()
        for message in wrenches:
            frames.add(message.header.frame_id)
            f, n = message.wrench.force, message.wrench.torque
            torque += arm.PEER.jacobian(q, message.header.frame_id).T @ [
                n.x, n.y, n.z, f.x, f.y, f.z]
        gravity = arm.PEER.gravity(q)
        self.assertGreater(len(frames), 1)
        inside = np.minimum(q - arm.MODEL.lower, arm.MODEL.upper - q) > 0.01
        self.assertTrue(inside[3] and abs(gravity[3]) > 10.0)
        np.testing.assert_allclose(torque[inside], gravity[inside], rtol=0.02, atol=0.05)


def dented() -> str:
    """Return a tetrahedron with one face pushed in, as STL."""
    corners = ('0 0 0', '1 0 0', '0 1 0', '0 0 1', '0.1 0.1 0.1')
    facets = [''.join(f'vertex {corners[k]}\n' for k in face) for face in (
        (0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 3, 4), (2, 3, 4))]
    return 'solid dented\n' + ''.join(
        f'facet normal 0 0 0\nouter loop\n{facet}endloop\nendfacet\n' for facet in facets
    ) + 'endsolid dented\n'


ROD = """<robot name="rod"><link name="base"/><link name="rod">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>"""


class TestRefusals(unittest.TestCase):
    """Simulators that must not start, next to the one that runs."""

    def test_bad_worlds_are_refused(self) -> None:
        """Each ends with code 1 and one line that names what is wrong, without a traceback."""
        folder = Path(tempfile.mkdtemp())
        for name, text in (
                ('high', 'floor: 0.5'), ('typo', 'flor: 0.0'), ('dented.stl', dented())):
            (folder / name).write_text(text)
        for name, mesh in (('dented', folder / 'dented.stl'), ('gone', folder / 'gone.stl')):
            (folder / f'{name}.urdf').write_text(ROD.format(mesh=mesh))
        cases = {
            'overlap': (f'scene_file:={folder}/high',
                        'body "link_1" starts 0.35 m inside "floor"; move the obstacle'),
            'typo': (f'scene_file:={folder}/typo', '"flor" is unknown; a scene may hold "floor"'),
            'stiffness': ('contact_stiffness:=-5.0', 'contact_stiffness'),
            'dented': (f'robot_description_file:={folder}/dented.urdf',
                       f'the mesh "{folder}/dented.stl" is not convex: a vertex is'),
            'gone': (f'robot_description_file:={folder}/gone.urdf',
                     f'link "rod" (line 1): file "{folder}/gone.stl" not found')}
        started = {name: subprocess.Popen(
            [sys.executable, '-m', 'rbd_ros.nodes.simulator.process', '--ros-args', '-r',
             f'__ns:=/{name}', '-p', 'contact:=soft', '-p', 'discovery_time:=0.0', '-p', given],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for name, (given, _) in cases.items()}
        for name, process in started.items():
            said = process.communicate(timeout=patient(120))[0]
            self.assertEqual(process.returncode, 1, said)
            self.assertIn(cases[name][1], said)
            self.assertNotIn('Traceback', said)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the test."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both nodes end cleanly."""
        assert_clean_end(proc_info)
