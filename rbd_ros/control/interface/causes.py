# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Why the supervisor left normal operation: code, reaction, sentence and advice of each cause."""

from __future__ import annotations

import enum

__all__ = ['Cause', 'CAUSES', 'is_by_operator', 'is_cause', 'is_final', 'is_good',
           'is_lost', 'Reaction']

_STATES = 'check the driver, the network and the load of the computer, then reset'
_GRAVITY = 'check what publishes the gravity direction, then reset'


class Reaction(enum.Enum):
    """The three families of stop sequences."""

    LOST = 'lost'  # no trustworthy state: hold the last gravity torque, ramp, stop
    GOOD = 'good'  # the state is good: live g(q) - D qd, then hold or release
    FINAL = 'final'  # the process or the activation ends: always release


class Cause(enum.IntEnum):
    """A cause: its code, its reaction, its sentence, and what to do."""

    reaction: Reaction
    text: str
    advice: str

    def __new__(cls, code: int, reaction: Reaction, text: str, advice: str) -> Cause:
        """Make it of its row."""
        made = int.__new__(cls, code)
        made._value_, made.reaction, made.text, made.advice = code, reaction, text, advice
        return made

    # in the order of their reactions: a comparison tells the family
    STATE_STALE = 0, Reaction.LOST, 'no fresh joint state within state_timeout', _STATES
    PRESCRIBED_STALE = 1, Reaction.LOST, 'the state of a prescribed joint is too old', _STATES
    LOW_RATE = 2, Reaction.LOST, 'joint states arrive more slowly than minimum_rate', _STATES
    CLOCK_JUMP = 3, Reaction.LOST, 'the clock jumped', 'synchronise the clocks, then reset'
    PAUSE_TOO_LONG = (4, Reaction.LOST, 'the simulated clock stood still longer than pause_limit',
                      'resume the simulated time, then reset')
    GRAVITY_STALE = 5, Reaction.LOST, 'the gravity direction is too old', _GRAVITY
    IMPLAUSIBLE = (6, Reaction.LOST, 'the joint states are implausible',
                   'check the sensors, the units, and who else publishes joint states, then reset')
    BAD_GRAVITY = 7, Reaction.LOST, 'the gravity torque could not be computed', _GRAVITY
    TRACKING = (8, Reaction.GOOD, 'the tracking error exceeds its limit',
                'remove what is in the way; if nothing is, the gains are too low for the '
                'friction. Then reset')
    OVER_SPEED = (9, Reaction.GOOD, 'a joint exceeds its velocity limit',
                  'check payload and gains, push less, then reset')
    FROZEN = (10, Reaction.GOOD, 'the sensor of a joint seems to be frozen',  # others are good
              'check the sensor of the joint, then reset')
    BAD_COMMAND = (11, Reaction.GOOD, 'bad command',  # torque or references that cannot be used
                   'correct what was sent, then reset')
    OPERATOR_STOP = 12, Reaction.GOOD, 'stop requested', 'reset to go on'
    DEAD_MAN = (13, Reaction.GOOD, 'the dead-man signal is missing',
                'hold the dead-man switch, then reset')
    START_CHECK = (14, Reaction.GOOD, 'the start check failed',  # before any torque
                   'correct what it names, then activate again')
    WRONG_MODEL = (15, Reaction.GOOD, 'the robot does not move as described',
                   'check description, payload and signs of the joints, then reset')
    SUPERVISION = (16, Reaction.GOOD, 'the program around the control loop does not answer',
                   'check the load of the computer, then reset')
    FORCE_SENSOR = (17, Reaction.GOOD, 'the force-torque sensor cannot be used',
                    'check the force-torque sensor, then reset')
    CONTACT = 18, Reaction.GOOD, 'the robot touches something', 'free the robot, then reset'
    SECOND_SENDER = (19, Reaction.GOOD, 'somebody else sends commands to the robot, too',
                     'end the other sender, then reset')
    DEACTIVATED = 20, Reaction.FINAL, 'deactivated', 'activate the controller'
    SIGNAL = 21, Reaction.FINAL, 'termination signal', 'start the controller again'
    EXCEPTION = (22, Reaction.FINAL, 'an exception ended the node',
                 'read its log, then start the controller again')

    @property
    def by_operator(self) -> bool:
        """Return whether the operator wanted this stop, so that it is no fault of the robot."""
        return is_by_operator(self)


#: how many there are
CAUSES = len(Cause)

_FIRST_GOOD = min(cause.value for cause in Cause if cause.reaction is Reaction.GOOD)
_FIRST_FINAL = min(cause.value for cause in Cause if cause.reaction is Reaction.FINAL)


def is_cause(cause: int) -> bool:
    """Return whether a number is a cause."""
    return 0 <= cause < CAUSES


def is_lost(cause: int) -> bool:
    """Return whether there is no trustworthy state."""
    return cause < _FIRST_GOOD


def is_good(cause: int) -> bool:
    """Return whether the state is good, so that the robot can be braked."""
    return _FIRST_GOOD <= cause < _FIRST_FINAL


def is_final(cause: int) -> bool:
    """Return whether the process or the activation ends."""
    return cause >= _FIRST_FINAL


def is_by_operator(cause: int) -> bool:
    """Return whether the operator wanted this stop, so that it is no fault of the robot."""
    return cause == Cause.OPERATOR_STOP or cause == Cause.DEAD_MAN
