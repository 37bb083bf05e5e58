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
Limits of the torque that is sent: in N.m, and of its rate in N.m/s.

The rate is per second, not per cycle, so that it means the same at every loop rate. The
memory is what was last published, not what was last computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
import math

import numpy as np
import numpy.typing as npt

from rbd_ros import compiler
from rbd_ros.compiler import (
    absolute, clamp, is_zero, Kernel, less, less_equal, maximum, minimum, Scalar, where)
from rbd_ros.control.supervisor.states import Timing
from rbd_ros.errors import NonFiniteError, ShapeError

__all__ = ['TorqueLimiter', 'check_limits', 'in_proportion', 'is_finite', 'limit_kernel',
           'stop_reasons', 'torque_step']

Array = npt.NDArray[np.float64]
Vector = Sequence[Scalar]

#: N.m; keeps a division by zero finite, and no torque changes by so little
_TINY = 1e-300

#: relative error with which a torque may miss a limit, or the end of its step
_ROUNDING = 1e-9


def is_finite(x: Array) -> bool:
    """
    Return whether a float64 vector holds neither NaN nor infinity, in a fraction of a microsecond.

    A sum that overflows counts as infinite: no torque is that large.

    :param x: vector.
    """
    return math.isfinite(sum(x.tolist()))


def in_proportion(torque: Vector, gravity: Vector, limit: Vector) -> list[Scalar]:
    """
    Return a torque within its limits that accelerates the robot in the direction asked for.

    What a law adds to g(q) is reduced for all joints alike. A clamp per joint would turn the
    vector: coupled by inertia, a joint that gets all of its torque is thrown by one that does not.

    :param torque: of the law, gravity included.
    :param gravity: g(q), never reduced; a joint that it saturates alone is left to the limiter.
    :param limit: largest absolute torque per joint.
    """
    share: Scalar = 1.0
    for tau, g, most in zip(torque, gravity, limit):
        u = tau - g
        room = where(less(0.0, u), most - g, most + g)
        share = minimum(share, where(less(0.0, room), room / maximum(absolute(u), _TINY), 1.0))
    return [g + share * (tau - g) for tau, g in zip(torque, gravity)]


def torque_step(torque: Vector, driver: Vector, last: Vector, last_sent: Vector, limit: Vector,
                rate: Vector, dt: Scalar) -> dict[str, list[Scalar]]:
    """
    Return what is sent, the total torque including the driver's part, and which limits act.

    All joints cover the same fraction of their step: see ``_along``.

    The limits hold for the total and for what is sent. If they contradict each other, because the
    driver's part has jumped, those of what is sent win: it is all that we control.

    :param torque: wanted total torque.
    :param driver: what the driver adds by itself.
    :param last: total torque of the last command.
    :param last_sent: the last command itself.
    :param limit: largest absolute torque per joint.
    :param rate: largest change per second.
    :param dt: s since the last torque.
    """
    steps = [slope * dt for slope in rate]
    clamped = [clamp(wanted, -most, most) for wanted, most in zip(torque, limit)]
    total, slow = _along(last, clamped, steps)
    sent, late = total, slow  # if the driver adds nothing
    if not all(is_zero(added) for added in driver):
        rest = [clamp(t - added, -most, most) for t, added, most in zip(total, driver, limit)]
        sent, late = _along(last_sent, rest, steps)
    return {'total': [s + added for s, added in zip(sent, driver)], 'sent': sent,
            'saturated': [less_equal((1.0 - _ROUNDING) * most, absolute(wanted))
                          for wanted, most in zip(torque, limit)],
            'slewing': [maximum(a, b) for a, b in zip(slow, late)]}


