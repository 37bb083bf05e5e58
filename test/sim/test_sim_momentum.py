# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Bodies whose axes turn: momentum and energy of the semi-implicit rule, alone and in contact."""

import math

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf, ModelBuilder
from rbd_ros.joints import (
    Composite, Free, Planar, Prismatic, Revolute, Spherical, Translation)
from rbd_ros.model.collision_shapes import CollisionShape, HalfSpace, Sphere
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.samples.families import random_inertia, random_transform
from rbd_ros.sim import Coordinates, Physics, SimulatedRobot
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.world import Obstacle, Surface, World
from rbd_ros.sim.steps import adaptive
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

pytestmark = pytest.mark.slow

G, MASS, RADIUS = 9.81, 2.0, 0.1
FLOOR = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))


def body(joint, moments, centre=(0.0, 0.0, 0.0), gravity=0.0):
    """Return one body of 2 kg."""
    inertia = RigidInertia.from_com(MASS, Vec3(*centre), Sym3.diagonal(*moments))
    return (ModelBuilder('body', gravity=(0.0, 0.0, -gravity))
            .add_body('body', 'base', joint, inertia=inertia).build())


def smooth(model, integrator='semi_implicit', **options):
    """Return a robot without friction, damping and stops."""
    free = {'lower': np.full(model.nv, -math.inf), 'upper': np.full(model.nv, math.inf)}
    return SimulatedRobot(model, physics=Physics.of(
        model, friction=0.0, damping=0.0, integrator=integrator, **free), **options)


def rolling(kind, integrator, **options):
    """Return a ball that rolls along x at 2 m/s without slip."""
    model = body(Free(), [0.4 * MASS * RADIUS**2] * 3, gravity=G)
    world = World(kind, [CollisionShape('body', 1, Sphere(RADIUS))], [FLOOR],
                  Surface(friction=0.8, stiffness=2e4))
    robot = smooth(model, integrator, world=world, **options)
    depth = MASS * G / 2e4 if kind == 'soft' else 0.0
    robot.place([0.0, 0.0, RADIUS - depth, 0.0, 0.0, 0.0, 1.0],
                [0.0, 2.0 / RADIUS, 0.0, 2.0, 0.0, 0.0])
    return robot


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('kind', ['soft', 'rigid'])
@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_a_ball_rolls_on_at_its_speed(kind, integrator):
    """After a second it has gone 2 m at 2 m/s, spinning at v / r: nothing slows or drives it."""
    robot = rolling(kind, integrator)
    for _ in range(1000):
        robot.step(1e-3)
    assert np.linalg.norm(robot.v[3:]) == pytest.approx(2.0, abs=1e-9)
    assert robot.v[:3] == pytest.approx([0.0, 20.0, 0.0], abs=1e-8)
    # A soft patch takes a moment to reach its shift: a few micrometres.
    assert robot.q[:2] == pytest.approx([2.0, 0.0], abs=1e-5)


