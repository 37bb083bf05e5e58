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

"""The dashboard publishes targets only while a target is dragged: two publishers cancel."""

from geometry_msgs.msg import PoseStamped
from isolation import own_domain
import pytest
from rbd_ros.nodes.dashboard.operator import Operator
import rclpy
from rclpy.node import Node


@pytest.fixture
def node():
    """Return a node of its own."""
    with own_domain():
        rclpy.init()
        made = Node('dashboard')
        yield made
        made.destroy_node()
        rclpy.shutdown()


def test_the_topic_of_targets_is_left_to_others_unless_one_is_dragged(node):
    """Switched on there is a publisher, switched off or never switched on there is none."""
    def published():
        return sum(each.topic_name.endswith('/target_pose') for each in node.publishers)
    operator = Operator(node, 'controller', 'simulator', allowed=True)
    operator.target([0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    assert published() == 0
    operator.aim(True)
    operator.aim(True)
    assert published() == 1
    received = []
    node.create_subscription(PoseStamped, 'controller/target_pose', received.append, 1)
    for _ in range(100):
        operator.target([0.1, 0.2, 0.3], [1.0, 0.0, 0.0, 0.0])
        rclpy.spin_once(node, timeout_sec=0.05)
        if received:
            break
    assert received[0].pose.position.z == 0.3
    operator.aim(False)
    assert published() == 0


def test_a_page_that_only_watches_never_has_one(node):
    """Without permission nothing is created."""
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    operator.aim(True)
    operator.aim(False)
    assert not any(each.topic_name.endswith('/target_pose') for each in node.publishers)
