# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Figures of numbers: ellipsoids, quaternions, bars, and the place of the camera."""

from command_rig import ARM
import numpy as np
import rbd_ros
from rbd_ros.view.figures import bars, ellipsoid, quaternion
from rbd_ros.view.scene import link_poses, viewpoint
from scipy.spatial.transform import Rotation


def test_an_ellipsoid_has_the_principal_axes_of_its_matrix():
    """Turned back, the half-axes are the principal values in proportion."""
    R = Rotation.from_euler('zyx', [0.4, 1.2, -0.6]).as_matrix()
    figure = ellipsoid(R @ np.diag([4.0, 2.0, 1.0]) @ R.T, 0.2)
    w, x, y, z = figure.wxyz
    found = Rotation.from_quat([x, y, z, w]).as_matrix()
    assert np.allclose(found @ np.diag(figure.axes) @ found.T,
                       R @ np.diag([0.2, 0.1, 0.05]) @ R.T)
    assert ellipsoid(np.diag([1.0, 0.0, 0.0]), 0.5).axes.count(0.01) == 2
    assert max(ellipsoid(np.zeros((3, 3)), 0.5).axes) == 0.01


def test_quaternions_are_scalar_first_and_turn_child_to_parent():
    """A quarter turn about z takes the child's x axis to the parent's y axis."""
    R = Rotation.from_euler('z', 90, degrees=True).as_matrix()
    assert np.allclose(quaternion(R), [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])


def test_bars_show_sign_share_and_saturation():
    """A negative torque grows to the left; a limit that is reached has its colour."""
    text = bars(['a<b', 'c'], [5.0, -20.0], [10.0, 10.0], [0, 2])
    assert 'a&lt;b' in text
    assert 'left:50.0%;width:25.0%' in text
    assert 'left:0.0%;width:50.0%' in text
    assert text.count('#d6336c') == 1
    assert 'width:0.0%' in bars(['x'], [3.0], [np.inf])


def test_a_robot_of_any_size_fills_the_picture():
    """The camera stands twice as far from a robot that is twice as large."""
    model = rbd_ros.load_urdf(ARM)
    place = viewpoint(model)
    points = np.array([p for p, _ in link_poses(model, np.zeros(7)).values()])
    away = np.linalg.norm(np.subtract(place.eye, place.look))
    assert np.linalg.norm(points - place.look, axis=1).max() < 0.5 * away
    assert place.floor >= 1.0
