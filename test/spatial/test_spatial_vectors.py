# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Motion and force vectors, cross products and 3-D helpers (RBDA 2.1 to 2.9, 6-D guide 1)."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from rbd_ros.spatial import (
    Force, force_at, Mat3, matrices, moment_at, Motion, rotation_about, Sym3,
    Transform, Vec3, velocity_at)
from spatial_oracle import array, assert_close, crf6, crm6, Sampler


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(1)


@pytest.mark.seed('RBDA 1-09', 'SIXD C01', 'RBDA A-03')
@pytest.mark.parametrize('operation', [
    lambda m, f, inertia: m + f, lambda m, f, inertia: f - m, lambda m, f, inertia: m.dot(m),
    lambda m, f, inertia: f.dot(f), lambda m, f, inertia: f.cross(f),
    lambda m, f, inertia: f.cross(m), lambda m, f, inertia: inertia @ f,
    lambda m, f, inertia: m * f, lambda m, f, inertia: inertia.articulated() @ f,
    lambda m, f, inertia: inertia.solve(m), lambda m, f, inertia: m.cross(inertia)])
def test_motion_and_force_refuse_to_be_mixed(sample, operation):
    """An expression that mixes the dual spaces raises a TypeError that names both types."""
    with pytest.raises(TypeError, match='Motion|Force'):
        operation(sample.motion(), sample.force(), sample.rigid())


def test_values_compare_hash_and_pickle(sample):
    """Equal components make equal, equally hashed values; pickling keeps them."""
    for value in (sample.vec3(), Mat3(sample.rotation().tolist()), sample.motion(),
                  sample.force(), sample.transform(), sample.rigid(), sample.articulated()):
        copy = pickle.loads(pickle.dumps(value))
        assert copy == value
        assert hash(copy) == hash(value)
    assert Motion.zero() != Force.zero()
    assert Motion.zero() != Motion.unit(0)
    assert 'Vec3(0.0, 0.0, 0.0)' in repr(Motion.zero())


@pytest.mark.seed('RBDA 2-17', 'RBDA 1-10', 'LIU B10')
def test_identities_of_the_skew_matrix(sample):
    """The identities of Table 2.1 for a x, among them a x b x = b a^T - (a.b) 1."""
    a, b = sample.vec3(), sample.vec3()
    E = sample.rotation()
    A, B = array(a), array(b)
    ax, bx = array(a.skew()), array(b.skew())
    assert_close(ax @ B, np.cross(A, B))
    assert_close(array(a.cross(b)), np.cross(A, B))
    assert_close(ax.T, -ax)
    assert_close(array((a * 2.5).skew()), 2.5 * ax)
    assert_close(array((a + b).skew()), ax + bx)
    assert_close(array((Mat3(E.tolist()) @ a).skew()), E @ ax @ E.T)
    assert_close(array(a.cross(b).skew()), ax @ bx - bx @ ax)
    assert_close(array(a.cross(b).skew()), array(b.outer(a)) - array(a.outer(b)))
    assert_close(ax @ bx, array(b.outer(a)) - A @ B * np.eye(3))
    assert_close(ax @ A, np.zeros(3))


def test_matrix_and_vector_arithmetic_matches_numpy(sample):
    """Sums, products, transposes and traces of the 3-D types are those of matrices."""
    M, N = (Mat3(sample.rng.normal(size=(3, 3)).tolist()) for _ in range(2))
    S = sample.rigid().I
    v = sample.vec3()
    assert_close(array(M @ N), array(M) @ array(N))
    assert_close(array(M @ S), array(M) @ array(S))
    assert_close(array(M @ v), array(M) @ array(v))
    assert_close(array(M.transpose_times(v)), array(M).T @ array(v))
    assert_close(array(M.T - N * 2.0 + -M), array(M).T - 2.0 * array(N) - array(M))
    assert_close(array(S - S * 3.0 + -S), -3.0 * array(S))
    assert_close(array(S @ v), array(S) @ array(v))
    # 1e-10: conditioning of S
    assert_close(array(S.solve(v)), np.linalg.solve(array(S), array(v)), 1e-10)
    assert M.trace() == pytest.approx(np.trace(array(M)))
    assert S.trace() == pytest.approx(np.trace(array(S)))
    assert S.T is S
    assert v @ v == pytest.approx(array(v) @ array(v))
    assert [*v] == v.to_list() and v[1] == v.y and len(v) == 3 and M[1, 2] == M.rows[1][2]


