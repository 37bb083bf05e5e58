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
condition.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_ros.control.supervisor.states import State
from rbd_ros.control.supervisor.transitions import Condition, ROWS, Sets

__all__ = ['AFTER', 'BEFORE', 'COLUMNS', 'condition_of', 'encoded_rows', 'EVENT', 'HOLDS', 'SETS',
           'STATES']

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
