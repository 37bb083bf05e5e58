# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Event-driven contact: dense output, gain and loss, geometric events, bounces that end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rbd_ros import ModelBuilder
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import SettingError
from rbd_ros.joints import Free, Planar, Prismatic
from rbd_ros.model.collision_shapes import Box, CollisionShape, HalfSpace, Sphere
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.event_driven import EventSimulation, Rules
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.steps.dense_output import euler_step, heun_step
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

G = 9.81
FLOOR = Placed(HalfSpace(), np.eye(3), np.zeros(3))
LYING = Planar((0.0, 1.0, 0.0))         # moves in x and z, turns about y


def body(joint, shape, mass=2.0, moment=0.02):
    """Return the system and shapes of one body on a joint."""
    inertia = RigidInertia.from_com(mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[moment] * 3))
    builder = ModelBuilder('thing')
    builder.add_body('thing', 'base', joint, inertia=inertia)
    return (ContactSystem(builder.build(), backend='python'),
            [CollisionShape('thing', 1, shape)])


def simulation(joint, shape, obstacles=(FLOOR,), torque=None, **rules):
    """Return the simulation of one body."""
    system, shapes = body(joint, shape)
    return EventSimulation(system, ContactPoints(shapes, obstacles), Rules(**rules), torque)


def energy(sim):
    """Return kinetic and potential energy of the body."""
    m = sim.system.motions(sim.q, sim.qd)
    return 0.5 * sim.qd @ m.H @ sim.qd + 2.0 * G * m.r[1][2]


UP = Prismatic((0.0, 0.0, 1.0))


@pytest.mark.parametrize('h', [0.0, -1e-3, math.nan, math.inf])
def test_a_step_without_a_length_is_refused(h):
    """Time that does not advance is an error, not a result."""
    sim = simulation(UP, Sphere(0.1))
    sim.place([1.0])
    with pytest.raises(SettingError, match='positive and finite'):
        sim.step(h)


