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
"""What a page shows: the links of a robot where they are, and shapes that stand for numbers."""

import urllib.request

import numpy as np
import pytest
import rbd_ros
from rbd_ros.errors import SettingError
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from rbd_ros.view.figures import bars, ellipsoid, inertia_box, quaternion
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.server import open_server
from scipy.spatial.transform import Rotation

ARM = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
MISSING = """
<robot name="r"><link name="base"/>
  <link name="arm"><inertial><mass value="12"/><origin xyz="0.5 0 0"/>
    <inertia ixx="0.05" iyy="1.04" izz="1.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/arm.stl"/></geometry></visual></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  </joint></robot>"""


@pytest.fixture(scope='module')
def server():
    """Start a page at a free port."""
    server = open_server('127.0.0.1', 0, 'test')
    yield server
    server.stop()


def homogeneous(node):
    """Return the place of a node below its parent."""
    w, x, y, z = node.wxyz
    H = np.eye(4)
    H[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    H[:3, 3] = node.position
    return H


def test_links_are_where_the_kinematics_say(server):
    """The chain of places in the scene ends where the compiled pose of the tool is."""
    model = rbd_ros.load_urdf(ARM)
    scene = RobotScene(server, model, ARM.read_text(), ARM)
    assert not scene.problems
    q = np.linspace(-0.7, 0.9, 7)
    scene.move(q)
    H = np.eye(4)
    for name in model.body_names[1:]:
        H = H @ homogeneous(scene._nodes[name])
        assert np.allclose(H, rbd_ros.Dynamics(model).pose(q, name), atol=1e-9), name
    assert scene.path('tool0').startswith(scene.path(model.body_names[-1]))


def test_a_missing_mesh_is_named_and_replaced_by_a_box(server):
    """The page says which mesh is missing; the body is seen all the same."""
    scene = RobotScene(server, rbd_ros.load_urdf(MISSING), MISSING)
    assert scene.problems == [
        'link "arm": mesh package://nowhere/arm.stl is not there; a box of its inertia stands in']


def test_the_box_of_an_inertia_has_that_inertia():
    """A homogeneous box of the edges found has mass, centre and moments of the body."""
    m, R = 12.0, Rotation.from_euler('xyz', [0.3, -0.8, 1.1]).as_matrix()
    a, b, c = 0.1, 0.4, 1.0
    moments = m / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    I_c = R @ np.diag(moments) @ R.T
    box = inertia_box(RigidInertia.from_com(m, Vec3(0.5, -0.2, 0.3), Sym3.from_matrix(I_c)))
    assert np.allclose(sorted(box.edges), [a, b, c])
    assert np.allclose(box.centre, [0.5, -0.2, 0.3])
    w, x, y, z = box.wxyz
    found = Rotation.from_quat([x, y, z, w]).as_matrix()
    squares = np.array(box.edges) ** 2
    again = found @ np.diag(m / 12.0 * (squares.sum() - squares)) @ found.T
    assert np.allclose(again, I_c)
    assert inertia_box(RigidInertia.from_com(0.0, Vec3(0, 0, 0), Sym3.zero())) is None


def test_an_ellipsoid_has_the_principal_axes_of_its_matrix():
    """Turned back, the half-axes are the principal values in proportion."""
    R = Rotation.from_euler('zyx', [0.4, 1.2, -0.6]).as_matrix()
    figure = ellipsoid(R @ np.diag([4.0, 2.0, 1.0]) @ R.T, 0.2)
    w, x, y, z = figure.wxyz
    found = Rotation.from_quat([x, y, z, w]).as_matrix()
    assert np.allclose(found @ np.diag(figure.axes) @ found.T,
                       R @ np.diag([0.2, 0.1, 0.05]) @ R.T)
    assert ellipsoid(np.diag([1.0, 0.0, 0.0]), 0.5).axes.count(0.01) == 2
    assert max(ellipsoid(np.zeros((3, 3)), 0.5).axes) == 0.01


def test_quaternions_are_scalar_first_and_turn_child_to_parent():
    """A quarter turn about z takes the child's x axis to the parent's y axis."""
    R = Rotation.from_euler('z', 90, degrees=True).as_matrix()
    assert np.allclose(quaternion(R), [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])


def test_bars_show_sign_share_and_saturation():
    """A negative torque grows to the left; a limit that is reached has its colour."""
    text = bars(['a<b', 'c'], [5.0, -20.0], [10.0, 10.0], [0, 2])
    assert 'a&lt;b' in text
    assert 'left:50.0%;width:25.0%' in text
    assert 'left:0.0%;width:50.0%' in text
    assert text.count('#d6336c') == 1
    assert 'width:0.0%' in bars(['x'], [3.0], [np.inf])


def test_a_port_that_is_taken_is_an_error(server):
    """Two pages at one port would be a riddle: the second does not start."""
    with pytest.raises(SettingError, match=f'port {server.get_port()}.*choose another'):
        open_server('127.0.0.1', server.get_port(), 'second')


def test_the_page_is_served(server):
    """A browser gets a page at the address."""
    page = urllib.request.urlopen(f'http://127.0.0.1:{server.get_port()}', timeout=10).read()
    assert b'<html' in page
