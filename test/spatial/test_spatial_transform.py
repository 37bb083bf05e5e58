# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Pluecker transforms, constant screws and links (RBDA 2.8, 4.2, A.3 and A.4)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.spatial import (
    AxialScrew, from_rpy, link_transform, LinkTransform, Mat3, matrices, Motion,
    RigidInertia, rotx, roty, rotz, screw, small_motion, Sym3, Transform, Vec3, xlt)
from rbd_ros.spatial.constant import cosine_and_sine
from rbd_ros.spatial.link import three_rotations
from scipy.spatial.transform import Rotation
from spatial_oracle import array, assert_close, Sampler, x6


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(2)


def check_against(X, matrix, sample):
    """Require all products of X, direct and inverse, to equal those of a 6x6 matrix."""
    inverse = np.linalg.inv(matrix)
    m, f = sample.motion(), sample.force()
    assert_close(array(X), matrix)
    assert_close(array(X @ m), matrix @ array(m))
    assert_close(array(X.inv_apply(m)), inverse @ array(m))
    assert_close(array(X @ f), inverse.T @ array(f))
    assert_close(array(X.inv_apply(f)), matrix.T @ array(f))
    for inertia in (sample.rigid(), sample.articulated()):
        assert_close(array(X @ inertia), inverse.T @ array(inertia) @ inverse)
        assert_close(array(X.inv_apply(inertia)), matrix.T @ array(inertia) @ matrix)
    assert_close(array(X.inverse()), inverse)


@pytest.mark.seed('RBDA 2-18', 'RBDA 2-19', 'RBDA 2-20', 'RBDA 4-17', 'RBDA A-05')
def test_general_transform_equals_its_matrix(sample):
    """Every product of (E, r) is that of [E 0; -E rx E], its inverse or its dual."""
    X = sample.transform()
    check_against(X, x6(array(X.E), array(X.r)), sample)
    assert_close(matrices.force_matrix(X), np.linalg.inv(matrices.motion_matrix(X)).T)
    E, r = array(X.E), array(X.r)
    assert_close(np.linalg.inv(matrices.motion_matrix(X))[3:, :3],
                 np.cross(np.eye(3), r) @ E.T)                                  # rx E^T, 2.26


@pytest.mark.seed('RBDA 2-18', 'SIXD C06', 'SIXD C02')
def test_composition_is_the_product_of_matrices(sample):
    """X(E2, r2) X(E1, r1) = X(E2 E1, r1 + E1^T r2), and the dual of a product likewise."""
    X, Y = sample.transform(), sample.transform()
    Z = Y @ X
    assert_close(array(Z), array(Y) @ array(X))
    assert_close(array(Z.E), array(Y.E) @ array(X.E))
    assert_close(array(Z.r), array(X.r) + array(X.E).T @ array(Y.r))
    assert_close(array(X.inverse() @ X), np.eye(6))
    f, m = sample.force(), sample.motion()
    assert_close(array(Z @ f), array(Y @ (X @ f)))
    assert (Z @ m).dot(Z @ f) == pytest.approx(m.dot(f), rel=1e-12)


@pytest.mark.seed('RBDA 2-16', 'RBDA A-02', 'SIXD P08', 'SIXD C06')
@pytest.mark.parametrize('k,function', enumerate([rotx, roty, rotz]))
def test_axial_rotations_are_coordinate_rotations(k, function):
    """E is the transpose of SciPy's active rotation: rx has +sin in its upper right."""
    angle = 0.7
    E = Rotation.from_rotvec(angle * np.eye(3)[k]).as_matrix().T
    X = function(angle)
    assert_close(array(X.E), E)
    assert_close(array(X), x6(E, [0, 0, 0]))
    assert_close(matrices.force_matrix(X), matrices.motion_matrix(X))  # a pure rotation: X* = X
    i, j = (k + 1) % 3, (k + 2) % 3
    assert X.E[i, j] == math.sin(angle)


@pytest.mark.seed('RBDA 2-21', 'SIXD C06')
def test_homogeneous_matrix_takes_points(sample):
    """^BT_A = [E -Er; 0 1] maps coordinates of a point, as point() does."""
    X, p = sample.transform(), sample.vec3()
    T = np.array(X.homogeneous())
    assert_close(T @ [*p, 1.0], [*X.point(p), 1.0])
    assert_close(array(X.inv_point(X.point(p))), array(p))
    assert_close(array(X.point(X.r)), np.zeros(3))
    R = array(X.E).T                                               # orientation of B in A
    assert_close(array(X.inv_point(p)), R @ array(p) + array(X.r))


