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
from rbd_ros.control.interface.payload import payload_vector
from rbd_ros.control.interface.words import SensorWord
from rbd_ros.control.kernels.declared import SensorKernel
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['check_sensor', 'fill_sensor', 'forget_readings', 'is_fresh', 'restart_sensor',
           'Sensor', 'SensorLimits', 'take_reading', 'tare', 'update_sensor']

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


def fill_sensor(p: SensorLimits, settings: Settings) -> None:
    """
    Take the parameters.

    :param p: gets them.
    :param settings: valid set.
    """
    def both(name: str) -> list[float]:
        return [settings.number(f'force_torque.{part}_{name}') for part in ('moment', 'force')]

    p.used = bool(settings.robot.sensor)
    p.sign = 1.0 if settings.text('force_torque.convention') == 'load' else -1.0
    p.timeout = settings.number('force_torque.timeout')
    p.freeze_time = settings.number('force_torque.freeze_time')
    p.filter = settings.number('force_torque.filter')
    p.tare_time = settings.number('force_torque.tare_time')
    p.range[:], p.jump[:] = both('range'), both('jump')
    p.tare[:] = [settings.number(f'force_torque.tare_{part}') for part in ('moment', 'force')]
    p.bias[:] = [p.sign * each for part in ('moment', 'force')
                 for each in settings.numbers(f'force_torque.{part}_bias')]
    p.tool[:] = payload_vector(
        settings.number('force_torque.tool_mass'), settings.numbers('force_torque.tool_com'),
        settings.numbers('force_torque.tool_inertia'))


def restart_sensor(x: Sensor, p: SensorLimits) -> None:
    """
    Begin without a reading, with the bias of the parameters, when the robot is configured.

    :param x: a new record.
    :param p: parameters.
    """
    x.bias[:] = where(abs(p.bias) < NONE, p.bias, 0.0)


def forget_readings(x: Sensor) -> None:
    """
    Forget every reading: the stream must prove again that it is fresh.

    :param x: sensor.
    """
    x.received, x.changed, x.stamp, x.offset = NEVER, NEVER, 0.0, NONE
    x.known, x.count, x.settled = 0.0, 0.0, False


# -- readings -------------------------------------------------------------------------------------

