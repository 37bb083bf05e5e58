# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The automatic start over real services: it happens once, and whoever asks decides."""

from __future__ import annotations

import os
import signal
import time
import unittest

import arm
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
from lifecycle_msgs.srv import ChangeState
import pytest
import rclpy
import rig
from std_msgs.msg import String

#: s in which an automatic start looks five times whether there is something to do
LONG = 0.6

ROUNDS = 4

COMMANDS = '/first/controller/commands'  # of two controllers


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, NodeAction]]:
    """
    Start controllers that start by themselves: without states, and two of one robot.

    The second of these gets its description later.
    """
    quick = arm.PARAMETERS | {'autostart': True, 'brake_time': 0.1, 'release_time': 0.1}
    bare = {name: value for name, value in quick.items() if name != 'robot_description_file'}
    first = rig.controller('first', **quick)
    rival = NodeAction(
        package='rbd_ros', executable='controller', name='controller', namespace='rival',
        output='screen', parameters=[bare], remappings=[
            ('joint_states', '/first/joint_states'), ('~/commands', COMMANDS)])
    return LaunchDescription([
        rig.controller('deaf', **quick), first, rival, ReadyToTest()]), {'first': first}


class TestAutostart(unittest.TestCase):
    """Each controller is met before, while, or after it starts by itself."""

    def setUp(self) -> None:
        """Begin ROS."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)

    def client(self, name: str) -> rig.Client:
        """Return a client of a controller."""
        client = rig.Client(name)
        self.addCleanup(client.close)
        return client

    def drive(self, client: rig.Client) -> None:
        """Let states come."""
        driver = rig.Driver(client, arm.JOINTS, arm.Q, arm.RATE)
        self.addCleanup(driver.close)

    def expect_down(self, client: rig.Client, label: str, commands: int) -> None:
        """Expect that nothing happens any more."""
        time.sleep(LONG)
        self.assertEqual(client.lifecycle(), label)
        self.assertEqual(len(client.commands), commands, 'a torque was sent')

    def test_deactivation_while_it_activates(self) -> None:
        """A deactivation meets an activation that waits for states: it is answered, and stays."""
        client = self.client('deaf')
        client.wait(lambda: client.last('state') == 'probing', 'probing')
        client.service(ChangeState, 'change_state')
        begin = time.monotonic()
        self.assertTrue(client.transition(rig.DEACTIVATE))
        self.assertLess(time.monotonic() - begin, client.margin(begin))  # not 20 s
        client.wait_text('log', 'autostart cancelled by a transition request', begin, 10.0)
        self.drive(client)
        self.expect_down(client, 'inactive', 0)
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))  # asked for: done
        client.wait(lambda: client.last('state') == 'running', 'running')

    def test_put_down_and_not_taken_over(self, first: NodeAction) -> None:
        """
        Once up and put down it stays down, and no torque follows the answer.

        While another one sends, it ends its start; after Ctrl-C of that one nothing is sent.
        """
        client, rival = self.client('first'), self.client('rival')
        self.drive(client)
        client.wait(lambda: client.last('state') == 'running', 'running')
        down: list[tuple[int, int]] = []  # ns, from an answer to the next request
        for k in range(ROUNDS):
            self.assertTrue(client.transition(rig.DEACTIVATE))
            since = time.time_ns()
            time.sleep(LONG if k == 0 else 0.03)
            if k == 0:
                self.assertEqual(client.lifecycle(), 'inactive')
            down.append((since, time.time_ns()))
            asked = client.ask_transition(rig.ACTIVATE)
            if k % 2 == 0:  # else the next request is there before this is answered
                client.wait(asked.done, 'the answer')
                self.assertTrue(asked.result().success)
        self.assertTrue(client.transition(rig.ACTIVATE) or client.lifecycle() == 'active')
        client.wait(lambda: client.last('state') == 'running', 'running')
        late = [c for c in client.commands for since, until in down if since < c.stamp < until]
        self.assertEqual(late, [], 'torques of states after the answer')
        begin = time.monotonic()
        topic = rival.node.create_publisher(String, 'robot_description', rig.LATCHED)
        topic.publish(String(data=arm.URDF.read_text()))
        rival.wait_text('log', 'somebody else sends commands on ' + COMMANDS, begin, 120.0)
        os.kill(first.process_details['pid'], signal.SIGINT)
        rival.wait(lambda: rival.node.count_publishers(COMMANDS) == 1, 'the end of the first')
        self.expect_down(rival, 'inactive', 0)
        sent = len(client.commands)
        time.sleep(2.0 * LONG)
        self.assertEqual(len(client.commands), sent, 'a torque was sent')
        self.assertTrue(rival.transition(rig.ACTIVATE), rival.last('log'))  # asked for: done
        rival.wait(lambda: rival.last('state') == 'running', 'running')
        rival.wait(lambda: len(client.commands) > sent, 'a torque')
