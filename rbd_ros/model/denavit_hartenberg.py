# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Denavit-Hartenberg parameters as input (RBDA 4.3), in the style of Craig and the Handbook.

Frame i sits at joint i with z along its axis; a_i and alpha_i lead from z_(i-1) to z_i along
x_(i-1), then d_i and theta_i along and about z_i:

    ^iX_(i-1) = rotz(theta_i) xlt(0, 0, d_i) rotx(alpha_i) xlt(a_i, 0, 0)

Of these the joint variable is theta (revolute), d (prismatic) or both (cylindrical); a helical
joint moves d by its pitch times theta. A chain of n joints has 4n + 6 parameters: two more place
the base of the first joint, four the tool behind the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rbd_ros.errors import ModelError
from rbd_ros.joints import Cylindrical, Helical, Joint, Prismatic, Revolute
from rbd_ros.spatial import Transform
from rbd_ros.spatial.constant import screw

KINDS = ('revolute', 'prismatic', 'cylindrical', 'helical')


@dataclass(frozen=True)
class Row:
    """
    The parameters of one joint; lengths in metres, angles in radians.

    :param a: distance from z_(i-1) to z_i along x_(i-1); may be negative.
    :param alpha: angle from z_(i-1) to z_i about x_(i-1).
    :param d: distance along z_i at q = 0.
    :param theta: angle about z_i at q = 0.
    :param kind: revolute, prismatic, cylindrical or helical.
    :param pitch: metres per radian of a helical joint.
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: str = 'revolute'
    pitch: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(f'Denavit-Hartenberg joint kind "{self.kind}" is not one of '
                             f'{", ".join(KINDS)}')

    def transform(self) -> Transform:
        """Return ^iX_(i-1) at q = 0."""
        z = screw(2, self.theta, self.d)
        x = screw(0, self.alpha, self.a)
        return Transform((z @ x).E, x.r + x.E.transpose_times(z.r))

    def joint(self) -> Joint:
        """Return the joint about or along z."""
        if self.kind == 'revolute':
            return Revolute()
        if self.kind == 'prismatic':
            return Prismatic()
        return Cylindrical() if self.kind == 'cylindrical' else Helical(pitch=self.pitch)


class Chain(NamedTuple):
    """Joints with the transforms before them, and the transform to the tool."""

    joints: tuple[tuple[Joint, Transform], ...]
    tool: Transform


def chain(rows: Iterable[Row], *, theta_0: float = 0.0, d_0: float = 0.0,
          tool: Row | None = None) -> Chain:
    """
    Turn Denavit-Hartenberg parameters into joints and constant transforms.

    The variable of each joint adds to its theta or d, so q = 0 is the pose of the given numbers.

    :param rows: one row per joint, from the base outward.
    :param theta_0: angle about the base's z to the x axis of the first row.
    :param d_0: distance along the base's z to the x axis of the first row.
    :param tool: constant parameters from the last joint's frame to the tool.
    :returns: pairs (joint, X_T), to be given to a model builder, and ^toolX_n.
    """
    pairs = []
    for i, row in enumerate(rows):
        X_T = row.transform()
        if i == 0 and (theta_0 or d_0):
            X_T = X_T @ screw(2, theta_0, d_0)
        pairs.append((row.joint(), X_T))
    if not pairs:
        raise ModelError('a Denavit-Hartenberg chain needs at least one row')
    return Chain(tuple(pairs), Transform.identity() if tool is None else tool.transform())
