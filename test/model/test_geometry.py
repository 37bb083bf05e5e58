# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Collision shapes: reading them from URDF, and where they touch, against the library coal."""

from __future__ import annotations

import sys

from linted import ROOT
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.errors import ModelError
from rbd_ros.model.collision_shapes import (
    Box, Capsule, ConvexMesh, Cylinder, HalfSpace, rounded_balls, sample_balls, sample_points,
    Sphere)
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim.contact import mesh
from rbd_ros.sim.contact.distance import Placed, touches
from scipy.spatial.transform import Rotation

ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'
SHAPES = [Sphere(0.3), Capsule(0.2, 0.7), Box((0.4, 0.6, 0.9)), HalfSpace()]
URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{}</link></robot>"""


def placed(shape, rng, spread=1.0):
    """Return a shape somewhere."""
    return Placed(shape, Rotation.random(random_state=rng).as_matrix(),
                  spread * rng.normal(size=3))


def by_library(one, two):
    """Return the distance that coal finds."""
    return mesh.distance(one.shape, one.R, one.p, two.shape, two.R, two.p)[0]


@pytest.mark.parametrize('first', SHAPES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize('second', SHAPES[:3], ids=lambda s: type(s).__name__)
def test_distances_agree_with_another_library(first, second):
    """Apart or overlapping, the nearest contact of a pair has the distance that coal finds."""
    rng = np.random.default_rng(4)
    both = isinstance(first, Box) and isinstance(second, Box)
    # Beyond that the axis of a capsule goes through the box, and depth has several meanings.
    pierced = -0.2 if {type(first), type(second)} == {Box, Capsule} else -np.inf
    inside = outside = 0
    for _ in range(60):
        one, two = placed(first, rng, 0.4), placed(second, rng, 0.4)
        found = touches(one, two)
        nearest = min(found, key=lambda touch: touch.distance)
        expected = by_library(one, two)
        if both and expected > 0.0:     # along the best axis: exact unless corner to corner
            assert nearest.distance <= expected + 1e-6
        elif expected > pierced:
            assert nearest.distance == pytest.approx(expected, abs=2e-4)
        inside, outside = inside + (expected < 0.0), outside + (expected > 0.0)
        for touch in found:
            assert np.linalg.norm(touch.direction) == pytest.approx(1.0)
    assert inside > 3 and outside > 3


def test_direction_goes_from_the_first_to_the_second():
    """Exchanging two shapes turns the direction round, and the point to the other surface."""
    rng = np.random.default_rng(5)
    for one, two in ((SHAPES[0], SHAPES[1]), (SHAPES[2], SHAPES[0]), (SHAPES[3], SHAPES[2])):
        a, b = placed(one, rng), placed(two, rng)
        there, back = touches(a, b)[0], touches(b, a)[0]
        np.testing.assert_allclose(there.direction, -back.direction, atol=1e-9)
        np.testing.assert_allclose(
            there.point + there.distance * there.direction, back.point, atol=1e-9)
    half = [Placed(Sphere(0.25), np.eye(3), np.array([x, 0.0, 0.0])) for x in (0.0, 1.0)]
    assert len(touches(*half, margin=0.5)) == 1 and not touches(*half, margin=0.499)


@pytest.mark.seed('RBDA 11-14')
def test_boxes_touch_with_faces_corners_and_edges():
    """A box on a box touches in the corners of the common face; crossed edges in one point."""
    eye = np.eye(3)
    lower, upper = Box((1.0, 1.0, 0.2)), Box((0.4, 0.4, 0.4))
    found = touches(Placed(lower, eye, np.zeros(3)),
                    Placed(upper, eye, np.array([0.4, 0.0, 0.299])))
    assert len(found) == 4 and all(t.distance == pytest.approx(-1e-3) for t in found)
    # it overhangs: the contacts end at the edge of the lower box
    xs = sorted(round(float(t.point[0]), 9) for t in found)
    assert xs == [0.2, 0.2, 0.5, 0.5]
    assert all(t.point[2] == pytest.approx(0.1) and t.direction[2] == 1.0 for t in found)
    turned = Rotation.from_euler('x', 45, degrees=True).as_matrix()
    crossed = Rotation.from_euler('xz', [45, 90], degrees=True).as_matrix()
    cube = Box((1.0, 1.0, 1.0))
    height = np.sqrt(2.0) - 0.01
    edge = touches(Placed(cube, turned, np.zeros(3)),
                   Placed(cube, crossed, np.array([0.1, 0.2, height])))
    assert len(edge) == 1 and edge[0].distance == pytest.approx(-0.01)
    # along the first ridge x is that of the second box, whose ridge goes along y at x = 0.1
    np.testing.assert_allclose(edge[0].point, [0.1, 0.0, np.sqrt(0.5)], atol=1e-9)
    on_plane = touches(Placed(HalfSpace(), eye, np.zeros(3)), Placed(cube, eye, [0, 0, 0.5]), 1e-9)
    assert len(on_plane) == 4


def test_capsule_across_an_edge_of_a_box():
    """The middle of a capsule touches the edge of a table that its ends reach beyond."""
    table = Placed(Box((1.0, 1.0, 0.1)), np.eye(3), np.zeros(3))
    tilted = Rotation.from_euler('y', 120, degrees=True).as_matrix()
    pole = Placed(Capsule(0.05, 2.0), tilted, np.array([0.5, 0.0, 0.12]))
    found = min(touches(table, pole), key=lambda t: t.distance)
    assert found.distance == pytest.approx(by_library(table, pole), abs=1e-5)
    assert found.point[0] == pytest.approx(0.5, abs=0.02)
    # one end is the nearest point: it is not found twice
    leaning = Placed(Capsule(0.05, 0.4), tilted, np.array([0.0, 0.0, 0.3]))
    assert sorted(round(t.distance, 6) for t in touches(table, leaning)) == [0.1, 0.3]


@pytest.mark.parametrize(('shape', 'place', 'distance', 'point', 'direction'), [
    (Sphere(0.1), [0.5, 0.0, 0.3], 0.2, [0.2, 0.0, 0.3], [1.0, 0.0, 0.0]),
    (Sphere(0.1), [0.0, -0.25, 0.3], -0.05, [0.0, -0.2, 0.3], [0.0, -1.0, 0.0]),
    (Capsule(0.1, 0.4), [0.0, 0.0, 0.9], 0.1, None, [0.0, 0.0, 1.0]),
    (Box((0.2, 0.4, 0.6)), [-0.7, 0.0, 0.0], 0.4, None, [-1.0, 0.0, 0.0]),
    (Cylinder(0.3, 0.2), [0.0, 0.0, -0.8], 0.2, None, [0.0, 0.0, -1.0]),
], ids=['ball', 'ball within', 'capsule', 'box', 'cylinder'])
def test_what_touches_a_cylinder(shape, place, distance, point, direction):
    """Beside and above an upright cylinder, distances and normals are read off a drawing."""
    pillar = Placed(Cylinder(0.2, 1.0), np.eye(3), np.zeros(3))
    other = Placed(shape, np.eye(3), np.array(place))
    for one, two, sign in ((pillar, other, 1.0), (other, pillar, -1.0)):
        found, = touches(one, two)
        assert found.distance == pytest.approx(distance, abs=1e-5)
        np.testing.assert_allclose(found.direction, sign * np.array(direction), atol=1e-3)
        if point is not None and one is pillar:
            np.testing.assert_allclose(found.point, point, atol=1e-3)


@pytest.mark.parametrize(('shape', 'balls', 'half', 'count'), [
    (Cylinder(0.1, 0.75), sample_balls, [0.1, 0.1, 0.375], 7),
    (Cylinder(0.5, 0.2), sample_balls, [0.5, 0.5, 0.1], 4),
    (Cylinder(0.1, 0.19), sample_balls, [0.1, 0.1, 0.09], 4),   # rings stay rings
    (Box((0.2, 0.4, 0.7)), sample_balls, [0.1, 0.2, 0.35], 8),
    (Box((0.2, 0.4, 0.7)), rounded_balls, [0.1, 0.2, 0.35], 8 + 4 * (1 + 1 + 3)),
    (Capsule(0.1, 0.35), rounded_balls, [0.1, 0.1, 0.275], 5),
])
def test_balls_fill_a_shape_to_its_surface(shape, balls, half, count):
    """The balls reach as far as the shape along each axis, and stand as close as is said."""
    points, radius = balls(shape)
    assert len(points) == count == len(np.unique(points, axis=0))
    np.testing.assert_allclose(np.abs(points).max(axis=0) + radius, half, atol=1e-12)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
    if isinstance(shape, Box):
        assert radius == pytest.approx(0.01 if balls is rounded_balls else 0.0)
        # all on the edges, where at least two coordinates are the largest
        assert (np.isclose(np.abs(points) + radius, half).sum(axis=1) >= 2).all()
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2) + 9.0 * np.eye(count)
    if isinstance(shape, Capsule) or balls is rounded_balls:
        assert gaps.min(axis=1).max() <= 0.2


def test_shapes_of_the_arm_are_where_its_links_are():
    """Shapes sit on the bodies that carry their links, in body coordinates."""
    model = load_urdf(ARM)
    shapes = load_collisions(ARM, model)
    assert len(shapes) == ARM.read_text().count('<collision')
    assert {s.body for s in shapes} >= {0, 1, 7}
    assert shapes[0].link == model.body_names[0] and shapes[0].p.tolist() == [0, 0, 0.06]
    tool = [s for s in shapes if model.frame(s.link).body == 7][-1]
    assert np.allclose(tool.R @ tool.R.T, np.eye(3))


def test_every_shape_of_urdf_is_read():
    """Sphere, box, cylinder, capsule and plane, with their placements."""
    texts = ['<sphere radius="0.1"/>', '<box size="1 2 3"/>', '<capsule radius="0.1" length="2"/>',
             '<cylinder radius="0.1" length="2"/>', '<plane normal="0 0 1"/>']
    body = ''.join(f'<collision><origin xyz="0 0 {i}" rpy="0 0 1.5707963267948966"/><geometry>{t}'
                   '</geometry></collision>' for i, t in enumerate(texts))
    text = URDF.format(body)
    shapes = load_collisions(text, load_urdf(text, floating_base=True))
    assert [type(s.shape) for s in shapes] == [Sphere, Box, Capsule, Cylinder, HalfSpace]
    assert [s.p[2] for s in shapes] == [0, 1, 2, 3, 4] and shapes[0].body == 1
    np.testing.assert_allclose(shapes[0].R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
    points, radius = sample_points(shapes[3].shape)
    assert radius == 0.0 and np.allclose(np.hypot(points[:, 0], points[:, 1]), 0.1)
    assert len(sample_points(shapes[2].shape)[0]) >= 2.0 / 0.1
    with pytest.raises(ModelError, match='not of a robot'):
        sample_points(shapes[4].shape)


@pytest.mark.parametrize(('shape', 'text'), [
    ('<sphere radius="-1"/>', 'radius of a sphere is -1'),
    ('<box size="1 0 1"/>', 'size along y of a box is 0'),
    ('<box size="1 1"/>', 'must have 3 numbers, got 2'),
    ('<torus/>', '<torus> is not a collision shape'),
    ('', 'needs a <geometry> with a shape'),
    ('<mesh filename="m.stl"/>',
     'but read_mesh is not given: use rbd_ros.sim.contact.mesh.read_mesh'),
])
def test_bad_shapes_name_the_link(shape, text):
    """What cannot be a shape is an error that names the link and the value."""
    description = URDF.format(f'<collision><geometry>{shape}</geometry></collision>')
    with pytest.raises(ModelError, match=text) as caught:
        load_collisions(description, load_urdf(description, floating_base=True))
    assert 'link "a"' in str(caught.value)


# --- meshes ---------------------------------------------------------------------------------


def write_obj(path, vertices, faces):
    """Write a mesh."""
    path.write_text('\n'.join([*(f'v {x} {y} {z}' for x, y, z in vertices),
                               *(f'f {a} {b} {c}' for a, b, c in faces)]) + '\n')


@pytest.fixture
def tetrahedron(tmp_path):
    """Return the file of a tetrahedron with unit edges along the axes."""
    path = tmp_path / 'tetrahedron.obj'
    write_obj(path, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
              [(1, 3, 2), (1, 2, 4), (2, 3, 4), (1, 4, 3)])
    return path


def test_convex_meshes_touch(tetrahedron):
    """A mesh from a URDF, scaled; its corners on a plane and its face against a sphere."""
    body = (f'<collision><geometry><mesh filename="{tetrahedron}" scale="2 2 2"/></geometry>'
            '</collision>')
    text = URDF.format(body)
    shape, = load_collisions(
        text, load_urdf(text, floating_base=True), read_mesh=mesh.read_mesh)
    assert sorted(map(tuple, shape.shape.vertices.tolist()))[-1] == (2.0, 0.0, 0.0)
    body = Placed(shape.shape, np.eye(3), np.zeros(3))
    floor = Placed(HalfSpace(), np.eye(3), np.array([0.0, 0.0, 0.1]))
    assert len(touches(floor, body, 0.0)) == 3
    outside = np.ones(3) * 2.0
    ball = Placed(Sphere(0.5), np.eye(3), outside)
    found, = touches(body, ball)
    assert found.distance == pytest.approx((6.0 - 2.0) / np.sqrt(3.0) - 0.5, abs=1e-6)
    np.testing.assert_allclose(found.direction, np.ones(3) / np.sqrt(3.0), atol=1e-5)


def test_bad_meshes(tetrahedron, tmp_path, monkeypatch):
    """A mesh that is missing, flat or not convex, and a machine without coal."""
    corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T.astype(float)
    dented = np.vstack([corners, [[0.5, 0.5, 0.6]]])
    with pytest.raises(ModelError, match='is not convex: a vertex is 0.4 m below its hull'):
        mesh.convex_mesh(dented)
    assert len(mesh.convex_mesh(dented, hull=True).vertices) == 8
    with pytest.raises(ModelError, match='has no volume'):
        mesh.convex_mesh(corners[:4] * [1.0, 1.0, 0.0])
    with pytest.raises(ModelError, match='cannot be read'):
        mesh.read_mesh(str(tmp_path / 'missing.stl'))
    text = URDF.format('<collision><geometry><mesh filename="/no/such.stl"/></geometry>'
                       '</collision>')
    with pytest.raises(ModelError, match='file "/no/such.stl" not found'):
        load_collisions(text, load_urdf(text, floating_base=True), read_mesh=mesh.read_mesh)
    monkeypatch.setitem(sys.modules, 'coal', None)
    with pytest.raises(ModelError, match='pip install coal'):
        mesh.read_mesh(str(tetrahedron))
    assert isinstance(ConvexMesh(corners).vertices, np.ndarray)
