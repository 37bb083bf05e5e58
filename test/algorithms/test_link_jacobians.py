# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Link Jacobians in base axes, the equations from them, and the recursion in link axes."""

from __future__ import annotations

import numpy as np
import pytest
import rbd_ros
from rbd_ros import compiler
from rbd_ros.algorithms.other_forms import lagrange, link_jacobians, local_recursion, maximal
from rbd_ros.errors import ModelError, SingularError
from rbd_ros.joints import Composite, Prismatic, Revolute, RotationVector, Translation, Universal
from rbd_ros.samples import families
from rbd_ros.spatial import shapes, Vec3
from spatial_oracle import array, assert_close, derivative, skew
from tree_oracle import State

GRAVITY = Vec3(0.0, 0.0, -9.81)


class Case:
    """A model at a random state, with its uncompiled robot."""

    def __init__(self, model, seed):
        self.model, self.s = model, State(model, seed)
        self.robot = rbd_ros.Dynamics(model, backend='reference')
        self.q, self.qd, self.qdd = (x.tolist() for x in (self.s.q, self.s.qd, self.s.qdd))

    def at(self, t):
        """Return the position on a path of acceleration qdd, for joints whose q adds up."""
        return (self.s.q + t * self.s.qd + 0.5 * t * t * self.s.qdd).tolist()


def figure():
    """Return the tutorial's tree: a universal root, a ball and two hinges, seven freedoms."""
    rng = np.random.default_rng(8)
    builder = rbd_ros.ModelBuilder('figure')
    for i, (joint, parent) in enumerate((
            (Universal(), 0), (RotationVector(), 1), (Revolute((1.0, 0.0, 0.0)), 2),
            (Revolute(), 2)), 1):
        builder.add_body(f'link_{i}', f'link_{parent}' if parent else 'base', joint,
                         families.random_transform(rng), families.random_inertia(rng))
    return builder.build()


@pytest.fixture(scope='module')
def turning():
    """Return the tree of the tutorial's figure: all joints turn."""
    return Case(figure(), 1)


@pytest.fixture(scope='module')
def mixed():
    """Return a floating root, made of translation and ball, with turning and sliding joints."""
    rng = np.random.default_rng(9)
    builder = rbd_ros.ModelBuilder('mixed')
    for i, (joint, parent) in enumerate((
            (Translation(), 0), (RotationVector(), 1), (Prismatic((1.0, 2.0, 0.0)), 2),
            (Revolute(), 3), (rbd_ros.joints.Helical((0.0, 1.0, 0.0), 0.2), 2)), 1):
        builder.add_body(f'link_{i}', f'link_{parent}' if parent else 'base', joint,
                         families.random_transform(rng), families.random_inertia(rng))
    return Case(builder.build(), 2)


@pytest.fixture(scope='module')
def one():
    """Return one body with six coordinates, three of place and a rotation vector."""
    rng = np.random.default_rng(3)
    builder = rbd_ros.ModelBuilder('one')
    builder.add_body('body', 'base', Composite((Translation(), RotationVector())),
                     families.random_transform(rng), families.random_inertia(rng))
    return Case(builder.build(), 3)


def jacobian(case, i, q=None):
    """Return J of link i as an array."""
    return np.array(link_jacobians.link_jacobians(case.model, case.q if q is None else q)[i])


# --- one rigid body ---------------------------------------------------------------------------


