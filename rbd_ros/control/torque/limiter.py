# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Limits of the torque that is sent, in N.m and of its rate in N.m/s, as procedures.

The rate is per second, not per step, so that it means the same at every rate of states. The memory
is what was last sent, not what was last computed.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import maximum, minimum, total
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NONE

__all__ = ['is_finite', 'Limiter', 'LimiterParameters', 'most_of', 'within']

#: N.m; keeps a division by zero finite, and no torque changes by so little
_TINY = 1e-300

#: relative error with which a torque may miss a limit, or the end of its step
_ROUNDING = 1e-9


class Limiter(Record):
    """The memory of the limits, and what they let through."""

    driver: Vector = field('n', 'N.m or N', 'what the driver adds by itself')
    last: Vector = field('n', 'N.m or N', 'total torque of the last command')
    last_sent: Vector = field('n', 'N.m or N', 'the last command itself')
    sent: Vector = field('n', 'N.m or N', 'result without the part of the driver')
    total: Vector = field('n', 'N.m or N', 'result with it')
    saturated: Vector = field('n', '', '1 where the limit in N.m acts')
    slewing: Vector = field('n', '', '1 where the limit in N.m/s acts')
    end: Vector = field('n', 'N.m or N', 'of the present step, within the limits')
    late: Vector = field('n', '', '1 where what is sent is limited in N.m/s')
    most: Vector = field('n', 'N.m or N', 'largest change in the present step')

    def begin(self, p: LimiterParameters, torque: Vector) -> None:
        """
        Set the memory, at activation; ``driver`` must be known.

        :param torque: finite torque that acts now, N.m; clamped to the limits.
        """
        self.last_sent[:] = within(torque - self.driver, most_of(p.limit))
        self.last[:] = within(torque, most_of(p.limit))

    def commit(self) -> None:
        """Remember the result: it has been sent."""
        self.last[:] = self.total
        self.last_sent[:] = self.sent

    def is_slewing(self) -> bool:
        """Return whether the limit in N.m/s acts on a joint."""
        return any(self.slewing > 0.0)

    def apply(self, p: LimiterParameters, torque: Vector, dt: float) -> None:
        """
        Find the torque that may be sent now; ``commit`` once it is sent.

        The limits hold for the total and for what is sent. If they contradict each other, because
        the driver's part has jumped, those of what is sent win: it is all that we control.

        :param torque: wanted total torque, finite.
        :param dt: time since the last torque in s.
        """
        time = p.time_of(dt)
        self.end[:] = torque
        self._aim(p)
        self.most[:] = _steps(p.rate, time)
        _along(self.last, self.end, self.most, self.total, self.slewing)
        self.end[:] = within(self.total - self.driver, most_of(p.limit))
        _along(self.last_sent, self.end, self.most, self.sent, self.late)
        self._add_driver()

    def release(self, p: LimiterParameters, torque: Vector, dt: float) -> None:
        """
        Find the torque that may be sent now on the way to what remains after release.

        Nothing remains but what the driver adds, and that may be beyond the limits. Limits of the
        total would then leave a command behind that works against the driver, and whether it is
        reached would depend on the driver. Here the limits are those of what is sent. If the total
        begins within its limits, it stays between them and the driver's part.

        :param torque: wanted total torque, finite.
        :param dt: time since the last torque in s.
        """
        time = p.time_of(dt)
        self.end[:] = torque - self.driver
        self._aim(p)
        self.most[:] = _steps(p.rate, time)
        _along(self.last_sent, self.end, self.most, self.total, self.slewing)
        self.end[:] = within(self.total, most_of(p.limit))
        _along(self.last_sent, self.end, self.most, self.sent, self.late)
        self._add_driver()

    def _aim(self, p: LimiterParameters) -> None:
        """Cut off the end of the step, and tell where."""
        self.saturated[:] = (1.0 - _ROUNDING) * most_of(p.limit) <= abs(self.end)
        self.end[:] = within(self.end, most_of(p.limit))

    def _add_driver(self) -> None:
        """Complete the results after the step of what is sent."""
        self.total[:] = self.sent + self.driver
        self.slewing[:] = maximum(self.slewing, self.late)


class LimiterParameters(Record):
    """Limits per joint."""

    period: float = field('', 's', 'nominal; a step counts as two of them at most, so that a '
                                   'stall of the process is not followed by a jump')
    limit: Vector = field('n', 'N.m or N', 'largest torque')
    rate: Vector = field('n', 'N.m/s or N/s', 'largest change per second')

    def time_of(self, dt: float) -> float:
        """
        Return the time allowed for a step: never more than two periods.

        :param dt: time since the last torque in s.
        """
        longest = 2.0 * self.period
        if dt > longest:
            return longest
        return dt if dt > 0.0 else 0.0


def is_finite(x: Vector) -> bool:
    """
    Return whether a vector holds neither NaN nor infinity.

    A sum that overflows counts as infinite: no torque is that large.
    """
    return math.isfinite(total(x))


def most_of(limit: Vector) -> Vector:
    """
    Return the largest torques; a limit that is no number allows none.

    :param limit: per joint.
    """
    return minimum(maximum(0.0, limit), NONE)


def within(torque: Vector, most: Vector) -> Vector:
    """
    Return torques within their limits; NaN stays NaN.

    :param torque: N.m.
    :param most: largest absolute values.
    """
    return minimum(maximum(torque, -most), most)


def _along(start: Vector, end: Vector, most: Vector, reached: Vector, slow: Vector) -> None:
    """
    Find how far all joints get on the straight line to the end, and whose rate limit acts.

    They move together: where axes are nearly parallel, the difference of two torques accelerates
    next to no inertia, and a joint that lags behind the other would throw both about.
    """
    share = min(minimum(1.0, most / maximum(abs(end - start), _TINY)), default=1.0)
    slow[:] = most < abs(end - start)
    reached[:] = end if 1.0 - _ROUNDING <= share else start + share * (end - start)
    reached[:] = minimum(
        maximum(reached, maximum(start - most, minimum(start, end))),
        minimum(start + most, maximum(start, end)))


def _steps(rate: Vector, dt: float) -> Vector:
    """Return the largest steps; none for a rate that is no number."""
    return minimum(maximum(0.0, rate * dt), NONE)
