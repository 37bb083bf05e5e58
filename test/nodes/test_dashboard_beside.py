# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots that a file brings: what is taken, what is shown, and what is simulated beside others."""

import os
from pathlib import Path
import re

import numpy as np
from page_rig import page, Robot
import pytest
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.child_launch import PATIENCE
from rbd_ros.nodes.dashboard.given_robot import (
    LARGEST, MOST_BODIES, MOST_ELEMENTS, MOST_LINKS, read_robot, without_other_files)
from rbd_ros.view.shapes import read_shapes
from sensor_msgs.msg import JointState

WITHIN, FILE = 'Another robot', 'URDF file'
#: In the place of ros2: what it does on a signal, and how long it lives.
PROGRAM = '#!/bin/sh\n{0}\necho "number $$ $*"\n{1}\n'
#: Names that hold for the robot of the page, as a launch file gives them.
RENAMED = 'joint_states:=/cell/joint_states', 'controller/commands:=/cell/controller/commands'
LINK = """<link name="{}"><inertial><mass value="{}"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>"""
JOINT = """<joint name="j{0}" type="revolute"><parent link="l{0}"/><child link="l{1}"/>
  <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="9" velocity="2"/></joint>"""
FREE = '<joint name="j{0}" type="floating"><parent link="l{0}"/><child link="l{1}"/></joint>'
MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


def chain(count, visual='', mass=1.0):
    """Return the text of a chain of links."""
    return ('<robot name="a_chain">' + ''.join(
        LINK.format(f'l{k}', mass, visual) for k in range(count + 1)) + ''.join(
        JOINT.format(k, k + 1) for k in range(count)) + '</robot>')


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """Give the page of a robot in a namespace; a program stands in the place of ros2."""
    folder = tmp_path_factory.mktemp('state')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PATH', f'{folder}:{os.environ["PATH"]}')
        with page(folder, names=['__ns:=/cell', *RENAMED], robots=['/cell']) as made:
            made.folder = folder
            yield made


@pytest.fixture
def desk(made):
    """Give the page beside whose robot there is room for another one."""
    lives(made)
    made.begin(simulated=True)
    made.until(lambda: made.clock.now and made.look(6) or takes(made))
    yield made
    if made.visitor.look().has('End it'):
        made.press('End it')
        made.until(lambda: made.look() or not made.visitor.look().has('End it'))
    if made.visitor.look().has('Remove it'):
        made.press('Remove it')


def lives(desk, life='exec sleep 1000', trap=''):
    """Say what the program does that is started."""
    program = desk.folder / 'ros2'
    program.write_text(PROGRAM.format(trap, life))
    program.chmod(0o755)


def takes(desk):
    """Return whether the page takes a file."""
    return desk.visitor.look().has(FILE) and not desk.part(FILE)['disabled']


def give(desk, text, name='my_robot.urdf'):
    """Give a file to the page; return what it says."""
    desk.visitor.upload(FILE, name, text if isinstance(text, bytes) else text.encode())
    desk.called()
    desk.look()
    return desk.shown(WITHIN)


def simulate(desk):
    """Have a robot simulated; return its namespace, the words of the program and its number."""
    give(desk, chain(1))
    desk.press('Simulate it')
    desk.until(lambda: desk.look() or 'is simulated in' in desk.shown(WITHIN))
    name, log = re.findall('`([^`]*)`', desk.shown(WITHIN).partition('is simulated')[2])
    desk.until(lambda: Path(log).read_text())
    number, words = re.match(r'number (\d+) (.*)', Path(log).read_text()).groups()
    return name, words.split(), int(number)


def is_there(number):
    """Return whether a process runs."""
    return Path(f'/proc/{number}').exists()


def names_of(node, name, namespace):
    """Return the topics and services that a node has, less what every node has."""
    asked = (node.get_publisher_names_and_types_by_node,
             node.get_subscriber_names_and_types_by_node,
             node.get_client_names_and_types_by_node)
    return {topic for ask in asked for topic, _ in ask(name, namespace)} - {
        '/rosout', '/parameter_events'}


# -- a file -----------------------------------------------------------------------------------


