# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
First derivatives of inverse dynamics and of the motion of frames, by recursion over the tree.

When joint j moves by a small amount along column s of its S, every body that it carries moves
with it. Seen from such a body, in the moving coordinates of the body,

    dv = psi_v,    da = psi_a - v x psi_v,    psi_v = v_p x s + D,
    psi_a = a_p x s + v_p x psi_v + v x D + A

where v, a are those of the body in question, v_p, a_p those of the parent of j, and D, A what the
joint itself adds where its S moves in its own coordinates: the derivatives of v_J and of
a_J = S qdd + c_J. psi_v and psi_a are the same for all bodies carried. Hence a subtree answers
with the force I_c psi_a + B_c psi_v, where I_c is its composite inertia and
B_c = dI_c/dt + (.) x* h_c twice the factor of :mod:`rbd_ros.algorithms.coriolis`. A change of the
velocity instead of the position has the same form with s in place of psi_v and
psi_d = (v_p + v) x s + E in place of psi_a, E being the derivative of c_J. For joints of constant
S this is the recursion of Singh, Russell and Wensing (arXiv 2105.05102). Derivatives by position
are along the velocity variables of a joint, so that ball joints and free bodies have nv of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rbd_ros.algorithms.coriolis import composite
from rbd_ros.algorithms.kinematics import (
    accelerations, combine, Conditions, external_forces, links, Links, velocities,
    velocity_products)
from rbd_ros.algorithms.linear import dense
from rbd_ros.algorithms.rnea import NewtonEuler, rnea
from rbd_ros.compiler import jacobian, Matrix, Scalar, trace, Values
from rbd_ros.joints.base import Joint
from rbd_ros.model.model import Frame, Model
from rbd_ros.spatial import Force, Mat3, Motion, RigidInertia, Transform, Vec3


class JointChange(NamedTuple):
    """
    What one velocity variable of a joint changes inside the joint, in its moving coordinates.

    :param D: derivative of v_J by position.
    :param A: derivative of a_J = S qdd + c_J by position.
    :param E: derivative of c_J by velocity.
    :param S: derivative of the columns of S by position.
    """

    D: Motion
    A: Motion
    E: Motion
    S: tuple[Motion, ...]


class Change(NamedTuple):
    """
    What one velocity variable of a joint changes in all that the joint carries, see above.

    :param s: column of S.
    :param psi_v: change of velocity by position.
    :param psi_a: change of acceleration by position.
    :param psi_d: change of acceleration by velocity.
    """

    s: Motion
    psi_v: Motion
    psi_a: Motion
    psi_d: Motion


class RneaDerivatives(NamedTuple):
    """
    Derivatives of the joint forces of a tree, nv x nv: row is the force, column the variable.

    :param dtau_dq: by position, along the velocity variables.
    :param dtau_dqd: by velocity.
    :param H: by acceleration, the joint-space inertia matrix.
    """

    dtau_dq: Matrix
    dtau_dqd: Matrix
    H: Matrix


def joint_changes(
    joint: Joint, q: Values, qd: Values, qdd: Values | None, t: Scalar,
) -> list[JointChange]:
    """
    Return what each velocity variable of a joint changes inside the joint.

    Found by differentiating what the joint computes; all zero where S is constant.
    """
    n, zero = joint.nv, Motion.zero()
    if n == 0 or (type(joint).bias is Joint.bias and not joint.time_dependent):
        return [JointChange(zero, zero, zero, (zero,) * n)] * n

    def motion(
        q: Sequence[Any], qd: Sequence[Any], qdd: Sequence[Any], t: Scalar,
    ) -> dict[str, Sequence[Any]]:
        S, c_J = joint.subspace(q, t), joint.bias(q, qd, t)
        return {'v': joint.velocity(q, qd, t).to_list(), 'c': c_J.to_list(),
                'a': combine(c_J, S, qdd).to_list(), 'S': [s.to_list() for s in S]}

    graph = trace(motion, {'q': (joint.nq,), 'qd': (n,), 'qdd': (n,), 't': ()})
    given = list(q), list(qd), [0.0] * n if qdd is None else list(qdd), [t]
    of_q = jacobian(graph, ('v', 'a', 'S'), 'q').evaluate(*given)
    of_qd = jacobian(graph, 'c', 'qd').evaluate(*given)
    found = []
    for k in range(n):
        e = [1.0 if m == k else 0.0 for m in range(n)]
        along = _directional(of_q, joint.q_dot(q, e))
        D, A, *S = (Motion.from_list(along[m:m + 6]) for m in range(0, len(along), 6))
        found.append(JointChange(D, A, Motion.from_list(_directional(of_qd, e)), tuple(S)))
    return found


