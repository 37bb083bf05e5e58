# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
