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