def take_reading(x: Sensor, p: SensorLimits, u: Event, y: Result, state: int) -> None:
    """
    Take a reading: moment and force in the axes of the sensor, and s and ns of its stamp.

    A reading whose stamp does not advance is none. One that comes later after its stamp than
    others was measured before: by that much. A stamp of zero says nothing.

    :param x: sensor.
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
    when = _measured(x, p, u)
    if not abs(when) < NONE:
        return
    same = x.received > NEVER
    for k in range(2):
        i = 3 * k
        way = _size(p.sign * u.numbers[i] - x.reading[i],
                    p.sign * u.numbers[i + 1] - x.reading[i + 1],
                    p.sign * u.numbers[i + 2] - x.reading[i + 2])
        same = same and way == 0.0
        if when - x.received <= p.timeout and not way <= p.jump[k]:
            _blame(y, SensorWord.JUMPED_FORCE if k == 1 else SensorWord.JUMPED_MOMENT, way,
                   p.jump[k], state)
    x.reading[:] = p.sign * u.numbers[:6]
    x.received = when
    if not same:
        x.changed = when


def _measured(x: Sensor, p: SensorLimits, u: Event) -> float:
    """
    Return the control time of measuring; NEVER: the stamp does not advance.

    A clock that was set back counts anew once the sensor counts as silent.
    """
    stamp = u.numbers[6] + 1e-9 * u.numbers[7]
    if stamp == 0.0:
        return u.now
    if not stamp > x.stamp:
        if stamp < x.stamp and u.now - x.received > p.timeout:  # its clock was set back
            x.stamp, x.offset = stamp, NONE
        return NEVER
    late = u.now - stamp
    if not abs(late) < NONE:
        return NEVER
    # clocks drift: the least offset is forgotten slowly
    x.offset = min(late, x.offset + _DRIFT * max(stamp - x.stamp, 0.0) if x.stamp != 0.0 else late)
    x.stamp = stamp
    return u.now - (late - x.offset)


def is_fresh(x: Sensor, p: SensorLimits, now: float) -> bool:
    """
    Return whether the last reading can be used, or there is no sensor.

    :param x: sensor.
    :param p: parameters.
    :param now: control time, s.
    """
    return not p.used or (now - x.received <= p.timeout and (
        not p.freeze_time > 0.0 or now - x.changed <= p.freeze_time))


def check_sensor(x: Sensor, p: SensorLimits, y: Result, now: float, state: int) -> bool:
    """
    Return whether the sensor can be used, or there is none; say why it cannot.

    :param x: sensor.
    :param p: parameters.
    :param y: result.
    :param now: control time, s.
    :param state: of the supervisor, see ``StateCode``.
    """
    if is_fresh(x, p, now):
        return True
    if not now - x.received <= p.timeout:
        _blame(y, SensorWord.SILENT, min(now - x.received, NONE), p.timeout, state)
        return False
    _blame(y, SensorWord.REPEATS, min(now - x.changed, NONE), p.freeze_time, state)
    return False


def _blame(y: Result, word: int, a: float, b: float, state: int) -> None:
    """Accuse the sensor while a law drives the robot; one that is held needs none."""
    if state == StateCode.RAMPING_IN or state == StateCode.RUNNING:
        accuse(y, Cause.FORCE_SENSOR, word, NOBODY, a, b, 0.0)


# -- without the tool -----------------------------------------------------------------------------

def update_sensor(x: Sensor, p: SensorLimits, k: SensorKernel, joints: Joints, gravity: Vector,
                  payload: Vector, now: float) -> None:
    """
    Find what the surroundings exert on the tool at the state that has just come.

    :param x: sensor.
    :param p: parameters.
    :param k: kernel.
    :param joints: the state.
    :param gravity: in the base, m/s^2.
    :param payload: its ten numbers.
    :param now: control time, s.
    """
    if not p.used or not abs(now) < NONE:
        return
    dt = now - x.time
    x.time = now
    goes_on = 0.0 < dt <= _GAP
    rests = all(abs(joints.qd) < _REST)
    k(joints, p, acting=gravity, payload=payload, before=x.velocity,
      rate=1.0 / dt if goes_on and dt > 1e-6 else 0.0)
    if not _is_usable(k):
        x.known, x.count, x.settled = 0.0, 0.0, False
        return
    share = dt / (dt + p.filter) if goes_on and x.known > 0.0 and p.filter >= 0.0 else 1.0
    x.velocity[:] = k.velocity
    x.external[:] += share * (x.reading - k.load - x.bias - x.external)
    x.axes[:] = k.axes
    x.known = 1.0
    _turn(x, k)
    _note_rest(x, p, k, now, 1 if rests and goes_on and now - x.received <= p.timeout else 0)


def _is_usable(k: SensorKernel) -> bool:
    """Return whether the kernel gave numbers."""
    for i in range(3):
        if not all((abs(k.axes[i]) < NONE) & (abs(k.turn[i]) < NONE)):
            return False
    return all((abs(k.velocity) < NONE) & (abs(k.load) < NONE)) and all(abs(k.arm) < NONE)


def _turn(x: Sensor, k: SensorKernel) -> None:
    """Find the wrench at the tip."""
    for i in range(3):
        x.wrench[i] = dot(k.turn[i], x.external[:3])
        x.wrench[3 + i] = dot(k.turn[i], x.external[3:])
    x.wrench[0] += k.arm[1] * x.wrench[5] - k.arm[2] * x.wrench[4]
    x.wrench[1] += k.arm[2] * x.wrench[3] - k.arm[0] * x.wrench[5]
    x.wrench[2] += k.arm[0] * x.wrench[4] - k.arm[1] * x.wrench[3]


# -- bias -----------------------------------------------------------------------------------------

def _note_rest(x: Sensor, p: SensorLimits, k: SensorKernel, now: float, rests: int) -> None:
    """Add a state at rest to the mean; motion and gaps begin it anew."""
    if rests == 0 or x.count == 0.0:
        x.count = 0.0
        x.begun = now
        x.sums[:] = x.squares[:] = 0.0
    if rests == 0:
        x.settled = False
        return
    x.count += 1.0
    x.sums[:] += x.reading - k.load
    x.squares[:] += (x.reading - k.load) * (x.reading - k.load)
    if now - x.begun < p.tare_time:
        return
    x.mean[:] = x.sums / x.count
    for n in range(2):
        i = 3 * n
        x.spread[n] = math.sqrt(total(maximum(
            x.squares[i:i + 3] / x.count - x.mean[i:i + 3] * x.mean[i:i + 3], 0.0)))
    x.settled = True
    x.count = 0.0


def tare(x: Sensor, p: SensorLimits, u: Event, y: Result) -> None:
    """
    Take what the sensor reads at rest, without the tool, as its bias; nothing moves.

    :param x: sensor.
    :param p: parameters.
    :param u: event.
    :param y: result; its answer refuses a robot that moves or touches something.
    """
    if not p.used or not u.now - x.received <= p.timeout or not x.known > 0.0:
        y.answer = SensorWord.NO_SENSOR
        return
    if not x.settled:
        y.answer = SensorWord.MOVES
        tell(y, SensorWord.MOVES, NOBODY, max(u.now - x.begun, 0.0) if x.begun > NEVER else 0.0,
             p.tare_time, 0.0)
        return
    if not (x.spread[1] <= _SPREAD * p.tare[1] and x.spread[0] <= _SPREAD * p.tare[0]):
        y.answer = SensorWord.UNSTEADY
        tell(y, SensorWord.UNSTEADY, NOBODY, x.spread[1], x.spread[0], 0.0)
        return
    moment = _size(x.mean[0] - x.bias[0], x.mean[1] - x.bias[1], x.mean[2] - x.bias[2])
    force = _size(x.mean[3] - x.bias[3], x.mean[4] - x.bias[4], x.mean[5] - x.bias[5])
    if not (force <= p.tare[1] and moment <= p.tare[0]):
        y.answer = SensorWord.TOO_MUCH
        tell(y, SensorWord.TOO_MUCH, NOBODY, force, moment, 0.0 if force > p.tare[1] else 1.0)
        return
    x.external[:] += x.bias - x.mean
    x.bias[:] = x.mean


def _size(a: float, b: float, c: float) -> float:
    """Return the length of a vector."""
    return math.sqrt(a * a + b * b + c * c)