@pytest.mark.seed('RBDA A-06', 'RBDA A-07')
@pytest.mark.parametrize('k', [0, 1, 2])
def test_axial_screw_commutes_and_equals_its_matrix(k, sample):
    """A screw is rot after xlt or xlt after rot, and all its products are those of the matrix."""
    angle, d = 0.8, 0.3
    X = screw(k, angle, d)
    E = Rotation.from_rotvec(angle * np.eye(3)[k]).as_matrix().T
    check_against(X, x6(E, d * np.eye(3)[k]), sample)
    turn, shift = screw(k, angle), Transform.translation(Vec3.unit(k) * d)
    assert_close(array(turn @ shift), array(X))
    assert_close(array(shift @ turn), array(X))


@pytest.mark.seed('RBDA A-06')
def test_three_axial_rotations_make_any_rotation(sample):
    """Rotations about k, k + 1 and k give any rotation, the degenerate ones among them."""
    matrices_ = [sample.rotation(), np.eye(3), np.diag([1.0, -1.0, -1.0]),
                 np.diag([-1.0, -1.0, 1.0]), np.array([[0.6, 0.8, 0], [0.8, -0.6, 0], [0, 0, -1]])]
    for E, k in itertools.product(matrices_, range(3)):
        one, two, three = three_rotations(Mat3(E.tolist()), k)
        assert_close(array((three @ two @ one).E), E)


def joint_like(sample):
    """Return transforms such as joints make: screws, a slide, a general one, two steps."""
    return [AxialScrew(2, 0.8, 0.6), AxialScrew(0, 0.8, -0.6), AxialScrew(1, 0.8, 0.6, 0.4),
            Transform.translation(Vec3(0.0, 0.0, 0.4)), sample.transform(),
            LinkTransform((AxialScrew(0, 0.8, 0.6), AxialScrew(1, 0.6, 0.8)))]


def constants(sample):
    """Return constant transforms of every structure that link_transform distinguishes."""
    turns = [(0, 0.3), (1, math.pi / 2), (2, -0.8), (0, -math.pi / 2), (1, 0.4)]
    nearly = [Transform((screw(*a) @ screw(*b)).E, Vec3(0.1, 0.2, 0.3))
              for a, b in itertools.product(turns, repeat=2)]
    dh = Transform(screw(0, 0.7).E, Vec3(0.1, -0.5 * math.sin(0.7), 0.5 * math.cos(0.7)))
    return [Transform.identity(), xlt(0.1, 0.2, 0.3), sample.transform(), dh,
            *(screw(k, 0.9, 0.3) for k in range(3)), *nearly]


@pytest.mark.seed('RBDA 4-14', 'SIXD P04')
def test_link_transform_is_the_product_in_every_form(sample):
    """However X_J X_T is factored, its products are those of the two matrices."""
    for X_J, X_T in itertools.product(joint_like(sample), constants(sample)):
        X = link_transform(X_J, X_T)
        check_against(X, array(X_J) @ array(X_T), sample)
        assert_close(array(X @ X_T), array(X_J) @ array(X_T) @ array(X_T))
        v, h = sample.vec3(), sample.vec3()
        assert_close(array(X.turn(v)), array(X_J.E) @ array(X_T.E) @ array(v))
        assert_close(array(X.inv_first_moment(2.0, h)), array(X.E).T @ array(h) + 2.0 * array(X.r))


@pytest.mark.seed('RBDA 10-10')
def test_denavit_hartenberg_link_is_two_axial_screws():
    """xlt(0, 0, d) rotx(alpha) xlt(a, 0, 0) before a turn about z needs no third step."""
    a, alpha, d = 0.3, 0.4, 0.5
    E = screw(0, alpha).E
    X_T = Transform(E, Vec3(a, 0.0, 0.0) + E.transpose_times(Vec3(0.0, 0.0, d)))
    X = link_transform(AxialScrew(2, 0.8, 0.6), X_T)
    first, second = X.vector_steps
    assert isinstance(first, AxialScrew) and first.axis == 0 and first.d == a
    assert isinstance(second, AxialScrew) and second.axis == 2
    assert second.d == pytest.approx(d, rel=1e-15)


def test_unknown_objects_are_refused(sample):
    """A transform says what it transforms when given something else."""
    X = sample.transform()
    for bad in (lambda: X @ 3.0, lambda: X.inv_apply(X), lambda: X.inv_apply('x')):
        with pytest.raises(TypeError, match='Transform transforms Motion, Force'):
            bad()


