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

"""Layouts of messages: lists of names, where their values go, and how old they may become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import enum
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.safety.freshness import StateAge

__all__ = ['AgeLimits', 'Arrival', 'Layout', 'Values', 'as_slice']

Array = npt.NDArray[np.float64]
Values = Array | Sequence[float]
Index = slice | npt.NDArray[np.intp]


def as_slice(index: npt.NDArray[np.intp]) -> Index:
    """
    Return an index as a slice where it is a run: NumPy is much faster with slices.

    :param index: positions.
    """
    first = int(index[0]) if len(index) else 0
    if index.tolist() == list(range(first, first + len(index))):
        return slice(first, first + len(index))
    return index


class Arrival(enum.IntEnum):
    """What one message brought."""

    IGNORED = 0  # no joint of ours
    REJECTED = 1  # a field that we need is wrong; see ``reason``
    PROBE = 2  # age not proven yet
    PRESCRIBED = 3  # only joints that are not controlled
    STATE = 4  # controlled joints, fresh


@dataclass(frozen=True)
class AgeLimits:
    """How old joints may become, and how a stream proves that it is fresh."""

    state_timeout: float = 0.1  # s, controlled joints
    prescribed_timeout: float = 1.0  # s, all others
    minimum_rate: float = 0.0  # Hz, complete states
    period: float = 0.001  # s, nominal
    probes: int = 5
    stamp_offset: float | None = None  # s, where reception and stamp use one clock
    velocity_filter: float = 0.01  # s, time constant where velocity must be differenced


@dataclass
class Layout:
    """One list of names: where its values come from and go to."""

    source: npt.NDArray[np.intp]  # positions in the message
    target: npt.NDArray[np.intp]  # positions in the model
    whole: bool  # carries every controlled joint
    mask: int  # controlled joints carried, one bit each
    age: StateAge
    names: tuple[str, ...]  # of the message
    defect: str  # why such a message can never be used
    alone: bool  # carries every joint that must be measured
    size: int  # number of joints of the model
    take: Index = field(init=False)  # the same as source and target, fast where they are runs
    put: Index = field(init=False)
    q: Array = field(init=False)
    qd: Array = field(init=False)
    last_q: Array = field(init=False)  # of the model: positions and velocities accepted last
    last_qd: Array = field(init=False)
    last_time: float = math.nan
    until: float = -math.inf  # control time until which its last state may be used
    has_effort: bool = False  # in the last message

    def __post_init__(self) -> None:
        n = len(self.target)
        self.count = len(self.names)
        self.take, self.put = as_slice(self.source), as_slice(self.target)
        self.q, self.qd = np.zeros(n), np.zeros(n)
        self.last_q, self.last_qd = np.zeros(self.size), np.zeros(self.size)
        self.straight = n == self.count and self.source.tolist() == list(range(n))

    def part(self, values: Values) -> Array:
        """
        Return the values of our joints out of those of a message; may be the same array.

        :param values: as many as names.
        """
        if self.straight and type(values) is np.ndarray:
            return values
        return np.asarray(values, dtype=float)[self.take]
