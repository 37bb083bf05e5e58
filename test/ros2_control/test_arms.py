# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Arms that MuJoCo simulates, between controllers of ros2_control.

They change hands, are led by a trajectory, press on a plate, and neither fall nor jump.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rbd_ros.control.supervisor.states import StateCode
from ros2_control_rig import Arm, arm_of, compiled, reason_to_skip, Run, run, settings_of

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

#: one of them, which is compiled once
ROBOTS = [pytest.param(name, marks=pytest.mark.sampled('simulations', 1, pool='arms', unit=name))
          for name in ('panda', 'ur5')]
JTC = 'joint_trajectory_controller/JointTrajectoryController'
RUNNING = f'+0 until {StateCode.RUNNING.value} 6000'
#: cycles after which a motion of 1.5 s has ended, although its message came by the clock, not by
#: the time of the hurried cycles
ARRIVED = '+8000'


def _leader(arm: Arm) -> dict[str, object]:
    """Return a joint_trajectory_controller in front of ours."""
    return {'type': JTC, 'joints': list(arm.joints),
            'command_joints': [f'rbd_controller/{joint}' for joint in arm.joints],
            'command_interfaces': ['position', 'velocity'],
            'state_interfaces': ['position', 'velocity']}


def _rival(arm: Arm, limits: np.ndarray) -> dict[str, object]:
    """Return a joint_trajectory_controller in the place of ours: stiff, without a model."""
    gains = {joint: {'p': 5000.0, 'd': 120.0} if limit > 20.0 else {'p': 1000.0, 'd': 12.0}
             for joint, limit in zip(arm.joints, limits, strict=True)}
    return {'type': JTC, 'joints': list(arm.joints), 'command_interfaces': ['effort'],
            'state_interfaces': ['position', 'velocity'], 'gains': gains}


def _target(arm: Arm, q: np.ndarray) -> str:
    return ' '.join(f'{joint} {value}' for joint, value in zip(arm.joints, q, strict=True))


def _moved(ran: Run, begin: int, end: int) -> float:
    """Return the largest way of a joint between two cycles, rad."""
    position = ran.motion[begin:end, :, 0]
    return float(np.abs(position - position[0]).max())


@pytest.mark.parametrize('name', ROBOTS)
def test_change_of_hands(name: str, tmp_path: Path) -> None:
    """
    The arm stays where it is when a joint_trajectory_controller takes over, and back.

    That one begins with a torque of zero, sags by what its gains need to carry the arm, and leaves
    a torque of zero behind: ours has to carry the arm from its first update on.
    """
    arm, limits = arm_of(name), np.asarray(settings_of(name).torque_limits)
    ran = run(compiled(name), arm, tmp_path, [
        '+100 load rbd_controller', '+0 load rival', '+50 switch +rbd_controller', RUNNING,
        '+300 switch -rbd_controller +rival', '+1000 switch -rival +rbd_controller', RUNNING,
        '+500 see'], cycles=0, controllers={'rival': _rival(arm, limits)})
    assert ran.answers() == ['ok'] * 8, ran.output[-4000:]
    taken, back, end = (ran.begun()[k] for k in (4, 5, 7))
    assert _moved(ran, taken - 250, back) < 0.02
    assert _moved(ran, back, end) < 0.02
    assert np.abs(ran.motion[:, :, 1]).max() < 0.2
    assert ran.states()[-3:] == ['probing', 'ramping in', 'running']


@pytest.mark.parametrize('name', ROBOTS)
def test_chained_while_it_runs(name: str, tmp_path: Path) -> None:
    """A leader comes, leads the arm away and goes; the arm stays where it was led."""
    arm = arm_of(name)
    goal = np.array(arm.start) + 0.15
    ran = run(compiled(name), arm, tmp_path, [
        '+100 load rbd_controller', '+0 load leader', '+50 switch +rbd_controller', RUNNING,
        '+200 switch +leader', RUNNING, f'+200 follow /leader/joint_trajectory 1.5 '
        f'{_target(arm, goal)}', f'{ARRIVED} switch -leader', RUNNING, '+500 switch +leader',
        RUNNING, '+500 see'], cycles=0, parameters={'mode': 'computed_torque'},
        controllers={'leader': _leader(arm)})
    assert ran.answers() == ['ok'] * 12, ran.output[-4000:]
    begun, done = ran.begun(), ran.cycles()
    assert _moved(ran, done[3], begun[6]) < 0.01  # chained: it stays
    # dry friction stops a light wrist before the end of its way of 0.15 rad
    np.testing.assert_allclose(ran.motion[begun[7], :, 0], goal, atol=0.05)
    assert _moved(ran, begun[7], done[-1]) < 0.01  # unchained, and chained again
    assert np.abs(ran.motion[:, :, 1]).max() < 0.5
    assert ran.states() == ['inactive', *['probing', 'ramping in', 'running'] * 4]
