# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints whose velocity variables turn with their body: which a robot has, and how each turns."""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.joints import Composite, Free, Joint, Planar, Spherical
from rbd_ros.model.model import Model


class Turn(NamedTuple):
    """
    A joint whose velocity variables turn.

    :param body: that it carries.
    :param q: place of its positions.
    :param v: place of its velocities.
    :param turns: which of its velocities are rotations; empty where they are not about axes of the
        body.
    :param grounded: whether it turns so, and what it hangs on stands still.
    :param steady: whether all its axes are constant in the body.
    """

    body: int
    joint: Joint
    q: slice
    v: slice
    turns: tuple[int, ...]
    grounded: bool
    steady: bool


def turning_joints(model: Model) -> list[Turn]:
    """Return the joints whose velocity variables are not the derivatives of their positions."""
    found = []
    for name in model.independent_joint_names:
        i = model.joint_index(name)
        joint = model.joint[i]
        if joint.nv < 2 or joint.additive:
            continue
        turns, steady = _rotations(joint), isinstance(joint, (Free, Planar, Spherical))
        if not (steady or _frees(joint)):
            turns = ()
        above = [model.joint[k] for k in model.support[i] if k != i]
        still = not any(each.nv or each.time_dependent for each in above)
        found.append(Turn(i, joint, model.position_slice(name), model.velocity_slice(name),
                          turns, bool(turns) and still, steady))
    return found


def _rotations(joint: Joint) -> tuple[int, ...]:
    return tuple(k for k, s in enumerate(joint.subspace(joint.neutral())) if any(s.ang.to_list()))


def _frees(joint: Joint) -> bool:
    """Return whether a joint leaves its body free, by translations and then a ball joint."""
    if not isinstance(joint, Composite) or joint.nv != 6 or joint.time_dependent:
        return False
    *first, last = joint.stages
    return isinstance(last, Spherical) and not any(map(_rotations, first))