def _along(start: Vector, end: Vector, steps: Vector) -> tuple[list[Scalar], list[Scalar]]:
    """
    Return how far all joints get on the straight line to the end, and whose rate limit acts.

    They move together: where axes are nearly parallel, the difference of two torques accelerates
    next to no inertia, and a joint that lags behind the other would throw both about.
    """
    ways = [b - a for a, b in zip(start, end)]
    share: Scalar = 1.0
    for way, step in zip(ways, steps):
        share = minimum(share, step / maximum(absolute(way), _TINY))
    whole = less_equal(1.0 - _ROUNDING, share)
    reached = [clamp(where(whole, b, a + share * way), maximum(a - step, minimum(a, b)),
                     minimum(a + step, maximum(a, b)))
               for a, b, way, step in zip(start, end, ways, steps)]
    return reached, [less(step, absolute(way)) for way, step in zip(ways, steps)]


@cache
def limit_kernel(n: int) -> Kernel:
    """
    Return ``torque_step`` for n joints as a kernel.

    :param n: number of joints.
    """
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ('torque', 'driver', 'last', 'last_sent', 'limit', 'rate'), (n,))
    return compiler.compile(compiler.trace(torque_step, shapes | {'dt': ()},
                                           name=f'torque_limits_{n}'), call=False)