def test_a_robot_is_shown_beside_the_other(desk):
    """Away from it, with a slider for each joint; the camera stays where it was."""
    before = dict(desk.visitor.camera)
    words = give(desk, chain(2))
    assert 'a\\_chain' in words and '2 moving bodies' in words and 'only shown' in words
    assert 'Nothing is wrong' in words and not desk.part('Simulate it')['disabled']
    assert desk.drawn('/uploaded')['position'][1] > 1.0
    assert before.keys() == desk.visitor.camera.keys()
    assert (desk.part('j0')['min'], desk.part('j0')['max']) == (-1.0, 1.0)
    straight = np.array(desk.drawn('uploaded/l2')['position'])
    desk.put('j0', 0.5)
    np.testing.assert_allclose(np.array(desk.drawn('uploaded/l2')['position']) - straight, [
        0.2 * np.sin(0.5), 0.0, 0.2 * np.cos(0.5) - 0.2], atol=1e-6)
    give(desk, chain(3))
    assert desk.visitor.has('j2')
    desk.press('Remove it')
    assert not any('uploaded' in path for path in desk.visitor.look().nodes)
    assert not desk.visitor.has('j0') and 'chain' not in desk.shown(WITHIN)


@pytest.mark.parametrize(('text', 'reason'), [
    ('', 'XML'), ('hello', 'XML'), ('panda', 'XML'), ('/etc/hostname', 'XML'),
    ('package://rbd_ros/urdf/seven_joint_arm.urdf', 'XML'), (b'\xff\xfe\x00', 'UTF-8'),
    ('<robot name="r"><link name="a"/><link name="b"/></robot>', 'link'),
    ('<!DOCTYPE r [<!ENTITY e "x">]><robot name="r"><link name="a"/></robot>', 'entit'),
    (b' ' * (LARGEST + 1), 'larger than 4 MB'),
    (chain(MOST_BODIES + 1), f'more than {MOST_BODIES}'),
    (chain(1).replace('</robot>', (MOST_LINKS + 1) * '<link name="a"/>' + '</robot>'),
     f'more than {MOST_LINKS}'),
    (chain(1, MOST_ELEMENTS * '<visual/>'), f'more than {MOST_ELEMENTS}')])
def test_what_is_no_robot_is_named(desk, text, reason):
    """The robot that was there has gone, and nothing else happens."""
    give(desk, chain(1))
    words = give(desk, text, 'a<b>.urdf')
    # the rig leaves out elements, as of a name that was not quoted
    assert 'cannot be shown' in words and reason in words and 'a<b>.urdf' in words
    assert not any('uploaded' in path for path in desk.visitor.nodes)
    assert not desk.visitor.has('Simulate it')


def test_what_is_wrong_with_a_robot_is_named(desk):
    """By the tests of rbd check, with their advice; limits may go as far as numbers do."""
    words = give(desk, chain(2, mass=1e6))
    assert ('Warning' in words or 'Error' in words) and 'l1' in words
    words = give(desk, chain(1).replace('lower="-1" upper="1"', 'lower="-1e308" upper="1e308"'))
    assert 'a\\_chain' in words


def test_a_description_cannot_fetch_files_of_the_machine(desk, tmp_path):
    """Only meshes of packages are drawn; others become boxes with the inertia of the link."""
    mesh = tmp_path / 'cube.stl'
    mesh.write_text('solid')
    for address in (str(mesh), f'file://{mesh}', 'cube.stl', f'package://rbd_ros/../../{mesh}'):
        text = chain(1, MESH.format(address))
        assert read_shapes(text) and read_shapes(without_other_files(text)[0]) == []
        assert address not in read_robot(text.encode()).text
    give(desk, text)
    drawn = [path for path in desk.visitor.look().nodes if path.startswith('/uploaded/')]
    assert not any('shape' in path for path in drawn)
    assert all(desk.visitor.nodes[path]['visible'] for path in drawn if 'inertia' in path)
    # links are found in a default namespace, too; the text is read as before
    text = chain(1, MESH.format('file:///etc/hostname')).replace(
        '<robot ', '<robot xmlns="http://www.ros.org" xmlns:x="http://x.org" ').replace(
        '</robot>', '<x:link name="l0"/></robot>')
    given = read_robot(text.encode())
    assert 'hostname' not in given.text and not given.refusal
    assert read_robot(given.text.encode()).model.nb == given.model.nb == 1


