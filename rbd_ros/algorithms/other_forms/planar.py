# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Mechanisms that move in one plane, in planar vectors (RBDA 2.16): RNEA and CRBA.

All revolute axes are parallel and all prismatic ones lie across them. Each body gets a frame with
its z axis along that normal, turned so that the joints' fixed transforms have no rotation. What
the tracer finds by itself where the normal is a coordinate axis, this finds for any normal: other
frames hide the plane behind rotations that fill every matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.compiler import cos, Matrix, Scalar, sin, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.model.model import Model
from rbd_ros.spatial import Mat3, RigidInertia, Vec3
from rbd_ros.spatial.planar import PlanarForce, PlanarInertia, PlanarMotion, PlanarTransform

#: Sines of angles up to this, rad, are rounding of a description.
_ROUNDING = 2e-11


class Plane(NamedTuple):
    """
    A mechanism in its plane, indexed by body.

    :param axes: from body coordinates at q = 0 to two axes in the plane and its normal; for the
        base, from base coordinates.
    :param r: origin of each body in the plane frame of its parent, at q = 0.
    :param S: motion of the joint for unit velocity.
    """

    axes: list[Mat3]
    r: list[tuple[float, float]]
    S: list[PlanarMotion]


def find_plane(model: Model) -> Plane | None:
    """Return the plane in which a model moves, None if it has none."""
    E, axis = [Mat3.identity()], [Vec3.zero()]
    normal: Vec3 | None = None
    for i in range(1, model.nb + 1):
        joint = model.joint[i]
        if type(joint) is not Revolute and type(joint) is not Prismatic:
            return None
        E.append(model.X_T[i].E @ E[model.parent[i]])
        axis.append(E[i].T @ Vec3(*joint.axis))
        if type(joint) is Revolute:
            normal = axis[i] if normal is None else normal
            if _size(normal.cross(axis[i])) > _ROUNDING:
                return None
    if normal is None:
        return None
    base = _axes_about(normal)
    axes, r, S = [base], [(0.0, 0.0)], [PlanarMotion(0.0, 0.0, 0.0)]
    for i in range(1, model.nb + 1):
        x, y, z = base @ axis[i]
        turns = type(model.joint[i]) is Revolute
        if not turns and abs(float(z)) > _ROUNDING:
            return None
        axes.append(base @ E[i].T)
        place = axes[model.parent[i]] @ model.X_T[i].r
        r.append((float(place.x), float(place.y)))
        S.append(PlanarMotion(math.copysign(1.0, float(z)), 0.0, 0.0) if turns
                 else PlanarMotion(0.0, x, y))
    return Plane(axes, r, S)


def is_planar(model: Model) -> bool:
    """Return whether all of a model moves in one plane."""
    return find_plane(model) is not None


def _plane(model: Model) -> Plane:
    model.refuse_loops()
    plane = find_plane(model)
    if plane is None:
        raise ModelError(f'"{model.name}" does not move in one plane: its revolute axes must be '
                         'parallel, and its prismatic ones across them')
    return plane


def _axes_about(normal: Vec3) -> Mat3:
    """Return two axes across a unit vector and itself, as rows; coordinate axes if it is one."""
    n = [float(x) for x in normal]
    k = min(range(3), key=lambda i: abs(n[i]))
    across = Vec3(*(1.0 if i == k else 0.0 for i in range(3))) - normal * n[k]
    e1 = across * (1.0 / _size(across))
    e2 = normal.cross(e1)
    return Mat3((tuple(e1), tuple(e2), tuple(normal)))


def _size(v: Vec3) -> float:
    return math.sqrt(float(v.dot(v)))


def _links(model: Model, plane: Plane, q: Values) -> list[PlanarTransform]:
    """Return i_X_parent of every body at tree position q."""
    X = [PlanarTransform(1.0, 0.0, 0.0, 0.0)]
    for i in range(1, model.nb + 1):
        (x, y), S, q_i = plane.r[i], plane.S[i], q[model.q_index[i].start]
        if type(model.joint[i]) is Revolute:
            X.append(PlanarTransform(cos(q_i), S.ang * sin(q_i), x, y))
        else:
            X.append(PlanarTransform(1.0, 0.0, x + S.x * q_i, y + S.y * q_i))
    return X


