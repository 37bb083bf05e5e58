# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Payload and gravity: both go to a new value over a time, so that no torque jumps.

A payload is the vector of ten numbers (m, m c, I about the origin as xx xy xz yy yz zz) in the
payload frame, in which inertias add and any mixture of two real ones is a real one; a ramp is
therefore a straight line. Gravity is a vector in base coordinates, constant, or along a measured
direction that must not become too old: that of an IMU, by its orientation.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler.language.whole import where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Event, NEVER, NOBODY, NONE, Result, tell
from rbd_ros.control.interface.payload import about_origin, payload_vector
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.ages import Freshness, observe
from rbd_ros.control.joint_states.sources import AgeLimits, Sources
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.parameters.settings import Settings

__all__ = ['apply_load', 'check_gravity', 'fill_load', 'find_down', 'judge_weight',
           'Load', 'LoadLimits', 'payload_of', 'restart_load', 'share_load', 'take_gravity',
           'take_payload', 'Tilt', 'update_load']


class Load(Record):
    """What the robot carries, and where down is."""

    start: float = field('', 's', 'control time at which the ramp of the payload began')
    duration: float = field('', 's', 'of the ramp')
    ramping: bool = field('', '', 'whether the payload is on its way')
    time: float = field('', 's', 'control time of the last update', NEVER)
    received: float = field('', 's', 'control time of the measured direction', NEVER)
    constant: bool = field('', '', 'whether gravity does not change and is where it shall be')
    known: bool = field('', '', 'whether the direction of gravity is known')
    size: float = field('', 'm/s^2', 'of gravity')
    slew: float = field('', 'm/s^3', 'largest change of gravity per second')
    payload: Vector = field('10', 'kg, kg.m, kg.m^2', 'that counts now')
    before: Vector = field('10', 'kg, kg.m, kg.m^2', 'at the begin of the ramp')
    wanted: Vector = field('10', 'kg, kg.m, kg.m^2', 'at its end')
    given: Vector = field('10', 'kg, m, kg.m^2', 'mass, centre and inertia of the parameters, as '
                                                 'they were taken last')
    gravity: Vector = field('3', 'm/s^2', 'free fall in the base at rest, that counts now')
    target: Vector = field('3', 'm/s^2', 'where gravity goes to')


class LoadLimits(Record):
    """Payload and gravity of the parameters."""

    ramp_time: float = field('', 's', 'for a change of the payload')
    slew: float = field('', 'm/s^3', 'largest change of gravity per second')
    timeout: float = field('', 's', 'after which a measured direction is too old; 0: constant')
    size: float = field('', 'm/s^2', 'of gravity')
    given: Vector = field('10', 'kg, m, kg.m^2', 'mass, centre of mass and inertia about it')
    payload: Vector = field('10', 'kg, kg.m, kg.m^2', 'the same as ten numbers')
    gravity: Vector = field('3', 'm/s^2', 'free fall in the base at rest')


def fill_load(p: LoadLimits, g: Inputs) -> None:
    """
    Take the parameters.

    :param p: gets them.
    :param g: what was given.
    """
    p.ramp_time, p.slew = g.values.payload.ramp_time, min(g.values.gravity_slew, NONE)
    p.timeout = g.values.gravity_timeout if g.values.gravity_source > 0 else 0.0
    p.given[0] = g.values.payload.mass
    p.given[1:4] = g.values.payload.com
    p.given[4:10] = g.values.payload.inertia
    p.gravity[:] = g.values.gravity
    p.size = math.sqrt(p.gravity[0] * p.gravity[0] + p.gravity[1] * p.gravity[1]
                       + p.gravity[2] * p.gravity[2])
    p.payload[:] = p.given
    about_origin(p.payload)


def payload_of(settings: Settings) -> npt.NDArray[np.float64]:
    """
    Return the ten numbers of the payload in the parameters.

    :param settings: valid set.
    """
    return payload_vector(settings.number('payload.mass'), settings.numbers('payload.com'),
                          settings.numbers('payload.inertia'))


def restart_load(x: Load, p: LoadLimits) -> None:
    """Begin with the payload and the gravity of the parameters, when the robot is configured."""
    if _all_usable(p.gravity) and 0.0 <= p.size < NONE and 0.0 <= p.slew <= NONE:
        x.size = p.size
        x.slew = p.slew
        x.gravity[:] = x.target[:] = p.gravity
    x.constant = p.timeout <= 0.0
    _carry(x, 0.0, p.payload, 0.0)
    _keep(x.given, p.given)
    _ramp(x, 0.0)


