# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Closed loops: the constraints K qdd = k of loop joints, and the motion under them (RBDA 8).

Everything works on the tree coordinates of a model over generic scalars, and gives rows in the
order of ``model.loops``. A loop is looked at in the coordinates of the successor frame F_s of the
joint that closes it, and only the joints around it are walked through, up to the body where its
two sides meet. Nothing depends on where that body is or how it moves, so that no digits are lost
far from the base (RBDA 8.7), and gravity never enters.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms.kinematics import combine, Conditions, external_forces, links, Links
from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import jvp, Matrix, Scalar, trace, Values
from rbd_ros.joints import Joint
from rbd_ros.joints.base import has_constant_constraint
from rbd_ros.model.connectivity import meeting_point
from rbd_ros.model.model import Model
from rbd_ros.model.parts import LoopJoint
from rbd_ros.spatial import Force, Mat3, Motion, Transform, Vec3


class Side(NamedTuple):
    """
    One side of a loop, from the body where both meet to a frame of the loop joint.

    :param X: from the coordinates of the meeting body to the frame.
    :param J: columns of the frame's Jacobian, by tree velocity, in its own coordinates.
    :param v: velocity of the frame relative to the meeting body, in its own coordinates.
    :param a: its velocity-product acceleration a^vp, likewise (8.13).
    """

    X: Transform
    J: dict[int, Motion]
    v: Motion
    a: Motion


class Position(NamedTuple):
    """
    What a loop is at a position, in F_s coordinates.

    :param X: sX_p, from the predecessor frame to the successor frame of the loop joint.
    :param T: columns of the constraint-force subspace.
    :param J: columns of J_L = J_s - J_p by tree velocity (8.18).
    """

    X: Transform
    T: tuple[Force, ...]
    J: dict[int, Motion]


class Constraints(NamedTuple):
    """
    The constraints of all loops: K qdd = k, and how well position and velocity satisfy them.

    :param K: one row per constraint over the tree velocities (8.19, 8.20).
    :param k: right-hand side, stabilisation included where it was asked for (8.47).
    :param velocity: T^T (v_J - sigma), zero for velocities that the loops allow (8.7).
    :param delta: position errors (RBDA 8.3).
    """

    K: Matrix
    k: list[Scalar]
    velocity: list[Scalar]
    delta: list[Scalar]


# --- kinematics of one loop -----------------------------------------------------------------


def _side(
    model: Model, tree: Links, body: int, root: int, placement: Transform,
    motion: tuple[Values, Values, Values | None, Scalar] | None = None,
) -> Side:
    """
    Return one side of a loop.

    :param motion: tree positions, velocities, accelerations (None for zero) and time; without
        them v and a are zero.
    """
    path, i = [], body
    while i != root:
        path.append(i)
        i = model.parent[i]
    X, J = placement, {}
    for i in path:                                                       # inward: columns fX_i S_i
        for k, s in zip(range(model.tree_nv)[model.v_index[i]], tree.S[i], strict=True):
            J[k] = X @ s
        X = X @ tree.Xup[i]
    v, a = Motion.zero(), Motion.zero()
    if motion is not None:
        q, qd, qdd, t = motion
        for i in reversed(path):                                         # outward: v and a^vp
            joint, q_i, qd_i = model.joint[i], q[model.q_index[i]], qd[model.v_index[i]]
            v_J = joint.velocity(q_i, qd_i, t)
            v = tree.Xup[i] @ v + v_J
            a = tree.Xup[i] @ a + joint.bias(q_i, qd_i, t) + v.cross(v_J)
            if qdd is not None:                                          # what gears add
                a = combine(a, tree.S[i], qdd[model.v_index[i]])
    return Side(X, J, placement @ v, placement @ a)


def _joined(loop: LoopJoint, successor: Side, predecessor: Side, t: Scalar) -> Position:
    """Return a loop from its two sides: X and T, and J_L with epsilon = +-1 in it (8.18)."""
    X = successor.X @ predecessor.X.inverse()
    J = dict(successor.J)
    for k, column in predecessor.J.items():
        J[k] = -(X @ column)
    return Position(X, loop.joint.constraint_at(X, t), J)


