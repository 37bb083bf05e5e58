# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Regressors: the dynamics are linear in the inertia parameters of the bodies.

Each body has ten, in the order of ``PARAMETERS``: its mass, its first moment and its rotational
inertia about the origin of its frame, all in its own coordinates. Inverse dynamics is
tau = Y(q, qd, qdd) pi, kinetic and potential energy and momentum are likewise linear in pi.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.algorithms.kinematics import (
    accelerations, Links, placements, velocities, velocity_products)
from rbd_ros.compiler import Matrix, Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, RigidInertia, Sym3, Vec3

#: Names of the ten parameters of a body.
PARAMETERS = ('m', 'hx', 'hy', 'hz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')


def inertia_parameters(inertia: RigidInertia) -> list[Scalar]:
    """Return the ten parameters of a body."""
    return [inertia.m, *inertia.h, *inertia.I.entries()]


def inertia_from_parameters(x: Values) -> RigidInertia:
    """Return the body with these ten parameters."""
    return RigidInertia(x[0], Vec3(*x[1:4]), Sym3(*x[4:10]))


def body_regressor(v: Motion, a: Motion) -> list[Force]:
    """
    Return the net force on a body per unit of each parameter: I a + v x* I v (5.9).

    :param v: velocity of the body, in its coordinates.
    :param a: acceleration, likewise.
    """
    w, wd = v.ang, a.ang
    g = a.lin + w.cross(v.lin)              # what a particle at the origin accelerates with (2.48)
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    zero = Vec3.zero()
    return [
        Force(zero, g),
        Force(Vec3(0.0, -g.z, g.y), Vec3(-(yy + zz), xy + wd.z, xz - wd.y)),
        Force(Vec3(g.z, 0.0, -g.x), Vec3(xy - wd.z, -(xx + zz), yz + wd.x)),
        Force(Vec3(-g.y, g.x, 0.0), Vec3(xz + wd.y, yz - wd.x, -(xx + yy))),
        Force(Vec3(wd.x, xz, -xy), zero),
        Force(Vec3(wd.y - xz, wd.x + yz, xx - yy), zero),
        Force(Vec3(wd.z + xy, zz - xx, wd.x - yz), zero),
        Force(Vec3(-yz, wd.y, xy), zero),
        Force(Vec3(yy - zz, wd.z - xy, wd.y + xz), zero),
        Force(Vec3(yz, -xz, wd.z), zero)]


def torque_regressor(
    model: Model, tree: Links, q: Values, qd: Values,
    qdd: Values | None, gravity: Vec3, t: Scalar = 0.0,
) -> Matrix:
    """
    Return Y with tau = Y pi for the forces at the joints of a tree, tree_nv x 10 nb.

    A body is felt by the joints that support it and by no other: those entries are exact zeros.

    :param qdd: joint accelerations; None for zero.
    """
    model.refuse_loops()
    v, v_J = velocities(model, tree, q, qd, t)
    c = velocity_products(model, q, qd, v, v_J, t)
    a = accelerations(model, tree, c, qdd, Motion(Vec3.zero(), -gravity))
    Y: Matrix = [[0.0] * (10 * model.nb) for _ in range(model.tree_nv)]
    for i in range(1, model.nb + 1):
        F = body_regressor(v[i], a[i])
        j = i
        while True:
            for row, s in enumerate(tree.S[j], model.v_index[j].start):
                Y[row][10 * (i - 1):10 * i] = [s.dot(f) for f in F]
            if model.parent[j] == 0:
                break
            F = [tree.Xup[j].inv_apply(f) for f in F]                                      # 5.20
            j = model.parent[j]
    return Y


def energy_regressor(
    model: Model, tree: Links, v: Sequence[Motion], gravity: Vec3,
) -> tuple[list[Scalar], list[Scalar]]:
    """
    Return the rows of kinetic and potential energy, 10 nb each.

    :param v: velocity of each body.
    """
    kinetic: list[Scalar] = []
    potential: list[Scalar] = []
    X_0 = placements(model, tree)
    for i in range(1, model.nb + 1):
        w, u = v[i].ang, v[i].lin
        side = u.cross(w)                   # m c . (v x w) is the mixed term of 2.67
        kinetic += [0.5 * u.dot(u), *side, 0.5 * w.x * w.x, w.x * w.y, w.x * w.z,
                    0.5 * w.y * w.y, w.y * w.z, 0.5 * w.z * w.z]
        fall = X_0[i].turn(gravity)
        potential += [-gravity.dot(X_0[i].r), *(-fall), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    return kinetic, potential


def momentum_regressor(model: Model, tree: Links, v: Sequence[Motion]) -> Matrix:
    """
    Return the momentum about the base origin per parameter, base coordinates, 6 x 10 nb.

    :param v: velocity of each body.
    """
    X_0 = placements(model, tree)
    columns: Matrix = []
    for i in range(1, model.nb + 1):
        for k in range(10):
            unit = inertia_from_parameters([1.0 if n == k else 0.0 for n in range(10)])
            columns.append(X_0[i].inv_apply(unit @ v[i]).to_list())
    return [list(row) for row in zip(*columns, strict=True)]
