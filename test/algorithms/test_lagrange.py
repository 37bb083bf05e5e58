# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Lagrange's equations by tracing energies: particles, trees, Christoffel symbols, passivity."""

from __future__ import annotations

import numpy as np
import pytest
import rbd_ros
from rbd_ros import compiler
from rbd_ros.algorithms.other_forms import lagrange
from rbd_ros.errors import ModelError
from rbd_ros.joints import Prismatic, Revolute, RotationVector, Spherical
from rbd_ros.model.builder import JointData
from rbd_ros.samples import families
from rbd_ros.spatial import quaternion, RigidInertia, shapes, Sym3, Vec3, xlt
from spatial_oracle import assert_close, derivative
from tree_oracle import reference, State

M1, M2, L1, L2, G = 2.0, 1.0, 1.0, 0.5, 9.81
Q, QD, QDD = [0.3, 0.7], [0.5, -1.2], [1.5, -0.8]


@pytest.fixture(scope='module')
def tree():
    """Return a tree of turning and sliding joints and a ball joint, with rotors."""
    rng = np.random.default_rng(3)
    builder = rbd_ros.ModelBuilder('small')
    joints = [Revolute((0.0, 1.0, 0.0)), RotationVector(), rbd_ros.joints.Prismatic(),
              Revolute((1.0, 0.0, 1.0))]
    for i, (joint, parent) in enumerate(zip(joints, (0, 1, 2, 1), strict=True), 1):
        builder.add_body(f'body_{i}', f'body_{parent}' if parent else 'base', joint,
                         families.random_transform(rng), families.random_inertia(rng),
                         data=JointData(rotor_inertia=0.1 * i))
    return builder.build()


@pytest.mark.seed('MR A03')
def test_particle_on_a_vertical_line():
    """L = m xd^2/2 - m g x gives f = m xdd + m g."""
    graph = lagrange.euler_lagrange(
        lambda x, xd: 0.5 * 3.0 * xd[0] * xd[0] - 3.0 * G * x[0], 1)
    assert graph.evaluate([0.4], [1.5], [2.0])[0] == pytest.approx(3.0 * (2.0 + G), rel=1e-14)


@pytest.mark.seed('MR A02', 'MR A07', 'LIU B04')
def test_lagrange_is_newton_euler(tree):
    """Energies of a tree, differentiated, give the torques of the recursion, rotors included."""
    s, robot = State(tree, 1), reference(tree)
    graph = lagrange.equations(tree)
    assert_close(graph.evaluate(s.q, s.qd, s.qdd), robot.inverse_dynamics(s.q, s.qd, s.qdd), 1e-11)
    # the kinetic energy alone: tau is all of Q, so gravity is added to it
    free = lagrange.euler_lagrange(lagrange.kinetic_energy(tree), tree.nv)
    assert_close(np.add(free.evaluate(s.q, s.qd, s.qdd), robot.gravity(s.q)),
                 robot.inverse_dynamics(s.q, s.qd, s.qdd), 1e-11)
    kernel = compiler.compile(graph, backend='python')
    assert_close(kernel(s.q, s.qd, s.qdd), robot.inverse_dynamics(s.q, s.qd, s.qdd), 1e-11)