@pytest.mark.seed('LIU B09', 'LIU B11', 'LIU B12')
def test_momenta_are_those_of_particles():
    """P, L and I_c of a moving cloud; their rates are force and moment about the centre."""
    rng = np.random.default_rng(6)
    mu, places = rng.uniform(0.1, 1.0, 9), rng.normal(size=(9, 3))
    builder = rbd_ros.ModelBuilder('cloud')
    builder.add_body('body', 'base', Composite((Translation(), RotationVector())), None,
                     shapes.points(mu.tolist(), [Vec3(*p) for p in places.tolist()]))
    case = Case(builder.build(), 7)

    def particles(t):
        return np.array(lagrange.body_points(
            case.model, [(1, Vec3(*p)) for p in places.tolist()])(case.at(t)))
    r, rd = particles(0.0), derivative(particles)
    link = link_jacobians.placed_links(case.model, case.q)[1]
    x = np.array(link.x.to_list())
    assert_close(mu @ (r - x), np.zeros(3), 1e-13)
    P, L = link_jacobians.link_momenta(case.model, case.q, case.qd)[1]
    assert_close(array(P), mu @ rd, 1e-9)
    assert_close(array(L), (mu[:, None] * np.cross(r - x, rd)).sum(0), 1e-9)
    V = link_jacobians.link_velocities(case.model, case.q, case.qd)[1]
    w = skew(V.w.to_list())
    I_c = np.array(link.I_c.to_list())

    def inertia(t):
        return link_jacobians.placed_links(case.model, case.at(t))[1].I_c.to_list()
    assert_close(derivative(inertia), w @ I_c - I_c @ w, 1e-9)

    def momenta(t):
        rates = (case.s.qd + t * case.s.qdd).tolist()
        both = link_jacobians.link_momenta(case.model, case.at(t), rates)[1]
        return [*both[0], *both[1]]
    a = link_jacobians.link_accelerations(case.model, case.q, case.qd, case.qdd)[1]
    f, tau = link_jacobians.newton_euler_world(link.m, link.I_c, V.w, a.v, a.w)
    assert_close([*f, *tau], derivative(momenta), 1e-9)
    assert_close(array(tau), I_c @ array(a.w) + w @ I_c @ array(V.w), 1e-12)


@pytest.mark.seed('LIU B13', 'LIU B14', 'LIU B15', 'LIU B28', 'LIU B27')
def test_jacobians_of_links(turning, mixed):
    """J_v is dx/dq, [j] is dR/dq R', V = J qd; T is the form of M_c."""
    for case in (turning, mixed):
        model, energy = case.model, 0.0
        links = link_jacobians.placed_links(model, case.q)
        V = link_jacobians.link_velocities(model, case.q, case.qd)
        for i in range(1, model.nb + 1):
            J = jacobian(case, i)
            R = np.array(links[i].R.to_list())
            for k in range(model.nv):
                def place(t, k=k, i=i, case=case, model=model):
                    q = (case.s.q + t * np.eye(model.nv)[k]).tolist()
                    link = link_jacobians.placed_links(model, q)[i]
                    return np.column_stack([link.x.to_list(), link.R.to_list()])
                slope = derivative(place)
                assert_close(J[:3, k], slope[:, 0], 1e-9)
                assert_close(skew(J[3:, k]), slope[:, 1:] @ R.T, 1e-9)
            assert_close(J @ case.s.qd, [*V[i].v, *V[i].w], 1e-12)
            M_c = np.array(link_jacobians.link_mass(links[i]))
            assert_close(M_c[3:, 3:],
                         R @ np.array(link_jacobians.centre(model, i)[2].to_list()) @ R.T)
            energy += 0.5 * case.s.qd @ J.T @ M_c @ J @ case.s.qd
        T = link_jacobians.kinetic_energy(model, case.q, case.qd)
        assert T == pytest.approx(energy, rel=1e-12)
        assert T == pytest.approx(case.robot.kinetic_energy(case.q, case.qd), rel=1e-12)


@pytest.mark.seed('LIU B18', 'LIU B19', 'LIU B16', 'LIU B17')
def test_equations_of_one_body(one):
    """J'M_cJ qdd + J'(M_c dJ/dt + [W]M_cJ) qd is Lagrange's, and Newton's and Euler's."""
    model, s = one.model, one.s
    M, C = link_jacobians.equations(model, one.q, one.qd)
    J = jacobian(one, 1)
    link = link_jacobians.placed_links(model, one.q)[1]
    M_c = np.array(link_jacobians.link_mass(link))
    W = np.zeros((6, 6))
    W[3:, 3:] = skew(J[3:] @ s.qd)
    Jd = np.array(link_jacobians.link_jacobian_rates(model).evaluate(one.q, one.qd)).reshape(6, 6)
    assert_close(Jd, derivative(lambda t: jacobian(one, 1, (s.q + t * s.qd).tolist())), 1e-9)
    assert_close(C, J.T @ (M_c @ Jd + W @ M_c @ J) @ s.qd, 1e-11)
    T = lagrange.euler_lagrange(lagrange.kinetic_energy(model), 6)
    assert_close(np.array(M) @ s.qdd + C, T.evaluate(one.q, one.qd, one.qdd), 1e-11)
    a = link_jacobians.link_accelerations(model, one.q, one.qd, one.qdd)[1]
    f, tau = link_jacobians.newton_euler_world(link.m, link.I_c, Vec3(*(J[3:] @ s.qd)), a.v, a.w)
    assert_close(J[:3].T @ array(f) + J[3:].T @ array(tau), np.array(M) @ s.qdd + C, 1e-11)