def position(model: Model, tree: Links, loop: LoopJoint, t: Scalar = 0.0) -> Position:
    """Return a loop at a position of the tree."""
    root = meeting_point(model.parent, loop.predecessor, loop.successor)
    return _joined(loop, _side(model, tree, loop.successor, root, loop.X_S),
                   _side(model, tree, loop.predecessor, root, loop.X_P), t)


def jacobian(model: Model, q: Values, t: Scalar = 0.0) -> Matrix:
    """Return K, one row per constraint over the tree velocities (8.19)."""
    tree = links(model, q, t)
    return [row for loop in model.loops for row in _rows(model, position(model, tree, loop, t))]


def _rows(model: Model, loop: Position) -> Matrix:
    """Return the rows T^T J_L of one loop (8.19)."""
    rows = dense.zeros(len(loop.T), model.tree_nv)
    for row, f in zip(rows, loop.T, strict=True):
        for k, column in loop.J.items():
            row[k] = f.dot(column)
    return rows


def position_error(model: Model, q: Values, t: Scalar = 0.0) -> list[Scalar]:
    """Return delta of all loops: zero where they are closed (RBDA 8.3)."""
    tree = links(model, q, t)
    return [x for loop in model.loops
            for x in loop.joint.closure_error(position(model, tree, loop, t).X, t)]


def constraints(
    model: Model, q: Values, qd: Values, qdd: Values | None = None, t: Scalar = 0.0,
    stabilisation: tuple[Scalar, Scalar] = (0.0, 0.0),
) -> Constraints:
    """
    Return K, k and the errors of all loops (RBDA Table 8.4).

    :param qdd: tree accelerations at zero acceleration of the independent coordinates, where
        joints follow others; None for zero.
    :param stabilisation: 2 alpha and beta^2 of Baumgarte's method (8.22); zeros for none.
    """
    two_alpha, beta_squared = stabilisation
    tree, motion = links(model, q, t), (q, qd, qdd, t)
    out = Constraints([], [], [], [])
    for loop in model.loops:
        root = meeting_point(model.parent, loop.predecessor, loop.successor)
        s = _side(model, tree, loop.successor, root, loop.X_S, motion)
        p = _side(model, tree, loop.predecessor, root, loop.X_P, motion)
        at = _joined(loop, s, p, t)
        v_s, v_p, a_s, a_p = s.v, at.X @ p.v, s.a, at.X @ p.a
        v_J = v_s - v_p                                                                    # 8.9
        sigma, T_rate, sigma_rate = apparent_rates(loop.joint, at.X, v_J, t)
        a = a_s - a_p + v_s.cross(v_p) - sigma_rate
        delta = loop.joint.closure_error(at.X, t)
        for f, f_rate, error in zip(at.T, T_rate, delta, strict=True):
            velocity = f.dot(v_J - sigma)                                                  # 8.7
            k = -f.dot(a) - f_rate.dot(v_J - sigma)                                        # 8.47
            out.k.append(k - two_alpha * velocity - beta_squared * error)                  # 8.22
            out.velocity.append(velocity)
            out.delta.append(error)
        out.K.extend(_rows(model, at))
    return out


def apparent_rates(
    joint: Joint, X: Transform, v_J: Motion, t: Scalar,
) -> tuple[Motion, tuple[Force, ...], Motion]:
    """
    Return sigma of a loop joint and the apparent derivatives of T and sigma in F_s.

    They are found by differentiating along the motion of F_s itself, which needs no velocity
    variables and is exact for a loop that is not quite closed.
    """
    if has_constant_constraint(joint) and not joint.time_dependent:
        zero = (Force.zero(),) * (6 - joint.nv)
        return Motion.zero(), zero, Motion.zero()

    def look(E: Values, r: Values, t: Scalar) -> dict[str, Matrix]:
        at = Transform(Mat3((tuple(E[:3]), tuple(E[3:6]), tuple(E[6:]))), Vec3(*r))
        drift = joint.drift(joint.locate(at, t), t) if joint.time_dependent else Motion.zero()
        return {'x': [drift.to_list(), *(f.to_list() for f in joint.constraint_at(at, t))]}

    E, r = [x for row in X.E.rows for x in row], [*X.r]
    turning = [v_J.ang.cross(Vec3(*column)) for column in X.E.T.rows]      # -dE/dt, by columns
    E_rate = [-column[i] for i in range(3) for column in map(list, turning)]
    graph = trace(look, {'E': (9,), 'r': (3,), 't': ()})
    sigma = graph.evaluate(E, r, [t])[:6]
    rates = jvp(graph, 'x', ('E', 'r', 't')).evaluate(
        E, r, [t], E_rate, [*X.E.transpose_times(v_J.lin)], [1.0])
    return (Motion.from_list(sigma),
            tuple(Force.from_list(rates[k:k + 6]) for k in range(6, len(rates), 6)),
            Motion.from_list(rates[:6]))