@pytest.mark.seed('MR A06', 'MR A29', 'MR A30')
def test_christoffel_symbols_of_a_tree(tree):
    """They are symmetric, add up to the slopes of M; their C is passive and gives c."""
    n, s, robot = tree.nv, State(tree, 2), reference(tree)
    M = lagrange.inertia(tree)
    assert_close(np.array(M.evaluate(s.q)).reshape(n, n), robot.mass_matrix(s.q), 1e-12)
    Gamma = np.array(lagrange.christoffel(M).evaluate(s.q)).reshape(n, n, n)
    assert_close(Gamma, Gamma.transpose(0, 2, 1), 1e-13)
    slopes = np.stack([derivative(lambda t, k=k: robot.mass_matrix(s.q + t * np.eye(n)[k]))
                       for k in range(n)], axis=2)
    assert_close(Gamma + Gamma.transpose(1, 0, 2), slopes, 1e-9)
    C = np.array(lagrange.contract(Gamma.tolist(), s.qd.tolist()))
    c = robot.bias(s.q, s.qd) - robot.gravity(s.q)
    assert_close(C @ s.qd, c, 1e-11)
    twice = np.array(lagrange.contract(Gamma.tolist(), (2.0 * s.qd).tolist()))
    assert_close(twice, 2.0 * C, 1e-12)
    Md = derivative(lambda t: robot.mass_matrix(s.q + t * s.qd))
    assert_close(Md, C + C.T, 1e-9)
    skew = Md - 2.0 * C
    assert_close(skew, -skew.T, 1e-9)
    # power of the drives beyond gravity is what the kinetic energy gains
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd)
    gain = derivative(lambda t: [robot.kinetic_energy(
        s.q + t * s.qd + 0.5 * t * t * s.qdd, s.qd + t * s.qdd)])
    assert_close([s.qd @ (tau - robot.gravity(s.q))], gain, 1e-9)


@pytest.mark.seed('LIU B05', 'LIU B07', 'LIU B08')
def test_velocity_forces_from_the_inertia_matrix(tree):
    """C = dM/dt qd - 1/2 (dM/dq qd)' qd is the bias without gravity, quadratic in qd."""
    n, s, robot = tree.nv, State(tree, 4), reference(tree)
    M = lagrange.inertia(tree)
    forces = lagrange.velocity_forces(M)
    C = np.array(forces.evaluate(s.q, s.qd))
    assert_close(C, robot.bias(s.q, s.qd) - robot.gravity(s.q), 1e-11)
    assert_close(forces.evaluate(s.q, 3.0 * s.qd), 9.0 * C, 1e-11)
    tau = robot.mass_matrix(s.q) @ s.qdd + C + robot.gravity(s.q)
    assert_close(tau, robot.inverse_dynamics(s.q, s.qd, s.qdd), 1e-11)
    # column j of the tensor is the slope of M along j; not dM/dt, but the same times qd
    dM = compiler.jacobian(M, 'M', 'q').evaluate(s.q)
    tensor = np.array(lagrange.times_velocity(dM, s.qd.tolist()))
    for j in range(n):
        slope = derivative(lambda t, j=j: robot.mass_matrix(s.q + t * np.eye(n)[j]))
        assert_close(tensor[:, j], slope @ s.qd, 1e-9)
    Md = derivative(lambda t: robot.mass_matrix(s.q + t * s.qd))
    assert_close(tensor @ s.qd, Md @ s.qd, 1e-9)
    assert np.abs(tensor - Md).max() > 1e-2


# --- particles --------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def cloud():
    """Return a tree whose bodies are clouds of particles, and these particles."""
    rng = np.random.default_rng(5)
    builder = rbd_ros.ModelBuilder('cloud')
    masses, points = [], []
    for i, (joint, parent) in enumerate((
            (Revolute(), 0), (RotationVector(), 1), (rbd_ros.joints.Prismatic(), 1)), 1):
        mu = rng.uniform(0.1, 0.5, 6).tolist()
        places = [Vec3(*p) for p in rng.uniform(-0.2, 0.2, (6, 3)).tolist()]
        builder.add_body(f'body_{i}', f'body_{parent}' if parent else 'base', joint,
                         families.random_transform(rng), shapes.points(mu, places))
        masses += mu
        points += [(i, place) for place in places]
    model = builder.build()
    names = [f'body_{k}' for k in range(1, 4)]
    numbers = {k: model.body_index(name) for k, name in enumerate(names, 1)}
    return model, masses, [(numbers[i], place) for i, place in points]


