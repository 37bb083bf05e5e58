# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Values are checked as a whole set before any is applied; each refusal has a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from rbd_ros.control.interface.row import Parameter, Value
from rbd_ros.control.parameters.early_rules import gravity_reasons
from rbd_ros.control.parameters.rules import rules
from rbd_ros.control.parameters.table import defaults, NAMES_OF_MODES, PARAMETERS

__all__ = ['per_joint', 'refusals']


def wrong_count(name: str, count: int, n: int) -> str:
    """Return the refusal of a per-joint parameter with too many or too few entries."""
    return f'{name} has {count} entries; give one for all, or one for each of the {n} joints'


def per_joint(name: str, value: Sequence[float], n: int,
              fallback: Sequence[float] = ()) -> list[float]:
    """
    Spread a per-joint parameter over the joints.

    :param name: of the parameter, for the error.
    :param value: none, one or n numbers.
    :param n: number of controlled joints.
    :param fallback: numbers to take where none is given.
    """
    if len(value) == n:
        return [float(x) for x in value]
    if len(value) == 1:
        return [float(value[0])] * n
    if not value and len(fallback) == n:
        return [float(x) for x in fallback]
    raise ValueError(wrong_count(name, len(value), n))


def refusals(changes: Mapping[str, object], current: Mapping[str, Value] | None = None, *,
             active: bool = False, started: Sequence[float] = (), joints: int = 0,
             known: Mapping[str, Parameter] = PARAMETERS) -> list[str]:
    """
    Check a set of changes as a whole; return the reasons against it, none if it may be applied.

    :param changes: new values by name.
    :param current: values in force; None: the defaults.
    :param active: whether the controller is active, which locks structural parameters.
    :param started: gravity with which it was activated; without it that in force, m/s^2.
    :param joints: number of controlled joints, 0 while it is not known.
    :param known: the parameters of the controller.
    """
    current = defaults() if current is None else current
    reasons = []
    # modes of the user are known when the controller is configured
    waits = known is PARAMETERS and bool(changes.get('mode_file', current.get('mode_file')))
    for name, value in changes.items():
        parameter = known.get(name)
        if parameter is None or (waits and name in NAMES_OF_MODES and isinstance(value, str)):
            continue  # not ours: use_sim_time, QoS overrides
        reason = parameter.refusal(value, joints)
        if reason:
            reasons.append(reason)
        elif active and parameter.structural and value != current.get(name):
            reasons.append(f'{name} cannot be changed while active: deactivate first')
        elif parameter.each_joint and not value and parameter.default:
            reasons.append(f'{name} must have at least one entry')
    if active and 'gravity' in changes and not reasons:
        reasons = gravity_reasons(cast('list[float]', changes['gravity']),
                                  started or cast('list[float]', current['gravity']))
    return reasons or rules({**current, **changes})
