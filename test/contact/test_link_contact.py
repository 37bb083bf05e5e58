# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Links that touch each other, softly and rigidly: against formulas, other code and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros import ModelBuilder
from rbd_ros.algorithms.contact import soft
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import SettingError
from rbd_ros.joints import Free, Prismatic
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, ConvexMesh, Cylinder, HalfSpace, rounded_balls, Sphere)
from rbd_ros.sim import SimulatedRobot
from rbd_ros.sim.contact import boxes
from rbd_ros.sim.contact.distance import Placed, touches
from rbd_ros.sim.contact.pattern import gaps, tangents
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.contact.world import Obstacle, Surface, World
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.stepping import UNSOLVED
from rbd_ros.spatial import Mat3, RigidInertia, Sym3, Transform, Vec3
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

G = 9.81
FLOOR = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))
BOTH = (('one', 'two'),)


def pair(joint=Free, masses=(2.0, 3.0)):
    """Return two bodies that nothing joins."""
    builder = ModelBuilder('pair')
    for name, mass in zip(('one', 'two'), masses, strict=True):
        builder.add_body(name, 'base', joint(), inertia=RigidInertia.from_com(
            mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[0.02 * mass / 2.0] * 3)))
    return builder.build()


def simulated(kind, shapes, *, joint=Free, obstacles=(), masses=(2.0, 3.0), backend='python',
              **surface):
    """Return two bodies with these shapes that may touch each other, without joint friction."""
    model = pair(joint, masses)
    links = [CollisionShape(name, k + 1, shape)
             for k, (name, shape) in enumerate(zip(('one', 'two'), shapes, strict=True))]
    world = World(kind, links, obstacles, Surface(**surface), BOTH)
    return SimulatedRobot(model, world=world, backend=backend)


def weightless(robot, masses=(2.0, 3.0)):
    """Push against the weight of two bodies, where they are."""
    lift = np.zeros((2, 6))
    for k, m in enumerate(masses):
        p = robot.q[7 * k:7 * k + 3]
        lift[k] = [*np.cross(p, [0.0, 0.0, m * G]), 0.0, 0.0, m * G]
    robot.push(lift)


def momentum(robot, masses=(2.0, 3.0)):
    """Return the linear and angular momentum about the origin, and the kinetic energy."""
    total, energy = np.zeros(6), 0.0
    for k, m in enumerate(masses):
        q, v = robot.q[7 * k:7 * k + 7], robot.v[6 * k:6 * k + 6]
        R = Rotation.from_quat(q[3:]).as_matrix()
        p, spin = m * R @ v[3:], 0.01 * m * R @ v[:3]
        total += np.concatenate([p, np.cross(q[:3], p) + spin])
        energy += 0.5 * m * v[3:] @ v[3:] + 0.5 * 0.01 * m * v[:3] @ v[:3]
    return total, energy


SHAPES = [Sphere(0.1), Capsule(0.06, 0.2), Box((0.2, 0.2, 0.2)), Cylinder(0.1, 0.08)]


@pytest.mark.sampled('simulations', 4)
@pytest.mark.parametrize('kind', ['soft', 'rigid'])
@pytest.mark.parametrize('shapes', [
    (a, b) for i, a in enumerate(SHAPES) for b in SHAPES[i:] if a != SHAPES[3]],
                         ids=lambda s: '-'.join(type(x).__name__ for x in s))
def test_colliding_links_keep_momentum(kind, shapes):
    """Any two shapes, off centre, with friction: momentum stays, energy does not grow."""
    robot = simulated(kind, shapes, damping=100.0)
    tilt = Rotation.from_euler('xyz', [0.2, 0.4, 0.3])
    robot.place([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.03, 0.02, 0.4, *tilt.as_quat()],
                [0.3, 0, 0, 0.2, 0, 0.5, 0, 0, 0, *tilt.inv().apply([0.0, 0.0, -3.0])])
    before, energy = momentum(robot)
    touched = 0
    for _ in range(160):
        weightless(robot)
        robot.step(1e-3)
        touched += bool(robot.contact_forces)
    after, left = momentum(robot)
    assert touched and left < energy - 1.0 and robot.unresolved == 0
    # of about 8 and 0.3: bodies that turn are integrated in first order while they touch
    np.testing.assert_allclose(after[:3], before[:3], atol=0.08)
    np.testing.assert_allclose(after[3:], before[3:], atol=0.02)
    assert np.linalg.norm(robot.q[7:10] - robot.q[:3]) > 0.1        # neither is in the other


class Line(Prismatic):
    """Up and down."""

    def __init__(self):
        super().__init__((0.0, 0.0, 1.0))


