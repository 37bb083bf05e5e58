# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The force-torque sensor: readings, their plausibility, and what is left of them without the tool.

A reading is taken as the wrench that pulls at the sensor: weight and inertia of all behind it,
what touches that, and a bias. With the inertia I of tool and payload, the velocity v of the
sensor and the gravity g in its own axes, and a the derivative of v there,

    f = reading - bias - (I (g - a) - v x* I v)                                        # RBDA 2.14

is what the surroundings exert on the tool. Both parts of the difference pass one filter, so that
neither is later than the other. Six numbers have the moment first.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import dot, maximum, total, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import (
    accuse, Event, Joints, NEVER, NOBODY, NONE, Result, tell)
from rbd_ros.control.interface.payload import about_origin
from rbd_ros.control.interface.words import SensorWord
from rbd_ros.control.kernels.declared import SensorKernel
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['Sensor', 'SensorLimits']

#: s per s by which clocks may drift
_DRIFT = 1e-3

#: s between two states beyond which no acceleration is found
_GAP = 0.1

#: rad/s or m/s below which a joint is at rest
_REST = 0.01

#: share of the bounds of a bias by which readings at rest may spread
_SPREAD = 0.1


class Sensor(Record):
    """The last reading, and what the surroundings exert on the tool."""

    received: float = field('', 's', 'control time of the last reading', NEVER)
    changed: float = field('', 's', 'control time since which all six numbers are the same', NEVER)
    time: float = field('', 's', 'control time of the last state', NEVER)
    known: float = field('', '', '1 if external is known')
    stamp: float = field('', 's', 'of the last reading; 0: it had none')
    offset: float = field('', 's', 'least reception minus stamp so far', NONE)
    begun: float = field('', 's', 'control time at which the mean at rest began', NEVER)
    count: float = field('', '', 'states that it has so far')
    settled: bool = field('', '', 'whether mean and spread are those of a whole time at rest')
    reading: Vector = field('6', 'N.m, N', 'that pulls at the sensor, in its axes')
    bias: Vector = field('6', 'N.m, N', 'that a reading has without any load')
    velocity: Vector = field('6', 'rad/s, m/s', 'of the sensor in its axes, in the last state')
    external: Vector = field('6', 'N.m, N', 'what the surroundings exert on the tool, filtered; '
                                            'axes and origin of the sensor')
    wrench: Vector = field('6', 'N.m, N', 'the same; axes and origin of task.frame')
    axes: Matrix = field('3 3', '', 'axes of task.frame as columns, in the base')
    sums: Vector = field('6', 'N.m, N', 'sum of readings without the tool, at rest')
    squares: Vector = field('6', '', 'sum of their squares')
    mean: Vector = field('6', 'N.m, N', 'of readings without the tool, at rest')
    spread: Vector = field('2', 'N.m, N', 'standard deviation of moment and force')

    def restart(self, p: SensorLimits) -> None:
        """
        Begin without a reading, with the bias of the parameters, when the robot is configured.

        :param p: parameters.
        """
        self.bias[:] = where(abs(p.bias) < NONE, p.bias, 0.0)

    def forget(self) -> None:
        """Forget every reading: the stream must prove again that it is fresh."""
        self.received, self.changed, self.stamp, self.offset = NEVER, NEVER, 0.0, NONE
        self.known, self.count, self.settled = 0.0, 0.0, False

    # -- readings ---------------------------------------------------------------------------------

    def take(self, p: SensorLimits, u: Event, y: Result, state: int) -> None:
        """
        Take a reading: moment and force in the axes of the sensor, and s and ns of its stamp.

        A reading whose stamp does not advance is none. One that comes later after its stamp than
        others was measured before: by that much. A stamp of zero says nothing.

        :param p: parameters.
        :param u: event, with those eight as its first numbers.
        :param y: result; a reading that cannot be is a fault while the robot is driven.
        :param state: of the supervisor, see ``StateCode``.
        """
        if not p.used:
            y.answer = SensorWord.NO_SENSOR
            return
        for i in range(8):
            if not (abs(u.numbers[i]) < NONE and abs(p.sign * u.numbers[i]) < NONE):
                _blame(y, SensorWord.NOT_FINITE, 0.0, 0.0, state)
                return
        for k in range(2):
            size = _size(u.numbers[3 * k], u.numbers[3 * k + 1], u.numbers[3 * k + 2])
            if not size <= p.range[k]:
                _blame(y, SensorWord.BEYOND_FORCE if k == 1 else SensorWord.BEYOND_MOMENT, size,
                       p.range[k], state)
                return
        when = self._measured(p, u)
        if not abs(when) < NONE:
            return
        same = self.received > NEVER
        for k in range(2):
            i = 3 * k
            way = _size(p.sign * u.numbers[i] - self.reading[i],
                        p.sign * u.numbers[i + 1] - self.reading[i + 1],
                        p.sign * u.numbers[i + 2] - self.reading[i + 2])
            same = same and way == 0.0
            if when - self.received <= p.timeout and not way <= p.jump[k]:
                _blame(y, SensorWord.JUMPED_FORCE if k == 1 else SensorWord.JUMPED_MOMENT, way,
                       p.jump[k], state)
        self.reading[:] = p.sign * u.numbers[:6]
        self.received = when
        if not same:
            self.changed = when

    def _measured(self, p: SensorLimits, u: Event) -> float:
        """
        Return the control time of measuring; NEVER: the stamp does not advance.

        A clock that was set back counts anew once the sensor counts as silent.
        """
        stamp = u.numbers[6] + 1e-9 * u.numbers[7]
        if stamp == 0.0:
            return u.now
        if not stamp > self.stamp:
            if stamp < self.stamp and u.now - self.received > p.timeout:  # its clock was set back
                self.stamp, self.offset = stamp, NONE
            return NEVER
        late = u.now - stamp
        if not abs(late) < NONE:
            return NEVER
        # clocks drift: the least offset is forgotten slowly
        least = self.offset + _DRIFT * max(stamp - self.stamp, 0.0)
        self.offset = min(late, least if self.stamp != 0.0 else late)
        self.stamp = stamp
        return u.now - (late - self.offset)

    def is_fresh(self, p: SensorLimits, now: float) -> bool:
        """
        Return whether the last reading can be used, or there is no sensor.

        :param p: parameters.
        :param now: control time, s.
        """
        return not p.used or (now - self.received <= p.timeout and (
            not p.freeze_time > 0.0 or now - self.changed <= p.freeze_time))

    def check(self, p: SensorLimits, y: Result, now: float, state: int) -> bool:
        """
        Return whether the sensor can be used, or there is none; say why it cannot.

        :param p: parameters.
        :param y: result.
        :param now: control time, s.
        :param state: of the supervisor, see ``StateCode``.
        """
        if self.is_fresh(p, now):
            return True
        if not now - self.received <= p.timeout:
            _blame(y, SensorWord.SILENT, min(now - self.received, NONE), p.timeout, state)
            return False
        _blame(y, SensorWord.REPEATS, min(now - self.changed, NONE), p.freeze_time, state)
        return False

    # -- without the tool -------------------------------------------------------------------------

    def update(self, p: SensorLimits, k: SensorKernel, joints: Joints, gravity: Vector,
               payload: Vector, now: float) -> None:
        """
        Find what the surroundings exert on the tool at the state that has just come.

        :param p: parameters.
        :param k: kernel.
        :param joints: the state.
        :param gravity: in the base, m/s^2.
        :param payload: its ten numbers.
        :param now: control time, s.
        """
        if not p.used or not abs(now) < NONE:
            return
        dt = now - self.time
        self.time = now
        goes_on = 0.0 < dt <= _GAP
        rests = all(abs(joints.qd) < _REST)
        k(joints, p, acting=gravity, payload=payload, before=self.velocity,
          rate=1.0 / dt if goes_on and dt > 1e-6 else 0.0)
        if not _is_usable(k):
            self.known, self.count, self.settled = 0.0, 0.0, False
            return
        share = dt / (dt + p.filter) if goes_on and self.known > 0.0 and p.filter >= 0.0 else 1.0
        self.velocity[:] = k.velocity
        self.external[:] += share * (self.reading - k.load - self.bias - self.external)
        self.axes[:] = k.axes
        self.known = 1.0
        self._turn(k)
        self._note_rest(p, k, now,
                        1 if rests and goes_on and now - self.received <= p.timeout else 0)

    def _turn(self, k: SensorKernel) -> None:
        """Find the wrench at the tip."""
        for i in range(3):
            self.wrench[i] = dot(k.turn[i], self.external[:3])
            self.wrench[3 + i] = dot(k.turn[i], self.external[3:])
        self.wrench[0] += k.arm[1] * self.wrench[5] - k.arm[2] * self.wrench[4]
        self.wrench[1] += k.arm[2] * self.wrench[3] - k.arm[0] * self.wrench[5]
        self.wrench[2] += k.arm[0] * self.wrench[4] - k.arm[1] * self.wrench[3]

    # -- bias -------------------------------------------------------------------------------------

    def _note_rest(self, p: SensorLimits, k: SensorKernel, now: float, rests: int) -> None:
        """Add a state at rest to the mean; motion and gaps begin it anew."""
        if rests == 0 or self.count == 0.0:
            self.count = 0.0
            self.begun = now
            self.sums[:] = self.squares[:] = 0.0
        if rests == 0:
            self.settled = False
            return
        self.count += 1.0
        self.sums[:] += self.reading - k.load
        self.squares[:] += (self.reading - k.load) * (self.reading - k.load)
        if now - self.begun < p.tare_time:
            return
        self.mean[:] = self.sums / self.count
        for n in range(2):
            i = 3 * n
            self.spread[n] = math.sqrt(total(maximum(
                self.squares[i:i + 3] / self.count
                - self.mean[i:i + 3] * self.mean[i:i + 3], 0.0)))
        self.settled = True
        self.count = 0.0

    def tare(self, p: SensorLimits, u: Event, y: Result) -> None:
        """
        Take what the sensor reads at rest, without the tool, as its bias; nothing moves.

        :param p: parameters.
        :param u: event.
        :param y: result; its answer refuses a robot that moves or touches something.
        """
        if not p.used or not u.now - self.received <= p.timeout or not self.known > 0.0:
            y.answer = SensorWord.NO_SENSOR
            return
        if not self.settled:
            y.answer = SensorWord.MOVES
            rested = max(u.now - self.begun, 0.0) if self.begun > NEVER else 0.0
            tell(y, SensorWord.MOVES, NOBODY, rested, p.tare_time, 0.0)
            return
        if not (self.spread[1] <= _SPREAD * p.tare[1] and self.spread[0] <= _SPREAD * p.tare[0]):
            y.answer = SensorWord.UNSTEADY
            tell(y, SensorWord.UNSTEADY, NOBODY, self.spread[1], self.spread[0], 0.0)
            return
        moment = _size(self.mean[0] - self.bias[0], self.mean[1] - self.bias[1],
                       self.mean[2] - self.bias[2])
        force = _size(self.mean[3] - self.bias[3], self.mean[4] - self.bias[4],
                      self.mean[5] - self.bias[5])
        if not (force <= p.tare[1] and moment <= p.tare[0]):
            y.answer = SensorWord.TOO_MUCH
            tell(y, SensorWord.TOO_MUCH, NOBODY, force, moment, 0.0 if force > p.tare[1] else 1.0)
            return
        self.external[:] += self.bias - self.mean
        self.bias[:] = self.mean


