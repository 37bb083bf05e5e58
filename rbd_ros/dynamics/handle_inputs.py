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
Handles as inputs of a kernel: where they are and which directions count may change at run time.

Frames of the model in its own directions are part of their kernel, which the compiler simplifies.
Any other handle shares one kernel with all that sit on the same body and have as many directions:
a new point compiles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.algorithms.opspace import FULL, Handle
from rbd_ros.model.parts import Frame
from rbd_ros.spatial import Mat3, Transform, Vec3

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.model.model import Model

#: Inputs of a kernel: E by rows and r of each handle, from body to handle coordinates; and the
#: directions of all handles, one after another.
INPUTS = ('placements', 'directions')


class Pattern(NamedTuple):
    """
    All that a kernel knows of its handles beforehand.

    :param bodies: index of the body that carries each handle.
    :param counts: number of its directions.
    """

    bodies: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, handles: Sequence[Handle]) -> Pattern:
        """Return the pattern of some handles."""
        return cls(tuple(handle.frame.body for handle in handles),
                   tuple(len(handle.rows) for handle in handles))

    @property
    def label(self) -> str:
        """Return the pattern in words."""
        return ' '.join(f'body {body} x {n}' for body, n in zip(*self, strict=True))

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the inputs."""
        return dict(zip(INPUTS, ((len(self.bodies), 12), (sum(self.counts), 6)), strict=True))

    def handles(
        self, placements: Sequence[Sequence[Scalar]], directions: Sequence[Sequence[Scalar]],
    ) -> tuple[Handle, ...]:
        """Return handles of plain or traced scalars from the inputs."""
        spans = pairwise(accumulate(self.counts, initial=0))
        return tuple(
            Handle(Frame('', body, Transform(Mat3((x[0:3], x[3:6], x[6:9])), Vec3(*x[9:12]))),
                   tuple(tuple(row) for row in directions[start:stop]))
            for body, x, (start, stop) in zip(self.bodies, placements, spans, strict=True))


def values(handles: Sequence[Handle]) -> Mapping[str, list[list[Scalar]]]:
    """Return the inputs of some handles."""
    placements = [[*(x for row in handle.frame.placement.E.rows for x in row),
                   *handle.frame.placement.r] for handle in handles]
    directions = [list(row) for handle in handles for row in handle.rows]
    return dict(zip(INPUTS, (placements, directions), strict=True))


def is_plain(model: Model, handle: Handle) -> bool:
    """Return whether a handle is a frame of the model in directions of its own axes."""
    return (model.frames.get(handle.frame.name) == handle.frame
            and all(row in FULL for row in handle.rows))
