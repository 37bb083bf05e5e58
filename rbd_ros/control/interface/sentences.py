# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Sentences with places for what they are about, as data: every form of the controller says them.

A place is ``{joint}``, or another one of ``NAMES``; ``{unit}``, the unit of the position of that
joint, or ``{effort}``, that of its effort; or one of the three numbers ``a``, ``b``, ``c``, with a
format of C and Python (``{a:.4g}``), after another one was added or multiplied if need be
(``{a+1:.0f}``); or a choice by a number, counted from 0 (``{a|position|velocity}``).
"""

from __future__ import annotations

import math
import re

from rbd_ros.control.interface.events import NONE

__all__ = ['effort_unit', 'JointName', 'NAMES', 'Sentence', 'unit_of']

#: what the joint of a sentence is
_JOINTS = ('joint', 'model_joint', 'loop')

#: places that take a name
NAMES = (*_JOINTS, 'joints', 'state', 'mode', 'modes', 'faults', 'causes', 'recovered', 'outside',
         'refusal', 'twice', 'first', 'second', 'kind', 'refused', 'unreadable')

_PLACE = re.compile(rf'{{({"|".join(NAMES)}|unit|effort|'
                    r'[abc](?:[+*][-0-9.e]+)?(?::[-+.0-9]*[efg]|(?:\|[^{}|]*)+)?)}')


#: unit of the effort by that of the position
_EFFORT = {'rad': 'N.m', 'm': 'N'}


class JointName(str):
    """
    The name of a joint that knows its unit.

    :param name: of the joint.
    :param unit: of its position: rad, or m if it slides.
    """

    unit: str

    def __new__(cls, name: str, unit: str = '(rad or m)') -> JointName:
        """Make it of its name."""
        made = super().__new__(cls, name)
        made.unit = unit
        return made


def unit_of(joint: str) -> str:
    """
    Return the unit of the position of a joint.

    :param joint: its name; of a plain one the unit is not known.
    """
    return joint.unit if isinstance(joint, JointName) else '(rad or m)'


def effort_unit(unit: str) -> str:
    """
    Return the unit of the effort of a joint.

    :param unit: of its position.
    """
    return _EFFORT.get(unit, '(N.m or N)')


class Sentence:
    """
    A sentence about a joint and three numbers.

    :param template: what it says, with places.
    """

    def __init__(self, template: str) -> None:
        left = _PLACE.sub('', template)
        if '{' in left or '}' in left:
            raise ValueError(f'"{template}" has a place that is none of this language')
        #: What it says, with places.
        self.template = template
        #: places that take a name
        self.names = frozenset(_PLACE.findall(template)) & frozenset(NAMES)

    def __call__(self, joint: str = '', a: float = 0.0, b: float = 0.0, c: float = 0.0,
                 **names: str) -> str:
        """
        Return the sentence.

        :param joint: that it is about; its unit is known if it is a :class:`JointName`.
        :param names: for other places; what is not given stays out.
        """
        numbers = {'a': a, 'b': b, 'c': c}

        def filled(place: str) -> str:
            if place in _JOINTS:
                return str(joint)
            if place == 'unit':
                return unit_of(joint)
            if place == 'effort':
                return effort_unit(unit_of(joint))
            return names.get(place, '') if place in NAMES else _number(place, numbers)
        return _PLACE.sub(lambda found: filled(found[1]), self.template)


def _number(place: str, values: dict[str, float]) -> str:
    if '|' in place:
        name, *cases = place.split('|')
        return cases[min(max(int(values[name]), 0), len(cases) - 1)]
    number, _, spec = place.partition(':')
    value = values[number[0]]
    if number[1:2] == '+':
        value += float(number[2:])
    elif number[1:2] == '*':
        value *= float(number[2:])
    if value == NONE:  # kept where it is none
        value = math.nan
    return f'{value:{spec or "g"}}'
