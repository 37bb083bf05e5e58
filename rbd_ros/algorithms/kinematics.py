# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Motion of a kinematic tree: link transforms, velocities, accelerations, Jacobians (RBDA 2, 4).

Every function works on the *tree* coordinates of a model, over generic scalars (plain floats or
traced ones), in the coordinates of each body. Lists are indexed by body; entry 0 is the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rbd_ros.compiler import Scalar, Values
from rbd_ros.model.model import Frame, Model
from rbd_ros.spatial import Force, link_transform, Motion, RigidInertia, Transform, Vec3

Vector = TypeVar('Vector', Motion, Force)


class Conditions(NamedTuple):
    """
    What acts on a tree besides its joint forces.

    :param gravity: acceleration of free fall, base coordinates.
    :param f_ext: force of the environment on each body, base coordinates, or None for none at all.
    :param inertia: inertia of each body, where it is not the one of the model (a payload).
    :param t: time, for joints that depend on it.
    """

    gravity: Vec3
    f_ext: Sequence[Force | None] | None = None
    inertia: Sequence[RigidInertia] | None = None
    t: Scalar = 0.0


class Links(NamedTuple):
    """The part that depends on position: ``Xup[i]`` is i_X_parent, ``S[i]`` the columns of S."""

    Xup: list[Transform]
    S: list[tuple[Motion, ...]]


def links(model: Model, q: Values, t: Scalar = 0.0) -> Links:
    """Return the link transforms and motion subspaces at tree position ``q`` (RBDA 4.2)."""
    Xup: list[Transform] = [Transform.identity()]
    S: list[tuple[Motion, ...]] = [()]
    for i in range(1, model.nb + 1):
        q_i = q[model.q_index[i]]
        joint = model.joint[i]
        Xup.append(link_transform(joint.transform(q_i, t), model.X_T[i]))
        S.append(joint.subspace(q_i, t))
    return Links(Xup, S)


def combine(start: Vector, columns: Sequence[Vector], weights: Values) -> Vector:
    """Return a spatial vector plus a linear combination of others of its kind."""
    for column, weight in zip(columns, weights, strict=True):
        start = start + column * weight
    return start


def velocities(
    model: Model, tree: Links, q: Values, qd: Values, t: Scalar = 0.0,
) -> tuple[list[Motion], list[Motion]]:
    """Return the body velocities v and the joint velocities v_J, each in body coordinates."""
    v, v_J = [Motion.zero()], [Motion.zero()]
    for i in range(1, model.nb + 1):
        v_J.append(model.joint[i].velocity(q[model.q_index[i]], qd[model.v_index[i]], t))
        v.append(tree.Xup[i] @ v[model.parent[i]] + v_J[i])                               # 5.18
    return v, v_J


def velocity_products(
    model: Model, q: Values, qd: Values, v: Sequence[Motion],
    v_J: Sequence[Motion], t: Scalar = 0.0,
) -> list[Motion]:
    """Return the joint velocity-product accelerations c_i = c_J + v_i x v_J (7.35)."""
    c = [Motion.zero()]
    for i in range(1, model.nb + 1):
        c_J = model.joint[i].bias(q[model.q_index[i]], qd[model.v_index[i]], t)
        c.append(c_J + v[i].cross(v_J[i]))
    return c


def accelerations(
    model: Model, tree: Links, c: Sequence[Motion], qdd: Values | None, base: Motion,
) -> list[Motion]:
    """
    Return the body accelerations; with ``qdd`` None, their velocity-product part alone.

    :param base: acceleration of the base; minus gravity there adds gravity to every body.
    """
    a = [base]
    for i in range(1, model.nb + 1):
        a_i = tree.Xup[i] @ a[model.parent[i]] + c[i]
        if qdd is not None:
            a_i = combine(a_i, tree.S[i], qdd[model.v_index[i]])                           # 5.19
        a.append(a_i)
    return a


def placements(model: Model, tree: Links) -> list[Transform]:
    """Return i_X_0 of every body (RBDA example 4.3)."""
    X_0 = [Transform.identity()]
    for i in range(1, model.nb + 1):
        X_0.append(tree.Xup[i] @ X_0[model.parent[i]])
    return X_0


def external_forces(
    model: Model, tree: Links, f_ext: Sequence[Force | None] | None,
) -> list[Force]:
    """
    Return the force of the environment on every body in body coordinates (5.20).

    :param f_ext: the same in base coordinates; None for none, on one body or on all.
    """
    if f_ext is None:
        return [Force.zero()] * (model.nb + 1)
    X_0 = placements(model, tree)
    return [Force.zero() if f is None else X @ f for X, f in zip(X_0, f_ext, strict=True)]


def base_velocities(
    model: Model, X_0: Sequence[Transform], v_J: Sequence[Motion],
) -> list[Motion]:
    """
    Return the velocity of every body in base coordinates (RBDA example 4.4).

    :param X_0: i_X_0 of every body.
    :param v_J: the joint velocities in body coordinates.
    """
    v = [Motion.zero()]
    for i in range(1, model.nb + 1):
        v.append(v[model.parent[i]] + X_0[i].inv_apply(v_J[i]))
    return v


def jacobian(model: Model, tree: Links, frame: Frame) -> list[Motion]:
    """
    Return the columns of the frame's Jacobian, in the coordinates of the frame itself (RBDA 4.5).

    Column j is f_X_j S_j where joint j supports the frame's body, and exactly zero elsewhere.
    """
    columns = [Motion.zero()] * model.tree_nv
    X, i = frame.placement, frame.body
    while i != 0:
        columns[model.v_index[i]] = [X @ s for s in tree.S[i]]
        if model.parent[i] != 0:
            X = X @ tree.Xup[i]
        i = model.parent[i]
    return columns


def pose(model: Model, tree: Links, frame: Frame) -> Transform:
    """Return f_X_0, the transform from base to frame coordinates."""
    X, i = frame.placement, frame.body
    while i != 0:
        X = X @ tree.Xup[i]
        i = model.parent[i]
    return X
