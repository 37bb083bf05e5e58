# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Impulses and impacts (RBDA 11.7): velocities change at once, positions do not.

An impulse is the integral of a force over an instant; no velocity-product term survives it. The
equations are exact for rigid bodies. Real chains of bodies carry an impact on through their joints
with delay and losses: take results for them as a model, not as the truth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.linear.complementarity import solve, Status
from rbd_ros.compiler import Array
from rbd_ros.errors import RbdError, SettingError

#: Approach speed, m/s, below which an impact does not bounce: contact is reached in finite time.
REST_SPEED = 1e-3

#: Impacts one after the other, times the number of contacts, before the rest is done at once.
MOST = 100


class Collision(NamedTuple):
    """
    A collision of two bodies.

    :param v_1: velocity of the predecessor afterwards.
    :param v_2: velocity of the successor afterwards.
    :param impulse: lambda: along the normal; with friction along two tangents and the normal.
    """

    v_1: Array
    v_2: Array
    impulse: Array


class JointImpact(NamedTuple):
    """
    An impact on a system of bodies.

    :param qd: joint velocities afterwards.
    :param impulse: lambda >= 0 along each normal.
    :param status: whether these impulses are the only ones; the velocities are.
    """

    qd: Array
    impulse: Array
    status: Status


# --- impulsive equations of motion ----------------------------------------------------------


def velocity_change(inertia: ArrayLike, impulse: ArrayLike) -> Array:
    """
    Return the velocity step of a rigid body, or of a handle, under an impulse (11.55, 11.56).

    :param inertia: spatial inertia, or the articulated-body inertia of the handle, 6 x 6.
    :param impulse: six numbers, moment first.
    """
    return np.linalg.solve(np.asarray(inertia, float), np.asarray(impulse, float))


def body_impulse(inertia: ArrayLike, change: ArrayLike) -> Array:
    """Return the impulse that changes the velocity of a body or of a handle (11.55, 11.56)."""
    return np.asarray(inertia, float) @ np.asarray(change, float)


def joint_velocity_change(H: ArrayLike, impulse: ArrayLike) -> Array:
    """Return the step of qd under a generalized impulse u = H (step of qd) (11.57)."""
    return np.linalg.solve(np.asarray(H, float), np.asarray(impulse, float))


def generalized_impulse(J: ArrayLike, impulse: ArrayLike) -> Array:
    """Return the generalized impulse of one on a body, u = J^T iota (11.58)."""
    return np.asarray(J, float).T @ np.asarray(impulse, float)


# --- two bodies -----------------------------------------------------------------------------


def collide(
    inverse_1: ArrayLike, inverse_2: ArrayLike, n: ArrayLike, v_1: ArrayLike,
    v_2: ArrayLike, restitution: float,
) -> Collision:
    """
    Return the velocities after a collision without friction (RBDA 11.60 to 11.65).

    :param inverse_1: inverse inertia of the predecessor, 6 x 6; zero for one that cannot move.
    :param inverse_2: of the successor.
    :param n: contact normal, a spatial force from predecessor to successor.
    :param restitution: separation speed over approach speed, 0 to 1.
    :returns: the velocities as they are where the bodies do not approach.
    """
    _check(restitution)
    inverse_1, inverse_2 = np.asarray(inverse_1, float), np.asarray(inverse_2, float)
    n, v_1, v_2 = (np.asarray(x, float) for x in (n, v_1, v_2))
    zeta = float(n @ (v_2 - v_1))
    if zeta >= 0.0:
        return Collision(v_1, v_2, np.zeros(1))
    compliance = float(n @ (inverse_1 + inverse_2) @ n)
    if not compliance > 0.0:
        raise RbdError('neither body can move along the normal, so no impulse parts them: '
                       'their inverse inertias along it are zero')
    size = -(1.0 + restitution) * zeta / compliance                                      # 11.65
    return Collision(v_1 - inverse_1 @ n * size, v_2 + inverse_2 @ n * size, np.array([size]))


