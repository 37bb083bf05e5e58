# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Accuracy and efficiency (RBDA 10): adaptive steps, and what the shape of a tree costs."""

import math

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.kinematics import links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import trace
from rbd_ros.joints import Free, Prismatic, Revolute
from rbd_ros.model import connectivity, tree_cost
from rbd_ros.samples import families
from rbd_ros.sim import Coordinates, rk4_step
from rbd_ros.sim.steps import adaptive
from rbd_ros.spatial import RigidInertia, screw, Sym3, Vec3
from scipy.integrate import RK45
from tree_oracle import assert_near

#: Binary trees: bodies, D0 and D1 of both kinds, cost of H, of factors, and of forward dynamics.
BINARY = [
    (3, (1, 1, 1, 1), (123, 131), (11, 6), 585), (6, (3, 2, 5, 3), (362, 359), (41, 27), 1625),
    (7, (3, 3, 5, 5), (457, 453), (51, 34), 2005),
    (10, (5, 4, 12, 7), (756, 717), (99, 70), 3174),
    (15, (7, 7, 17, 17), (1301, 1217), (179, 130), 5229),
    (20, (10, 9, 32, 22), (1911, 1732), (294, 220), 7429),
    (30, (15, 14, 49, 45), (3198, 2855), (524, 400), 11989),
    (63, (31, 31, 129, 129), (8125, 7001), (1539, 1218), 28637)]


