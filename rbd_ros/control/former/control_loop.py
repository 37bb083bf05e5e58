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
One cycle of the controller: what is due, computed, limited and sent.

This is the only place from which a torque is sent. Whatever the laws compute, what is sent is
finite and within the limits in N.m and N.m/s, or nothing is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
import enum
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.laws.bumpless import BumplessSwitch
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.limits import is_finite, TorqueLimiter
from rbd_ros.control.former.safety.supervisor import Due, State, Supervisor

__all__ = ['ControlLoop', 'Need', 'Release', 'Torques']

Array = npt.NDArray[np.float64]

_RELEASING = (Due.RAMP_LIVE, Due.RAMP_BLIND, Due.RELEASE)


class Need(enum.Enum):
    """What the loop asks the dynamics to compute."""

    LAW = 'law'  # law of the mode, gravity, driver's part
    HOLD = 'hold'  # law of holding where the robot was when holding began, gravity, driver's part
    STOP = 'stop'  # the torque that brakes, gravity, driver's part


class Release(enum.Enum):
    """Which torque remains after the controller has released the robot."""

    ZERO = 'zero'  # nothing is sent: zero torque, or what the driver itself adds
    GRAVITY = 'gravity'  # the last gravity torque stays


class Torques:
    """Buffers that the dynamics fill, in the order of the controlled joints, N.m."""

    def __init__(self, n: int) -> None:
        """
        Allocate.

        :param n: number of controlled joints.
        """
        self.law = np.zeros(n)
        self.brake = np.zeros(n)
        self.gravity = np.zeros(n)  # with payload
        self.driver = np.zeros(n)  # what the driver adds by itself


