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
Switching from one law to another without a step of the torque, as procedures.

At the switch the difference between the old and the new law is taken over as an offset, which then
fades along a quintic. The output is continuous by construction, whatever the two laws are; the
offset is finite and never larger than twice the limit. Where it pushes a joint in the direction of
its motion it fades faster, as fast as a continuous output allows: a slow offset would keep driving
a joint that the old law had accelerated, or that nothing holds any more.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.torque.limiter import clamped, limit_of

__all__ = ['add_offset', 'arm_fade', 'cancel_fade', 'Fade', 'note_torque', 'smooth_step']

#: share of the limit by which an offset that drives a joint falls from one torque to the next
_FALL = 0.006

#: rad/s above which a joint counts as moving
_MOVES = 0.05


class Fade(Record):
    """A fading offset that makes the torque of a new law start at that of the old one."""

    fading: float = field('', '', '1 while there is an offset')
    start: float = field('', 's', 'control time at which it began to fade')
    share: float = field('', '', 'of the offset that is left by the time', 1.0)
    armed: float = field('', '', '1 if the next torque is the first one of a new law')
    valid: float = field('', '', '1 if the last torque is known')
    last: Vector = field('n', 'N.m or N', 'last torque before the limiter')
    offset: Vector = field('n', 'N.m or N', 'what is added now')


def smooth_step(s: float) -> float:
    """
    Rise from 0 to 1 with zero first and second derivative at both ends.

    :param s: progress; values outside [0, 1] are clamped.
    """
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def arm_fade(x: Fade, duration: float) -> None:
    """
    Announce that the next torque is the first one of a new law.

    :param x: offset.
    :param duration: s of fading; 0 switches hard.
    """
    x.armed = x.valid if duration > 0.0 else 0.0


def cancel_fade(x: Fade) -> None:
    """
    Forget offset and memory, because another torque than the law's was sent.

    :param x: offset.
    """
    x.fading, x.armed, x.valid = 0.0, 0.0, 0.0


def note_torque(x: Fade, torque: Vector) -> None:
    """
    Remember a torque that is not from a law, so that a law can start from it.

    :param x: offset.
    :param torque: finite torque before the limiter, N.m.
    """
    x.last[:] = torque
    x.fading, x.armed, x.valid = 0.0, 0.0, 1.0


def add_offset(x: Fade, limit: Vector, duration: float, now: float, torque: Vector, qd: Vector,
               ) -> None:
    """
    Add the offset of now.

    :param x: offset.
    :param limit: torque limit per joint; what a law wants beyond it does not count.
    :param duration: s of fading.
    :param now: control time, s, finite.
    :param torque: finite torque of the present law, N.m; changed in place.
    :param qd: joint velocities.
    """
    if x.armed > 0.0:
        x.armed, x.fading, x.start, x.share = 0.0, 1.0, now, 1.0
        for j in range(len(torque)):
            most = limit_of(limit, j)
            x.offset[j] = clamped(x.last[j], most) - clamped(torque[j], most)
    elif x.fading > 0.0:
        _fade(x, limit, duration, now, qd)
    if x.fading > 0.0:
        torque[:] += x.offset
    x.last[:] = torque
    x.valid = 1.0


def _fade(x: Fade, limit: Vector, duration: float, now: float, qd: Vector) -> None:
    """Let the offset fade, and fall where it drives a joint."""
    share = 1.0 - smooth_step((now - x.start) / duration) if duration > 0.0 else 0.0
    share = min(share, x.share)  # never more again, whatever the duration becomes
    if not share > 0.0:
        x.fading = 0.0
        return
    ratio = share / x.share
    x.share = share
    for j in range(len(x.offset)):
        offset = x.offset[j] * ratio
        sign = 0.0
        if offset != 0.0:
            sign = 1.0 if offset > 0.0 else -1.0
        drives = max(0.0, min(qd[j] * (sign / _MOVES), 1.0))  # 1: it drives the joint
        fall = min(drives * (_FALL * limit_of(limit, j)), abs(offset))
        x.offset[j] = offset - sign * fall
