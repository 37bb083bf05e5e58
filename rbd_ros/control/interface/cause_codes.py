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

"""Causes as numbers: the place of each one in :class:`~rbd_ros.control.interface.causes.Cause`."""

from __future__ import annotations

import enum

from rbd_ros.control.interface.causes import Cause, Reaction

__all__ = ['CauseCode', 'CAUSES', 'is_by_operator', 'is_cause', 'is_final', 'is_good', 'is_lost']


class CauseCode(enum.IntEnum):
    """The place of a cause."""

    STATE_STALE = 0
    PRESCRIBED_STALE = 1
    LOW_RATE = 2
    CLOCK_JUMP = 3
    PAUSE_TOO_LONG = 4
    GRAVITY_STALE = 5
    IMPLAUSIBLE = 6
    BAD_GRAVITY = 7
    TRACKING = 8
    OVER_SPEED = 9
    FROZEN = 10
    BAD_COMMAND = 11
    OPERATOR_STOP = 12
    DEAD_MAN = 13
    START_CHECK = 14
    WRONG_MODEL = 15
    SUPERVISION = 16
    FORCE_SENSOR = 17
    CONTACT = 18
    SECOND_SENDER = 19
    DEACTIVATED = 20
    SIGNAL = 21
    EXCEPTION = 22


#: how many there are
CAUSES = len(Cause)

# Causes stand in the order of their reactions: a comparison tells the family.
_FIRST_GOOD = [cause.reaction for cause in Cause].index(Reaction.GOOD)
_FIRST_FINAL = [cause.reaction for cause in Cause].index(Reaction.FINAL)


def is_cause(cause: int) -> bool:
    """
    Return whether a number is a cause.

    :param cause: any number.
    """
    return 0 <= cause < CAUSES


def is_lost(cause: int) -> bool:
    """
    Return whether there is no trustworthy state.

    :param cause: of a fault.
    """
    return cause < _FIRST_GOOD


def is_good(cause: int) -> bool:
    """
    Return whether the state is good, so that the robot can be braked.

    :param cause: of a fault.
    """
    return _FIRST_GOOD <= cause < _FIRST_FINAL


def is_final(cause: int) -> bool:
    """
    Return whether the process or the activation ends.

    :param cause: of a fault.
    """
    return cause >= _FIRST_FINAL


def is_by_operator(cause: int) -> bool:
    """
    Return whether the operator wanted this stop, so that it is no fault of the robot.

    :param cause: of a fault.
    """
    return cause == CauseCode.OPERATOR_STOP or cause == CauseCode.DEAD_MAN
