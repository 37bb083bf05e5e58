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

"""Joints that move with time, in a simulation."""

import math

import numpy as np
import pytest
from rbd_ros import Dynamics, ModelBuilder
from rbd_ros.compiler import cos, sin
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import SettingError
from rbd_ros.joints import Prescribed, Prismatic, Revolute
from rbd_ros.model.collision_shapes import CollisionShape, HalfSpace, Sphere
from rbd_ros.sim import Frames, Physics, SimulatedRobot
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.event_driven import EventSimulation
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.sim.contact.world import Obstacle, World
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


def test_what_cannot_follow_time_says_so():
    """Dynamics of one's own are not told the time; the event-driven simulation stands still."""
    model = driven_pendulum()
    with pytest.raises(SettingError, match='"driven" has joints that move with time'):
        SimulatedRobot(model, Dynamics(model, backend='reference').forward_dynamics)
    with pytest.raises(SettingError, match='"driven" has joints that move with time'):
        EventSimulation(ContactSystem(model, backend='reference'), ContactPoints([], [], []))