@pytest.mark.seed('RBDA 2-01', 'RBDA 2-05', 'RBDA 2-08', 'SIXD C05')
def test_pluecker_bases_are_reciprocal_and_coordinates_are_dual(sample):
    """d_i . e_j = delta_ij, so the scalar product is the sum of products of coordinates."""
    table = [[Motion.unit(i).dot(Force.unit(j)) for j in range(6)] for i in range(6)]
    assert table == np.eye(6).tolist()
    m, f = sample.motion(), sample.force()
    assert m.dot(f) == pytest.approx(array(m) @ array(f), rel=1e-14)
    # rotation about a line through P and force along a line through P, in terms of the basis
    P, axis = sample.vec3(), sample.vec3()
    rotation, push = rotation_about(axis, P), force_at(axis, P)
    assert_close(array(rotation), [*array(axis), *np.cross(array(P), array(axis))])
    assert_close(array(push), [*np.cross(array(P), array(axis)), *array(axis)])
    assert_close(array(velocity_at(rotation, P)), np.zeros(3))
    assert_close(array(moment_at(push, P)), np.zeros(3))


@pytest.mark.seed('RBDA 2-04', 'RBDA 2-06')
def test_velocity_field_does_not_depend_on_the_origin(sample):
    """V(P) = v_O + w x OP is the same from any origin, and fields add point by point."""
    v, u, P, Q = sample.motion(), sample.motion(), sample.vec3(), sample.vec3()
    moved = Transform.translation(Q) @ v
    assert_close(array(velocity_at(v, P)), array(velocity_at(moved, P - Q)))
    assert_close(array(velocity_at(v + u, P)), array(velocity_at(v, P)) + array(velocity_at(u, P)))
    # Ex 2.2: P on the x axis
    r = 0.7
    w, o = v.ang, v.lin
    assert_close(array(velocity_at(v, Vec3(r, 0.0, 0.0))), [o.x, o.y + w.z * r, o.z - w.y * r])


@pytest.mark.seed('RBDA 2-07')
def test_moment_about_a_point_is_the_angular_part_there(sample):
    """n_P = n_O + f x OP, the angular part of the force moved to P."""
    f, P = sample.force(), sample.vec3()
    assert_close(array(moment_at(f, P)), array((Transform.translation(P) @ f).ang))
    assert_close(array(moment_at(f, P)), array(f.ang) - np.cross(array(P), array(f.lin)))


@pytest.mark.seed('RBDA 2-13', 'SIXD C04', 'RBDA 2-02')
def test_power_is_symmetric_bilinear_and_invariant(sample):
    """f.m = m.f, (a m).(b f) = ab m.f, and (Xm).(X*f) = m.f for every X."""
    m, f, X = sample.motion(), sample.force(), sample.transform()
    assert m.dot(f) == f.dot(m)
    assert (m * 2.0).dot(f * -3.0) == pytest.approx(-6.0 * m.dot(f), rel=1e-14)
    assert (X @ m).dot(X @ f) == pytest.approx(m.dot(f), rel=1e-12)


@pytest.mark.seed('RBDA 2-03')
def test_sum_of_independent_dyads_has_their_number_as_rank(sample):
    """A dyadic made of r independent dyads has rank r."""
    U = [sample.force() for _ in range(3)]
    dyadic = -array(sample.articulated().__class__.zero().minus_dyads(U, U))
    assert np.linalg.matrix_rank(dyadic) == 3
    assert_close(dyadic, sum(np.outer(array(u), array(u)) for u in U))


@pytest.mark.seed('RBDA 2-24', 'SIXD C08', 'RBDA 2-23', 'RBDA 2-22')
def test_identities_of_the_cross_operators(sample):
    """Table 2.3: duality, the Jacobi identity, and behaviour under a transform."""
    u, v, m, f = sample.motion(), sample.motion(), sample.motion(), sample.force()
    X = sample.transform()
    assert_close(array(u.cross(m)), crm6(array(u)) @ array(m))
    assert_close(array(u.cross(f)), crf6(array(u)) @ array(f))
    assert u.cross(m).dot(f) == pytest.approx(-m.dot(u.cross(f)), rel=1e-12)
    assert_close(matrices.crf(u), -matrices.crm(u).T, 0.0)
    assert_close(array((X @ u).cross(X @ m)), array(X @ u.cross(m)))
    assert_close(array((X @ u).cross(X @ f)), array(X @ u.cross(f)))
    assert_close(array(u.cross(v).cross(m)), array(u.cross(v.cross(m)) - v.cross(u.cross(m))))
    assert_close(array(u.cross(v).cross(f)), array(u.cross(v.cross(f)) - v.cross(u.cross(f))))
    assert_close(array(u.cross(v)), -array(v.cross(u)))


def test_scalars_multiply_from_both_sides(sample):
    """The factor may stand on either side; components keep their places."""
    m = sample.motion()
    assert 2.0 * m == m * 2.0
    assert (-m).to_list() == [-x for x in m.to_list()]
    assert [m[i] for i in range(len(m))] == m.to_list()
    assert (2.0 * sample.rigid()).m > 0.0
    assert Sym3.diagonal(1.0, 2.0, 3.0) * 2.0 == 2.0 * Sym3.diagonal(1.0, 2.0, 3.0)
