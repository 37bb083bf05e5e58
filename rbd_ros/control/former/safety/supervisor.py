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
The supervisor: an explicit state machine that decides what kind of torque is due now.

It knows no robot and no control law, and its transitions stand in :mod:`.transitions`. Two clocks
enter every call: ``now`` is the control clock, on which states age and gains ramp (steady time, or
the simulated time under sim time); ``steady`` never stops and times every stop sequence, so that a
stop ends even when the simulator that feeds the other clock is dead. Without sim time they are the
same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import math
from typing import Any

from rbd_ros.control.interface.causes import Cause, Fault, Reaction
from rbd_ros.control.supervisor.states import Due, State, Timing
from rbd_ros.control.supervisor.transitions import Event, Row, ROWS

__all__ = ['Due', 'State', 'Supervisor', 'Timing']


# Tuples, not sets: members are found by identity, while the hash of an Enum is a Python call.
_LIVE = (State.RUNNING, State.RAMPING_IN, State.BRAKING, State.HOLDING)
_SILENT = (State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT)
_WORK = (State.RUNNING, State.RAMPING_IN)
_STOPPING = (State.BRAKING, State.LOST, State.RAMPING_DOWN, State.RELEASING)
_RUNNING = State.RUNNING  # looking it up takes time in each cycle
_LIVE_DUE = (Due.LAW, Due.BRAKE, Due.HOLD, Due.RAMP_LIVE)

#: s after the end of a live ramp from which on it is finished without the state
_SETTLE = 0.2


CONDITIONS: dict[str, Callable[[Any], bool]] = {
    # of the cause
    'final cause': lambda s: s.cause.reaction is Reaction.FINAL,
    'lost cause': lambda s: s.cause.reaction is Reaction.LOST,
    'good cause': lambda s: s.cause.reaction is Reaction.GOOD,
    'operator cause': lambda s: s.cause.by_operator,
    'dead man cause': lambda s: s.cause is Cause.DEAD_MAN,
    # of the causes so far
    'final': lambda s: s.final,
    'only lost': lambda s: all(f.cause.reaction is Reaction.LOST for f in s.faults),
    'only operator': lambda s: all(f.cause.by_operator for f in s.faults),
    'distrusted': lambda s: s.distrusted,
    'frozen': lambda s: s.frozen,
    # of parameters
    'recover': lambda s: s.timing.recover,
    'stop holds': lambda s: s.timing.stop_action == 'hold',
    'fault holds': lambda s: s.timing.fault_action == 'hold',
    # of states and times
    'ready': lambda s: s.ready,
    'gains full': lambda s: s.gain >= 1.0,
    'brake time over': lambda s: s.spent >= s.timing.brake_time,
    'hold time over': lambda s: s.spent >= s.timing.hold_time,
    'ramp reached': lambda s: s.blend >= 1.0 and s.reached,
    'ramp overdue': lambda s: s.steady > s.ramp_until,
    'release sent': lambda s: (s.repeats >= s.timing.release_repeats
                               or s.spent > s.timing.longest_release),
}


def rows_of(event: Event, state: State) -> Iterator[Row]:
    """Return the rows that an event may take in a state, first one first."""
    return (row for row in ROWS if row.event is event and state in row.before)