class TorqueLimiter:
    """Clamp a torque vector to limits in N.m and N.m/s; allocates nothing in use."""

    def __init__(self, limit: Sequence[float], rate: Sequence[float], period: float) -> None:
        """
        Start at zero torque.

        :param limit: largest absolute torque per joint, N.m (N for a prismatic joint).
        :param rate: largest change per joint, N.m/s.
        :param period: nominal period in s; a step counts as two of them at most, so that a stall
            of the process is not followed by a jump.
        """
        reasons = check_limits(limit, rate, stop_time=math.inf)
        if reasons:
            raise ValueError('; '.join(reasons))
        if not 0.0 < period < math.inf:
            raise ValueError(f'period {period} must be positive and finite')
        bound = limit_kernel(len(limit)).bind()
        inputs, outputs = bound.inputs, bound.outputs
        self.limit, self.rate = inputs['limit'], inputs['rate']
        self.last, self.last_sent = inputs['last'], inputs['last_sent']  # total, command
        self.limit[:], self.rate[:] = limit, rate
        self.period = period
        self._longest = 2.0 * period  # s, longest step
        self.wanted = inputs['torque']  # may be filled in place and handed to ``apply``
        self.driver = inputs['driver']  # what the driver adds by itself, N.m
        self.sent = outputs['sent']  # result of ``apply`` without the driver's part
        self.saturated = outputs['saturated']  # 1 where the limit in N.m acts, else 0
        self.slewing = outputs['slewing']  # 1 where the limit in N.m/s acts, else 0
        self._dt, self._output, self._run = inputs['dt'], outputs['total'], bound.run
        self._release = limit_kernel(len(limit)).bind()  # of what is sent alone
        for name, value in (('limit', self.limit), ('rate', self.rate)):
            self._release.inputs[name][:] = value

    def reset(self, torque: Array) -> None:
        """
        Set the memory, at activation; ``driver`` must be known.

        :param torque: torque that acts now, N.m; clamped to the limits.
        """
        if torque.shape != self.last.shape:
            raise ShapeError(f'torque has shape {torque.shape}, the limiter {self.last.shape}')
        if not is_finite(torque):
            raise NonFiniteError(f'the limiter cannot start from {torque}')
        np.subtract(torque, self.driver, out=self.last_sent)
        np.clip(self.last_sent, -self.limit, self.limit, out=self.last_sent)
        np.clip(torque, -self.limit, self.limit, out=self.last)

    def apply(self, torque: Array, dt: float) -> Array:
        """
        Return the torque that may be published now; ``commit`` it once it is sent.

        :param torque: wanted torque, already known to be finite (NaN passes a clamp).
        :param dt: time since the last published torque in s.
        :returns: a buffer of this object, valid until the next call.
        """
        if not is_finite(torque):
            raise NonFiniteError(f'the torque {torque} must not reach the limiter')
        if torque is not self.wanted:
            self.wanted[:] = torque
        self._dt[()] = self.step(dt)
        self._run()
        return self._output

    def release(self, torque: Array, dt: float) -> Array:
        """
        Return the torque that may be published now on the way to what remains after release.

        Nothing remains but what the driver adds, and that may be beyond the limits. Limits of the
        total would then leave a command behind that works against the driver, and whether it is
        reached would depend on the driver. Here the limits are those of what is sent. If the total
        begins within its limits, it stays between them and the driver's part.

        :param torque: wanted total torque, finite.
        :param dt: time since the last published torque in s.
        :returns: a buffer of this object, valid until the next call.
        """
        if not is_finite(torque):
            raise NonFiniteError(f'the torque {torque} must not reach the limiter')
        if torque is not self.wanted:
            self.wanted[:] = torque
        inputs, outputs = self._release.inputs, self._release.outputs
        np.subtract(torque, self.driver, out=inputs['torque'])
        inputs['last'][:] = inputs['last_sent'][:] = self.last_sent
        inputs['dt'][()] = self.step(dt)
        self._release.run()
        for name, target in (('sent', self.sent), ('saturated', self.saturated),
                             ('slewing', self.slewing)):
            target[:] = outputs[name]
        return np.add(self.sent, self.driver, out=self._output)

    def commit(self) -> None:
        """Remember the result of the last ``apply``: it has been published."""
        self.last[:], self.last_sent[:] = self._output, self.sent

    def step(self, dt: float) -> float:
        """
        Return the time allowed for a step: never more than two periods.

        :param dt: time since the last published torque in s.
        """
        if dt > self._longest:
            return self._longest
        return dt if dt > 0.0 else 0.0

    def results(self, outputs: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """
        Return what to copy, and where, after a torque was sent that a kernel limited itself.

        :param outputs: of a kernel with ``torque_step`` in it.
        """
        targets = {'total': self.last, 'law': self.wanted, 'driver': self.driver,
                   'sent': self.sent, 'saturated': self.saturated, 'slewing': self.slewing}
        return [*[(outputs[name], target) for name, target in targets.items()],
                (outputs['sent'], self.last_sent)]


def check_limits(limit: Sequence[float], rate: Sequence[float], *, stop_time: float,
                 names: Sequence[str] | None = None) -> list[str]:
    """
    Return the reasons why these limits must not be used; empty if they may.

    :param limit: torque limit per joint, N.m; 0 counts as missing, as in many URDF files.
    :param rate: rate limit per joint, N.m/s.
    :param stop_time: s within which every joint must be able to go from its limit to zero.
    :param names: names of the joints for the reasons.
    """
    if len(limit) != len(rate):
        return [f'{len(limit)} torque limits but {len(rate)} rate limits']
    names = names or [f'joint {i}' for i in range(len(limit))]
    reasons = []
    missing = [name for name, most in zip(names, limit)
               if not (math.isfinite(most) and most > 0.0)]
    if missing:
        reasons.append(f'no torque limit of {", ".join(missing)}: give effort in <limit> of the '
                       f'URDF, or torque_limits')
    for name, most, slope in zip(names, limit, rate):
        if name in missing:
            continue
        if not (math.isfinite(slope) and slope > 0.0):
            reasons.append(f'{name}: rate limit {slope:g} N.m/s must be positive and finite')
        elif most > slope * stop_time * (1.0 + 1e-12):
            reasons.append(f'{name}: {most:g} N.m at {slope:g} N.m/s takes {most / slope:.3g} '
                           f's to reach zero, more than stop_time {stop_time:g} s; raise '
                           f'torque_rate_limits to {most / stop_time:.4g} or more')
    return reasons


def stop_reasons(timing: Timing, deadline: float = 4.0) -> list[str]:
    """
    Return the reasons why the longest stop sequence would not fit into the deadline.

    :param timing: times of the supervisor.
    :param deadline: s that the whole may take.
    """
    if timing.longest_stop < deadline:
        return []
    return [f'the longest stop takes {timing.longest_stop:.3g} s, the limit is {deadline:g} s: '
            'lower brake_time, hold_time, release_time or stop_time']
