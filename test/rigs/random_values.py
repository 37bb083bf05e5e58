# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Random values of the parameters of the table, each valid by itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from rbd_ros.control.interface.row import (
    BOOL, DOUBLES, INTEGER, Parameter, STRING, STRINGS, Value)
from rbd_ros.control.parameters.table import defaults, PARAMETERS

__all__ = ['random_value', 'random_values', 'STRUCTURE']

#: parameters that are no numbers of the step, or that make another robot
STRUCTURE = {name for name, row in PARAMETERS.items() if row.kind in (STRING, STRINGS) and (
    not row.choices)} | {'fixed_positions.values', 'assembly.values', 'rotor_inertia',
                         'realtime.cores', 'command_type'}

#: kg.m^2 of something that may be carried
_BODY = np.array([0.3, 0.01, 0.02, 0.25, 0.0, 0.2])


def random_values(rng: np.random.Generator, joints: int,
                  kept: Collection[str] = STRUCTURE) -> dict[str, Value]:
    """
    Return a complete set: few, some or nearly all parameters differ from their defaults.

    :param rng: source of chance.
    :param joints: number of controlled joints.
    :param kept: parameters that do not.
    """
    values, share = defaults(), rng.choice([0.05, 0.3, 0.9])
    for name, row in PARAMETERS.items():
        if name not in kept and rng.random() < share:
            values[name] = random_value(rng, row, joints)
    if rng.random() < 0.9:  # most bodies are possible
        for name, mass in (('payload', 'mass'), ('force_torque.tool', 'tool_mass')):
            part = name.partition('.')[0]
            sign = '.' if name == 'payload' else '_'
            values[f'{part}.{mass}'] = 2.5
            values[f'{name}{sign}com'] = rng.uniform(-0.3, 0.3, 3).tolist()
            values[f'{name}{sign}inertia'] = (_BODY * rng.uniform(0.5, 1.5)).tolist()
    return values


def random_value(rng: np.random.Generator, row: Parameter, joints: int) -> Any:
    """
    Return a value: near to the default, or anywhere within its bounds.

    :param rng: source of chance.
    :param row: of the parameter.
    :param joints: number of controlled joints.
    """
    if row.kind == STRING:
        return str(rng.choice(row.choices))
    if row.kind == STRINGS:
        return [str(each) for each in rng.choice(
            ['rx', 'ry', 'rz', 'tx', 'ty', 'tz'], rng.integers(1, 4), replace=False)]
    if row.kind == BOOL:
        return bool(rng.integers(2))
    size = 1
    if row.kind == DOUBLES:
        counts = [0] * (row.default == []) + [1, joints] if row.each_joint else (
            [1, 3] if row.size else [row.entries])
        size = int(rng.choice(counts))
    low, high = max(row.lower, -1e3), min(row.upper, 1e6)
    usual: Any = row.default if isinstance(row.default, list) else [row.default]
    numbers = low + (high - low) * 10.0 ** rng.uniform(-5.0, 0.0, size)
    if any(usual) and rng.random() < 0.6:
        numbers = np.clip(np.resize(np.array(usual, dtype=float), size)
                          * rng.uniform(0.5, 1.8, size), low, high)
    if row.kind == DOUBLES:
        return numbers.tolist()
    return int(numbers[0]) if row.kind == INTEGER else float(numbers[0])
