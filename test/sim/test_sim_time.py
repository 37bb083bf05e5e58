# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints that move with time, in a simulation."""

import math

import numpy as np
import pytest
from rbd_ros import Dynamics, ModelBuilder
from rbd_ros.compiler import cos, sin
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import SettingError
from rbd_ros.joints import Prescribed, Prismatic, Revolute
from rbd_ros.model.collision_shapes import Box, CollisionShape, HalfSpace, Sphere
from rbd_ros.sim import Frames, Physics, SimulatedRobot
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.event_driven import EventSimulation
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.contact.world import Obstacle, Surface, World
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from scipy.integrate import solve_ivp

G, LENGTH, STROKE, RATE, SINK = 9.81, 0.6, 0.4, 3.0, 0.5


def swing(t):
    """Return position, velocity and acceleration of the cart."""
    x, v, a = sin(RATE * t), cos(RATE * t), sin(RATE * t)
    return [STROKE * x], [STROKE * RATE * v], [-STROKE * RATE**2 * a]


def sink(t):
    """Return position, velocity and acceleration of a lift that goes down."""
    return [-SINK * t], [-SINK], [0.0]


def driven_pendulum():
    """Return a point mass on a rod below a cart that goes to and fro."""
    mass = RigidInertia.from_com(2.0, Vec3(0.0, 0.0, -LENGTH), Sym3.diagonal(0.0, 0.0, 0.0))
    nothing = RigidInertia.from_com(1.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.1, 0.1, 0.1))
    return (ModelBuilder('driven')
            .add_body('cart', 'base', Prescribed(Prismatic((1.0, 0.0, 0.0)), swing),
                      inertia=nothing)
            .add_body('rod', 'cart', Revolute((0.0, -1.0, 0.0)), inertia=mass).build())


@pytest.mark.parametrize('integrator, error', [('rk4', 1e-9), ('semi_implicit', 1e-2)])
def test_a_pendulum_follows_its_cart(integrator, error):
    """The pivot shakes the pendulum as in its own equation; after a reset it does so again."""
    model = driven_pendulum()
    robot = SimulatedRobot(model, backend='python', physics=Physics.of(
        model, friction=0.0, damping=0.0, integrator=integrator))
    robot.place([0.3])
    solution = solve_ivp(lambda t, x: [x[1], (
        -G * math.sin(x[0]) + STROKE * RATE**2 * math.sin(RATE * t) * math.cos(x[0])) / LENGTH],
        (0.0, 0.5), [0.3, 0.0], rtol=1e-11, atol=1e-12)
    ends = []
    for _ in range(2):
        for _ in range(250):
            robot.step(2e-3)
        assert robot.time == pytest.approx(0.5, abs=1e-12)
        assert [robot.q[0], robot.v[0]] == pytest.approx(solution.y[:, -1], abs=error)
        ends.append(robot.q[0])
        robot.reset()
    assert ends[0] == ends[1] and robot.time == 0.0


@pytest.mark.parametrize('kind', ['soft', 'rigid'])
def test_contact_feels_a_motion_with_time(kind):
    """A ball on a lift that sinks stays on the floor: the slide below it gives way."""
    ball = RigidInertia.from_com(2.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[0.02] * 3))
    model = (ModelBuilder('lift')
             .add_body('cage', 'base', Prescribed(Prismatic((0.0, 0.0, 1.0)), sink), inertia=ball)
             .add_body('ball', 'cage', Prismatic((0.0, 0.0, 1.0)), inertia=ball).build())
    floor = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))
    robot = SimulatedRobot(model, backend='python', world=World(
        kind, [CollisionShape('ball', 2, Sphere(0.1))], [floor]))
    robot.place([0.12])
    for _ in range(400):
        robot.step(1e-3)
    depth = 2.0 * G / 2e4 if kind == 'soft' else 0.0
    assert robot.q[0] - SINK * robot.time == pytest.approx(0.1 - depth, abs=1e-4)
    assert robot.v[0] == pytest.approx(SINK, abs=1e-3)
    place = Frames(model, backend='python').moving(robot.q, robot.time)[0]
    assert place.translation[2] == pytest.approx(-SINK * 0.4, abs=1e-12)


def test_time_goes_on_within_a_step_that_an_impact_cuts():
    """One ball throws another against a wall after 0.7 of the step; a cart shakes a slider."""
    ball = RigidInertia.from_com(2.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[0.02] * 3))
    along, rate, h, speed, gap = (1.0, 0.0, 0.0), 2000.0, 1e-3, 1.0, 7e-4
    size = 1e-6 * rate**2

    def shake(t):
        return [1e-6 * sin(rate * t)], [1e-6 * rate * cos(rate * t)], [-size * sin(rate * t)]
    model = (ModelBuilder('bench')
             .add_body('one', 'base', Prismatic(along), inertia=ball)
             .add_body('two', 'base', Prismatic(along), inertia=ball)
             .add_body('cart', 'base', Prescribed(Prismatic(along), shake), inertia=ball)
             .add_body('slider', 'cart', Prismatic(along), inertia=ball)
             .build().with_gravity([0.0, 0.0, 0.0]))
    wall = Obstacle('wall', Placed(Box((0.2, 1.0, 1.0)), np.eye(3), np.array([1.0, 0.0, 0.0])))
    world = World('rigid', [CollisionShape(name, k, Sphere(0.1)) for k, name in (
        (1, 'one'), (2, 'two'))], [wall], Surface(restitution=1.0), between=[('one', 'two')])
    robot = SimulatedRobot(model, backend='python', world=world, physics=Physics.of(
        model, integrator='semi_implicit'))
    second = 0.9 - 0.1 - gap
    robot.place([second - 0.2 - 1e-4, second, 0.0], [speed, 0.0, 0.0])
    robot.step(h)
    cut = gap / speed
    assert robot.v[:2] == pytest.approx([0.0, -speed], abs=1e-9)
    assert robot.v[2] == pytest.approx((h - cut) * size * math.sin(rate * cut), rel=1e-9)
    assert robot.time == pytest.approx(h, abs=1e-15)


def test_what_cannot_follow_time_says_so():
    """Dynamics of one's own are not told the time; the event-driven simulation stands still."""
    model = driven_pendulum()
    with pytest.raises(SettingError, match='"driven" has joints that move with time'):
        SimulatedRobot(model, Dynamics(model, backend='reference').forward_dynamics)
    with pytest.raises(SettingError, match='"driven" has joints that move with time'):
        EventSimulation(ContactSystem(model, backend='reference'), ContactPoints([], [], []))
