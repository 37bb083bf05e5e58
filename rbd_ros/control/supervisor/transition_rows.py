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

"""
The transitions of the supervisor as numbers, for the procedure that takes them.

A row of :data:`~rbd_ros.control.supervisor.transitions.ROWS` becomes a row of a matrix: its event,
the state after it, what else it sets, one flag for each state before it, and one sign for each
condition. Names of conditions and of what is set become codes by :func:`code_of`.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from rbd_ros.control.supervisor.states import State
from rbd_ros.control.supervisor.transitions import CONDITIONS, Event, ROWS

__all__ = ['AFTER', 'BEFORE', 'COLUMNS', 'Condition', 'DueCode', 'encoded_rows', 'EVENT',
           'EventCode', 'HOLDS', 'SETS', 'Sets', 'StateCode', 'STATES']


class StateCode(enum.IntEnum):
    """The place of a state in :class:`~rbd_ros.control.supervisor.states.State`."""

    INACTIVE = 0
    PROBING = 1
    RAMPING_IN = 2
    RUNNING = 3
    BRAKING = 4
    HOLDING = 5
    LOST = 6
    RAMPING_DOWN = 7
    RELEASING = 8
    RELEASED = 9
    FAULT = 10


class DueCode(enum.IntEnum):
    """What kind of torque is due, see :class:`~rbd_ros.control.supervisor.states.Due`."""

    NOTHING = 0
    LAW = 1
    BRAKE = 2
    HOLD = 3
    LAST_GRAVITY = 4
    RAMP_LIVE = 5
    RAMP_BLIND = 6
    RELEASE = 7


class EventCode(enum.IntEnum):
    """The place of an event in :class:`~rbd_ros.control.supervisor.transitions.Event`."""

    ACTIVATE = 0
    RESET = 1
    FAULT = 2
    FRESH = 3
    SENT = 4
    TIME = 5


class Condition(enum.IntEnum):
    """The place of a condition in :data:`~rbd_ros.control.supervisor.transitions.CONDITIONS`."""

    FINAL_CAUSE = 0
    LOST_CAUSE = 1
    GOOD_CAUSE = 2
    OPERATOR_CAUSE = 3
    DEAD_MAN_CAUSE = 4
    FINAL = 5
    ONLY_LOST = 6
    ONLY_OPERATOR = 7
    DISTRUSTED = 8
    FROZEN = 9
    RECOVER = 10
    STOP_HOLDS = 11
    FAULT_HOLDS = 12
    READY = 13
    GAINS_FULL = 14
    BRAKE_TIME_OVER = 15
    HOLD_TIME_OVER = 16
    RAMP_REACHED = 17
    RAMP_OVERDUE = 18
    RELEASE_SENT = 19


class Sets(enum.IntEnum):
    """What a row sets besides the state."""

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


#: how many states there are
STATES = len(State)

#: columns of a row: the event, the state after it or -1, what is set; then one for each state, 1
#: if the row counts there; then one for each condition: 1 if it must hold, -1 if it must not
EVENT, AFTER, SETS, BEFORE, HOLDS = 0, 1, 2, 3, 3 + STATES
COLUMNS = HOLDS + len(CONDITIONS)


def code_of(name: str) -> str:
    """
    Return the name of a code.

    :param name: of a condition or of what is set, in the words of the table.
    """
    return name.upper().replace(' ', '_').replace('-', '_')


def encoded_rows() -> NDArray[np.float64]:
    """Return the table."""
    states, events = tuple(State), tuple(Event)
    table = np.zeros((len(ROWS), COLUMNS))
    for line, row in zip(table, ROWS, strict=True):
        line[EVENT] = events.index(row.event)
        line[AFTER] = -1 if row.after is None else states.index(row.after)
        line[SETS] = Sets[code_of(row.sets)] if row.sets else Sets.NOTHING
        for state in row.before:
            line[BEFORE + states.index(state)] = 1.0
        for name in row.conditions:
            wanted = not name.startswith('not ')
            line[HOLDS + Condition[code_of(name.removeprefix('not '))]] = 1.0 if wanted else -1.0
    return table
