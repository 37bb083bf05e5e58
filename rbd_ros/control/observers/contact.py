# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Contacts, seen by what the model does not explain: a threshold for each joint and direction.

The observer is that of :mod:`rbd_ros.control.observers.momentum`, with a bandwidth of its own.
Friction shows in it as well; what is known of that is filtered alike and taken away. What is left
is compared with thresholds that may grow with the speed. At ``task.frame`` the same torque is seen
as a wrench, which has thresholds for each direction.

The frame meets something rigid with the mass that it has in the direction of its motion. A bound
of the energy is a bound of the speed at which it may go.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import minimum
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import (
    accuse, Joints, NEVER, NOBODY, NONE, Result, Structure, tell)
from rbd_ros.control.interface.words import ObserverWord
from rbd_ros.control.kernels.declared import ContactKernel, MomentumKernel
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.numerics.positive_definite import solve_positive_definite
from rbd_ros.control.observers.momentum import is_time, Momentum, settled
from rbd_ros.control.observers.observer import Observer
from rbd_ros.control.parameters.given import (
    contact_coulomb, contact_torques, contact_viscous, Inputs)

__all__ = ['Contact', 'ContactParameters', 'ContactRoom', 'find_wrench']

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

#: share of the largest singular value of J below which a direction fades, squared
_FADES = 1e-6

#: m/s below which a motion has no direction
_REST = 1e-3