def test_a_ball_rolls_as_in_mujoco():
    """Thrown flat on the floor without spin, it slides, then rolls at 5/7 of its speed."""
    mujoco = pytest.importorskip('mujoco')
    xml = f"""<mujoco><option timestep="0.001" cone="elliptic" gravity="0 0 {-G}"/>
    <worldbody><geom type="plane" size="9 9 1" friction="0.3 0 0"/>
    <body pos="0 0 {RADIUS}"><freejoint/><geom type="sphere" size="{RADIUS}" mass="{MASS}"
    friction="0.3 0 0"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qvel[:] = [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    robot = rolling('rigid', 'rk4')
    world = World('rigid', [CollisionShape('body', 1, Sphere(RADIUS))], [FLOOR],
                  Surface(friction=0.3))
    robot = smooth(robot.model, 'rk4', world=world)
    robot.place([0.0, 0.0, RADIUS, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    for _ in range(800):
        mujoco.mj_step(model, data)
        robot.step(1e-3)
    assert np.linalg.norm(robot.v[3:]) == pytest.approx(10.0 / 7.0, rel=1e-6)
    assert robot.q[0] == pytest.approx(data.qpos[0], rel=2e-3)


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('joint, centre, v', [
    (Free(), (0.0, 0.0, 0.0), [20.0, 15.0, 1.0, 0.3, 0.2, 0.1]),
    (Free(), (0.1, 0.05, -0.02), [20.0, 15.0, 1.0, 0.3, 0.2, 0.1]),
    (Planar((0.0, 0.0, 1.0)), (0.1, 0.05, 0.0), [25.0, 1.0, 0.3]),
    (Spherical(), (0.1, 0.05, -0.02), [20.0, 15.0, 1.0])], ids=lambda x: str(x)[:20])
def test_a_spinning_box_keeps_momentum_and_energy(joint, centre, v):
    """Ten seconds at 25 rad/s: momentum to rounding, energy to 1e-6, whatever axis it nears."""
    model = body(joint, (0.01, 0.02, 0.025), centre)
    robot, dynamics = smooth(model), Dynamics(model)
    robot.place(robot.q, v)
    momentum, energy = dynamics.momentum(robot.q, robot.v), dynamics.kinetic_energy(robot.q, v)
    for k in range(10_000):
        robot.step(1e-3)
        if k % 500 == 0:
            now = dynamics.kinetic_energy(robot.q, robot.v)
            assert now == pytest.approx(energy, rel=1e-6)
    found = dynamics.momentum(robot.q, robot.v)
    kept = slice(3) if isinstance(joint, Spherical) else slice(6)   # its pivot takes forces
    assert found[kept] == pytest.approx(momentum[kept], abs=1e-10 * np.linalg.norm(momentum))


def test_a_thrown_box_follows_its_parabola():
    """Spin does not bend the path of the centre of mass; the rule itself is g h t / 2 off."""
    model = body(Free(), (0.01, 0.02, 0.025), (0.1, 0.0, 0.05), gravity=G)
    robot, dynamics = smooth(model), Dynamics(model)
    robot.place(robot.q, [3.0, 25.0, 1.0, 1.0, 0.0, 2.0])
    start, h = dynamics.center_of_mass(robot.q), 1e-3
    push = dynamics.momentum(robot.q, robot.v)[3:] / MASS
    for _ in range(500):
        robot.step(h)
    t = 0.5
    expected = start + push * t + [0.0, 0.0, -0.5 * G * t * (t + h)]
    assert dynamics.center_of_mass(robot.q) == pytest.approx(expected, abs=1e-11)


def tree(seed):
    """Return two free trees with ball, planar and free joints and hinges further up."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(f'trees {seed}', gravity=(0.0, 0.0, 0.0))
    kinds = (Spherical, Revolute, Free, Planar)
    for side, count in (('a', 3), ('b', 2)):
        before = 'base'
        for k in range(count):
            joint = Free() if k == 0 else kinds[int(rng.integers(4))]()
            builder.add_body(f'{side}{k}', before, joint, random_transform(rng),
                             random_inertia(rng))
            before = f'{side}{k}'
    return builder.build()


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('seed', range(2))
def test_trees_in_flight_keep_their_momentum(seed):
    """Torques inside do not change the momentum of each tree; halved steps halve the error."""
    model, rng = tree(seed), np.random.default_rng(seed)
    robot, dynamics = smooth(model, backend='python'), Dynamics(model, backend='python')
    torque, v = np.zeros(model.nv), rng.uniform(-3.0, 3.0, model.nv)
    for name in ('a1', 'a2', 'b1'):
        at = model.velocity_slice(model.joint_names[model.body_index(name) - 1])
        torque[at] = rng.uniform(-0.3, 0.3, at.stop - at.start)

    def flight(robot, steps):
        robot.place(robot.q * 0.0 + Coordinates(model).neutral(), v)
        robot.command(torque)
        before = dynamics.momentum(robot.q, robot.v)
        for _ in range(steps):
            robot.step(0.1 / steps)
        assert dynamics.momentum(robot.q, robot.v) == pytest.approx(
            before, abs=1e-11 * np.abs(before).max())
        return np.concatenate([robot.q, robot.v])
    states = [flight(robot, steps) for steps in (100, 200, 400)]
    sizes = [np.linalg.norm(a - b) for a, b in zip(states, states[1:])]
    assert sizes[0] / sizes[1] == pytest.approx(2.0, rel=0.1)
    path = adaptive.integrate(
        Coordinates(model), lambda q, qd: dynamics.forward_dynamics(q, qd, torque),
        Coordinates(model).neutral(), v, 0.1)
    # Extrapolated to no step at all it is what adaptive steps of order 5 find.
    limit = 2.0 * states[2] - states[1]
    assert limit == pytest.approx(np.concatenate([path.q[-1], path.v[-1]]), abs=0.1 * sizes[1])


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('first', [
    (Translation(),), [Prismatic(axis) for axis in ((0.0, 0.6, 0.8), (1.0, 0.0, 0.0),
                                                    (0.0, 0.8, -0.6))]])
