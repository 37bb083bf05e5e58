# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""
Soft contacts of a robot with obstacles, over plain or traced scalars (RBDA 11.8).

An obstacle is fixed in the base or carried by another body. Each contact is computed in the
coordinates of the body that carries the obstacle, in which the dents of its surface are at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.contact.soft import (
    approach, friction_force, height_after, normal_force, wrench)
from rbd_ros.compiler import less, maximum, minimum, Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.pattern import gaps, Pattern
from rbd_ros.sim.steps.step import Touch, Touched
from rbd_ros.spatial import Force, Motion, Vec3

#: Entries of the input ``surface``: normal and tangential stiffness and damping, and friction.
SURFACE = ('stiffness', 'damping', 'tangential_stiffness', 'tangential_damping', 'friction')


def soft_shapes(pattern: Pattern | None) -> dict[str, tuple[int, ...]]:
    """
    Return the shapes of the inputs: those of the pattern, of the surface and of its dents.

    Each row of ``dents`` belongs to a pair: the height of the surface, the last normal force, and
    the displacement of the contact patch in coordinates of the body that carries the obstacle.
    A robot that can touch nothing has none of these inputs.
    """
    if pattern is None:
        return {}
    return pattern.shapes() | {'surface': (len(SURFACE),), 'dents': (len(pattern.pairs), 5)}


def touching(
    model: Model, pattern: Pattern | None, x: Mapping[str, Sequence[Any]],
) -> Touch | None:
    """Return a function for the forces of soft contacts; None for a robot without them."""
    return None if pattern is None else partial(soft_contacts, model, pattern, x)


def soft_contacts(
    model: Model, pattern: Pattern, x: Mapping[str, Sequence[Any]], q: Values, v: Values,
    h: Scalar,
) -> Touched:
    """
    Return the forces of all contacts, and the new state of the surfaces.

    :param x: inputs by the names of ``soft_shapes``, ``f_ext``, and ``time`` if it matters.
    """
    t = x['time'][0] if 'time' in x else 0.0
    tree = kinematics.links(model, model.expand_q(q), t)
    X_0 = kinematics.placements(model, tree)
    velocity, _ = kinematics.velocities(
        model, tree, model.expand_q(q), model.expand_v(v, q), t)
    f_ext = [Force.from_list(row) for row in x['f_ext']]
    rows, dents = [], []
    contact: Scalar = 0.0
    moving = {b: X_0[b].inv_apply(velocity[b]) for b in {*pattern.bodies, *pattern.carriers}}
    found = gaps(pattern, X_0, x)
    for (i, k), gap, dent in zip(pattern.pairs, found, x['dents'], strict=True):
        body, carrier = pattern.bodies[i], pattern.carriers[k]
        relative = moving[body]
        if carrier:
            relative = X_0[carrier] @ (relative - moving[carrier])
        point = gap.center - gap.normal * x['balls'][i][3]
        force, new_dent, f_n = _touch(
            point, gap.normal, gap.distance, relative, x['surface'], dent, h)
        if carrier:
            point, force = X_0[carrier].inv_point(point), X_0[carrier].inv_apply(force)
            f_ext[carrier - 1] = f_ext[carrier - 1] - force
        f_ext[body - 1] = f_ext[body - 1] + force
        contact = maximum(contact, less(0.0, f_n))
        rows.append([point.x, point.y, point.z, force.lin.x, force.lin.y, force.lin.z])
        dents.append(new_dent)
    return Touched([f.to_list() for f in f_ext], contact,
                   {'contact_forces': rows, 'new_dents': dents})


def _touch(
    point: Vec3, normal: Vec3, p: Scalar, v: Motion, surface: Values, dent: Values, h: Scalar,
) -> tuple[Force, list[Scalar], Scalar]:
    """Return the force at one contact, the new state of its surface, and the normal force."""
    K, D, K_t, D_t, mu = surface
    z_old, f_old, *shift = dent
    motion = approach(point, normal, v, Motion.zero())
    z = height_after(K, D, z_old, f_old, p, h)
    found = normal_force(K, D, z, p, motion.rate)
    x = Vec3(*shift)
    x = x - normal * normal.dot(x)                      # the normal may have turned
    slide = motion.sliding
    along = friction_force(K_t, D_t, mu, [x.x, x.y, x.z], [slide.x, slide.y, slide.z],
                           found.force)
    force = wrench(point, normal, found.force, Vec3(*along.force))
    moved = [a + h * b for a, b in zip((x.x, x.y, x.z), along.rate, strict=True)]
    return force, [minimum(z, p), found.force, *moved], found.force
