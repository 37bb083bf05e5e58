# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Integrators against analytic motions and an adaptive integrator of high order."""

import math

import numpy as np
import pytest
from rbd_ros import Dynamics
from rbd_ros.joints import Free, Revolute
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.samples.families import random_inertia, random_tree
from rbd_ros.sim import Coordinates, Physics, rk4_step, semi_implicit_step, SimulatedRobot
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from scipy.integrate import solve_ivp

pytestmark = pytest.mark.slow


def pendulum(mass=2.0, length=0.6):
    """Return a point mass on a rod; q = 0 hangs down, the axis is horizontal."""
    none = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    point = RigidInertia.from_com(mass, Vec3(0.0, 0.0, -length), none)
    return (ModelBuilder('pendulum')
            .add_body('bob', 'base', Revolute((0.0, 1.0, 0.0)), inertia=point).build())


def floating_body(gravity=(0.0, 0.0, 0.0), seed=3):
    """Return one free body of general inertia."""
    inertia = random_inertia(np.random.default_rng(seed))
    return (ModelBuilder('body', gravity=gravity)
            .add_body('body', 'base', Free(), inertia=inertia).build())


def run(robot, seconds, steps):
    """Advance a robot by a number of equal steps."""
    for _ in range(steps):
        robot.step(seconds / steps)
    return np.concatenate([robot.q, robot.v])


def smooth(model, integrator='rk4', backend='auto'):
    """
    Return a robot without friction and stops, with its dynamics.

    A few steps of a large tree take longer to compile to machine code than as plain Python.
    """
    free = {'lower': np.full(model.nv, -math.inf), 'upper': np.full(model.nv, math.inf)}
    physics = Physics.of(model, friction=0.0, damping=0.0, integrator=integrator, **free)
    return (SimulatedRobot(model, physics=physics, backend=backend),
            Dynamics(model, backend=backend))


def orders(make, seconds, steps, reference):
    """Return log2 of the error ratios over halvings of the step."""
    errors = [np.linalg.norm(run(make(), seconds, n) - reference) for n in steps]
    return [math.log2(a / b) for a, b in zip(errors, errors[1:])]


def pendulum_reference(seconds, mass=2.0, length=0.6, start=2.0):
    """Return the state of the pendulum from an adaptive integrator of order 8."""
    solution = solve_ivp(lambda t, x: [x[1], -9.81 / length * math.sin(x[0])], (0.0, seconds),
                         [start, 0.0], method='DOP853', rtol=1e-13, atol=1e-13)
    return solution.y[:, -1]


@pytest.mark.parametrize('integrator, order', [('rk4', 4.0), ('semi_implicit', 1.0)])
def test_order_of_convergence(integrator, order):
    """Halving the step divides the error on a large swing by two to the order of the rule."""
    def make():
        robot, _ = smooth(pendulum(), integrator)
        robot.place([2.0])
        return robot
    found = orders(make, 1.0, [100, 200, 400], pendulum_reference(1.0))
    # The measured order still holds a term of the next power of the step: 5 %.
    assert found == pytest.approx([order] * 2, rel=0.05)


def test_semi_implicit_energy_does_not_drift():
    """The symplectic rule keeps the mean energy: after 50 periods it is where it was after one."""
    robot, dynamics = smooth(pendulum(), 'semi_implicit')
    robot.place([1.0])
    energies = []
    for _ in range(40_000):
        robot.step(2e-3)
        energies.append(float(dynamics.kinetic_energy(robot.q, robot.v)
                              + dynamics.potential_energy(robot.q)))
    first, last = np.ptp(energies[:2000]), np.ptp(energies[-2000:])
    # The energy swings by O(h) about a constant; a drift would widen or move the band.
    assert last == pytest.approx(first, rel=0.02)
    assert np.mean(energies[-2000:]) == pytest.approx(np.mean(energies[:2000]), abs=0.1 * first)


def test_free_fall_is_exact():
    """A thrown body follows its parabola to rounding and keeps its unit quaternion."""
    model = floating_body((0.0, 0.0, -9.81))
    com = np.array(list(model.inertia[1].h)) / model.inertia[1].m
    robot, dynamics = smooth(model)
    v = np.array([0.0, 0.0, 0.0, 1.0, -2.0, 3.0])
    robot.place([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0], v)
    run(robot, 0.5, 500)
    expected = com + [0.1, 0.2, 0.3] + 0.5 * v[3:] + [0.0, 0.0, -0.5 * 9.81 * 0.25]
    assert dynamics.center_of_mass(robot.q) == pytest.approx(expected, abs=1e-12)
    assert np.linalg.norm(robot.q[3:]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.seed('RBDA 3-04')
@pytest.mark.parametrize('seed', range(4))
def test_all_joint_types_keep_energy(seed):
    """Energy of a falling random tree over every joint type is kept to order 4."""
    model = random_tree(5, seed)
    rng = np.random.default_rng(seed)
    v = rng.uniform(-0.5, 0.5, model.nv)
    errors = []
    robot, dynamics = smooth(model, backend='python')
    rest = robot.q.copy()
    for steps in (50, 100):
        robot.place(rest, v)

        def energy():
            return float(dynamics.kinetic_energy(robot.q, robot.v)
                         + dynamics.potential_energy(robot.q))
        start = energy()
        run(robot, 0.1, steps)
        errors.append(abs(energy() - start))
    # The drop per halving is 2^4 or more (energy errors of RK4 often fall faster), or rounding.
    assert errors[1] < 1e-11 or errors[0] / errors[1] > 12.0
    assert errors[1] < 1e-6


def test_rules_agree_with_their_definition():
    """On a harmonic oscillator one step of each rule equals its closed form."""
    space = Coordinates(pendulum())
    q, v, h = [0.3], [-0.2], 0.1

    def spring(q, v):
        return [-4.0 * q[0]]
    q1, v1 = semi_implicit_step(space, spring, q, v, h)
    assert v1 == pytest.approx([v[0] - h * 4.0 * q[0]], abs=1e-15)
    assert q1 == pytest.approx([q[0] + h * v1[0]], abs=1e-15)
    q1, v1 = rk4_step(space, spring, q, v, h)
    A = h * np.array([[0.0, 1.0], [-4.0, 0.0]])
    taylor = sum(np.linalg.matrix_power(A, k) / math.factorial(k) for k in range(5))
    assert [q1[0], v1[0]] == pytest.approx(taylor @ [q[0], v[0]], abs=1e-15)
