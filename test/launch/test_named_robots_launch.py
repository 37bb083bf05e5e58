# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots by name in the launch file: arms, closed loops, and one that stands on its feet."""

from __future__ import annotations

import subprocess
import unittest

from launch import LaunchDescription
from launch.actions import GroupAction
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.model.urdf.known_robots import known_robots
import rclpy
import rig
from sampling import some
from sensor_msgs.msg import JointState

#: a hand whose fingers are coupled, an arm without one, loops with parameters of their own, and
#: one on its feet
ROBOTS = ('panda', 'ur5', 'five_bar', 'go2')


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, object]]:
    """Start each in a namespace."""
    robots = some('robots', ROBOTS, 1)
    return LaunchDescription([*(GroupAction([
        rig.launched(robot=robot, namespace=robot, command_type='joint_state')])
        for robot in robots), ReadyToTest()]), {'robots': robots}


class TestNamedRobots(unittest.TestCase):
    """Listen to all of them."""

    def test_all(self, robots: list[str]) -> None:
        """They run, at rest."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        for robot in robots:
            with self.subTest(robot):
                client = rig.Client(robot)
                self.addCleanup(client.close)
                self.stands(client) if robot == 'go2' else self.floats(client, robot)

    def floats(self, client: rig.Client, robot: str) -> None:
        """Expect a robot at rest; an open chain gets the torques that hold it."""
        states = client.listen(JointState, 'joint_states')
        client.wait_running()
        client.wait(lambda: bool(client.commands) and bool(states), 'commands')
        last = client.commands[-1]
        if robot == 'five_bar':
            self.assertEqual(last.names, ('left_shoulder', 'right_shoulder'))
            return
        model = rbd_ros.load_urdf(robot)
        order = [states[-1].name.index(name) for name in model.independent_joint_names]
        q = np.array(states[-1].position)[order]
        gravity = rbd_ros.gravity(model, q)
        # friction compensation, and a command that is older than the state
        slack = 0.6 + 0.02 * np.abs(gravity)
        self.assertEqual(last.names, model.independent_joint_names)
        self.assertTrue((np.abs(last.effort - gravity) < slack).all(), (last.effort, gravity))
        self.assertGreater(np.abs(gravity).max(), 2.0)

    def stands(self, client: rig.Client) -> None:
        """Expect that the trunk stays up for a second, at the height of the start."""
        poses = client.listen(Odometry, 'simulator/odometry')
        commands = client.listen(JointState, 'controller/commands')
        client.wait(lambda: len(commands) > 5, 'commands')
        first = rig.to_ns(commands[0].header.stamp)
        client.wait(lambda: bool(poses) and rig.to_ns(poses[-1].header.stamp) > first + 10 ** 9,
                    'a second', 120.0)
        pose = poses[-1].pose.pose
        self.assertAlmostEqual(pose.position.z, 0.333, delta=0.005)
        self.assertGreater(pose.orientation.w, 0.9999)
        self.assertEqual(len(commands[-1].effort), 12)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended, and ask for names."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """All nodes end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_list_and_mistakes(self) -> None:
        """All names with licences; a wrong one, and one too many, are refused with what to do."""
        for words, code, texts in some('launches', (
                (('robot:=list',), 0, [f'{robot.name} ' for robot in known_robots().values()] + [
                    'MPL-2.0']),
                (('robot:=go2', 'simulate:=false'), 1, ['is a legged robot: it is simulated']),
                (('robot:=go2', 'params_file:=x.yaml'), 1, ['Leave out simulate and params']),
                (('robot:=pandaa',), 1, ['did you mean "panda"?']),
                (('robot:=panda', 'urdf:=x.urdf'), 1, ['leave one out']),
                (('robot:=panda', 'simulate:=false'), 1,
                 ['needs a parameter file of its own'])), 1):
            with self.subTest(words):
                ended = subprocess.run(
                    ['ros2', 'launch', 'rbd_ros', 'controller.launch.py', *words], text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patient(60.0),
                    check=False)
                self.assertEqual(ended.returncode, code, ended.stdout)
                for text in texts:
                    self.assertIn(text, ended.stdout)
