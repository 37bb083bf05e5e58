# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Handles as inputs of a kernel: where they are and which directions count may change at run time.

Frames of the model in its own directions are part of their kernel, which the compiler simplifies.
Any other handle shares one kernel with all that sit on the same body and have as many directions:
a new point compiles nothing. With a mask, directions are switched off and on in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from rbd_ros.algorithms.handles.opspace import FULL, Handle
from rbd_ros.compiler import Rows, Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.model.parts import Frame
from rbd_ros.spatial import Mat3, Transform, Vec3

#: Inputs of a kernel: E by rows and r of each handle, from body to handle coordinates; and the
#: directions of all handles, one after another; and for each of these, where a handle has a mask,
#: 1 if it counts, else 0.
INPUTS = ('placements', 'directions', 'mask')


class Pattern(NamedTuple):
    """
    All that a kernel knows of its handles beforehand.

    :param bodies: index of the body that carries each handle.
    :param counts: number of its directions.
    :param masked: whether some of these may not count.
    """

    bodies: tuple[int, ...]
    counts: tuple[int, ...]
    masked: bool

    @classmethod
    def of(cls, handles: Sequence[Handle]) -> Pattern:
        """Return the pattern of some handles."""
        return cls(tuple(handle.frame.body for handle in handles),
                   tuple(len(handle.rows) for handle in handles),
                   any(handle.mask is not None for handle in handles))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the inputs."""
        return INPUTS if self.masked else INPUTS[:2]

    @property
    def label(self) -> str:
        """Return the pattern in words."""
        words = [f'body {body} x {n}' for body, n in zip(self.bodies, self.counts, strict=True)]
        return ' '.join([*words, 'masked'] if self.masked else words)

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the inputs."""
        n = sum(self.counts)
        return dict(zip(self.inputs, ((len(self.bodies), 12), (n, 6), (n,))))

    def handles(self, placements: Rows, directions: Rows, mask: Values = ()) -> tuple[Handle, ...]:
        """Return handles of plain or traced scalars from the inputs."""
        spans = pairwise(accumulate(self.counts, initial=0))
        return tuple(
            Handle(Frame('', body, Transform(Mat3((x[0:3], x[3:6], x[6:9])), Vec3(*x[9:12]))),
                   tuple(tuple(row) for row in directions[start:stop]),
                   tuple(mask[start:stop]) if self.masked else None)
            for body, x, (start, stop) in zip(self.bodies, placements, spans, strict=True))


def mask_of(handles: Sequence[Handle]) -> list[Scalar] | None:
    """Return the masks of all directions, one after another; None where no handle has one."""
    if all(handle.mask is None for handle in handles):
        return None
    return [m for handle in handles for m in handle.mask or (1.0,) * len(handle.rows)]


def values(handles: Sequence[Handle]) -> Mapping[str, list[Any]]:
    """Return the inputs of some handles."""
    placements = [[*(x for row in handle.frame.placement.E.rows for x in row),
                   *handle.frame.placement.r] for handle in handles]
    directions = [list(row) for handle in handles for row in handle.rows]
    mask = mask_of(handles)
    given = (placements, directions) if mask is None else (placements, directions, mask)
    return dict(zip(INPUTS, given))


def is_plain(model: Model, handle: Handle) -> bool:
    """Return whether a handle is a frame of the model in directions of its own axes."""
    return (handle.mask is None and model.frames.get(handle.frame.name) == handle.frame
            and all(row in FULL for row in handle.rows))
