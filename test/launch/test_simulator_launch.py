# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulator as a driver sees it from outside: two of them, free-running and in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import subprocess
import sys
import time
import unittest

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros import Dynamics, load_urdf
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

INITIAL = [0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9]
PERIOD_NS = 2_000_000
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STATES = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)


def simulator(namespace: str, **parameters: object) -> NodeAction:
    """Return a simulator of the built-in arm in a namespace."""
    common = {'initial_positions': INITIAL, 'state_rate': 500.0, 'effort_source': 'joint'}
    return NodeAction(package='rbd_ros', executable='simulator', name='simulator',
                      namespace=namespace, output='screen', parameters=[common | parameters])


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start one simulator that runs freely and one in lockstep."""
    return LaunchDescription([
        simulator('free', publish_clock=True, publish_tf=True),
        simulator('lock', lockstep=True, command_type='joint_state', position_noise=[1e-5],
                  velocity_noise=[1e-4], effort_source='motor', lockstep_timeout=20.0),
        ReadyToTest()])


class Client:
    """A node that reads one simulator and talks to it."""

    def __init__(self, namespace: str) -> None:
        self.node = rclpy.create_node('client', namespace=namespace)
        self.states: list[JointState] = []
        self.on_state: Callable[[JointState], None] | None = None
        self.node.create_subscription(JointState, 'joint_states', self._on_state, STATES)
        self.commands = self.node.create_publisher(JointState, 'controller/commands', 10)

    def _on_state(self, state: JointState) -> None:
        self.states.append(state)
        if self.on_state is not None:
            self.on_state(state)

    def wait(self, condition: Callable[[], bool], what: str,
             seconds: float = patient(60.0)) -> None:
        """Spin until a condition holds; fail with what was awaited."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f'{what}: not within {seconds} s'
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def fresh(self, count: int = 1) -> list[JointState]:
        """Return the next states."""
        self.states.clear()
        self.wait(lambda: len(self.states) >= count, 'joint states')
        return self.states[:count]

    def reset(self) -> None:
        """Bring the robot back to its start."""
        client = self.node.create_client(Trigger, 'simulator/reset')
        self.wait(client.service_is_ready, 'service')
        time.sleep(rig.FIND)
        future = client.call_async(Trigger.Request())
        self.wait(future.done, 'answer')
        self.node.destroy_client(client)


def stamp_ns(state: JointState) -> int:
    """Return the stamp of a state in ns."""
    return state.header.stamp.sec * 1_000_000_000 + state.header.stamp.nanosec


class TestFreeRunning(unittest.TestCase):
    """What only a simulator with its process shows."""

    def setUp(self) -> None:
        """Make a node of our own."""
        rclpy.init()
        self.client = Client('free')

    def tearDown(self) -> None:
        """Leave ROS as it was."""
        self.client.node.destroy_node()
        rclpy.shutdown()

    def test_description_is_latched(self) -> None:
        """One who comes late gets the description, word for word, and where fixed links are."""
        texts: list[String] = []
        moving: list[TFMessage] = []
        fixed: list[TFMessage] = []
        create = self.client.node.create_subscription
        create(String, 'robot_description', texts.append, LATCHED)
        create(TFMessage, '/tf', moving.append, 10)
        create(TFMessage, '/tf_static', fixed.append, LATCHED)
        self.client.wait(lambda: bool(texts and moving and fixed), 'what is latched')
        share = Path(get_package_share_directory('rbd_ros'))
        self.assertEqual(texts[0].data, (share / 'urdf' / 'seven_joint_arm.urdf').read_text())
        self.assertEqual(len(moving[0].transforms), 7)

    def test_second_simulator_is_refused(self) -> None:
        """Another simulator on the same topic does not start, and says why."""
        ended = subprocess.run(
            [sys.executable, '-m', 'rbd_ros.nodes.simulator.process', '--ros-args', '-r',
             '__ns:=/free', '-r', '__node:=second', '-p', 'discovery_time:=20.0'],
            capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn('/free/joint_states already has a publisher (/free/simulator)',
                      ended.stderr + ended.stdout)


class TestLockstep(unittest.TestCase):
    """Close a loop in lockstep, twice, at different speeds."""

    def setUp(self) -> None:
        """Make a node of our own."""
        rclpy.init()
        self.client = Client('lock')

    def tearDown(self) -> None:
        """Leave ROS as it was."""
        self.client.node.destroy_node()
        rclpy.shutdown()

    def run_loop(self, periods: int, delay: float) -> list[list[float]]:
        """Return the states of a closed loop whose answers take some time."""
        client = self.client
        client.reset()
        first = stamp_ns(client.fresh(20)[-1])
        target = np.array(INITIAL) + 0.1
        free: dict[int, list[float]] = {}       # states since the brakes opened

        def answer(state: JointState) -> None:
            stamp = stamp_ns(state)
            if stamp <= first or stamp in free or len(free) >= periods:
                return
            time.sleep(delay)
            effort = self.hold
            if any(state.effort):               # motors give nothing while the brakes hold
                free[stamp] = [*state.position, *state.velocity]
                effort = (effort + 40.0 * (target - np.array(state.position))
                          - 4.0 * np.array(state.velocity))
            command = JointState(name=state.name, effort=effort.tolist())
            command.header.stamp = state.header.stamp
            client.commands.publish(command)
        client.on_state = answer
        client.wait(lambda: len(free) >= periods, 'the closed loop')
        client.on_state = None
        assert (np.diff(list(free)) == PERIOD_NS).all(), 'time went on without an answer'
        return list(free.values())

    def test_motion_does_not_depend_on_the_machine(self) -> None:
        """The same loop, fast and slow, gives the same noisy states to the last bit."""
        self.client.wait(lambda: self.client.commands.get_subscription_count() > 0, 'simulator')
        file = Path(get_package_share_directory('rbd_ros')) / 'urdf' / 'seven_joint_arm.urdf'
        self.hold = Dynamics(load_urdf(file)).gravity(np.array(INITIAL))
        fast = self.run_loop(150, 0.0)
        slow = self.run_loop(150, 0.01)
        self.assertGreater(np.abs(np.subtract(fast[-1], fast[0])).max(), 0.01)
        self.assertEqual(fast, slow)


TestShutdown = rig.CleanEnd