# --- articulated bodies -----------------------------------------------------------------------


@pytest.mark.seed('LIU B29', 'LIU B47', 'LIU B20', 'LIU B21', 'LIU B22')
def test_equations_of_a_tree(turning, mixed):
    """M and C from link Jacobians are those of composite bodies and of the recursion."""
    others = [Case(families.random_tree(5, 21), 4)]           # quaternions among the joints, too
    for case in (turning, mixed, *others):
        M, C = link_jacobians.equations(case.model, case.q, case.qd)
        assert_close(M, case.robot.mass_matrix(case.q), 1e-11)
        g = case.robot.gravity(case.q)
        assert_close(C, case.robot.bias(case.q, case.qd) - g, 1e-10)
        assert_close(link_jacobians.gravity_force(case.model, case.q, GRAVITY), -g, 1e-11)
        qdd = link_jacobians.forward_dynamics(
            case.model, case.q, case.qd, case.s.tau.tolist(), GRAVITY)
        assert_close(qdd, case.robot.forward_dynamics(case.q, case.qd, case.s.tau, method='aba'),
                     1e-8)


@pytest.mark.seed('LIU B40', 'LIU B41', 'LIU B42', 'LIU B44', 'LIU B46')
def test_recursion_in_link_axes(turning):
    """Velocities and accelerations are derivatives of places; forces give the joint torques."""
    model, case = turning.model, turning
    found = local_recursion.local_recursion(model, case.q, case.qd, case.qdd, Vec3.zero())
    V = link_jacobians.link_velocities(model, case.q, case.qd)
    links = link_jacobians.placed_links(model, case.q)

    def motion(t):
        rates = (case.s.qd + t * case.s.qdd).tolist()
        each = link_jacobians.link_velocities(model, case.at(t), rates)
        return [[*V.v, *V.w] for V in each]
    rates = derivative(motion)
    for i in range(1, 5):
        R = np.array(links[i].R.to_list())
        assert_close(R @ array(found.w[i]), array(V[i].w), 1e-12)
        assert_close(R @ array(found.v[i]), array(V[i].v), 1e-12)
        assert_close(R @ array(found.a[i]), rates[i, :3], 1e-8)
        assert_close(R @ array(found.wd[i]), rates[i, 3:], 1e-8)
    # the root turns about a fixed point
    c = link_jacobians.centre(model, 1)[1]
    assert_close(array(found.v[1]), array(found.w[1].cross(c)), 1e-13)
    # each force is what moves the body and what it hands on; leaves hand on nothing
    for i in range(1, 5):
        m, c, I_0 = link_jacobians.centre(model, i)
        f = found.a[i] * m
        for k in model.children[i]:
            Rk = np.array(links[i].R.to_list()).T @ np.array(links[k].R.to_list())
            f = f + Vec3(*(Rk @ array(found.f[k])))
        assert_close(array(found.f[i]), array(f), 1e-11)
        tau = array(I_0 @ found.wd[i] + found.w[i].cross(I_0 @ found.w[i]) + c.cross(f))
        X = {k: np.linalg.inv(case.robot.pose(case.q, model.body_names[i]))
             @ case.robot.pose(case.q, model.body_names[k]) for k in model.children[i]}
        for k, T in X.items():
            tau += T[:3, :3] @ array(found.tau[k]) + np.cross(
                T[:3, 3] - array(c), T[:3, :3] @ array(found.f[k]))
        assert_close(array(found.tau[i]), tau, 1e-11)
    # Q_k = hat-J_k' R_k tau_k
    hats = maximal.joint_jacobians(model, case.q)
    for i in range(1, 5):
        Rk = np.array(links[model.parent[i]].R.to_list()).T @ np.array(links[i].R.to_list())
        assert_close(found.Q[model.v_index[i]], hats[i].T @ Rk @ array(found.tau[i]), 1e-11)
    M, C = link_jacobians.equations(model, case.q, case.qd)
    assert_close(found.Q, np.array(M) @ case.s.qdd + C, 1e-10)