class Supervisor:
    """State machine of one activation; call ``advance`` for each state and each timer tick."""

    def __init__(self, timing: Timing | None = None) -> None:
        """
        Start inactive.

        :param timing: times and choices; may be exchanged while idle.
        """
        self.timing = timing or Timing()
        self.diagnose: Callable[[float], tuple[Cause, str]] | None = None  # why it is too old
        self.state = State.INACTIVE
        self._due = Due.NOTHING
        self.faults: list[Fault] = []  # since activation or reset, first one first
        self.recovered: list[Fault] = []  # those that the last ramp-in has ended by itself
        self.gain = 0.0  # of the law, 0 to 1
        self.blend = 0.0  # from the start of the ramp (0) to the release torque (1)
        self.paused = False
        self.final = False  # ends in RELEASED, whatever happens
        self.ramp_until = math.inf  # steady time at which a ramp ends, whatever it has reached
        self.repeats = 0  # of the release torque
        self._blind = False  # the ramp uses no state
        self._since = 0.0  # steady time of entering the state
        self._left = 0.0  # the same of the state before
        self._ramp_start = 0.0  # control time
        self._expiry = -math.inf
        self._gravity_until = -math.inf  # control time at which the last gravity torque expires
        self._last_fresh = -math.inf  # steady time of the last fresh state
        self._clock = -math.inf
        # of the event that is being answered
        self.now = self.steady = 0.0
        self.cause = Cause.STATE_STALE
        self.ready = self.reached = False

    # -- requests ---------------------------------------------------------------------------

    def activate(self, now: float, steady: float) -> None:
        """
        Begin to check states; clears every latched fault.

        :param now: control time, s.
        :param steady: steady time, s.
        """
        self.now = now
        if not self._answer(Event.ACTIVATE, steady):
            raise RuntimeError(f'cannot activate while {self.state.value}')

    def reset(self, now: float, steady: float) -> str:
        """
        Clear the latched faults and ramp in again.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: empty, or the reason of the refusal.
        """
        self.now = now
        if self._answer(Event.RESET, steady):
            return ''
        if self.state in _STOPPING or self.state is State.HOLDING:
            return f'wait until the stop has ended, the controller is {self.state.value}'
        return f'nothing to reset, the controller is {self.state.value}'

    def fault(self, steady: float, cause: Cause, detail: str = '') -> None:
        """
        Report a cause; starts its sequence unless one is under way.

        A second request never restarts or shortens a sequence; a final one turns a hold
        into a release.

        :param steady: steady time, s.
        :param cause: what happened.
        :param detail: what was seen, for the log.
        """
        before, self.cause = self.state, cause
        self.final = self.final or cause.reaction is Reaction.FINAL
        if (self.final and cause.reaction is Reaction.GOOD
                and before in (State.RAMPING_DOWN, State.RELEASING)):
            return  # a robot that is released on request may move: that is no fault
        taken = self._answer(Event.FAULT, steady)
        if before in _SILENT and not (taken and self.state is State.FAULT):
            return  # nothing was sent, and nothing is refused
        if not any(f.cause is cause for f in self.faults):
            self.faults.append(Fault(cause, steady, detail))

    # -- events of the loop -------------------------------------------------------------------

    def fresh(self, now: float, steady: float, expiry: float, ready: bool = True) -> None:
        """
        Report a proven fresh state, before ``advance``.

        :param now: control time, s.
        :param steady: steady time, s.
        :param expiry: control time until which everything in the state may be used.
        :param ready: whether every joint is known, so that torque may begin.
        """
        if self.state in _LIVE and (now > self._expiry or now < self._clock):
            self.advance(now, steady)  # detect the gap before the state that ends it
        self._expiry, self._last_fresh = expiry, steady
        self.paused = False
        self.now, self.ready = now, ready and now <= expiry
        self._answer(Event.FRESH, steady)

    def keeps_running(self, now: float, steady: float, expiry: float) -> bool:
        """
        Report a proven fresh state and its gravity torque while nothing but the law acts.

        :param now: control time, s.
        :param steady: steady time, s.
        :param expiry: control time until which everything in the state may be used.
        :returns: whether the law is due; if not, nothing was recorded and ``fresh`` must follow.
        """
        if (self.state is not _RUNNING or self.paused
                or not self._clock <= now <= self._expiry or now > expiry):
            return False
        self._expiry = self._gravity_until = expiry
        self._last_fresh, self._clock = steady, now
        return True

    def renewed(self, now: float, steady: float, expiry: float) -> None:
        """
        Report a message of joints that are not controlled: the state expires later.

        :param now: control time, s.
        :param steady: steady time, s.
        :param expiry: control time until which everything in the state may be used.
        """
        if not self.live:
            return
        if now > self._expiry:
            self.advance(now, steady)  # it came too late for the previous state
        self._expiry = expiry

    def computed(self) -> None:
        """Report that the gravity torque of the present state is known."""
        self._gravity_until = self._expiry

    def published(self, steady: float, reached: bool) -> None:
        """
        Report that a torque was sent.

        :param steady: steady time, s.
        :param reached: whether it was the wanted torque, not one on the way to it.
        """
        self.reached = reached
        self._answer(Event.SENT, steady)

    def advance(self, now: float, steady: float) -> Due:
        """
        Advance to the present and return what is due.

        :param now: control time, s.
        :param steady: steady time, s.
        """
        if self.live or self.paused:
            self._watch(now, steady)
        self._clock = now
        if self.state is State.RAMPING_IN:
            ramp = self.timing.ramp_time
            self.gain = min((now - self._ramp_start) / ramp, 1.0) if ramp > 0.0 else 1.0
        if self.state is not State.RAMPING_DOWN:
            self._answer(Event.TIME, steady)
        if self.state is State.RAMPING_DOWN:  # it may have begun in the past
            spent, release_time = steady - self._since, self.timing.release_time
            self.blend = min(spent / max(release_time, 1e-9), 1.0)
            self._blind = self._blind or spent > release_time + _SETTLE
            self._answer(Event.TIME, steady)
        return self.due

    @property
    def due(self) -> Due:
        """Return the kind of torque that is due in this state."""
        if self.paused:
            return Due.NOTHING
        if self.state is State.RAMPING_DOWN:
            return Due.RAMP_BLIND if self._blind else Due.RAMP_LIVE
        return self._due

    @property
    def live(self) -> bool:
        """Return whether the due torque needs the present state: then only states run cycles."""
        return self.due in _LIVE_DUE

    @property
    def blind(self) -> bool:
        """Return whether the due torque needs no state: the timer sends it."""
        due = self.due
        return due is not Due.NOTHING and due not in _LIVE_DUE

    @property
    def working(self) -> bool:
        """Return whether the law acts, its gains ramped or not."""
        return self.state in _WORK

    @property
    def stopping(self) -> bool:
        """Return whether a stop sequence is under way."""
        return self.state in _STOPPING

    @property
    def finished(self) -> bool:
        """Return whether nothing more will be published without a new request."""
        return self.state in (State.INACTIVE, State.RELEASED, State.FAULT)

    @property
    def distrusted(self) -> bool:
        """Return whether the robot is not the described one, so that g(q) cannot be trusted."""
        return any(fault.cause is Cause.WRONG_MODEL for fault in self.faults)

    @property
    def frozen(self) -> bool:
        """Return whether the sensor of a joint is frozen, so that it cannot be held."""
        return any(fault.cause is Cause.FROZEN for fault in self.faults)

    @property
    def spent(self) -> float:
        """Return for how long it has been in this state when the event came, s."""
        return self.steady - self._since

    # -- inside -------------------------------------------------------------------------------

    def _watch(self, now: float, steady: float) -> None:
        """Detect that the state has become too old, or that a clock jumped or stands still."""
        timeout = self.timing.state_timeout
        silent = steady - self._last_fresh
        before, self._clock = self._clock, now
        if now < before:
            self.fault(steady, Cause.CLOCK_JUMP, f'backwards by {before - now:.4g} s')
        elif now > self._expiry and now - before > timeout > silent:  # the states are not late
            self.fault(steady, Cause.CLOCK_JUMP,
                       f'ahead by {now - before:.4g} s within {silent:.4g} s')
        elif now > self._expiry:
            cause, detail = self.diagnose(now) if self.diagnose else (Cause.STATE_STALE, '')
            self.fault(steady, cause, detail or f'{silent:.4g} s since the last one')
        elif self.timing.simulated and silent > timeout:
            if self.state in _STOPPING:  # a stop must end even if the clock stands still
                self.fault(steady, Cause.STATE_STALE, f'{silent:.4g} s, simulator at rest')
            elif silent > self.timing.pause_limit:
                self.fault(steady, Cause.PAUSE_TOO_LONG, f'{silent:.4g} s')
            else:
                self.paused = True

    def _answer(self, event: Event, steady: float) -> bool:
        """Take the first row of an event whose conditions hold; False if there is none."""
        self.steady = steady
        for row, conditions in _TABLE.get((event, self.state), ()):
            if all(bool(holds(self)) is wanted for holds, wanted in conditions):
                self._left = self._since
                if row.after is not None:
                    self.state, self._due = row.after, _DUE[row.after]
                    self._since, self.paused = steady, False
                if row.sets:
                    _SETS[row.sets](self)
                return True
        return False

    # -- what a row sets ----------------------------------------------------------------------

    def _begin(self) -> None:
        self.faults.clear()
        self.final = False
        self._expiry = -math.inf
        self._clock = self.now

    def _start(self) -> None:
        self._clock = self.now
        self._ramp_in()

    def _reset(self) -> None:
        self.faults.clear()
        self._ramp_in()

    def _ramp_in(self) -> None:
        self.recovered = self.faults.copy()
        self.faults.clear()
        self._ramp_start = self.now
        self.gain = 0.0

    def _count_from_last_gravity(self) -> None:
        """Count the hold of the last gravity torque from when that torque expired."""
        now = self._clock if self.timing.simulated else self.steady
        self._since = self.steady - max(now - self._gravity_until, 0.0)

    def _ramp_down(self) -> None:
        self._blind = False
        self.repeats = 0
        self.blend = 0.0
        self.ramp_until = self.steady + self.timing.longest_ramp  # a stall does not shorten it

    def _ramp_down_blind(self) -> None:
        self._ramp_down()
        self._blind = True
        self._since = self._left + self.timing.hold_time

    def _go_blind(self) -> None:
        self._blind = True

    def _count_release(self) -> None:
        self.repeats += 1

    def _forget_state(self) -> None:
        self._expiry = -math.inf