class ContactParameters(Record):
    """What counts as a contact."""

    reaction: float = field('', '', 'what follows one, see ContactReaction')
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

    def fill(self, g: Inputs) -> None:
        """
        Take new thresholds.

        :param g: what was given.
        """
        self.reaction, self.bandwidth = g.values.contact.reaction, g.values.contact.bandwidth
        self.velocity_filter, self.energy = g.values.velocity_filter, g.values.contact.energy_limit
        self.torque[:] = minimum(contact_torques(g), NONE)
        self.torque_speed[:] = g.values.contact.torque_speed
        self.coulomb[:] = contact_coulomb(g)
        self.viscous[:] = contact_viscous(g)
        self.friction_speed[:] = g.values.friction.speed
        self.offset[:] = g.values.contact.offset
        self.wrench[:3] = g.values.contact.moment
        self.wrench[3:6] = g.values.contact.force

    def is_watched(self) -> bool:
        """Return whether contacts or their energy are looked for."""
        return self.reaction > 0.0 or self.energy > 0.0


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

    def restart(self) -> None:
        """Forget what was felt, and count anew."""
        self._forget()
        self.count = 0.0
        self.touching = 0.0
        self.found = NEVER

    def _forget(self) -> None:
        self.momentum.reset()
        self.external[:] = self.mean[:] = self.wrench[:] = 0.0
        self.excess, self.mass, self.speed, self.energy = 0.0, 0.0, 0.0, 0.0

    def observe(self, p: ContactParameters, k: MomentumKernel, joints: Joints, s: Structure,
                o: Observer, torque: Vector, now: float) -> bool:
        """
        Observe torques, and take away what shows without a contact.

        :param p: thresholds.
        :param k: evaluated at the state.
        :param joints: the state.
        :param s: which joints are which.
        :param o: observer of the load, which has taken the state.
        :param torque: total that acts from now on, N.m.
        :param now: control time, s.
        :returns: whether there is a state.
        """
        elapsed = now - self.time
        if not is_time(now):
            self._forget()
            return False
        self.time = now
        if not 0.0 < elapsed <= _GAP:
            self._forget()
        fastest = p.bandwidth
        if joints.differenced > 0.0 and p.velocity_filter > 0.0:
            fastest = min(fastest, _COARSE / p.velocity_filter)
        known = self.momentum.known > 0.0
        self.gain[:] = max(0.0, min(fastest, NONE))  # 0 if that is no number
        self.momentum.update(k, torque, elapsed, self.gain, o.acted, o.acts)
        for i in range(len(self.gain)):
            v = joints.qd[place_of(s, i)]
            rubs = p.coulomb[i] * _tanh(v / p.friction_speed[i]) + p.viscous[i] * v
            if known:
                share = settled(self.gain[i] * elapsed)
                self.mean[i] += share * (p.offset[i] - rubs - self.mean[i])
            self.external[i] = self.momentum.torque[i] - self.mean[i]
        return True

    def locate(self, p: ContactParameters, room: ContactRoom, k: ContactKernel, H: Matrix,
               joints: Joints, s: Structure) -> None:
        """
        Find what the observed torques are at the frame, and compare them with their thresholds.

        :param p: thresholds.
        :param room: for matrices.
        :param k: evaluated at the state.
        :param H: inertia matrix there.
        :param joints: the state.
        :param s: which joints are which.
        """
        find_wrench(self.wrench, room, k.J, self.external)
        self.find_energy(room, H, k.J, k.velocity, s)
        if not (self.momentum.is_finite() and all(abs(self.external) <= NONE)
                and all(abs(self.wrench) <= NONE) and abs(self.energy) <= NONE):
            self._forget()  # nothing can be learned from an absurd velocity
            return
        self._compare(p, joints, s)
        if self.excess < _ENDED:
            self.touching = 0.0

    def check(self, p: ContactParameters, now: float, y: Result) -> None:
        """
        Accuse what touches the robot, or report it, once for each contact.

        :param p: thresholds.
        :param now: control time, s.
        :param y: gets what was found.
        """
        if p.reaction > 0.0 and not self.touching > 0.0 and self.excess > 1.0:
            self.touching = 1.0
            self._say(p.reaction, now, y)

    def check_return(self, since: float, now: float, y: Result) -> None:
        """
        Accuse what still presses when the robot has gone back for a while: it is caught.

        :param since: control time at which the way back began, s.
        :param now: control time, s.
        :param y: gets what was found.
        """
        if self.touching > 0.0 and self.excess > 1.0 and now - since > _CLEAR:
            self._say(NONE, now, y)

    def _compare(self, p: ContactParameters, joints: Joints, s: Structure) -> None:
        """Find who feels the largest share of its threshold."""
        self.excess, self.joint, self.axis = 0.0, NOBODY, NOBODY
        for i in range(len(self.external)):
            v = abs(joints.qd[place_of(s, i)])
            share = abs(self.external[i]) / max(p.torque[i] + p.torque_speed[i] * v, _TINY)
            if share > self.excess:
                self.excess, self.joint = min(share, NONE), i
        for k in range(6):
            share = abs(self.wrench[k]) / p.wrench[k] if p.wrench[k] > 0.0 else 0.0
            if share > self.excess:
                self.excess, self.joint, self.axis = min(share, NONE), NOBODY, k

    def _say(self, reaction: float, now: float, y: Result) -> None:
        """Keep a contact and report it; whoever reacts hears an accusation."""
        self.count += 1.0
        self.found, self.found_joint, self.found_axis = now, self.joint, self.axis
        self.found_force = math.sqrt(self.wrench[3] * self.wrench[3]
                                     + self.wrench[4] * self.wrench[4]
                                     + self.wrench[5] * self.wrench[5])
        i, k = int(self.joint), int(self.axis)
        word, felt = ObserverWord.TOUCHED, 0.0
        if k != NOBODY:
            word, felt, i = ObserverWord.TOUCHED_ALONG, self.wrench[k], NOBODY
        elif i != NOBODY:
            felt = self.external[i]
        self.found_torque = felt
        about = float(k) if k != NOBODY else abs(felt) / max(self.excess, _TINY)
        if reaction > 1.0:
            accuse(y, Cause.CONTACT, word, i, felt, about, self.found_force)
        else:
            tell(y, word, i, felt, about, self.found_force)

    def find_energy(self, room: ContactRoom, H: Matrix, J: Matrix, velocity: Vector,
                    s: Structure) -> None:
        """
        Find the mass of the frame in the direction of its motion, 1/(u' J H^-1 J' u), and m v^2/2.

        :param room: for a matrix.
        :param H: rows of the inertia matrix of the controlled joints.
        :param J: Jacobian of the frame.
        :param velocity: of the frame, angular part first, in its axes.
        :param s: which joints are which.
        """
        n = len(self.external)
        speed = math.sqrt(velocity[3] * velocity[3] + velocity[4] * velocity[4]
                          + velocity[5] * velocity[5])
        self.speed, self.mass, self.energy = speed if abs(speed) <= NONE else 0.0, 0.0, 0.0
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
            self.mass = 1.0 / mobility
            self.energy = 0.5 * self.mass * speed * speed

    def energy_speed(self, p: ContactParameters) -> float:
        """
        Return the speed at which the frame has the energy that it may have, m/s.

        :param p: its bound.
        """
        if p.energy > 0.0 and self.mass > 0.0:
            speed = math.sqrt(2.0 * p.energy / self.mass)
            if speed <= NONE:
                return speed
        return NONE

    def energy_share(self, p: ContactParameters, J: Matrix, target: Matrix, rate: float) -> float:
        """
        Return the share of its speed that a trajectory of the joints may have for the same.

        :param p: its bound.
        :param J: Jacobian of the frame.
        :param target: position, velocity and acceleration that the trajectory asks for now.
        :param rate: share of its speed that this velocity is.
        """
        most, total = self.energy_speed(p), 0.0
        if not most < NONE:
            return 1.0
        for k in range(3):
            v = 0.0
            for i in range(len(self.external)):
                v += J[3 + k, i] * target[1, i]
            total += v * v
        speed = math.sqrt(total)
        share = rate * most / speed if _REST < speed <= NONE else 1.0
        return share if share < 1.0 else 1.0


def _tanh(a: float) -> float:
    """Return the hyperbolic tangent."""
    e = math.exp(2.0 * min(max(a, -_FLAT), _FLAT))
    return (e - 1.0) / (e + 1.0)


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