@pytest.mark.seed('LIU B43', 'LIU B45', 'LIU B46')
def test_recursion_with_joints_that_slide(mixed):
    """Translations take 2 w x u; gravity is an offset of the root; a free root gets nothing."""
    model, case = mixed.model, mixed
    found = local_recursion.local_recursion(model, case.q, case.qd, case.qdd, GRAVITY)
    assert_close(found.Q, case.robot.inverse_dynamics(case.q, case.qd, case.qdd), 1e-10)
    for i, V in enumerate(link_jacobians.link_velocities(model, case.q, case.qd)[1:], 1):
        R = link_jacobians.placed_links(model, case.q)[i].R
        assert_close(array(R @ found.v[i]), array(V.v), 1e-12)
    # joints that turn and slide in different directions at once
    all_types = Case(families.random_tree(6, 5, joints=('planar', 'free', 'cylindrical')), 6)
    assert_close(local_recursion.local_recursion(
        all_types.model, all_types.q, all_types.qd, all_types.qdd, GRAVITY).Q,
        all_types.robot.inverse_dynamics(all_types.q, all_types.qd, all_types.qdd), 1e-10)
    M, C = link_jacobians.equations(model, case.q, case.qd)
    explicit = link_jacobians.gravity_force(model, case.q, GRAVITY)
    assert_close(found.Q, np.array(M) @ case.s.qdd + C - explicit, 1e-10)
    # a translation: Q is the force itself, in the axes of the joint
    assert_close(found.Q[:3], array(found.f[1]), 1e-12)
    # a root that nobody drives receives no force: base accelerations that make it so
    top = np.linalg.solve(np.array(M)[:6, :6],
                          np.array(explicit)[:6] - C[:6] - np.array(M)[:6, 6:] @ case.s.qdd[6:])
    free = local_recursion.local_recursion(
        model, case.q, case.qd, [*top, *case.qdd[6:]], GRAVITY)
    assert_close([*free.f[1], *free.tau[2]], np.zeros(6), 1e-10)


# --- velocities and forces of bodies ----------------------------------------------------------


def velocities(case):
    """Return v and w of all bodies as arrays."""
    V = link_jacobians.link_velocities(case.model, case.q, case.qd)[1:]
    return np.array([array(each.v) for each in V]), np.array([array(each.w) for each in V])


@pytest.mark.seed('LIU B30', 'LIU B33')
def test_generalised_velocity(turning, mixed):
    """Joint rates come back from the motion of bodies; what breaks the joints is reported."""
    for case in (turning, mixed):
        v, w = velocities(case)
        found = maximal.generalised_velocity(case.model, case.q, v, w)
        assert_close(found.qd, case.s.qd, 1e-11)
        assert found.residual < 1e-12
        J = maximal.stacked_jacobian(case.model, case.q)
        V = np.r_[v.ravel(), w.ravel()]
        assert_close(J @ case.s.qd, V, 1e-12)
        # any independent rows give the same, as long as the motion respects the joints
        rows = case.s.rng.permutation(len(V))
        chosen = []
        for row in rows:
            if np.linalg.matrix_rank(J[[*chosen, row]]) > len(chosen):
                chosen.append(row)
        assert_close(np.linalg.solve(J[chosen], V[chosen]), case.s.qd, 1e-7)
        v[1, 0] += 0.1
        assert maximal.generalised_velocity(case.model, case.q, v, w).residual > 1e-2
        assert maximal.joint_velocities(case.model, case.q, v, w).residual > 1e-2


