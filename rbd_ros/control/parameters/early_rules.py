# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Rules between values of which no robot is known yet: what they say without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from rbd_ros.control.interface.row import Value
from rbd_ros.control.modes import MODES
from rbd_ros.control.parameters.given import Inputs
from rbd_ros.control.parameters.judging import (
    GAINS, judge_alone, judge_turn, Judgement, RuleWord)
from rbd_ros.control.parameters.rule_texts import FAR, rule_texts, said
from rbd_ros.control.parameters.values import places, write

__all__ = ['gain_reasons', 'gravity_reasons', 'payload_reasons']

#: of the loop in which gains act
_LOOP = ('nominal_rate', 'delay', 'velocity_filter')
_PAYLOAD = ('payload.mass', 'payload.com', 'payload.inertia')
#: gains that each joint has
_EACH = {name for names in (GAINS[0], GAINS[3]) for name in names}


def _alone(values: Mapping[str, object], names: Sequence[str]) -> Inputs:
    """Return some values, of as many joints as they have; wrong counts are left out."""
    lists = {name: len(cast('list[float]', values[name])) for name in names
             if isinstance(values[name], (list, tuple))}
    joints = max((size for name, size in lists.items() if name in _EACH), default=1)
    g = Inputs({'n': max(joints, 1), 'm': 1})
    g.values.memory[:] = np.nan
    found = places(MODES, max(joints, 1))
    write([found[name] for name in names if lists.get(name, 1) in (1, found[name].size)],
          cast('Mapping[str, Value]', values), g.values.memory)
    return g


def gain_reasons(values: Mapping[str, object], *, differenced: bool = False) -> list[str]:
    """
    Return which gains cannot be stable, with the largest ones that can.

    :param values: complete set of parameters, each valid by itself.
    :param differenced: whether states have no velocities, so that their filter counts; it always
        does where a delay is given.
    """
    x, names = Judgement({}), [name for each in GAINS for name in each if name]
    x.differenced = differenced
    judge_alone(x.plain(), _alone(values, [*names, *_LOOP]).plain())
    return said(x, rule_texts(values, differenced=differenced))


def payload_reasons(values: Mapping[str, object]) -> list[str]:
    """
    Return why no rigid body is like the payload.

    :param values: complete set of parameters, each valid by itself.
    """
    x = Judgement({})
    judge_alone(x.plain(), _alone(values, _PAYLOAD).plain())
    return said(x, {})


def gravity_reasons(gravity: Sequence[float], started: Sequence[float]) -> list[str]:
    """
    Return why gravity must not change so while the robot is driven; empty if it may.

    :param gravity: that shall act, m/s^2.
    :param started: with which the robot was started.
    """
    if len(gravity) != 3 or len(started) != 3:
        return []  # refused by itself
    x = Judgement({})
    x.gravity.gravity[:], x.gravity.started[:] = gravity, started
    judge_turn(x)
    return said(x, {RuleWord.GRAVITY: FAR})
