# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Spatial vector algebra (RBDA chapter 2 and appendix A), angular part first."""

from rbd_ros.compiler import Scalar
from rbd_ros.spatial.algebra import Mat3, Sym3, Vec3
from rbd_ros.spatial.axial_screw import AxialScrew
from rbd_ros.spatial.constant import from_rpy, rotx, roty, rotz, screw, xlt
from rbd_ros.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_ros.spatial.inverse_inertia import InverseInertia
from rbd_ros.spatial.known_rows import unit_rows, vanishing_rows
from rbd_ros.spatial.link import link_transform, LinkTransform
from rbd_ros.spatial.screws import (
    classical_acceleration, decompose, force_at, moment_at, rotation_about, Screw, small_motion,
    spatial_acceleration, velocity_at)
from rbd_ros.spatial.transform import Transform
from rbd_ros.spatial.vectors import Force, Motion

__all__ = [
    'ArticulatedInertia', 'AxialScrew', 'classical_acceleration', 'decompose', 'Force',
    'force_at', 'from_rpy', 'InverseInertia', 'link_transform', 'LinkTransform', 'Mat3',
    'moment_at', 'Motion', 'RigidInertia', 'rotation_about', 'rotx', 'roty', 'rotz', 'Scalar',
    'Screw', 'screw', 'small_motion', 'spatial_acceleration', 'Sym3', 'Transform', 'unit_rows',
    'vanishing_rows', 'Vec3', 'velocity_at', 'xlt',
]
