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
The built-in arm in lockstep with the controller, as the proofs of the closed loop have it.

The simulator waits for the answer to each state, so that the motion is the same on any machine.
The limits of the rate are so wide that they never act: what is seen is the output of the laws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import math
from pathlib import Path
import tempfile
import threading
from types import MappingProxyType
import unittest

import arm
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import numpy as np
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
import rig
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
import yaml

ROOT = Path(__file__).parents[2]
RATE = 500.0
PERIOD = 2_000_000  # ns
STATES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
RELAY = 'relayed_commands'


def description(start: Sequence[float], *, rate: float = RATE, relayed: bool = False,
                urdf: str = '', simulator: Mapping[str, object] = MappingProxyType({}),
                **parameters: object) -> LaunchDescription:
    """
    Start the arm without friction in lockstep, and a controller that starts by itself.

    :param start: where the arm stands.
    :param rate: of states and commands, Hz of simulated time.
    :param relayed: whether the arm gets its commands from the client, which then is in step, too.
    :param urdf: text of the robot; empty: the built-in arm.
    :param simulator: parameters of the simulator, besides the usual ones.
    :param parameters: of the controller, besides or instead of the usual ones.
    """
    simulated = NodeAction(
        package='rbd_ros', executable='simulator', name='simulator', output='screen',
        parameters=[{
            'state_rate': rate, 'publish_clock': True, 'command_type': 'joint_state',
            'lockstep': True, 'lockstep_timeout': 60.0, 'initial_positions': list(start),
            'friction': [0.0], 'damping': [0.0], 'robot_description': urdf, **simulator}],
        remappings=[('controller/commands', RELAY)] if relayed else [])
    usual = {
        'use_sim_time': True, 'autostart': True, 'driver_adds': 'none', 'release_torque': 'zero',
        'command_type': 'joint_state', 'nominal_rate': rate, 'minimum_rate': 10.0,
        'activation_timeout': 30.0, 'torque_rate_limits': (1e3 * arm.LIMIT).tolist(),
        'ramp_time': 0.2, 'start.time': 0.0, 'start.watch_time': 0.0, 'free_damping': [0.0]}
    return LaunchDescription([simulated, rig.controller(**usual | parameters), ReadyToTest()])


def launched(**arguments: str) -> IncludeLaunchDescription:
    """Return what includes ``controller.launch.py``; its simulator waits for each answer."""
    file = Path(tempfile.mkdtemp()) / 'simulator.yaml'
    content = yaml.safe_load((ROOT / 'config' / 'simulator.yaml').read_text())
    content['/**']['simulator']['ros__parameters']['lockstep_timeout'] = 60.0
    file.write_text(yaml.safe_dump(content))
    return rig.launched(**{'command_type': 'joint_state', 'lockstep': 'true',
                           'use_sim_time': 'true', 'simulator_params_file': str(file)} | arguments)


class ClosedLoop(unittest.TestCase):
    """A client next to simulator and controller, which keeps every position of the arm."""

    relayed = False  # whether the arm moves on only when the client has seen where it is

    @classmethod
    def setUpClass(cls) -> None:
        """Wait until the arm is carried."""
        rclpy.init()
        cls.client = rig.Client()
        cls.action = None  # of the client; one of an earlier run has gone with it
        cls.lock = threading.Lock()
        cls.motion: dict[int, np.ndarray] = {}
        cls.recorded: list[JointState] | None = None  # states, while somebody wants them
        cls.last = 0  # ns, stamp of the last state
        if cls.relayed:
            cls.waiting_commands: dict[int, JointState] = {}
            cls.credit, cls.held_command = math.inf, None  # commands that may be handed on
            cls.stands = threading.Event()
            cls.relay = cls.client.node.create_publisher(JointState, RELAY, 10)
            cls.client.take_command = cls._on_command
        cls.prepare()
        cls.client.node.create_subscription(JointState, 'joint_states', cls._on_state, STATES)
        cls.client.wait(lambda: cls.client.last('state') == 'running', 'running')

    @classmethod
    def prepare(cls) -> None:
        """Make what a test needs before the first state comes."""

    @classmethod
    def on_state(cls, stamp: int) -> None:
        """Follow the time of the simulator, in the thread of the client."""

    @classmethod
    def _on_state(cls, message: JointState) -> None:
        stamp = rig.to_ns(message.header.stamp)
        with cls.lock:
            cls.motion[stamp] = np.array(message.position)
            cls.last = stamp
        if cls.recorded is not None:
            cls.recorded.append(message)
        cls.on_state(stamp)
        if cls.relayed and stamp in cls.waiting_commands:
            cls._hand_on(cls.waiting_commands.pop(stamp))

    @classmethod
    def _on_command(cls, message: JointState) -> None:
        """Hand a command on, but not before the state that it answers was seen here."""
        stamp = rig.to_ns(message.header.stamp)
        if stamp in cls.motion:
            cls._hand_on(message)
        else:
            cls.waiting_commands[stamp] = message

    @classmethod
    def _hand_on(cls, message: JointState) -> None:
        with cls.lock:
            if cls.credit <= 0:
                cls.held_command = message
                cls.stands.set()
                return
            cls.credit -= 1
        cls.relay.publish(message)

    @contextmanager
    def held(self) -> Iterator[None]:
        """
        Let simulated time stand still meanwhile, until the controller has taken what is sent.

        References pass through Python, states do not: time must not run away from them.
        """
        self._give(0)
        self._stand()
        try:
            yield
            self.taken()
        finally:
            self._give(math.inf)

    def taken(self) -> None:
        """
        Wait until the controller has taken what was published.

        This request is served after that, by the same thread; nothing is paused, so that it
        changes nothing.
        """
        self.client.call(SetBool, 'pause', SetBool.Request(data=False))

    def go_on(self, states: int) -> None:
        """Let so many states pass while time is held."""
        self._give(states)
        self._stand()

    def _give(self, credit: float) -> None:
        cls = type(self)
        with cls.lock:
            cls.credit, message, cls.held_command = credit, cls.held_command, None
            cls.stands.clear()
        if message is not None:
            self._hand_on(message)

    def _stand(self) -> None:
        assert type(self).stands.wait(rig.PATIENCE), 'no command is to be held'

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.client.close()
        rclpy.shutdown()

    def wait_until(self, stamp: int) -> None:
        """Wait for a simulated time."""
        self.client.wait(lambda: self.last >= stamp, f'{stamp * 1e-9:.3f} s of simulated time',
                         120.0)

    def pass_time(self, seconds: float) -> None:
        """Let simulated time pass."""
        self.wait_until(self.last + round(seconds * 1e9))

    def positions(self, begin: int, end: float = np.inf) -> dict[int, np.ndarray]:
        """Return the positions of the arm between two stamps, in their order."""
        with self.lock:
            return {s: q for s, q in sorted(self.motion.items()) if begin < s < end}

    def torques(self, begin: int) -> dict[int, np.ndarray]:
        """Return the commands after a stamp, by the stamps of the states they answer."""
        return {c.stamp: c.effort for c in self.client.commands if c.stamp > begin}

    def assert_running(self) -> None:
        """Expect that no fault has stopped the controller."""
        self.assertEqual(self.client.last('state'), 'running', self.client.last('fault'))


def assert_clean_end(proc_info: launch_testing.ProcInfoHandler) -> None:
    """Expect that both nodes ended cleanly when they were told to."""
    launch_testing.asserts.assertExitCodes(proc_info)
