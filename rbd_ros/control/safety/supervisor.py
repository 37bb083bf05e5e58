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

It knows no robot and no control law. Two clocks enter every call: ``now`` is the control
clock, on which states age and gains ramp (steady time, or the simulated time under sim time);
``steady`` never stops and times every stop sequence, so that a stop ends even when the
simulator that feeds the other clock is dead. Without sim time they are the same number.
"""

from __future__ import annotations

from collections.abc import Callable
import math

from rbd_ros.control.safety.causes import Cause, Fault, Reaction
from rbd_ros.control.safety.states import Due, State, Timing

__all__ = ['Due', 'State', 'Supervisor', 'Timing']


# Tuples, not sets: members are found by identity, while the hash of an Enum is a Python call.
_LIVE = (State.RUNNING, State.RAMPING_IN, State.BRAKING, State.HOLDING)
_IDLE = (State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT)
_WORK = (State.RUNNING, State.RAMPING_IN)
_STOPPING = (State.BRAKING, State.LOST, State.RAMPING_DOWN, State.RELEASING)
_RUNNING = State.RUNNING  # looking it up takes time in each cycle
_LIVE_DUE = (Due.LAW, Due.BRAKE, Due.HOLD, Due.RAMP_LIVE)

#: s after the end of a live ramp from which on it is finished without the state
_SETTLE = 0.2


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
        self._blind = False  # the ramp uses no state
        self._final = False  # ends in RELEASED, whatever happens
        self._since = 0.0  # steady time of entering the state
        self._ramp_start = 0.0  # control time
        self._ramp_until = math.inf  # steady time at which a ramp ends, whatever it has reached
        self._expiry = -math.inf
        self._gravity_until = -math.inf  # control time at which the last gravity torque expires
        self._last_fresh = -math.inf  # steady time of the last fresh state
        self._clock = -math.inf
        self._repeats = 0

    # -- requests ---------------------------------------------------------------------------

    def activate(self, now: float, steady: float) -> None:
        """
        Begin to check states; clears every latched fault.

        :param now: control time, s.
        :param steady: steady time, s.
        """
        if self.state not in _IDLE:
            raise RuntimeError(f'cannot activate while {self.state.value}')
        self.faults.clear()
        self._final = False
        self._expiry = -math.inf
        self._clock = now
        self._enter(State.PROBING, steady)

    def reset(self, now: float, steady: float) -> str:
        """
        Clear the latched faults and ramp in again.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: empty, or the reason of the refusal.
        """
        if self.state is State.HOLDING and not self._final:
            self.faults.clear()
            self._ramp_in(now, steady)
        elif self.state is State.FAULT:
            self.activate(now, steady)
        elif self.state in _STOPPING or self.state is State.HOLDING:
            return f'wait until the stop has ended, the controller is {self.state.value}'
        else:
            return f'nothing to reset, the controller is {self.state.value}'
        return ''

    def fault(self, steady: float, cause: Cause, detail: str = '') -> None:
        """
        Report a cause; starts its sequence unless one is under way.

        A second request never restarts or shortens a sequence; a final one turns a hold
        into a release.

        :param steady: steady time, s.
        :param cause: what happened.
        :param detail: what was seen, for the log.
        """
        final = cause.reaction is Reaction.FINAL
        self._final = self._final or final
        if self.state in _IDLE:
            if final:
                self._enter(State.INACTIVE, steady)
            elif (self.state is State.PROBING and cause.reaction is Reaction.GOOD
                  and cause is not Cause.DEAD_MAN):  # the start just waits for the switch
                self.faults.append(Fault(cause, steady, detail))
                self._enter(State.FAULT, steady)
            return
        if (self._final and cause.reaction is Reaction.GOOD
                and self.state in (State.RAMPING_DOWN, State.RELEASING)):
            return  # a robot that is released on request may move: that is no fault
        if not any(f.cause is cause for f in self.faults):
            self.faults.append(Fault(cause, steady, detail))
        if self.state in _WORK or self.state is State.HOLDING:
            self._answer(steady, cause)
        elif cause.reaction is Reaction.LOST and self.state is State.BRAKING:
            self._lose(steady)
        elif cause.reaction is Reaction.LOST and self.state is State.RAMPING_DOWN:
            self._blind = True  # the ramp goes on from what was last published

    def _answer(self, steady: float, cause: Cause) -> None:
        """Start the stop sequence of a cause, from running or from holding."""
        if cause.reaction is Reaction.LOST:
            self._lose(steady)
        elif self.state is not State.HOLDING:
            self._enter(State.BRAKING, steady)
        elif not cause.by_operator:  # a fault of a held robot must not end in another hold
            self._ramp_down(steady, blind=False)

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
        if not ready or now > expiry:
            return
        if self.state is State.PROBING:
            self._clock = now
            self._ramp_in(now, steady)
        elif self.state in _STOPPING and self._may_recover():
            self._ramp_in(now, steady)

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
        if self.state is State.RAMPING_DOWN and self.blend >= 1.0 and reached:
            self._enter(State.RELEASING, steady)
            self._repeats = 1
        elif self.state is State.RELEASING:
            self._repeats += 1

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
            if self.gain >= 1.0:
                self._enter(State.RUNNING, steady)
        elif self.state in _STOPPING:
            self._sequence_step(steady)
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

    def _sequence_step(self, steady: float) -> None:
        """Advance a stop sequence as its times run out."""
        timing = self.timing
        spent = steady - self._since
        if self.state is State.BRAKING and spent >= timing.brake_time:
            if self._may_hold():
                self._enter(State.HOLDING, steady)
            else:
                self._ramp_down(steady, blind=False)
        elif self.state is State.LOST and spent >= timing.hold_time:
            self._ramp_down(self._since + timing.hold_time, blind=True)
            self._ramp_until = steady + timing.longest_ramp  # a stall does not shorten the ramp
        if self.state is State.RAMPING_DOWN:
            spent = steady - self._since
            self.blend = min(spent / max(timing.release_time, 1e-9), 1.0)
            self._blind = self._blind or spent > timing.release_time + _SETTLE
            if steady > self._ramp_until:  # on a machine too slow for the rate limit
                self._enter(State.RELEASING, steady)
        elif self.state is State.RELEASING and (
                self._repeats >= timing.release_repeats
                or steady - self._since > timing.longest_release):
            self._end(steady)

    def _end(self, steady: float) -> None:
        if self._final:
            self._enter(State.RELEASED, steady)
        elif self._may_recover():
            self._expiry = -math.inf
            self._enter(State.PROBING, steady)
        else:
            self._enter(State.FAULT, steady)

    def _may_hold(self) -> bool:
        if self._final or self.distrusted or self.frozen:
            return False
        operator = all(f.cause.by_operator for f in self.faults)
        return (self.timing.stop_action if operator else self.timing.fault_action) == 'hold'

    def _may_recover(self) -> bool:
        lost = all(f.cause.reaction is Reaction.LOST for f in self.faults)
        return self.timing.recover and lost  # a final cause is never LOST

    def _lose(self, steady: float) -> None:
        """Begin the blind sequence; the hold counts from when the last gravity torque expired."""
        now = self._clock if self.timing.simulated else steady
        self._enter(State.LOST, steady - max(now - self._gravity_until, 0.0))

    def _ramp_in(self, now: float, steady: float) -> None:
        self.recovered = self.faults.copy()
        self.faults.clear()
        self._ramp_start = now
        self.gain = 0.0
        self._enter(State.RAMPING_IN, steady)

    def _ramp_down(self, steady: float, *, blind: bool) -> None:
        self._blind = blind
        self._repeats = 0
        self.blend = 0.0
        self._ramp_until = steady + self.timing.longest_ramp
        self._enter(State.RAMPING_DOWN, steady)

    def _enter(self, state: State, steady: float) -> None:
        self.paused = False
        self.state, self._due = state, _DUE[state]
        self._since = steady


_DUE = {
    State.INACTIVE: Due.NOTHING, State.PROBING: Due.NOTHING, State.RAMPING_IN: Due.LAW,
    State.RUNNING: Due.LAW, State.BRAKING: Due.BRAKE, State.HOLDING: Due.HOLD,
    State.LOST: Due.LAST_GRAVITY, State.RAMPING_DOWN: Due.RAMP_BLIND,
    State.RELEASING: Due.RELEASE, State.RELEASED: Due.NOTHING, State.FAULT: Due.NOTHING,
}
