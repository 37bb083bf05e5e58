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

__all__ = ['KINDS', 'LoadWord', 'TEXTS']


class LoadWord(enum.IntEnum):
    """What load, start check, closed loops and the delay of the control loop have to say."""

    LATE_BY_OUR_CLOCK = 450  # s: median age, high age, given delay
    LATE_IF_OUR_CLOCK = 451  # the same
    GAINS_FOR_DELAY = 452  # s: delay for which the gains that were asked for may be unstable
    BAD_PAYLOAD = 453
    BAD_DIRECTION = 454
    GRAVITY_OLD = 455  # s: age from which on a measured direction is too old
    START_POSITIONS = 460  # the first wrong joint; rad or m: its position
    START_RATE_LOW = 461  # Hz: rate, minimum, nominal
    START_RATE_FAR = 462  # the same
    START_NO_EFFORT = 463
    START_NOT_COMPARED = 464
    START_UNMEASURED = 465
    START_BRAKED = 466  # joint with the largest load; N.m: its gravity torque
    START_MATCH = 467  # N.m: largest difference
    START_MISMATCH = 468  # the first wrong joint; N.m: measured, predicted
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


def _late(clock: str) -> Callable[[str, float, float, float], str]:
    return lambda joint, middle, high, given: (
        f'joint states are {1e3 * middle:.3g} to {1e3 * high:.3g} ms old when they arrive{clock}: '
        'damping, stops and holds are made for that from now on, not for delay '
        f'{1e3 * given:.3g} ms. Set delay, and add the time that torques take')


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
            f'{nominal:g} Hz: set it to {float(f"{rate:.2g}"):g}. Damping and the steps of the '
            f'limiter are designed for it{slow}')


#: sentences by word: of the name of a joint, or of a loop joint, and three numbers; those that
#: need more are in ``load_texts``
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    LoadWord.LATE_BY_OUR_CLOCK: _late(''),
    LoadWord.LATE_IF_OUR_CLOCK: _late(', if the clock that stamps is that of this machine'),
    LoadWord.BAD_PAYLOAD: lambda joint, a, b, c: 'payload has entries that are not finite',
    LoadWord.BAD_DIRECTION: lambda joint, a, b, c: 'the direction of gravity is no unit vector',
    LoadWord.GRAVITY_OLD: lambda joint, timeout, b, c: f'{timeout:g} s',
    LoadWord.START_RATE_LOW: _rate_low,
    LoadWord.START_RATE_FAR: _rate_far,
    LoadWord.START_NO_EFFORT: _not_compared('joint_states has no effort for some joints'),
    LoadWord.START_NOT_COMPARED: _not_compared('effort_is_torque is false'),
    LoadWord.START_UNMEASURED: lambda joint, a, b, c: (
        'start check: no effort was measured at rest; the first torque is g(q) if the robot is '
        'at rest'),
    LoadWord.START_BRAKED: lambda joint, torque, b, c: (
        f'start check: the measured effort is about zero although gravity requires {torque:.3g} '
        f'N.m ({joint}): the brakes hold the robot, or the effort does not include gravity; the '
        'first torque is g(q)'),
    LoadWord.START_MATCH: lambda joint, worst, b, c: (
        f'start check: measured effort agrees within {worst:.3g} N.m; the first torque is its '
        'median, bounded by what g(q) explains'),
    LoadWord.LOOP_OPEN: lambda loop, gap, most, c: (
        f'loop joint "{loop}" is open by {gap:.3g}, loop_tolerance {most:g} (rad or m): zero or '
        'sign of a sensor, or lengths of the description?'),
    LoadWord.LOOP_LOST: lambda loop, gap, b, c: (
        f'loop joint "{loop}" stays open by {gap:.3g} (rad or m) with the driven joints where '
        'they are: no passive joints close it near those before. Zero or sign of a sensor, '
        'lengths of the description, or assembly.joints far from the start?'),
    LoadWord.LOOP_SINGULAR: lambda loop, pivot, least, c: (
        f'the robot is near a singular position of its closed loops, that of loop joint "{loop}": '
        'the driven joints do not determine the others there (pivot '
        f'{pivot:.2g} of its usual size, loop_pivot {least:g})'),
}