@pytest.mark.seed('LIU B31', 'LIU B32')
def test_velocities_joint_by_joint(turning, mixed):
    """D w = R hat-w; each joint's rates follow from the bodies it connects."""
    for case in (turning, mixed):
        model = case.model
        v, w = velocities(case)
        D, R = maximal.differences(model), maximal.parent_rotations(model, case.q)
        hat = maximal.relative_angular_velocities(model, case.q, w)
        assert_close(D @ w.ravel(), R @ hat.ravel(), 1e-12)
        hats = maximal.joint_jacobians(model, case.q)
        for i in range(1, model.nb + 1):
            assert_close(hat[i - 1], hats[i] @ case.s.qd[model.v_index[i]], 1e-12)
        J_w = maximal.stacked_jacobian(model, case.q)[3 * model.nb:]
        blocks = np.zeros_like(J_w)
        for i in range(1, model.nb + 1):
            blocks[3 * i - 3:3 * i, model.v_index[i]] = hats[i]
        assert_close(D @ J_w, R @ blocks, 1e-12)
        found = maximal.joint_velocities(model, case.q, v, w)
        assert_close(found.qd, case.s.qd, 1e-11)
        assert found.residual < 1e-12
    D = maximal.differences(turning.model)[::3, ::3]
    assert_close(D, [[1, 0, 0, 0], [-1, 1, 0, 0], [0, -1, 1, 0], [0, -1, 0, 1]])
    assert_close(np.linalg.inv(D), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]])
    # where only angular velocities are needed, wrong linear ones do not matter
    v, w = velocities(turning)
    assert_close(maximal.joint_velocities(turning.model, turning.q, 0.0 * v, w).qd, turning.s.qd,
                 1e-11)


@pytest.mark.seed('LIU B34', 'LIU B35')
def test_generalised_force(mixed):
    """Q.qd is the power of forces and torques; a force off the centre is one with a moment."""
    model, case = mixed.model, mixed
    rng = np.random.default_rng(1)
    at, f, tau = (Vec3(*x) for x in rng.normal(size=(3, 3)).tolist())
    Q = maximal.generalised_force(model, case.q, [(4, at, f)], [(2, tau)])
    V = link_jacobians.link_velocities(model, case.q, case.qd)
    x = link_jacobians.placed_links(model, case.q)[4].x
    speed = V[4].v + V[4].w.cross(at - x)
    assert np.dot(Q, case.qd) == pytest.approx(f.dot(speed) + tau.dot(V[2].w), rel=1e-11)
    moved = maximal.generalised_force(model, case.q, [(4, x, f)],
                                      [(2, tau), (4, (at - x).cross(f))])
    assert_close(Q, moved, 1e-12)
    f_ext = np.zeros((model.nb, 6))
    f_ext[3] = [*at.cross(f), *f]
    f_ext[1, :3] = tau.to_list()
    assert_close(Q, case.robot.bias(case.q, case.qd)
                 - case.robot.bias(case.q, case.qd, f_ext), 1e-10)


@pytest.mark.seed('LIU B36', 'LIU B37', 'LIU B39')
def test_joint_torques(turning):
    """Q to torques in joints, to torques on bodies, and back to Q."""
    model, case = turning.model, turning
    Q = case.s.tau
    hats = maximal.joint_jacobians(model, case.q)
    torques = maximal.joint_torques(model, case.q, Q)
    for i in range(1, 5):
        assert_close(hats[i].T @ torques[i - 1], Q[model.v_index[i]], 1e-11)
        least = hats[i] @ np.linalg.solve(hats[i].T @ hats[i], Q[model.v_index[i]])
        assert_close(torques[i - 1], least, 1e-11)
    on_bodies = maximal.body_torques(model, case.q, torques)
    back = maximal.generalised_force(
        model, case.q, (), [(i, Vec3(*on_bodies[i - 1])) for i in range(1, 5)])
    assert_close(back, Q, 1e-11)
    # inside the tree every torque has its opposite: what is left acts from the ground
    assert_close(on_bodies.sum(0), torques[0], 1e-12)
    # forces on bodies as well as torques in joints: Q = J_v' f + hat-J' tau
    force = Vec3(1.0, -2.0, 0.5)
    x = link_jacobians.placed_links(model, case.q)[3].x
    both = maximal.generalised_force(
        model, case.q, [(3, x, force)], [(i, Vec3(*on_bodies[i - 1])) for i in range(1, 5)])
    assert_close(both, jacobian(case, 3)[:3].T @ array(force) + Q, 1e-11)
    slides = Case(families.random_tree(2, 0, joints=('prismatic',)), 0)
    with pytest.raises(ModelError, match='joint "joint_1" slides'):
        maximal.joint_torques(slides.model, slides.q, [1.0, 1.0])


