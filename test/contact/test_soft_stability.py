# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Soft surfaces are stable for what lies on them: 1 g to 1 t, steps of 0.1 to 5 ms.

The energy of what falls on the default surface never grows. With forces of the start of a step it
does below some mass: boxes of 0.3 kg were thrown 2.3 m high at 1 ms.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from rbd_ros import Dynamics, ModelBuilder
from rbd_ros.joints import Free, Spherical
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, Cylinder, HalfSpace, Sphere)
from rbd_ros.sim import Physics, SimulatedRobot
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.world import Obstacle, Surface, World
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

G = 9.81
FLOOR = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))
#: shapes, and principal moments of 1 kg, m^2
SHAPES = {'box': (Box((0.2, 0.16, 0.1)), (0.003, 0.0042, 0.0055)),
          'sphere': (Sphere(0.1), (0.004, 0.004, 0.004)),
          'capsule': (Capsule(0.05, 0.2), (0.005, 0.005, 0.0012)),
          'cylinder': (Cylinder(0.08, 0.2), (0.005, 0.005, 0.0032))}


@cache
def falling(name):
    """Return a shape of 1 kg over the floor; its mass is scaled."""
    shape, moments = SHAPES[name]
    model = ModelBuilder(name).add_body('one', 'base', Free(), inertia=RigidInertia.from_com(
        1.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*moments))).build()
    return SimulatedRobot(model, world=World('soft', [CollisionShape('one', 1, shape)], [FLOOR]))


def energy(q, v, moments):
    """Return the energy of a body of 1 kg without that of the surface, J."""
    return G * q[2] + 0.5 * v[3:] @ v[3:] + 0.5 * np.array(moments) @ (v[:3] * v[:3])


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('name', SHAPES)
def test_what_falls_never_gains_energy(name):
    """From any tilt and spin, at any mass and step: never above what it had; boxes rest."""
    robot, moments = falling(name), SHAPES[name][1]
    rng = np.random.default_rng(0)
    for mass in (1e-3, 0.02, 0.3, 5.0, 1e3):
        for h in (1e-4, 1e-3, 5e-3):
            robot.physics = Physics.of(robot.model, mass_scale=mass)
            tilt = Rotation.from_rotvec(rng.uniform(-0.7, 0.7, 3))
            robot.place([0.0, 0.0, 0.3, *tilt.as_quat()],
                        [*rng.uniform(-2.0, 2.0, 3), *tilt.inv().apply(
                            [*rng.uniform(-0.5, 0.5, 2), -1.0])])
            most = energy(robot.q, robot.v, moments)
            begin = most
            for _ in range(round(2.0 / h) if h > 1e-4 else 4000):
                robot.step(h)
                most = max(most, energy(robot.q, robot.v, moments))
            assert most <= begin * (1.0 + 1e-9), (mass, h)
            if name == 'box' and h > 1e-4 and mass < 100.0:
                assert np.abs(robot.v).max() < 1e-3, (mass, h, robot.v)


@pytest.mark.sampled('sweeps', 2)
@pytest.mark.parametrize('mass', [1e-3, 0.1, 0.3, 1.0, 5.0, 20.0])
@pytest.mark.parametrize('h', [1e-3, 5e-3])
def test_a_box_rests_where_its_weight_is_carried(mass, h):
    """Put down on its face it comes to rest with f = -K p at each corner, whatever its mass."""
    robot = falling('box')
    robot.physics = Physics.of(robot.model, mass_scale=mass)
    robot.place([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])
    for _ in range(round(3.0 / h)):
        robot.step(h)
    touching = robot.contact_forces
    assert np.abs(robot.v).max() < 1e-9
    assert robot.q[2] == pytest.approx(0.05 - mass * G / (len(touching) * 2e4), abs=1e-8)
    assert sum(each.force[2] for each in touching) == pytest.approx(mass * G, rel=1e-6)


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('masses', [(1.0, 1e-3), (100.0, 0.1), (1.0, 1.0), (0.1, 100.0)])
def test_a_stack_stands(masses):
    """One box on another, both ways round: they sink into each other and stay."""
    builder = ModelBuilder('stack')
    for name, mass in zip(('one', 'two'), masses):
        builder.add_body(name, 'base', Free(), inertia=RigidInertia.from_com(
            mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*(mass * np.array((3e-3, 4e-3, 5e-3))))))
    model = builder.build()
    shapes = [CollisionShape(name, k, Box((0.2, 0.2, 0.1)))
              for k, name in enumerate(('one', 'two'), 1)]
    robot = SimulatedRobot(model, world=World(
        'soft', shapes, [FLOOR], Surface(), (('one', 'two'),)))
    robot.place([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0, 0.01, 0.01, 0.16, 0.0, 0.0, 0.0, 1.0])
    high = []
    for _ in range(1500):
        robot.step(2e-3)
        high.append(robot.q[[2, 9]])
    assert np.max(high, axis=0)[0] < 0.051 and np.max(high, axis=0)[1] < 0.161
    # a hundred kilograms on such springs rock for a while
    assert np.abs(robot.v).max() < (1e-3 if max(masses[1:]) < 50.0 else 0.05)
    assert robot.q[9] - robot.q[2] == pytest.approx(0.1, abs=0.02 + masses[1] * G / 4e4)


def double_pendulum(integrator):
    """Return two links on ball joints above the floor, which the last one strikes."""
    builder = ModelBuilder('pendulum')
    link = RigidInertia.from_com(1.0, Vec3(0.0, 0.0, -0.2), Sym3.diagonal(0.014, 0.014, 0.002))
    builder.add_body('one', 'base', Spherical(), xlt(0.0, 0.0, 0.7), link)
    builder.add_body('two', 'one', Spherical(), xlt(0.0, 0.0, -0.4), link)
    model = builder.build()
    return Dynamics(model), SimulatedRobot(
        model, physics=Physics.of(model, integrator=integrator), world=World(
            'soft', [CollisionShape('two', 2, Sphere(0.05), p=np.array([0.0, 0.0, -0.4]))],
            [FLOOR]))


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
@pytest.mark.parametrize('h', [1e-3, 5e-3])
@pytest.mark.parametrize('seed', [None, *range(8)])
def test_pendulums_of_ball_joints_on_a_surface(integrator, h, seed):
    """
    Two links on ball joints that strike, rub and roll on the floor for a minute gain no energy.

    It stays within a band of order h. With explicit gyroscopic forces in what the floor answers
    to, seeds 0 and 6 were spun up; with friction that does not see how the link goes on in the
    step, one that rolled was: by 3.8 J of seed 4 at 1 ms, and by 24 J of seed 5 at 5 ms.
    """
    dynamics, robot = double_pendulum(integrator)
    turns = [Rotation.from_euler('xyz', [1.2, 0.3, 0.0])] * 2
    v = [0.0, 0.0, 2.0, 0.0, 0.0, 1.0]
    if seed is not None:
        turns = [Rotation.random(random_state=seed), Rotation.random(random_state=seed + 100)]
        v = np.random.default_rng(seed).uniform(-3.0, 3.0, 6)
    robot.place(np.concatenate([each.as_quat() for each in turns]), v)

    def total():
        return float(dynamics.kinetic_energy(robot.q, robot.v)
                     + dynamics.potential_energy(robot.q))
    begin = total()
    size, most, touched = abs(begin) + 10.0, begin, 0
    for k in range(round(60.0 / h)):
        robot.step(h)
        if k % 20 == 0:
            touched += bool(robot.contact_forces)
            most = max(most, total())
    assert touched > 5 and most < begin + 2.0 * h * size
