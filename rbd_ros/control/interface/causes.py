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

"""Why the supervisor left normal operation, and the reaction to each cause."""

from __future__ import annotations

import enum
from typing import NamedTuple

__all__ = ['Cause', 'Fault', 'Reaction']


class Reaction(enum.Enum):
    """The three families of stop sequences."""

    LOST = 'lost'  # no trustworthy state: hold the last gravity torque, ramp, stop
    GOOD = 'good'  # the state is good: live g(q) - D qd, then hold or release
    FINAL = 'final'  # the process or the activation ends: always release


class Cause(enum.Enum):
    """A cause, with its reaction and the sentence for logs and diagnostics."""

    STATE_STALE = (Reaction.LOST, 'no fresh joint state within state_timeout')
    PRESCRIBED_STALE = (Reaction.LOST, 'the state of a prescribed joint is too old')
    LOW_RATE = (Reaction.LOST, 'joint states arrive more slowly than minimum_rate')
    CLOCK_JUMP = (Reaction.LOST, 'the clock jumped')
    PAUSE_TOO_LONG = (Reaction.LOST, 'the simulated clock stood still longer than pause_limit')
    GRAVITY_STALE = (Reaction.LOST, 'the gravity direction is too old')
    IMPLAUSIBLE = (Reaction.LOST, 'the joint states are implausible')
    BAD_GRAVITY = (Reaction.LOST, 'the gravity torque could not be computed')
    TRACKING = (Reaction.GOOD, 'the tracking error exceeds its limit')
    OVER_SPEED = (Reaction.GOOD, 'a joint exceeds its velocity limit')
    FROZEN = (Reaction.GOOD, 'the sensor of a joint seems to be frozen')  # others are good
    BAD_COMMAND = (Reaction.GOOD, 'bad command')  # a torque or references that cannot be used
    OPERATOR_STOP = (Reaction.GOOD, 'stop requested')
    DEAD_MAN = (Reaction.GOOD, 'the dead-man signal is missing')
    START_CHECK = (Reaction.GOOD, 'the start check failed')  # before any torque
    WRONG_MODEL = (Reaction.GOOD, 'the robot does not move as described')
    SUPERVISION = (Reaction.GOOD, 'the program around the control loop does not answer')
    FORCE_SENSOR = (Reaction.GOOD, 'the force-torque sensor cannot be used')
    CONTACT = (Reaction.GOOD, 'the robot touches something')
    SECOND_SENDER = (Reaction.GOOD, 'somebody else sends commands to the robot, too')
    DEACTIVATED = (Reaction.FINAL, 'deactivated')
    SIGNAL = (Reaction.FINAL, 'termination signal')
    EXCEPTION = (Reaction.FINAL, 'an exception ended the node')

    def __init__(self, reaction: Reaction, text: str) -> None:
        self.reaction, self.text = reaction, text

    @property
    def by_operator(self) -> bool:
        """Return whether the operator wanted this stop, so that it is no fault of the robot."""
        return self in (Cause.OPERATOR_STOP, Cause.DEAD_MAN)


class Fault(NamedTuple):
    """One cause at one time, with what was seen."""

    cause: Cause
    time: float  # s, steady clock
    detail: str

    def __str__(self) -> str:
        """Return the sentence of the cause and the detail."""
        return f'{self.cause.text}: {self.detail}' if self.detail else self.cause.text
