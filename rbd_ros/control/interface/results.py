# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Goals of control_msgs/action/FollowJointTrajectory: tolerances, result codes, how they end."""

from __future__ import annotations

from dataclasses import dataclass
import enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.errors import RbdError

__all__ = ['GoalError', 'Outcome', 'ResultCode', 'Status', 'Tolerances']

Array = npt.NDArray[np.float64]


class ResultCode(enum.IntEnum):
    """Numbers of the result message."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Status(enum.Enum):
    """How a goal ended, in the words of the action server."""

    SUCCEEDED = 'succeeded'
    ABORTED = 'aborted'
    CANCELED = 'canceled'


class Outcome(NamedTuple):
    """End of a goal."""

    status: Status
    code: ResultCode
    text: str


@dataclass
class Tolerances:
    """Largest errors, (3, n) for position, velocity, acceleration; infinite: unrestricted."""

    path: Array
    goal: Array
    goal_time: float  # s after the end within which the goal must be reached


class GoalError(RbdError, ValueError):
    """A trajectory that cannot be followed, with its result code."""

    def __init__(self, code: ResultCode, text: str) -> None:
        self.code = code
        super().__init__(text)
