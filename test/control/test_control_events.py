# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a step says and accuses, as machine code, where a number beside its place is never seen."""

from __future__ import annotations

import numpy as np
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import ACCUSATIONS, accuse, Result, tell, WORDS
from rbd_ros.control.supervisor.answers import Supervisor, SupervisorParameters
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.supervisor.supervisor import hear


def say(y: Result, u: Vector) -> None:
    """Tell and accuse with the same numbers."""
    tell(y, int(u[1]), int(u[2]), u[3], u[4], u[5])
    accuse(y, int(u[0]), int(u[1]), int(u[2]), u[3], u[4], u[5])


def answer(x: Supervisor, p: SupervisorParameters, y: Result, u: Vector) -> None:
    """Answer the accusations at a time."""
    hear(x, p, y, u[0])


def test_what_is_said_stands_in_its_row_and_nowhere_else():
    """Each number has its place; what has no room is counted, and overwrites nothing."""
    y, u = Result({'n': 2}), np.zeros(6)
    run, said = bind(say, y, u), []
    for k in range(WORDS + 3):
        u[:] = k, k + 0.0, k % 2, k + 0.25, k + 0.5, k + 0.75
        said.append(u.copy())
        run()
    expected = Result({'n': 2})
    expected.told, expected.accused = WORDS, ACCUSATIONS
    expected.lost = 3 + WORDS + 3 - ACCUSATIONS
    expected.words[:] = np.array(said)[:WORDS, 1:]
    expected.accusations[:] = said[:ACCUSATIONS]
    np.testing.assert_array_equal(y.memory, expected.memory)


def test_an_accusation_reaches_the_faults_with_all_its_numbers():
    """What was seen first is kept with its word, joint and three numbers, for each cause."""
    y, x, p = Result({'n': 1}), Supervisor({}), SupervisorParameters({})
    x.state, u = StateCode.RUNNING, np.zeros(6)
    run, heard = bind(say, y, u), bind(answer, x, p, y, np.array([7.5]))
    rows = [(Cause.TRACKING, 11.0, 0.0, 1.5, -2.5, 3.5),
            (Cause.OVER_SPEED, 12.0, 1.0, -4.5, 5.5, -6.5)]
    for row in (*rows, (Cause.TRACKING, 13.0, 1.0, 7.0, 8.0, 9.0)):  # the last one came before
        u[:] = row
        run()
    heard()
    assert y.accused == 0.0
    assert [(each.cause, each.word, each.joint, *each.numbers)
            for each in x.faults.listed()] == rows
    assert {each.time for each in x.faults.listed()} == {7.5}