_SETS: dict[str, Callable[[Supervisor], None]] = {
    'begin': Supervisor._begin, 'start': Supervisor._start, 'reset': Supervisor._reset,
    'ramp in': Supervisor._ramp_in, 'ramp down': Supervisor._ramp_down,
    'ramp down blind': Supervisor._ramp_down_blind, 'go blind': Supervisor._go_blind,
    'count from last gravity': Supervisor._count_from_last_gravity,
    'count release': Supervisor._count_release, 'forget state': Supervisor._forget_state,
}

#: The rows of each event in each state, with the functions of their conditions and whether they
#: must hold.
_TABLE = {
    (event, state): [
        (row, [(CONDITIONS[name.removeprefix('not ')], not name.startswith('not '))
               for name in row.conditions])
        for row in rows_of(event, state)]
    for event in Event for state in State}

_DUE = {
    State.INACTIVE: Due.NOTHING, State.PROBING: Due.NOTHING, State.RAMPING_IN: Due.LAW,
    State.RUNNING: Due.LAW, State.BRAKING: Due.BRAKE, State.HOLDING: Due.HOLD,
    State.LOST: Due.LAST_GRAVITY, State.RAMPING_DOWN: Due.RAMP_BLIND,
    State.RELEASING: Due.RELEASE, State.RELEASED: Due.NOTHING, State.FAULT: Due.NOTHING,
}
