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

"""What is known of a contact, and what counts as one."""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NEVER, NOBODY
from rbd_ros.control.observers.momentum import Momentum

__all__ = ['Contact', 'ContactParameters', 'ContactRoom', 'REACTIONS']

#: what may follow a contact, in the order of their codes
REACTIONS = ('off', 'report', 'stop', 'float', 'comply', 'retract')


class ContactParameters(Record):
    """What counts as a contact."""

    reaction: float = field('', '', 'what follows one, see REACTIONS')
    bandwidth: float = field('', '1/s', 'of the observer')
    velocity_filter: float = field('', 's', 'filter of velocities that are differences')
    energy: float = field('', 'J', 'that the motion of the frame may have; 0: any')
    torque: Vector = field('n', 'N.m or N', 'observed at a joint, beyond which it is a contact')
    torque_speed: Vector = field('n', 'N.m.s/rad or N.s/m', 'by which that grows with the speed')
    coulomb: Vector = field('n', 'N.m or N', 'dry friction that shows without a contact')
    viscous: Vector = field('n', 'N.m.s/rad or N.s/m', 'viscous friction that does')
    friction_speed: Vector = field('n', 'rad/s or m/s', 'over which dry friction rises', 1.0)
    offset: Vector = field('n', 'N.m or N', 'that shows without a contact')
    wrench: Vector = field('6', 'N.m, N', 'at the frame, beyond which it is a contact; 0: any')


class ContactRoom(Record):
    """Room for what lasts for one step."""

    A: Matrix = field('6 6', '', 'J J^T, then its factor')
    H: Matrix = field('n n', 'kg.m^2', 'inertia of the controlled joints, then its factor')
    b: Vector = field('6', '', 'right side, then the wrench')
    u: Vector = field('n', 'm', 'way of the frame along its motion for that of each joint')
    c: Vector = field('n', '', 'H^-1 u')


class Contact(Record):
    """What is felt of a contact, and the last one that was found."""

    time: float = field('', 's', 'control time of the last observation', NEVER)
    touching: float = field('', '', '1 from a contact until it has ended')
    excess: float = field('', '', 'largest share of its threshold that is felt now')
    joint: float = field('', '', 'of the controlled joints that feels it most', NOBODY)
    axis: float = field('', '', 'direction of the frame, if that feels it most', NOBODY)
    count: float = field('', '', 'contacts since the activation')
    found: float = field('', 's', 'control time of the last contact', NEVER)
    found_joint: float = field('', '', 'joint that felt it most', NOBODY)
    found_axis: float = field('', '', 'direction of the frame, if that felt it most', NOBODY)
    found_torque: float = field('', 'N.m or N', 'that it felt')
    found_force: float = field('', 'N', 'at the frame that explains it')
    mass: float = field('', 'kg', 'that the frame has in the direction of its motion')
    speed: float = field('', 'm/s', 'of the frame')
    energy: float = field('', 'J', 'of a contact of the frame with something rigid')
    external: Vector = field('n', 'N.m or N', 'observed torque without friction')
    mean: Vector = field('n', 'N.m or N', 'what shows without a contact, filtered alike')
    gain: Vector = field('n', '1/s', 'bandwidth of the last observation')
    wrench: Vector = field('6', 'N.m, N', 'at the frame that explains the torque')
    momentum: Momentum = group(Momentum)
