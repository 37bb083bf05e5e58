# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Rigid contact: normals, separations, contacts of bodies and trees, sets, friction."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.algorithms.contact import contact_sets, friction, friction_cones, rigid
from rbd_ros.algorithms.contact.rigid import Contact, Phase
from rbd_ros.algorithms.linear import complementarity
from rbd_ros.algorithms.linear.complementarity import Status
from rbd_ros.compiler import procedure
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import NonFiniteError, RbdError, SettingError, ShapeError
from rbd_ros.samples.families import random_tree
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.spatial import Force
from spatial_oracle import array, assert_close, crf6, mci6, Sampler

G = 9.81
ROD = np.diag([1.0, 1.0, 1.0 / 12.0, 1.0, 1.0, 1.0])       # m = L = 1, about its centre


def normals_at(*xs):
    """Return upward normals (y) at points of a rod along x, as columns."""
    return np.column_stack([rigid.normal((x, 0.0, 0.0), (0.0, 1.0, 0.0)) for x in xs])


def rod(*xs, force=(0.0, 0.0, 0.0, 0.0, -G, 0.0)):
    """Return the contact problem of a rod at rest."""
    N = normals_at(*xs)
    return rigid.body_problem(ROD, np.zeros(6), N, 0.0 * N, np.zeros(6), force)


# --- normals and separations ----------------------------------------------------------------


@pytest.mark.seed('RBDA 11-01')
def test_normal_is_a_unit_force_along_a_line():
    """In a frame at the contact with z along the normal, n is the last unit vector."""
    sample = Sampler(3)
    X = sample.transform()                      # from base to a frame at the contact
    p, z = np.array(list(X.r)), np.array(X.E.rows)[2]
    n = rigid.normal(p, z)
    assert_close(array(X @ Force.from_list(n.tolist())), [0, 0, 0, 0, 0, 1])
    v = array(sample.motion())
    # the normal velocity of the point of the body that is at the contact
    assert_close(rigid.separation_velocity(n, v), z @ (v[3:] + np.cross(v[:3], p)))
    with pytest.raises(ShapeError, match=r'must be a unit vector, \(3,\)'):
        rigid.normal(p, 2.0 * z)


@pytest.mark.seed('RBDA 11-02')
def test_separation_acceleration_is_the_rate_of_separation_velocity():
    """With the velocity-product term; a corner of a moving body on a plane that also turns."""
    rng = np.random.default_rng(1)
    v, a, w = rng.normal(size=6), rng.normal(size=6), rng.normal(size=3)
    corner = rng.normal(size=3)
    unit = np.array([0.0, 0.6, 0.8])
    corner_rate, turn = v[3:] + np.cross(v[:3], corner), np.cross(w, unit)

    def zeta(t):
        p, u = corner + t * corner_rate, unit + t * turn
        n = np.concatenate([np.cross(p, u), u])
        return rigid.separation_velocity(n, v + t * a)
    n, n_rate = rigid.normal(corner, unit), rigid.normal_rate(corner, unit, corner_rate, turn)
    slope = (zeta(1e-4) - zeta(-1e-4)) / 2e-4
    assert rigid.separation_acceleration(n, n_rate, v, a) == pytest.approx(slope, abs=1e-6)
    assert abs(n_rate @ v) > 0.1                # the product term is not a matter of rounding


