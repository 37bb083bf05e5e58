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

"""Rules between parameters, checked on the whole set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import cast

from rbd_ros.control.interface.payload import payload_vector, PayloadError
from rbd_ros.control.interface.sentences import effort_unit, unit_of
from rbd_ros.control.parameters.gains import gain_reasons
from rbd_ros.control.supervisor.states import STOP_LIMIT, Timing

__all__ = ['activation_refusals', 'blind_period', 'direction', 'limit_reasons', 'rules',
           'stop_reasons', 'stop_timing']

#: s, at slow rates of the states a stop does not wait for the next one
_BLIND_PERIOD = 0.02


def direction(axis: str) -> str:
    """
    Return the short name of a direction: "y" for "ty", which YAML cannot take for true.

    :param axis: out of the choices of ``task.axes``.
    """
    return axis.removeprefix('t')


def rules(values: Mapping[str, object]) -> list[str]:
    """
    Return what is wrong between the values of a complete set.

    :param values: by name, each valid by itself.
    """
    reasons = []
    number = _numbers(values)
    period = 1.0 / number['nominal_rate']
    if number['state_timeout'] < 2.0 * period:
        reasons.append(f'state_timeout {number["state_timeout"]:g} s is below two nominal periods '
                       f'of {period:g} s')
    if number['minimum_rate'] > number['nominal_rate']:
        reasons.append(f'minimum_rate {number["minimum_rate"]:g} Hz is above nominal_rate '
                       f'{number["nominal_rate"]:g} Hz')
    reasons += stop_reasons(stop_timing(number))
    for group in ('fixed_positions', 'assembly'):
        names = cast(Sequence[str], values[f'{group}.joints'])
        positions = cast(Sequence[float], values[f'{group}.values'])
        if len(names) != len(positions):
            reasons.append(f'{group} has {len(names)} joints but {len(positions)} values')
    gravity = cast(Sequence[float], values['gravity'])
    if len(gravity) != 3:
        reasons.append(f'gravity must have three entries, got {len(gravity)}')
    axes = [direction(axis) for axis in cast(Sequence[str], values['task.axes'])]
    if not axes or len(set(axes)) != len(axes):
        reasons.append('task.axes must name at least one direction, each once')
    return (reasons + gain_reasons(values) + _payload(values) + _sensor(values)
            + _cores(values))


def stop_timing(number: Mapping[str, float]) -> Timing:
    """
    Return the times of stop sequences.

    :param number: parameters by name.
    """
    return Timing(
        state_timeout=number['state_timeout'], hold_time=number['hold_time'],
        brake_time=number['brake_time'], release_time=number['release_time'],
        stop_time=number['stop_time'], release_repeats=int(number['release_repeats']),
        period=blind_period(number['nominal_rate']))


def stop_reasons(timing: Timing, deadline: float = STOP_LIMIT) -> list[str]:
    """
    Return the reasons why the longest stop sequence would not fit into the deadline.

    :param timing: times of the supervisor.
    :param deadline: s that the whole may take.
    """
    if timing.longest_stop < deadline:
        return []
    return [f'the longest stop takes {timing.longest_stop:.3g} s, the limit is {deadline:g} s: '
            'lower brake_time, hold_time, release_time or stop_time']


def limit_reasons(limit: Sequence[float], rate: Sequence[float], *, stop_time: float,
                  names: Sequence[str]) -> list[str]:
    """
    Return the reasons why these limits must not be used; empty if they may.

    :param limit: torque limit per joint, N.m or N; 0 counts as missing, as in many URDF files.
    :param rate: rate limit per joint, N.m/s or N/s.
    :param stop_time: s within which every joint must be able to go from its limit to zero.
    :param names: names of the joints for the reasons.
    """
    reasons = []
    missing = [name for name, most in zip(names, limit, strict=True)
               if not (math.isfinite(most) and most > 0.0)]
    if missing:
        reasons.append(f'no torque limit of {", ".join(missing)}: give effort in <limit> of the '
                       f'URDF, or torque_limits')
    for name, most, slope in zip(names, limit, rate, strict=True):
        if name in missing:
            continue
        unit = effort_unit(unit_of(name))
        if not (math.isfinite(slope) and slope > 0.0):
            reasons.append(f'{name}: rate limit {slope:g} {unit}/s must be positive and finite')
        elif most > slope * stop_time * (1.0 + 1e-12):
            reasons.append(f'{name}: {most:g} {unit} at {slope:g} {unit}/s takes '
                           f'{most / slope:.3g} s to reach zero, more than stop_time '
                           f'{stop_time:g} s; raise torque_rate_limits to '
                           f'{most / stop_time:.4g} {unit}/s or more')
    return reasons


def blind_period(rate: float) -> float:
    """
    Return the time in s between two torques that need no state.

    The limiter allows a step of two nominal periods at most.

    :param rate: nominal, Hz.
    """
    return min(2.0 / rate, _BLIND_PERIOD)


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def _payload(values: Mapping[str, object]) -> list[str]:
    com = cast(Sequence[float], values['payload.com'])
    inertia = cast(Sequence[float], values['payload.inertia'])
    if len(com) != 3 or len(inertia) != 6:
        return [f'payload.com needs 3 entries and payload.inertia 6, got {len(com)} and '
                f'{len(inertia)}']
    try:
        payload_vector(cast(float, values['payload.mass']), com, inertia)
    except PayloadError as error:
        return [str(error)]
    return []


def _sensor(values: Mapping[str, object]) -> list[str]:
    reasons = []
    for name in ('force_torque.force_bias', 'force_torque.moment_bias'):
        if len(cast(Sequence[float], values[name])) != 3:
            reasons.append(f'{name} must have three entries')
    com = cast(Sequence[float], values['force_torque.tool_com'])
    inertia = cast(Sequence[float], values['force_torque.tool_inertia'])
    if len(com) != 3 or len(inertia) != 6:
        return [*reasons, 'force_torque.tool_com needs 3 entries and force_torque.tool_inertia '
                f'6, got {len(com)} and {len(inertia)}']
    try:
        payload_vector(cast(float, values['force_torque.tool_mass']), com, inertia)
    except PayloadError as error:
        reasons.append(f'force_torque.tool_*: {error}')
    return reasons


def activation_refusals(values: Mapping[str, object]) -> list[str]:
    """
    Return what must be known before configuring and has no default.

    :param values: complete set.
    """
    if not values['driver_adds']:
        return ['driver_adds must be given: "none" if the driver applies the command '
                'unchanged, "gravity" or "gravity_and_coriolis" if it adds these itself. A '
                'wrong value drops or lifts the arm']
    if values['driver_adds'] == 'none' and not values['release_torque']:
        return ['release_torque must be given if driver_adds is none: it is what Ctrl-C, '
                'deactivation and a lost state leave behind. "gravity" leaves the last '
                'gravity torque: the robot stays where it is as long as the driver holds the '
                'last command. "zero" is for robots whose brakes close by then: without '
                'brakes, the robot falls']
    if values['gravity_source'] == 'tf' and not values['gravity_frame']:
        return ['gravity_source tf needs gravity_frame']
    return []


def _cores(values: Mapping[str, object]) -> list[str]:
    if cast(int, values['realtime.cpu']) >= 0 and values['realtime.cores']:
        return ['realtime.cpu and realtime.cores are both given: leave realtime.cpu out']
    return []
