# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A branched tree of the joints that random trees do not have."""

import numpy as np
import rbd_ros
from rbd_ros.compiler import cos, sin
from rbd_ros.joints import (Composite, Planar, Prescribed, Prismatic, RackAndPinion, Reversed,
                            Revolute, Spherical, Universal, UserJoint)
from rbd_ros.samples import families
from rbd_ros.spatial import Motion, Transform, Vec3

Z = (0.0, 0.0, 1.0)


def special_tree():
    """Return a branched tree of the joints that random trees do not have."""
    rng = np.random.default_rng(5)

    def swing(t):
        return [0.3 * sin(2.0 * t)], [0.6 * cos(2.0 * t)], [-1.2 * sin(2.0 * t)]

    def lift(q, t):
        return Transform.translation(Vec3(0.0, 0.0, q[0] + 0.2 * sin(3.0 * t)))
    moving = UserJoint(
        nq=1, nv=1, type_name='lift', time_dependent=True, transform=lift,
        subspace=lambda q, t: (Motion.unit(5),),
        drift=lambda q, t: Motion.unit(5) * (0.6 * cos(3.0 * t)),
        drift_rate=lambda q, qd, t: Motion.unit(5) * (-1.8 * sin(3.0 * t)))
    joints = (Revolute(Z), RackAndPinion(0.4), Prescribed(Revolute((1.0, 0.0, 0.0)), swing),
              Reversed(Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))), moving,
              Composite((Revolute(Z), Prismatic(Z))), Reversed(Spherical()), Planar(Z))
    parents = (0, 1, 2, 2, 4, 3, 6, 1)
    builder = rbd_ros.ModelBuilder('special')
    for i, (joint, parent) in enumerate(zip(joints, parents), 1):
        builder.add_body(f'body_{i}', f'body_{parent}' if parent else 'base', joint,
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'joint_{i}')
    return builder.build()
