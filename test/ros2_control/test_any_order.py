# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whatever sensors show and people ask for, in any order, what leaves the controller is safe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rbd_ros.control.modes import MODES
from rbd_ros.control.supervisor.states import StateCode
from ros2_control_rig import arm_of, compiled, reason_to_skip, run, settings_of

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

#: What a broken sensor shows.
SHOWN = ('nan', 'inf', '-inf', '1e300', '-1e300', '1e9', '-1e3', '4.0', '-0.01', '1e-310')
#: N.m from outside
PUSHES = (-30.0, -5.0, 5.0, 30.0)
#: In these nothing is sent: what was released stays.
SILENT = (StateCode.INACTIVE, StateCode.RELEASED, StateCode.FAULT)
COUNT = 70


def _script(joints: tuple[str, ...], random: np.random.Generator) -> Iterator[str]:
    """Yield what happens, each thing some cycles after the one before."""
    yield from (
        '+50 load rbd_controller', '+50 switch +rbd_controller',
        f'+0 until {StateCode.RUNNING.value} 6000', f'+100 disturb {joints[1]}/position nan',
        f'+0 until {StateCode.FAULT.value} 6000', '+50 see')
    for _ in range(COUNT):
        interface = f'{random.choice(joints)}/{random.choice(["position", "velocity", "effort"])}'
        happens = random.choice([
            'switch +rbd_controller', 'switch +rbd_controller', 'switch -rbd_controller',
            f'mode rbd_controller {random.choice(list(MODES))}', 'call /rbd_controller/stop',
            'call /rbd_controller/reset',
            f'disturb {interface} {random.choice(SHOWN)}', 'see', 'see',
            f'disturb {random.choice(joints)}/push {random.choice(PUSHES)}'])
        yield f'+{random.choice([0, 1, 20, 400, 1500])} {happens}'
    yield '+100 see'
    yield '+100 switch -rbd_controller'
    yield '+100 see'


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('name, seed', [('panda', 1), ('ur5', 2)])
def test_whatever_happens(name: str, seed: int, tmp_path: Path) -> None:
    """
    No torque is above its limit or no number, and what was released stays.

    A torque that was once commanded is followed by others that are finite; while nothing is sent,
    because the controller is not active, has released the robot or has failed, it is the same.
    While it is sent, it changes at the rate limit, as for two periods at most.
    """
    arm, settings = arm_of(name), settings_of(name)
    limit = np.asarray(settings.torque_limits)
    script = list(_script(tuple(arm.joints), np.random.default_rng(seed)))
    ran = run(compiled(name), arm, tmp_path, script, cycles=0)
    command, states = ran.motion[:, :, 2], ran.trace[:, 0] * ran.trace[:, 2]
    assert len(command) == len(states)
    known = np.isfinite(command).all(axis=1)
    first = int(np.argmax(known))
    assert np.isnan(command[:first]).all()
    assert known[first:].all()
    assert (np.abs(command[first:]) <= limit).all()
    step = np.abs(np.diff(command, axis=0))
    # A torque of its own follows another, or what was carried before it, at its rate.
    sends = states > StateCode.PROBING
    own = sends[1:-1] & ~np.isin(states[1:-1], SILENT) & (ran.trace[2:, 2] > 0.0) & (
        states[:-2] >= StateCode.PROBING) & known[:-2]
    assert (step[:-1][own] <= 2e-3 * settings.torque_rates + 1e-9).all()
    silent = np.isin(states, SILENT)
    # The first cycle of a silence may have sent the last torque.
    stays = silent[first:-1] & silent[first + 1:]
    assert (step[first:][stays] == 0.0).all()
    assert stays.sum() > 1000
    # The script has reached what it is about.
    assert {StateCode.PROBING, StateCode.RUNNING, StateCode.FAULT} <= {*states.astype(int)}