@pytest.mark.parametrize(('kind', 'e'), [('rigid', 0.5), ('rigid', 0.0), ('soft', 0.6)])
def test_two_balls_bounce_by_the_formula(kind, e):
    """Head on, each leaves with the speed that momentum and restitution give."""
    reduced = 2.0 * 3.0 / 5.0
    surface = {'restitution': e} if kind == 'rigid' else {
        'damping': soft.damping_for(e, 2e4, reduced)}
    robot = simulated(kind, [Sphere(0.1), Sphere(0.1)], joint=Line, **surface)
    robot.place([0.0, 0.21], [1.0, -2.0])
    robot.push([[0.0] * 5 + [2.0 * G], [0.0] * 5 + [3.0 * G]])
    for _ in range(400):
        robot.step(1e-4)
    mean = (2.0 * 1.0 - 3.0 * 2.0) / 5.0
    np.testing.assert_allclose(
        robot.v, [mean - e * 3.0 * 3.0 / 5.0, mean + e * 3.0 * 2.0 / 5.0], atol=0.02)
    assert 2.0 * robot.v[0] + 3.0 * robot.v[1] == pytest.approx(-4.0, abs=1e-9)


STACK = """<mujoco><option timestep="0.001" cone="elliptic"/><default><geom friction="0.6 0 0"
solref="0.005 1"/></default><worldbody><geom type="plane" size="9 9 1"/>
<body pos="0 0 0.0501"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="2"/></body>
<body pos="{x} 0.02 0.1503"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="3"/></body>
</worldbody></mujoco>"""


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('kind', ['soft', 'rigid'])
@pytest.mark.parametrize('x', [0.0, 0.03])
def test_stack_of_two_boxes_rests_where_that_of_mujoco_does(kind, x):
    """Two equal boxes on each other, one set off: both within a millimetre after a second."""
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(STACK.format(x=x))
    data = mujoco.MjData(model)
    box = Box((0.2, 0.2, 0.1))
    robot = simulated(kind, [box, box], obstacles=(FLOOR,), backend='auto', damping=50.0)
    robot.place([0.0, 0.0, 0.0501, 0, 0, 0, 1, x, 0.02, 0.1503, 0, 0, 0, 1])
    for _ in range(1000):
        mujoco.mj_step(model, data)
        robot.step(1e-3)
    for k in (0, 7):
        np.testing.assert_allclose(robot.q[k:k + 3], data.qpos[k:k + 3], atol=1e-3)
        assert 2.0 * np.linalg.norm(robot.q[k + 3:k + 6]) < 5e-3        # rad: none has tipped
    assert np.abs(robot.v).max() < 5e-3 and robot.unresolved == 0
    on_floor = sum(c.force[2] for c in robot.contact_forces if c.obstacle == 'floor')
    between = sum(c.force[2] * (1 if c.body == 2 else -1) for c in robot.contact_forces
                  if c.obstacle != 'floor')
    assert on_floor == pytest.approx(5.0 * G, rel=1e-3)
    assert between == pytest.approx(3.0 * G, rel=1e-3)


# --- geometry -------------------------------------------------------------------------------


def area(polygon):
    """Return the area of a flat polygon in space, 0 for one without three corners."""
    corners = np.array(polygon).reshape(-1, 3)
    return 0.5 * np.linalg.norm(sum(np.cross(x, y) for x, y in zip(
        corners - corners.mean(axis=0), np.roll(corners, -1, axis=0) - corners.mean(axis=0)))
    ) if len(corners) > 2 else 0.0