def test_an_address_is_resolved_before_it_is_compared(tmp_path, monkeypatch):
    """However a file is written, nobody learns of one outside of packages whether it exists."""
    package, inner = tmp_path / 'prefix' / 'share' / 'parts', 'meshes/a part.stl'
    for file in (package / 'package.xml', package / inner, tmp_path / 'secret.stl',
                 package.parent / 'parts_2' / 'secret.stl', tmp_path / 'near' / 'secret.stl'):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('solid')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'prefix'))
    monkeypatch.chdir(tmp_path)
    rng, told = np.random.default_rng(1), set()

    def address(parts):
        """Write a path, each sign as it is or by its number, once or twice."""
        path = '/'.join(parts)
        return 'package://' + ''.join(rng.choice(
            [sign, f'%{ord(sign):02x}', f'%25{ord(sign):02x}'], p=[0.6, 0.3, 0.1])
            for sign in path)
    for _ in range(100):
        name = rng.choice(['secret.stl', 'missing.stl'])
        parts = [rng.choice(['parts', 'parts_2', 'near', 'tmp', '..', '.', '', 'etc'])]
        parts += list(rng.choice(['..', '.', '', 'meshes', str(tmp_path), 'parts_2', 'secret.stl'],
                                 rng.integers(0, 7)))
        text = chain(1, MESH.format(address([*map(str, parts), str(name)])))
        found = read_robot(text.encode())
        assert read_shapes(found.text) == [] and 'solid' not in found.text, text
        told.add((found.report, found.refusal))
    assert len(told) == 1 and str(tmp_path) not in str(told)
    for written in ('parts/meshes/a%20part.stl', 'parts/meshes/../meshes//a%20part.stl',
                    'parts/%6Deshes/a part.stl'):
        found = read_robot(chain(1, MESH.format(f'package://{written}')).encode())
        assert {Path(each.file.removeprefix('file://').replace('%20', ' '))
                for each in read_shapes(found.text)} == {package / inner}
        assert found.report == 'Nothing is wrong with it.'


@pytest.mark.parametrize(('text', 'reason', 'advice'), [
    (re.sub('(?s)<inertial>.*?</inertial>', '', chain(1)), 'l1', 'give it mass and inertia'),
    (chain(1).replace(' effort="9"', ''), 'j0', 'add them from the data sheet'),
    (chain(0), 'no movable joint', 'revolute, continuous or prismatic'),
    (f'<robot name="free">{LINK.format("l0", 1, "")}{LINK.format("l1", 1, "")}'
     f'{FREE.format(0, 1)}</robot>', 'more than one coordinate', 'params_file'),
    (find_resource('package://rbd_ros/urdf/five_bar.urdf').read_text(), 'closed loops',
     'params_file')], ids=['no inertia', 'no limits', 'no joint', 'floating', 'loops'])
def test_what_cannot_be_simulated_is_refused(desk, text, reason, advice):
    """It is shown all the same, with the reason and what to do; the button does nothing."""
    words = give(desk, text)
    assert 'not simulated' in words and reason in words and advice in words
    assert any('uploaded' in path for path in desk.visitor.nodes)
    assert desk.part('Simulate it')['disabled']
    desk.press('Simulate it')
    assert 'is simulated in' not in desk.text(WITHIN)


# -- a simulation -----------------------------------------------------------------------------


