# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the joints of a robot may do along a path, and sentences of what they may not.

Where a polynomial leaves its bounds is found by its extrema: samples miss what lies between them.
Over u from 0 to 1, a polynomial lies between its least and its largest coefficient in the basis of
Bernstein (Farin, "Curves and Surfaces for CAGD", 5th edition, 2002, 5.1). Most polynomials are
inside their bounds by that alone; only for the others the roots of the derivative are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
import numpy.typing as npt
from rbd_ros.control.interface.sentences import effort_unit
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.parameters.settings import Settings

__all__ = ['first_beyond', 'first_outside', 'Instant', 'path_limits', 'PathFault', 'PathLimits',
           'powers']

Array = npt.NDArray[np.float64]

#: what is left out of a polynomial before its roots are asked for, as a share of the largest
#: coefficient
_NOTHING = 1e-14

#: halvings of an interval in which a bound is crossed
_HALVES = 50


def _bernstein(degree: int) -> Array:
    """Return the matrix that makes Bernstein coefficients of those of 1, u, u^2 ..."""
    return np.array([[comb(i, k) / comb(degree, k) for k in range(degree + 1)]
                     for i in range(degree + 1)])


_HULLS = {degree: _bernstein(degree) for degree in range(1, 6)}


def first_beyond(p: Polynomial | Chebyshev, least: float, most: float) -> float | None:
    """
    Return where a polynomial first is outside of two bounds; None: nowhere in its domain.

    :param least: its lower bound.
    :param most: its upper bound.
    """
    begin, end = p.domain.tolist()
    slope = p.deriv()
    size = float(np.abs(slope.coef).max())
    roots = slope.trim(_NOTHING * size).roots() if size > 0.0 else np.zeros(0)
    inner = np.sort(roots.real[(begin < roots.real) & (roots.real < end)])
    at = [begin, *inner.tolist(), end]  # it is monotone in between
    values = p(np.array(at))
    outside = (values < least) | (values > most)
    if not outside.any():
        return None
    k = int(outside.argmax())
    before, found = at[max(k - 1, 0)], at[k]
    for _ in range(_HALVES):
        middle = 0.5 * (before + found)
        if least <= p(middle) <= most:
            before = middle
        else:
            found = middle
    return found


def first_outside(c: Array, least: Array, most: Array) -> float | None:
    """
    Return where the first of several polynomials is outside of its bounds; None: nowhere.

    :param c: coefficients of 1, u, u^2 ... with u from 0 to 1, one column for each.
    :param least: lower bounds.
    :param most: upper bounds.
    """
    hull = _HULLS[len(c) - 1] @ c
    if not np.isfinite(hull).all():
        return 0.0
    inside = (least <= hull.min(axis=0)) & (hull.max(axis=0) <= most)
    found = [first_beyond(Polynomial(c[:, j], domain=[0.0, 1.0], window=[0.0, 1.0]),
                          float(least[j]), float(most[j])) for j in np.flatnonzero(~inside)]
    return min((u for u in found if u is not None), default=None)


def powers(c: Array) -> Array:
    """
    Return the coefficients of 1, u, u^2 ... of polynomials in the basis of Bernstein.

    :param c: one column for each.
    """
    return np.asarray(np.linalg.solve(_HULLS[len(c) - 1], c))


#: share of reference.acceleration that a path may take: the rest is for pausing on it
SHARE = 0.9

#: rad or m by which rounding may take a joint beyond its limit, and the share of other limits
_BEYOND, _ROUNDING = 1e-6, 1e-6


class PathFault(Exception):
    """A point of a path that the robot cannot pass; the message says which and why."""


class Instant(NamedTuple):
    """What the joints do at some point of a path."""

    q: Array
    qd: Array
    qdd: Array
    torque: Array
    condition: float


