# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Equations of motion from link Jacobians (Liu and Jain, sections 3 to 5).

Every link is described by its centre of mass and in base axes, linear part first: V = (v; w),
F = (f; tau). These are the coordinates of engines that keep all six coordinates of every body.
The functions take plain and traced scalars and every joint type; lists are indexed by body, with
an entry 0 for the base. Numbers in comments are the equations of the tutorial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import Graph, jvp, Matrix, Scalar, trace, Values
from rbd_ros.model.model import Model
from rbd_ros.spatial import Mat3, Motion, Sym3, Transform, Vec3


class Link(NamedTuple):
    """
    Where a link is: in base axes.

    :param x: centre of mass.
    :param R: from link to base components.
    :param m: mass.
    :param I_c: inertia about the centre of mass, R I_0 R^T.
    """

    x: Vec3
    R: Mat3
    m: Scalar
    I_c: Sym3


class LinkMotion(NamedTuple):
    """Velocity and angular velocity of a link, or their rates: of its centre, in base axes."""

    v: Vec3
    w: Vec3


def centre(model: Model, i: int) -> tuple[Scalar, Vec3, Sym3]:
    """Return mass, centre and inertia about it of a body, in its own frame."""
    body = model.inertia[i]
    if body.m == 0.0:
        return 0.0, Vec3.zero(), body.I
    return body.com_form()


def world_inertia(R: Mat3, I_0: Sym3) -> Sym3:
    """Return I_c = R I_0 R^T, the inertia in base axes."""
    return Sym3.from_matrix((R @ I_0.full() @ R.T).to_list())


def placed_links(model: Model, q: Values) -> list[Link]:
    """Return where every link is."""
    X_0 = kinematics.placements(model, kinematics.links(model, q))
    out = []
    for i, X in enumerate(X_0):
        m, c, I_0 = centre(model, i)
        R = X.E.T
        out.append(Link(X.inv_point(c), R, m, world_inertia(R, I_0)))
    return out


def _axes(model: Model, q: Values) -> tuple[list[Transform], list[Motion]]:
    """Return i_X_0 of every body, and the columns of S of every joint in base coordinates."""
    tree = kinematics.links(model, q)
    X_0 = kinematics.placements(model, tree)
    return X_0, [X_0[i].inv_apply(s) for i in range(1, model.nb + 1) for s in tree.S[i]]


def point_jacobian(model: Model, q: Values, body: int, point: Vec3) -> Matrix:
    """
    Return the 6 x n Jacobian (J_v; J_w) of a point of a body, zero off its path (51, 57, 58).

    :param point: in base coordinates, where the point is now.
    """
    _, axes = _axes(model, q)
    return _columns(model, axes, body, point)


def _columns(model: Model, axes: Sequence[Motion], body: int, point: Vec3) -> Matrix:
    J = dense.zeros(6, model.tree_nv)
    for joint in model.support[body]:
        place = model.v_index[joint]
        for k in range(place.start, place.stop):
            s = axes[k]
            for row, x in enumerate([*(s.lin + s.ang.cross(point)), *s.ang]):
                J[row][k] = x
    return J


def link_jacobians(model: Model, q: Values) -> list[Matrix]:
    """Return J_k of every link, 6 x n: V_k = J_k qd (28 to 31, 51, 57, 58)."""
    X_0, axes = _axes(model, q)
    return [_columns(model, axes, i, X_0[i].inv_point(centre(model, i)[1]))
            for i in range(model.nb + 1)]


def link_jacobian_rates(model: Model) -> Graph:
    """
    Return dJ/dt of all links as a graph of q and qd, shape (links, 6, n), by differentiation.

    Exact for every joint type; q moves as the joints say it does at velocity qd.
    """
    n = model.tree_nv
    J = trace(lambda q: {'J': link_jacobians(model, q)[1:]}, {'q': model.tree_nq}, name='links')
    rate = jvp(J, 'J', 'q')

    def rates(q: Values, qd: Values) -> dict[str, list[Any]]:
        values = rate.evaluate(q, position_rates(model, q, qd))
        rows = [values[k:k + n] for k in range(0, len(values), n)]
        return {'Jd': [rows[k:k + 6] for k in range(0, len(rows), 6)]}
    return trace(rates, {'q': model.tree_nq, 'qd': n}, name='link_jacobian_rates')


def position_rates(model: Model, q: Values, qd: Values) -> list[Scalar]:
    """Return dq/dt of the tree coordinates."""
    return [rate for i in range(1, model.nb + 1)
            for rate in model.joint[i].q_dot(q[model.q_index[i]], qd[model.v_index[i]])]


