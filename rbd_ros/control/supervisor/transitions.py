# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The transitions of the supervisor, as a table: a transition stands nowhere else.

An event is met by the rows of the present state, from the top; the first one whose conditions all
hold is taken, and none means that nothing changes. Rows name states, conditions and what they set
in words, which the page about safety shows as they are. For the procedure that takes them each
becomes a row of a matrix: its event, the state after it, what else it sets, one flag for each
state before it, and one sign for each condition.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rbd_ros.control.supervisor.states import SupervisorState as State

__all__ = ['AFTER', 'BEFORE', 'COLUMNS', 'Condition', 'condition_of', 'encoded_rows', 'EVENT',
           'HOLDS', 'Row', 'ROWS', 'Sets', 'SETS', 'STATES', 'Trigger']


class Trigger(enum.IntEnum):
    """What the supervisor is told."""

    ACTIVATE = 0
    RESET = 1
    FAULT = 2  # any cause
    FRESH = 3  # a fresh state
    SENT = 4  # a torque was sent
    TIME = 5  # time passes


class Condition(enum.IntEnum):
    """
    What a row may ask for.

    In a row it has the same name in small letters with spaces, with ``not`` if it must not hold.
    """

    # of the cause
    FINAL_CAUSE = 0
    LOST_CAUSE = 1
    GOOD_CAUSE = 2
    OPERATOR_CAUSE = 3
    DEAD_MAN_CAUSE = 4
    CONTACT_CAUSE = 5
    DOUBTED = 6  # a sensor that stands still may be what looks like a contact
    # of the causes so far
    FINAL = 7
    ONLY_LOST = 8
    ONLY_OPERATOR = 9
    HOLD_BARRED = 10  # by one of the causes after which a robot is not held
    # of parameters
    RECOVER = 11
    STOP_HOLDS = 12
    FAULT_HOLDS = 13
    CONTACT_FLOATS = 14
    CONTACT_COMPLIES = 15
    CONTACT_RETRACTS = 16
    # of states and times
    READY = 17
    OUTPUT_FREE = 18
    GAINS_FULL = 19
    BRAKE_TIME_OVER = 20
    HOLD_TIME_OVER = 21
    RETRACTED = 22
    RAMP_REACHED = 23
    RAMP_OVERDUE = 24
    RELEASE_SENT = 25


class Sets(enum.IntEnum):
    """What a row sets besides the state, by the same name in small letters."""

    NOTHING = 0
    BEGIN = 1
    START = 2
    RESET = 3
    RAMP_IN = 4
    RAMP_DOWN = 5
    RAMP_DOWN_BLIND = 6
    GO_BLIND = 7
    COUNT_FROM_LAST_GRAVITY = 8
    COUNT_RELEASE = 9
    FORGET_STATE = 10


class Row(NamedTuple):
    """
    One transition.

    :param event: what happened.
    :param before: states in which it counts.
    :param conditions: all of them hold.
    :param after: the state that follows; None: the same one goes on.
    :param sets: what else is set, see :class:`Sets`; '': nothing.
    """

    event: Trigger
    before: tuple[State, ...]
    conditions: tuple[str, ...]
    after: State | None
    sets: str = ''


_IDLE = (State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT)
_WORK = (State.RAMPING_IN, State.RUNNING)
_TOUCHED = (State.FLOATING, State.COMPLYING, State.RETRACTING)

