# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Coordinates that follow others: q_tree = G y + q0 (RBDA 9.6 for constant G; URDF ``mimic``).

The tree of joints has its own position and velocity vectors; a robot with mimic joints is
moved by fewer, independent ones. The coupling is kept as sparse rows, works on any scalar
type, and passes quaternions through untouched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rbd_ros.errors import ModelError
from rbd_ros.spatial import Scalar

Row = tuple[tuple[int, float], ...]


class Mimic(NamedTuple):
    """One joint follows another: q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Coupling:
    """
    The map from independent to tree coordinates.

    :param rows_q: per tree position, pairs (independent position, coefficient).
    :param q0: per tree position, the offset.
    :param rows_v: per tree velocity, pairs (independent velocity, coefficient).
    :param nq: number of independent positions.
    :param nv: number of independent velocities.
    :param followers: indices of the bodies whose joints own no coordinate.
    :param leaders: per follower, the index of the body whose joint it follows.
    """

    rows_q: tuple[Row, ...]
    q0: tuple[float, ...]
    rows_v: tuple[Row, ...]
    nq: int
    nv: int
    followers: tuple[int, ...]
    leaders: tuple[int, ...]

    @property
    def G(self) -> tuple[tuple[float, ...], ...]:
        """Return the dense matrix of velocities, tree_nv rows of nv entries."""
        dense = [[0.0] * self.nv for _ in self.rows_v]
        for out, row in zip(dense, self.rows_v, strict=True):
            for k, coefficient in row:
                out[k] += coefficient
        return tuple(map(tuple, dense))

    @property
    def coupled(self) -> frozenset[int]:
        """Return the bodies whose joints share a coordinate: followers and their leaders."""
        return frozenset(self.followers) | frozenset(self.leaders)

    def expand_q(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the tree positions G y + q0 of independent positions y."""
        scaled = _apply(self.rows_q, y)
        return [value + offset for value, offset in zip(scaled, self.q0, strict=True)]

    def expand_v(self, v: Sequence[Scalar]) -> list[Scalar]:
        """Return the tree velocities G v; the same map serves accelerations, G being constant."""
        return _apply(self.rows_v, v)

    def reduce_force(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """Return the generalised force G^T tau on the independent coordinates."""
        out: list[Scalar] = [0.0] * self.nv
        for row, force in zip(self.rows_v, tau, strict=True):
            for k, coefficient in row:
                out[k] = out[k] + coefficient * force
        return out


def _apply(rows: Sequence[Row], values: Sequence[Scalar]) -> list[Scalar]:
    out: list[Scalar] = []
    for row in rows:
        total: Scalar = 0.0
        for k, coefficient in row:
            total = total + coefficient * values[k]
        out.append(total)
    return out


def resolve(mimics: Mapping[str, Mimic]) -> dict[str, Mimic]:
    """
    Follow chains of mimic joints to the joint that moves freely.

    :param mimics: what each following joint follows.
    :returns: the same joints, each now following one that follows nothing.
    :raises ModelError: for a joint that follows itself through others.
    """
    resolved: dict[str, Mimic] = {}
    for name in mimics:
        chain = {name: None}
        leader, multiplier, offset = mimics[name]
        while leader in mimics:
            if leader in chain:
                names = list(chain)
                ring = ' -> '.join([*names[names.index(leader):], leader])
                raise ModelError(f'mimic joints follow each other in a cycle: {ring}; '
                                 'one of them must move freely')
            chain[leader] = None
            leader, factor, shift = mimics[leader]
            multiplier, offset = multiplier * factor, multiplier * shift + offset
        resolved[name] = Mimic(leader, multiplier, offset)
    return resolved
