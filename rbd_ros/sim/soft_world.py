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
Soft contacts of a robot with fixed obstacles, over plain or traced scalars (RBDA 11.8).

Every ball of the robot meets every obstacle. Sizes, places and stiffness are inputs; which body
carries a ball, and whether an obstacle is a box or a half-space, is part of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.soft_contact import (
    approach, friction_force, height_after, normal_force, wrench)
from rbd_ros.compiler import absolute, clamp, less, less_equal, maximum, minimum, sqrt, where
from rbd_ros.sim.step import Touched
from rbd_ros.spatial import Force, Mat3, Motion, Vec3

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Model

    Values = Sequence[Scalar]

#: Entries of the surface: stiffness and damping along the normal and along the surface, friction.
SURFACE = ('stiffness', 'damping', 'tangential_stiffness', 'tangential_damping', 'friction')


class SoftPattern(NamedTuple):
    """
    All that a kernel knows of contacts beforehand.

    :param bodies: that carry each ball.
    :param boxes: of each obstacle, whether it is a box (else a half-space).
    """

    bodies: tuple[int, ...]
    boxes: tuple[bool, ...]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """
        Return the shapes of the inputs.

        ``balls``: centre in body coordinates and radius; ``obstacles``: rotation by rows, origin,
        half lengths; ``dents``: of each pair height, last force and displacement of the patch.
        """
        n, m = len(self.bodies), len(self.boxes)
        return {'balls': (n, 4), 'obstacles': (m, 15), 'surface': (len(SURFACE),),
                'dents': (n * m, 5)}


def soft_contacts(
    model: Model, pattern: SoftPattern, x: Mapping[str, Sequence], q: Values, v: Values,
    h: Scalar,
) -> Touched:
    """
    Return the forces of all contacts, and the state of the surfaces.

    :param x: inputs by the names of ``SoftPattern.shapes``, and ``f_ext``.
    """
    tree = kinematics.links(model, model.expand_q(q))
    X_0 = kinematics.placements(model, tree)
    velocity, _ = kinematics.velocities(
        model, tree, model.expand_q(q), model.expand_v(v, q))
    f_ext = [Force.from_list(row) for row in x['f_ext']]
    rows, dents = [], []
    contact: Scalar = 0.0
    pair = 0
    moving = {b: X_0[b].inv_apply(velocity[b]) for b in set(pattern.bodies)}
    for body, (*place, radius) in zip(pattern.bodies, x['balls'], strict=True):
        center = X_0[body].r + X_0[body].E.transpose_times(Vec3(*place))
        for is_box, obstacle in zip(pattern.boxes, x['obstacles'], strict=True):
            normal, distance = _gap(center, obstacle, is_box)
            found, dent, f_n = _touch(center, normal, distance - radius, radius, moving[body],
                                      x['surface'], x['dents'][pair], h)
            f_ext[body - 1] = f_ext[body - 1] + found
            contact = maximum(contact, less(0.0, f_n))
            force, point = found.lin, center - normal * radius
            rows.append([point.x, point.y, point.z, force.x, force.y, force.z])
            dents.append(dent)
            pair += 1
    return Touched([f.to_list() for f in f_ext], contact,
                   {'contact_forces': rows, 'new_dents': dents})


def _touch(
    center: Vec3, normal: Vec3, p: Scalar, radius: Scalar, v: Motion, surface: Values,
    dent: Values, h: Scalar,
) -> tuple[Force, list[Scalar], Scalar]:
    """Return the force at one contact, the state of its surface, and the normal force."""
    K, D, K_t, D_t, mu = surface
    z_old, f_old, *shift = dent
    point = center - normal * radius
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


def _gap(center: Vec3, obstacle: Values, is_box: bool) -> tuple[Vec3, Scalar]:
    """Return the normal of an obstacle nearest to a point, and the signed distance."""
    R = Mat3((tuple(obstacle[0:3]), tuple(obstacle[3:6]), tuple(obstacle[6:9])))
    x = R.transpose_times(center - Vec3(*obstacle[9:12]))
    if not is_box:
        return R @ Vec3(0.0, 0.0, 1.0), x.z
    half = obstacle[12:15]
    local = [x.x, x.y, x.z]
    gap = [a - clamp(a, -b, b) for a, b in zip(local, half, strict=True)]
    square = gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]
    outside = less(1e-24, square)
    length = sqrt(maximum(square, 1e-24))
    depth = [b - absolute(a) for a, b in zip(local, half, strict=True)]
    first = less_equal(depth[0], depth[1]) * less_equal(depth[0], depth[2])
    second = (1.0 - first) * less_equal(depth[1], depth[2])
    chosen = [first, second, 1.0 - first - second]
    inward = [c * where(less(a, 0.0), -1.0, 1.0) for c, a in zip(chosen, local, strict=True)]
    n = [where(outside, g / length, i) for g, i in zip(gap, inward, strict=True)]
    deep = minimum(depth[0], minimum(depth[1], depth[2]))
    return R @ Vec3(*n), where(outside, length, -deep)