def apply_load(x: Load, p: LoadLimits, now: float) -> None:
    """Take new parameters; those in force change nothing."""
    changed = 0
    for i in range(10):
        if p.given[i] != x.given[i]:
            changed = 1
    if changed > 0:
        _carry(x, now, p.payload, p.ramp_time)
        _keep(x.given, p.given)
    if not (_all_usable(p.gravity) and 0.0 <= p.size < NONE and 0.0 <= p.slew <= NONE):
        return
    if p.slew != x.slew:
        _slew(x, p, now)  # with the rate before; the new one begins now
        x.slew = p.slew
    if p.timeout <= 0.0:
        _aim(x, p, now)
    elif p.size != x.size and x.size > 0.0:
        _slew(x, p, now)
        scale = p.size / x.size
        for i in range(3):
            if abs(x.target[i] * scale) < NONE:
                x.target[i] *= scale
    x.size = p.size


def take_payload(x: Load, p: LoadLimits, u: Event, y: Result) -> None:
    """
    Begin a ramp to another payload, the first ten numbers of the event.

    :param y: result; its answer refuses what is no payload.
    """
    if not _carry(x, u.now, u.numbers, p.ramp_time):
        y.answer = LoadWord.BAD_PAYLOAD


def judge_weight(torque: Vector, limit: Vector, mass: float, y: Result) -> None:
    """
    Refuse a payload that cannot be held.

    :param torque: g(q) with it, of the controlled joints, N.m or N.
    :param limit: of each joint.
    :param mass: of the payload, kg.
    :param y: result; its answer and its only word name the worst joint.
    """
    worst, most = NOBODY, 1.0
    for j in range(len(limit)):
        if not _usable(torque[j]):
            y.answer = LoadWord.BAD_PAYLOAD
            return
        share = abs(torque[j]) / limit[j] if limit[j] > 0.0 else NONE  # without a limit none is
        if share > most:
            worst, most = j, share
    if worst != NOBODY:
        y.answer = LoadWord.TOO_HEAVY
        tell(y, LoadWord.TOO_HEAVY, worst, abs(torque[worst]),
             limit[worst] if limit[worst] > 0.0 else 0.0, mass)


def take_gravity(x: Load, p: LoadLimits, u: Event, y: Result) -> None:
    """
    Take where down is: a unit vector in base coordinates, and the control time of measuring.

    :param u: event, with those four as its first numbers.
    :param y: result; its answer refuses what is no direction.
    """
    if not (all(abs(u.numbers[:3]) <= 2.0) and _usable(u.numbers[3])):
        y.answer = LoadWord.BAD_DIRECTION
        return
    x.target[:] = u.numbers[:3] * x.size
    if x.received <= NEVER:  # the value was not used before
        x.gravity[:] = x.target
    x.received = u.numbers[3]


def update_load(x: Load, p: LoadLimits, now: float) -> None:
    """Advance payload and gravity to now, before a state is checked."""
    _slew(x, p, now)
    _ramp(x, now)


def check_gravity(x: Load, p: LoadLimits, y: Result) -> bool:
    """
    Return whether the direction of gravity is known; say so if it is not.

    :param x: load, just updated.
    """
    if x.known:
        return True
    accuse(y, Cause.GRAVITY_STALE, LoadWord.GRAVITY_OLD, NOBODY, p.timeout)
    return False


def share_load(x: Load, payload: Vector, gravity: Vector) -> None:
    """
    Copy what counts now to the inputs of a kernel.

    :param payload: ten numbers of the kernel.
    :param gravity: three numbers of the kernel.
    """
    payload[:] = x.payload
    gravity[:] = x.gravity


def _carry(x: Load, now: float, payload: Vector, duration: float) -> bool:
    """Begin a ramp from the present payload; return whether it is to one that can be."""
    if not (all(abs(payload[:10]) < NONE) and _usable(now)):
        return False
    if 0.0 <= duration < NONE:
        x.duration = duration
    x.before[:] = x.payload
    x.wanted[:] = payload[:10]
    x.start = now
    x.ramping = True
    return True


