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
Contacts, seen by what the model does not explain: a threshold for each joint and direction.

The observer is that of :mod:`rbd_ros.control.observers.momentum`, with a bandwidth of its own.
Friction shows in it as well; what is known of that is filtered alike and taken away. What is left
is compared with thresholds that may grow with the speed. At ``task.frame`` the same torque is seen
as a wrench, which has thresholds for each direction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Bound
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.cause_codes import CauseCode
from rbd_ros.control.interface.events import (
    accuse, Joints, NEVER, NOBODY, NONE, Result, Structure, tell)
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.momentum import (
    is_finite_momentum, is_time, Momentum, MomentumKernel, reset_momentum, settled,
    update_momentum)
from rbd_ros.control.observers.words import ObserverWord
from rbd_ros.control.parameters.settings import Settings

__all__ = ['check_contact', 'Contact', 'contact_kernel', 'ContactKernel', 'ContactParameters',
           'ContactRoom', 'energy_share', 'energy_speed', 'feel_contact', 'fill_contact',
           'find_energy', 'find_wrench', 'is_watched', 'REACTIONS', 'restart_contact',
           'returns_clear']

#: what may follow a contact, in the order of their codes
REACTIONS = ('off', 'report', 'stop', 'float', 'comply', 'retract')

#: s without an observation after which what was observed is forgotten
_GAP = 0.1

#: share of the thresholds below which a contact has ended
_ENDED = 0.5

#: s of the way back after which something that still presses is a second contact
_CLEAR = 0.3

#: share of the largest singular value of J below which a direction fades, squared
_FADES = 1e-6

#: largest bandwidth times the filter of differenced velocities
_COARSE = 0.3

#: m/s below which a motion has no direction
_REST = 1e-3

_TINY = 1e-300

#: from which on a hyperbolic tangent is 1
_FLAT = 20.0


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


class ContactKernel(NamedTuple):
    """The kernel 'contact': where the frame goes."""

    run: Kernel
    q: Vector
    qd: Vector
    acting: Vector
    payload: Vector
    J: Matrix
    velocity: Vector


def contact_kernel(bound: Bound) -> ContactKernel:
    """
    Return the kernel with its arrays.

    :param bound: kernel 'contact'.
    """
    x, y = bound.inputs, bound.outputs
    return ContactKernel(bound, x['q'], x['qd'], x['gravity'], x['payload'], y['J'], y['velocity'])


def fill_contact(p: ContactParameters, settings: Settings) -> None:
    """
    Take new thresholds.

    :param p: get them.
    :param settings: valid set.
    """
    p.reaction = REACTIONS.index(settings.text('contact.reaction'))
    p.bandwidth = settings.number('contact.bandwidth')
    p.velocity_filter = settings.number('velocity_filter')
    p.energy = settings.number('contact.energy_limit')
    p.torque[:] = np.minimum(settings.contact_torques, NONE)
    p.torque_speed[:] = settings.joints('contact.torque_speed')
    p.coulomb[:] = settings.contact_friction('coulomb')
    p.viscous[:] = settings.contact_friction('viscous')
    p.friction_speed[:] = settings.joints('friction.speed')
    p.offset[:] = settings.joints('contact.offset')
    p.wrench[:] = settings.contact_wrench


def is_watched(p: ContactParameters) -> bool:
    """
    Return whether contacts or their energy are looked for.

    :param p: thresholds.
    """
    return p.reaction > 0.0 or p.energy > 0.0


def restart_contact(x: Contact) -> None:
    """
    Forget what was felt, and count anew.

    :param x: contact.
    """
    _forget(x)
    x.count = 0.0
    x.touching = 0.0
    x.found = NEVER


def _forget(x: Contact) -> None:
    reset_momentum(x.momentum)
    x.excess = 0.0
    for i in range(len(x.external)):
        x.external[i] = 0.0
        x.mean[i] = 0.0
    for i in range(6):
        x.wrench[i] = 0.0
    x.mass, x.speed, x.energy = 0.0, 0.0, 0.0


def feel_contact(x: Contact, p: ContactParameters, room: ContactRoom, momentum: MomentumKernel,
                 kernel: ContactKernel, joints: Joints, s: Structure, acted: Vector, acts: float,
                 torque: Vector, now: float) -> None:
    """
    Feel a state, after the observer of the load has taken it.

    :param x: contact.
    :param p: thresholds.
    :param room: for matrices.
    :param momentum: evaluated at the state.
    :param kernel: is evaluated there.
    :param joints: the state.
    :param s: which joints are which.
    :param acted: mean torque that the state answers to, N.m.
    :param acts: 1 if that is known.
    :param torque: total that acts from now on, N.m.
    :param now: control time, s.
    """
    elapsed = now - x.time
    if not is_time(now):
        _forget(x)
        return
    x.time = now
    if not 0.0 < elapsed <= _GAP:
        _forget(x)
    _observe(x, p, momentum, joints, s, acted, acts, torque, elapsed)
    for j in range(len(kernel.q)):
        kernel.q[j] = joints.q[j]
        kernel.qd[j] = joints.qd[j]
    kernel.run()
    find_wrench(x.wrench, room, kernel.J, x.external)
    find_energy(x, room, momentum.H, kernel.J, kernel.velocity, s)
    if not (is_finite_momentum(x.momentum) and _are_numbers(x.external)
            and _are_numbers(x.wrench) and _is_number(x.energy)):
        _forget(x)  # nothing can be learned from an absurd velocity
        return
    _compare(x, p, joints, s)
    if x.excess < _ENDED:
        x.touching = 0.0