@pytest.mark.seed('RBDA 11-03')
def test_single_contact_in_closed_form():
    """A rod supported at one end; and where it is lifted, no force, one linear piece each."""
    n = rigid.normal((0.5, 0.0, 0.0), (0.0, 1.0, 0.0))
    zero = np.zeros(6)
    at_rest = rigid.single_contact(ROD, zero, n, zero, zero, [0, 0, 0, 0, -G, 0])
    assert_close(at_rest.force, [G / 4.0])
    assert_close(at_rest.acceleration[4], -0.75 * G)
    assert_close(at_rest.separation, [0.0])
    lifted = rigid.single_contact(ROD, zero, n, zero, zero, [0, 0, 0, 0, 2.0, 0])
    assert_close(lifted.force, [0.0])
    assert_close(lifted.separation, [2.0])
    rng = np.random.default_rng(2)
    inertia = mci6(2.0, rng.normal(size=3), np.diag([1.0, 2.0, 2.5]))
    for _ in range(20):
        v, f, n_rate = rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
        n = rigid.normal(rng.normal(size=3), (0.0, 0.0, 1.0))
        bias = crf6(v) @ inertia @ v
        got = rigid.single_contact(inertia, bias, n, n_rate, v, f)
        same = rigid.body_problem(inertia, bias, n[:, None], n_rate[:, None], v, f).solve()
        assert_close(got.force, same.force, 1e-11)
        assert_close(inertia @ got.acceleration + bias, f + n * got.force, 1e-10)
        zeta = rigid.separation_acceleration(n, n_rate, v, got.acceleration)
        assert_close(got.separation, [zeta], 1e-10)
        assert zeta > -1e-12 and got.force[0] >= 0.0 and abs(zeta * got.force[0]) < 1e-10


def test_no_silent_answer_to_a_number_that_is_none():
    """A NaN is refused: compared with zero it would be a contact without a force, or at rest."""
    n, zero = rigid.normal((0.5, 0.0, 0.0), (0.0, 1.0, 0.0)), np.zeros(6)
    with pytest.raises(NonFiniteError, match='without a force'):
        rigid.single_contact(ROD, zero, n, zero, zero, [0, 0, 0, 0, np.nan, 0])
    for phi, rate in ((np.nan, 0.0), (0.0, np.nan)):
        with pytest.raises(NonFiniteError, match='numbers are needed'):
            rigid.phase(phi, rate)
    for M, d in ((np.eye(3), [0.0, 0.0, np.nan]), (np.diag([1.0, np.inf, 1.0]), np.zeros(3))):
        with pytest.raises(NonFiniteError, match='not finite'):
            friction.coulomb(M, d, 0.5)
    with pytest.raises(SettingError, match='zero or more'):
        friction.coulomb(np.eye(3), np.zeros(3), -0.1)
    with pytest.raises(ShapeError, match='three rows'):
        friction.coulomb(np.eye(2), np.zeros(2), 0.1)


# --- one body, several contacts -------------------------------------------------------------


@pytest.mark.seed('RBDA 11-04')
def test_rod_on_both_ends_and_on_three_points():
    """M and d of a rod by hand; with three points forces are one of many, the motion is not."""
    both = rod(-0.5, 0.5)
    assert_close(both.M, [[4, -2], [-2, 4]])
    assert_close(both.d, [-G, -G])
    found = both.solve()
    assert_close(found.force, [G / 2.0, G / 2.0])
    assert found.status is Status.UNIQUE
    three = rod(-0.5, 0.0, 0.5)
    assert_close(three.M, [[4, 1, -2], [1, 1, 1], [-2, 1, 4]])
    assert np.linalg.matrix_rank(three.M) == 2
    found = three.solve()
    assert found.status is Status.MANY
    assert_close(found.acceleration, np.zeros(6), 1e-12)
    assert np.count_nonzero(found.force) <= 2   # a basic solution
    assert_close(found.force.sum(), G)
    for s in (0.0, 3.0, G):
        assert_close(three.accelerations([s / 2.0, G - s, s / 2.0]), np.zeros(6), 1e-12)


# --- trees ----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def system():
    """Return a random tree with a free joint among its joints, uncompiled."""
    return ContactSystem(random_tree(5, 4, joints=('free', 'revolute', 'universal')),
                         backend='python')


def state(model, seed=0):
    """Return a random position and velocity."""
    rng = np.random.default_rng(seed)
    space = Coordinates(model)
    q = np.array(space.integrate(space.neutral(), rng.normal(size=model.nv).tolist()))
    return q, rng.normal(size=model.nv)