class SensorLimits(Record):
    """What is chosen of the sensor."""

    used: bool = field('', '', 'whether there is a sensor')
    sign: float = field('', '', 'by which a reading becomes what pulls at the sensor')
    timeout: float = field('', 's', 'after which a sensor is silent')
    freeze_time: float = field('', 's', 'after which one that repeats itself is frozen; 0: never')
    filter: float = field('', 's', 'time constant')
    tare_time: float = field('', 's', 'at rest, over which a bias is found')
    range: Vector = field('2', 'N.m, N', 'largest moment and force')
    jump: Vector = field('2', 'N.m, N', 'largest change between two readings')
    tare: Vector = field('2', 'N.m, N', 'largest change of the bias')
    bias: Vector = field('6', 'N.m, N', 'with which it begins')
    tool: Vector = field('10', 'kg, kg.m, kg.m^2', 'what the description has behind the sensor')

    def fill(self, g: Inputs) -> None:
        """
        Take the parameters.

        :param g: what was given.
        """
        self.used = g.robot.sensor
        self.sign = 1.0 if g.values.force_torque.convention == 0 else -1.0
        self.timeout = g.values.force_torque.timeout
        self.freeze_time = g.values.force_torque.freeze_time
        self.filter, self.tare_time = g.values.force_torque.filter, g.values.force_torque.tare_time
        self.range[0] = g.values.force_torque.moment_range
        self.range[1] = g.values.force_torque.force_range
        self.jump[0] = g.values.force_torque.moment_jump
        self.jump[1] = g.values.force_torque.force_jump
        self.tare[0] = g.values.force_torque.tare_moment
        self.tare[1] = g.values.force_torque.tare_force
        self.bias[:3] = self.sign * g.values.force_torque.moment_bias
        self.bias[3:6] = self.sign * g.values.force_torque.force_bias
        self.tool[0] = g.values.force_torque.tool_mass
        self.tool[1:4] = g.values.force_torque.tool_com
        self.tool[4:10] = g.values.force_torque.tool_inertia
        about_origin(self.tool)


def _blame(y: Result, word: int, a: float, b: float, state: int) -> None:
    """Accuse the sensor while a law drives the robot; one that is held needs none."""
    if state == StateCode.RAMPING_IN or state == StateCode.RUNNING:
        accuse(y, Cause.FORCE_SENSOR, word, NOBODY, a, b, 0.0)


def _is_usable(k: SensorKernel) -> bool:
    """Return whether the kernel gave numbers."""
    for i in range(3):
        if not all((abs(k.axes[i]) < NONE) & (abs(k.turn[i]) < NONE)):
            return False
    return all((abs(k.velocity) < NONE) & (abs(k.load) < NONE)) and all(abs(k.arm) < NONE)


def _size(a: float, b: float, c: float) -> float:
    """Return the length of a vector."""
    return math.sqrt(a * a + b * b + c * c)
