# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The joint library (RBDA chapter 4)."""

from rbd_ros.joints.axial import Cylindrical, Fixed, Helical, Prismatic, Revolute
from rbd_ros.joints.base import Joint
from rbd_ros.joints.compound import Composite, RollPitchYaw, Universal
from rbd_ros.joints.multi import Free, Planar, Spherical, Translation
from rbd_ros.joints.rotation_vector import RotationVector
from rbd_ros.joints.special import Prescribed, RackAndPinion, SphereInCylinder
from rbd_ros.joints.turned_round import Reversed
from rbd_ros.joints.user import UserJoint
from rbd_ros.joints.verify import verify

__all__ = [
    'Composite', 'Cylindrical', 'Fixed', 'Free', 'Helical', 'Joint', 'Planar', 'Prescribed',
    'Prismatic', 'RackAndPinion', 'Reversed', 'Revolute', 'RollPitchYaw', 'RotationVector',
    'SphereInCylinder', 'Spherical', 'Translation', 'Universal', 'UserJoint', 'verify',
]