def some_contacts(system, q, qd, seed=1):
    """Return contacts between bodies, and with the base, at random points."""
    rng = np.random.default_rng(seed)
    found = []
    for p, s in ((0, 3), (1, 4), (2, 5), (0, 5), (4, 2)):
        unit = rng.normal(size=3)
        found.append(Contact(p, s, rng.normal(size=3), unit / np.linalg.norm(unit)))
    return found


def carried(system, contacts, q, qd):
    """Return what moves contacts along: a vertex of the successor on a face of the other."""
    here = system.motions(q, qd)
    E, r = here.E.copy(), here.r.copy()
    local = [(E[c.successor] @ (np.array(c.point) - r[c.successor]),
              E[c.predecessor] @ np.array(c.direction)) for c in contacts]

    def at(q, qd):
        m = system.motions(q, qd)
        return [c._replace(point=m.r[c.successor] + m.E[c.successor].T @ x,
                           direction=m.E[c.predecessor].T @ u)
                for c, (x, u) in zip(contacts, local, strict=True)]
    return at


@pytest.mark.seed('RBDA 11-05', 'RBDA 11-06')
def test_generalized_normals_and_velocity_products_of_a_tree(system):
    """T^T qd is the separation velocity, and T-dot^T qd its rate at constant qd."""
    q, qd = state(system.model)
    contacts = some_contacts(system, q, qd)
    at = carried(system, contacts, q, qd)
    space = Coordinates(system.model)

    def zeta(t):
        there = np.array(space.integrate(q.tolist(), (t * qd).tolist()))
        m = system.motions(there, qd)
        return rigid.generalized_normals(at(there, qd), m.J).T @ qd
    m = system.motions(q, qd)
    T = rigid.generalized_normals(contacts, m.J)
    for c, t in zip(contacts, T.T, strict=True):
        n = rigid.normal(c.point, c.direction)
        assert_close(t @ qd, n @ (m.v[c.successor] - m.v[c.predecessor]), 1e-11)
    rate = rigid.velocity_products(contacts, m.v, m.a_vp)
    h = 1e-4
    np.testing.assert_allclose(rate, (zeta(h) - zeta(-h)) / (2.0 * h), atol=2e-6, rtol=1e-5)
    assert np.abs(rate).min() > 1e-2


@pytest.mark.seed('RBDA 11-05')
def test_contact_forces_act_on_both_bodies(system):
    """Joint forces T lambda are those of opposite spatial forces on successor and predecessor."""
    q, qd = state(system.model, 3)
    contacts = some_contacts(system, q, qd)
    m = system.motions(q, qd)
    J = m.J.copy()
    lam = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    f_ext = np.zeros((system.model.nb + 1, 6))
    for c, size in zip(contacts, lam, strict=True):
        f_ext[c.successor] += size * rigid.normal(c.point, c.direction)
        f_ext[c.predecessor] -= size * rigid.normal(c.point, c.direction)
    tau = np.zeros(system.model.nv)
    problem = system.problem(q, qd, tau, contacts)
    pushed = system.problem(q, qd, tau, contacts, f_ext[1:])
    assert_close(problem.accelerations(lam), pushed.free, 1e-9)
    assert_close(rigid.generalized_normals(contacts, J) @ lam,
                 np.einsum('bij,bi->j', J[1:], f_ext[1:]), 1e-11)
    with pytest.raises(RbdError, match='names body 9'):
        system.problem(q, qd, tau, [contacts[0]._replace(successor=9)])
    with pytest.raises(ShapeError, match='qd has shape'):
        system.motions(q, qd[1:])
    with pytest.raises(NonFiniteError, match=r'qd\[.*must be finite'):
        system.motions(q, np.nan * qd)


