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

"""Subspaces, joint constraints and a constrained body (RBDA 3.3 to 3.6, 6-D guide 1)."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.joints import Cylindrical, Helical, RackAndPinion, Revolute, Spherical, Universal
from rbd_ros.joints.base import dual_complement
from rbd_ros.spatial import (
    ArticulatedInertia, Force, Motion, RigidInertia, Sym3, Vec3)
from spatial_oracle import array, close, crf6, crm6, derivative, Sampler

JOINTS = [Revolute((1.0, 2.0, 0.5)), Helical((0.0, 1.0, 0.0), 0.3), Cylindrical(), Spherical(),
          Universal(), RackAndPinion(0.4)]
NAMES = [joint.type_name for joint in JOINTS]


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(8)


def columns(vectors):
    """Return a 6 x n matrix."""
    return np.array([v.to_list() for v in vectors]).reshape(-1, 6).T


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
    close(array(reduced(inertia, S)), array(reduced(inertia, other)), 1e-10)
    # m (n - m) parameters: A can bring S to [1; P], which is all that is left
    canonical = columns(S) @ np.linalg.inv(columns(S)[:2])
    close(canonical, columns(other) @ np.linalg.inv(columns(other)[:2]), 1e-10)


@pytest.mark.seed('RBDA 3-16')
def test_decomposition_into_two_subspaces(sample):
    """Solve v = S1 a1 + S2 a2 with [S1 S2]^-1; the sum is direct only if the matrix is regular."""
    S1, S2 = columns([sample.motion() for _ in range(2)]), columns(
        [sample.motion() for _ in range(4)])
    v = array(sample.motion())
    a = np.linalg.solve(np.hstack((S1, S2)), v)
    close(S1 @ a[:2] + S2 @ a[2:], v, 1e-11)
    T = columns(dual_complement(as_motions(S2)))          # picks out the part along S1
    close(np.linalg.solve(T.T @ S1, T.T @ v), a[:2], 1e-10)
    overlapping = np.hstack((S1, S2[:, :3], S1 @ [[1.0], [2.0]]))
    assert np.linalg.matrix_rank(overlapping) == 5        # not a direct sum


@pytest.mark.seed('RBDA 3-17')
def test_dual_complement_is_not_the_euclidean_one(sample):
    """S^perp transforms with X*; a Euclidean complement would depend on the frame."""
    S = [sample.motion() for _ in range(3)]
    X = sample.transform()
    moved = columns([X @ f for f in dual_complement(S)])
    close(moved.T @ columns([X @ s for s in S]), np.zeros((3, 3)), 1e-11)
    as_motion = columns([X @ Motion.from_list(f.to_list()) for f in dual_complement(S)])
    assert np.abs(as_motion.T @ columns([X @ s for s in S])).max() > 1e-2
    assert len(dual_complement(S)) + len(S) == 6
    assert columns(dual_complement(())).tolist() == np.eye(6).tolist()


@pytest.mark.seed('RBDA 3-18', 'RBDA 3-27')
def test_force_splits_into_an_active_and_a_constraint_part(sample):
    """f_a = I S (S^T I S)^-1 S^T f accelerates along S, f_c = f - f_a does no work on S."""
    inertia, f = array(sample.rigid()), array(sample.force())
    S = columns([sample.motion() for _ in range(2)])
    P = inertia @ S @ np.linalg.inv(S.T @ inertia @ S) @ S.T
    close(P @ P, P, 1e-10)
    f_a = P @ f
    close(S.T @ (f - f_a), np.zeros(2), 1e-10)
    A = sample.rng.normal(size=(2, 2))
    Q = inertia @ (S @ A) @ np.linalg.inv((S @ A).T @ inertia @ S @ A) @ (S @ A).T
    close(Q, P, 1e-9)                                     # whatever the basis
    # golden: mcI(2, (1, 0, 0), diag(1, 2, 3)) about z
    body = RigidInertia.from_com(2.0, Vec3(1.0, 0.0, 0.0), Sym3.diagonal(1.0, 2.0, 3.0))
    z = Motion.unit(2)
    assert z.dot(body @ z) == 5.0
    Phi = np.outer(array(z), array(z)) / 5.0
    close(Phi, np.diag([0, 0, 0.2, 0, 0, 0]))
    close(array(body) @ Phi @ array(Force.unit(2)), [0, 0, 1, 0, 0.4, 0])
    # and the compact type gives the complement of that split
    close(array(reduced(body, [z])), array(body) - array(body) @ Phi @ array(body))


@pytest.mark.seed('RBDA 3-22', 'RBDA 3-26', 'RBDA 3-23')
def test_active_force_subspace_of_a_gear():
    """Ex 3.2: the gear's T_a moves the bearing force, not the motion; T_a^T S = 1, tau = S^T f."""
    r, push = 0.3, 2.0
    S, T = np.eye(6)[:, [2]], columns(Revolute().constraint_subspace([0.0]))
    gear = np.array([0, 0, 1, 0, -1 / r, 0])
    close(gear @ S, [1.0])
    f = np.array([0, 0, -r * push, 0, push, 0])           # at (-r, 0, 0), along y
    tau = S.T @ f
    close(f, gear * tau)
    inertia = array(Sampler(9).rigid())
    lam = np.array([0.3, -0.2, 0.5, 0.1, 0.7])
    bearings = []
    for T_a in (np.eye(6)[2], gear):
        f_J = T_a * tau + T @ lam                         # 3.34
        close(S.T @ f_J, tau)                             # 3.37
        v = S[:, 0] * 1.3
        assert f_J @ v == pytest.approx(tau[0] * 1.3)     # 3.39 without sigma
        # the constraint force follows from the motion, which T_a does not change
        qdd = tau / (S.T @ inertia @ S)
        total = inertia @ S[:, 0] * qdd[0]
        bearings.append(np.linalg.lstsq(T, total - T_a * tau, rcond=None)[0])
        close(T_a * tau + T @ bearings[-1], total, 1e-11)
    assert np.abs(bearings[0] - bearings[1]).max() > 1.0


