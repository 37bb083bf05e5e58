# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the plugin of ros2_control publishes of its states: the reference that sliders begin at."""

from __future__ import annotations

import json
from pathlib import Path
import re

import numpy as np
import pytest
from rbd_ros.control.modes import DEFAULT, Takes, taking
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.control.supervisor.states import SupervisorState as State
from ros2_control_rig import arm_of, compiled, reason_to_skip, Run, run

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = arm_of('panda')
START = np.array(ARM.start)
WANTED = taking(Takes.TRAJECTORY)[0]
RUNNING = f'until {tuple(State).index(State.RUNNING)} 6000'
REPORTS, STREAM = '/rbd_controller/controller_state', '/rbd_controller/target_positions'
COUNT = 30
THERE = START + [0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 0.1]


@pytest.fixture(scope='module')
def heard(tmp_path_factory) -> tuple[Run, list[list[dict]]]:
    """Return a run, and what was reported in a mode without a reference, on the way, at rest."""
    folder = tmp_path_factory.mktemp('reports')
    files = [folder / name for name in ('floating', 'moving', 'resting')]
    report = [f'reported {REPORTS} {file} {COUNT}' for file in files]
    numbers = ' '.join(map(repr, map(float, THERE)))
    ran = run(compiled('panda', goal_mode=WANTED), ARM, folder / 'run', [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+100 {report[0]}', f'+1 mode rbd_controller {WANTED}',
        f'+500 numbers {STREAM} {numbers}', f'+1 {report[1]}', f'+2000 {report[2]}'],
        cycles=0, parameters={'mode': DEFAULT})
    assert ran.answers() == ['ok'] * 8, ran.output[-3000:]
    return ran, [[json.loads(line) for line in Path(file).read_text().splitlines()]
                 for file in files]


def cycles_of(ran: Run, part: list[dict]) -> np.ndarray:
    """Return in which cycles MuJoCo's arm had exactly the positions and velocities reported."""
    seen = {row.tobytes(): k for k, row in enumerate(ran.motion[:, :len(START), :2].copy())}
    return np.array([seen[np.column_stack((each['q'], each['qd'])).tobytes()] for each in part])


def test_every_tenth_state_is_reported(heard) -> None:
    """At the rate of state_divider, with the numbers of the robot; no update allocates."""
    ran, parts = heard
    divider = PARAMETERS['state_divider'].default
    for part in parts:
        assert (np.diff([each['stamp'] for each in part]) > 0).all()
        taken = np.array([each['taken'] for each in part])
        assert taken[0] > 0 and (np.diff(taken) > 0).all()
        assert {each['first'] for each in part} == {ARM.joints[0]}
        for each in part:
            assert len(each['torque']) == len(START) and np.abs(each['torque']).max() > 1.0
    steps = np.diff(cycles_of(ran, parts[1]))
    assert (steps > 0).all() and (steps % divider == 0).all() and np.median(steps) == divider
    assert (np.diff(cycles_of(ran, parts[0])) >= 0).all()  # at rest states may repeat themselves
    assert re.search('updates allocated 0 times', ran.output), ran.output[-2000:]


def test_reference_is_there_where_the_law_has_one(heard) -> None:
    """None in a mode that floats; then it leads to where the stream said, and the error to it."""
    _, (floating, moving, resting) = heard
    for each in floating:
        assert not (each['reference'] or each['speed'] or each['acceleration'] or each['error'])
    for each in (*moving, *resting):
        np.testing.assert_allclose(each['error'], np.subtract(each['reference'], each['q']),
                                   atol=1e-12)
        np.testing.assert_allclose(each['speed_error'], np.subtract(each['speed'], each['qd']),
                                   atol=1e-12)
        assert len(each['acceleration']) == len(START)
    np.testing.assert_allclose(resting[-1]['reference'], THERE, atol=1e-6)
    np.testing.assert_allclose(resting[-1]['q'], THERE, atol=0.01)
    assert not np.any(resting[-1]['speed'])