def test_joint_forces_of_another_shape_are_refused(system):
    """One number is not taken for every joint, nor one force for every body."""
    q, qd = state(system.model)
    with pytest.raises(ShapeError, match='tau has shape'):
        system.problem(q, qd, [1.0], [])
    with pytest.raises(ShapeError, match='f_ext has shape'):
        system.problem(q, qd, np.zeros(system.model.nv), [], np.ones((1, 6)))
    with pytest.raises(NonFiniteError, match=r'tau\[.*must be finite'):
        system.problem(q, qd, np.full(system.model.nv, np.nan), [])


def test_a_new_contact_set_compiles_nothing(system, monkeypatch):
    """Contacts are no part of the kernel: other bodies, points and numbers need no other one."""
    q, qd = state(system.model)
    system.motions(q, qd)

    def refuse(*_, **__):
        raise AssertionError('compiled')
    monkeypatch.setattr('rbd_ros.dynamics.kernels.builder.trace', refuse)
    for seed, count in ((7, 1), (8, 4)):
        system.problem(q, qd, qd, some_contacts(system, q, qd, seed)[:count])


def test_loops_join_the_contact_problem(system):
    """Constraint forces of loops act on top: free motion and responses both keep K qdd = k."""
    q, qd = state(system.model, 5)
    rng = np.random.default_rng(3)
    K, k = rng.normal(size=(2, system.model.nv)), rng.normal(size=2)
    problem = system.problem(q, qd, np.zeros(system.model.nv), some_contacts(system, q, qd),
                             K=K, k=k)
    assert_close(K @ problem.accelerations(rng.uniform(size=5)), k, 1e-9)
    np.testing.assert_allclose(problem.M, problem.M.T, atol=1e-10)


# --- sets -----------------------------------------------------------------------------------


def box_normals(points):
    """Return upward normals (z) at points of the x-y plane, as columns."""
    return np.column_stack([rigid.normal((x, y, 0.0), (0.0, 0.0, 1.0)) for x, y in points])


CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


@pytest.mark.seed('RBDA 11-11')
def test_block_on_four_corners_needs_a_supplemented_active_set():
    """Two opposite corners carry a block; three make a basis of all that keeps it there."""
    inertia = np.diag([0.5, 0.6, 0.7, 3.0, 3.0, 3.0])
    N = box_normals(CORNERS)
    problem = rigid.body_problem(inertia, np.zeros(6), N, 0.0 * N, np.zeros(6),
                                 [0, 0, 0, 0, 0, -3.0 * G])
    assert np.linalg.matrix_rank(problem.M) == 3
    found = problem.solve()
    assert found.status is Status.MANY
    assert_close(found.acceleration, np.zeros(6), 1e-11)
    diagonal = np.array([1.5 * G, 0.0, 1.5 * G, 0.0])
    for force in (diagonal, diagonal[[1, 0, 3, 2]]):
        sets = contact_sets.contact_sets(N, force, np.zeros(4))
        assert sets.current.tolist() == [0, 1, 2, 3] and sets.active.size == 3
        assert set(np.flatnonzero(force)) <= set(sets.active.tolist())
        assert np.linalg.matrix_rank(N[:, sets.active]) == 3


@pytest.mark.seed('RBDA 11-11')
def test_current_contacts_are_those_that_stay_closed():
    """The end that a lever lifts is neither current nor active."""
    sets = contact_sets.contact_sets(normals_at(-0.5, 0.0), [0.0, 1.0], [3.0, 0.0])
    assert sets.current.tolist() == [1] and sets.active.tolist() == [1]