def _inertias(
    model: Model, plane: Plane, inertia: Sequence[RigidInertia] | None,
) -> list[PlanarInertia]:
    """Return what the plane sees of each body: mass, first moment in it, inertia about n."""
    out = []
    for body, axes in zip(inertia or model.inertia, plane.axes, strict=True):
        h, n = axes @ body.h, Vec3(*axes.rows[2])
        out.append(PlanarInertia(body.m, h.x, h.y, n.dot(body.I @ n)))
    return out


def rnea(
    model: Model, q: Values, qd: Values | None, qdd: Values | None, conditions: Conditions,
) -> list[Scalar]:
    """
    Return tau by the recursive Newton-Euler algorithm in planar vectors (RBDA Table 5.1, 2.16).

    :param qd: tree velocities; None for zero.
    :param qdd: tree accelerations; None for zero.
    """
    plane = _plane(model)
    X, I = _links(model, plane, q), _inertias(model, plane, conditions.inertia)
    f_x = _external_forces(model, plane, X, conditions)
    g, zero = plane.axes[0] @ conditions.gravity, PlanarMotion(0.0, 0.0, 0.0)
    v, a, f = [zero], [PlanarMotion(0.0, -g.x, -g.y)], [PlanarForce(0.0, 0.0, 0.0)]
    for i in range(1, model.nb + 1):                       # outward: motion, and force it takes
        p, S, k = model.parent[i], plane.S[i], model.v_index[i].start
        v_J = zero if qd is None else S * qd[k]                                            # 5.16
        v.append(X[i] @ v[p] + v_J)                                                        # 5.18
        a_i = X[i] @ a[p] + v[i].cross(v_J)
        a.append(a_i if qdd is None else a_i + S * qdd[k])                                 # 5.19
        f.append(I[i] @ a[i] + v[i].cross(I[i] @ v[i]) - f_x[i])                      # 5.9, 5.20
    tau: list[Scalar] = [0.0] * model.tree_nv
    for i in range(model.nb, 0, -1):                       # inward: project, hand to the parent
        tau[model.v_index[i].start] = plane.S[i].dot(f[i])                                 # 5.11
        p = model.parent[i]
        if p != 0:
            f[p] = f[p] + X[i].inv_apply(f[i])                                             # 5.20
    return tau


def _external_forces(
    model: Model, plane: Plane, X: Sequence[PlanarTransform], conditions: Conditions,
) -> list[PlanarForce]:
    """Return the force of the environment on every body in its plane frame."""
    forces = [PlanarForce(0.0, 0.0, 0.0)] * (model.nb + 1)
    if conditions.f_ext is None:
        return forces
    X_0, base = [X[0]], plane.axes[0]
    for i in range(1, model.nb + 1):
        X_0.append(X[i] @ X_0[model.parent[i]])
        given = conditions.f_ext[i]
        if given is not None:
            moment, force = base @ given.ang, base @ given.lin
            forces[i] = X_0[i] @ PlanarForce(moment.z, force.x, force.y)
    return forces


def crba(model: Model, q: Values, inertia: Sequence[RigidInertia] | None = None) -> Matrix:
    """Return H by composite rigid bodies in planar vectors (RBDA Table 6.2, 2.16)."""
    plane = _plane(model)
    X, I_c = _links(model, plane, q), _inertias(model, plane, inertia)
    H: Matrix = [[0.0] * model.tree_nv for _ in range(model.tree_nv)]
    for i in range(model.nb, 0, -1):
        p, k = model.parent[i], model.v_index[i].start
        if p != 0:
            I_c[p] = I_c[p] + X[i].inv_apply(I_c[i])                                       # 6.17
        F, j = I_c[i] @ plane.S[i], i
        H[k][k] = plane.S[i].dot(F)                                                        # 6.18
        while model.parent[j] != 0:
            F = X[j].inv_apply(F)                                                          # 6.19
            j = model.parent[j]
            m = model.v_index[j].start
            H[k][m] = H[m][k] = plane.S[j].dot(F)                                          # 6.20
    return H
