# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The clock of a recorded controller: whatever was late or lost, time goes on."""

from __future__ import annotations

import numpy as np
from rbd_ros.command_line.replayed_clock import ControlClock


def test_time_never_goes_back() -> None:
    """Late states, lost ones, torques at rest, and the clock of another computer; nor stands."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, rate = rng.integers(5, 400), rng.choice([50, 200, 500, 1000])
        stamps = 100.0 + np.arange(n) / rate
        late = rng.exponential(rng.choice([1e-4, 5e-3, 5e-2]), n)
        # a state that overtakes another is answered before it: times of sending may cross
        sent = stamps + late + rng.choice([0.0, 5.0, -3600.0])
        torques = rng.normal(size=(n, 3))
        if rng.random() < 0.3:
            torques[:n // 2] = 1.0  # at rest: nobody knows which was for which state
        heard, answered = (rng.random((2, n)) > rng.choice([0.0, 0.1]))
        reported = range(0, n, rng.integers(1, 20))
        # by the clock of the controller, before the torques are sent
        taken = np.maximum.accumulate(stamps + late) - 90.0 - rng.exponential(1e-3, n)
        clock = ControlClock(
            stamps[heard], [(stamps[k], torques[k]) for k in reported],
            [(sent[k], torques[k]) for k in range(n) if answered[k]],
            [(stamps[k], taken[k]) for k in reported] if rng.random() < 0.5 else ())
        asked = np.sort(np.concatenate([stamps, rng.uniform(99.0, 101.0, 50)]))
        times = np.array([clock.at(stamp) for stamp in asked])
        assert np.isfinite(times).all() and (np.diff(times) >= -1e-9).all()
        assert (np.diff(times)[np.diff(asked) > 1e-6] > 0.0).all()


def test_reports_know_better_than_torques() -> None:
    """A state is where its report has it; those between are by their torques, or in between."""
    stamps = 100.0 + 0.01 * np.arange(9)
    taken = stamps - 70.0 + np.array([0.0, 0.0, 8.0, 0.0, 0.0, 1.0, 0.0, 4.0, 0.0]) * 1e-3
    torques = [np.array([float(k)]) for k in range(9)]
    steps = np.full(9, 1e-4)
    steps[4] = 5e-3  # the machine stands still after a state, before its torque
    for commands in ([(taken[k] + 2000.0 + steps[k], torques[k]) for k in range(9)], []):
        clock = ControlClock(stamps, [(stamps[k], torques[k]) for k in (0, 4, 8)], commands,
                             [(stamps[k], taken[k]) for k in (0, 4, 8)])
        found = np.array([clock.at(stamp) for stamp in stamps])
        wanted = taken + 70.0 if commands else stamps
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        assert clock.lost == 0
