# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The Coriolis matrix C(q, qd), in linear time per entry: C qd is the bias force without gravity.

Many matrices have that product; this one also makes dH/dt - 2 C skew-symmetric, which is what
proofs of passivity ask for. It is sum J_i^T (I_i dJ_i/dt + B_i J_i) over the bodies, with the
factor B of a body that Echeandia and Wensing give (arXiv 2010.01033):

    B s = 1/2 (dI/dt s + s x* h),    B^T s = 1/2 (dI/dt s - s x* h),    h = I v

so that B v = v x* I v and B + B^T = dI/dt (2.65). Both parts add up over bodies like inertias and
momenta do, and need nothing but their transforms. For particles B is sum m P^T dP/dt with the
Jacobian P of a particle; hence C is the one of the Christoffel symbols, see
:mod:`rbd_ros.algorithms.christoffel`, for every type of joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import Links, placements, velocities
from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import jacobian, Matrix, Rows, trace, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.base import Joint
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, RigidInertia, Vec3


class Composite(NamedTuple):
    """
    Subtrees as rigid bodies in motion, indexed by their first body and in its coordinates.

    :param I: inertia.
    :param Idot: its rate in base coordinates (2.65), expressed in those of the body.
    :param h: momentum.
    """

    I: list[RigidInertia]
    Idot: list[RigidInertia]
    h: list[Force]


def composite(
    model: Model, tree: Links, v: Sequence[Motion],
    inertia: Sequence[RigidInertia] | None = None,
) -> Composite:
    """
    Return inertia, its rate and momentum of every subtree; entry 0 is the whole robot.

    :param v: velocity of each body.
    :param inertia: inertia of each body, where it is not the one of the model.
    """
    bodies = range(1, model.nb + 1)
    given = inertia or model.inertia
    I = [RigidInertia.zero()] + [given[i] for i in bodies]
    Idot = [RigidInertia.zero()] + [I[i].rate(v[i]) for i in bodies]                       # 2.65
    h = [Force.zero()] + [I[i] @ v[i] for i in bodies]
    for i in range(model.nb, 0, -1):
        p, X = model.parent[i], tree.Xup[i]
        I[p] = I[p] + X.inv_apply(I[i])                                                    # 6.17
        Idot[p] = Idot[p] + X.inv_apply(Idot[i])
        h[p] = h[p] + X.inv_apply(h[i])
    return Composite(I, Idot, h)


def subspace_rates(
    model: Model, tree: Links, q: Values, qd: Values, v: Sequence[Motion],
) -> list[tuple[Motion, ...]]:
    """
    Return dS/dt of every joint in base coordinates, expressed in those of its body (3.40).

    :raises ModelError: for a joint that moves with time by itself: the kinetic energy is no
        quadratic form in qd then, and no matrix C has the bias force as its product.
    """
    rates: list[tuple[Motion, ...]] = [()]
    for i in range(1, model.nb + 1):
        joint = model.joint[i]
        if joint.time_dependent:
            raise ModelError(f'joint "{model.joint_names[i - 1]}" of "{model.name}" moves with '
                             'time by itself: a robot with such a joint has no Coriolis matrix')
        ring = apparent_rate(joint, q[model.q_index[i]], qd[model.v_index[i]])
        rates.append(tuple(r + v[i].cross(s) for r, s in zip(ring, tree.S[i], strict=True)))
    return rates


def apparent_rate(joint: Joint, q: Values, qd: Values) -> tuple[Motion, ...]:
    """
    Return the derivative of the columns of S along qd, in the joint's own moving frame.

    A joint knows the sum c_J of these columns times qd. The columns one by one are found by
    differentiating what the joint computes, and only where it has such a c_J at all.
    """
    n = joint.nv
    if type(joint).bias is Joint.bias:
        return (Motion.zero(),) * n
    graph = trace(lambda x: {'S': [s.to_list() for s in joint.subspace(x)]}, {'q': (joint.nq,)})
    slopes = jacobian(graph, 'S', 'q').evaluate(q)
    along = joint.q_dot(q, qd)
    rates = [dense.dot(slopes[k:k + joint.nq], along)
             for k in range(0, len(slopes), joint.nq)]
    return tuple(Motion.from_list(rates[6 * k:6 * k + 6]) for k in range(n))


