# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parts of a model that are not numbered by body: frames, and joints that close loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rbd_ros.joints import Joint
from rbd_ros.spatial import Transform


@dataclass(frozen=True)
class Frame:
    """
    A named frame fixed in a body.

    :param name: its name; every link of a description has one.
    :param body: index of the movable body (0 is the base) that carries it.
    :param placement: the transform from body to frame coordinates.
    """

    name: str
    body: int
    placement: Transform

    def __hash__(self) -> int:
        """Return a hash of all, found once: handles are looked up at every call."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.body, self.placement))


@dataclass(frozen=True)
class LoopJoint:
    """
    A joint that closes a kinematic loop (RBDA 4.2, Table 4.3).

    :param name: its name.
    :param joint: the joint model, from predecessor to successor.
    :param predecessor: body index p; ``X_P`` goes from its coordinates to the joint's frame.
    :param successor: body index s; ``X_S`` goes from its coordinates to the joint's frame.
    """

    name: str
    joint: Joint
    predecessor: int
    successor: int
    X_P: Transform
    X_S: Transform

    @property
    def constraints(self) -> int:
        """Return the number of constraints n_k^c = 6 - n_k that the joint imposes (8.1)."""
        return 6 - self.joint.nv
