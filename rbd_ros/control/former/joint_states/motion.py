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
Whether a message is plausible, compared with the one before.

A position must be reachable from the last one that was accepted, from whatever source: this finds
a sensor that fails, and two sources of one joint that disagree. A joint that is faster than it may
be is no failing sensor: what its velocities say of the way counts as reachable, and so does the
way that it made before, in positions that were accepted. Positions and velocities must describe
the same motion: their difference is collected in a leaky sum, which divided by its time is the
velocity by which the two disagree. Beyond the velocity limit, velocities that follow the positions
as a filter does agree with them. Missing velocities are differences of positions.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.joint_states.layout import AgeLimits, Layout, Values
from rbd_ros.control.former.joint_states.repeats import Repeats
from rbd_ros.control.former.safety.limits import is_finite
from rbd_ros.control.former.safety.monitors import Patience
from rbd_ros.control.throttle import short_list

__all__ = ['REACH', 'STRAY', 'WINDOW', 'Motion']

Array = npt.NDArray[np.float64]

#: s over which positions and velocities are compared
WINDOW = 0.1

#: velocity in units of its limit with which a joint can reach another position, in addition to
#: the velocity that it had and has
REACH = 1.5

#: share of the velocity by which positions and velocities may disagree: filters are late
STRAY = 0.5

#: s of the slowest filter of velocities that still follow the positions
_SLOWEST = 0.05

#: s by which messages of two publishers may be late against each other
_LATE = 0.02

#: bound of the sum, relative to its limit: one absurd velocity is forgotten within 10 ms
_MEMORY = 1.1

#: messages that may always disagree, however low the rate is
_LEAST = 5

#: messages that may disagree at once, and how many are forgotten per second: a second publisher
#: that is much slower than the first must not pass for a sensor with occasional errors
_ERRORS, _FORGOTTEN = 10.0, 1.0

#: changes between two sources of one joint after which there are two, not a new layout
_SWAPS = 10


