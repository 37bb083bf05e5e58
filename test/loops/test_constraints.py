# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Subspaces, joint constraints and a constrained body (RBDA 3.3 to 3.6, 6-D guide 1)."""

from __future__ import annotations

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.loops import constraints, whole_system
from rbd_ros.errors import SingularError
from rbd_ros.joints import Cylindrical, Helical, RackAndPinion, Revolute, Spherical, Universal
from rbd_ros.joints.directions import dual_complement
from rbd_ros.spatial import Force, Motion
from spatial_oracle import array, assert_close, columns, crf6, crm6, derivative, Sampler

JOINTS = [Revolute((1.0, 2.0, 0.5)), Helical((0.0, 1.0, 0.0), 0.3), Cylindrical(), Spherical(),
          Universal(), RackAndPinion(0.4)]
NAMES = [joint.type_name for joint in JOINTS]


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(8)


def as_motions(matrix):
    """Return the columns of a matrix as motions."""
    return [Motion.from_list(column) for column in matrix.T.tolist()]


def reduced(inertia, S):
    """Return I - I S (S^T I S)^-1 S^T I by the compact types."""
    U = [inertia @ s for s in S]
    D = np.array([[s.dot(u) for s in S] for u in U])
    V = [Force.from_list(row) for row in np.linalg.solve(D, columns(U).T).tolist()]
    return inertia.articulated().minus_dyads(U, V)


@pytest.mark.seed('RBDA 3-15', 'RBDA 3-17')
def test_subspace_does_not_depend_on_its_basis(sample):
    """S and S A span the same subspace: same complement, same reduced inertia."""
    S = [sample.motion() for _ in range(2)]
    A = sample.rng.normal(size=(2, 2))
    other = as_motions(columns(S) @ A)
    T, T2 = columns(dual_complement(S)), columns(dual_complement(other))
    assert T.shape == (6, 4)
    assert np.linalg.matrix_rank(np.hstack((T, T2)), tol=1e-9) == 4
    inertia = sample.rigid()
    assert_close(array(reduced(inertia, S)), array(reduced(inertia, other)), 1e-10)
    # m (n - m) parameters: A can bring S to [1; P], which is all that is left
    canonical = columns(S) @ np.linalg.inv(columns(S)[:2])
    assert_close(canonical, columns(other) @ np.linalg.inv(columns(other)[:2]), 1e-10)


@pytest.mark.seed('RBDA 3-16')
def test_decomposition_into_two_subspaces(sample):
    """The parts of v along S1 and S2 add up to it; what is no direct sum is an error."""
    S1, S2 = columns([sample.motion() for _ in range(2)]), columns(
        [sample.motion() for _ in range(4)])
    v = array(sample.motion())
    a1, a2 = constraints.decompose(S1, S2, v)
    assert_close(S1 @ a1 + S2 @ a2, v, 1e-11)
    T = columns(dual_complement(as_motions(S2)))          # picks out the part along S1
    assert_close(np.linalg.solve(T.T @ S1, T.T @ v), a1, 1e-10)
    for other in (np.hstack((S2[:, :3], S1 @ [[1.0], [2.0]])), S2[:, :3]):
        with pytest.raises(SingularError, match='of rank 5 are not a direct sum of the 6-dim'):
            constraints.decompose(S1, other, v)


@pytest.mark.seed('RBDA 3-17')
def test_dual_complement_is_not_the_euclidean_one(sample):
    """S^perp transforms with X*; a Euclidean complement would depend on the frame."""
    S = [sample.motion() for _ in range(3)]
    X = sample.transform()
    moved = columns([X @ f for f in dual_complement(S)])
    assert_close(moved.T @ columns([X @ s for s in S]), np.zeros((3, 3)), 1e-11)
    as_motion = columns([X @ Motion.from_list(f.to_list()) for f in dual_complement(S)])
    assert np.abs(as_motion.T @ columns([X @ s for s in S])).max() > 1e-2
    assert len(dual_complement(S)) + len(S) == 6
    assert columns(dual_complement(())).tolist() == np.eye(6).tolist()


@pytest.mark.seed('RBDA 3-18')
def test_force_splits_into_an_active_and_a_constraint_part(sample):
    """The active part accelerates along S as f does, the rest does no work, of any basis."""
    inertia, f = array(sample.rigid()), array(sample.force())
    S = columns([sample.motion() for _ in range(2)])
    active, constraint = constraints.split_force(inertia, S, f)
    assert_close(active + constraint, f)
    assert_close(S.T @ constraint, np.zeros(2), 1e-10)
    # the free body under the active part alone moves within S
    acceleration = np.linalg.solve(inertia, active)
    assert_close(S @ np.linalg.lstsq(S, acceleration, rcond=None)[0], acceleration, 1e-10)
    A = sample.rng.normal(size=(2, 2))
    assert_close(constraints.split_force(inertia, S @ A, f)[0], active, 1e-9)
    assert_close(constraints.split_force(inertia, S, active)[0], active, 1e-10)
    with pytest.raises(SingularError, match='S must have independent columns'):
        constraints.split_force(np.eye(6), np.eye(6)[:, [0, 0]], f)


