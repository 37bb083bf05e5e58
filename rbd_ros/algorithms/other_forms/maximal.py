# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Between generalised coordinates and engines that keep every body free (Liu and Jain, section 6).

Such an engine knows the velocity v of each centre of mass and the angular velocity w, and takes a
force and a torque on each body, all in base axes; its joints are constraints. Here one becomes the
other: joint rates from the velocities of bodies, and wrenches on bodies from generalised forces.
Arrays have a row per movable body. Numbers in comments are the equations of the tutorial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.other_forms.link_jacobians import (
    link_jacobians, placed_links, point_jacobian)
from rbd_ros.compiler import Array, Matrix, Scalar, Values
from rbd_ros.errors import ModelError, SingularError
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, Vec3

RANK = 1.0e-9


class Recovered(NamedTuple):
    """
    Generalised velocities of moving bodies.

    :param qd: joint velocities, tree coordinates.
    :param residual: what of the given velocities no joint velocity explains, largest entry:
        zero up to rounding where they respect the joints.
    """

    qd: Array
    residual: float


def stacked_jacobian(model: Model, q: Values) -> Array:
    """Return J of all bodies, 6 nb x n: rows of v_1 .. v_nb, then of w_1 .. w_nb (60)."""
    J = np.array(link_jacobians(model, q)[1:], dtype=float).reshape(model.nb, 6, model.tree_nv)
    return np.concatenate([J[:, :3].reshape(-1, model.tree_nv),
                           J[:, 3:].reshape(-1, model.tree_nv)])


def generalised_velocity(model: Model, q: Values, v: ArrayLike, w: ArrayLike) -> Recovered:
    """
    Return qd = (J'J)^-1 J' V, the joint velocities nearest to the motion of the bodies (61).

    :param v: velocities of the centres of mass, (nb, 3), base axes.
    :param w: angular velocities, (nb, 3), base axes.
    :raises SingularError: where some joint velocity moves no body, as at the singular position
        of a ball joint with three angles.
    """
    J = stacked_jacobian(model, q)
    V = np.concatenate([np.ravel(np.asarray(v, dtype=float)), np.ravel(np.asarray(w, float))])
    qd, _, rank, _ = np.linalg.lstsq(J, V, rcond=RANK)
    if rank < model.tree_nv:
        raise SingularError(f'"{model.name}": {model.tree_nv - rank} of {model.tree_nv} joint '
                            'velocities move no body at this position and cannot be found')
    return Recovered(qd, float(np.abs(J @ qd - V).max(initial=0.0)))


def differences(model: Model) -> Array:
    """
    Return D, 3 nb x 3 nb: D w are the angular velocities relative to parents (64).

    Its inverse has a block of ones where a body supports another.
    """
    D = np.eye(model.nb)
    for i in range(1, model.nb + 1):
        if model.parent[i]:
            D[i - 1, model.parent[i] - 1] = -1.0
    return np.kron(D, np.eye(3)).astype(float)


def parent_rotations(model: Model, q: Values) -> Array:
    """Return R, block diagonal, 3 nb x 3 nb: from the axes of each parent to base axes (63)."""
    links = placed_links(model, q)
    R = np.zeros((3 * model.nb, 3 * model.nb))
    for i in range(1, model.nb + 1):
        R[3 * i - 3:3 * i, 3 * i - 3:3 * i] = links[model.parent[i]].R.to_list()
    return R


def relative_angular_velocities(model: Model, q: Values, w: ArrayLike) -> Array:
    """Return w of each body relative to its parent, in the parent's axes: R'D w (65), (nb, 3)."""
    flat = np.ravel(np.asarray(w, dtype=float))
    return (parent_rotations(model, q).T @ differences(model) @ flat).reshape(-1, 3)


def joint_jacobians(model: Model, q: Values) -> list[Array]:
    """Return per body the 3 x n(k) Jacobian of its joint's rotation, in the parent's axes (51)."""
    tree = kinematics.links(model, q)
    out = [np.zeros((3, 0))]
    for i in range(1, model.nb + 1):
        columns = [tree.Xup[i].E.transpose_times(s.ang).to_list() for s in tree.S[i]]
        out.append(np.array(columns, dtype=float).reshape(-1, 3).T)
    return out


def joint_velocities(model: Model, q: Values, v: ArrayLike, w: ArrayLike) -> Recovered:
    """
    Return the joint velocities joint by joint, each from the motion of two bodies (66).

    A joint that only turns has no linear part in S, so that angular velocities alone count;
    one that slides needs both.

    :raises SingularError: where a joint has lost a freedom.
    """
    tree, links = kinematics.links(model, q), placed_links(model, q)
    v, w = (np.asarray(x, dtype=float).reshape(-1, 3).tolist() for x in (v, w))
    X_0, V = kinematics.placements(model, tree), [Motion.zero()]
    qd, residual = np.zeros(model.tree_nv), 0.0
    for i in range(1, model.nb + 1):
        link, spin = links[i], Vec3(*w[i - 1])
        origin = Motion(spin, Vec3(*v[i - 1]) - spin.cross(link.x))     # about the base origin
        V.append(X_0[i] @ origin)
        across = np.array((V[i] - tree.Xup[i] @ V[model.parent[i]]).to_list())
        S = np.array([s.to_list() for s in tree.S[i]], dtype=float).reshape(-1, 6).T
        rates, _, rank, _ = np.linalg.lstsq(S, across, rcond=RANK)
        if rank < S.shape[1]:
            raise SingularError(f'joint "{model.joint_names[i - 1]}" has lost a freedom at this '
                                'position: its velocities cannot be found')
        qd[model.v_index[i]] = rates
        residual = max(residual, float(np.abs(S @ rates - across).max()))
    return Recovered(qd, residual)


