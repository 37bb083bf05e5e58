# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Inertias of standard shapes against integrals of their density."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.errors import ModelError
from rbd_ros.spatial import RigidInertia, rotx, shapes, Vec3, xlt
from spatial_oracle import array, assert_close

M = 3.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(14)


def integral(place, measure, *ranges):
    """
    Return the inertia of a body of mass M by Gauss quadrature over three parameters.

    :param place: parameters -> points, arrays of equal shape.
    :param measure: parameters -> volume element, up to a factor.
    """
    axes, weights = [], []
    for low, high in ranges:
        axes.append(0.5 * (high - low) * NODES + 0.5 * (high + low))
        weights.append(0.5 * (high - low) * WEIGHTS)
    u = np.array(np.meshgrid(*axes, indexing='ij')).reshape(3, -1)
    w = np.einsum('i,j,k->ijk', *weights).ravel() * measure(*u)
    points = np.array(place(*u)).T
    masses = M * w / w.sum()
    return shapes.points(masses.tolist(), [Vec3(*p) for p in points.tolist()])


def round_bodies(r, z):
    """Return cylinder coordinates as points: each quarter of a turn counts the same."""
    return lambda rho, phi, height: (r(rho, height) * np.cos(phi), r(rho, height) * np.sin(phi),
                                     z(height))


TURN = (-np.pi, np.pi)
CASES = {
    'box': (shapes.box(M, 0.4, 0.6, 1.0), integral(
        lambda x, y, z: (x, y, z), lambda x, y, z: 1.0 + 0.0 * x, (-0.2, 0.2), (-0.3, 0.3),
        (-0.5, 0.5))),
    'ellipsoid': (shapes.ellipsoid(M, 0.2, 0.3, 0.5), integral(
        lambda r, u, phi: (0.2 * r * np.sqrt(1 - u * u) * np.cos(phi),
                           0.3 * r * np.sqrt(1 - u * u) * np.sin(phi), 0.5 * r * u),
        lambda r, u, phi: r * r, (0.0, 1.0), (-1.0, 1.0), TURN)),
    'hollow sphere': (shapes.hollow_sphere(M, 0.3), integral(
        lambda r, u, phi: (0.3 * np.sqrt(1 - u * u) * np.cos(phi),
                           0.3 * np.sqrt(1 - u * u) * np.sin(phi), 0.3 * u),
        lambda r, u, phi: 1.0 + 0.0 * r, (0.0, 1.0), (-1.0, 1.0), TURN)),
    'cylinder': (shapes.cylinder(M, 0.2, 0.7), integral(
        round_bodies(lambda r, h: r, lambda h: h), lambda r, phi, h: r, (0.0, 0.2), TURN,
        (-0.35, 0.35))),
    'tube': (shapes.tube(M, 0.1, 0.2, 0.7), integral(
        round_bodies(lambda r, h: r, lambda h: h), lambda r, phi, h: r, (0.1, 0.2), TURN,
        (-0.35, 0.35))),
    'rod': (shapes.rod(M, 0.8), integral(
        lambda x, y, z: (0.0 * x, 0.0 * x, z), lambda x, y, z: 1.0 + 0.0 * x, (0.0, 1.0),
        (0.0, 1.0), (-0.4, 0.4))),
    'cone': (shapes.cone(M, 0.2, 0.8), integral(
        round_bodies(lambda s, h: s * 0.2 * (1.0 - h / 0.8), lambda h: h - 0.2),
        lambda s, phi, h: s * (1.0 - h / 0.8) ** 2, (0.0, 1.0), TURN, (0.0, 0.8))),
}


@pytest.mark.seed('MR A09', 'MR A38')
@pytest.mark.parametrize('name', CASES)
def test_shape_is_the_integral_of_its_density(name):
    """Mass, first moment and all six moments are those of a quadrature over the body."""
    shape, expected = CASES[name]
    assert_close(array(shape), array(expected), 1e-9)
    assert shape.m == M and not any(shape.h)


def test_sphere_is_an_ellipsoid():
    """A ball has 2/5 m r^2 about every axis."""
    ball = shapes.sphere(5.0, 0.1)
    assert_close(ball.I.to_list(), 0.02 * np.eye(3), 1e-15)


@pytest.mark.seed('MR A09')
def test_points():
    """Products of inertia are minus the sums of m x y; the moments satisfy the triangle."""
    rng = np.random.default_rng(2)
    masses, places = rng.uniform(0.1, 1.0, 7), rng.normal(size=(7, 3))
    body = shapes.points(masses.tolist(), [Vec3(*p) for p in places.tolist()])
    assert body.I.xy == pytest.approx(-(masses * places[:, 0] * places[:, 1]).sum(), rel=1e-12)
    assert body.I.xx == pytest.approx((masses * (places[:, 1:]**2).sum(1)).sum(), rel=1e-12)
    assert_close(body.h.to_list(), masses @ places)
    moments = np.linalg.eigvalsh(np.array(body.I.to_list()))
    assert moments[0] > 0.0 and moments[2] <= moments[0] + moments[1]
    single = shapes.points([2.0], [Vec3(1.0, 0.0, 0.0)])
    moments = np.linalg.eigvalsh(single.I.to_list())
    assert_close(moments, [0.0, 2.0, 2.0], 1e-15)       # only semi-definite


def test_moved_and_turned():
    """A transform puts a shape where a link has it."""
    X = rotx(0.5 * np.pi) @ xlt(0.0, 0.0, 1.0)          # the cylinder's frame in the link's
    moved = X.inv_apply(shapes.cylinder(2.0, 0.1, 0.4))
    assert isinstance(moved, RigidInertia)
    assert_close(moved.h.to_list(), [0.0, 0.0, 2.0], 1e-15)
    assert moved.I.yy == pytest.approx(0.5 * 2.0 * 0.01 + 2.0, rel=1e-14)


@pytest.mark.parametrize(('make', 'text'), [
    (lambda: shapes.box(1.0, 0.1, -0.1, 0.1), 'box: y must be finite and not negative'),
    (lambda: shapes.sphere(float('nan'), 0.1), 'sphere: mass'),
    (lambda: shapes.rod(1.0, float('inf')), 'rod: length')])
def test_sizes_are_checked(make, text):
    """The message names the size and the shape."""
    with pytest.raises(ModelError, match=text):
        make()
