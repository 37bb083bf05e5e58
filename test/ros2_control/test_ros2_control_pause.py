# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A goal inside ros2_control is paused, goes on and ends; a silent client ends it early."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.control.interface.words import ReferenceWord, SessionWord
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.supervisor.states import SupervisorState as State
from ros2_control_rig import arm_of, compiled, reason_to_skip, run, written

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = arm_of('panda')
RUNNING = f'until {tuple(State).index(State.RUNNING)} 6000'
ACTION, PAUSE = '/rbd_controller/follow_joint_trajectory', 'pause /rbd_controller/pause'
START = np.array(ARM.start)
THERE = START + np.array([0.2, -0.1, 0.15, 0.2, -0.1, 0.1, 0.3])


def test_pause_and_resume(tmp_path) -> None:
    """The arm stands on the line between start and end, and is at the end when all is over."""
    still = np.zeros((1, 7))
    points = written(tmp_path / 'way', Knots(np.array([1.5]), THERE[None], still, None),
                     ARM.joints)
    found = run(compiled('panda'), ARM, tmp_path, [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+100 {PAUSE} 1', f'+1 goal {ACTION} {points} 0.03', f'+600 {PAUSE} 1', '+800 see',
        '+800 see', f'+1 {PAUSE} 0', '+1 result', '+300 see'],
        cycles=0, parameters={'mode': 'computed_torque'})
    answers, cycles, position = found.answers(), found.cycles(), found.motion[:, :, 0]
    assert answers[3] == 'refused no trajectory is being followed'
    assert answers[4] == 'accepted'
    assert answers[5] == f'ok {SessionWord.PAUSED.text()}'
    assert answers[8] == f'ok {SessionWord.RESUMED.text()}'
    assert answers[9].startswith('succeeded 0'), answers
    rest, later = position[cycles[6]], position[cycles[7]]
    np.testing.assert_allclose(rest, later, atol=0.02)  # its joints have friction, and creep
    way = THERE - START
    share = way @ (later - START) / (way @ way)
    assert 0.1 < share < 0.9
    np.testing.assert_allclose(later, START + share * way, atol=0.03)
    np.testing.assert_allclose(position[cycles[10] - 1], THERE, atol=0.03)


def test_a_silent_client(tmp_path) -> None:
    """Where all clients must give signs of life, one that does not moves the robot no further."""
    points = written(tmp_path / 'way', Knots(np.array([8.0]), THERE[None], np.zeros((1, 7)), None),
                     ARM.joints)
    found = run(compiled('panda', goal_lease_for_all=True), ARM, tmp_path, [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+1 goal {ACTION} {points} 0.03', '+1 result', '+500 see'], cycles=0,
        parameters={'mode': 'computed_torque'})
    answers, cycles, position = found.answers(), found.cycles(), found.motion[:, :, 0]
    assert answers[3] == 'accepted'
    assert answers[4].startswith('aborted') and ReferenceWord.SILENT.text() in answers[4], answers
    way = THERE - START
    share = way @ (position[cycles[5] - 1] - START) / (way @ way)
    assert 0.0 < share < 0.6
