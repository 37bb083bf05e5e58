# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""When the loop looks at the clocks while states arrive, and while nothing else sends torques."""

from controller_rig import robot_and_dynamics
import numpy as np
import pytest
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.nodes.controller.loop_node import limits_of


def test_looks_are_a_fifth_of_the_timeout_and_beats_are_looks():
    """Not longer than 50 ms, nor shorter than a period; blind, it keeps that of the supervisor."""
    rng, slow = np.random.default_rng(7), 0
    for _ in range(20):
        rate, beat = 10.0 ** rng.uniform([1.5, 0.0], [3.0, 2.0])
        timeout = max(rng.uniform(0.02, 1.0), 3.0 / rate)
        settings = Settings(robot_and_dynamics()[0], defaults() | {
            'nominal_rate': rate, 'minimum_rate': 0.0, 'state_timeout': timeout,
            'heartbeat_rate': beat, 'brake_time': 0.1, 'hold_time': 0.1}, simulated=False)
        found = limits_of(settings)
        assert found.period == settings.timing().period and found.beat == 1.0 / beat
        assert found.beat / found.watch == pytest.approx(round(found.beat / found.watch))
        longest = max(found.period, min(0.05, 0.2 * timeout))
        assert found.watch <= longest * (1.0 + 1e-9)
        assert found.watch > 0.5 * min(longest, found.beat)
        slow += found.watch < found.beat
    assert 0 < slow < 20
