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

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import (
    accuse, Joints, NEVER, NOBODY, NONE, Result, Structure, tell)
from rbd_ros.control.interface.words import ObserverWord
from rbd_ros.control.kernels.declared import ContactKernel, MomentumKernel
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.contact_records import (
    Contact, ContactParameters, ContactRoom, REACTIONS)
from rbd_ros.control.observers.frame_contact import find_energy, find_wrench
from rbd_ros.control.observers.momentum import is_time, settled
from rbd_ros.control.observers.observer import Observer
from rbd_ros.control.parameters.settings import Settings

__all__ = ['check_contact', 'fill_contact', 'is_watched', 'locate_contact', 'observe_contact',
           'restart_contact', 'returns_clear']

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
    x.momentum.reset()
    x.external[:] = x.mean[:] = x.wrench[:] = 0.0
    x.excess, x.mass, x.speed, x.energy = 0.0, 0.0, 0.0, 0.0


def observe_contact(x: Contact, p: ContactParameters, k: MomentumKernel, joints: Joints,
                    s: Structure, o: Observer, torque: Vector, now: float) -> bool:
    """
    Observe torques, and take away what shows without a contact; return whether there is a state.

    :param x: contact.
    :param p: thresholds.
    :param k: evaluated at the state.
    :param joints: the state.
    :param s: which joints are which.
    :param o: observer of the load, which has taken the state.
    :param torque: total that acts from now on, N.m.
    :param now: control time, s.
    """
    elapsed = now - x.time
    if not is_time(now):
        _forget(x)
        return False
    x.time = now
    if not 0.0 < elapsed <= _GAP:
        _forget(x)
    fastest = p.bandwidth
    if joints.differenced > 0.0 and p.velocity_filter > 0.0:
        fastest = min(fastest, _COARSE / p.velocity_filter)
    known = x.momentum.known > 0.0
    x.gain[:] = max(0.0, min(fastest, NONE))  # 0 if that is no number
    x.momentum.update(k, torque, elapsed, x.gain, o.acted, o.acts)
    for i in range(len(x.gain)):
        v = joints.qd[place_of(s, i)]
        rubs = p.coulomb[i] * _tanh(v / p.friction_speed[i]) + p.viscous[i] * v
        if known:
            x.mean[i] += settled(x.gain[i] * elapsed) * (p.offset[i] - rubs - x.mean[i])
        x.external[i] = x.momentum.torque[i] - x.mean[i]
    return True


def locate_contact(x: Contact, p: ContactParameters, room: ContactRoom, k: ContactKernel,
                   H: Matrix, joints: Joints, s: Structure) -> None:
    """
    Find what the observed torques are at the frame, and compare them with their thresholds.

    :param x: contact, which has observed the state.
    :param p: thresholds.
    :param room: for matrices.
    :param k: evaluated at the state.
    :param H: inertia matrix there.
    :param joints: the state.
    :param s: which joints are which.
    """
    find_wrench(x.wrench, room, k.J, x.external)
    find_energy(x, room, H, k.J, k.velocity, s)
    if not (x.momentum.is_finite() and all(abs(x.external) <= NONE)
            and all(abs(x.wrench) <= NONE) and abs(x.energy) <= NONE):
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
