# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The launch file starts a robot and a controller that talk to each other, as documented."""

from pathlib import Path
import re
import time
import unittest

from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import pytest
from rbd_env.pace import patient
import rclpy
import rig
from std_msgs.msg import Float64MultiArray

DOCS = Path(__file__).parents[2] / 'docs'
#: made only where a parameter asks for it
OPTIONAL = {'/controller/imu', '/controller/dead_man', '/controller/follow_joint_trajectory',
            '/controller/force_torque', '/controller/measured_wrench',
            '/controller/tare_force_torque',
            '/robot_description', '/simulator/contact_markers', '/simulator/contact_wrench',
            '/simulator/odometry', '/simulator/scene'}
#: what every node has
USUAL = re.compile(r'/(rosout|parameter_events|clock|tf|tf_static)$|/(describe|get|list|set)_param'
                   r'|/set_parameters_atomically|/get_(logger|type)|/set_logger|/_action/'
                   r'|/transition_event|/(change|get)_state|/get_available_|/get_transition_graph')


def documented(page: str, *headings: str) -> set[str]:
    """Return the names in the first column of the tables below some headings."""
    found = set()
    for heading in headings:
        section = (DOCS / page).read_text().partition(f'{heading}\n')[2]
        for row in re.split(r'\n#', section)[0].splitlines():
            if row.startswith('| `'):
                found |= set(re.findall(r'`([^`]+)`', row.split('|')[1]))
    return found


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start what the README's first command starts."""
    return LaunchDescription([rig.launched(), ReadyToTest()])


class TestController(unittest.TestCase):
    """Listen to both nodes."""

    def setUp(self) -> None:
        """Make a node of our own."""
        rclpy.init()
        self.node = rclpy.create_node('listener')

    def tearDown(self) -> None:
        """Leave ROS as it was."""
        self.node.destroy_node()
        rclpy.shutdown()

    def test_names_are_those_of_the_documents(self) -> None:
        """Topics and services of the nodes are in the reference, and what is there exists."""
        heard: list[Float64MultiArray] = []
        self.node.create_subscription(
            Float64MultiArray, 'controller/commands', heard.append, 10)
        end = time.monotonic() + patient(60.0)
        nodes = {'controller', 'controller_loop', 'controller_transitions', 'simulator',
                 'simulator_loop'}
        while time.monotonic() < end and not (  # then everything has been made, and discovered
                heard and nodes <= set(self.node.get_node_names())):
            rclpy.spin_once(self.node, timeout_sec=0.1)
        self.assertTrue(heard)
        time.sleep(1.0)  # what belongs to a node is discovered after its name
        self.compare(
            ('controller', 'controller_loop', 'controller_transitions'), '/controller',
            documented('controller_reference.md', '### Subscribed', '### Published',
                       '## Services and actions'))
        self.compare(('simulator', 'simulator_loop'), '/simulator',
                     documented('simulator.md', '# Simulator') - {'/clock', '/tf', '/tf_static'})

    def compare(self, nodes: tuple[str, ...], own: str, named: set[str]) -> None:
        """See that names in the graph are named, and names of topics and services are there."""
        graph = set()
        for node in nodes:
            for ask in (self.node.get_publisher_names_and_types_by_node,
                        self.node.get_subscriber_names_and_types_by_node,
                        self.node.get_service_names_and_types_by_node):
                graph |= {name for name, _ in ask(node, '/')}
        written = {name.replace('~', own) if name[0] in '~/' else f'/{name}' for name in named}
        self.assertEqual({name for name in graph if not USUAL.search(name)} - written, set())
        optional = {name for name in written - graph if not USUAL.search(name)}
        self.assertEqual(optional - OPTIONAL, set())


TestShutdown = rig.CleanEnd