@pytest.mark.seed('RBDA 11-16')
def test_minimal_contacts_of_lines_polygons_and_ruled_surfaces():
    """A line keeps its ends, a patch its hull, a twisted line all of its points."""
    xs = np.linspace(-1.0, 1.0, 7)
    line = box_normals([(x, 0.3) for x in xs])
    assert contact_sets.minimal_contacts(line).tolist() == [0, 6]
    angle = 2.0 * np.pi * np.arange(5) / 5
    pentagon = [(np.cos(a), np.sin(a)) for a in angle]
    inner = [(0.3 * np.cos(a + 0.4), 0.3 * np.sin(a + 0.4)) for a in angle]
    assert contact_sets.minimal_contacts(box_normals(inner + pentagon)).tolist() == [5, 6, 7, 8, 9]
    ruled = np.column_stack([rigid.normal((0.0, y, 0.0), (-np.sin(y), 0.0, np.cos(y)))
                             for y in xs])
    assert contact_sets.minimal_contacts(ruled).tolist() == list(range(7))


# --- the states of an inequality constraint -------------------------------------------------


@pytest.mark.seed('RBDA 11-07')
def test_states_of_an_inequality_constraint():
    """A positive phi is free; at zero closing collides, opening leaves, resting is contact."""
    assert rigid.phase(0.1, -5.0) is Phase.INACTIVE
    assert rigid.phase(0.0, -1e-3) is Phase.COLLISION
    assert rigid.phase(0.0, 1e-3) is Phase.DEPARTURE
    assert rigid.phase(0.0, 0.0) is Phase.CONTACT
    assert rigid.phase(-1e-3, 0.0) is Phase.VIOLATED
    assert rigid.after(Phase.COLLISION, restitution=0.5) is Phase.DEPARTURE
    assert rigid.after(Phase.COLLISION) is Phase.CONTACT
    assert rigid.after(Phase.DEPARTURE) is Phase.INACTIVE
    assert rigid.after(Phase.CONTACT, acceleration=1.0) is Phase.INACTIVE
    assert rigid.after(Phase.CONTACT, acceleration=0.0) is Phase.CONTACT
    assert rigid.after(Phase.INACTIVE) is Phase.INACTIVE


# --- friction, beyond the book --------------------------------------------------------------


def test_friction_obeys_its_conditions_on_random_problems():
    """Cone, complementarity and direction, checked one by one; begun there, it stays there."""
    rng = np.random.default_rng(11)
    seen = dict.fromkeys(('open', 'stick', 'slide'), 0)
    for _ in range(40):
        count, nv = int(rng.integers(1, 6)), int(rng.integers(6, 19))
        T, mu = rng.normal(size=(3 * count, nv)), float(rng.uniform(0.1, 0.9))
        M, d = T @ T.T, T @ rng.normal(size=nv)             # singular if contacts are many
        found = friction.coulomb(M, d, mu, tolerance=1e-10)
        assert found.residual <= 1e-10
        np.testing.assert_allclose(found.motion.ravel(), M @ found.force.ravel() + d, atol=1e-12)
        for f, u in zip(found.force, found.motion, strict=True):
            assert f[2] >= -1e-9 and u[2] >= -1e-8 and abs(f[2] * u[2]) < 1e-8
            size, speed = np.hypot(*f[:2]), np.hypot(*u[:2])
            assert size <= mu * f[2] + 1e-8
            if speed > 1e-6 and f[2] > 1e-6:
                np.testing.assert_allclose(f[:2], -mu * f[2] * u[:2] / speed, atol=1e-6)
            seen['open' if f[2] < 1e-9 else 'slide' if speed > 1e-6 else 'stick'] += 1
        again = friction.coulomb(M, d, mu, start=found.force, tolerance=1e-9, sweeps=0)
        assert_close(again.force, found.force, 1e-9)
    assert min(seen.values()) >= 5, seen


