# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Rigid and articulated inertias, their transforms and equations of motion (RBDA 2.13, 2.14)."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.spatial import (
    AxialScrew, Force, Mat3, matrices, Motion, RigidInertia, spatial_acceleration, Sym3,
    Transform, vanishing_rows, Vec3, xlt)
from scipy.linalg import expm
from spatial_oracle import array, assert_close, crm6, derivative, mci6, Sampler, x6


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(3)


@pytest.mark.seed('RBDA 2-33', 'RBDA A-02', 'SIXD C12')
def test_rigid_inertia_matrix(sample):
    """from_com gives [I_C + m cx cx^T, m cx; m cx^T, m 1], symmetric and positive definite."""
    m, c, I_c = sample.com_form()
    inertia = RigidInertia.from_com(m, Vec3(*c), Sym3.from_matrix(I_c.tolist()))
    found = matrices.inertia_matrix(inertia)
    assert_close(found, mci6(m, c, I_c))
    assert np.array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > 0.0
    at_com = np.block([[I_c, np.zeros((3, 3))], [np.zeros((3, 3)), m * np.eye(3)]])
    X = x6(np.eye(3), c)
    assert_close(found, X.T @ at_com @ X)


@pytest.mark.seed('RBDA 2-34', 'SIXD C12')
def test_ten_parameters_come_back_from_the_matrix(sample):
    """Mass, centre of mass and inertia about it are recovered from the 6x6 matrix."""
    m, c, I_c = sample.com_form()
    inertia = matrices.rigid_inertia(mci6(m, c, I_c))
    mass, com, about = inertia.com_form()
    assert mass == pytest.approx(m, rel=1e-14)
    assert_close(array(com), c)
    assert_close(array(about), I_c, 1e-11)             # m c^2 is added and taken off again


@pytest.mark.seed('RBDA 1-08', 'RBDA 2-14', 'SIXD C12')
def test_inertia_of_a_union_is_the_sum(sample):
    """Two bodies rigidly joined have the mass, centre and inertia of the 3-D formulas."""
    (m1, c1, I1), (m2, c2, I2) = sample.com_form(), sample.com_form()
    total = (RigidInertia.from_com(m1, Vec3(*c1), Sym3.from_matrix(I1.tolist()))
             + RigidInertia.from_com(m2, Vec3(*c2), Sym3.from_matrix(I2.tolist())))
    m, c, I_c = total.com_form()
    com = (m1 * np.array(c1) + m2 * np.array(c2)) / (m1 + m2)
    assert m == pytest.approx(m1 + m2)
    assert_close(array(c), com)
    expected = sum(J + mass * (d @ d * np.eye(3) - np.outer(d, d)) for J, mass, d in (
        (I1, m1, np.array(c1) - com), (I2, m2, np.array(c2) - com)))
    assert_close(array(I_c), expected, 1e-11)


@pytest.mark.seed('RBDA 2-32', 'RBDA 2-38', 'SIXD C15')
def test_momentum_and_kinetic_energy(sample):
    """Momentum is [I_C w + c x m v_C; m v_C]; energy 1/2 v.Iv is the 3-D one; X* carries it."""
    m, c, I_c = sample.com_form()
    inertia = RigidInertia.from_com(m, Vec3(*c), Sym3.from_matrix(I_c.tolist()))
    v = sample.motion()
    w, v_c = array(v.ang), array(v.lin) + np.cross(array(v.ang), c)
    h = inertia @ v
    assert_close(array(h), [*(I_c @ w + np.cross(c, m * v_c)), *(m * v_c)])
    energy = 0.5 * v.dot(h)
    assert energy == pytest.approx(0.5 * m * v_c @ v_c + 0.5 * w @ I_c @ w, rel=1e-12)
    X = sample.transform()
    assert_close(array((X @ inertia) @ (X @ v)), array(X @ h))
    assert 0.5 * (X @ v).dot((X @ inertia) @ (X @ v)) == pytest.approx(energy, rel=1e-12)


