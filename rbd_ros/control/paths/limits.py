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

"""What the joints of a robot may do along a path, and sentences of what they may not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.sentences import effort_unit
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.parameters.settings import Settings

__all__ = ['Instant', 'path_limits', 'PathFault', 'PathLimits']

Array = npt.NDArray[np.float64]

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