@pytest.mark.seed('RBDA 11-13')
def test_dense_output_meets_its_step():
    """Ends, slopes at both stages, and errors of third order within the step."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    y = rng.normal(size=3)

    def slope(x):
        return A @ x
    h = 0.1
    step = heun_step(slope, y, h)
    k1, k2 = step.slopes
    np.testing.assert_allclose(step.at(0.0), y)
    np.testing.assert_allclose(step.at(1.0), y + h * (0.25 * k1 + 0.75 * k2))
    for share, k in ((0.0, k1), (2.0 / 3.0, k2)):
        d = 1e-6
        np.testing.assert_allclose((step.at(share + d) - step.at(share - d)) / (2 * d * h), k,
                                   rtol=1e-6)
    np.testing.assert_allclose(k2, A @ (y + 2.0 / 3.0 * h * k1))
    euler = euler_step(slope, y, h)
    np.testing.assert_allclose(euler.at(0.4), y + 0.4 * h * k1)
    from scipy.linalg import expm
    errors = [np.abs(heun_step(slope, y, h).at(0.5) - expm(0.5 * h * A) @ y).max()
              for h in (0.1, 0.05)]
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.15)


@pytest.mark.seed('RBDA 11-12')
def test_ball_bounces_at_its_times():
    """A ball from 1 m with e = 0.5: touches, heights and rest as by hand."""
    sim = simulation(UP, Sphere(0.1), restitution=0.5)
    sim.place([1.1])
    first = math.sqrt(2.0 / G)
    second = first + 2.0 * 0.5 * first
    for _ in range(round((second + 0.05) / 0.01)):
        sim.step(0.01)
    assert sim.counts['impact'] == 2
    t = sim.time - second
    speed = 0.25 * G * first
    assert sim.q[0] == pytest.approx(0.1 + speed * t - 0.5 * G * t * t, abs=1e-7)
    for _ in range(150):
        before = energy(sim)
        sim.step(0.01)
        assert energy(sim) < before + 1e-6      # weight times the distance that counts as none
    # it has come to rest at 3 first, in finite time and with a finite number of impacts
    assert sim.q[0] == pytest.approx(0.1, abs=1e-8) and abs(sim.qd[0]) < 1e-9
    assert sim.current == (0,) and 10 <= sim.counts['impact'] <= 20


@pytest.mark.seed('RBDA 11-12')
def test_events_in_a_step_are_bounded():
    """A ball that bounces without loss in a low gap is stopped, not followed without end."""
    ceiling = Placed(HalfSpace(), np.diag([1.0, -1.0, -1.0]), np.array([0.0, 0.0, 0.21]))
    sim = simulation(UP, Sphere(0.1), (FLOOR, ceiling), restitution=1.0, events=5)
    sim.place([0.105], [3.0])
    sim.step(0.01)                      # three or so: fine
    assert 1 <= sim.counts['impact'] <= 5
    sim.step(0.5)                       # would be hundreds: they stop bouncing instead
    assert sim.counts['impact'] < 30 and 0.1 <= sim.q[0] + 1e-7


@pytest.mark.seed('RBDA 11-12')
@pytest.mark.parametrize(('method', 'order', 'largest'), [('heun', 2, 1e-4), ('euler', 1, 0.1)])
def test_convergence_keeps_the_order_of_the_rule_through_an_impact(method, order, largest):
    """With drag, the error of the position after an impact falls with the order of the rule."""
    drag, e = 1.5, 0.6

    def exact(t, height, speed):        # m v' = -m g - drag v, m = 2
        k = drag / 2.0
        v = (speed + G / k) * math.exp(-k * t) - G / k
        return height + (speed + G / k) * (1.0 - math.exp(-k * t)) / k - G * t / k, v
    low, high = 0.3, 0.8
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exact(middle, 1.0, 0.0)[0] > 0.0 else (low, middle)
    expected = exact(0.6 - low, 0.0, -e * exact(low, 1.0, 0.0)[1])[0]
    errors = []
    for count in (12, 24, 48):
        sim = simulation(UP, Sphere(0.1), torque=lambda q, v: -drag * v, restitution=e,
                         method=method)
        sim.place([1.1])
        for _ in range(count):
            sim.step(0.6 / count)
        errors.append(abs(sim.q[0] - 0.1 - expected))
    assert errors[2] < largest and order - 0.3 < math.log(errors[0] / errors[2], 4.0), errors


@pytest.mark.seed('RBDA 11-14')
def test_point_leaves_the_face_of_a_box():
    """A ball slides off a table: it leaves at the edge, at the time by hand, without an impact."""
    table = Placed(Box((1.0, 1.0, 0.2)), np.eye(3), np.zeros(3))
    sim = simulation(Free(), Sphere(1e-3), (table,))
    sim.place([0.0, 0.0, 0.101, 0, 0, 0, 1.0], [0, 0, 0, 1.0, 0, 0])
    assert sim.current == (0,)
    for _ in range(49):
        sim.step(0.01)
    assert sim.q[2] == pytest.approx(0.101, abs=1e-7) and sim.counts['loss'] == 0
    for _ in range(11):
        sim.step(0.01)
    assert sim.current == () and sim.counts['loss'] >= 1
    # a ball of 1 mm rounds the edge and falls from there: all but what the radius allows
    t = sim.time - 0.5
    assert sim.q[2] == pytest.approx(0.101 - 0.5 * G * t * t, abs=1.1e-3)
    assert sim.qd[3] == pytest.approx(1.0, abs=0.02)


@pytest.mark.seed('RBDA 11-12', 'RBDA 11-14')
def test_force_that_turns_negative_releases_the_contact():
    """A spring lifts a block off the floor when it outweighs it, at the time by hand."""
    start = {'t': 0.0}
    sim = simulation(UP, Sphere(0.1), torque=lambda q, v: [40.0 * start['t']])
    sim.place([0.1])
    release = 2.0 * G / 40.0
    while sim.time < release + 0.1:
        start['t'] = sim.time + 0.0025
        sim.step(0.005)
        if sim.time < release - 0.01:
            assert sim.current == (0,) and abs(sim.q[0] - 0.1) < 1e-9
    assert sim.current == () and sim.counts == {'gain': 1, 'loss': 1}
    t = sim.time - release
    assert sim.q[0] == pytest.approx(0.1 + 40.0 / 2.0 * t ** 3 / 6.0, rel=0.05)


@pytest.mark.seed('RBDA 11-15')
def test_polygons_hit_the_floor_with_each_corner_and_spheres_do_not():
    """Spinning on a smooth floor, a ball keeps its energy, a box loses some at every corner."""
    ball = simulation(Free(), Sphere(0.1))
    ball.place([0, 0, 0.1, 0, 0, 0, 1.0], [0, 3.0, 0, 0.3, 0, 0])
    start = energy(ball)
    for _ in range(100):
        ball.step(0.01)
    assert ball.counts['impact'] == 0 and energy(ball) == pytest.approx(start, rel=2e-5)
    box = simulation(LYING, Box((0.2, 0.2, 0.2)))
    box.place([0.3, 0.16, 0.0], [6.0, 0.0, 0.0])        # angle, height, place along the floor
    start = energy(box)
    for _ in range(100):
        before, hits = energy(box), box.counts['impact']
        box.step(0.01)
        assert energy(box) <= before + 5e-4         # the error of a step
        if box.counts['impact'] > hits:
            assert energy(box) < before
    assert box.counts['impact'] >= 3 and energy(box) < start - 0.02


@pytest.mark.parametrize('gap', [0.0, 1e-4])
def test_a_cradle_passes_an_impact_on(gap):
    """Of five equal balls the first stops and the last leaves; at once, all of them leave."""
    radius, builder = 0.05, ModelBuilder('cradle')
    inertia = RigidInertia.from_com(1.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*[0.001] * 3))
    for k in range(5):
        builder.add_body(f'ball_{k}', 'base', Prismatic((1.0, 0.0, 0.0)), inertia=inertia)
    system = ContactSystem(builder.build(), backend='python')
    shapes = [CollisionShape(f'ball_{k}', k + 1, Sphere(radius)) for k in range(5)]
    points = ContactPoints(shapes, [], between=[
        (f'ball_{k}', f'ball_{k + 1}') for k in range(4)])
    start = np.arange(5) * (2.0 * radius + gap)
    start[0] -= 5e-4
    for impacts in ('sequential', 'simultaneous'):
        sim = EventSimulation(system, points, Rules(restitution=1.0, impacts=impacts))
        sim.place(start, [1.0, 0.0, 0.0, 0.0, 0.0])
        sim.step(2e-3)
        apart = impacts == 'sequential' or gap > 0.0
        after = [0.0, 0.0, 0.0, 0.0, 1.0] if apart else [-0.6, 0.4, 0.4, 0.4, 0.4]
        assert sim.qd == pytest.approx(after, abs=1e-6)
        assert sim.qd @ sim.qd == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(SettingError, match='impacts is "both"; it must be sequential or'):
        EventSimulation(system, points, Rules(impacts='both'))


def test_refusals():
    """A start inside an obstacle and an unknown method are named."""
    sim = simulation(UP, Sphere(0.1))
    with pytest.raises(SettingError, match='body "thing" starts 0.02 m inside an obstacle'):
        sim.place([0.08])
    with pytest.raises(SettingError, match='method is "rk4"'):
        simulation(UP, Sphere(0.1), method='rk4')
    with pytest.raises(SettingError, match='not a Sphere'):
        ContactPoints([], [Placed(Sphere(1.0), np.eye(3), np.zeros(3))])