@pytest.mark.seed('LIU B01', 'LIU B02', 'LIU B03', 'LIU B06')
def test_particles(cloud):
    """Jacobians of particles: their motion, their rates, generalised forces, and M."""
    model, masses, points = cloud
    n, s, robot = model.nv, State(model, 6), reference(model)
    position = lagrange.body_points(model, points)
    J_graph = lagrange.particle_jacobian(position, n)
    J = np.array(J_graph.evaluate(s.q)).reshape(-1, 3, n)
    velocity = derivative(lambda t: position((s.q + t * s.qd).tolist()))
    assert_close(J @ s.qd, velocity, 1e-9)
    # d rdot / dqd = dr/dq is how J was used; d rdot / dq is the rate of J
    Jd = np.array(lagrange.particle_jacobian_rate(J_graph).evaluate(s.q, s.qd)).reshape(J.shape)
    for k in range(n):
        slope = derivative(lambda t, k=k: (np.array(J_graph.evaluate(
            (s.q + t * np.eye(n)[k]).tolist())).reshape(J.shape) @ s.qd))
        assert_close(Jd[:, :, k], slope, 1e-9)
    M = lagrange.particle_inertia(masses, J.tolist())
    assert_close(M, robot.mass_matrix(s.q), 1e-12)
    f = s.rng.normal(size=(len(masses), 3))
    force = lagrange.particle_force(J.tolist(), f.tolist())
    assert np.dot(force, s.qd) == pytest.approx((f * velocity).sum(), rel=1e-9)
    weights = [[0.0, 0.0, -9.81 * mu] for mu in masses]
    assert_close(np.negative(lagrange.particle_force(J.tolist(), weights)), robot.gravity(s.q),
                 1e-11)


@pytest.mark.seed('LIU B48')
def test_quaternion_coordinates_are_redundant():
    """M of four coordinates of a ball joint has rank three; the joint with w has full rank."""
    I_c = Sym3(0.02, 0.001, 0.002, 0.03, 0.003, 0.04)

    def T(p, pd):
        E = compiler.trace(lambda p: {'E': quaternion.rotation(p).to_list()}, {'p': 4})
        Ed = np.reshape(compiler.jvp(E, 'E', 'p').evaluate(p, pd), (3, 3))
        E = np.reshape(E.evaluate(p), (3, 3))
        W = [[sum(E[i][k] * Ed[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
        w = Vec3(W[2][1], W[0][2], W[1][0])
        return 0.5 * w.dot(I_c @ w)
    p = quaternion.unit([0.3, -0.2, 0.5, 0.7])
    M = np.array(lagrange.inertia_from_energy(T, 4).evaluate(p)).reshape(4, 4)
    assert np.linalg.matrix_rank(M, tol=1e-9) == 3
    assert_close(M @ p, np.zeros(4), 1e-12)              # the length of p costs no energy
    builder = rbd_ros.ModelBuilder('ball')
    builder.add_body('body', 'base', Spherical(), None, RigidInertia(1.0, Vec3.zero(), I_c))
    H = reference(builder.build()).mass_matrix(p)
    assert_close(H, I_c.to_list(), 1e-14)
    w = np.array([0.3, -0.4, 0.7])
    pd = np.array(quaternion.rate(p, Vec3(*w)))
    assert 0.5 * pd @ M @ pd == pytest.approx(0.5 * w @ H @ w, rel=1e-12)


class Lift(Prismatic):
    """A joint whose velocity is the rate of its position, and that moves with time besides."""

    time_dependent = True


def test_what_lagrange_cannot_take_is_refused():
    """A joint with quasi-velocities is named, with what to use in its place."""
    builder = rbd_ros.ModelBuilder('ball')
    builder.add_body('head', 'base', Spherical(), xlt(0.0, 0.0, 1.0),
                     shapes.sphere(1.0, 0.1), joint_name='neck')
    with pytest.raises(ModelError, match=r'"neck" \(spherical\) .* use RotationVector'):
        lagrange.equations(builder.build())
    builder = rbd_ros.ModelBuilder('lift')
    lift = Lift()
    assert lift.additive
    builder.add_body('cabin', 'base', lift, None, shapes.sphere(1.0, 0.1), joint_name='rope')
    with pytest.raises(ModelError, match='"rope"'):
        lagrange.equations(builder.build())
