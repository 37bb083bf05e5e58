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
Whether a sensor repeats itself, bit for bit, although it never did.

Noise is what shows that a sensor is alive. While a robot stands at its start, each joint is
watched for it: positions that go up and down, never the same twice. Such a sensor cannot
repeat itself for long. One that has shown no noise, or the steps of a coarse encoder, may: it
repeats itself whenever its joint stands.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Joints, NOBODY
from rbd_ros.control.joint_states.sources import bounded

__all__ = ['count_repeats', 'Repeats', 'repeats_nothing', 'restart_repeats', 'stuck']

#: rad or m; smaller changes are rounding errors of a simulation, not noise
_LEAST = 1e-9

#: turns of the position after which a sensor counts as noisy
_TURNS = 50.0

#: messages in a row that may repeat a position, however low the rate is
_MESSAGES = 5.0

#: how much longer a whole message may be repeated: a driver that reads slowly, or waits for its
#: bus, publishes old positions of all joints, and no single sensor is to blame
_WHOLE = 5.0


class Repeats(Record):
    """Repeated positions of the controlled joints."""

    learning: float = field('', '', '1 while the robot stands and its sensors are watched', 1.0)
    last: Vector = field('n', 'rad or m', 'last change of the position')
    time: Vector = field('n', 's', 'since the first repetition')
    turns: Vector = field('n', '', 'turns of the position')
    times: Vector = field('n', '', 'repetitions in a row')
    alone: Vector = field('n', '', 'those in which other joints moved')
    coarse: Vector = field('n', '', '1 if the sensor has shown the steps of an encoder')


def restart_repeats(x: Repeats, joints: Joints) -> None:
    """
    Forget every message and what it showed of the sensors.

    :param x: repetitions.
    :param joints: none of which repeats itself from now on.
    """
    x.learning = 1.0
    for c in range(len(x.last)):
        joints.repeated[c], joints.unusual[c] = 0.0, 0.0
        x.last[c], x.time[c], x.turns[c] = 0.0, 0.0, 0.0
        x.times[c], x.alone[c], x.coarse[c] = 0.0, 0.0, 0.0


def count_repeats(x: Repeats, joints: Joints, moved: Vector, step: Vector,
                  elapsed: Vector) -> None:
    """
    Take a message.

    :param x: repetitions.
    :param joints: get which of them repeat themselves, and of which that is unusual.
    :param moved: above 0 for controlled joints that are compared with the message before.
    :param step: changes of their positions.
    :param elapsed: s since that message.
    """
    stands = 1
    for c in range(len(moved)):
        if moved[c] > 0.0 and step[c] != 0.0:
            stands = 0  # else the message as a whole may be repeated
    for c in range(len(moved)):
        if moved[c] > 0.0:
            joints.repeated[c] = 1.0 if step[c] == 0.0 else 0.0
            if x.learning > 0.0:
                _learn(x, joints, c, step[c], stands)
            elif joints.unusual[c] > 0.0:
                _count(x, joints, c, step[c], elapsed[c], stands)


def _count(x: Repeats, joints: Joints, c: int, step: float, elapsed: float, stands: int) -> None:
    if step == 0.0:
        x.time[c] = bounded(x.time[c] + elapsed)
        x.times[c] += 1.0
        x.alone[c] += 1.0 - stands
        return
    if x.alone[c] > 1.0:  # it can repeat itself: that proves nothing any more
        joints.unusual[c] = 0.0
    x.time[c], x.times[c], x.alone[c] = 0.0, 0.0, 0.0


def _learn(x: Repeats, joints: Joints, c: int, step: float, stands: int) -> None:
    last = x.last[c]
    x.last[c] = step
    if stands > 0:
        return
    if step == 0.0 or step == -last:  # the same value as before, or as the time before that
        x.coarse[c] = 1.0
    elif step * last < 0.0 and abs(step) > _LEAST:
        x.turns[c] += 1.0
    joints.unusual[c] = 1.0 if x.turns[c] >= _TURNS and x.coarse[c] == 0.0 else 0.0


def repeats_nothing(x: Repeats) -> bool:
    """Return whether no sensor repeats itself that never did."""
    for c in range(len(x.times)):
        if x.times[c] > 0.0:
            return False
    return True


def stuck(x: Repeats, patience: float) -> int:
    """
    Return the first joint whose sensor repeats itself for too long; NOBODY: none.

    :param x: repetitions.
    :param patience: s for which it may while others do not; five times as long together.
    """
    for c in range(len(x.times)):
        most = patience if x.alone[c] > 1.0 else _WHOLE * patience
        if x.times[c] >= _MESSAGES and not x.time[c] < most * (1.0 - 1e-9):
            return c
    return NOBODY
