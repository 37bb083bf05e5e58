# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The transform across a link and its joint, ^iX_parent = X_J X_T, in its cheapest form (RBDA A.4).

Two axial screws cost less than one general transform, so the product is kept as a sequence of
steps wherever the constants of X_T allow it: a Denavit-Hartenberg link is a constant screw about
x and a variable one about z. A general rotation in X_T is multiplied into E once for vectors,
and split into three axial rotations for inertias.
"""

from __future__ import annotations

import math
from typing import Any

from rbd_ros.compiler import is_zero, Scalar
from rbd_ros.spatial.algebra import Mat3, Vec3
from rbd_ros.spatial.axial_screw import AxialScrew
from rbd_ros.spatial.rotate import GENERAL, PERMUTATION
from rbd_ros.spatial.transform import (
    Inertia, Transform, write_angle, write_E, write_r, write_structure)
from rbd_ros.spatial.value import writers

# what rounding may leave of a distance that should vanish, relative to the largest one
ROUNDING = 4.0e-16


class LinkTransform(Transform):
    """
    A product of transforms that is applied step by step.

    :param vector_steps: factors for vectors, in the order of application to one of the parent.
    :param inertia_steps: factors of the same product for inertias; None if they are the same.
    """

    __slots__ = ('vector_steps', 'inertia_steps')

    vector_steps: tuple[Transform, ...]
    inertia_steps: tuple[Transform, ...]

    def __init__(self, vector_steps: tuple[Transform, ...],
                 inertia_steps: tuple[Transform, ...] | None = None) -> None:
        _vector_steps(self, vector_steps)
        _inertia_steps(self, vector_steps if inertia_steps is None else inertia_steps)
        write_structure(self, None)
        write_angle(self, None)

    def __getattr__(self, name: str) -> Mat3 | Vec3:
        """Multiply the factors the first time that E or r is wanted."""
        if name not in ('E', 'r'):
            raise AttributeError(f'LinkTransform has no attribute "{name}"')
        product = self.vector_steps[0]
        for step in self.vector_steps[1:]:
            product = step._compose(product)
        write_E(self, product.E)
        write_r(self, product.r)
        return product.E if name == 'E' else product.r

    def __reduce__(self) -> tuple[Any, ...]:
        return LinkTransform, (self.vector_steps, self.inertia_steps)

    def _forward(self, p: Vec3, s: Vec3) -> tuple[Vec3, Vec3]:
        for step in self.vector_steps:
            p, s = step._forward(p, s)
        return p, s

    def _backward(self, p: Vec3, s: Vec3) -> tuple[Vec3, Vec3]:
        for step in reversed(self.vector_steps):
            p, s = step._backward(p, s)
        return p, s

    def _inertia(self, inertia: Inertia) -> Inertia:
        for step in self.inertia_steps:
            inertia = step._inertia(inertia)
        return inertia

    def _inv_inertia(self, inertia: Inertia) -> Inertia:
        for step in reversed(self.inertia_steps):
            inertia = step._inv_inertia(inertia)
        return inertia

    def turn(self, v: Vec3) -> Vec3:
        """Return E v: a free vector of the parent in the link's components."""
        for step in self.vector_steps:
            v = step.turn(v)
        return v

    def inv_first_moment(self, m: Scalar, h: Vec3) -> Vec3:
        """Return E^T h + m r: the first moment of a mass about the parent's origin."""
        for step in reversed(self.vector_steps):
            h = step.inv_first_moment(m, h)
        return h

    def inverse(self) -> LinkTransform:
        """Return the transform to the parent's coordinates, step by step."""
        back = tuple(step.inverse() for step in reversed(self.vector_steps))
        if self.inertia_steps is self.vector_steps:
            return LinkTransform(back)
        return LinkTransform(back, tuple(s.inverse() for s in reversed(self.inertia_steps)))


_vector_steps, _inertia_steps = writers(LinkTransform)


def link_transform(X_J: Transform, X_T: Transform) -> Transform:
    """
    Return X_J X_T in the form that takes the fewest operations to apply.

    :param X_J: joint transform, usually with traced entries.
    :param X_T: constant transform from the parent's frame to the joint's.
    :returns: a Transform, one step or several.
    """
    first, *rest = X_J.vector_steps if isinstance(X_J, LinkTransform) else (X_J,)
    if X_T.structure == GENERAL:
        vectors, inertias = _after_general(first, X_T)
    elif X_T.structure == PERMUTATION:
        vectors = inertias = _after_permutation(first, X_T)
    else:
        vectors = inertias = _after_axial(first, X_T)
    if len(vectors) == 1 and vectors is inertias and not rest:
        return vectors[0]
    if vectors is inertias:
        return LinkTransform((*vectors, *rest))
    return LinkTransform((*vectors, *rest), (*inertias, *rest))


