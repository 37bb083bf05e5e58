# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Spatial quantities to and from ROS messages, by the names of their fields.

Nothing of ROS is imported: any object with the fields of the message will do. Messages are never
read by position, because they are linear first and this package is angular first.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from rbd_ros.spatial.algebra import Sym3, Vec3
from rbd_ros.spatial.inertia import RigidInertia
from rbd_ros.spatial.quaternion import from_rotation, rotation
from rbd_ros.spatial.screws import classical_acceleration, spatial_acceleration
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.vectors import Force, Motion


class XYZ(Protocol):
    """geometry_msgs Point or Vector3."""

    x: float
    y: float
    z: float


class XYZW(XYZ, Protocol):
    """geometry_msgs Quaternion."""

    w: float


class TwistLike(Protocol):
    """geometry_msgs Twist or Accel."""

    linear: XYZ
    angular: XYZ


class WrenchLike(Protocol):
    """geometry_msgs Wrench."""

    force: XYZ
    torque: XYZ


class PoseLike(Protocol):
    """geometry_msgs Pose."""

    position: XYZ
    orientation: XYZW


class TransformLike(Protocol):
    """geometry_msgs Transform."""

    translation: XYZ
    rotation: XYZW


class InertiaLike(Protocol):
    """geometry_msgs Inertia: about the centre of mass."""

    m: float
    com: XYZ
    ixx: float
    ixy: float
    ixz: float
    iyy: float
    iyz: float
    izz: float


Twist = TypeVar('Twist', bound=TwistLike)
Wrench = TypeVar('Wrench', bound=WrenchLike)
Pose = TypeVar('Pose', bound=PoseLike)
TransformMessage = TypeVar('TransformMessage', bound=TransformLike)
Inertia = TypeVar('Inertia', bound=InertiaLike)


def _read(xyz: XYZ) -> Vec3:
    return Vec3(float(xyz.x), float(xyz.y), float(xyz.z))


def _write(v: Vec3, xyz: XYZ) -> None:
    xyz.x, xyz.y, xyz.z = float(v.x), float(v.y), float(v.z)


def motion_from_twist(message: TwistLike) -> Motion:
    """
    Return the spatial velocity of a Twist given in a frame.

    Both parts of the message are along the axes of the frame and the linear one is of the point
    at its origin. For a twist about one frame's origin along another's axes (as KDL's), rotate
    it first: a spatial vector has one frame only.
    """
    return Motion(_read(message.angular), _read(message.linear))


def motion_to_twist(v: Motion, message: Twist) -> Twist:
    """Write a spatial velocity into a Twist of the same frame, and return the message."""
    _write(v.lin, message.linear)
    _write(v.ang, message.angular)
    return message


def force_from_wrench(message: WrenchLike) -> Force:
    """Return the spatial force of a Wrench given in a frame, its torque about the origin."""
    return Force(_read(message.torque), _read(message.force))


def force_to_wrench(f: Force, message: Wrench) -> Wrench:
    """Write a spatial force into a Wrench of the same frame, and return the message."""
    _write(f.lin, message.force)
    _write(f.ang, message.torque)
    return message


def acceleration_from_accel(message: TwistLike, v: Motion) -> Motion:
    """
    Return the spatial acceleration of an Accel, whose linear part is the classical one.

    :param v: spatial velocity of the same body in the same frame.
    """
    return spatial_acceleration(Motion(_read(message.angular), _read(message.linear)), v)


def acceleration_to_accel(a: Motion, v: Motion, message: Twist) -> Twist:
    """
    Write a spatial acceleration into an Accel, and return the message.

    :param v: spatial velocity of the same body in the same frame.
    """
    return motion_to_twist(classical_acceleration(a, v), message)


def transform_from_pose(message: PoseLike) -> Transform:
    """Return the transform from the pose's reference frame to the posed frame."""
    return _transform(message.position, message.orientation)


def transform_to_pose(X: Transform, message: Pose) -> Pose:
    """Write where a transform's target frame is in its source frame, and return the message."""
    _write(X.r, message.position)
    _write_rotation(X, message.orientation)
    return message


def transform_from_message(message: TransformLike) -> Transform:
    """Return the spatial transform from the message's header frame to its child frame."""
    return _transform(message.translation, message.rotation)


def transform_to_message(X: Transform, message: TransformMessage) -> TransformMessage:
    """Write a transform from a parent to a child frame as tf wants it, and return the message."""
    _write(X.r, message.translation)
    _write_rotation(X, message.rotation)
    return message


def _transform(position: XYZ, orientation: XYZW) -> Transform:
    p = [float(orientation.x), float(orientation.y), float(orientation.z), float(orientation.w)]
    return Transform(rotation(p), _read(position))


def _write_rotation(X: Transform, orientation: XYZW) -> None:
    x, y, z, w = map(float, from_rotation(X.E))
    orientation.x, orientation.y, orientation.z, orientation.w = x, y, z, w


def inertia_from_message(message: InertiaLike) -> RigidInertia:
    """Return the rigid inertia of an Inertia message, whose moments are about the com."""
    return RigidInertia.from_com(float(message.m), _read(message.com), Sym3(
        float(message.ixx), float(message.ixy), float(message.ixz), float(message.iyy),
        float(message.iyz), float(message.izz)))


def inertia_to_message(inertia: RigidInertia, message: Inertia) -> Inertia:
    """Write a rigid inertia into an Inertia message, and return the message."""
    m, com, I_c = inertia.com_form()
    message.m = float(m)
    _write(com, message.com)
    (message.ixx, message.ixy, message.ixz, message.iyy, message.iyz,
     message.izz) = (float(x) for x in I_c.entries())
    return message
