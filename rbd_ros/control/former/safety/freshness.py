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
How old a received state is, by two independent measures, and how often states arrive.

The first measure is the reception on a steady clock. It cannot see a message that waited
in a queue while this process stood still: such a message is old and looks fresh. The second
measure is the stamp of the message: it must advance, and its offset to the reception must
not grow. This needs no synchronised clocks, only a constant offset. A stamp that is ahead by
more than the timeout comes from a clock that was set: the stream is checked anew. The smallest
offset is remembered across gaps: a stream that returns with a larger delay is not trusted until
the controller is reset, because a lag and a clock set back look the same.
"""

from __future__ import annotations

import enum
import math

__all__ = ['Freshness', 'Punctuality', 'RateMeter', 'StateAge']


class Freshness(enum.IntEnum):
    """How far one received message can be used."""

    PROBE = 0  # not proven yet: check it, derive nothing from it
    FRESH = 1  # proven: its age is below the timeout
    OLD = 2  # it has just arrived, but it is older than the timeout
    REPEATED = 3  # the stamp did not advance: the same state again, or an earlier one
    AHEAD = 4  # the stamp is later than the clock by more than the timeout


_FRESH = Freshness.FRESH  # looking it up takes time in each cycle


class StateAge:
    """
    Check each message of one publisher; the first ones after any gap are only probes.

    A burst out of a queue is detected because its stamps advance much faster than its
    receptions; without stamps, because receptions are much closer than the nominal period.
    """

    def __init__(self, timeout: float, *, probes: int = 5, period: float = 0.0,
                 minimum_rate: float = 0.0, drift: float = 1e-3,
                 offset: float | None = None) -> None:
        """
        Start with nothing received.

        :param timeout: age in s from which on a state must not be used.
        :param probes: number of messages after the first one that prove the stream.
        :param period: nominal period in s (0: unknown); faster probes are a burst.
        :param minimum_rate: Hz below which the probes are refused (0: any rate).
        :param drift: s/s by which the two clocks may run apart (a slewed clock: 5e-4).
        :param offset: reception minus stamp of a message without delay, in s, where both
            are read from synchronised clocks; None: take the smallest offset seen.
        """
        if not timeout > 0.0 or probes < 1:
            raise ValueError(f'timeout {timeout} must be positive, probes {probes} at least 1')
        self.timeout, self.probes, self.period = timeout, probes, period
        self.minimum_rate, self.drift, self.known_offset = minimum_rate, drift, offset
        self.restart()

    def restart(self) -> None:
        """Forget everything: the next message is the first probe."""
        self.proven = False
        self.unstamped = False
        self.excess = 0.0  # s, delay of the last message above the smallest one
        self.leaps, self.lead = 0, 0.0  # stamps that were ahead, and by how much s the last one
        self.expiry = -math.inf  # time until which the last fresh state may be used
        self.reason = ''  # why the last message was not fresh; empty: it was
        self._count = -1
        self._refused = -math.inf  # time of the last message that could not be used
        self._received = self._first = 0.0
        self._stamp = self._first_stamp = 0.0
        self._offset = math.inf
        self._measured = 0.0  # time of the last measurement of the offset, of an old state too

    def observe(self, now: float, stamp: float) -> Freshness:
        """
        Check one message.

        :param now: time of reception, s, on the clock that never jumps.
        :param stamp: ``header.stamp`` in s; 0 means that the publisher does not stamp.
        """
        if self._count < 0:
            return self._begin(now, stamp, 'its age is not proven yet')
        since = now - self._received
        timeout = self.timeout
        if since > timeout or since < 0.0:
            return self._begin(now, stamp, self._break(now, since))
        if stamp == 0.0:
            self.unstamped = True
            self.excess = 0.0
        else:
            if self.unstamped:
                return self._begin(now, stamp, 'stamps appeared after states without stamps')
            if stamp <= self._stamp:
                back = self._stamp - stamp
                self.refuse(now, f'the stamp went back by {back:.4g} s' if back > 0.0
                            else 'the stamp does not advance')
                return Freshness.REPEATED
            lead = self._lead(now, stamp)
            if lead > timeout:
                return self._leap(now, stamp, lead)
            excess = self._measure(now, stamp)
            if excess > timeout:
                self.refuse(now, self.lag())
                return Freshness.OLD
        self._received, self._stamp = now, stamp
        if not self.proven and not self._prove(now, stamp):
            return Freshness.PROBE
        self.expiry = now + timeout - self.excess
        self.reason = ''
        return _FRESH

    def expects(self, now: float, stamp: float) -> bool:
        """
        Return whether a message would continue a proven stream; changes nothing.

        :param now: time of reception, s.
        :param stamp: its stamp, s.
        """
        return (self.proven and 0.0 <= now - self._received <= self.timeout
                and (stamp == 0.0 if self.unstamped else stamp > self._stamp))

    @property
    def received(self) -> float:
        """Return the time of the last message that was used; minus infinity: none was."""
        return self._received if self._count >= 0 else -math.inf

    @property
    def stamp(self) -> float:
        """Return its stamp in s; 0: none."""
        return self._stamp

    @property
    def last_arrival(self) -> float:
        """Return the time of the last message, used or not; minus infinity if there was none."""
        return max(self._received, self._refused) if self._count >= 0 else self._refused

    def refuse(self, now: float, reason: str) -> None:
        """
        Record a message that cannot be used, so that its time does not count as silence.

        :param now: time of reception, s.
        :param reason: why not.
        """
        self._refused, self.reason = now, reason

    def lag(self) -> str:
        """Return how late the last message was."""
        return (f'stamps fall behind reception: the state was {self.excess:.4g} s old when it '
                f'arrived')

    def explain(self, now: float) -> str:
        """
        Return why the last state may no longer be used.

        The age has two parts: what the message had when it arrived, and the time since. The larger
        one is the reason, unless messages came that could not be used.

        :param now: time in s.
        """
        silent = now - self.last_arrival
        if silent > 0.5 * self.timeout:
            text = f'no message for {silent:.4g} s'
            if self.reason:
                return f'{text} (of the last one: {self.reason})'
            late = f', and the last state was {self.excess:.4g} s old when it arrived'
            return text + (late if self.excess > 0.1 * self.timeout else '')
        return self.reason or self.lag()

    def _break(self, now: float, since: float) -> str:
        """Return why the stream is checked again."""
        if since < 0.0:
            return f'the clock of reception went back by {-since:.4g} s'
        if now - self._refused <= self.timeout:
            return self.reason  # messages came all the time, but none that could be used
        return f'being checked again after a gap of {since:.4g} s'

    def _measure(self, now: float, stamp: float) -> float:
        """Compare the offset with the smallest one, which may creep up by the drift."""
        offset = now - stamp
        since, self._measured = now - self._measured, now
        if self.known_offset is not None:
            smallest = self.known_offset
            excess = offset - smallest if offset > smallest else 0.0
        else:
            smallest = self._offset + self.drift * since if since > 0.0 else self._offset
            if offset < smallest:
                smallest = offset
            self._offset = smallest
            excess = offset - smallest
        self.excess = excess
        return excess

    def _lead(self, now: float, stamp: float) -> float:
        """Return by how much a stamp is ahead of all that came before, or of its clock."""
        smallest = self._offset if self.known_offset is None else self.known_offset
        return smallest - (now - stamp) if math.isfinite(smallest) else 0.0

    def _leap(self, now: float, stamp: float, lead: float) -> Freshness:
        """
        Handle a stamp that is ahead by more than the timeout.

        Where clocks are synchronised it is wrong. Else the clock of the stamps was set, or all
        states before were old: the stream must prove again that it is fresh, by its new clock.
        """
        self.leaps += 1
        self.lead = lead
        if self.known_offset is not None:
            self.excess = 0.0
            self.refuse(now, f'the stamp is {lead:.4g} s ahead of the clock')
            return Freshness.AHEAD
        self._offset = math.inf
        return self._begin(now, stamp, f'stamps jumped ahead of reception by {lead:.4g} s')

    def _begin(self, now: float, stamp: float, reason: str) -> Freshness:
        if stamp == 0.0:
            self.excess = 0.0
        elif self.known_offset is None and self._lead(now, stamp) > self.timeout:
            return self._leap(now, stamp, self._lead(now, stamp))
        else:
            self._measure(now, stamp)
        self.proven = False
        self.unstamped = stamp == 0.0
        self.expiry = -math.inf
        self.reason = reason
        self._count = 0
        self._received = self._first = now
        self._stamp = self._first_stamp = stamp
        return Freshness.PROBE

    def _prove(self, now: float, stamp: float) -> bool:
        """Accept the stream once enough messages arrived at the rate of their stamps."""
        self._count += 1
        if self._count < self.probes:
            return False
        took = now - self._first
        made = stamp - self._first_stamp
        if took < 0.5 * self._count * self.period:
            self._begin(now, stamp, 'messages arrive in a burst')
        elif not self.unstamped and not 0.5 * made <= took <= 2.0 * made:
            self._begin(now, stamp, f'stamps advanced {made:.4g} s within {took:.4g} s')
        elif self._count < self.minimum_rate * took * (1.0 - 1e-9):
            rate = self._count / took
            self._begin(now, stamp, f'{rate:.4g} Hz is below the minimum {self.minimum_rate:.4g}')
        else:
            self.proven = True
            self.reason = ''
        return self.proven


class Punctuality:
    """
    Since when states have come in time: torque must not begin on states that are nearly too old.

    A state is in time if neither its delay nor the silence before it has used up more than half
    of what ``state_timeout`` leaves beyond one nominal period. After a start on such a state, the
    other half is left before the state can be lost, whatever comes next.
    """

    def __init__(self, timeout: float, period: float) -> None:
        """
        Start without a state.

        :param timeout: age in s from which on a state must not be used.
        :param period: nominal period of the states, s.
        """
        self.timeout = timeout
        self.most = 0.5 * max(timeout - period, 0.0)  # s of delay, or left before the last expiry
        self.restart()

    def restart(self) -> None:
        """Begin with the next state."""
        self.late = ''  # what was late last
        self._since: float | None = None  # control time of the first state of the run

    def note(self, now: float, left: float, excess: float, fresh: bool) -> bool:
        """
        Take one message of controlled joints.

        :param now: control time of reception, s.
        :param left: s for which the states before this one could still have been used.
        :param excess: delay of the message above the smallest one, s.
        :param fresh: whether it is a state that may be used.
        :returns: whether it was in time; if not, the next one begins anew.
        """
        if self._since is not None and (left < self.most or now < self._since):
            self.late = (f'the last state was {self.timeout - left:.3g} s old when the next one '
                         f'came, {self.timeout - self.most:.3g} s are allowed')
            self._since = None
        elif excess > self.most:
            self.late = f'a state was {excess:.3g} s late, {self.most:.3g} s are allowed'
            self._since = None
        elif fresh:
            self._since = now if self._since is None else self._since
            return True
        else:
            return self._since is not None
        return False

    @property
    def runs(self) -> bool:
        """Return whether the last state came in time."""
        return self._since is not None

    def lasts(self, now: float) -> float:
        """
        Return for how long every state has come in time, s.

        :param now: control time, s.
        """
        return 0.0 if self._since is None else now - self._since


class RateMeter:
    """Count events in windows of fixed length; a window below the minimum is low."""

    def __init__(self, minimum: float, window: float = 0.5) -> None:
        """
        Start without a window.

        :param minimum: Hz, below which ``low`` is set (0: never).
        :param window: length of a window in s.
        """
        self.minimum, self.window = minimum, window
        self.restart()

    def restart(self) -> None:
        """Begin a new window with the next event."""
        self.rate = 0.0  # Hz in the last complete window
        self.low = False
        self._start, self._end = math.inf, -math.inf  # of the window
        self._count = 0

    def event(self, now: float) -> bool:
        """
        Count one event.

        :param now: its time in s.
        :returns: True when it closed a window, which renews ``rate`` and ``low``.
        """
        start = self._start
        if now < start:  # the first one, or the clock went back
            self._begin(now)
            return False
        self._count += 1
        if now < self._end:
            return False
        self.rate = self._count / (now - start)
        self.low = self.rate < self.minimum * (1.0 - 1e-9)
        self._begin(now)
        return True

    def _begin(self, now: float) -> None:
        self._start, self._end = now, now + self.window * (1.0 - 1e-9)
        self._count = 0
