# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Families of made-up robots for tests and benchmarks: chains, regular and random trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from types import MappingProxyType

import numpy as np

from rbd_ros.joints import (Cylindrical, Free, Helical, Joint, Planar, Prismatic, Revolute,
                            RollPitchYaw, Spherical, Translation, Universal)
from rbd_ros.model import denavit_hartenberg
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.independent import JointData
from rbd_ros.model.model import Model
from rbd_ros.spatial import Mat3, quaternion, RigidInertia, Sym3, Transform, Vec3

Axis = tuple[float, float, float]


def _perpendicular(axis: Axis) -> Axis:
    """Return a unit vector at right angles to another."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    return tuple((np.cross(axis, other) / np.linalg.norm(np.cross(axis, other))).tolist())


JOINTS: Mapping[str, Callable[[Axis], Joint]] = MappingProxyType({
    'revolute': Revolute,
    'prismatic': Prismatic,
    'helical': lambda axis: Helical(axis, 0.3),
    'cylindrical': Cylindrical,
    'planar': Planar,
    'spherical': lambda axis: Spherical(),
    'universal': lambda axis: Universal(axis, _perpendicular(axis)),
    'roll_pitch_yaw': lambda axis: RollPitchYaw(),
    'translation': lambda axis: Translation(),
    'free': lambda axis: Free(),
})


def random_rotation(rng: np.random.Generator) -> Mat3:
    """Return a rotation matrix without any exact zero or one."""
    return quaternion.rotation(rng.normal(size=4).tolist())


def random_transform(rng: np.random.Generator, size: float = 0.5) -> Transform:
    """Return a general placement within a cube of half-width ``size``, m."""
    return Transform(random_rotation(rng), Vec3(*rng.uniform(-size, size, 3).tolist()))


def random_inertia(rng: np.random.Generator) -> RigidInertia:
    """Return the inertia of a cloud of points: physical, and without any exact zero."""
    points = rng.uniform(-0.2, 0.2, (8, 3))
    masses = rng.uniform(0.1, 0.5, 8)
    m = float(masses.sum())
    c = masses @ points / m
    second = (points - c).T @ ((points - c) * masses[:, None])
    moments = (np.trace(second) * np.eye(3) - second).tolist()
    return RigidInertia.from_com(m, Vec3(*c.tolist()), Sym3.from_matrix(moments))


def random_tree(nb: int, seed: int = 0, *, joints: Sequence[str] = tuple(JOINTS),
                branching: float = 0.3, aligned: float = 0.3, name: str | None = None) -> Model:
    """
    Return a tree with random shape, joints, placements and inertias.

    :param nb: number of movable bodies.
    :param seed: the same seed gives the same tree.
    :param joints: keys of ``JOINTS`` to draw from.
    :param branching: chance that a body starts at a random earlier body, not at the last one.
    :param aligned: chance that a joint's axis is a coordinate axis, of either sign.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(name or f'tree_{nb}_{seed}')
    names = ['base']
    for i in range(1, nb + 1):
        start = int(rng.integers(len(names))) if rng.random() < branching else len(names) - 1
        axis = rng.normal(size=3)
        if rng.random() < aligned:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        x, y, z = (axis / np.linalg.norm(axis)).tolist()
        joint = JOINTS[str(rng.choice(list(joints)))]((x, y, z))
        builder.add_body(f'body_{i}', names[start], joint, random_transform(rng),
                         random_inertia(rng), joint_name=f'joint_{i}')
        names.append(f'body_{i}')
    return builder.build()


def general_chain(n: int, seed: int = 0) -> Model:
    """
    Return GU(n) of RBDA 10.3: n revolute joints, no branch, general geometry and inertias.

    Link frames follow Denavit and Hartenberg with no parameter zero, except that the base frame
    is aligned with the first joint, on whose axis gravity lies.
    """
    rng = np.random.default_rng(seed)
    rows = [denavit_hartenberg.Row()]
    for _ in range(n - 1):
        a, alpha, d = rng.uniform(0.1, 1.2, 3).tolist()
        rows.append(denavit_hartenberg.Row(a, alpha, d))
    builder = ModelBuilder(f'general_chain_{n}')
    for i, (joint, placement) in enumerate(denavit_hartenberg.chain(rows).joints, 1):
        builder.add_body(f'body_{i}', 'base' if i == 1 else f'body_{i - 1}', joint, placement,
                         random_inertia(rng), joint_name=f'joint_{i}')
    return builder.build()


def regular_tree(nb: int, branching: int = 1, *, skew: float = 0.4,
                 taper: float = 0.95) -> Model:
    """
    Return a tree of revolute joints where each body carries ``branching`` others.

    Bodies are thin rods that become ``taper`` times shorter (and lighter) at each step; the
    axis of each joint is turned by ``skew`` about the rod. ``branching=1`` is a chain.
    """
    builder = ModelBuilder(f'regular_tree_{nb}_{branching}')
    lengths = [1.0]
    for i in range(1, nb + 1):
        above = (i - 2 + branching) // branching
        length = 1.0 if above == 0 else lengths[above] * taper
        lengths.append(length)
        c, s = (1.0, 0.0) if above == 0 else (math.cos(skew), math.sin(skew))
        placement = Transform(Mat3(((1.0, 0.0, 0.0), (0.0, c, s), (0.0, -s, c))),
                              Vec3(0.0 if above == 0 else lengths[above], 0.0, 0.0))
        m, r = length**3, 0.05 * length
        rod = RigidInertia.from_com(m, Vec3(length / 2.0, 0.0, 0.0), Sym3.diagonal(
            m * r * r / 2.0, m * (3.0 * r * r + length**2) / 12.0,
            m * (3.0 * r * r + length**2) / 12.0))
        builder.add_body(f'body_{i}', f'body_{above}' if above else 'base',
                         Revolute((0.0, 0.0, 1.0)), placement, rod, joint_name=f'joint_{i}',
                         data=JointData(effort=100.0, velocity=3.0))
    return builder.build()
