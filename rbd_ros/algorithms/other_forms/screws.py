# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Dynamics of open chains by screws: the chapter of Lynch and Park, with its errata mended.

Letters are the book's: theta, V, F, A, G, Ad, ad. Over our types ``X @ V`` is Ad(T) V,
``X.inv_apply(F)`` is Ad(T)^T F, ``V.cross(W)`` the bracket ad_V W, and ``V.cross(F)`` is
-ad_V^T F. The functions take plain and traced scalars, trees as well as chains; lists have an
entry 0 for the base. Equation numbers are those of the draft; a star marks a mended one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import Matrix, Scalar, Values
from rbd_ros.model.screw_tree import ScrewTree
from rbd_ros.spatial import Force, Motion, RigidInertia, Sym3, Transform, Vec3
from rbd_ros.spatial.exponential import displacement


class Recursion(NamedTuple):
    """
    What the recursion finds, each in the frame of its link; tau by joint.

    :param V: twists.
    :param Vd: their rates, with the fictitious -g of the base in them.
    :param F: wrench on each link through its joint.
    :param tau: joint forces.
    """

    V: list[Motion]
    Vd: list[Motion]
    F: list[Force]
    tau: list[Scalar]


# --- kinematics -----------------------------------------------------------------------------


def link_transforms(tree: ScrewTree, th: Values) -> list[Transform]:
    """Return Ad(T_{i,i-1}) of each link: its frame seen from its parent's (9.53)."""
    return [Transform.identity(),
            *(displacement(A, x) @ M for A, M, x in zip(tree.A[1:], tree.M[1:], th, strict=True))]


def placements(tree: ScrewTree, th: Values) -> list[Transform]:
    """Return the transform from base to link coordinates, Ad(T_0i^-1), of every link."""
    Ad, X = link_transforms(tree, th), [Transform.identity()]
    for i in range(1, tree.n + 1):
        X.append(Ad[i] @ X[tree.parent[i]])
    return X


def product_of_exponentials(tree: ScrewTree, th: Values) -> Transform:
    """
    Return the transform from base to tool coordinates by exp([S_1] th_1) ... exp([S_n] th_n) M.

    The screws are those of the path from base to tool, in base coordinates at home.
    """
    S = tree.space_screws()
    link, tool = tree.tip
    X, i = tool @ tree.home(link), link
    while i:
        X = X @ displacement(S[i - 1], th[i - 1])
        i = tree.parent[i]
    return X


def body_jacobian(tree: ScrewTree, th: Values, link: int | None = None) -> list[Motion]:
    """
    Return the columns of J_ib, by which V_i = J_ib thd; exact zeros off the path.

    :param link: whose; None for the frame of the tool.
    """
    Ad = link_transforms(tree, th)
    i, X = tree.tip if link is None else (link, Transform.identity())
    columns = [Motion.zero()] * tree.n
    while i:
        columns[i - 1] = X @ tree.A[i]
        X = X @ Ad[i]
        i = tree.parent[i]
    return columns


def space_jacobian(tree: ScrewTree, th: Values, link: int | None = None) -> list[Motion]:
    """Return the columns of J_s: the axes of the path where they are now, in base coordinates."""
    X = placements(tree, th)
    i = tree.tip[0] if link is None else link
    columns = [Motion.zero()] * tree.n
    while i:
        columns[i - 1] = X[i].inv_apply(tree.A[i])
        i = tree.parent[i]
    return columns


def body_jacobian_rate(tree: ScrewTree, th: Values, thd: Values) -> list[Motion]:
    """Return dJ_b/dt of the tool: column i is the sum over later k of ad_{J_i} J_k thd_k."""
    J = body_jacobian(tree, th)
    rate = [Motion.zero()] * tree.n
    later, i = Motion.zero(), tree.tip[0]
    while i:
        rate[i - 1] = J[i - 1].cross(later)
        later = later + J[i - 1] * thd[i - 1]
        i = tree.parent[i]
    return rate


# --- one body -------------------------------------------------------------------------------


def newton_euler_3d(
    m: Scalar, I_b: Sym3, w: Vec3, v: Vec3, wd: Vec3, vd: Vec3,
) -> tuple[Vec3, Vec3]:
    """
    Return moment and force on a body in its own frame at the centre of mass (9.17, 9.20).

    :param I_b: rotational inertia about the centre of mass.
    :param vd: rate of the components of v in the moving frame.
    """
    return I_b @ wd + w.cross(I_b @ w), (vd + w.cross(v)) * m


def rigid_body_wrench(G: RigidInertia, V: Motion, Vd: Motion) -> Force:
    """Return F = G Vd - ad_V^T G V, in any frame fixed in the body (9.33)."""
    return G @ Vd + V.cross(G @ V)


# --- the recursion --------------------------------------------------------------------------


