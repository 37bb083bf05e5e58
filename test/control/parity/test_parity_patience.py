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

"""The leaky counter against the class that it comes from."""

import random

import pytest

from rbd_ros.control.former.safety import monitors
from rbd_ros.control.numerics.patience import is_calm, Patience, restart_patience, runs_out


@pytest.mark.parametrize('most', [0.0, 0.01, 0.05])
def test_the_counter_is_that_of_the_class(most: float) -> None:
    """Random samples, some of them before the last one."""
    rng = random.Random(3)
    old, new = monitors.Patience(most), Patience({}).plain()
    now, ran_out, calm = 0.0, 0, 0
    for k in range(3000):
        now += rng.choice([0.001, 0.002, 0.02, 0.0, -0.01])
        bad = rng.random() < (0.1 if k % 500 < 400 else 0.7)
        result = old.runs_out(now, bad)
        assert runs_out(new, most, now, int(bad)) == result
        assert (new.spent, is_calm(new)) == (old.spent, old.empty)
        ran_out, calm = ran_out + result, calm + old.empty
        if k % 700 == 699:
            old.restart()
            restart_patience(new)
    assert ran_out > 100 and calm > 100
