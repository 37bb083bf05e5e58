# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Springs and dampers in physical units that cannot be stable are refused, as gains in 1/s^2 are.

Along any motion u a spring K and a damper D have the gains u'K u / u'H u and u'D u / u'H u. With
inertias M such that u'M u < u'H u (``Robot.damped_inertia``, ``Robot.felt_inertia``) these are a
mean of K/M and D/M of the places where springs act, and of zero. Stable gains are a convex set
(:mod:`rbd_ros.control.parameters.gains`): each place may be judged alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.parameters.gains import largest_damping, largest_stiffness, ROUNDING

__all__ = ['FITTED', 'fitting_damping', 'judge_spring', 'least_rate', 'Spring', 'spring_sentences',
           'SpringCase', 'usual_stiffness']

#: kg.m^2 or kg of what moves nothing: no spring is stable there
_NO_INERTIA = 1e-12

#: in the place of a damping that is made for the stiffness and the inertia
FITTED = -1.0

#: damping ratio that it has then, and the share of what the rate can hold that it has at most
_RATIO, _SHARE = 0.7, 0.5

#: N.m/rad or N/m of a joint that is given no stiffness, and the share of what the rate can hold
#: that it has at most
_STIFFNESS, _STIFFNESS_SHARE = 50.0, 0.5

#: Hz between which the least rate is sought
_SLOWEST, _FASTEST = 0.1, 1e6


class Spring(NamedTuple):
    """
    Parameters of a spring and a damper, and where they act.

    :param stiffness: name of its parameter.
    :param damping: that of the damping.
    :param ratio: that of the damping ratio; empty: there is none.
    :param units: of stiffness and damping, as a :class:`Sentence` has them.
    :param place: joint, which knows its unit, or direction.
    """

    stiffness: str
    damping: str
    ratio: str
    units: tuple[str, str]
    place: str


class SpringCase(Record):
    """A spring and a damper at one place, and the loop in which they act."""

    stiffness: float = field('', 'N.m/rad or N/m', 'K')
    damping: float = field('', 'N.m.s/rad or N.s/m', 'D; below 0: one that fits')
    ratio: float = field('', '', 'damping ratio that is made besides')
    inertia: float = field('', 'kg.m^2 or kg', 'that is felt there')
    usual: float = field('', 'kg.m^2 or kg', 'that a damping is made for where none is given')
    period: float = field('', 's', 'of the control loop')
    delay: float = field('', 's', 'from measuring to torque')
    wrong: float = field('', '', '0: nothing, 1: damping, 2: stiffness')
    most: float = field('', '', 'below which that one must be')


def fitting_damping(stiffness: float, usual: float, inertia: float, period: float,
                    delay: float) -> float:
    """
    Return a damping for a joint that is given none: the ratio 0.7, or what the rate can hold.

    :param stiffness: of its spring, N.m/rad or N/m.
    :param usual: its inertia in most poses.
    :param inertia: such that a damper of inertia over period is stable.
    :param period: of the control loop, s.
    :param delay: from measuring to torque, s.
    """
    most = _SHARE * max(inertia, _NO_INERTIA) * largest_damping(period, delay)
    return min(2.0 * _RATIO * math.sqrt(max(stiffness * usual, 0.0)), most)


def judge_spring(x: SpringCase) -> None:
    """
    Find the damping or the stiffness that cannot be stable.

    :param x: ``wrong`` says which, and ``most`` how large it may be. A damping that is made gets
        its number.
    """
    x.inertia = max(x.inertia, _NO_INERTIA)
    fitted = x.damping < 0.0
    if fitted:
        x.damping = fitting_damping(x.stiffness, x.usual, x.inertia, x.period, x.delay)
    x.wrong, x.most = 0.0, x.inertia * largest_damping(x.period, x.delay)
    if x.damping > x.most * (1.0 + ROUNDING):
        x.wrong = 1.0
        return
    if _is_held(x, x.stiffness):
        return
    low, high = 0.0, x.stiffness
    for _ in range(60):
        middle = 0.5 * (low + high)
        if fitted:
            x.damping = fitting_damping(middle, x.usual, x.inertia, x.period, x.delay)
        if _is_held(x, middle):
            low = middle
        else:
            high = middle
    x.wrong, x.most = 2.0, low
    if fitted:
        x.damping = fitting_damping(x.stiffness, x.usual, x.inertia, x.period, x.delay)


def usual_stiffness(x: SpringCase) -> float:
    """
    Return the stiffness of a joint that is given none: 50, or half of what the rate can hold.

    :param x: with its inertias and the loop; nothing else counts.
    """
    x.stiffness, x.damping, x.ratio = _STIFFNESS, FITTED, 0.0
    judge_spring(x)
    return _STIFFNESS_SHARE * x.most if x.wrong > 0.0 else _STIFFNESS


def _is_held(x: SpringCase, stiffness: float) -> bool:
    """Return whether the rate can hold a stiffness with the damping that there is."""
    gain = stiffness / x.inertia
    damping = x.damping / x.inertia + 2.0 * x.ratio * math.sqrt(gain)
    if damping > largest_damping(x.period, x.delay) * (1.0 + ROUNDING):
        return False
    return gain <= 0.0 or gain < largest_stiffness(damping, x.period, x.delay)


def spring_sentences(spring: Spring, loop: str) -> list[Sentence]:
    """
    Return what is said of a damping and of a stiffness that cannot be stable.

    :param spring: what they belong to.
    :param loop: what is said of the loop.
    """
    per_way, per_speed = spring.units
    besides = f' and {spring.ratio}' if spring.ratio else ''
    return [Sentence(each) for each in (
        f'{spring.damping} {{b:g}} {per_speed} of {spring.place} cannot be stable {loop}: give '
        'less than {c:.4g} ' f'{per_speed}',
        f'{spring.stiffness} {{a:g}} {per_way} of {spring.place} with {spring.damping} {{b:g}} '
        f'{per_speed}{besides} cannot be stable {loop}: with this damping give less than '
        '{c:.4g} ' f'{per_way}')]


def least_rate(case: SpringCase) -> float:
    """
    Return the rate in Hz from which on a spring with its damper is stable; infinite: at none.

    :param case: judged, so that its damping is a number.
    """
    trial, low, high = SpringCase({}), math.log(_SLOWEST), math.log(_FASTEST)
    if case.stiffness <= 0.0 and case.damping <= 0.0:
        return 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        trial.memory[:] = case.memory
        trial.period = math.exp(-middle)
        judge_spring(trial)
        low, high = (middle, high) if trial.wrong else (low, middle)
    return math.exp(high) if high < math.log(_FASTEST) else math.inf
