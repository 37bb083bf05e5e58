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

"""Words about load, start check, closed loops and delay, and their sentences."""

from __future__ import annotations

from collections.abc import Callable
import enum

from rbd_ros.control.interface.sentences import Sentence

__all__ = ['KINDS', 'LoadWord', 'SHORT', 'TEXTS']


class LoadWord(enum.IntEnum):
    """What load, start check, closed loops and the delay of the control loop have to say."""

    LATE_BY_OUR_CLOCK = 450  # s: median age, high age, given delay
    LATE_IF_OUR_CLOCK = 451  # the same
    GAINS_FOR_DELAY = 452  # s: delay for which the gains that were asked for may be unstable
    BAD_PAYLOAD = 453
    BAD_DIRECTION = 454
    GRAVITY_OLD = 455  # s: age from which on a measured direction is too old
    NEGATIVE_MASS = 456  # kg
    BEYOND = 457  # what no payload has: it, the bound, and which: mass, centre, inertia
    IMPOSSIBLE = 458  # kg.m^2: principal moments
    MASSLESS = 459
    START_POSITIONS = 460  # the first wrong joint; rad or m: its position
    START_RATE_LOW = 461  # Hz: rate, minimum, nominal
    START_RATE_FAR = 462  # the same
    START_NO_EFFORT = 463
    START_NOT_COMPARED = 464
    START_UNMEASURED = 465
    START_BRAKED = 466  # joint with the largest load; N.m or N: its gravity torque
    START_MATCH = 467  # joint with the largest difference; N.m or N: it
    START_MISMATCH = 468  # the first wrong joint; N.m or N: measured, predicted
    START_AGE = 469  # s: how old states would be by their stamps; 0: they have none
    TOO_HEAVY = 470  # joint that cannot hold it; N.m or N: needed, its limit; kg: mass
    NO_ORIENTATION = 471
    BAD_QUATERNION = 472  # its length
    LOOP_OPEN = 480  # row of the loops; rad or m: gap, tolerance
    LOOP_LOST = 481  # row of the loops; rad or m: gap
    LOOP_SINGULAR = 482  # row of the loops; pivot, least pivot


#: kinds of what is only logged; the others are faults or answers
KINDS: dict[int, str] = {
    LoadWord.LATE_BY_OUR_CLOCK: 'warning', LoadWord.LATE_IF_OUR_CLOCK: 'warning',
    LoadWord.GAINS_FOR_DELAY: 'warning', LoadWord.START_RATE_FAR: 'warning',
    LoadWord.START_NO_EFFORT: 'warning', LoadWord.START_NOT_COMPARED: 'info',
    LoadWord.START_UNMEASURED: 'warning', LoadWord.START_BRAKED: 'warning',
    LoadWord.START_MATCH: 'info'}


def _late(clock: str) -> Sentence:
    return Sentence(
        'joint states are {a*1000:.3g} to {b*1000:.3g} ms old when they arrive' f'{clock}: '
        'damping, laws, stops and holds are made for that from now on, not for delay '
        '{c*1000:.3g} ms. '
        'Set delay, and add the time that torques take')


def _age_unknown(joint: str, age: float, b: float, c: float) -> str:
    stamps = 'joint states have no stamps' if age == 0.0 else (
        f'the stamps of joint states are {abs(age):.4g} s {"ahead of" if age < 0.0 else "behind"} '
        'the clock of this machine')
    return (f'{stamps}, so that nobody knows how late they are, and delay is 0 s: damping made '
            'for states without delay throws a robot whose states are late. Set delay to the time '
            'from measuring a state to applying its torque (a little more does no harm), or let '
            'the driver stamp states when they are measured, by a clock that agrees with that of '
            'this machine; with simulated time set use_sim_time')


def _not_compared(why: str) -> Callable[[str, float, float, float], str]:
    return lambda joint, a, b, c: (
        f'start check: {why}, so gravity cannot be compared before the first torque, which is '
        'g(q) if the robot is at rest')


def _rate_low(joint: str, rate: float, minimum: float, nominal: float) -> str:
    least = 'below' if rate < minimum else 'no more than'
    return (f'joint states arrive at {rate:.4g} Hz, {least} minimum_rate {minimum:g} Hz '
            f'(nominal_rate {nominal:g} Hz): this would be a fault within a second. Make the '
            'driver publish faster, or set both parameters to its rate')