@pytest.mark.seed('RBDA 2-35', 'RBDA 2-37', 'SIXD C13', 'SPENCER 61')
def test_inertia_transforms_by_congruence(sample):
    """^BI = X* I X^-1 keeps symmetry and definiteness; a dyadic M to M keeps its eigenvalues."""
    X = sample.transform()
    M = array(X)
    for inertia in (sample.rigid(), sample.articulated()):
        moved = array(X @ inertia)
        assert_close(moved, np.linalg.inv(M).T @ array(inertia) @ np.linalg.inv(M))
        assert np.linalg.eigvalsh(moved).min() > 0.0
    # the map I1^-1 I2 goes from M6 to M6: similarity
    one, two = sample.rigid(), sample.articulated()
    before = np.linalg.eigvals(np.linalg.solve(array(one), array(two)))
    after = np.linalg.eigvals(np.linalg.solve(array(X @ one), array(X @ two)))
    assert_close(np.sort(after.real), np.sort(before.real), 1e-9)  # eigenvalues of a product
    # the map I1 Phi2 goes from F6 to F6, Phi from F6 to M6: X Phi X^T
    Phi = matrices.inverse_inertia(one)
    assert_close(matrices.inverse_inertia(X @ one), M @ Phi @ M.T, 1e-10)


@pytest.mark.seed('RBDA 2-36', 'SIXD C14', 'RBDA 2-25')
def test_rate_of_change_of_an_inertia(sample):
    """A moving body's inertia changes by v x* I - I v x, seen from a fixed frame."""
    inertia, v = sample.rigid(), sample.motion()

    def moved(t):
        X = expm(-crm6(array(v)) * t)           # to the body's frame, which moves with v
        return X.T @ array(inertia) @ X
    assert_close(array(inertia.rate(v)), derivative(moved), 1e-10)
    assert inertia.rate(v).m == 0.0
    # v x* I v is what it leaves of the rate of momentum: (I-dot + I v x) v, and v x v = 0
    assert_close(array(inertia.rate(v)) @ array(v), array(v.cross(inertia @ v)), 1e-11)
    with pytest.raises(TypeError):
        inertia.rate(sample.force())


@pytest.mark.seed('RBDA 2-39', 'RBDA 1-07', 'SIXD C16')
def test_equation_of_motion_is_the_rate_of_momentum(sample):
    """The force I a + v x* I v is the derivative of the momentum in a fixed frame."""
    inertia, v, a = sample.rigid(), sample.motion(), sample.motion()
    steps = 40

    def momentum(t):
        # the body's frame moves with v(s) = v + a s in fixed coordinates, midpoint products
        X, h = np.eye(6), t / steps
        for k in range(steps):
            X = X @ expm(-crm6(array(v) + array(a) * (k + 0.5) * h) * h)
        return X.T @ array(inertia) @ X @ (array(v) + array(a) * t)
    force = inertia @ a + v.cross(inertia @ v)
    assert_close(derivative(momentum), array(force), 1e-7)  # the midpoint products err by h^2


@pytest.mark.seed('RBDA 1-06', 'RBDA 2-40', 'SIXD C16')
def test_newton_and_euler_at_the_centre_of_mass(sample):
    """With the origin at the centre of mass, f = m acc and n = I wd + w x I w."""
    m, _, I_c = sample.com_form()
    inertia = RigidInertia.from_com(m, Vec3.zero(), Sym3.from_matrix(I_c.tolist()))
    v, classical = sample.motion(), sample.motion()
    a = spatial_acceleration(classical, v)
    f = inertia @ a + v.cross(inertia @ v)
    w, wd = array(v.ang), array(classical.ang)
    assert_close(array(f.lin), m * array(classical.lin))
    assert_close(array(f.ang), I_c @ wd + np.cross(w, I_c @ w))
    # the same body seen from elsewhere
    X = sample.transform()
    moved = (X @ inertia) @ (X @ a) + (X @ v).cross((X @ inertia) @ (X @ v))
    assert_close(array(moved), array(X @ f))


