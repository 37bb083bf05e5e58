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
"""A description that is given to the page: what is wrong with it, and the robot beside."""

import re
from types import SimpleNamespace

import msgspec
import numpy as np
from ports import free_port
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.given_robot import (
    LARGEST, MOST_BODIES, read_robot, without_other_files)
from rbd_ros.nodes.dashboard.upload import UploadedRobot
from rbd_ros.view.frames import is_wanted, MOST_PARTS, read_frame
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.server import start_server, stop_server
from rbd_ros.view.shapes import read_shapes
from viser import UploadedFile

URDF = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()
MODEL = rbd_ros.load_urdf(URDF)
LINK = """<link name="{}"><inertial><mass value="{}"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>"""
JOINT = """<joint name="j{0}" type="revolute"><parent link="l{0}"/><child link="l{1}"/>
  <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="9" velocity="2"/></joint>"""


def chain(count, visual='', mass=1.0):
    """Return the text of a chain of links."""
    return ('<robot name="a_chain">' + ''.join(
        LINK.format(f'l{k}', mass, visual) for k in range(count + 1)) + ''.join(
        JOINT.format(k, k + 1) for k in range(count)) + '</robot>')


@pytest.fixture(scope='module')
def server():
    """Serve a scene that nobody looks at."""
    made = start_server(port=free_port())
    yield made
    stop_server(made)


@pytest.fixture
def rig(server):
    """Give the robot of the page, and what takes another one."""
    RobotScene(server, MODEL, read_shapes(URDF))
    page = SimpleNamespace(takes=True, simulated=[])
    upload = UploadedRobot(server, lambda _: (0.0, 1.5, 0.0), lambda: page.takes,
                           page.simulated.append)

    def give(text, name='my_robot.urdf'):
        upload.take(UploadedFile(name, text if isinstance(text, bytes) else text.encode()))
        return upload.words.content
    yield SimpleNamespace(upload=upload, page=page, give=give, server=server)
    upload.remove()


def test_a_robot_is_shown_beside_the_other(rig):
    """Away from it, with a slider for each joint; the camera stays where it was."""
    before = np.array(rig.server.initial_camera.position)
    words = rig.give(chain(2))
    assert 'a\\_chain' in words and '2 moving bodies' in words and 'only shown' in words
    assert 'Nothing is wrong' in words
    drawn, parts = rig.upload._drawn, rig.upload._parts
    assert drawn.pose('l0')[0].tolist() == [0.0, 1.5, 0.0]
    np.testing.assert_array_equal(rig.server.initial_camera.position, before)
    assert len(parts) == 4 and (parts[0].min, parts[0].max) == (-1.0, 1.0)
    straight = drawn.pose('l2')[0]
    parts[0].value = 0.5
    parts[0]._impl.update_cb[0](None)
    moved = drawn.pose('l2')[0] - straight
    np.testing.assert_allclose(moved, [0.2 * np.sin(0.5), 0.0, 0.2 * np.cos(0.5) - 0.2],
                               atol=1e-9)
    rig.give(chain(3))
    assert len(rig.upload._parts) == 5 and rig.upload._drawn is not drawn
    rig.upload.remove()
    assert not rig.upload._parts and rig.upload._drawn is None and rig.upload.words.content == ''


@pytest.mark.parametrize(('text', 'reason'), [
    ('', 'XML'), ('hello', 'XML'), ('panda', 'XML'), ('/etc/hostname', 'XML'),
    ('package://rbd_ros/urdf/seven_joint_arm.urdf', 'XML'), (b'\xff\xfe\x00', 'UTF-8'),
    ('<robot name="r"><link name="a"/><link name="b"/></robot>', 'link'),
    ('<!DOCTYPE r [<!ENTITY e "x">]><robot name="r"><link name="a"/></robot>', 'entit'),
    (b' ' * (LARGEST + 1), 'larger than 4 MB'),
    (chain(MOST_BODIES + 1), f'more than {MOST_BODIES}')])
def test_what_is_no_robot_is_named(rig, text, reason):
    """The robot that was there has gone, and nothing else happens."""
    rig.give(chain(1))
    words = rig.give(text, 'a<b>.urdf')
    assert 'cannot be shown' in words and reason in words and '<' not in words
    assert rig.upload._drawn is None and not rig.upload._room.visible


def test_a_default_namespace_is_no_part_of_a_name():
    """Links are found in it, so that files of the machine are left out; it is read as before."""
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    text = chain(1, mesh.format('file:///etc/hostname')).replace(
        '<robot ', '<robot xmlns="http://www.ros.org" xmlns:x="http://x.org" ').replace(
        '</robot>', '<x:link name="l0"/></robot>')
    given = read_robot(text.encode())
    assert 'hostname' not in given.text and not given.refusal
    assert read_robot(given.text.encode()).model.nb == given.model.nb == 1


