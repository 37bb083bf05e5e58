# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Switching from one law to another without a step of the torque, as procedures.

At the switch the difference between the old and the new law is taken over as an offset, which then
fades along a quintic. The output is continuous by construction, whatever the two laws are; the
offset is finite and never larger than twice the limit. Where it pushes a joint in the direction of
its motion it fades faster, as fast as a continuous output allows: a slow offset would keep driving
a joint that the old law had accelerated, or that nothing holds any more.
"""

from __future__ import annotations

from rbd_ros.compiler.language.whole import maximum, minimum, where
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.torque.limiter import most_of, within

__all__ = ['Fade', 'smooth_step']

#: share of the limit by which an offset that drives a joint falls from one torque to the next
_FALL = 0.006

#: rad/s above which a joint counts as moving
_MOVES = 0.05


class Fade(Record):
    """A fading offset that makes the torque of a new law start at that of the old one."""

    fading: bool = field('', '', 'whether there is an offset')
    start: float = field('', 's', 'control time at which it began to fade')
    share: float = field('', '', 'of the offset that is left by the time', 1.0)
    armed: bool = field('', '', 'whether the next torque is the first one of a new law')
    valid: bool = field('', '', 'whether the last torque is known')
    last: Vector = field('n', 'N.m or N', 'last torque before the limiter')
    offset: Vector = field('n', 'N.m or N', 'what is added now')

    def arm(self, duration: float) -> None:
        """
        Announce that the next torque is the first one of a new law.

        :param duration: s of fading; 0 switches hard.
        """
        self.armed = self.valid and duration > 0.0

    def cancel(self) -> None:
        """Forget offset and memory, because another torque than the law's was sent."""
        self.fading, self.armed, self.valid = False, False, False

    def take(self, torque: Vector) -> None:
        """
        Remember a torque that is not from a law, so that a law can start from it.

        :param torque: finite torque before the limiter, N.m.
        """
        self.last[:] = torque
        self.fading, self.armed, self.valid = False, False, True

    def add(self, limit: Vector, duration: float, now: float, torque: Vector, qd: Vector) -> None:
        """
        Add the offset of now.

        :param limit: torque limit per joint; what a law wants beyond it does not count.
        :param duration: s of fading.
        :param now: control time, s, finite.
        :param torque: finite torque of the present law, N.m; changed in place.
        :param qd: joint velocities.
        """
        if self.armed:
            self.armed, self.fading, self.start, self.share = False, True, now, 1.0
            self.offset[:] = within(self.last, most_of(limit)) - within(torque, most_of(limit))
        elif self.fading:
            self._fall(limit, duration, now, qd)
        if self.fading:
            torque[:] += self.offset
        self.last[:] = torque
        self.valid = True

    def _fall(self, limit: Vector, duration: float, now: float, qd: Vector) -> None:
        """Let the offset fade, and fall where it drives a joint."""
        share = 1.0 - smooth_step((now - self.start) / duration) if duration > 0.0 else 0.0
        share = min(share, self.share)  # never more again, whatever the duration becomes
        if not share > 0.0:
            self.fading = False
            return
        self.offset[:] *= share / self.share
        self.share = share
        self.offset[:] -= _sign(self.offset) * minimum(
            _drives(self.offset, qd) * (_FALL * most_of(limit)), abs(self.offset))


def smooth_step(s: float) -> float:
    """
    Rise from 0 to 1 with zero first and second derivative at both ends.

    :param s: progress; values outside [0, 1] are clamped.
    """
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def _sign(x: Vector) -> Vector:
    return where(x != 0.0, where(x > 0.0, 1.0, -1.0), 0.0)


def _drives(offset: Vector, qd: Vector) -> Vector:
    """Return 1 where an offset drives the joint, 0 where it does not."""
    return maximum(0.0, minimum(qd * (_sign(offset) / _MOVES), 1.0))
