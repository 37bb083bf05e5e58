# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Rigid, frictionless contact (RBDA 11.1 to 11.5): normals, separations, equations of motion.

Plain NumPy: which contacts carry a force is a decision, which no compiled kernel can take. Forces
and motions are six numbers, angular first, in any one coordinate system; inertias are 6 x 6. A
contact normal points from the predecessor to the successor, and so does the force on the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.complementarity import Complementary, solve, Status
from rbd_ros.compiler import Array
from rbd_ros.errors import NonFiniteError, RbdError, ShapeError


class Contact(NamedTuple):
    """
    A point at which two bodies touch.

    :param predecessor: index of the body that the normal comes from; 0 for the base.
    :param successor: index of the body that it points to.
    :param point: where they touch, base coordinates, m.
    :param direction: unit normal, base coordinates.
    :param point_rate: velocity of the point of contact, m/s; None for a vertex of the successor,
        which moves with that body.
    :param direction_rate: rate of the normal, 1/s; None for a flat face of the predecessor, with
        which the normal turns.
    """

    predecessor: int
    successor: int
    point: Sequence[float] | Array
    direction: Sequence[float] | Array
    point_rate: Sequence[float] | Array | None = None
    direction_rate: Sequence[float] | Array | None = None


class ContactProblem(NamedTuple):
    """
    Contact forces as a complementarity problem (RBDA 11.35, 11.42).

    :param M: how separation accelerations answer to contact forces, (n_c, n_c).
    :param d: separation accelerations without contact forces.
    :param free: acceleration without contact forces, of one body (6,) or of all joints (nv,).
    :param response: acceleration per contact force, (6 or nv, n_c).
    """

    M: Array
    d: Array
    free: Array
    response: Array

    def accelerations(self, force: ArrayLike) -> Array:
        """Return the acceleration under given contact forces (RBDA 11.16, 11.33)."""
        return self.free + self.response @ np.asarray(force, float)

    def solve(self) -> ContactSolution:
        """Return forces and accelerations, by Lemke's method."""
        found = solve(self.M, self.d)
        if found.status is Status.NONE:
            raise NoContactSolution(found)
        return ContactSolution(
            found.force, found.separation, self.accelerations(found.force), found.status)


class ContactSolution(NamedTuple):
    """
    Motion under contact.

    :param force: lambda >= 0 along each normal.
    :param separation: separation acceleration of each contact, >= 0.
    :param acceleration: of the body, or of the joints; unique whatever the forces.
    :param status: whether the forces are the only ones.
    """

    force: Array
    separation: Array
    acceleration: Array
    status: Status


class NoContactSolution(RbdError):
    """Contacts that no finite force can keep from closing: the bodies must collide (Ex 11.1)."""

    def __init__(self, found: Complementary) -> None:
        self.proof = found.proof
        which = ', '.join(map(str, np.flatnonzero(found.proof > 0.0)))
        super().__init__(
            f'no contact forces keep contacts {which} from penetrating: their normals cancel, so '
            'only an impulse can; leave a small gap, or treat it as a collision')


# --- one contact, one body ------------------------------------------------------------------


def normal(point: ArrayLike, direction: ArrayLike) -> Array:
    """
    Return a contact normal as a spatial force, n = [p x n; n] (RBDA 11.1).

    :param point: point of contact.
    :param direction: unit vector from predecessor to successor.
    """
    unit = np.asarray(direction, float)
    if unit.shape != (3,) or not abs(unit @ unit - 1.0) < 1e-6:
        raise ShapeError(f'the direction of a contact is {unit}; it must be a unit vector, (3,)')
    return np.concatenate([np.cross(np.asarray(point, float), unit), unit])


