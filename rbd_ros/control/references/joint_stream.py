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
Streams of numbers for the joints: positions or velocities, without a word about time.

A servoing node sends them at an even rate, which is found from when they come. Each message is
good for a while: without the next one the reference comes to rest by itself.
"""

from __future__ import annotations

import enum
import math

from rbd_ros.control.interface.events import Event, NONE, Result
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.references.goal_watch import abort_goal
from rbd_ros.control.references.joint_profile import clamped, JointLimits, positive
from rbd_ros.control.references.joint_reference import JointReference, leave_path, Source
from rbd_ros.control.references.joint_requests import keep_even_speed
from rbd_ros.control.references.points import LATENESS, STREAM_HORIZON

__all__ = ['Streamed', 'take_stream']

#: share of its longest gap that a stream keeps with each message
_KEPT = 0.9


class Streamed(enum.IntEnum):
    """What the numbers of a stream are."""

    POSITIONS = 0
    VELOCITIES = 1


def take_stream(x: JointReference, p: JointLimits, u: Event, y: Result) -> None:
    """
    Take a message of a stream; a goal is aborted.

    :param u: ``numbers[0]`` says what the numbers are, see ``Streamed``; they are in the row of
        ``joints`` for positions or velocities.
    :param y: says if it is refused: it has numbers that are none.
    """
    row = 1 if u.numbers[0] == Streamed.VELOCITIES else 0
    if not (all(abs(u.joints[row]) <= NONE) and math.isfinite(u.now)):
        y.answer = ReferenceWord.NO_SET_POINT
        return
    abort_goal(x.goal, ReferenceWord.SET_POINT, 0.0)
    leave_path(x)
    _note_gap(x, u.now)
    x.profile.target[1] = x.profile.target[2] = 0.0
    if row == 1:
        _run_on(x, p, u, min(p.timeout, STREAM_HORIZON))
    else:
        for j in range(len(x.profile.pace)):
            q, before = u.joints[0, j], x.profile.state[0, j]
            x.profile.target[0, j] = before + turn(q - before) if p.continuous[j] > 0.0 else q
        keep_even_speed(x, p, (1.0 + LATENESS) * x.gap)
    x.source, x.timed_out = Source.STREAM, False
    x.received = NONE  # it comes to rest by itself


def _note_gap(x: JointReference, now: float) -> None:
    """Note the time between messages: the longest one, slowly forgotten."""
    gap = now - x.streamed
    if 0.0 <= gap <= STREAM_HORIZON:
        x.gap = max(gap, _KEPT * x.gap)
    else:  # a stream begins, or the clock has jumped
        x.gap = STREAM_HORIZON
    x.streamed = now


def _run_on(x: JointReference, p: JointLimits, u: Event, seconds: float) -> None:
    """Move at a velocity for some time, then come to rest."""
    for j in range(len(x.profile.pace)):
        a, q, qd = positive(p.acceleration[j]), x.profile.state[0, j], x.profile.state[1, j]
        v = clamped(u.joints[1, j], -p.velocity[j], p.velocity[j])
        slower = 0.0  # the way until it is as slow as wanted
        if qd * v <= 0.0:
            slower = qd * abs(qd) / (2.0 * a)
        elif abs(qd) > abs(v):
            slower = (qd * abs(qd) - v * abs(v)) / (2.0 * a)
        end = q + slower + v * seconds + v * abs(v) / (2.0 * a)
        if not p.continuous[j] > 0.0:
            end = clamped(end, min(q, p.lower[j]), max(q, p.upper[j]))
        x.profile.target[0, j] = end if math.isfinite(end) else q
        x.profile.pace[j] = abs(v) if abs(v) > 0.0 else NONE