# --- forces ---------------------------------------------------------------------------------


def generalised_force(
    model: Model, q: Values, forces: Sequence[tuple[int, Vec3, Vec3]] = (),
    torques: Sequence[tuple[int, Vec3]] = (),
) -> list[Scalar]:
    """
    Return Q = sum J_v' f + J_w' tau of forces and torques on bodies (67).

    :param forces: body, point of application and force, base coordinates. The moment of the
        force about the centre of mass is in it: it must not be among the torques again.
    :param torques: body and torque, base axes.
    """
    n = model.tree_nv
    Q: list[Scalar] = [0.0] * n
    for body, point, force in forces:
        J = point_jacobian(model, q, body, point)
        Q = dense.add(Q, dense.apply(dense.transposed(J[:3], n), [*force]))
    for body, torque in torques:
        J = point_jacobian(model, q, body, Vec3.zero())
        Q = dense.add(Q, dense.apply(dense.transposed(J[3:], n), [*torque]))
    return Q


def body_torques(model: Model, q: Values, tau: ArrayLike) -> Array:
    """
    Return the torque on each body of torques in the joints: D'R tau (68), (nb, 3), base axes.

    Each acts on the body that the joint carries, and its opposite on the parent.

    :param tau: (nb, 3), in the axes of the parents.
    """
    flat = np.ravel(np.asarray(tau, dtype=float))
    return (differences(model).T @ parent_rotations(model, q) @ flat).reshape(-1, 3)


def joint_torques(model: Model, q: Values, Q: ArrayLike) -> Array:
    """
    Return the least torque in each joint that gives Q, in the parent's axes (71), (nb, 3).

    :raises ModelError: for a joint that slides, which takes a force; see ``applied_wrenches``.
    """
    tree, Q = kinematics.links(model, q), np.asarray(Q, dtype=float)
    out = np.zeros((model.nb, 3))
    for i, J in enumerate(joint_jacobians(model, q)[1:], 1):
        if any(x != 0.0 for s in tree.S[i] for x in s.lin):
            raise ModelError(f'joint "{model.joint_names[i - 1]}" slides: no torque does its '
                             'work; use applied_wrenches')
        out[i - 1] = np.linalg.pinv(J.T, rcond=RANK) @ Q[model.v_index[i]]
    return out


def cartesian_forces(
    model: Model, q: Values, Q: ArrayLike, lengths: float = 1.0,
) -> tuple[Array, Array]:
    """
    Return forces at the centres of mass and torques on all bodies that give Q (70), (nb, 3) each.

    The least by norm of all that do; they may spread over every body.

    :param lengths: how many metres weigh as much as one radian: the norm adds N and N m.
    """
    J = stacked_jacobian(model, q)
    weight = np.repeat([1.0, lengths], 3 * model.nb)
    F = weight * (np.linalg.pinv(J.T * weight, rcond=RANK) @ np.asarray(Q, dtype=float))
    return F[:3 * model.nb].reshape(-1, 3), F[3 * model.nb:].reshape(-1, 3)


def applied_wrenches(model: Model, q: Values, Q: Values) -> Matrix:
    """
    Return force and torque on each body, as an engine applies them, that do what Q does.

    Row k is force, then torque about the centre of mass, in base axes. In each joint the least
    wrench that gives its part of Q acts on the body, and its opposite on the parent: torques
    alone where joints only turn. Plain or traced scalars.
    """
    tree, links = kinematics.links(model, q), placed_links(model, q)
    X_0 = kinematics.placements(model, tree)
    total = [Force.zero()] * (model.nb + 1)
    for i in range(1, model.nb + 1):
        S = tree.S[i]
        columns = [s.to_list() for s in S]
        normal = [[dense.dot(a, b) for b in columns] for a in columns]
        solved = dense.eliminate(normal, [[x] for x in Q[model.v_index[i]]])
        f = Force.zero()
        for s, (x,) in zip(columns, solved, strict=True):
            f = f + Force.from_list(s) * x                  # S'f = Q, and f in the range of S
        across = X_0[i].inv_apply(f)
        total[i] = total[i] + across
        total[model.parent[i]] = total[model.parent[i]] - across
    return [[*f.lin, *(f.ang - link.x.cross(f.lin))]
            for f, link in zip(total[1:], links[1:], strict=True)]