@pytest.mark.seed('RBDA 2-41')
def test_inverse_inertia(sample):
    """Phi_O of Eq. 2.74 inverts I_O; solve is its product; a = Phi f + b with b = -Phi p."""
    inertia, f = sample.rigid(), sample.force()
    Phi = matrices.inverse_inertia(inertia)
    assert_close(Phi @ array(inertia), np.eye(6), 1e-11)
    assert_close(array(inertia.solve(f)), Phi @ array(f))
    assert_close(array(inertia @ inertia.solve(f)), array(f), 1e-11)
    v = sample.motion()
    p = v.cross(inertia @ v)
    a = inertia.solve(f - p)
    assert_close(array(a), Phi @ array(f) - Phi @ array(p))
    assert_close(array(inertia @ a + p), array(f), 1e-11)


def test_articulated_sums_and_products(sample):
    """Sums with rigid ones, products, multiples and dyads are those of the matrices."""
    A, B, rigid, v = (sample.articulated(), sample.articulated(), sample.rigid(),
                      sample.motion())
    assert_close(array(A + B), array(A) + array(B))
    assert_close(array(A + rigid), array(A) + array(rigid))
    assert_close(array(rigid + A), array(A) + array(rigid))
    assert_close(array(A @ v), array(A) @ array(v))
    assert_close(array(rigid.articulated() @ v), array(rigid @ v))
    assert_close(array(A * 2.0), 2.0 * array(A))
    assert_close(array(rigid * 2.0), 2.0 * array(rigid))
    assert np.array_equal(array(RigidInertia.zero()), np.zeros((6, 6)))
    for bad in (lambda: A + 1.0, lambda: rigid + 1.0):
        with pytest.raises(TypeError):
            bad()


@pytest.mark.seed('RBDA A-07')
def test_vanishing_rows_of_the_reduced_inertia(sample):
    """I^A - U D^-1 U^T annihilates S; for unit-axis S its rows and columns become exact zeros."""
    for indices in ((2,), (2, 3, 4), (0, 1, 2), (5,)):
        S = [Motion.unit(i) for i in indices]
        assert vanishing_rows(S) == indices
        A = sample.articulated()
        U = [A @ s for s in S]
        D = np.array([[s.dot(u) for s in S] for u in U])
        V = [Force.from_list(row) for row in np.linalg.solve(D, [array(u) for u in U]).tolist()]
        reduced = array(A.minus_dyads(U, V, vanishing_rows(S)))
        columns = np.array([array(s) for s in S]).T
        expected = array(A) - array(A) @ columns @ np.linalg.inv(D) @ columns.T @ array(A)
        assert_close(reduced, expected, 1e-11)
        assert all(reduced[i, j] == 0.0 for i in indices for j in range(6))
        assert_close(array(A.minus_dyads(U, V)), expected, 1e-11)
    assert vanishing_rows([Motion.from_list([0.0, 0.0, 1.0, 0.0, 0.0, 0.1])]) == ()
    assert vanishing_rows([]) == ()


@pytest.mark.parametrize('structure', ['permutation', 'axial'])
def test_exact_structure_of_a_rotation_changes_no_result(structure, sample):
    """Signed permutations and axial rotations take other formulas with the same result."""
    E = (Mat3(((0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)))
         if structure == 'permutation' else AxialScrew(1, 0.6, 0.8).E)
    X = Transform(E, sample.vec3())
    M = array(X)
    for inertia in (sample.rigid(), sample.articulated()):
        assert_close(array(X.inv_apply(inertia)), M.T @ array(inertia) @ M)
        assert_close(array(X @ inertia), np.linalg.inv(M).T @ array(inertia) @ np.linalg.inv(M))
    inertia = sample.rigid()
    assert xlt(0.0, 0.0, 0.0) @ inertia == inertia