def test_right_angles_become_exact_within_the_snap_only():
    """pi/2 rounded in its twelfth digit counts as a right angle, 1.5708 does not."""
    assert cosine_and_sine(math.pi / 2) == (0.0, 1.0)
    assert cosine_and_sine(-math.pi + 1.9e-11) == (-1.0, 0.0)
    assert cosine_and_sine(1.5708) == (math.cos(1.5708), math.sin(1.5708))
    assert cosine_and_sine(2.1e-11)[1] != 0.0


def test_rpy_is_the_urdf_rotation():
    """from_rpy is the transpose of SciPy's extrinsic xyz rotation."""
    rpy = (0.3, -0.4, 1.2)
    assert_close(array(from_rpy(*rpy)), Rotation.from_euler('xyz', rpy).as_matrix().T)
    assert from_rpy(0.0, 0.0, math.pi / 2).rows == ((0, 1, 0), (-1, 0, 0), (0, 0, 1))


@pytest.mark.seed('RBDA A-02', 'SIXD P11')
def test_small_motion_of_a_transform(sample):
    """Small motions are invariant under X, exact for translations, sin(angle) about the axis."""
    X = sample.transform()
    v = small_motion(X)
    assert_close(array(X @ v), array(v))
    assert_close(array(X.inv_apply(v)), array(v))
    assert small_motion(xlt(1.0, 2.0, 3.0)).to_list() == [0, 0, 0, 1, 2, 3]
    assert_close(array(small_motion(rotz(0.1))), [0, 0, math.sin(0.1), 0, 0, 0])
    # to first order it is the twist that carries A onto B: error falls with the square
    errors = []
    for size in (1e-2, 1e-3):
        w, u = np.array([0.3, -0.5, 0.7]) * size, np.array([0.2, 0.1, -0.4])
        R = Rotation.from_rotvec(w).as_matrix()
        W = np.cross(np.eye(3), w)
        t = np.linalg.norm(w)
        V = (np.eye(3) + (1 - math.cos(t)) / t**2 * W + (t - math.sin(t)) / t**3 * W @ W)
        near = small_motion(Transform(Mat3(R.T.tolist()), Vec3(*(V @ u).tolist())))
        errors.append(np.abs(array(near) - [*w, *u]).max())
    assert errors[0] < 1e-4 and errors[1] < errors[0] / 90


def rotations():
    """Return constant rotations of each kind: none, right angle, axial, nearly axial, general."""
    c, s = math.cos(0.7), math.sin(0.7)
    quarter = Mat3(((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    axial = [AxialScrew(k, c, s).E for k in range(3)]
    return [Mat3.identity(), quarter, *axial, axial[0] @ axial[1], quarter @ axial[0],
            Mat3(Sampler(3).rotation().tolist())]


@pytest.mark.parametrize('size', [1e-3, 1e-6, 1e-9, 1e-14, 1e-15])
@pytest.mark.parametrize('kind', range(8))
def test_small_offsets_of_a_link_are_kept(kind, size):
    """An offset of a micrometre or less next to one of a metre moves what it carries."""
    E = rotations()[kind]
    joints = [Revolute(axis).transform([0.9]) for axis in (
        (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.6, 0.8))]
    joints.append(Prismatic((0.0, 0.0, 1.0)).transform([0.4]))
    for X_J in joints:
        for along, across in itertools.permutations(range(3), 2):
            r = [0.0, 0.0, 0.0]
            r[along], r[across] = 1.0, size
            X = link_transform(X_J, Transform(E, Vec3(*r)))
            expected = array(X_J) @ x6(E.to_list(), r)
            without = list(r)
            without[across] = 0.0
            gone = array(X_J) @ x6(E.to_list(), without)
            # what the offset does to a turning motion, to a tenth of it
            turn = Motion.from_list([0.3, -0.5, 0.7, 0.0, 0.0, 0.0])
            effect = (expected - gone) @ turn.to_list()
            found = array(X @ turn) - gone @ turn.to_list()
            assert np.abs(found - effect).max() <= max(0.1 * np.abs(effect).max(), 1e-15)
            # and an inertia that passes by its own steps: its first moment shifts by m r
            body = RigidInertia(1.0, Vec3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))
            moved = array(X.inv_apply(body))
            assert_close(moved, expected.T @ array(body) @ expected, 2e-15)
            h = np.array([moved[2, 4], moved[0, 5], moved[1, 3]])
            place = r + np.array(E.T @ X_J.r)
            assert abs(h[across] - place[across]) <= max(0.1 * size, 5e-16)
