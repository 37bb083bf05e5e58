# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Is the controller right for my robot? Its torques over topics, in lockstep, against Pinocchio.

    launch_test examples/launch_test/test_my_robot.py urdf:=/path/to/my_robot.urdf
    python3 -m pytest examples/launch_test/test_my_robot.py --launch-args urdf:=/path/to/robot.urdf

The simulator waits for the answer to each state: the test means the same on any machine, and
judges states by their stamps. See docs/validate_your_robot.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import time
import unittest

from control_msgs.msg import JointTrajectoryControllerState
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
import launch_testing.markers
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

#: taken where no other one is given
URDF = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

#: largest error of a torque vector over its own norm, and gains of the law, 1/s^2 and 1/s
TOLERANCE, STIFFNESS, DAMPING = 1e-6, 50.0, 10.0

#: states that are compared, and s until a test gives up
COUNT, PATIENCE = 50, 600.0

ROBOT = {'robot_description_file': ParameterValue(LaunchConfiguration('urdf'), value_type=str),
         'command_type': 'joint_state'}
SIMULATOR = {'lockstep': True, 'publish_clock': True, 'lockstep_timeout': 60.0,
             'state_rate': 250.0, 'effort_source': 'joint', 'start_pose': 'bent'}
CONTROLLER = {
    'use_sim_time': True, 'autostart': True, 'driver_adds': 'none', 'release_torque': 'gravity',
    'effort_is_torque': True,  # the first torque is the one that the brakes have carried
    'nominal_rate': 250.0, 'minimum_rate': 10.0, 'activation_timeout': 60.0, 'start.time': 0.0,
    'start.watch_time': 0.0, 'free_damping': [0.0], 'friction.viscous': [0.0],
    'friction.coulomb': [0.0], 'stiffness': [STIFFNESS], 'damping': [DAMPING],
    'state_divider': 1}


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the simulated robot and its controller."""
    return LaunchDescription([
        DeclareLaunchArgument('urdf', default_value=str(URDF), description='file of the robot'),
        Node(package='rbd_ros', executable='simulator', name='simulator', output='screen',
             parameters=[ROBOT, SIMULATOR]),
        Node(package='rbd_ros', executable='controller', name='controller', output='screen',
             parameters=[ROBOT, CONTROLLER]),
        ReadyToTest()])


class TestMyRobot(unittest.TestCase):
    """A node that hears states, commands and reports, by their stamps."""

    def setUp(self) -> None:
        """Listen."""
        rclpy.init()
        self.node = node = rclpy.create_node('test_my_robot')
        self.states: dict[tuple[int, int], JointState] = {}
        self.commands: dict[tuple[int, int], JointState] = {}
        self.moving: list[JointTrajectoryControllerState] = []  # reports in which something moves
        self.said: list[str] = []
        create = node.create_subscription
        for topic, heard in (('joint_states', self.states),
                             ('controller/commands', self.commands)):
            create(JointState, topic, lambda message, heard=heard: heard.update(
                {(message.header.stamp.sec, message.header.stamp.nanosec): message}), 100)
        create(JointTrajectoryControllerState, 'controller/controller_state', self.on_report, 100)
        create(String, 'controller/state', lambda m: self.said.append(m.data),
               QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.wait(lambda: self.said[-1:] == ['running'], 'a running controller')

    def on_report(self, report: JointTrajectoryControllerState) -> None:
        """Keep a report of a motion; where nothing is followed there is no reference."""
        if any(abs(speed) > 0.01 for speed in report.reference.velocities):
            self.moving.append(report)

    def tearDown(self) -> None:
        """End listening."""
        self.node.destroy_node()
        rclpy.shutdown()

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait for something; a limit this far away is no promise about time."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f'{what}: not in {PATIENCE:g} s; {self.said}')
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def peer(self, urdf: str) -> PinocchioRobot:
        """Return the robot in Pinocchio; joints have the order of the states."""
        self.wait(lambda: self.states, 'a state')
        model = load_urdf(urdf)
        self.order = [list(next(iter(self.states.values())).name).index(name)
                      for name in model.independent_joint_names]
        return PinocchioRobot(model, Path(urdf).read_text())

    def set_mode(self, mode: str) -> None:
        """Change the mode of the controller."""
        client = self.node.create_client(SetParameters, 'controller/set_parameters')
        self.wait(client.service_is_ready, 'the parameters')
        done = client.call_async(SetParameters.Request(
            parameters=[Parameter('mode', value=mode).to_parameter_msg()]))
        self.wait(done.done, f'mode {mode}')
        self.assertTrue(done.result().results[0].successful, done.result().results[0].reason)
        begin = max(self.states)[0]
        self.wait(lambda: max(self.states)[0] > begin + 1, 'the change, which is faded in')

    def assert_close(self, found: np.ndarray, wanted: np.ndarray) -> None:
        """Expect a torque."""
        self.assertLess(np.linalg.norm(found - wanted), TOLERANCE * np.linalg.norm(wanted))

    def test_gravity(self, test_args: dict[str, str]) -> None:
        """A robot that floats gets g(q) of each state."""
        peer = self.peer(test_args.get('urdf', str(URDF)))
        self.set_mode('gravity_compensation')
        self.commands.clear()
        self.wait(lambda: len(self.commands.keys() & self.states.keys()) >= COUNT, 'commands')
        for stamp in self.commands.keys() & self.states.keys():
            q = np.array(self.states[stamp].position)[self.order]
            self.assert_close(np.array(self.commands[stamp].effort), peer.gravity(q))

    def test_motion(self, test_args: dict[str, str]) -> None:
        """Along a motion the law is H (qdd_ref + Kd e' + Kp e) + C + g, joint for joint."""
        peer = self.peer(test_args.get('urdf', str(URDF)))
        self.set_mode('computed_torque')
        model = peer.model
        lower, upper = np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)
        start = np.array(self.states[max(self.states)].position)[self.order]
        way = 0.05 * (upper - lower) * np.where(start < 0.5 * (lower + upper), 1.0, -1.0)
        publisher = self.node.create_publisher(JointTrajectory, 'controller/joint_trajectory', 1)
        self.wait(lambda: publisher.get_subscription_count() > 0, 'a subscription')
        point = JointTrajectoryPoint(positions=(start + way).tolist())
        point.time_from_start.sec = 4
        publisher.publish(JointTrajectory(
            joint_names=model.independent_joint_names, points=[point]))
        self.wait(lambda: len(self.moving) >= COUNT, 'reports of a motion')
        for report in self.moving:
            order = [report.joint_names.index(name) for name in model.independent_joint_names]
            q_ref, qd_ref, qdd_ref, q, qd = (np.array(each)[order] for each in (
                report.reference.positions, report.reference.velocities,
                report.reference.accelerations, report.feedback.positions,
                report.feedback.velocities))
            wanted = peer.inverse_dynamics(
                q, qd, qdd_ref + DAMPING * (qd_ref - qd) + STIFFNESS * (q_ref - q))
            self.assert_close(np.array(report.output.effort)[order], wanted)
        self.assertEqual(self.said[-1], 'running')


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After both were told to end."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """They end cleanly."""
        assertExitCodes(proc_info)