class Motion:
    """Compare positions and velocities of the controlled joints with earlier messages."""

    def __init__(self, names: Sequence[str], controlled: Sequence[int],
                 continuous: frozenset[int], limits: AgeLimits) -> None:
        """
        Start without bounds: everything is plausible until ``bound`` is called.

        :param names: of all joints.
        :param controlled: positions of the controlled ones among them.
        :param continuous: those whose position may wrap.
        :param limits: ages, and the filter of differenced velocities.
        """
        self._names, self._continuous, self._limits = tuple(names), continuous, limits
        self._place = {int(j): c for c, j in enumerate(controlled)}
        n = len(self._place)
        self._speed, self._tolerance, self._most = ([math.inf] * n for _ in range(3))
        self.allowed = np.full(n, math.inf)  # how far ``mismatch`` may go at the present speed
        self._step = 2.0 * limits.period or 1e-3  # s that a message stands for
        self.patience = Patience(0.0)
        self.repeats = Repeats(n)
        self.speed = np.zeros(n)  # velocity of the message before, as accepted
        self.elapsed = 0.0  # s since then
        self.differenced = False  # whether the last message lacked velocities
        self.mismatch = np.zeros(n)  # rad or m by which positions ran away from velocities
        self.restart()

    def bound(self, speed: Array, tolerance: Array, mismatch: Array, patience: float) -> None:
        """
        Take bounds, one number per controlled joint.

        :param speed: velocity limits; infinity: none.
        :param tolerance: noise and quantisation of a position, rad or m.
        :param mismatch: how far positions may run away from velocities, rad or m; farther
            by ``STRAY`` where both are beyond the velocity limit.
        :param patience: s for which implausible messages are just ignored.
        """
        self._speed, self._tolerance = speed.tolist(), tolerance.tolist()
        self._most, self.allowed[:] = mismatch.tolist(), mismatch
        self.patience.most = max(patience, _LEAST * self._step)

    def restart(self) -> None:
        """Forget every message."""
        self._source: list[Layout | None] = [None] * len(self._place)
        self.carrier: Layout | None = None  # that brought controlled joints last
        self.wrong = ''  # why the messages are no longer believed
        self.reason = ''  # why the last implausible one was so
        self._swaps = self._count = 0
        self._errors, self._erred = 0.0, 0.0  # number, control time of the last one
        self._moves: list[tuple[int, int, float, float]] = []
        self._pace = [0.0] * len(self._place)  # velocity of the last step that was accepted
        self._paced: Layout | None = None  # kind of message that made it
        self._paced_at = 0.0  # and its time
        self._late = [0.0] * len(self._place)  # rad or m by which filters explain a mismatch
        self._fast = [0.0] * len(self._place)  # s for which a joint still counts as too fast
        self.mismatch[:] = 0.0
        self.patience.restart()
        self.repeats.restart()

    @property
    def calm(self) -> bool:
        """Return whether nothing was implausible lately."""
        return self.patience.empty

    def refusal(self, layout: Layout, now: float, stamp: float, velocity: Values) -> str:
        """
        Return why the positions of a message are implausible; empty if they are not.

        :param layout: its joints, with its positions.
        :param now: control time of reception, s.
        :param velocity: as in the message.
        :param stamp: ``header.stamp`` in s.
        """
        reason = ''
        moves = self._moves = []
        place, sources, last = self._place, self._source, None
        for k, (j, x) in enumerate(zip(layout.target.tolist(), layout.q.tolist())):
            c = place.get(j)
            source = None if c is None else sources[c]
            if c is None or source is None:
                continue
            if source is not last:  # most often one and the same for all joints
                last, since, positions = source, now - source.age.received, source.last_q.tolist()
                fresh = 0.0 <= since <= source.age.timeout
                elapsed, late = since, _LATE
                if source is layout and stamp and source.age.stamp:
                    elapsed = abs(stamp - source.age.stamp)
                    late = min(0.0, since + 0.5 * source.age.timeout - elapsed)
            if not fresh:  # too old to be compared
                self.mismatch[c] = 0.0
                continue
            before = positions[j]
            step = x - before
            if j in self._continuous:
                step = math.remainder(step, math.tau)
            most = self._tolerance[c] + REACH * self._speed[c] * (elapsed + late)
            if (abs(step) > most and not reason and abs(step) > most + elapsed * max(
                    self._travel(layout, source, k, step, velocity),
                    self._gone_on(source, c, step))):
                reason = self._disagreement(layout, source, j, before, x, since)
            moves.append((c, k, step, elapsed))
        if layout.mask:
            # Count messages, not time: one that disagrees may come right before one that does not.
            self._count += 1
            late = self.patience.runs_out(self._count * self._step, bool(reason))
            if reason:
                late = self._count_error(now) or late
            self.wrong = reason if late else ''
            self.reason = reason or self.reason
        return reason

    @staticmethod
    def _travel(layout: Layout, source: Layout, k: int, step: float, velocity: Values) -> float:
        """
        Return the speed in the direction of a step that a joint had before and has now.

        One message alone proves nothing: a driver that differences the positions of a failing
        sensor reports velocities that agree with every jump.
        """
        sign = math.copysign(1.0, step)
        speed = sign * source.last_qd[layout.target[k]]
        if len(velocity):
            present = float(velocity[layout.source[k]])
            if math.isfinite(present):  # a missing one will be the difference of positions
                speed = min(speed, sign * present)
        return max(speed, 0.0) if math.isfinite(speed) else 0.0

    def _gone_on(self, source: Layout, c: int, step: float) -> float:
        """
        Return the speed in the direction of a step that the positions before have shown.

        A sensor that jumps has none: its first jump is not accepted.
        """
        if self._paced is not source or self._paced_at != source.last_time:
            return 0.0  # the fast path has taken messages since
        return max(math.copysign(1.0, step) * self._pace[c], 0.0)

    def _count_error(self, now: float) -> bool:
        """Count an implausible message; return whether there were too many lately."""
        forgotten = _FORGOTTEN * max(now - self._erred, 0.0)
        self._errors, self._erred = max(self._errors - forgotten, 0.0) + 1.0, now
        return self._errors > _ERRORS

    def _disagreement(self, layout: Layout, source: Layout, joint: int, before: float, now: float,
                      since: float) -> str:
        name = self._names[joint]
        if source is layout:
            return (f'{name} jumped from {before:.4g} to {now:.4g} within {since:.3g} s: a '
                    'faulty sensor, or two publishers')
        return (f'{name} has two sources that disagree: {before:.4g} in messages of '
                f'{short_list(source.names)}, {now:.4g} in those of {short_list(layout.names)}')

    def accept(self, layout: Layout, now: float, velocity: Values, stamp: float) -> list[str]:
        """
        Accept a message: its velocity, or the difference of positions where that is missing.

        :param layout: its joints, with its positions; gets the velocities.
        :param now: control time of reception, s.
        :param velocity: as in the message.
        :param stamp: ``header.stamp`` in s.
        :returns: joints whose velocity was missing.
        """
        silent = self._velocities(layout, now, velocity, stamp)
        if layout.mask:
            self.differenced = bool(silent)
        qd, mismatch, allowed = layout.qd.tolist(), self.mismatch.tolist(), self._most.copy()
        for c, k, step, elapsed in self._moves:
            way = qd[k] * elapsed
            fade = WINDOW / (WINDOW + elapsed)
            total = (mismatch[c] + step - way) * fade
            beyond = min(abs(step), abs(way)) - self._speed[c] * elapsed
            if beyond > 0.0 and step * way > 0.0:  # too fast, on which both agree
                allowed[c] += STRAY * WINDOW * beyond / elapsed
            late = abs(total) - self._most[c]
            self._late[c] = self._late[c] * fade if late > 0.0 else 0.0
            too_fast = max(abs(step), abs(way)) > self._speed[c] * elapsed
            self._fast[c] = WINDOW if too_fast else self._fast[c] - elapsed
            if late > 0.0 and self._fast[c] > 0.0 and _follows(
                    step, layout.last_qd[layout.target[k]] * elapsed, way, elapsed):
                self._late[c] = max(self._late[c], late)
            allowed[c] = max(allowed[c], self._most[c] + self._late[c])
            most = _MEMORY * allowed[c]
            mismatch[c] = min(max(total, -most), most)
        self.mismatch[:], self.allowed[:] = mismatch, allowed
        if layout.mask:
            self.repeats.take(self._moves)
            for c, k, _, elapsed in self._moves:
                self.speed[c], self.elapsed = layout.last_qd[layout.target[k]], elapsed
        layout.last_q[layout.put], layout.last_qd[layout.put] = layout.q, layout.qd
        layout.last_time = stamp or now
        for c, _, step, elapsed in self._moves:
            self._pace[c] = step / elapsed if elapsed > 0.0 else 0.0
        self._paced, self._paced_at = layout, layout.last_time
        if layout.mask and self.carrier is not layout:
            self._swap(layout)
        return silent

    def _swap(self, layout: Layout) -> None:
        """Record that some controlled joints now come in other messages."""
        self.carrier = layout
        for j in layout.target.tolist():
            c = self._place.get(j)
            if c is not None and self._source[c] is not layout:
                self._swaps += self._source[c] is not None
                self._source[c] = layout

    def two_sources(self) -> str:
        """Return a text if joints keep coming from two sources, else an empty one."""
        if self._swaps < _SWAPS or self.carrier is None:
            return ''
        return ('controlled joints arrive in more than one kind of message, one of them '
                f'{short_list(self.carrier.names)}: each joint should have one source')

    def _velocities(self, layout: Layout, now: float, velocity: Values, stamp: float) -> list[str]:
        """Take the velocities, or difference the positions where they are missing."""
        known = len(velocity) > 0
        if known:
            qd = layout.part(velocity)
            if is_finite(qd):
                layout.qd = qd
                return []
            measured = np.asarray(velocity, dtype=float)
        layout.qd = layout.last_qd[layout.put].copy()
        dt = (stamp or now) - layout.last_time
        share = dt / (dt + self._limits.velocity_filter) if dt > 0.0 else 0.0
        silent = []
        for k, j in enumerate(layout.target.tolist()):
            if known and math.isfinite(measured[layout.source[k]]):
                layout.qd[k] = measured[layout.source[k]]
                continue
            silent.append(self._names[j])
            if math.isnan(dt):  # the first position has no difference
                layout.qd[k] = 0.0
                continue
            if not dt > 0.0:
                continue
            step = layout.q[k] - layout.last_q[j]
            if j in self._continuous:
                step = math.remainder(step, math.tau)
            layout.qd[k] += share * (step / dt - layout.qd[k])
        return silent


def _follows(step: float, before: float, way: float, elapsed: float) -> bool:
    """
    Return whether a velocity follows that of the positions at least as a slow filter does.

    :param step: change of the position.
    :param before: velocity in the message before, times the time between them.
    :param way: velocity in this one, times that time.
    :param elapsed: that time, s.
    """
    least = before + (step - before) * elapsed / (_SLOWEST + elapsed)
    return min(least, step) <= way <= max(least, step)