def _after_permutation(first: Transform, X_T: Transform) -> tuple[Transform, ...]:
    if X_T.E == Mat3.identity():
        return (_moved(first, X_T.r),)
    if _vanishes(first.r):
        return X_T, first          # shifting last keeps zero rows of an inertia for the rotation
    return Transform.rotation(X_T.E), _moved(first, X_T.E @ X_T.r)


def _after_axial(first: Transform, X_T: Transform) -> tuple[Transform, ...]:
    k = X_T.structure
    angle = X_T._angle_data()
    if isinstance(first, AxialScrew) and first.axis == k:
        c = first.c * angle.c - first.s * angle.s
        s = first.s * angle.c + first.c * angle.s
        return (_moved(AxialScrew(k, c, s, first.d), X_T.r),)
    r = X_T.r
    after = _across(X_T.E @ r, k, r)
    if _count(after) < _count(_across(r, k, r)):
        return AxialScrew(k, angle.c, angle.s, r[k]), _moved(first, after)
    return _moved(AxialScrew(k, angle.c, angle.s), r), first


def _after_general(first: Transform, X_T: Transform) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    E, r = X_T.E, X_T.r
    if first.structure == PERMUTATION and first.E == Mat3.identity():
        tail = Transform.translation(E @ r + first.r)
        return (Transform.rotation(E), tail), (*three_rotations(E, 2), tail)
    whole = first._compose(X_T)
    if not isinstance(first, AxialScrew):
        return (whole,), (whole,)
    one, two, three = three_rotations(E, first.axis)
    c = first.c * three.c - first.s * three.s        # the third turns about the joint's own axis
    s = first.s * three.c + first.c * three.s
    last = AxialScrew(first.axis, c, s, first.d)
    if one.structure == PERMUTATION:
        steps = (one, *_after_nearly_axial(last, Transform(two.E, one.E @ r)))
    else:
        steps = (_moved(one, r), two, last)
    general = PERMUTATION not in (one.structure, two.structure)
    return ((whole,), steps) if general else (steps, steps)


def _after_nearly_axial(first: Transform, X_T: Transform) -> tuple[Transform, ...]:
    if X_T.structure == PERMUTATION:
        return _after_permutation(first, X_T)
    return _after_axial(first, X_T)


def three_rotations(E: Mat3, k: int) -> tuple[AxialScrew, AxialScrew, AxialScrew]:
    """
    Split a constant rotation into rotations about k, k + 1 and k, in the order of application.

    :param E: rotation matrix of plain floats.
    :param k: coordinate axis 0, 1 or 2.
    """
    o, p = (k + 1) % 3, (k + 2) % 3
    e = E.rows
    sine = math.hypot(e[k][o], e[k][p])                    # E_kk is the cosine of the middle one
    if sine == 0.0:
        return (AxialScrew(k, 1.0, 0.0), AxialScrew(o, e[k][k], 0.0),
                AxialScrew(k, e[o][o], e[o][p] * e[k][k]))
    return (AxialScrew(k, *_unit(-e[k][p], e[k][o])), AxialScrew(o, *_unit(e[k][k], sine)),
            AxialScrew(k, *_unit(e[p][k], e[o][k])))


def _unit(c: Scalar, s: Scalar) -> tuple[Scalar, Scalar]:
    """Return a pair of length one; where one is exactly zero, the other is exactly +-1."""
    if c == 0.0 or s == 0.0:
        return (math.copysign(1.0, c), 0.0) if s == 0.0 else (0.0, math.copysign(1.0, s))
    length = math.hypot(c, s)
    return c / length, s / length


def _moved(first: Transform, r: Vec3) -> Transform:
    """Return first xlt(r)."""
    if _vanishes(r):
        return first
    if isinstance(first, AxialScrew) and _vanishes(_across(r, first.axis, r)):
        return AxialScrew(first.axis, first.c, first.s, first.d + r[first.axis])
    return Transform(first.E, first.r + r)


def _across(r: Vec3, k: int, scale: Vec3) -> Vec3:
    """Return r without its component k, and without what is rounding error at that scale."""
    limit = ROUNDING * max(abs(x) if type(x) is float else 0.0 for x in scale)
    return Vec3(*(0.0 if i == k or type(x) is float and abs(x) <= limit else x
                  for i, x in enumerate(r)))


def _vanishes(r: Vec3) -> bool:
    return is_zero(r.x) and is_zero(r.y) and is_zero(r.z)


def _count(r: Vec3) -> int:
    return sum(not is_zero(x) for x in r)
