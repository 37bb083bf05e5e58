# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""ROS messages by the names of their fields, without ROS (docs/conventions.md)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from rbd_ros.nodes import messages
from rbd_ros.spatial import Motion, spatial_acceleration, Vec3
from scipy.spatial.transform import Rotation
from spatial_oracle import array, assert_close, Sampler


def xyz(x=0.0, y=0.0, z=0.0):
    """Return something like a geometry_msgs Vector3."""
    return SimpleNamespace(x=x, y=y, z=z)


def xyzw(x=0.0, y=0.0, z=0.0, w=1.0):
    """Return something like a geometry_msgs Quaternion."""
    return SimpleNamespace(x=x, y=y, z=z, w=w)


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(10)


def test_twist_and_wrench_are_read_by_name(sample):
    """Linear and angular parts keep their names, whatever the order of fields; there and back."""
    twist = SimpleNamespace(linear=xyz(1.0, 2.0, 3.0), angular=xyz(4.0, 5.0, 6.0))
    v = messages.motion_from_twist(twist)
    assert v.to_list() == [4, 5, 6, 1, 2, 3]
    empty = SimpleNamespace(linear=xyz(), angular=xyz())
    assert messages.motion_to_twist(v, empty) == twist
    wrench = SimpleNamespace(force=xyz(1.0, 2.0, 3.0), torque=xyz(4.0, 5.0, 6.0))
    f = messages.force_from_wrench(wrench)
    assert f.to_list() == [4, 5, 6, 1, 2, 3]
    assert messages.force_to_wrench(f, SimpleNamespace(force=xyz(), torque=xyz())) == wrench
    assert v.dot(f) == 91.0


def test_pose_is_the_transform_to_the_posed_frame(sample):
    """E is the transpose of the pose's rotation, r its position; a pose comes back the same."""
    R = Rotation.from_quat([0.1, -0.5, 0.3, 0.8])
    x, y, z, w = R.as_quat().tolist()
    pose = SimpleNamespace(position=xyz(1.0, 2.0, 3.0), orientation=xyzw(x, y, z, w))
    X = messages.transform_from_pose(pose)
    assert_close(array(X.E), R.as_matrix().T)
    p = sample.vec3()                                     # a point of the posed frame
    assert_close(array(X.inv_point(p)), R.apply(array(p)) + [1.0, 2.0, 3.0])
    back = messages.transform_to_pose(X, SimpleNamespace(position=xyz(), orientation=xyzw()))
    assert_close(list(vars(back.orientation).values()), [x, y, z, w], 1e-15)
    assert back.position == pose.position
    tf = messages.transform_to_message(
        X, SimpleNamespace(translation=xyz(), rotation=xyzw()))
    assert_close(array(messages.transform_from_message(tf)), array(X))


def test_unnormalised_orientation_is_normalised():
    """A message whose quaternion has length 2 gives a rotation all the same."""
    pose = SimpleNamespace(position=xyz(), orientation=xyzw(0.0, 0.0, 2.0, 2.0))
    assert_close(array(messages.transform_from_pose(pose).E), [[0, 1, 0], [-1, 0, 0], [0, 0, 1]],
                 1e-15)


def test_accel_is_classical(sample):
    """The linear part of an Accel is the acceleration of the point, not the spatial one."""
    v = sample.motion()
    accel = SimpleNamespace(linear=xyz(1.0, 2.0, 3.0), angular=xyz(4.0, 5.0, 6.0))
    a = messages.acceleration_from_accel(accel, v)
    assert_close(array(a), array(spatial_acceleration(
        Motion(Vec3(4.0, 5.0, 6.0), Vec3(1.0, 2.0, 3.0)), v)))
    back = messages.acceleration_to_accel(a, v, SimpleNamespace(linear=xyz(), angular=xyz()))
    assert_close(list(vars(back.linear).values()), [1.0, 2.0, 3.0])


def test_inertia_message_is_about_the_centre_of_mass(sample):
    """Mass, centre and moments about it; there and back."""
    message = SimpleNamespace(m=2.0, com=xyz(0.1, 0.2, 0.3), ixx=1.0, ixy=0.1, ixz=0.2, iyy=2.0,
                              iyz=0.3, izz=3.0)
    inertia = messages.inertia_from_message(message)
    m, c, I_c = inertia.com_form()
    assert m == 2.0
    assert_close(array(c), [0.1, 0.2, 0.3])
    assert_close(array(I_c), [[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 3.0]])
    empty = SimpleNamespace(m=0.0, com=xyz(), ixx=0, ixy=0, ixz=0, iyy=0, iyz=0, izz=0)
    back = messages.inertia_to_message(inertia, empty)
    assert_close([back.ixx, back.ixy, back.ixz, back.iyy, back.iyz, back.izz],
                 [1.0, 0.1, 0.2, 2.0, 0.3, 3.0])
    assert np.isclose(back.com.y, 0.2)
