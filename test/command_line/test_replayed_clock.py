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

"""The clock of a recorded controller: whatever was late or lost, time goes on."""

from __future__ import annotations

import numpy as np
from rbd_ros.command_line.replayed_clock import ControlClock


def test_time_never_goes_back() -> None:
    """Late states, lost ones, torques at rest, and the clock of another computer."""
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
        clock = ControlClock(
            stamps[heard], [(stamps[k], torques[k]) for k in range(0, n, rng.integers(1, 20))],
            [(sent[k], torques[k]) for k in range(n) if answered[k]])
        asked = np.sort(np.concatenate([stamps, rng.uniform(99.0, 101.0, 50)]))
        times = np.array([clock.at(stamp) for stamp in asked])
        assert np.isfinite(times).all() and (np.diff(times) >= -1e-9).all()
