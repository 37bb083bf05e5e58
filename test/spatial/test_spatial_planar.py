# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Planar vectors are coordinates 3, 4 and 5 of spatial ones (RBDA 2.16, Table A.1)."""

from __future__ import annotations

import math
import operator
import pickle

import numpy as np
import pytest
from rbd_ros.spatial import small_motion
from rbd_ros.spatial.planar import PlanarForce, PlanarInertia, PlanarMotion, PlanarTransform
from scipy.linalg import expm
from spatial_oracle import array, assert_close, crf6, crm6, Sampler

PLANE = np.ix_([2, 3, 4], [2, 3, 4])


@pytest.fixture
def sample():
    """Return a source of random numbers."""
    return Sampler(6)


@pytest.mark.seed('RBDA 2-42', 'RBDA A-01')
def test_planar_operations_are_rows_of_the_spatial_ones(sample):
    """X, crm, crf, the inertia and all products equal rows and columns 3 to 5 of the 6x6 ones."""
    u, v = (PlanarMotion(*sample.vector()) for _ in range(2))
    f = PlanarForce(*sample.vector())
    X = PlanarTransform.from_angle(0.7, *sample.vector(2))
    inertia = PlanarInertia.from_com(1.3, *sample.vector(2), 0.8)
    assert_close(array(X), array(X.spatial())[PLANE])
    assert_close(array(X @ v), array(X.spatial() @ v.spatial())[2:5])
    assert_close(array(X @ f), array(X.spatial() @ f.spatial())[2:5])
    assert_close(array(u.cross(v)), array(u.spatial().cross(v.spatial()))[2:5])
    assert_close(array(u.cross(f)), array(u.spatial().cross(f.spatial()))[2:5])
    assert_close(array(u.cross(v)), crm6(array(u.spatial()))[PLANE] @ array(v))
    assert_close(array(u.cross(f)), crf6(array(u.spatial()))[PLANE] @ array(f))
    assert_close(array(inertia), array(inertia.spatial())[PLANE])
    assert_close(array(inertia @ v), array(inertia) @ array(v))
    assert_close(array(inertia.spatial() @ v.spatial()), array((inertia @ v).spatial()))
    M = array(X)
    assert_close(array(X @ inertia), np.linalg.inv(M).T @ array(inertia) @ np.linalg.inv(M))
    assert_close(array(X.inverse()), np.linalg.inv(M))
    Y = PlanarTransform.from_angle(-0.4, *sample.vector(2))
    assert_close(array(Y @ X), array(Y) @ M)
    assert_close(array(inertia + X @ inertia), array(inertia) + array(X @ inertia))
    assert u.dot(f) == f.dot(u) == pytest.approx((X @ u).dot(X @ f), rel=1e-12)


@pytest.mark.seed('RBDA A-01')
def test_planar_displacements():
    """Version 2 of XtoV is invariant and parallel to the exact displacement, 1 is not."""
    u = np.array([2.5, 0.4, -0.3])            # beyond the quarter turn where the arc sine fails
    crm = np.array([[0, 0, 0], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    X6 = expm(-crm)
    c, s = X6[1, 1], X6[1, 2]
    X = PlanarTransform(c, s, s * X6[1, 0] + c * X6[2, 0], s * X6[2, 0] - c * X6[1, 0])
    assert_close(array(X), X6)
    v = X.small_motion()
    assert_close(array(X @ v), array(v))
    assert_close(array(X.displacement()), u)
    assert v.ang == pytest.approx(math.sin(2.5), rel=1e-12)
    simple = X.small_motion_simple()
    assert np.abs(array(X @ simple) - array(simple)).max() > 0.1      # version 1 is no invariant
    shift = PlanarTransform(1.0, 0.0, 0.3, -0.4)
    assert shift.small_motion().to_list() == shift.small_motion_simple().to_list() == [
        0.0, 0.3, -0.4]
    spatial = X.spatial()
    assert_close(array(v), array(small_motion(spatial))[2:5])


@pytest.mark.parametrize('operation', [operator.add, operator.sub, PlanarMotion.dot])
def test_planar_motion_and_force_do_not_mix(operation):
    """The planar spaces are as dual as the spatial ones."""
    m, f = PlanarMotion(1.0, 2.0, 3.0), PlanarForce(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match='PlanarMotion'):
        operation(m, m if operation is PlanarMotion.dot else f)
    assert pickle.loads(pickle.dumps(m)) == m != PlanarMotion(1.0, 2.0, 4.0)
    for bad in (lambda: m.cross(3.0), lambda: PlanarInertia(1.0, 0.0, 0.0, 1.0) @ f,
                lambda: PlanarTransform(1.0, 0.0, 0.0, 0.0) @ 3.0):
        with pytest.raises(TypeError):
            bad()
    assert_close(array(2.0 * m - m), array(m))
