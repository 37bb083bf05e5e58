# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Denavit-Hartenberg input in the style of Craig (RBDA 4.3)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rbd_ros.errors import ModelError
from rbd_ros.joints import Cylindrical, Helical, Prismatic, Revolute
from rbd_ros.model.denavit_hartenberg import chain, Row
from rbd_ros.spatial import AxialScrew, link_transform
from scipy.spatial.transform import Rotation
from spatial_oracle import array, assert_close, x6


def rot(axis, angle):
    """Return the 6x6 transform to a frame turned about a coordinate axis."""
    return x6(Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix().T, [0, 0, 0])


def shift(x, y, z):
    """Return the 6x6 transform to a frame moved by (x, y, z)."""
    return x6(np.eye(3), [x, y, z])


def craig(a, alpha, d, theta):
    """Return rotz(theta) xlt(0, 0, d) rotx(alpha) xlt(a, 0, 0)."""
    return rot(2, theta) @ shift(0, 0, d) @ rot(0, alpha) @ shift(a, 0, 0)


KINDS = [
    ('revolute', Revolute(), [0.7], lambda a, al, d, th, q: craig(a, al, d, th + q[0])),
    ('prismatic', Prismatic(), [0.4], lambda a, al, d, th, q: craig(a, al, d + q[0], th)),
    ('cylindrical', Cylindrical(), [0.7, 0.4],
     lambda a, al, d, th, q: craig(a, al, d + q[1], th + q[0])),
    ('helical', Helical(pitch=0.2), [0.7],
     lambda a, al, d, th, q: craig(a, al, d + 0.2 * q[0], th + q[0]))]


@pytest.mark.seed('RBDA 4-18')
@pytest.mark.parametrize('kind,joint,q,expected', KINDS, ids=[k[0] for k in KINDS])
def test_all_four_kinds_of_joints(kind, joint, q, expected):
    """X_J X_T equals rotz xlt rotx xlt with the variable added to theta, d or both."""
    a, alpha, d, theta = 0.3, -0.8, 0.5, 0.2
    row = Row(a, alpha, d, theta, kind, pitch=0.2 if kind == 'helical' else 0.0)
    (found, X_T), = chain([row]).joints
    assert found == joint
    X = link_transform(found.transform(q), X_T)
    assert_close(array(X), expected(a, alpha, d, theta, q))


@pytest.mark.seed('RBDA 4-18')
def test_base_and_tool_make_4n_plus_6_parameters():
    """theta_0 and d_0 come before the first row, four tool parameters after the last joint."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(3, 4))
    theta_0, d_0 = 0.4, -0.6
    rows = [Row(*row.tolist()) for row in numbers[:2]]
    found = chain(rows, theta_0=theta_0, d_0=d_0, tool=Row(*numbers[2].tolist()))
    q = [0.3, -0.5]
    X = np.eye(6)
    for (joint, X_T), angle in zip(found.joints, q):
        X = array(link_transform(joint.transform([angle]), X_T)) @ X
    X = array(found.tool) @ X
    expected = rot(2, theta_0) @ np.eye(6)
    expected = shift(0, 0, d_0) @ expected
    for (a, alpha, d, theta), angle in zip(numbers, [*q, 0.0]):
        expected = craig(a, alpha, d, theta + angle) @ expected
    assert_close(X, expected)


def test_links_stay_two_screws_and_right_angles_exact():
    """A revolute row costs two axial screws, whatever its offset; 90 degrees fold away."""
    general = chain([Row(0.3, 0.4, 0.5), Row(0.3, 0.4, 0.5, 0.6)])
    for joint, X_T in general.joints:
        steps = [s for s in link_transform(joint.transform([0.7]), X_T).vector_steps
                 if s.E.rows[0][0] != 1.0 or s.E.rows[1][1] != 1.0]
        assert len(steps) == 2 and all(isinstance(s, AxialScrew) for s in steps)
    (_, right), = chain([Row(alpha=-np.pi / 2)]).joints
    assert right.E.rows == ((1, 0, 0), (0, 0, -1), (0, 1, 0))


def test_bad_rows_are_named():
    """An unknown kind and an empty chain are refused with what was expected."""
    with pytest.raises(ModelError, match='kind "ball" is not one of revolute, prismatic'):
        Row(kind='ball')
    with pytest.raises(ModelError, match='at least one row'):
        chain([])


@pytest.mark.parametrize('theta_0, d_0', [(0.4, 0.0), (0.0, -0.6), (0.4, -0.6), (0.0, 0.0)])
def test_base_of_a_chain_with_one_parameter(theta_0, d_0):
    """theta_0 alone turns the first row's x axis, d_0 alone lifts it."""
    (_, X_T), = chain([Row(a=0.3, alpha=0.5)], theta_0=theta_0, d_0=d_0).joints
    (_, plain), = chain([Row(a=0.3, alpha=0.5)]).joints
    c, s = math.cos(theta_0), math.sin(theta_0)
    base = x6([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, d_0])
    assert_close(array(X_T), array(plain) @ base)
    # where the first joint is: 0.3 along the turned x axis, d_0 up
    assert_close(X_T.r.to_list(), [0.3 * c, 0.3 * s, d_0])
