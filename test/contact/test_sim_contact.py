# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Contact in the simulated robot: soft and rigid worlds, scenes, by hand."""

from __future__ import annotations

from dataclasses import replace
import itertools
import math

from linted import ROOT
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf, ModelBuilder
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import ModelError, SettingError
from rbd_ros.joints import Free, Prismatic
from rbd_ros.model.collision_shapes import Box, CollisionShape, HalfSpace, Sphere
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim import Physics, Settings, SimulatedRobot
from rbd_ros.sim.contact import pattern
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.impulses import NEAR
from rbd_ros.sim.contact.points import nearest_on_box
from rbd_ros.sim.contact.rigid_world import ROOM
from rbd_ros.sim.contact.world import Obstacle, read_scene, Surface, World
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

G = 9.81
FLOOR = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))


def thing(joint, shape, kind, obstacles=(FLOOR,), mass=2.0, integrator='rk4', backend='python',
          **surface):
    """Return one body in a world."""
    inertia = RigidInertia.from_com(mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[0.02] * 3))
    builder = ModelBuilder('thing')
    builder.add_body('thing', 'base', joint, inertia=inertia)
    model = builder.build()
    world = World(kind, [CollisionShape('thing', 1, shape)], obstacles, Surface(**surface))
    return SimulatedRobot(model, physics=Physics.of(model, integrator=integrator), world=world,
                          backend=backend)


UP = Prismatic((0.0, 0.0, 1.0))
REST = [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize('kind', ['soft', 'rigid'])
def test_ball_comes_to_rest_on_its_weight(kind):
    """Dropped on the floor, the force is its weight; a soft floor is dented by m g / K."""
    robot = thing(UP, Sphere(0.1), kind)
    robot.place([0.15])
    for _ in range(1500):
        robot.step(1e-3)
    force, = robot.contact_forces
    assert force.obstacle == 'floor' and force.body == 1
    np.testing.assert_allclose(force.force, [0.0, 0.0, 2.0 * G], atol=1e-6)
    depth = 2.0 * G / 2e4 if kind == 'soft' else 0.0
    assert robot.q[0] == pytest.approx(0.1 - depth, abs=1e-6)


@pytest.mark.parametrize('restitution', [0.0, 0.5])
def test_however_fast_a_ball_comes_it_does_not_sink_in(restitution):
    """2 to 300 m/s, any height, 0.1 to 5 ms: at no end of a step below a rigid surface."""
    robot, rng = thing(UP, Sphere(0.1), 'rigid', restitution=restitution), np.random.default_rng(0)
    for _ in range(40):
        speed, h = 10.0**rng.uniform(0.3, 2.5), 10.0**rng.uniform(-4.0, -2.3)
        robot.place([0.1 + rng.uniform(0.0, 3.0) * speed * h], [-speed])
        deepest = 0.0
        for _ in range(6):
            robot.step(h)
            deepest = max(deepest, 0.1 - robot.q[0])
        assert deepest < 1e-6, (speed, h)


def test_more_contacts_than_there_is_room_for_at_first():
    """Three thin plates under one body touch at all their corners, and carry its weight."""
    builder = ModelBuilder('plates')
    builder.add_body('plates', 'base', UP, inertia=RigidInertia.from_com(
        2.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.02, 0.02, 0.02)))
    model = builder.build()
    shapes = [CollisionShape('plates', 1, Box((0.2, 0.2, 0.004)), p=np.array([x, 0.0, 0.0]))
              for x in (-0.3, 0.0, 0.3)]
    world = World('rigid', shapes, (FLOOR,))
    robot = SimulatedRobot(model, world=world)
    robot.place([0.05])
    for _ in range(200):
        robot.step(1e-3)
    near = world.points.distances(ContactSystem(model).motions(robot.q, robot.v)) < NEAR
    assert near.sum() == 24 > ROOM and robot.unresolved == 0
    assert robot.q[0] == pytest.approx(0.002, abs=1e-6)
    assert sum(each.force[2] for each in robot.contact_forces) == pytest.approx(
        2.0 * G, abs=1e-3)


