# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The scene of a robot: shapes from its URDF, inertia boxes, poses; and ``rbd view``."""

from __future__ import annotations

import json
from pathlib import Path
import sys
import urllib.request

from command_rig import ARM, data, PLANAR, rbd
import numpy as np
from ports import free_port
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.errors import RbdError
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from rbd_ros.view import scene as scenes, shapes
from rbd_ros.view.server import start_server, stop_server

VISUAL = """<visual><origin xyz="0.1 0 0.2" rpy="0 0 1.5707963267948966"/><geometry>{}</geometry>
  <material name="red"/></visual>"""


def rotation(wxyz: np.ndarray) -> np.ndarray:
    """Return the matrix of a quaternion."""
    w, x, y, z = wxyz
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def dressed(*geometries: str) -> str:
    """Return the planar arm with shapes on its tip."""
    text = ''.join(VISUAL.format(each) for each in geometries)
    return PLANAR.replace('<link name="tip"/>', f'<link name="tip">{text}</link>').replace(
        '<robot name="planar">', '<robot name="planar"><material name="red">'
        '<color rgba="1 0 0 0.5"/></material>')


def test_shapes_are_read() -> None:
    """Kind, size, place and colour are those of the description."""
    found = shapes.read_shapes(dressed(
        '<box size="1 2 3"/>', '<cylinder radius="0.1" length="0.4"/>', '<sphere radius="0.2"/>',
        '<mesh filename="package://a/b.stl" scale="1 1 2"/>'))
    assert [(each.kind, each.size) for each in found] == [
        ('box', (1.0, 2.0, 3.0)), ('cylinder', (0.1, 0.4)), ('sphere', (0.2,)),
        ('mesh', (1.0, 1.0, 2.0))]
    assert found[0].link == 'tip' and found[0].colour == (1.0, 0.0, 0.0, 0.5)
    np.testing.assert_allclose(found[0].pose @ [1.0, 0.0, 0.0, 1.0], [0.1, 1.0, 0.2, 1.0],
                               atol=1e-12)
    assert shapes.missing_meshes(found) == ['package://a/b.stl']
    with pytest.raises(rbd_ros.ModelError, match='link "tip" .*<cone> is unknown'):
        shapes.read_shapes(dressed('<cone/>'))


def test_poses_are_those_of_the_library() -> None:
    """Every frame of the scene stands where the compiled robot has it."""
    model = rbd_ros.load_urdf(ARM)
    robot = rbd_ros.Dynamics(model)
    q = np.linspace(-0.9, 0.05, 7)
    for name, (position, turn) in scenes.link_poses(model, q).items():
        T = robot.pose(q, name)
        np.testing.assert_allclose(position, T[:3, 3], atol=1e-12)
        np.testing.assert_allclose(rotation(turn), T[:3, :3], atol=1e-12)


def test_inertia_box() -> None:
    """The box of a solid box is that box, turned as it is."""
    a, b, c, m = 0.1, 0.2, 0.4, 3.0
    moments = m / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    R = rotation(np.array([0.8, 0.36, 0.48, 0.0]))
    I = R @ np.diag(moments) @ R.T
    edges, centre, turn = scenes.inertia_box(RigidInertia.from_com(
        m, Vec3(0.1, 0.2, 0.3), Sym3(I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2])))
    np.testing.assert_allclose(sorted(edges), [a, b, c], atol=1e-12)
    np.testing.assert_allclose(centre, [0.1, 0.2, 0.3], atol=1e-12)
    long_axis = rotation(turn)[:, int(np.argmax(edges))]
    assert abs(long_axis @ R[:, 2]) == pytest.approx(1.0)


def test_scene(tmp_path: Path) -> None:
    """Shapes hang at their links, links move, a page is served; what is missing is reported."""
    pytest.importorskip('viser', reason='viser is not installed: use ./run')
    (tmp_path / 'tetra.obj').write_text(
        'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n')
    text = dressed('<box size="1 2 3"/>', '<cylinder radius="0.1" length="0.4"/>',
                   '<sphere radius="0.2"/>', '<mesh filename="tetra.obj"/>',
                   '<mesh filename="no.stl"/>')
    model = rbd_ros.load_urdf(text)
    server = start_server(port=free_port())
    try:
        made = scenes.RobotScene(server, model, shapes.read_shapes(text), near=tmp_path)
        assert len(made.drawn) == 4 and made.problems == ['tip: mesh file "no.stl" not found']
        # the lower link carries the tip and is seen; the upper one has nothing but its inertia
        assert [box.visible for box in made.boxes] == [True, False]
        [stick] = made.sticks  # so that the way to the next joint is seen
        np.testing.assert_allclose(stick.points[0], [np.zeros(3), model.X_T[2].r.to_list()])
        made.show([0.0, np.pi / 2])
        np.testing.assert_allclose(made.links['tip'].position, [0.5, 0.0, -0.3], atol=1e-6)
        page = urllib.request.urlopen(f'http://127.0.0.1:{server.get_port()}', timeout=patient(20))
        assert page.status == 200 and b'<html' in page.read()
    finally:
        stop_server(server)


def test_view_command() -> None:
    """The command says where the page is and ends by itself on request."""
    pytest.importorskip('viser', reason='viser is not installed: use ./run')
    port = free_port()
    found = data('view', ARM, '--port', port, '--seconds', '0.2')
    assert found['url'] == f'http://127.0.0.1:{port}' and 'tool0' in found['links']
    assert found['problems'] == [] and json.dumps(found)
    said, _ = rbd('view', ARM, '--port', port, '--seconds', '0')
    assert said.startswith('seven_joint_arm: open http://127.0.0.1:') and 'in a browser' in said


@pytest.mark.parametrize(('host', 'port', 'said'), [
    ('127.0.0.1', 99999, 'port 99999 is outside 1 to 65535'),
    ('127.0.0.1', 0, 'port 0 is outside'),
    ('192.0.2.1', 8080, 'cannot listen on 192.0.2.1: .*; give an address of this machine')])
def test_addresses_that_no_server_can_have(host: str, port: int, said: str) -> None:
    """They are refused with a sentence; 192.0.2.1 is kept for documents (RFC 5737)."""
    with pytest.raises(RbdError, match=said):
        start_server(host, port)


def test_without_viser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, 'viser', None)
    assert 'pip install viser trimesh' in rbd('view', ARM, code=2)[1]
