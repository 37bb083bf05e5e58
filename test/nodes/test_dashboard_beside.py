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
"""A robot that is simulated beside that of the page: its own namespace, its own end."""

import os
from pathlib import Path
import time

from isolation import own_domain
from ports import free_port
import pytest
from rbd_env.pace import patient
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.companion import free_namespace
from rbd_ros.nodes.dashboard.given_robot import read_robot
from rbd_ros.nodes.dashboard.node import Dashboard
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

URDF = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
PENDULUM = b"""<robot name="a_pendulum"><link name="base"/><link name="rod"><inertial>
  <origin xyz="0 0 -0.5"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="20" velocity="5"/></joint></robot>"""
#: In the place of ros2: what it does on a signal, and how long it lives.
PROGRAM = '#!/bin/sh\n{0}\necho "$*"\n{1}\n'
#: Names that hold for the robot of the page, as a launch file gives them.
RENAMED = ('-r', 'joint_states:=/arm/joint_states', '-r',
           'controller/commands:=/arm/commands', '-r', '__ns:=/cell')


def stranger(name, namespace):
    """Return a node for which the names of the page do not hold."""
    return rclpy.create_node(name, namespace=namespace, use_global_arguments=False)


class Rig:
    """A page, its simulated robot, and a program in the place of ros2."""

    def __init__(self, folder, life='exec sleep 1000', trap='', words=('allow_commands:=true',)):
        program = folder / 'ros2'
        program.write_text(PROGRAM.format(trap, life))
        program.chmod(0o755)
        given = [f'port:={free_port()}', f'robot_description_file:={URDF}', *words]
        rclpy.init(args=['--ros-args', *RENAMED, *(
            part for word in given for part in ('-p', word))])
        self.other = stranger('simulator', '/cell')
        self.states = self.other.create_publisher(JointState, '/arm/joint_states', 1)
        self.other.create_subscription(Float64MultiArray, '/arm/commands', lambda _: None, 1)
        self.node = Dashboard()
        self.node.open()
        self.beside = self.node.beside

    def until(self, holds, what):
        """Update the page until a condition holds."""
        end = time.monotonic() + patient(60.0)
        while not holds():
            assert time.monotonic() < end, what
            self.node.update()
            time.sleep(0.02)

    def simulate(self):
        """Start a robot, and return it when its page is there."""
        self.until(self.beside._takes, 'a page that takes files')
        self.beside.simulate(read_robot(PENDULUM))
        self.until(lambda: self.beside.companion is not None
                   and self.beside.companion.robot.page is not None
                   and self.beside.companion.child.log.read_text(), 'its page and its child')
        return self.beside.companion

    def topics(self, name, namespace):
        """Return what a node publishes and listens to, less what every node has."""
        asked = (self.other.get_publisher_names_and_types_by_node,
                 self.other.get_subscriber_names_and_types_by_node,
                 self.other.get_client_names_and_types_by_node)
        return {topic for ask in asked for topic, _ in ask(name, namespace)} - {
            '/rosout', '/parameter_events'}

    def end(self):
        """End all of it."""
        self.node.close()
        self.node.destroy_node()
        self.other.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return what makes a rig."""
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    made = []
    with own_domain():
        def new(*words, **more):
            made.append(Rig(tmp_path, *words, **more))
            return made[-1]
        yield new
        for each in made:
            each.end()


def kept(page):
    """Return where a page keeps files."""
    return {page._teach._folder, page._record._folder, page._drive._poses._file.path.parent}


def is_there(number):
    """Return whether a process runs."""
    return Path(f'/proc/{number}').exists()


def test_it_has_a_namespace_of_its_own_and_goes_without_a_trace(make):
    """No name that was given to the page holds for it; the page is as before when it is gone."""
    rig = make()
    rig.until(rig.beside._takes, 'a page that takes files')
    inputs = set(rig.node._server.gui._gui_input_handle_from_uuid)
    names = {('dashboard', '/cell'), ('_dashboard_mail', '/cell')}
    rig.until(lambda: names <= set(rig.other.get_node_names_and_namespaces()), 'its nodes')
    arm = rig.topics('dashboard', '/cell')
    rig.until(lambda: '/arm/joint_states' in rig.topics('_dashboard_mail', '/cell'),
              'names that do hold there')
    companion = rig.simulate()
    assert companion.namespace == 'dropped' and 'a\\_pendulum' in rig.beside.words.content
    words = companion.child.log.read_text().split()
    assert words[:4] == ['launch', 'rbd_ros', 'beside.launch.py', 'namespace:=dropped']
    assert read_robot(Path(words[4].removeprefix('urdf:=')).read_bytes()).model.nb == 1
    operator = companion.robot.page._operator
    operator.steer(True)
    operator.aim(True)
    names = [('dashboard', '/dropped'), ('_dashboard_mail', '/dropped')]
    rig.until(lambda: set(names) <= set(rig.other.get_node_names_and_namespaces()), 'its nodes')
    wanted = {'/dropped/joint_states', '/dropped/diagnostics', '/dropped/controller/commands',
              '/dropped/controller/stop', '/dropped/controller/joint_trajectory',
              '/dropped/simulator/wrench'}
    rig.until(lambda: wanted <= set.union(*(rig.topics(*name) for name in names)), 'its topics')
    assert all(topic.startswith('/dropped/') for name in names for topic in rig.topics(*name))
    assert rig.topics('dashboard', '/cell') == arm
    assert rig.beside.end_button.visible and rig.beside.upload.button.disabled
    page = companion.robot.page
    page._teach.show()  # a motion that is never ended
    assert not kept(page) & kept(rig.node.tabs[0].page)
    number = companion.child._process.pid
    scene = companion.robot.page._drawn.links['rod']
    assert is_there(number) and scene.name.startswith('/dropped/')
    rig.beside.end()
    rig.until(lambda: rig.beside.companion is None and not rig.beside._leaving, 'its end')
    assert not is_there(number)
    assert set(rig.node._server.gui._gui_input_handle_from_uuid) == inputs
    assert scene._impl.removed
    names.append(('rbd_teach', '/'))
    rig.until(lambda: not set(names) & set(rig.other.get_node_names_and_namespaces()), 'no node')
    assert not rig.beside.end_button.visible and not rig.beside.upload.button.disabled


def test_one_at_a_time(make):
    """A second one is not taken while the first one is there; another one is after it."""
    rig = make()
    first = rig.simulate()
    rig.beside.simulate(read_robot(PENDULUM))
    rig.node.update()
    assert rig.beside.companion is first and not rig.beside._takes()
    rig.beside.end()
    rig.until(lambda: rig.beside.companion is None, 'its end')
    second = rig.simulate()
    assert second is not first


def test_its_processes_end_with_the_page(make):
    """Also if they are about to end already."""
    rig = make(trap="trap '' INT", life='while :; do sleep 0.05; done')
    number = rig.simulate().child._process.pid
    rig.beside.end()
    rig.until(lambda: rig.beside.companion is None, 'its leave')
    assert is_there(number)
    rig.beside.close()
    assert not is_there(number)


def test_what_ends_by_itself_is_told(make):
    """With the first error, and where the whole log is; the page takes the next one."""
    rig = make(life='echo "[x-1] [FATAL] [1.0] [a.b]: no <good> robot"\nexit 1')
    rig.until(rig.beside._takes, 'a page that takes files')
    rig.beside.simulate(read_robot(PENDULUM))
    rig.until(lambda: 'was ended' in rig.beside.words.content, 'the reason')
    words = rig.beside.words.content
    assert 'no' in words and 'good' in words and '<good>' not in words and 'log' in words
    assert rig.beside.companion is None and rig.beside._takes()


def test_not_beside_a_real_robot(make):
    """A driver that publishes states makes it one; what was asked for before is not begun."""
    rig = make()
    rig.until(lambda: rig.beside._room.visible, 'a page that takes files')
    driver = stranger('driver', '/arm')
    driver.create_publisher(JointState, 'joint_states', 1)
    rig.beside.simulate(read_robot(PENDULUM))
    end = time.monotonic() + patient(60.0)
    while rig.beside._takes():  # the page is not updated meanwhile
        assert time.monotonic() < end
        time.sleep(0.02)
    rig.node.update()
    assert rig.beside.companion is None
    rig.beside.simulate(read_robot(PENDULUM))
    rig.until(lambda: not rig.beside._room.visible, 'a page without the folder')
    assert rig.beside.companion is None
    rig.beside.upload.take(type('File', (), {'name': 'a.urdf', 'content': PENDULUM}))
    assert rig.beside.upload._drawn is None
    driver.destroy_node()


def test_a_page_that_only_watches_has_none(make):
    """There is nothing that could start a process."""
    assert make(words=()).beside is None


def test_a_namespace_that_nobody_uses(make):
    """Of a node, or of a topic."""
    rig = make()
    assert free_namespace(rig.node) == 'dropped'
    other = stranger('somebody', '/dropped/deeper')
    rig.until(lambda: free_namespace(rig.node) == 'dropped_2', 'another name')
    rig.other.create_publisher(JointState, '/dropped_2/joint_states', 1)
    rig.until(lambda: free_namespace(rig.node) == 'dropped_3', 'another name')
    assert rig.simulate().namespace == 'dropped_3'
    other.destroy_node()
