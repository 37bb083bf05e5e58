# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Forward dynamics by divide and conquer (RBDA 7.5).

Halves of a robot know nothing of each other until they are joined (:mod:`.joining`), so that they
can be computed side by side. All vectors are in base coordinates.
A gear ties the bodies of all its joints: it is joined in the smallest part that has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbd_ros.algorithms.kinematics import (
    Conditions, links, placements, velocities, velocity_products)
from rbd_ros.algorithms.linear.dense import add, apply, dot, subtract, transposed
from rbd_ros.algorithms.loops.implicit_form import gear_constraint, own_places
from rbd_ros.algorithms.other_forms.assembly import active_subspace
from rbd_ros.algorithms.other_forms.joining import (
    Constraint, Handles, join, Joined, side_by_side, Tie)
from rbd_ros.compiler import is_zero, Matrix, Scalar, Values
from rbd_ros.errors import SingularError
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, RigidInertia, Vec3

#: Smaller shares of the largest principal moment of a body are none.
SMALLEST = 1e-13


class _Part(NamedTuple):
    """A part of the robot: what is left of its handles, how it was joined, and of what."""

    handles: Handles
    joined: Joined | None = None
    halves: tuple[_Part, ...] = ()


def divide_and_conquer(
    model: Model, q: Values, qd: Values, tau: Values, conditions: Conditions,
) -> list[Scalar]:
    """
    Return qdd of a tree by joining halves of halves of it (RBDA 7.5).

    The recursion is as deep as the logarithm of the number of bodies. Every body needs an inertia
    that can be inverted. A rotor of inertia I_r belongs to a joint, to no body: it is a constraint
    that yields, qdd = -lambda / I_r with lambda the force that the rotor takes from the joint.

    :param q: independent positions; ``qd``, ``tau`` and the result likewise.
    """
    _refuse(model)
    own = own_places(model)[1]
    q, qd = model.expand_q(q), model.expand_v(qd, q)
    at_joints: list[Scalar] = [0.0] * model.tree_nv
    for n, force in zip(own, tau, strict=True):
        at_joints[n] = force
    leaves, joints, T_a = _in_base(model, q, qd, at_joints, conditions)
    ties = _ties(model, q, qd, joints, T_a)
    whole = _conquer(model, leaves, joints, ties, 1, model.nb)
    ground = join(whole.handles, [joints[i] for i in model.children[0]], [])
    a: list[Values] = [[0.0] * 6] * (model.nb + 1)
    _hand_out(whole, ground.forces([]), a)
    qdd: list[Scalar] = [0.0] * model.tree_nv
    for i in range(1, model.nb + 1):
        relative = subtract(subtract(a[i], a[model.parent[i]]), joints[i].c)
        qdd[model.v_index[i]] = apply(transposed(T_a[i], model.joint[i].nv), relative)     # 7.4
    return [qdd[n] for n in own]


def _ties(
    model: Model, q: Values, qd: Values, joints: Sequence[Constraint], T_a: Sequence[Matrix],
) -> list[Tie]:
    """Return the gears, K qdd = k with qdd = T_a^T (a_s - a_p - c) of each joint."""
    ties = []
    gears = gear_constraint(model, q, qd)
    for row, k in zip(gears.K, gears.k, strict=True):
        N: dict[int, list[Scalar]] = {}
        for i in range(1, model.nb + 1):
            slopes = [row.get(n, 0.0) for n in range(model.tree_nv)[model.v_index[i]]]
            if all(is_zero(slope) for slope in slopes):
                continue
            force = apply(T_a[i], slopes)
            k = k + dot(force, joints[i].c)
            N[i] = add(N.get(i, [0.0] * 6), force)
            if p := model.parent[i]:
                N[p] = subtract(N.get(p, [0.0] * 6), force)
        ties.append(Tie([(body, [[x] for x in column]) for body, column in N.items()], [k]))
    return ties


def _refuse(model: Model) -> None:
    """Raise an error where the method cannot be used."""
    model.refuse_loops()
    for name, body in zip(model.body_names[1:], model.inertia[1:], strict=True):
        if body.m <= 0.0 or _flat(body):
            raise SingularError(
                f'body "{name}" of "{model.name}" has no inverse inertia, which divide and '
                'conquer needs of each body; give it a mass with a size')


def _flat(body: RigidInertia) -> bool:
    """Return whether a body of some mass has a direction about which it has no inertia."""
    moments = np.linalg.eigvalsh(np.array(body.com_form()[2].to_list()))
    return bool(moments[0] <= SMALLEST * moments[-1])