ROWS = (
    Row(Trigger.ACTIVATE, _IDLE, (), State.PROBING, 'begin'),

    Row(Trigger.RESET, (State.HOLDING, State.FLOATING, State.COMPLYING), (), State.RAMPING_IN,
        'reset'),
    Row(Trigger.RESET, (State.FAULT,), ('output free',), State.PROBING, 'begin'),

    Row(Trigger.FAULT, (State.PROBING, State.RELEASED, State.FAULT), ('final cause',),
        State.INACTIVE),
    # the start just waits for the dead-man switch
    Row(Trigger.FAULT, (State.PROBING,), ('good cause', 'not dead man cause'), State.FAULT),
    Row(Trigger.FAULT, (*_WORK, State.BRAKING, State.HOLDING, *_TOUCHED), ('lost cause',),
        State.LOST, 'count from last gravity'),
    # what may be a sensor that stands still is braked: all other answers believe it
    Row(Trigger.FAULT, _WORK, ('contact cause', 'not doubted', 'contact floats'), State.FLOATING),
    Row(Trigger.FAULT, _WORK, ('contact cause', 'not doubted', 'contact complies'),
        State.COMPLYING),
    Row(Trigger.FAULT, _WORK, ('contact cause', 'not doubted', 'contact retracts'),
        State.RETRACTING),
    # something is on the way back, too
    Row(Trigger.FAULT, (State.RETRACTING,), ('contact cause', 'not doubted'), State.FLOATING),
    Row(Trigger.FAULT, (*_WORK, *_TOUCHED), (), State.BRAKING),
    # a fault of a held robot must not end in another hold
    Row(Trigger.FAULT, (State.HOLDING,), ('not operator cause',), State.RAMPING_DOWN, 'ramp down'),
    # the ramp goes on from what was last published
    Row(Trigger.FAULT, (State.RAMPING_DOWN,), ('lost cause',), None, 'go blind'),

    # nothing begins to be sent unless nobody else has the output
    Row(Trigger.FRESH, (State.PROBING,), ('ready', 'output free'), State.RAMPING_IN, 'start'),
    Row(Trigger.FRESH, (State.LOST, State.RAMPING_DOWN, State.RELEASING),
        ('ready', 'recover', 'only lost', 'output free'), State.RAMPING_IN, 'ramp in'),

    Row(Trigger.SENT, (State.RAMPING_DOWN,), ('ramp reached',), State.RELEASING, 'count release'),
    Row(Trigger.SENT, (State.RELEASING,), (), None, 'count release'),

    Row(Trigger.TIME, (State.RAMPING_IN,), ('gains full',), State.RUNNING),
    # a final cause, a wrong model, a frozen sensor, another sender are none of the operator's
    Row(Trigger.TIME, (State.BRAKING,), ('brake time over', 'only operator', 'stop holds'),
        State.HOLDING),
    Row(Trigger.TIME, (State.BRAKING,), (
        'brake time over', 'not only operator', 'fault holds', 'not final', 'not hold barred'),
        State.HOLDING),
    Row(Trigger.TIME, (State.BRAKING,), ('brake time over',), State.RAMPING_DOWN, 'ramp down'),
    Row(Trigger.TIME, (State.RETRACTING,), ('retracted', 'fault holds'), State.HOLDING),
    Row(Trigger.TIME, (State.RETRACTING,), ('retracted',), State.RAMPING_DOWN, 'ramp down'),
    Row(Trigger.TIME, (State.LOST,), ('hold time over',), State.RAMPING_DOWN, 'ramp down blind'),
    # on a machine too slow for the rate limit
    Row(Trigger.TIME, (State.RAMPING_DOWN,), ('ramp overdue',), State.RELEASING),
    Row(Trigger.TIME, (State.RELEASING,), ('release sent', 'final'), State.RELEASED),
    Row(Trigger.TIME, (State.RELEASING,), ('release sent', 'recover', 'only lost'), State.PROBING,
        'forget state'),
    Row(Trigger.TIME, (State.RELEASING,), ('release sent',), State.FAULT),
)


#: how many states there are
STATES = len(State)

#: columns of a row: the event, the state after it or -1, what is set; then one for each state, 1
#: if the row counts there; then one for each condition: 1 if it must hold, -1 if it must not
EVENT, AFTER, SETS, BEFORE, HOLDS = 0, 1, 2, 3, 3 + STATES
COLUMNS = HOLDS + len(Condition)


def condition_of(words: str) -> tuple[Condition, bool]:
    """
    Return the condition that a row asks for, and whether it must hold.

    :param words: in the words of the table.
    """
    return Condition[_code(words.removeprefix('not '))], not words.startswith('not ')


def encoded_rows() -> NDArray[np.float64]:
    """Return the table."""
    states = tuple(State)
    table = np.zeros((len(ROWS), COLUMNS))
    for line, row in zip(table, ROWS, strict=True):
        line[EVENT] = row.event
        line[AFTER] = -1 if row.after is None else states.index(row.after)
        line[SETS] = Sets[_code(row.sets or 'nothing')]
        for state in row.before:
            line[BEFORE + states.index(state)] = 1.0
        for words in row.conditions:
            condition, wanted = condition_of(words)
            line[HOLDS + condition] = 1.0 if wanted else -1.0
    return table


def _code(words: str) -> str:
    """Return the name of a member in capital letters."""
    return words.upper().replace(' ', '_')