def test_contacts_of_few_joints_are_solved_by_factors():
    """Where M = W A^T is not formed, motions and sweeps are those of M itself."""
    rng = np.random.default_rng(3)
    swept = 0.0
    for _ in range(20):
        count, nv = int(rng.integers(5, 13)), int(rng.integers(4, 8))
        A, L, found = rng.normal(size=(3 * count, nv)), rng.normal(size=(nv, nv)), []
        W, d, mu = A @ L @ L.T, A @ rng.normal(size=nv), rng.uniform(0.0, 1.0, count)
        M = W @ A.T
        for problem in (friction_cones.cones(count), friction_cones.cones(count, nv)):
            problem.d[:], problem.mu[:] = d, mu
            if len(problem.y):
                problem.A[:], problem.W[:], problem.span[1] = A, W, nv
                assert friction_cones.is_long(problem, count)
                for k in range(0, 3 * count, 3):
                    problem.M[k:k + 3, k:k + 3] = M[k:k + 3, k:k + 3]
            else:
                problem.M[:] = M
            residual = np.zeros(1)
            procedure.bind(friction_cones.solve_contacts, problem, np.array([1e-10, 100.0]),
                           residual)()
            found.append((M @ problem.force + d, residual[0], problem.swept[0]))
        if found[0][1] <= 1e-10:
            np.testing.assert_allclose(found[1][0], found[0][0], atol=1e-8)
            assert found[1][1] <= 1e-10
        swept += found[1][2]
    assert swept > 0.0                          # the sweeps are tried, too


def test_sliding_contacts_are_solved_by_guesses_alone():
    """Two that slide and one that sticks, from nothing and without a sweep, to rounding."""
    rng = np.random.default_rng(2)
    T = np.eye(9) + 0.1 * rng.normal(size=(9, 9))
    d = np.array([2.0, 0.5, -1.0, -1.0, 3.0, -1.0, 0.05, 0.02, -1.0])
    found = friction.coulomb(T @ T.T, d, 0.3, sweeps=0)
    assert found.residual < 1e-12
    assert (np.hypot(*found.motion[:, :2].T) > 1e-3).tolist() == [True, True, False]


def test_contact_that_turns_round_is_solved():
    """
    The tool of an arm, pushed down at a slant, slides back from where the last step began.

    With little damping the guesses go in circles between the two directions, and fifty sweeps
    creep only part of the way.
    """
    M = np.array([[0.0171, 0.00307, 0.0496], [0.00307, 0.144, -0.00959],
                  [0.0496, -0.00959, 0.150]])
    d = np.array([-3.17e-3, -4.08e-5, -9.10e-3])
    found = friction.coulomb(M, d, 0.6, start=[-0.045, 0.00644, 0.0758], tolerance=1e-8, sweeps=0)
    assert found.residual < 1e-8
    (x, y, n), (u, v, w) = found.force[0], found.motion[0]
    assert abs(w) < 1e-9 and n > 0.0 and np.hypot(x, y) == pytest.approx(0.6 * n, rel=1e-6)
    assert x * u + y * v == pytest.approx(-0.6 * n * np.hypot(u, v), rel=1e-4)


def test_contacts_that_cannot_open_are_left_with_a_residual():
    """Squeezed from both sides, or without a sweep: the residual says that it is not solved."""
    n = np.array([0.0, 0.0, 1.0, 0.0, 0.0, -1.0])
    M = np.outer(n, n) + 1e-3 * np.diag([1.0, 1.0, 0.0] * 2)
    squeezed = friction.coulomb(M, np.array([0.0, 0.0, -1.0] * 2), 0.5, sweeps=50)
    assert squeezed.residual > 0.1 and np.abs(squeezed.force).max() < 1e3
    pulled = friction.coulomb(M, np.array([0.0, 0.0, 1.0] * 2), 0.5)
    assert pulled.residual == 0.0 and not pulled.force.any()


def test_without_friction_the_book_remains():
    """With mu zero the forces are those of the complementarity problem."""
    rng = np.random.default_rng(4)
    T = rng.normal(size=(9, 9))
    M, d = T.T @ T, rng.normal(size=9)
    found = friction.coulomb(M, d, 0.0, sweeps=5000)
    normal = np.ix_([2, 5, 8], [2, 5, 8])
    assert_close(found.force[:, 2], complementarity.solve(M[normal], d[[2, 5, 8]]).force, 1e-8)
    assert_close(found.force[:, :2], np.zeros((3, 2)))
