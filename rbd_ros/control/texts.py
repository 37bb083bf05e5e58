# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Sentences that need more than a word and its numbers. Ordinary Python, in a slower thread.

Which positions, which efforts: that stands in the records. Who publishes, and with which types:
that is known outside.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.monitors.start import BEYOND, BEYOND_SHARE, Start
from rbd_ros.control.parameters.early_rules import gain_reasons
from rbd_ros.control.parameters.settings import Settings

__all__ = ['gravity_that_fits', 'likely_causes', 'load_text', 'missing_states', 'nobody_listens']

Array = npt.NDArray[np.float64]

_OF_LOOPS = (LoadWord.LOOP_OPEN, LoadWord.LOOP_LOST, LoadWord.LOOP_SINGULAR)

#: smallest and largest gravity that a robot on earth can show with a coarse effort, m/s^2
_LEAST_GRAVITY, _MOST_GRAVITY = 5.0, 15.0


def load_text(word: int, joint: int, numbers: tuple[float, float, float], settings: Settings,
              start: Start) -> str:
    """
    Return the sentence of a word; empty: there is nothing to say.

    :param word: its code.
    :param joint: that it is about, or the row of the loops.
    :param numbers: three of them.
    :param settings: set in force.
    :param start: record of the start check.
    """
    if word == LoadWord.GAINS_FOR_DELAY:
        late = Settings(settings.robot, settings.values | {'delay': numbers[0]},
                        simulated=settings.simulated)
        return '\n'.join([*gain_reasons(late.values), *late.live_refusals()])
    if word == LoadWord.START_POSITIONS:
        return _positions(settings, start)
    if word == LoadWord.START_MISMATCH:
        return f'{_mismatch(settings, start)}. {_explanation(settings, start)}'
    names = _loop_of_row(settings) if word in _OF_LOOPS else settings.robot.spoken()
    return LoadWord(word).text(names[joint] if joint >= 0 else '', *numbers)


def _loop_of_row(settings: Settings) -> list[str]:
    """Return the loop joint of each row of the loops."""
    model = settings.robot.model
    return [loop.name for loop, part in zip(model.loops, model.loop_rows, strict=True)
            for _ in range(part.start, part.stop)]


def _positions(settings: Settings, start: Start) -> str:
    """Return which positions cannot be those of the robot, and why that may be."""
    robot, q = settings.robot, start.q
    lower, upper = (np.array(robot.pick(x), float) for x in (robot.model.lower, robot.model.upper))
    span = upper - lower
    margin = np.where(span > 0.0, np.minimum(BEYOND, BEYOND_SHARE * span), math.inf)

    def inside(x: Array) -> npt.NDArray[np.bool_]:
        return (lower - margin <= x) & (x <= upper + margin)
    wrong = np.flatnonzero(~inside(q)).tolist()
    units = robot.units
    parts = [f'{robot.joints[j]} is at {q[j]:.4g} {units[j]}, its limits are {lower[j]:.4g} '
             f'{units[j]} and {upper[j]:.4g} {units[j]}' for j in wrong]
    turns = np.array([unit == 'rad' for unit in units])
    hint = 'Another robot, another zero position, or an offset of the encoders?'
    if turns[wrong].all() and inside(np.where(turns, np.radians(q), q)).all():
        hint = 'Does the driver publish degrees? joint_states must be in rad'
    elif not turns[wrong].any() and inside(np.where(turns, q, 1e-3 * q)).all():
        hint = 'Does the driver publish mm? joint_states must be in m'
    return '; '.join(parts) + f'. {hint}'


def _mismatch(settings: Settings, start: Start) -> str:
    """Return which efforts are not those of gravity."""
    tolerance = settings.number('start.tolerance') * settings.torque_limits
    parts = []
    for name, effort, predicted, most in zip(settings.robot.spoken(), start.effort,
                                             start.predicted, tolerance, strict=True):
        if abs(effort - predicted) <= most:
            continue
        hint = ' (sign reversed?)' if abs(effort + predicted) <= most else ''
        said = LoadWord.START_MISMATCH.text(name, effort, predicted)
        parts.append(f'{said}{hint}')
    return '; '.join(parts)


def _explanation(settings: Settings, start: Start) -> str:
    """Return which gravity vector would explain the effort, or what else to look for."""
    tolerance = settings.number('start.tolerance') * settings.torque_limits
    vector = gravity_that_fits(start.effort, start.columns, tolerance)
    if vector is None:
        return likely_causes(settings)
    entries = ', '.join(f'{x + 0.0:.1f}' for x in vector.round(1))
    ceiling = vector @ settings.numbers('gravity') < 0.0
    where = ' (on a ceiling?)' if ceiling else ''
    return (f'Gravity [{entries}] m/s^2 would fit: if the robot is mounted like that{where}, set '
            'the parameter gravity')


def gravity_that_fits(effort: Array, columns: Array, tolerance: Array) -> Array | None:
    """
    Return the gravity vector that explains a measured effort; None if there is none.

    The torque is linear in it: g(q) = G a, with a column of G for each unit vector.

    :param effort: measured, N.m.
    :param columns: G, one row per joint, three columns.
    :param tolerance: largest difference per joint, N.m.
    """
    scaled = columns / tolerance[:, None]
    a, _, rank, _ = np.linalg.lstsq(scaled, effort / tolerance, rcond=1e-3)
    fits = (np.abs(columns @ a - effort) <= tolerance).all()
    size = float(np.linalg.norm(a))
    return a if rank == 3 and fits and _LEAST_GRAVITY <= size <= _MOST_GRAVITY else None


def likely_causes(settings: Settings) -> str:
    """
    Return what to look for when a robot does not do at the start what its model predicts.

    :param settings: valid set.
    """
    vector = ', '.join(f'{x:g}' for x in settings.numbers('gravity'))
    source = settings.text('gravity_source')
    gravity = f'gravity [{vector}] m/s^2' if source == 'parameter' else f'gravity_source {source}'
    return (f'Likely causes: {gravity} does not match the mounting; the sign of a joint is '
            f'wrong; driver_adds "{settings.text("driver_adds")}" does not match the driver; '
            f'the load is not payload.mass {settings.number("payload.mass"):g} kg')


def missing_states(account: str, *, topic: str, publishers: int,
                   not_controlled: Sequence[str] = ()) -> str:
    """
    Return why there is no state and what to do.

    :param account: joints without a state and why, from the joint map.
    :param topic: of the joint states, resolved.
    :param publishers: how many there are of it.
    :param not_controlled: those of the joints that are not controlled.
    """
    if publishers == 0:
        return (f'nobody publishes {topic} (sensor_msgs/msg/JointState): start the driver, or '
                f'name its topic with joint_states:=/its/topic')
    text = f'no usable state of {account} (topic {topic})'
    if not_controlled:
        text += (f'. {", ".join(not_controlled)}: not controlled; if nobody publishes a '
                 'joint, give its position in fixed_positions')
    return text


def nobody_listens(topic: str, kind: str, found: Collection[str]) -> str:
    """
    Return what to do if nobody takes the commands; nothing if somebody does.

    :param topic: of the commands, resolved.
    :param kind: type of the commands.
    :param found: types with which others listen to that topic.
    """
    if kind in found:
        return ''
    if found:
        return (f'commands on {topic} are {kind}, but its listeners take '
                f'{" and ".join(sorted(found))}: set command_type to what the driver takes')
    return (f'nobody listens to {topic} ({kind}), so the robot gets no torque: start the driver, '
            'or name its topic with commands:=/its/topic')