def check_contact(x: Contact, p: ContactParameters, now: float, y: Result) -> None:
    """
    Accuse what touches the robot, or report it, once for each contact.

    :param x: contact, which has felt the state.
    :param p: thresholds.
    :param now: control time, s.
    :param y: gets what was found.
    """
    if p.reaction > 0.0 and not x.touching > 0.0 and x.excess > 1.0:
        x.touching = 1.0
        _say(x, p.reaction, now, y)


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


def returns_clear(x: Contact, since: float, now: float, y: Result) -> None:
    """
    Accuse what still presses when the robot has gone back for a while: it is caught.

    :param x: contact.
    :param since: control time at which the way back began, s.
    :param now: control time, s.
    :param y: gets what was found.
    """
    if x.touching > 0.0 and x.excess > 1.0 and now - since > _CLEAR:
        _say(x, NONE, now, y)


def _observe(x: Contact, p: ContactParameters, kernel: MomentumKernel, joints: Joints,
             s: Structure, acted: Vector, acts: float, torque: Vector, elapsed: float) -> None:
    """Observe torques, and take away what shows without a contact."""
    fastest = p.bandwidth
    if joints.differenced > 0.0 and p.velocity_filter > 0.0:
        fastest = min(fastest, _COARSE / p.velocity_filter)
    known = x.momentum.known > 0.0
    for i in range(len(x.gain)):
        x.gain[i] = max(0.0, min(fastest, NONE))  # 0 if that is no number
    update_momentum(x.momentum, kernel, torque, elapsed, x.gain, acted, acts)
    for i in range(len(x.gain)):
        v = joints.qd[place_of(s, i)]
        rubs = p.coulomb[i] * _tanh(v / p.friction_speed[i]) + p.viscous[i] * v
        if known:
            x.mean[i] += settled(x.gain[i] * elapsed) * (p.offset[i] - rubs - x.mean[i])
        x.external[i] = x.momentum.torque[i] - x.mean[i]


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
    solved = _solve(room.A, room.b)
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
    x.speed, x.mass, x.energy = speed if _is_number(speed) else 0.0, 0.0, 0.0
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
    if not _solve(room.H, room.c):
        return
    mobility = 0.0
    for i in range(n):
        mobility += room.u[i] * room.c[i]
    if 1.0 / NONE < mobility <= NONE:
        x.mass = 1.0 / mobility
        x.energy = 0.5 * x.mass * speed * speed


def _compare(x: Contact, p: ContactParameters, joints: Joints, s: Structure) -> None:
    """Find who feels the largest share of its threshold."""
    x.excess, x.joint, x.axis = 0.0, NOBODY, NOBODY
    for i in range(len(x.external)):
        v = abs(joints.qd[place_of(s, i)])
        share = abs(x.external[i]) / max(p.torque[i] + p.torque_speed[i] * v, _TINY)
        if share > x.excess:
            x.excess, x.joint = min(share, NONE), i
    for k in range(6):
        share = abs(x.wrench[k]) / p.wrench[k] if p.wrench[k] > 0.0 else 0.0
        if share > x.excess:
            x.excess, x.joint, x.axis = min(share, NONE), NOBODY, k


def _say(x: Contact, reaction: float, now: float, y: Result) -> None:
    """Keep a contact and report it; whoever reacts hears an accusation."""
    x.count += 1.0
    x.found, x.found_joint, x.found_axis = now, x.joint, x.axis
    x.found_force = math.sqrt(x.wrench[3] * x.wrench[3] + x.wrench[4] * x.wrench[4]
                              + x.wrench[5] * x.wrench[5])
    i, k = int(x.joint), int(x.axis)
    word, felt = ObserverWord.TOUCHED, 0.0
    if k != NOBODY:
        word, felt, i = ObserverWord.TOUCHED_ALONG, x.wrench[k], NOBODY
    elif i != NOBODY:
        felt = x.external[i]
    x.found_torque = felt
    about = float(k) if k != NOBODY else abs(felt) / max(x.excess, _TINY)
    if reaction > 1.0:
        accuse(y, CauseCode.CONTACT, word, i, felt, about, x.found_force)
    else:
        tell(y, word, i, felt, about, x.found_force)


def _tanh(a: float) -> float:
    """Return the hyperbolic tangent."""
    e = math.exp(2.0 * min(max(a, -_FLAT), _FLAT))
    return (e - 1.0) / (e + 1.0)


def _solve(A: Matrix, b: Vector) -> bool:
    """Solve with a positive definite matrix, by its Cholesky factor; return whether it is one."""
    n = len(b)
    for j in range(n):
        total = A[j, j]
        for k in range(j):
            total -= A[j, k] * A[j, k]
        if not 0.0 < total <= NONE:
            return False
        A[j, j] = math.sqrt(total)
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total / A[j, j]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= A[i, k] * b[k]
        b[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, n):
            total -= A[k, i] * b[k]
        b[i] = total / A[i, i]
    return True


def _are_numbers(values: Vector) -> bool:
    for i in range(len(values)):
        if not _is_number(values[i]):
            return False
    return True


def _is_number(value: float) -> bool:
    return abs(value) <= NONE
