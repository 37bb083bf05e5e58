# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Rules between parameters, checked on the whole set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import cast

from rbd_ros.control.interface.payload import payload_vector, PayloadError
from rbd_ros.control.interface.sentences import effort_unit, unit_of
from rbd_ros.control.parameters.early_rules import gain_reasons, payload_reasons
from rbd_ros.control.parameters.given import blind_period
from rbd_ros.control.parameters.values import direction
from rbd_ros.control.supervisor.states import STOP_LIMIT, Timing

__all__ = ['activation_refusals', 'limit_reasons', 'rules',
           'stop_reasons', 'stop_timing']


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
    axes = [direction(axis) for axis in cast(Sequence[str], values['task.axes'])]
    if not axes or len(set(axes)) != len(axes):
        reasons.append('task.axes must name at least one direction, each once')
    return (reasons + gain_reasons(values) + payload_reasons(values) + _sensor(values)
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


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def _sensor(values: Mapping[str, object]) -> list[str]:
    try:
        payload_vector(cast(float, values['force_torque.tool_mass']),
                       cast(Sequence[float], values['force_torque.tool_com']),
                       cast(Sequence[float], values['force_torque.tool_inertia']))
    except PayloadError as error:
        return [f'force_torque.tool_*: {error}']
    return []


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