@pytest.mark.seed('RBDA 3-26', 'RBDA 3-22', 'RBDA 3-23')
def test_active_force_subspace_of_a_gear():
    """Ex 3.2: a drive through a gear loads the bearing by its tooth force; the motion is equal."""
    r, tau = 0.3, -0.6
    builder = rbd_ros.ModelBuilder('gear')
    builder.add_body('wheel', 'base', Revolute(), inertia=Sampler(9).rigid(), joint_name='axle')
    model = builder.build()
    gear = np.array([[0, 0, 1, 0, -1 / r, 0]]).T          # push along y at (-r, 0, 0)
    assert_close(gear.T @ np.eye(6)[:, 2], [1.0])
    plain = whole_system.accelerations(model, [0.0], [1.3], [tau])
    geared = whole_system.accelerations(model, [0.0], [1.3], [tau], active={'axle': gear})
    assert_close(geared.qdd, plain.qdd, 1e-12)
    assert_close(geared.a, plain.a, 1e-12)
    assert_close(geared.f_J, plain.f_J, 1e-11)            # the whole force across the joint
    # the bearing takes it without the push of the tooth, -tau / r along y at (-r, 0, 0)
    assert_close(plain.f_c, plain.f_J - [[0, 0, tau, 0, 0, 0]], 1e-11)
    assert_close(geared.f_c - plain.f_c, [[0, 0, 0, 0, tau / r, 0]], 1e-11)
    assert geared.f_J[0] @ [0, 0, 1.3, 0, 0, 0] == pytest.approx(tau * 1.3)      # power, 3.39
    # turned by a quarter the tooth stands at (0, -r, 0) and pushes along x of the base
    quarter = [np.pi / 2]
    plain = whole_system.accelerations(model, quarter, [1.3], [tau])
    geared = whole_system.accelerations(model, quarter, [1.3], [tau], active={'axle': gear})
    assert_close(geared.qdd, plain.qdd, 1e-12)
    assert_close(geared.f_c - plain.f_c, [[0, 0, 0, -tau / r, 0, 0]], 1e-11)


@pytest.mark.seed('RBDA 3-27', 'RBDA 3-28', 'RBDA 3-29', 'SIXD C18', 'SIXD C19')
@pytest.mark.parametrize('joint', JOINTS, ids=NAMES)
def test_constrained_body_by_three_methods(joint, sample):
    """Each method moves the body as its trajectory under the joint's own motion says."""
    rng = sample.rng
    q, qd, qdd = joint.random(rng), rng.normal(size=joint.nv), rng.normal(size=joint.nv)
    body = sample.rigid()
    inertia = array(body)
    S, T = columns(joint.subspace(q)), columns(joint.constraint_subspace(q))
    v_J = joint.velocity(q, qd.tolist())
    p = array(v_J.cross(body @ v_J))
    assert_close(p, crf6(array(v_J)) @ inertia @ array(v_J))
    # in a fixed frame Sdot qd = c_J + v x v_J = c_J, and -Tdot^T v = T^T Sdot qd (3.44)
    rate = array(joint.bias(q, qd.tolist()))
    # chosen: the acceleration and any constraint force; the force f follows from Newton's law
    a = S @ qdd + rate
    f = inertia @ a + p - T @ rng.normal(size=6 - joint.nv)
    Phi, b = constraints.apparent_inertia(inertia, p, S, rate)
    assert_close(Phi @ f + b, a, 1e-10)
    assert np.linalg.matrix_rank(Phi, tol=1e-10) == joint.nv
    assert_close(Phi @ T, np.zeros((6, 6 - joint.nv)), 1e-11)  # null space S^perp
    found, multipliers = constraints.constrained_body(inertia, p, T, T.T @ rate, f)
    assert_close(found, a, 1e-10)
    assert_close(f + T @ multipliers, inertia @ a + p, 1e-10)
    H, C = constraints.joint_equation(inertia, p, S, rate)
    assert_close(H @ qdd + C, S.T @ f, 1e-10)
    assert_close(H, H.T)


@pytest.mark.seed('RBDA 3-28', 'RBDA 3-25')
def test_rate_of_the_constraint_subspace(sample):
    """-Tdot^T v = T^T (c_J + v x v_J): the two forms of the acceleration constraint agree."""
    joint = RackAndPinion(0.5)
    q, qd = [0.4], [1.3]

    def in_base(s):
        X = joint.transform([q[0] + s * qd[0]])
        return columns([X.inv_apply(f) for f in joint.constraint_subspace([q[0] + s * qd[0]])])
    X = joint.transform(q)
    v = array(X.inv_apply(joint.velocity(q, qd)))
    T = columns([X.inv_apply(f) for f in joint.constraint_subspace(q)])
    c = array(X.inv_apply(joint.bias(q, qd)))
    assert_close(-derivative(in_base).T @ v, T.T @ (c + crm6(v) @ v), 1e-9)
