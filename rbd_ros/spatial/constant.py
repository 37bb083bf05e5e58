# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Transforms from angles, with constant right angles made exact (RBDA Tables 2.2 and A.2).

Descriptions of robots round pi/2 in its last digits. A cosine of 6e-17 in place of zero costs
operations in every kernel, so constant angles within SNAP of a multiple of pi/2 count as exact.
An angle may also be a traced scalar, as in a joint of one's own: that is left as it is.
"""

from __future__ import annotations

import math

from rbd_ros.compiler import cos, Expr, Scalar, sin
from rbd_ros.spatial.algebra import Mat3, Vec3
from rbd_ros.spatial.axial_screw import AxialScrew
from rbd_ros.spatial.transform import Transform

#: Largest distance, in radians, of an angle from a right angle that counts as exact.
SNAP = 2.0e-11


def cosine_and_sine(angle: Scalar, snap: float = SNAP) -> tuple[Scalar, Scalar]:
    """Return both functions of an angle, of a constant one exact at multiples of pi/2."""
    if isinstance(angle, Expr):
        return cos(angle), sin(angle)
    quarters = round(angle / (0.5 * math.pi))
    if abs(angle - quarters * (0.5 * math.pi)) <= snap:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return math.cos(angle), math.sin(angle)


def screw(axis: int, angle: Scalar, d: Scalar = 0.0, snap: float = SNAP) -> AxialScrew:
    """
    Return the screw transform scrx, scry or scrz (RBDA A.4).

    :param axis: 0, 1 or 2.
    :param angle: radians about the axis.
    :param d: distance along it.
    """
    return AxialScrew(axis, *cosine_and_sine(angle, snap), d)


def rotx(angle: Scalar) -> AxialScrew:
    """Return the transform to a frame turned by an angle about x."""
    return screw(0, angle)


def roty(angle: Scalar) -> AxialScrew:
    """Return the transform to a frame turned by an angle about y."""
    return screw(1, angle)


def rotz(angle: Scalar) -> AxialScrew:
    """Return the transform to a frame turned by an angle about z."""
    return screw(2, angle)


def xlt(x: Scalar, y: Scalar, z: Scalar) -> Transform:
    """Return the transform to a frame moved to (x, y, z)."""
    return Transform.translation(Vec3(x, y, z))


def from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar, snap: float = SNAP) -> Mat3:
    """Return E of a frame with these URDF angles in its parent: rx(roll) ry(pitch) rz(yaw)."""
    return screw(0, roll, 0.0, snap).E @ (screw(1, pitch, 0.0, snap).E
                                          @ screw(2, yaw, 0.0, snap).E)
