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

"""Tolerances of a goal of FollowJointTrajectory, by the rules of control_msgs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rbd_ros.control.references.results import GoalError, ResultCode

__all__ = ['read_tolerances', 'Tolerances']

Array = npt.NDArray[np.float64]
Entry = tuple[str, float, float, float]  # name, position, velocity, acceleration

_QUANTITIES = ('position', 'velocity', 'acceleration')


@dataclass
class Tolerances:
    """Largest errors, (3, n) for position, velocity, acceleration; infinite: unrestricted."""

    path: Array
    goal: Array
    goal_time: float  # s after the end within which the goal must be reached


def read_tolerances(joints: Sequence[str], default: Tolerances, path: Iterable[Entry],
                    goal: Iterable[Entry], goal_time: float) -> Tolerances:
    """
    Merge the tolerances of a goal into the defaults by the rules of control_msgs.

    Zero means the default, a negative number no restriction.

    :param joints: controlled joints.
    :param default: tolerances from the parameters.
    :param path: path tolerances of the message.
    :param goal: goal tolerances of the message.
    :param goal_time: goal_time_tolerance of the message, s.
    """
    result = Tolerances(default.path.copy(), default.goal.copy(), default.goal_time)
    for target, entries in ((result.path, path), (result.goal, goal)):
        for name, *values in entries:
            if name not in joints:
                raise GoalError(ResultCode.INVALID_JOINTS, f'tolerance for unknown joint {name}')
            for k, value in enumerate(values):
                if not np.isfinite(value):
                    raise GoalError(ResultCode.INVALID_GOAL,
                                    f'{_QUANTITIES[k]} tolerance of {name} is {value}')
                if value != 0.0:
                    target[k, list(joints).index(name)] = value if value > 0.0 else np.inf
    if goal_time:
        result.goal_time = goal_time if goal_time > 0.0 else np.inf
    return result