class ControlLoop:
    """Combine supervisor, dynamics, limiter and publisher; single-threaded."""

    def __init__(self, supervisor: Supervisor, limiter: TorqueLimiter, torques: Torques,
                 compute: Callable[[Need], None], publish: Callable[[Array], None], *,
                 release: Release = Release.ZERO, switch_time: float = 0.5) -> None:
        """
        Wire the parts.

        :param supervisor: decides what is due.
        :param limiter: limits of the total torque.
        :param torques: buffers that ``compute`` fills.
        :param compute: evaluate the dynamics at the present state; exceptions are faults.
        :param publish: send a torque; it gets a buffer that the next call overwrites.
        :param release: what remains at the end.
        :param switch_time: s over which a change of the law fades.
        """
        n = len(limiter.limit)
        self.supervisor, self.limiter, self.torques = supervisor, limiter, torques
        self.switch = BumplessSwitch(limiter.limit.tolist(), switch_time)
        self.release = release
        self.on_enter: Callable[[State], None] | None = None  # called in the thread of the loop
        self.sent = np.zeros(n)  # last torque that was sent, without the driver's part
        self.wanted = limiter.wanted  # total torque before the limiter
        self.load = np.zeros(n)  # torque that the robot showed in addition to g(q), for every stop
        self.published = 0
        self._compute, self._publish = compute, publish
        self._gravity, self._driver = np.zeros(n), limiter.driver  # of the last good state
        self._start, self._work = np.zeros(n), np.zeros(n)
        self._known = False  # what acts before the first torque
        self._start_blend: float | None = None  # of the blind ramp; None: not in it
        self._times: tuple[float, float] | None = None  # control, steady, of the last command
        self._state = State.INACTIVE
        # posted, not yet run
        self.requests: deque[Callable[[float, float], None]] = deque()

    def post(self, request: Callable[[float, float], None]) -> None:
        """
        Run a request in the thread of the loop at its next tick; callable from any thread.

        :param request: gets control and steady time; may call the supervisor.
        """
        self.requests.append(request)

    def serve(self, now: float, steady: float) -> None:
        """
        Run the posted requests; call this before a state is checked.

        :param now: control time, s.
        :param steady: steady time, s.
        """
        if self.requests:
            self._advance(now, steady)  # requests see the present state of the supervisor
        while self.requests:
            self.requests.popleft()(now, steady)

    def begin_at(self, torque: Array | None) -> None:
        """
        Set what acts before the first torque, so that it follows without a step.

        :param torque: total torque, N.m; None: not known, what was sent last.
        """
        self._known = torque is not None
        if torque is not None:
            self._start[:] = torque

    def fresh_state(self, now: float, steady: float, expiry: float, ready: bool,
                    qd: Array) -> bool:
        """
        Run one cycle on a proven fresh state; call ``serve`` before it is checked.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param expiry: control time until which the state may be used.
        :param ready: whether all joints are known.
        :param qd: velocity of the controlled joints.
        :returns: whether a torque was published.
        """
        supervisor = self.supervisor
        supervisor.fresh(now, steady, expiry, ready)
        due = self._advance(now, steady)
        if due is Due.NOTHING:
            self._silence()
            return False
        if not supervisor.live:
            return self._blind(due, now, steady)
        self._start_blend = None
        if not self._evaluate(due, steady):
            return self._blind(supervisor.advance(now, steady), now, steady)
        supervisor.computed()
        if not supervisor.live:  # the computation itself reported that it cannot be trusted
            return self._blind(supervisor.advance(now, steady), now, steady)
        if self._times is None:
            self._begin()
        if not self._live_torque(supervisor.due, now, qd):
            supervisor.fault(steady, Cause.BAD_COMMAND, 'the torque of the control law is not '
                                                        'finite')
            self._announce()
            self.switch.cancel()
            if not self._evaluate(Due.BRAKE, steady):
                return self._blind(supervisor.advance(now, steady), now, steady)
            self._brake(qd)
            if not is_finite(self.wanted):
                supervisor.fault(steady, Cause.BAD_GRAVITY, 'the velocity is not finite')
                return self._blind(supervisor.advance(now, steady), now, steady)
        return self._send(now, steady, live=True)

    def usual_step(self, now: float) -> float:
        """
        Return the time of the limiter's next step if only the law acts, else NaN.

        :param now: control time, s.
        """
        times = self._times
        if times is None or self.switch.active:
            return math.nan
        return self.limiter.step(now - times[0])

    def results(self, outputs: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """
        Return what must be copied after a torque was sent that a kernel limited itself.

        :param outputs: of a kernel of law and limits.
        :returns: sources and targets.
        """
        return [*self.limiter.results(outputs), *self.switch.results(outputs['law']),
                (outputs['gravity'], self._gravity), (outputs['sent'], self.sent)]

    def note_fast_step(self, now: float, steady: float) -> int:
        """
        Record that such a torque was sent and its results were copied.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: number of torques sent so far.
        """
        self._times = (now, steady)
        self.published += 1
        return self.published

    def tick(self, now: float, steady: float) -> bool:
        """
        Run the steady timer: nothing while states arrive, the blind sequences when not.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """
        self.serve(now, steady)
        due = self._advance(now, steady)
        if due is Due.NOTHING and not self.supervisor.paused:
            self._silence()
        if due is Due.NOTHING or self.supervisor.live:
            return False
        return self._blind(due, now, steady)

    # -- inside -------------------------------------------------------------------------------

    def _advance(self, now: float, steady: float) -> Due:
        """Advance the supervisor; states that last no time are announced, too."""
        self._announce()
        due = self.supervisor.advance(now, steady)
        self._announce()
        return due

    def _announce(self) -> None:
        if self.supervisor.state is not self._state:
            self._state = self.supervisor.state
            if self._state is State.RAMPING_IN:
                self.switch.switch()
            if self.on_enter:
                self.on_enter(self._state)

    def _silence(self) -> None:
        """Record that publishing has ceased: the next start resets the limiter."""
        self._times = None
        self._start_blend = None
        self.switch.cancel()

    def _evaluate(self, due: Due, steady: float) -> bool:
        """Compute; after a failure fall back to gravity alone; return False without even that."""
        need = Need.STOP
        if due is Due.LAW:
            need = Need.LAW
        elif due is Due.HOLD:
            need = Need.HOLD
        try:
            self._compute(need)
        except Exception as error:
            self.supervisor.fault(steady, Cause.BAD_COMMAND, f'the control law failed with '
                                  f'{type(error).__name__}: {error}')
            self._announce()
            try:
                self._compute(Need.STOP)
            except Exception as second:
                return self._no_gravity(steady, f'{type(second).__name__}: {second}')
        if not (is_finite(self.torques.gravity) and is_finite(self.torques.driver)):
            return self._no_gravity(steady, 'not finite')
        self._gravity[:] = self.torques.gravity
        self._driver[:] = self.torques.driver
        return True

    def _no_gravity(self, steady: float, detail: str) -> bool:
        self.supervisor.fault(steady, Cause.BAD_GRAVITY, detail)
        self._announce()
        return False

    def _begin(self) -> None:
        """Start the limiter from what acts now: never from zero under a loaded arm."""
        if self._known and is_finite(self._start):
            self.limiter.reset(self._start)
        else:
            np.add(self.sent, self._driver, out=self._work)
            self.limiter.reset(self._work)
        self._known = False

    def _live_torque(self, due: Due, now: float, qd: Array) -> bool:
        """Fill ``wanted`` from the live state; False if it is not finite."""
        wanted, gravity = self.wanted, self._gravity
        if due is Due.LAW or due is Due.HOLD:
            wanted[:] = self.torques.law
            if due is Due.LAW and self.supervisor.gain < 1.0:  # gravity is never ramped
                np.subtract(wanted, gravity, out=wanted)
                np.multiply(wanted, self.supervisor.gain, out=wanted)
                np.add(wanted, gravity, out=wanted)
            if not is_finite(wanted):
                return False
            self.switch.apply(now, wanted, qd)
            return True
        self._brake(qd)
        if due is Due.RAMP_LIVE:
            np.clip(wanted, -self.limiter.limit, self.limiter.limit, out=wanted)  # keeps NaN
            self._mix(wanted, self.supervisor.blend)
        if not is_finite(wanted):
            return False
        self.switch.note(wanted)
        return True

    def _brake(self, qd: Array) -> None:
        """
        Fill ``wanted`` with the torque that brakes, which carries the load that the robot showed.

        Velocities that are finite and absurd may have none: then gravity is all.
        """
        self.wanted[:] = self.torques.brake
        if not is_finite(self.wanted) and is_finite(qd):
            np.subtract(self._gravity, self.load, out=self.wanted)

    def _mix(self, start: Array, share: float) -> None:
        """Fill ``wanted`` with the given share of the way from start to the release torque."""
        np.subtract(self._target(), start, out=self._work)
        np.multiply(self._work, share, out=self._work)
        np.add(start, self._work, out=self.wanted)

    def _target(self) -> Array:
        """Total torque after release; sending nothing leaves what the driver adds."""
        if self.release is not Release.GRAVITY:
            return self._driver
        # The load may be a person who pushes: keep it only if g(q) is known to be wrong.
        return self._gravity - self.load if self.supervisor.distrusted else self._gravity

    def _blind(self, due: Due, now: float, steady: float) -> bool:
        """Send what needs no state."""
        if self._times is None:  # nothing was ever sent in this activation
            self.supervisor.published(steady, True)
            return False
        self.switch.cancel()
        if due is Due.LAST_GRAVITY:
            self.wanted[:] = self._gravity
        elif due is Due.RAMP_BLIND:
            blend = self.supervisor.blend
            if self._start_blend is None:
                self._start[:] = self.limiter.last
                self._start_blend = min(blend, 1.0 - 1e-9)
            begun = self._start_blend
            self._mix(self._start, (blend - begun) / (1.0 - begun))
        elif due is Due.RELEASE:
            self.wanted[:] = self._target()
        else:
            return False
        return self._send(now, steady, live=False)

    def _send(self, now: float, steady: float, *, live: bool) -> bool:
        if self._times is None:
            dt = self.limiter.period
        elif live:
            dt = now - self._times[0]
        else:
            dt = steady - self._times[1]
        releasing = self.supervisor.due in _RELEASING
        (self.limiter.release if releasing else self.limiter.apply)(self.wanted, dt)
        self._publish(self.limiter.sent)
        self.limiter.commit()
        self.sent[:] = self.limiter.sent
        self._times = (now, steady)
        self.published += 1
        if self.supervisor.stopping:
            self.supervisor.published(steady, not self.limiter.slewing.any())
        return True
