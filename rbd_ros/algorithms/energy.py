# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Energy, momentum and centre of mass of a kinematic tree, in base coordinates (RBDA 2.12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import Links
from rbd_ros.compiler import Scalar
from rbd_ros.model.model import Model
from rbd_ros.spatial import Force, Motion, RigidInertia, Vec3


def kinetic_energy(
    model: Model, v: Sequence[Motion], inertia: Sequence[RigidInertia] | None = None,
) -> Scalar:
    """Return the kinetic energy 1/2 sum v_i . I_i v_i (2.67)."""
    I = inertia or model.inertia
    total: Scalar = 0.0
    for i in range(1, model.nb + 1):
        total = total + v[i].dot(I[i] @ v[i])
    return 0.5 * total


class Composite(NamedTuple):
    """Mass and first moment of all movable bodies together, in base coordinates."""

    m: Scalar
    h: Vec3


def composite(
    model: Model, tree: Links, inertia: Sequence[RigidInertia] | None = None,
) -> Composite:
    """Gather mass and first moment of the whole tree at the base origin."""
    I = inertia or model.inertia
    m: list[Scalar] = [0.0, *(body.m for body in I[1:])]
    h = [Vec3.zero()] + [body.h for body in I[1:]]
    for i in range(model.nb, 0, -1):
        p = model.parent[i]
        h[p] = h[p] + tree.Xup[i].inv_first_moment(m[i], h[i])
        m[p] = m[p] + m[i]
    return Composite(m[0], h[0])


def momentum(
    model: Model, tree: Links, v: Sequence[Motion],
    inertia: Sequence[RigidInertia] | None = None,
) -> Force:
    """Return the momentum sum I_i v_i about the base origin, in base coordinates (2.58)."""
    I = inertia or model.inertia
    h = [Force.zero()] + [I[i] @ v[i] for i in range(1, model.nb + 1)]
    for i in range(model.nb, 0, -1):
        h[model.parent[i]] = h[model.parent[i]] + tree.Xup[i].inv_apply(h[i])
    return h[0]