def test_limits_as_far_as_numbers_go(rig):
    """They are checked as others are."""
    words = rig.give(chain(1).replace('lower="-1" upper="1"', 'lower="-1e308" upper="1e308"'))
    assert 'a\\_chain' in words


def test_what_is_wrong_with_a_robot_is_named(rig):
    """By the tests of rbd check, with their advice."""
    words = rig.give(chain(2, mass=1e6))
    assert 'Warning' in words or 'Error' in words
    assert 'l1' in words and rig.upload._drawn is not None


def test_a_description_cannot_fetch_files_of_the_machine(rig, tmp_path):
    """Only meshes of packages are drawn; others become boxes with the inertia of the link."""
    mesh = tmp_path / 'cube.stl'
    mesh.write_text('solid')
    for address in (str(mesh), f'file://{mesh}', 'cube.stl', f'package://rbd_ros/../../{mesh}'):
        visual = f'<visual><geometry><mesh filename="{address}"/></geometry></visual>'
        text = chain(1, visual)
        assert read_shapes(text) and read_shapes(without_other_files(text)) == []
        assert address not in read_robot(text.encode()).text
        rig.give(text)
        assert rig.upload._drawn.drawn == [] and rig.upload._drawn.problems == []
        assert all(box.visible for box in rig.upload._drawn.boxes)


def test_only_where_files_are_taken(rig):
    """A page of a real robot, or one that is busy, takes nothing."""
    rig.page.takes = False
    assert rig.give(chain(1)) == '' and rig.upload._drawn is None


def press(rig, label):
    """Press a button that came with the robot."""
    [button] = [each for each in rig.upload._parts if getattr(each, 'label', '') == label]
    for callback in button._impl.update_cb:
        callback(None)
    return button


def test_a_robot_is_handed_on_to_be_simulated(rig):
    """By a button, with a text that names no file of the machine."""
    visual = '<visual><geometry><mesh filename="/etc/cube.stl"/></geometry></visual>'
    rig.give(chain(2, visual))
    assert not rig.page.simulated and not press(rig, 'Simulate it').disabled
    [robot] = rig.page.simulated
    assert robot.model.nb == 2 and 'cube' not in robot.text and robot.refusal == ''


FREE = '<joint name="j{0}" type="floating"><parent link="l{0}"/><child link="l{1}"/></joint>'


@pytest.mark.parametrize(('text', 'reason', 'advice'), [
    (re.sub('(?s)<inertial>.*?</inertial>', '', chain(1)), 'l1', 'give it mass and inertia'),
    (chain(1).replace(' effort="9"', ''), 'j0', 'add them from the data sheet'),
    (chain(0), 'no movable joint', 'revolute, continuous or prismatic'),
    (f'<robot name="free">{LINK.format("l0", 1, "")}{LINK.format("l1", 1, "")}'
     f'{FREE.format(0, 1)}</robot>', 'more than one coordinate', 'params_file'),
    (find_resource('package://rbd_ros/urdf/five_bar.urdf').read_text(), 'closed loops',
     'params_file')], ids=['no inertia', 'no limits', 'no joint', 'floating', 'loops'])
def test_what_cannot_be_simulated_is_refused(rig, text, reason, advice):
    """It is shown all the same, with the reason and what to do; the button does nothing."""
    words = rig.give(text)
    assert 'not simulated' in words and reason in words and advice in words
    assert rig.upload._drawn is not None
    assert press(rig, 'Simulate it').disabled and not rig.page.simulated


def test_frames_of_a_file():
    """They are for a button that takes files; sizes have bounds."""
    inputs = {'up': SimpleNamespace(value=UploadedFile('', b'')),
              'other': SimpleNamespace(value=b'')}
    start = {'type': 'FileTransferStartUpload', 'source_component_uuid': 'up',
             'transfer_uuid': 't', 'filename': 'a.urdf', 'mime_type': '', 'part_count': 1,
             'size_bytes': 3}
    part = {'type': 'FileTransferPart', 'source_component_uuid': 'up', 'transfer_uuid': 't',
            'part_index': 0, 'content': b'abc'}

    def wanted(message, **other):
        read = read_frame(msgspec.msgpack.encode({**message, **other}))
        return read is not None and is_wanted(read, inputs)
    assert wanted(start) and wanted(part)
    for message in (start, part):
        for uuid in ('other', 'unknown', None, 3):
            assert not wanted(message, source_component_uuid=uuid)
    assert not wanted(start, part_count=MOST_PARTS + 1) and not wanted(start, part_count=-1)
    assert not wanted(start, filename=['a']) and not wanted(start, size_bytes='3')
    assert not wanted(part, part_index=MOST_PARTS) and not wanted(part, content='abc')
    assert not wanted({'type': 'FileTransferPartAck', 'source_component_uuid': 'up',
                       'transfer_uuid': 't', 'transferred_bytes': 1, 'total_bytes': 1})