def _in_base(
    model: Model, q: Values, qd: Values, tau: Values, conditions: Conditions,
) -> tuple[list[Handles], list[Constraint], list[Matrix]]:
    """Return every body, the joint that carries it and the joint's T_a, in base coordinates."""
    tree = links(model, q, conditions.t)
    v, v_J = velocities(model, tree, q, qd, conditions.t)
    c = velocity_products(model, q, qd, v, v_J, conditions.t)
    X_0 = placements(model, tree)
    inertia = conditions.inertia or model.inertia
    f: Matrix = [[0.0] * 6]
    T_a: list[Matrix] = [[]]
    joints = [Constraint(0, 0, [[]] * 6, [0.0] * 6)]
    Phi: list[Matrix] = [[]]
    gravity = Motion(Vec3.zero(), conditions.gravity)
    rotor: list[Scalar] = [0.0] * model.tree_nv
    for n, I_r in zip(own_places(model)[1], model.rotor_inertia, strict=True):
        rotor[n] = I_r
    for i in range(1, model.nb + 1):
        X, p = X_0[i], model.parent[i]
        T = model.joint[i].constraint_subspace(q[model.q_index[i]], conditions.t)
        # gravity as an acceleration of the base
        c_i = X.inv_apply(c[i]) - (gravity if p == 0 else Motion.zero())
        S = _columns([X.inv_apply(s) for s in tree.S[i]])
        T_a.append(active_subspace(S, len(tree.S[i])))
        geared = [(k, 1.0 / I_r) for k, I_r in enumerate(rotor[model.v_index[i]])
                  if not is_zero(I_r)]
        rows = [[*bearing, *(drive[k] for k, _ in geared)] for bearing, drive in zip(
            _columns([X.inv_apply(f) for f in T]), T_a[i], strict=True)]
        joints.append(Constraint(p, i, rows, c_i.to_list(),                          # 7.57, 9.28
                                 [0.0] * len(T) + [give for _, give in geared]))
        body, v_i = X.inv_apply(inertia[i]), X.inv_apply(v[i])
        active = apply(T_a[i], tau[model.v_index[i]])
        # the drive is a pair of external forces on the bodies at both ends (7.4, note)
        f.append(subtract(active, v_i.cross(body @ v_i).to_list()))
        f[p] = subtract(f[p], active)
        if conditions.f_ext is not None and (external := conditions.f_ext[i]) is not None:
            f[i] = add(f[i], external.to_list())
        Phi.append(_columns([body.solve(Force.unit(k)) for k in range(6)]))                # 2.74
    leaves = [Handles((i,), Phi_i, apply(Phi_i, f_i))
              for i, (Phi_i, f_i) in enumerate(zip(Phi, f, strict=True))]
    return leaves, joints, T_a


def _columns(vectors: Sequence[Motion] | Sequence[Force]) -> Matrix:
    """Return spatial vectors as the columns of a matrix."""
    return transposed([vector.to_list() for vector in vectors], 6)


def _conquer(
    model: Model, leaves: Sequence[Handles], joints: Sequence[Constraint], ties: Sequence[Tie],
    first: int, last: int,
) -> _Part:
    """Return bodies first to last, joined, with the handles that other bodies still need."""
    if first == last:
        return _Part(leaves[first])
    middle = (first + last) // 2
    halves = (_conquer(model, leaves, joints, ties, first, middle),
              _conquer(model, leaves, joints, ties, middle + 1, last))
    both = side_by_side(halves[0].handles, halves[1].handles)
    between: list[Constraint | Tie] = [joints[i] for i in range(middle + 1, last + 1)
                                       if first <= model.parent[i] <= middle]
    neighbours = {i: {model.parent[i], *model.children[i]} for i in both.bodies}
    for tie in ties:
        bodies = {body for body, _ in tie.parts}
        if min(bodies) >= first and max(bodies) <= last:
            if min(bodies) <= middle < max(bodies):
                between.append(tie)
        else:
            for i in bodies & neighbours.keys():
                neighbours[i] |= bodies
    keep = [i for i in both.bodies if any(
        not first <= other <= last for other in neighbours[i])]
    joined = join(both, between, keep)
    return _Part(joined.handles, joined, halves)


def _hand_out(part: _Part, f: Values, a: list[Values]) -> None:
    """Find the accelerations of all bodies of a part from the forces on its handles."""
    if part.joined is None:
        body, = part.handles.bodies
        a[body] = add(apply(part.handles.Phi, f), part.handles.b)
        return
    inner = part.joined.forces(f)
    start = 0
    for half in part.halves:
        end = start + len(half.handles.b)
        _hand_out(half, inner[start:end], a)
        start = end