def coriolis_matrix(
    model: Model, tree: Links, q: Values, qd: Values,
    inertia: Sequence[RigidInertia] | None = None,
) -> Matrix:
    """
    Return C(q, qd) of the tree; entries between different branches are exact zeros.

    :param inertia: inertia of each body, where it is not the one of the model.
    """
    model.refuse_loops()
    v, _ = velocities(model, tree, q, qd)
    Sdot = subspace_rates(model, tree, q, qd, v)
    bodies = composite(model, tree, v, inertia)
    C: Matrix = [[0.0] * model.tree_nv for _ in range(model.tree_nv)]
    for i in range(model.nb, 0, -1):
        columns, S = model.v_index[i], tree.S[i]
        grows, turns = _factors(bodies, i, S)
        F_1 = [bodies.I[i] @ sd + Force(a + b, s.ang.cross(bodies.h[i].lin))
               for s, sd, a, b in zip(S, Sdot[i], grows, turns, strict=True)]    # I dS/dt + B S
        F_2 = [bodies.I[i] @ s for s in S]
        F_3 = [Force(a - b, Vec3.zero()) for a, b in zip(grows, turns, strict=True)]    # B^T S
        _store(C, columns, columns, [[s.dot(f) for f in F_1] for s in S])
        j = i
        while model.parent[j] != 0:
            X = tree.Xup[j]
            F_1, F_2, F_3 = ([X.inv_apply(f) for f in F] for F in (F_1, F_2, F_3))
            j = model.parent[j]
            rows = model.v_index[j]
            _store(C, rows, columns, [[s.dot(f) for f in F_1] for s in tree.S[j]])
            _store(C, columns, rows, [
                [sd.dot(f) + s.dot(g) for s, sd in zip(tree.S[j], Sdot[j], strict=True)]
                for f, g in zip(F_2, F_3, strict=True)])
    return C


def _factors(
    bodies: Composite, i: int, S: Sequence[Motion],
) -> tuple[list[Vec3], list[Vec3]]:
    """
    Return the moments of 1/2 dI/dt S and 1/2 S x* h: their sum is that of B S.

    The linear parts of the two are the same, and so the difference, B^T S, has none.
    """
    return ([(bodies.Idot[i] @ s).ang * 0.5 for s in S],
            [s.cross(bodies.h[i]).ang * 0.5 for s in S])


def _store(C: Matrix, rows: slice, columns: slice, block: Rows) -> None:
    for row, values in zip(range(rows.start, rows.stop), block, strict=True):
        C[row][columns] = values


# --- centroidal momentum --------------------------------------------------------------------


def centroidal_momentum_matrix(
    model: Model, tree: Links, inertia: Sequence[RigidInertia] | None = None,
) -> list[Force]:
    """
    Return the columns of A with A qd the momentum about the centre of mass, base axes.

    A joint moves its whole subtree as one body: its column is I^c S (6.18), carried to the
    centre of mass.
    """
    model.refuse_loops()
    still = [Motion.zero()] * (model.nb + 1)
    I = composite(model, tree, still, inertia).I
    c = I[0].h * (1.0 / I[0].m)
    X_0 = placements(model, tree)
    columns: list[Force] = [Force.zero()] * model.tree_nv
    for i in range(1, model.nb + 1):
        columns[model.v_index[i]] = [
            _about(c, X_0[i].inv_apply(I[i] @ s)) for s in tree.S[i]]
    return columns


def centroidal_momentum_rate(
    model: Model, tree: Links, q: Values, qd: Values,
    inertia: Sequence[RigidInertia] | None = None,
) -> list[Force]:
    """Return the columns of dA/dt; A qdd + dA/dt qd is the net force on the whole robot."""
    model.refuse_loops()
    v, _ = velocities(model, tree, q, qd)
    Sdot = subspace_rates(model, tree, q, qd, v)
    bodies = composite(model, tree, v, inertia)
    I, Idot, h = bodies
    over = 1.0 / I[0].m
    c, c_dot = I[0].h * over, h[0].lin * over
    X_0 = placements(model, tree)
    columns: list[Force] = [Force.zero()] * model.tree_nv
    for i in range(1, model.nb + 1):
        for k, (s, sd) in enumerate(zip(tree.S[i], Sdot[i], strict=True)):
            rate = X_0[i].inv_apply(Idot[i] @ s + I[i] @ sd)
            column = X_0[i].inv_apply(I[i] @ s)
            moving = Force(c_dot.cross(column.lin), Vec3.zero())
            columns[model.v_index[i].start + k] = _about(c, rate) - moving
    return columns


def _about(c: Vec3, f: Force) -> Force:
    """Return a force or momentum with its moment about another point."""
    return Force(f.ang - c.cross(f.lin), f.lin)
