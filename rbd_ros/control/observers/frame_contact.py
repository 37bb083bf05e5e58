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

"""
A contact at the controlled frame: the wrench that explains the torques, and the energy of a blow.

The frame meets something rigid with the mass that it has in the direction of its motion. A bound
of the energy is a bound of the speed at which it may go.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.events import NONE, Structure
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.numerics.positive_definite import solve_positive_definite
from rbd_ros.control.observers.contact_records import Contact, ContactParameters, ContactRoom

__all__ = ['energy_share', 'energy_speed', 'find_energy', 'find_wrench']

#: share of the largest singular value of J below which a direction fades, squared
_FADES = 1e-6

#: m/s below which a motion has no direction
_REST = 1e-3

_TINY = 1e-300


def find_wrench(w: Vector, room: ContactRoom, J: Matrix, torque: Vector) -> None:
    """
    Find the wrench that explains torques, tau = J^T w; what nothing transmits fades to zero.

    :param w: gets it, moment first, in the axes of the frame; what is not finite changes nothing.
    :param room: for a matrix.
    :param J: Jacobian of the frame.
    :param torque: N.m.
    """
    n, trace = len(torque), 0.0
    for i in range(6):
        for k in range(6):
            total = 0.0
            for j in range(n):
                total += J[i, j] * J[k, j]
            room.A[i, k] = total
        trace += room.A[i, i]
    for i in range(6):
        room.A[i, i] += _FADES * trace + _TINY
        total = 0.0
        for j in range(n):
            total += J[i, j] * torque[j]
        room.b[i] = total
    solved = solve_positive_definite(room.A, room.b)
    for i in range(6):
        if solved and abs(room.b[i]) <= NONE:
            w[i] = room.b[i]


def find_energy(x: Contact, room: ContactRoom, H: Matrix, J: Matrix, velocity: Vector,
                s: Structure) -> None:
    """
    Find the mass of the frame in the direction of its motion, 1/(u' J H^-1 J' u), and m v^2/2.

    :param x: gets them.
    :param room: for a matrix.
    :param H: rows of the inertia matrix of the controlled joints.
    :param J: Jacobian of the frame.
    :param velocity: of the frame, angular part first, in its axes.
    :param s: which joints are which.
    """
    n = len(x.external)
    speed = math.sqrt(velocity[3] * velocity[3] + velocity[4] * velocity[4]
                      + velocity[5] * velocity[5])
    x.speed, x.mass, x.energy = speed if abs(speed) <= NONE else 0.0, 0.0, 0.0
    if not (_REST < speed <= NONE):
        return
    for i in range(n):
        total = 0.0
        for k in range(3):
            total += J[3 + k, i] * velocity[3 + k] / speed
        room.u[i] = total
        room.c[i] = total
        for j in range(n):
            room.H[i, j] = H[i, place_of(s, j)]
    if not solve_positive_definite(room.H, room.c):
        return
    mobility = 0.0
    for i in range(n):
        mobility += room.u[i] * room.c[i]
    if 1.0 / NONE < mobility <= NONE:
        x.mass = 1.0 / mobility
        x.energy = 0.5 * x.mass * speed * speed


def energy_speed(x: Contact, p: ContactParameters) -> float:
    """
    Return the speed at which the frame has the energy that it may have, m/s.

    :param x: contact, which has felt the state.
    :param p: its bound.
    """
    if p.energy > 0.0 and x.mass > 0.0:
        speed = math.sqrt(2.0 * p.energy / x.mass)
        if speed <= NONE:
            return speed
    return NONE


def energy_share(x: Contact, p: ContactParameters, J: Matrix, target: Matrix,
                 rate: float) -> float:
    """
    Return the share of its speed that a trajectory of the joints may have for the same.

    :param x: contact, which has felt the state.
    :param p: its bound.
    :param J: Jacobian of the frame.
    :param target: position, velocity and acceleration that the trajectory asks for now.
    :param rate: share of its speed that this velocity is.
    """
    most, total = energy_speed(x, p), 0.0
    if not most < NONE:
        return 1.0
    for k in range(3):
        v = 0.0
        for i in range(len(x.external)):
            v += J[3 + k, i] * target[1, i]
        total += v * v
    speed = math.sqrt(total)
    share = rate * most / speed if _REST < speed <= NONE else 1.0
    return share if share < 1.0 else 1.0
