# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A floating base in a simulation: its body, where it starts, and velocities without brakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler import Array
from rbd_ros.errors import SettingError
from rbd_ros.joints import Free
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.world import World
from rbd_ros.spatial import from_rpy
from rbd_ros.spatial.quaternion import from_rotation


def base_body(model: Model) -> int:
    """Return the first body on a floating joint at the base; 0 if there is none."""
    return next((i for i in range(1, model.nb + 1)
                 if model.parent[i] == 0 and isinstance(model.joint[i], Free)), 0)


def floating_velocities(model: Model) -> NDArray[np.bool_]:
    """Return which velocities belong to floating joints, which have no motor and no brake."""
    found = np.zeros(model.nv, dtype=bool)
    for i in range(1, model.nb + 1):
        if isinstance(model.joint[i], Free):
            found[model.velocity_slice(model.joint_names[i - 1])] = True
    return found


def placed_base(
    model: Model, q: Array, pose: Sequence[float] | None, world: World | None,
) -> Array:
    """
    Return a position with the floating base at its initial pose.

    :param q: position with all other joints at their initial positions.
    :param pose: x, y, z, roll, pitch, yaw in the world; None for upright at the origin, at the
        height at which the robot just touches the floor of its world.
    :raises SettingError: for a pose of the wrong length, or if the base is fixed.
    """
    base = base_body(model)
    if not base:
        if pose is not None:
            raise SettingError('initial_base_pose is given, but the base is fixed; set '
                               'floating_base to true, or leave it out')
        return q
    placed = q.copy()
    at = model.position_slice(model.joint_names[base - 1])
    if pose is None:
        placed[at] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        if world is not None:
            placed[at.start + 2] -= world.clearance(model, placed)
        return placed
    if len(pose) != 6:
        raise SettingError(f'initial_base_pose has {len(pose)} entries; it needs 6: x, y, z, '
                           'roll, pitch, yaw')
    placed[at] = [*pose[:3], *from_rotation(from_rpy(*pose[3:]))]
    return placed
