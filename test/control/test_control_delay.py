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

"""A constant delay of states is measured by their stamps and told, and damping made for it."""

from __future__ import annotations

from cycle_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.delay_watch import DelayWatch


@pytest.mark.parametrize('delay', [0.0, 0.004, 0.05])
def test_ages_are_those_of_the_stamps(delay):
    """Once per second, 10 and 90 % of random ages lie beyond what is reported."""
    rng = np.random.default_rng(int(1e3 * delay))
    watch = DelayWatch(-3.0, 0.1)
    found, jitter = [], rng.exponential(2e-3, 2600)
    for k, late in enumerate(np.minimum(jitter, 0.04)):
        now = 100.0 + 1e-3 * k
        ages = watch.note(now, now + 3.0 - delay - late)
        if ages is not None:
            found.append(ages)
    assert len(found) == 2
    for second, ages in enumerate(found):
        part = delay + np.minimum(jitter, 0.04)[1001 * second + 1:1001 * (second + 1) + 1]
        np.testing.assert_allclose(ages, np.quantile(part, (0.1, 0.9)), atol=2e-4)
    assert watch.last == found[-1]
    watch.restart()
    assert watch.last is None


@pytest.mark.parametrize('age', [-1e-3, 0.11, 3600.0, -3600.0, None])
def test_what_cannot_be_an_age_is_none(age):
    """Stamps of another clock, or none, are not believed, not even some among others."""
    watch = DelayWatch(0.0, 0.1)
    for k in range(3000):
        now = 100.0 + 1e-3 * k
        stamp = 0.0 if age is None else now - age
        assert watch.note(now, stamp if k % 500 == 499 else now - 0.02) is None


@pytest.mark.parametrize(('given', 'age', 'used'), [
    (0.0, 0.02, 0.02), (0.0, 0.009, 0.0), (0.015, 0.02, 0.015), (0.015, 0.04, 0.04)])
def test_a_constant_delay_is_told_and_damping_is_made_for_it(given, age, used):
    """From 10 ms above the delay that is given it counts, once, with numbers."""
    arm = Arm(delay=given)
    before = arm.cycle.settings.damper('brake_damping')
    arm.cycle._delays._offset = -1e4 - age
    arm.activate()
    arm.run(3.0)
    assert arm.state == 'running'
    settings = arm.cycle.settings
    assert settings.number('delay') == pytest.approx(used)
    told = [text for kind, text in arm.cycle.events if 'old when they arrive' in text]
    assert len(told) == (used > given)
    if told:
        assert told[0].startswith(f'joint states are {1e3 * age:.3g} to {1e3 * age:.3g} ms old')
        assert f'not for delay {1e3 * given:.3g} ms. Set delay' in told[0]
        assert (settings.damper('brake_damping') < before).all()
        inputs = arm.cycle.choice.braking._law.inputs
        np.testing.assert_array_equal(inputs['damping'], settings.damper('brake_damping'))
        arm.cycle.apply(arm.settings(stiffness=[90.0]))
        assert arm.cycle.settings.number('delay') == pytest.approx(used)
