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

"""Patience is a leaky counter: one good sample among bad ones resets nothing."""

import math

import numpy as np
import pytest

from rbd_ros.control.former.safety.monitors import BoundMonitor, Patience

PERIOD = 0.001


def first_fault(monitor, values, period=PERIOD):
    """Return the number of the first sample that is reported as wrong, or None."""
    for k, value in enumerate(values):
        if monitor.check(50.0 + k * period, np.array([value])):
            return k
    return None


def test_a_bound_may_be_exceeded_for_exactly_its_patience():
    """Without a break the fault comes when the patience is over, and names joint and numbers."""
    monitor = BoundMonitor('velocity', ['a', 'b'], [1.0, math.inf], 0.05)
    fast = np.array([1.5, 9.0])
    assert monitor.check(0.0, fast) == ''
    assert monitor.check(0.049, fast) == ''
    assert monitor.check(0.05, fast) == 'a: velocity 1.5 beyond 1'
    monitor = BoundMonitor('tracking error', ['a'], [0.1], 0.0)
    assert monitor.check(0.0, np.array([-0.2])) == 'a: tracking error -0.2 beyond 0.1'


def test_what_is_no_number_is_beyond_every_bound():
    """What is not a number is not inside a bound: it must not pass because no comparison holds."""
    monitor = BoundMonitor('velocity', ['a', 'b'], [1.0, 2.0], 0.0)
    assert monitor.check(0.0, np.array([0.5, math.nan])) == 'b: velocity nan beyond 2'


@pytest.mark.parametrize('pattern, expected', [
    ((1,), 20),
    ((1, 1, 1, 0), 29),  # 2.75 ms in four: 7 rounds make 19.25 ms, and a bad one follows
    ((1, 0), 54),  # 0.75 ms in two: 27 rounds make 20.25 ms
    ((1, 0, 0, 0), 320),  # 0.25 ms in four: 80 rounds make 20 ms
])
def test_good_samples_among_bad_ones_reset_nothing(pattern, expected):
    """Three of four, two of four and one of four bad samples are all found."""
    monitor = BoundMonitor('tracking error', ['a'], [0.5], 0.02)
    values = [0.7 * pattern[k % len(pattern)] for k in range(4000)]
    assert first_fault(monitor, values) == expected


def test_rare_bad_samples_are_borne():
    """Noise that exceeds the bound one time in six is forgotten each time."""
    monitor = BoundMonitor('velocity', ['a'], [1.0], 0.02)
    assert first_fault(monitor, [1.5 if k % 6 == 0 else 0.5 for k in range(6000)]) is None


def test_calm_comes_back_when_all_is_forgotten():
    """A fast path that does not look may begin only when nothing is left in the counter."""
    monitor = BoundMonitor('velocity', ['a'], [1.0], 0.02)
    assert monitor.calm
    for k in range(10):
        monitor.check(k * PERIOD, np.array([1.5]))
    assert not monitor.calm
    calm = [monitor.check(k * PERIOD, np.array([0.5])) == '' and monitor.calm
            for k in range(10, 60)]
    assert calm.index(True) in (40, 41)  # 10 ms of excess drain in 40 ms
    assert all(calm[41:])


def test_a_gap_between_samples_counts_for_the_one_before():
    """A sample stands until the next one; one bad sample after a gap is no time at all."""
    patience = Patience(0.05)
    assert not patience.runs_out(0.0, False)
    assert not patience.runs_out(1.0, True)
    assert not patience.runs_out(1.049, True)
    assert patience.runs_out(1.051, True)
    assert not patience.runs_out(1.052, False)
    assert patience.spent == pytest.approx(0.051)
    assert not patience.runs_out(1.5, True)  # forgotten in a bounded time


def test_long_badness_is_not_remembered_longer_than_its_patience():
    """After an hour of excess the counter drains as after the patience itself."""
    patience = Patience(0.05)
    for k in range(3600):
        patience.runs_out(float(k), True)
    assert patience.runs_out(3600.0, True)
    patience.runs_out(3600.001, False)
    assert patience.spent == pytest.approx(0.051)


def test_a_clock_that_goes_back_counts_nothing():
    """Time that runs backwards neither fills nor drains."""
    patience = Patience(0.05)
    patience.runs_out(10.0, True)
    patience.runs_out(10.02, True)
    assert not patience.runs_out(5.0, True)
    assert patience.spent == pytest.approx(0.02)