def normal_rate(
    point: ArrayLike, direction: ArrayLike, point_rate: ArrayLike,
    direction_rate: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """
    Return the rate of change of a contact normal.

    :param point_rate: velocity of the point of contact, which need not belong to either body.
    :param direction_rate: rate of the unit vector.
    """
    p, unit, p_rate, turn = (np.asarray(x, float) for x in (
        point, direction, point_rate, direction_rate))
    return np.concatenate([np.cross(p_rate, unit) + np.cross(p, turn), turn])


def separation_velocity(n: ArrayLike, v: ArrayLike) -> float:
    """Return zeta, the velocity of the successor relative to the predecessor along n (11.2)."""
    n, v = np.asarray(n, float), np.asarray(v, float)
    return float(n @ v)


def separation_acceleration(
    n: ArrayLike, n_rate: ArrayLike, v: ArrayLike, a: ArrayLike,
) -> float:
    """Return the rate of zeta, with the velocity-product term (11.3)."""
    n, n_rate, v, a = (np.asarray(x, float) for x in (n, n_rate, v, a))
    return float(n @ a + n_rate @ v)


def single_contact(
    inertia: ArrayLike, bias: ArrayLike, n: ArrayLike, n_rate: ArrayLike,
    v: ArrayLike, f: ArrayLike,
) -> ContactSolution:
    """
    Return the motion of one body with one contact, in closed form (RBDA 11.7 to 11.10).

    :param bias: v x* I v of the body, less its weight if that is not part of f.
    :param f: all other forces on the body.
    """
    problem = body_problem(inertia, bias, np.reshape(n, (6, 1)), np.reshape(n_rate, (6, 1)), v, f)
    M, d = float(problem.M[0, 0]), float(problem.d[0])                              # 11.8, 11.9
    if not (0.0 < M < math.inf and math.isfinite(d)):       # max() would make no force of a NaN
        raise NonFiniteError(f'the motion of a contact is {d} without a force and {M} per unit of '
                             'force: numbers are needed, the second one positive')
    force = np.array([max(0.0, -d / M)])                                                  # 11.10
    return ContactSolution(force, np.array([max(0.0, d)]), problem.accelerations(force),
                           Status.UNIQUE)


# --- several contacts -----------------------------------------------------------------------


def body_problem(
    inertia: ArrayLike, bias: ArrayLike, N: ArrayLike, N_rate: ArrayLike,
    v: ArrayLike, f: ArrayLike,
) -> ContactProblem:
    """
    Return the contact problem of one body (RBDA 11.15 to 11.22).

    :param bias: v x* I v of the body.
    :param N: contact normals as columns, (6, n_c).
    :param N_rate: their rates.
    :param v: velocity of the body.
    :param f: all other forces on it.
    """
    N, N_rate = np.asarray(N, float), np.asarray(N_rate, float)
    response = np.linalg.solve(np.asarray(inertia, float), N)
    free = np.linalg.solve(np.asarray(inertia, float), np.subtract(f, bias))
    return ContactProblem(N.T @ response, N.T @ free + N_rate.T @ np.asarray(v, float), free,
                          response)                                                # 11.19, 11.20


def system_problem(
    H: ArrayLike, force: ArrayLike, T: ArrayLike, rate: ArrayLike,
    K: ArrayLike | None = None, k: ArrayLike | None = None,
) -> ContactProblem:
    """
    Return the contact problem of a system of bodies (RBDA 11.31 to 11.36).

    :param H: joint-space inertia matrix.
    :param force: tau - C.
    :param T: generalized normals as columns, (nv, n_c).
    :param rate: velocity-product part of the separation accelerations, T-dot^T qd.
    :param K: for a system with loops, their constraints K qdd = k.
    """
    H, T = np.asarray(H, float), np.asarray(T, float)
    right = np.column_stack([np.asarray(force, float), T])
    if K is None:
        found = np.linalg.solve(H, right)
    else:
        found = _with_loops(H, right, np.asarray(K, float), np.asarray(k, float))
    free, response = found[:, 0], found[:, 1:]
    return ContactProblem(
        T.T @ response, T.T @ free + np.asarray(rate, float), free, response)      # 11.34, 11.35


def _with_loops(H: Array, right: Array, K: Array, k: Array) -> Array:
    """Return accelerations under each column of forces, the loops closed by their own forces."""
    rows = len(K)
    scale = np.linalg.norm(H) / max(float(np.linalg.norm(K)), 1e-300)
    system = np.block([[H, scale * K.T], [scale * K, np.zeros((rows, rows))]])
    closing = np.zeros((rows, right.shape[1]))
    closing[:, 0] = scale * k           # contact forces alone cause no closing acceleration
    return np.linalg.lstsq(system, np.vstack([right, closing]), rcond=1e-11)[0][:len(H)]


def generalized_normals(contacts: Sequence[Contact], J: Array) -> Array:
    """
    Return T, whose columns t = (J_sc - J_pc)^T n make joint forces of contact forces (11.26).

    :param J: Jacobians of all bodies in base coordinates, the base first, (nb + 1, 6, nv).
    """
    columns = [(J[c.successor] - J[c.predecessor]).T @ normal(c.point, c.direction)
               for c in contacts]
    return np.array(columns).reshape(len(contacts), J.shape[2]).T


def velocity_products(contacts: Sequence[Contact], v: Array, a_vp: Array) -> Array:
    """
    Return T-dot^T qd, the separation accelerations without joint accelerations (11.30).

    The book prints one dot too many: t-dot^T qd = n . (a_sc - a_pc) + n-dot . (v_sc - v_pc).

    :param v: velocities of all bodies in base coordinates, the base first, (nb + 1, 6).
    :param a_vp: their accelerations without joint accelerations, and without gravity.
    """
    found = np.zeros(len(contacts))
    for i, c in enumerate(contacts):
        v_s, v_p = v[c.successor], v[c.predecessor]
        point_rate = v_s[3:] + np.cross(v_s[:3], c.point) if c.point_rate is None else c.point_rate
        turn = np.cross(v_p[:3], c.direction) if c.direction_rate is None else c.direction_rate
        n, n_rate = normal(c.point, c.direction), normal_rate(
            c.point, c.direction, point_rate, turn)
        found[i] = separation_acceleration(
            n, n_rate, v_s - v_p, a_vp[c.successor] - a_vp[c.predecessor])
    return found


# --- an inequality constraint ---------------------------------------------------------------


class Phase(Enum):
    """What an inequality constraint phi(q) >= 0 does (RBDA 11.4)."""

    INACTIVE = 'inactive'       # phi > 0: no effect
    COLLISION = 'collision'     # phi = 0, closing: an impulse, one instant
    DEPARTURE = 'departure'     # phi = 0, opening: no effect, one instant
    CONTACT = 'contact'         # phi = 0 and stays: a force if needed
    VIOLATED = 'violated'       # phi < 0: no state of rigid bodies


def phase(
    phi: float, rate: float, *, distance_tolerance: float = 1e-9, speed_tolerance: float = 1e-9,
) -> Phase:
    """
    Return the state of an inequality constraint (RBDA 11.4, Figure 11.4).

    :param phi: its value.
    :param rate: phi-dot = t . qd.
    :param distance_tolerance: below which phi counts as zero.
    :param speed_tolerance: below which phi-dot counts as zero.
    """
    if math.isnan(phi) or math.isnan(rate):
        raise NonFiniteError(f'phi is {phi} and its rate {rate}; numbers are needed')
    if phi < -distance_tolerance:
        return Phase.VIOLATED
    if phi > distance_tolerance:
        return Phase.INACTIVE
    if rate < -speed_tolerance:
        return Phase.COLLISION
    return Phase.DEPARTURE if rate > speed_tolerance else Phase.CONTACT


def after(state: Phase, *, acceleration: float = 0.0, restitution: float = 0.0) -> Phase:
    """
    Return the state that follows (RBDA Figure 11.4).

    :param acceleration: phi-dot-dot of a constraint in contact, after forces.
    :param restitution: of a collision.
    """
    if state is Phase.COLLISION:
        return Phase.DEPARTURE if restitution > 0.0 else Phase.CONTACT
    if state is Phase.DEPARTURE:
        return Phase.INACTIVE
    if state is Phase.CONTACT:
        return Phase.INACTIVE if acceleration > 0.0 else Phase.CONTACT
    return state
