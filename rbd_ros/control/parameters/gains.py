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
Gains that cannot be stable are refused: the rate and the delay of the control loop bound them.

The laws scale their gains with the inertia of the robot, so that each joint and each direction is
x'' = -Kd x' - Kp x, sampled with period h and answered a delay later. Without a delay, the sampled
loop is stable for Kp h / 2 < Kd < 2 / h. With a delay T in all, half a period of the held torque
included, its boundary is Kp = w^2 cos(w T), Kd = w sin(w T), 0 < w T < pi / 2. A driver may send
no velocities: the filter of their differences counts as delay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import cast

__all__ = ['gain_reasons', 'largest_damping', 'largest_stiffness']

#: parameters of stiffness, damping and integral that belong together; none: there is no integral
_GROUPS = (
    ('stiffness', 'damping', 'integral'),
    ('task.linear_stiffness', 'task.linear_damping', 'task.linear_integral'),
    ('task.angular_stiffness', 'task.angular_damping', 'task.angular_integral'),
    ('posture.stiffness', 'posture.damping', ''))


def largest_damping(period: float, delay: float) -> float:
    """
    Return the damping in 1/s from which on no stiffness is stable.

    :param period: of the control loop, s.
    :param delay: from measuring to torque, s.
    """
    most = 2.0 / period
    return min(most, 0.5 * math.pi / (delay + 0.5 * period)) if delay else most


def largest_stiffness(damping: float, period: float, delay: float) -> float:
    """
    Return the stiffness in 1/s^2 from which on a damping does not suffice.

    :param damping: in 1/s, below ``largest_damping``.
    :param period: of the control loop, s.
    :param delay: from measuring to torque, s.
    """
    if not delay:
        return 2.0 * damping / period
    late = delay + 0.5 * period
    low, high = 0.0, 0.5 * math.pi / late
    for _ in range(60):
        w = 0.5 * (low + high)
        low, high = (w, high) if w * math.sin(w * late) < damping else (low, w)
    return low * low * math.cos(low * late)


def gain_reasons(values: Mapping[str, object], *, differenced: bool = False) -> list[str]:
    """
    Return which gains cannot be stable, with the largest ones that can.

    :param values: complete set of parameters, each valid by itself.
    :param differenced: whether states have no velocities, so that their filter counts; it always
        does where a delay is given.
    """
    rate, delay = cast(float, values['nominal_rate']), cast(float, values['delay'])
    lag = cast(float, values['velocity_filter']) if delay or differenced else 0.0
    parts = [f'a delay of {delay:g} s'] * bool(delay) + [f'velocity_filter {lag:g} s'] * bool(lag)
    loop = ' with '.join([f'at nominal_rate {rate:g} Hz', *filter(None, [' and '.join(parts)])])
    delay += lag
    reasons = []
    for stiffness, damping, integral in _GROUPS:
        for Kp, Kd, Ki in _entries(values, stiffness, damping, integral):
            most = largest_damping(1.0 / rate, delay)
            if Kd > most * (1.0 + 1e-9):  # the defaults at 10 Hz are just at the bound
                reasons.append(f'{damping} {Kd:g} 1/s cannot be stable {loop}: give less than '
                               f'{most:.4g}')
                continue
            most = largest_stiffness(Kd, 1.0 / rate, delay)
            if Kp > 0.0 and Kp >= most:
                reasons.append(f'{stiffness} {Kp:g} 1/s^2 with {damping} {Kd:g} 1/s cannot be '
                               f'stable {loop}: with this damping give less than {most:.4g}')
            elif Ki > 0.0 and Ki >= Kp * Kd:
                reasons.append(f'{integral} {Ki:g} 1/s^3 with {stiffness} {Kp:g} 1/s^2 and '
                               f'{damping} {Kd:g} 1/s cannot be stable: give less than their '
                               f'product {Kp * Kd:.4g}')
    return list(dict.fromkeys(reasons))


def _entries(values: Mapping[str, object], *names: str) -> Iterator[tuple[float, ...]]:
    """Yield the gains of one joint or direction after another."""
    lists = [_numbers(values[name]) if name else [0.0] for name in names]
    count = max(len(x) for x in lists)
    if all(len(x) in (1, count) for x in lists):  # else the numbers of entries are refused
        for k in range(count):
            yield tuple(x[k % len(x)] for x in lists)


def _numbers(value: object) -> Sequence[float]:
    return value if isinstance(value, (list, tuple)) else [cast(float, value)]
