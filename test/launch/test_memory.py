# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Configurations that come and go leave no memory behind."""

from __future__ import annotations

import arm
import rig
from standing import Standing

ROUNDS, SETTLED = 12, 3

#: MB per round beyond which memory is not released; a configuration takes 1.7 MB
MARGIN = 0.4


def test_rounds_leave_no_memory_behind() -> None:
    """Twelve times configured, active, deactivated and cleaned up: the memory does not grow."""
    system = Standing(arm.SIMULATED)
    used = []
    try:
        for _ in range(ROUNDS):
            system.run()
            count = len(system.client.commands)
            system.client.wait(lambda: len(system.client.commands) > count + 10, 'commands')
            assert system.client.transition(rig.DEACTIVATE)
            assert system.client.transition(rig.CLEANUP)
            used.append(system.memory)
    finally:
        assert system.close() == 0
    grown = (used[-1] - used[SETTLED]) / (ROUNDS - 1 - SETTLED)
    print(f'{grown:.3f} MB per round: {[round(mb, 1) for mb in used]}')
    assert grown < MARGIN, used
