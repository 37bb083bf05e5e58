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
"""Two robots side by side on one page: each has its namespace, its tab and its place."""

import asyncio
import time
from types import SimpleNamespace

from isolation import own_domain
import numpy as np
from ports import free_port
import pytest
from rbd_env.pace import patient
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.node import Dashboard
from rbd_ros.nodes.dashboard.pull import LinkPull, USUAL
from rbd_ros.nodes.dashboard.telemetry import LATCHED
from rbd_ros.view.scene import link_poses
from rbd_ros.view.server import start_server, stop_server
from rbd_ros.view.server_part import origin_of, ServerPart
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import String

URDF = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()
POSES = {'left': [0.5, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0], 'cell/right': [-0.5] * 7}


@pytest.fixture
def dashboard():
    """Give a function that makes the node; it ends after the test."""
    made = []
    with own_domain():
        def make(robots, **more):
            words = [f'robots:=[{", ".join(robots)}]', f'port:={free_port()}',
                     *(f'{name}:={value}' for name, value in more.items())]
            rclpy.init(args=['--ros-args', *(part for word in words for part in ('-p', word))])
            node = Dashboard()
            made.append(node)
            return node
        yield make
        for node in made:
            node.destroy_node()
        rclpy.try_shutdown()


def test_each_robot_has_its_own(dashboard):
    """States of one move no other; what is sent goes to the controller of the tab."""
    node = dashboard(POSES, allow_commands='true', spacing='2.0')
    node.open()
    other = rclpy.create_node('robots')
    keep = []
    for name in POSES:
        keep.append(other.create_publisher(String, f'{name}/robot_description', LATCHED))
        keep[-1].publish(String(data=URDF))
        keep.append(other.create_publisher(JointState, f'{name}/joint_states', 10))
    executor = SingleThreadedExecutor()
    for each in (node, other):
        executor.add_node(each)

    def shown():
        for (_, q), publisher in zip(POSES.items(), keep[1::2], strict=True):
            publisher.publish(JointState(name=[f'joint_{k}' for k in range(1, 8)], position=q))
        for _ in range(20):
            executor.spin_once(timeout_sec=0.005)
        node.update()
        return all(tab.page is not None and tab.page._telemetry.positions for tab in node.tabs)
    try:
        end = time.monotonic() + patient(60.0)
        while not shown():
            assert time.monotonic() < end
        for (name, q), tab, side in zip(POSES.items(), node.tabs, (1.0, -1.0), strict=True):
            page = tab.page
            assert [page._telemetry.positions[f'joint_{k}'] for k in range(1, 8)] == q
            page._drawn.show(q)
            scene = page._drawn.links['tool0']
            assert scene.name.startswith(f'/{name.replace("/", ".")}/robot/')
            np.testing.assert_allclose(scene.position, link_poses(page._model, q)['tool0'][0])
            np.testing.assert_allclose(origin_of(page._server), [0.0, side, 0.0])
            page._operator.steer(True)
            page._operator.aim(True)
            topics = {each.topic_name for each in node.publishers}
            assert {f'/{name}/controller/{each}' for each in ('joint_trajectory', 'target_pose')} \
                <= topics
            assert f'/{name}/simulator/wrench' in topics
            page._operator.steer(False)
            assert f'/{name}/controller/joint_trajectory' not in {
                each.topic_name for each in node.publishers}

        def hidden():
            return [name for name, _ in other.get_node_names_and_namespaces() if '_mail' in name]
        end = time.monotonic() + patient(20.0)
        while len(hidden()) < len(POSES):  # names come by another topic than states
            assert time.monotonic() < end
            time.sleep(0.05)
        assert len(set(hidden())) == len(hidden()) == len(POSES)
        names = {handle.name for tab in node.tabs for handle in tab.page._drawn.drawn}
        assert len(names) == sum(len(tab.page._drawn.drawn) for tab in node.tabs)
    finally:
        executor.shutdown()
        other.destroy_node()
        node.close()


def test_a_pull_at_a_robot_that_stands_aside():
    """What the mouse says is in the world; the force is the same as without an offset."""
    server = start_server(port=free_port())
    try:
        sent = []
        for origin in ((0.0, 0.0, 0.0), (0.3, -1.5, 0.2)):
            part = ServerPart(server, f'part{len(sent)}', origin)
            drawn = SimpleNamespace(drawn=[], boxes=[], link_of=lambda _: 'a',
                                    pose=lambda _: (np.array([0.1, 0.2, 0.3]), np.eye(3)))
            pull = LinkPull(part, drawn, SimpleNamespace(
                allowed=True, simulated=True, push=lambda *words: sent.append(words)))
            asyncio.run(pull.drag(SimpleNamespace(
                phase='start', client_id=1, target=None,
                start_position=np.add(origin, (0.1, 0.2, 0.8)),
                end_position=np.add(origin, (0.3, 0.2, 0.8)))))
            pull.send()
            np.testing.assert_allclose(sent[-1][1], [0.2 * USUAL, 0.0, 0.0], atol=1e-9)
            np.testing.assert_allclose(sent[-1][2], [0.0, 0.1 * USUAL, 0.0], atol=1e-9)
            np.testing.assert_allclose(pull._arrow.points[0][0], [0.1, 0.2, 0.8], atol=1e-6)
    finally:
        stop_server(server)


@pytest.mark.parametrize('robots', [['left', 'left'], ['left', '/left'], ['left', 'a b'],
                                    ['left', '..'], ['left', "''"], ['a b']])
def test_robots_that_cannot_be_told_apart_are_refused(dashboard, robots):
    """Before anything is served."""
    with pytest.raises(RbdError, match='parameter robots'):
        dashboard(robots)


@pytest.mark.parametrize('name, value', [
    ('robot_description_file', 'arm.urdf'), ('robot_description', '<robot/>'),
    ('joints', '[joint_1]'), ('frame', 'tool0')])
def test_what_belongs_to_one_robot_is_refused_for_several(dashboard, name, value):
    """The limits of one are not those of the other."""
    with pytest.raises(RbdError, match=f'{name} belongs to one robot'):
        dashboard(POSES, **{name: value})


def test_one_robot_in_a_namespace_has_the_page_for_itself(dashboard):
    """Without a tab, and with the topics of its namespace."""
    node = dashboard(['left'])
    [tab] = node.tabs
    assert tab._topic == 'left/robot_description'