def collide_sticking(
    inverse_1: ArrayLike, inverse_2: ArrayLike, N: ArrayLike, v_1: ArrayLike,
    v_2: ArrayLike, restitution: float,
) -> Collision:
    """
    Return the velocities after a collision with friction that stops all sliding (11.66 to 11.72).

    The assumption needs a coefficient of friction of at least :func:`needed_friction`; with less
    the bodies slide, which the book does not solve. With restitution, energy may grow: a known
    flaw of Newton's rule with friction, not of the arithmetic.

    :param N: lines of action through the point of contact: tangents, then the normal, (6, 3), or
        (6, 2) for a plane system.
    """
    _check(restitution)
    inverse_1, inverse_2 = np.asarray(inverse_1, float), np.asarray(inverse_2, float)
    N, v_1, v_2 = (np.asarray(x, float) for x in (N, v_1, v_2))
    zeta = N.T @ (v_2 - v_1)                                                             # 11.69
    if zeta[-1] >= 0.0:
        return Collision(v_1, v_2, np.zeros(N.shape[1]))
    E = np.zeros(N.shape[1])
    E[-1] = restitution                                                                  # 11.70
    impulse = -np.linalg.solve(N.T @ (inverse_1 + inverse_2) @ N, (1.0 + E) * zeta)      # 11.72
    return Collision(v_1 - inverse_1 @ N @ impulse, v_2 + inverse_2 @ N @ impulse, impulse)


def needed_friction(impulse: ArrayLike) -> float:
    """
    Return the least coefficient of friction that an impulse of a sticking collision needs.

    :param impulse: tangential components, then the normal one.
    :returns: infinity where the normal component is not a push.
    """
    *tangential, normal = np.asarray(impulse, float).tolist()
    return float(np.linalg.norm(tangential)) / normal if normal > 0.0 else float('inf')


# --- systems of bodies ----------------------------------------------------------------------


def joint_impact(
    H: ArrayLike, T: ArrayLike, qd: ArrayLike, restitution: ArrayLike, *,
    rest_speed: float = REST_SPEED,
) -> JointImpact:
    """
    Return joint velocities after impacts at one or several contacts at once.

    For one contact this is lambda = -(1 + e) t . qd / (t . H^-1 t): 11.57 with the rule of 11.62.
    For several, which the book leaves open, it is the complementarity problem of contact on
    velocities: each separation speed ends at -e times the approach speed or above, with an
    impulse only where it would be below.

    :param H: joint-space inertia matrix.
    :param T: generalized normals as columns, (nv, n_c).
    :param qd: joint velocities before.
    :param restitution: of all contacts, or of each.
    :param rest_speed: approach speed below which a contact does not bounce, m/s.
    """
    H, T, qd = (np.asarray(x, float) for x in (H, T, qd))
    zeta = T.T @ qd
    e = np.broadcast_to(np.asarray(restitution, float), zeta.shape)
    for each in e.tolist():
        _check(each)
    e = np.where(zeta > -rest_speed, 0.0, e)
    response = np.linalg.solve(H, T)
    # zeta after >= -e zeta before; contacts that part already have no such aim but to stay open
    found = solve(T.T @ response, zeta + e * np.minimum(zeta, 0.0))
    if found.status is Status.NONE:
        raise RbdError('no impulses keep the contacts from penetrating: their normals cancel and '
                       'the bodies are pressed together from both sides')
    return JointImpact(qd + response @ found.force, found.force, found.status)


def sequential_impact(
    H: ArrayLike, T: ArrayLike, qd: ArrayLike, restitution: ArrayLike, *,
    rest_speed: float = REST_SPEED, most: int = MOST,
) -> JointImpact:
    """
    Return joint velocities after impacts that follow each other, the fastest approach first.

    An impact takes time to cross a body, so that touching bodies pass it on one after the other:
    the first of a row of equal balls stops, and the last one leaves. Each impact is one of two
    bodies, so that the energy never grows, and stays for restitution 1. Where more than ``most``
    impacts follow, as in a row that comes to rest together, the rest is done at once, without
    restitution.

    :param H: joint-space inertia matrix; the others as for :func:`joint_impact`.
    :param most: impacts one after the other, times the number of contacts.
    """
    H, T, qd = (np.asarray(x, float) for x in (H, T, qd))
    e = np.broadcast_to(np.asarray(restitution, float), T.shape[1:])
    for each in e.tolist():
        _check(each)
    response = np.linalg.solve(H, T)
    compliance = np.einsum('ij,ij->j', T, response)
    impulse = np.zeros(T.shape[1])
    for _ in range(most * impulse.size):
        zeta = T.T @ qd
        k = int(np.argmin(zeta))
        if zeta[k] >= -rest_speed:
            break
        size = -(1.0 + e[k]) * zeta[k] / compliance[k]                                   # 11.65
        impulse[k] += size
        qd = qd + response[:, k] * size
    last = joint_impact(H, T, qd, 0.0, rest_speed=rest_speed)
    return JointImpact(last.qd, impulse + last.impulse, last.status)


def _check(restitution: float) -> None:
    if not 0.0 <= restitution <= 1.0:
        raise SettingError(f'restitution is {restitution}; it must be between 0 and 1')
