# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Positions of a whole robot: neutral, random, moved by a velocity, and what lies between two.

All work on the independent coordinates q and v of a model, joint by joint (RBDA 4.4, 4.5),
and are generic over floats and traced scalars.
"""

from __future__ import annotations

from collections.abc import Iterator
import math

from rbd_ros.compiler import Scalar, Values
from rbd_ros.joints import Joint
from rbd_ros.joints.base import Random
from rbd_ros.model.model import Model


def _joints(model: Model) -> Iterator[tuple[Joint, slice, slice]]:
    """Yield each joint that owns coordinates with its slices of q and v."""
    for name in model.independent_joint_names:
        yield (model.joint[model.joint_index(name)], model.position_slice(name),
               model.velocity_slice(name))


def neutral(model: Model) -> list[float]:
    """Return the position where every joint's two frames coincide."""
    return [value for joint, _, _ in _joints(model) for value in joint.neutral()]


def random_position(model: Model, rng: Random) -> list[float]:
    """
    Return a random position within the limits.

    :param rng: for instance ``numpy.random.default_rng(seed)``.
    """
    out: list[float] = []
    for joint, at_q, _ in _joints(model):
        ranges = list(zip(model.lower[at_q], model.upper[at_q], strict=True))
        free = any(math.isinf(bound) for limits in ranges for bound in limits)
        values = joint.random(rng) if free else [0.0] * len(ranges)
        out += [_within(low, high, value, rng)
                for (low, high), value in zip(ranges, values, strict=True)]
    return out


def _within(low: float, high: float, value: float, rng: Random) -> float:
    """Return a number between two limits, of which the value is drawn where one is infinite."""
    if math.isfinite(low) and math.isfinite(high):
        return 2.0 * float(rng.uniform(0.5 * low, 0.5 * high))  # the range itself may overflow
    if value < low:
        return low + (low - value)          # mirrored: as far beyond the one limit there is
    return high - (value - high) if value > high else value


def integrate(model: Model, q: Values, step: Values) -> list[Scalar]:
    """Return the position reached from q at the constant velocity ``step`` in unit time."""
    return [value for joint, at_q, at_v in _joints(model)
            for value in joint.integrate(q[at_q], step[at_v])]


def difference(model: Model, q0: Values, q1: Values) -> list[Scalar]:
    """Return the step that integrates from q0 to q1."""
    return [value for joint, at_q, _ in _joints(model)
            for value in joint.difference(q0[at_q], q1[at_q])]


def normalise(model: Model, start: Values, q: Values) -> list[Scalar]:
    """
    Return the valid position nearest to q, which was reached from ``start``.

    :param q: entries that were added up, and of which some may have left what a joint allows.
    """
    return [value for joint, at_q, _ in _joints(model) for value in (
        q[at_q] if joint.additive else joint.normalise(start[at_q], q[at_q]))]


def q_dot(model: Model, q: Values, v: Values) -> list[Scalar]:
    """Return the derivative of q at the velocity v: the two differ where nq > nv."""
    return [value for joint, at_q, at_v in _joints(model)
            for value in joint.q_dot(q[at_q], v[at_v])]