def _directional(slopes: Values, along: Values) -> list[Scalar]:
    """Return the rows of a flat matrix of slopes, each times a direction."""
    n = len(along)
    return [dense.dot(slopes[k:k + n], along) for k in range(0, len(slopes), n)]


def changes(
    model: Model, tree: Links, q: Values, qd: Values,
    qdd: Values | None, v: Sequence[Motion], a: Sequence[Motion], t: Scalar,
) -> tuple[list[list[Change]], list[list[JointChange]]]:
    """Return what every velocity variable changes, by body and in the coordinates of the body."""
    found: list[list[Change]] = [[]]
    inside: list[list[JointChange]] = [[]]
    for i in range(1, model.nb + 1):
        p, X = model.parent[i], tree.Xup[i]
        v_p, a_p = X @ v[p], X @ a[p]
        inside.append(joint_changes(model.joint[i], q[model.q_index[i]], qd[model.v_index[i]],
                                    None if qdd is None else qdd[model.v_index[i]], t))
        column = []
        for s, own in zip(tree.S[i], inside[i], strict=True):
            psi_v = v_p.cross(s) + own.D
            psi_a = a_p.cross(s) + v_p.cross(psi_v) + v[i].cross(own.D) + own.A
            column.append(Change(s, psi_v, psi_a, (v_p + v[i]).cross(s) + own.E))
        found.append(column)
    return found, inside


def rnea_derivatives(
    model: Model, q: Values, qd: Values, qdd: Values | None, conditions: Conditions,
) -> RneaDerivatives:
    """
    Return the derivatives of inverse dynamics (``rnea``); entries across branches are exact zeros.

    :param q: tree positions; ``qd``, ``qdd`` likewise, None for zero accelerations.
    :param conditions: gravity, external forces, inertias, time; forces stay as they are in base
        coordinates while the robot moves.
    """
    tree = links(model, q, conditions.t)
    dynamics = rnea(model, q, qd, qdd, conditions)
    mine, inside = changes(model, tree, q, qd, qdd, dynamics.v, dynamics.a, conditions.t)
    answers = _answers(model, tree, mine, dynamics, conditions)

    n = model.tree_nv
    dq: Matrix = [[0.0] * n for _ in range(n)]
    dqd: Matrix = [[0.0] * n for _ in range(n)]
    H: Matrix = [[0.0] * n for _ in range(n)]
    for j in range(1, model.nb + 1):
        at = range(*model.v_index[j].indices(n))
        for row, answer in zip(at, answers[j], strict=True):
            for column, x, own in zip(at, mine[j], inside[j], strict=True):        # its own joint
                dq[row][column] = (answer.to_position(x)
                                   + own.S[row - at.start].dot(dynamics.f[j]))
                dqd[row][column], H[row][column] = answer.to_velocity(x), answer.I_s.dot(x.s)
            # Up the tree link by link: in the coordinates of joint i most of its s and psi is
            # zero, which saves more than moving the answer to one frame for all of them.
            i = j
            while model.parent[i] != 0:
                answer, i = answer.seen_from_parent(tree.Xup[i]), model.parent[i]
                for column, x in zip(range(*model.v_index[i].indices(n)), mine[i], strict=True):
                    dq[row][column] = answer.to_position(x)
                    dqd[row][column] = answer.to_velocity(x)
                    dq[column][row], dqd[column][row] = x.s.dot(answer.f_q), x.s.dot(answer.f_qd)
                    H[row][column] = H[column][row] = x.s.dot(answer.I_s)
    return RneaDerivatives(dq, dqd, H)


class _Answer(NamedTuple):
    """
    How the subtree of a joint answers one of the joint's variables, and changes of its ancestors.

    :param I_s: I_c s.
    :param B_s: B_c^T s.
    :param f_q: change of the subtree's force, base coordinates, by this variable's position.
    :param f_qd: the same by its velocity.
    :param f_x: s x* the external force on the subtree, None for no force.
    """

    I_s: Force
    B_s: Force
    f_q: Force
    f_qd: Force
    f_x: Force | None

    def seen_from_parent(self, X: Transform) -> _Answer:
        """Return the same in the coordinates of the parent, from which X leads here."""
        return _Answer(X.inv_apply(self.I_s), X.inv_apply(self.B_s), X.inv_apply(self.f_q),
                       X.inv_apply(self.f_qd),
                       None if self.f_x is None else X.inv_apply(self.f_x))

    def to_position(self, x: Change) -> Scalar:
        """Return the change of this joint force by a position, its own or above it."""
        total = self.I_s.dot(x.psi_a) + self.B_s.dot(x.psi_v)
        return total if self.f_x is None else total - self.f_x.dot(x.s)

    def to_velocity(self, x: Change) -> Scalar:
        """Return the change of this joint force by a velocity, its own or above it."""
        return self.I_s.dot(x.psi_d) + self.B_s.dot(x.s)