@pytest.mark.parametrize('size', [0.02, 0.3, 5.0])
@pytest.mark.parametrize('seed', range(10))
def test_a_cut_leaves_two_parts_of_a_face(size, seed):
    """Of a box of any size: each part is on its side, and their areas are that of the face."""
    rng = np.random.default_rng(seed)
    R = Rotation.random(random_state=rng).as_matrix()
    face = [size * (R @ [x, 0.7 * y, 0.4]) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    normal = R @ np.append(rng.normal(size=2), 0.1)
    limit = float(normal @ (np.mean(face, axis=0) + size * R @ [*rng.uniform(-0.6, 0.6, 2), 0.0]))
    parts = [boxes.cut(face, sign * normal, sign * limit) for sign in (1.0, -1.0)]
    for sign, part in zip((1.0, -1.0), parts, strict=True):
        assert all(sign * (normal @ x - limit) <= 1e-12 * size for x in part)
        assert 0.0 < area(part) < area(face)
    assert sum(map(area, parts)) == pytest.approx(area(face), rel=1e-12)
    assert sum(map(len, parts)) == len(face) + 4     # both have the two corners of the cut


def placed(rng):
    """Return a random position and velocity of two free bodies near to each other."""
    q = [*rng.uniform(-0.05, 0.05, 3), *Rotation.random(random_state=rng).as_quat(),
         *(rng.uniform(-0.05, 0.05, 3) + [0.0, 0.0, 0.45]),
         *Rotation.random(random_state=rng).as_quat()]
    return np.array(q), rng.normal(size=12)


@pytest.mark.parametrize('solid', [Box((0.3, 0.2, 0.4)), Sphere(0.2), Capsule(0.1, 0.3)],
                         ids=lambda s: type(s).__name__)
def test_gaps_of_links_are_those_of_the_shapes(solid):
    """Closed forms of the shapes, of all pairs at once, and of the kernel: one distance."""
    model, rng = pair(), np.random.default_rng(1)
    links = [CollisionShape('one', 1, Sphere(0.1), p=np.array([0.02, 0.0, 0.01])),
             CollisionShape('two', 2, solid, Rotation.from_euler('x', 0.4).as_matrix(),
                            np.array([0.0, 0.03, 0.0]))]
    points = ContactPoints(links, [], between=BOTH)
    world = World('rigid', links, (), between=BOTH)
    system = ContactSystem(model, backend='python')
    for _ in range(10):
        q, v = placed(rng)
        m = system.motions(q, v)
        both = [Placed(each.shape, m.E[each.body].T @ each.R,
                       m.r[each.body] + m.E[each.body].T @ each.p) for each in links]
        nearest = min(touches(both[1], both[0]), key=lambda t: t.distance)
        gap = points.gap(0, m)
        assert gap.distance == pytest.approx(nearest.distance, abs=1e-9)
        assert points.distances(m)[0] == pytest.approx(gap.distance, abs=1e-12)
        np.testing.assert_allclose(gap.contact.direction, nearest.direction, atol=1e-7)
        X_0 = [Transform(Mat3(tuple(map(tuple, E.tolist()))), Vec3(*r))
               for E, r in zip(m.E, m.r, strict=True)]
        traced = gaps(world.pattern(), X_0, world.shape_inputs())[0]
        assert traced.distance == pytest.approx(gap.distance, abs=1e-12)
        np.testing.assert_allclose(list(X_0[2].E.transpose_times(traced.normal)),
                                   gap.contact.direction, atol=1e-9)


@pytest.mark.parametrize('solid', [Box((0.3, 0.2, 0.4)), Sphere(0.2), Capsule(0.1, 0.3)],
                         ids=lambda s: type(s).__name__)
def test_rates_of_a_contact_between_links(solid):
    """Distance, point and normal move as their rates say, also round edges and corners."""
    model, rng = pair(), np.random.default_rng(3)
    links = [CollisionShape('one', 1, Sphere(0.1)), CollisionShape('two', 2, solid)]
    points = ContactPoints(links, [], between=BOTH)
    system, space = ContactSystem(model, backend='python'), Coordinates(model)
    seen = set()
    for _ in range(20):
        q, v = placed(rng)
        gap = points.gap(0, system.motions(q, v))
        ahead, back = (points.gap(0, system.motions(
            space.integrate(q.tolist(), (s * v).tolist()), v)) for s in (1e-6, -1e-6))
        if ahead.feature != back.feature:
            continue
        seen.add(sum(map(abs, gap.feature)))
        for name in ('point', 'direction'):
            rate = (getattr(ahead.contact, name) - getattr(back.contact, name)) / 2e-6
            np.testing.assert_allclose(getattr(gap.contact, f'{name}_rate'), rate, atol=1e-6)
    assert len(seen) > 1 or not isinstance(solid, Box)


@pytest.mark.parametrize(('solid', 'place', 'distance'), [
    (Cylinder(0.1, 0.15), [0.4, 0.0, 0.0], 0.2), (Cylinder(0.1, 0.15), [0.0, 0.0, 0.4], 0.2),
    (Cylinder(0.1, 0.5), [0.4, 0.0, 0.0], 0.2), (Cylinder(0.1, 0.5), [0.0, 0.6, 0.0], 0.25),
], ids=['ring', 'ring across', 'long', 'end'])
def test_distance_from_a_cylinder_as_an_obstacle(solid, place, distance):
    """A lying cylinder, a ring of balls or a capsule inside, is exact at its sides and ends."""
    across, p = Rotation.from_euler('x', 90, degrees=True).as_matrix(), np.array([0.0, 0.0, 0.05])
    points = ContactPoints([CollisionShape('one', 1, Sphere(0.1)),
                            CollisionShape('two', 2, solid, across, p)], [], between=BOTH)
    q = [*(p + place), 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    m = ContactSystem(pair(), backend='python').motions(q, np.zeros(12))
    assert points.distances(m).min() == pytest.approx(distance, abs=1e-12)


def test_links_of_the_base_are_only_obstacles():
    """What cannot move has no balls: its pairs are those of the other link, once each."""
    box = Box((0.2, 0.2, 0.2))
    for fixed in (box, Sphere(0.1)):
        for names in (('one', 'two'), ('two', 'one')):
            points = ContactPoints([CollisionShape('one', 0, fixed),
                                    CollisionShape('two', 2, box)], [], between=[names])
            assert set(points.bodies.tolist()) == {2} and points.carriers == [0]
            assert len(points.pairs) == len(rounded_balls(box)[0])


@pytest.mark.parametrize('solid', [Sphere(0.2), Capsule(0.2, 0.3)], ids=['sphere', 'capsule'])
@pytest.mark.parametrize('apart', [0.35, 0.15])
def test_rates_of_a_contact_level_with_a_round_link(solid, apart):
    """A sphere is round along z where z is zero, a capsule is not; both inside as outside."""
    points = ContactPoints([CollisionShape('one', 1, Sphere(0.1)),
                            CollisionShape('two', 2, solid)], [], between=BOTH)
    model = pair()
    system, space = ContactSystem(model, backend='python'), Coordinates(model)
    q = [0.0] * 6 + [1.0, apart] + [0.0] * 5 + [1.0]
    v = np.random.default_rng(5).normal(size=12)
    gap = points.gap(0, system.motions(q, v))
    ahead, back = (points.gap(0, system.motions(space.integrate(q, (s * v).tolist()), v))
                   for s in (1e-6, -1e-6))
    assert ahead.feature == back.feature == gap.feature
    for name in ('point', 'direction'):
        rate = (getattr(ahead.contact, name) - getattr(back.contact, name)) / 2e-6
        np.testing.assert_allclose(getattr(gap.contact, f'{name}_rate'), rate, atol=1e-6)


def test_tangents_of_every_normal():
    """A right-handed frame for each direction, up and straight down among them."""
    rng = np.random.default_rng(0)
    for n in [*rng.normal(size=(50, 3)), [0, 0, 1.0], [0, 0, -1.0], [1.0, 0, 0], [0, 1.0, -1e-12]]:
        n = n / np.linalg.norm(n)
        x, y = (np.array(list(t)) for t in tangents(Vec3(*n)))
        np.testing.assert_allclose(np.column_stack([x, y, n]).T @ np.column_stack([x, y, n]),
                                   np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.cross(x, y), n, atol=1e-12)


# --- what cannot be -------------------------------------------------------------------------


def test_refusals():
    """Unknown links, links on one body, meshes, and links that start in each other."""
    shapes = [CollisionShape('one', 1, Sphere(0.1)), CollisionShape('two', 2, Sphere(0.1)),
              CollisionShape('tip', 2, Sphere(0.1)),
              CollisionShape('hull', 2, ConvexMesh(np.eye(3), 'hull.stl'))]
    for link, words in (('three', '"three" is to touch another one, but has no collision shape'),
                        ('tip', '"two" and "tip" are joined rigidly'),
                        ('hull', '"hull" is to touch another link with a ConvexMesh')):
        one = 'two' if link == 'tip' else 'one'
        with pytest.raises(SettingError, match=words):
            World('soft', shapes, (), between=[(one, link)])
    robot = simulated('soft', [Sphere(0.1), Sphere(0.1)])
    with pytest.raises(SettingError, match='body "one" starts 0.1 m inside "two"'):
        robot.place([0.0, 0.0, 0.0, 0, 0, 0, 1, 0.0, 0.0, 0.1, 0, 0, 0, 1])


def test_contacts_without_a_solution_are_counted():
    """A ball squeezed between floor and ceiling has no place to go: every such step is counted."""
    builder = ModelBuilder('ball')
    builder.add_body('ball', 'base', Line(), inertia=RigidInertia.from_com(
        2.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.02, 0.02, 0.02)))
    model = builder.build()
    ceiling = Obstacle('ceiling', Placed(Box((1.0, 1.0, 0.1)), np.eye(3), np.array([0, 0, 0.249])))
    shape = [CollisionShape('ball', 1, Sphere(0.1))]
    robot = SimulatedRobot(model, world=World('rigid', shape, (FLOOR, ceiling)), backend='python')
    robot.place([0.0995])
    for k in range(3):
        robot.step(1e-3)
        assert robot.contact_residual > UNSOLVED
        assert robot.unresolved == robot.unsolved_contacts == k + 1
    free = SimulatedRobot(model, world=World('rigid', shape, (FLOOR,)), backend='python')
    free.place([0.0995])
    free.step(1e-3)
    assert free.contact_forces and free.contact_residual < UNSOLVED
    assert free.unresolved == free.unsolved_contacts == 0