def _ramp(x: Load, now: float) -> None:
    """Advance the payload."""
    if not x.ramping or not _usable(now):
        return
    share = (now - x.start) / x.duration if x.duration > 0.0 else 1.0
    if share >= 1.0:
        x.ramping = False
    x.payload[:] = ((x.wanted - x.before) * max(share, 0.0) + x.before if share < 1.0 else
                    x.wanted)


def _slew(x: Load, p: LoadLimits, now: float) -> None:
    """Advance gravity."""
    if _usable(now):
        dt = max(now - x.time, 0.0) if x.time > NEVER else 0.0
        x.time = now
        if not x.constant:
            _approach(x, p, dt)
    # an age that is NaN is too old
    x.known = p.timeout <= 0.0 or (
        x.received > NEVER and abs(now) < NONE and now - x.received <= p.timeout)


def _aim(x: Load, p: LoadLimits, now: float) -> None:
    """Let gravity go to that of the parameters, if it goes to another one."""
    for i in range(3):
        if x.target[i] != p.gravity[i]:
            _slew(x, p, now)
            x.constant = False
    x.target[:] = p.gravity


def _approach(x: Load, p: LoadLimits, dt: float) -> None:
    """Move gravity by as much as a time allows."""
    a = x.target[0] - x.gravity[0]
    b = x.target[1] - x.gravity[1]
    c = x.target[2] - x.gravity[2]
    length = math.sqrt(a * a + b * b + c * c)
    most = x.slew * dt
    scale = most / length if length > most else 1.0
    x.gravity[0] += a * scale
    x.gravity[1] += b * scale
    x.gravity[2] += c * scale
    x.constant = p.timeout <= 0.0 and length <= most


def _usable(value: float) -> bool:
    """Return whether a number can be computed with; NaN cannot."""
    return abs(value) < NONE


def _all_usable(values: Vector) -> bool:
    return all(abs(values) < NONE)


def _keep(held: Vector, values: Vector) -> None:
    """Keep what was given; what is no number counts as never taken."""
    held[:] = where(abs(values) < NONE, values, NONE)


class Tilt(Record):
    """A message of an IMU, and what it says of gravity."""

    now: float = field('', 's', 'control time of reception')
    stamp_s: float = field('', 's', 'its stamp, whole seconds')
    stamp_ns: float = field('', 'ns', 'the rest of it')
    missing: bool = field('', '', 'whether the IMU reports that it has no orientation')
    word: float = field('', '', 'what is wrong with it, see LoadWord; 0: nothing')
    a: float = field('', '', 'number of the sentence')
    fresh: bool = field('', '', 'whether it may be used: its stream has proved to be fresh')
    turn: Vector = field('4', '', 'quaternion x, y, z, w from the IMU to the world, whose z is up')
    axes: Matrix = field('3 3', '', 'axes of the IMU as columns, in the base')
    down: Vector = field('4', '', 'unit vector in the base, then the control time of measuring, s')


def find_down(x: Tilt, sources: Sources, p: AgeLimits) -> None:
    """
    Find where down is.

    :param x: message; its ``word`` says what is wrong.
    :param sources: what was received before, of one kind.
    :param p: how a stream proves that it is fresh.
    """
    x.fresh, x.word, x.a = False, 0.0, 0.0
    if x.missing:
        x.word = LoadWord.NO_ORIENTATION
        return
    size = math.sqrt(x.turn[0] * x.turn[0] + x.turn[1] * x.turn[1] + x.turn[2] * x.turn[2]
                     + x.turn[3] * x.turn[3])
    if not 0.9 < size < 1.1:
        x.word, x.a = LoadWord.BAD_QUATERNION, size
        return
    a, b, c, w = x.turn[0] / size, x.turn[1] / size, x.turn[2] / size, x.turn[3] / size
    for i in range(3):  # the third row of the rotation is where the world's z is in the IMU
        x.down[i] = -(x.axes[i, 0] * 2.0 * (a * c - b * w) + x.axes[i, 1] * 2.0 * (b * c + a * w)
                      + x.axes[i, 2] * (1.0 - 2.0 * (a * a + b * b)))
    if observe(sources, p, 0, x.now, x.stamp_s, x.stamp_ns) == Freshness.FRESH:
        x.fresh, x.down[3] = True, x.now - sources.excess[0]