@pytest.mark.seed('LIU B38', 'LIU B49')
def test_wrenches_on_bodies(turning, mixed):
    """The least forces and torques, and those of each joint, do what Q does."""
    for case in (turning, mixed):
        model, Q = case.model, case.s.tau
        J = maximal.stacked_jacobian(model, case.q)
        f, tau = maximal.cartesian_forces(model, case.q, Q)
        F = np.r_[f.ravel(), tau.ravel()]
        assert_close(J.T @ F, Q, 1e-10)
        assert_close(F, np.linalg.pinv(J.T) @ Q, 1e-9)
        f2, tau2 = maximal.cartesian_forces(model, case.q, Q, lengths=0.1)
        assert_close(J.T @ np.r_[f2.ravel(), tau2.ravel()], Q, 1e-9)
        assert np.linalg.norm(tau2) < np.linalg.norm(tau)
        wrenches = np.array(maximal.applied_wrenches(model, case.q, Q.tolist()))
        links = link_jacobians.placed_links(model, case.q)[1:]
        back = maximal.generalised_force(
            model, case.q, [(i, link.x, Vec3(*w[:3])) for i, (link, w) in
                            enumerate(zip(links, wrenches, strict=True), 1)],
            [(i, Vec3(*w[3:])) for i, w in enumerate(wrenches, 1)])
        assert_close(back, Q, 1e-10)
        # the same as forces from outside: the same acceleration as tau = Q
        f_ext = [[*(link.x.cross(Vec3(*w[:3])) + Vec3(*w[3:])), *w[:3]]
                 for link, w in zip(links, wrenches, strict=True)]
        assert_close(case.robot.forward_dynamics(case.q, case.qd, np.zeros(model.nv), f_ext),
                     case.robot.forward_dynamics(case.q, case.qd, Q), 1e-8)
    turning_wrenches = maximal.applied_wrenches(turning.model, turning.q, turning.s.tau.tolist())
    on_bodies = maximal.body_torques(turning.model, turning.q, maximal.joint_torques(
        turning.model, turning.q, turning.s.tau))
    assert_close(np.array(turning_wrenches), np.hstack([np.zeros((4, 3)), on_bodies]), 1e-11)


def test_lost_freedoms_are_named():
    """At a singular position joint velocities cannot be found, and the error says so."""
    builder = rbd_ros.ModelBuilder('gimbal')
    builder.add_body('body', 'base', rbd_ros.joints.RollPitchYaw(), None, shapes.box(
        1.0, 0.1, 0.2, 0.3), joint_name='neck')
    model = builder.build()
    q = [0.1, 0.5 * np.pi, 0.2]
    with pytest.raises(SingularError, match='1 of 3 joint velocities move no body'):
        maximal.generalised_velocity(model, q, np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(SingularError, match='joint "neck" has lost a freedom'):
        maximal.joint_velocities(model, q, np.zeros((1, 3)), np.ones((1, 3)))


def test_links_without_mass():
    """A massless link has its centre at its origin; nothing divides by its mass."""
    builder = rbd_ros.ModelBuilder('light')
    builder.add_body('empty', 'base', Revolute())
    builder.add_body('full', 'empty', Revolute((1.0, 0.0, 0.0)), None, shapes.sphere(1.0, 0.1))
    case = Case(builder.build(), 0)
    M, C = link_jacobians.equations(case.model, case.q, case.qd)
    assert_close(M, case.robot.mass_matrix(case.q), 1e-13)
    assert_close(C, case.robot.bias(case.q, case.qd) - case.robot.gravity(case.q), 1e-13)


def test_traced_forms(mixed):
    """The equations and the recursion trace, and the graphs give the same numbers."""
    model, case = mixed.model, mixed
    n = model.nv
    equations = compiler.trace(
        lambda q, qd: link_jacobians.equations(model, q, qd)._asdict(), {'q': n, 'qd': n})
    M, C = link_jacobians.equations(model, case.q, case.qd)
    assert_close(equations.evaluate(case.q, case.qd), [*np.ravel(M), *C], 1e-12)
    recursion = compiler.trace(
        lambda q, qd, qdd: {'Q': local_recursion.local_recursion(model, q, qd, qdd, GRAVITY).Q},
        {'q': n, 'qd': n, 'qdd': n})
    assert_close(recursion.evaluate(case.q, case.qd, case.qdd), local_recursion.local_recursion(
        model, case.q, case.qd, case.qdd, GRAVITY).Q, 1e-12)