@dataclass
class PathLimits:
    """
    Limits of the controlled joints.

    :param joints: their names.
    :param units: rad or m for each.
    :param condition: largest condition number of the inertia at the tip.
    """

    joints: Sequence[str]
    units: Sequence[str]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    torque: Array
    condition: float

    @property
    def bounds(self) -> list[tuple[Array, Array]]:
        """Return least and largest position, velocity, acceleration, torque and condition."""
        wider = 1.0 + _ROUNDING
        return [(self.lower - _BEYOND, self.upper + _BEYOND),
                *((-wider * most, wider * most)
                  for most in (self.velocity, self.acceleration, self.torque)),
                (np.array([-np.inf]), np.array([wider * self.condition]))]

    def broken(self, at: Instant) -> str:
        """
        Return in words which limit is broken.

        :param at: what the joints do where one of ``bounds`` is left.
        """
        if not at.condition <= self.condition:
            return self.singular(at.condition)
        inside = (self.lower <= at.q) & (at.q <= self.upper)
        if not inside.all():
            j = int((~inside).argmax())
            return (f'joint {self.joints[j]} would be at {at.q[j]:.6g} {self.units[j]}, outside '
                    f'[{self.lower[j]:.6g}, {self.upper[j]:.6g}] {self.units[j]}')
        what, parameter, values, limits, unit = max((
            ('velocity', 'reference.velocity', at.qd, self.velocity, '/s'),
            ('acceleration', f'{SHARE:g} of reference.acceleration', at.qdd, self.acceleration,
             '/s^2'),
            ('torque', 'torque_limits', at.torque, self.torque, '')), key=lambda each: float(
                np.nan_to_num(np.abs(each[2]) / each[3], nan=np.inf).max()))
        j = int((np.abs(values) / limits).argmax())
        unit = f'{self.units[j]}{unit}' if unit else effort_unit(self.units[j])
        return (f'joint {self.joints[j]} would need the {what} {values[j]:.5g} {unit}, '
                f'beyond {limits[j]:.5g} {unit} ({parameter})')

    def singular(self, condition: float) -> str:
        """
        Return that the tip loses a direction.

        :param condition: there.
        """
        return (f'it is too near to a singular position: the condition number {condition:.4g} is '
                f'beyond {self.condition:g} (task.max_condition)')

    @staticmethod
    def unreachable(error: Array, rows: Sequence[int]) -> str:
        """
        Return that the joints do not reach a pose.

        :param error: that is left, along directions of the tip.
        :param rows: which directions, see ``AXES``.
        """
        return f'the robot does not reach it: {_left(error, rows)} are left'

    @staticmethod
    def astray(error: Array, rows: Sequence[int]) -> str:
        """
        Return that the joints leave the path between two instants.

        :param error: by which, along directions of the tip.
        :param rows: which directions, see ``AXES``.
        """
        return f'the joints would leave it by {_left(error, rows)}'


def _left(error: Array, rows: Sequence[int]) -> str:
    """Return the size of an error in words."""
    angular = [x for x, row in zip(error.tolist(), rows) if row < AXES.index('x')]
    linear = [x for x, row in zip(error.tolist(), rows) if row >= AXES.index('x')]
    parts = ([f'{np.linalg.norm(linear):.3g} m'] if linear else []) + (
        [f'{np.linalg.norm(angular):.3g} rad'] if angular else [])
    return ' and '.join(parts)


def path_limits(settings: Settings) -> PathLimits:
    """
    Return the limits that the parameters give.

    :param settings: valid set.
    """
    robot = settings.robot
    endless = np.array(robot.continuous, dtype=bool)
    return PathLimits(
        robot.joints, robot.units,
        np.where(endless, -np.inf, robot.pick(robot.model.lower)),
        np.where(endless, np.inf, robot.pick(robot.model.upper)),
        np.minimum(settings.reference_velocity, settings.velocity_limits),
        SHARE * settings.joints('reference.acceleration'), settings.torque_limits,
        settings.number('task.max_condition'))