def _rate_far(joint: str, rate: float, minimum: float, nominal: float) -> str:
    slow = '; below half of it, the control loop may oscillate' if 2.0 * rate < nominal else ''
    return (f'start check: joint states arrive at {rate:.4g} Hz, but nominal_rate is '
            f'{nominal:g} Hz: set it to {rate:.0f} Hz. Damping and the steps of the limiter are '
            f'designed for it{slow}')


#: sentences by word: of the name of a joint, or of a loop joint, and three numbers; those that
#: need more are in ``load_texts``
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    LoadWord.LATE_BY_OUR_CLOCK: _late(''),
    LoadWord.LATE_IF_OUR_CLOCK: _late(', if the clock that stamps is that of this machine'),
    LoadWord.BAD_PAYLOAD: lambda joint, a, b, c: 'payload has entries that are not finite',
    LoadWord.BAD_DIRECTION: lambda joint, a, b, c: 'the direction of gravity is no unit vector',
    LoadWord.NEGATIVE_MASS: Sentence('payload mass {a:g} kg is negative'),
    LoadWord.BEYOND: Sentence('payload {c|mass|centre of mass|inertia} {a:g} {c|kg|m|kg.m^2} is '
                              'beyond {b:g} {c|kg|m|kg.m^2}'),
    LoadWord.IMPOSSIBLE: Sentence(
        'principal moments {a:.6g}, {b:.6g} and {c:.6g} kg.m^2 are impossible for a rigid body: '
        'each must be at most the sum of the other two'),
    LoadWord.MASSLESS: Sentence('a payload without mass has no inertia'),
    LoadWord.TOO_HEAVY: Sentence(
        'a payload of {c:g} kg cannot be held: at the present pose {joint} would need {a:.4g} '
        '{effort}, its limit is {b:.4g} {effort}'),
    LoadWord.NO_ORIENTATION: Sentence('the IMU reports that it has no orientation'),
    LoadWord.BAD_QUATERNION: Sentence('its quaternion has length {a:.4g}, not 1'),
    LoadWord.GRAVITY_OLD: lambda joint, timeout, b, c: f'{timeout:g} s',
    LoadWord.START_RATE_LOW: _rate_low,
    LoadWord.START_AGE: _age_unknown,
    LoadWord.START_RATE_FAR: _rate_far,
    LoadWord.START_NO_EFFORT: _not_compared('joint_states has no effort for some joints'),
    LoadWord.START_NOT_COMPARED: _not_compared('effort_is_torque is false'),
    LoadWord.START_UNMEASURED: lambda joint, a, b, c: (
        'start check: no effort was measured at rest; the first torque is g(q) if the robot is '
        'at rest'),
    LoadWord.START_BRAKED: Sentence(
        'start check: the measured effort is about zero although gravity requires {a:.3g} '
        '{effort} ({joint}): the brakes hold the robot, or the effort does not include gravity; '
        'the first torque is g(q)'),
    LoadWord.START_MATCH: Sentence(
        'start check: measured effort agrees within {a:.3g} {effort}; the first torque is its '
        'median, bounded by what g(q) explains'),
    LoadWord.LOOP_OPEN: lambda loop, gap, most, c: (
        f'loop joint "{loop}" is open by {gap:.3g} (rad or m), loop_tolerance {most:g} (rad or '
        'm): zero or sign of a sensor, or lengths of the description?'),
    LoadWord.LOOP_LOST: lambda loop, gap, b, c: (
        f'loop joint "{loop}" stays open by {gap:.3g} (rad or m) with the driven joints where '
        'they are: no passive joints close it near those before. Zero or sign of a sensor, '
        'lengths of the description, or assembly.joints far from the start?'),
    LoadWord.LOOP_SINGULAR: lambda loop, pivot, least, c: (
        f'the robot is near a singular position of its closed loops, that of loop joint "{loop}": '
        'the driven joints do not determine the others there (pivot '
        f'{pivot:.2g} of its usual size, loop_pivot {least:g})'),
}

#: what is said where no model is at hand to explain it; causes may follow
SHORT: dict[int, Sentence] = {
    LoadWord.GAINS_FOR_DELAY: Sentence(
        'the gains may be unstable with a delay of {a*1000:.3g} ms: lower them, or the delay'),
    LoadWord.START_AGE: Sentence(
        'nobody knows how late states are, {a:.4g} s by their stamps, and delay is 0 s: set it'),
    LoadWord.START_POSITIONS: Sentence(
        '{joint} is at {a:.4g} {unit}, far outside its limits. Another robot, another zero '
        'position, another unit, or an offset of the encoders?'),
    LoadWord.START_MISMATCH: Sentence(
        '{joint}: measured {a:.4g} {effort}, predicted {b:.4g} {effort}')}
