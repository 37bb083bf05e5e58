# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A distance from the base that no posture takes a frame beyond: as if every link pointed away.

It needs no kinematics. ``rbd info`` searches for the reach itself, which is at most this.
"""

from __future__ import annotations

from collections.abc import Mapping
import math

from rbd_ros.compiler import Expr, Scalar, trace, Values
from rbd_ros.joints import Helical, Joint, Prismatic
from rbd_ros.model.model import Model
from rbd_ros.spatial import Vec3

__all__ = ['endless_slide', 'reach_bound']

Interval = tuple[float, float]

#: m beyond which a limit of a slide is none: somebody had to write a number
_ENDLESS = 1e6


def reach_bound(model: Model, frame: str, held: Mapping[str, float] | None = None) -> float:
    """
    Return an upper bound of the distance of a frame from the origin of the base, m.

    It is the sum of the offsets from joint to joint, each with what its joint slides within its
    limits. Closed loops can only make the reach smaller.

    :param model: of a robot with a fixed base.
    :param frame: name of the frame.
    :param held: joints that do not move, with their positions; these replace their limits.
    :returns: the bound; infinity if a joint on the way slides without a limit, or in another way
        than along an axis.
    """
    end = model.frame(frame)
    ranges = _ranges(model, held or {})
    lengths = [_longest(model, i, ranges) for i in model.support[end.body]]
    return sum(lengths) + _norm(end.placement.r)


def endless_slide(model: Model, frame: str) -> str | None:
    """
    Return a joint that moves a frame as far as one likes, if there is one on its way.

    :param model: of a robot with a fixed base.
    :param frame: name of the frame.
    """
    ranges, coupling = _ranges(model, {}), model.coupling
    unknown = {gear.q for gear in coupling.gears} if coupling is not None else set()
    for i in model.support[model.frame(frame).body]:
        at = model.q_index[i]
        if at.start not in unknown and not _only_turns(model.joint[i]) and not all(
                abs(bound) < _ENDLESS for each in ranges[at] for bound in each):
            return model.joint_names[i - 1]
    return None


def _ranges(model: Model, held: Mapping[str, float]) -> list[Interval]:
    """Return between which numbers each position of the tree is."""
    own = list(zip(model.lower, model.upper, strict=True))
    for name, position in held.items():
        at = model.position_slice(name)
        own[at] = [(position, position)] * (at.stop - at.start)
    coupling = model.coupling
    if coupling is None:
        return own
    ranges = []
    for row, offset in zip(coupling.rows_q, coupling.q0, strict=True):
        low = high = offset
        for k, factor in row:
            ends = sorted(factor * bound for bound in own[k])
            low, high = low + ends[0], high + ends[1]
        ranges.append((low, high))
    for gear in coupling.gears:  # of which only the law is known
        ranges[gear.q] = -math.inf, math.inf
    return ranges


def _longest(model: Model, i: int, ranges: list[Interval]) -> float:
    """Return the largest distance between the origins of a body and of the one before it."""
    joint, X_T = model.joint[i], model.X_T[i]
    if _only_turns(joint):
        return _norm((joint.transform(joint.neutral()) @ X_T).r)
    if not isinstance(joint, (Prismatic, Helical)):
        return math.inf
    ends = ranges[model.q_index[i].start]
    if not all(map(math.isfinite, ends)):
        return math.inf
    # Along a line the largest distance from a point is at one of the ends.
    return max(_norm((joint.transform([q]) @ X_T).r) for q in ends)


def _only_turns(joint: Joint) -> bool:
    """Return whether the origin of the joint's successor does not move in its predecessor."""
    moving: list[bool] = []

    def look(q: Values, t: Scalar) -> list[Scalar]:
        moving.extend(isinstance(x, Expr) for x in joint.transform(q, t).r)
        return [0.0]
    trace(look, {'q': (joint.nq,), 't': ()})
    return not any(moving)


def _norm(r: Vec3) -> float:
    return math.hypot(*r.to_list())