def _answers(
    model: Model, tree: Links, mine: Sequence[Sequence[Change]], dynamics: NewtonEuler,
    conditions: Conditions,
) -> list[list[_Answer]]:
    """Return the answer of every subtree to each variable of its joint, body coordinates."""
    I_c, Idot, h = composite(model, tree, dynamics.v, conditions.inertia)
    f_x = external_forces(model, tree, conditions.f_ext)
    for i in range(model.nb, 0, -1):
        if conditions.f_ext is not None and model.parent[i] != 0:
            f_x[model.parent[i]] = f_x[model.parent[i]] + tree.Xup[i].inv_apply(f_x[i])
    found: list[list[_Answer]] = [[]]
    for i in range(1, model.nb + 1):
        f = dynamics.f[i] + f_x[i]                      # what moves the subtree, whoever pushes
        B = _Factor.of(Idot[i], h[i])
        found.append([_Answer(
            I_c[i] @ x.s, B.transpose_times(x.s),
            x.s.cross(f) + (I_c[i] @ x.psi_a + B.times(x.psi_v)), I_c[i] @ x.psi_d + B.times(x.s),
            None if conditions.f_ext is None else x.s.cross(f_x[i])) for x in mine[i]])
    return found


class _Factor(NamedTuple):
    """
    The operator B_c = [M 0; -2 p x 0] of a subtree: half of its terms cancel by structure.

    For a body of particles B is 2 sum m P^T dP/dt with the Jacobian P = [-r x, 1] of a particle;
    the rate of P, [-v x, 0], has no linear column.

    :param M: angular part of dI/dt, less n x, where n is the angular momentum.
    :param p: twice the linear momentum.
    """

    M: Mat3
    p: Vec3

    @classmethod
    def of(cls, Idot: RigidInertia, h: Force) -> _Factor:
        """Return the factor of a subtree from the rate of its inertia and its momentum."""
        I, n = Idot.I, h.ang
        return cls(Mat3(((I.xx, I.xy + n.z, I.xz - n.y), (I.xy - n.z, I.yy, I.yz + n.x),
                         (I.xz + n.y, I.yz - n.x, I.zz))), h.lin * 2.0)

    def times(self, x: Motion) -> Force:
        """Return B x = dI/dt x + x x* h."""
        return Force(self.M @ x.ang, x.ang.cross(self.p))

    def transpose_times(self, x: Motion) -> Force:
        """Return B^T x = dI/dt x - x x* h: a couple."""
        return Force(self.M.transpose_times(x.ang) + self.p.cross(x.lin), Vec3.zero())


class FrameDerivatives(NamedTuple):
    """
    Columns of the derivatives of a frame's motion, in the coordinates of the frame itself.

    :param J: velocity by qd, and acceleration by qdd: the Jacobian.
    :param dv_dq: velocity by position.
    :param da_dq: acceleration by position.
    :param da_dqd: acceleration by velocity.
    """

    J: list[Motion]
    dv_dq: list[Motion]
    da_dq: list[Motion]
    da_dqd: list[Motion]


def frame_derivatives(
    model: Model, q: Values, qd: Values, qdd: Values | None, frame: Frame, t: Scalar = 0.0,
) -> FrameDerivatives:
    """
    Return the derivatives of the spatial velocity and acceleration of a frame.

    Both in the frame's own coordinates, the acceleration without gravity; columns of joints that
    do not carry the frame are exactly zero.
    """
    tree = links(model, q, t)
    v, v_J = velocities(model, tree, q, qd, t)
    c = velocity_products(model, q, qd, v, v_J, t)
    a = accelerations(model, tree, c, qdd, Motion.zero())
    mine, _ = changes(model, tree, q, qd, qdd, v, a, t)
    found = FrameDerivatives(*([Motion.zero()] * model.tree_nv for _ in range(4)))
    X, i = frame.placement, frame.body
    v_f = X @ v[i]
    while i != 0:
        for k, x in zip(range(*model.v_index[i].indices(model.tree_nv)), mine[i], strict=True):
            s, psi_v, psi_a, psi_d = (X @ part for part in x)
            found.J[k], found.dv_dq[k] = s, psi_v
            found.da_dq[k], found.da_dqd[k] = psi_a - v_f.cross(psi_v), psi_d - v_f.cross(s)
        X, i = X @ tree.Xup[i], model.parent[i]
    return found