@pytest.mark.seed('RBDA 10-16', 'RBDA 10-17', 'RBDA 10-18', 'RBDA 10-19')
@pytest.mark.parametrize('n, counts, inertia, factors, forward', BINARY)
def test_costs_of_binary_trees(n, counts, inertia, factors, forward):
    """The curves of Fig. 10.5: counters, inertia matrix, factors and forward dynamics."""
    parent = [0, *(i // 2 for i in range(1, n + 1))]
    assert tree_cost.counters(parent) == counts
    assert tree_cost.inertia_matrix_cost(parent) == inertia
    assert tree_cost.factor_and_solve_cost(parent) == factors
    assert tree_cost.forward_dynamics_cost(parent).total == forward


@pytest.mark.seed('RBDA 10-17', 'RBDA 10-18', 'RBDA 10-19')
@pytest.mark.parametrize('n', [1, 2, 6, 7, 12, 30])
def test_costs_of_chains(n):
    """Without branches the formulas are those of Table 10.1, and ABA wins past eight joints."""
    parent = [0, *range(n)]
    assert tree_cost.inertia_matrix_cost(parent) == (
        10 * n * n + 22 * n - 32, 6 * n * n + 37 * n - 43)                                 # 10.3
    m, a = tree_cost.factor_and_solve_cost(parent)
    assert (6 * m, 6 * a) == (n**3 + 9 * n * n - 4 * n, n**3 + 6 * n * n - 7 * n)
    if n > 1:
        cheaper = (tree_cost.forward_dynamics_cost(parent).total
                   < tree_cost.articulated_body_cost(n).total)
        assert cheaper == (n <= 8)


@pytest.mark.seed('RBDA 10-16')
def test_counters_of_random_trees():
    """D1 counts the nonzeros of H below the diagonal; both counters keep their bounds."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(1, 15))
        parent = [0, *(int(rng.integers(0, i)) for i in range(1, n + 1))]
        c = tree_cost.counters(parent)
        pattern = np.array(connectivity.sparsity([p - 1 for p in parent[1:]]))
        deepest = max(map(len, connectivity.support_of(parent)))
        assert np.tril(pattern, -1).sum() == c.D1 <= n * (deepest - 1)
        assert c.D0 == n - parent[1:].count(0) <= n - 1
    flat = [0] * 6
    assert tree_cost.inertia_matrix_cost(flat) == (0, 0)


@pytest.mark.seed('RBDA 10-18', 'RBDA 10-19')
@pytest.mark.parametrize('seed', range(4))
def test_formulas_bound_what_is_counted(seed):
    """Traced kernels of branched trees with general placements stay below the formulas."""
    rng = np.random.default_rng(seed)
    builder, n = rbd_ros.ModelBuilder('tree'), 9
    parent = [0]
    for i in range(1, n + 1):
        parent.append(int(rng.integers(max(0, i - 3), i)))
        builder.add_body(f'body_{i}', f'body_{parent[i]}' if parent[i] else 'base',
                         Revolute((0.0, 0.0, 1.0)), families.random_transform(rng),
                         families.random_inertia(rng))
    model = builder.build()
    c = tree_cost.counters(parent)
    general = (tree_cost.INERTIA_GENERAL.times(c.D0)
               + tree_cost.FORCE_GENERAL.times(c.D1)).total
    counted = trace(lambda q: crba(model, links(model, q)), {'q': (n,)}).count()
    assert 0.5 * general < counted.total <= general

    def solve(H, b):
        return ltl.solve(H, model.expanded_parent, b)
    counted = trace(solve, {'H': (n, n), 'b': (n,)}).count()
    assert (counted.multiplications, counted.add) == tree_cost.factor_and_solve_cost(parent)


@pytest.mark.seed('RBDA 10-12')
def test_products_of_masses_and_distances_are_found_beforehand():
    """Composite masses are constant: carrying an inertia along a screw saves their product."""
    X = screw(0, 0.3, 0.7)

    def moved(m, rest):
        I = X.inv_apply(RigidInertia(m, Vec3(*rest[:3]), Sym3(*rest[3:])))
        return [*I.h, *I.I.entries()]
    known = trace(lambda rest: moved(2.0, rest), {'rest': (9,)}).count()
    unknown = trace(lambda m, rest: moved(m[0], rest), {'m': (1,), 'rest': (9,)}).count()
    assert (unknown.mul - known.mul, unknown.add - known.add) == (1, 0)


# --- adaptive steps -------------------------------------------------------------------------


def passing_particle(distance=0.02):
    """Return a particle that slides on a turning rod, flying straight past the axis."""
    point = RigidInertia.from_com(1.0, Vec3(0.0, 0.0, 0.0), Sym3.zero())
    builder = rbd_ros.ModelBuilder('rod', gravity=(0.0, 0.0, 0.0))
    builder.add_body('rod', 'base', Revolute((0, 0, 1)), None, RigidInertia.zero())
    builder.add_body('bead', 'rod', Prismatic((1, 0, 0)), None, point)
    # From (-1, distance) with 1 m/s along x.
    r = math.hypot(1.0, distance)
    start = [math.atan2(distance, -1.0), r], [-distance / r**2, -1.0 / r]
    robot = rbd_ros.Dynamics(builder.build(), backend='python', cache=False)
    return robot, *start


@pytest.mark.seed('RBDA 10-05')
def test_adaptive_steps_save_calls():
    """Where acceleration has a spike, fixed steps of the same error need far more calls."""
    robot, q, v = passing_particle()
    space, none = Coordinates(robot.model), np.zeros(2)

    def acceleration(q, v):
        return robot.forward_dynamics(q, v, none)

    def error(q):
        x, y = q[1] * math.cos(q[0]), q[1] * math.sin(q[0])
        return math.hypot(x - 1.0, y - 0.02)
    path = adaptive.integrate(space, acceleration, q, v, 2.0, tolerance=1e-7)
    reached = error(path.q[-1])
    steps = np.diff(path.t)
    assert reached < 1e-4 and path.t[-1] == 2.0
    assert steps.max() > 20.0 * steps.min()
    assert abs(path.t[1:][np.argmin(steps)] - 1.0) < 0.1        # shortest where it passes
    fixed = path.calls // 4
    x = list(q), list(v)
    for _ in range(fixed):
        x = rk4_step(space, lambda q, v: acceleration(
            np.array(q), np.array(v)).tolist(), *x, 2.0 / fixed)
    assert error(x[0]) > 10.0 * reached


@pytest.mark.seed('RBDA 10-05')
def test_adaptive_steps_keep_the_tolerance():
    """A tumbling free body: energy, momentum and the quaternion stay, more so when asked."""
    body = families.random_inertia(np.random.default_rng(1))
    builder = rbd_ros.ModelBuilder('body', gravity=(0.0, 0.0, 0.0))
    builder.add_body('body', 'base', Free(), None, body)
    robot = rbd_ros.Dynamics(builder.build(), backend='python', cache=False)
    q, v = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], np.array([3.0, -2.0, 5.0, 0.4, 0.1, -0.3])
    lost = []
    for tolerance in (1e-5, 1e-9):
        path = adaptive.integrate(Coordinates(robot.model), lambda q, v: robot.forward_dynamics(
            q, v, np.zeros(6)), q, v, 1.0, tolerance=tolerance)
        drift = robot.momentum(path.q[-1], path.v[-1]) - robot.momentum(q, v)
        lost.append(np.abs(drift).max())
        assert abs(np.linalg.norm(path.q[-1, 3:]) - 1.0) < 1e-12
    assert lost[1] < 1e-7 and lost[1] < 1e-2 * lost[0] < 1e-4


def test_lengths_of_adaptive_steps():
    """Without an error steps grow five times; errors of large entries are judged by their size."""
    space = Coordinates(passing_particle()[0].model)
    q, v = np.zeros(2), np.ones(2)

    def times(**settings):
        return adaptive.integrate(space, lambda q, v: 0.0 * v, q, v, 1.0, **settings).t
    assert_near(times(), [0.0, 0.01, 0.06, 0.31, 1.0])
    assert_near(times(first=0.1), [0.0, 0.1, 0.6, 1.0])
    assert_near(times(shortest=0.5), [0.0, 0.01, 0.51, 1.0])    # a good short step is not refused
    # q'' = q' from q = q' = x is x e^t: the same steps from 1e4 as from 1e8
    paths = [adaptive.integrate(space, lambda q, v: v, x * v, x * v, 2.0) for x in (1e4, 1e8)]
    np.testing.assert_allclose(paths[0].t, paths[1].t, rtol=1e-6)
    h = paths[0].t[-2] - paths[0].t[-3]         # it has settled
    slopes = [1.0]
    for row in (*RK45.A[1:], RK45.B):
        slopes.append(1.0 + h * float(np.dot(row[:len(slopes)], slopes)))
    error = abs(h * np.dot(RK45.E, slopes)) / slopes[-1]
    assert error == pytest.approx(0.9**5 * 1e-8, rel=1e-3)      # the default, with its margin


def test_adaptive_refusals():
    """A motion that diverges and a senseless setting are named."""
    robot, q, v = passing_particle()
    space = Coordinates(robot.model)
    with pytest.raises(rbd_ros.NonFiniteError, match='needs steps below'):
        adaptive.integrate(space, lambda q, v: 10.0 * v * v, [0.0, 0.0], [1.0, 1.0], 10.0)
    with pytest.raises(rbd_ros.SettingError, match='tolerance is 0.0'):
        adaptive.integrate(space, lambda q, v: v, q, v, 1.0, tolerance=0.0)