def test_a_ball_on_translations_keeps_momentum_and_energy(first):
    """A free body may be translations and a ball joint in series, too."""
    model = body(Composite((*first, Spherical())), (0.01, 0.02, 0.025), (0.1, 0.0, 0.0))
    robot, dynamics = smooth(model), Dynamics(model)
    robot.place(robot.q, [0.3, 0.2, 0.1, 20.0, 15.0, 1.0])
    before = dynamics.momentum(robot.q, robot.v)
    energy = dynamics.kinetic_energy(robot.q, robot.v)
    for _ in range(1000):
        robot.step(1e-3)
    assert dynamics.momentum(robot.q, robot.v) == pytest.approx(before, abs=1e-11)
    assert dynamics.kinetic_energy(robot.q, robot.v) == pytest.approx(energy, rel=1e-6)


def test_a_quadruped_in_the_air():
    """Legs that kick and hit their stops leave its momentum alone; gravity alone changes it."""
    path = find_resource('package://example-robot-data/robots/go2_description/urdf/go2.urdf')
    model = load_urdf(path.read_text(), floating_base=True, on_warning=lambda text: None)
    friction = np.concatenate([np.zeros(6), np.full(12, 0.2)])
    robot, dynamics = SimulatedRobot(model, physics=Physics.of(
        model, friction=friction, integrator='semi_implicit')), Dynamics(model)
    rng = np.random.default_rng(4)
    q = np.array(Coordinates(model).neutral())
    q[2], q[7:] = 1.0, np.tile([0.0, 0.8, -1.5], 4)
    robot.place(q, np.concatenate([[1.0, 4.0, -2.0, 0.5, 0.0, 1.0], rng.normal(size=12)]))
    before = dynamics.momentum(robot.q, robot.v)[3:]
    spin = about_centre(dynamics, robot)
    for k in range(300):
        if k % 50 == 0:
            robot.command(np.concatenate([np.zeros(6), rng.uniform(-20.0, 20.0, 12)]))
        robot.step(1e-3)
    mass = sum(inertia.m for inertia in model.inertia[1:])
    after = dynamics.momentum(robot.q, robot.v)[3:]
    assert after - before == pytest.approx([0.0, 0.0, -0.3 * G * mass], abs=1e-9)
    assert about_centre(dynamics, robot) == pytest.approx(spin, abs=2e-3)


def about_centre(dynamics, robot):
    """Return the angular momentum about the centre of mass."""
    h = dynamics.momentum(robot.q, robot.v)
    return h[:3] - np.cross(dynamics.center_of_mass(robot.q), h[3:])


def test_brakes_hold_a_ball_joint_at_rest():
    """A braked ball joint on a turning body has exactly no velocity and stays where it is."""
    rng = np.random.default_rng(1)
    model = (ModelBuilder('held', gravity=(0.0, 0.0, 0.0))
             .add_body('trunk', 'base', Free(), inertia=random_inertia(rng))
             .add_body('arm', 'trunk', Spherical(), random_transform(rng), random_inertia(rng))
             .build())
    robot = smooth(model)
    robot.place(robot.q, [5.0, 3.0, 1.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    robot.brake([False] * 6 + [True] * 3)
    dynamics, start = Dynamics(model), robot.q[7:]
    before = dynamics.momentum(robot.q, robot.v)
    for _ in range(200):
        robot.step(1e-3)
    assert not robot.v[6:].any() and (robot.q[7:] == start).all()
    assert dynamics.momentum(robot.q, robot.v) == pytest.approx(before, abs=1e-11)


def test_dynamics_of_your_own_keep_momentum_too():
    """The step in plain Python around given forward dynamics is the same rule."""
    model = body(Free(), (0.01, 0.02, 0.025), (0.1, 0.0, 0.0))
    dynamics = Dynamics(model)
    v = [20.0, 15.0, 1.0, 0.3, 0.2, 0.1]
    ends = []
    for options in ({}, {'forward_dynamics': dynamics.forward_dynamics}):
        robot = smooth(model, **options)
        robot.place(robot.q, v)
        for _ in range(20):
            robot.step(1e-3)
        ends.append(np.concatenate([robot.q, robot.v]))
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-11)