def link_velocities(model: Model, q: Values, qd: Values) -> list[LinkMotion]:
    """Return v and w of every link by the recursion w_k = w_p + R0_p w_J (49, 50)."""
    tree = kinematics.links(model, q)
    X_0 = kinematics.placements(model, tree)
    _, v_J = kinematics.velocities(model, tree, q, qd)
    out = []
    for i, V in enumerate(kinematics.base_velocities(model, X_0, v_J)):
        x = X_0[i].inv_point(centre(model, i)[1])
        out.append(LinkMotion(V.lin + V.ang.cross(x), V.ang))
    return out


def link_accelerations(
    model: Model, q: Values, qd: Values, qdd: Values | None = None,
) -> list[LinkMotion]:
    """Return the classical acceleration of each centre and dw/dt: J qdd + dJ/dt qd, no gravity."""
    tree = kinematics.links(model, q)
    X_0 = kinematics.placements(model, tree)
    V, v_J = kinematics.velocities(model, tree, q, qd)
    c = kinematics.velocity_products(model, q, qd, V, v_J)
    out = []
    for i, a in enumerate(kinematics.accelerations(model, tree, c, qdd, Motion.zero())):
        com, w = centre(model, i)[1], V[i].ang
        v = V[i].lin + w.cross(com)
        classical = a.lin + a.ang.cross(com) + w.cross(v)                 # of the centre of mass
        out.append(LinkMotion(X_0[i].E.transpose_times(classical),
                              X_0[i].E.transpose_times(a.ang)))
    return out


def newton_euler_world(
    m: Scalar, I_c: Sym3, w: Vec3, vd: Vec3, wd: Vec3,
) -> tuple[Vec3, Vec3]:
    """Return force and moment about the centre that move a body so: f = m vd (22, 23)."""
    return vd * m, I_c @ wd + w.cross(I_c @ w)


def link_momenta(model: Model, q: Values, qd: Values) -> list[tuple[Vec3, Vec3]]:
    """Return P = m v and L = I_c w of every link (18, 19)."""
    return [(V.v * link.m, link.I_c @ V.w) for link, V in
            zip(placed_links(model, q), link_velocities(model, q, qd), strict=True)]


def link_mass(link: Link) -> Matrix:
    """Return M_c = diag(m 1, I_c), 6x6 (24, 27)."""
    M = dense.zeros(6, 6)
    for i in range(3):
        M[i][i] = link.m
        M[3 + i][3:] = list(link.I_c.full().rows[i])
    return M


def kinetic_energy(model: Model, q: Values, qd: Values) -> Scalar:
    """Return sum 1/2 m v.v + 1/2 w'I_c w (25, 26)."""
    total: Scalar = 0.0
    for link, V in zip(placed_links(model, q)[1:], link_velocities(model, q, qd)[1:],
                       strict=True):
        total = total + link.m * V.v.dot(V.v) + V.w.dot(link.I_c @ V.w)
    return 0.5 * total


class Equations(NamedTuple):
    """M(q) and C(q, qd) of M qdd + C = Q; C is a vector, and gravity is in Q (14)."""

    M: Matrix
    C: list[Scalar]


def equations(model: Model, q: Values, qd: Values) -> Equations:
    """
    Return M = sum J'M_c J and C = sum J'(M_c dJ/dt qd + [W] M_c J qd) of all links (45, 59).

    In base axes I_c changes as the link turns, which is the second part of C, w x I_c w.
    """
    n = model.tree_nv
    M = dense.zeros(n, n)
    C: list[Scalar] = [0.0] * n
    links, J = placed_links(model, q), link_jacobians(model, q)
    V, rest = link_velocities(model, q, qd), link_accelerations(model, q, qd)
    for i in range(1, model.nb + 1):
        back = dense.transposed(J[i], n)
        M = dense.plus(M, dense.times(back, dense.times(link_mass(links[i]), J[i], n), n))
        f, tau = newton_euler_world(links[i].m, links[i].I_c, V[i].w, rest[i].v, rest[i].w)
        C = dense.add(C, dense.apply(back, [*f, *tau]))
    return Equations(M, C)


def gravity_force(model: Model, q: Values, gravity: Vec3) -> list[Scalar]:
    """Return the generalised force of gravity, sum J_v' m g: a part of Q."""
    Q: list[Scalar] = [0.0] * model.tree_nv
    for link, J in zip(placed_links(model, q)[1:], link_jacobians(model, q)[1:], strict=True):
        weight = gravity * link.m
        Q = dense.add(Q, dense.apply(dense.transposed(J[:3], model.tree_nv), [*weight]))
    return Q


def forward_dynamics(
    model: Model, q: Values, qd: Values, tau: Values, gravity: Vec3,
) -> list[Scalar]:
    """Return qdd of M qdd = tau + gravity - C (14)."""
    M, C = equations(model, q, qd)
    rest = dense.subtract(dense.add(tau, gravity_force(model, q, gravity)), C)
    return [row[0] for row in dense.eliminate(M, [[x] for x in rest])]
