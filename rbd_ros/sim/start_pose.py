# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A pose to start from, for any arm: bent, inside its limits, above its base and far from singular.

At zero many arms are stretched out (their tip cannot move along the arm) or at a stop. Poses are
drawn at random, always the same ones, and the best is improved joint by joint.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from rbd_ros.algorithms.kinematics import links, placements
from rbd_ros.compiler import Array
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral

__all__ = ['bent_pose', 'chain_of', 'condition_number']

SAMPLES, SEED = 200, 0
STEPS = (0.4, 0.15, 0.05)  # rad or parts of a stroke, of the improvement
LIMIT_MARGIN = 0.15  # part of a range that is left free at each end
LARGEST_ANGLE, LARGEST_STROKE = 2.2, 0.5  # rad and m, from zero, of joints without near limits
REST_WEIGHT = 0.05  # of the squared way from zero: joints that do not matter stay there
GROUND, GROUND_WEIGHT = 0.15, 20.0  # height above the base, in lengths of the arm, and its weight
FULL_RANK = 1e-6  # smallest ratio of singular values that is not structural


def chain_of(model: Model, joints: Sequence[str]) -> list[int]:
    """
    Return the bodies of the given joints on the longest way from the base; the last is the tip.

    :param joints: with one coordinate each.
    """
    wanted = {model.joint_index(name) for name in joints}
    best: list[int] = []
    for body in range(1, model.nb + 1):
        way, i = [], body
        while i:
            if i in wanted:
                way.append(i)
            i = model.parent[i]
        if len(way) > len(best):
            best = way[::-1]
    return best


def bent_pose(model: Model, joints: Sequence[str]) -> Array:
    """
    Return a position of a robot that suits a start; of a single joint, zero or what is nearest.

    :param model: without closed loops.
    :param joints: that may be moved.
    :returns: independent positions, (nq,); joints that are not on the longest chain are at zero
        or at the nearest position inside of their limits.
    """
    q = np.array(neutral(model), float)
    for name in joints:
        k = model.position_slice(name).start
        q[k] = min(max(q[k], model.lower[k]), model.upper[k])
    bodies = chain_of(model, joints)
    if len(bodies) < 2:
        return q
    by_body = {model.joint_index(name): model.position_slice(name).start for name in joints}
    places = [by_body[i] for i in bodies]
    low, high = _ranges(model, bodies, places)
    rest = np.clip(q[places], low, high)
    draws = np.random.default_rng(SEED).uniform(low, high, (SAMPLES, len(places)))

    def cost(x: Array) -> float:
        trial = q.copy()
        trial[places] = x
        values, heights = _figures(model, bodies, trial)
        ratio = values[0] / max(values[rank - 1], 1e-9 * values[0])
        low_by = np.maximum(GROUND - heights, 0.0).sum()
        return float(math.log(ratio) + REST_WEIGHT * ((x - rest) ** 2).sum()
                     + GROUND_WEIGHT * low_by)

    rank = _rank(model, bodies, q, places, draws[:20])
    best = min(draws, key=cost)
    least = cost(best)
    for step in STEPS:
        for _ in range(3):
            for k in range(len(best)):
                for sign in (step, -step):
                    trial = best.copy()
                    trial[k] = min(max(trial[k] + sign, low[k]), high[k])
                    if (found := cost(trial)) < least:
                        best, least = trial, found
    q[places] = np.clip(np.round(best, 2), low, high)
    return q


def condition_number(model: Model, joints: Sequence[str], q: Array) -> float:
    """Return the ratio of the largest to the smallest singular value at the end of the chain."""
    bodies = chain_of(model, joints)
    values, _ = _figures(model, bodies, q)
    return float(values[0] / max(values[min(len(values), 6) - 1], 1e-300))


def _ranges(model: Model, bodies: list[int], places: list[int]) -> tuple[Array, Array]:
    """Return between which positions each joint may start."""
    low, high = np.empty(len(places)), np.empty(len(places))
    for n, (i, k) in enumerate(zip(bodies, places, strict=True)):
        S, = model.joint[i].subspace([0.0] * model.joint[i].nq, 0.0)
        turns = any(abs(float(part)) > 0.0 for part in S.ang.to_list())
        most = LARGEST_ANGLE if turns else LARGEST_STROKE
        lower, upper = model.lower[k], model.upper[k]
        if math.isfinite(lower) and math.isfinite(upper):
            margin = LIMIT_MARGIN * (upper - lower)
            lower, upper = lower + margin, upper - margin
        centre = min(max(0.0, lower), upper)
        low[n], high[n] = max(lower, centre - most), min(upper, centre + most)
    return low, high


def _figures(model: Model, bodies: list[int], q: Array) -> tuple[Array, Array]:
    """Return the singular values of the scaled Jacobian, and heights in lengths of the arm."""
    tree = links(model, model.expand_q(q.tolist()))
    poses = placements(model, tree)
    end = poses[bodies[-1]].r
    columns = []
    length = max(sum(math.hypot(*map(float, model.X_T[i].r.to_list())) for i in bodies), 1e-3)
    for i in bodies:
        S = poses[i].inverse() @ tree.S[i][0]  # at the origin of the base
        v = S.lin + S.ang.cross(end)
        columns.append([*map(float, S.ang.to_list()), *(float(x) / length for x in v.to_list())])
    values = np.linalg.svd(np.array(columns).T, compute_uv=False)
    heights = np.array([float(poses[i].r.to_list()[2]) for i in (*bodies[2:-1], bodies[-1])])
    return values, heights / length


def _rank(model: Model, bodies: list[int], q: Array, places: list[int], draws: Array) -> int:
    """Return how many directions the end of the chain has at all."""
    most = 1
    for x in draws:
        trial = q.copy()
        trial[places] = x
        values, _ = _figures(model, bodies, trial)
        most = max(most, int((values > FULL_RANK * values[0]).sum()))
    return most