# One problem, three methods and their stated properties: each mark is one method.
@pytest.mark.seed('RBDA 3-27', 'RBDA 3-28', 'RBDA 3-29', 'SIXD C18', 'SIXD C19')
@pytest.mark.parametrize('joint', JOINTS, ids=NAMES)
def test_constrained_body_by_three_methods(joint, sample):
    """Projection, Lagrange multipliers and the joint-space equation give one acceleration."""
    rng = sample.rng
    q, qd = joint.random(rng), rng.normal(size=joint.nv)
    body, f = sample.rigid(), array(sample.force())
    inertia = array(body)
    S, T = columns(joint.subspace(q)), columns(joint.constraint_subspace(q))
    v_J = joint.velocity(q, qd.tolist())
    v = array(v_J)                                        # the predecessor is at rest
    p = array(v_J.cross(body @ v_J))
    close(p, crf6(v) @ inertia @ v)
    # in a fixed frame Sdot qd = c_J + v x v_J = c_J, and -Tdot^T v = T^T Sdot qd (3.44)
    Sqd = array(joint.bias(q, qd.tolist()))
    tau = S.T @ f
    # method 3: the joint's own equation
    H, C = S.T @ inertia @ S, S.T @ (inertia @ Sqd + p)
    qdd = np.linalg.solve(H, tau - C)
    a3 = S @ qdd + Sqd
    # method 1: apparent inverse inertia
    Phi = S @ np.linalg.inv(H) @ S.T
    b = Sqd - Phi @ (inertia @ Sqd + p)
    close(Phi @ f + b, a3, 1e-11)
    assert np.linalg.matrix_rank(Phi, tol=1e-10) == joint.nv
    close(Phi @ T, np.zeros((6, 6 - joint.nv)), 1e-11)    # null space S^perp
    assert np.linalg.matrix_rank(np.hstack((Phi, S)), tol=1e-10) == joint.nv
    # method 2: multipliers; symmetric, regular, indefinite
    n = 6 - joint.nv
    K = np.block([[inertia, T], [T.T, np.zeros((n, n))]])
    solution = np.linalg.solve(K, np.concatenate((f - p, T.T @ Sqd)))
    close(solution[:6], a3, 1e-10)
    values = np.linalg.eigvalsh(K)
    assert values.min() < 0.0 < values.max()
    lam = -solution[6:]
    close(inertia @ a3 + p, f + T @ lam, 1e-10)
    assert abs((T @ lam) @ S).max() < 1e-10               # S^T f_c = 0


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
    close(-derivative(in_base).T @ v, T.T @ (c + crm6(v) @ v), 1e-9)