@pytest.mark.parametrize(('integrator', 'bound'), [('rk4', 1e-3), ('semi_implicit', 5e-3)])
def test_a_bouncing_ball_keeps_its_energy(integrator, bound):
    """With restitution 1 it comes back to where it was dropped, four times."""
    robot = thing(UP, Sphere(0.1), 'rigid', integrator=integrator, restitution=1.0)
    robot.place([0.4])
    for _ in range(2200):
        robot.step(1e-3)
        energy = G * (robot.q[0] - 0.1) + 0.5 * robot.v[0]**2
        assert energy == pytest.approx(G * 0.3, rel=bound)


@pytest.mark.parametrize('seed', range(4))
def test_balls_that_nearly_touch_collide_one_after_the_other(seed):
    """
    Five equal balls in a row pass an impact on, whatever is between them: the last one leaves.

    So do unequal ones, by the law of two balls again and again. All of it is within a step or two.
    """
    rng = np.random.default_rng(seed)
    mass = np.ones(5) if seed < 2 else rng.uniform(0.5, 2.0, size=5)
    builder, radius = ModelBuilder('row'), 0.05
    for k, m in enumerate(mass):
        builder.add_body(f'ball_{k}', 'base', Prismatic((1.0, 0.0, 0.0)),
                         inertia=RigidInertia.from_com(
                             m, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.001, 0.001, 0.001)))
    world = World(
        'rigid', [CollisionShape(f'ball_{k}', k + 1, Sphere(radius)) for k in range(5)], (),
        Surface(restitution=1.0), between=[(f'ball_{k}', f'ball_{k + 1}') for k in range(4)])
    robot = SimulatedRobot(builder.build(), world=world, backend='python')
    robot.physics = replace(robot.physics, mass_scale=1.0 + seed)       # changes nothing
    gaps = 10.0**rng.uniform(-5.0, -3.3, size=4)
    q = np.concatenate([[0.0], np.cumsum(2.0 * radius + gaps)])
    robot.place(q, [1.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(5):
        before = robot.v
        robot.step(1e-3)
        pushed = np.zeros(5)                            # what is reported is the mean of the step
        for each in robot.contact_forces:
            pushed[each.body - 1] += each.force[0]
            pushed[int(each.obstacle[-1])] -= each.force[0]
        np.testing.assert_allclose(
            (1.0 + seed) * mass * (robot.v - before), 1e-3 * pushed, atol=1e-9)
    start = q - 2.0 * radius * np.arange(5)
    x, after = row_after(mass, start, 5e-3)
    np.testing.assert_allclose(robot.v, after, atol=1e-5)
    # contacts that collide in a step bounce at its beginning
    np.testing.assert_allclose(robot.q - 2.0 * radius * np.arange(5), x, atol=1e-3)
    if seed < 2:
        np.testing.assert_allclose(after, [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-12)


def row_after(mass, x, time):
    """Return places and velocities of points on a line after a time; the first starts with 1."""
    x, v = x.copy(), np.eye(5)[0]
    while True:
        rate = v[:-1] - v[1:]
        with np.errstate(divide='ignore', invalid='ignore'):
            due = np.where(rate > 0.0, np.maximum(np.diff(x), 0.0) / rate, np.inf)
        k = int(np.argmin(due))
        if due[k] > time:
            return x + time * v, v
        time, x = time - due[k], x + due[k] * v
        push = 2.0 * rate[k] / (1.0 / mass[k] + 1.0 / mass[k + 1])
        v[k], v[k + 1] = v[k] - push / mass[k], v[k + 1] + push / mass[k + 1]


def test_rigid_floor_gives_back_its_restitution():
    """Half the speed comes back; below the rest speed none does."""
    robot = thing(UP, Sphere(0.1), 'rigid', restitution=0.5)
    robot.place([0.2])
    speeds = []
    for _ in range(900):
        before = robot.v[0]
        robot.step(1e-3)
        if before < -0.05 and robot.v[0] > 0.0:
            speeds.append(robot.v[0] / -before)
    assert speeds[0] == pytest.approx(0.5, abs=0.02) and len(speeds) >= 2
    assert robot.q[0] == pytest.approx(0.1, abs=1e-4) and abs(robot.v[0]) < 1e-6


@pytest.mark.parametrize(('kind', 'angle'), [('soft', 0.3), ('rigid', 0.3), ('soft', 0.6)])
def test_block_sticks_or_slides_on_a_slope(kind, angle):
    """Friction 0.5: it stays at 0.3 rad, and slides with g (sin - mu cos) at 0.6 rad."""
    tilt = Rotation.from_euler('y', angle).as_matrix()
    slope = Obstacle('slope', Placed(HalfSpace(), tilt, np.zeros(3)))
    robot = thing(Free(), Box((0.2, 0.2, 0.1)), kind, (slope,), friction=0.5)
    down, out = tilt[:, 0], tilt[:, 2]
    start = out * 0.0501
    robot.place([*start, *Rotation.from_matrix(tilt).as_quat()])
    for _ in range(300):
        robot.step(1e-3)
    early = robot.q[:3] @ down
    robot_v = Rotation.from_quat(robot.q[3:]).as_matrix() @ robot.v[3:] @ down
    for _ in range(200):
        robot.step(1e-3)
    speed = Rotation.from_quat(robot.q[3:]).as_matrix() @ robot.v[3:] @ down
    if angle < math.atan(0.5):
        assert abs(speed) < 1e-3 and abs(robot.q[:3] @ down - early) < 1e-4
    else:
        expected = G * (math.sin(angle) - 0.5 * math.cos(angle))
        assert (speed - robot_v) / 0.2 == pytest.approx(expected, rel=0.01)


def test_scaled_masses_move_the_same_and_press_more():
    """A block that falls on a slope and slides: friction follows the weight, inertia too."""
    tilt = Rotation.from_euler('y', 0.6).as_matrix()
    slope = Obstacle('slope', Placed(HalfSpace(), tilt, np.zeros(3)))
    found = []
    for scale in (1.0, 3.0):
        robot = thing(Free(), Box((0.2, 0.2, 0.1)), 'rigid', (slope,), friction=0.3)
        robot.physics = replace(robot.physics, mass_scale=scale)
        robot.place([*(tilt[:, 2] * 0.051), *Rotation.from_matrix(tilt).as_quat()])
        for _ in range(60):
            robot.step(1e-3)
        force = sum(each.force for each in robot.contact_forces)
        found.append((robot.q, robot.v, force / scale))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert force @ tilt[:, 2] == pytest.approx(3.0 * 2.0 * G * math.cos(0.6), rel=1e-3)


def test_contact_with_a_box_and_its_edge():
    """A ball on a table stays there; on its edge it rolls off; the wall of a box pushes aside."""
    table = Obstacle('table', Placed(Box((1.0, 1.0, 0.2)), np.eye(3), np.zeros(3)))
    robot = thing(Free(), Sphere(0.1), 'soft', (table,))
    robot.place([0.2, 0.1, 0.201, *REST])
    for _ in range(400):
        robot.step(1e-3)
    force, = robot.contact_forces
    assert force.obstacle == 'table' and force.force[2] == pytest.approx(2.0 * G, rel=1e-3)
    robot.place([0.55, 0.0, 0.2, *REST])
    for _ in range(500):
        robot.step(1e-3)
    assert robot.q[0] > 0.6 and robot.q[2] < 0.1
    robot.place([0.605, 0.0, 0.0, *REST], [0, 0, 0, -1.0, 0, 0])
    for _ in range(40):
        robot.step(1e-3)
    assert robot.v[3] > 0.0                     # thrown back by the side


@pytest.mark.parametrize('kind', ['soft', 'rigid'])
def test_energy_of_a_bouncing_block_never_grows(kind):
    """A tumbling box on a floor with friction only loses energy between two steps apart."""
    robot = thing(Free(), Box((0.2, 0.3, 0.1)), kind, restitution=0.5)
    robot.place([0.0, 0.0, 0.4, *Rotation.from_euler('xyz', [0.4, 0.3, 0.2]).as_quat()],
                [1.0, 2.0, 0.5, 0.5, 0.0, 0.0])

    def energy():
        v = robot.v
        rate = v[3:]
        return 0.5 * 2.0 * rate @ rate + 0.5 * 0.02 * v[:3] @ v[:3] + 2.0 * G * robot.q[2]
    start = last = energy()
    for k in range(1500):
        robot.step(1e-3)
        if k % 50 == 49 and not robot.contact_forces:
            assert energy() <= last + 0.02
            last = energy()
    assert 0.04 < robot.q[2] < 0.16 and energy() < 0.8 * start and robot.unresolved == 0


def test_arm_falls_on_a_rigid_floor():
    """
    Every step is solved, nearly all without sweeps; no rebound, no energy, statics at rest.

    While it slides, four contacts on three links depend on each other. With guesses that wander
    among their forces, steps take some 400 sweeps, and hundreds of milliseconds.
    """
    path = ROOT / 'urdf' / 'seven_joint_arm.urdf'
    model = load_urdf(path)
    floor = read_scene('floor: 0.1')
    world = World('rigid', load_collisions(path, model), floor)
    robot, dynamics = SimulatedRobot(model, world=world), Dynamics(model)
    robot.place([0.0, 1.0, 0.0, -0.3, 0.0, 0.3, 0.0])
    system, energies, depths = ContactSystem(model), [], []
    for k in range(1500):
        robot.step(1e-3)
        energies.append(dynamics.kinetic_energy(robot.q, robot.v)
                        + dynamics.potential_energy(robot.q))
        if k % 5 == 0:
            depths.append(-world.points.distances(system.motions(robot.q, robot.v)).min())
    assert robot.contact_sweeps < 300 and robot.unresolved == 0
    assert max(depths) < 1e-4 and abs(depths[-1]) < 1e-4
    assert np.diff(energies).max() < 1e-9 and energies[-1] < energies[0] - 20.0
    assert np.abs(robot.v).max() < 1e-6
    J = system.motions(robot.q, robot.v).J
    carried = sum(J[c.body].T @ np.concatenate([np.cross(c.point, c.force), c.force])
                  for c in robot.contact_forces)
    np.testing.assert_allclose(carried + robot.joint_torque, dynamics.gravity(robot.q), atol=1e-4)


# --- scenes and refusals --------------------------------------------------------------------

SCENE = """
floor: -0.1
boxes:
  - {name: table, size: [0.8, 0.6, 0.05], position: [0.6, 0.0, 0.2]}
  - {size: [0.1, 0.1, 0.1], position: [0, 1, 0], rpy: [0, 0, 1.5707963267948966]}
"""


def test_scene_is_read():
    """A floor and boxes, with names and places."""
    floor, table, box = read_scene(SCENE)
    assert floor.placed.p.tolist() == [0.0, 0.0, -0.1] and table.name == 'table'
    assert table.placed.shape == Box((0.8, 0.6, 0.05)) and box.name == 'box_1'
    np.testing.assert_allclose(box.placed.R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(('text', 'reason'), [
    ('floor: [', 'is not YAML'),
    ('- 1', 'must hold "floor"'),
    ('walls: []', '"walls" is unknown; a scene may hold "floor"'),
    ('floor: high', 'floor is'),
    ('boxes: [{size: [1, 1], position: [0, 0, 0]}]', 'size of "box_0"'),
    ('boxes: [{size: [1, 1, 1], position: [0, 0, .nan]}]', 'position of "box_0"'),
    ('boxes: [{size: [1, 1, 1], color: red}]', 'box 0 may hold'),
    ('boxes: 3', 'boxes is 3; it must be a list'),
    ('{floor: 0, boxes: [{name: floor, size: [1, 1, 1], position: [0, 0, 2]}]}',
     'two obstacles are called "floor"'),
])
def test_bad_scenes_say_what_is_wrong(text, reason):
    """The entry, what it is, and what it should be."""
    with pytest.raises(SettingError, match=reason):
        read_scene(text)


def test_world_of_the_settings(tmp_path):
    """Parameters make the world of the built-in arm, from its collision shapes and a scene."""
    text = (ROOT / 'urdf' / 'seven_joint_arm.urdf').read_text()
    model = load_urdf(text)
    assert Settings({}).world(text, model) is None
    scene = tmp_path / 'scene.yaml'
    scene.write_text(SCENE)
    world = Settings({'contact': 'rigid', 'scene_file': str(scene), 'contact_friction': 0.3}
                     ).world(text, model)
    assert world.kind == 'rigid' and world.surface.friction == 0.3
    assert [each.name for each in world.obstacles] == ['floor', 'table', 'box_1']
    assert set(world.points.bodies.tolist()) == set(range(1, 8))
    with pytest.raises(SettingError, match='contact is "hard"'):
        Settings({'contact': 'hard'})
    with pytest.raises(ModelError, match='"/no/scene.yaml" not found'):
        Settings({'contact': 'soft', 'scene_file': '/no/scene.yaml'}).world(text, model)


@pytest.mark.seed('RBDA 11-24')
def test_traced_distance_is_that_of_the_box():
    """Outside, inside, at every face: normal and distance of the kernel are those of NumPy."""
    rng = np.random.default_rng(2)
    half = np.array([0.2, 0.3, 0.1])
    R, p = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    row = [*R.ravel(), *p, *half]
    for x in rng.uniform(-0.45, 0.45, size=(60, 3)):
        normal, distance = pattern.nearest(Vec3(*(p + R @ x)), row, 'box')
        expected, depth, _ = nearest_on_box(x, half)
        assert distance == pytest.approx(depth, abs=1e-12)
        np.testing.assert_allclose(list(normal), R @ expected, atol=1e-9)
    for axis, sign in itertools.product(range(3), (-1.0, 1.0)):
        x = np.array([0.01, -0.02, 0.015])
        x[axis] = sign * (half[axis] - 0.03)                # 0.03 m below one face
        normal, distance = pattern.nearest(Vec3(*(p + R @ x)), row, 'box')
        assert distance == pytest.approx(-0.03, abs=1e-12)
        np.testing.assert_allclose(list(normal), sign * R[:, axis], atol=1e-12)
        normal, depth, feature = nearest_on_box(x, half)
        assert depth == pytest.approx(-0.03, abs=1e-12)
        assert tuple(normal) == feature == tuple(sign * (np.arange(3) == axis))


@pytest.mark.parametrize(('x', 'normal', 'distance'), [
    ([0.0, 0.5, 0.1], [0.0, 1.0, 0.0], 0.4), ([0.0, 0.0, -0.6], [0.0, 0.0, -1.0], 0.2),
    ([0.3, 0.0, 0.7], [0.6, 0.0, 0.8], 0.4), ([0.0, 0.0, 0.25], [1.0, 0.0, 0.0], -0.1)])
def test_traced_distance_is_that_of_a_capsule(x, normal, distance):
    """Beside it, beyond its ends, and on its axis, where any direction across it will do."""
    R, p = Rotation.from_euler('xyz', [0.3, -0.7, 1.1]).as_matrix(), np.array([0.4, -0.2, 0.9])
    found, gap = pattern.nearest(
        Vec3(*(p + R @ x)), [*R.ravel(), *p, 0.1, 0.1, 0.3], 'capsule')
    assert gap == pytest.approx(distance, abs=1e-12)
    if distance > 0.0:
        np.testing.assert_allclose(list(found), R @ normal, atol=1e-12)
    assert np.linalg.norm(list(found)) == pytest.approx(1.0) and abs(
        np.dot(list(found), R[:, 2]) - normal[2]) < 1e-6


def test_refusals():
    """Overlapping starts, negative stiffness, empty worlds, and soft contact without its step."""
    robot = thing(UP, Sphere(0.1), 'soft')
    with pytest.raises(SettingError, match='body "thing" starts 0.05 m inside "floor"'):
        robot.place([0.05])
    with pytest.raises(SettingError, match='stiffness is -1'):
        Surface(stiffness=-1.0)
    with pytest.raises(SettingError, match='friction is -1'):
        Surface(friction=-1.0)
    with pytest.raises(SettingError, match='restitution is 2'):
        Surface(restitution=2.0)
    with pytest.raises(SettingError, match='nothing can touch'):
        World('soft', [], [FLOOR])
    with pytest.raises(SettingError, match='soft or rigid'):
        World('hard', [], [FLOOR])
    with pytest.raises(SettingError, match='part of the compiled step'):
        SimulatedRobot(robot.model, lambda *_: np.zeros(1), world=robot.world)


@pytest.mark.parametrize('kind', ['soft', 'rigid'])
def test_every_back_end_takes_the_same_steps(kind):
    """Uncompiled, as Python and as machine code: a ball that falls on the floor and slides."""
    found = []
    for backend in ('reference', 'python', 'auto'):
        robot = thing(Free(), Sphere(0.1), kind, integrator='semi_implicit', backend=backend)
        robot.place([0.0, 0.0, 0.101, *REST], [0.0, 0.0, 0.0, 1.0, 0.0, -0.5])
        for _ in range(8):
            robot.step(0.001)
        assert abs(robot.v[5] + 0.5) > 0.1          # it has touched
        found.append(np.concatenate([robot.q, robot.v]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)
    np.testing.assert_allclose(found[2], found[0], atol=1e-9)
