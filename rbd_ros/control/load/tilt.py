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

"""Where down is, of a message of an IMU: its orientation, and whether it is fresh."""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.ages import Freshness, observe
from rbd_ros.control.joint_states.sources import AgeLimits, Sources

__all__ = ['find_down', 'Tilt']


class Tilt(Record):
    """A message of an IMU, and what it says of gravity."""

    now: float = field('', 's', 'control time of reception')
    stamp_s: float = field('', 's', 'its stamp, whole seconds')
    stamp_ns: float = field('', 'ns', 'the rest of it')
    missing: bool = field('', '', 'whether the IMU reports that it has no orientation')
    word: float = field('', '', 'what is wrong with it, see LoadWord; 0: nothing')
    a: float = field('', '', 'number of the sentence')
    fresh: bool = field('', '', 'whether it may be used: its stream has proved to be fresh')
    turn: Vector = field('4', '', 'quaternion x, y, z, w from the IMU to the world, whose z is up')
    axes: Matrix = field('3 3', '', 'axes of the IMU as columns, in the base')
    down: Vector = field('4', '', 'unit vector in the base, then the control time of measuring, s')


def find_down(x: Tilt, sources: Sources, p: AgeLimits) -> None:
    """
    Find where down is.

    :param x: message; its ``word`` says what is wrong.
    :param sources: what was received before, of one kind.
    :param p: how a stream proves that it is fresh.
    """
    x.fresh, x.word, x.a = False, 0.0, 0.0
    if x.missing:
        x.word = LoadWord.NO_ORIENTATION
        return
    size = math.sqrt(x.turn[0] * x.turn[0] + x.turn[1] * x.turn[1] + x.turn[2] * x.turn[2]
                     + x.turn[3] * x.turn[3])
    if not 0.9 < size < 1.1:
        x.word, x.a = LoadWord.BAD_QUATERNION, size
        return
    a, b, c, w = x.turn[0] / size, x.turn[1] / size, x.turn[2] / size, x.turn[3] / size
    for i in range(3):  # the third row of the rotation is where the world's z is in the IMU
        x.down[i] = -(x.axes[i, 0] * 2.0 * (a * c - b * w) + x.axes[i, 1] * 2.0 * (b * c + a * w)
                      + x.axes[i, 2] * (1.0 - 2.0 * (a * a + b * b)))
    if observe(sources, p, 0, x.now, x.stamp_s, x.stamp_ns) == Freshness.FRESH:
        x.fresh, x.down[3] = True, x.now - sources.excess[0]