@pytest.mark.seed('SIXD C20', 'SIXD C21')
def test_two_body_problem_in_three_and_six_dimensions(sample):
    """The 3-D blocks A, B, C, D of the guide equal Lam = I1 + I2 - I2 S S^T I2 / S^T I2 S."""
    def tilde(a):
        return np.cross(np.eye(3), a)
    m1, m2 = 1.4, 0.9
    I1, I2 = sample.com_form()[2], sample.com_form()[2]
    r1, r2, s = (np.array(sample.vector()) for _ in range(3))
    s = s / np.linalg.norm(s)
    J = I2 - m2 * tilde(r2) @ tilde(r2)
    K = J + m2 * tilde(r1) @ tilde(r2)
    d = s @ J @ s
    ss = np.outer(s, s)
    A = (m1 + m2) * np.eye(3) + m2**2 * tilde(r2) @ ss @ tilde(r2) / d
    B = m2 * (tilde(r2) - tilde(r1)) - m2 * tilde(r2) @ ss @ K.T / d
    D = I1 + I2 - m2 * np.linalg.matrix_power(tilde(r1 - r2), 2) - K @ ss @ K.T / d
    three = np.block([[D, B.T], [B, A]])                  # angular first
    one = RigidInertia.from_com(m1, Vec3.zero(), Sym3.from_matrix(I1.tolist()))
    two = RigidInertia.from_com(m2, Vec3(*(r1 - r2).tolist()), Sym3.from_matrix(I2.tolist()))
    S = Motion.from_list([*s, *np.cross(r1, s)])
    Lam = reduced(two, [S]) + one
    close(array(Lam), three, 1e-12)
    assert np.linalg.eigvalsh(array(Lam)).min() > 0.0
    # the other body's relative acceleration
    a1 = sample.motion()
    alpha = -(two @ S).dot(a1) / S.dot(two @ S)
    close(S.dot(two @ (a1 + S * alpha)), 0.0, 1e-11)


@pytest.mark.seed('SIXD C21')
def test_exact_two_body_fixture():
    """Unit bodies, the second at (1, 0, 0), hinged about z at the origin: Lam is exact."""
    one = RigidInertia.from_com(1.0, Vec3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))
    two = RigidInertia.from_com(1.0, Vec3(1.0, 0.0, 0.0), Sym3.diagonal(1.0, 1.0, 1.0))
    S = Motion.unit(2)
    Lam = array(reduced(two, [S]) + one)
    expected = np.diag([2, 3, 1, 2, 1.5, 2])
    expected[1, 5] = expected[5, 1] = -1.0
    assert np.array_equal(Lam, expected)
    along_y = Motion.unit(4)
    assert -(two @ S).dot(along_y) / S.dot(two @ S) == -0.5


@pytest.mark.seed('SIXD C22')
def test_moving_two_body_problem_with_torque(sample):
    """The articulated equations of two moving bodies solve the KKT system of both."""
    one, two = sample.rigid(), sample.rigid()
    S, v1, f = sample.motion(), sample.motion(), sample.force()
    qd, tau = 0.7, 1.9
    v2 = v1 + S * qd
    c = v2.cross(S * qd)
    close(array(c), array(v1.cross(v2)))
    p1, p2 = v1.cross(one @ v1), v2.cross(two @ v2)
    d = S.dot(two @ S)
    I_a = reduced(two, [S])
    p_a = p2 + I_a @ c + (two @ S) * ((tau - S.dot(p2)) / d)
    handle = array(I_a + one)
    a1 = Motion.from_list(np.linalg.solve(handle, array(f - p1 - p_a)).tolist())
    qdd = (tau - S.dot(p2) - S.dot(two @ (a1 + c))) / d
    # oracle: unknown a1, a2, qdd and the joint force f_J (19 equations)
    I1, I2, s = array(one), array(two), array(S)
    K, rhs = np.zeros((19, 19)), np.zeros(19)
    K[:6, :6], K[:6, 13:] = I1, np.eye(6)                 # I1 a1 + f_J = f - p1
    rhs[:6] = array(f - p1)
    K[6:12, 6:12], K[6:12, 13:] = I2, -np.eye(6)          # I2 a2 - f_J = -p2
    rhs[6:12] = -array(p2)
    K[12:18, :6], K[12:18, 6:12], K[12:18, 12] = -np.eye(6), np.eye(6), -s
    rhs[12:18] = array(c)                                 # a2 - a1 = S qdd + c
    K[18, 13:], rhs[18] = s, tau                          # S^T f_J = tau
    solution = np.linalg.solve(K, rhs)
    close(array(a1), solution[:6], 1e-9)                  # two dense solves of random inertias
    assert qdd == pytest.approx(solution[12], rel=1e-9)


def test_reduced_inertia_types(sample):
    """The reduced inertia is an ArticulatedInertia that annihilates S."""
    body, S = sample.rigid(), sample.motion()
    found = reduced(body, [S])
    assert isinstance(found, ArticulatedInertia)
    close(array(found @ S), np.zeros(6), 1e-11)
    assert np.linalg.matrix_rank(array(found), tol=1e-9) == 5
