# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The reach of a robot: the largest distance of a frame from the base, within joint limits."""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.model.positions import random_position
from rbd_ros.model.reach_bound import endless_slide

__all__ = ['reach']

#: Number of random postures, of those to improve, and of values tried for one joint.
SAMPLES, IMPROVED, TRIALS = 500, 8, 17
#: Rounds over all joints, and the factor by which the search range shrinks after each.
ROUNDS, SHRINK = 12, 0.4


def reach(robot: Dynamics, frame: str, seed: int = 0) -> float:
    """
    Return the largest distance of a frame from the origin of the base, m.

    The best of many random postures are improved joint by joint. This finds local maxima: the
    result is a lower bound, and exact if one of the searches ends at the furthest posture.

    :param robot: with a fixed base.
    :param frame: name of the frame.
    :param seed: of the random postures.
    :returns: the distance; infinity if a joint on the way slides without a limit.
    """
    model = robot.model
    if endless_slide(model, frame) is not None:
        return math.inf
    lower, upper = np.array(model.lower, float), np.array(model.upper, float)
    single = []         # coordinates that can be varied one by one
    for name in model.independent_joint_names:
        part, joint = model.position_slice(name), model.joint[model.joint_index(name)]
        if not joint.additive:
            continue
        for k in range(part.start, part.stop):
            if not (math.isfinite(lower[k]) and math.isfinite(upper[k])):
                lower[k], upper[k] = max(lower[k], -math.pi), min(upper[k], math.pi)
            single.append(k)
    rng = np.random.default_rng(seed)
    q = np.array([random_position(model, rng) for _ in range(SAMPLES)])

    def distance(states: Array) -> Array:
        return np.linalg.norm(robot.pose(states, frame)[:, :3, 3], axis=1)
    best = q[np.argsort(-distance(q))[:IMPROVED]]
    return float(distance(_improved(best, single, lower, upper, distance)).max())


def _improved(
    q: Array, coordinates: list[int], lower: Array, upper: Array,
    distance: Callable[[Array], Array],
) -> Array:
    """Return postures that no change of a single joint improves, to the width of the grid."""
    q = q.copy()
    width = upper - lower
    rows = np.arange(len(q))
    for _ in range(ROUNDS):
        for k in coordinates:
            tried = np.repeat(q[:, None, :], TRIALS + 1, axis=1)     # the last stays as it is
            grid = q[:, k, None] + 0.5 * width[k] * np.linspace(-1.0, 1.0, TRIALS)
            tried[:, :TRIALS, k] = np.clip(grid, lower[k], upper[k])
            far = distance(tried.reshape(-1, q.shape[1])).reshape(len(q), -1)
            q = tried[rows, far.argmax(axis=1)]
        width = SHRINK * width
    return q
