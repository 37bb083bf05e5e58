# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Dynamic equivalence: inertia that may sit on either side of a joint (RBDA 9.7).

Inertia I_D can be taken from a body and given to its parent without any change of the equation
of motion if it does not resist the joint's motion and looks the same from both bodies. So three
of the ten parameters of a body on a revolute joint can be made zero, six on a prismatic one, and
a recursion that multiplies by them needs fewer operations. What is left is no physical body: its
mass is zero and its moments may be negative. It serves algorithms that only multiply by inertias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler import is_zero, Scalar
from rbd_ros.errors import ModelError
from rbd_ros.joints import (
    Cylindrical, Fixed, Helical, Joint, Planar, Prismatic, Revolute, RollPitchYaw, Spherical,
    Translation, Universal)
from rbd_ros.model.model import Model
from rbd_ros.spatial import Motion, RigidInertia, Sym3, Vec3

#: Which parameter of a revolute joint's body is made zero: a moment of inertia, or one of the
#: second moments 1/2 tr(I) 1 - I by which the 3-D form of inverse dynamics multiplies.
FORMS = ('spatial', '3d')


def conditions(S: Sequence[Motion], I: RigidInertia) -> list[Scalar]:
    """
    Return what must vanish for I to be exchangeable across a joint (9.29, 9.30).

    :param S: motion subspace of the joint.
    :returns: per column of S the force I S, and the rate of change of I as it moves with S.
    """
    out: list[Scalar] = []
    for s in S:
        moved = I.rate(s)
        out += (I @ s).to_list() + [*moved.h, *moved.I.entries()]
    return out


class Parting(NamedTuple):
    """An inertia in two parts: what may go to the parent, and what stays."""

    exchanged: RigidInertia
    rest: RigidInertia


def best_match(joint: Joint, I: RigidInertia, form: str = 'spatial') -> Parting:
    """
    Return the part of an inertia that can cross a joint and leaves the most zeros (Table 9.7).

    :param I: of the body that the joint carries, in its coordinates.
    :param form: one of ``FORMS``.
    """
    kind = type(joint)          # a class of a user's own may move in another way
    if kind is Fixed:
        return Parting(I, RigidInertia.zero())
    if kind in (Prismatic, Translation):
        return Parting(RigidInertia(0.0, Vec3.zero(), I.I),
                       RigidInertia(I.m, I.h, Sym3.zero()))
    if kind in (Spherical, RollPitchYaw, Universal):
        # Both bodies hold the centre, whether or not all rotations about it are free.
        return Parting(RigidInertia(I.m, Vec3.zero(), Sym3.zero()),
                       RigidInertia(0.0, I.h, I.I))
    if type(joint) is Revolute:
        n = Vec3(*joint.axis)
        along = n * n.dot(I.h)
        moments, rest = _about_axis(n, I.I, form)
        return Parting(RigidInertia(I.m, along, moments),
                       RigidInertia(0.0, _less(I.h, along), rest))
    if type(joint) is Cylindrical or type(joint) is Helical:
        moments, rest = _about_axis(Vec3(*joint.axis), I.I, form)
    elif type(joint) is Planar:
        moments, rest = _about_axis(Vec3(*joint.normal), I.I, form)
    else:
        return Parting(RigidInertia.zero(), I)
    return Parting(RigidInertia(0.0, Vec3.zero(), moments), RigidInertia(I.m, I.h, rest))


def _less(h: Vec3, along: Vec3) -> Vec3:
    """Return h - along, with exact zeros where the two are the same."""
    return Vec3(*(0.0 if x is y or x == y else x - y for x, y in zip(h, along, strict=True)))


def _about_axis(n: Vec3, I: Sym3, form: str) -> tuple[Sym3, Sym3]:
    """
    Return c (1 - n n^T), which turns about n unseen, and I without it.

    :param n: unit vector.
    """
    if form not in FORMS:
        raise ModelError(f'no form "{form}" of the simplified inertias; there is '
                         f'{" and ".join(FORMS)}')
    places = [k for k in range(3) if not is_zero(n[k])]
    diagonal = [I.xx, I.yy, I.zz]
    along = n.dot(I @ n)
    if len(places) != 1:
        c = 0.5 * (I.trace() - along) if form == 'spatial' else 0.5 * I.trace() - along
        moved = _ring(n, c)
        return moved, I - moved
    k = places[0]
    i, j = (k + 1) % 3, (k + 2) % 3
    c = diagonal[j] if form == 'spatial' else 0.5 * (diagonal[i] + diagonal[j] - diagonal[k])
    diagonal[i], diagonal[j] = diagonal[i] - c, diagonal[j] - c
    if form == '3d':                        # but for rounding, it is that already
        diagonal[k] = diagonal[min(i, j)] + diagonal[max(i, j)]
    xx, yy, zz = diagonal
    return _ring(n, c), Sym3(xx, I.xy, I.xz, yy, I.yz, zz)


def _ring(n: Vec3, c: Scalar) -> Sym3:
    """Return c (1 - n n^T)."""
    return Sym3(c * (n.y * n.y + n.z * n.z), -c * n.x * n.y, -c * n.x * n.z,
                c * (n.x * n.x + n.z * n.z), -c * n.y * n.z, c * (n.x * n.x + n.y * n.y))


def simplified_inertias(model: Model, form: str = 'spatial') -> tuple[RigidInertia, ...]:
    """
    Return inertias with many zeros that move as the model does (RBDA 9.7).

    Inverse dynamics, bias force, gravity and the inertia matrix keep their values; so does
    forward dynamics where no single inertia is inverted. Forces on bearings, momentum and the
    centre of mass do not.
    """
    I = list(model.inertia)
    for i in range(model.nb, 0, -1):
        exchanged, I[i] = best_match(model.joint[i], I[i], form)
        p = model.parent[i]
        if p != 0:          # the book leaves the change of coordinates out
            I[p] = I[p] + model.X_T[i].inv_apply(exchanged)
    return tuple(I)


def augmented_bodies(model: Model, *, whole: bool = False) -> list[RigidInertia]:
    """
    Return every body with the masses beyond its joints as particles at them (RBDA 9.7, end).

    A joint centre must be fixed in both bodies: joints are revolute, universal or spherical.

    :param whole: whether the mass towards the base counts too, as it does for a floating system:
        each augmented body then weighs as much as all moving bodies together. Otherwise it
        weighs as much as the subtree that it carries.
    """
    for i in range(1, model.nb + 1):
        if type(model.joint[i]) not in (Revolute, Universal, Spherical, RollPitchYaw):
            raise ModelError(f'joint "{model.joint_names[i - 1]}" of "{model.name}" is '
                             f'{model.joint[i].type_name}: augmented bodies need joints with a '
                             'centre that is fixed in both bodies')
    carried = [sum(model.inertia[j].m for j in model.subtree[i]) if i else 0.0
               for i in range(model.nb + 1)]
    out = list(model.inertia)
    for i in range(1, model.nb + 1):
        p = model.parent[i]
        if p != 0:
            out[p] = out[p] + model.X_T[i].inv_apply(_particle(carried[i]))
        if whole:
            out[i] = out[i] + _particle(model.total_mass - carried[i])
    return out


def _particle(m: Scalar) -> RigidInertia:
    """Return a particle at the origin."""
    return RigidInertia(m, Vec3.zero(), Sym3.zero())
