# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where the links of a robot are, for pictures: in Python at once, or compiled for a motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.kinematics import links, placements
from rbd_ros.compiler import Array, Scalar, Values
from rbd_ros.dynamics.families.tree import Q, Results
from rbd_ros.dynamics.quantity import AS_TREE, FINITE, Quantity
from rbd_ros.dynamics.state import State
from rbd_ros.model.model import Model
from rbd_ros.spatial import quaternion

if TYPE_CHECKING:
    from rbd_ros.dynamics.robot import Dynamics

__all__ = ['compiled_poses', 'link_poses', 'Poses', 'read_poses']

#: From positions of joints to a row for each frame: x y z, then the quaternion w x y z.
Poses = Callable[[ArrayLike], Array]


def pose_rows(model: Model, q: Values, t: Scalar = 0.0) -> list[list[Scalar]]:
    """Return position and quaternion (w, x, y, z) of every frame at a tree position."""
    bodies, rows = placements(model, links(model, q, t)), []
    for frame in model.frames.values():
        X = frame.placement @ bodies[frame.body] if frame.body else frame.placement
        x, y, z, w = quaternion.from_rotation(X.E)
        rows.append([*X.r.to_list(), w, x, y, z])
    return rows


def _rule(s: State) -> Results:
    return {'poses': pose_rows(s.model, s.q, s.conditions.t)}


LINK_POSES = Quantity(
    'link_poses', Q, {'tree': _rule}, inertial=False, loops=AS_TREE, traits=FINITE,
    meaning='position and quaternion w, x, y, z of every frame in base coordinates')


def compiled_poses(robot: Dynamics) -> Poses:
    """Return what computes the poses of the frames of a robot by machine code."""
    robot.add(LINK_POSES)
    return lambda q: np.asarray(robot.compute(LINK_POSES, q))


def read_poses(model: Model) -> Poses:
    """Return what computes the poses of the frames without compiling."""
    return lambda q: np.array(
        pose_rows(model, model.expand_q(np.asarray(q, float).tolist())), float).reshape(-1, 7)


def link_poses(model: Model, q: ArrayLike) -> dict[str, tuple[Array, Array]]:
    """
    Return position and quaternion (w, x, y, z) of every frame of a robot in base coordinates.

    :param q: independent positions, (nq,).
    """
    rows = read_poses(model)(q)
    return {name: (row[:3], row[3:]) for name, row in zip(model.frames, rows, strict=True)}
