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

import numpy as np

from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import (
    accuse, Joints, NEVER, NOBODY, NONE, Result, Structure, tell)
from rbd_ros.control.interface.words import ObserverWord
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.contact_records import (
    Contact, ContactKernel, ContactParameters, ContactRoom, REACTIONS)
from rbd_ros.control.observers.frame_contact import find_energy, find_wrench
from rbd_ros.control.observers.momentum import (
    is_finite_momentum, is_time, MomentumKernel, reset_momentum, settled, update_momentum)
from rbd_ros.control.parameters.settings import Settings

__all__ = ['check_contact', 'feel_contact', 'fill_contact', 'is_watched', 'restart_contact',
           'returns_clear']

#: s without an observation after which what was observed is forgotten
_GAP = 0.1

#: share of the thresholds below which a contact has ended
_ENDED = 0.5

#: s of the way back after which something that still presses is a second contact
_CLEAR = 0.3

#: largest bandwidth times the filter of differenced velocities
_COARSE = 0.3

_TINY = 1e-300

#: from which on a hyperbolic tangent is 1
_FLAT = 20.0


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
        accuse(y, Cause.CONTACT, word, i, felt, about, x.found_force)
    else:
        tell(y, word, i, felt, about, x.found_force)


def _tanh(a: float) -> float:
    """Return the hyperbolic tangent."""
    e = math.exp(2.0 * min(max(a, -_FLAT), _FLAT))
    return (e - 1.0) / (e + 1.0)


def _are_numbers(values: Vector) -> bool:
    for i in range(len(values)):
        if not _is_number(values[i]):
            return False
    return True


def _is_number(value: float) -> bool:
    return abs(value) <= NONE
