# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots and states for the tests of gradients."""

from __future__ import annotations

from functools import cache

import numpy as np
import rbd_ros
from rbd_ros.joints import Free, Revolute, Spherical
from rbd_ros.model.positions import random_position
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

#: Quantities with their targets: those with derivatives of their own, and some that are traced.
QUANTITIES = ('inverse_dynamics', 'forward_dynamics', 'gravity', 'bias', 'velocity', 'pose',
              'potential_energy', 'kinetic_energy', 'center_of_mass', 'mass_matrix')
OF_FRAMES = ('velocity', 'pose')


@cache
def arm() -> rbd_ros.Dynamics:
    """Return an arm whose positions are angles."""
    return rbd_ros.Dynamics(
        rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'), threads=1)


@cache
def satellite() -> rbd_ros.Dynamics:
    """Return a free body with a hinge and a ball joint: two quaternions, nq > nv."""
    builder = rbd_ros.ModelBuilder('satellite')
    hull = RigidInertia.from_com(3.0, Vec3(0.1, 0.0, 0.0), Sym3.diagonal(0.4, 0.5, 0.6))
    builder.add_body('hull', 'base', Free(), None, hull)
    builder.add_body('boom', 'hull', Revolute((1, 2, 0)), None, hull)
    return rbd_ros.Dynamics(
        builder.add_body('ball', 'boom', Spherical(), None, hull).build(), threads=1)


ROBOTS = {'arm': arm, 'satellite': satellite}


def target_of(robot: rbd_ros.Dynamics, name: str) -> tuple[str, ...]:
    """Return what a method is called with after its arrays."""
    return (list(robot.model.frames)[-1],) if name in OF_FRAMES else ()


def states(robot: rbd_ros.Dynamics, name: str, *lead: int) -> list[np.ndarray]:
    """Return inputs of a quantity; quaternions are not of unit length, as steps leave them."""
    rng = np.random.default_rng(5)
    found = []
    for each in robot.quantity(name).inputs:
        if each == 'q':
            rows = [1.1 * np.array(random_position(robot.model, rng))
                    for _ in range(int(np.prod(lead)))]
            found.append(np.array(rows).reshape(*lead, robot.model.nq))
        else:
            found.append(rng.normal(size=(*lead, robot.model.nv)))
    return found