def test_it_has_a_namespace_of_its_own_and_goes_without_a_trace(desk):
    """No name that was given to the page holds for it; the page is as before when it is gone."""
    other, nodes = desk.robot.controller, {('dashboard', '/cell'), ('_dashboard_mail', '/cell')}
    desk.until(lambda: nodes <= set(other.get_node_names_and_namespaces()))
    before = {part['label'] for part in desk.visitor.look().parts.values() if 'label' in part}
    arm = names_of(other, 'dashboard', '/cell')
    name, words, number = simulate(desk)
    assert name == 'dropped' and is_there(number)
    assert words[:4] == ['launch', 'rbd_ros', 'beside.launch.py', 'namespace:=dropped']
    assert read_robot(Path(words[4].removeprefix('urdf:=')).read_bytes()).model.nb == 1
    desk.until(lambda: desk.look() or desk.visitor.look().has('j0'))
    assert desk.drawn('/dropped/robot/l1') and not desk.visitor.has('Remove it')
    nodes = [('dashboard', '/dropped'), ('_dashboard_mail', '/dropped')]
    wanted = {'/dropped/joint_states', '/dropped/diagnostics', '/dropped/controller/commands',
              '/dropped/controller/stop', '/dropped/simulator/wrench'}

    def topics():
        known = set(other.get_node_names_and_namespaces())
        return set().union(*(names_of(other, *each) for each in nodes if each in known))
    desk.until(lambda: wanted <= topics())
    assert all(topic.startswith('/dropped/') for topic in topics())
    assert names_of(other, 'dashboard', '/cell') == arm
    folders = {each for each in re.findall('`(/[^`]*)`', desk.shown()) if 'recordings' in each}
    assert len(folders) == 2  # what is kept of it is not mixed up
    assert desk.part(FILE)['disabled']  # one at a time
    give(desk, chain(2))
    assert not desk.visitor.has('Simulate it')
    desk.press('End it')
    desk.until(lambda: desk.look() or not is_there(number))
    desk.until(lambda: not set(nodes) & set(other.get_node_names_and_namespaces()))
    assert not any('dropped' in path for path in desk.visitor.look().nodes)
    assert before == {part['label'] for part in desk.visitor.parts.values() if 'label' in part}
    desk.until(lambda: desk.look() or takes(desk))
    assert simulate(desk)[2] != number  # the next one


def test_what_does_not_end_is_ended_by_force(desk):
    """After a while; the page is free at once."""
    lives(desk, trap="trap '' INT", life='while :; do sleep 0.05; done')
    _, _, number = simulate(desk)
    desk.press('End it')
    desk.until(lambda: desk.look() or takes(desk))
    assert is_there(number)
    desk.clock.now += PATIENCE + 0.1
    desk.until(lambda: desk.look() or not is_there(number))


def test_what_ends_by_itself_is_told(desk):
    """With the first error, and where the whole log is; the page takes the next one."""
    lives(desk, life='echo "[x-1] [FATAL] [1.0] [a.b]: no <good> robot"\nexit 1')
    give(desk, chain(1))
    desk.press('Simulate it')
    desk.until(lambda: desk.look() or 'was ended' in desk.shown(WITHIN))
    words = desk.shown(WITHIN)
    assert 'no <good> robot' in words and 'log' in words
    desk.until(lambda: desk.look() or takes(desk))


def test_not_beside_a_real_robot(desk):
    """A driver that publishes states makes it one; what was asked for before is not begun."""
    give(desk, chain(1))
    desk.visitor.press('Simulate it')  # and before the page looks:
    desk.called()
    desk.robot.become(simulated=False)
    desk.until(lambda: desk.node.count_publishers('/cell/joint_states') > 1, looks=False)
    desk.clock.now += 1.0
    desk.until(lambda: desk.look() or not desk.visitor.look().has(FILE))
    assert 'is simulated in' not in desk.shown()
    give(desk, chain(2))
    assert not desk.visitor.has('j1')


def test_a_namespace_that_nobody_uses(desk):
    """Of a node, or of a topic."""
    node = Robot.node('somebody', '/dropped/deeper')
    topic = desk.robot.simulator.create_publisher(JointState, '/dropped_2/joint_states', 1)
    desk.until(lambda: ('somebody', '/dropped/deeper') in (
        desk.node.get_node_names_and_namespaces()))
    desk.until(lambda: desk.node.count_publishers('/dropped_2/joint_states'))
    assert simulate(desk)[0] == 'dropped_3'
    node.destroy_node()
    desk.robot.simulator.destroy_publisher(topic)


def test_its_processes_end_with_the_page(desk):
    """Also if they are about to end already."""
    lives(desk, trap="trap '' INT", life='while :; do sleep 0.05; done')
    _, _, first = simulate(desk)
    desk.press('End it')
    desk.until(lambda: desk.look() or takes(desk))
    lives(desk)
    _, _, second = simulate(desk)
    assert is_there(first) and is_there(second)
    desk.node.beside.close()
    assert not is_there(first) and not is_there(second)