def newton_euler(
    tree: ScrewTree, th: Values, thd: Values, thdd: Values | None, *,
    gravity: Vec3 | None = None, wrench_on_environment: Force | None = None,
    base_velocity: Motion | None = None, base_acceleration: Motion | None = None,
) -> Recursion:
    """
    Return the inverse dynamics by the forward and backward iterations (9.53 to 9.57).

    :param thdd: joint accelerations; None for none.
    :param gravity: acceleration of free fall; that of the tree by default.
    :param wrench_on_environment: F_tip, which the robot exerts with its tool on what it touches,
        in the frame of the tool. The force on the robot is the opposite of it.
    :param base_velocity: V_0, in base coordinates.
    :param base_acceleration: rate of V_0, without gravity.
    """
    Ad = link_transforms(tree, th)
    g = tree.gravity if gravity is None else gravity
    fall = Motion(Vec3.zero(), -g)                                                 # Vd_0 = -g *
    V = [Motion.zero() if base_velocity is None else base_velocity]
    Vd = [fall if base_acceleration is None else base_acceleration + fall]
    for i in range(1, tree.n + 1):
        p, A = tree.parent[i], tree.A[i]
        rate = A * thd[i - 1]
        V.append(Ad[i] @ V[p] + rate)                                                     # 9.54
        Vd_i = Ad[i] @ Vd[p] + V[i].cross(rate)                                           # 9.55
        Vd.append(Vd_i if thdd is None else Vd_i + A * thdd[i - 1])
    F = [Force.zero(), *(rigid_body_wrench(tree.G[i], V[i], Vd[i])
                         for i in range(1, tree.n + 1))]
    if wrench_on_environment is not None:
        link, tool = tree.tip
        F[link] = F[link] + tool.inv_apply(wrench_on_environment)
    tau: list[Scalar] = [0.0] * tree.n
    for i in range(tree.n, 0, -1):
        tau[i - 1] = F[i].dot(tree.A[i])                                                  # 9.57
        p = tree.parent[i]
        if p:
            F[p] = F[p] + Ad[i].inv_apply(F[i])                                           # 9.56
    return Recursion(V, Vd, F, tau)


def mass_matrix(tree: ScrewTree, th: Values) -> Matrix:
    """Return M = sum J_ib^T G_i J_ib (9.61)."""
    M = dense.zeros(tree.n, tree.n)
    for link in range(1, tree.n + 1):
        J = body_jacobian(tree, th, link)
        P = [tree.G[link] @ column for column in J]
        for i in range(tree.n):
            for j in range(tree.n):
                M[i][j] = M[i][j] + J[i].dot(P[j])
    return M


def mass_matrix_by_columns(tree: ScrewTree, th: Values) -> Matrix:
    """Return M column by column: joint forces for a unit acceleration of one joint at rest."""
    rest, zero = [0.0] * tree.n, Vec3.zero()
    return [newton_euler(tree, th, rest, [1.0 if j == i else 0.0 for j in range(tree.n)],
                         gravity=zero).tau for i in range(tree.n)]


def kinetic_energy(tree: ScrewTree, th: Values, thd: Values) -> Scalar:
    """Return 1/2 sum V_i^T G_i V_i (9.59)."""
    V = newton_euler(tree, th, thd, None).V
    total: Scalar = 0.0
    for i in range(1, tree.n + 1):
        total = total + V[i].dot(tree.G[i] @ V[i])
    return 0.5 * total


def potential_energy(tree: ScrewTree, th: Values, gravity: Vec3 | None = None) -> Scalar:
    """Return the potential energy of gravity, zero with all mass at the base origin."""
    g = tree.gravity if gravity is None else gravity
    total: Scalar = 0.0
    for X, G in zip(placements(tree, th)[1:], tree.G[1:], strict=True):
        total = total - g.dot(X.inv_first_moment(G.m, G.h))
    return total


# --- forward dynamics -----------------------------------------------------------------------


def joint_acceleration(
    tree: ScrewTree, th: Values, thd: Values, tau: Values, *, gravity: Vec3 | None = None,
    wrench_on_environment: Force | None = None,
) -> list[Scalar]:
    """
    Return thdd by GetJointAccel: solve M thdd = tau - b - J^T F_tip (9.89).

    b is the inverse dynamics at zero acceleration, without F_tip, which would count twice.
    """
    b = newton_euler(tree, th, thd, None, gravity=gravity).tau
    rest = dense.subtract(tau, b)
    if wrench_on_environment is not None:
        rest = dense.subtract(rest, tip_force(tree, th, wrench_on_environment))
    return [row[0] for row in dense.eliminate(mass_matrix(tree, th), [[x] for x in rest])]


def tip_force(tree: ScrewTree, th: Values, wrench_on_environment: Force) -> list[Scalar]:
    """Return J_b^T F_tip, the joint torques that balance the wrench of the tool (9.81)."""
    return [column.dot(wrench_on_environment) for column in body_jacobian(tree, th)]


def euler_integration(
    tree: ScrewTree, th: Values, thd: Values, tau: Callable[[int, Values, Values], Values],
    h: Scalar, steps: int, *, gravity: Vec3 | None = None,
    wrench_on_environment: Callable[[int], Force] | None = None,
) -> tuple[Matrix, Matrix]:
    """
    Return positions and velocities of a motion by the explicit Euler rule, order 1 in h.

    Kept as the chapter has it; :mod:`rbd_ros.sim.steps.integrators` has better rules.

    :param tau: joint forces of step k = 0 .. steps - 1 at the state there.
    :param wrench_on_environment: F_tip of step k.
    :returns: steps + 1 rows each, the first of which is the start.
    """
    path, rates = [list(th)], [list(thd)]
    for k in range(steps):
        th, thd = path[k], rates[k]
        F = None if wrench_on_environment is None else wrench_on_environment(k)
        thdd = joint_acceleration(tree, th, thd, tau(k, th, thd), gravity=gravity,
                                  wrench_on_environment=F)
        path.append([x + h * rate for x, rate in zip(th, thd, strict=True)])
        rates.append([x + h * rate for x, rate in zip(thd, thdd, strict=True)])
    return path, rates