# --- forces at loop joints ------------------------------------------------------------------


def active_subspace(joint: Joint, X: Transform, t: Scalar = 0.0) -> list[Force]:
    """Return T_a of a joint with T_a^T S = 1 and no part along T: S (S^T S)^-1 (3.35)."""
    columns = [s.to_list() for s in joint.subspace(joint.locate(X, t), t)]
    normal = [[dense.dot(a, b) for b in columns] for a in columns]
    solved = dense.eliminate(normal, columns)
    return [Force.from_list(row) for row in solved]


def drive_forces(model: Model, q: Values, tau: Values, t: Scalar = 0.0) -> list[Scalar]:
    """
    Return tau^a = sum of J_L^T f_k^a: what drives and springs in loop joints do (8.28 to 8.33).

    :param tau: generalised forces of all loop joints, one after the other.
    """
    tree, start = links(model, q, t), 0
    tau_a: list[Scalar] = [0.0] * model.tree_nv
    for loop in model.loops:
        at = position(model, tree, loop, t)
        n = loop.joint.nv
        f_a = combine(Force.zero(), active_subspace(loop.joint, at.X, t), tau[start:start + n])
        start += n
        for k, column in at.J.items():
            tau_a[k] = tau_a[k] + column.dot(f_a)                                          # 8.31
    return tau_a


def bias_with_drives(
    model: Model, q: Values, qd: Values, tau: Values, conditions: Conditions,
) -> list[Scalar]:
    """
    Return C - tau^a in one recursion: Newton-Euler with forces at loop joints (RBDA Table 8.3).

    :param tau: generalised forces of all loop joints, one after the other.
    """
    t, I = conditions.t, conditions.inertia or model.inertia
    Xup, S = tree = links(model, q, t)
    f_x = external_forces(model, tree, conditions.f_ext)
    v, a, f = [Motion.zero()], [Motion(Vec3.zero(), -conditions.gravity)], [Force.zero()]
    for i in range(1, model.nb + 1):                       # outward: velocity-product motion
        joint, q_i, qd_i = model.joint[i], q[model.q_index[i]], qd[model.v_index[i]]
        v_J = joint.velocity(q_i, qd_i, t)
        v.append(Xup[i] @ v[model.parent[i]] + v_J)
        a.append(Xup[i] @ a[model.parent[i]] + joint.bias(q_i, qd_i, t) + v[i].cross(v_J))
        f.append(I[i] @ a[i] + v[i].cross(I[i] @ v[i]) - f_x[i])
    start = 0
    for loop in model.loops:                               # the drives of the loop joints
        at, n = position(model, tree, loop, t), loop.joint.nv
        f_a = combine(Force.zero(), active_subspace(loop.joint, at.X, t), tau[start:start + n])
        start += n
        f[loop.successor] = f[loop.successor] - loop.X_S.inv_apply(f_a)
        f[loop.predecessor] = f[loop.predecessor] + loop.X_P.inv_apply(at.X.inv_apply(f_a))
    C: list[Scalar] = [0.0] * model.tree_nv
    for i in range(model.nb, 0, -1):                       # inward: project, hand to the parent
        C[model.v_index[i]] = [s.dot(f[i]) for s in S[i]]
        f[model.parent[i]] = f[model.parent[i]] + Xup[i].inv_apply(f[i])
    return C


def joint_forces(model: Model, q: Values, multipliers: Values, t: Scalar = 0.0) -> list[Force]:
    """Return f_k^c = T_k lambda_k of each loop joint on its successor, F_s coordinates (8.28)."""
    tree = links(model, q, t)
    return [combine(Force.zero(), position(model, tree, loop, t).T, multipliers[rows])
            for loop, rows in zip(model.loops, model.loop_rows, strict=True)]
